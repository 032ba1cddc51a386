"""How well does the engine answer a set of questions?"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from operator import attrgetter
from pathlib import Path

from brimful.budget import budget_of
from brimful.engine import open as open_store
from brimful.errors import InputError
from brimful.evaluation.measures import VOCABULARY, Properties, properties, summary
from brimful.evaluation.run import Result
from brimful.evaluation.run import evaluate as run
from brimful.evaluation.sets import EvaluationSet, Place, Question, read_set
from brimful.settings import Ask
from brimful.surfaces.cli.dispatch import FOUND
from brimful.surfaces.cli.terminal import show


def evaluate(
    *,
    place: str,
    budgets: str,
    limit: int | None,
    set: str | None,  # noqa: A002
    as_json: bool,
) -> int:
    """Ask every question at every budget; the table, or the whole result as JSON."""
    sizes = _sizes(budgets)
    asked = read_set(place)
    if limit is not None:
        asked = replace(asked, questions=asked.questions[: max(limit, 0)])
    result, measured = _measured(asked, sizes, Ask.of("", {"model": VOCABULARY}, set or ""))
    by_budget = {str(budget): summary(each) for budget, each in sorted(measured.items())}
    if as_json:
        show(json.dumps({**result.record(), "properties": by_budget}, indent=1, ensure_ascii=False) + "\n")
    else:
        show(result.table() + _table(by_budget))
    return FOUND


def _sizes(budgets: str) -> tuple[int, ...]:
    try:
        return tuple(int(each) for each in budgets.split(",") if each.strip())
    except ValueError as error:
        raise InputError(f"budgets are whole numbers with commas between them, got {budgets!r}") from error


def _measured(asked: EvaluationSet, budgets: Sequence[int], chosen: Ask) -> tuple[Result, dict[int, list[Properties]]]:
    """The result, and the properties of every context that was made for it, by budget."""
    measured: dict[int, list[Properties]] = {}
    with (
        tempfile.TemporaryDirectory(prefix="brimful-eval-") as folder,
        open_store(Path(folder, "asked.db")) as engine,
    ):
        engine.add_documents(asked.documents, allow=("secret",))  # as the set has them

        def answer(question: Question, budget: int) -> list[Place]:
            context = engine.context(replace(chosen, question=question.text, budget=budget_of(budget)))
            measured.setdefault(budget, []).append(properties(context))
            windows = sorted(context.windows, key=attrgetter("order"))
            return [Place(window.path, window.start, window.end) for window in windows]

        return run(answer, asked, budgets), measured


def _table(by_budget: Mapping[str, Mapping[str, float]]) -> str:
    """CFS's properties: the mean, and behind the bar how many of the contexts have it."""
    lines = [f"{'budget':>8}  within  coverage | > 0.9  adjacency | > 0.7  top 3 in first 5"]
    lines += [
        f"{budget:>8}{each['within_budget']:>8.2f}{each['coverage']:>10.3f} |{each['covered']:>6.2f}"
        f"{each['adjacency']:>11.3f} |{each['adjacent']:>6.2f}{each['best_come_first']:>18.2f}"
        for budget, each in by_budget.items()
    ]
    return "\n".join(lines) + "\n"
