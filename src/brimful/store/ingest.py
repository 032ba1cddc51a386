"""How does a folder become documents, and how do they stay what the folder holds?"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from brimful.corpus.documents import Document
from brimful.corpus.loaders import Loaded, load_file
from brimful.corpus.reading import ATTEMPTS
from brimful.corpus.skips import Refusal, Skipped, SourceSettings
from brimful.corpus.sources import Found, Root, root_of, walk
from brimful.corpus.streaming import LONG_BYTES, LongDocument, LongText, streamed_file
from brimful.store.pages import SUFFIX
from brimful.store.sqlite import Entry, Origins, SqliteStore

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


def ingest(
    store: SqliteStore,
    place: str | os.PathLike[str],
    *,
    settings: SourceSettings | None = None,
    progress: Callable[[Found], None] | None = None,
) -> Report:
    """Bring the store up to date with a file, folder or glob.

    A file whose stat is as before costs that stat. Changed files are read again, vanished ones forgotten, and
    a renamed one keeps its indexed content. Adding the same place again is how it is updated.
    """
    settings = settings or SourceSettings()
    root = root_of(place)
    prefix = _prefix(root)
    report = Report()
    known = store.origins(prefix)
    store.remember_root(prefix, root.path.name)
    fresh: list[Found] = []
    kept: set[str] = set()
    own = {os.fspath(path) for path in own_files(store)}
    for found in walk(root, settings=settings):
        if isinstance(found, Found) and found.location in own:
            report.skipped.append(Skipped(found.path, "special", "part of the store itself"))
        elif isinstance(found, Skipped):
            report.skipped.append(found)
            if found.reason in _KEEP:
                # A folder's path ends with a slash and stands for all that is in it.
                folder = found.path if found.path.endswith("/") else f"{found.path}/"
                kept.update(name for name in known if name == found.path or name.startswith(folder))
        elif found.path in known and known[found.path].stamp == _stamp(found):
            report.unchanged += 1
            kept.add(found.path)
        else:
            fresh.append(found)
    gone = {name: known[name] for name in known if name not in kept}
    fresh = _rename(store, prefix, fresh, gone, report)
    names = _Names(store, root.path.name, prefix)
    reading = _Reading(store, gone, prefix, names, settings, report, progress)
    store.add(reading.entries(fresh))
    reading.add_long_texts()
    vanished = [path for origin in gone.values() for path in origin.paths if path not in names.given]
    report.removed = sum(1 for name in gone if not any(path in names.given for path in gone[name].paths))
    if vanished:
        store.remove(vanished)
    return report


def preview(
    place: str | os.PathLike[str], store: SqliteStore | None = None, *, settings: SourceSettings | None = None
) -> Report:
    """What `ingest` would find by stats alone, for a store or for none yet; nothing is read or written.

    A file that moved counts as added and removed, and what only its bytes can tell (a binary, a secret) is not told.
    """
    root = root_of(place)
    known = {} if store is None else store.origins(_prefix(root))
    own = set() if store is None else {os.fspath(path) for path in own_files(store)}
    report = Report()
    seen: set[str] = set()
    for found in walk(root, settings=settings or SourceSettings()):
        if isinstance(found, Skipped):
            report.skipped.append(found)
        elif found.location not in own:
            seen.add(found.path)
            if found.path not in known:
                report.added += 1
            elif known[found.path].stamp == _stamp(found):
                report.unchanged += 1
            else:
                report.changed += 1
    report.removed = sum(1 for name in known if name not in seen)
    return report


def own_files(store: SqliteStore) -> list[Path]:
    """The files that a store consists of, so that it is never taken for a part of its own corpus."""
    path = store.path.resolve()
    return [path, *(path.with_name(path.name + suffix) for suffix in ("-wal", "-shm", "-journal", SUFFIX))]


class _Reading:
    """Files on their way into the store; long ones wait until the others are in, then go one by one."""

    def __init__(
        self,
        store: SqliteStore,
        gone: dict[str, Origins],
        prefix: str,
        names: _Names,
        settings: SourceSettings,
        report: Report,
        progress: Callable[[Found], None] | None,
    ) -> None:
        self._store, self._gone, self._prefix, self._names = store, gone, prefix, names
        self._settings, self._report, self._progress = settings, report, progress
        self._long: list[tuple[Found, LongText]] = []

    def entries(self, fresh: list[Found]) -> Iterator[Entry]:
        """The documents of all files that can be held; the others are put aside."""
        for found in fresh:
            if self._progress:
                self._progress(found)
            for each in self._loaded(found):
                path = self._names.give(each.path)
                time = each.time if each.time is not None else _time(found)
                document = Document(path, each.content, time=time, kind=each.kind, language=each.language)
                yield replace(self._entry(document, found, each.rule), title=each.title, source_map=each.source_map)

    def add_long_texts(self) -> None:
        """Store the files that were put aside; one that does not hold still keeps what was stored of it."""
        for found, text in self._long:
            path = self._names.give(text.path)
            refusal = self._add_long(path, found, text)
            if refusal is None:
                self._count(found)
            else:
                self._names.given.discard(path)
                self._skip(found, [refusal.at(found.path)])
        self._long.clear()

    def _add_long(self, path: str, found: Found, text: LongText) -> Refusal | None:
        for _ in range(ATTEMPTS):
            try:
                document = LongDocument.of(path, text, time=_time(found))
                self._store.add([self._entry(document, found, text.rule)])
            except Refusal as refusal:
                last = refusal
                if refusal.reason != "changing":
                    break
            else:
                return None
        return last

    def _loaded(self, found: Found) -> list[Loaded]:
        text = streamed_file(found, settings=self._settings) if found.size > LONG_BYTES else None
        if isinstance(text, LongText):
            self._long.append((found, text))
            return []
        loaded = load_file(found, settings=self._settings) if text is None else [text]
        documents = [each for each in loaded if isinstance(each, Loaded)]
        self._skip(found, [each for each in loaded if isinstance(each, Skipped)])
        if documents:
            self._count(found)
        return documents

    def _entry(self, document: Document | LongDocument, found: Found, rule: str) -> Entry:
        return Entry(document, rule=rule, origin=f"{self._prefix}{found.path}", stamp=_stamp(found))

    def _skip(self, found: Found, skips: list[Skipped]) -> None:
        self._report.skipped.extend(skips)
        if any(skip.reason in _KEEP for skip in skips):
            self._gone.pop(found.path, None)

    def _count(self, found: Found) -> None:
        if found.path in self._gone:
            self._report.changed += 1
        else:
            self._report.added += 1


def _rename(
    store: SqliteStore, prefix: str, fresh: list[Found], gone: dict[str, Origins], report: Report
) -> list[Found]:
    """Give files that only moved their new path; returns the files that are still to be read."""
    by_stamp = {origin.stamp: name for name, origin in sorted(gone.items(), reverse=True) if len(origin.paths) == 1}
    left = []
    for found in fresh:
        old = by_stamp.get(_stamp(found)) if found.path not in gone else None
        if old is not None and store.rename(gone[old].paths[0], found.path, origin=f"{prefix}{found.path}"):
            report.renamed += 1
            del gone[old], by_stamp[_stamp(found)]
        else:
            left.append(found)
    return left


class _Names:
    """Paths for documents: relative to the root, with the root's name in front where another root has them."""

    def __init__(self, store: SqliteStore, name: str, prefix: str) -> None:
        self._store, self._name, self._prefix = store, name, prefix
        self.given: set[str] = set()

    def give(self, path: str) -> str:
        """The path to store a document under."""
        for candidate in (path, f"{self._name}/{path}", f"{self._prefix.strip('/')}/{path}"):
            owner = self._store.owner(candidate)
            if owner is None or owner.startswith(self._prefix):
                break
        self.given.add(candidate)
        return candidate


def _prefix(root: Root) -> str:
    return f"{root.path.as_posix()}{'?' + root.glob if root.glob else ''}//"


def _time(found: Found) -> int:
    return found.mtime_ns // 1_000_000_000


def place_of(prefix: str) -> str:
    """The file, folder or glob that a root's prefix stands for, as `ingest` takes it.

    >>> place_of("/notes//"), place_of("/notes?*.md//")
    ('/notes', '/notes/*.md')
    """
    path = prefix.removesuffix("//")
    folder, mark, glob = path.rpartition("?")
    return f"{folder}/{glob}" if mark and not os.path.lexists(path) else path or "/"


def _stamp(found: Found) -> str:
    return f"{found.size}:{found.mtime_ns}:{found.inode}:{found.device}"
