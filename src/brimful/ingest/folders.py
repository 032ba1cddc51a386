"""How does a folder become documents, and a store stay what the folder holds while it changes?"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple, TypeGuard

from brimful.documents.documents import check_path
from brimful.documents.reading import ATTEMPTS, LONG_BYTES, read_blocks, streamed
from brimful.documents.skips import Refusal, Skipped, SourceSettings
from brimful.documents.sources import Found, Root, parts_of, root_of, walk
from brimful.errors import DocumentError, StoreBusyError
from brimful.ingest import Report
from brimful.ingest.workers import (
    File,
    Outcome,
    Taken,
    batches_of,
    index_batch,
    stamp_of,
    taken_in,
    threads_for,
    time_of,
)
from brimful.store.store import Named, Origins, Store, TakenError, is_folder
from brimful.store.writing import Entry

# ---- ingest: How does a folder become documents, and how do they stay what the folder holds?

_KEEP = ("unreadable", "changing")
"""Reasons that may pass: what was stored of such a file stays."""


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

    A folder's documents are named `label/path below it`: the label is its own name, or the one given, and is kept with
    it from then on (ruling 18). A file that is added by itself has its own name.

    A file whose stat is as before costs that stat. Changed files are read again, vanished ones forgotten, and
    a renamed one keeps its indexed content. Adding the same place again is how it is updated. Processes that add
    take turns: the end is that of one after the other. `wait_seconds` bounds how long to wait for a turn.
    """
    root = root_of(place)
    with store.turn(_prefix(root), wait_seconds=wait_seconds):
        return _ingest(store, root, label, settings or SourceSettings(), progress)


def _ingest(
    store: Store,
    root: Root,
    label: str | None,
    settings: SourceSettings,
    progress: Callable[[Found], None] | None,
) -> Report:
    prefix, naming = _prefix(root), _named(store, root, label)
    report = Report(folder=naming.folder)
    known = store.origins(prefix)
    kept: set[str] = set()
    elsewhere = [store.origins(each) for each in naming.own if each != prefix]
    own = {os.fspath(path) for path in store.own_files()}

    def is_fresh(found: Found | Skipped) -> TypeGuard[Found]:
        if isinstance(found, Found) and found.location in own:
            found = Skipped(found.path, "special", "part of the store itself")
        if isinstance(found, Skipped):
            report.skip(found)
            if found.reason in _KEEP:
                # A folder's path ends with a slash and stands for all that is in it.
                folder = found.path if found.path.endswith("/") else f"{found.path}/"
                kept.update(name for name in known if name == found.path or name.startswith(folder))
            return False
        if naming.is_stored(found, known):
            kept.add(found.path)
        elif not any(naming.is_stored(found, origins) for origins in elsewhere):
            return True
        report.unchanged += 1
        return False

    fresh: Iterable[Found] = filter(is_fresh, walk(root, settings=settings))
    gone: dict[str, Origins] = {}
    if known:
        fresh = list(fresh)  # what is gone is known at the end of the walk
        gone = {name: known[name] for name in known if name not in kept}
        fresh = _rename(store, prefix, fresh, gone, report)
    reading = _Reading(store, gone, prefix, naming, settings, report, progress or (lambda _: None))
    reading.take_in(fresh)
    store.tidy()
    vanished = [path for origin in gone.values() for path in origin.paths if path not in reading.given]
    for name in sorted(gone):
        if not any(path in reading.given for path in gone[name].paths):
            report.note("removed", name)
    if vanished:
        store.remove_of(prefix, vanished)
    return report


def _without_long(found: Iterable[Found], long: list[Found]) -> Iterator[Found]:
    """Files that can be held; the others are put into the list."""
    for each in found:
        if each.size <= LONG_BYTES:
            yield each
        else:
            long.append(each)


def preview(
    place: str | os.PathLike[str],
    store: Store | None = None,
    *,
    label: str | None = None,
    settings: SourceSettings | None = None,
) -> Report:
    """What `ingest` would find by stats alone, for a store or for none yet; nothing is read or written.

    A file that moved counts as added and removed, and what only its bytes can tell (a binary, a secret) is not told.
    """
    root = root_of(place)
    known = {} if store is None else store.origins(_prefix(root))
    own = set() if store is None else {os.fspath(path) for path in store.own_files()}
    naming = _Naming(_folders(root, label)[0].folder, ()) if store is None else _foreseen(store, root, label)
    report = Report(folder=naming.folder)
    seen: set[str] = set()
    for found in walk(root, settings=settings or SourceSettings()):
        if isinstance(found, Skipped):
            report.skip(found)
        elif found.location not in own:
            seen.add(found.path)
            if found.path not in known:
                report.added += 1
            elif naming.is_stored(found, known):
                report.unchanged += 1
            else:
                report.changed += 1
    report.removed = sum(1 for name in known if name not in seen)
    return report


