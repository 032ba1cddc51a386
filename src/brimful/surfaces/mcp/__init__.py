"""The MCP surface: a server of the Model Context Protocol, over stdio or HTTP."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Literal

from brimful.errors import InputError, MissingPartError, choose, install
from brimful.store.address import Place

_TRANSPORTS = ("stdio", "http")


def serve(
    store: Place,
    *,
    transport: Literal["stdio", "http"] = "stdio",
    host: str = "127.0.0.1",
    port: int = 8081,
    token: str | None = None,
    ready: Callable[[str], None] | None = None,
) -> None:
    """Serve a store until the client closes standard input (stdio) or Ctrl-C (both); Ctrl-C is a KeyboardInterrupt.

    `ready` is called once with the address, or with "stdio". Beyond loopback HTTP needs a token, which clients send
    as `Authorization: Bearer …`.
    """
    choose(transport, _TRANSPORTS, what="transport")
    try:
        from brimful.surfaces.mcp.server import make_server
        from brimful.surfaces.mcp.transports import check_address, serve_http, serve_stdio
        from brimful.surfaces.serving import log_to_stderr
    except ImportError as error:
        raise MissingPartError(f"MCP needs a package that is missing ({error}): {install()}") from error
    from brimful.engine import open as open_store
    from brimful.store.opening import place_of

    if transport == "http":
        check_address(host, port, token)
    place = place_of(store)
    if isinstance(place, Path) and not place.is_file():
        raise InputError(f"{str(store)!r} holds no store; make one first: brimful add FOLDER --store {store}")
    log_to_stderr()
    with open_store(place) as engine:
        ending = threading.Event()
        server = make_server(engine, ending=ending)
        if transport == "stdio":
            serve_stdio(server, ready=ready)
        else:
            serve_http(server, host=host, port=port, token=token, ready=ready, ending=ending)
