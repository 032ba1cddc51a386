"""How does a server listen, let go of what it can't serve, and stop? For HTTP and MCP alike, on uvicorn.

A connection waits for a whole request head only so long, and gives way to a new one when all places are taken; a place
is never held by who does not read. When every place has a request at work, health checks still get in. After a signal
requests have a grace time; what does not end then, ends with the process.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import os
import socket
import struct
import sys
import threading
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from types import FrameType
from typing import Any

import uvicorn
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from brimful import limits
from brimful.errors import InputError
from brimful.receipts.receipt import Receipt
from brimful.store.format import ByteLru

_MINUTE = 60.0
_NOW = struct.pack("ii", 1, 0)
_FULL = b"HTTP/1.1 503 Service Unavailable\r\nretry-after: 1\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens there; port 0 is a free one."""
    name = host.removeprefix("[").removesuffix("]")
    try:
        family = socket.getaddrinfo(name, port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((name, port), family=family, backlog=limits.BACKLOG)
    except (OSError, OverflowError) as error:
        raise InputError(
            f"{host}:{port} can't be listened on ({error}); name another port, or 0 for a free one"
        ) from error


def address_of(listener: socket.socket) -> str:
    """The address that a client is given."""
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def make_server(
    app: ASGIApp,
    *,
    busy: ASGIApp,
    health: Collection[str] = (),
    ready: Callable[[], None] | None = None,
    ending: threading.Event | None = None,
    connections: int | None = None,
) -> Server:
    """A server of this application. `busy` answers who is let in for `health` alone and asks for something else.

    `ending` is set when the grace time after a signal is over: threads that no cancellation reaches look at it.
    """
    places = Places(connections or most_connections(), limits.RESERVED_CONNECTIONS)
    config = uvicorn.Config(
        app,
        http=partial(Connection, places=places, reserved=_only(health, app, busy)),  # type: ignore[arg-type]  # called
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        backlog=limits.BACKLOG,
        h11_max_incomplete_event_size=limits.HEAD_BYTES,
        timeout_keep_alive=int(limits.IDLE_SECONDS),
        timeout_graceful_shutdown=limits.GRACE_SECONDS,
    )
    return Server(config, places=places, ready=ready, ending=ending or threading.Event())


def most_connections() -> int:
    """The connections that this process can hold: fewer than it may open files."""
    try:
        import resource
    except ImportError:  # not on Windows
        return limits.CONNECTIONS
    files = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    if files == resource.RLIM_INFINITY:
        return limits.CONNECTIONS
    kept = limits.RESERVED_FILES + limits.BACKLOG + limits.RESERVED_CONNECTIONS
    return max(min(limits.CONNECTIONS, files - kept), 8)


class Server(uvicorn.Server):
    """uvicorn, with places that are counted and an end that comes."""

    def __init__(
        self, config: uvicorn.Config, *, places: Places, ready: Callable[[], None] | None, ending: threading.Event
    ) -> None:
        super().__init__(config)
        self.places, self._ready, self._ending = places, ready, ending
        self._timers: list[threading.Timer] = []

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, then say so."""
        asyncio.get_running_loop().set_exception_handler(OncePerMinute())
        await super().startup(sockets=sockets)
        if self.started and self._ready is not None:
            self._ready()

    async def on_tick(self, counter: int) -> bool:
        """Look through the connections about once a second."""
        if counter % 10 == 0:
            self.places.sweep(time.monotonic())
        return await super().on_tick(counter)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """A signal: stop, and see to it that this has an end."""
        super().handle_exit(sig, frame)
        if not self._timers:
            last = limits.GRACE_SECONDS + limits.LAST_SECONDS
            self._timers = [
                threading.Timer(limits.GRACE_SECONDS, self._ending.set),
                threading.Timer(last, partial(_leave, sig, last)),
            ]
            for timer in self._timers:
                timer.daemon = True
                timer.start()

    @contextmanager
    def ended(self) -> Iterator[None]:
        """Around everything that ends with the server: a process whose threads have all ended is not ended by force."""
        try:
            yield
        finally:
            if not _threads_at_work():
                for timer in self._timers:
                    timer.cancel()


def _threads_at_work() -> bool:
    return any(each.name.startswith(("brimful-", "AnyIO")) for each in threading.enumerate())


def _leave(number: int, seconds: int) -> None:
    """End the process, whatever its threads wait for; the store is made for that."""
    sys.stderr.write(f"brimful: not everything ended within {seconds} s of the signal; ended by force\n")
    sys.stderr.flush()
    os._exit(128 + number)


class OncePerMinute:
    """What a loop does with errors that nobody catches: they are logged, a want of files once a minute.

    Where no file can be opened for a connection, asyncio says so for each one that waits, and again a second later.
    """

    def __init__(self) -> None:
        self._again = 0.0  # when it may be said again

    def __call__(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """Log one."""
        error, now = context.get("exception"), time.monotonic()
        if isinstance(error, OSError) and error.errno in (errno.EMFILE, errno.ENFILE):
            if now < self._again:
                return
            self._again = now + 60
        loop.default_exception_handler(context)


class Places:
    """The connections of a server: who waits for the head of a request, who is answered, who is on the way out."""

    def __init__(self, most: int, reserved: int) -> None:
        self._most, self._most_reserved = most, reserved
        self._open: set[Connection] = set()
        self._reserved: set[Connection] = set()
        self._waiting: dict[Connection, float] = {}  # the longest first
        self._closing: dict[Connection, float] = {}

    def __len__(self) -> int:
        return len(self._open) + len(self._reserved)

    def enter(self, connection: Connection) -> bool | None:
        """Take a place: True for any request, False for health alone, None where there is none.

        Where all are taken, the connection that waits longest for a request gives way.
        """
        if len(self._open) >= self._most and self._waiting:
            self._drop(next(iter(self._waiting)))
        if len(self._open) < self._most:
            self._open.add(connection)
            self.note(connection, is_answered=False)
            return True
        if len(self._reserved) >= self._most_reserved:
            return None
        self._reserved.add(connection)
        return False

    def note(self, connection: Connection, *, is_answered: bool) -> None:
        """What a connection does at the moment; who drips a head waits since its first byte was due."""
        if is_answered:
            self._waiting.pop(connection, None)
        elif connection in self._open:
            self._waiting.setdefault(connection, time.monotonic())

    def leave(self, connection: Connection) -> None:
        """Free the place."""
        self._open.discard(connection)
        self._reserved.discard(connection)
        self._waiting.pop(connection, None)
        self._closing.pop(connection, None)

    def sweep(self, now: float) -> None:
        """Let go of heads that do not come, and of connections that are closed on our side and not read on theirs."""
        for connection, since in list(self._waiting.items()):
            if now - since > limits.HEAD_SECONDS:
                self._drop(connection)
        for connection in [*self._open, *self._reserved]:
            if connection.transport.is_closing() and now - self._closing.setdefault(connection, now) > (
                limits.IDLE_SECONDS
            ):
                self._drop(connection)

    def _drop(self, connection: Connection) -> None:
        """Forget a connection at once, and what the system still holds for it: nobody is going to read that."""
        self.leave(connection)
        with suppress(OSError):  # closed meanwhile
            connection.transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _NOW)
        connection.transport.abort()


class Connection(H11Protocol):
    """One connection, which has a place as long as it is open."""

    def __init__(self, *given: Any, places: Places, reserved: ASGIApp, **named: Any) -> None:
        super().__init__(*given, **named)
        self._places, self._reserved_app = places, reserved

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take a place, or be told that there is none."""
        super().connection_made(transport)
        found = self._places.enter(self)
        if found is None:
            transport.write(_FULL)
            transport.close()
        elif not found:
            self.app = self._reserved_app

    def connection_lost(self, exc: Exception | None) -> None:
        """Free the place."""
        self._places.leave(self)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """A head may be whole now."""
        super().data_received(data)
        self._note()

    def on_response_complete(self) -> None:
        """Another request may follow."""
        super().on_response_complete()
        self._note()

    def _note(self) -> None:
        is_answered = self.cycle is not None and not self.cycle.response_complete
        self._places.note(self, is_answered=is_answered)


def _only(paths: Collection[str], app: ASGIApp, busy: ASGIApp) -> ASGIApp:
    async def reserved(scope: Scope, receive: Receive, send: Send) -> None:
        await (app if scope.get("path") in paths else busy)(scope, receive, send)

    return reserved


# ---- what is received and given out


def replayed(body: bytes, receive: Receive) -> Receive:
    """What gives a body again that was read, and then what comes after it."""
    is_given = False

    async def again() -> Message:
        nonlocal is_given
        if is_given:
            return await receive()
        is_given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return again


class Receipts:
    """The receipts of the contexts that were made last, by id; shared by the threads of one server."""

    def __init__(self, most: int) -> None:
        self.most = most
        self._kept: ByteLru[str, Receipt] = ByteLru(limits.RECEIPTS_BYTES, most=most)

    def keep(self, receipt: Receipt) -> None:
        """Keep one, and let go of the oldest that are too many."""
        self._kept.keep(receipt.id, receipt, size=len(receipt.to_json()))

    def get(self, identity: str) -> Receipt | None:
        """One by its id, which is the newest from then on."""
        return self._kept.get(identity)

    def ids(self) -> list[str]:
        """The newest first."""
        return self._kept.newest()


# ---- what is logged


def log_to_stderr() -> None:
    """Warnings as plain lines, so many a minute and so long at most; for a process that has set up nothing else."""
    root = logging.getLogger()
    if root.handlers:
        return
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Short("%(levelname)s %(name)s: %(message)s"))
    handler.addFilter(FewLines())
    root.addHandler(handler)
    root.setLevel(logging.WARNING)
    for name in ("uvicorn", "uvicorn.error"):
        logging.getLogger(name).setLevel(logging.WARNING)


class _Short(logging.Formatter):
    """A record of a bounded length, its traceback included."""

    def format(self, record: logging.LogRecord) -> str:
        """The beginning and the end of what is too long: where it began, and what it was."""
        text = super().format(record)
        if len(text) <= limits.LOG_CHARACTERS:
            return text
        half = limits.LOG_CHARACTERS // 2
        return f"{text[:half]}\n… {len(text) - 2 * half} characters …\n{text[-half:]}"


class FewLines(logging.Filter):
    """Lets so many records of a logger pass within a minute, and says afterwards how many there were beyond."""

    def __init__(self, *, most: int = limits.LOG_LINES, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._most, self._clock = most, clock
        self._lock = threading.Lock()
        self._seen: dict[str, tuple[float, int]] = {}  # since when, how many

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether this one is written."""
        now = self._clock()
        with self._lock:
            since, count = self._seen.get(record.name, (now, 0))
            if now - since >= _MINUTE:
                if count > self._most:
                    record.msg = f"{record.getMessage()} (and {count - self._most} records more since, not written)"
                    record.args = ()
                since, count = now, 0
            self._seen[record.name] = (since, count + 1)
            return count < self._most
