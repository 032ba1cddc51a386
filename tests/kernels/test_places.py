"""The kernels that count and find positions in stretches, against NumPy."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from brimful.kernels import columns as kernels
from brimful.kernels.columns import Columns, HeadingTree, Stretches

COLUMNS = st.lists(st.lists(st.integers(0, 120)).map(lambda found: np.array(sorted(found), np.int64)), max_size=4)
EDGES = st.lists(st.integers(0, 120), unique=True, max_size=12).map(sorted)


@st.composite
def stretched(draw):
    """Columns of positions, and for each segment some stretches that do not overlap."""
    columns = draw(COLUMNS)
    parts = [draw(EDGES) for _ in columns]
    parts = [edges[: len(edges) // 2 * 2] for edges in parts]
    starts = np.array([edge for edges in parts for edge in edges[0::2]], np.int64)
    ends = np.array([edge for edges in parts for edge in edges[1::2]], np.int64)
    return columns, starts, ends, np.cumsum([0, *(len(edges) // 2 for edges in parts)]).tolist()


@given(stretched())
def test_positions_in_stretches_are_those_of_a_sorted_lookup(given_all):
    """Counts, positions and their stretches agree, for few and many of each."""
    columns, starts, ends, bounds = given_all
    counts = np.zeros(len(starts), np.int64)
    for number, column in enumerate(columns):
        part = slice(*bounds[number : number + 2])
        counts[part] = column.searchsorted(ends[part]) - column.searchsorted(starts[part])
    given_ones = Stretches(starts, ends, bounds)
    assert given_ones.count(Columns(columns)).tolist() == counts.tolist()
    weighed = given_ones.count(Columns(columns), weight=7, counts=np.arange(len(starts)))
    assert weighed.tolist() == (np.arange(len(starts)) + 7 * counts).tolist()
    found, stretches, behind = given_ones.find(Columns(columns))
    for number, column in enumerate(columns):
        low, high = bounds[number : number + 2]
        part = slice(*behind[number : number + 2])
        at = starts[low:high].searchsorted(column, side="right") - 1
        inside = (at >= 0) & (column < np.append(ends[low:high], 0)[at])
        assert found[part].tolist() == column[inside].tolist()
        assert stretches[part].tolist() == (at[inside] + low).tolist()


@given(COLUMNS, st.data())
def test_rows_and_blocks_are_those_of_a_sorted_lookup(columns, data):
    """Every position counts for the extent and the block that begins last before it."""
    bases = [np.array([0, *(edge + 1 for edge in data.draw(EDGES))], np.int64) for _ in columns]
    rows = [np.array(data.draw(st.lists(st.integers(0, 5), min_size=len(each), max_size=len(each)))) for each in bases]
    weight = data.draw(st.integers(1, 1_000))
    counts, wanted = np.zeros(6, np.int64), np.zeros(6, np.int64)
    kernels.add_to_rows(Columns(columns), Columns(bases), Columns(rows), weight=weight, counts=counts)
    for column, begin, row in zip(columns, bases, rows, strict=True):
        np.add.at(wanted, row.astype(np.int64)[begin.searchsorted(column, side="right") - 1], weight)
    assert counts.tolist() == wanted.tolist()

    starts = [np.array(data.draw(EDGES), np.int64) for _ in columns]
    firsts = np.cumsum([0, *map(len, starts)])[:-1]
    blocks = []
    for first, begin, column in zip(firsts, starts, columns, strict=True):
        at = np.unique(begin.searchsorted(column, side="right") - 1)
        blocks += (first + at[at >= 0]).tolist()
    assert kernels.find_blocks(Columns(columns), Columns(starts), firsts).tolist() == blocks


DEEPEST = 4


@st.composite
def headed(draw):
    """Headings of a segment, each under an earlier one or none; where its extents begin; and some of its units."""
    edges = draw(st.lists(st.integers(0, 120), unique=True, min_size=2, max_size=40).map(sorted))
    edges = edges[: len(edges) // 2 * 2]
    starts, ends = np.array(edges[0::2], np.int64), np.array(edges[1::2], np.int64)
    count = len(starts)
    parents = np.array([draw(st.sampled_from([count, *range(number)])) for number in range(count)], np.int64)
    bases = np.array([0, *(edge + 1 for edge in draw(EDGES))], np.int64)
    cuts = draw(EDGES)
    return starts, ends, parents, bases, np.array(cuts[:-1], np.int64), np.array(cuts[1:], np.int64)


def chains_by_numpy(starts, ends, parents, bases, begins, behind):
    """The headings above units, the nearest first; their number for none."""
    parents = np.append(parents, len(starts))
    base = bases[bases.searchsorted(begins, side="right") - 1]
    lowest = ends.searchsorted(begins, side="right") - 1
    chain = np.where((lowest >= 0) & (starts[lowest] >= base), lowest, len(starts))
    after = np.minimum(lowest + 1, len(starts) - 1)
    is_own = (starts[after] >= begins) & (starts[after] < behind)
    chains = [np.where(is_own, parents[after], chain)]
    for _ in range(DEEPEST - 1):
        chains.append(parents[chains[-1]])
    return np.array(chains).T.reshape(-1, DEEPEST)


@given(headed(), st.integers(0, 5), st.data())
def test_headings_above_units_are_those_of_a_sorted_lookup(given_all, first, data):
    """Every unit gets the headings above it, the nearest first, and the marks of these are counted."""
    starts, ends, parents, bases, begins, behind = given_all
    wanted = chains_by_numpy(*given_all)
    chains = np.full((len(begins), DEEPEST), -1, np.int32)
    used = HeadingTree(starts, ends, parents, bases).above(begins, behind, first=first, chains=chains)
    assert used.tolist() == sorted(set(wanted[wanted < len(starts)].tolist()))
    named = np.where(chains >= 0, np.append(used, 0)[np.maximum(chains - first, 0)], len(starts))
    assert named.tolist() == wanted.tolist()

    marks = np.array(
        data.draw(st.lists(st.integers(0, 2), min_size=first + len(used), max_size=first + len(used))), int
    )
    has = np.append(marks > 0, False)[chains].sum(axis=1)
    assert kernels.count_above(chains, marks).tolist() == has.tolist()


def test_rows_of_units_that_do_not_fit_are_refused():
    """No kernel is called with units or headings that have no room, or with numbers of no heading."""
    some, tree = np.arange(3), HeadingTree(np.arange(3), np.arange(3) + 1, np.full(3, 3), np.zeros(1, np.int64))
    for chains in (np.full((2, 6), -1, np.int32), np.full((3, 6), -1), np.full((3, 12), -1, np.int32)[:, ::2]):
        with pytest.raises(ValueError, match="row"):
            tree.above(some, some, first=0, chains=chains)
    with pytest.raises(ValueError, match="heading"):
        HeadingTree(some, some[:2], some, some)
    with pytest.raises(ValueError, match="mark"):
        kernels.count_above(np.full((3, 6), 3, np.int32), some)


def test_sizes_that_do_not_fit_are_refused():
    """No kernel is called with stretches or extents that its columns do not have."""
    column, some = Columns([np.arange(3)]), np.arange(3)
    for starts, bounds in ((some, [0, 4]), (some, [0, 1, 2]), (some, [-1, 2]), (some[:2], [0, 2])):
        with pytest.raises(ValueError, match="stretch"):
            Stretches(starts, some, bounds).count(column)
    with pytest.raises(ValueError, match="stretch"):
        Stretches(some, some, [0, 3]).count(column, counts=np.zeros(2, np.int64))
    with pytest.raises(ValueError, match="extent"):
        kernels.add_to_rows(column, column, Columns([some[:2]]), weight=1, counts=np.zeros(3, np.int64))
