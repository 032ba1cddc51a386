"""The HTTP surface: `create_app` for a server of your own, `serve` for ours."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress

from brimful.engine import open as open_store
from brimful.store.address import Place
from brimful.surfaces.access import ServeSettings
from brimful.surfaces.http.app import create_app
from brimful.surfaces.serving import Server, address_of, listen, log_to_stderr

__all__ = ["ServeSettings", "create_app", "serve"]


def serve(
    store: Place,
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
    further models that may condense.
    """
    settings = ServeSettings(
        host=host, token=token, hosts=tuple(hosts), densify_models=("extractive:", *densify_models)
    )
    log_to_stderr()
    with listen(host, port) as listener, open_store(store) as engine:
        address = address_of(listener)
        server = Server(create_app(engine, settings), ready=None if ready is None else lambda: ready(address))
        with _ended_by_signals(), suppress(KeyboardInterrupt):
            server.run(sockets=[listener])


@contextmanager
def _ended_by_signals() -> Iterator[None]:
    """Let this function return after a graceful end: uvicorn raises the signal again, which would kill the process."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    previous = signal.signal(signal.SIGTERM, lambda _number, _frame: None)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, previous)
