"""How much of the evidence stands in an answer of so many tokens, and is a context well filled?

- recall: evidence tokens in the answer / evidence tokens
- precision: evidence tokens in the answer / tokens in the answer
- IoU: evidence tokens in the answer / tokens in either
- full: 1 when all evidence is inside, else 0
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from brimful.assembly.context import Context
from brimful.corpus.documents import Document
from brimful.evaluation.sets import Place
from brimful.text.bpe import tokenizer_of
from brimful.text.spans import Span, merge_spans
from brimful.text.tokens import TokenCounter
from brimful.text.vocabularies import tokens_for
from brimful.windows.window import Window

VOCABULARY = "cl100k_base"
"""What the published baselines were counted with."""

_BLANKS = np.array([code for code in range(0x3001) if chr(code).isspace()], np.uint32)
_NEXT_TO_LEAD = 3  # bytes of a character behind its first, at most

# ---- axis: Which tokens does a byte range hold, and which tokens does a budget buy?
#
# Documents are tokenised once and laid one after the other on one axis of tokens. A token belongs to a range when
# its first character that is not blank lies in it, so ranges that share no byte share no token, and an answer
# costs the document tokens it holds, each once, however its pieces were cut. Headers and separators are free here:
# this measures what was chosen, not how it is written down.


class _Filled(NamedTuple):
    """What a budget bought of an answer."""

    tokens: NDArray[np.int64]  # in the order in which they were taken
    asked: int  # tokens of the whole answer, each once
    invalid: int  # citations of unknown documents or of bytes that a document does not have


@final
class TokenAxis:
    """The tokens of some documents in one row.

    >>> axis = TokenAxis([Document("a.txt", "one two three")])
    >>> axis.span(Place("a.txt", 4, 13))
    (1, 3)
    >>> axis.fill([Place("a.txt", 4, 13), Place("a.txt", 0, 13)], budget=2).tokens.tolist()
    [1, 2]
    """

    def __init__(self, documents: Iterable[Document]) -> None:
        texts = {document.path: document.content for document in documents}
        self._sizes = {path: len(content) for path, content in texts.items()}
        self._bases = dict(zip(texts, np.cumsum([0, *self._sizes.values()]).tolist(), strict=False))
        tokenizer = tokenizer_of(VOCABULARY)
        encoded = [np.asarray(tokenizer.encode_ordinary(content.decode()), np.int64) for content in texts.values()]
        distinct, numbers = np.unique(_joined(encoded), return_inverse=True)
        lengths = np.array([len(tokenizer.decode_token_bytes(token)) for token in distinct.tolist()], np.int64)[numbers]
        self._places, self.is_blank = _places(b"".join(texts.values()), np.cumsum(lengths) - lengths)

    def __len__(self) -> int:
        return len(self._places)

    def span(self, place: Place) -> tuple[int, int]:
        """The half-open range of tokens whose first character lies in the place."""
        base = self._bases[place.path]
        first, last = self._places.searchsorted((base + place.start, base + place.end))
        return int(first), int(last)

    def said(self, place: Place) -> NDArray[np.int64]:
        """The tokens of a place that are not blank: what counts as evidence."""
        first, last = self.span(place)
        return first + np.flatnonzero(~self.is_blank[first:last])

    def fill(self, ranked: Sequence[Place], *, budget: int) -> _Filled:
        """Take places in order until the budget is spent; the last one is cut, a token taken twice is free."""
        valid = [each for each in ranked if 0 <= each.start <= each.end <= self._sizes.get(each.path, -1)]
        tokens = _joined([np.arange(*self.span(each)) for each in valid])
        distinct = tokens[np.sort(np.unique(tokens, return_index=True)[1])]
        return _Filled(distinct[:budget], len(distinct), len(ranked) - len(valid))


def _joined(parts: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
    return np.concatenate([*parts, np.zeros(0, np.int64)])


def _places(content: bytes, starts: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Where the first character of each token that is not blank begins, and whether it has none.

    A token that starts inside a character has that character's place.
    """
    is_lead = np.frombuffer(content, np.uint8) & 0xC0 != 0x80
    for _ in range(_NEXT_TO_LEAD):
        starts = starts - ~is_lead[starts]
    ends = np.append(starts[1:], len(content)) if len(starts) else starts
    codes = np.frombuffer(content.decode().encode("utf-32-le"), np.uint32)
    said = np.append(np.flatnonzero(is_lead)[~np.isin(codes, _BLANKS)], len(content))
    first = said[said.searchsorted(starts)]
    is_silent = first >= ends
    return np.where(is_silent, starts, first), is_silent & (ends > starts)


