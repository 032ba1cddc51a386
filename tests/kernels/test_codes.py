"""The kernels that make and compare codes, against NumPy."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from brimful.index.vectors import CODE_BYTES, DIMENSIONS, NOTHING, ComparedCodes, HalfTables, similarities
from brimful.kernels import codes as kernels
from brimful.kernels.terms import Members

BITS = 6
MOST = (1 << (BITS - 1)) - 1


def by_planes(codes, query):
    """The question in six bits a dimension; what each plane of bits shares with a code is counted at once."""
    most = int(np.abs(query).max(initial=0))
    rounded = (2 * MOST * query + most) // (2 * most) if most else np.zeros(DIMENSIONS, np.int64)
    planes = np.packbits((rounded[None, :] >> np.arange(BITS)[:, None]) & 1, axis=1)
    sums = np.zeros(len(codes), np.int64)
    for bit, plane in enumerate(planes):
        shared = np.bitwise_count(codes & plane).sum(axis=1, dtype=np.int64) << bit
        sums += -shared if bit == BITS - 1 else shared
    return np.where(codes.any(axis=1), 2 * sums - int(rounded.sum()), NOTHING)


@given(
    arrays(
        np.uint8, st.tuples(st.integers(0, 9), st.just(CODE_BYTES)), elements=st.sampled_from((0, 1, 127, 128, 255))
    ),
    arrays(np.int64, DIMENSIONS, elements=st.integers(-(1 << 20), 1 << 20)),
)
def test_scores_are_those_of_counted_bits(codes, query):
    """Codes of zeros, of ones and between; questions of any size."""
    assert similarities(codes, query).tolist() == by_planes(codes, query).tolist()


def test_the_largest_scores_fit():
    """A question of extremes and codes that agree or disagree in every dimension."""
    query = np.full(DIMENSIONS, 1 << 40)
    codes = np.array([[255] * CODE_BYTES, [0] * (CODE_BYTES - 1) + [1]], np.uint8)
    assert similarities(codes, query).tolist() == by_planes(codes, query).tolist() == [7_936, -7_874]


def test_other_tables_are_refused():
    """The sizes are checked before anything is read."""
    with pytest.raises(ValueError, match="32 bytes"):
        kernels.score_codes(np.zeros((1, 16), np.uint8), np.zeros((16, 256), np.int16), nothing=NOTHING)


@given(st.data(), st.lists(st.integers(0, 9), max_size=8), st.sampled_from((0, 1, 2_052, 32_767)))
def test_rows_are_summed_and_rounded(data, sizes, largest):
    """Sums of no rows and of many, of numbers of every size, rounded half up and kept within a byte."""
    chance = np.random.default_rng(data.draw(st.integers(0, 99)))
    table = chance.integers(-largest, largest, (12, DIMENSIONS), np.int16, endpoint=True)
    ends = np.cumsum(sizes, dtype=np.int64)
    rows = chance.integers(0, 12, int(sum(sizes)))
    parts = np.split(rows, ends[:-1]) if sizes else []
    wanted = [np.clip((table[part].sum(axis=0, dtype=np.int64) + 16) >> 5, -127, 127).tolist() for part in parts]
    for wide in (False, True):
        found = kernels.sum_rows(table, rows, ends, largest=largest, wide=wide)
        assert found.tolist() == wanted
        for column in range(0, DIMENSIONS, kernels.PART):
            part = kernels.sum_rows(table, rows, ends, largest=largest, column=column, wide=wide)
            assert np.array_equal(part, found[:, column : column + kernels.PART])


@given(st.data())
def test_units_are_the_sums_of_their_terms(data):
    """Terms that stand in a unit several times count once; units without any, positions before the first unit."""
    columns = data.draw(st.lists(st.lists(st.integers(0, 400), max_size=9).map(sorted), max_size=7))
    units = np.array(data.draw(st.lists(st.integers(0, 300), unique=True, max_size=9).map(sorted)), np.int64)
    chance = np.random.default_rng(data.draw(st.integers(0, 99)))
    rows = chance.integers(-128, 127, (len(columns), DIMENSIONS), np.int8, endpoint=True)
    offsets = np.cumsum([0, *map(len, columns)])
    positions = np.array([at for column in columns for at in column], np.int64)
    wanted = np.zeros((len(units), DIMENSIONS), np.int64)
    for row, column in zip(rows, columns, strict=True):
        for unit in {int(units.searchsorted(at, side="right")) - 1 for at in column} - {-1}:
            wanted[unit] += row
    for wide in (False, True):
        assert (
            kernels.sum_units(positions, offsets, units, kernels.in_parts(rows), codes=False, wide=wide).tolist()
            == wanted.tolist()
        )
        codes = kernels.sum_units(positions, offsets, units, kernels.in_parts(rows), codes=True, wide=wide)
        assert codes.tolist() == np.packbits(wanted > 0, axis=1).tolist()


def test_members_that_are_no_terms_are_refused():
    """Whoever says which terms a unit has names those that are there, for every unit."""
    rows, given = np.ones((2, DIMENSIONS), np.int8), (np.array([0, 4]), np.arange(3), np.array([0, 4]))
    members = Members(np.array([1, 2]), np.array([0, 1], np.int32))
    known = kernels.sum_units(*given, kernels.in_parts(rows), codes=True, members=members)
    assert known.tolist() == kernels.sum_units(*given, kernels.in_parts(rows), codes=True).tolist()
    for bounds, terms in (([1], [0, 1]), ([2, 1], [0, 1]), ([1, 3], [0, 1]), ([1, 2], [0, 2]), ([1, 2], [-1, 0])):
        wrong = Members(np.array(bounds), np.array(terms, np.int32))
        with pytest.raises(ValueError, match="member"):
            kernels.sum_units(*given, kernels.in_parts(rows), codes=True, members=wrong)


@pytest.mark.parametrize("count", [254, 255, 256, 600])
def test_units_of_very_many_terms_are_summed_as_those_of_few(count):
    """Sums that leave 16 bits are kept in 32: the largest numbers of hundreds of terms, of both signs."""
    rows = np.full((count, DIMENSIONS), 127, np.int8)
    rows[:, ::3] = -128
    positions, offsets = np.arange(count), np.arange(count + 1)
    wanted = rows.sum(axis=0, dtype=np.int64)
    for wide in (False, True):
        given = (positions, offsets, np.zeros(1, np.int64))
        found = kernels.sum_units(*given, kernels.in_parts(rows), codes=False, wide=wide)
        assert found[0].tolist() == wanted.tolist()
        found = kernels.sum_units(*given, kernels.in_parts(rows), codes=True, wide=wide)
        assert found[0].tolist() == np.packbits(wanted > 0).tolist()


def test_sums_outside_their_tables_are_refused():
    """No kernel reads a row that is not there, or a position before the beginning."""
    table, rows = np.zeros((2, DIMENSIONS), np.int16), np.zeros((1, DIMENSIONS), np.int8)
    for given_rows, ends, largest in (([2], [1], 1), ([-1], [1], 1), ([0], [2], 1), ([0], [1], 1 << 15)):
        with pytest.raises(ValueError, match=r"table|ends|16 bits"):
            kernels.sum_rows(table, np.array(given_rows), np.array(ends), largest=largest)
    for positions, offsets, units in (([1], [0, 2], [0]), ([-1], [0, 1], [0]), ([1], [0, 1], [4, 2])):
        with pytest.raises(ValueError, match=r"its row|ascend"):
            kernels.sum_units(
                np.array(positions), np.array(offsets), np.array(units), kernels.in_parts(rows), codes=True
            )


CODES = arrays(
    np.uint8, st.tuples(st.integers(0, 70), st.just(CODE_BYTES)), elements=st.sampled_from((0, 1, 127, 128, 254, 255))
)
QUERIES = arrays(np.int64, DIMENSIONS, elements=st.integers(-(1 << 20), 1 << 20))


@given(CODES, QUERIES, st.integers(-8_200, 8_200), st.booleans(), st.data())
def test_codes_in_planes_score_the_same(codes, query, least, wide, data):
    """All at once or some of them, with wide instructions or without, in whole groups of 32 or not."""
    wanted = by_planes(codes, query)
    tables, base = HalfTables.of(query)
    middle = 32 * data.draw(st.integers(0, len(codes) // 32))
    parts = iter([codes[:middle], codes[middle:]] if middle else [codes])
    planes = kernels.Planes(parts, count=len(codes), wide=wide)
    found, scores = planes.near(tables, base=base, least=least)
    near = np.flatnonzero((wanted >= least) & (wanted != NOTHING))
    assert found.tolist() == near.tolist()
    assert scores.tolist() == wanted[near].tolist()
    some = np.array(sorted(data.draw(st.sets(st.integers(0, len(codes) - 1)) if len(codes) else st.just(set()))), int)
    assert planes.scores(some, tables, base=base, nothing=NOTHING).tolist() == wanted[some].tolist()


@given(CODES, QUERIES)
def test_compared_codes_say_what_similarities_say(codes, query):
    """The same scores as code by code, and nothing of codes that say nothing."""
    compared, wanted = ComparedCodes([codes], count=len(codes)), similarities(codes, query)
    assert compared.scores(np.arange(len(codes)), HalfTables.of(query)).tolist() == wanted.tolist()
    assert compared.near(HalfTables.of(query), least=NOTHING)[0].tolist() == np.flatnonzero(wanted != NOTHING).tolist()


def test_the_largest_scores_fit_in_planes():
    """A question of extremes and codes that agree or disagree in every dimension."""
    codes = np.array([[255] * CODE_BYTES, [0] * (CODE_BYTES - 1) + [1]] * 20, np.uint8)
    for query in (np.full(DIMENSIONS, 1 << 40), np.full(DIMENSIONS, -(1 << 40))):
        scores = ComparedCodes([codes], count=len(codes)).scores(np.arange(40), HalfTables.of(query))
        assert scores.tolist() == similarities(codes, query).tolist() == by_planes(codes, query).tolist()


def test_other_tables_and_other_codes_are_refused_in_planes():
    """The sizes, the values and the numbers are checked before anything is read."""
    planes = kernels.Planes([np.ones((3, CODE_BYTES), np.uint8)], count=3)
    fine = np.zeros((64, 16), np.uint8)
    for tables in (fine[:, :8], fine[1:], fine + 125):
        with pytest.raises(ValueError, match="64 tables"):
            planes.near(tables, base=0, least=0)
    for numbers in ([-1], [3], [0, 1, 7]):
        with pytest.raises(ValueError, match="3 codes"):
            planes.scores(np.array(numbers), fine, base=0, nothing=NOTHING)


def test_parts_of_codes_are_as_many_as_was_said():
    """Nothing is laid out behind the room that there is, whatever the sizes of the parts."""
    codes = np.arange(40 * CODE_BYTES, dtype=np.uint32).astype(np.uint8).reshape(40, CODE_BYTES)
    fine = np.arange(64 * 16, dtype=np.uint8).reshape(64, 16) % 125
    at_once = kernels.Planes([codes], count=40).near(fine, base=0, least=-(1 << 20))
    in_parts = kernels.Planes([codes[:3], codes[3:3], codes[3:36], codes[36:]], count=40)
    assert [each.tolist() for each in in_parts.near(fine, base=0, least=-(1 << 20))] == [
        each.tolist() for each in at_once
    ]
    for parts in ([codes, codes[:1]], [codes[:32], codes[:9]]):
        with pytest.raises(ValueError, match="40 codes were announced, and more came"):
            kernels.Planes(parts, count=40)
    with pytest.raises(ValueError, match="40 codes were announced, and 32 came"):
        kernels.Planes([codes[:32]], count=40)
