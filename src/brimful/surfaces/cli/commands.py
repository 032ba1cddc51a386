"""What does each command do? Find the store, ask the engine, show the answer, return the exit code."""

from __future__ import annotations

import atexit
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from glob import escape
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

from brimful.assembly.context import why_empty
from brimful.documents.skips import SourceSettings
from brimful.engine import Engine
from brimful.engine import open as open_store
from brimful.errors import USAGE, InputError, StoreRulesError, StoreVersionError
from brimful.search.pools import synonym_lines
from brimful.settings import Ask, FieldSettings
from brimful.store.address import Address, Place
from brimful.store.format import is_store
from brimful.store.opening import rebuild as index_again
from brimful.surfaces import records
from brimful.surfaces.cli import views
from brimful.surfaces.cli.configuration import (
    STORE_NAME,
    cached_store,
    found_in,
    place_to_fill,
    store_to_ask,
    store_to_fill,
)
from brimful.surfaces.cli.dispatch import FIXABLE, FOUND, NOTHING, PARTIAL
from brimful.surfaces.cli.terminal import copy as put_on_clipboard
from brimful.surfaces.cli.terminal import give, one_line, progress, say, say_copied, show
from brimful.text.vocabularies import tokens_for

STDIN = "-"
_MOST_AROUND = 1_000
"""Lines on each side of a hit."""

if TYPE_CHECKING:
    from brimful.ingest import Report


def _nothing_yet() -> Report:
    from brimful.ingest import Report

    return Report()


@dataclass(slots=True)
class Corpus:
    """An open store, and what bringing it up to date did."""

    engine: Engine
    report: Report = field(default_factory=_nothing_yet)

    @property
    def is_partial(self) -> bool:
        """Whether something that belongs to it could not be read this time."""
        return any(each.reason in FIXABLE for each in self.report.skipped)


def context(
    *,
    question: str,
    paths: Sequence[str],
    ask: Mapping[str, object],
    set: str | None,  # noqa: A002
    synonyms: str | None,
    receipt: str | None,
    copy: bool,
    store: str | None,
    dry_run: bool,
    as_json: bool,
    quiet: bool,
) -> int:
    """Index what is named, fill the budget, cite."""
    chosen = ask_of(ask, set, synonyms)
    settings = chosen.settings
    if settings.format == "windows" and (settings.with_question or settings.map_percent):
        raise InputError("windows are for programs that write their own prompt: leave --question and --map out")
    if dry_run:
        return _previewed(
            store, paths, adding=False, label=None, settings=SourceSettings(), as_json=as_json, quiet=quiet
        )
    if question == STDIN in paths:
        raise InputError("the question and a source can't both be read from standard input; give one of them otherwise")
    chosen = replace(chosen, question=asked(question))
    corpus = corpus_of(store, paths)
    with corpus.engine as engine:
        made = engine.context(chosen)
        if receipt is not None:
            assert made.receipt is not None  # the engine gives every context one
            _write(Path(receipt), made.receipt.to_json() + "\n")
        text = records.as_json(_whole(corpus, records.answer_record(made))) if as_json else views.payload(made)
        give(text)
        copied = put_on_clipboard(text) if copy and made.windows else None
        if not quiet:
            written = None if receipt is None else Path(receipt)
            against = "" if written is None else _sources(store, paths)
            views.show_context(engine, made, receipt=written, against=against)
            say_copied(copied)
            views.show_skips(corpus.report.skipped)
    return exit_for(corpus, found=bool(made.windows))


def _sources(store: str | None, paths: Sequence[str]) -> str:
    """What `verify` is told to compare a receipt with, so that the hint can be run as it stands where that is known."""
    if len(paths) == 1 and Path(paths[0]).is_dir():
        return f"--files {quote(paths[0])}"
    return "--files FOLDER" if store is None else f"--store {quote(store)}"


