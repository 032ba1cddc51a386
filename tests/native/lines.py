"""Where does each line of a text begin, and where do its words?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from brimful.outline.cuts import BLANKS, Cuts

_IS_BLANK = np.isin(np.arange(256), [code for code in BLANKS if code != 10])  # by byte, within a line
_MOST_STEPS = 64
_ROOM = b"\n" * 16
_SPACES = {width: int.from_bytes(b" " * width, "little") for width in (8, 4, 2)}
_TYPES = {8: np.uint64, 4: np.uint32, 2: np.uint16}


# What a byte may be a sign of.
_BLANK, _NEWLINE, _STOP, _CLOSER, _COLON = (1 << bit for bit in range(5))
_SIGNS = bytes(
    (_BLANK * (code in BLANKS))
    | (_NEWLINE * (code == 10))
    | (_STOP * (code in b".!?"))
    | (_CLOSER * (code in b"\"')]*_`"))
    | (_COLON * (code == 58))
    for code in range(256)
)
_BLOCK_BYTES = 1 << 18  # looked at in one go, so that the work stays in the processor's cache


@dataclass(frozen=True, slots=True, eq=False)
class Lines:
    """The lines of a text in columns; a blank line's words begin and end at its newline.

    `codes` are the bytes of the text with some newlines behind, `words` the eight bytes that begin at each place.
    """

    codes: NDArray[np.uint8]
    words: NDArray[np.uint64]  # little-endian, whatever the machine
    starts: Cuts
    firsts: Cuts  # the first byte that is not blank
    ends: Cuts  # behind the last byte that is not blank
    stops: Cuts  # every . ! ? before a blank
    closed: Cuts  # every . ! ? before a quotation mark or bracket and a blank
    colons: Cuts  # every colon before a blank

    @property
    def blank(self) -> NDArray[np.bool_]:
        """Which lines hold nothing but white space."""
        blank: NDArray[np.bool_] = self.firsts == self.ends
        return blank


def lines_of(content: bytes) -> Lines:
    r"""Find the lines of a text; its end begins no line.

    >>> lines = lines_of(b"a b \n\n  c")
    >>> lines.starts.tolist(), lines.firsts.tolist(), lines.ends.tolist()
    ([0, 5, 6], [0, 5, 8], [3, 5, 9])
    """
    padded = content + _ROOM
    codes = np.frombuffer(padded, np.uint8)
    newlines, stops, closed, colons = _places(padded, len(content))
    starts = np.concatenate((np.zeros(1, np.int64), newlines + 1))
    ends = np.append(newlines, len(content))
    if starts[-1] == len(content):
        starts, ends = starts[:-1], ends[:-1]
    firsts = _firsts(padded, codes, starts, ends)
    lasts = _lasts(content, codes, firsts, ends)
    return Lines(codes, _read(padded, 8), starts, firsts, lasts, stops, closed, colons)


def _places(padded: bytes, size: int) -> tuple[Cuts, ...]:
    """Newlines, stops before a blank, stops before a closing sign and a blank, colons before a blank."""
    found: tuple[list[Cuts], ...] = ([], [], [], [])
    for begin in range(0, size, _BLOCK_BYTES):
        count = min(_BLOCK_BYTES, size - begin)
        signs = np.frombuffer(padded[begin : begin + count + 2].translate(_SIGNS), np.uint8)
        here, following = signs[:count], signs[1 : count + 1]
        blank = (following & _BLANK) * np.uint8(_STOP | _COLON)
        close = (following & _CLOSER) & (signs[2:] & _BLANK) * np.uint8(_CLOSER)
        marks = here & blank
        for column, chosen in zip(
            found,
            (here & _NEWLINE != 0, marks & _STOP != 0, (close != 0) & (here & _STOP != 0), marks & _COLON != 0),
            strict=True,
        ):
            column.append(np.flatnonzero(chosen) + begin)
    return tuple(np.concatenate(column) if column else np.zeros(0, np.int64) for column in found)


def _read(padded: bytes, width: int) -> NDArray[np.uint64]:
    kind = np.dtype(_TYPES[width]).newbyteorder("<")
    return np.ndarray((len(padded) - width + 1,), kind, padded, strides=(1,))


def _firsts(padded: bytes, codes: NDArray[np.uint8], starts: Cuts, ends: Cuts) -> Cuts:
    firsts = starts.copy()
    for width, spaces in _SPACES.items():  # most indentation is spaces: many at once, then few
        words = _read(padded, width)
        left = np.flatnonzero(words[firsts] == spaces)
        for _ in range(_MOST_STEPS if width == 8 else 1):
            if not len(left):
                break
            firsts[left] += width
            left = left[words[firsts[left]] == spaces]
    left = np.flatnonzero(_IS_BLANK[codes[firsts]])
    for _ in range(_MOST_STEPS):
        if not len(left):
            return firsts
        firsts[left] += 1
        left = left[_IS_BLANK[codes[firsts[left]]]]
    for line in left.tolist():
        rest = padded[firsts[line] : ends[line]]
        firsts[line] += len(rest) - len(rest.lstrip(BLANKS))
    return firsts


def _lasts(content: bytes, codes: NDArray[np.uint8], firsts: Cuts, ends: Cuts) -> Cuts:
    lasts = ends.copy()
    left = np.flatnonzero((lasts > firsts) & _IS_BLANK[codes[lasts - 1]])
    for _ in range(_MOST_STEPS):
        if not len(left):
            return lasts
        lasts[left] -= 1
        left = left[_IS_BLANK[codes[lasts[left] - 1]]]  # the first word stops it
    for line in left.tolist():
        lasts[line] = firsts[line] + len(content[firsts[line] : lasts[line]].rstrip(BLANKS))
    return lasts


_ITEM_SIGNS = np.isin(np.arange(256), list(b"-*+"))
_BULLET = int.from_bytes("• ".encode(), "little")
_DOT, _BRACKET, _BAR = 46, 41, 124


def items(lines: Lines) -> NDArray[np.bool_]:
    """Which lines begin a list item or are a row of a table."""
    codes, places = lines.codes, lines.firsts
    first, second = codes[places], codes[places + 1]
    found: NDArray[np.bool_] = _ITEM_SIGNS[first] & ((second == 32) | (second == 9))
    found |= first == _BAR
    found |= lines.words[places] & np.uint64(0xFFFFFFFF) == _BULLET
    numbered = np.flatnonzero((first >= 48) & (first <= 57))
    at = places[numbered] + 1
    for _ in range(3):
        at += (codes[at] >= 48) & (codes[at] <= 57)
    found[numbered[((codes[at] == _DOT) | (codes[at] == _BRACKET)) & (codes[at + 1] == 32)]] = True
    return found
