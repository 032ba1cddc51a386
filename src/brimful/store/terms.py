"""A term in all segments of a snapshot: its page in each of them is read in one round trip, its places are kept."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import Any

from brimful.index.segments import OpenPage, pages_beginning
from brimful.native.columns import Columns, OpenPages, unite_all
from brimful.store.caching import ByteCache, scaled
from brimful.store.columns import check_positions
from brimful.store.segments import StoredSegment
from brimful.store.snapshot import StoredSnapshot

_PAGES_BYTES = 8 << 20
"""Of pages that were read together last."""


class StoredTerms:
    """Counts and places of terms over some segments of a snapshot."""

    def __init__(
        self, snapshot: StoredSnapshot, segments: Sequence[StoredSegment], places: ByteCache[Any, Any]
    ) -> None:
        self._snapshot, self._segments, self._places = snapshot, segments, places
        self._dead = [(index, segment) for index, segment in enumerate(segments) if segment.dead]
        self._pages: ByteCache[tuple[int, ...], OpenPages] = ByteCache(scaled(_PAGES_BYTES))

    def census(self, term: bytes) -> int:
        """The occurrences of a term in live text."""
        counts = self._pages_with(term).counts(term)
        for index, segment in self._dead:
            counts[index] = segment.count(term) if counts[index] else 0
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
            self._snapshot.expect_terms(terms)
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
            opened = self._snapshot.pages([(self._segments[index].number, place) for index, place in present.items()])
            by_segment: dict[int, OpenPage] = dict(zip(present, opened, strict=True))
            pages = OpenPages([by_segment.get(index) for index in range(len(places))])
            pages = self._pages.keep(places, pages, size=pages.nbytes)
        return pages