def search(
    *,
    question: str,
    paths: Sequence[str],
    limit: int,
    around: int,
    ask: Mapping[str, object],
    copy: bool,
    store: str | None,
    as_json: bool,
    quiet: bool,
) -> int:
    """The places that matter most."""
    if limit < 1:
        raise InputError(f"a limit of {limit} shows nothing; give at least 1")
    if not 0 <= around <= _MOST_AROUND:
        raise InputError(f"-C {around} is not a number of lines from 0 to {_MOST_AROUND}")
    question = asked(question)
    corpus = corpus_of(store, paths)
    with corpus.engine as engine, engine.corpus():
        how = {"operators": True, **ask}
        weights = FieldSettings(priors=bool(how.pop("priors", True)))
        found = engine.search(question, limit=limit, field=weights, **how)  # type: ignore[arg-type]  # checked there
        record = {"question": question, **records.found_record(engine, found)}
        text = records.as_json(_whole(corpus, record)) if as_json else _shown_hits(engine, record, around)
        show(text)
        copied = put_on_clipboard(text) if copy and found.hits else None
        if not quiet:
            views.show_corrections(found.corrections)
            if found.hits:
                views.show_missing(found.missing)
            else:
                views.show_nothing(len(engine.columns.documents), why_empty(found))
            say_copied(copied)
            views.show_skips(corpus.report.skipped)
    return exit_for(corpus, found=bool(found.hits))


def _shown_hits(engine: Engine, record: Mapping[str, Any], around: int) -> str:
    """A line a hit, or with -C the lines around each, as grep shows them."""
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


def add(
    *,
    paths: Sequence[str],
    allow: Sequence[str],
    exclude: Sequence[str],
    include: Sequence[str],
    label: str | None,
    store: str | None,
    dry_run: bool,
    as_json: bool,
    quiet: bool,
) -> int:
    """Bring files and folders into a store, or everything in it up to date."""
    if label is not None and (len(paths) != 1 or STDIN in paths):
        raise InputError(f"--as {label} names one folder; add it by itself: brimful add FOLDER --as {label}")
    # The reasons of `allow` are checked there, with close names.
    settings = SourceSettings(allow=allow, exclude=tuple(exclude), include=tuple(include))  # type: ignore[arg-type]
    if dry_run:
        return _previewed(store, paths, adding=True, label=label, settings=settings, as_json=as_json, quiet=quiet)
    corpus = filled(store, paths, adding=True, label=label, settings=settings) if paths else _updated(store, settings)
    with corpus.engine as engine:
        record = {**records.report_record(corpus.report), **records.status_record(engine)}
        show(records.as_json(record) if as_json else views.report(record))
        if not quiet:
            views.show_skips(corpus.report.skipped)
        return exit_for(corpus, found=bool(record["documents"]))


def _previewed(
    store: str | None,
    paths: Sequence[str],
    *,
    adding: bool,
    label: str | None,
    settings: SourceSettings,
    as_json: bool,
    quiet: bool,
) -> int:
    """What bringing paths into their store would do; neither is touched, and no store is made."""
    checked_paths(paths)
    place = place_to_fill(store, paths, adding=adding) if paths else store_to_ask(store)
    from brimful.ingest.folders import preview

    total = _nothing_yet()
    with ExitStack() as opened:
        is_there = not isinstance(place, Path) or place.is_file()
        engine = opened.enter_context(open_store(place)) if is_there else None
        for path in paths or _there(engine, store):
            look = preview if engine is None else engine.preview
            _sum(total, look(path, label=label, settings=settings))
    record = {**records.report_record(total), "store": str(place), "dry_run": True}
    show(records.as_json(record) if as_json else views.preview(record))
    if not quiet:
        views.show_skips(total.skipped)
    return FOUND if total.added + total.changed + total.unchanged else NOTHING


def status(*, paths: Sequence[str], store: str | None, skipped: bool, as_json: bool) -> int:
    """What a store holds."""
    with open_store(store_to_ask(store, paths)) as engine:
        record = records.status_record(engine)
        if skipped:
            there = [root for root in own_roots(engine, store) if _is_there(root)]
            record["skipped"] = records.skips_record(each for root in there for each in engine.left_out(root))
        show(records.as_json(record) if as_json else views.status(record))
    return FOUND if record["documents"] else NOTHING


def remove(*, paths: Sequence[str], store: str | None, dry_run: bool, as_json: bool) -> int:
    """Forget documents by their cited paths, by folder or by glob."""
    with open_store(store_to_ask(store)) as engine:
        known = engine.columns.documents.paths
        named = {wanted: [path for path in known if _names(wanted, path)] for wanted in paths}
        chosen = sorted({path for found in named.values() for path in found})
        unknown = [wanted for wanted, found in named.items() if not found]
        if not dry_run:
            engine.remove(*chosen)
        if as_json:
            give(records.as_json({"removed": chosen, "unknown": unknown, "dry_run": dry_run, "root": engine.root}))
            return FOUND if chosen else NOTHING
        if unknown:
            said = one_line(", ".join(map(repr, unknown)))
            nothing = "" if chosen else "nothing removed: "
            say(f"{nothing}none of {len(known):,} documents is called {said} (brimful ls lists them)")
        if chosen:
            show("".join(f"{one_line(path)}\n" for path in chosen))
            verb = "would be removed" if dry_run else "removed; their files are as they were"
            say(f"{len(chosen)} of {len(known)} documents {verb}")
    return FOUND if chosen else NOTHING


