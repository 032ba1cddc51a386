"""How are sorted numbers packed into few bytes?"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from brimful import kernels

Numbers = NDArray[np.int64]
Whole = NDArray[Any]
"""Numbers of any whole type: places on an axis take four bytes each."""

ENDS_BELOW = 0x80
"""The last byte of a packed number is below, every other one is not."""


def pack_numbers(values: Whole) -> bytes:
    """Whole numbers as varints: seven bits a byte, low bits first.

    >>> pack_numbers(np.array([1, 127, 128, 300]))
    b'\\x01\\x7f\\x80\\x01\\xac\\x02'
    """
    return kernels.pack_numbers(values)


def unpack_numbers(packed: bytes | memoryview) -> Numbers:
    """The numbers that `pack_numbers` packed.

    >>> unpack_numbers(b'\\x01\\x7f\\x80\\x01\\xac\\x02').tolist()
    [1, 127, 128, 300]
    """
    return kernels.unpack_numbers(packed)


def pack_sorted(values: Numbers) -> bytes:
    """An ascending column as the differences between neighbours.

    >>> unpack_sorted(pack_sorted(np.array([5, 5, 900, 901]))).tolist()
    [5, 5, 900, 901]
    """
    return kernels.pack_columns(values, np.array([0, len(values)]))[0]


def unpack_sorted(packed: bytes | memoryview) -> Numbers:
    """The column that `pack_sorted` packed."""
    return kernels.unpack_numbers(packed, sums=True)


def pack_columns(columns: Whole, offsets: Numbers) -> tuple[bytes, Numbers]:
    """Ascending columns one after the other, and where each ends in bytes, after a 0; offsets say which is whose.

    >>> packed, ends = pack_columns(np.array([5, 900, 7]), np.array([0, 2, 3]))
    >>> packed, ends.tolist()
    (b'\\x05\\xff\\x06\\x07', [0, 3, 4])
    """
    return kernels.pack_columns(columns, offsets)
