"""What is fetched together from a store that is a round trip away, and what is kept of it?

A segment never changes once it is written, and its number is never given again: what a reader has of it stays true,
whatever is committed since. So a reader keeps it, up to a size, and the server is asked for the rest, many at once.
"""

from __future__ import annotations

import os
import threading
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

from brimful.errors import SettingError
from brimful.index.segments import OpenPage, pages_beginning
from brimful.native.columns import Columns, OpenPages, unite_all, unite_named
from brimful.store.format import (
    CARDS,
    EXTENTS,
    FIRSTS,
    HEADS,
    LITTLE,
    SECTIONS,
    UNITS,
    ByteLru,
    Room,
    key_of,
    kind_of_key,
    segment_of,
)

if TYPE_CHECKING:
    from brimful.store.snapshot import StoredSnapshot
    from brimful.store.views import StoredSegment

KEPT_MEGABYTES = 256
"""What a process keeps of the blobs of a corpus that is far away, unless BRIMFUL_FAR_CACHE says otherwise."""
VARIABLE = "BRIMFUL_FAR_CACHE"

SINGLE = (FIRSTS, UNITS, SECTIONS, HEADS, EXTENTS, CARDS, LITTLE)
"""The kinds of which a segment has one blob."""
CHANGING = (EXTENTS, CARDS)
"""The kinds of blobs that a later commit may write anew."""


def kept_bytes() -> int:
    """What a store that is far away may keep."""
    given = os.environ.get(VARIABLE, "").strip() or str(KEPT_MEGABYTES)
    if not (given.isascii() and given.isdigit()):
        raise SettingError(f"{VARIABLE} is {given!r:.40}; it is a whole number of megabytes, 0 keeps nothing")
    return int(given) << 20


_PAGES_BYTES = 8 << 20
"""Of pages that were asked together last."""


class StoredTerms:
    """What some segments of a snapshot have of a term: one round trip for all of them, and places that are kept.

    The pages on which a term would stand, one of each segment, are asked together.
    """

    def __init__(self, snapshot: StoredSnapshot, segments: Sequence[StoredSegment], kept: ByteLru[Any, Any]) -> None:
        self._snapshot, self._segments, self._kept = snapshot, segments, kept
        self._dead = [(at, segment) for at, segment in enumerate(segments) if segment.dead]
        # Most of these pages are kept where they were read.
        self._pages = Room(_PAGES_BYTES).keep(self._open, size=lambda pages: pages.nbytes)

    def census(self, term: bytes) -> int:
        """How often a term stands in live text."""
        counts = self._beside(term).counts(term)
        for at, segment in self._dead:
            counts[at] = segment.count(term) if counts[at] else 0
        return int(counts.sum())

    def names(self, prefix: bytes) -> list[bytes]:
        """All terms that begin so, in bytewise order; what only deleted text says is none."""
        found = {name for _, segment in self._dead for name in segment.live_names(prefix)}
        for pages in self._beginning(prefix):
            found.update(pages.beginning(prefix))
        return sorted(found)

    def near(self, prefix: bytes, letters: int, *, longer: int) -> set[bytes]:
        """Of the terms that begin so those that may have so many letters, or that many more or less.

        Those of other signs than letters are left out, but for apostrophes; what only deleted text says is none.
        """
        found = {name for _, segment in self._dead for name in segment.live_names(prefix)}
        for pages in self._beginning(prefix):
            found.update(pages.near(prefix, letters, longer=longer))
        return found

    def _beginning(self, prefix: bytes) -> Iterator[OpenPages]:
        """The pages with terms that begin so: the first one of each segment without dead text, then the second."""
        ranges = [() if segment.dead else pages_beginning(segment.firsts, prefix) for segment in self._segments]
        for each in zip_longest(*ranges, fillvalue=-1):
            yield self._pages(each)

    def places(self, term: bytes) -> Columns:
        """Where a term stands in live text, on the axis of each segment."""
        found: Columns | None = self._kept.get(term)
        if found is None:
            made = self._places(term)
            found = self._kept.keep(term, made, size=4 * made.total)
        return found

    def all_places(self, terms: Sequence[bytes], beside: Sequence[Columns]) -> Columns:
        """Where any of some terms stands, and all places beside these; nothing is kept of each."""
        if self._dead or not terms or len(terms) + len(beside) < 2:
            groups = [*beside, *map(self.places, terms)]
            return unite_all(groups) if len(groups) > 1 else groups[0]
        self._snapshot.expect_terms(terms)
        return unite_named([(self._beside(term), term) for term in terms], beside)

    def _places(self, term: bytes) -> Columns:
        found = self._beside(term).of(term)
        if not self._dead:
            return found
        columns = list(found)
        for at, segment in self._dead:
            columns[at] = columns[at][segment.is_live(columns[at])]
        return Columns(columns)

    def _beside(self, term: bytes) -> OpenPages:
        return self._pages(tuple([bisect_right(segment.firsts, term) - 1 for segment in self._segments]))

    def _open(self, places: tuple[int, ...]) -> OpenPages:
        wanted = [at for at, place in enumerate(places) if place >= 0]  # the segments that have a page there
        pages: list[OpenPage | None] = [None] * len(places)
        if wanted:
            found = self._snapshot.pages([(self._segments[at].number, places[at]) for at in wanted])
            for at, page in zip(wanted, found, strict=True):
                pages[at] = page
        return OpenPages(pages)


