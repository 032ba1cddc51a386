"""What the kernels replaced: the same in NumPy, to compare with."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.int64]
Whole = NDArray[Any]
"""Numbers of any whole type: places on an axis take four bytes each."""

_BITS = 7
_MORE = ENDS_BELOW = 0x80
"""The last byte of a packed number is below, every other one is not."""
_LONGEST = 9  # bytes of a number below 2**63
_FEW = 96  # bytes that are read one by one
_BLOCK = 1 << 15  # numbers packed at once, so that the work stays in the processor's cache
# By the bytes that a number takes, which bytes of its fixed width those are.
_USED: dict[int, NDArray[Any]] = {
    4: np.array([[place < size for place in range(4)] for size in range(5)], np.uint8).view(np.uint32).ravel(),
    16: np.array([[place < size for place in range(16)] for size in range(10)], np.uint8),
}


def pack_numbers(values: Whole) -> tuple[bytes, NDArray[np.uint8]]:
    """Whole numbers as varints (seven bits a byte, low bits first), and how many bytes each takes.

    >>> packed, sizes = pack_numbers(np.array([1, 127, 128, 300]))
    >>> packed, sizes.tolist()
    (b'\\x01\\x7f\\x80\\x01\\xac\\x02', [1, 1, 2, 2])
    """
    sizes = np.ones(len(values), np.uint8)
    largest = int(values.max()) if len(values) else 0
    width = 4 if largest < 1 << 4 * _BITS else 16
    packed = []
    for begin in range(0, len(values), _BLOCK):
        block, taken = values[begin : begin + _BLOCK], sizes[begin : begin + _BLOCK]
        if width == 4:
            block = block.astype("<u4")
        for size in range(1, _LONGEST):
            if not largest >> (_BITS * size):
                break
            taken += block >= 1 << (_BITS * size)
        used = _USED[width].take(taken, axis=0)
        packed.append(_spread(block, width).compress(used.view(np.bool_).ravel()).tobytes())
    return b"".join(packed), sizes


def _spread(values: Whole, width: int) -> NDArray[np.uint8]:
    """The bytes of each number as a varint of a fixed width, one after the other."""
    if width == 4:
        parts = values & 0x7F
        for size in range(1, width):
            more = values >> _BITS * size
            parts |= (more & 0x7F) << 8 * size
            parts |= (more != 0).astype("<u4") << 8 * size - 1
        return parts.view(np.uint8)
    rows = np.empty((len(values), width), np.uint8)
    for size in range(_LONGEST):
        more = values >> _BITS * size
        rows[:, size] = (more & 0x7F) | np.where(more > 0x7F, _MORE, 0)
    return rows.ravel()


def unpack_numbers(packed: bytes | memoryview) -> Numbers:
    """The numbers that `pack_numbers` packed.

    >>> unpack_numbers(b'\\x01\\x7f\\x80\\x01\\xac\\x02').tolist()
    [1, 127, 128, 300]
    """
    if len(packed) <= _FEW:
        return _unpacked_few(packed)
    codes = np.frombuffer(packed, np.uint8)
    is_last = codes < _MORE
    ends = np.flatnonzero(is_last)
    values = codes[ends].astype(np.int64)
    if len(ends) == len(codes):
        return values
    # Back from the last byte of each number that has more; before the first byte of all stands a last one, the last.
    longer = np.flatnonzero(~is_last[ends - 1])
    at = ends[longer]
    while len(longer):
        at = at - 1
        values[longer] = values[longer] << _BITS | (codes[at] & (_MORE - 1))
        goes_on = ~is_last[at - 1]
        longer, at = longer[goes_on], at[goes_on]
    return values


def _unpacked_few(packed: bytes | memoryview) -> Numbers:
    """The same one by one, which is faster for the few positions that most terms have."""
    values, value, shift = [], 0, 0
    for code in packed:
        value |= (code & (_MORE - 1)) << shift
        shift += _BITS
        if code < _MORE:
            values.append(value)
            value = shift = 0
    return np.array(values, np.int64)


def column_in_page(names: bytes, ended: Numbers, packed: bytes, name: bytes) -> Numbers:
    """The column of a name: names stand between newlines, and columns one after the other, ended after so many numbers.

    >>> column_in_page(b"\\ncup\\ntea\\n", np.array([2, 3]), b"\\x05\\xff\\x06\\x07", b"tea").tolist()
    [7]
    """
    lines = names[1:-1].split(b"\n")
    if name not in lines:
        return np.zeros(0, np.int64)
    at = lines.index(name)
    return np.cumsum(unpack_numbers(packed)[int(ended[at - 1]) if at else 0 : int(ended[at])])
