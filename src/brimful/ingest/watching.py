"""What changed in a folder, and how does a store follow it?"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from brimful.documents.skips import SourceSettings
from brimful.documents.sources import Root, root_of
from brimful.errors import DocumentError, StoreBusyError
from brimful.ingest import Report
from brimful.ingest.folders import ingest
from brimful.store.store import Store

_DEBOUNCE_MS = 400
_TICK_MS = 500
_RETRY_SECONDS = 0.5
"""Between two looks at a place that is gone or is polled."""


def changes(
    roots: Iterable[Root | str | Path],
    *,
    stop: threading.Event,
    debounce_ms: int = _DEBOUNCE_MS,
    poll: bool = False,
    ignore: Iterable[Path] = (),
) -> Iterator[frozenset[Path]]:
    """The changed paths below the roots, gathered for `debounce_ms`, until `stop` is set.

    The first set says that the watch has begun; an empty set comes every 500 ms when nothing happens. Hidden files
    and what lies below `ignore` are passed over: a store inside a root must not wake its own watcher. `poll` compares
    listings instead of asking the system, for network file systems. For a single file its folder is watched, so that
    it is seen again after an editor has replaced it.
    """
    import watchfiles

    watched = [root if isinstance(root, Root) else root_of(root) for root in roots]
    folders = sorted({root.path if root.path.is_dir() else root.path.parent for root in watched})
    ignored = tuple(Path(path).resolve() for path in ignore)

    def matters(change: watchfiles.Change, name: str) -> bool:
        path = Path(name)
        if change == watchfiles.Change.modified and path.is_dir():
            return False  # its files are reported themselves
        if any(path.is_relative_to(folder) for folder in ignored):
            return False
        return any(_is_visible(path, root.path) for root in watched)

    for batch in watchfiles.watch(
        *folders,
        watch_filter=matters,
        debounce=debounce_ms,
        step=min(50, debounce_ms),
        stop_event=stop,
        rust_timeout=_TICK_MS,
        force_polling=poll,
        ignore_permission_denied=True,
        recursive=any(root.path.is_dir() for root in watched),
        yield_on_timeout=True,
    ):
        yield frozenset(Path(name) for _, name in batch)


def _is_visible(path: Path, root: Path) -> bool:
    """Whether a path is the root or lies below it, with no hidden name between."""
    if not path.is_relative_to(root):
        return False
    return not any(part.startswith(".") for part in path.relative_to(root).parts)


def watch_into(
    store: Store,
    place: str | os.PathLike[str],
    *,
    settings: SourceSettings | None = None,
    stop: threading.Event,
    debounce_ms: int = _DEBOUNCE_MS,
    poll: bool = False,
) -> Iterator[Report]:
    """Bring the store up to date with a place, then again after every change until `stop` is set.

    Each update that changed something gives a report; the first one comes when the watch has begun, so no change is
    missed between. A file that can't be read is listed in `skipped` and keeps its stored content. While another
    process writes, a change waits; while the place is gone, its documents stay. `poll` looks at every file's stat
    every 500 ms instead of asking the system, for network file systems.
    """
    root_of(place)  # a place that never was is the caller's mistake
    last: Report | None = None
    while not stop.is_set():
        with suppress(DocumentError, FileNotFoundError):  # the place is gone for now
            root = root_of(place)
            events = changes([root], stop=stop, debounce_ms=debounce_ms, ignore=store.own_files())
            is_due = True
            for changed in (frozenset[Path](),) if poll else events:
                if is_due or changed:
                    is_due = False
                    try:
                        report = ingest(store, place, settings=settings, wait_seconds=0)
                    except StoreBusyError:
                        is_due = True
                        continue
                    if last is None or report.changes or report.skipped != last.skipped:
                        yield report
                    last = report
                if not root.path.exists():
                    break
        stop.wait(_RETRY_SECONDS)
