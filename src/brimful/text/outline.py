"""Where may a text be cut?"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from brimful.text.kinds import Kind

BlockKind = Literal["function", "class", "block", "heading"]


@dataclass(frozen=True, slots=True)
class Block:
    """Something with a beginning that explains it: a function, a class, a nested block, a heading section.

    `start` includes leading decorators and comments; the signature starts at the definition's own
    line, indentation included, and ends before the body, without a trailing newline. `level` is the
    nesting depth counted from 1, or the heading's level.
    """

    start: int
    end: int
    kind: BlockKind
    signature_start: int
    signature_end: int
    name: str
    level: int


@dataclass(frozen=True, slots=True)
class Record:
    """One data record: half-open bytes that begin and end at unit cuts (its separator included).

    `time` is in whole seconds since 1970 in UTC.
    """

    start: int
    end: int
    time: int | None = None
    category: str | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Outline:
    """A text's cut points at two scales, what encloses them, and its records.

    `units` are cut points `[0, ..., length]`: unit i is `[units[i], units[i + 1])`, and the units
    hold every byte exactly once. `sections` is a subset of them. Every cut is safe: on a code point
    boundary, never between CR and LF.
    """

    kind: Kind
    language: str | None
    length: int
    units: NDArray[np.int64]
    sections: NDArray[np.int64]
    blocks: tuple[Block, ...] = ()
    records: tuple[Record, ...] = ()
    header: tuple[int, int] | None = None
    around: Callable[[int, int], tuple[Block, ...]] | None = None  # asked in place of `blocks`, if they are not listed
    _parents: tuple[int, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        parents: list[int] = []
        for number, block in enumerate(self.blocks):
            around = number - 1
            while around >= 0 and self.blocks[around].end < block.end:
                around = parents[around]
            parents.append(around)
        object.__setattr__(self, "_parents", tuple(parents))

    def unit_at(self, position: int) -> int:
        """The index of the unit that holds the byte at `position` (the nearest one outside the text)."""
        index = int(self.units.searchsorted(position, side="right")) - 1
        return min(max(index, 0), max(len(self.units) - 2, 0))

    def cut_before(self, position: int) -> int:
        """The largest unit cut at or before `position`."""
        return _before(self.units, position)

    def cut_after(self, position: int) -> int:
        """The smallest unit cut at or after `position`."""
        return _after(self.units, position)

    def section_before(self, position: int) -> int:
        """The largest section cut at or before `position`."""
        return _before(self.sections, position)

    def section_after(self, position: int) -> int:
        """The smallest section cut at or after `position`."""
        return _after(self.sections, position)

    def enclosing(self, start: int, end: int) -> tuple[Block, ...]:
        """The blocks that contain `[start, end)`, outermost first."""
        if self.around is not None:
            return self.around(start, end)
        found = []
        at = bisect_right(self.blocks, start, key=lambda block: block.start) - 1
        while at >= 0:
            block = self.blocks[at]
            if block.end >= end and block.end > start:
                found.append(block)
            at = self._parents[at]
        return tuple(reversed(found))


def outline(content: bytes, *, kind: Kind, language: str | None = None) -> Outline:
    r"""Find the cut points of any bytes; unknown languages and broken text get simpler outlines.

    >>> found = outline(b"One. Two.\n\nThree.", kind="prose", language="text")
    >>> found.units.tolist(), found.sections.tolist()
    ([0, 5, 11, 17], [0, 11, 17])
    """
    from brimful.text.code import outline_code
    from brimful.text.prose import outline_prose
    from brimful.text.records import outline_data

    if kind == "code":
        return outline_code(content, language=language)
    if kind == "data":
        return outline_data(content, language=language)
    return outline_prose(content, language=language)


def _before(cuts: NDArray[np.int64], position: int) -> int:
    return int(cuts[max(int(cuts.searchsorted(position, side="right")) - 1, 0)])


def _after(cuts: NDArray[np.int64], position: int) -> int:
    return int(cuts[min(int(cuts.searchsorted(position, side="left")), len(cuts) - 1)])
