"""How good is an answer, is the difference between two answerers real, and does a context have what it should?

- recall: evidence tokens in the context / evidence tokens
- precision: evidence tokens in the context / tokens in the context
- IoU: evidence tokens in the context / tokens in either
- full: 1 when every piece of evidence is wholly inside, else 0
- nDCG@10: graded documents among the first ten, for sets that name documents and no bytes

All with each token once, at a budget.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations, pairwise
from typing import TYPE_CHECKING, NamedTuple, Protocol, final

import numpy as np
from blake3 import blake3
from numpy.typing import NDArray

from brimful.assembly.context import Context, verify_determinism
from brimful.corpus.documents import Document, by_path
from brimful.errors import DocumentError, InputError, MissingPartError, install
from brimful.evaluation.sets import Question
from brimful.text.spans import Span, merge_spans
from brimful.text.tokens import TokenCounter
from brimful.text.vocabularies import tokens_for
from brimful.windows.window import Window

if TYPE_CHECKING:
    from splintr import AnyTokenizer

# ---- axis: Which tokens does a byte range hold, and which tokens does a budget buy?
#
# Documents are tokenised once and laid one after the other on one axis of tokens. A token belongs to a range when
# its first character that is not blank lies in it, so ranges that share no byte share no token, and a context
# costs the document tokens it holds, each once, however its pieces were cut. Headers and separators are free here,
# for everyone: this measures what was chosen, not how it is written down.
#
# A token that ends inside a character (of Chinese, say) has the text up to that character, and one that starts
# there has the character's own place.

VOCABULARY = "cl100k_base"
"""What the published baselines were counted with; an axis may have another."""

_SLICE_CHARACTERS = 200_000  # longer texts are tokenised in slices that end at an empty line where there is one
_BLANKS = np.array([code for code in range(0x3001) if chr(code).isspace()], np.uint32)
_NEXT_TO_LEAD = 3  # a character has at most so many bytes behind its first


class Range(Protocol):
    """Anything that names bytes of a document: evidence, a citation, a window."""

    @property
    def path(self) -> str:
        """The document."""

    @property
    def start(self) -> int:
        """Its first byte."""

    @property
    def end(self) -> int:
        """The byte behind its last."""


class Cited(NamedTuple):
    """Bytes that an answerer put into its context; answers are sequences of these, the best first."""

    path: str
    start: int
    end: int


class _Filled(NamedTuple):
    """What a budget bought: tokens in the order in which they were taken."""

    tokens: NDArray[np.int64]
    reached: frozenset[str]  # documents whose turn came before the budget was spent
    asked: int  # tokens of the whole answer, each once
    invalid: int  # citations of unknown documents or of bytes that a document does not have


@final
class TokenAxis:
    """The tokens of some documents, as columns.

    >>> axis = TokenAxis([Document("a.txt", "one two three")])
    >>> axis.span("a.txt", 4, 13)
    (1, 3)
    >>> axis.fill([Cited("a.txt", 4, 13), Cited("a.txt", 0, 13)], budget=2).tokens.tolist()
    [1, 2]
    """

    def __init__(self, documents: Iterable[Document], *, vocabulary: str = VOCABULARY) -> None:
        known = by_path(documents)
        content = b"".join(document.content for document in known.values())
        ends = np.cumsum([0, *(len(document) for document in known.values())])
        self._bases = dict(zip(known, ends.tolist(), strict=False))
        self._sizes = {path: len(document) for path, document in known.items()}
        tokens = _token_starts([document.content.decode() for document in known.values()], vocabulary)
        self._places, self.is_blank = _places(content, tokens)
        self._seen = np.zeros(len(tokens), bool)  # scratch: all false between calls

    def __len__(self) -> int:
        return len(self._places)

    def holds(self, cited: Range) -> bool:
        """Whether the range is one of a document that is here."""
        return cited.path in self._sizes and 0 <= cited.start <= cited.end <= self._sizes[cited.path]

    def span(self, path: str, start: int, end: int) -> tuple[int, int]:
        """The half-open range of tokens whose first character lies in `[start, end)` of the document."""
        base = self._bases[path]
        first, last = self._places.searchsorted((base + start, base + end))
        return int(first), int(last)

    def said(self, at: Range) -> NDArray[np.int64]:
        """The tokens of a range that are not blank: what counts as evidence."""
        first, last = self.span(at.path, at.start, at.end)
        return first + np.flatnonzero(~self.is_blank[first:last])

    def fill(self, ranked: Sequence[Range], *, budget: int) -> _Filled:
        """Take ranges in order until the budget is spent; the last one is cut, a token taken twice is free."""
        valid = [cited for cited in ranked if self.holds(cited)]
        bases = [self._bases[cited.path] for cited in valid]
        firsts = self._places.searchsorted([base + at.start for base, at in zip(bases, valid, strict=True)])
        lasts = self._places.searchsorted([base + at.end for base, at in zip(bases, valid, strict=True)])
        taken: list[NDArray[np.int64]] = []
        reached = set()
        room = budget
        for cited, first, last in zip(valid, firsts.tolist(), lasts.tolist(), strict=True):
            reached.add(cited.path)
            # At most `budget` tokens are taken or were taken before, so no more need to be looked at.
            tokens = np.arange(first, min(last, first + budget))
            tokens = tokens[~self._seen[tokens]][:room]
            self._seen[tokens] = True
            taken.append(tokens)
            room -= len(tokens)
            if room <= 0:
                break
        together = np.concatenate([*taken, np.zeros(0, np.int64)])
        self._seen[together] = False
        return _Filled(together, frozenset(reached), _union(firsts, lasts), len(ranked) - len(valid))

    def share(self, wanted: NDArray[np.int64], held: NDArray[np.int64]) -> int:
        """How many of the wanted tokens are held; neither has a token twice."""
        self._seen[held] = True
        shared = int(np.count_nonzero(self._seen[wanted]))
        self._seen[held] = False
        return shared


def _union(firsts: NDArray[np.int64], lasts: NDArray[np.int64]) -> int:
    """How many numbers lie in any of the ranges.

    >>> _union(np.array([0, 2, 8]), np.array([5, 4, 9]))
    6
    """
    if not len(firsts):
        return 0
    order = np.lexsort((lasts, firsts))
    starts, ends = firsts[order], lasts[order]
    before = np.concatenate([[0], np.maximum.accumulate(ends)[:-1]])
    return int(np.maximum(ends - np.maximum(starts, before), 0).sum())


def _slices(text: str) -> Iterator[str]:
    at = 0
    while at < len(text):
        end = at + _SLICE_CHARACTERS
        if end < len(text):
            gap = text.rfind("\n\n", at, end)
            end = gap + 2 if gap > at else end
        yield text[at:end]
        at = end


def _token_starts(texts: Iterable[str], vocabulary: str) -> NDArray[np.int64]:
    """Where each token starts in the joined UTF-8 of the texts; no token crosses from one to the next."""
    tokenizer = _load(vocabulary)
    encoded = [np.asarray(tokenizer.encode_ordinary(part), np.int64) for text in texts for part in _slices(text)]
    tokens = np.concatenate([*encoded, np.zeros(0, np.int64)])
    distinct, place = np.unique(tokens, return_inverse=True)
    lengths = np.array([len(tokenizer.decode_token_bytes(token)) for token in distinct.tolist()], np.int64)[place]
    return np.cumsum(lengths) - lengths


def _places(content: bytes, starts: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Where each token says its first thing, and whether it says nothing."""
    is_lead = np.frombuffer(content, np.uint8) & 0xC0 != 0x80
    for _ in range(_NEXT_TO_LEAD):
        starts = starts - ~is_lead[starts]
    ends = np.append(starts[1:], len(content)) if len(starts) else starts
    codes = np.frombuffer(content.decode().encode("utf-32-le"), np.uint32)
    said = np.append(np.flatnonzero(is_lead)[~np.isin(codes, _BLANKS)], len(content))
    first = said[said.searchsorted(starts)]
    is_silent = first >= ends
    return np.where(is_silent, starts, first), is_silent & (ends > starts)


