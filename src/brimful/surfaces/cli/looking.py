"""What does a store hold, and how does it move? A map, a list, a document or some of its lines; a copy."""

from __future__ import annotations

import datetime as dt
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from pathlib import Path

from brimful import evaluation
from brimful.budget import budget_of
from brimful.engine import Engine
from brimful.engine import open as open_store
from brimful.errors import BrimfulError, InputError, choose
from brimful.settings import Ask
from brimful.store.address import Address, Place
from brimful.store.opening import opened
from brimful.store.rows import Listed
from brimful.store.upkeep import copy as copied
from brimful.surfaces import records
from brimful.surfaces.cli import views
from brimful.surfaces.cli.commands import asked, corpus_of, exit_for
from brimful.surfaces.cli.configuration import STORE_NAME, cache_folder, cached_store, store_to_ask, store_to_fill
from brimful.surfaces.cli.dispatch import FOUND, NOTHING
from brimful.surfaces.cli.terminal import copy as put_on_clipboard
from brimful.surfaces.cli.terminal import give, one_line, progress, say, say_copied, show, tint
from brimful.text.vocabularies import tokens_for

# ---- looking: What does a store hold? Commands that only look: a map, a list, a document or some of its lines.

_MOST_WORDS = 2  # of `ls`
_UNITS = ("", "k", "M", "G", "T")
_STEP = 1_000


def map(  # noqa: A001  (the command's name)
    *,
    paths: Sequence[str],
    budget: int,
    question: str | None,
    path: Sequence[str] | None,
    model: str,
    copy: bool,
    store: str | None,
    as_json: bool,
    quiet: bool,
) -> int:
    """Files with their headings and definitions, within a budget."""
    budget_of(budget)
    tokens_for(model)  # an unknown model is named before anything is read
    question = None if question is None else asked(question)
    corpus = corpus_of(store, paths)
    with corpus.engine as engine, engine.corpus():
        drawn = engine.map(budget=budget, question=question, model=model, path=tuple(path or ()))
        record = {"question": question, **records.map_record(drawn), "root": engine.root, "store": str(engine.path)}
        text = records.as_json(record) if as_json else drawn.text
        give(text)
        if copy and drawn.text:
            copied_by = put_on_clipboard(text)
            say_copied(None if quiet else copied_by)
        if not quiet:
            counted = drawn.model if drawn.exact else f"{drawn.model}, estimated"
            total = drawn.files + drawn.files_left_out
            say(
                tint("strong", f"{drawn.tokens:,} of {drawn.budget:,} tokens ({counted})")
                + f": {drawn.files:,} of {total:,} files, {drawn.names:,} headings and definitions in them"
            )
            views.show_skips(corpus.report.skipped)
    return exit_for(corpus, found=bool(drawn.files))


def ls(*, words: Sequence[str] | None, lines: bool, store: str | None, as_json: bool) -> int:
    """The stored documents, or those whose path fits."""
    place, pattern = _place_and_pattern(store, list(words or ()))
    with open_store(place) as engine, engine.corpus():
        found = engine.documents(pattern or (), lines=lines)
        if as_json:
            listed = [records.listed_record(each) for each in found]
            show(records.as_json({"documents": listed, "root": engine.root, "store": str(engine.path)}))
        elif sys.stdout.isatty():
            show("".join(_listed(each) for each in found))
        else:
            give("".join(f"{one_line(each.path)}\n" for each in found))
        if not found and not as_json:
            _say_nothing(engine, pattern)
    return FOUND if found else NOTHING


def get(*, place: str, copy: bool, store: str | None, as_json: bool) -> int:
    """A stored document, or some of its lines."""
    with open_store(store_to_ask(store)) as engine, engine.corpus():
        cited = engine.cite(place)
        text = cited.text
        if as_json:
            record = records.cited_passage(engine, cited)
            text = records.as_json({**record, "root": engine.root, "store": str(engine.path)})
        give(text)
    if copy:
        say_copied(put_on_clipboard(text))
    return FOUND


# ---- what they share


def _place_and_pattern(store: str | None, words: list[str]) -> tuple[Place, str | None]:
    """Which store is meant, and which of its documents: a single word is a folder if it has a store of its own."""
    if len(words) > _MOST_WORDS:
        raise InputError(f"{len(words)} words are too many for ls; give a folder, a pattern, or both: ls docs '*.md'")
    if len(words) == _MOST_WORDS:
        return store_to_ask(store, words[:1]), words[1]
    if not words:
        return store_to_ask(store), None
    if store is None and cached_store(words).is_file():
        return store_to_ask(None, words), None
    return store_to_ask(store), words[0]


