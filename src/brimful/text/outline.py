"""Where may a text be cut, and what stands around a piece of it?"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal

from brimful.text.cuts import Cuts
from brimful.text.kinds import Kind

if TYPE_CHECKING:
    from brimful.text.structure import Structure

BlockKind = Literal["function", "class", "heading"]


@dataclass(frozen=True, slots=True)
class Block:
    """Something with a beginning that explains it: a function, a class, a heading section.

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


class Outline:
    """A text's cut points at two scales, what encloses them, and its records.

    `units` are cut points `[0, ..., length]`: unit i is `[units[i], units[i + 1])`, and the units
    hold every byte exactly once. `sections` is a subset of them. Every cut is safe: on a code point
    boundary, never between CR and LF. `blocks` and `structure` are read when they are first asked for.
    """

    def __init__(
        self,
        kind: Kind,
        language: str | None,
        length: int,
        units: Cuts,
        sections: Cuts,
        *,
        blocks: Callable[[], tuple[Block, ...]] = tuple,
        structure: Callable[[], Structure] | None = None,
        records: tuple[Record, ...] = (),
        header: tuple[int, int] | None = None,
    ) -> None:
        self.kind, self.language, self.length = kind, language, length
        self.units, self.sections = units, sections
        self.records, self.header = records, header
        self._read_blocks, self._read_structure = blocks, structure

    @cached_property
    def blocks(self) -> tuple[Block, ...]:
        """The definitions of code and the sections of prose, in order, nested in each other."""
        return self._read_blocks()

    @cached_property
    def structure(self) -> Structure:
        """What the text is made of; nothing where it is not read, as of texts that are too long."""
        from brimful.text.structure import Structure

        return (
            Structure(self.kind, self.language, self.length) if self._read_structure is None else self._read_structure()
        )

    @cached_property
    def _parents(self) -> tuple[int, ...]:
        parents: list[int] = []
        for number, block in enumerate(self.blocks):
            around = number - 1
            while around >= 0 and self.blocks[around].end < block.end:
                around = parents[around]
            parents.append(around)
        return tuple(parents)

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
        found = []
        at = bisect_right(self.blocks, start, key=lambda block: block.start) - 1
        while at >= 0:
            block = self.blocks[at]
            if block.end >= end and block.end > start:
                found.append(block)
            at = self._parents[at]
        return tuple(reversed(found))


def outline(content: bytes, *, kind: Kind, language: str | None = None, path: str = "") -> Outline:
    r"""Find the cut points of any bytes; unknown languages and broken text get simpler outlines.

    >>> found = outline(b"One. Two.\n\nThree.", kind="prose", language="text")
    >>> found.units.tolist(), found.sections.tolist()
    ([0, 5, 11, 17], [0, 11, 17])
    """
    from brimful.text.layout import outline_code
    from brimful.text.prose import outline_prose
    from brimful.text.records import outline_data

    if kind == "code":
        return outline_code(content, language=language)
    if kind == "data":
        return outline_data(content, language=language)
    return outline_prose(content, language=language, path=path)


def _before(cuts: Cuts, position: int) -> int:
    return int(cuts[max(int(cuts.searchsorted(position, side="right")) - 1, 0)])


def _after(cuts: Cuts, position: int) -> int:
    return int(cuts[min(int(cuts.searchsorted(position, side="left")), len(cuts) - 1)])
