"""What keeps running? Servers of the other surfaces, and a store that follows its files."""

from __future__ import annotations

import os
import queue
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from brimful.engine import open as open_store
from brimful.errors import BrimfulError, InputError, MissingPartError, choose, install
from brimful.ingest import Report
from brimful.ingest.watching import watch_into
from brimful.store.address import Place
from brimful.store.opening import opened
from brimful.surfaces import records
from brimful.surfaces.access import TOKEN_VARIABLE
from brimful.surfaces.cli.commands import STDIN, checked_paths, filled, own_roots
from brimful.surfaces.cli.configuration import store_to_ask, store_to_fill
from brimful.surfaces.cli.dispatch import FOUND, NOTHING
from brimful.surfaces.cli.terminal import give, one_line, say, show
from brimful.surfaces.cli.views import changed, show_skips

# ---- serving: How do other surfaces start? The one place of the command line that knows them.

_TRANSPORTS = ("stdio", "http")


def serve(
    *,
    paths: Sequence[str],
    host: str,
    port: int,
    token_env: str | None,
    hosts: Sequence[str],
    models: Sequence[str],
    watch: bool,
    store: str | None,
    as_json: bool,
    quiet: bool,
) -> int:
    """Answer over HTTP, with the page, until stopped."""
    start = _start_of("http")
    token = _token(token_env)
    place = _place(store, paths, quiet=quiet)
    with _following(place, store, paths, watch=watch, quiet=quiet):
        start(
            place,
            host=host,
            port=_port(port),
            token=token,
            hosts=tuple(hosts),
            densify_models=tuple(models),
            ready=_announced(quiet=quiet, as_json=as_json),
        )
    return FOUND


def mcp(
    *,
    paths: Sequence[str],
    transport: str,
    host: str,
    port: int,
    token_env: str | None,
    watch: bool,
    store: str | None,
    as_json: bool,
    quiet: bool,
) -> int:
    """Answer a model's tools, over standard input and output or over HTTP, until stopped."""
    choose(transport, _TRANSPORTS, what="transport")
    start = _start_of("mcp")
    token = _token(token_env)
    is_stdio = transport == "stdio"  # whose standard output is the protocol's alone
    ready = _announced(quiet=quiet or is_stdio, as_json=as_json and not is_stdio)
    place = _place(store, paths, quiet=quiet)
    with _following(place, store, paths, watch=watch, quiet=quiet):
        start(place, transport=transport, host=host, port=_port(port), token=token, ready=ready)
    return FOUND


def _start_of(surface: str) -> Callable[..., Any]:
    """A surface's `serve`; what it needs may not be installed."""
    try:
        module = import_module(f"brimful.surfaces.{surface}")
    except ModuleNotFoundError as error:
        raise MissingPartError(
            f"{error.name} is not installed, which this command needs; install it: {install()}"
        ) from error
    start: Callable[..., Any] = module.serve
    return start


def _place(store: str | None, paths: Sequence[str], *, quiet: bool) -> Place:
    """The store to serve, up to date with the paths if there are any."""
    if not paths:
        return store_to_ask(store)
    corpus = filled(store, paths, adding=False)
    with corpus.engine as engine:
        if not quiet:
            show_skips(corpus.report.skipped)
        return engine.path


@contextmanager
def _following(place: Place, store: str | None, paths: Sequence[str], *, watch: bool, quiet: bool) -> Iterator[None]:
    """While a server runs, the store follows the folders that were added to it, each in a thread of its own.

    Where that can't be (no `watchfiles`, a store that may not be written, folders that are not the user's own), the
    server runs without, and says so.
    """
    roots = _to_follow(place, store, paths, quiet=quiet) if watch else []
    stop = threading.Event()
    threads = [threading.Thread(target=_follow, args=(place, root, stop), daemon=True) for root in roots]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        stop.set()
        for thread in threads:
            thread.join()


