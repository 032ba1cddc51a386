"""MCP over stdio and HTTP. Every message is checked before the SDK, which drops what it can't read unanswered."""

from __future__ import annotations

import asyncio
import io
import os
import re
import sys
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from typing import Any

import anyio
from mcp.server.mcpserver import MCPServer
from mcp.server.stdio import stdio_server
from mcp.server.transport_security import TransportSecuritySettings
from mcp.shared.message import SessionMessage
from mcp_types import INVALID_REQUEST, PARSE_ERROR, ErrorData, JSONRPCError, jsonrpc_message_adapter
from pydantic import ValidationError
from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from brimful.errors import SettingError
from brimful.limits import DENSIFY_SECONDS, MESSAGE_BYTES, REQUEST_SECONDS
from brimful.surfaces.access import address_of, check_token, is_authorised, is_own_origin
from brimful.surfaces.serving import Server, listen, read_body
from brimful.surfaces.serving import address_of as socket_address
from brimful.text.strict_json import StrictJsonError, strict_json

_TOKEN = re.compile(rb'("(?:[^"\\]++|\\.)*+")|([\[{])|([\]}])|(-?\d++)|[:,]|[^\s"\[\]{}:,]++', re.DOTALL)
_MOST_ID = 200


def refusal_of(message: bytes) -> JSONRPCError | None:
    """The error that answers a message, None where it can be read.

    >>> refusal_of(b'{"jsonrpc": "2.0", "id": 7, "method": "ping"}')
    >>> refusal_of(b'{"jsonrpc": "2.0", "id": 7, "method": ' + b"[" * 200 + b"]" * 200 + b"}").id
    7
    """
    if len(message) > MESSAGE_BYTES:
        return too_long()
    try:
        strict_json(message)
        jsonrpc_message_adapter.validate_json(message, by_name=False)
    except StrictJsonError as error:
        return _refusal(PARSE_ERROR, str(error), id_of(message))
    except ValidationError:
        return _refusal(INVALID_REQUEST, "not a request, notification or response of JSON-RPC 2.0", id_of(message))
    return None


def too_long() -> JSONRPCError:
    """The answer to a message above the limit of bytes."""
    return _refusal(INVALID_REQUEST, f"it has more than {MESSAGE_BYTES} bytes; send less at once", None)


def id_of(message: bytes) -> int | str | None:
    """The id of a request, read without parsing the rest, so that a refusal can be matched to it.

    >>> id_of(b'{"params": {"id": 1}, "id": "a7"}'), id_of(b'{"method": "id", "params": [[['), id_of(b"7")
    ('a7', None, None)
    """
    depth, previous = 0, (b"", b"")
    for match in _TOKEN.finditer(message):
        text, opens, closes, number = match.groups()
        if depth == 1 and previous == (b'"id"', b":"):
            return _plain(text, number)
        depth += bool(opens) - bool(closes)
        previous = (previous[1], match[0])
    return None


def _plain(text: bytes | None, number: bytes | None) -> int | str | None:
    if number is not None:
        return int(number) if len(number) <= 15 else None
    if text is not None and len(text) <= _MOST_ID and b"\\" not in text:
        return text[1:-1].decode("utf-8", "replace")
    return None


def _refusal(code: int, why: str, identity: int | str | None) -> JSONRPCError:
    error = ErrorData(code=code, message=f"the message is refused: {why}")
    return JSONRPCError(jsonrpc="2.0", id=identity, error=error)


PATH = "/mcp"
_LAST_PORT = 65_535
_OVERTIME_SECONDS = 5.0  # for a capture that ends itself at its own deadline
_LOOPBACK = ("127.0.0.1", "localhost", "[::1]")

_Ready = Callable[[str], None] | None


def serve_stdio(server: MCPServer[Any], *, ready: _Ready = None) -> None:
    """Serve until standard input ends. The SDK keeps everything but the protocol off standard output.

    A read of standard input can't be interrupted, so the loop runs in a thread that Ctrl-C does not wait for.
    """
    failures: list[BaseException] = []

    def run() -> None:
        try:
            anyio.run(_talk, server)
        except BaseException as error:  # noqa: BLE001  # raised again where it can be seen
            failures.append(error)

    loop = threading.Thread(target=run, name="mcp-stdio", daemon=True)
    loop.start()
    if ready is not None:
        ready("stdio")
    loop.join()
    if failures:
        raise failures[0]


async def _talk(server: MCPServer[Any]) -> None:
    """Every line is answered: by the server, or by what is wrong with it."""
    stdin, is_answering = _own_stdin(), anyio.Event()

    async def messages() -> AsyncIterator[str]:
        await is_answering.wait()
        while line := await anyio.to_thread.run_sync(_line, stdin, abandon_on_cancel=True):
            refused = await anyio.to_thread.run_sync(refusal_of, line)
            if refused is None:
                yield line.decode()
                continue
            with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
                await answers.send(SessionMessage(refused))

    async with stdio_server(stdin=messages()) as (read, answers):  # type: ignore[arg-type]  # lines are what it needs
        is_answering.set()
        lowlevel = server._lowlevel_server  # noqa: SLF001  (the SDK's own `run` reads it; nothing public does)
        await lowlevel.run(read, answers, lowlevel.create_initialization_options())