@cache
def _load(vocabulary: str) -> AnyTokenizer:
    try:
        from splintr import Tokenizer

        return Tokenizer.from_pretrained(vocabulary)
    except (ImportError, ValueError) as error:
        raise MissingPartError(
            f"measuring in {vocabulary!r} tokens needs splintr-rs with that vocabulary ({error}); "
            f"run: {install(package='splintr-rs>=0.22,<0.23')}"
        ) from error


_MILLIONTHS = 1_000_000
_RESAMPLES = 1_000
_LOW, _HIGH = 25, 974  # of 1,000 sorted means: the middle 95 %


class Scores(NamedTuple):
    """One context against the evidence of one question."""

    recall: float
    precision: float
    iou: float
    full: float
    tokens: int


class Difference(NamedTuple):
    """The mean of paired differences with the middle 95 % of its resampled means."""

    mean: float
    low: float
    high: float
    questions: int

    @property
    def is_clear(self) -> bool:
        """Whether zero lies outside the interval."""
        return self.low > 0 or self.high < 0

    def __str__(self) -> str:
        return f"{self.mean:+.3f} [{self.low:+.3f}, {self.high:+.3f}]"


def score(axis: TokenAxis, question: Question, filled: _Filled) -> Scores:
    """Measure one filled context.

    >>> from brimful.corpus.documents import Document
    >>> from brimful.evaluation.measures import Cited
    >>> from brimful.evaluation.sets import Evidence
    >>> axis = TokenAxis([Document("a.txt", "one two three four five")])
    >>> question = Question("q", "?", evidence=(Evidence("a.txt", 4, 13),))
    >>> score(axis, question, axis.fill([Cited("a.txt", 0, 7)], budget=100))
    Scores(recall=0.5, precision=0.5, iou=0.3333333333333333, full=0.0, tokens=2)
    """
    parts = [axis.said(at) for at in question.evidence]
    wanted = np.unique(np.concatenate([*parts, np.zeros(0, np.int64)]))
    size = len(filled.tokens)
    if not len(wanted):  # no token starts inside the evidence: there is nothing to find
        return Scores(1.0, 0.0, 0.0, 1.0, size)
    got = axis.share(wanted, filled.tokens)
    whole = all(
        at.path in filled.reached and axis.share(part, filled.tokens) == len(part)
        for at, part in zip(question.evidence, parts, strict=True)
    )
    return Scores(got / len(wanted), got / size if size else 0.0, got / (size + len(wanted) - got), float(whole), size)