@dataclass
class _Reading:
    """Files on their way into the store; long ones come when the others are in, one by one."""

    store: Store
    gone: dict[str, Origins]
    prefix: str
    naming: _Naming
    settings: SourceSettings
    report: Report
    progress: Callable[[Found], None]
    skipped: list[Skipped] = field(default_factory=list)
    given: set[str] = field(default_factory=set)  # paths of what is gone that documents were stored under again

    def __post_init__(self) -> None:
        self.before = {path for origin in self.gone.values() for path in origin.paths}

    def take_in(self, found: Iterable[Found]) -> None:
        """Read and index files in batches, with a thread beside where there is a second core; long ones at the end."""
        long: list[Found] = []
        batches = batches_of(map(self._file, _without_long(found, long)))
        threads = threads_for(workers=self.settings.workers)
        with closing(taken_in(batches, self.settings, threads=threads)) as indexed:
            for batch, taken in indexed:
                written = self._written(batch, taken)
                for file, outcome in zip(batch, written.outcomes, strict=True):
                    self.progress(file.found)
                    self._note(file.found, outcome)
                is_changed = written.prepared is not None
                del written, taken  # before the next batch is made
                if is_changed:
                    self.store.tidy()
        for each in long:
            self.take_in_long(each)
        for skipped in self.skipped:
            self.report.skip(skipped)

    def take_in_long(self, found: Found) -> None:
        """Store a file that is not held; one that does not hold still keeps what was stored of it."""
        self.progress(found)
        for _ in range(ATTEMPTS):
            try:
                outcome = self._add_long(self._file(found))
                break
            except Refusal as refusal:
                outcome = Outcome([], [refusal.at(found.path)])
                if refusal.reason != "changing":
                    break
        self._note(found, outcome)

    def _add_long(self, file: File) -> Outcome:
        found = file.found
        document = streamed(
            found.path, lambda: read_blocks(found), folder=file.folder, time=time_of(found), settings=self.settings
        )
        if document is None:
            return self._written([file], index_batch([file], self.settings)).outcomes[0]
        self.store.add([Entry(document, rule=document.rule, origin=file.origin, stamp=stamp_of(found))])
        return Outcome([document.path], [])

    def _written(self, batch: Sequence[File], taken: Taken) -> Taken:
        """Commit a batch, without the files whose names are those of texts that were stored meanwhile."""
        outcomes = {file.origin: outcome for file, outcome in zip(batch, taken.outcomes, strict=True)}
        left, last = list(batch), taken
        while last.prepared is not None:
            try:
                self.store.write(last.prepared, own=self.naming.own)
            except TakenError as error:
                lost = [file for file in left if error.paths.intersection(outcomes[file.origin].paths)]
                outcomes.update((file.origin, _lost(file)) for file in lost)
                left = [file for file in left if file not in lost]
                last = index_batch(left, self.settings)
                outcomes.update(zip((file.origin for file in left), last.outcomes, strict=True))
            else:
                break
        return Taken([outcomes[file.origin] for file in batch], last.prepared)

    def _file(self, found: Found) -> File:
        return File(found, self.naming.folder, f"{self.prefix}{found.path}")

    def _note(self, found: Found, outcome: Outcome) -> None:
        if outcome.paths:
            self.report.note("changed" if found.path in self.gone else "added", found.path)
        self.skipped += outcome.skipped
        if any(skipped.reason in _KEEP for skipped in outcome.skipped):
            self.gone.pop(found.path, None)
        if self.before:
            self.given.update(self.before.intersection(outcome.paths))


