"""Does a context have the properties that the specifications ask for?

From CFS, "Desired Properties":

- determinism: the same windows and bytes when assembled again
- budget: the rendered text counts at most what is available
- relevance: the three best windows stand among the first five
- coherence: windows of one document stand next to each other, adjacency > 0.7
- coverage: distinct source tokens / budget > 0.9, each source token counted once

From 085b, "Performance Targets":

- relations: of two pieces of one section that are both shown, > 90 % stand in the same window or in
  neighbouring ones, in reading order
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import combinations, pairwise

from brimful.assembly.context import Context, verify_determinism
from brimful.classes import dataclass
from brimful.corpus.documents import Document
from brimful.errors import DocumentError
from brimful.evaluation.measures import Range
from brimful.text.spans import Span, merge_spans
from brimful.text.tokens import TokenCounter
from brimful.text.vocabularies import tokens_for
from brimful.windows.window import Window

LEAST_COVERAGE = 0.9
_LEAST_ADJACENCY = 0.7
_LEAST_RELATIONS = 0.9
_TOP, _FIRST = 3, 5


@dataclass(frozen=True, slots=True)
class Relations:
    """Pairs of evidence that one section holds, and what became of them.

    `shown`: both stand whole in the context. `kept`: in the same window or in neighbouring ones, in reading order.
    What is not shown was not found or did not fit, which recall measures; `share` is about the rest.
    """

    pairs: int
    shown: int
    kept: int

    def __add__(self, other: Relations) -> Relations:
        return Relations(self.pairs + other.pairs, self.shown + other.shown, self.kept + other.kept)

    @property
    def share(self) -> float:
        """The kept among the shown; 1 where there was nothing to keep."""
        return self.kept / self.shown if self.shown else 1.0


@dataclass(frozen=True, slots=True)
class Properties:
    """What was measured of one context, and whether it is enough."""

    within_budget: bool
    coverage: float
    adjacency: float
    best_come_first: bool
    deterministic: bool | None = None  # None: nobody assembled it again
    relations: Relations | None = None

    @property
    def shortfalls(self) -> tuple[str, ...]:
        """Every property that the context lacks, in words; empty when it has them all."""
        found = []
        if not self.within_budget:
            found.append("the text counts more tokens than the budget has")
        if self.coverage <= LEAST_COVERAGE:
            found.append(f"coverage {self.coverage:.3f} is not above {LEAST_COVERAGE}")
        if self.adjacency <= _LEAST_ADJACENCY:
            found.append(f"adjacency {self.adjacency:.3f} is not above {_LEAST_ADJACENCY}")
        if not self.best_come_first:
            found.append(f"the best {_TOP} windows are not all among the first {_FIRST}")
        if self.deterministic is False:
            found.append("assembled again, it has other windows or bytes")
        if self.relations is not None and self.relations.share <= _LEAST_RELATIONS:
            found.append(f"{self.relations.share:.3f} of relations are kept, not above {_LEAST_RELATIONS}")
        return tuple(found)


def properties(
    context: Context,
    *,
    counter: TokenCounter | None = None,
    again: Callable[[], Context] | None = None,
    evidence: Iterable[Range] = (),
    documents: Mapping[str, Document] | None = None,
) -> Properties:
    """Measure one context.

    `counter` is needed where the context was counted by a function of your own. `again` assembles the context
    anew. `evidence` are the places whose relations should be kept; `documents` says where sections end when
    windows do not know their documents.
    """
    counting = counter or tokens_for(context.model)
    places = list(evidence)
    return Properties(
        counting.count(context.text) <= context.budget.available,
        coverage(context, counter=counting),
        adjacency(context.windows),
        best_come_first(context.windows),
        None if again is None else verify_determinism(again) and again().text == context.text,
        relations(context.windows, places, documents=documents) if places else None,
    )


def summary(measured: Sequence[Properties]) -> dict[str, float]:
    """Of many contexts: the means, and the share of those that have each property.

    >>> summary([Properties(True, 0.95, 1.0, True), Properties(True, 0.85, 0.5, False)])["covered"]
    0.5
    """
    count = max(len(measured), 1)
    sums = {
        "within_budget": sum(each.within_budget for each in measured),
        "coverage": sum(each.coverage for each in measured),
        "covered": sum(each.coverage > LEAST_COVERAGE for each in measured),
        "adjacency": sum(each.adjacency for each in measured),
        "adjacent": sum(each.adjacency > _LEAST_ADJACENCY for each in measured),
        "best_come_first": sum(each.best_come_first for each in measured),
    }
    return {name: round(total / count, 4) for name, total in sums.items()}


def coverage(context: Context, *, counter: TokenCounter | None = None) -> float:
    """Distinct source tokens of the windows / available tokens.

    Ranges of one document that overlap are counted as one; texts without a document count once each.
    """
    counting = counter or tokens_for(context.model)
    sources: dict[str, Document] = {}
    spans: dict[str, list[Span]] = {}
    loose: dict[tuple[str, str], None] = {}
    for window in context.windows:
        if window.document is None:
            loose.setdefault((window.path, window.text))
        else:
            sources[window.document.id] = window.document
            spans.setdefault(window.document.id, []).append(window.span)
    tokens = sum(counting.count(text) for _, text in loose)
    for name, document in sources.items():
        tokens += sum(counting.count(document.text(span.start, span.end)) for span in merge_spans(spans[name]))
    return tokens / context.budget.available


def adjacency(windows: Sequence[Window]) -> float:
    """How many windows stand next to one of their own document, of those that could.

    Of n windows of a document n - 1 pairs could be neighbours. Without such pairs nothing is torn apart: 1.

    >>> a, b = Window("a.md", "one"), Window("b.md", "two")
    >>> adjacency([a, a, b]), adjacency([a, b, a]), adjacency([a, b])
    (1.0, 0.0, 1.0)
    """
    could = len(windows) - len({window.path for window in windows})
    do = sum(first.path == second.path for first, second in pairwise(windows))
    return do / could if could else 1.0


def best_come_first(windows: Sequence[Window], *, top: int = _TOP, first: int = _FIRST) -> bool:
    """Whether windows with the `top` best scores stand among the `first` (CFS property 3).

    Where scores are equal any of them will do.

    >>> best_come_first([Window("a.md", "x", score=score) for score in (1, 2, 3, 4, 5)])
    True
    >>> best_come_first([Window("a.md", "x", score=score) for score in (1, 2, 3, 4, 5, 6)])
    False
    """
    best = sorted((window.score for window in windows), reverse=True)[:top]
    shown = sorted((window.score for window in windows[:first]), reverse=True)[:top]
    return shown == best


def relations(
    windows: Sequence[Window], evidence: Iterable[Range], *, documents: Mapping[str, Document] | None = None
) -> Relations:
    """What became of pairs of evidence that stand in one section of a document.

    Windows are given in the order in which they are read.

    >>> tea = Document("tea.txt", "It is hot. It is sweet.")
    >>> places = Span(0, 10), Span(11, 23)
    >>> from brimful.corpus.documents import Hit
    >>> hits = [Hit("tea.txt", place.start, place.end) for place in places]
    >>> relations([Window.cut(tea, 0, 10), Window.cut(tea, 11, 23)], hits).share
    1.0
    >>> relations([Window.cut(tea, 11, 23), Window.cut(tea, 0, 10)], hits).share
    0.0
    """
    known = {**{window.path: window.document for window in windows if window.document}, **(documents or {})}
    grouped: dict[tuple[str, int], list[Range]] = {}
    for at in sorted(evidence, key=lambda at: (at.path, at.start, at.end)):
        document = known.get(at.path)
        if document is None:
            # No window of it was shown, so nothing of it can be torn apart; where it is asked for, it is an error.
            if documents is not None:
                raise DocumentError(f"evidence stands in {at.path!r}, which is not among the documents; add it")
            continue
        section = document.outline.section_before(at.start)
        if at.end <= document.outline.section_after(at.start + 1):
            grouped.setdefault((at.path, section), []).append(at)
    pairs = [pair for places in grouped.values() for pair in combinations(places, 2)]
    verdicts = [_kept(windows, first, second) for first, second in pairs]
    shown = [verdict for verdict in verdicts if verdict is not None]
    return Relations(len(pairs), len(shown), sum(shown))


def _kept(windows: Sequence[Window], first: Range, second: Range) -> bool | None:
    """Whether the second piece stands in a window with the first, or in the next; None if one is not shown."""
    earlier, later = _holding(windows, first), _holding(windows, second)
    if not earlier or not later:
        return None
    return any(place in later or place + 1 in later for place in earlier)


def _holding(windows: Sequence[Window], at: Range) -> list[int]:
    return [
        place
        for place, window in enumerate(windows)
        if window.path == at.path and window.start <= at.start and at.end <= window.end
    ]
