"""Which terms belong to this one, though nobody asked for them?

Five for each term of a question fill the related pool (085b §5.5): the user's synonyms first, then terms that keep
its company in the corpus far oftener than chance, those with a vector near its own before others.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from brimful.search.synonyms import Synonyms
from brimful.search.words import Words, is_common
from brimful.text.stems import NO_LANGUAGE, stems_of
from brimful.text.terms import terms_of

MOST_RELATED: Final = 5
MOST_UNITS: Final = 200
"""How many units with the term are read, evenly from the first to the last."""
MOST_CANDIDATES: Final = 512
"""How many terms of these units are looked up, those in most units."""
LEAST_RATIO: Final = 10_000
"""Less could be chance: one term in a thousand reaches 10.8 without being related."""
_LEAST_UNITS = 2
_LEAST_LETTERS = 3
_OFTENER = 2  # times as often as elsewhere
_FUSION, _FUSION_RANK = 1_000_000, 60  # ruling 11
_FINE = 10_000

How = Literal["synonym", "company"]


class Units(Protocol):
    """Where terms stand, unit by unit."""

    def units_with(self, term: bytes) -> Sequence[int]:
        """The numbers of all units that hold a term, ascending."""
        ...

    def text(self, unit: int) -> bytes:
        """What a unit says."""
        ...


class TermVectors(Protocol):
    """Vectors of terms in whole numbers, as `index.embedders.StaticEmbedder` has them."""

    def vectors_of(self, names: Sequence[bytes], /) -> NDArray[np.int8]:
        """One row for each term."""
        ...


@dataclass(frozen=True, slots=True)
class Related:
    """A term, or several in sequence, that belongs to one of the question's."""

    terms: tuple[bytes, ...]
    how: How
    score: int  # comparable among the related of one term


@dataclass(frozen=True, slots=True)
class _Candidate:
    term: bytes
    units: int
    count: int  # occurrences in the units that were read


def related_terms(
    term: bytes,
    units: Units,
    words: Words,
    *,
    total: int,
    most: int = MOST_RELATED,
    languages: Sequence[str] = (),
    vectors: TermVectors | None = None,
    synonyms: Synonyms | None = None,
) -> tuple[Related, ...]:
    """The terms that belong to this one, the closest first; `total` is the number of all occurrences of all terms.

    Forms of the term itself and common words are not among them.
    """
    given = (synonyms or {}).get(term, ())[:most]
    found = [Related(each, "synonym", _FUSION) for each in given]
    if len(found) < most:
        scores = _company(term, units, words, total=total, languages=languages)
        if vectors is not None:
            scores = _fused(term, scores, vectors)
        ranked = sorted((-score, name) for name, score in scores.items() if (name,) not in given)
        found += [Related((name,), "company", -score) for score, name in ranked[: most - len(found)]]
    return tuple(found)


def sample(numbers: Sequence[int], most: int = MOST_UNITS) -> list[int]:
    """At most so many of them, evenly spread, always the same.

    >>> sample(range(10, 20), 4)
    [10, 12, 15, 17]
    """
    if len(numbers) <= most:
        return list(numbers)
    return [numbers[at * len(numbers) // most] for at in range(most)]


def _company(term: bytes, units: Units, words: Words, *, total: int, languages: Sequence[str]) -> dict[bytes, int]:
    """Terms that stand in the units of this one at least twice as often as elsewhere, with their likelihood ratio."""
    texts = [units.text(unit) for unit in sample(units.units_with(term))]
    candidates, read = _candidates(texts)
    own = {language: stems_of([term], language) for language in (NO_LANGUAGE, *languages)}
    names = [each.term for each in candidates]
    is_form = np.zeros(len(names), np.bool_)
    for language, stem in own.items():
        is_form |= np.fromiter((each == stem[0] for each in stems_of(names, language)), np.bool_, len(names))
    scores: dict[bytes, int] = {}
    for each, same in zip(candidates, is_form.tolist(), strict=True):
        census = 0 if same else max(words.census(each.term), each.count)
        if not census or is_common(census, total):
            continue
        score = likelihood_ratio(each.count, read, census - each.count, max(total - read, 1))
        if score >= LEAST_RATIO:
            scores[each.term] = score
    return scores


def _candidates(texts: Sequence[bytes]) -> tuple[list[_Candidate], int]:
    """Words of letters that several of the texts hold, those in most of them; and how many occurrences were read."""
    found = terms_of(b"\n".join(texts))
    sizes = np.fromiter((len(text) + 1 for text in texts), np.int64, len(texts))
    unit = np.searchsorted(np.cumsum(sizes), found.starts, "right")
    counts = np.diff(found.offsets)
    rows = np.repeat(np.arange(len(counts)), counts)
    fresh = np.ones(len(rows), np.bool_)  # positions ascend within a term, so units do
    fresh[1:] = (rows[1:] != rows[:-1]) | (unit[1:] != unit[:-1])
    spread = np.bincount(rows[fresh], minlength=len(counts))
    kept = [
        _Candidate(name, held, count)
        for name, held, count in zip(found.names, spread.tolist(), counts.tolist(), strict=True)
        if held >= _LEAST_UNITS and (text := name.decode("utf-8", "replace")).isalpha() and len(text) >= _LEAST_LETTERS
    ]
    kept.sort(key=lambda each: (-each.units, each.term))
    return kept[:MOST_CANDIDATES], int(counts.sum())


def likelihood_ratio(here: int, read: int, elsewhere: int, rest: int) -> int:
    """How surprising it is that a term occurs `here` times in `read` and `elsewhere` times in `rest`, in thousandths.

    The log-likelihood ratio of two samples; 0 unless the term is at least twice as frequent here.

    >>> likelihood_ratio(10, 1_000, 10, 100_000), likelihood_ratio(1, 1_000, 100, 100_000)
    (64776, 0)
    """
    if here * rest < _OFTENER * elsewhere * read:
        return 0
    both, all_read = here + elsewhere, read + rest
    ratio = sum(
        count * math.log(count * all_read / (size * both)) for count, size in ((here, read), (elsewhere, rest)) if count
    )
    return round(2_000 * ratio)


def _fused(term: bytes, scores: dict[bytes, int], vectors: TermVectors) -> dict[bytes, int]:
    """Both orders in one: by company and by vectors, each by rank; equals share theirs (ruling 11)."""
    names = sorted(scores)
    alike = dict(zip(names, _likeness(vectors.vectors_of([term, *names])), strict=True))
    fused = dict.fromkeys(names, 0)
    for order in (scores, alike):
        ranks: dict[int, int] = {}
        for rank, score in enumerate(sorted(order.values(), reverse=True), start=1):
            ranks.setdefault(score, rank)
        for name in names:
            fused[name] += _FUSION // (_FUSION_RANK + ranks[order[name]])
    return fused


def _likeness(rows: NDArray[np.int8]) -> list[int]:
    """The cosine of the first row with each other one, in ten-thousandths, in whole numbers."""
    wide = rows.astype(np.int64)
    products = (wide[1:] @ wide[0]).tolist()
    squares = (wide * wide).sum(axis=1).tolist()
    return [
        product * _FINE // max(math.isqrt(square * squares[0]), 1)
        for product, square in zip(products, squares[1:], strict=True)
    ]
