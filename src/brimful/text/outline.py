"""Where may a text be cut, and what stands around a piece of it?

The positions that are safe, whatever the text; and the outline: units with their headings and enclosing definitions,
made by the rules of the text's kind when a window is cut.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

from brimful.native import lines as kernels
from brimful.native.columns import unite
from brimful.text.kinds import Kind

if TYPE_CHECKING:
    from brimful.text.markup import Markup, Message
    from brimful.text.passages import Heading, Passage
    from brimful.text.structure import Definition, PartedSource, Structure


# ---- cuts: Which byte positions are safe to cut at, and where is a stretch cut that offers none of its own?

Cuts = NDArray[np.int64]

UNIT_AIM = 400
"""A unit longer than this many bytes is cut at a clause or a word, when there is one."""
UNIT_LIMIT = 800
"""No unit of valid UTF-8 is longer than this many bytes."""
SECTION_AIM = 1_800
"""Small neighbours (records, chat lines, loose statements) are gathered into sections up to this size."""
LARGEST = 2_000_000
"""Of a text with more bytes than this no structure is read, of code only the lines: it is generated."""
SECTION_LIMIT = 3_600
"""A paragraph longer than this many bytes is divided at its units."""

BLANKS = b" \t\r\n\v\f"
FILLED = ~np.isin(np.arange(256), list(BLANKS))
"""By byte: is it something else than white space?"""

_FEW = 200  # up to here a plain loop is faster than NumPy


class Heads(NamedTuple):
    """Headings and first lines of definitions in order: where each starts and ends, and its level from 1 to 6."""

    starts: NDArray[Any]
    ends: NDArray[Any]
    levels: NDArray[Any]


def settle(content: bytes | memoryview, candidates: Cuts | Iterable[int]) -> Cuts:
    r"""Sort the candidates, drop the unsafe ones, and frame them with 0 and the length.

    Unsafe: inside a code point (before a continuation byte) and between CR and LF.

    >>> settle("aé\r\nb".encode(), [1, 2, 4, 5, 99]).tolist()
    [0, 1, 5, 6]
    """
    length = len(content)
    if not length:
        return np.zeros(1, dtype=np.int64)
    if isinstance(candidates, list) and len(candidates) <= _FEW:
        few = sorted({0, length, *(cut for cut in candidates if 0 < cut < length and _is_safe(content, cut))})
        return np.array(few, dtype=np.int64)
    given = candidates if isinstance(candidates, np.ndarray) else np.fromiter(candidates, dtype=np.int64)
    cuts = np.empty(len(given) + 2, dtype=np.int64)
    cuts[0], cuts[1:-1], cuts[-1] = 0, given, length
    np.maximum(cuts, 0, out=cuts)
    np.minimum(cuts, length, out=cuts)
    if (cuts[1:] < cuts[:-1]).any():
        cuts.sort()
    keep = np.empty(len(cuts), dtype=np.bool_)
    keep[0] = True
    np.not_equal(cuts[1:], cuts[:-1], out=keep[1:])
    octets = np.frombuffer(content, dtype=np.uint8)
    inner = cuts[1:-1] % length  # the ends are always safe; what clipping moved there reads byte 0
    here = octets[inner]
    unsafe = ((here & 0xC0) == 0x80) | ((here == 10) & (octets[inner - 1] == 13))
    keep[1:-1] &= ~unsafe | (inner == 0)
    return cuts[keep]


def _is_safe(content: bytes | memoryview, cut: int) -> bool:
    here = content[cut]
    return (here & 0xC0) != 0x80 and not (here == 10 and content[cut - 1] == 13)


def line_starts(content: bytes) -> Cuts:
    r"""The first byte of every line; the end of the text is no line.

    >>> line_starts(b"a\nb\n").tolist()
    [0, 2]
    """
    starts = np.flatnonzero(np.frombuffer(content, dtype=np.uint8) == 10) + 1
    if len(starts) and starts[-1] == len(content):
        starts = starts[:-1]
    return np.concatenate(([0], starts)).astype(np.int64, copy=False)


def break_long(content: bytes, cuts: Cuts, *, over: int = UNIT_AIM, by_line: bool = False) -> Cuts:
    """Add cuts inside every stretch longer than `over`, so that the pieces come near UNIT_AIM bytes.

    `by_line` accepts only line starts, except inside a stretch of more than UNIT_LIMIT bytes that
    has none (a minified file).

    >>> break_long(b"word " * 100, settle(b"word " * 100, [])).tolist()
    [0, 375, 500]
    """
    long = np.flatnonzero(cuts[1:] - cuts[:-1] > over)
    added = inner_cuts(content, cuts[long], cuts[long + 1], by_line=by_line)
    return settle(content, merged(cuts, added)) if len(added) else cuts


def inner_cuts(content: bytes, starts: Cuts, ends: Cuts, *, by_line: bool) -> Cuts:
    """Cuts inside every stretch, so that the pieces come near UNIT_AIM bytes."""
    return kernels.cut_stretches(content, starts, ends, aim=UNIT_AIM, limit=UNIT_LIMIT, by_line=by_line)


def gather(cuts: Cuts, *, aim: int = SECTION_AIM, forced: Cuts | None = None) -> Cuts:
    """Join neighbouring stretches while they stay within `aim`; cuts in `forced`, which ascend, always remain.

    >>> gather(np.array([0, 10, 20, 30, 95]), aim=25).tolist()
    [0, 20, 30, 95]
    """
    return kernels.gather_cuts(cuts, walls=forced if forced is not None else cuts[:0], aim=aim)


def divide(units: Cuts, sections: Cuts, *, limit: int = SECTION_LIMIT, aim: int = SECTION_AIM) -> Cuts:
    """Cut every section longer than `limit` at its units, into groups of about `aim` bytes."""
    divided = kernels.divide_cuts(units, sections, limit=limit)
    return sections if divided is None else gather(divided, aim=aim, forced=sections)


def merged(*columns: Cuts) -> Cuts:
    """Columns as one, sorted, each number once."""
    return unite(columns)


# ---- outline: Where may a text be cut, and what stands around a piece of it?

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
        records: Records = NO_RECORDS,
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

    def definitions_at(self, position: int) -> Sequence[Definition]:  # noqa: ARG002  (some are read in parts)
        """Definitions of code, those around a byte among them, with all that those stand in."""
        return self.structure.definitions

    def passages_at(self, position: int) -> tuple[Passage, ...]:  # noqa: ARG002  (likewise)
        """Passages of prose in order, those among them that a byte stands in, or in what leads to them."""
        return self.structure.passages

    @property
    def headings(self) -> tuple[Heading, ...]:
        """The headings of prose, in order."""
        return self.structure.headings

    @property
    def messages(self) -> tuple[Message, ...]:
        """The messages of a mail, a mailbox or a chat, in order."""
        return self.structure.messages

    @cached_property
    def has_messages(self) -> bool:
        """Whether there are several."""
        return len(self.messages) > 1

    def first_heading(self, start: int, end: int) -> int | None:
        """Where the first heading behind `start` begins, if that is before `end`; None where `start` is in one."""
        starts, ends = self._heading_places
        at = bisect_right(starts, start)
        return starts[at] if at < len(starts) and starts[at] < end and not (at and ends[at - 1] > start) else None

    @cached_property
    def _heading_places(self) -> tuple[list[int], list[int]]:
        """Where headings start and end."""
        return [each.start for each in self.headings], [each.end for each in self.headings]

    @cached_property
    def nested(self) -> Nested:
        """All blocks."""
        return Nested.of(self.blocks)

    def _nested_at(self, position: int) -> Nested:  # noqa: ARG002  (likewise)
        """Blocks, those around a byte among them."""
        return self.nested

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


class KnownOutline(Outline):
    """The cuts that a text was stored with; what it is made of is read when it is first asked for.

    Of one that is very long that would take too long: its headings are the `heads` that were found when it was stored.
    """

    def __init__(
        self,
        content: bytes,
        units: Cuts,
        sections: Cuts,
        *,
        kind: Kind,
        language: str | None,
        path: str,
        heads: Heads | None = None,
    ) -> None:
        super().__init__(kind, language, len(content), units, sections)
        self._content, self._path, self._heads = content, path, heads
        self._nested_of: dict[int, Nested] = {}  # of code, by part

    @cached_property
    def structure(self) -> Structure:
        """What the text is made of."""
        from brimful.text.structure import Structure, structure

        if self.length > LARGEST:
            return Structure(self.kind, self.language, self.length)
        return structure(self._content, kind=self.kind, language=self.language, path=self._path)

    @cached_property
    def _markup(self) -> Markup:
        """The titles and passages of prose."""
        from brimful.text.markup import Markup, format_of, marks_in

        if self.kind != "prose" or (self.length > LARGEST and self._heads is None):
            return Markup.of((), (), length=self.length)
        if self._heads is None:
            return marks_in(self._content, format_of(self._content, language=self.language, path=self._path))
        columns = (column.tolist() for column in self._heads)
        heads = [(start, end, level, self._content[start:end]) for start, end, level in zip(*columns, strict=True)]
        return Markup.of(heads, (), length=self.length)

    def passages_at(self, position: int) -> tuple[Passage, ...]:
        """The passages near a byte."""
        return self._markup.passages_near(position)

    @cached_property
    def headings(self) -> tuple[Heading, ...]:
        """The headings of prose, in order; none of a very long text."""
        return self._markup.headings() if self._heads is None else ()

    @cached_property
    def _heading_places(self) -> tuple[list[int], list[int]]:
        return (self._markup.starts, self._markup.ends) if self._heads is None else ([], [])

    @cached_property
    def nested(self) -> Nested:
        """All blocks; those of headings are made when they are asked for."""
        if self.kind != "prose":
            return Nested.of(self.blocks)
        from brimful.text.prose import heading_block

        found = self._markup
        ends = found.section_ends
        return Nested(found.starts, ends, found.parents, lambda at: heading_block(found.title(at), ends[at]))

    @cached_property
    def has_messages(self) -> bool:
        """Whether there are several, without making them."""
        from brimful.text.markup import has_messages

        return self.kind == "prose" and self.length <= LARGEST and has_messages(self._content)

    @cached_property
    def _source(self) -> PartedSource:
        from brimful.text.structure import PartedSource

        return PartedSource(self._content, self.language if self.length <= LARGEST else None)

    def definitions_at(self, position: int) -> Sequence[Definition]:
        """Those of the part of the code around the byte."""
        return self._source.definitions(self._source.part_of(position)) if self.kind == "code" else ()

    def _nested_at(self, position: int) -> Nested:
        """Of code only the part around the byte is read."""
        if self.kind != "code":
            return self.nested
        part = self._source.part_of(position)
        if part not in self._nested_of:
            from brimful.text.layout import nested_blocks

            self._nested_of[part] = nested_blocks(self._content, self._source.definitions(part))
        return self._nested_of[part]

    @cached_property
    def blocks(self) -> tuple[Block, ...]:
        """Its definitions, or its sections."""
        from brimful.text.layout import definition_blocks

        if self.kind != "prose":
            return definition_blocks(self._content, self.structure.definitions)
        return tuple(self.nested[at] for at in range(len(self.nested.starts)))


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
