"""Asking and filling: `context`, `search`, `add` and `remove`."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from dataclasses import replace
from pathlib import Path
from shlex import quote
from typing import Any

from brimful.assembly.context import why_empty
from brimful.documents.ignores import glob_pattern
from brimful.engine import Engine
from brimful.engine import open as open_store
from brimful.errors import InputError, install
from brimful.ingest import Report
from brimful.search.pools import synonym_lines
from brimful.settings import Ask, FieldSettings
from brimful.surfaces import records
from brimful.surfaces.cli import FOUND, NOTHING, views
from brimful.surfaces.cli.configuration import setting
from brimful.surfaces.cli.opening import (
    STDIN,
    Line,
    OpenCorpus,
    asked_corpus,
    check_paths,
    filled,
    present_roots,
    sum_into,
    updated,
)
from brimful.surfaces.cli.places import cache_folder, place_to_fill, store_to_ask
from brimful.surfaces.cli.terminal import give, one_line, say, show
from brimful.text.vocabularies import tokens_for

_MOST_AROUND = 1_000
"""Lines on each side of a hit."""


def context(line: Line, *, question: str, ask: Mapping[str, object], more: str | None, receipt: str | None) -> int:
    """Read what is named, fill the budget, print the context."""
    chosen = ask_of(ask, more)
    if chosen.settings.format == "windows" and (chosen.settings.with_question or chosen.settings.map_percent):
        raise InputError("windows are for programs that write their own prompt: leave --question and --map out")
    if question == STDIN in line.paths:
        raise InputError("the question and a source can't both be read from standard input; give one of them otherwise")
    chosen = replace(chosen, question=question_text(question))
    corpus = asked_corpus(line)
    with corpus.engine as engine:
        answer = engine.context(chosen)
        if receipt is not None:
            assert answer.receipt is not None  # the engine gives every context one
            _write(Path(receipt), answer.receipt.to_json() + "\n")
        record = _with_source(corpus, records.answer_record(answer))
        give(records.as_json(record) if line.as_json else views.payload(answer))
        if not line.quiet:
            views.show_context(engine, answer)
            _note_missing_model(engine)
            if receipt is not None and answer.windows:
                name = quote(one_line(receipt))
                say(f"receipt written to {name}; check it: brimful verify {name} {one_line(_sources(line))}")
            views.show_skips(corpus.report.skipped, question=chosen.question)
    return corpus.exit_code(found=bool(answer.windows))


def _note_missing_model(engine: Engine) -> None:
    """Say once on this machine that words alone decide, unless somebody chose so."""
    stamp = cache_folder() / "model-noted"
    if engine.reader is None and not os.environ.get("BRIMFUL_EMBEDDER") and not stamp.exists():
        say(f"no model is installed, so words alone decide (shown once; see brimful model); {install('neural')}")
        with suppress(OSError):
            stamp.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            stamp.touch()


def _sources(line: Line) -> str:
    """The option that tells `verify` where the sources are."""
    if line.store is not None:
        return f"--store {quote(line.store)}"
    folders = line.paths or ["."]
    return f"--files {quote(folders[0])}" if len(folders) == 1 and Path(folders[0]).is_dir() else "--files FOLDER"


def search(line: Line, *, question: str, limit: int, around: int, ask: Mapping[str, object]) -> int:
    """List the best matching places."""
    if limit < 1:
        raise InputError(f"a limit of {limit} shows nothing; give at least 1")
    if not 0 <= around <= _MOST_AROUND:
        raise InputError(f"-C {around} is not a number of lines from 0 to {_MOST_AROUND}")
    question = question_text(question)
    corpus = asked_corpus(line)
    with corpus.engine as engine, engine.corpus() as state:
        choices = {"operators": True, **ask}
        weights = FieldSettings(priors=bool(choices.pop("priors", True)))
        results = engine.search(question, limit=limit, field=weights, **choices)  # type: ignore[arg-type]  # checked there
        record = {"question": question, **records.found_record(state, results)}
        line.show(_with_source(corpus, record), _hits(engine, record, around))
        if not line.quiet:
            views.show_corrections(results.corrections)
            if results.hits:
                views.show_missing(results.missing)
            else:
                views.show_nothing(len(engine.columns.documents), why_empty(results))
            views.show_skips(corpus.report.skipped, question=question)
    return corpus.exit_code(found=bool(results.hits))


def _hits(engine: Engine, record: Mapping[str, Any], around: int) -> str:
    """One line for each hit, or with -C the lines around each, as grep shows them."""
    if not around:
        return views.hits(record)
    pieces = []
    for hit in record["hits"]:
        first = hit["lines"][0]
        last = first + hit["text"].rstrip().count("\n")
        document = engine.document(hit["path"])
        begin, end = max(first - around, 1), min(last + around, max(document.line_count, 1))
        span = document.span_of_lines(begin, end)
        lines = document.text(span.start, span.end).split("\n")[: end - begin + 1]
        pieces.append(views.around(hit["path"], lines, begin=begin, hit=(first, last)))
    return "--\n".join(pieces)


def add(line: Line, *, label: str | None, watch: bool, poll: bool) -> int:
    """Bring files and folders into a store, or everything in it up to date."""
    if label is not None and (len(line.paths) != 1 or STDIN in line.paths):
        raise InputError(f"--as {label} names one folder; add it by itself: brimful add FOLDER --as {label}")
    if line.dry_run:
        return _preview(line, label)
    if watch:
        if label is not None or line.settings is not None:
            raise InputError("--watch follows folders as they were added: add them first, then brimful add --watch")
        from brimful.surfaces.cli.serving import follow

        return follow(line, poll=poll)
    corpus = filled(line, adding=True, label=label) if line.paths else updated(line)
    with corpus.engine as engine:
        record = {**records.report_record(corpus.report), **records.status_record(engine)}
        line.show(record, views.report(record))
        if not line.quiet:
            views.show_skips(corpus.report.skipped)
        return corpus.exit_code(found=bool(record["documents"]))


def _preview(line: Line, label: str | None) -> int:
    """Show what adding would do; nothing is read but names, and no store is made."""
    from brimful.ingest.folders import preview

    check_paths(line.paths)
    place = place_to_fill(line.store, line.paths, adding=True) if line.paths else store_to_ask(line.store)
    total = Report()
    with ExitStack() as stack:
        is_there = not isinstance(place, Path) or place.is_file()
        engine = stack.enter_context(open_store(place)) if is_there else None
        for path in line.paths or (present_roots(engine, line.store) if engine is not None else ()):
            look = preview if engine is None else engine.preview
            sum_into(total, look(path, label=label, settings=line.settings))
    record = {**records.report_record(total), "store": str(place), "dry_run": True}
    line.show(record, views.preview(record))
    if not line.quiet:
        views.show_skips(total.skipped)
    return FOUND if total.added + total.changed + total.unchanged else NOTHING


def remove(line: Line) -> int:
    """Remove documents by their cited paths, by folder or by glob."""
    with open_store(store_to_ask(line.store)) as engine:
        stored = engine.columns.documents.paths
        by_name = {wanted: [path for path in stored if _names(wanted, path)] for wanted in line.paths}
        chosen = sorted({path for matches in by_name.values() for path in matches})
        unknown = [wanted for wanted, matches in by_name.items() if not matches]
        if not line.dry_run:
            engine.remove(*chosen)
        if line.as_json:
            record = {"removed": chosen, "unknown": unknown, "dry_run": line.dry_run, "root": engine.root}
            give(records.as_json(record))
            return FOUND if chosen else NOTHING
        if unknown:
            names = one_line(", ".join(map(repr, unknown)))
            nothing = "" if chosen else "nothing removed: "
            say(f"{nothing}none of {len(stored):,} documents is called {names} (brimful status --files lists them)")
        if chosen:
            show("".join(f"{one_line(path)}\n" for path in chosen))
            verb = "would be removed" if line.dry_run else "removed; their files are as they were"
            say(f"{len(chosen)} of {len(stored)} documents {verb}")
    return FOUND if chosen else NOTHING


def _names(wanted: str, path: str) -> bool:
    """Whether a name means a document: its path, a folder of it, or a glob."""
    if path == wanted or path.startswith(wanted.rstrip("/") + "/"):
        return True
    pattern = glob_pattern(wanted) if any(mark in wanted for mark in "*?[") else None
    return pattern is not None and re.fullmatch(pattern, path) is not None


def ask_of(choices: Mapping[str, object], more: str | None) -> Ask:
    """The choices of a question, checked before anything is read; the question itself comes later."""
    synonyms = setting("synonyms").value
    ask = Ask.of("", {**choices, "synonyms": synonym_lines(str(synonyms))} if synonyms else choices, more or "")
    tokens_for(ask.settings.model)
    if ask.settings.densify is not None:
        from brimful.densify.models import model_for  # slow to import

        model_for(ask.settings.densify)
    return ask


def question_text(question: str) -> str:
    """The question, or standard input for `-`."""
    return sys.stdin.buffer.read().decode("utf-8", "replace") if question == STDIN else question


def _with_source(corpus: OpenCorpus, record: dict[str, object]) -> dict[str, object]:
    """A result with the store that it came from and the files that were skipped."""
    return {
        **record,
        "store": str(corpus.engine.path),
        "skipped": records.skips_record(corpus.report.skipped),
    }


def _write(file: Path, text: str) -> None:
    try:
        file.write_bytes(text.encode())
    except OSError as error:
        raise InputError(f"{os.fspath(file)!r} can't be written ({error.strerror}); name another file") from error
