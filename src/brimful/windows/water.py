"""Which ground rises above the water? Hits in the order of their score, until the budget is full (sizing `field`).

Where hits touch they become one window, so the windows are as long as the ground is high: a rare word gets its
chapter, a common one many short windows.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from brimful.corpus.documents import Document, Hit
from brimful.text.spans import Span, back_to_code_point, on_to_code_point
from brimful.windows.cutting import Cut, joinable
from brimful.windows.drafts import Joinable
from brimful.windows.whole import made_whole

HEADER_TOKENS = 6
"""About what a document's header costs beside its path."""
GAP_TOKENS = 4
"""About what the edges of one more window cost."""
BRIDGED_BYTES = 80
"""Shorter gaps are shown: they cost little more than their markers, and the text reads on."""
RUNNERS_UP = 16
"""Hits just below the line that are offered too: one of them may fit where the next one in order does not."""

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


def field_cuts(line: Line, known: Mapping[str, Document], *, whole_share: int = 0) -> list[Cut]:
    """The windows above the line, where hits touch in one, and each hit just below it by itself; none of blanks.

    Windows are made whole where so many percent of them are missing at most.
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
