"""What stands where on the axis of one segment? Columns that are read when first asked for."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from brimful.errors import CorruptError
from brimful.index.columns import Numbers, unpack_sorted
from brimful.index.segments import Postings, page_words, read_page
from brimful.index.vectors import CODE_BYTES, Codes
from brimful.store.protocol import BLOCK_BYTES, Card, Extents, Heads
from brimful.store.schema import BLOB_CODES, CARDS, EXTENTS, HEADS, PAGE, SECTIONS, TEXT, UNITS, key_of, seal_of
from brimful.store.shelf import SegmentRow, Shelf
from brimful.store.tables import unpack_cards, unpack_table

_NOTHING = np.zeros(0, np.int64)


class StoredSegment:
    """A segment as one snapshot sees it."""

    def __init__(self, shelf: Shelf, row: SegmentRow, *, coded: bool) -> None:
        self._shelf, self._has_codes = shelf, coded
        self.number, self.length, self.live, self.dead, self.lowest, self.highest = row
        self._columns: dict[int, NDArray[np.int64] | NDArray[np.uint32]] = {}

    @cached_property
    def extents(self) -> Extents:
        """What is live."""
        packed, most = self._shelf.column(key_of(self.number, EXTENTS))
        return Extents(*unpack_table(packed, width=4, most=most))

    def extents_of(self, document: int) -> Numbers:
        """Which of the extents are a document's, in their order."""
        order, documents = self._by_document
        first, last = documents.searchsorted((document, document + 1))
        return order[first:last]

    @cached_property
    def _by_document(self) -> tuple[Numbers, Numbers]:
        """The extents by document, and the document of each."""
        order = np.argsort(self.extents.documents, kind="stable")
        return order, self.extents.documents[order]

    def cards(self) -> list[Card]:
        """What is shown of the live documents that begin here."""
        packed, most = self._shelf.column(key_of(self.number, CARDS))
        cards = unpack_cards(packed, most=most)
        if not self.dead:
            return cards
        begun = set(self.extents.documents[self.extents.starts == 0].tolist())
        return [card for card in cards if card.number in begun]

    @property
    def units(self) -> Numbers:
        """Where units begin."""
        return self._column(UNITS).astype(np.int64)

    @property
    def unit_starts(self) -> NDArray[np.int64] | NDArray[np.uint32]:
        """The same, in as few bytes as hold it: the column itself, no copy."""
        return self._column(UNITS)

    @property
    def sections(self) -> Numbers:
        """Where sections begin."""
        return self._column(SECTIONS).astype(np.int64)

    def units_in(self, start: int, end: int) -> Numbers:
        """Where the units begin that begin in a range."""
        return _between(self._column(UNITS), start, end)

    def sections_in(self, start: int, end: int) -> Numbers:
        """The same of sections."""
        return _between(self._column(SECTIONS), start, end)

    def _column(self, part: int) -> NDArray[np.int64] | NDArray[np.uint32]:
        """Cuts are kept in half the bytes where that holds them: a gigabyte of text has millions."""
        if part not in self._columns:
            column = unpack_sorted(self._shelf.blob(key_of(self.number, part)))
            self._columns[part] = column.astype(np.uint32) if self.length < 1 << 32 else column
        return self._columns[part]

    @cached_property
    def heads(self) -> Heads:
        """Where headings stand."""
        packed, most = self._shelf.column(key_of(self.number, HEADS))
        return Heads(*unpack_table(packed, width=3, most=most))

    @property
    def codes(self) -> Codes | None:
        """A row for each unit."""
        if not self._has_codes:
            return None
        if self._are_together:
            return self._shelf.codes(self.number, 0)
        places = range(-(-len(self._column(UNITS)) // BLOB_CODES) or 1)
        return np.concatenate([self._blob_of_codes(place) for place in places])

    def codes_of(self, units: Numbers) -> Codes | None:
        """The rows of some ascending units; None in a store without vectors."""
        if not self._has_codes:
            return None
        if self._are_together:
            return self._shelf.codes(self.number, 0)[units]
        found = np.empty((len(units), CODE_BYTES), np.uint8)
        places = units // BLOB_CODES
        firsts = np.flatnonzero(np.diff(places, prepend=-1))
        for place, low, high in zip(
            places[firsts].tolist(), firsts.tolist(), [*firsts[1:].tolist(), len(units)], strict=True
        ):
            found[low:high] = self._blob_of_codes(place)[units[low:high] - place * BLOB_CODES]
        return found

    def _blob_of_codes(self, place: int) -> Codes:
        codes = self._shelf.codes(self.number, place)
        count = len(self._column(UNITS))
        if len(codes) != min(BLOB_CODES, count - place * BLOB_CODES):
            raise CorruptError(f"segment {self.number} has {count} units, and other codes; index the sources again")
        return codes

    @cached_property
    def _are_together(self) -> bool:
        """Whether all codes are one blob, as earlier programs wrote them."""
        return BLOB_CODES < len(self._column(UNITS)) == len(self._shelf.codes(self.number, 0))

    @cached_property
    def firsts(self) -> list[bytes]:
        """The first term of every page."""
        return self._shelf.firsts(self.number)

    def positions(self, term: bytes) -> Numbers:
        """Where a term stands in live text, ascending."""
        positions = self.all_positions(term)
        return positions[self.is_live(positions)] if self.dead and len(positions) else positions

    def all_positions(self, term: bytes) -> Numbers:
        """Where a term stands, in dead text too."""
        place = bisect_right(self.firsts, term) - 1
        return self._shelf.page(self.number, place).of(term) if place >= 0 else _NOTHING

    def is_live(self, positions: Numbers) -> NDArray[np.bool_]:
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
        count = self._shelf.page(self.number, place).count(term)
        if not self.dead or not count:
            return count
        positions = self.all_positions(term)
        bases, ends, *_ = self.extents
        if len(positions) < len(bases):
            return int(np.count_nonzero(self.is_live(positions)))
        return int((positions.searchsorted(ends) - positions.searchsorted(bases)).sum())

    def names(self, prefix: bytes) -> list[bytes]:
        """The terms that begin so, sorted."""
        found: list[bytes] = []
        for place in range(max(bisect_left(self.firsts, prefix) - 1, 0), len(self.firsts)):
            names, goes_on = self._shelf.page(self.number, place).beginning(prefix)
            found += names
            if not goes_on:
                break
        return found

    def words(self) -> list[bytes]:
        """The terms of letters, sorted, those of dead text included."""
        places = range(len(self.firsts))
        return [word for place in places for word in page_words(self._shelf.blob(key_of(self.number, PAGE, place)))]

    def live_names(self, prefix: bytes = b"") -> list[bytes]:
        """The terms that begin so in live text, sorted."""
        if not self.dead:
            return self.names(prefix)
        found: list[bytes] = []
        for place in range(max(bisect_left(self.firsts, prefix) - 1, 0), len(self.firsts)):
            if self.firsts[place] > prefix and not self.firsts[place].startswith(prefix):
                break
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
        blocks = range(start // BLOCK_BYTES, (end - 1) // BLOCK_BYTES + 1)
        joined = b"".join(self._shelf.block(self.number, place) for place in blocks)
        begin = blocks.start * BLOCK_BYTES
        if end - begin > len(joined):
            raise CorruptError(f"segment {self.number} ends before byte {end}")
        return joined[start - begin : end - begin]


def _between(column: NDArray[np.int64] | NDArray[np.uint32], start: int, end: int) -> Numbers:
    first, last = column.searchsorted(np.array((start, end), column.dtype))
    return column[first:last].astype(np.int64)
