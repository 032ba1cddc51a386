"""How does the server start, say where it listens, and stop?"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from brimful.errors import MissingPartError
from brimful.store.address import Address, Shards
from brimful.surfaces.http.settings import ServeSettings


def serve(
    store: Path | Address | Shards,
    *,
    host: str = "127.0.0.1",
    port: int = 8080,
    token: str | None = None,
    hosts: Sequence[str] = (),
    densify_models: Sequence[str] = (),
    ready: Callable[[str], None] | None = None,
) -> None:
    """Serve a store until a signal ends it; `ready` gets the address once it listens. Port 0 takes a free one.

    Beyond loopback a token is needed. `hosts` are other names that the server is called by, `densify_models` the
    models that may condense beside `extractive:`.
    """
    settings = ServeSettings(
        host=host, token=token, hosts=tuple(hosts), densify_models=("extractive:", *densify_models)
    )
    try:
        from brimful.surfaces.http.app import create_app
        from brimful.surfaces.http.guard import HEALTH
        from brimful.surfaces.http.problems import problem
        from brimful.surfaces.serving import address_of, listen, log_to_stderr, make_server
    except ImportError as error:
        raise MissingPartError(f"the server needs {error.name}: pip install 'brimful[http]'") from error
    from brimful.engine import open as open_store

    log_to_stderr()
    with listen(host, port) as listener:
        address = address_of(listener)
        engine = open_store(store)
        server = make_server(
            create_app(engine, settings),
            busy=problem("request.busy", "every connection is taken; try again later"),
            health=HEALTH,
            ready=None if ready is None else lambda: ready(address),
        )
        with server.ended(), engine, _ended_by_signals(), suppress(KeyboardInterrupt):
            server.run(sockets=[listener])


@contextmanager
def _ended_by_signals() -> Iterator[None]:
    """Let this function return after a graceful end: uvicorn raises the signal again, which would kill the process."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, lambda _number, _frame: None)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
