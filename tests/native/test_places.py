"""Positions counted by row, and where units lie."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from brimful.native.columns import Columns, UnitGrid, add_to_rows

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
    counts = np.zeros(count, np.int64)
    add_to_rows(counts, Columns(columns), Columns(bases), Columns(rows), weight=weight)
    assert counts.tolist() == wanted.tolist()


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


def test_extents_with_holes_are_refused():
    """The units of extents follow each other."""
    for extents in ([[0, 2], [2, 2]], [[1, 2], [2, 3]], [[0, 1], [2, 3]], [[0, 2], [2, 4]]):
        with pytest.raises(ValueError, match="extents"):
            UnitGrid([*extents, [9, 30], [0, 0], [7, 8]], [np.array([0, 5, 20], np.uint32)])
