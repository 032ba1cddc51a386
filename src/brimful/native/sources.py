"""Strings, comments and brackets of a source (sources.c)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from brimful.native import Numbers, library, pointer

LINE, BLOCK, RAW, TRIPLE, CHARACTERS, SHORT, REST, DIRECTIVE, QUOTED = (1 << bit for bit in range(9))
"""What may begin with a byte, tried in this order; sources.c says what each is."""

_FEW = 1 << 10  # brackets for which there is room at first


def mask_source(
    text: bytes, readers: NDArray[np.uint16], kinds_of: NDArray[np.uint8]
) -> tuple[bytes, Numbers, Numbers, NDArray[np.uint8]] | None:
    r"""A source with its strings and comments written over, where those start and end, and what each is.

    `readers` says for every byte what may begin with it, `kinds_of` what such a thing is; None where they don't say.

    >>> readers = np.array([SHORT * (byte == 39) + REST * (byte == 35) for byte in range(256)], np.uint16)
    >>> kinds = np.where(np.arange(256) == 35, 32, 34).astype(np.uint8)
    >>> mask_source(b"f('{}') # (", readers, kinds)[0].replace(b'"', b"?")
    b'f(????)    '
    """
    if len(readers) != 256 or len(kinds_of) != 256 or readers.dtype != np.uint16 or kinds_of.dtype != np.uint8:
        raise ValueError("of every byte must be said what begins with it, and what that is")
    capacity = len(text) // 2 + 1
    starts, ends, kinds = np.empty(capacity, np.int64), np.empty(capacity, np.int64), np.empty(capacity, np.uint8)
    code = np.empty(len(text), np.uint8)
    inputs = (text, len(text), pointer(readers), pointer(kinds_of))
    outputs = (pointer(starts), pointer(ends), pointer(kinds), pointer(code))
    count = library().mask_source(*inputs, *outputs)
    if count < 0:
        return None
    return code.tobytes(), starts[:count].copy(), ends[:count].copy(), kinds[:count].copy()


def pair_brackets(code: bytes, turns: bytes) -> tuple[Numbers, NDArray[np.int32], Numbers]:
    """Places of brackets, the number open before each and after the last, and where each opening one is closed.

    A bracket that is not closed, or closes itself, has -1. `turns` says of every byte whether it opens (1) or closes
    (255).

    >>> turns = bytes({40: 1, 41: 255}.get(byte, 0) for byte in range(256))
    >>> [each.tolist() for each in pair_brackets(b"f(a)) (", turns)]
    [[1, 3, 4, 6], [0, 1, 0, -1, 0], [3, -1, -1, -1]]
    """
    if len(turns) != 256 or set(turns) - {0, 1, 255}:
        raise ValueError("of every byte must be said whether it opens or closes")
    capacity = min(len(code), _FEW)
    while True:
        places, depths = np.empty(capacity, np.int64), np.empty(capacity + 1, np.int32)
        closes = np.empty(capacity, np.int64)
        outputs = (pointer(places), pointer(depths), pointer(closes))
        count = library().pair_brackets(code, len(code), turns, capacity, *outputs)
        if count <= capacity:
            return places[:count], depths[: count + 1], closes[:count]
        capacity = min(len(code), 8 * capacity)
