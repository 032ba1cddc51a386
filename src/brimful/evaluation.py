"""How much of the evidence for a question a context holds, at each budget.

On disk a set is a folder of two files of JSON lines:

    docs.jsonl       {doc_id, text}
    questions.jsonl  {qid, question, evidence: [{doc_id, start, end, bstart, bend, text}]}

`start` and `end` count characters, `bstart` and `bend` bytes of UTF-8; either pair is enough, and two pairs must agree.
In memory everything is bytes. An answerer is any function `(question, budget) -> places`, best first, so other
retrievers are measured like this package.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from brimful.assembly.context import Context
from brimful.budget import budget_of
from brimful.documents.documents import Document
from brimful.errors import InputError
from brimful.text.bpe import tokenizer_of
from brimful.text.spans import Span, check_span, merge_spans
from brimful.text.tokens import TokenCounter
from brimful.text.vocabularies import tokens_for
from brimful.windows.window import Window


class Place(NamedTuple):
    """Bytes of a document: a piece of evidence, or a citation of an answer."""

    path: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Question:
    """A question with the bytes that answer it."""

    id: str
    text: str
    evidence: tuple[Place, ...]


@dataclass(frozen=True, slots=True)
class EvaluationSet:
    """Documents, and questions with their evidence in them."""

    name: str
    documents: tuple[Document, ...]
    questions: tuple[Question, ...]


def read_set(folder: Path | str) -> EvaluationSet:
    """Read and check a set; questions without evidence are left out."""
    place = Path(folder)
    if not (place / "docs.jsonl").is_file():
        raise InputError(f"{place} is not an evaluation set: it has no docs.jsonl")
    documents: dict[str, Document] = {}
    for where, row in _rows(place / "docs.jsonl"):
        path = _text(row, "doc_id", where)
        if path in documents:
            raise InputError(f"{where}: document {path!r} is there twice; give each its own id")
        documents[path] = Document(path, _text(row, "text", where))
    questions: dict[str, Question] = {}
    for where, row in _rows(place / "questions.jsonl"):
        name, text, pieces = _text(row, "qid", where), _text(row, "question", where), row.get("evidence")
        if not isinstance(pieces, list) or not all(isinstance(piece, dict) for piece in pieces):
            raise InputError(f"{where}: 'evidence' must be a list of objects, got {pieces!r:.80}")
        if name in questions:
            raise InputError(f"{where}: question {name!r} is there twice; give each its own id")
        if pieces:
            evidence = tuple(
                _evidence(piece, documents, f"{where}, evidence[{number}]") for number, piece in enumerate(pieces)
            )
            questions[name] = Question(name, text, evidence)
    if not questions:
        raise InputError(f"{place} has no question with evidence")
    return EvaluationSet(place.name, tuple(documents.values()), tuple(questions.values()))


def _rows(file: Path) -> Iterator[tuple[str, dict[str, object]]]:
    """The objects of a file of JSON lines, each with the name of the file and its line."""
    try:
        text = file.read_bytes().decode()
    except OSError as error:
        raise InputError(f"{file} can't be read ({error.strerror}); an evaluation set needs it") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{file}: byte {error.start} is not UTF-8; write the set as UTF-8") from error
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        where = f"{file.name}:{number}"
        try:
            row = json.loads(line)
        except ValueError as error:
            raise InputError(f"{where} is not JSON ({error}); one object a line is expected") from error
        if not isinstance(row, dict):
            raise InputError(f"{where} holds {line!r:.60}; one object a line is expected")
        yield where, row


def _text(row: Mapping[str, object], name: str, where: str) -> str:
    value = row.get(name)
    if not isinstance(value, str):
        raise InputError(f"{where}: {name!r} must be a text, got {value!r:.80}")
    return value


def _evidence(piece: Mapping[str, object], documents: Mapping[str, Document], where: str) -> Place:
    """The bytes of a piece of evidence; its characters, bytes and text must agree."""
    path = _text(piece, "doc_id", where)
    if path not in documents:
        raise InputError(f"{where}: no document {path!r} in docs.jsonl")
    document = documents[path]
    characters, in_bytes = _span(piece, "start", "end", where), _span(piece, "bstart", "bend", where)
    if characters is not None:
        text = document.content.decode()
        check_span(*characters, length=len(text), where=f" (characters, at {where})")
        start, end = (len(text[:offset].encode()) for offset in characters)
        if in_bytes not in (None, (start, end)):
            raise InputError(f"{where}: characters {characters} are the bytes {(start, end)}, not {in_bytes}")
        in_bytes = start, end
    if in_bytes is None:
        raise InputError(f"{where}: evidence needs start and end (characters) or bstart and bend (bytes)")
    content = document.text(*in_bytes)
    if "text" in piece and _text(piece, "text", where) != content:
        raise InputError(f"{where}: {list(in_bytes)} of {path} holds {content!r:.60}, not {piece['text']!r:.60}")
    return Place(path, *in_bytes)


def _span(piece: Mapping[str, object], first: str, second: str, where: str) -> tuple[int, int] | None:
    start, end = piece.get(first), piece.get(second)
    if start is None and end is None:
        return None
    check_span(start, end, where=f" ({first}, {second} at {where})")
    assert isinstance(start, int)
    assert isinstance(end, int)
    return start, end


VOCABULARY = "cl100k_base"
"""The vocabulary of the published baselines."""

_BLANKS = np.array([code for code in range(0x3001) if chr(code).isspace()], np.uint32)
_NEXT_TO_LEAD = 3  # bytes of a character after its first, at most


class _Filled(NamedTuple):
    """The part of an answer within a budget."""

    tokens: NDArray[np.int64]  # in the order in which they were taken
    answer_tokens: int  # of the whole answer, each once
    invalid: int  # citations of unknown documents or of bytes that a document does not have


@final
class TokenAxis:
    """The tokens of all documents in one row, to measure which of them an answer holds.

    A token belongs to a byte range if its first character that is not blank lies in it. So disjoint ranges share no
    token, and an answer costs each token once, however it is cut; headers and separators are free.

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

    def evidence(self, place: Place) -> NDArray[np.int64]:
        """The tokens of a place that are not blank."""
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
    """The start of each token's first character that is not blank, and whether it has none.

    A token that starts inside a character has that character's place.
    """
    is_lead = np.frombuffer(content, np.uint8) & 0xC0 != 0x80
    for _ in range(_NEXT_TO_LEAD):
        starts = starts - ~is_lead[starts]
    ends = np.append(starts[1:], len(content)) if len(starts) else starts
    codes = np.frombuffer(content.decode().encode("utf-32-le"), np.uint32)
    starts_of_text = np.append(np.flatnonzero(is_lead)[~np.isin(codes, _BLANKS)], len(content))
    first = starts_of_text[starts_of_text.searchsorted(starts)]
    is_silent = first >= ends
    return np.where(is_silent, starts, first), is_silent & (ends > starts)


