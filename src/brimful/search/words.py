"""Which words does the corpus have, and which of them say little?"""

from __future__ import annotations

import bisect
from collections.abc import Mapping
from typing import Final, Protocol

COMMON_SHARE: Final = 400
"""A common word is at least every 400th of all words: about the forty commonest of a language."""
LEAST_TOTAL: Final = 10_000
"""In a smaller corpus no share is a habit of the language, so nothing is common."""


class Words(Protocol):
    """The terms of a corpus at one moment."""

    def names(self, prefix: bytes) -> list[bytes]:
        """All terms that begin so, in bytewise order."""
        ...

    def endings(self, suffix: bytes) -> list[bytes]:
        """All words that end so, in any order that is always the same."""
        ...

    def census(self, term: bytes) -> int:
        """How often a term occurs."""
        ...


class CountedWords:
    """Terms with their counts, in memory.

    >>> words = CountedWords({b"tea": 3, b"team": 1, b"cup": 2})
    >>> words.names(b"te"), words.census(b"tea"), words.census(b"pot")
    ([b'tea', b'team'], 3, 0)
    """

    def __init__(self, counts: Mapping[bytes, int]) -> None:
        self._counts = dict(counts)
        self._names = sorted(self._counts)

    def names(self, prefix: bytes) -> list[bytes]:
        """All terms that begin so, in bytewise order."""
        first = bisect.bisect_left(self._names, prefix)
        return self._names[first : bisect.bisect_left(self._names, prefix + b"\xff", lo=first)]

    def endings(self, suffix: bytes) -> list[bytes]:
        """All terms that end so."""
        return [name for name in self._names if name.endswith(suffix)]

    def census(self, term: bytes) -> int:
        """How often a term occurs."""
        return self._counts.get(term, 0)


def is_common(census: int, total: int) -> bool:
    """Whether a term that occurs so often among so many occurrences says little: every 400th of them or more.

    No list of words decides, so the rule holds in any language, and in code.

    >>> is_common(2_500, 1_000_000), is_common(2_499, 1_000_000), is_common(300, 900)
    (True, False, False)
    """
    return total >= LEAST_TOTAL and census * COMMON_SHARE >= total
