"""Where do terms stand, alone and near each other? (085b §5 radial look-up)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

_OFFSET_BITS = 40
"""A document holds less than a terabyte, a store less than eight million documents' numbers beside it."""


@dataclass(frozen=True, slots=True, eq=False)
class Places:
    """Occurrences of a term: document numbers and byte offsets, sorted by both."""

    documents: NDArray[np.int64]
    starts: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.starts)

    @property
    def keys(self) -> NDArray[np.int64]:
        """Document and offset as one ascending number."""
        return (self.documents << _OFFSET_BITS) | self.starts

    def only(self, chosen: NDArray[np.bool_]) -> Places:
        """The places for which `chosen` is true."""
        return Places(self.documents[chosen], self.starts[chosen])


NOWHERE = Places(np.zeros(0, np.int64), np.zeros(0, np.int64))


def near(places: Places, others: Places, *, within_bytes: int) -> Places:
    """The places that have one of the others at most so many bytes before or after them, in the same document.

    >>> tea = Places(np.array([1, 1, 2]), np.array([10, 500, 10]))
    >>> pot = Places(np.array([1, 3]), np.array([30, 10]))
    >>> near(tea, pot, within_bytes=50).starts.tolist()
    [10]
    """
    if not len(places) or not len(others):
        return NOWHERE
    keys, other = places.keys, others.keys
    low = places.documents << _OFFSET_BITS
    first = np.maximum(keys - within_bytes, low)
    return places.only(other.searchsorted(first) < other.searchsorted(keys + within_bytes, side="right"))


def sequence(terms: Sequence[Places], *, lengths: Sequence[int], gap_bytes: int = 8) -> Places:
    """Where terms follow each other: each begins at most `gap_bytes` after the end of the one before.

    Ends are taken from the terms' own lengths; the text has the last word on whether it is the phrase.

    >>> green = Places(np.array([1, 1]), np.array([0, 90]))
    >>> tea = Places(np.array([1]), np.array([6]))
    >>> sequence([green, tea], lengths=[5, 3]).starts.tolist()
    [0]
    """
    if not terms:
        return NOWHERE
    kept = terms[0]
    ends = kept.keys + lengths[0]
    for places, length in zip(terms[1:], lengths[1:], strict=True):
        keys = places.keys
        at = keys.searchsorted(ends)
        found = at < len(keys)
        at = np.minimum(at, max(len(keys) - 1, 0))
        follows = found & (keys[at] - ends <= gap_bytes) if len(keys) else found
        kept, ends = kept.only(follows), keys[at[follows]] + length if len(keys) else ends[:0]
    return kept
