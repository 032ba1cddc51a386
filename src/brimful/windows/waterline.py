"""Which places stand above the waterline, and which whole things do their windows show?

The windows of sizing `field`: hits in the order of their score, until the budget is full.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from brimful.corpus.documents import Document, Hit
from brimful.text.passages import Passage
from brimful.text.spans import Span, back_to_code_point, on_to_code_point
from brimful.windows.cutting import Cut, joinable
from brimful.windows.policies import Joinable

# ---- whole: Which whole things does a window show? A definition, a paragraph, a list with its lead-in, where little is
# missing.
#
# What a search finds are units: a sentence, an item, some lines of code. A reader wants the function that they stand
# in, the paragraph, the list with what introduces it; where that costs little more, it is shown.

LEAST_ROOM_BYTES = 200
"""So much may be added to any window, however short: the rest of a sentence's paragraph, the head of a function."""
MOST_ROOM_BYTES = 1_200
"""And no more than so much to a long one."""

CODE_TIMES = 5
"""Of code so many times as much: a function says little in part."""


def made_whole(document: Document, span: Span, share: int) -> Span:
    """The span, with what is missing of the things that it begins and ends in if that is at most so many percent of it.

    What is missing at the beginning comes first: without it the rest is harder to understand.
    """
    if document.kind == "data" or not len(span):
        return span
    share *= CODE_TIMES if document.kind == "code" else 1
    room = min(max(len(span) * share // 100, LEAST_ROOM_BYTES), MOST_ROOM_BYTES)
    starts, ends = _edges(document, span, room)
    start = min((edge for edge in starts if span.start - room <= edge < span.start), default=span.start)
    room -= span.start - start
    end = max((edge for edge in ends if span.end < edge <= span.end + room), default=span.end)
    return Span(start, end)


def _edges(document: Document, span: Span, room: int) -> tuple[list[int], list[int]]:
    """Where the things begin that the span begins in, and where those end that it ends in."""
    outline = document.outline
    if document.kind == "code":
        starts = [block.start for block in outline.enclosing(span.start, span.start + 1)]
        ends = [_line_end(document, block.end) for block in outline.enclosing(span.end - 1, span.end)]
        above, below = _between_blank_lines(document.content, span, room)
        return [*starts, *above], [*ends, *below]
    if len(outline.structure.messages) > 1:  # a message is a unit already, and what others said is another thing
        return [], []
    start, end = outline.section_before(span.start), outline.section_after(span.end)
    starts = [start] if start >= span.start - room and _is_line_edge(document, start) else []
    ends = [end] if end <= span.end + room and _is_line_edge(document, end) else []
    for passage in _around(outline.structure.passages, span.start):
        starts += [passage.start, *(passage.lead[:1] if passage.lead else ())]
    for passage in _around(outline.structure.passages, span.end):
        ends.append(_line_end(document, passage.end))
    return starts, ends


def _between_blank_lines(content: bytes, span: Span, room: int) -> tuple[list[int], list[int]]:
    """Where the lines without a blank one between them begin and end that a span of code begins and ends in."""
    start = content.rfind(b"\n\n", max(span.start - room - 2, 0), span.start) + 2
    end = content.find(b"\n\n", max(span.end - 2, 0), span.end + room + 1) + 1
    return [start] if start > 1 else [], [end] if end > 0 else []


def _is_line_edge(document: Document, edge: int) -> bool:
    """A section of a long paragraph may end in its middle, which is no edge."""
    return edge in (0, len(document)) or document.content[edge - 1 : edge] == b"\n"


def _around(passages: tuple[Passage, ...], position: int) -> list[Passage]:
    """The passages that hold a position, or that a lead-in before it introduces."""
    at = bisect_left(passages, position + 1, key=lambda passage: passage.start)
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
BRIDGED_BYTES = 80
"""Shorter gaps are shown: they cost little more than their markers, and the text reads on."""
LARGE_TOKENS = 12_000
"""From here on a budget shows blocks: windows below the size of a scrap join what is near (105 §5)."""
SCRAP_BYTES = 150
SCRAP_BRIDGE_BYTES = 400
"""So far from its neighbour a scrap is joined with it."""
RUNNERS_UP = 16
"""Hits just below the line that are offered too: one of them may fit where the next one in order does not."""

_MOST_WIDENED = 8  # units on each side of a scrap

Cost = Callable[[str], int]


@dataclass(frozen=True, slots=True)
class Line:
    """How far the water was let down."""

    above: tuple[Hit, ...]
    below: tuple[Hit, ...]  # the next ones


def water_line(hits: Sequence[Hit], text_of: Callable[[Hit], str], *, tokens: int, cost: Cost) -> Line:
    """Hits from the best down until they cost about so many tokens, headers and edges included."""
    spent, names, edges = 0, set[str](), set[tuple[str, int]]()
    for number, hit in enumerate(hits):
        price = cost(text_of(hit))
        if hit.path not in names:
            price += cost(hit.path) + HEADER_TOKENS
        price += GAP_TOKENS * (1 - ((hit.path, hit.start) in edges) - ((hit.path, hit.end) in edges))
        if spent + price > tokens and number:
            return Line(tuple(hits[:number]), tuple(hits[number : number + RUNNERS_UP]))
        spent += price
        names.add(hit.path)
        edges |= {(hit.path, hit.start), (hit.path, hit.end)}
    return Line(tuple(hits), ())


def field_cuts(line: Line, known: Mapping[str, Document], *, whole_share: int = 0, least_bytes: int = 0) -> list[Cut]:
    """The windows above the line, where hits touch in one, and each hit just below it by itself; none of blanks.

    Windows are made whole where so many percent of them are missing at most. Those shorter than `least_bytes` are
    joined with what is near, or widened to it.
    """
    cuts = []
    shown: dict[str, list[Span]] = {}
    below: dict[str, dict[int, int]] = defaultdict(dict)
    for path, group in _by_path(line.above):
        may_join = joinable(known[path])
        spans = [(_span(known[path], hit, below[path]), hit) for hit in group]
        spans.sort(key=lambda each: (each[0].start, each[0].end, each[1].order))
        runs = _runs([(span, [hit]) for span, hit in spans], may_join)
        if whole_share:
            runs = _runs([(made_whole(known[path], span, whole_share), hits) for span, hits in runs], may_join)
        if least_bytes:
            runs = _blocks(known[path], runs, may_join, least_bytes)
        cuts += [_cut(known[path], span, hits) for span, hits in runs]
        shown[path] = [span for span, _ in runs]
    for hit in line.below:
        span = _span(known[hit.path], hit, below[hit.path])
        if not any(span.shared(other) for other in shown.get(hit.path, ())):
            cuts.append(_cut(known[hit.path], span, [hit]))
            shown.setdefault(hit.path, []).append(span)
    said = [cut for cut in cuts if not cut.document.content[cut.span.start : cut.span.end].isspace()]
    return sorted(said, key=lambda cut: (cut.document.path, cut.span.start))


def _runs(spans: Iterable[tuple[Span, list[Hit]]], may_join: Joinable) -> list[tuple[Span, list[Hit]]]:
    """Spans in order, those that touch or have little between them as one."""
    runs: list[tuple[Span, list[Hit]]] = []
    for span, hits in spans:
        end = runs[-1][0].end if runs else 0
        if runs and (span.start <= end or (span.start - end <= BRIDGED_BYTES and may_join(end, span.start))):
            last, before = runs[-1]
            before += hits
            runs[-1] = (Span(min(last.start, span.start), max(last.end, span.end)), before)
        else:
            runs.append((span, hits))
    return runs


def _blocks(
    document: Document, runs: list[tuple[Span, list[Hit]]], may_join: Joinable, least: int
) -> list[tuple[Span, list[Hit]]]:
    """Spans in order; scraps as one with a near neighbour, or else with so much around them that they are none."""
    joined: list[tuple[Span, list[Hit]]] = []
    for span, hits in runs:
        last = joined[-1][0] if joined else None
        is_near = last is not None and span.start - last.end <= SCRAP_BRIDGE_BYTES and may_join(last.end, span.start)
        if last is not None and is_near and min(len(last), len(span)) < least:
            joined[-1] = (Span(last.start, max(last.end, span.end)), [*joined[-1][1], *hits])
        else:
            joined.append((span, hits))
    return _runs([(_widened(document, span, may_join, least), hits) for span, hits in joined], may_join)


def _widened(document: Document, span: Span, may_join: Joinable, least: int) -> Span:
    """A scrap with all of its section, where that is no longer than a block, or else with the units around it."""
    if len(span) >= least or not len(span):
        return span
    outline = document.outline
    whole = Span(outline.section_before(span.start), outline.section_after(span.end))
    if len(whole) <= SCRAP_BRIDGE_BYTES and may_join(whole.start, whole.end):
        return whole
    start, end = span.start, span.end
    for _ in range(_MOST_WIDENED):
        after, before = outline.cut_after(min(end + 1, len(document))), outline.cut_before(max(start - 1, 0))
        if end < after <= start + 2 * SCRAP_BRIDGE_BYTES and may_join(end, after - 1):
            end = after
        if end - start >= least:
            break
        if end - 2 * SCRAP_BRIDGE_BYTES <= before < start and may_join(before, start):
            start = before
        if end - start >= least:
            break
    return Span(start, end)


def _by_path(hits: Iterable[Hit]) -> list[tuple[str, list[Hit]]]:
    groups: dict[str, list[Hit]] = {}
    for hit in hits:
        groups.setdefault(hit.path, []).append(hit)
    return sorted(groups.items())


def _span(document: Document, hit: Hit, below: dict[int, int]) -> Span:
    """The bytes of a hit; a position stands for the unit it is in, a heading for itself and what it stands above.

    `below` remembers for the document where the headings that follow an end lead to: a thousand headings in a row
    are walked once, not by each of them.
    """
    start, end = back_to_code_point(document.content, hit.start), on_to_code_point(document.content, hit.end)
    if start == end and len(document):
        at = document.outline.unit_at(start)
        start, end = (int(cut) for cut in document.outline.units[at : at + 2])
    at = below_heading(document, start, end)
    if at == end:
        return Span(start, end)
    passed = []  # from here on the way does not depend on where the hit begins
    while at not in below:
        passed.append(at)
        after = below_heading(document, start, at)
        if after == at:
            below[at] = at
        at = after
    below.update(dict.fromkeys(passed, below[at]))
    return Span(start, below[at])


def below_heading(document: Document, start: int, end: int) -> int:
    """The end of the unit below, where these bytes end with a heading; else their own."""
    if document.kind != "prose":
        return end
    blocks = document.outline.blocks
    at = bisect_left(blocks, end, key=lambda block: block.start) - 1
    if at < 0 or blocks[at].signature_start < start:
        return end
    if blocks[at].signature_end < end and not document.content[blocks[at].signature_end : end].isspace():
        return end
    units = document.outline.units
    return int(units[min(int(units.searchsorted(end, side="right")), len(units) - 1)])


def _cut(document: Document, span: Span, hits: Sequence[Hit]) -> Cut:
    return Cut(document, span, span, tuple(hits), max(hit.score for hit in hits))
