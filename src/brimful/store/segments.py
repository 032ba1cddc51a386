"""The segments of a store as one snapshot sees them: verified blobs, columns that are read when needed, and terms."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import compress, pairwise, zip_longest
from typing import Any

import numpy as np
from numpy.typing import NDArray

from brimful.budget import scaled
from brimful.errors import CorruptError
from brimful.index.segments import Numbers, OpenPage, Postings, pages_beginning
from brimful.native.columns import Columns, OpenPages, unite_all
from brimful.outline.cuts import Heads
from brimful.store.caching import ByteCache
from brimful.store.columns import (
    Cuts,
    SegmentRow,
    check,
    check_positions,
    open_page,
    read_cards,
    read_cuts,
    read_extents,
    read_heads,
    read_postings,
    stated_bytes,
    unpacked,
)
from brimful.store.format import (
    CARDS,
    EXTENTS,
    FIRSTS,
    HEADS,
    PAGE,
    SECTIONS,
    TEXT,
    UNITS,
    WORDS,
    Cursor,
    check_seal,
    key_of,
    kind_of_key,
    place_of,
    seal_of,
)
from brimful.store.rows import BLOCK_BYTES, Card, Extents

_TIMES, _FLOOR_BYTES = 64, 64 << 20
"""All columns of a store, unpacked, are smaller than this multiple of its file and this floor together: a document with
an extent and a card has a row, a heading has its words' positions. Larger ones were not written by this program."""
_KEPT_BYTES, _MOST_KEPT_BYTES = 20 << 20, 64 << 20
"""Of blocks, pages and sections together, unpacked as they are read."""