def _line(lines: io.BufferedReader) -> bytes:
    """The next line that is not blank, empty at the end; of one that is too long what shows that it is."""
    line = lines.readline(MESSAGE_BYTES + 1)
    while line and not line.strip():
        line = lines.readline(MESSAGE_BYTES + 1)
    piece = line
    while len(line) > MESSAGE_BYTES and piece and not piece.endswith(b"\n"):
        piece = lines.readline(MESSAGE_BYTES)
    return line


def _own_stdin() -> io.BufferedReader:
    """Standard input under another descriptor, so that no child process reads the client's messages."""
    try:
        descriptor = os.dup(sys.stdin.fileno())
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, sys.stdin.fileno())
        os.close(nothing)
    except (OSError, ValueError):  # no file, as under a test
        return io.BufferedReader(sys.stdin.buffer)  # type: ignore[arg-type]
    return io.BufferedReader(io.FileIO(descriptor, closefd=False))


def serve_http(
    server: MCPServer[Any],
    *,
    host: str,
    port: int,
    token: str | None = None,
    ready: _Ready = None,
    ending: threading.Event | None = None,
) -> None:
    """Serve streamable HTTP until Ctrl-C. No sessions: any request may follow a restart."""
    with listen(host, port) as listener:
        address = f"{socket_address(listener)}{PATH}"
        app = server.streamable_http_app(
            streamable_http_path=PATH,
            json_response=True,
            stateless_http=True,
            max_request_body_size=MESSAGE_BYTES,
            transport_security=security_for(host, int(listener.getsockname()[1])),
        )
        Server(
            Guard(app, token=token, any_host=_is_any(host)),
            ready=None if ready is None else lambda: ready(address),
            ended=None if ending is None else ending.set,
        ).run(sockets=[listener])


def check_address(host: str, port: int, token: str | None) -> None:
    """Refuse an address that strangers reach without a token."""
    if isinstance(port, bool) or not 0 <= port <= _LAST_PORT:
        raise SettingError(f"port is {port!r}; it must lie between 0 and {_LAST_PORT}")
    check_token(token, host=host)


def security_for(host: str, port: int) -> TransportSecuritySettings:
    """Which Host and Origin headers are let in: this address itself, by any of its names.

    Bound to all addresses, any name may be this machine's; then the token is what protects it (see `Guard`).
    """
    if _is_any(host):
        return TransportSecuritySettings(enable_dns_rebinding_protection=False)
    names = {*_LOOPBACK, f"[{host}]" if ":" in host else host}
    hosts = sorted({f"{name}:{port}" for name in names} | (names if port == 80 else set()))
    return TransportSecuritySettings(allowed_hosts=hosts, allowed_origins=[f"http://{each}" for each in hosts])


class Guard:
    """Asks for the token and, bound to all addresses, for an Origin (if any) that is the Host's own; bounds the rest.

    A body is here within the time for one, and can be answered, before the SDK sees it; an answer has its time too.
    """

    def __init__(self, app: ASGIApp, *, token: str | None, any_host: bool) -> None:
        self._app = app
        self._token = token
        self._any_host = any_host

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request pass, or answer it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        refused = self._refusal(Headers(scope=scope))
        if refused is None and scope["method"] == "POST" and scope["path"] == PATH:
            try:
                async with asyncio.timeout(REQUEST_SECONDS):
                    refused, receive = await _whole(receive)
            except TimeoutError:
                refused = PlainTextResponse("The body did not come in time", 408, {"Connection": "close"})
        with suppress(TimeoutError, asyncio.CancelledError):  # the latter when the server's grace time is over
            async with asyncio.timeout(DENSIFY_SECONDS + _OVERTIME_SECONDS):
                await (refused or self._app)(scope, receive, send)

    def _refusal(self, headers: Headers) -> Response | None:
        if self._token is not None and not is_authorised(headers.get("authorization", ""), self._token):
            return PlainTextResponse("A token is needed", 401, {"WWW-Authenticate": "Bearer"})
        origin = headers.get("origin")
        if self._any_host and origin and not is_own_origin(origin, headers.get("host", "")):
            return PlainTextResponse("Invalid Origin header", 403)
        return None


async def _whole(receive: Receive) -> tuple[Response | None, Receive]:
    """A refusal of the body, or what gives it again."""
    read = await read_body(receive, most_bytes=MESSAGE_BYTES)
    if read is None:
        return _answered(too_long(), 413), receive
    body, again = read
    refused = await asyncio.to_thread(refusal_of, body)
    return (None if refused is None else _answered(refused, 400)), again


def _answered(error: JSONRPCError, status: int) -> Response:
    return Response(error.model_dump_json(by_alias=True), status, media_type="application/json")


def _is_any(host: str) -> bool:
    address = address_of(host)
    return not host if address is None else address.is_unspecified
