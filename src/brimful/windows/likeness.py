"""How alike are two texts, and whom or what do both speak of?

All results are integers in 0..10,000, from integer arithmetic, so that a threshold falls the same
way on every machine (invariant 2).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from brimful.patterns import compiled
from brimful.search.common import place_of

FULL = 10_000
"""Likeness of a text to itself."""

_STEPS = 32_767
_WORD = compiled(r"[^\W\d_]{2,}|\d+")
_UNSPACED = compiled(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af]+")
_NAME = compiled(r"\b[A-ZÀ-ÖØ-Þ][\w'’-]+(?:\s+(?:[A-ZÀ-ÖØ-Þ][\w'’-]+|of|de|von|van|da)(?=\s+[A-Z]|\b))*")
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
_LETTERED = compiled(r"[^\W\d_][\w'\u2019-]*")
_BEFORE_SENTENCES = ".!?:;\n\r\"'\u2018\u201c\u201e\u00ab([{*#>-\u2013\u2014|"
_LARGE_NOUNS = 5  # where every fifth word inside of sentences is large, nouns are
_MANY = 8  # texts


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


class Names:
    """Who or what some texts name, told from words that are only written large.

    A word that begins a sentence is written large anyway: it counts if some text has it large inside of one, and none
    has it small. Where every noun is written large, as in German, a name has several words or is in no vocabulary. What
    more than half of many texts name tells none of them from the others.

    >>> names = Names(["Then Ada Lovelace met Babbage. The engine was his.", "Babbage left. Nobody saw Ada."])
    >>> sorted(names.of("Ada came. Babbage, too. Engine!"))
    ['ada', 'babbage']
    """

    def __init__(self, texts: Sequence[str]) -> None:
        inside, small, words, large = Counter[str](), set[str](), 0, 0
        parts: set[str] = set()
        texts_with = Counter[str]()
        for text in texts:
            here = set()
            for found in _LETTERED.finditer(text):
                word = _plain(found.group())
                if not found.group()[0].isupper():
                    small.add(word)
                    words += 1
                    continue
                here.add(word)
                if not _begins_sentence(text, found.start()):
                    words, large = words + 1, large + 1
                    inside[word] += 1
            texts_with.update(here)
            parts.update(_plain(word) for name in _NAME.findall(text) if len(name.split()) > 1 for word in name.split())
        has_large_nouns = large * _LARGE_NOUNS > words
        self._known = {
            word
            for word in inside
            if word not in small
            and word not in _OPENERS
            and len(word) >= _SHORT
            and not (len(texts) >= _MANY and 2 * texts_with[word] > len(texts))
            and (not has_large_nouns or word in parts or place_of(word.encode()) is None)
        }

    def of(self, text: str) -> frozenset[str]:
        """The names in one of the texts, or in another, word by word."""
        large = (found.group() for found in _LETTERED.finditer(text) if found.group()[0].isupper())
        return frozenset(name for word in large if (name := _plain(word)) in self._known)


def _plain(word: str) -> str:
    return word.casefold().removesuffix("'s").removesuffix("\u2019s")


def _begins_sentence(text: str, at: int) -> bool:
    """Whether a word begins a sentence, a line or a quotation, or is said by somebody: `Ada: Tea?`."""
    before = text[max(at - 4, 0) : at].rstrip(" \t")
    return not before or before[-1] in _BEFORE_SENTENCES