def _rename(store: Store, prefix: str, fresh: Iterable[Found], gone: dict[str, Origins], report: Report) -> list[Found]:
    """Give files that only moved their new path; returns the files that are still to be read."""
    by_stamp = {origin.stamp: name for name, origin in sorted(gone.items(), reverse=True) if len(origin.paths) == 1}
    left = []
    for found in fresh:
        old = by_stamp.get(stamp_of(found)) if found.path not in gone else None
        new = report.folder + found.path
        if old is not None and store.rename(gone[old].paths[0], new, origin=f"{prefix}{found.path}"):
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
    report = Report(folder=_foreseen(store, root, None).folder)
    for found in walk(root, settings=settings):
        if isinstance(found, Skipped):
            report.skip(found)
        elif found.location in own:
            report.skip(Skipped(found.path, "special", "part of the store itself"))
        elif found.path not in known:
            file = File(found, "", f"{prefix}{found.path}")
            for each in index_batch([file], settings).outcomes[0].skipped:
                report.skip(each)
    return report.skipped


# ---- naming: How are the documents of a place called?
#
# By the folder's own name and the path below it, whatever else was added before: `docs/tea.md`. Where another place has
# that name, folders above it are put in front. It is recorded when a place is added first, and stays.


class _Naming(NamedTuple):
    """What stands in front of the paths of a place's files, and the prefixes of all that was added at that place."""

    folder: str
    own: tuple[str, ...]

    def is_stored(self, found: Found, known: Mapping[str, Origins]) -> bool:
        """Whether a file's documents are there under their names, made from what the file is now."""
        stored = known.get(found.path)
        if stored is None or stored.stamp != stamp_of(found):
            return False
        return all(path.startswith(self.folder + found.path) for path in stored.paths)


def _named(store: Store, root: Root, label: str | None) -> _Naming:
    """How a place's documents are called from now on: as before, by the label given, or by a name that is free."""
    prefix, roots = _prefix(root), store.roots()
    own = _own(root, roots)
    recorded = roots.get(prefix)
    folders = _folders(root, label)
    if is_folder(recorded):
        if label is not None and recorded != folders[0].folder:
            raise DocumentError(
                f"the documents of {os.fspath(root.path)!r} are named {recorded!r}…, and names do not change; "
                "leave the other name out, or add the folder to a new store"
            )
        return _Naming(recorded, own)
    shared = {folder for each in own if each != prefix and is_folder(folder := roots.get(each))}
    if shared and label is None:  # another glob of the same folder
        folders = [Named(each) for each in sorted(shared)]
    folder = store.claim_folder(prefix, folders, own=own)
    if folder is None:
        raise DocumentError(
            f"{folders[0].folder + folders[0].file!r:.200} names other documents already; "
            f"choose another name for {os.fspath(root.path)!r}: brimful add … --as NAME"
        )
    return _Naming(folder, own)


def _foreseen(store: Store, root: Root, label: str | None) -> _Naming:
    """How they would be called, if nothing else was added before."""
    roots = store.roots()
    recorded = roots.get(_prefix(root))
    return _Naming(recorded if is_folder(recorded) else _folders(root, label)[0].folder, _own(root, roots))


def _own(root: Root, roots: Iterable[str]) -> tuple[str, ...]:
    """The prefixes of what was added at one place: the folder, and globs in it."""
    if root.address is not None:
        return (_prefix(root),)
    place = root.path.as_posix()
    shared = [
        each
        for each in roots
        if each.startswith(f"{place}?") and root.path.is_dir() and not os.path.lexists(each.removesuffix("//"))
    ]
    return tuple(dict.fromkeys([_prefix(root), f"{place}//", *shared]))


def _folders(root: Root, label: str | None) -> list[Named]:
    """What may stand in front of a place's paths, the nearest first.

    >>> [each.folder for each in _folders(Root(Path("/usr/share")), None)]
    ['share/', 'usr/share/']
    """
    is_one, above = (root.path.is_file(), root.path.parts[1:]) if root.address is None else parts_of(root.address)
    file = root.path.name if is_one else ""
    if label is not None:
        if is_one:
            raise DocumentError(f"{os.fspath(root.path)!r} is a file, which has its own name; --as is for folders")
        return [Named(f"{_checked(label)}/")]
    above = above[:-1] if is_one else above
    shorter = ["/".join(above[at:]) + "/" for at in reversed(range(len(above)))]
    folders = ["", *shorter] if is_one or not shorter else shorter
    return [Named(folder, file) for folder in folders]


def _checked(label: str) -> str:
    """A label that can stand in front of a path: names with slashes between them."""
    check_path(label)
    parts = label.split("/")
    if any(part in ("", ".", "..") or not part.isprintable() or part != part.strip() for part in parts):
        raise DocumentError(
            f"{label!r:.200} can't name a folder; give a word, or several with slashes between them: --as notes"
        )
    return label


