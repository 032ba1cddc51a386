"""How do clients connect? Over standard input and output, or over HTTP at `/mcp`."""

from __future__ import annotations

import asyncio
import hmac
import ipaddress
import logging
import socket
import sys
import threading
from collections.abc import Callable
from typing import Any

import uvicorn
from mcp.server.mcpserver import MCPServer
from mcp.server.transport_security import TransportSecuritySettings
from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from brimful.errors import InputError, SettingError

PATH = "/mcp"
_MOST_BODY_BYTES = 8 << 20
_GRACE_SECONDS = 5
_LAST_PORT = 65_535
_LOOPBACK = ("127.0.0.1", "localhost", "[::1]")

Ready = Callable[[str], None] | None


def serve_stdio(server: MCPServer[Any], *, ready: Ready = None) -> None:
    """Serve until standard input ends. The SDK keeps everything but the protocol off standard output.

    A read of standard input can't be interrupted, so the loop runs in a thread that Ctrl-C does not wait for.
    """
    failures: list[BaseException] = []

    def run() -> None:
        try:
            server.run("stdio")
        except BaseException as error:  # noqa: BLE001  # raised again where it can be seen
            failures.append(error)

    loop = threading.Thread(target=run, name="mcp-stdio", daemon=True)
    loop.start()
    if ready is not None:
        ready("stdio")
    loop.join()
    if failures:
        raise failures[0]


def serve_http(server: MCPServer[Any], *, host: str, port: int, token: str | None = None, ready: Ready = None) -> None:
    """Serve streamable HTTP until Ctrl-C. No sessions: any request may follow a restart."""
    listening = _listen(host, port)
    taken = int(listening.getsockname()[1])
    app = server.streamable_http_app(
        streamable_http_path=PATH,
        json_response=True,
        stateless_http=True,
        max_request_body_size=_MOST_BODY_BYTES,
        transport_security=security_for(host, taken),
    )
    config = uvicorn.Config(
        Guard(app, token=token, any_host=_is_any(host)),
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=_GRACE_SECONDS,
    )
    shown = f"[{host}]" if ":" in host else host
    with listening:
        asyncio.run(_Announced(config, f"http://{shown}:{taken}{PATH}", ready).serve(sockets=[listening]))


def check_address(host: str, port: int, token: str | None) -> None:
    """Refuse an address that strangers reach without a token."""
    if isinstance(port, bool) or not 0 <= port <= _LAST_PORT:
        raise SettingError(f"port is {port!r}; it must lie between 0 and {_LAST_PORT}")
    if token is not None and not (token.isascii() and token.isprintable() and token.strip() == token and token):
        raise SettingError("the token must be of printable ASCII characters, without blanks around them")
    if token is None and not _is_loopback(host):
        raise InputError(
            f"{host!r} can be reached from other machines; give a token that clients must send, or serve 127.0.0.1"
        )


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
    """Asks for the token, and bound to all addresses, for an Origin (if any) that is the Host's own."""

    def __init__(self, app: ASGIApp, *, token: str | None, any_host: bool) -> None:
        self._app = app
        self._token = token
        self._any_host = any_host

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request pass, or answer it."""
        refused = self._refusal(Headers(scope=scope)) if scope["type"] == "http" else None
        await (refused or self._app)(scope, receive, send)

    def _refusal(self, headers: Headers) -> PlainTextResponse | None:
        if self._token is not None:
            scheme, _, given = headers.get("authorization", "").partition(" ")
            if scheme.lower() != "bearer" or not hmac.compare_digest(given.encode(), self._token.encode()):
                return PlainTextResponse("A token is needed", 401, {"WWW-Authenticate": "Bearer"})
        origin = headers.get("origin")
        if self._any_host and origin and origin.partition("://")[2] != headers.get("host"):
            return PlainTextResponse("Invalid Origin header", 403)
        return None


class _Announced(uvicorn.Server):
    """A server that says when it listens."""

    def __init__(self, config: uvicorn.Config, address: str, ready: Ready) -> None:
        super().__init__(config)
        self._address = address
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, then say so."""
        await super().startup(sockets)
        if self._ready is not None:
            self._ready(self._address)


def _listen(host: str, port: int) -> socket.socket:
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((host, port), family=family, backlog=128)
    except OSError as error:
        raise InputError(f"{host}:{port} can't be listened on ({error}); name another host or port") from error


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def _is_any(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_unspecified
    except ValueError:
        return not host


def log_to_stderr() -> None:
    """Plain lines, before the SDK sets up its own."""
    logging.basicConfig(level=logging.WARNING, stream=sys.stderr, format="%(levelname)s %(name)s: %(message)s")
