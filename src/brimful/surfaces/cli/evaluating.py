"""How well does the engine answer a set of questions, or one made from your own documents?"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from operator import attrgetter
from pathlib import Path

from brimful.budget import budget_of
from brimful.corpus.documents import Document
from brimful.engine import Engine
from brimful.engine import open as open_store
from brimful.errors import InputError, choose
from brimful.evaluation.measures import VOCABULARY, Cited, Properties, properties, summary
from brimful.evaluation.run import Answerer, Result, plot
from brimful.evaluation.run import evaluate as run
from brimful.evaluation.sets import (
    SCOPES,
    SPLITS,
    EvaluationSet,
    Scope,
    ScopeChoice,
    Split,
    make_set,
    read_set,
    write_set,
)
from brimful.settings import Ask
from brimful.surfaces.cli.commands import corpus_of
from brimful.surfaces.cli.dispatch import FOUND
from brimful.surfaces.cli.terminal import one_line, say, show


def evaluate(
    *,
    place: str | None,
    make: str | None,
    paths: Sequence[str],
    questions: int,
    budgets: str,
    split: str,
    scope: str,
    limit: int | None,
    svg: str | None,
    set: str | None,  # noqa: A002
    store: str | None,
    as_json: bool,
) -> int:
    """Ask every question at every budget; the table, or the whole result as JSON, and a drawing."""
    sizes = _sizes(budgets)
    if (place is None) == (make is None):
        raise InputError("name the folder of a set, or --make FOLDER with the paths to make one from")
    if place is not None:
        asked = read_set(place, split=_split(split), scope=_scope(scope))
    else:
        asked = _made(Path(make or ""), paths, store=store, questions=questions)
    if limit is not None:
        asked = replace(asked, questions=asked.questions[: max(limit, 0)])
    chosen = Ask.of("", {"model": VOCABULARY}, set or "")
    result, found = _measured(asked, sizes, chosen)
    by_budget = {str(budget): summary(each) for budget, each in sorted(found.items())}
    if as_json:
        show(json.dumps({**json.loads(result.as_json()), "properties": by_budget}, indent=1, ensure_ascii=False) + "\n")
    else:
        show(result.table() + _table(by_budget))
    if svg is not None:
        _draw(result, Path(svg))
    return FOUND


def _sizes(budgets: str) -> tuple[int, ...]:
    try:
        return tuple(int(each) for each in budgets.split(",") if each.strip())
    except ValueError as error:
        raise InputError(f"budgets are whole numbers with commas between them, got {budgets!r}") from error


def _split(name: str) -> Split:
    choose(name, SPLITS, what="split")
    return next(each for each in SPLITS if each == name)


def _scope(name: str) -> ScopeChoice:
    choose(name, SCOPES, what="scope")
    return next(each for each in SCOPES if each == name)


def _made(folder: Path, paths: Sequence[str], *, store: str | None, questions: int) -> EvaluationSet:
    """A set from the documents of a store or of paths, kept in a folder so that it can be asked again."""
    if folder.exists() and any(folder.iterdir()):
        raise InputError(f"{one_line(str(folder))!r} holds something already; name a new folder")
    with corpus_of(store, paths).engine as engine:
        documents = [engine.document(path) for path in engine.columns.documents.paths]
    made = make_set(documents, questions=questions, name=folder.name)
    write_set(made, folder)
    number = len(made.questions)
    place = one_line(str(folder))
    say(f"{number:,} question{'' if number == 1 else 's'} written to {place}; ask again: brimful eval {place}")
    return made


def _table(by_budget: Mapping[str, Mapping[str, float]]) -> str:
    """CFS's properties: the mean, and behind the bar how many of the contexts have it."""
    lines = [f"{'budget':>8}  within  coverage | > 0.9  adjacency | > 0.7  top 3 in first 5"]
    lines += [
        f"{budget:>8}{each['within_budget']:>8.2f}{each['coverage']:>10.3f} |{each['covered']:>6.2f}"
        f"{each['adjacency']:>11.3f} |{each['adjacent']:>6.2f}{each['best_come_first']:>18.2f}"
        for budget, each in by_budget.items()
    ]
    return "\n".join(lines) + "\n"


def _measured(asked: EvaluationSet, budgets: Sequence[int], chosen: Ask) -> tuple[Result, dict[int, list[Properties]]]:
    """The result, and the properties of every context that was made for it."""
    found: dict[int, list[Properties]] = {}
    with tempfile.TemporaryDirectory(prefix="brimful-eval-") as folder, ExitStack() as opened:
        scopes = {question.scope for question in asked.questions}
        engines: dict[Scope, Engine] = {}
        for number, scope in enumerate(sorted(scopes, key=lambda scope: scope or ())):
            engines[scope] = opened.enter_context(open_store(Path(folder, f"scope-{number}.db")))
            engines[scope].add_documents(_within(asked.documents, scope), allow=("secret",))  # as the set has them
        return run(_answerer(engines, chosen, found), asked, budgets), found


def _within(documents: Iterable[Document], scope: Scope) -> list[Document]:
    return [document for document in documents if scope is None or document.path in scope]


def _answerer(engines: dict[Scope, Engine], chosen: Ask, found: dict[int, list[Properties]]) -> Answerer:
    """The engine as an answerer: its windows, the best first, counted as the set is."""
    by_rank = attrgetter("order")

    def answer(question: str, budget: int, scope: Scope) -> list[Cited]:
        context = engines[scope].context(replace(chosen, question=question, budget=budget_of(budget)))
        found.setdefault(budget, []).append(properties(context))
        windows = sorted(context.windows, key=by_rank)
        return [Cited(window.path, window.start, window.end) for window in windows]

    return answer


def _draw(result: Result, file: Path) -> None:
    if result.layout == "ir":
        raise InputError(f"{result.name} is an 'ir' set: it is asked at one budget, so there is no curve to draw")
    try:
        file.write_text(plot({result.name: result.means("recall")}), encoding="utf-8")
    except OSError as error:
        raise InputError(f"{str(file)!r} can't be written ({error.strerror}); name another file") from error
