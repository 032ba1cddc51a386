"""Which ground rises above the water? Hits in the order of their score, until the budget is full (sizing `field`).

Where hits touch they become one window, so the windows are as long as the ground is high: a rare word gets its
chapter, a common one many short windows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from brimful.corpus.documents import Document, Hit
from brimful.text.spans import Span, back_to_code_point, on_to_code_point
from brimful.windows.cutting import Cut

HEADER_TOKENS = 6
"""About what a document's header costs beside its path."""
GAP_TOKENS = 4
"""About what the edges of one more window cost."""
BRIDGED_BYTES = 24
"""Gaps that are shorter than their markers are shown instead."""
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


def field_cuts(line: Line, known: Mapping[str, Document]) -> list[Cut]:
    """The windows above the line, where hits touch in one, and each hit just below it by itself."""
    cuts = []
    shown: dict[str, list[Span]] = {}
    for path, group in _by_path(line.above):
        runs: list[list[Hit]] = []
        for hit in sorted(group, key=lambda hit: (hit.start, hit.end)):
            if runs and hit.start - max(each.end for each in runs[-1]) <= BRIDGED_BYTES:
                runs[-1].append(hit)
            else:
                runs.append([hit])
        cuts += [_cut(known[path], run) for run in runs]
        shown[path] = [cut.span for cut in cuts if cut.document.path == path]
    for hit in line.below:
        cut = _cut(known[hit.path], [hit])
        if not any(cut.span.shared(span) for span in shown.get(hit.path, ())):
            cuts.append(cut)
            shown.setdefault(hit.path, []).append(cut.span)
    return sorted(cuts, key=lambda cut: (cut.document.path, cut.span.start))


def _by_path(hits: Iterable[Hit]) -> list[tuple[str, list[Hit]]]:
    groups: dict[str, list[Hit]] = {}
    for hit in hits:
        groups.setdefault(hit.path, []).append(hit)
    return sorted(groups.items())


def _cut(document: Document, hits: Sequence[Hit]) -> Cut:
    start = back_to_code_point(document.content, min(hit.start for hit in hits))
    end = on_to_code_point(document.content, max(hit.end for hit in hits))
    if start == end:  # a position stands for the unit it is in
        at = document.outline.unit_at(start)
        start, end = (int(cut) for cut in document.outline.units[at : at + 2]) if len(document) else (0, 0)
    span = Span(start, end)
    return Cut(document, span, span, tuple(hits), max(hit.score for hit in hits))
