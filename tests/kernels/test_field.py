"""The kernel that weighs units by their words, against the same formulas in NumPy, to the last bit."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from brimful.kernels.codes import WeighedUnits, order_units

WORTHS = st.floats(0, 40)


def around(values, firsts, lasts, reach):
    """The sum of each value and its neighbours, within their run."""
    at = np.arange(len(values))
    summed = np.concatenate((np.zeros(1, np.int64), np.cumsum(values)))
    return summed[np.minimum(at + reach, lasts) + 1] - summed[np.maximum(at - reach, firsts)]


def scale(counts, told, runs, sizes, worths, *, reach, unit_bytes, k1, b):
    """BM25 over the surroundings, times the root of the share of words that they have; the best is worth one."""
    size = around(sizes, *runs, reach) / unit_bytes
    scores, covered, whole = np.zeros(len(size)), np.zeros(len(size)), 0.0
    for worth, count, heading in zip(worths, counts, told, strict=True):
        have = around(count, *runs, reach) + heading
        times = have / 1_000
        scores += worth * (times * (k1 + 1) / (times + k1 * (1 - b + b * size)))
        covered += worth * (have > 0)
        whole += worth
    scores = scores * np.sqrt(covered / whole) if whole else scores
    most = float(scores.max(initial=0.0))
    return scores / most if most > 0 else scores


@st.composite
def weighed(draw):
    """Some words, and units in runs."""
    lengths = draw(st.lists(st.integers(1, 9), max_size=6))
    words, units = draw(st.integers(0, 4)), sum(lengths)
    ends = np.repeat(np.cumsum(lengths, dtype=np.int64), lengths)
    counts, told = (
        draw(arrays(np.int64, (words, units), elements=st.sampled_from((0, 0, 0, 500, 950, 1_000, 7_300))))
        for _ in range(2)
    )
    sizes = draw(arrays(np.int64, units, elements=st.integers(1, 900)))
    worths = draw(st.lists(WORTHS, min_size=words, max_size=words))
    return counts, told, (ends - np.repeat(np.array(lengths, np.int64), lengths), ends - 1), sizes, worths


@given(weighed(), st.integers(0, 12), st.integers(1, 5_000), st.floats(0.1, 3), st.floats(0, 1))
def test_units_are_weighed_to_the_last_bit(given_all, reach, unit_bytes, k1, b):
    """Every sum and product in the same order, at every reach, whichever words and runs there are."""
    counts, told, runs, sizes, worths = given_all
    units = WeighedUnits(counts, told, *runs, sizes)
    found = units.scores(worths, reach=reach, unit_bytes=unit_bytes, saturation=k1, length=b)
    wanted = scale(counts, told, runs, sizes, worths, reach=reach, unit_bytes=unit_bytes, k1=k1, b=b)
    assert found.tolist() == wanted.tolist()
    values, ones = sizes - 450, np.ones(len(sizes), np.int64)
    assert (
        units.means(values, reach=reach).tolist()
        == (around(values, *runs, reach) // around(ones, *runs, reach)).tolist()
    )
    covered = np.zeros(len(sizes))
    for worth, count, heading in zip(worths, counts, told, strict=True):
        covered += worth * (around(count, *runs, reach) + heading > 0)
    assert units.covered(worths, reach=reach) == float(covered.max(initial=0.0))


def test_what_does_not_belong_together_is_refused():
    """Sizes, runs, worths and reaches are checked before anything is read."""
    counts, four = np.zeros((2, 4), np.int64), np.arange(4)
    for told, firsts, lasts, sizes in (
        (counts[:1], four, four, four),
        (counts, four[1:], four, four),
        (counts, four, four, four[1:]),
        (counts, four + 1, four, four),
        (counts, four, four + 1, four),
        (counts, four - 1, four, four),
        (counts, four, four - 1, four),
    ):
        with pytest.raises(ValueError, match="unit"):
            WeighedUnits(counts, told, firsts, lasts, sizes)
    units = WeighedUnits(counts, counts, four, four, four)
    for worths, reach in (([1.0], 0), ([1.0, 1.0], -1)):
        with pytest.raises(ValueError, match="2 words"):
            units.covered(worths, reach=reach)


@given(st.lists(st.one_of(st.integers(0, 5), st.integers(-(2**61), 2**61)), max_size=60), st.data())
def test_units_are_ordered_as_numpy_orders_them(scores, data):
    """The highest score first, and equal ones as they stood, for scores of any size."""
    units = data.draw(st.lists(st.integers(0, len(scores) - 1), unique=True) if scores else st.just([]))
    given_scores, given_units = np.array(scores, np.int64), np.array(units, np.int64)
    wanted = given_units[np.argsort(-given_scores[given_units], kind="stable")]
    assert order_units(given_scores, given_units).tolist() == wanted.tolist()
    assert given_units.tolist() == units


def test_scores_that_are_not_there_are_refused():
    """No kernel reads a score outside of them, or one whose differences do not fit."""
    for units in ([3], [-1]):
        with pytest.raises(ValueError, match="scores"):
            order_units(np.zeros(3, np.int64), np.array(units))
    with pytest.raises(ValueError, match="score"):
        order_units(np.array([1 << 62]), np.array([0]))
