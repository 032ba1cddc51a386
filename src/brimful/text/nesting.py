"""In which definitions does a stretch of code stand? Told by indentation, from the stretch upwards.

A grammar reads the whole file for the answer, and that takes longer than everything else that a question needs.
Indentation gives the same definitions wherever code is indented, and none where it is not.
"""

from __future__ import annotations

import re

import numpy as np
from numpy.typing import NDArray

from brimful.text.cuts import Cuts
from brimful.text.layout import definition_in
from brimful.text.outline import Block

_TAB, _TAB_WIDTH = 9, 4
_DEEP = 1 << 30
_REACH = 128  # lines that are looked at first
_LONGEST_SIGNATURE = 400
_LABEL = re.compile(rb"^[ \t]*+(?:public|private|protected):", re.MULTILINE)
_IS_BLANK, _IS_SKIPPED, _IS_CLOSER = (np.isin(np.arange(256), list(signs)) for signs in (b" \t", b"\n\r#", b"{})]"))
"""By byte. A line that begins with a closer belongs to the one above it that is indented as far."""


class Nesting:
    """The lines of a text with their indentation.

    >>> code = b"class A:\\n    x = 1\\n\\n    def f(self):\\n        return 2\\n"
    >>> [block.name for block in Nesting(code).around(41, len(code))]
    ['A', 'f']
    """

    def __init__(self, content: bytes) -> None:
        self._content = content
        codes = np.frombuffer(content, np.uint8)
        self._starts: Cuts = np.concatenate((np.zeros(1, np.int64), np.flatnonzero(codes == ord("\n")) + 1))
        self._widths, self._closing = _indentation(codes, self._starts)
        if any(label in content for label in (b"public:", b"private:", b"protected:")):
            labels = np.array([found.start() for found in _LABEL.finditer(content)], np.int64)
            self._closing[self._starts.searchsorted(labels)] = True

    def around(self, start: int, end: int) -> tuple[Block, ...]:
        """The functions and classes that hold `[start, end)`, outermost first; each reaches to `end` at least."""
        first = int(self._starts.searchsorted(start, side="right")) - 1
        last = max(int(self._starts.searchsorted(end, side="left")), first + 1)
        inner = int(self._widths[first:last].min(initial=_DEEP))
        if not first or not 0 < inner < _DEEP:
            return ()
        reach = _REACH
        while True:  # what holds the stretch is mostly near: lines farther up are looked at if they must be
            found, is_whole = self._above(first, max(first - reach, 0), inner, end)
            if is_whole:
                return tuple(reversed(_levelled(found)))
            reach *= 8

    def _above(self, first: int, lowest: int, inner: int, end: int) -> tuple[list[Block], bool]:
        """What of the lines from the lowest up to the first holds the stretch, and whether that is all."""
        # Going up, only a line that is indented less than all between can hold the stretch.
        widths = self._widths[lowest:first][::-1]
        rising = np.minimum.accumulate(np.concatenate(([inner], widths)))
        closing = self._closing[lowest:first][::-1]
        less = (widths < rising[:-1]) | ((widths == rising[:-1]) & _after_closer(widths, closing, rising))
        lines = (first - 1 - np.flatnonzero(less & ~closing)).tolist()
        outermost = next((at for at, line in enumerate(lines) if not self._widths[line]), None)
        if outermost is None and lowest:
            return [], False
        blocks = (self._block(line, end) for line in (lines if outermost is None else lines[: outermost + 1]))
        return [block for block in blocks if block is not None], True

    def _block(self, line: int, end: int) -> Block | None:
        content, begin = self._content, int(self._starts[line])
        stop = _signature_end(content, begin, min(end, begin + _LONGEST_SIGNATURE))
        words = content[begin:stop]
        definition = definition_in(words.strip())
        if definition is None:
            return None
        kind, name = definition
        return Block(begin, end, kind, begin, stop, name, 0)


def _indentation(codes: NDArray[np.uint8], starts: Cuts) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """How far each line is indented, blank lines and those that begin with # without end; and which are closers."""
    padded = np.append(codes, np.uint8(10))
    filled = np.flatnonzero(~_IS_BLANK[padded])
    places = filled[filled.searchsorted(starts)]
    widths = places - starts
    if (codes == _TAB).any():
        tabs = np.concatenate((np.zeros(1, np.int64), np.cumsum(codes == _TAB)))
        widths += (_TAB_WIDTH - 1) * (tabs[places] - tabs[starts])
    signs = padded[places]
    widths[_IS_SKIPPED[signs]] = _DEEP
    return widths, _IS_CLOSER[signs]


def _after_closer(widths: Cuts, closing: NDArray[np.bool_], rising: Cuts) -> NDArray[np.bool_]:
    """Going up: which lines follow a closer as deep as they are, that itself held the stretch, with nothing between."""
    deep = np.where(closing & (widths < rising[:-1]), widths, -1)
    reached = np.concatenate(([-1], np.maximum.accumulate(np.where(deep >= 0, np.arange(len(deep)), -1))[:-1]))
    held = np.where(reached >= 0, deep[np.maximum(reached, 0)], -1)
    same = (widths == held) & ~closing
    # Only the first such line above each closer is the one that it closes.
    seen = np.cumsum(same)
    before = np.where(reached >= 0, seen[np.maximum(reached, 0)], 0)
    first: NDArray[np.bool_] = same & (seen - before == 1)
    return first


def _signature_end(content: bytes, begin: int, limit: int) -> int:
    """Behind the line, or behind the line on which its brackets are closed; without an opening brace."""
    stop = begin
    while stop < limit:
        found = content.find(b"\n", stop, limit)
        stop = limit if found < 0 else found
        words = content[begin:stop]
        if words.count(b"(") <= words.count(b")"):
            break
        stop += 1
    else:
        found = content.find(b"\n", begin, limit)
        stop = limit if found < 0 else found
    words = content[begin:stop].rstrip()
    return begin + len(words.removesuffix(b"{").rstrip())


def _levelled(inner_first: list[Block]) -> list[Block]:
    count = len(inner_first)
    return [
        Block(each.start, each.end, each.kind, each.signature_start, each.signature_end, each.name, count - at)
        for at, each in enumerate(inner_first)
    ]
