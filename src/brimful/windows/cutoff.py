"""The relevance cutoff: the best hits that fit a budget, and the complete passages that their windows show.

These are the windows of sizing `field`: hits in the order of their score, until the budget is full.
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

# ---- passages: a window shows all of a definition, a paragraph or a list with its lead-in where little is missing.
#
# A search finds units: a sentence, an item, some lines of code. A reader wants the function or paragraph around them,
# or the list with its introduction; where that costs little more, it is shown.

LEAST_ROOM_BYTES = 200
"""Bytes that may be added to any window, however short: the rest of a paragraph, the head of a function."""
MOST_ROOM_BYTES = 1_200
"""Bytes that may be added to a long window at most."""

_CODE_TIMES = 5
"""How many times more may be added to code: a function says little in part."""
_STEP_TIMES = 3
"""How many times more may be added to numbered steps, which are followed in order."""
_HEAD_SHARE = 50
"""Percent of what is shown of a function that its head may add: signature and doc comment."""
EDGE_BYTES = 300
"""How far to look for a natural edge where a long sentence or record was cut inside."""

_LINE_BACK = 400  # bytes before an end that say what is announced
_SAID = re.compile(rb"\S")
_BLANK_LINE = re.compile(rb"\n(?:[ \t]*\r?\n)+")
_DIRECTIVE = re.compile(rb"(?:\A|\n)[ \t]*\.\. [\w:+-]+::[^\n]*\Z")
_ANCHOR = re.compile(rb"(?:\A|\n)[ \t]*<a (?:id|name)=[^<>]{1,200}>[ \t]*</a>\Z")
_START = attrgetter("start")
_NUMBERED = re.compile(rb"\s*\d{1,3}[.)]\s")


def expand_to_whole(document: Document, start: int, end: int, share: int) -> tuple[int, int]:
    """Expand a range to the passages that it begins and ends in, if that adds at most `share` percent.

    The beginning is completed first: without it the rest is harder to understand. A long sentence or record that is cut
    inside is shown between the nearest natural edges.
    """
    if start == end:
        return start, end
    if document.kind == "data":
        return _between_natural_edges(document, start, end)
    passages = [_around(document.outline, edge) for edge in (start, end)] if document.kind == "prose" else []
    share *= _CODE_TIMES if document.kind == "code" else _STEP_TIMES if _has_steps(document, passages) else 1
    room = min(max((end - start) * share // 100, LEAST_ROOM_BYTES), MOST_ROOM_BYTES)
    starts, ends = _edges(document, start, end, room, passages)
    first = min([edge for edge in starts if start - room <= edge < start], default=start)
    room -= start - first
    last = max([edge for edge in ends if end < edge <= end + room], default=end)
    if document.kind == "code":
        return first, last
    first, last = _no_scrap(document.outline, first, last)
    if (first, last) != (start, end) and document.outline.has_messages:
        first, last = start, end  # a message is a unit already, and its neighbours are other messages
    return _between_natural_edges(document, first, last)


def _no_scrap(outline: Outline, start: int, end: int) -> tuple[int, int]:
    """A short piece of a paragraph, with the sentence after it or, at the paragraph's end, before it."""
    if end - start >= SCRAP_BYTES:
        return start, end
    low, high = outline.sections_around(start, end)
    while end - start < SCRAP_BYTES:
        next_cut = outline.cut_after(end + 1)
        previous_cut = outline.cut_before(start - 1)
        if next_cut <= high and next_cut > end:
            end = next_cut
        elif low <= previous_cut < start:
            start = previous_cut
        else:
            break
    return start, end


def _has_steps(document: Document, passages_at_edges: Sequence[Sequence[Passage]]) -> bool:
    """Whether one of the passages that a span of prose begins or ends in is a numbered list."""
    return any(
        passage.kind == "list" and _NUMBERED.match(document.content, passage.start)
        for passages in passages_at_edges
        for passage in passages
    )


