"""How does a person watch a store follow its files? A line per change, until Ctrl-C."""

from __future__ import annotations

import queue
import threading
from collections.abc import Sequence
from pathlib import Path

from brimful.engine import open as open_store
from brimful.errors import MissingPartError
from brimful.store.address import Address
from brimful.store.following import watch_into
from brimful.store.ingest import Report
from brimful.store.opening import opened as store_at
from brimful.surfaces import records
from brimful.surfaces.cli.commands import checked_paths, own_roots
from brimful.surfaces.cli.exits import NOTHING
from brimful.surfaces.cli.stores import store_to_ask, store_to_fill
from brimful.surfaces.cli.terminal import one_line, say, show
from brimful.surfaces.cli.views import changed, show_skips

_TICK_SECONDS = 0.2


def watch(*, paths: Sequence[str], poll: bool, store: str | None, as_json: bool, quiet: bool) -> int:
    """Bring the store up to date, then after every change; each place has a thread, and one line at a time is shown."""
    try:
        import watchfiles  # noqa: F401
    except ImportError as error:
        raise MissingPartError("watchfiles is not installed; install it: pip install 'brimful[watch]'") from error
    if paths:
        place = store_to_fill(store, checked_paths(paths), adding=True)
    else:
        place = store_to_ask(store)
        with open_store(place) as engine:
            paths = own_roots(engine, store)
    if not paths:
        say("nothing was added to this store; name what to watch: brimful watch PATH")
        return NOTHING
    if not quiet:
        say(f"watching {', '.join(map(one_line, paths))} for {one_line(str(place))}; Ctrl-C stops")
    told: queue.Queue[tuple[str, Report] | Exception] = queue.Queue()
    stop = threading.Event()
    threads = [threading.Thread(target=_follow, args=(place, path, poll, stop, told)) for path in paths]
    try:
        for thread in threads:
            thread.start()
        while True:
            _tell(told, as_json=as_json, quiet=quiet)
    finally:
        stop.set()
        for thread in threads:
            thread.join()


def _follow(
    store: Path | Address,
    path: str,
    poll: bool,  # noqa: FBT001  (a thread's arguments have places, no names)
    stop: threading.Event,
    told: queue.Queue[tuple[str, Report] | Exception],
) -> None:
    """One place, with a connection of its own; what goes wrong is told too."""
    try:
        with store_at(store) as opened:
            for report in watch_into(opened, path, stop=stop, poll=poll):
                told.put((path, report))
    except Exception as error:  # noqa: BLE001  (raised again by who asked for it)
        told.put(error)


def _tell(told: queue.Queue[tuple[str, Report] | Exception], *, as_json: bool, quiet: bool) -> None:
    """Show the next change, if one comes soon; waiting for ever would not notice Ctrl-C everywhere."""
    try:
        news = told.get(timeout=_TICK_SECONDS)
    except queue.Empty:
        return
    if isinstance(news, Exception):
        raise news
    path, report = news
    files = [{"done": done, "path": name} for done, name in report.files]
    record = {"place": path, **records.report_record(report), "files": files}
    show(records.as_line(record) if as_json else changed(record))
    if not quiet:
        show_skips(report.skipped)
