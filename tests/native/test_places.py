"""The kernels that count positions of rows and say where units lie, against NumPy."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from brimful.native.columns import Columns, CountedRows, HeadingTree, UnitGrid

COLUMNS = st.lists(st.lists(st.integers(0, 120)).map(lambda found: np.array(sorted(found), np.int64)), max_size=4)
EDGES = st.lists(st.integers(0, 120), unique=True, max_size=12).map(sorted)


@given(COLUMNS, st.data())
def test_rows_are_those_of_a_sorted_lookup(columns, data):
    """Every position counts for the extent that begins last before it."""
    bases = [np.array([0, *(edge + 1 for edge in data.draw(EDGES))], np.int64) for _ in columns]
    rows = [np.array(data.draw(st.lists(st.integers(0, 5), min_size=len(each), max_size=len(each)))) for each in bases]
    weight = data.draw(st.integers(1, 1_000))
    count = data.draw(st.sampled_from([6, 60]))
    wanted = np.zeros(count, np.int64)
    for column, begin, row in zip(columns, bases, rows, strict=True):
        np.add.at(wanted, row.astype(np.int64)[begin.searchsorted(column, side="right") - 1], weight)
    counted, given_columns = CountedRows(Columns(bases), Columns(rows), count=count), Columns(columns)
    counted.add(given_columns, weight=weight)
    assert counted.counts.tolist() == wanted.tolist()
    counted.add(given_columns, weight=weight)
    assert counted.counts.tolist() == (2 * wanted).tolist()


def test_headings_that_do_not_fit_are_refused():
    """No kernel is called with numbers of no heading."""
    some = np.arange(3)
    for parents in (some[:2], some - 1):
        with pytest.raises(ValueError, match="heading"):
            HeadingTree(some, some, parents, some)


@st.composite
def gridded(draw):
    """Extents of some segments with their units, as numbers of four or eight bytes."""
    segments = draw(st.lists(st.lists(st.integers(1, 5), min_size=1, max_size=4), max_size=4))
    starts, extents, count = [], [], 0
    for sizes in segments:
        own, base = [], 0
        for size in sizes:
            cuts = sorted(draw(st.sets(st.integers(base, base + 40), min_size=size, max_size=size)))
            own, base = own + cuts, cuts[-1] + draw(st.integers(1, 9))
            extents.append((count, count + size, base, draw(st.integers(-60, 60)), draw(st.integers(0, 9))))
            count += size
        starts.append(np.array(own, draw(st.sampled_from([np.uint32, np.int64]))))
    return starts, np.array(extents, np.int64).reshape(-1, 5).T, count


@given(gridded(), st.data())
def test_units_lie_where_a_sorted_lookup_finds_them(given_all, data):
    """In any order: extent, start, end, row, offset and run of each unit; and what stands around some of them."""
    starts, extents, count = given_all
    grid = UnitGrid(extents, starts)
    firsts, behind, ends, shifts, owners = extents
    units = np.array(data.draw(st.lists(st.integers(0, count - 1)) if count else st.just([])), np.int64)
    placed = grid.placed(units)
    every = np.concatenate([np.zeros(0, np.int64), *starts]).astype(np.int64)
    at = firsts.searchsorted(units, side="right") - 1
    assert placed.extents.tolist() == at.tolist()
    assert placed.starts.tolist() == every[units].tolist()
    is_last = units + 1 == behind[at]
    assert placed.ends.tolist() == np.where(is_last, ends[at], every[np.minimum(units + 1, count - 1)]).tolist()
    assert placed.rows.tolist() == owners[at].tolist()
    assert placed.offsets.tolist() == (every[units] + shifts[at]).tolist()
    run = np.cumsum(np.diff(units, prepend=-2) - 1 | np.diff(at, prepend=-1) != 0)
    assert placed.firsts.tolist() == run.searchsorted(run).tolist()
    assert placed.lasts.tolist() == (run.searchsorted(run, side="right") - 1).tolist()

    reach, chosen = data.draw(st.integers(0, 3)), np.unique(units)
    around = set()
    for unit in chosen.tolist():
        extent = firsts.searchsorted(unit, side="right") - 1
        around |= set(range(max(unit - reach, firsts[extent]), min(unit + reach + 1, behind[extent])))
    assert grid.between(chosen, chosen, reach=reach).tolist() == sorted(around)


def test_units_that_are_not_there_are_refused():
    """Neither a grid of extents with holes nor a unit outside of it reaches the kernel's memory."""
    starts = [np.array([0, 5, 20], np.uint32)]
    for extents in ([[0, 2], [2, 2]], [[1, 2], [2, 3]], [[0, 1], [2, 3]], [[0, 2], [2, 4]]):
        with pytest.raises(ValueError, match="extents"):
            UnitGrid([*extents, [9, 30], [0, 0], [7, 8]], starts)
    with pytest.raises(ValueError, match="extent"):
        UnitGrid([[0], [3], [9, 30], [0], [7]], starts)
    grid = UnitGrid([[0, 2], [2, 3], [9, 30], [0, 0], [7, 8]], starts)
    for unit in (-1, 3):
        with pytest.raises(ValueError, match="no such units"):
            grid.placed(np.array([unit]))
        with pytest.raises(ValueError, match="no such units"):
            grid.between(np.array([unit]), np.array([unit]), reach=1)
    with pytest.raises(ValueError, match="reach"):
        grid.between(np.array([0]), np.array([0, 1]), reach=1)


def test_sizes_that_do_not_fit_are_refused():
    """No kernel is called with extents that its columns do not have."""
    column, some = Columns([np.arange(3)]), np.arange(3)
    with pytest.raises(ValueError, match="extent"):
        CountedRows(column, Columns([some[:2]]), count=3)
    counted = CountedRows(column, column, count=3)
    for columns, weight in ((Columns([some, some]), 1), (column, -1)):
        with pytest.raises(ValueError, match="segment"):
            counted.add(columns, weight=weight)
