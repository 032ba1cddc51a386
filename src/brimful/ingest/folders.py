"""How does a store come to hold what a folder holds?"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing

from brimful.documents.loaders import streamed
from brimful.documents.reading import ATTEMPTS, LONG_BYTES, read_blocks
from brimful.documents.skips import Refusal, Skipped, SourceSettings
from brimful.documents.sources import Found, Root, root_of, stamp_of, walk
from brimful.ingest import Report
from brimful.ingest.batches import FileResult, indexed_batches, read_batch, time_of
from brimful.ingest.naming import Naming, claim, foresee, prefix_of
from brimful.store.store import Origins, Store, TakenError
from brimful.store.writing import Batch, NewDocument, prepare

_MAY_PASS = ("unreadable", "changing")
"""Reasons that may pass: the stored documents of such a file stay."""


def ingest(
    store: Store,
    place: str | os.PathLike[str],
    *,
    label: str | None = None,
    settings: SourceSettings | None = None,
    progress: Callable[[Found], None] | None = None,
    wait_seconds: float | None = None,
) -> Report:
    """Bring the store up to date with a file, folder or glob.

    A folder's documents are named `label/path below it`: the label is its name, or the one given when it was first
    added (ruling 18). A single file has its plain name.

    An unchanged file costs one stat. Changed and renamed files are read again, vanished ones removed. Processes that
    add take turns; `wait_seconds` bounds how long to wait for one.
    """
    root, settings = root_of(place), settings or SourceSettings()
    with store.turn(prefix_of(root), wait_seconds=wait_seconds):
        return _Update(store, root, claim(store, root, label), settings, progress).run()


def preview(
    place: str | os.PathLike[str],
    store: Store | None = None,
    *,
    label: str | None = None,
    settings: SourceSettings | None = None,
) -> Report:
    """Foresee by stats alone what `ingest` would do; nothing is read or written.

    A file that moved counts as added and removed; binaries and secrets that only their bytes show count as files.
    """
    root = root_of(place)
    update = _Update(store, root, foresee(store, root, label), settings or SourceSettings(), None)
    paths = {file.path for file in update.changed_files()}
    update.report.changed = len(paths.intersection(update.outdated))
    update.report.added = len(paths) - update.report.changed
    update.report.removed = len(update.outdated) - update.report.changed
    return update.report


def left_out(store: Store, place: str | os.PathLike[str], *, settings: SourceSettings | None = None) -> list[Skipped]:
    """Every file below a place that a store lacks, with the reason; files are read where only their bytes show it."""
    root, settings = root_of(place), settings or SourceSettings()
    update = _Update(store, root, foresee(store, root, None), settings, None)
    stored = frozenset(update.outdated)
    for file in update.changed_files():
        if file.path not in stored:
            (result,), _ = read_batch([file], update.naming, settings)
            for skipped in result.skipped:
                update.report.skip(skipped)
    return update.report.skipped


class _Update:
    """One walk over a place, and the commits that bring the store up to date with it."""

    def __init__(
        self,
        store: Store | None,
        root: Root,
        naming: Naming,
        settings: SourceSettings,
        progress: Callable[[Found], None] | None,
    ) -> None:
        self.root, self.naming, self.settings = root, naming, settings
        self.progress = progress or (lambda _: None)
        self.report = Report(folder=naming.folder)
        self.outdated: dict[str, Origins] = {}  # by file: what is stored, less what the walk finds unchanged
        self.globs: list[dict[str, Origins]] = []  # what is stored of other globs of this folder
        self.store_files: set[str] = set()
        if store is not None:
            self.store = store
            self.outdated = store.origins(naming.prefix)
            self.globs = [store.origins(prefix) for prefix in naming.shared if prefix != naming.prefix]
            self.store_files = {os.fspath(path) for path in store.own_files()}
        self.renewed: set[str] = set()  # paths of outdated documents that were stored again
        self.moved: dict[str, str] = {}  # files under another name: the new one and the old one
        self.skipped: list[Skipped] = []  # of files that were read, listed after the unread ones

    def run(self) -> Report:
        """Walk, read, write, remove."""
        files: Iterable[Found] = self.changed_files()
        if self.outdated:
            files = list(files)  # vanished files are known at the end of the walk
            self.moved = self._moved(files)
        outdated_paths = {path for origin in self.outdated.values() for path in origin.paths}
        long: list[Found] = []
        with closing(indexed_batches(_short(files, long), self.naming, self.settings)) as batches:
            for batch, results, prepared in batches:
                for file, result in zip(batch, self._write(batch, results, prepared), strict=True):
                    self.progress(file)
                    self._note(file, result, outdated_paths)
                is_written = bool(prepared.rows)
                del prepared  # before the next batch is made
                if is_written:
                    self.store.tidy()
        for file in long:
            self.progress(file)
            self._note(file, self._add_long(file), outdated_paths)
        for skipped in self.skipped:
            self.report.skip(skipped)
        self.store.tidy()
        self._remove_vanished()
        return self.report

    def changed_files(self) -> Iterator[Found]:
        """The files that are new or changed, while unchanged and skipped ones go into the report."""
        for item in walk(self.root, settings=self.settings):
            if isinstance(item, Skipped):
                self._skip(item)
            elif item.location in self.store_files:
                self._skip(Skipped(item.path, "special", "part of the store itself"))
            elif self.naming.is_stored(item, self.outdated):
                del self.outdated[item.path]
                self.report.unchanged += 1
            elif any(self.naming.is_stored(item, origins) for origins in self.globs):
                self.report.unchanged += 1
            else:
                yield item

    def _skip(self, skipped: Skipped) -> None:
        self.report.skip(skipped)
        if skipped.reason in _MAY_PASS:
            folder = f"{skipped.path.removesuffix('/')}/"
            for path in [path for path in self.outdated if path == skipped.path or path.startswith(folder)]:
                del self.outdated[path]

    def _moved(self, files: list[Found]) -> dict[str, str]:
        """The new name of each file that only moved, by its stamp, and the old one."""
        old_names = {
            old.stamp: path for path, old in sorted(self.outdated.items(), reverse=True) if len(old.paths) == 1
        }
        fresh = (file for file in files if file.path not in self.outdated)
        return {file.path: old for file in fresh if (old := old_names.pop(stamp_of(file), None)) is not None}

    def _write(self, batch: list[Found], results: list[FileResult], prepared: Batch) -> list[FileResult]:
        """Commit a batch, without files whose names texts have got meanwhile."""
        try:
            if prepared.rows:
                self.store.write(prepared, own_prefixes=self.naming.shared)
        except TakenError as error:
            pairs = list(zip(batch, results, strict=True))
            free = [file for file, result in pairs if error.paths.isdisjoint(result.paths)]
            again, entries = read_batch(free, self.naming, self.settings)
            written = iter(self._write(free, again, prepare(entries)))
            return [_taken(file) if error.paths & set(result.paths) else next(written) for file, result in pairs]
        return results

    def _add_long(self, file: Found) -> FileResult:
        """Store a file that is not held in memory; one that does not hold still keeps its stored documents."""
        for attempt in range(1, ATTEMPTS + 1):
            try:
                document = streamed(
                    file.path,
                    lambda: read_blocks(file),
                    folder=self.naming.folder,
                    time=time_of(file),
                    settings=self.settings,
                )
                if document is None:
                    results, entries = read_batch([file], self.naming, self.settings)
                    return self._write([file], results, prepare(entries))[0]
                origin = self.naming.prefix + file.path
                self.store.add([NewDocument(document, rule=document.rule, origin=origin, stamp=stamp_of(file))])
                return FileResult([document.path], [])
            except Refusal as refusal:
                if refusal.reason != "changing" or attempt == ATTEMPTS:
                    return FileResult([], [refusal.at(file.path)])
        raise AssertionError("the last attempt returns")

    def _note(self, file: Found, result: FileResult, outdated_paths: set[str]) -> None:
        if result.paths:
            is_changed, is_moved = file.path in self.outdated, file.path in self.moved
            self.report.note("changed" if is_changed else "renamed" if is_moved else "added", file.path)
            self.renewed.update(outdated_paths.intersection(result.paths))
        else:
            self.moved.pop(file.path, None)
        self.skipped += result.skipped
        if any(skipped.reason in _MAY_PASS for skipped in result.skipped):
            self.outdated.pop(file.path, None)

    def _remove_vanished(self) -> None:
        for name in sorted(self.outdated.keys() - self.moved.values()):
            if self.renewed.isdisjoint(self.outdated[name].paths):
                self.report.note("removed", name)
        vanished = [path for old in self.outdated.values() for path in old.paths if path not in self.renewed]
        if vanished:
            self.store.remove_of(self.naming.prefix, vanished)


def _short(files: Iterable[Found], long: list[Found]) -> Iterator[Found]:
    """Files that can be held in memory; the others are put into the list."""
    for file in files:
        if file.size <= LONG_BYTES:
            yield file
        else:
            long.append(file)


def _taken(file: Found) -> FileResult:
    detail = "another document has its name; remove that one, and add the folder again"
    return FileResult([], [Skipped(file.path, "name", detail)])
