"""Opening the corpus of a command, up to date with the files that it names."""

from __future__ import annotations

import atexit
import os
import shutil
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path
from shlex import quote

from brimful.documents.remote import is_remote
from brimful.documents.skips import Reason, SourceSettings
from brimful.documents.sources import root_of
from brimful.engine import Engine
from brimful.engine import open as open_store
from brimful.errors import InputError, StoreRulesError, StoreVersionError
from brimful.ingest import Report
from brimful.store.address import Place
from brimful.store.format import is_store
from brimful.store.opening import rebuild
from brimful.surfaces import records
from brimful.surfaces.cli import FIXABLE, FOUND, NOTHING, PARTIAL
from brimful.surfaces.cli.configuration import project_file, setting
from brimful.surfaces.cli.places import STORE_NAME, cached_store, nearest_store, store_to_ask, store_to_fill
from brimful.surfaces.cli.terminal import one_line, progress, say, show

STDIN = "-"


@dataclass(frozen=True, slots=True)
class Line:
    """The files, the store and the form of answers that many commands take."""

    paths: Sequence[str] = ()
    store: str | None = None
    allow: Sequence[Reason] = ()
    include: Sequence[str] = ()
    exclude: Sequence[str] = ()
    dry_run: bool = False
    yes: bool = False
    as_json: bool = False
    quiet: bool = False

    @property
    def settings(self) -> SourceSettings | None:
        """Which files of a folder are read, None for the usual ones; unknown reasons of `allow` are refused there."""
        if not (self.allow or self.include or self.exclude):
            return None
        return SourceSettings(allow=self.allow, exclude=tuple(self.exclude), include=tuple(self.include))

    def show(self, record: records.Record, text: str) -> None:
        """Print a result on stdout: as JSON where that was asked for, else as lines for a person."""
        show(records.as_json(record) if self.as_json else text)


@dataclass(slots=True)
class OpenCorpus:
    """An open store, and the report of bringing it up to date."""

    engine: Engine
    report: Report = field(default_factory=Report)

    def exit_code(self, *, found: bool) -> int:
        """Partial if a file that could be read was not, else found or nothing."""
        if any(skipped.reason in FIXABLE for skipped in self.report.skipped):
            return PARTIAL
        return FOUND if found else NOTHING


def asked_corpus(line: Line) -> OpenCorpus:
    """The store of the paths, up to date; without paths the store named or nearest, else the current folder's."""
    if line.paths:
        return filled(line, adding=False)
    if line.store or nearest_store():
        if line.settings is not None:
            raise InputError("--allow, --include and --exclude choose files of a path; name the path too")
        return OpenCorpus(open_store(store_to_ask(line.store)))
    here = Path.cwd().resolve()
    if Path.home().resolve().is_relative_to(here):
        raise InputError(f"{os.fspath(here)!r} is too much to read unasked; name it: brimful context QUESTION PATH")
    return filled(replace(line, paths=["."]), adding=False)


def filled(line: Line, *, adding: bool, label: str | None = None) -> OpenCorpus:
    """The store for these paths with what they hold now; a path that is missing leaves no store."""
    store, paths, settings = line.store, line.paths, line.settings
    check_paths(paths)
    if STDIN in paths and not adding and not store:  # gone when the program ends: nobody can ask a pipe again
        folder = tempfile.mkdtemp(prefix="brimful-")
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        return _add_all(open_store(Path(folder) / STORE_NAME), paths, settings)
    place = store_to_fill(store, paths, adding=adding)
    is_cached = not store and place == cached_store(paths)
    return _add_all(_open_cached(place) if is_cached else open_store(place), paths, settings, label=label)


def updated(line: Line) -> OpenCorpus:
    """The store, up to date with everything that was added to it."""
    engine = open_store(store_to_ask(line.store))
    try:
        places = present_roots(engine, line.store)
    except BaseException:
        engine.close()
        raise
    return _add_all(engine, places, line.settings)


def check_paths(paths: Sequence[str]) -> None:
    """Refuse a path that is not there, or that is a store."""
    for path in paths:
        if path != STDIN:
            root_of(path)
            if Path(path).is_file() and is_store(Path(path)):
                raise InputError(f"{path!r} is a Brimful store, not a document; it is asked with --store {quote(path)}")


def present_roots(engine: Engine, store: str | None) -> list[str]:
    """The places that were added and still exist; a missing one is named."""
    roots = trusted_roots(engine, store)
    for root in roots:
        if not _exists(root):
            say(f"{one_line(root)} is not there any more; what was stored of it stays (brimful remove deletes it)")
    return [root for root in roots if _exists(root)]


def trusted_roots(engine: Engine, store: str | None) -> tuple[str, ...]:
    """The places that were added to a store, to be read again.

    A store that came with a checkout lists any place that its author wanted: a place outside of the checkout is only
    read when the user names it.
    """
    folder = _folder_of_found_store(store)
    if folder is not None:
        for root in engine.roots:
            if is_remote(root) or (_exists(root) and not root_of(root).path.is_relative_to(folder.resolve())):
                raise InputError(
                    f"{str(engine.path)!r} lists {root!r:.200}, which lies outside of {os.fspath(folder)!r}; "
                    f"if it was you who added it, name it: brimful add {one_line(root)}"
                )
    return engine.roots


def _folder_of_found_store(store: str | None) -> Path | None:
    """The folder of a store that no user named: that of a `.brimful`, or of a project's file."""
    if store is None:
        nearest = nearest_store()
        return None if nearest is None else nearest.parent.parent
    project, named = project_file(), setting("store")
    is_from_project = project is not None and (named.origin, named.value) == (os.fspath(project), store)
    return project.parent if project is not None and is_from_project else None


def _open_cached(place: Place) -> Engine:
    """A store of the cache; one that another version made is indexed again first."""
    try:
        return open_store(place)
    except StoreRulesError:
        say("another version of Brimful or Python made this store: its text is indexed again")
        rebuild(place)
    except StoreVersionError:
        say("another version of Brimful made this store: the files are indexed again")
        assert isinstance(place, Path)
        for suffix in ("", "-wal", "-shm"):
            place.with_name(place.name + suffix).unlink(missing_ok=True)
    return open_store(place)


def _add_all(
    engine: Engine, paths: Sequence[str], settings: SourceSettings | None, *, label: str | None = None
) -> OpenCorpus:
    corpus = OpenCorpus(engine)
    try:
        for path in paths:
            if path == STDIN:
                engine.add_text("stdin", _piped())
                corpus.report.note("added", "stdin")
            else:
                sum_into(corpus.report, _add(engine, path, settings, label))
    except BaseException:
        engine.close()
        raise
    return corpus


def _add(engine: Engine, path: str, settings: SourceSettings | None, label: str | None) -> Report:
    """Bring one place up to date; on a terminal its new files are counted first, to show how many are left."""
    with progress("reading") as advance:
        if advance is None:
            return engine.add(path, label=label, settings=settings)
        plan = engine.preview(path, label=label, settings=settings)
        total, numbers = plan.added + plan.changed, count(1)
        return engine.add(
            path, label=label, settings=settings, progress=lambda file: advance(file.path, next(numbers), total)
        )


def _piped() -> bytes:
    """The text that stdin gives, as a document."""
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


def sum_into(total: Report, one: Report) -> None:
    """Add the counts and lists of a report to another."""
    for name in ("added", "changed", "unchanged", "renamed", "removed", "skipped", "files"):
        setattr(total, name, getattr(total, name) + getattr(one, name))


def _exists(root: str) -> bool:
    try:
        root_of(root)
    except InputError:
        return False
    return True
