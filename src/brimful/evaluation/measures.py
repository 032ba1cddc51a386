"""How good is an answer, and is the difference between two answerers real?

- recall: evidence tokens in the context / evidence tokens
- precision: evidence tokens in the context / tokens in the context
- IoU: evidence tokens in the context / tokens in either
- full: 1 when every piece of evidence is wholly inside, else 0
- nDCG@10: graded documents among the first ten, for sets that name documents and no bytes

All with each token once, at a budget (`axis.py` has the rules of counting).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from blake3 import blake3

from brimful.errors import InputError
from brimful.evaluation.axis import Filled, TokenAxis
from brimful.evaluation.sets import Question

_MILLIONTHS = 1_000_000
_RESAMPLES = 1_000
_LOW, _HIGH = 25, 974  # of 1,000 sorted means: the middle 95 %


class Scores(NamedTuple):
    """One context against the evidence of one question."""

    recall: float
    precision: float
    iou: float
    full: float
    tokens: int


class Difference(NamedTuple):
    """The mean of paired differences with the middle 95 % of its resampled means."""

    mean: float
    low: float
    high: float
    questions: int

    @property
    def is_clear(self) -> bool:
        """Whether zero lies outside the interval."""
        return self.low > 0 or self.high < 0

    def __str__(self) -> str:
        return f"{self.mean:+.3f} [{self.low:+.3f}, {self.high:+.3f}]"


def score(axis: TokenAxis, question: Question, filled: Filled) -> Scores:
    """Measure one filled context.

    >>> from brimful.corpus.documents import Document
    >>> from brimful.evaluation.axis import Cited
    >>> from brimful.evaluation.sets import Evidence
    >>> axis = TokenAxis([Document("a.txt", "one two three four five")])
    >>> question = Question("q", "?", evidence=(Evidence("a.txt", 4, 13),))
    >>> score(axis, question, axis.fill([Cited("a.txt", 0, 7)], budget=100))
    Scores(recall=0.5, precision=0.5, iou=0.3333333333333333, full=0.0, tokens=2)
    """
    parts = [axis.said(at) for at in question.evidence]
    wanted = np.unique(np.concatenate([*parts, np.zeros(0, np.int64)]))
    size = len(filled.tokens)
    if not len(wanted):  # no token starts inside the evidence: there is nothing to find
        return Scores(1.0, 0.0, 0.0, 1.0, size)
    got = axis.share(wanted, filled.tokens)
    whole = all(
        at.path in filled.reached and axis.share(part, filled.tokens) == len(part)
        for at, part in zip(question.evidence, parts, strict=True)
    )
    return Scores(got / len(wanted), got / size if size else 0.0, got / (size + len(wanted) - got), float(whole), size)


def ndcg(ranked: Sequence[str], relevant: Mapping[str, int], *, depth: int = 10) -> float:
    """Normalised discounted cumulative gain with linear gains; a document counts where it first stands.

    >>> ndcg(["b", "a", "a"], {"a": 1})
    0.6309297535714575
    """
    first_ten = list(dict.fromkeys(ranked))[:depth]
    gains = [relevant.get(path, 0) for path in first_ten]
    best = sorted((grade for grade in relevant.values() if grade > 0), reverse=True)[:depth]
    ideal = _discounted(best)
    return _discounted(gains) / ideal if ideal else 0.0


def _discounted(gains: Sequence[int]) -> float:
    return sum(gain / math.log2(place + 2) for place, gain in enumerate(gains))


def difference(ours: Mapping[str, float], theirs: Mapping[str, float]) -> Difference:
    """Our values less theirs, question by question, with a bootstrap interval over the questions both have.

    The draws come from a hash of the question ids, and sums are taken in whole millionths, so that the interval
    is the same in every run, on every machine and for every order of the questions.

    >>> difference({"a": 1.0, "b": 0.5}, {"a": 0.5, "b": 0.5}).mean
    0.25
    """
    ids = sorted(ours.keys() & theirs.keys())
    if not ids:
        raise InputError("no question is in both results; compare results of one set")
    steps = np.array([round((ours[name] - theirs[name]) * _MILLIONTHS) for name in ids], np.int64)
    seed = blake3("\n".join(ids).encode())
    drawn = np.frombuffer(seed.digest(length=4 * _RESAMPLES * len(ids)), "<u4").astype(np.uint64)
    rows = (drawn * np.uint64(len(ids)) >> np.uint64(32)).astype(np.int64)
    sums = np.sort(steps[rows].reshape(_RESAMPLES, len(ids)).sum(axis=1))
    low, mean, high = (int(total) / (_MILLIONTHS * len(ids)) for total in (sums[_LOW], steps.sum(), sums[_HIGH]))
    return Difference(mean, low, high, len(ids))
