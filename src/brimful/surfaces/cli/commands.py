"""What does each command do? Find the store, ask the engine, show the answer, return the exit code."""

from __future__ import annotations

import glob
import os
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from brimful.corpus.ignores import glob_pattern
from brimful.corpus.skips import Skipped, SourceSettings
from brimful.corpus.sources import root_of, walk
from brimful.engine import Engine
from brimful.engine import open as open_store
from brimful.errors import InputError
from brimful.settings import AskSettings
from brimful.store.ingest import Report
from brimful.surfaces import records
from brimful.surfaces.cli import views
from brimful.surfaces.cli.exits import FIXABLE, FOUND, NOTHING, PARTIAL, USAGE
from brimful.surfaces.cli.stores import store_to_ask, store_to_fill
from brimful.surfaces.cli.terminal import give, one_line, progress, say, show
from brimful.text.vocabularies import tokens_for


@dataclass(slots=True)
class Corpus:
    """An open store, and what bringing it up to date did."""

    engine: Engine
    report: Report = field(default_factory=Report)

    @property
    def is_partial(self) -> bool:
        """Whether something that belongs to it could not be read this time."""
        return any(each.reason in FIXABLE for each in self.report.skipped)


def context(
    question: str,
    paths: Sequence[str],
    *,
    budget: int,
    settings: AskSettings,
    store: str | None,
    as_json: bool,
    receipt: Path | None,
    quiet: bool,
) -> int:
    """Index what is named, fill the budget, cite."""
    tokens_for(settings.model)  # an unknown model is named before anything is read
    if settings.densify is not None:
        from brimful.densify.models import model_for  # only when asked for: it takes a while to load

        model_for(settings.densify)
    question = asked(question)
    corpus = corpus_of(store, paths)
    with corpus.engine as engine:
        made = engine.context(question, budget=budget, settings=settings)
        if receipt is not None:
            assert made.receipt is not None  # the engine gives every context one
            _write(receipt, made.receipt.to_json() + "\n")
        if as_json:
            give(records.as_json(_whole(corpus, records.answer_record(engine, made))))
        else:
            give(views.payload(made))
        if not quiet:
            views.show_context(engine, made, receipt=receipt)
            views.show_skips(corpus.report.skipped)
    return _exit(corpus, found=bool(made.windows))


def search(question: str, paths: Sequence[str], *, limit: int, store: str | None, as_json: bool, quiet: bool) -> int:
    """The places that matter most."""
    if limit < 1:
        raise InputError(f"a limit of {limit} shows nothing; give at least 1")
    question = asked(question)
    corpus = corpus_of(store, paths)
    with corpus.engine as engine:
        found = engine.search(question, limit=limit)
        record = {"question": question, **records.found_record(engine, found)}
        show(records.as_json(_whole(corpus, record)) if as_json else views.hits(record))
        if not quiet:
            views.show_corrections(found.corrections)
            if not found.hits:
                views.show_nothing(len(engine.ground.documents), question=question)
            views.show_skips(corpus.report.skipped)
    return _exit(corpus, found=bool(found.hits))


def add(paths: Sequence[str], *, store: str | None, allow: Sequence[str], as_json: bool, quiet: bool) -> int:
    """Bring files and folders into a store, or everything in it up to date."""
    settings = SourceSettings(allow=allow)  # type: ignore[arg-type]  # checked there, with close names
    corpus = filled(store, paths, adding=True, settings=settings) if paths else _updated(store, settings)
    with corpus.engine as engine:
        record = {**records.report_record(corpus.report), **records.status_record(engine)}
        show(records.as_json(record) if as_json else views.report(record))
        if not quiet:
            views.show_skips(corpus.report.skipped)
        return _exit(corpus, found=bool(record["documents"]))


def status(paths: Sequence[str], *, store: str | None, skipped: bool, as_json: bool) -> int:
    """What a store holds."""
    with open_store(store_to_ask(store, paths)) as engine:
        record = records.status_record(engine)
        if skipped:
            left_out = [each for root in engine.roots for each in _left_out(root)]
            record["skipped"] = records.skips_record(left_out)
        show(records.as_json(record) if as_json else views.status(record))
    return FOUND if record["documents"] else NOTHING


