"""What stands around a place of a text, and where may it be cut?"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal, overload

import numpy as np
from numpy.typing import NDArray

from brimful.native.lines import NEWLINES
from brimful.outline.cuts import LARGEST, Cuts, Heads
from brimful.outline.kinds import Kind

if TYPE_CHECKING:
    from brimful.outline.markup import Markup, Message
    from brimful.outline.passages import Heading, Passage
    from brimful.outline.structures import Definition, PartedSource, Structure

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


Said = Callable[[int, int], tuple[int | None, str | None]]
"""What the record of a range says: its time and its category."""


class Records(Sequence[Record]):
    """The records of data in order, in columns: a file has a hundred thousand, of which a window shows ten.

    What one of them says is read when it is asked for.

    >>> Records(np.array([0, 4]), np.array([4, 9]), lambda start, end: (end, None))[1]
    Record(start=4, end=9, time=9, category=None)
    """

    def __init__(self, starts: Cuts, ends: Cuts, said: Said | None = None, *, have_categories: bool = True) -> None:
        self.starts, self.ends = starts, ends
        self._said, self._have_categories = said, said is not None and have_categories

    def __len__(self) -> int:
        return len(self.starts)

    @overload
    def __getitem__(self, at: int) -> Record: ...
    @overload
    def __getitem__(self, at: slice) -> Records: ...
    def __getitem__(self, at: int | slice) -> Record | Records:
        if isinstance(at, slice):
            return self.kept(at)
        start, end = int(self.starts[at]), int(self.ends[at])
        return Record(start, end, *(self._said(start, end) if self._said else ()))

    def __eq__(self, other: object) -> bool:
        return list(self) == list(other) if isinstance(other, Records) else NotImplemented

    __hash__ = None  # type: ignore[assignment]  # as of a list

    @cached_property
    def have_categories(self) -> bool:
        """Whether any of them says of which kind it is."""
        return self._have_categories and any(record.category for record in self)

    def kept(self, which: slice | NDArray[np.bool_]) -> Records:
        """Some of them."""
        return Records(self.starts[which], self.ends[which], self._said, have_categories=self._have_categories)

    def touching(self, start: int, end: int) -> Records:
        """Those that share a byte with a range."""
        return self[int(self.ends.searchsorted(start, side="right")) : int(self.starts.searchsorted(end, side="left"))]

    def between(self, start: int, end: int) -> Records:
        """From the one that holds a byte, or the first, to the one that holds another."""
        first = max(int(self.starts.searchsorted(start, side="right")) - 1, 0)
        return self[first : int(self.starts.searchsorted(end, side="right"))]


NO_RECORDS = Records(np.empty(0, np.int64), np.empty(0, np.int64))


class Outline:
    """A text's cut points at two scales, what encloses them, and its records.

    `units` are cut points `[0, ..., length]`: unit i is `[units[i], units[i + 1])`, and the units
    hold every byte exactly once. `sections` is a subset of them. Every cut is safe: on a code point
    boundary, never between CR and LF. What the text is made of is read off its content when it is first asked for;
    of a very long one that would take too long: its headings are the `heads` that were stored with it. An outline
    without content has cuts alone.
    """

    def __init__(
        self,
        kind: Kind,
        language: str | None,
        length: int,
        units: Cuts,
        sections: Cuts,
        *,
        content: bytes = b"",
        path: str = "",
        heads: Heads | None = None,
        records: Records = NO_RECORDS,
        header: tuple[int, int] | None = None,
    ) -> None:
        self.kind, self.language, self.length = kind, language, length
        self.units, self.sections = units, sections
        self.records, self.header = records, header
        self._content, self._path, self._heads = content, path, heads
        self._read = content if length <= LARGEST else b""
        self._nested_of: dict[int, Nested] = {}  # of code, by part

    @cached_property
    def structure(self) -> Structure:
        """What the text is made of; nothing where it is not read."""
        from brimful.outline.structures import structure

        return structure(self._read, kind=self.kind, language=self.language, path=self._path)

    @cached_property
    def _markup(self) -> Markup:
        """The titles and passages of prose."""
        from brimful.outline.markup import Markup, format_of, marks_in

        if self.kind != "prose" or (self._heads is None and not self._read):
            return Markup.of((), (), length=self.length)
        if self._heads is None:
            return marks_in(self._read, format_of(self._read, language=self.language, path=self._path))
        columns = (column.tolist() for column in self._heads[:3])
        heads = [(start, end, level, self._content[start:end]) for start, end, level in zip(*columns, strict=True)]
        return Markup.of(heads, (), length=self.length)

    def passages_at(self, position: int) -> tuple[Passage, ...]:
        """The passages of prose near a byte, in order."""
        return self._markup.passages_near(position)

    @cached_property
    def headings(self) -> tuple[Heading, ...]:
        """The headings of prose, in order; none of a very long text."""
        return self._markup.headings() if self._heads is None else ()

    @property
    def messages(self) -> tuple[Message, ...]:
        """The messages of a mail, a mailbox or a chat, in order."""
        return self.structure.messages

    @cached_property
    def has_messages(self) -> bool:
        """Whether there are several messages, without making them."""
        from brimful.outline.markup import has_messages

        return self.kind == "prose" and has_messages(self._read)

    def first_heading(self, start: int, end: int) -> int | None:
        """Where the first heading after `start` begins, if that is before `end`; None where `start` is in one."""
        if self._heads is not None:
            return None
        starts, ends = self._markup.starts, self._markup.ends
        at = bisect_right(starts, start)
        return starts[at] if at < len(starts) and starts[at] < end and not (at and ends[at - 1] > start) else None

    @cached_property
    def _source(self) -> PartedSource:
        from brimful.outline.structures import PartedSource

        return PartedSource(self._read, self.language or "")

    def definitions_at(self, position: int) -> Sequence[Definition]:
        """The definitions of the part of the code around a byte."""
        return self._source.definitions(self._source.part_of(position)) if self.kind == "code" else ()

    @cached_property
    def nested(self) -> Nested:
        """All blocks; those of headings are made when they are asked for."""
        if self.kind != "prose":
            return Nested.of(self.blocks)
        from brimful.outline.prose import heading_block

        markup = self._markup
        ends = markup.section_ends
        return Nested(markup.starts, ends, markup.parents, lambda at: heading_block(markup.title(at), ends[at]))

    def _nested_at(self, position: int) -> Nested:
        """Of code only the part around the byte is read."""
        if self.kind != "code":
            return self.nested
        part = self._source.part_of(position)
        if part not in self._nested_of:
            from brimful.outline.layout import nested_blocks

            self._nested_of[part] = nested_blocks(self._read, self._source.definitions(part))
        return self._nested_of[part]

    @cached_property
    def blocks(self) -> tuple[Block, ...]:
        """The definitions of code and the sections of prose, in order, nested in each other."""
        from brimful.outline.layout import definition_blocks

        if self.kind != "prose":
            return definition_blocks(self._read, self.structure.definitions)
        return tuple(self.nested[at] for at in range(len(self.nested.starts)))

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

    def sections_around(self, start: int, end: int) -> tuple[int, int]:
        """The smallest range from one section cut to another that holds `[start, end)`."""
        return self.section_before(start), self.section_after(end)

    def cuts_at(self, *edges: int) -> tuple[int, int]:
        """How many of some positions are cuts of units, and how many are cuts of sections."""
        units = sum(self.cut_before(edge) == edge for edge in edges)
        return units, sum(self.section_before(edge) == edge for edge in edges)

    def enclosing(self, start: int, end: int) -> tuple[Block, ...]:
        """The blocks that contain `[start, end)`, outermost first."""
        found = []
        nested = self._nested_at(start)
        at = bisect_right(nested.starts, start) - 1
        while at >= 0:
            if nested.ends[at] >= end and nested.ends[at] > start:
                found.append(nested[at])
            at = nested.parents[at]
        return tuple(reversed(found))


class Nested:
    """Blocks in order, and for each the place of the one that it stands in, or -1.

    Most are never asked for: `made` makes one when it is.
    """

    def __init__(self, starts: list[int], ends: list[int], parents: list[int], made: Callable[[int], Block]) -> None:
        self.starts, self.ends, self.parents, self._make = starts, ends, parents, made
        self._made: dict[int, Block] = {}

    @classmethod
    def of(cls, blocks: Sequence[Block]) -> Nested:
        """Those that are there already."""
        ends, parents = [block.end for block in blocks], list[int]()
        for number, end in enumerate(ends):
            around = number - 1
            while around >= 0 and ends[around] < end:
                around = parents[around]
            parents.append(around)
        return cls([block.start for block in blocks], ends, parents, blocks.__getitem__)

    def __getitem__(self, at: int) -> Block:
        block = self._made.get(at)
        if block is None:
            block = self._made[at] = self._make(at)
        return block


def outline(content: bytes, *, kind: Kind, language: str | None = None, path: str = "") -> Outline:
    r"""Find the cut points of any bytes; unknown languages and broken text get simpler outlines.

    >>> read = outline(b"One. Two.\n\nThree.", kind="prose", language="text")
    >>> read.units.tolist(), read.sections.tolist()
    ([0, 5, 11, 17], [0, 11, 17])
    """
    from brimful.outline.records import outline_data
    from brimful.outline.units import Text, divide_texts

    if kind == "data":
        return outline_data(content, language=language)
    texts = [Text(len(content), kind, language, path)]
    units, sections, _ = divide_texts(content + NEWLINES, np.zeros(1, np.int64), texts)
    ends = [len(content)]
    return Outline(
        kind, language, len(content), np.append(units, ends), np.append(sections, ends), content=content, path=path
    )


def _before(cuts: Cuts, position: int) -> int:
    return int(cuts[max(int(cuts.searchsorted(position, side="right")) - 1, 0)])


def _after(cuts: Cuts, position: int) -> int:
    return int(cuts[min(int(cuts.searchsorted(position, side="left")), len(cuts) - 1)])
