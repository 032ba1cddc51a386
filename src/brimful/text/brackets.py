"""Which bracket closes which, and how far is each line of a source indented?"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from functools import cached_property, lru_cache
from itertools import chain
from operator import methodcaller

import numpy as np
from numpy.typing import NDArray

_TAB_WIDTH = 8
_TURN = bytes(1 if code in b"([{" else 255 if code in b")]}" else 0 for code in range(256))  # as signed bytes
_SHALLOW = 1 << 14


class Brackets:
    """The brackets of a masked source, round, square and curly alike.

    A closer closes the opener before it that is as deep, whatever its shape: in a source that is in order this is the
    bracket of its own kind, and in one that is not, nobody knows.

    >>> pairs = Brackets(b"f(a[1]) { g(); }")
    >>> pairs.close_of(1), pairs.close_of(8), pairs.close_of(0)
    (6, 15, None)
    """

    def __init__(self, code: bytes) -> None:
        self._code = code
        self._length = len(code)

    @cached_property
    def _turns(self) -> tuple[NDArray[np.int64], NDArray[np.int8], NDArray[np.int32]]:
        """Where brackets stand, 1 or -1 for each, and how many are open before each and behind the last."""
        turns = np.frombuffer(self._code.translate(_TURN), np.int8)
        places = np.flatnonzero(turns)
        steps = turns[places]
        return places, steps, np.concatenate((np.zeros(1, np.int32), np.cumsum(steps, dtype=np.int32)))

    @cached_property
    def _pairs(self) -> tuple[list[int], list[int], list[int]]:
        """Where brackets are opened, where each is closed (or -1), and how deep each is."""
        places, steps, depths = self._turns
        depths = depths[1:]
        levels = np.where(steps > 0, depths, depths + 1)  # of an opener and its closer the same
        is_shallow = not len(levels) or (levels.max() < _SHALLOW and levels.min() > -_SHALLOW)
        keys = levels.astype(np.int16) if is_shallow else levels  # short numbers are sorted faster
        order = np.argsort(keys, kind="stable")
        ordered = steps[order]
        pairs = np.flatnonzero((ordered[:-1] > 0) & (ordered[1:] < 0)) if len(order) else np.zeros(0, np.int64)
        pairs = pairs[levels[order[pairs]] == levels[order[pairs + 1]]]
        openers, closers = order[pairs], order[pairs + 1]
        partner = np.full(len(places), -1, np.int64)
        partner[openers] = places[closers]
        opening = np.flatnonzero(steps > 0)
        return places[opening].tolist(), partner[opening].tolist(), depths[opening].tolist()

    @cached_property
    def _by_close(self) -> dict[int, int]:
        openers, closes, _ = self._pairs
        return dict(zip(closes, openers, strict=True))

    @cached_property
    def _by_depth(self) -> dict[int, list[int]]:
        found: dict[int, list[int]] = {}
        openers, _, levels = self._pairs
        for place, level in zip(openers, levels, strict=True):
            found.setdefault(level, []).append(place)
        return found

    def close_of(self, opener: int) -> int | None:
        """Where the bracket that opens here is closed, or None."""
        openers, closes, _ = self._pairs
        at = bisect_left(openers, opener)
        if at == len(openers) or openers[at] != opener or closes[at] < 0:
            return None
        return closes[at]

    def open_of(self, closer: int) -> int | None:
        """Where the bracket was opened that closes here, or None."""
        return self._by_close.get(closer)

    def after(self, opener: int) -> int:
        """Behind the bracket that closes this one; behind everything if none does."""
        close = self.close_of(opener)
        return self._length if close is None else close + 1

    def around(self, position: int) -> int | None:
        """The innermost bracket that is open before a byte."""
        places, _, depths = self._turns
        opened = self._by_depth.get(int(depths[places.searchsorted(position)]), [])
        at = bisect_left(opened, position) - 1
        return opened[at] if at >= 0 else None

    def depths_at(self, positions: NDArray[np.int64]) -> NDArray[np.int32]:
        """How many brackets are open before each of these bytes."""
        places, _, depths = self._turns
        return depths[places.searchsorted(positions)]


_BLANKS_OF = methodcaller("span", 1)


@lru_cache(maxsize=16)
def _line_pattern(passing: bytes) -> re.Pattern[bytes]:
    return re.compile(rb"\n([ \t]*+)(?=[^\s])" + (rb"(?!" + passing + rb")" if passing else b""))


class Indentation:
    """The lines of a masked source that have words and stand in no bracket, each with its column.

    Without brackets all lines count. Lines that begin with what is `passing` (a pattern) are left out.

    >>> code = b"if a:\\n  b(\\n1)\\n\\n  c\\nd"
    >>> lines = Indentation(code, Brackets(code))
    >>> lines.starts, lines.columns
    ([0, 6, 15, 19], [0, 2, 2, 0])
    """

    def __init__(self, code: bytes, brackets: Brackets | None, passing: bytes = b"") -> None:
        found = map(_BLANKS_OF, _line_pattern(passing).finditer(b"\n" + code))
        edges = np.fromiter(chain.from_iterable(found), np.int64).reshape(-1, 2) - 1
        starts, indents = edges[:, 0], edges[:, 1] - edges[:, 0]
        columns = indents
        if b"\t" in code:
            tabs = np.concatenate((np.zeros(1, np.int64), np.cumsum(np.frombuffer(code, np.uint8) == 9)))
            columns = indents + (_TAB_WIDTH - 1) * (tabs[edges[:, 1]] - tabs[starts])
        if brackets is not None:
            level = brackets.depths_at(starts) <= 0
            starts, indents, columns = starts[level], indents[level], columns[level]
        self.columns_of_lines: NDArray[np.int64] = columns
        self.starts: list[int] = starts.tolist()
        self.indents: list[int] = indents.tolist()
        self.columns: list[int] = columns.tolist()
        self._code = code
        self._ends: dict[int, int] = {}

    def line_of(self, position: int) -> int:
        """The number of the line that holds a byte."""
        return max(bisect_right(self.starts, position) - 1, 0)

    def end_of(self, line: int, stop: int) -> int:
        """Where the words of a line and of the lines in brackets below it end; the next line begins at `stop`."""
        if line not in self._ends:
            start = self.starts[line] if line < len(self.starts) else stop
            self._ends[line] = start + len(self._code[start:stop].rstrip())
        return self._ends[line]
