"""Which known words could this one be?

Exactly this one, then one that begins with it, then one spelled alike (Standard 105 §3.2, ruling 12). Nothing
here is a pattern: `%`, `_` and `\\` are characters like others.
"""

from __future__ import annotations

import bisect
import functools
import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from brimful.errors import MissingPartError, SettingError
from brimful.index.trigrams import similarity, trigram_index, trigrams_of

How = Literal["exact", "prefix", "trigram"]


class Likeness(NamedTuple):
    """A known word that is spelled alike."""

    id: int
    similarity: float
    distance: int  # edits: insert, delete, replace, or swap two neighbours


@dataclass(frozen=True, slots=True)
class Match:
    """A known word and how it was found."""

    id: int
    how: How
    similarity: float


class Vocabulary:
    """Distinct terms in bytewise order, looked up by name, beginning and spelling. A term's id is its place.

    >>> words = Vocabulary([b"conscience", b"consciousness", b"limerence", b"limerick"])
    >>> words.exact(b"limerence"), words.exact(b"limerance")
    (2, None)
    >>> words.prefix(b"lim", limit=5)
    [3, 2]
    >>> [(words.names[each.id], each.distance) for each in words.similar(b"limerance")]
    [(b'limerence', 1), (b'limerick', 3)]
    >>> [(words.names[match.id], match.how) for match in words.expand(b"conciousness")]
    [(b'consciousness', 'trigram')]
    """

    def __init__(self, names: Sequence[bytes]) -> None:
        for one, other in itertools.pairwise(names):
            if one >= other:
                raise SettingError(f"terms must be distinct and ascend bytewise, but {one!r} stands before {other!r}")
        self.names = names

    def __len__(self) -> int:
        return len(self.names)

    def exact(self, term: bytes) -> int | None:
        """The id of this very term, if it is known."""
        place = bisect.bisect_left(self.names, term)
        return place if place < len(self.names) and self.names[place] == term else None

    def prefix(self, prefix: bytes, *, limit: int) -> list[int]:
        """The ids of terms that begin so, the shortest first, then in their order; the term itself is one of them."""
        start, end = self._range(prefix)
        shortest = np.argsort(self._lengths[start:end], kind="stable")[: max(limit, 0)]
        return [start + each for each in shortest.tolist()]

    def similar(self, term: bytes, *, threshold: float = 0.3, limit: int = 10) -> list[Likeness]:
        """The terms most alike by pg_trgm's similarity, then by fewest edits, then in their order.

        The threshold is compared as precisely as similarities are (`real`), so 7 of 10 is not below 0.7.
        """
        if not 0 < threshold <= 1:
            raise SettingError(f"a similarity threshold lies above 0 and up to 1, got {threshold!r}")
        text = term.decode("utf-8", "replace")
        wanted = trigrams_of(text)
        ids, found = self._candidates(wanted, threshold)
        if not len(ids) or limit <= 0:
            return []
        if len(ids) > limit:  # edits decide among equals only, so count them for nobody behind the last place
            last = np.partition(found, len(found) - limit)[len(found) - limit]
            ids, found = ids[found >= last], found[found >= last]
        distance = _edit_distance()
        ranked = sorted(
            (-alike, distance(text, self.names[known].decode("utf-8", "replace")), known)
            for known, alike in zip(ids.tolist(), found.tolist(), strict=True)
        )
        return [Likeness(known, -alike, edits) for alike, edits, known in ranked[:limit]]

    def expand(self, term: bytes, *, threshold: float = 0.3, limit: int = 10) -> list[Match]:
        """The term itself, then what begins with it, then what is spelled alike: at most `limit` of each."""
        if not term:
            return []
        text = term.decode("utf-8", "replace")
        exact = self.exact(term)
        begins = [each for each in self.prefix(term, limit=limit + 1) if each != exact][:limit]
        start, end = self._range(term)
        alikes = self.similar(term, threshold=threshold, limit=limit + end - start)
        return [
            *([] if exact is None else [Match(exact, "exact", 1.0)]),
            *(Match(each, "prefix", similarity(text, self.names[each].decode("utf-8", "replace"))) for each in begins),
            *[Match(each.id, "trigram", each.similarity) for each in alikes if not start <= each.id < end][:limit],
        ]

    def _range(self, prefix: bytes) -> tuple[int, int]:
        """The ids from the first to behind the last term that begins so."""
        start = bisect.bisect_left(self.names, prefix)
        return start, bisect.bisect_left(self.names, prefix + b"\xff", lo=start)  # 0xFF is in no UTF-8 text

    def _candidates(self, wanted: NDArray[np.int64], threshold: float) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """The ids of all terms that reach the threshold, and their similarities."""
        codes, offsets, ids, sizes = self._trigrams
        starts = offsets[np.searchsorted(codes, wanted, "left")].tolist()
        ends = offsets[np.searchsorted(codes, wanted, "right")].tolist()
        slices = [ids[start:end] for start, end in zip(starts, ends, strict=True)]
        shared = np.bincount(np.concatenate([*slices, ids[:0]]))
        # Both have at least as many trigrams together as the one has, so this few shared ones can't be enough.
        fewest = max(1, int(threshold * len(wanted) * 0.999))
        likely = np.flatnonzero(shared >= fewest)
        either = sizes[likely] + len(wanted) - shared[likely]
        alike = np.divide(shared[likely], either, dtype=np.float32)
        enough = alike >= np.float32(threshold)
        return likely[enough], alike[enough]

    @functools.cached_property
    def _lengths(self) -> NDArray[np.int32]:
        return np.fromiter(map(len, self.names), np.int32, len(self.names))

    @functools.cached_property
    def _trigrams(self) -> tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.int32], NDArray[np.int32]]:
        """Trigrams, where the ids of each begin and end, these ids, and how many trigrams each term has."""
        codes, offsets, ids = trigram_index(self.names)
        return codes, offsets, ids, np.bincount(ids, minlength=len(self.names)).astype(np.int32)


def _edit_distance() -> Callable[[str, str], int]:
    try:
        from rapidfuzz.distance import OSA
    except ImportError as error:
        raise MissingPartError("similar words are ranked with rapidfuzz; install it: pip install rapidfuzz") from error
    return OSA.distance