def remove(paths: Sequence[str], *, store: str | None, dry_run: bool, as_json: bool) -> int:
    """Forget documents by their cited paths, by folder or by glob."""
    with open_store(store_to_ask(store)) as engine:
        known = engine.ground.documents.paths
        chosen = sorted({path for wanted in paths for path in known if _names(wanted, path)})
        if not dry_run:
            engine.remove(*chosen)
        if as_json:
            give(records.as_json({"removed": chosen, "dry_run": dry_run, "root": engine.root}))
        else:
            show("".join(f"{one_line(path)}\n" for path in chosen))
            verb = "would be removed" if dry_run else "removed; their files are as they were"
            say(f"{len(chosen)} of {len(known)} documents {verb}")
    return FOUND if chosen else NOTHING


def purge(*, store: str | None, everything: bool, yes: bool, as_json: bool) -> int:
    """Leave no byte of what was removed, or nothing at all."""
    place = store_to_ask(store)
    what = f"Delete the store {place} itself" if everything else f"Erase what was removed or replaced from {place}"
    if not yes and not _confirmed(f"{one_line(what)}? The documents' own files are not touched."):
        return USAGE
    before = place.stat().st_size
    with open_store(place) as engine:  # only a store is ever deleted
        engine.purge()
    if everything:
        for part in (place, *sorted(place.parent.glob(f"{glob.escape(place.name)}-*"))):  # what stands beside it
            part.unlink(missing_ok=True)
    after = place.stat().st_size if place.exists() else 0
    record = {"store": str(place), "deleted": everything, "bytes_before": before, "bytes_after": after}
    show(records.as_json(record) if as_json else f"{one_line(str(place))}: {before:,} bytes before, {after:,} now\n")
    return FOUND


# ---- what they share


def asked(question: str) -> str:
    """The question as given, or standard input for `-`."""
    if question != "-":
        return question
    return sys.stdin.buffer.read().decode("utf-8", "replace")


def corpus_of(store: str | None, paths: Sequence[str]) -> Corpus:
    """With paths: their store, up to date. Without: the store that is there."""
    return filled(store, paths, adding=False) if paths else Corpus(open_store(store_to_ask(store)))


def filled(store: str | None, paths: Sequence[str], *, adding: bool, settings: SourceSettings | None = None) -> Corpus:
    """The store for these paths with what they hold now; a path that is missing leaves no store behind."""
    for path in paths:
        root_of(path)
    return _add_all(open_store(store_to_fill(store, paths, adding=adding)), paths, settings)


def _updated(store: str | None, settings: SourceSettings) -> Corpus:
    engine = open_store(store_to_ask(store))
    gone = [root for root in engine.roots if not _is_there(root)]
    for root in gone:
        say(f"{one_line(root)} is not there any more; what was stored of it stays (brimful remove forgets it)")
    return _add_all(engine, [root for root in engine.roots if root not in gone], settings)


def _add_all(engine: Engine, paths: Sequence[str], settings: SourceSettings | None) -> Corpus:
    corpus = Corpus(engine)
    try:
        with progress("reading") as advance:
            for path in paths:
                one = engine.add(
                    path,
                    settings=settings,
                    progress=None if advance is None else lambda found: advance(found.path),
                )
                for name in ("added", "changed", "unchanged", "renamed", "removed", "skipped"):
                    setattr(corpus.report, name, getattr(corpus.report, name) + getattr(one, name))
    except BaseException:
        engine.close()
        raise
    return corpus


def _is_there(root: str) -> bool:
    try:
        root_of(root)
    except InputError:
        return False
    return True


def _left_out(root: str) -> list[Skipped]:
    return [each for each in walk(root) if isinstance(each, Skipped)] if _is_there(root) else []


def _names(wanted: str, path: str) -> bool:
    """Whether a path of a document is meant: exactly, as something in a folder, or by a glob."""
    if path == wanted or path.startswith(wanted.rstrip("/") + "/"):
        return True
    pattern = glob_pattern(wanted) if any(mark in wanted for mark in "*?[") else None
    return pattern is not None and re.fullmatch(pattern, path) is not None


def _confirmed(question: str) -> bool:
    if not sys.stdin.isatty():
        say(f"{question} Nobody can be asked here: add --yes.")
        return False
    say(f"{question} [y/N]")
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _whole(corpus: Corpus, record: dict[str, object]) -> dict[str, object]:
    added = {"store": str(corpus.engine.path), "skipped": records.skips_record(corpus.report.skipped)}
    return {**record, **added}


def _exit(corpus: Corpus, *, found: bool) -> int:
    if corpus.is_partial:
        return PARTIAL
    return FOUND if found else NOTHING


def _write(file: Path, text: str) -> None:
    try:
        file.write_bytes(text.encode())
    except OSError as error:
        raise InputError(f"{os.fspath(file)!r} can't be written ({error.strerror}); name another file") from error
