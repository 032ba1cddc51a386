"""Looking at a corpus: `map` and `status`."""

from __future__ import annotations

import datetime as dt
import sys
from collections.abc import Sequence

from brimful.budget import budget_of
from brimful.engine import Engine
from brimful.engine import open as open_store
from brimful.store.rows import Listed
from brimful.surfaces import records
from brimful.surfaces.cli import FOUND, NOTHING, views
from brimful.surfaces.cli.commands import question_text
from brimful.surfaces.cli.opening import Line, asked_corpus, present_roots
from brimful.surfaces.cli.places import store_to_ask
from brimful.surfaces.cli.terminal import give, one_line, say, show, tint
from brimful.text.vocabularies import tokens_for


def outline(
    line: Line, *, budget: int, question: str | None, path: Sequence[str] | None, model: str, tokens: bool
) -> int:
    """Print files with their headings and definitions, within a budget."""
    budget_of(budget)
    tokens_for(model)  # an unknown model is refused before anything is read
    question = None if question is None else question_text(question)
    corpus = asked_corpus(line)
    with corpus.engine as engine, engine.corpus():
        drawn = engine.map(budget=budget, question=question, model=model, path=tuple(path or ()), tokens=tokens)
        record = {"question": question, **records.map_record(drawn), "root": engine.root, "store": str(engine.path)}
        give(records.as_json(record) if line.as_json else drawn.text)
        if not line.quiet:
            counted = drawn.model if drawn.exact else f"{drawn.model}, estimated"
            total = drawn.files + drawn.files_left_out
            say(
                tint("strong", f"{drawn.tokens:,} of {drawn.budget:,} tokens ({counted})")
                + f": {drawn.files:,} of {total:,} files, {drawn.names:,} headings and definitions in them"
            )
            views.show_skips(corpus.report.skipped)
    return corpus.exit_code(found=bool(drawn.files))


def status(line: Line, *, files: bool, path: Sequence[str] | None, lines: bool, skipped: bool) -> int:
    """Show what a store holds, or list its documents."""
    with open_store(store_to_ask(line.store, line.paths)) as engine, engine.corpus():
        if files or path or lines:
            return _list(engine, tuple(path or ()), lines=lines, as_json=line.as_json)
        record = records.status_record(engine)
        if skipped:
            roots = present_roots(engine, line.store)
            record["skipped"] = records.skips_record(skip for root in roots for skip in engine.left_out(root))
        line.show(record, views.status(record))
    return FOUND if record["documents"] else NOTHING


def _list(engine: Engine, patterns: tuple[str, ...], *, lines: bool, as_json: bool) -> int:
    documents = engine.documents(patterns, lines=lines)
    if as_json:
        listed = [records.listed_record(document) for document in documents]
        show(records.as_json({"documents": listed, "root": engine.root, "store": str(engine.path)}))
    elif sys.stdout.isatty():
        show("".join(_line(document) for document in documents))
    else:
        give("".join(f"{one_line(document.path)}\n" for document in documents))
    if not documents and not as_json:
        total = len(engine.columns.documents)
        if patterns and total:
            wanted = one_line(" or ".join(repr(pattern) for pattern in patterns))
            say(f"none of {total:,} paths has {wanted} in it, or fits it as a pattern")
        else:
            say("the store has no documents; brimful add PATH brings some in")
    return FOUND if documents else NOTHING


def _line(document: Listed) -> str:
    """A document on a line for a person: size, lines, kind, date, path."""
    date = "" if document.time is None else dt.datetime.fromtimestamp(document.time, dt.UTC).date().isoformat()
    lines = "" if document.lines is None else f"{document.lines:>9,} "
    path = tint("path", one_line(document.path), stream=sys.stdout)
    return f"{document.bytes:>13,} {lines}{document.kind:<5} {date:<10} {path}\n"
