"""Commands that keep running: `serve`, `mcp`, and `add --watch`, which follows files."""

from __future__ import annotations

import os
import queue
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from brimful.engine import open as open_store
from brimful.errors import InputError, choose
from brimful.ingest import Report
from brimful.ingest.watching import watch_into
from brimful.store.address import Place
from brimful.store.opening import opened
from brimful.surfaces import records
from brimful.surfaces.cli import FOUND, NOTHING
from brimful.surfaces.cli.opening import STDIN, Line, check_paths, filled, trusted_roots
from brimful.surfaces.cli.places import store_to_ask, store_to_fill
from brimful.surfaces.cli.terminal import confirmed, give, one_line, say, show
from brimful.surfaces.cli.views import changed, show_skips
from brimful.surfaces.guard import TOKEN_VARIABLE

_TRANSPORTS = ("stdio", "http")
_TICK_SECONDS = 0.2
Change = tuple[str, Report | Exception]
"""A folder, and what changed in it or why it is not followed any more."""


def serve(
    line: Line,
    *,
    host: str,
    port: int,
    token_env: str | None,
    hosts: Sequence[str],
    models: Sequence[str],
    watch: bool,
) -> int:
    """Answer over HTTP, with the page, until stopped."""
    from brimful.surfaces.http import serve as start

    token = _token(token_env)
    place = _place(line)
    with _followed(line, place, watch=watch):
        start(
            place,
            host=host,
            port=_port(port),
            token=token,
            hosts=tuple(hosts),
            densify_models=tuple(models),
            ready=_announced(quiet=line.quiet, as_json=line.as_json),
        )
    return FOUND


def mcp(
    line: Line,
    *,
    transport: str,
    host: str,
    port: int,
    token_env: str | None,
    hosts: Sequence[str],
    watch: bool,
    remove: bool,
) -> int:
    """Answer a model's tools until stopped; `install` lets an agent start this command."""
    if line.paths and line.paths[0] == "install":
        return _install(line, remove=remove)
    choose(transport, _TRANSPORTS, what="transport")
    from brimful.surfaces.mcp import serve as start

    token = _token(token_env)
    is_stdio = transport == "stdio"  # whose standard output is the protocol's alone
    ready = _announced(quiet=line.quiet or is_stdio, as_json=line.as_json and not is_stdio)
    place = _place(line)
    with _followed(line, place, watch=watch):
        names = tuple(hosts)
        start(place, transport=transport, host=host, port=_port(port), token=token, hosts=names, ready=ready)
    return FOUND


def _install(line: Line, *, remove: bool) -> int:
    """Write `brimful mcp` over a store or folders into an agent's configuration, or take it out."""
    from brimful.surfaces.mcp import agents

    _, *words = line.paths
    if not words:
        raise InputError(f"name the agent: brimful mcp install {'|'.join(agents.AGENTS)}")
    agent, *paths = words
    if remove:
        file = agents.remove(agent)
    else:
        check_paths(paths)
        place = line.store if paths else str(store_to_ask(line.store))
        option = ["--store", place if "://" in place else str(Path(place).absolute())] if place else []
        served = [*(str(Path(path).absolute()) for path in paths), *option]
        # An agent starts with an environment of its own: the interpreter's path works in any virtual environment.
        command = [sys.executable, "-m", "brimful", "mcp", *served]
        file = agents.install(agent, command, may_replace=lambda text: line.yes or confirmed(text))
    say(f"{file} was written; restart the agent" if file else "nothing had to be written")
    return FOUND


def _place(line: Line) -> Place:
    """The store to serve, up to date with the paths if there are any."""
    if not line.paths:
        return store_to_ask(line.store)
    corpus = filled(line, adding=False)
    with corpus.engine as engine:
        if not line.quiet:
            show_skips(corpus.report.skipped)
        return engine.path


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
    """Print the address of a server, for a person or for the program that started it."""

    def announce(address: str) -> None:
        if as_json:
            give(records.as_line({"listening": address}))
        elif not quiet:
            say(f"listening on {one_line(address)}; Ctrl-C stops")

    return announce


@contextmanager
def _followed(line: Line, place: Place, *, watch: bool) -> Iterator[None]:
    """Follow the store's folders while a server runs; where that can't be, say why and serve without."""
    roots = _roots_to_follow(line, place) if watch else []

    def on_change(change: Change) -> None:
        root, report = change
        if isinstance(report, Exception):
            say(f"changes of {one_line(root)} are not followed any more: {one_line(str(report))}")

    with _following(place, roots, on_change):
        yield


def _roots_to_follow(line: Line, place: Place) -> list[str]:
    problem = ""
    roots: Sequence[str] = [path for path in line.paths if path != STDIN]
    if isinstance(place, Path) and not os.access(place, os.W_OK):
        problem = f"{os.fspath(place)!r} can't be written"
    elif not line.paths:
        try:
            with open_store(place) as engine:
                roots = trusted_roots(engine, line.store)
        except InputError as error:
            problem = str(error)
    if problem and not line.quiet:
        say(f"changes of the folders are not followed: {one_line(problem)}")
    return [] if problem else [root for root in roots if Path(root).exists()]


def follow(line: Line, *, poll: bool) -> int:
    """Bring a store up to date, then again after every change, a line each, until Ctrl-C."""
    paths = line.paths
    if paths:
        check_paths(paths)
        place = store_to_fill(line.store, paths, adding=True)
    else:
        place = store_to_ask(line.store)
        with open_store(place) as engine:
            paths = trusted_roots(engine, line.store)
    if not paths:
        say("nothing was added to this store; name what to watch: brimful add PATH --watch")
        return NOTHING
    if not line.quiet:
        say(f"watching {', '.join(map(one_line, paths))} for {one_line(str(place))}; Ctrl-C stops")
    changes: queue.Queue[Change] = queue.Queue()
    with _following(place, paths, changes.put, poll=poll):
        while True:
            try:
                root, report = changes.get(timeout=_TICK_SECONDS)  # waiting for ever would not notice Ctrl-C everywhere
            except queue.Empty:
                continue
            if isinstance(report, Exception):
                raise report
            files = [{"done": done, "path": name} for done, name in report.files]
            record = {"place": root, **records.report_record(report), "files": files}
            show(records.as_line(record) if line.as_json else changed(record))
            if not line.quiet:
                show_skips(report.skipped)


@contextmanager
def _following(
    place: Place, roots: Sequence[str], on_change: Callable[[Change], None], *, poll: bool = False
) -> Iterator[None]:
    """Follow each root in a thread with a connection of its own; `on_change` gets reports and failures."""
    stop = threading.Event()

    def follow_root(root: str) -> None:
        try:
            with opened(place) as store:
                for report in watch_into(store, root, stop=stop, poll=poll):
                    on_change((root, report))
        except Exception as error:  # noqa: BLE001  (it belongs to the thread that listens)
            on_change((root, error))

    threads = [threading.Thread(target=follow_root, args=(root,), daemon=True) for root in roots]
    try:
        for thread in threads:
            thread.start()
        yield
    finally:
        stop.set()
        for thread in threads:
            thread.join()
