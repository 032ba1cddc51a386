"""Where is data cut? By patterns and arrays, as the kernels of `records.c` must find it."""

from __future__ import annotations

import re

import numpy as np
from numpy.typing import NDArray

from brimful.outline.cuts import UNIT_AIM as AIM
from brimful.outline.cuts import UNIT_LIMIT as LIMIT
from brimful.outline.cuts import Cuts, _is_safe

_CLAUSE = re.compile(rb"(?:[,;:)\]}>](?=\s)|\xe3\x80\x81|\xef\xbc[\x8c\x9a\x9b]|\xd8[\x8c\x9b])\s*")
_SENTENCE = re.compile(rb"(?:[.!?](?=\s)|\xe3\x80\x82|\xef\xbc[\x81\x9f]|\xe0\xa5\xa4|\xd8\x9f|\xdb\x94)\s*")
_WORD = re.compile(rb"\s(?=\S)")


def json_signs(content: bytes) -> Cuts:
    """Where commas, brackets and braces stand outside of strings."""
    octets = np.frombuffer(content, dtype=np.uint8)
    outside = _outside_strings(octets)
    return np.flatnonzero(((octets == 44) | ((octets | 32) == 123) | ((octets | 32) == 125)) & outside)


def _outside_strings(octets: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """True where a byte is not inside a string.

    A string can't hold a newline, so every line starts outside one: a missing quotation mark
    spoils one line, not the rest of the text.
    """
    quotes = octets == 34
    slashes = np.flatnonzero(octets == 92)
    if len(slashes):
        breaks = np.flatnonzero(np.diff(slashes) != 1) + 1
        first = slashes[np.concatenate(([0], breaks))]
        last = slashes[np.concatenate((breaks - 1, [len(slashes) - 1]))]
        escaped = last[(last - first) % 2 == 0] + 1
        escaped = escaped[escaped < len(octets)]
        quotes[escaped] = False
    marks = np.flatnonzero(quotes)
    newlines = np.flatnonzero(octets == 10)
    # Drop the last mark of every line that has an odd number of them.
    line = np.searchsorted(newlines, marks)
    if len(marks):
        last_of_line = np.append(line[1:] != line[:-1], True)
        counts = np.diff(np.concatenate(([0], np.flatnonzero(last_of_line) + 1)))
        keep = np.ones(len(marks), dtype=np.bool_)
        keep[np.flatnonzero(last_of_line)[counts % 2 == 1]] = False
        marks = marks[keep]
    flips = np.zeros(len(octets), dtype=np.int8)
    flips[marks[0::2]] = 1
    flips[marks[1::2]] = -1
    outside: NDArray[np.bool_] = np.cumsum(flips, dtype=np.int8) == 0
    return outside


def inner_cuts(content: bytes, starts: Cuts, ends: Cuts, *, by_line: bool) -> Cuts:
    """Cuts inside every stretch, so that the pieces come near so many bytes."""
    added: list[int] = []
    for begin, end in zip(starts.tolist(), ends.tolist(), strict=True):
        start = begin
        while end - start > AIM:
            cut = _line_cut(content, start, end) if by_line else _best_cut(content, start, end)
            if not start < cut < end:
                break
            added.append(cut)
            start = cut
    return np.array(added, dtype=np.int64)


def _best_cut(content: bytes, start: int, end: int) -> int:
    """The best place to end a piece of [start, end): line, sentence, clause, word, code point."""
    rest = end - start
    want = rest // -(-rest // AIM)
    low, high = start + want // 2, start + min(AIM, rest - want // 2)
    newline = content.rfind(b"\n", low, high)
    if newline >= 0:
        return newline + 1
    for pattern in (_SENTENCE, _CLAUSE):
        cut = max((found.end() for found in pattern.finditer(content, low, high)), default=0)
        if low < cut < end:
            return cut
    space = max(content.rfind(b" ", low, high), content.rfind(b"\t", low, high))
    if space >= 0:
        return space + 1
    limit = min(start + LIMIT, end)
    if content[high] < 0x80 and (found := _WORD.search(content, high, limit)):
        return found.end()
    return _code_point(content, start, high)


def _line_cut(content: bytes, start: int, end: int) -> int:
    """A line start that ends a piece of [start, end); inside one long line, the best place there."""
    rest = end - start
    want = rest // -(-rest // AIM)
    blank = content.rfind(b"\n\n", start + want // 2, min(start + AIM, end - 1))
    if blank >= 0:
        return blank + 2
    newline = content.rfind(b"\n", start, min(start + AIM, end - 1))
    if newline >= start + want // 2:
        return newline + 1
    following = content.find(b"\n", start + AIM, min(start + LIMIT, end))
    if following >= 0:
        return following + 1
    if newline >= start:
        return newline + 1
    return _best_cut(content, start, end) if rest > LIMIT else end


def _code_point(content: bytes, start: int, position: int) -> int:
    """The nearest safe cut at or before `position`, or `position` itself in a run of stray bytes."""
    for cut in range(position, max(position - 4, start), -1):
        if _is_safe(content, cut):
            return cut
    return position
