"""How does a store stay what a folder holds while the folder changes?"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from pathlib import Path

from brimful.corpus.skips import SourceSettings
from brimful.corpus.sources import root_of
from brimful.corpus.watching import DEBOUNCE_MS, changes
from brimful.errors import DocumentError, StoreBusyError
from brimful.store.ingest import Report, ingest
from brimful.store.store import Store

_LOOK_SECONDS = 0.5
"""How often a place is looked at that is gone, or whose file system tells of no changes."""


def watch_into(
    store: Store,
    place: str | os.PathLike[str],
    *,
    settings: SourceSettings | None = None,
    stop: threading.Event,
    debounce_ms: int = DEBOUNCE_MS,
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
        try:
            for report in _looks(store, place, settings, stop, debounce_ms, poll=poll):
                if last is None or _tells(report, last):
                    yield report
                last = report
        except (DocumentError, FileNotFoundError):
            pass  # the place is gone for now
        stop.wait(_LOOK_SECONDS)


def _looks(
    store: Store,
    place: str | os.PathLike[str],
    settings: SourceSettings | None,
    stop: threading.Event,
    debounce_ms: int,
    *,
    poll: bool,
) -> Iterator[Report]:
    """A look at the place at the beginning and after every change, until it is gone; when polling, one look."""
    root = root_of(place)
    noticed = changes([root], stop=stop, debounce_ms=debounce_ms, ignore=store.own_files())
    is_due = True
    for changed in (frozenset[Path](),) if poll else noticed:
        if is_due or changed:
            report = _brought_up(store, place, settings)
            is_due = report is None
            if report is not None:
                yield report
        if not root.path.exists():
            return


def _brought_up(store: Store, place: str | os.PathLike[str], settings: SourceSettings | None) -> Report | None:
    """What a look at the place did; None where another process was writing and it must be repeated."""
    try:
        return ingest(store, place, settings=settings, wait_seconds=0)
    except StoreBusyError:
        return None


def _tells(report: Report, last: Report) -> bool:
    """Whether a report says something that the last one did not."""
    done = report.added + report.changed + report.renamed + report.removed
    return bool(done) or report.skipped != last.skipped
