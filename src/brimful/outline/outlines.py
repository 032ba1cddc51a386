"""What stands around a place of a text, and where may it be cut?"""

from __future__ import annotations

from bisect import bisect_right
from functools import cached_property

import numpy as np

from brimful.native.lines import NEWLINES
from brimful.outline.cuts import LARGEST, UNIT_LIMIT, Cuts, Heads, break_long, gather, settle
from brimful.outline.kinds import Kind
from brimful.outline.languages import is_form
from brimful.outline.layout import Block, Nested, heading_block, nested_blocks
from brimful.outline.markup import Markup, format_of, has_messages, marks_in
from brimful.outline.passages import Heading, Passage
from brimful.outline.records import NO_RECORDS, Records, records_in
from brimful.outline.structures import Definitions, Structure, read_definitions, structure
from brimful.outline.units import Text, divide_texts


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

    @cached_property
    def structure(self) -> Structure:
        """What the text is made of; nothing where it is not read."""
        return structure(self._read, kind=self.kind, language=self.language, path=self._path)

    @cached_property
    def _markup(self) -> Markup:
        """The titles and passages of prose."""
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

    @cached_property
    def has_messages(self) -> bool:
        """Whether there are several messages, of a mailbox or a chat."""
        return self.kind == "prose" and has_messages(self._read)

    def first_heading(self, start: int, end: int) -> int | None:
        """Where the first heading after `start` begins, if that is before `end`; None where `start` is in one."""
        if self._heads is not None:
            return None
        starts, ends = self._markup.starts, self._markup.ends
        at = bisect_right(starts, start)
        return starts[at] if at < len(starts) and starts[at] < end and not (at and ends[at - 1] > start) else None

    @cached_property
    def definitions(self) -> Definitions:
        """The definitions of code and of files of settings, in order; none of a single line."""
        has_definitions = self.kind == "code" or (self.kind == "data" and is_form(self.language))
        return read_definitions(self._read if has_definitions else b"", self.language, several_lines=True)

    @cached_property
    def nested(self) -> Nested:
        """The definitions of code and the sections of prose, in order; each is made when it is asked for."""
        if self.kind != "prose":
            return nested_blocks(self._read, self.definitions)
        markup = self._markup
        ends = markup.section_ends
        return Nested(markup.starts, [*ends], markup.parents, lambda at: heading_block(markup.titles[at], ends[at]))

    @property
    def blocks(self) -> tuple[Block, ...]:
        """All of what is nested, in order."""
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
        nested = self.nested
        at = bisect_right(nested.starts, start) - 1
        while at >= 0:
            if nested.ends[at] >= end and nested.ends[at] > start:
                found.append(nested[at])
            at = nested.parents[at]
        return tuple(reversed(found))


def outline(content: bytes, *, kind: Kind, language: str | None = None, path: str = "") -> Outline:
    r"""Find the cut points of any bytes; unknown languages and broken text get simpler outlines.

    >>> read = outline(b"One. Two.\n\nThree.", kind="prose", language="text")
    >>> read.units.tolist(), read.sections.tolist()
    ([0, 5, 11, 17], [0, 11, 17])
    """
    if kind == "data":
        return _outline_data(content, language=language)
    texts = [Text(len(content), kind, language, path)]
    units, sections, _ = divide_texts(content + NEWLINES, np.zeros(1, np.int64), texts)
    ends = [len(content)]
    return Outline(
        kind, language, len(content), np.append(units, ends), np.append(sections, ends), content=content, path=path
    )


def _outline_data(content: bytes, *, language: str | None) -> Outline:
    """Records as units (cut further where one is long), groups of records as sections.

    Without a language the format is guessed from the beginning; unknown formats go by lines.
    """
    records, header = records_in(content, language=language)
    cuts = settle(content, np.stack((records.starts, records.ends), axis=1).ravel())
    units = break_long(content, cuts, over=UNIT_LIMIT)
    return Outline("data", language, len(content), units, gather(cuts), content=content, records=records, header=header)


def _before(cuts: Cuts, position: int) -> int:
    return int(cuts[max(int(cuts.searchsorted(position, side="right")) - 1, 0)])


def _after(cuts: Cuts, position: int) -> int:
    return int(cuts[min(int(cuts.searchsorted(position, side="left")), len(cuts) - 1)])
