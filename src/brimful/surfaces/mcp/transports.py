"""MCP over stdio and HTTP. Every message is checked before the SDK, which drops what it can't read unanswered."""

from __future__ import annotations

import io
import os
import sys
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import suppress

import anyio
from mcp.server.mcpserver import MCPServer
from mcp.server.stdio import stdio_server
from mcp.server.transport_security import TransportSecuritySettings
from mcp.shared.message import SessionMessage
from mcp_types import PARSE_ERROR, ErrorData, JSONRPCError, jsonrpc_message_adapter
from pydantic import ValidationError

from brimful.limits import MESSAGE_BYTES
from brimful.surfaces.access import ServeSettings
from brimful.surfaces.guard import Guard
from brimful.surfaces.serving import Server, address_of, listen
from brimful.text.strict_json import StrictJsonError, strict_json

PATH = "/mcp"
_Ready = Callable[[str], None] | None


def refusal_of(message: bytes) -> JSONRPCError | None:
    """The error that answers a message, None where it can be read.

    >>> refusal_of(b'{"jsonrpc": "2.0", "id": 7, "method": "ping"}')
    >>> refusal_of(b"tea").error.message
    'the message is refused: not a request, notification or response of JSON-RPC 2.0'
    """
    why = "not a request, notification or response of JSON-RPC 2.0"
    try:
        if len(message) > MESSAGE_BYTES:
            raise StrictJsonError(f"it has more than {MESSAGE_BYTES} bytes; send less at once")
        strict_json(message)
        jsonrpc_message_adapter.validate_json(message, by_name=False)
    except StrictJsonError as error:
        why = str(error)
    except ValidationError:
        pass
    else:
        return None
    refused = ErrorData(code=PARSE_ERROR, message=f"the message is refused: {why}")
    return JSONRPCError(jsonrpc="2.0", id=None, error=refused)


def serve_stdio(server: MCPServer[None], *, ready: _Ready = None) -> None:
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


async def _talk(server: MCPServer[None]) -> None:
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
    descriptor = os.dup(sys.stdin.fileno())
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, sys.stdin.fileno())
    os.close(nothing)
    return io.BufferedReader(io.FileIO(descriptor, closefd=False))


def serve_http(
    server: MCPServer[None],
    *,
    settings: ServeSettings,
    port: int,
    ready: _Ready = None,
    ending: threading.Event | None = None,
) -> None:
    """Serve streamable HTTP until Ctrl-C. No sessions: any request may follow a restart."""
    with listen(settings.host, port) as listener:
        address = f"{address_of(listener)}{PATH}"
        app = server.streamable_http_app(
            streamable_http_path=PATH,
            json_response=True,
            stateless_http=True,
            max_request_body_size=MESSAGE_BYTES,
            transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),  # the guard's work
        )
        Server(
            Guard(app, settings=settings),
            ready=None if ready is None else lambda: ready(address),
            ended=None if ending is None else ending.set,
        ).run(sockets=[listener])