def _kept_bytes_of(store_bytes: int) -> int:
    """The cache of a reader: smaller for a large store, of which more columns stay in memory anyway.

    >>> [_kept_bytes_of(size << 20) >> 20 for size in (1, 100, 700)]
    [63, 51, 20]
    """
    return max(_KEPT_BYTES, _MOST_KEPT_BYTES - store_bytes // 8)


class BlobReader:
    """Verified blobs of one snapshot; blocks of text, pages and sections that were read last are kept."""

    def __init__(self, cursor: Cursor) -> None:
        self._cursor = cursor
        # A server's blobs are kept where they are fetched, so fewer of them here.
        kept_bytes = scaled(_KEPT_BYTES if cursor.is_far else _kept_bytes_of(cursor.size_bytes()))
        self._column_bytes: dict[int, int] = {}  # by key
        self._blocks: ByteCache[int, bytes] = ByteCache(kept_bytes // 2)
        self._pages: ByteCache[int, OpenPage] = ByteCache(kept_bytes // 2)

    def segments(self) -> list[SegmentRow]:
        """All segments by number."""
        rows = []
        columns = ", ".join(SegmentRow._fields)
        for *values, seal in self._cursor.fetch(f"SELECT {columns}, seal FROM segments ORDER BY number"):  # noqa: S608
            check_seal("a segment", seal, *values)
            rows.append(SegmentRow(*values).checked())
        return rows

    def blob(self, key: int) -> bytes:
        """The bytes under a key."""
        data = self.find(key)
        if data is None:
            raise CorruptError(f"blob {key} is missing; verify the store, or index the sources again")
        return data

    def find(self, key: int) -> bytes | None:
        """The bytes under a key, None where there are none."""
        row = self._cursor.sealed("blobs", key)
        if row is None:
            return None
        data, seal = row
        check_seal(f"blob {key}", seal, key, data)
        return bytes(data)

    def column(self, key: int) -> bytes:
        """An unpacked column; all of a store together are bounded by its size."""
        packed = self.blob(key)
        self._column_bytes[key] = max(stated_bytes(packed), 0)
        return unpacked(
            packed, limit_bytes=self.most_bytes - sum(self._column_bytes.values()) + self._column_bytes[key]
        )

    @cached_property
    def most_bytes(self) -> int:
        """The bytes that all columns of a store of this size hold at most."""
        return _TIMES * self._cursor.size_bytes() + _FLOOR_BYTES

    def places(self, segment: int) -> list[tuple[int, int]]:
        """Kind and place of each blob of a segment."""
        bounds = (key_of(segment, 0), key_of(segment + 1, 0))
        keys = self._cursor.fetch("SELECT key FROM blobs WHERE key >= ? AND key < ? ORDER BY key", bounds)
        return [(kind_of_key(key), place_of(key)) for (key,) in keys]

    def block(self, segment: int, place: int) -> bytes:
        """A block of text."""
        key = key_of(segment, TEXT, place)
        block = self._blocks.get(key)
        if block is None:
            block = unpacked(self.blob(key), limit_bytes=BLOCK_BYTES)
            self._blocks.keep(key, block, size=len(block))
        return block

    def expect(self, keys: Sequence[int]) -> None:
        """Fetch blobs that are needed next, where the store is on a server."""
        self._cursor.expect(keys)

    def pages(self, places: Sequence[tuple[int, int]]) -> list[OpenPage]:
        """Pages of postings, by segment and place; the ones that are not kept are fetched together."""
        keys = [key_of(segment, PAGE, place) for segment, place in places]
        pages = {key: page for key in keys if (page := self._pages.get(key)) is not None}
        missing = sorted({key for key in keys if key not in pages})
        self._cursor.expect(missing)
        for key in missing:
            page = open_page(self.blob(key))
            pages[key] = self._pages.keep(key, page, size=page.nbytes)
        return [pages[key] for key in keys]


class StoredSegment:
    """A segment: documents one after the other on one axis, and the columns over it."""

    def __init__(self, blobs: BlobReader, row: SegmentRow) -> None:
        self._blobs = blobs
        self.row = row
        self.number, self.length, self.live, self.dead, self.lowest, self.highest = row

    def _column(self, kind: int) -> bytes:
        return self._blobs.column(key_of(self.number, kind))

    @cached_property
    def extents(self) -> Extents:
        """Live stretches of documents."""
        return read_extents(self._column(EXTENTS), self.row)

    def extents_of(self, document: int) -> Numbers:
        """Indexes of a document's extents, in their order."""
        order, documents = self._by_document
        first, last = documents.searchsorted(np.array((document, document + 1), documents.dtype))
        return order[first:last]

    @cached_property
    def _by_document(self) -> tuple[Numbers, Numbers]:
        """The extents by document, and the document of each."""
        order = np.argsort(self.extents.documents, kind="stable")
        return order, self.extents.documents[order]

    def cards(self) -> list[Card]:
        """Cards of the live documents that begin here."""
        return list(map(Card._make, zip(*self.card_columns(), strict=True)))

    def card_columns(self) -> list[Sequence[Any]]:
        """Cards of the live documents that begin here, a column for each field."""
        columns = read_cards(self._column(CARDS), self.row)
        if not self.dead:
            return columns
        begun = set(self.extents.documents[self.extents.starts == 0].tolist())
        is_live = [number in begun for number in columns[0]]
        return [list(compress(column, is_live)) for column in columns]

    @cached_property
    def unit_starts(self) -> Cuts:
        """The places where units begin: every question needs them."""
        return read_cuts(self._blobs.blob(key_of(self.number, UNITS)), self.row)

    @cached_property
    def section_starts(self) -> Cuts:
        """The places where sections begin."""
        return read_cuts(self._blobs.blob(key_of(self.number, SECTIONS)), self.row)

    @cached_property
    def heads(self) -> Heads:
        """Headings and definitions, in order."""
        return read_heads(self._column(HEADS), self.row)

    # ---- terms

    @cached_property
    def firsts(self) -> list[bytes]:
        """The first term of every page."""
        raw = self._column(FIRSTS)
        firsts = raw.split(b"\n") if raw else []  # no term holds white space
        check(
            all(first < second for first, second in pairwise(firsts)),
            f"the pages of segment {self.number} are in no order",
        )
        return firsts

    def pages_of(self, terms: Iterable[bytes]) -> list[int]:
        """The keys of the pages that would have some terms."""
        places = {bisect_right(self.firsts, term) - 1 for term in terms}
        return [key_of(self.number, PAGE, place) for place in places if place >= 0]

    def is_live(self, positions: NDArray[np.integer]) -> NDArray[np.bool_]:
        """Which positions lie in live text."""
        bases, ends, *_ = self.extents
        numbers = bases.searchsorted(positions, side="right") - 1
        inside: NDArray[np.bool_] = (numbers >= 0) & (positions < ends[numbers])
        return inside

    def words(self) -> bytes:
        """The terms of letters in lines, sorted, dead text included."""
        lines = self._column(WORDS)
        check(not lines or lines.endswith(b"\n"), f"the words of segment {self.number} are no lines")
        return lines

    def live_names(self, prefix: bytes = b"") -> list[bytes]:
        """The terms with this prefix in live text, sorted."""
        names: list[bytes] = []
        for place in pages_beginning(self.firsts, prefix):
            postings = self._postings(place)
            counts = np.add.reduceat(self.is_live(postings.positions), postings.offsets[:-1], dtype=np.int64)
            names += [postings.names[index] for index in np.flatnonzero(counts).tolist()]
        return [name for name in names if name.startswith(prefix)]

    def pages(self) -> Iterator[Postings]:
        """All postings page by page, dead text included."""
        return map(self._postings, range(len(self.firsts)))

    def _postings(self, place: int) -> Postings:
        return read_postings(self._blobs.blob(key_of(self.number, PAGE, place)), self.row)

    # ---- bytes

    def places(self) -> list[tuple[int, int]]:
        """Kind and place of each blob."""
        return self._blobs.places(self.number)

    def packed_block(self, place: int) -> bytes | None:
        """A block of text as it is stored; None where there is none."""
        return self._blobs.find(key_of(self.number, TEXT, place))

    def changing(self) -> list[tuple[int, bytes]]:
        """Keys and seals of the blobs that a commit may write anew: while they stay, so does the segment."""
        keys = [key_of(self.number, kind) for kind in (EXTENTS, CARDS)]
        return [(key, seal_of(key, self._blobs.blob(key))) for key in keys]

    def contents(self) -> Iterator[bytes]:
        """The text of each live extent."""
        for base, end in zip(self.extents.bases.tolist(), self.extents.ends.tolist(), strict=True):
            yield self.text(base, end)

    def text(self, start: int, end: int) -> bytes:
        """Bytes of the axis inside one extent."""
        blocks = range(int(start) // BLOCK_BYTES, (end - 1) // BLOCK_BYTES + 1)
        joined = b"".join(self._blobs.block(self.number, place) for place in blocks)
        begin = blocks.start * BLOCK_BYTES
        if end - begin > len(joined):
            raise CorruptError(f"segment {self.number} ends before byte {end}")
        return joined[start - begin : end - begin]

    def texts(self, starts: Iterable[int], ends: Iterable[int]) -> list[bytes]:
        """Bytes of several stretches of the axis."""
        return [self.text(start, end) for start, end in zip(starts, ends, strict=True)]


# ---- a term in all segments: its page in each of them is read in one round trip, its places are kept

_PAGES_BYTES = 8 << 20
"""Of pages that were read together last."""


class StoredTerms:
    """Counts and places of terms over some segments of a snapshot."""

    def __init__(self, blobs: BlobReader, segments: Sequence[StoredSegment], places: ByteCache[Any, Any]) -> None:
        self._blobs, self._segments, self._places = blobs, segments, places
        self._dead = [(index, segment) for index, segment in enumerate(segments) if segment.dead]
        self._pages: ByteCache[tuple[int, ...], OpenPages] = ByteCache(scaled(_PAGES_BYTES))

    def census(self, term: bytes) -> int:
        """The occurrences of a term in live text."""
        counts = self._pages_with(term).counts(term)
        for index, _ in self._dead:
            counts[index] = len(self.places(term)[index]) if counts[index] else 0
        return int(counts.sum())

    def names(self, prefix: bytes) -> list[bytes]:
        """All terms of live text with this prefix, in bytewise order."""
        names = self._names_in_dead(prefix)
        for pages in self._pages_beginning(prefix):
            names.update(pages.beginning(prefix))
        return sorted(names)

    def near(self, prefix: bytes, letters: int, *, longer: int) -> set[bytes]:
        """Terms of live text with this prefix that may have this number of letters, or up to `longer` more or fewer.

        Terms with other signs than letters and apostrophes are left out.
        """
        names = self._names_in_dead(prefix)
        for pages in self._pages_beginning(prefix):
            names.update(pages.near(prefix, letters, longer=longer))
        return names

    def _names_in_dead(self, prefix: bytes) -> set[bytes]:
        return {name for _, segment in self._dead for name in segment.live_names(prefix)}

    def _pages_beginning(self, prefix: bytes) -> Iterator[OpenPages]:
        """The first page with the prefix of each segment without dead text, then the second, and on."""
        ranges = [() if segment.dead else pages_beginning(segment.firsts, prefix) for segment in self._segments]
        for places in zip_longest(*ranges, fillvalue=-1):
            yield self._pages_at(places)

    def places(self, term: bytes) -> Columns:
        """The places of a term in live text, on the axis of each segment."""
        places: Columns | None = self._places.get(term)
        if places is None:
            places = self._bounded(self._pages_with(term).of(term))
            if self._dead:
                columns = list(places)
                for index, segment in self._dead:
                    columns[index] = columns[index][segment.is_live(columns[index])]
                places = Columns(columns)
            places = self._places.keep(term, places, size=4 * places.total)
        return places

    def all_places(self, terms: Sequence[bytes], added: Sequence[Columns]) -> Columns:
        """The places of any of some terms, and other places; nothing is kept."""
        if self._dead or len(terms) + len(added) < 2:
            groups = [*added, *map(self.places, terms)]
        else:
            self._blobs.expect([key for segment in self._segments for key in segment.pages_of(terms)])
            groups = [*added, *(self._bounded(self._pages_with(term).of(term)) for term in terms)]
        return unite_all(groups) if len(groups) > 1 else groups[0]

    def _bounded(self, places: Columns) -> Columns:
        for column, segment in zip(places, self._segments, strict=True):
            check_positions(column, segment.row)
        return places

    def _pages_with(self, term: bytes) -> OpenPages:
        return self._pages_at(tuple([bisect_right(segment.firsts, term) - 1 for segment in self._segments]))

    def _pages_at(self, places: tuple[int, ...]) -> OpenPages:
        """A page of each segment, none where the place is negative."""
        pages = self._pages.get(places)
        if pages is None:
            present = {index: place for index, place in enumerate(places) if place >= 0}
            opened = self._blobs.pages([(self._segments[index].number, place) for index, place in present.items()])
            by_segment: dict[int, OpenPage] = dict(zip(present, opened, strict=True))
            pages = OpenPages([by_segment.get(index) for index in range(len(places))])
            pages = self._pages.keep(places, pages, size=pages.nbytes)
        return pages
