"""What goes over the border between Python and C is checked on both sides."""

import numpy as np
import pytest

from brimful.native import library, pointer


def test_an_array_of_another_type_is_refused():
    """The header says which numbers a kernel takes; others are an error before it is called."""
    nothing = pointer(np.zeros(0, np.int64)), 0
    with pytest.raises(TypeError, match=r"int32_t|int64_t"):
        library().gather_cuts(pointer(np.zeros(7, np.int32)), 7, *nothing, 1, pointer(np.zeros(7, np.int64)))


def test_an_array_that_lies_in_pieces_is_refused():
    """A kernel walks over neighbours."""
    with pytest.raises(ValueError, match="contiguous"):
        pointer(np.zeros((4, 4), np.int64).T)
