"""What does a framework get for a question? Texts that are within the budget when they are joined, with citations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from brimful.budget import Budget, budget_of
from brimful.engine import Engine
from brimful.errors import SettingError, choose
from brimful.settings import AskSettings, FormatName
from brimful.surfaces.records import answer_record
from brimful.text.vocabularies import tokens_for

SHAPES: tuple[FormatName, ...] = ("windows", "plain", "markdown", "xml", "json")
"""`windows` gives one text a window; every other format one text in all, with its headers."""


class Answer(NamedTuple):
    """A text for the model, how well it fits the question, and where it comes from; the same one has the same id."""

    id: str
    text: str
    score: float
    metadata: dict[str, Any]


def check_choices(budget: Budget | int, model: str, format: str, choices: Mapping[str, Any]) -> None:  # noqa: A002
    """Refuse what could not be asked with, before anything is asked."""
    budget_of(budget)
    tokens_for(model)
    choose(format, SHAPES, what="format")
    try:
        AskSettings(**{name: value for name, value in choices.items() if name != "field"})
    except TypeError as error:
        raise SettingError(f"choices: {error}; they are the fields of AskSettings, and field") from error


def check_engine(engine: object) -> Engine:
    """An open engine, as it is."""
    if not isinstance(engine, Engine):
        raise SettingError(f"engine is {type(engine).__name__}; give what brimful.open(path) returns")
    return engine


def answers(
    engine: Engine,
    question: str,
    *,
    budget: Budget | int,
    model: str,
    format: FormatName,  # noqa: A002
    choices: Mapping[str, Any],
) -> list[Answer]:
    """What the corpus says about a question, in reading order."""
    context = engine.context(question, budget=budget, model=model, format=format, **choices)
    if not context.windows:
        return []
    record: dict[str, Any] = answer_record(engine, context)
    assert context.receipt is not None
    account = {
        "receipt": context.receipt.id,
        "root": context.receipt.state_root,
        "tokens": context.tokens,
        "budget": context.budget.available,
        "corrections": record["corrections"],
        "missing": list(context.relevance.missing) if context.relevance else [],
    }
    windows = [_citation(window) for window in record["windows"]]
    if format != "windows":
        best = max(window.score for window in context.windows)
        return [Answer(context.receipt.id, context.text, best, {"windows": windows, **account})]
    return [
        Answer(window.id, window.text, window.score, {"source": window.path, **cited, **account})
        for window, cited in zip(context.windows, windows, strict=True)
    ]


def _citation(record: Mapping[str, Any]) -> dict[str, Any]:
    """Where a window comes from, as JSON values."""
    lines = record["lines"]
    return {
        "path": record["path"],
        "start": record["start"],
        "end": record["end"],
        "lines": None if lines is None else list(lines),
        "origins": list(record["origins"]),
        "score": record["score"],
        "terms": record["terms"],
        "filling": record["filling"],
    }
