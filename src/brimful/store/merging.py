"""How do several segments become one without reading any text again?

Positions, cuts, headings and codes of live extents are moved to a new axis; what was deleted is left behind. Text
of a large segment without dead extents keeps its compressed blocks: its part of the new axis begins at a block.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from brimful.errors import CorruptError
from brimful.index.build import GAP
from brimful.index.columns import Numbers
from brimful.index.merging import merge_postings, without_empty
from brimful.index.segments import Page, Postings, pages_of
from brimful.store.cursors import Cursor
from brimful.store.laying import (
    block_blob,
    code_blobs,
    cut_blobs,
    drop_segment,
    page_blobs,
    write_blob,
    write_blobs,
    write_cards,
    write_extents,
)
from brimful.store.protocol import BLOCK_BYTES, Extents, Heads
from brimful.store.schema import TEXT, key_of
from brimful.store.views import StoredSegment

FANOUT = 8
"""So many segments of a tier are merged into one of the next."""

LARGEST_BYTES = 128 << 20
"""Live text of a segment that merging may make."""

_SMALLEST_TIER = 1 << 16
_MOVED_BYTES = 16 * BLOCK_BYTES
"""A segment from this size on keeps its blocks; smaller ones are laid together and compressed anew."""


def tier_of(live: int) -> int:
    """Segments of one tier differ in size by less than the fanout.

    >>> [tier_of(size) for size in (0, 1 << 16, 1 << 20, 8 << 20, 64 << 20)]
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
        tiers.setdefault(tier_of(segment.live), []).append(segment)
    for tier in sorted(tiers):
        if len(tiers[tier]) >= FANOUT:
            chosen = next((batch for batch in batches(tiers[tier][:FANOUT]) if len(batch) > 1), None)
            if chosen:
                return chosen
    return next(([each] for each in segments if each.dead and 2 * each.live < each.length), [])


def batches(segments: Sequence[StoredSegment]) -> Iterator[list[StoredSegment]]:
    """Neighbouring segments together, up to the largest size."""
    batch: list[StoredSegment] = []
    size = 0
    for segment in segments:
        if batch and size + segment.live > LARGEST_BYTES:
            yield batch
            batch, size = [], 0
        batch.append(segment)
        size += segment.live
    if batch:
        yield batch


def merge(cursor: Cursor, segments: Sequence[StoredSegment]) -> None:
    """Write one segment in the place of some, inside the caller's transaction."""
    number = cursor.next_segment()
    axis = _Axis(cursor, number)
    moves = [_Move(segment, axis.lay(segment)) for segment in segments]
    length = axis.close()
    write_blobs(cursor, number, page_blobs(_pages(moves)))
    heads = Heads(*_joined([move.heads() for move in moves]))
    units, sections = (np.concatenate([move.cuts(name) for move in moves]) for name in ("units", "sections"))
    write_blobs(cursor, number, cut_blobs(units, sections, heads))
    codes = [rows for move in moves if (rows := move.codes()) is not None]
    if codes and len(codes) != len(moves):
        raise CorruptError("some segments have codes and others have none; rebuild the store")
    write_blobs(cursor, number, code_blobs(np.concatenate(codes) if codes else None))
    extents = Extents(*_joined([move.extents for move in moves]))
    cards = [card for segment in segments for card in segment.cards()]
    cursor.take_turn([seal for segment in segments for seal in segment.changing()])
    write_extents(cursor, number, extents, length=length)
    write_cards(cursor, number, cards)
    for segment in segments:
        drop_segment(cursor, segment.number)


def _joined(tables: Sequence[Sequence[Numbers]]) -> list[Numbers]:
    return [np.concatenate(columns) for columns in zip(*tables, strict=True)]


@dataclass(frozen=True, slots=True)
class _Move:
    """A segment with where each of its extents begins on the new axis."""

    segment: StoredSegment
    bases: Numbers

    @property
    def extents(self) -> Extents:
        old = self.segment.extents
        return Extents(self.bases, self.bases + old.ends - old.bases, old.documents, old.starts)

    def _shifts(self, positions: Numbers) -> tuple[np.typing.NDArray[np.bool_], Numbers]:
        """Which positions are live, and how far they move."""
        bases, ends, *_ = self.segment.extents
        at = bases.searchsorted(positions, side="right") - 1
        return (at >= 0) & (positions < ends[at]), (self.bases - bases)[at]

    def cuts(self, name: str) -> Numbers:
        """Live cut points on the new axis."""
        column: Numbers = getattr(self.segment, name)
        live, shifts = self._shifts(column)
        return (column + shifts)[live]

    def heads(self) -> Heads:
        """Live headings on the new axis."""
        starts, ends, levels = self.segment.heads
        live, shifts = self._shifts(starts)
        return Heads((starts + shifts)[live], (ends + shifts)[live], levels[live])

    def codes(self) -> np.typing.NDArray[np.uint8] | None:
        """The codes of live units."""
        codes = self.segment.codes
        return None if codes is None else codes[self._shifts(self.segment.units)[0]]

    def pages(self) -> Iterator[Postings]:
        """Live postings on the new axis."""
        shifts = np.unique(self.bases - self.segment.extents.bases)
        for page in self.segment.pages():
            if self.segment.dead or len(shifts) > 1:
                yield without_empty(page, *self._shifts(page.positions))
            else:
                yield Postings(page.names, page.offsets, page.positions + shifts)


def _pages(moves: Sequence[_Move]) -> Iterator[Page]:
    for postings in merge_postings([move.pages() for move in moves]):
        yield from pages_of(postings)


class _Axis:
    """The text of a new segment in the making."""

    def __init__(self, cursor: Cursor, number: int) -> None:
        self._cursor, self._number = cursor, number
        self._place = 0  # of the next block
        self._open = bytearray()  # text that is not in a block yet
        self._begun = False  # is there an extent since the last whole segment?

    def lay(self, segment: StoredSegment) -> Numbers:
        """Add a segment's live text; returns where its extents begin."""
        if segment.dead or segment.length < _MOVED_BYTES:
            return np.array([self._add(content) for content in segment.contents()], np.int64)
        self._flush()
        base = self._place * BLOCK_BYTES
        blocks = segment.length // BLOCK_BYTES + 1  # at least a byte stays free, as between any two extents
        for place in range(blocks):
            data = segment.packed_block(place)
            if data is not None:  # between two parts of an axis there may be none
                write_blob(self._cursor, key_of(self._number, TEXT, self._place + place), data)
        self._place += blocks
        return segment.extents.bases + base

    def _add(self, content: bytes) -> int:
        if self._begun:
            self._open += GAP
        self._begun = True
        base = self._place * BLOCK_BYTES + len(self._open)
        self._open += content
        while len(self._open) > BLOCK_BYTES:
            self._write(bytes(self._open[:BLOCK_BYTES]))
            del self._open[:BLOCK_BYTES]
        return base

    def _write(self, text: bytes) -> None:
        write_blobs(self._cursor, self._number, [block_blob(self._place, text)])
        self._place += 1

    def _flush(self) -> None:
        """Begin a new block, at least a byte after the last extent."""
        if self._open:
            self._write(bytes(self._open))
            self._place += len(self._open) == BLOCK_BYTES
            self._open.clear()
        self._begun = False

    def close(self) -> int:
        """Write what is left; returns the length of the axis."""
        end = self._place * BLOCK_BYTES + len(self._open)
        self._flush()
        return end
