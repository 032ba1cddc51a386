"""`brimful eval`: how much of a question's evidence its context holds."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from operator import attrgetter
from pathlib import Path

from brimful import evaluation
from brimful.budget import budget_of
from brimful.engine import open as open_store
from brimful.errors import InputError
from brimful.settings import Ask
from brimful.surfaces.cli.dispatch import FOUND
from brimful.surfaces.cli.opening import Line
from brimful.surfaces.cli.terminal import show


def evaluate(line: Line, *, place: str, budgets: str, limit: int | None, more: str | None) -> int:
    """Ask every question at every budget; print the table, or the result as JSON."""
    try:
        sizes = tuple(int(size) for size in budgets.split(",") if size.strip())
    except ValueError as error:
        raise InputError(f"budgets are whole numbers with commas between them, got {budgets!r}") from error
    questions = evaluation.read_set(place)
    if limit is not None:
        questions = replace(questions, questions=questions.questions[: max(limit, 0)])
    result, measured = _measured(questions, sizes, Ask.of("", {"model": evaluation.VOCABULARY}, more or ""))
    by_budget = {str(budget): evaluation.summary(properties) for budget, properties in sorted(measured.items())}
    if line.as_json:
        show(json.dumps({**result.record(), "properties": by_budget}, indent=1, ensure_ascii=False) + "\n")
    else:
        show(result.table() + _table(by_budget))
    return FOUND


def _measured(
    questions: evaluation.EvaluationSet, budgets: Sequence[int], chosen: Ask
) -> tuple[evaluation.Result, dict[int, list[evaluation.Properties]]]:
    """The result, and by budget the properties of every context."""
    measured: dict[int, list[evaluation.Properties]] = {}
    with (
        tempfile.TemporaryDirectory(prefix="brimful-eval-") as folder,
        open_store(Path(folder, "asked.db")) as engine,
    ):
        engine.add_documents(questions.documents, allow=("secret",))  # the set's documents, all of them

        def answer(question: evaluation.Question, budget: int) -> list[evaluation.Place]:
            context = engine.context(replace(chosen, question=question.text, budget=budget_of(budget)))
            measured.setdefault(budget, []).append(evaluation.properties(context))
            windows = sorted(context.windows, key=attrgetter("order"))
            return [evaluation.Place(window.path, window.start, window.end) for window in windows]

        return evaluation.evaluate(answer, questions, budgets), measured


def _table(by_budget: Mapping[str, Mapping[str, float]]) -> str:
    """CFS's properties: the mean, and after the bar the share of contexts that have it."""
    lines = [f"{'budget':>8}  within  coverage | > 0.9  adjacency | > 0.7  top 3 in first 5"]
    lines += [
        f"{budget:>8}{row['within_budget']:>8.2f}{row['coverage']:>10.3f} |{row['covered']:>6.2f}"
        f"{row['adjacency']:>11.3f} |{row['adjacent']:>6.2f}{row['best_come_first']:>18.2f}"
        for budget, row in by_budget.items()
    ]
    return "\n".join(lines) + "\n"
