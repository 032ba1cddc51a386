"""How alike are two texts, and whom or what do both speak of?

All results are integers in 0..10,000, from integer arithmetic, so that a threshold falls the same
way on every machine (invariant 2).
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

FULL = 10_000
"""Likeness of a text to itself."""

_STEPS = 32_767
_WORD = re.compile(r"[^\W\d_]{2,}|\d+")
_UNSPACED = re.compile(
    r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af]+"
)
_NAME = re.compile(r"\b[A-ZÀ-ÖØ-Þ][\w'’-]+(?:\s+(?:[A-ZÀ-ÖØ-Þ][\w'’-]+|of|de|von|van|da)(?=\s+[A-Z]|\b))*")
# Words that begin sentences without naming anyone.
_OPENERS = frozenset(
    "a after all also although an and any are as at be because before both but by can could did do does each "
    "even every few first for from had has have he her here his how however i if in is it its just last let "
    "like many may maybe me meanwhile more most my next no nor not now of oh ok okay on once one or other our "
    "perhaps please she should since so some such than thanks that the their then there these they this those "
    "though through thus to today tomorrow two until up was we well were what when where whether which while "
    "who why will with would yes yesterday yet you your".split()
)
_SHORT = 3


def terms_of(text: str) -> frozenset[str]:
    """The words of a text that can make it like another: case-folded, without short ones; pairs in CJK.

    >>> sorted(terms_of("The Kraken sleeps, the kraken wakes"))
    ['kraken', 'sleeps', 'wakes']
    """
    folded = text.casefold()
    words = {word for word in _WORD.findall(folded) if len(word) > _SHORT}
    for run in _UNSPACED.findall(folded):
        words.discard(run)
        words.update(run[at : at + 2] for at in range(max(len(run) - 1, 1)))
    return frozenset(words)


def overlap(one: frozenset[str], other: frozenset[str]) -> int:
    """Cosine of two sets of terms.

    >>> overlap(frozenset("abcd"), frozenset("cdef"))
    5000
    """
    size = len(one) * len(other)
    return math.isqrt(len(one & other) ** 2 * FULL**2 // size) if size else 0


def steps_of(vector: Sequence[float]) -> NDArray[np.int64]:
    """A vector as whole steps of its largest value, so that products are exact."""
    values = np.asarray(vector, np.float64)
    largest = float(np.max(np.abs(values))) if values.size else 0.0
    return np.rint(values / largest * _STEPS).astype(np.int64) if largest else np.zeros(values.size, np.int64)


def cosine(one: NDArray[np.int64], other: NDArray[np.int64]) -> int:
    """Cosine of two vectors in steps; opposite directions count as no likeness."""
    if one.size != other.size:
        return 0
    product = int(one @ other)
    norms = int(one @ one) * int(other @ other)
    return math.isqrt(product**2 * FULL**2 // norms) if product > 0 and norms else 0


def names_in(text: str) -> frozenset[str]:
    """Capitalised names, whole and word by word: a plain guess for texts that come without entities.

    >>> sorted(names_in("Then Ada Lovelace met Babbage. The engine was his."))
    ['ada', 'ada lovelace', 'babbage', 'lovelace']
    """
    names = set()
    for match in _NAME.finditer(text):
        words = match.group().split()
        while words and words[0].casefold() in _OPENERS:
            words.pop(0)
        for name in (" ".join(words), *words):
            plain = name.casefold().removesuffix("'s").removesuffix("’s")
            if len(plain) >= _SHORT and plain not in _OPENERS:
                names.add(plain)
    return frozenset(names)
