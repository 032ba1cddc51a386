"""One HTTP request to a model's server, through httpx2.

Proxies and certificates come from the environment (HTTP_PROXY, HTTPS_PROXY, ALL_PROXY, NO_PROXY, SSL_CERT_FILE,
SSL_CERT_DIR); no redirects, no second try. An answer may not fall silent for longer than `idle_seconds`, nor take
longer than `answer_seconds` in all. A second thread reads it, so that the caller can leave at any moment.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from concurrent.futures import wait
from dataclasses import dataclass
from typing import NamedTuple
from urllib.parse import urlsplit

from brimful.errors import CancelledError, SettingError
from brimful.limits import ANSWER_BYTES, ANSWER_SECONDS, CONNECT_SECONDS, LIMIT_SECONDS, SILENCE_SECONDS

LOOK_SECONDS = 0.05
"""How often a waiting thread looks whether it should end."""
_LOOPBACK = {"127.0.0.1": "127.0.0.1", "localhost": "localhost", "::1": "[::1]"}


@dataclass(frozen=True, slots=True)
class Timeouts:
    """The longest waits for a connection, the next byte of an answer, all of it, and a models endpoint."""

    connect_seconds: float = CONNECT_SECONDS
    idle_seconds: float = SILENCE_SECONDS
    answer_seconds: float = ANSWER_SECONDS
    limit_seconds: float = LIMIT_SECONDS


class Stop(threading.Event):
    """A wish to end, which ends calls under way."""

    def __bool__(self) -> bool:
        return self.is_set()

    def check(self) -> None:
        """Raise a CancelledError if the end is wished."""
        if self:
            raise CancelledError("the run was stopped; what was finished is remembered, so run it again to go on")


class Answer(NamedTuple):
    """A server's answer, its body as it was sent."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def text(self) -> str:
        """The body as text, whatever its bytes are."""
        return self.body.decode("utf-8", "replace")


def base_address(url: str) -> str:
    """The base address of a server without a slash at its end; a SettingError if it is none."""
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        raise SettingError("the address of a server looks like https://host/v1") from None
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
        raise SettingError("the address of a server looks like https://host/v1")
    if parts.username is not None or parts.password is not None:
        raise SettingError("an address holds no password; put the key into the environment")
    return url.rstrip("/")


def exchange(
    url: str,
    payload: object | None,
    *,
    key_headers: Mapping[str, str],
    key_variable: str,
    timeouts: Timeouts,
    stop: Stop | None = None,
    most_bytes: int = ANSWER_BYTES,
) -> Answer:
    """POST some JSON, or GET without any; an OSError where no answer came.

    Of a body longer than `most_bytes` one byte more is returned. Headers that hold a key go over https, or to this
    machine without a proxy.
    """
    from anyio.from_thread import start_blocking_portal  # this and httpx2 are loaded where a server is really asked

    parts = urlsplit(url)
    if key_headers and parts.scheme == "http" and parts.hostname not in _LOOPBACK:
        raise SettingError(f"{parts.hostname} is not encrypted: use https, or unset {key_variable}")
    stop = Stop() if stop is None else stop
    with start_blocking_portal() as portal:
        answer = portal.start_task_soon(_answer, url, payload, key_headers, key_variable, timeouts, most_bytes)
        while not wait([answer], timeout=LOOK_SECONDS).done:
            stop.check()
        return answer.result()


async def _answer(
    url: str,
    payload: object | None,
    key_headers: Mapping[str, str],
    key_variable: str,
    timeouts: Timeouts,
    most_bytes: int,
) -> Answer:
    import anyio
    import httpx2

    try:
        client = httpx2.AsyncClient(
            verify=urlsplit(url).scheme != "http",  # without, the system's certificates are not read: 40 ms
            timeout=httpx2.Timeout(timeouts.idle_seconds, connect=timeouts.connect_seconds),
            mounts={f"all://{host}": None for host in _LOOPBACK.values()},
        )
    except (ValueError, ImportError, OSError, httpx2.InvalidURL) as error:
        raise SettingError(
            f"the proxy or the certificates that the environment names can't be used: {error}; "
            "look at HTTPS_PROXY, HTTP_PROXY, ALL_PROXY, SSL_CERT_FILE and SSL_CERT_DIR"
        ) from None
    # Not compressed: a short body can't become a huge one.
    headers = {"Content-Type": "application/json", "Accept-Encoding": "identity", **key_headers}
    content = None if payload is None else json.dumps(payload).encode()
    body = bytearray()
    try:
        with anyio.fail_after(timeouts.answer_seconds):
            async with (
                client,
                client.stream("GET" if content is None else "POST", url, content=content, headers=headers) as answer,
            ):
                async for piece in answer.aiter_raw():
                    body += piece
                    if len(body) > most_bytes:
                        break
    except httpx2.InvalidURL:
        raise SettingError("the address of a server looks like https://host/v1") from None
    except (UnicodeError, httpx2.LocalProtocolError):  # their messages would show the key
        raise SettingError(f"the key in {key_variable} can't be sent; look for blanks and newlines") from None
    except TimeoutError:
        raise TimeoutError(f"the answer did not end within {timeouts.answer_seconds:g} s") from None
    except httpx2.TransportError as error:
        kind = TimeoutError if isinstance(error, httpx2.TimeoutException) else ConnectionError
        raise kind(f"{type(error).__name__} {error}".rstrip()) from None
    return Answer(answer.status_code, answer.headers, bytes(body[: most_bytes + 1]))
