"""Packed columns: small, exact, for any numbers."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from brimful.index.segments import pack_sorted, unpack_sorted

numbers = st.lists(st.one_of(st.integers(0, 300), st.integers(0, 2**40), st.integers(0, 2**62)), max_size=60)


@given(numbers)
def test_sorted_columns_come_back(values):
    """Ascending columns survive, repeated values included."""
    column = np.array(sorted(values), np.int64)
    assert unpack_sorted(pack_sorted(column)).tolist() == sorted(values)


def test_close_neighbours_take_one_byte_each():
    """Positions less than 128 apart cost one byte."""
    column = np.arange(0, 100_000, 100, dtype=np.int64)
    assert len(pack_sorted(column)) == len(column)
