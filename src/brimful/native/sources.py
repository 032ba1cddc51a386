"""Strings, comments, brackets and indented lines of a source (sources.c)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from brimful.native import Numbers, library, numbers_of, pointer, pointers

LINE, BLOCK, RAW, TRIPLE, CHARACTERS, SHORT, REST, DIRECTIVE, QUOTED = (1 << bit for bit in range(9))
"""What may begin with a byte, tried in this order; sources.c says what each is."""

_FEW = 1 << 10  # brackets for which there is room at first


def mask_source(
    text: bytes, readers: NDArray[np.uint16], kinds_of: NDArray[np.uint8]
) -> tuple[bytes, Numbers, Numbers, NDArray[np.uint8]] | None:
    r"""A source with its strings and comments written over, where those start and end, and what each is.

    `readers` says for every byte what may begin with it, `kinds_of` what such a thing is; None where that is not told.

    >>> readers = np.array([SHORT * (byte == 39) + REST * (byte == 35) for byte in range(256)], np.uint16)
    >>> kinds = np.where(np.arange(256) == 35, 32, 34).astype(np.uint8)
    >>> mask_source(b"f('{}') # (", readers, kinds)[0].replace(b'"', b"?")
    b'f(????)    '
    """
    if len(readers) != 256 or len(kinds_of) != 256 or readers.dtype != np.uint16 or kinds_of.dtype != np.uint8:
        raise ValueError("of every byte must be said what begins with it, and what that is")
    most = len(text) // 2 + 1
    starts, ends, kinds = np.empty(most, np.int64), np.empty(most, np.int64), np.empty(most, np.uint8)
    code = np.empty(len(text), np.uint8)
    given = (text, len(text), pointer(readers), pointer(kinds_of))
    made = (pointer(starts), pointer(ends), pointer(kinds), pointer(code))
    count = library().mask_source(*given, *made)
    if count < 0:
        return None
    return code.tobytes(), starts[:count].copy(), ends[:count].copy(), kinds[:count].copy()


def pair_brackets(code: bytes, turns: bytes) -> tuple[Numbers, NDArray[np.int32], Numbers]:
    """Places of brackets, the number open before each and after the last, and where each opening one is closed.

    -1 stands for one that is not, or that closes itself. `turns` says of every byte whether it opens (1) or closes
    (255).

    >>> turns = bytes({40: 1, 41: 255}.get(byte, 0) for byte in range(256))
    >>> [each.tolist() for each in pair_brackets(b"f(a)) (", turns)]
    [[1, 3, 4, 6], [0, 1, 0, -1, 0], [3, -1, -1, -1]]
    """
    if len(turns) != 256 or set(turns) - {0, 1, 255}:
        raise ValueError("of every byte must be said whether it opens or closes")
    most = min(len(code), _FEW)
    while True:
        places, depths = np.empty(most, np.int64), np.empty(most + 1, np.int32)
        closes = np.empty(most, np.int64)
        made = (pointer(places), pointer(depths), pointer(closes))
        count = library().pair_brackets(code, len(code), turns, most, *made)
        if count <= most:
            return places[:count], depths[: count + 1], closes[:count]
        most = min(len(code), 8 * most)


def find_surplus(
    text: bytes, code: bytes, starts: Numbers, ends: Numbers, kinds: NDArray[np.uint8], *, deepest: int
) -> list[tuple[int, int]]:
    """The branches of the preprocessor to blank: all but one of those whose brackets are uneven.

    That is the first, or the second behind `#if 0`. Tokens are those of `mask_source`; groups of branches that stand in
    so many others are all read.
    """
    starts, ends, kinds, count = (
        numbers_of(starts),
        numbers_of(ends),
        np.ascontiguousarray(kinds, np.uint8),
        len(starts),
    )
    if not len(text) == len(code) or not count == len(ends) == len(kinds):
        raise ValueError("of every token must be said where it starts and ends, and what it is")
    if count and not (starts[0] >= 0 and ends[-1] <= len(text)):
        raise ValueError("tokens must lie inside of their source, in order")
    before, opened, surplus, behind = np.empty((4, count), np.int64)
    given = (text, code, pointer(starts), pointer(ends), pointer(kinds), count, deepest)
    found = library().find_surplus(*given, *pointers(before, opened, surplus, behind))
    return list(zip(surplus[:found].tolist(), behind[:found].tolist(), strict=True))


def find_stops(code: bytes, places: Numbers, depths: NDArray[np.int32], *, since: int = 0) -> Numbers:
    """Semicolons at which no bracket is open that was opened after `since`.

    Brackets and how many are open before each are from `pair_brackets`.

    >>> turns = bytes({40: 1, 41: 255}.get(byte, 0) for byte in range(256))
    >>> code = b"a;(b;)c;)d;"
    >>> find_stops(code, *pair_brackets(code, turns)[:2]).tolist()
    [1, 7, 10]
    """
    signs = np.flatnonzero(np.frombuffer(code, np.uint8)[since:] == ord(";")) + since
    first, at = places.searchsorted(since), places.searchsorted(signs)
    least = np.minimum.accumulate(depths[first:])
    stops: Numbers = signs[depths[at] == least[at - first]]
    return stops


def find_indents(code: bytes) -> tuple[Numbers, Numbers]:
    r"""The lines of a source that have words: where each starts, and its first word.

    >>> [each.tolist() for each in find_indents(b"a\n\n  b")]
    [[0, 3], [0, 5]]
    """
    most = code.count(b"\n") + 1
    starts, firsts = np.empty(most, np.int64), np.empty(most, np.int64)
    count = library().find_indents(code, len(code), most, pointer(starts), pointer(firsts))
    return starts[:count], firsts[:count]


def close_lines(columns: Numbers, lines: Numbers) -> Numbers:
    """Of some lines, in order, the number of the first one below each that is indented no more.

    >>> close_lines(np.array([0, 4, 8, 4, 0]), np.array([0, 1, 4])).tolist()
    [4, 3, 5]
    """
    columns, lines = numbers_of(columns), numbers_of(lines)
    if len(lines) and not (lines[0] >= 0 and lines[-1] < len(columns) and (lines[1:] >= lines[:-1]).all()):
        raise ValueError("lines must be some of those whose columns are known, in order")
    opened, found = np.empty(len(lines), np.int64), np.empty(len(lines), np.int64)
    given = (pointer(columns), len(columns), pointer(lines), len(lines))
    library().close_lines(*given, pointer(opened), pointer(found))
    return found