def ndcg(ranked: Sequence[str], relevant: Mapping[str, int], *, depth: int = 10) -> float:
    """Normalised discounted cumulative gain with linear gains; a document counts where it first stands.

    >>> ndcg(["b", "a", "a"], {"a": 1})
    0.6309297535714575
    """
    first_ten = list(dict.fromkeys(ranked))[:depth]
    gains = [relevant.get(path, 0) for path in first_ten]
    best = sorted((grade for grade in relevant.values() if grade > 0), reverse=True)[:depth]
    ideal = _discounted(best)
    return _discounted(gains) / ideal if ideal else 0.0


def _discounted(gains: Sequence[int]) -> float:
    return sum(gain / math.log2(place + 2) for place, gain in enumerate(gains))


def difference(ours: Mapping[str, float], theirs: Mapping[str, float]) -> Difference:
    """Our values less theirs, question by question, with a bootstrap interval over the questions both have.

    The draws come from a hash of the question ids, and sums are taken in whole millionths, so that the interval
    is the same in every run, on every machine and for every order of the questions.

    >>> difference({"a": 1.0, "b": 0.5}, {"a": 0.5, "b": 0.5}).mean
    0.25
    """
    ids = sorted(ours.keys() & theirs.keys())
    if not ids:
        raise InputError("no question is in both results; compare results of one set")
    steps = np.array([round((ours[name] - theirs[name]) * _MILLIONTHS) for name in ids], np.int64)
    seed = blake3("\n".join(ids).encode())
    drawn = np.frombuffer(seed.digest(length=4 * _RESAMPLES * len(ids)), "<u4").astype(np.uint64)
    rows = (drawn * np.uint64(len(ids)) >> np.uint64(32)).astype(np.int64)
    sums = np.sort(steps[rows].reshape(_RESAMPLES, len(ids)).sum(axis=1))
    low, mean, high = (int(total) / (_MILLIONTHS * len(ids)) for total in (sums[_LOW], steps.sum(), sums[_HIGH]))
    return Difference(mean, low, high, len(ids))


# ---- properties: Does a context have the properties that the specifications ask for?
#
# From CFS, "Desired Properties":
#
# - determinism: the same windows and bytes when assembled again
# - budget: the rendered text counts at most what is available
# - relevance: the three best windows stand among the first five
# - coherence: windows of one document stand next to each other, adjacency > 0.7
# - coverage: distinct source tokens / budget > 0.9, each source token counted once
#
# From 085b, "Performance Targets":
#
# - relations: of two pieces of one section that are both shown, > 90 % stand in the same window or in neighbouring
#   ones, in reading order

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
