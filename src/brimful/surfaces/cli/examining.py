"""Looking at what is there without changing it: `doctor`, `model`, and `eval` on a set of questions."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
import tempfile
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from importlib.metadata import PackageNotFoundError, requires, version
from operator import attrgetter
from pathlib import Path
from typing import Literal

from brimful import evaluation
from brimful.budget import budget_of
from brimful.densify.models import model_for
from brimful.engine import open as open_store
from brimful.errors import PROVIDER, STORAGE, USAGE, BrimfulError, InputError, install, outcome_of
from brimful.neural.named import chosen_embedder
from brimful.rules import VERSION
from brimful.settings import Ask
from brimful.store.address import Address
from brimful.store.upkeep import glance
from brimful.surfaces.cli import FOUND, NOTHING, configuration
from brimful.surfaces.cli.opening import Line
from brimful.surfaces.cli.places import cache_folder, store_to_ask
from brimful.surfaces.cli.terminal import is_plain, one_line, show, tint, width
from brimful.surfaces.cli.views import labelled
from brimful.text.vocabularies import tokens_for
from brimful.transport import Stop

State = Literal["good", "note", "warn", "bad"]
_EXTRAS = {
    "office": "reads Word, Excel and PowerPoint",
    "neural": "a model finds passages that say it in other words",
    "postgres": "stores on a PostgreSQL server",
    "remote": "reads s3://, gs:// and other addresses",
    "langchain": "parts for LangChain",
    "llamaindex": "parts for LlamaIndex",
    "haystack": "parts for Haystack",
}
_REQUIREMENT = re.compile(r"""([\w.-]+)[^;]*(?:;(?:.*extra == ['"](\w+)['"])?.*)?""")
_LEAST_BYTES = 64 << 20
_FEW_BYTES = 1 << 30
_LABEL = 11
_MARKS = {"good": ("ok", "good"), "note": ("-", "faint"), "warn": ("note", "warn"), "bad": ("bad", "bad")}


@dataclass(frozen=True, slots=True)
class Finding:
    """A part of the installation, its state, and the exit code if it is bad."""

    what: str
    state: State
    text: str
    code: int = FOUND


def doctor(line: Line, *, model: str | None) -> int:
    """Look at everything; the exit code is that of the first bad finding."""
    findings = [*_packages(), *_settings(), *_store(line.store), _tokens(), _disk()]
    if model is not None:
        findings.append(_model_server(model))
    code = next((finding.code for finding in findings if finding.state == "bad"), FOUND)
    record = {"findings": [asdict(finding) for finding in findings], "exit": code}
    line.show(record, "".join(_line(finding) for finding in findings))
    return code


def model(line: Line) -> int:
    """Show the embedder and the reranker, who chose them, and how to change that."""
    embedder = chosen_embedder()
    name = None if embedder is None else embedder.name
    reranker = os.environ.get("BRIMFUL_RERANKER", "none")
    origin = configuration.setting("embedder").origin
    change = "brimful config set embedder granite|FOLDER|openai:NAME@URL|none"
    rows = [
        ("embedder", name or "none: words alone decide"),
        ("chosen by", one_line(origin)),
        ("reranker", reranker),
        *([] if name else [("install", install("neural"))]),
        ("change", f"{change} (docs/vectors.md)"),
    ]
    record = {"embedder": name, "reranker": reranker, "origin": origin, "install": install("neural")}
    line.show(record, labelled(rows))
    return FOUND if name else NOTHING


def _failure(what: str, error: BrimfulError) -> Finding:
    return Finding(what, "bad", str(error), outcome_of(error.code).exit)


def _packages() -> Iterator[Finding]:
    yield Finding("python", "good", f"{sys.version.split()[0]}, brimful {VERSION}")
    packages: dict[str, list[str]] = {"": []}
    for requirement in requires("brimful") or ():
        match = _REQUIREMENT.fullmatch(requirement)
        assert match is not None
        packages.setdefault(match[2] or "", []).append(match[1])
    versions = {name: _version(name) for name in packages[""]}
    missing = [name for name, number in versions.items() if number is None and name != "backports.zstd"]
    if missing:
        yield Finding("packages", "bad", f"missing: {', '.join(missing)}; {install()}", PROVIDER)
    else:
        yield Finding("packages", "good", ", ".join(f"{name} {number}" for name, number in versions.items() if number))
    for extra, purpose in _EXTRAS.items():
        if all(_version(name) for name in packages.get(extra, [extra])):
            yield Finding(extra, "good", purpose)
        else:
            yield Finding(extra, "note", f"{purpose}: not installed ({install(extra)})")


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _settings() -> Iterator[Finding]:
    try:
        names = [os.fspath(file) for file in configuration.files()]
        for key in configuration.DEFAULTS:
            configuration.setting(key)
    except BrimfulError as error:
        yield Finding("config", "bad", str(error), USAGE)
    else:
        yield Finding("config", "good", ", ".join(names) or "defaults; no file is there")
    for name in configuration.unknown_variables():
        yield Finding("config", "warn", f"{name} is set, but is not a setting")


def _store(store: str | None) -> Iterator[Finding]:
    try:
        place = store_to_ask(store)
        if isinstance(place, Address):
            yield from _database_server(place)
        problems = glance(place) if isinstance(place, Path) else []
        for problem in problems:
            yield Finding("store", "bad", f"{place}: {problem}", STORAGE)
        if problems:
            return
        with open_store(place) as engine:
            documents, size = len(engine.columns.documents), engine.size_bytes
        yield Finding("store", "good", f"{place}, {documents:,} documents, {size:,} bytes, intact at a glance")
    except InputError as error:
        yield Finding("store", "bad" if store else "note", str(error), USAGE)
    except BrimfulError as error:
        yield _failure("store", error)


def _database_server(place: Address) -> Iterator[Finding]:
    """Look at the server of a store, and at what this role may do there."""
    from brimful.store.postgres.session import server_of

    server = server_of(place)
    used = f"{server.connections} of {server.limit} connections used"
    yield Finding("server", "good", f"PostgreSQL {server.version}, {used}")
    if server.is_standby:
        yield Finding("server", "note", "it is a standby: it can be asked, and is written to through its primary")
    elif not server.may_write:
        yield Finding("server", "note", f"{server.role} may ask this corpus, not add to it")
    if server.is_above:
        text = f"{server.role} sees every corpus (a superuser, or the tables' owner); brimful stores roles prints less"
        yield Finding("server", "note", text)


def _tokens() -> Finding:
    try:
        counter = tokens_for(str(configuration.setting("model").value))
        tokens = counter.count("Filled to the brim.")
    except BrimfulError as error:
        return _failure("tokens", error)
    exactness = "exact" if counter.exact else "estimated"
    return Finding("tokens", "good" if tokens else "bad", f"{counter.name}, {exactness}")


def _disk() -> Finding:
    folder = cache_folder()
    existing = next(place for place in (folder, *folder.absolute().parents) if place.is_dir())
    free_bytes = shutil.disk_usage(existing).free
    text = f"{free_bytes / 1e9:,.1f} GB free for {folder}"
    if not os.access(existing, os.W_OK):
        return Finding("disk", "bad", f"{existing} can't be written; set BRIMFUL_CACHE or give --store", STORAGE)
    if free_bytes < _LEAST_BYTES:
        return Finding("disk", "bad", f"{text}; make room, or set BRIMFUL_CACHE", STORAGE)
    return Finding("disk", "warn" if free_bytes < _FEW_BYTES else "good", text)


def _model_server(name: str) -> Finding:
    """Ask a named model for one word."""
    try:
        answer = model_for(name).complete("Answer with the word yes.", max_output_tokens=16, stop=Stop())
    except BrimfulError as error:
        return Finding("model", "bad", f"{name}: {error}", outcome_of(error.code).exit)
    return Finding("model", "good", f"{name} answers: {' '.join(answer.text.split())[:40]!r}")


def _line(finding: Finding) -> str:
    mark, style = _MARKS[finding.state]
    indent = " " * (5 + _LABEL)
    lines = textwrap.wrap(one_line(finding.text), width() - len(indent), break_on_hyphens=False) or [""]
    colored = f"{mark:<5}" if is_plain(sys.stdout) else tint(style, f"{mark:<5}", stream=sys.stdout)
    return f"{colored}{finding.what:<{_LABEL}}" + f"\n{indent}".join(lines) + "\n"


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
