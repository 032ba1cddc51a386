"""Several segments as one, without reading their text again.

Positions, cuts and headings of live extents are moved to a new axis; deleted text is left out. Text of a large segment
without dead extents keeps its compressed blocks: its part of the new axis begins with a block.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from brimful.budget import scaled
from brimful.index.build import GAP
from brimful.index.segments import Numbers, Postings, merge_postings, pages_of, without_empty
from brimful.outline.cuts import Heads
from brimful.store.columns import Cuts
from brimful.store.format import TEXT, Cursor
from brimful.store.rows import BLOCK_BYTES, Card, Extents
from brimful.store.segments import StoredSegment
from brimful.store.writing import (
    block_blobs,
    cut_blobs,
    drop_segment,
    page_blobs,
    write_blobs,
    write_cards,
    write_extents,
)

FANOUT = 8
"""The segments of a tier that are merged into one of the next."""

LARGEST_BYTES = 128 << 20
"""Live text of a segment that merging may make."""

_SMALLEST_TIER = 1 << 16
_MOVED_BYTES = 16 * BLOCK_BYTES
"""A segment from this size on keeps its blocks; smaller ones are laid together and compressed anew."""

# ---- choice


def _tier_of(live: int) -> int:
    """The tier of a segment: sizes within one differ by less than the fanout.

    >>> [_tier_of(size) for size in (0, 1 << 16, 1 << 20, 8 << 20, 64 << 20)]
    [0, 1, 2, 3, 4]
    """
    tier = 0
    while live >= _SMALLEST_TIER << (3 * tier):
        tier += 1
    return tier


def crowded(segments: Sequence[StoredSegment]) -> list[StoredSegment]:
    """Segments that should become one now: the smallest tier that is full, or one that is more than half dead."""
    tiers: dict[int, list[StoredSegment]] = {}
    for segment in segments:
        tiers.setdefault(_tier_of(segment.live), []).append(segment)
    for tier in sorted(tiers):
        if len(tiers[tier]) >= FANOUT:
            chosen = next((batch for batch in batches(tiers[tier][:FANOUT]) if len(batch) > 1), None)
            if chosen:
                return chosen
    return next(([segment] for segment in segments if segment.dead and 2 * segment.live < segment.length), [])


def batches(segments: Sequence[StoredSegment]) -> Iterator[list[StoredSegment]]:
    """Neighbouring segments together, up to the largest size."""
    batch: list[StoredSegment] = []
    size = 0
    for segment in segments:
        if batch and size + segment.live > scaled(LARGEST_BYTES):
            yield batch
            batch, size = [], 0
        batch.append(segment)
        size += segment.live
    if batch:
        yield batch


# ---- merging


@dataclass(frozen=True, slots=True, eq=False)
class _MergedSegment:
    """A segment whose blobs are written, and which nobody sees yet."""

    number: int
    length: int
    extents: Extents
    cards: list[Card]


def publish_merged(cursor: Cursor, merged: _MergedSegment, replaced: Sequence[StoredSegment] = ()) -> None:
    """Put a merged segment in the place of others."""
    write_extents(cursor, merged.number, merged.extents, length=merged.length)
    write_cards(cursor, merged.number, merged.cards)
    for segment in replaced:
        drop_segment(cursor, segment.number)


def merge(cursor: Cursor, segments: Sequence[StoredSegment]) -> _MergedSegment:
    """Write the live text of some segments, also of another store, as one."""
    number = cursor.next_segment()
    axis = _Axis(cursor, number)
    moves = [_Move(segment, axis.append(segment)) for segment in segments]
    length = axis.close()
    merged = merge_postings([move.pages() for move in moves])
    write_blobs(cursor, number, page_blobs(page for postings in merged for page in pages_of(postings)))
    heads = Heads(*_joined([move.heads() for move in moves]))
    units = np.concatenate([move.cuts(move.segment.unit_starts) for move in moves])
    sections = np.concatenate([move.cuts(move.segment.section_starts) for move in moves])
    write_blobs(cursor, number, cut_blobs(units, sections, heads))
    extents = Extents(*_joined([move.extents for move in moves]))
    return _MergedSegment(number, length, extents, [card for segment in segments for card in segment.cards()])


def _joined(tables: Sequence[Sequence[Numbers]]) -> list[Numbers]:
    return [np.concatenate(columns) for columns in zip(*tables, strict=True)]


@dataclass(frozen=True, slots=True)
class _Move:
    """A segment, and the place on the new axis where each of its extents begins."""

    segment: StoredSegment
    bases: Numbers

    @property
    def extents(self) -> Extents:
        old = self.segment.extents
        return Extents(self.bases, self.bases + old.ends - old.bases, old.documents, old.starts)

    def _shifts(self, positions: Numbers) -> tuple[np.typing.NDArray[np.bool_], Numbers]:
        """Which positions are live, and how far each moves."""
        bases, ends, *_ = self.segment.extents
        index = bases.searchsorted(positions, side="right") - 1
        return (index >= 0) & (positions < ends[index]), (self.bases - bases)[index]

    def cuts(self, column: Cuts) -> Numbers:
        """Live cut points on the new axis."""
        starts = column.astype(np.int64)
        is_live, shifts = self._shifts(starts)
        return (starts + shifts)[is_live]

    def heads(self) -> Heads:
        """Live headings on the new axis."""
        starts, ends, levels, names = self.segment.heads
        is_live, shifts = self._shifts(starts)
        return Heads((starts + shifts)[is_live], (ends + shifts)[is_live], levels[is_live], (names + shifts)[is_live])

    def pages(self) -> Iterator[Postings]:
        """Live postings on the new axis."""
        shifts = np.unique(self.bases - self.segment.extents.bases)
        for page in self.segment.pages():
            if self.segment.dead or len(shifts) > 1:
                yield without_empty(page, *self._shifts(page.positions))
            else:
                yield Postings(page.names, page.offsets, page.positions + shifts)


class _Axis:
    """The text of a new segment in the making."""

    def __init__(self, cursor: Cursor, number: int) -> None:
        self._cursor, self._number = cursor, number
        self._place = 0  # of the next block
        self._open = bytearray()  # text that is not in a block yet
        self._has_extent = False  # since the last segment whose blocks were kept

    def append(self, segment: StoredSegment) -> Numbers:
        """Add a segment's live text; returns where its extents begin."""
        if segment.dead or segment.length < _MOVED_BYTES:
            return np.array([self._add(content) for content in segment.contents()], np.int64)
        self._flush()
        base = self._place * BLOCK_BYTES
        blocks = segment.length // BLOCK_BYTES + 1  # at least a byte stays free, as between any two extents
        for place in range(blocks):
            data = segment.packed_block(place)
            if data is not None:  # between two parts of an axis there may be none
                write_blobs(self._cursor, self._number, [(TEXT, self._place + place, data)])
        self._place += blocks
        return segment.extents.bases + base

    def _add(self, content: bytes) -> int:
        if self._has_extent:
            self._open += GAP
        self._has_extent = True
        base = self._place * BLOCK_BYTES + len(self._open)
        self._open += content
        while len(self._open) > BLOCK_BYTES:
            self._write(bytes(self._open[:BLOCK_BYTES]))
            del self._open[:BLOCK_BYTES]
        return base

    def _write(self, text: bytes) -> None:
        write_blobs(self._cursor, self._number, block_blobs(text, first=self._place))
        self._place += 1

    def _flush(self) -> None:
        """Begin a new block, at least a byte after the last extent."""
        if self._open:
            self._write(bytes(self._open))
            self._place += len(self._open) == BLOCK_BYTES
            self._open.clear()
        self._has_extent = False

    def close(self) -> int:
        """Write the rest of the text; returns the length of the axis."""
        length = self._place * BLOCK_BYTES + len(self._open)
        self._flush()
        return length
