"""How does the server start, say where it listens, and stop?"""

from __future__ import annotations

import signal
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from brimful.errors import InputError, MissingPartError
from brimful.surfaces.http.settings import ServeSettings

_SHUTDOWN_SECONDS = 5
_BACKLOG = 256


def serve(
    store: Path,
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
        import uvicorn

        from brimful.surfaces.http.app import create_app
    except ImportError as error:
        raise MissingPartError(f"the server needs {error.name}: pip install 'brimful[http]'") from error
    from brimful.engine import open as open_store

    with _listening(host, port) as listener, open_store(store) as engine:
        address = _address(listener)

        class Server(uvicorn.Server):
            async def startup(self, sockets: list[socket.socket] | None = None) -> None:
                await super().startup(sockets=sockets)
                if self.started and ready is not None:
                    ready(address)

        config = uvicorn.Config(
            create_app(engine, settings),
            lifespan="on",
            log_level="warning",
            access_log=False,
            server_header=False,
            proxy_headers=False,
            timeout_graceful_shutdown=_SHUTDOWN_SECONDS,
        )
        with _ended_by_signals(), suppress(KeyboardInterrupt):
            Server(config).run(sockets=[listener])


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


def _listening(host: str, port: int) -> socket.socket:
    name = host.removeprefix("[").removesuffix("]")
    family = socket.AF_INET6 if ":" in name else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((name, port))
    except (OSError, OverflowError) as error:
        listener.close()
        raise InputError(
            f"{host}:{port} can't be listened on ({error}); name another port, or 0 for a free one"
        ) from error
    listener.listen(_BACKLOG)
    return listener


def _address(listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