def purge(*, everything: bool, yes: bool, store: str | None, dry_run: bool, as_json: bool) -> int:
    """Leave no byte of what was removed, or nothing at all."""
    place = store_to_ask(store)
    if dry_run:
        return _would_purge(place, everything=everything, as_json=as_json)
    what = f"Delete the store {place} itself" if everything else f"Erase what was removed or replaced from {place}"
    if not yes and not _confirmed(f"{one_line(what)}? The documents' own files are not touched."):
        return USAGE
    if everything and isinstance(place, Address):
        raise InputError(f"{place} is on a server; an administrator deletes a corpus there (docs/postgres.md)")
    with open_store(place) as engine:  # only a store is ever deleted
        before = engine.size_bytes
        engine.purge()
        after = 0 if everything else engine.size_bytes
    if everything and isinstance(place, Path):
        for part in (place, *sorted(place.parent.glob(f"{escape(place.name)}-*"))):  # what stands beside it
            part.unlink(missing_ok=True)
    record = {"store": str(place), "deleted": everything, "bytes_before": before, "bytes_after": after}
    show(records.as_json(record) if as_json else f"{one_line(str(place))}: {before:,} bytes before, {after:,} now\n")
    return FOUND


def _would_purge(place: Place, *, everything: bool, as_json: bool) -> int:
    with open_store(place) as engine:  # only a store is ever deleted
        documents, size = len(engine.columns.documents), engine.size_bytes
    record = {"store": str(place), "deleted": everything, "bytes_before": size, "dry_run": True}
    what = f"the whole store with {documents:,} documents" if everything else "what was removed or replaced"
    show(records.as_json(record) if as_json else f"{one_line(str(place))}: would erase {what}; {size:,} bytes now\n")
    return FOUND


def rebuild(*, store: str | None, as_json: bool) -> int:
    """Index a store's own text again."""
    place = store_to_ask(store)
    index_again(place)
    with open_store(place) as engine:
        count, root = len(engine.columns.documents), engine.root
    record = {"store": str(place), "documents": count, "root": root}
    show(records.as_json(record) if as_json else f"{one_line(str(place))}: {count:,} documents indexed again\n")
    return FOUND


# ---- what they share


def ask_of(chosen: Mapping[str, object], more: str | None, synonyms: str | None) -> Ask:
    """What was chosen for a question, checked before anything is read; the question itself comes later."""
    ask = Ask.of("", {**chosen, "synonyms": synonym_lines(synonyms)} if synonyms else chosen, more or "")
    tokens_for(ask.settings.model)
    if ask.settings.densify is not None:
        from brimful.densify.models import model_for  # only when asked for: it takes a while to load

        model_for(ask.settings.densify)
    return ask


def asked(question: str) -> str:
    """The question as given, or standard input for `-`."""
    if question != "-":
        return question
    return sys.stdin.buffer.read().decode("utf-8", "replace")


def corpus_of(store: str | None, paths: Sequence[str]) -> Corpus:
    """With paths: their store, up to date; `-` is what standard input gives. Without: the store that is there."""
    return filled(store, paths, adding=False) if paths else Corpus(open_store(store_to_ask(store)))


def filled(
    store: str | None,
    paths: Sequence[str],
    *,
    adding: bool,
    label: str | None = None,
    settings: SourceSettings | None = None,
) -> Corpus:
    """The store for these paths with what they hold now; a path that is missing leaves no store behind."""
    checked_paths(paths)
    if STDIN in paths and not adding and not store:
        return _add_all(_passing_store(), paths, settings)
    place = store_to_fill(store, paths, adding=adding)
    is_ours = not store and place == cached_store(paths)
    engine = _opened_ours(place) if is_ours else open_store(place)
    return _add_all(engine, paths, settings, label=label)


