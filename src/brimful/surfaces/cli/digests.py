"""What does a person condense? A text, through a model or without one; once, or to keep."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path

from brimful.densify.captures import Capture
from brimful.densify.densify import densify as condense
from brimful.densify.extractive import ExtractiveModel, fit_digest
from brimful.densify.memory import Memory
from brimful.densify.model import Model
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
from brimful.surfaces.cli import views
from brimful.surfaces.cli.configuration import cache_folder, store_to_ask, store_to_fill
from brimful.surfaces.cli.dispatch import FOUND, NOTHING, PARTIAL
from brimful.surfaces.cli.terminal import copy as put_on_clipboard
from brimful.surfaces.cli.terminal import give, one_line, progress, say, say_copied, show

_MEMORY_NAME = "digests.db"
_JOINT = b"\n\n"


def densify(
    *,
    file: str,
    model: str,
    target: int | None,
    budget: int | None,
    limit: int | None,
    memory: str | None,
    set: str | None,  # noqa: A002
    copy: bool,
    dry_run: bool,
    as_json: bool,
    quiet: bool,
) -> int:
    """Condense a text, cite, count."""
    if budget is not None and budget < 1:
        raise InputError(f"a budget of {budget} tokens holds nothing; give at least 1")
    settings = condensing(set or "", target_tokens=target if target is not None else budget)
    chosen = model_for(model, limit=limit)
    document = _document(file)
    if dry_run:
        return _forecast(document, chosen, settings, as_json=as_json)
    kept = None if isinstance(chosen, ExtractiveModel) else _memory(memory)
    try:
        with _shown() as advance:
            digest = condense(document, chosen, settings=settings, memory=kept, progress=advance)
    finally:
        if kept is not None:
            kept.close()
    if budget is not None:
        digest = fit_digest(digest, budget, counter=chosen.counter)
    text = records.as_json(records.digest_record(digest)) if as_json else f"{digest.text}\n"
    give(text)
    by = put_on_clipboard(text) if copy else None
    if not quiet:
        views.show_digest(digest, document)
        say_copied(by)
    return FOUND if digest.is_complete else PARTIAL


def capture(
    *,
    file: str,
    name: str | None,
    model: str,
    set: str | None,  # noqa: A002
    store: str | None,
    dry_run: bool,
    as_json: bool,
    quiet: bool,
) -> int:
    """Write a text down, condense it, store the digest."""
    settings = condensing(set or "")
    chosen = model_for(model)
    document = _document(file)
    if dry_run:
        return _forecast(document, chosen, settings, as_json=as_json)
    name = name or (None if file == "-" else document.path)
    with open_store(store_to_fill(store, ["."], adding=True)) as engine, _shown() as advance:
        text = document.content.decode()
        made = engine.capture(text, name=name, model=chosen, settings=settings, progress=advance)
    if as_json:
        give(records.as_json(records.capture_record(made)))
    else:
        show(views.captured({"captures": [records.capture_record(made)]}))
        if made.status == "failed" and not quiet:
            say(f"the text is kept; try again: brimful captures --retry {one_line(made.name)}")
    return _exit(made)


def captures(*, retry: str | None, set: str | None, store: str | None, as_json: bool) -> int:  # noqa: A002
    """What was captured, or one of them tried again."""
    with open_store(store_to_ask(store)) as engine:
        found = engine.captures() if retry is None else [engine.retry_capture(retry, settings=condensing(set or ""))]
    record: dict[str, object] = {"captures": [records.capture_record(each) for each in found]}
    show(records.as_json(record) if as_json else views.captured(record))
    if retry is not None:
        return _exit(found[0])
    return FOUND if found else NOTHING


def _forecast(document: Document, model: Model, settings: DensifySettings, *, as_json: bool) -> int:
    """What it would cost; no model is asked."""
    record = {**asdict(forecast(document, model, settings=settings)), "dry_run": True}
    show(records.as_json(record) if as_json else views.forecast(record))
    return FOUND


def _exit(made: Capture) -> int:
    return FOUND if made.status == "done" else outcome_of(made.message.partition(":")[0]).exit


def _document(file: str) -> Document:
    """The text to condense, converted as `add` would; several documents of one file stand one after the other."""
    path = "stdin" if file == "-" else Path(file).name
    try:
        raw = sys.stdin.buffer.read() if file == "-" else Path(file).expanduser().read_bytes()
    except OSError as error:
        raise InputError(f"{file!r} can't be read ({error.strerror}); check the path") from error
    found = load(path, raw)
    parts = [each for each in found if not isinstance(each, Skipped)]
    for each in found:
        if isinstance(each, Skipped):
            raise InputError(f"{file!r} has no text to condense: {each.reason.replace('_', ' ')}; {each.detail}")
    if not parts:
        raise InputError(f"{file!r} has no text to condense")
    return Document(path, _JOINT.join(each.content for each in parts), kind=parts[0].kind, language=parts[0].language)


def _memory(file: str | None) -> Memory:
    """The answers so far: in the file that is named, or in the user's cache."""
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
def _shown() -> Iterator[Callable[[Progress], None] | None]:
    """Progress on a terminal, nothing elsewhere."""
    with progress("condensing") as advance:
        yield None if advance is None else lambda now: advance(f"{now.stage} {now.done} of {now.total}")
