"""Which stretches of a text need to be looked at only once, however often they occur?

A clump is a run of letters, digits, underscores and everything beyond ASCII, with the signs inside that may hold a
word together (`don't`, `1,000`, `c++`). Its terms depend on its own bytes alone, so the rules of `pieces` and
`folding`, which take many steps, are asked about each different clump, and the answer holds for all its copies.
A sign too many in a clump does no harm, one too few would: where a sign may count, it is taken in.
"""

from __future__ import annotations

from brimful import kernels
from brimful.kernels import Clumps
from brimful.text.characters import (
    APOSTROPHE,
    ASCII_CLASSES,
    COMMA,
    DASH,
    DIGIT,
    DOT,
    HASH,
    LOWER,
    PLUS,
    UNDERSCORE,
    UPPER,
)

# What a byte is (terms.c reads it): part of a clump, of a number or of a word perhaps, plain ASCII; or a sign between
# numbers (the bit of a number, shifted), a sign inside a word (the bit of a word, shifted), or one behind a word.
_CLUMP, _NUMBER, _WORD, _HASH, _ASCII, _BEHIND = 1, 2, 4, 32, 64, 128
_SHIFT = 2
_BETWEEN = (_NUMBER | _WORD) << _SHIFT
_BY_CLASS = {
    LOWER: _CLUMP | _WORD | _ASCII,
    UPPER: _CLUMP | _WORD | _ASCII,
    DIGIT: _CLUMP | _NUMBER | _ASCII,
    UNDERSCORE: _CLUMP | _ASCII,
    DOT: _NUMBER << _SHIFT,
    COMMA: _NUMBER << _SHIFT,
    DASH: _NUMBER << _SHIFT,
    APOSTROPHE: _WORD << _SHIFT,
    HASH: _BEHIND | _HASH,
    PLUS: _BEHIND,
}
_FLAGS = bytes(
    _BY_CLASS.get(kind, 0) if code < 0x80 else _CLUMP | _NUMBER | _WORD for code, kind in enumerate(ASCII_CLASSES)
)


def clumps_of(padded: bytes) -> Clumps:
    """Find the clumps of a text that has room behind it.

    >>> text = b"She didn't like 'C++', v1.5 (or c), she didn't." + kernels.ROOM
    >>> clumps = clumps_of(text)
    >>> firsts, lengths = clumps.strings.firsts, clumps.strings.lengths
    >>> different = [text[first : first + length].decode() for first, length in zip(firsts, lengths)]
    >>> [different[number] for number in clumps.strings.numbers], len(different)
    (['She', "didn't", 'like', 'C++', 'v1.5', 'or', 'c', 'she', "didn't"], 8)
    """
    return kernels.find_clumps(padded, _FLAGS)