class Scores(NamedTuple):
    """One answer against the evidence of one question."""

    recall: float
    precision: float
    iou: float
    full: float
    tokens: int


def score(axis: TokenAxis, evidence: Iterable[Place], tokens: NDArray[np.int64]) -> Scores:
    """Measure the tokens of an answer.

    >>> axis = TokenAxis([Document("a.txt", "one two three four five")])
    >>> score(axis, [Place("a.txt", 4, 13)], axis.fill([Place("a.txt", 0, 7)], budget=100).tokens)
    Scores(recall=0.5, precision=0.5, iou=0.3333333333333333, full=0.0, tokens=2)
    """
    wanted, size = np.unique(_joined([axis.said(each) for each in evidence])), len(tokens)
    if not len(wanted):  # no token starts inside the evidence: there is nothing to find
        return Scores(1.0, 0.0, 0.0, 1.0, size)
    got = int(np.isin(wanted, tokens).sum())
    precision, iou = got / size if size else 0.0, got / (size + len(wanted) - got)
    return Scores(got / len(wanted), precision, iou, float(got == len(wanted)), size)


# ---- properties: Does a context have the properties that CFS asks for?

LEAST_COVERAGE = 0.9
_LEAST_ADJACENCY = 0.7
_BEST, _FIRST = 3, 5


class Properties(NamedTuple):
    """What was measured of one context."""

    within_budget: bool
    coverage: float
    adjacency: float
    best_come_first: bool


def properties(context: Context) -> Properties:
    """Measure one context."""
    counter = tokens_for(context.model)
    within = counter.count(context.text) <= context.budget.available
    best = best_come_first(context.windows)
    return Properties(within, coverage(context, counter=counter), adjacency(context.windows), best)


def summary(measured: Sequence[Properties]) -> dict[str, float]:
    """Of many contexts: the means, and the share of those that have each property.

    >>> summary([Properties(True, 0.95, 1.0, True), Properties(True, 0.85, 0.5, False)])["covered"]
    0.5
    """
    sums = {
        "within_budget": sum(each.within_budget for each in measured),
        "coverage": sum(each.coverage for each in measured),
        "covered": sum(each.coverage > LEAST_COVERAGE for each in measured),
        "adjacency": sum(each.adjacency for each in measured),
        "adjacent": sum(each.adjacency > _LEAST_ADJACENCY for each in measured),
        "best_come_first": sum(each.best_come_first for each in measured),
    }
    return {name: round(total / max(len(measured), 1), 4) for name, total in sums.items()}


def coverage(context: Context, *, counter: TokenCounter | None = None) -> float:
    """Distinct source tokens of the windows / available tokens; ranges that overlap are counted as one."""
    counting = counter or tokens_for(context.model)
    documents = {window.document.id: window.document for window in context.windows if window.document}
    spans: dict[str, list[Span]] = {name: [] for name in documents}
    loose: set[tuple[str, str]] = set()  # windows of other retrievers: each text once
    for window in context.windows:
        if window.document:
            spans[window.document.id].append(window.span)
        else:
            loose.add((window.path, window.text))
    texts = [documents[name].text(span.start, span.end) for name in documents for span in merge_spans(spans[name])]
    return sum(counting.count(text) for text in [*texts, *(text for _, text in loose)]) / context.budget.available


def adjacency(windows: Sequence[Window]) -> float:
    """How many windows stand next to one of their own document, of those that could; 1 where none could.

    >>> a, b = Window("a.md", "one"), Window("b.md", "two")
    >>> adjacency([a, a, b]), adjacency([a, b, a]), adjacency([a, b])
    (1.0, 0.0, 1.0)
    """
    could = len(windows) - len({window.path for window in windows})
    return sum(first.path == second.path for first, second in pairwise(windows)) / could if could else 1.0


def best_come_first(windows: Sequence[Window]) -> bool:
    """Whether windows with the three best scores stand among the first five.

    >>> best_come_first([Window("a.md", "x", score=score) for score in (1, 2, 3, 4, 5)])
    True
    >>> best_come_first([Window("a.md", "x", score=score) for score in (1, 2, 3, 4, 5, 6)])
    False
    """
    best = sorted((window.score for window in windows), reverse=True)[:_BEST]
    return sorted((window.score for window in windows[:_FIRST]), reverse=True)[:_BEST] == best