KeptBlobs = ByteLru[int, tuple[bytes, bytes]]
"""What was read of segments, which never change, with its seal."""


class FarBlobs:
    """The blobs of one snapshot: kept, fetched before they are asked for, or fetched now with those that come next.

    >>> far = FarBlobs(KeptBlobs(0), lambda keys: {key: (b"blob", b"seal") for key in keys})
    >>> far.expect([key_of(1, 0), key_of(1, 9)])
    >>> far.get(key_of(1, 9))
    (b'blob', b'seal')
    """

    AT_ONCE = 256
    """Blobs of some ten kilobytes that one round trip brings at most."""
    TOGETHER, MOST_TOGETHER = 4, 32
    """Neighbours that come with a blob, and with one after the other is read."""

    def __init__(self, kept: KeptBlobs, fetch: Callable[[Sequence[int]], dict[int, tuple[bytes, bytes]]]) -> None:
        self._kept, self._fetch = kept, fetch
        self._next, self._ahead = 0, self.TOGETHER
        self._waiting: OrderedDict[int, tuple[bytes, bytes]] = OrderedDict()  # fetched, and not asked for yet
        self._absent: set[int] = set()
        self._lock = threading.Lock()

    def get(self, key: int) -> tuple[bytes, bytes] | None:
        """A blob with its seal; None where there is none."""
        with self._lock:
            known = self._waiting.pop(key, None) or self._kept.get(key)
            if known is not None or key in self._absent:
                return known
            wanted = self._fresh([key, *self._near(key)])
        return self._bring(wanted).get(key)

    def _near(self, key: int) -> range | list[int]:
        """The columns of its segment, of which a question reads nearly all, or neighbours, more where it goes on so."""
        if kind_of_key(key) in SINGLE:
            return [key_of(segment_of(key), kind) for kind in SINGLE]
        first = key - key % self.TOGETHER
        self._ahead = min(2 * self._ahead, self.MOST_TOGETHER) if first == self._next else self.TOGETHER
        self._next = first + self._ahead
        return range(first, self._next)

    def expect(self, keys: Sequence[int]) -> None:
        """Fetch those that are not here in as few round trips as there may be."""
        with self._lock:
            wanted = self._fresh(keys)
        for first in range(0, len(wanted), self.AT_ONCE):
            self._bring(wanted[first : first + self.AT_ONCE])

    def _fresh(self, keys: Sequence[int]) -> list[int]:
        here = (self._waiting, self._kept, self._absent)
        return sorted({key for key in keys if not any(key in place for place in here)})

    def _bring(self, keys: Sequence[int]) -> dict[int, tuple[bytes, bytes]]:
        found = self._fetch(keys)
        with self._lock:
            for key, blob in found.items():
                self._waiting[key] = blob  # also where nothing is kept
                if kind_of_key(key) not in CHANGING:
                    self._kept.keep(key, blob, size=len(blob[0]))
            self._absent.update(key for key in keys if key not in found)
            while len(self._waiting) > 2 * self.AT_ONCE:
                self._waiting.popitem(last=False)
        return found
