"""Condensing a text: `densify` prints its digest, `capture` stores both."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path

from brimful.densify.calls import Model
from brimful.densify.captures import Capture
from brimful.densify.densify import densify as condense
from brimful.densify.extractive import ExtractiveModel, fit_digest
from brimful.densify.memory import Memory
from brimful.densify.models import model_for
from brimful.densify.plan import forecast
from brimful.densify.run import Progress
from brimful.documents.documents import Document
from brimful.documents.loaders import load
from brimful.documents.skips import Skipped
from brimful.engine import open as open_store
from brimful.errors import InputError, StoreError, outcome_of
from brimful.settings import DensifySettings, condensing
from brimful.surfaces import records
from brimful.surfaces.cli import FOUND, NOTHING, PARTIAL, views
from brimful.surfaces.cli.opening import Line
from brimful.surfaces.cli.places import cache_folder, store_to_ask, store_to_fill
from brimful.surfaces.cli.terminal import give, one_line, progress, say

_MEMORY_NAME = "digests.db"
_JOINT = b"\n\n"


def densify(
    line: Line,
    *,
    file: str,
    model: str,
    target: int | None,
    budget: int | None,
    limit: int | None,
    memory: str | None,
    more: str | None,
) -> int:
    """Condense a text and print the digest."""
    if budget is not None and budget < 1:
        raise InputError(f"a budget of {budget} tokens holds nothing; give at least 1")
    settings = condensing(more or "", target_tokens=target if target is not None else budget)
    chosen = model_for(model, limit=limit)
    document = _document(file)
    if line.dry_run:
        return _forecast(line, document, chosen, settings)
    answers = None if isinstance(chosen, ExtractiveModel) else _memory(memory)
    try:
        with _progress() as advance:
            digest = condense(document, chosen, settings=settings, memory=answers, progress=advance)
    finally:
        if answers is not None:
            answers.close()
    if budget is not None:
        digest = fit_digest(digest, budget, counter=chosen.counter)
    give(records.as_json(records.digest_record(digest)) if line.as_json else f"{digest.text}\n")
    if not line.quiet:
        views.show_digest(digest, document)
    return FOUND if digest.is_complete else PARTIAL


def capture(
    line: Line, *, file: str, name: str | None, listed: bool, retry: str | None, model: str, more: str | None
) -> int:
    """Store a text and its digest; or list the captures, or try one again."""
    settings = condensing(more or "")
    if listed or retry is not None:
        return _captures(line, retry, settings)
    chosen = model_for(model)
    document = _document(file)
    if line.dry_run:
        return _forecast(line, document, chosen, settings)
    name = name or (None if file == "-" else document.path)
    with open_store(store_to_fill(line.store, ["."], adding=True)) as engine, _progress() as advance:
        text = document.content.decode()
        new = engine.capture(text, name=name, model=chosen, settings=settings, progress=advance)
    record = records.capture_record(new)
    line.show(record, views.captured({"captures": [record]}))
    if new.status == "failed" and not line.quiet and not line.as_json:
        say(f"the text is kept; try again: brimful capture --retry {one_line(new.name)}")
    return _exit(new)


def _captures(line: Line, retry: str | None, settings: DensifySettings) -> int:
    with open_store(store_to_ask(line.store)) as engine:
        captures = engine.captures() if retry is None else [engine.retry_capture(retry, settings=settings)]
    record: dict[str, object] = {"captures": [records.capture_record(capture) for capture in captures]}
    line.show(record, views.captured(record))
    if retry is not None:
        return _exit(captures[0])
    return FOUND if captures else NOTHING


def _forecast(line: Line, document: Document, model: Model, settings: DensifySettings) -> int:
    """Show what condensing would cost; no model is called."""
    record = {**asdict(forecast(document, model, settings=settings)), "dry_run": True}
    line.show(record, views.forecast(record))
    return FOUND


def _exit(capture: Capture) -> int:
    return FOUND if capture.status == "done" else outcome_of(capture.message.partition(":")[0]).exit


def _document(file: str) -> Document:
    """The text to condense, converted as `add` would; several documents of a file are joined in their order."""
    path = "stdin" if file == "-" else Path(file).name
    try:
        raw = sys.stdin.buffer.read() if file == "-" else Path(file).expanduser().read_bytes()
    except OSError as error:
        raise InputError(f"{file!r} can't be read ({error.strerror}); check the path") from error
    parts = []
    for part in load(path, raw):
        if isinstance(part, Skipped):
            raise InputError(f"{file!r} has no text to condense: {part.reason.replace('_', ' ')}; {part.detail}")
        parts.append(part)
    if not parts:
        raise InputError(f"{file!r} has no text to condense")
    return Document(path, _JOINT.join(part.content for part in parts), kind=parts[0].kind, language=parts[0].language)


def _memory(file: str | None) -> Memory:
    """Earlier answers of models, in a file or in the user's cache."""
    if file is not None:
        return Memory(Path(file))
    folder = cache_folder()
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        where = os.fspath(folder)
        raise StoreError(f"{where!r} can't be made ({error.strerror}); name a file with --memory") from error
    return Memory(folder / _MEMORY_NAME)


@contextmanager
def _progress() -> Iterator[Callable[[Progress], None] | None]:
    """Progress on a terminal, none elsewhere."""
    with progress("condensing") as advance:
        yield None if advance is None else lambda now: advance(now.stage, now.done, now.total)
