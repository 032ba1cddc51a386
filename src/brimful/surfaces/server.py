"""The server of HTTP and MCP, on uvicorn: it listens, bounds its connections, and stops."""

from __future__ import annotations

import asyncio
import logging
import socket
import struct
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

import h11
import uvicorn
from starlette.types import ASGIApp, Message, Receive
from uvicorn.protocols.http.h11_impl import H11Protocol

from brimful import limits
from brimful.errors import InputError
from brimful.receipts.receipt import Receipt
from brimful.store.caching import ByteCache

_RESET = struct.pack("ii", 1, 0)  # SO_LINGER: what is unsent is dropped
_PIECE_BYTES = limits.HEAD_BYTES // 16
_LINGER_SECONDS = 1
"""How long the rest of a refused request is thrown away, so that its sender can read the answer."""


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
    """The address for clients."""
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def most_connections() -> int:
    """The connections that this process can hold: fewer than it may open files."""
    try:
        import resource
    except ImportError:  # not on Windows
        return limits.CONNECTIONS
    files = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    if files == resource.RLIM_INFINITY:
        return limits.CONNECTIONS
    return max(min(limits.CONNECTIONS, files - limits.RESERVED_FILES - limits.BACKLOG), 8)


class Server(uvicorn.Server):
    """A server of an application: `ready` is called once it listens, `ended` when its grace time is over."""

    def __init__(
        self,
        app: ASGIApp,
        *,
        ready: Callable[[], None] | None = None,
        ended: Callable[[], None] | None = None,
    ) -> None:
        most = most_connections()
        config = uvicorn.Config(
            app,
            http=partial(Connection, most=most, waiting={}),  # type: ignore[arg-type]  # called
            ws="none",
            lifespan="on",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            backlog=limits.BACKLOG,
            limit_concurrency=most + 1,
            h11_max_incomplete_event_size=limits.HEAD_BYTES - _PIECE_BYTES,
            timeout_keep_alive=int(limits.IDLE_SECONDS),
            timeout_graceful_shutdown=limits.GRACE_SECONDS,
        )
        super().__init__(config)
        self._ready, self._ended = ready, ended

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, then say so."""
        await super().startup(sockets=sockets)
        if self._ready is not None:
            self._ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Wait for what is being answered; say so when the grace time for that is over."""
        if self._ended is not None:
            asyncio.get_running_loop().call_later(limits.GRACE_SECONDS, self._ended)
        await super().shutdown(sockets=sockets)


class Connection(H11Protocol):
    """A connection with a deadline: for a whole request head, then for its answer.

    With `most` connections open, the one that waits longest for a head gives way to a new one. Where none waits,
    uvicorn answers the new one's request with 503.
    """

    def __init__(self, *args: Any, most: int, waiting: dict[Connection, None], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._most, self._waiting = most, waiting  # the longest first
        self._deadline: asyncio.TimerHandle | None = None
        self._is_refused = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Wait for a head, in the place of another connection where there is none free."""
        super().connection_made(transport)
        if len(self.connections) > self._most and self._waiting:
            next(iter(self._waiting)).drop()
        self._set_deadline()

    def connection_lost(self, exc: Exception | None) -> None:
        """Free the place."""
        super().connection_lost(exc)
        self._forget()

    def data_received(self, data: bytes) -> None:
        """Read piece by piece, since h11 bounds a head only while it is incomplete."""
        for start in range(0, len(data), _PIECE_BYTES):
            if not (self._is_refused or self.transport.is_closing()):
                super().data_received(data[start : start + _PIECE_BYTES])
        if self in self._waiting and self._is_answering:
            self._set_deadline()

    def send_400_response(self, msg: str) -> None:
        """Refuse a request, and read on for a moment: to close over unread bytes would reset the connection."""
        headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"connection", b"close")]
        answer = h11.Response(status_code=400, headers=headers, reason=b"Bad Request")
        for event in (answer, h11.Data(data=msg.encode("ascii")), h11.EndOfMessage()):
            self.transport.write(self.conn.send(event) or b"")
        self._is_refused = True
        self._forget()
        self.loop.call_later(_LINGER_SECONDS, self.transport.close)

    def on_response_complete(self) -> None:
        """Wait for the next head, or answer one that is here already."""
        super().on_response_complete()
        self._set_deadline()

    def drop(self) -> None:
        """Close at once, and let the system forget what is unsent: nobody is going to read it."""
        self._forget()
        with suppress(OSError):  # closed meanwhile
            self.transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
        self.transport.abort()

    @property
    def _is_answering(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def _set_deadline(self) -> None:
        self._forget()
        seconds = limits.HEAD_SECONDS
        if self._is_answering:
            seconds += limits.DENSIFY_SECONDS
        else:
            self._waiting[self] = None
        self._deadline = self.loop.call_later(seconds, self.drop)

    def _forget(self) -> None:
        self._waiting.pop(self, None)
        if self._deadline is not None:
            self._deadline.cancel()


async def read_body(receive: Receive, *, most_bytes: int) -> tuple[bytes, Receive] | None:
    """The whole body, and what gives it to the application again; None if it has more than `most_bytes`."""
    body, has_more = bytearray(), True
    while has_more:
        message = await receive()
        body += message.get("body", b"")
        has_more = message.get("more_body", False)
        if len(body) > most_bytes:
            return None
    unread: list[Message] = [{"type": "http.request", "body": bytes(body), "more_body": False}]

    async def again() -> Message:
        return unread.pop() if unread else await receive()

    return bytes(body), again


class Receipts:
    """The last receipts of a server by id; threads may share it."""

    def __init__(self, most: int) -> None:
        self.most = most
        self._kept: ByteCache[str, Receipt] = ByteCache(limits.RECEIPTS_BYTES, max_entries=most)

    def keep(self, receipt: Receipt | None) -> str:
        """Keep a receipt in place of the oldest; its id."""
        assert receipt is not None  # the engine gives every context one
        self._kept.keep(receipt.id, receipt, size=len(receipt.to_json()))
        return receipt.id

    def get(self, identity: str) -> Receipt | None:
        """A receipt by its id, which becomes the newest."""
        return self._kept.get(identity)

    def ids(self) -> list[str]:
        """All ids, newest first."""
        return self._kept.newest()


def log_to_stderr() -> None:
    """Log warnings as plain lines, unless the process has set up logging; malformed requests are no warnings."""
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s")
    for name in ("uvicorn", "mcp"):
        logging.getLogger(name).setLevel(logging.ERROR)