def _lost(file: File) -> Outcome:
    detail = "another document has its name; remove that one, and add the folder again"
    return Outcome([], [Skipped(file.found.path, "name", detail)])


def _prefix(root: Root) -> str:
    if root.address is not None:
        return f"{root.address}//"
    prefix = f"{root.path.as_posix()}{'?' + root.glob if root.glob else ''}//"
    check_path(prefix)  # a folder whose name is not UTF-8 has no documents that could be cited
    return prefix


# ---- watching: What changed since the last look?

_DEBOUNCE_MS = 400
"""How long changes are gathered at most before they are told."""

_TICK_MS = 500
"""How often `changes` says that nothing happened."""


def changes(
    roots: Iterable[Root | str | Path],
    *,
    stop: threading.Event,
    debounce_ms: int = _DEBOUNCE_MS,
    poll: bool = False,
    ignore: Iterable[Path] = (),
) -> Iterator[frozenset[Path]]:
    """The changed paths below the roots, gathered for a moment, until `stop` is set.

    An empty set comes twice a second when nothing happens; the first set of all says that the watch has begun.
    Hidden files and folders are passed over, and whatever lies below `ignore`: a store kept inside a root must not
    wake its own watcher. `poll` compares listings instead of asking the system, for network file systems. A file
    that is watched by itself is seen again after an editor has replaced it, since its folder is watched.
    """
    import watchfiles

    wanted = [root if isinstance(root, Root) else root_of(root) for root in roots]
    folders = sorted({root.path if root.path.is_dir() else root.path.parent for root in wanted})
    quiet = tuple(Path(path).resolve() for path in ignore)

    def matters(change: watchfiles.Change, name: str) -> bool:
        path = Path(name)
        if change == watchfiles.Change.modified and path.is_dir():
            return False  # whatever happened in it is told by itself
        if any(path.is_relative_to(folder) for folder in quiet):
            return False
        return any(_is_below(path, root.path) for root in wanted)

    for found in watchfiles.watch(
        *folders,
        watch_filter=matters,
        debounce=debounce_ms,
        step=min(50, debounce_ms),
        stop_event=stop,
        rust_timeout=_TICK_MS,
        force_polling=poll,
        ignore_permission_denied=True,
        recursive=any(root.path.is_dir() for root in wanted),
        yield_on_timeout=True,
    ):
        yield frozenset(Path(name) for _, name in found)


def _is_below(path: Path, root: Path) -> bool:
    if path == root:
        return True
    if not path.is_relative_to(root):
        return False
    return not any(part.startswith(".") for part in path.relative_to(root).parts)


# ---- following: How does a store stay what a folder holds while the folder changes?

_LOOK_SECONDS = 0.5
"""How often a place is looked at that is gone, or whose file system tells of no changes."""


def watch_into(
    store: Store,
    place: str | os.PathLike[str],
    *,
    settings: SourceSettings | None = None,
    stop: threading.Event,
    debounce_ms: int = _DEBOUNCE_MS,
    poll: bool = False,
) -> Iterator[Report]:
    """Bring the store up to date with a place, then after every change until `stop` is set; a report each time.

    Only what changed is read. A file that can't be read stands in the report's `skipped` and keeps what was stored of
    it. While another process writes, a change waits; while the place itself is gone, everything stored of it stays.
    The first report comes when the watch has begun, so no change falls between the two. `poll` looks at every file's
    stat twice a second instead of asking the system, for network file systems.
    """
    root_of(place)  # a place that never was is the caller's mistake
    last: Report | None = None
    while not stop.is_set():
        with suppress(DocumentError, FileNotFoundError):  # the place is gone for now
            root = root_of(place)
            noticed = changes([root], stop=stop, debounce_ms=debounce_ms, ignore=store.own_files())
            is_due = True
            for changed in (frozenset[Path](),) if poll else noticed:
                if is_due or changed:
                    is_due = False
                    try:
                        report = ingest(store, place, settings=settings, wait_seconds=0)
                    except StoreBusyError:  # another process writes
                        is_due = True
                        continue
                    if last is None or _tells(report, last):
                        yield report
                    last = report
                if not root.path.exists():
                    break
        stop.wait(_LOOK_SECONDS)


def _tells(report: Report, last: Report) -> bool:
    """Whether a report says something that the last one did not."""
    done = report.added + report.changed + report.renamed + report.removed
    return bool(done) or report.skipped != last.skipped
