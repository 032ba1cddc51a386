"""What goes over the border between Python and C is checked on both sides."""

import gc
import weakref

import numpy as np
import pytest

from brimful.native import kernels, library, pointer, struct


def test_an_array_of_another_type_is_refused():
    """The header says which numbers a kernel takes; others are an error before it is called."""
    nothing = pointer(np.zeros(0, np.int64)), 0
    with pytest.raises(TypeError, match=r"int32_t|int64_t"):
        library().gather_cuts(pointer(np.zeros(7, np.int32)), 7, *nothing, 1, pointer(np.zeros(7, np.int64)))


def test_an_array_that_lies_in_pieces_is_refused():
    """A kernel walks over neighbours."""
    with pytest.raises(ValueError, match="contiguous"):
        pointer(np.zeros((4, 4), np.int64).T)


def test_an_array_that_is_too_short_is_refused():
    """The least that a kernel needs can be asked for."""
    with pytest.raises(ValueError, match="needs 4 numbers, not 3"):
        pointer(np.zeros(3, np.int64), least=4)


def test_a_field_that_the_header_does_not_name_is_refused():
    """Structs are declared once, in the header."""
    with pytest.raises(KeyError, match="weights"):
        struct("weighing", weights=1)


def test_arrays_stay_while_a_struct_points_to_them():
    """And no longer."""
    values = np.array([0.25, 0.75])
    kept, signal = weakref.ref(values), struct("weighing", worths=values, k1=0.5)
    del values
    gc.collect()
    assert (signal.worths[1], signal.k1, signal.words) == (0.75, 0.5, 0)
    del signal
    gc.collect()
    assert kept() is None


def test_what_is_not_given_is_null():
    """A field without an array points nowhere."""
    assert struct("weighing", worths=None).worths == kernels().types.NULL
