"""What a framework gets: texts for a question, and texts of another retriever fitted into a budget.

The order of the latter is their ranking. Each is kept whole, cut at a natural boundary, or left out; with the documents
that they were cut from, windows are grown around them instead, and windows that meet become one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from brimful.assembly.pack import pack
from brimful.budget import Budget, budget_of
from brimful.documents.documents import Document, Hit
from brimful.engine import Engine
from brimful.errors import DocumentError, InputError, SettingError, choose
from brimful.settings import DEFAULT_MODEL, AskSettings, FormatName, PackSettings
from brimful.surfaces.records import answer_record
from brimful.text.vocabularies import tokens_for
from brimful.windows.inflate import inflate
from brimful.windows.window import Window

_SHAPES: tuple[FormatName, ...] = ("windows", "plain", "markdown", "xml", "json")
"""`windows` gives one text a window; every other format one text in all, with its headers."""
_CITED = ("path", "start", "end", "lines", "origins", "score", "terms", "filling")


class Answer(NamedTuple):
    """A text for the model, how well it fits the question, and where it comes from; an equal text has an equal id."""

    id: str
    text: str
    score: float
    metadata: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Retrieval:
    """How a retriever asks; refused here rather than with the first question. `choices` are fields of `AskSettings`."""

    budget: Budget | int
    model: str
    format: FormatName
    choices: Mapping[str, Any]

    def __post_init__(self) -> None:
        budget_of(self.budget)
        tokens_for(self.model)
        choose(self.format, _SHAPES, what="format")
        try:
            AskSettings(**{name: value for name, value in self.choices.items() if name != "field"})
        except TypeError as error:
            raise SettingError(f"choices: {error}; they are the fields of AskSettings, and field") from error

    def answers(self, engine: Engine, question: str, *, budget: Budget | int | None = None) -> list[Answer]:
        """The passages for a question in reading order; joined by empty lines they are within the budget."""
        budget = self.budget if budget is None else budget
        context = engine.context(question, budget=budget, model=self.model, format=self.format, **self.choices)
        if not context.windows:
            return []
        record: dict[str, Any] = answer_record(context)
        account = {name: record[name] for name in ("receipt", "root", "tokens", "budget", "corrections")}
        account["missing"] = list(context.relevance.missing) if context.relevance else []
        windows = [{name: window[name] for name in _CITED} for window in record["windows"]]
        if self.format != "windows":
            best = max(window.score for window in context.windows)
            return [Answer(record["receipt"], context.text, best, {"windows": windows, **account})]
        return [
            Answer(window.id, window.text, window.score, {"source": window.path, **cited, **account})
            for window, cited in zip(context.windows, windows, strict=True)
        ]


def check_engine(engine: object) -> Engine:
    """An open engine, as it is."""
    if not isinstance(engine, Engine):
        raise SettingError(f"engine is {type(engine).__name__}; give what brimful.open(path) returns")
    return engine


class Brought(NamedTuple):
    """A text of another retriever, and the name of the document that it was cut from, if it has one."""

    text: str
    source: str | None = None


@dataclass(frozen=True, slots=True)
class Kept:
    """A text that fits: the numbers of the texts that it shows (the best one first), and which of their bytes.

    `start` and `end` count in the text, or in its source document if that was given.
    """

    numbers: tuple[int, ...]
    text: str
    start: int
    end: int
    cut_start: bool
    cut_end: bool

    @property
    def record(self) -> dict[str, Any]:
        """Fields to add to a text's metadata."""
        bounds = ("start", "end", "cut_start", "cut_end")
        return {"ranks": list(self.numbers), **{name: getattr(self, name) for name in bounds}}


@dataclass(frozen=True, slots=True)
class Fitting:
    """A budget for texts: whose tokens count, and how alike two texts may be (None: anything)."""

    budget: Budget | int
    model: str = DEFAULT_MODEL
    dedup_threshold: float | None = None
    sources: Mapping[str, str] | None = None

    def __post_init__(self) -> None:
        budget_of(self.budget)
        tokens_for(self.model)
        PackSettings(dedup_threshold=self.dedup_threshold)
        if self.sources is not None and not isinstance(self.sources, Mapping):
            raise SettingError(f"sources is {type(self.sources).__name__}; give texts by the name of their document")

    def fit(self, brought: Sequence[Brought]) -> list[Kept]:
        """The texts that fit, in reading order; joined by empty lines they count at most the budget."""
        context = pack(
            self._windows(brought),
            budget=self.budget,
            format="windows",
            model=self.model,
            dedup_threshold=self.dedup_threshold,
        )
        return [
            Kept(_numbers(window), window.text, window.start, window.end, window.cut_start, window.cut_end)
            for window in context.windows
        ]

    def _windows(self, brought: Sequence[Brought]) -> list[Window]:
        ranked = [(number, item, float(len(brought) - number)) for number, item in enumerate(brought)]
        for number, item, _ in ranked:
            if not isinstance(item.text, str):
                raise InputError(f"text {number} is {type(item.text).__name__}; only texts can be fitted")
        if self.sources is None:
            return [_whole(number, item.text, score) for number, item, score in ranked if item.text.strip()]
        named = {item.source for _, item, _ in ranked}
        documents = {name: Document(name, self._source(name)) for name in sorted(filter(None, named))}
        hits = [_hit(documents, number, item, score) for number, item, score in ranked if item.text.strip()]
        return list(inflate(hits, documents, budget=self.budget))

    def _source(self, name: str) -> str:
        assert self.sources is not None
        if name not in self.sources:
            raise DocumentError(f"{name!r} is not among the {len(self.sources)} sources given; add its text")
        return self.sources[name]


def _whole(number: int, text: str, score: float) -> Window:
    """A text as a document, so that it can be cut where a reader would."""
    document = Document(f"{number:08}", text)
    return Window.cut(document, 0, len(document), score=score, hits=(Hit(document.path, 0, 0, score, sequence=number),))


def _hit(documents: Mapping[str, Document], number: int, brought: Brought, score: float) -> Hit:
    if brought.source is None:
        raise DocumentError(
            f"text {number} does not name the document that it was cut from; name it, or give no sources"
        )
    hit = Hit.of(documents[brought.source], brought.text)
    return Hit(hit.path, hit.start, hit.end, score, sequence=number)


def _numbers(window: Window) -> tuple[int, ...]:
    """The numbers of the texts that a window shows, the best first."""
    return tuple(sorted({hit.sequence for hit in window.hits}))