def _say_nothing(engine: Engine, pattern: str | None) -> None:
    total = len(engine.columns.documents)
    if pattern is None or not total:
        say("the store has no documents; brimful add PATH brings some in")
    else:
        say(f"none of {total:,} paths has {one_line(pattern)!r} in it, or fits it as a pattern")


def _listed(each: Listed) -> str:
    """A document on a line of its own, for a person."""
    when = "" if each.time is None else _day(each.time)
    lines = "" if each.lines is None else f"{each.lines:>9,} "
    path = tint("path", one_line(each.path), stream=sys.stdout)
    return f"{_size(each.bytes):>6} {lines}{each.kind:<5} {when:<10} {path}\n"


def _size(number: int) -> str:
    """Bytes in a few digits.

    >>> _size(999), _size(1_500), _size(2_345_678)
    ('999', '1.5k', '2.3M')
    """
    if number < _STEP:
        return str(number)
    power = 0
    value = float(number)
    while value >= _STEP and power < len(_UNITS) - 1:
        value, power = value / _STEP, power + 1
    return f"{value:.1f}{_UNITS[power]}"


def _day(seconds: int) -> str:
    try:
        return dt.datetime.fromtimestamp(seconds, dt.UTC).date().isoformat()
    except (OverflowError, OSError, ValueError):  # a time that no calendar has
        return ""


# ---- moving: How does a person move a corpus, and set up a server for several of them?

_ACTIONS = ("roles", "terms")


def copy(*, source: str, target: str, delete: bool, as_json: bool, quiet: bool) -> int:
    """Copy a store, and say what was done."""
    from brimful.densify.memory import copy_answers

    places = store_to_ask(source), store_to_fill(target, (), adding=False)
    if str(places[0]) == str(places[1]):
        raise InputError(f"{one_line(str(places[0]))} can't be copied to itself; name another store")
    with opened(places[0]) as one, opened(places[1]) as two, progress("copying") as advance:
        done = copied(one, two, delete=delete, progress=None if quiet else advance)
        answers = copy_answers(one, two)
    record = {"source": str(places[0]), "target": str(places[1]), **done._asdict(), "answers": answers}
    said = (
        f"{done.copied:,} documents copied, {done.unchanged:,} were there, {done.deleted:,} deleted; "
        f"{answers:,} answers of models and captures copied; root {done.root}\n"
    )
    show(records.as_json(record) if as_json else said)
    return FOUND if done.copied + done.unchanged else NOTHING


def postgres(*, action: str, role: str | None, readers: str | None, store: str | None, as_json: bool) -> int:
    """Print a role's statements, or fill the table of terms."""
    choose(action, _ACTIONS, what="action")
    place = store_to_fill(store, (), adding=False) if store else None
    if not isinstance(place, Address):
        raise InputError("name a corpus on a server: --store postgresql://USER@HOST/DATABASE?corpus=NAME")
    if action == "roles":
        return _roles(place, role, readers, as_json=as_json)
    from brimful.store.postgres.store import list_terms

    count = list_terms(place)
    show(records.as_json({"store": str(place), "terms": count}) if as_json else f"{count:,} terms listed\n")
    return FOUND if count else NOTHING


def _roles(place: Address, role: str | None, readers: str | None, *, as_json: bool) -> int:
    from brimful.store.postgres.layout import roles

    if role is None:
        raise InputError("name the role that may use the corpus: brimful postgres roles --role NAME")
    script = roles(place.schema, place.corpus, role, readers=readers)
    show(records.as_json({"store": str(place), "sql": script}) if as_json else script)
    return FOUND


# ---- keeping: Which stores does the cache hold, which of them does nobody need, and what has a model read of one?


@dataclass(frozen=True, slots=True)
class Kept:
    """A store of the cache: its folder, what was added to it, and whether anything of that is still there."""

    folder: Path
    places: tuple[str, ...]
    documents: int
    size: int
    problem: str = ""

    @property
    def is_needed(self) -> bool:
        """Whether a place that it was made from is still there; one that can't be read is not for us to judge."""
        return bool(self.problem) or any(Path(place).exists() for place in self.places)


def warm(*, paths: Sequence[str], store: str | None, as_json: bool, quiet: bool) -> int:
    """Let a model read every unit of a store, so that questions need not wait for it."""
    corpus = corpus_of(store, paths)
    with corpus.engine as engine, progress("reading") as advance:

        def tell(done: int, of: int) -> None:
            if advance is not None and not quiet:
                advance(f"{done:,} of {of:,}")

        count, name = engine.warm(progress=tell), engine.reader
    if as_json:
        show(records.as_json({"store": str(engine.path), "model": name, "units": count}))
    elif not quiet:
        say(f"{count:,} units read by {name}")
    return exit_for(corpus, found=bool(count))


