"""What stands where on the axis of one segment? Columns that are read when first asked for, each byte verified."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import chain, compress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from brimful.errors import CorruptError
from brimful.index.segments import Numbers, OpenPage, Postings, pages_beginning, read_page, unpack_numbers
from brimful.outline.cuts import Heads
from brimful.store.format import (
    CARDS,
    EXTENTS,
    HEADS,
    LITTLE,
    PAGE,
    SECTIONS,
    TEXT,
    UNITS,
    BlobReader,
    Cuts,
    SegmentRow,
    key_of,
    seal_of,
    unpack_cards,
    unpack_table,
)
from brimful.store.rows import BLOCK_BYTES, Card, Extents

_NOTHING = np.zeros(0, np.int64)


class StoredSegment:
    """A segment as one snapshot sees it."""

    def __init__(self, shelf: BlobReader, row: SegmentRow) -> None:
        self._shelf = shelf
        self.number, self.length, self.live, self.dead, self.lowest, self.highest = row

    @cached_property
    def extents(self) -> Extents:
        """What is live."""
        packed, most = self._shelf.column(key_of(self.number, EXTENTS))
        return Extents(*unpack_table(packed, width=4, most=most))

    def extents_of(self, document: int) -> Numbers:
        """Which of the extents are a document's, in their order."""
        order, documents = self._by_document
        first, last = documents.searchsorted(np.array((document, document + 1), documents.dtype))
        return order[first:last]

    @cached_property
    def _by_document(self) -> tuple[Numbers, Numbers]:
        """The extents by document, and the document of each."""
        order = np.argsort(self.extents.documents, kind="stable")
        return order, self.extents.documents[order]

    def cards(self) -> list[Card]:
        """What is shown of the live documents that begin here."""
        return list(map(Card._make, zip(*self.card_columns(), strict=True)))

    def card_columns(self) -> list[Sequence[Any]]:
        """The same, a column for each field of a card."""
        packed, most = self._shelf.column(key_of(self.number, CARDS))
        columns = unpack_cards(packed, most=most)
        if not self.dead:
            return columns
        begun = set(self.extents.documents[self.extents.starts == 0].tolist())
        is_live = [number in begun for number in columns[0]]
        return [list(compress(column, is_live)) for column in columns]

    @property
    def units(self) -> Numbers:
        """Where units begin."""
        return self.unit_starts.astype(np.int64)

    @cached_property
    def unit_starts(self) -> Cuts:
        """The same, in as few bytes as hold it: the column itself, no copy. Every question needs it."""
        return self._shelf.cuts(self.number, UNITS)

    @property
    def sections(self) -> Numbers:
        """Where sections begin."""
        return self._shelf.cuts(self.number, SECTIONS).astype(np.int64)

    def units_in(self, start: int, end: int) -> Numbers:
        """Where the units begin that begin in a range."""
        return _between(self.unit_starts, start, end)

    def sections_in(self, start: int, end: int) -> Numbers:
        """The same of sections; the column is kept for a while only, since few questions need it."""
        return _between(self._shelf.kept_cuts(self.number, SECTIONS), start, end)

    @cached_property
    def heads(self) -> Heads:
        """Where headings stand, in as few bytes as hold it."""
        packed, most = self._shelf.column(key_of(self.number, HEADS))
        starts, ends, levels = unpack_table(packed, width=3, most=most)
        narrow = np.int32 if max(self.length, int(ends.max(initial=0))) < 1 << 31 else np.int64
        return Heads(starts.astype(narrow), ends.astype(narrow), levels.astype(np.int8))

    @cached_property
    def firsts(self) -> list[bytes]:
        """The first term of every page."""
        return self._shelf.firsts(self.number)

    def pages_of(self, terms: Iterable[bytes]) -> list[int]:
        """The keys of the pages that would have some terms."""
        places = {bisect_right(self.firsts, term) - 1 for term in terms}
        return [key_of(self.number, PAGE, place) for place in places if place >= 0]

    def page(self, place: int) -> OpenPage:
        """A page of terms and their positions, those of dead text included."""
        return self._shelf.page(self.number, place)

    def positions(self, term: bytes) -> Numbers:
        """Where a term stands in live text, ascending."""
        positions = self.all_positions(term)
        return positions[self.is_live(positions)] if self.dead and len(positions) else positions

    def all_positions(self, term: bytes) -> Numbers:
        """Where a term stands, in dead text too."""
        place = bisect_right(self.firsts, term) - 1
        return self.page(place).of(term) if place >= 0 else _NOTHING

    def is_live(self, positions: NDArray[np.integer]) -> NDArray[np.bool_]:
        """Which positions lie in live text."""
        bases, ends, *_ = self.extents
        at = bases.searchsorted(positions, side="right") - 1
        inside: NDArray[np.bool_] = (at >= 0) & (positions < ends[at])
        return inside

    def count(self, term: bytes) -> int:
        """How often a term stands in live text."""
        place = bisect_right(self.firsts, term) - 1
        if place < 0:
            return 0
        count = self.page(place).count(term)
        if not self.dead or not count:
            return count
        positions = self.all_positions(term)
        bases, ends, *_ = self.extents
        return int((positions.searchsorted(ends) - positions.searchsorted(bases)).sum())

    def little_words(self) -> Numbers | None:
        """How often each word stands that tells languages apart, in their order; None where some text is dead."""
        return None if self.dead else unpack_numbers(self._shelf.blob(key_of(self.number, LITTLE)))

    def names(self, prefix: bytes) -> list[bytes]:
        """The terms that begin so, sorted."""
        pages = (self.page(place) for place in pages_beginning(self.firsts, prefix))
        return list(chain.from_iterable(page.beginning(prefix) for page in pages))

    def words(self) -> bytes:
        """The terms of letters, sorted, a newline behind each, those of dead text included."""
        return self._shelf.words(self.number)

    def live_names(self, prefix: bytes = b"") -> list[bytes]:
        """The terms that begin so in live text, sorted."""
        if not self.dead:
            return self.names(prefix)
        found: list[bytes] = []
        for place in pages_beginning(self.firsts, prefix):
            postings = read_page(self._shelf.blob(key_of(self.number, PAGE, place)))
            counts = np.add.reduceat(self.is_live(postings.positions), postings.offsets[:-1], dtype=np.int64)
            names = (postings.names[index] for index in np.flatnonzero(counts).tolist())
            found += [name for name in names if name.startswith(prefix)]
        return found

    def pages(self) -> Iterator[Postings]:
        """All postings, dead ones included, page by page."""
        return (read_page(self._shelf.blob(key_of(self.number, PAGE, place))) for place in range(len(self.firsts)))

    def blobs(self) -> Iterator[tuple[int, int, bytes]]:
        """All that is kept of it as it is stored, but for what names its documents: kind, place, bytes."""
        for kind, place in self._shelf.places(self.number):
            if kind not in (EXTENTS, CARDS):
                yield kind, place, self._shelf.blob(key_of(self.number, kind, place))

    def packed_block(self, place: int) -> bytes | None:
        """A block of text as it is stored; None where there is none."""
        return self._shelf.find(key_of(self.number, TEXT, place))

    def changing(self) -> list[tuple[int, bytes]]:
        """The keys and seals of the blobs that a commit may write anew: as long as they stay, so does the segment."""
        keys = [key_of(self.number, kind) for kind in (EXTENTS, CARDS)]
        return [(key, seal_of(key, self._shelf.blob(key))) for key in keys]

    def contents(self) -> Iterator[bytes]:
        """The text of each live extent."""
        for base, end in zip(self.extents.bases.tolist(), self.extents.ends.tolist(), strict=True):
            yield self.text(base, end)

    def text(self, start: int, end: int) -> bytes:
        """Bytes of the axis inside one extent."""
        blocks = range(int(start) // BLOCK_BYTES, (end - 1) // BLOCK_BYTES + 1)
        joined = b"".join(self._shelf.block(self.number, place) for place in blocks)
        begin = blocks.start * BLOCK_BYTES
        if end - begin > len(joined):
            raise CorruptError(f"segment {self.number} ends before byte {end}")
        return joined[start - begin : end - begin]

    def texts(self, starts: Iterable[int], ends: Iterable[int]) -> list[bytes]:
        """The same of several places; of those in one block, which follow each other, it is asked for once."""
        found, place, first, block = [], -1, 0, b""
        for start, end in zip(starts, ends, strict=True):
            if start // BLOCK_BYTES != place:
                place = start // BLOCK_BYTES
                first, block = place * BLOCK_BYTES, self._shelf.block(self.number, place)
            inside = start < end and end - first <= len(block)
            found.append(block[start - first : end - first] if inside else self.text(start, end))
        return found


def _between(column: Cuts, start: int, end: int) -> Numbers:
    first, last = column.searchsorted(np.array((start, end), column.dtype))
    return column[first:last].astype(np.int64)
