"""The relevance cutoff: the best hits that fit a budget, and the windows that show them.

These are the windows of sizing `field`: hits in the order of their score, until the budget is full. Hits that touch
become one window: a rare word gets its chapter, a common one many short windows.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from brimful.documents.documents import Document, Hit
from brimful.text.spans import Span, whole_characters
from brimful.windows.cutting import Cut, joinable, joined
from brimful.windows.whole import LEAST_BYTES, completed, end_of_announced, next_beginning, with_words

HEADER_TOKENS = 6
"""About what a document's header costs without its path."""
GAP_TOKENS = 4
"""About what the edges of one more window cost."""
BRIDGED_BYTES = 120
"""Shorter gaps are shown: they cost little more than their markers, and an example is not shown with a hole in it."""
_LEAST_ROOM_BYTES = 120
"""What any hit may add to show whole things: the rest of a line, the head of a function."""
NEXT_IN_LINE = 16
"""Hits after the cutoff that are offered too: one of them may fit where the first of them does not."""

_MOST_ABOVE_BYTES = 400
"""At most this much of a preceding section or function is dropped."""
_SAID = re.compile(rb"\S")

Cost = Callable[[str], int]


@dataclass(frozen=True, slots=True)
class _Cutoff:
    """The best hits, and the ones that come next."""

    shown: tuple[Hit, ...]
    next_in_line: tuple[Hit, ...]


def relevance_cutoff(hits: Sequence[Hit], texts: Iterable[str], *, tokens: int, cost: Cost) -> _Cutoff:
    """The best hits whose texts, headers and edges cost about `tokens`."""
    spent, names, edges = 0, set[str](), set[tuple[str, int]]()
    for number, (hit, text) in enumerate(zip(hits, texts, strict=False)):  # texts after the cutoff are never read
        price = cost(text)
        if hit.path not in names:
            price += cost(hit.path) + HEADER_TOKENS
        price += GAP_TOKENS * (1 - ((hit.path, hit.start) in edges) - ((hit.path, hit.end) in edges))
        if spent + price > tokens and number:
            return _Cutoff(tuple(hits[:number]), tuple(hits[number : number + NEXT_IN_LINE]))
        spent += price
        names.add(hit.path)
        edges |= {(hit.path, hit.start), (hit.path, hit.end)}
    return _Cutoff(tuple(hits), ())


def rooms_to_grow(count: int, budget_bytes: int, *, percent: int) -> list[int]:
    """How many bytes each of `count` hits, the best first, may add to show whole things.

    A share of the budget is divided by rank: so the best hits of a large budget get their section, and growing takes no
    more of a small budget from the next hits.

    >>> rooms_to_grow(4, 10_000, percent=20)
    [960, 480, 320, 240]
    """
    total = sum(1 / rank for rank in range(1, count + 1))
    return [int(budget_bytes * percent / 100 / total / rank) for rank in range(1, count + 1)]


def field_cuts(
    document: Document,
    shown: Sequence[Hit],
    next_in_line: Sequence[Hit] = (),
    *,
    rooms: Sequence[int] = (),
    of_units: bool = False,
) -> list[Cut]:
    """The windows of a document's shown hits, and one for each hit next in line; none of blanks.

    Windows are joined where they touch or have little between them. Each grows by at most the `rooms` of its hits to
    show whole things. Hits of a search are units (`of_units`), which begin where a text may be cut: their first lines
    are dropped where they say nothing. Hits of a caller are shown completely.
    """
    may_join = joinable(document)
    cuts = [_cut_of(document, hit, of_units=of_units) for hit in shown]
    for cut, room in zip(cuts, rooms, strict=False):
        cut.share = room
    cuts = joined(cuts, may_join, gap=BRIDGED_BYTES)
    least = _LEAST_ROOM_BYTES if any(rooms) else 0
    for cut in cuts:
        cut.span = _whole(document, cut.span, max(cut.share, least))
    scrap = LEAST_BYTES if least and document.kind == "prose" else 0
    cuts = joined(cuts, may_join, gap=BRIDGED_BYTES, least=scrap)
    for cut in cuts if of_units else ():
        _begin_well(cut)
    for hit in next_in_line:
        single = _cut_of(document, hit, of_units=of_units)
        single.span = _whole(document, single.span, least)
        if of_units:
            single.span = _from_words(single)
        if not any(single.span.shared(cut.span) for cut in cuts):
            cuts.append(single)
    cuts = [cut for cut in cuts if not cut.span or _SAID.search(document.content, cut.span.start, cut.span.end)]
    header = document.outline.header if document.kind == "data" else None
    if header is not None:  # it stands above every other window of the table anyway
        cuts = [cut for cut in cuts if cut.span.start < header[0] or header[1] + 1 < cut.span.end] or cuts
    return sorted(cuts, key=lambda cut: cut.span)


def _cut_of(document: Document, hit: Hit, *, of_units: bool) -> Cut:
    """A single hit; a position becomes its unit."""
    start, end = hit.start, hit.end
    if not of_units:
        start, end = whole_characters(document.content, start, end)
    if start == end and document.content:
        unit = document.outline.unit_at(start)
        start, end = (int(cut) for cut in document.outline.units[unit : unit + 2])
    span = Span(start, end)
    return Cut(document, span, span, (hit,), hit.score)


def _whole(document: Document, span: Span, room: int) -> Span:
    """The span with what its last line announces, and the things that there is room for."""
    span = Span(span.start, end_of_announced(document, span.start, span.end))
    if not room:
        return span
    span = completed(document, span, room)
    return Span(span.start, end_of_announced(document, span.start, span.end))


def _from_words(cut: Cut) -> Span:
    """The cut's bytes from its first line with words."""
    return Span(with_words(cut.document.content, cut.span.start, cut.span.end), cut.span.end)


def _begin_well(cut: Cut) -> None:
    """Begin with the first line with words, without a less relevant end of the preceding section or function.

    A sentence from the end of another section, or the last lines of another function, explain nothing that follows.
    """
    cut.span = _from_words(cut)
    start, end = cut.span.start, cut.span.end
    edge = next_beginning(cut.document, start, min(end, start + _MOST_ABOVE_BYTES)) if start else start
    edge = with_words(cut.document.content, edge, end)
    above, below = ([hit for hit in cut.hits if (hit.end > edge) is side] for side in (False, True))
    if start < edge < end and edge - start < LEAST_BYTES and below and above:
        best = max(hit.score for hit in below)
        if best == cut.score > max(hit.score for hit in above):
            cut.span, cut.hits = Span(edge, end), tuple(below)