class Scores(NamedTuple):
    """One answer against the evidence of one question.

    Of evidence tokens in the answer: `recall` is their share of the evidence, `precision` of the answer, `iou` of both
    together. `full` is 1 when all evidence is inside.
    """

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
    wanted, size = np.unique(_joined([axis.evidence(each) for each in evidence])), len(tokens)
    if not len(wanted):  # no token starts inside the evidence: there is nothing to find
        return Scores(1.0, 0.0, 0.0, 1.0, size)
    shared = int(np.isin(wanted, tokens).sum())
    precision, iou = shared / size if size else 0.0, shared / (size + len(wanted) - shared)
    return Scores(shared / len(wanted), precision, iou, float(shared == len(wanted)), size)


LEAST_COVERAGE = 0.9
_LEAST_ADJACENCY = 0.7
_BEST, _FIRST = 3, 5


class Properties(NamedTuple):
    """The properties of CFS, measured on one context."""

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
    """Means over contexts, and the share of contexts with each property.

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
    """The share of windows next to another of their document, of the windows that could be; 1 if none could.

    >>> a, b = Window("a.md", "one"), Window("b.md", "two")
    >>> adjacency([a, a, b]), adjacency([a, b, a]), adjacency([a, b])
    (1.0, 0.0, 1.0)
    """
    possible = len(windows) - len({window.path for window in windows})
    return sum(first.path == second.path for first, second in pairwise(windows)) / possible if possible else 1.0


def best_come_first(windows: Sequence[Window]) -> bool:
    """Whether the three best scores are among the first five windows.

    >>> best_come_first([Window("a.md", "x", score=score) for score in (1, 2, 3, 4, 5)])
    True
    >>> best_come_first([Window("a.md", "x", score=score) for score in (1, 2, 3, 4, 5, 6)])
    False
    """
    best = sorted((window.score for window in windows), reverse=True)[:_BEST]
    return sorted((window.score for window in windows[:_FIRST]), reverse=True)[:_BEST] == best


BUDGETS = (500, 1000, 2000, 4000)

Answerer = Callable[[Question, int], Sequence[Place]]
_HEADS = {"recall": "recall", "full": "full", "precision": "precision", "iou": "IoU"}
_DIGITS = 6
_LONGEST_NAME = 32


@dataclass(frozen=True, slots=True)
class Result:
    """Everything measured of one answerer on one set."""

    name: str
    documents: int
    budgets: tuple[int, ...]
    scores: dict[str, tuple[Scores, ...]]  # of each question by its id, at each budget
    overlong: tuple[int, ...]  # answers above the budget, at each budget; the surplus is not read
    invalid: int  # citations of unknown bytes
    seconds: tuple[float, ...]  # that each answer took, sorted

    def values(self, measure: str, budget: int) -> dict[str, float]:
        """The measure of every question, by its id."""
        column = self.budgets.index(budget)
        return {name: float(getattr(scores[column], measure)) for name, scores in self.scores.items()}

    def mean(self, measure: str, budget: int) -> float:
        """The measure's mean over questions."""
        return math.fsum(self.values(measure, budget).values()) / len(self.scores)

    def record(self) -> dict[str, object]:
        """The result for JSON, timing last."""
        timing = {"answers": len(self.seconds), "p50_ms": round(self.ms(50), 3), "p95_ms": round(self.ms(95), 3)}
        names = list(map(str, self.budgets))
        rows = [
            {"id": question, **dict(zip(names, (_rounded(each._asdict()) for each in scores), strict=True))}
            for question, scores in self.scores.items()
        ]
        means = {str(budget): _rounded({name: self.mean(name, budget) for name in _HEADS}) for budget in self.budgets}
        return {
            "set": self.name,
            "layout": "qa",
            "documents": self.documents,
            "questions": len(self.scores),
            "budgets": list(self.budgets),
            "means": means,
            "overlong": dict(zip(names, self.overlong, strict=True)),
            "invalid": self.invalid,
            "per_question": rows,
            "timing": timing,
        }

    def table(self) -> str:
        """The means as lines of at most 80 characters."""
        name = self.name if len(self.name) <= _LONGEST_NAME else self.name[: _LONGEST_NAME - 1] + "…"
        lines = [f"{name}: {len(self.scores)} questions, {self.documents} documents"]
        lines.append(f"{'budget':>8}" + "".join(f"{head:>11}" for head in (*_HEADS.values(), "overlong")))
        for budget, overlong in zip(self.budgets, self.overlong, strict=True):
            cells = "".join(f"{self.mean(name, budget):>11.4f}" for name in _HEADS)
            lines.append(f"{budget:>8}{cells}{overlong:>11}")
        lines.append(f"{len(self.seconds)} answers, p50 {self.ms(50):.1f} ms, p95 {self.ms(95):.1f} ms")
        if self.invalid:
            lines.append(f"{self.invalid} citations name bytes that are not there; they gained nothing")
        return "\n".join(lines) + "\n"

    def ms(self, percent: int) -> float:
        """The time in milliseconds that `percent` of the answers did not exceed."""
        return 1e3 * self.seconds[max(-(-len(self.seconds) * percent // 100), 1) - 1]


def _rounded(values: dict[str, float]) -> dict[str, float]:
    return {name: round(value, _DIGITS) for name, value in values.items()}


def evaluate(answer: Answerer, questions: EvaluationSet, budgets: Sequence[int] = BUDGETS) -> Result:
    """Ask every question at every budget and measure the answers.

    >>> from brimful.documents.documents import Document
    >>> question = Question("q1", "When?", (Place("a.txt", 4, 11),))
    >>> tea = EvaluationSet("tea", (Document("a.txt", "Tea at four."),), (question,))
    >>> result = evaluate(lambda question, budget: [Place("a.txt", 0, 12)], tea, (3, 4))
    >>> result.mean("recall", 3), result.mean("recall", 4)
    (0.5, 1.0)
    """
    sizes = tuple(sorted({budget_of(budget).available for budget in budgets}))
    if not sizes or not questions.questions:
        raise InputError("nothing to measure: give at least one budget and one question")
    axis = TokenAxis(questions.documents)
    scores: dict[str, tuple[Scores, ...]] = {}
    overlong, invalid, seconds = dict.fromkeys(sizes, 0), 0, []
    for question in questions.questions:
        row = []
        for size in sizes:
            began = time.perf_counter()
            places = list(answer(question, size))
            seconds.append(time.perf_counter() - began)
            filled = axis.fill(places, budget=size)
            overlong[size] += filled.answer_tokens > size
            invalid += filled.invalid
            row.append(score(axis, question.evidence, filled.tokens))
        scores[question.id] = tuple(row)
    names = questions.name, len(questions.documents)
    return Result(*names, sizes, scores, tuple(overlong.values()), invalid, tuple(sorted(seconds)))
