"""Documents that words call by their names (names.c)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from brimful.kernels import Numbers, Places, Reals, address_in, address_of, addresses_of, library, numbers_of, places_of
from brimful.kernels.terms import group_by_row

_LONGEST_END = 7  # bytes behind a file's name, the dot included


class NamePart(NamedTuple):
    """The documents whose path has a word, each once, and what it is worth for each."""

    rows: Numbers
    weights: Reals

    @property
    def given(self) -> tuple[int, int, int]:
        """Where a kernel finds them."""
        return address_of(self.rows), address_of(self.weights), len(self.rows)


class WordsOfPaths:
    """Words in paths, which are lines of a text: of each pair of a word and a line where its places begin.

    `smallest_words` makes them. A word counts `folder` where it stands in the name of a folder only, one in the file's
    own, and nothing behind its last dot.
    """

    def __init__(
        self,
        text: bytes,
        starts: Numbers,
        ends: Numbers,
        pairs: tuple[Places, Places, Places, Places],
        *,
        words: int,
        folder: float,
    ) -> None:
        starts, ends = numbers_of(starts), numbers_of(ends)
        places, firsts, word_of, rows = map(places_of, pairs)
        count = len(ends)
        starts = starts[:count]
        if len(starts) < count or int(starts.min(initial=0)) < 0:
            raise ValueError("every path needs its line")
        if (ends < starts).any() or int(ends.max(initial=0)) > len(text):
            raise ValueError("a path ends behind its beginning, inside of its text")
        if not len(word_of) == len(rows) == len(firsts) - 1 or int(firsts[0]) != 0 or firsts[-1] != len(places):
            raise ValueError("every pair needs its places")
        for some, most in ((word_of, words), (rows, count)):
            if len(some) and not 0 <= int(some.min()) <= int(some.max()) < most:
                raise ValueError("a pair is of one of the words and of the paths")
        if (np.diff(firsts) < 0).any():
            raise ValueError("the places of pairs must follow each other")
        self.rows, self.pairs = rows, len(rows)
        self.bases, self.dots = np.empty(count, np.int32), np.empty(count, np.int32)
        self._rarities: Reals = np.full(words, -1.0)
        self.totals: Reals = np.full(count, -1.0)
        self._by_row: tuple[Places, Places] | None = None
        edges = (address_of(starts), address_of(ends), count, _LONGEST_END)
        library().split_paths(address_in(text), *edges, address_of(self.bases), address_of(self.dots))
        self._kept = (places, firsts, word_of, rows, starts)
        kept = addresses_of(*self._kept, self.bases, self.dots)
        self._given = np.array([*kept, int(np.array(folder, np.float64).view(np.uint64))], np.uint64)

    def weighed(self, first: int, last: int, rarity: float) -> NamePart:
        """The rows of some pairs of one word, and what it is worth for each."""
        if not 0 <= first <= last <= self.pairs:
            raise ValueError(f"there are {self.pairs} pairs")
        rows, weights = np.empty(last - first, np.int64), np.empty(last - first)
        library().weigh_word(address_of(self._given), first, last, rarity, address_of(rows), address_of(weights))
        return NamePart(rows, weights)

    def unknown(self, rows: Numbers) -> list[int]:
        """Work out what all words of these rows' names are worth together; returned are words that have no rarity yet.

        `know` says it of them; then it is asked again.
        """
        rows = numbers_of(rows)
        if len(rows) and not 0 <= int(rows.min()) <= int(rows.max()) < len(self.totals):
            raise ValueError(f"there are {len(self.totals)} rows")
        if self._by_row is None:
            self._by_row = group_by_row(self.rows, count=len(self.totals))
        found, seen = np.empty(len(self._rarities), np.int64), np.zeros(len(self._rarities), np.uint8)
        known = (*self._by_row, self._rarities, self.totals, seen, found)
        made = library().weigh_names(address_of(self._given), address_of(rows), len(rows), *addresses_of(*known))
        words: list[int] = found[:made].tolist()
        return words

    def know(self, words: Sequence[int], rarities: Sequence[float]) -> None:
        """How rare some words are."""
        self._rarities[list(words)] = rarities


def add_names(
    words: Sequence[Sequence[NamePart]], weights: Sequence[float], kinds: Sequence[int], *, documents: int
) -> tuple[Numbers, Reals, NDArray[np.uint8]]:
    """What words say of documents by their names: the rows of which they say anything, and of each row how much.

    A kind is 1 for a plain word, 2 for a number and 0 for neither; the last of what is returned are the kinds that say
    something of each row, added up, and four times how many words those are, at most 63.
    """
    if not len(words) == len(weights) == len(kinds) or not set(kinds) <= {0, 1, 2}:
        raise ValueError("every word needs its weight and its kind")
    parts, firsts = [part.given for word in words for part in word], [0]
    for word in words:
        firsts.append(firsts[-1] + len(word))
        for rows, own in word:
            if len(rows) != len(own) or (len(rows) and not 0 <= int(rows.min()) <= int(rows.max()) < documents):
                raise ValueError(f"there are {documents} documents")
    has, worth = np.zeros((2, documents))
    marks, rows = np.zeros(documents, np.uint8), np.empty(documents, np.int64)
    given = (
        np.array(parts or [(0, 0, 0)], np.uint64),
        np.array(firsts, np.int64),
        np.array([*weights, 0.0], np.float64),
        np.array([*kinds, 0], np.uint8),
    )
    made = library().add_names(*addresses_of(*given), len(words), *addresses_of(has, worth, marks, rows))
    return rows[:made], worth, marks


def share_names(rows: Numbers, totals: Reals, marks: NDArray[np.uint8], worth: Reals, *, telling: int) -> None:
    """What names say as the share of the best and of the whole name; twice where a word and a number say it.

    Elsewhere times the root of the share that the words which say it are of so many `telling` ones.
    """
    if not len(totals) == len(marks) == len(worth) or telling < 0:
        raise ValueError("every document needs its worth, and words tell from 0 on")
    library().share_names(address_of(rows), len(rows), *addresses_of(totals, marks), telling, address_of(worth))