def _opened_ours(place: Place) -> Engine:
    """A store of the cache; one that another version made is indexed again first."""
    try:
        return open_store(place)
    except StoreRulesError:
        say("another version of Brimful or Python made this store: its text is indexed again")
        index_again(place)
    except StoreVersionError:
        say("another version of Brimful made this store: the files are indexed again")
        assert isinstance(place, Path)
        for suffix in ("", "-wal", "-shm"):
            place.with_name(place.name + suffix).unlink(missing_ok=True)
    return open_store(place)


def _passing_store() -> Engine:
    """A store for what came through a pipe, which nobody can ask again: gone when the program ends."""
    folder = tempfile.mkdtemp(prefix="brimful-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return open_store(Path(folder) / STORE_NAME)


def checked_paths(paths: Sequence[str]) -> Sequence[str]:
    """The same paths, all of them there, and none of them a store."""
    from brimful.documents.sources import root_of

    for path in paths:
        if path != STDIN:
            root_of(path)
            if Path(path).is_file() and is_store(Path(path)):
                raise InputError(f"{path!r} is a Brimful store, not a document; it is asked with --store {quote(path)}")
    return paths


def _updated(store: str | None, settings: SourceSettings) -> Corpus:
    engine = open_store(store_to_ask(store))
    try:
        there = _there(engine, store)
    except BaseException:
        engine.close()
        raise
    return _add_all(engine, there, settings)


def _there(engine: Engine | None, store: str | None) -> list[str]:
    """What was added and is still there; what is not is named."""
    roots = () if engine is None else own_roots(engine, store)
    for root in roots:
        if not _is_there(root):
            say(f"{one_line(root)} is not there any more; what was stored of it stays (brimful remove forgets it)")
    return [root for root in roots if _is_there(root)]


def own_roots(engine: Engine, store: str | None) -> tuple[str, ...]:
    """What was added to a store, to be read again.

    A store that came with a checkout lists whatever its writer wanted: what lies outside of the checkout is only read
    when the user names it.
    """
    from brimful.documents.remote import is_remote
    from brimful.documents.sources import root_of

    folder = found_in(store)
    if folder is not None:
        for root in engine.roots:
            if is_remote(root) or (_is_there(root) and not root_of(root).path.is_relative_to(folder.resolve())):
                raise InputError(
                    f"{str(engine.path)!r} lists {root!r:.200}, which lies outside of {os.fspath(folder)!r}; "
                    f"if it was you who added it, name it: brimful add {one_line(root)}"
                )
    return engine.roots


def _add_all(
    engine: Engine, paths: Sequence[str], settings: SourceSettings | None, *, label: str | None = None
) -> Corpus:
    corpus = Corpus(engine)
    try:
        with progress("reading") as advance:
            for path in paths:
                if path == STDIN:
                    engine.add_text("stdin", _piped())
                    corpus.report.note("added", "stdin")
                    continue
                one = engine.add(
                    path,
                    label=label,
                    settings=settings,
                    progress=None if advance is None else lambda found: advance(found.path),
                )
                _sum(corpus.report, one)
    except BaseException:
        engine.close()
        raise
    return corpus


def _piped() -> bytes:
    """What standard input gives, as the text of a document."""
    limit = SourceSettings().max_whole_bytes
    try:
        text = sys.stdin.buffer.read(limit + 1)
    except OSError as error:
        raise InputError(f"standard input can't be read: {error.strerror}") from error
    if len(text) > limit:
        raise InputError(f"standard input has more than {limit} bytes; save it as a file, and add that")
    if not text.strip():
        raise InputError("standard input is empty; pipe a text into it")
    return text


def _sum(total: Report, one: Report) -> None:
    for name in ("added", "changed", "unchanged", "renamed", "removed", "skipped", "files"):
        setattr(total, name, getattr(total, name) + getattr(one, name))


def _is_there(root: str) -> bool:
    from brimful.documents.sources import root_of

    try:
        root_of(root)
    except InputError:
        return False
    return True


def _names(wanted: str, path: str) -> bool:
    """Whether a path of a document is meant: exactly, as something in a folder, or by a glob."""
    if path == wanted or path.startswith(wanted.rstrip("/") + "/"):
        return True
    from brimful.documents.ignores import glob_pattern

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


def exit_for(corpus: Corpus, *, found: bool) -> int:
    """Partial, found or nothing."""
    if corpus.is_partial:
        return PARTIAL
    return FOUND if found else NOTHING


def _write(file: Path, text: str) -> None:
    try:
        file.write_bytes(text.encode())
    except OSError as error:
        raise InputError(f"{os.fspath(file)!r} can't be written ({error.strerror}); name another file") from error