def _between_natural_edges(document: Document, start: int, end: int) -> tuple[int, int]:
    """Move both edges to the beginning and end of a sentence, line or element that is near."""
    span = natural_span(document.content, start, end, reach=EDGE_BYTES, is_prose=document.kind == "prose")
    return span.start, span.end


# ---- heads: signatures of functions of which only lines from the middle are shown.


def heads_of(document: Document, spans: Sequence[Span]) -> list[tuple[Span, int]]:
    """The heads of functions that spans of code begin inside, each with the number of its span.

    A head is the signature with its decorators and as much of the doc comment as its share has room for: all of it or
    its first paragraph. One of a single line is not shown apart: the trail says it.
    """
    heads: dict[Span, int] = {}
    shown_end = 0
    for number, span in enumerate(spans):
        begins = _SAID.search(document.content, span.start, span.end)
        definition = begins and _function_at(document.outline.definitions, begins.start())
        if definition and shown_end <= definition.signature_start and definition.signature_end < span.start:
            inside = sum(min(other.end, definition.end) - other.start for other in spans if _is_in(other, definition))
            head = _head(document.content, definition, min(inside * _HEAD_SHARE // 100, MOST_ROOM_BYTES), span.start)
            if head is not None:
                heads.setdefault(head, number)
        shown_end = max(shown_end, span.end)
    return list(heads.items())


def _function_at(definitions: Sequence[Definition], position: int) -> Definition | None:
    """The innermost function or method around a byte."""
    index = bisect_right(definitions, position, key=lambda definition: definition.start) - 1
    while index >= 0:
        if definitions[index].end > position and definitions[index].kind in ("function", "method"):
            return definitions[index]
        index = definitions[index].parent  # what ends before has around it whatever reaches further
    return None


def _is_in(span: Span, definition: Definition) -> bool:
    return definition.start <= span.start < definition.end


def _head(content: bytes, definition: Definition, room: int, limit: int) -> Span | None:
    """The signature and the doc comment, in whole lines; less of the comment, or nothing, where there is no room."""
    start = content.rfind(b"\n", 0, definition.signature_start) + 1
    ends = [definition.signature_end]
    if definition.doc is not None and definition.doc[0] >= definition.signature_end:
        blank = content.find(b"\n\n", *definition.doc)
        ends += [blank, definition.doc[1]] if blank >= 0 else [definition.doc[1]]
    elif definition.doc is not None and definition.signature_end - definition.start <= room:
        start = content.rfind(b"\n", 0, definition.start) + 1
    lines = [content.find(b"\n", end, limit) + 1 for end in ends]
    fitting = [end for end in lines if 0 < end <= limit and end - start <= room]
    head = Span(start, max(fitting, default=start))
    return head if len(content[head.start : head.end].split(b"\n")) > 2 else None  # one line is the trail's


def _edges(
    document: Document, start: int, end: int, room: int, passages_at_edges: Sequence[Sequence[Passage]]
) -> tuple[list[int], list[int]]:
    """The beginnings of passages around a range's start, and the ends of passages around its end.

    `passages_at_edges` holds the passages around the start of a range of prose, and around its end.
    """
    outline = document.outline
    if document.kind == "code":
        starts = [block.start for block in outline.enclosing(start, start + 1)]
        ends = [_line_end(document, block.end) for block in outline.enclosing(end - 1, end)]
        line_starts, line_ends = _between_blank_lines(document.content, start, end, room)
        return [*starts, *line_starts], [*ends, *line_ends]
    low, high = outline.sections_around(start, end)
    starts = [low] if low >= start - room and _is_line_edge(document, low) else []
    ends = [high] if high <= end + room and _is_line_edge(document, high) else []
    for passage in passages_at_edges[0]:
        starts += [passage.start, *(passage.lead[:1] if passage.lead else ())]
    for passage in passages_at_edges[1]:
        ends.append(_line_end(document, passage.end))
    return starts, ends


def _between_blank_lines(content: bytes, start: int, end: int, room: int) -> tuple[list[int], list[int]]:
    """The start and end of the lines around a range of code, up to the nearest blank lines."""
    first_line = content.rfind(b"\n\n", max(start - room - 2, 0), start) + 2
    line_end = content.find(b"\n\n", max(end - 2, 0), end + room + 1) + 1
    return [first_line] if first_line > 1 else [], [line_end] if line_end > 0 else []


def _is_line_edge(document: Document, edge: int) -> bool:
    """A section of a long paragraph may end in its middle, which is no edge."""
    return edge in (0, len(document.content)) or document.content[edge - 1 : edge] == b"\n"


def _around(outline: Outline, position: int) -> list[Passage]:
    """The passages that hold a position, or that a lead-in before it introduces."""
    passages = outline.passages_at(position)
    index = bisect_left(passages, position + 1, key=_START)
    near = passages[max(index - 2, 0) : index + 1]
    return [
        passage for passage in near if (passage.lead[0] if passage.lead else passage.start) <= position < passage.end
    ]


def _line_end(document: Document, position: int) -> int:
    newline = document.content.find(b"\n", position, position + MOST_ROOM_BYTES)
    return newline + 1 if newline >= 0 else position


# ---- cutoff: hits in the order of their score, until the budget is full (sizing `field`).
#
# Hits that touch become one window: a rare word gets its chapter, a common one many short windows.

HEADER_TOKENS = 6
"""About what a document's header costs without its path."""
GAP_TOKENS = 4
"""About what the edges of one more window cost."""
BRIDGED_BYTES = 120
"""Shorter gaps are shown: they cost little more than their markers, and an example is not shown with a hole in it."""
LARGE_TOKENS = 12_000
"""From here on a budget shows blocks: windows below the size of a scrap join what is near (105 §5)."""
SCRAP_BYTES = 150
"""A shorter window is a scrap; a shorter piece of a paragraph is shown with its neighbour."""
_SCRAP_BRIDGE_BYTES = 400
"""A scrap is joined with a neighbour at most this far away."""
NEXT_IN_LINE = 16
"""Hits after the cutoff that are offered too: one of them may fit where the first of them does not."""

_MOST_ABOVE_BYTES = 400
"""At most this much of a preceding section or function is dropped, if the text after it has all its query words."""

_MOST_WIDENED = 8  # units on each side of a scrap

Cost = Callable[[str], int]
Run = tuple[int, int, list[Hit], float]
"""Start and end of a window that is being made, its hits, and what it is worth."""
_Run = tuple[int, int, list[Hit]]

_PLACE, _FIRST = itemgetter(0, 1), itemgetter(0)


@dataclass(frozen=True, slots=True)
class Cutoff:
    """The best hits, and the ones that come next."""

    shown: tuple[Hit, ...]
    next_in_line: tuple[Hit, ...]


def relevance_cutoff(hits: Sequence[Hit], texts: Iterable[str], *, tokens: int, cost: Cost) -> Cutoff:
    """The best hits whose texts, headers and edges cost about `tokens`."""
    spent, names, edges = 0, set[str](), set[tuple[str, int]]()
    for number, (hit, text) in enumerate(zip(hits, texts, strict=False)):  # texts after the cutoff are never read
        price = cost(text)
        if hit.path not in names:
            price += cost(hit.path) + HEADER_TOKENS
        price += GAP_TOKENS * (1 - ((hit.path, hit.start) in edges) - ((hit.path, hit.end) in edges))
        if spent + price > tokens and number:
            return Cutoff(tuple(hits[:number]), tuple(hits[number : number + NEXT_IN_LINE]))
        spent += price
        names.add(hit.path)
        edges |= {(hit.path, hit.start), (hit.path, hit.end)}
    return Cutoff(tuple(hits), ())


def field_cuts(cutoff: Cutoff, documents: Mapping[str, Document], *, whole_share: int = 0) -> list[Cut]:
    """The windows of the shown hits, joined where they touch, and one for each hit next in line; none of blanks.

    A window is expanded to complete passages where that adds at most `whole_share` percent.
    """
    groups: dict[str, tuple[list[Hit], list[Hit]]] = {}
    for hits, is_next in ((cutoff.shown, 0), (cutoff.next_in_line, 1)):
        for hit in hits:
            groups.setdefault(hit.path, ([], []))[is_next].append(hit)
    cuts = []
    for path, (shown, next_in_line) in sorted(groups.items()):
        runs = Spans(documents[path], whole_share=whole_share).runs(shown, next_in_line)
        cuts += [cut_of(documents[path], run) for run in runs]
    return cuts


def cut_of(document: Document, run: Run) -> Cut:
    """A run as a cut; one without hits, as heads are, has an empty core."""
    start, end, hits, score = run
    span = Span(start, end)
    return Cut(document, span, span if hits else Span(start, start), tuple(hits), score)


class Spans:
    """The byte ranges of a document that are shown around its hits.

    Packing moves the cutoff often, so what the bytes alone decide is worked out once. Hits of a search are units
    (`of_units`), which begin where a text may be cut: their first lines are dropped where they say nothing. Hits of a
    caller are shown completely. With `heads`, functions that windows of code begin inside get a window with their
    signature, without hits and with a slightly lower score.
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

    def runs(self, shown: Sequence[Hit], next_in_line: Sequence[Hit], *, least_bytes: int = 0) -> list[Run]:
        """The windows of the shown hits, joined where they touch, and one for each hit next in line; none of blanks.

        A window shorter than `least_bytes` is joined with a near one, or widened.
        """
        document, content = self.document, self.document.content
        runs = self._joined(sorted([(*self.of(hit), [hit]) for hit in shown], key=_PLACE))
        if self._share:
            runs = self._joined([(*self._whole(start, end), hits) for start, end, hits in runs])
        if least_bytes:
            runs = self._joined(_blocks(document, runs, self._may_join, least_bytes))
        if self._announces:
            runs = self._joined([(start, self._end(start, end), hits) for start, end, hits in runs])
        results: list[Run] = []
        if self._has_heads:
            runs, results = _with_heads(document, runs)
            runs = self._joined(runs)
        shown_runs = []
        for start, end, hits in runs:
            run = self._well_begun(start, end, hits) if self._of_units else (start, end, hits)
            shown_runs.append(run)
            results.append((*run, max([hit.score for hit in run[2]])))
        for hit in next_in_line:
            start, end = self.of(hit)
            start = with_words(content, start, end) if self._of_units else start
            if not any(start < run[1] and run[0] < end for run in shown_runs):
                shown_runs.append((start, end, [hit]))
                results.append((start, end, [hit], hit.score))
        results = [run for run in results if run[0] == run[1] or _SAID.search(content, run[0], run[1])]
        header = document.outline.header if document.kind == "data" else None
        if header is not None:  # it stands above every other window of the table anyway
            results = [run for run in results if run[0] < header[0] or header[1] + 1 < run[1]] or results
        return sorted(results, key=_FIRST)

    def of(self, hit: Hit) -> tuple[int, int]:
        """The range that shows a single hit: a position becomes its unit, a heading includes what follows it."""
        key = hit.start, hit.end
        shown_range = self._places.get(key)
        if shown_range is None:
            document = self.document
            start, end = key if self._of_units else whole_characters(document.content, *key)
            if start == end and document.content:
                unit = document.outline.unit_at(start)
                start, end = (int(cut) for cut in document.outline.units[unit : unit + 2])
            shown_range = self._places[key] = start, self._end_below(start, end)
        return shown_range

    def _end_below(self, start: int, end: int) -> int:
        """The end of a range, including the text below the headings that it ends with.

        Ends are remembered, so that a thousand headings in a row are walked once.
        """
        ends = self._below
        end_below = below_heading(self.document, start, end)
        if end_below == end:
            return end
        passed = []  # from here on the way does not depend on where the range begins
        while end_below not in ends:
            passed.append(end_below)
            after = below_heading(self.document, start, end_below)
            if after == end_below:
                ends[end_below] = end_below
            end_below = after
        ends.update(dict.fromkeys(passed, ends[end_below]))
        return ends[end_below]

    def _whole(self, start: int, end: int) -> tuple[int, int]:
        cache, key = self._wholes, (start, end)
        if key not in cache:
            cache[key] = expand_to_whole(self.document, start, end, self._share)
        return cache[key]

    def _end(self, start: int, end: int) -> int:
        cache, key = self._ends, (start, end)
        if key not in cache:
            cache[key] = _end_of_announced(self.document, start, end)
        return cache[key]

    def _joined(self, runs: list[_Run]) -> list[_Run]:
        """Sorted runs, with neighbours joined where they touch or have little between them."""
        if len(runs) < 2:
            return runs
        joined: list[_Run] = []
        for start, end, hits in runs:
            first, last, previous = joined[-1] if joined else (0, -1, [])
            if joined and (start <= last or (start - last <= BRIDGED_BYTES and self._may_join(last, start))):
                previous += hits
                joined[-1] = (min(first, start), max(last, end), previous)
            else:
                joined.append((start, end, [*hits]))
        return joined

    def _well_begun(self, start: int, end: int, hits: list[Hit]) -> _Run:
        """A run from its first line with words, without a less relevant end of the preceding section or function.

        A sentence from the end of another section, or the last lines of another function, explain nothing that follows.
        """
        cache, key = self._beginnings, (start, end)
        if key not in cache:
            cache[key] = _beginning(self.document, start, end)
        start, edge, size = cache[key]
        if edge is None:
            return start, end, hits
        first_hits, later_hits = ([hit for hit in hits if (hit.end > edge) is side] for side in (False, True))
        new = {term for hit in first_hits for term in hit.terms} - {term for hit in later_hits for term in hit.terms}
        best_above, best_below = (max([hit.score for hit in side], default=-inf) for side in (first_hits, later_hits))
        is_worth_less = best_above < best_below and (size < SCRAP_BYTES or not new)
        return (edge, end, later_hits) if is_worth_less else (start, end, hits)


def _with_heads(document: Document, runs: list[_Run]) -> tuple[list[_Run], list[Run]]:
    """The runs, extended to the head of their function if it is near, and the heads that are not."""
    near, apart = list(runs), list[Run]()
    for head, number in heads_of(document, [Span(start, end) for start, end, _ in runs]):
        start, end, hits = runs[number]
        if start - head.end <= BRIDGED_BYTES:
            near[number] = (head.start, end, hits)
        else:
            apart.append((head.start, head.end, [], nextafter(max(hit.score for hit in hits), -inf)))
    return near, apart


def _blocks(document: Document, runs: list[_Run], may_join: Joinable, least: int) -> list[_Run]:
    """Runs in which scraps are joined with a near neighbour, or widened."""
    joined: list[_Run] = []
    for start, end, hits in runs:
        first, last, previous = joined[-1] if joined else (0, -1, [])
        is_near = joined and start - last <= _SCRAP_BRIDGE_BYTES and may_join(last, start)
        if is_near and min(last - first, end - start) < least:
            joined[-1] = (first, max(last, end), previous + hits)
        else:
            joined.append((start, end, hits))
    return [_widened(document, run, may_join, least) for run in joined]


def _widened(document: Document, run: _Run, may_join: Joinable, least: int) -> _Run:
    """A scrap, widened to its section if that is short, or else by the units around it."""
    start, end, hits = run
    if not 0 < end - start < least:
        return run
    outline, length = document.outline, len(document.content)
    low, high = outline.sections_around(start, end)
    if high - low <= _SCRAP_BRIDGE_BYTES and may_join(low, high):
        return low, high, hits
    for _ in range(_MOST_WIDENED):
        next_cut, previous_cut = outline.cut_after(min(end + 1, length)), outline.cut_before(max(start - 1, 0))
        if end < next_cut <= start + 2 * _SCRAP_BRIDGE_BYTES and may_join(end, next_cut - 1):
            end = next_cut
        if end - start >= least:
            break
        if end - 2 * _SCRAP_BRIDGE_BYTES <= previous_cut < start and may_join(previous_cut, start):
            start = previous_cut
        if end - start >= least:
            break
    return start, end, hits


def _end_of_announced(document: Document, start: int, end: int) -> int:
    """The end of the unit or two that the last line announces; `end` if it announces nothing."""
    announced_end = below_heading(document, start, end)
    return end if announced_end == end else below_heading(document, start, announced_end)


def below_heading(document: Document, start: int, end: int) -> int:
    """The end of the next unit, if these bytes end with a heading or announce what follows; else `end`."""
    if document.kind != "prose":
        return end
    last_line = document.content[max(end - _LINE_BACK, 0) : end].rstrip()
    if not _announces(last_line, document.language) and not _ends_with_heading(document, start, end):
        return end
    units = document.outline.units
    return int(units[min(int(units.searchsorted(end, side="right")), len(units) - 1)])


def _announces(last_line: bytes, language: str | None) -> bool:
    """Whether a line announces what follows: "for example:", a directive of reStructuredText, a heading's anchor."""
    if last_line.endswith((b":", b"\xef\xbc\x9a")) or (
        last_line.endswith(b">") and _ANCHOR.search(last_line) is not None
    ):
        return True
    return language == "rst" and _DIRECTIVE.search(last_line) is not None


def _ends_with_heading(document: Document, start: int, end: int) -> bool:
    nested = document.outline.nested
    index = bisect_left(nested.starts, end) - 1
    if index < 0 or nested[index].signature_start < start:
        return False
    return nested[index].signature_end >= end or document.content[nested[index].signature_end : end].isspace()


def _beginning(document: Document, start: int, end: int) -> tuple[int, int | None, int]:
    """The start of the first line with words, of the next section or function if any, and the bytes between them."""
    content = document.content
    start = with_words(content, start, end)
    edge = _next_beginning(document, start, min(end, start + _MOST_ABOVE_BYTES)) if start else None
    if edge is None or _SAID.search(content, edge, end) is None:  # only blank lines follow
        return start, None, 0
    edge = with_words(content, edge, end)
    return start, edge, len(content[start:edge].strip())


def without_tail(document: Document, start: int, end: int) -> int:
    """The start of the next function, if a range of code begins with the end of another; else `start`."""
    begins = _next_beginning(document, start, end + 1) if document.kind == "code" and start < end else None
    return start if begins is None else begins


def _next_beginning(document: Document, start: int, end: int) -> int | None:
    """The start of the first heading, or of the next function or class below a blank line."""
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
    """The functions and classes around the first word from `start` on."""
    first_word = _SAID.search(document.content, start)
    blocks = document.outline.enclosing(first_word.start(), first_word.start() + 1) if first_word else ()
    return [block for block in blocks if block.kind in ("function", "class")]


def with_words(content: bytes, start: int, end: int) -> int:
    """The start of the first line with words in a range.

    >>> with_words(b"```\\n\\n  Then stop.\\n", 4, 17), with_words(b"Tea\\n", 1, 4)
    (5, 1)
    """
    first_word = _SAID.search(content, start, end)
    return max(start, content.rfind(b"\n", start, first_word.start()) + 1) if first_word else start
