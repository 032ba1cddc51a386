"""The kernels that count and find positions in stretches, against NumPy."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from brimful.kernels import columns as kernels
from brimful.kernels.columns import Columns

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
    assert kernels.count_inside(Columns(columns), starts, ends, bounds).tolist() == counts.tolist()
    found, stretches, behind = kernels.find_inside(Columns(columns), starts, ends, bounds)
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


def test_sizes_that_do_not_fit_are_refused():
    """No kernel is called with stretches or extents that its columns do not have."""
    column, some = Columns([np.arange(3)]), np.arange(3)
    for starts, bounds in ((some, [0, 4]), (some, [0, 1, 2]), (some, [-1, 2]), (some[:2], [0, 2])):
        with pytest.raises(ValueError, match="stretch"):
            kernels.count_inside(column, starts, some, bounds)
    with pytest.raises(ValueError, match="extent"):
        kernels.add_to_rows(column, column, Columns([some[:2]]), weight=1, counts=np.zeros(3, np.int64))
