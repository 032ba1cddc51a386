"""How are sorted numbers packed into few bytes, and read back without a loop?"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.int64]

_BITS = 7
_MORE = 0x80
_LONGEST = 9  # bytes of a number below 2**63


def pack_numbers(values: Numbers) -> tuple[bytes, Numbers]:
    """Whole numbers as varints (seven bits a byte, low bits first), and how many bytes each takes.

    >>> packed, sizes = pack_numbers(np.array([1, 127, 128, 300]))
    >>> packed, sizes.tolist()
    (b'\\x01\\x7f\\x80\\x01\\xac\\x02', [1, 1, 2, 2])
    """
    sizes = np.ones(len(values), np.int64)
    for size in range(1, _LONGEST):
        longer = values >> (_BITS * size) != 0
        if not longer.any():
            break
        sizes += longer
    ends = np.cumsum(sizes)
    starts = ends - sizes
    packed = np.empty(int(ends[-1]) if len(values) else 0, np.uint8)
    for size in range(int(sizes.max()) if len(values) else 0):
        here = sizes > size
        septets = (values[here] >> (_BITS * size)) & (_MORE - 1)
        more = sizes[here] > size + 1
        packed[starts[here] + size] = septets | np.where(more, _MORE, 0)
    return packed.tobytes(), sizes


def unpack_numbers(packed: bytes | memoryview) -> Numbers:
    """The numbers that `pack_numbers` packed.

    >>> unpack_numbers(b'\\x01\\x7f\\x80\\x01\\xac\\x02').tolist()
    [1, 127, 128, 300]
    """
    codes = np.frombuffer(packed, np.uint8)
    last = codes < _MORE
    if last.all():
        return codes.astype(np.int64)
    ends = np.flatnonzero(last)
    starts = np.concatenate((np.zeros(1, np.int64), ends[:-1] + 1))
    sizes = ends - starts + 1
    values = (codes[starts] & (_MORE - 1)).astype(np.int64)
    for size in range(1, int(sizes.max())):
        here = np.flatnonzero(sizes > size)
        values[here] |= (codes[starts[here] + size].astype(np.int64) & (_MORE - 1)) << (_BITS * size)
    return values


def pack_sorted(values: Numbers) -> bytes:
    """An ascending column as the differences between neighbours.

    >>> unpack_sorted(pack_sorted(np.array([5, 5, 900, 901]))).tolist()
    [5, 5, 900, 901]
    """
    return pack_numbers(np.diff(values, prepend=0))[0]


def unpack_sorted(packed: bytes | memoryview) -> Numbers:
    """The column that `pack_sorted` packed."""
    return np.cumsum(unpack_numbers(packed))
