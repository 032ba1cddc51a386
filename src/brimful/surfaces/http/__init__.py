"""The HTTP surface: `create_app` for a server of your own, `serve` for ours."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

from brimful import limits
from brimful.errors import MissingPartError, SettingError, install
from brimful.store.address import Place
from brimful.surfaces.access import address_of, check_token, is_loopback

if TYPE_CHECKING:
    from fastapi import FastAPI

    from brimful.engine import Engine

__all__ = ["ServeSettings", "create_app", "serve"]


@dataclass(frozen=True, slots=True)
class ServeSettings:
    """Who may ask a server, and for how much (brimful.limits says why); loopback alone needs no token.

    >>> ServeSettings(host="0.0.0.0")
    Traceback (most recent call last):
    brimful.errors.SettingError: '0.0.0.0' can be reached from other machines, which needs a token ...
    """

    host: str = "127.0.0.1"
    token: str | None = None
    hosts: tuple[str, ...] = ()  # other names that the server is called by
    densify_models: tuple[str, ...] = ("extractive:",)  # a name can hold an address, and costs: none but these
    body_bytes: int = limits.BODY_BYTES
    budget_tokens: int = limits.BUDGET_TOKENS
    question_characters: int = limits.QUESTION_CHARACTERS
    results: int = limits.RESULTS
    page_items: int = limits.PAGE_ITEMS
    passage_bytes: int = limits.PASSAGE_BYTES
    nesting: int = limits.NESTING
    seconds: float = limits.REQUEST_SECONDS
    densify_seconds: float = limits.DENSIFY_SECONDS
    ready_seconds: float = limits.READY_SECONDS
    workers: int = limits.WORKERS
    waiting: int = limits.WAITING
    runs: int = limits.RUNS
    waiting_runs: int = limits.WAITING_RUNS
    receipts: int = limits.RECEIPTS

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(field.default, int | float) and not (isinstance(value, int | float) and value > 0):
                raise SettingError(f"{field.name} is {value!r}; it must be more than 0")
        check_token(self.token, host=self.host)


def is_served(name: str, settings: ServeSettings) -> bool:
    """Whether a Host header names this server: what any other site's name was bent to here is refused.

    A number can't be bent by a DNS server, so beyond loopback every address of this machine is fine.
    """
    plain = name.lower().rstrip(".")
    if plain in ("localhost", settings.host.lower()) or plain in (host.lower() for host in settings.hosts):
        return True
    address = address_of(plain)
    return address is not None and (address.is_loopback or not is_loopback(settings.host))


def create_app(engine: Engine, settings: ServeSettings | None = None) -> FastAPI:
    """The application over an open engine, which stays the caller's to close."""
    from brimful.surfaces.http.app import create_app as create

    return create(engine, settings)


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
    try:
        from brimful.surfaces.http.app import create_app
        from brimful.surfaces.serving import Server, address_of, listen, log_to_stderr
    except ImportError as error:
        raise MissingPartError(f"the server needs {error.name}: {install()}") from error
    from brimful.engine import open as open_store

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