def stores(*, prune: bool, dry_run: bool, as_json: bool) -> int:
    """The stores of the cache; pruning deletes those whose folders are gone."""
    if dry_run and not prune:
        raise InputError("--dry-run belongs to --prune; without it nothing is changed anyway")
    found = _kept(cache_folder())
    gone = [each for each in found if not each.is_needed] if prune else []
    if not dry_run:
        for each in gone:
            shutil.rmtree(each.folder)
    if as_json:
        listed = [_record(each) for each in found]
        show(records.as_json({"cache": str(cache_folder()), "stores": listed, "dry_run": dry_run}))
    else:
        show("".join(_line(each) for each in (gone if prune else found)))
    if prune and not as_json:
        verb = "would be deleted" if dry_run else "deleted"
        say(f"{len(gone)} of {len(found)} stores {verb}, {sum(each.size for each in gone):,} bytes")
    return FOUND if found else NOTHING


def _kept(cache: Path) -> list[Kept]:
    if not cache.is_dir():
        return []
    places = (folder for folder in sorted(cache.iterdir()) if not folder.is_symlink())
    return [_looked_at(folder) for folder in places if (folder / STORE_NAME).is_file()]


def _looked_at(folder: Path) -> Kept:
    size = sum(file.stat().st_size for file in folder.iterdir() if file.is_file())
    try:
        with open_store(folder / STORE_NAME) as engine:
            return Kept(folder, tuple(engine.roots), len(engine.columns.documents), size)
    except BrimfulError as error:
        return Kept(folder, (), 0, size, str(error))


def _record(kept: Kept) -> dict[str, object]:
    return {
        "store": os.fspath(kept.folder / STORE_NAME),
        "places": list(kept.places),
        "documents": kept.documents,
        "bytes": kept.size,
        "needed": kept.is_needed,
        "problem": kept.problem or None,
    }


def _line(kept: Kept) -> str:
    where = ", ".join(one_line(place) for place in kept.places) or one_line(kept.problem) or "texts alone"
    gone = "" if kept.is_needed else "  (gone)"
    held = f"{kept.size:>13,} bytes  {kept.documents:>7,} {'document ' if kept.documents == 1 else 'documents'}"
    return f"{held}  {where}{gone}  {one_line(kept.folder.name)}\n"


# ---- evaluating: How well does the engine answer a set of questions?


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
    asked = evaluation.read_set(place)
    if limit is not None:
        asked = replace(asked, questions=asked.questions[: max(limit, 0)])
    result, measured = _measured(asked, sizes, Ask.of("", {"model": evaluation.VOCABULARY}, set or ""))
    by_budget = {str(budget): evaluation.summary(each) for budget, each in sorted(measured.items())}
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


def _measured(
    asked: evaluation.EvaluationSet, budgets: Sequence[int], chosen: Ask
) -> tuple[evaluation.Result, dict[int, list[evaluation.Properties]]]:
    """The result, and the properties of every context that was made for it, by budget."""
    measured: dict[int, list[evaluation.Properties]] = {}
    with (
        tempfile.TemporaryDirectory(prefix="brimful-eval-") as folder,
        open_store(Path(folder, "asked.db")) as engine,
    ):
        engine.add_documents(asked.documents, allow=("secret",))  # as the set has them

        def answer(question: evaluation.Question, budget: int) -> list[evaluation.Place]:
            context = engine.context(replace(chosen, question=question.text, budget=budget_of(budget)))
            measured.setdefault(budget, []).append(evaluation.properties(context))
            windows = sorted(context.windows, key=attrgetter("order"))
            return [evaluation.Place(window.path, window.start, window.end) for window in windows]

        return evaluation.evaluate(answer, asked, budgets), measured


def _table(by_budget: Mapping[str, Mapping[str, float]]) -> str:
    """CFS's properties: the mean, and behind the bar how many of the contexts have it."""
    lines = [f"{'budget':>8}  within  coverage | > 0.9  adjacency | > 0.7  top 3 in first 5"]
    lines += [
        f"{budget:>8}{each['within_budget']:>8.2f}{each['coverage']:>10.3f} |{each['covered']:>6.2f}"
        f"{each['adjacency']:>11.3f} |{each['adjacent']:>6.2f}{each['best_come_first']:>18.2f}"
        for budget, each in by_budget.items()
    ]
    return "\n".join(lines) + "\n"
