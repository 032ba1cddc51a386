"""The kernels for packed numbers against NumPy."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from brimful.kernels import columns as kernels
from tests.kernels import columns as oracle

numbers = st.lists(st.one_of(st.integers(0, 300), st.integers(0, 2**40), st.integers(0, 2**62)), max_size=200)


@given(numbers)
def test_packed_bytes_are_the_same(values):
    """Any numbers are packed as NumPy packs them, and read back."""
    column = np.array(values, np.int64)
    packed, _ = oracle.pack_numbers(column)
    assert kernels.pack_numbers(column) == packed
    assert kernels.unpack_numbers(packed).tolist() == oracle.unpack_numbers(packed).tolist() == values


@given(st.lists(numbers, max_size=8), st.sampled_from([np.int64, np.int32]))
def test_columns_are_packed_as_their_differences(given_columns, kind):
    """Each column begins anew, and the ends are where the bytes of each end."""
    found = [np.sort(np.array(values, np.int64) % (1 << 31)).astype(kind) for values in given_columns]
    offsets = np.cumsum([0, *map(len, found)])
    packed, ends = kernels.pack_columns(np.concatenate([*found, np.zeros(0, kind)]), offsets)
    parts = [oracle.pack_numbers(np.diff(each.astype(np.int64), prepend=0))[0] for each in found]
    assert packed == b"".join(parts)
    assert ends.tolist() == np.cumsum([0, *map(len, parts)]).tolist()


@given(st.lists(numbers, min_size=1, max_size=8), st.data())
def test_one_column_is_that_of_all(given_columns, data):
    """What stands before a column is skipped, in bytes that begin anywhere, and what comes behind it is not read."""
    found = [np.sort(np.array(values, np.int64) % (1 << 40)) for values in given_columns]
    offsets = np.cumsum([0, *map(len, found)])
    packed, _ = kernels.pack_columns(np.concatenate(found), offsets)
    before, behind = data.draw(st.binary(max_size=3)), data.draw(st.binary(max_size=3))
    at = data.draw(st.integers(0, len(found) - 1))
    bounds = {"first": len(before), "last": len(before) + len(packed)}
    column = kernels.unpack_column(before + packed + behind, **bounds, skipped=int(offsets[at]), count=len(found[at]))
    assert column.tolist() == found[at].tolist()


@given(st.binary(max_size=400), st.integers(0, 400), st.integers(0, 400))
def test_one_column_of_any_bytes_is_read_without_harm(packed, skipped, count):
    """Bytes that nobody packed give what NumPy's sums give, and no more numbers than there are."""
    count = min(count, len(packed))
    with np.errstate(over="ignore"):
        wanted = np.cumsum(oracle.unpack_numbers(packed)[skipped : skipped + count])
    found = kernels.unpack_column(packed, first=0, last=len(packed), skipped=skipped, count=count)
    assert found.tolist() == wanted.tolist()


@pytest.mark.parametrize(
    "wrong", [{"first": -1}, {"last": 5}, {"first": 4, "last": 3}, {"skipped": -1}, {"count": -1}, {"count": 5}]
)
def test_columns_outside_their_bytes_are_refused(wrong):
    """What the kernel relies on is checked before it is called."""
    with pytest.raises(ValueError, match="numbers behind"):
        kernels.unpack_column(bytes(4), **{"first": 0, "last": 4, "skipped": 0, "count": 1, **wrong})


@given(st.binary(max_size=400))
def test_any_bytes_are_unpacked_without_harm(packed):
    """Bytes that nobody packed give as many numbers as they have last bytes; the same sums as NumPy's."""
    found = kernels.unpack_numbers(packed)
    assert len(found) == sum(code < 0x80 for code in packed)
    with np.errstate(over="ignore"):
        assert kernels.unpack_numbers(packed, sums=True).tolist() == np.cumsum(found).tolist()


def test_columns_that_do_not_ascend_are_refused():
    """What would take more room than the largest number is never written."""
    for column in ([3, 2], [-1], [0, 5, 4]):
        with pytest.raises(ValueError, match="ascend"):
            kernels.pack_columns(np.array(column), np.array([0, len(column)]))


def test_offsets_outside_their_columns_are_refused():
    """No kernel is called with sizes that its arrays do not have."""
    for offsets in ([0, 4], [-1, 2], [0, 2, 1]):
        with pytest.raises(ValueError, match="offsets"):
            kernels.pack_columns(np.arange(3), np.array(offsets))


@given(st.lists(st.lists(st.integers(-5, 40), max_size=12).map(sorted), max_size=10))
def test_ascending_columns_become_one(columns):
    """Few columns or many, empty ones, numbers that several have."""
    arrays = [np.array(column, np.int64) for column in columns]
    assert kernels.unite(arrays).tolist() == sorted({number for column in columns for number in column})


@given(st.lists(st.lists(st.integers(-(1 << 63), (1 << 63) - 1), max_size=6), max_size=4))
def test_columns_in_any_order_become_one(columns):
    """What does not ascend is sorted first."""
    arrays = [np.array(column, np.int64) for column in columns]
    assert kernels.unite(arrays).tolist() == sorted({number for column in columns for number in column})
