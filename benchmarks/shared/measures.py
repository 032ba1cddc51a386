"""How well are documents ranked, and is the difference between two answerers real?"""

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from blake3 import blake3

_MILLIONTHS = 1_000_000
_RESAMPLES = 1_000
_LOW, _HIGH = 25, 974  # of 1,000 sorted means: the middle 95 %
_DEPTH = 10


class Difference(NamedTuple):
    """The mean of paired differences with the middle 95 % of its resampled means."""

    mean: float
    low: float
    high: float

    @property
    def is_clear(self) -> bool:
        """Whether zero lies outside the interval."""
        return self.low > 0 or self.high < 0

    def __str__(self) -> str:
        return f"{self.mean:+.3f} [{self.low:+.3f}, {self.high:+.3f}]"


def difference(ours: Mapping[str, float], theirs: Mapping[str, float]) -> Difference:
    """Our values less theirs, question by question, with a bootstrap interval over the questions both have.

    The draws come from a hash of the question ids, and sums are taken in whole millionths, so that the interval
    is the same in every run, on every machine and for every order of the questions.
    """
    ids = sorted(ours.keys() & theirs.keys())
    steps = np.array([round((ours[name] - theirs[name]) * _MILLIONTHS) for name in ids], np.int64)
    seed = blake3("\n".join(ids).encode())
    drawn = np.frombuffer(seed.digest(length=4 * _RESAMPLES * len(ids)), "<u4").astype(np.uint64)
    rows = (drawn * np.uint64(len(ids)) >> np.uint64(32)).astype(np.int64)
    sums = np.sort(steps[rows].reshape(_RESAMPLES, len(ids)).sum(axis=1))
    return Difference(*(int(total) / (_MILLIONTHS * len(ids)) for total in (steps.sum(), sums[_LOW], sums[_HIGH])))


def ndcg(ranked: Sequence[str], relevant: Mapping[str, int]) -> float:
    """Normalised discounted cumulative gain at ten, with linear gains; a document counts where it first stands."""
    gains = [relevant.get(path, 0) for path in dict.fromkeys(ranked)]
    return _discounted(gains) / _discounted(sorted(relevant.values(), reverse=True))


def _discounted(gains: Sequence[int]) -> float:
    return sum(gain / math.log2(place + 2) for place, gain in enumerate(gains[:_DEPTH]))
