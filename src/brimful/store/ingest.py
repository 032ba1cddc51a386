"""How does a folder become documents, and how do they stay what the folder holds?"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Literal

from brimful.corpus.reading import ATTEMPTS
from brimful.corpus.skips import Refusal, Skipped, SourceSettings
from brimful.corpus.sources import Found, Root, root_of, walk
from brimful.corpus.streaming import LONG_BYTES, LongDocument, LongText, streamed_file
from brimful.index.coding import default_embedder
from brimful.store.batches import File, Outcome, Taken, batches_of, stamp_of, take_in, time_of
from brimful.store.helping import Hands, helpers_for
from brimful.store.preparing import Entry
from brimful.store.store import Origins, Store, TakenError

Done = Literal["added", "changed", "renamed", "removed"]
_KEEP = ("unreadable", "changing")
"""Reasons that may pass: what was stored of such a file stays."""


@dataclass(slots=True)
class Report:
    """What adding a place did, file by file."""

    added: int = 0
    changed: int = 0
    unchanged: int = 0
    renamed: int = 0
    removed: int = 0
    skipped: list[Skipped] = field(default_factory=list)
    files: list[tuple[str, str]] = field(default_factory=list)  # what was done to which, in the order of doing

    def note(self, done: Done, path: str) -> None:
        """Count a file, and name it."""
        setattr(self, done, getattr(self, done) + 1)
        self.files.append((done, path))


def ingest(
    store: Store,
    place: str | os.PathLike[str],
    *,
    settings: SourceSettings | None = None,
    progress: Callable[[Found], None] | None = None,
    wait_seconds: float | None = None,
) -> Report:
    """Bring the store up to date with a file, folder or glob.

    A file whose stat is as before costs that stat. Changed files are read again, vanished ones forgotten, and
    a renamed one keeps its indexed content. Adding the same place again is how it is updated. Processes that add
    take turns: the end is that of one after the other. `wait_seconds` bounds how long to wait for a turn.
    """
    root = root_of(place)
    with store.turn(_prefix(root), wait_seconds=wait_seconds):
        return _ingest(store, root, settings or SourceSettings(), progress)


def _ingest(store: Store, root: Root, settings: SourceSettings, progress: Callable[[Found], None] | None) -> Report:
    prefix = _prefix(root)
    report = Report()
    known = store.origins(prefix)
    store.remember_root(prefix, root.path.name)
    fresh: list[Found] = []
    kept: set[str] = set()
    own = {os.fspath(path) for path in store.own_files()}
    for found in walk(root, settings=settings):
        if isinstance(found, Found) and found.location in own:
            report.skipped.append(Skipped(found.path, "special", "part of the store itself"))
        elif isinstance(found, Skipped):
            report.skipped.append(found)
            if found.reason in _KEEP:
                # A folder's path ends with a slash and stands for all that is in it.
                folder = found.path if found.path.endswith("/") else f"{found.path}/"
                kept.update(name for name in known if name == found.path or name.startswith(folder))
        elif found.path in known and known[found.path].stamp == stamp_of(found):
            report.unchanged += 1
            kept.add(found.path)
        else:
            fresh.append(found)
    gone = {name: known[name] for name in known if name not in kept}
    fresh = _rename(store, prefix, fresh, gone, report)
    reading = _Reading(store, gone, prefix, _Names(store, root.path.name, prefix), settings, report, progress)
    reading.take_in([found for found in fresh if found.size <= LONG_BYTES])
    for found in fresh:
        if found.size > LONG_BYTES:
            reading.take_in_long(found)
    store.tidy()
    given = reading.given
    vanished = [path for origin in gone.values() for path in origin.paths if path not in given]
    for name in sorted(gone):
        if not any(path in given for path in gone[name].paths):
            report.note("removed", name)
    if vanished:
        store.remove_of(prefix, vanished)
    return report


def preview(
    place: str | os.PathLike[str], store: Store | None = None, *, settings: SourceSettings | None = None
) -> Report:
    """What `ingest` would find by stats alone, for a store or for none yet; nothing is read or written.

    A file that moved counts as added and removed, and what only its bytes can tell (a binary, a secret) is not told.
    """
    root = root_of(place)
    known = {} if store is None else store.origins(_prefix(root))
    own = set() if store is None else {os.fspath(path) for path in store.own_files()}
    report = Report()
    seen: set[str] = set()
    for found in walk(root, settings=settings or SourceSettings()):
        if isinstance(found, Skipped):
            report.skipped.append(found)
        elif found.location not in own:
            seen.add(found.path)
            if found.path not in known:
                report.added += 1
            elif known[found.path].stamp == stamp_of(found):
                report.unchanged += 1
            else:
                report.changed += 1
    report.removed = sum(1 for name in known if name not in seen)
    return report


class _Reading:
    """Files on their way into the store; long ones come when the others are in, one by one."""

    def __init__(
        self,
        store: Store,
        gone: dict[str, Origins],
        prefix: str,
        names: _Names,
        settings: SourceSettings,
        report: Report,
        progress: Callable[[Found], None] | None,
    ) -> None:
        self._store, self._gone, self._prefix, self._names = store, gone, prefix, names
        self._settings, self._report, self._progress = settings, report, progress
        self.given: set[str] = set()  # paths that documents were stored under

    def take_in(self, fresh: list[Found]) -> None:
        """Read and index files that can be held, in batches; with a helper where there is much to do."""
        batches = [[self._file(found) for found in batch] for batch in batches_of(fresh)]
        embedder = self._store.embedder() if batches else None
        is_alone = self._store.parts == 1 and (embedder is None or embedder is default_embedder())
        size = sum(found.size for found in fresh)
        helpers = helpers_for(size, workers=self._settings.workers) if is_alone else 0
        work = partial(take_in, settings=self._settings, embedder=embedder, parts=self._store.parts)
        task = (self._settings, embedder is not None)
        with Hands(work, task=task, helpers=min(helpers, max(len(batches) - 1, 0))) as hands:
            for batch, indexed in zip(batches, hands.take_in(batches), strict=True):
                taken = self._written(batch, indexed)
                for file, outcome in zip(batch, taken.outcomes, strict=True):
                    self._tell(file.found)
                    self._note(file.found, outcome)
                if taken.prepared is not None:
                    self._store.tidy()

    def take_in_long(self, found: Found) -> None:
        """Store a file that is not held; one that does not hold still keeps what was stored of it."""
        self._tell(found)
        file = self._file(found)
        text = streamed_file(found, settings=self._settings)
        if isinstance(text, LongText):
            refusal = self._add_long(file, text)
            skipped = [refusal.at(found.path)] if refusal is not None else []
            self._note(found, Outcome([] if skipped else [file.folder + text.path], skipped))
        elif isinstance(text, Skipped):
            self._note(found, Outcome([], [text]))
        else:
            taken = self._written(
                [file], take_in([file], self._settings, self._store.embedder(), parts=self._store.parts)
            )
            self._note(found, taken.outcomes[0])

    def _written(self, batch: Sequence[File], taken: Taken) -> Taken:
        """Commit a batch; where a text was stored under one of its paths meanwhile, once more under other names."""
        for prefix in (self._prefix, self._prefix, None):
            if taken.prepared is None:
                break
            try:
                self._store.write(taken.prepared, prefix=prefix)
            except TakenError:
                self._names = self._names.again()
                files = [self._file(file.found) for file in batch]
                taken = take_in(files, self._settings, self._store.embedder(), parts=self._store.parts)
            else:
                break
        return taken

    def _add_long(self, file: File, text: LongText) -> Refusal | None:
        for _ in range(ATTEMPTS):
            try:
                document = LongDocument.of(file.folder + text.path, text, time=time_of(file.found))
                self._store.add([Entry(document, rule=text.rule, origin=file.origin, stamp=stamp_of(file.found))])
            except Refusal as refusal:
                last = refusal
                if refusal.reason != "changing":
                    break
            else:
                return None
        return last

    def _tell(self, found: Found) -> None:
        if self._progress:
            self._progress(found)

    def _file(self, found: Found) -> File:
        return File(found, self._names.folder_of(found.path), f"{self._prefix}{found.path}")

    def _note(self, found: Found, outcome: Outcome) -> None:
        self._report.skipped.extend(outcome.skipped)
        if outcome.paths:
            self._report.note("changed" if found.path in self._gone else "added", found.path)
        if any(skip.reason in _KEEP for skip in outcome.skipped):
            self._gone.pop(found.path, None)
        self.given.update(outcome.paths)


def _rename(store: Store, prefix: str, fresh: list[Found], gone: dict[str, Origins], report: Report) -> list[Found]:
    """Give files that only moved their new path; returns the files that are still to be read."""
    by_stamp = {origin.stamp: name for name, origin in sorted(gone.items(), reverse=True) if len(origin.paths) == 1}
    left = []
    for found in fresh:
        old = by_stamp.get(stamp_of(found)) if found.path not in gone else None
        if old is not None and store.rename(gone[old].paths[0], found.path, origin=f"{prefix}{found.path}"):
            report.note("renamed", found.path)
            del gone[old], by_stamp[stamp_of(found)]
        else:
            left.append(found)
    return left


def left_out(store: Store, place: str | os.PathLike[str], *, settings: SourceSettings | None = None) -> list[Skipped]:
    """Everything below a place that a store does not have, with the reason; what only its bytes can tell is read."""
    settings = settings or SourceSettings()
    root = root_of(place)
    prefix = _prefix(root)
    known, own = store.origins(prefix), {os.fspath(path) for path in store.own_files()}
    skipped: list[Skipped] = []
    for found in walk(root, settings=settings):
        if isinstance(found, Skipped):
            skipped.append(found)
        elif found.location in own:
            skipped.append(Skipped(found.path, "special", "part of the store itself"))
        elif found.path not in known:
            skipped += take_in([File(found, "", f"{prefix}{found.path}")], settings, None).outcomes[0].skipped
    return skipped


class _Names:
    """Folders for documents: none, but the root's name where another root has their paths."""

    def __init__(self, store: Store, name: str, prefix: str) -> None:
        self._store, self._name, self._prefix = store, name, prefix
        self._folders = ("", f"{name}/", f"{prefix.strip('/')}/") if store.has_others(prefix) else ("",)

    def again(self) -> _Names:
        """The same by what is there now."""
        return _Names(self._store, self._name, self._prefix)

    def folder_of(self, path: str) -> str:
        """What to put in front of the paths of a file's documents."""
        *first, last = self._folders
        return next((each for each in first if not self._store.is_taken(each + path, prefix=self._prefix)), last)


def _prefix(root: Root) -> str:
    return f"{root.path.as_posix()}{'?' + root.glob if root.glob else ''}//"


def place_of(prefix: str) -> str:
    """The file, folder or glob that a root's prefix stands for, as `ingest` takes it.

    >>> place_of("/notes//"), place_of("/notes?*.md//")
    ('/notes', '/notes/*.md')
    """
    path = prefix.removesuffix("//")
    folder, mark, glob = path.rpartition("?")
    return f"{folder}/{glob}" if mark and not os.path.lexists(path) else path or "/"