def _to_follow(place: Place, store: str | None, paths: Sequence[str], *, quiet: bool) -> list[str]:
    """The folders that a store can follow."""
    why = "" if find_spec("watchfiles") else f"watchfiles is not installed ({install()})"
    why = why or (
        "" if not isinstance(place, Path) or os.access(place, os.W_OK) else f"{os.fspath(place)!r} can't be written"
    )
    roots: Sequence[str] = [path for path in paths if path != STDIN]
    if not why and not paths:
        try:
            with open_store(place) as engine:
                roots = own_roots(engine, store)
        except InputError as error:
            why = str(error)
    if why and not quiet:
        say(f"changes of the folders are not followed: {one_line(why)}")
    return [] if why else [root for root in roots if Path(root).exists()]


def _follow(place: Place, root: str, stop: threading.Event) -> None:
    """One folder, with a connection of its own; a failure ends the following, not the server."""
    try:
        with opened(place) as store:
            for _ in watch_into(store, root, stop=stop):
                pass
    except BrimfulError as error:
        say(f"changes of {one_line(root)} are not followed any more: {one_line(str(error))}")


def _token(variable: str | None) -> str | None:
    """The bearer token, from the environment alone: a process list shows every option."""
    token = os.environ.get(variable or TOKEN_VARIABLE)
    if variable is not None and not token:
        raise InputError(f"the environment variable {variable!r} is not set; put the token there, or name another")
    return token or None


def _port(port: int) -> int:
    if not 0 <= port <= 65_535:
        raise InputError(f"port {port} does not exist; give one from 1 to 65535, or 0 for any that is free")
    return port


def _announced(*, quiet: bool, as_json: bool) -> Callable[[str], None]:
    """Where to find what was started: for the person, or for the program that started it."""

    def announce(address: str) -> None:
        if as_json:
            give(records.as_line({"listening": address}))
        elif not quiet:
            say(f"listening on {one_line(address)}; Ctrl-C stops")

    return announce


# ---- following: How does a person watch a store follow its files? A line per change, until Ctrl-C.

_TICK_SECONDS = 0.2


def watch(*, paths: Sequence[str], poll: bool, store: str | None, as_json: bool, quiet: bool) -> int:
    """Bring the store up to date, then after every change; each place has a thread, and one line at a time is shown."""
    try:
        import watchfiles  # noqa: F401
    except ImportError as error:
        raise MissingPartError(f"watchfiles is not installed; install it: {install()}") from error
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
    news: queue.Queue[tuple[str, Report] | Exception] = queue.Queue()
    stop = threading.Event()
    threads = [threading.Thread(target=_follow_place, args=(place, path, poll, stop, news)) for path in paths]
    try:
        for thread in threads:
            thread.start()
        while True:
            _tell(news, as_json=as_json, quiet=quiet)
    finally:
        stop.set()
        for thread in threads:
            thread.join()


def _follow_place(
    place: Place,
    path: str,
    poll: bool,  # noqa: FBT001  (a thread's arguments have places, no names)
    stop: threading.Event,
    news: queue.Queue[tuple[str, Report] | Exception],
) -> None:
    """One place, with a connection of its own; what goes wrong is passed on too."""
    try:
        with opened(place) as store:
            for report in watch_into(store, path, stop=stop, poll=poll):
                news.put((path, report))
    except Exception as error:  # noqa: BLE001  (raised again by who asked for it)
        news.put(error)


def _tell(news: queue.Queue[tuple[str, Report] | Exception], *, as_json: bool, quiet: bool) -> None:
    """Show the next change, if one comes soon; waiting for ever would not notice Ctrl-C everywhere."""
    try:
        item = news.get(timeout=_TICK_SECONDS)
    except queue.Empty:
        return
    if isinstance(item, Exception):
        raise item
    path, report = item
    files = [{"done": done, "path": name} for done, name in report.files]
    record = {"place": path, **records.report_record(report), "files": files}
    show(records.as_line(record) if as_json else changed(record))
    if not quiet:
        show_skips(report.skipped)
