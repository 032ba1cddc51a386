"""Which places stand above the waterline, and which whole things do their windows show?

The windows of sizing `field`: hits in the order of their score, until the budget is full.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import inf, nextafter
from operator import attrgetter, itemgetter

from brimful.documents.documents import Document, Hit
from brimful.outline.layout import Block
from brimful.outline.outlines import Outline
from brimful.outline.passages import Passage
from brimful.outline.prose import natural_span
from brimful.outline.structures import Definition
from brimful.text.spans import Span, whole_characters
from brimful.windows.cutting import Cut, joinable
from brimful.windows.drafts import Joinable

# ---- whole: Which whole things does a window show? A definition, a paragraph, a list with its lead-in, where little is
# missing.
#
# What a search finds are units: a sentence, an item, some lines of code. A reader wants the function that they stand
# in, the paragraph, the list with what introduces it; where that costs little more, it is shown.

LEAST_ROOM_BYTES = 200
"""So much may be added to any window, however short: the rest of a sentence's paragraph, the head of a function."""
MOST_ROOM_BYTES = 1_200
"""And no more than so much to a long one."""

_CODE_TIMES = 5
"""Of code so many times as much: a function says little in part."""
_STEP_TIMES = 3
"""And of numbered steps: whoever follows them needs those before and after."""
_HEAD_SHARE = 50
"""Percent of what is shown of a function that its head may add: signature and doc comment."""
EDGE_BYTES = 300
"""So far is looked for a natural edge where a long sentence or record was cut inside."""

_LINE_BACK = 400  # bytes before an end that say what is announced
_SAID = re.compile(rb"\S")
_BLANK_LINE = re.compile(rb"\n(?:[ \t]*\r?\n)+")
_DIRECTIVE = re.compile(rb"(?:\A|\n)[ \t]*\.\. [\w:+-]+::[^\n]*\Z")
_ANCHOR = re.compile(rb"(?:\A|\n)[ \t]*<a (?:id|name)=[^<>]{1,200}>[ \t]*</a>\Z")
_START = attrgetter("start")
_NUMBERED = re.compile(rb"\s*\d{1,3}[.)]\s")


