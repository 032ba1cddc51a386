"""How does a folder become documents, and how do they stay what the folder holds?"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from brimful.corpus.documents import Document
from brimful.corpus.loaders import Loaded, load_file
from brimful.corpus.skips import Skipped, SourceSettings
from brimful.corpus.sources import Found, Root, root_of, walk
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
    for found in walk(root, settings=settings):
        if isinstance(found, Skipped):
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
    store.add(_entries(fresh, gone, prefix, names, settings, report, progress))
    vanished = [path for origin in gone.values() for path in origin.paths if path not in names.given]
    report.removed = sum(1 for name in gone if not any(path in names.given for path in gone[name].paths))
    if vanished:
        store.remove(vanished)
    return report


def _entries(
    fresh: list[Found],
    gone: dict[str, Origins],
    prefix: str,
    names: _Names,
    settings: SourceSettings,
    report: Report,
    progress: Callable[[Found], None] | None,
) -> Iterator[Entry]:
    for found in fresh:
        if progress:
            progress(found)
        loaded = load_file(found, settings=settings)
        documents = [each for each in loaded if isinstance(each, Loaded)]
        skips = [each for each in loaded if isinstance(each, Skipped)]
        report.skipped.extend(skips)
        if any(skip.reason in _KEEP for skip in skips):
            gone.pop(found.path, None)
        if documents and found.path in gone:
            report.changed += 1
        elif documents:
            report.added += 1
        for each in documents:
            time = each.time if each.time is not None else found.mtime_ns // 1_000_000_000
            path = names.give(each.path)
            yield Entry(
                Document(path, each.content, time=time, kind=each.kind, language=each.language),
                rule=each.rule,
                title=each.title,
                origin=f"{prefix}{found.path}",
                stamp=_stamp(found),
                source_map=each.source_map,
            )


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


def _stamp(found: Found) -> str:
    return f"{found.size}:{found.mtime_ns}:{found.inode}:{found.device}"