def made_whole(document: Document, start: int, end: int, share: int) -> tuple[int, int]:
    """The range, with what is missing of the things that it begins and ends in if that is at most so many percent of
    it.

    What is missing at the beginning comes first: without it the rest is harder to understand. A long sentence or record
    that is cut inside is shown from a natural edge to the next where they are near.
    """
    if start == end:
        return start, end
    if document.kind == "data":
        return _between_natural_edges(document, start, end)
    near = [_around(document.outline, edge) for edge in (start, end)] if document.kind == "prose" else []
    share *= _CODE_TIMES if document.kind == "code" else _STEP_TIMES if _has_steps(document, near) else 1
    room = min(max((end - start) * share // 100, LEAST_ROOM_BYTES), MOST_ROOM_BYTES)
    starts, ends = _edges(document, start, end, room, near)
    first = min([edge for edge in starts if start - room <= edge < start], default=start)
    room -= start - first
    last = max([edge for edge in ends if end < edge <= end + room], default=end)
    if document.kind == "code":
        return first, last
    first, last = _no_scrap(document.outline, first, last)
    if (first, last) != (start, end) and document.outline.has_messages:
        first, last = start, end  # a message is a unit already, and what others said is another thing
    return _between_natural_edges(document, first, last)


def _no_scrap(outline: Outline, start: int, end: int) -> tuple[int, int]:
    """A short piece of a paragraph, with the sentence behind it or, at the paragraph's end, before it."""
    if end - start >= SCRAP_BYTES:
        return start, end
    low, high = outline.sections_around(start, end)
    while end - start < SCRAP_BYTES:
        after = outline.cut_after(end + 1)
        before = outline.cut_before(start - 1)
        if after <= high and after > end:
            end = after
        elif low <= before < start:
            start = before
        else:
            break
    return start, end


def _has_steps(document: Document, near: Sequence[Sequence[Passage]]) -> bool:
    """Whether one of the passages that a span of prose begins or ends in is a numbered list."""
    return any(
        each.kind == "list" and _NUMBERED.match(document.content, each.start) for passages in near for each in passages
    )


def _between_natural_edges(document: Document, start: int, end: int) -> tuple[int, int]:
    """From where a sentence, a line or an element begins to where one ends, if those are near."""
    found = natural_span(document.content, start, end, reach=EDGE_BYTES, is_prose=document.kind == "prose")
    return found.start, found.end


# ---- heads: How does a function begin of which only lines from its middle are shown?


def heads_of(document: Document, spans: Sequence[Span]) -> list[tuple[Span, int]]:
    """The heads of the functions that spans of code begin in, where they show neither, and the span that each is for.

    A head is the signature with its decorators and as much of the doc comment as its share has room for: all of it or
    its first paragraph. One of a single line is not shown apart: the trail says it.
    """
    found: dict[Span, int] = {}
    shown = 0
    for number, span in enumerate(spans):
        begins = _SAID.search(document.content, span.start, span.end)
        definition = begins and _function_at(document.outline.definitions_at(begins.start()), begins.start())
        if definition and shown <= definition.signature_start and definition.signature_end < span.start:
            inside = sum(min(each.end, definition.end) - each.start for each in spans if _is_in(each, definition))
            head = _head(document.content, definition, min(inside * _HEAD_SHARE // 100, MOST_ROOM_BYTES), span.start)
            if head is not None:
                found.setdefault(head, number)
        shown = max(shown, span.end)
    return list(found.items())


def _function_at(definitions: Sequence[Definition], position: int) -> Definition | None:
    """The innermost function or method around a byte."""
    at = bisect_right(definitions, position, key=lambda each: each.start) - 1
    while at >= 0:
        if definitions[at].end > position and definitions[at].kind in ("function", "method"):
            return definitions[at]
        at = definitions[at].parent  # what ends before has around it whatever reaches further
    return None


def _is_in(span: Span, definition: Definition) -> bool:
    return definition.start <= span.start < definition.end


def _head(content: bytes, definition: Definition, room: int, before: int) -> Span | None:
    """The signature and the doc comment, in whole lines; less of the comment, or nothing, where there is no room."""
    start = content.rfind(b"\n", 0, definition.signature_start) + 1
    ends = [definition.signature_end]
    if definition.doc is not None and definition.doc[0] >= definition.signature_end:
        blank = content.find(b"\n\n", *definition.doc)
        ends += [blank, definition.doc[1]] if blank >= 0 else [definition.doc[1]]
    elif definition.doc is not None and definition.signature_end - definition.start <= room:
        start = content.rfind(b"\n", 0, definition.start) + 1
    lines = [content.find(b"\n", end, before) + 1 for end in ends]
    fitting = [end for end in lines if 0 < end <= before and end - start <= room]
    head = Span(start, max(fitting, default=start))
    return head if len(content[head.start : head.end].split(b"\n")) > 2 else None  # one line is the trail's


def _edges(
    document: Document, start: int, end: int, room: int, near: Sequence[Sequence[Passage]]
) -> tuple[list[int], list[int]]:
    """Where the things begin that a range begins in, and where those end that it ends in.

    `near` are the passages around the start of a range of prose, and those around its end.
    """
    outline = document.outline
    if document.kind == "code":
        starts = [block.start for block in outline.enclosing(start, start + 1)]
        ends = [_line_end(document, block.end) for block in outline.enclosing(end - 1, end)]
        above, below = _between_blank_lines(document.content, start, end, room)
        return [*starts, *above], [*ends, *below]
    low, high = outline.sections_around(start, end)
    starts = [low] if low >= start - room and _is_line_edge(document, low) else []
    ends = [high] if high <= end + room and _is_line_edge(document, high) else []
    for passage in near[0]:
        starts += [passage.start, *(passage.lead[:1] if passage.lead else ())]
    for passage in near[1]:
        ends.append(_line_end(document, passage.end))
    return starts, ends


def _between_blank_lines(content: bytes, start: int, end: int, room: int) -> tuple[list[int], list[int]]:
    """Where the lines without a blank one between them begin and end that a range of code begins and ends in."""
    above = content.rfind(b"\n\n", max(start - room - 2, 0), start) + 2
    below = content.find(b"\n\n", max(end - 2, 0), end + room + 1) + 1
    return [above] if above > 1 else [], [below] if below > 0 else []


def _is_line_edge(document: Document, edge: int) -> bool:
    """A section of a long paragraph may end in its middle, which is no edge."""
    return edge in (0, len(document.content)) or document.content[edge - 1 : edge] == b"\n"


def _around(outline: Outline, position: int) -> list[Passage]:
    """The passages that hold a position, or that a lead-in before it introduces."""
    passages = outline.passages_at(position)
    at = bisect_left(passages, position + 1, key=_START)
    near = passages[max(at - 2, 0) : at + 1]
    return [each for each in near if (each.lead[0] if each.lead else each.start) <= position < each.end]


def _line_end(document: Document, position: int) -> int:
    newline = document.content.find(b"\n", position, position + MOST_ROOM_BYTES)
    return newline + 1 if newline >= 0 else position


# ---- water: Which ground rises above the water? Hits in the order of their score, until the budget is full (sizing
# `field`).
#
# Where hits touch they become one window, so the windows are as long as the ground is high: a rare word gets its
# chapter, a common one many short windows.

HEADER_TOKENS = 6
"""About what a document's header costs beside its path."""
GAP_TOKENS = 4
"""About what the edges of one more window cost."""
BRIDGED_BYTES = 120
"""Shorter gaps are shown: they cost little more than their markers, and an example is not shown with a hole in it."""
LARGE_TOKENS = 12_000
"""From here on a budget shows blocks: windows below the size of a scrap join what is near (105 §5)."""
SCRAP_BYTES = 150
"""A shorter window is a scrap; a shorter piece of a paragraph is shown with what stands beside it."""
_SCRAP_BRIDGE_BYTES = 400
"""So far from its neighbour a scrap is joined with it."""
RUNNERS_UP = 16
"""Hits just below the line that are offered too: one of them may fit where the next one in order does not."""

_MOST_ABOVE_BYTES = 400
"""So much of the section before a heading, or of the function before another, is left away where it has no word of the
question that what stands below lacks."""

_MOST_WIDENED = 8  # units on each side of a scrap

Cost = Callable[[str], int]
Run = tuple[int, int, list[Hit], float]
"""Start and end of a window that is being made, its hits, and what it is worth."""
_Run = tuple[int, int, list[Hit]]

_PLACE, _FIRST = itemgetter(0, 1), itemgetter(0)


@dataclass(frozen=True, slots=True)
class Line:
    """How far the water was let down."""

    above: tuple[Hit, ...]
    below: tuple[Hit, ...]  # the next ones


def water_line(hits: Sequence[Hit], texts: Iterable[str], *, tokens: int, cost: Cost) -> Line:
    """Hits from the best down until they, with their texts, cost about so many tokens, headers and edges included."""
    spent, names, edges = 0, set[str](), set[tuple[str, int]]()
    for number, (hit, text) in enumerate(zip(hits, texts, strict=False)):  # the rest of the texts is not asked for
        price = cost(text)
        if hit.path not in names:
            price += cost(hit.path) + HEADER_TOKENS
        price += GAP_TOKENS * (1 - ((hit.path, hit.start) in edges) - ((hit.path, hit.end) in edges))
        if spent + price > tokens and number:
            return Line(tuple(hits[:number]), tuple(hits[number : number + RUNNERS_UP]))
        spent += price
        names.add(hit.path)
        edges |= {(hit.path, hit.start), (hit.path, hit.end)}
    return Line(tuple(hits), ())


def field_cuts(line: Line, known: Mapping[str, Document], *, whole_share: int = 0) -> list[Cut]:
    """The windows above the line, where hits touch in one, and each hit just below it by itself; none of blanks.

    Windows are made whole where so many percent of them are missing at most.
    """
    groups: dict[str, tuple[list[Hit], list[Hit]]] = {}
    for hits, side in ((line.above, 0), (line.below, 1)):
        for hit in hits:
            groups.setdefault(hit.path, ([], []))[side].append(hit)
    cuts = []
    for path, (above, below) in sorted(groups.items()):
        runs = Spans(known[path], whole_share=whole_share).runs(above, below)
        cuts += [cut_of(known[path], run) for run in runs]
    return cuts


def cut_of(document: Document, run: Run) -> Cut:
    """A run as a cut; one without hits, as heads are, is all for what is below it."""
    start, end, hits, score = run
    span = Span(start, end)
    return Cut(document, span, span if hits else Span(start, start), tuple(hits), score)


class Spans:
    """What is shown of a document: around a hit, around a run of them, around some hits above the line and below it.

    Packing moves the line between hits often, so what the bytes alone decide is worked out once. Hits that a search
    brings are units (`of_units`), which begin where a text may be cut: of these the first lines are left away where
    they say nothing. What others bring as a hit is shown whole. With `heads` the functions that windows of code begin
    in show how they begin, in windows without hits that matter a little less than what they are for.
    """

    def __init__(
        self, document: Document, *, whole_share: int = 0, heads: bool = False, of_units: bool = False
    ) -> None:
        self.document, self._may_join = document, joinable(document)
        self._share, self._of_units = whole_share, of_units
        self._has_heads = heads and whole_share > 0 and document.kind == "code"
        self._announces = whole_share > 0 and document.kind == "prose"
        self._places: dict[tuple[int, int], tuple[int, int]] = {}
        self._below: dict[int, int] = {}
        self._wholes: dict[tuple[int, int], tuple[int, int]] = {}
        self._ends: dict[tuple[int, int], int] = {}
        self._beginnings: dict[tuple[int, int], tuple[int, int | None, int]] = {}

    def runs(self, above: Sequence[Hit], below: Sequence[Hit], *, least_bytes: int = 0) -> list[Run]:
        """The windows of hits above the line, where they touch in one, and each below it by itself; none of blanks.

        Those shorter than `least_bytes` are joined with what is near, or widened to it.
        """
        document, content = self.document, self.document.content
        runs = self._joined(sorted([(*self.of(hit), [hit]) for hit in above], key=_PLACE))
        if self._share:
            runs = self._joined([(*self._whole(start, end), hits) for start, end, hits in runs])
        if least_bytes:
            runs = self._joined(_blocks(document, runs, self._may_join, least_bytes))
        if self._announces:
            runs = self._joined([(start, self._end(start, end), hits) for start, end, hits in runs])
        shown: list[Run] = []
        if self._has_heads:
            runs, shown = _with_heads(document, runs)
            runs = self._joined(runs)
        taken = []
        for start, end, hits in runs:
            run = self._well_begun(start, end, hits) if self._of_units else (start, end, hits)
            taken.append(run)
            shown.append((*run, max([hit.score for hit in run[2]])))
        for hit in below:
            start, end = self.of(hit)
            start = with_words(content, start, end) if self._of_units else start
            if not any(start < run[1] and run[0] < end for run in taken):
                taken.append((start, end, [hit]))
                shown.append((start, end, [hit], hit.score))
        shown = [run for run in shown if run[0] == run[1] or _SAID.search(content, run[0], run[1])]
        header = document.outline.header if document.kind == "data" else None
        if header is not None:  # it stands above every other window of the table anyway
            shown = [run for run in shown if run[0] < header[0] or header[1] + 1 < run[1]] or shown
        return sorted(shown, key=_FIRST)

    def of(self, hit: Hit) -> tuple[int, int]:
        """From where to where a hit is shown by itself: a position is its unit, a heading all that it stands above."""
        key = hit.start, hit.end
        found = self._places.get(key)
        if found is None:
            document = self.document
            start, end = key if self._of_units else whole_characters(document.content, *key)
            if start == end and document.content:
                at = document.outline.unit_at(start)
                start, end = (int(cut) for cut in document.outline.units[at : at + 2])
            found = self._places[key] = start, self._end_below(start, end)
        return found

    def _end_below(self, start: int, end: int) -> int:
        """Where what a range shows or announces ends.

        Where the headings that follow an end lead to is remembered: a thousand headings in a row are walked once, not
        by each of them.
        """
        below = self._below
        at = below_heading(self.document, start, end)
        if at == end:
            return end
        passed = []  # from here on the way does not depend on where the range begins
        while at not in below:
            passed.append(at)
            after = below_heading(self.document, start, at)
            if after == at:
                below[at] = at
            at = after
        below.update(dict.fromkeys(passed, below[at]))
        return below[at]

    def _whole(self, start: int, end: int) -> tuple[int, int]:
        known, key = self._wholes, (start, end)
        if key not in known:
            known[key] = made_whole(self.document, start, end, self._share)
        return known[key]

    def _end(self, start: int, end: int) -> int:
        known, key = self._ends, (start, end)
        if key not in known:
            known[key] = _end_of_announced(self.document, start, end)
        return known[key]

    def _joined(self, runs: list[_Run]) -> list[_Run]:
        """Runs in order, those that touch or have little between them as one."""
        if len(runs) < 2:
            return runs
        joined: list[_Run] = []
        for start, end, hits in runs:
            first, last, before = joined[-1] if joined else (0, -1, [])
            if joined and (start <= last or (start - last <= BRIDGED_BYTES and self._may_join(last, start))):
                before += hits
                joined[-1] = (min(first, start), max(last, end), before)
            else:
                joined.append((start, end, [*hits]))
        return joined

    def _well_begun(self, start: int, end: int, hits: list[Hit]) -> _Run:
        """A run from its first line with words on; without a scrap of the section or function before what is worth
        more.

        A sentence or two from the end of another section, without its heading, help nobody to read what follows; nor do
        the last lines of another function.
        """
        known, key = self._beginnings, (start, end)
        if key not in known:
            known[key] = _beginning(self.document, start, end)
        start, edge, size = known[key]
        if edge is None:
            return start, end, hits
        above, below = ([hit for hit in hits if (hit.end > edge) is side] for side in (False, True))
        new = {term for hit in above for term in hit.terms} - {term for hit in below for term in hit.terms}
        best_above, best_below = (max([hit.score for hit in side], default=-inf) for side in (above, below))
        is_worth_less = best_above < best_below and (size < SCRAP_BYTES or not new)
        return (edge, end, below) if is_worth_less else (start, end, hits)


def _with_heads(document: Document, runs: list[_Run]) -> tuple[list[_Run], list[Run]]:
    """The runs, those that are near to the head of their function with it, and the other heads."""
    near, apart = list(runs), list[Run]()
    for head, number in heads_of(document, [Span(start, end) for start, end, _ in runs]):
        start, end, hits = runs[number]
        if start - head.end <= BRIDGED_BYTES:
            near[number] = (head.start, end, hits)
        else:
            apart.append((head.start, head.end, [], nextafter(max(hit.score for hit in hits), -inf)))
    return near, apart


def _blocks(document: Document, runs: list[_Run], may_join: Joinable, least: int) -> list[_Run]:
    """Spans in order; scraps as one with a near neighbour, or else with so much around them that they are none."""
    joined: list[_Run] = []
    for start, end, hits in runs:
        first, last, before = joined[-1] if joined else (0, -1, [])
        is_near = joined and start - last <= _SCRAP_BRIDGE_BYTES and may_join(last, start)
        if is_near and min(last - first, end - start) < least:
            joined[-1] = (first, max(last, end), before + hits)
        else:
            joined.append((start, end, hits))
    return [_widened(document, run, may_join, least) for run in joined]


def _widened(document: Document, run: _Run, may_join: Joinable, least: int) -> _Run:
    """A scrap with all of its section, where that is no longer than a block, or else with the units around it."""
    start, end, hits = run
    if not 0 < end - start < least:
        return run
    outline, length = document.outline, len(document.content)
    low, high = outline.sections_around(start, end)
    if high - low <= _SCRAP_BRIDGE_BYTES and may_join(low, high):
        return low, high, hits
    for _ in range(_MOST_WIDENED):
        after, before = outline.cut_after(min(end + 1, length)), outline.cut_before(max(start - 1, 0))
        if end < after <= start + 2 * _SCRAP_BRIDGE_BYTES and may_join(end, after - 1):
            end = after
        if end - start >= least:
            break
        if end - 2 * _SCRAP_BRIDGE_BYTES <= before < start and may_join(before, start):
            start = before
        if end - start >= least:
            break
    return start, end, hits


def _end_of_announced(document: Document, start: int, end: int) -> int:
    """Where what the last line of these bytes announces ends, where that is a unit or two; else their own end."""
    behind = below_heading(document, start, end)
    return end if behind == end else below_heading(document, start, behind)


def below_heading(document: Document, start: int, end: int) -> int:
    """The end of the unit below, where these bytes end with a heading or announce what follows; else their own."""
    if document.kind != "prose":
        return end
    said = document.content[max(end - _LINE_BACK, 0) : end].rstrip()
    if not _announces(said, document.language) and not _ends_with_heading(document, start, end):
        return end
    units = document.outline.units
    return int(units[min(int(units.searchsorted(end, side="right")), len(units) - 1)])


def _announces(said: bytes, language: str | None) -> bool:
    """Whether a line that ends so leads to what is below it: "for example:", a directive of reStructuredText, the
    anchor of a heading.
    """
    if said.endswith((b":", b"\xef\xbc\x9a")) or (said.endswith(b">") and _ANCHOR.search(said) is not None):
        return True
    return language == "rst" and _DIRECTIVE.search(said) is not None


def _ends_with_heading(document: Document, start: int, end: int) -> bool:
    nested = document.outline.nested
    at = bisect_left(nested.starts, end) - 1
    if at < 0 or nested[at].signature_start < start:
        return False
    return nested[at].signature_end >= end or document.content[nested[at].signature_end : end].isspace()


def _beginning(document: Document, start: int, end: int) -> tuple[int, int | None, int]:
    """Where the first line with words of a range begins; where the next section or function in it does, if it says
    anything, and how many bytes stand before that.
    """
    content = document.content
    start = with_words(content, start, end)
    edge = _next_beginning(document, start, min(end, start + _MOST_ABOVE_BYTES)) if start else None
    if edge is None or _SAID.search(content, edge, end) is None:  # blank lines, behind which the next one begins
        return start, None, 0
    edge = with_words(content, edge, end)
    return start, edge, len(content[start:edge].strip())


def without_tail(document: Document, start: int, end: int) -> int:
    """Where code begins in a range that begins with the end of a function: with the next one, if there is one."""
    begins = _next_beginning(document, start, end + 1) if document.kind == "code" and start < end else None
    return start if begins is None else begins


def _next_beginning(document: Document, start: int, end: int) -> int | None:
    """Where the first heading begins, or behind the end of a function, below a blank line, the next one or a class."""
    if document.kind == "prose":
        return document.outline.first_heading(start, end)
    inside = _defined_at(document, start)[-1:] if document.kind == "code" else []
    if not inside or inside[0].kind != "function" or inside[0].start >= start:
        return None
    for blank in _BLANK_LINE.finditer(document.content, start, end - 1):
        if any(block.start >= blank.end() for block in _defined_at(document, blank.end())):
            return blank.end()
    return None


def _defined_at(document: Document, start: int) -> list[Block]:
    """The functions and classes around the first word from here on."""
    said = _SAID.search(document.content, start)
    found = document.outline.enclosing(said.start(), said.start() + 1) if said else ()
    return [block for block in found if block.kind in ("function", "class")]


def with_words(content: bytes, start: int, end: int) -> int:
    """Where the first line with words begins in a range.

    >>> with_words(b"```\\n\\n  Then stop.\\n", 4, 17), with_words(b"Tea\\n", 1, 4)
    (5, 1)
    """
    said = _SAID.search(content, start, end)
    return max(start, content.rfind(b"\n", start, said.start()) + 1) if said else start
