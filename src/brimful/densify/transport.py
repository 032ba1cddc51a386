"""How does one HTTP request end: an answer, an error, silence, or the caller's wish?

Plain `http.client`, one connection a request: no retries, no redirects, no proxy, nothing logged. A response may not
fall silent for longer than `idle_seconds`, nor take longer than `answer_seconds` in all. The caller's wish to end
reaches the socket itself, from before it is connected until the last byte was read.
"""

from __future__ import annotations

import http.client
import importlib
import importlib.util
import json
import os
import re
import socket
import ssl
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from urllib.parse import SplitResult, urlsplit

from brimful.densify.failures import evidence_of
from brimful.densify.model import Stop, failure
from brimful.errors import ProviderError, SettingError, UnavailableError
from brimful.limits import (
    ANSWER_BYTES,
    ANSWER_SECONDS,
    CONNECT_SECONDS,
    LIMIT_SECONDS,
    NESTING,
    PATIENCE_SECONDS,
    SILENCE_SECONDS,
)
from brimful.text.strict_json import nesting_of, whole_characters

_SHOWN_CHARACTERS = 300
_LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})
_SECRET = re.compile(r"\b(?:sk|pk|rk|gsk|xai|hf|AIza|Bearer|key)[-_ ]?[A-Za-z0-9][\w*.-]{7,}")
_ASKED_TO_WAIT = re.compile(r"(?:try again|retry|wait)[^.\d]{0,20}(?:(\d+)m)?(\d+(?:\.\d+)?) ?(ms|s|sec|seconds?)\b")


@dataclass(frozen=True, slots=True)
class Timeouts:
    """How long to wait for a connection, for the next byte of an answer, for all of it, and for a limit to be told."""

    connect_seconds: float = CONNECT_SECONDS
    idle_seconds: float = SILENCE_SECONDS
    answer_seconds: float = ANSWER_SECONDS
    limit_seconds: float = LIMIT_SECONDS


@dataclass(frozen=True, slots=True)
class Response:
    """A status, the JSON of the body (or its text where it is none), and the events of a stream."""

    status: int
    body: object
    events: tuple[object, ...] = ()


def send(
    url: str,
    payload: object | None,
    *,
    who: str,
    headers: Mapping[str, str],
    secret: str | None,
    timeouts: Timeouts,
    stop: Stop,
) -> Response:
    """One request; statuses other than 2xx and broken connections are raised as the ProviderError they mean."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise SettingError("the address of a model looks like https://host/v1")
    if secret and parts.scheme == "http" and parts.hostname not in _LOOPBACK:
        raise SettingError(f"{parts.hostname} is not encrypted: use https, or unset the key")
    path = parts.path + (f"?{parts.query}" if parts.query else "")
    line = _Line()
    try:
        with stop.woken_by(line.cut), line.cut_after(timeouts.answer_seconds):
            connection = _connected(parts, timeouts.connect_seconds, line)
            connection.sock.settimeout(timeouts.idle_seconds)
            body = None if payload is None else json.dumps(payload).encode()
            sent = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream", **headers}
            connection.request("GET" if body is None else "POST", path, body, sent)
            with connection.getresponse() as answer:
                raw = answer.read(ANSWER_BYTES + 1)
    except ValueError:  # its message would show the key
        raise SettingError("the key can't be sent in a header; look for blanks and newlines") from None
    except (OSError, http.client.HTTPException) as error:
        stop.check()
        line.check(who, timeouts.answer_seconds)
        raise failure(who, None, error, said=_shown(f"{type(error).__name__}: {error}", secret)) from None
    finally:
        line.close()
    stop.check()
    line.check(who, timeouts.answer_seconds)
    return _read(answer, raw, who=who, secret=secret)


class _Line:
    """The socket of one request, which may be cut from another thread at any moment.

    `http.client` forgets its socket as soon as an answer without a length begins, so it is held here.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._socket: socket.socket | None = None
        self._is_cut = self._is_late = False

    def hold(self, opened: socket.socket) -> socket.socket:
        """Watch over this socket from now on."""
        with self._lock:
            self._socket = opened
            if self._is_cut:
                self._shut()
        return opened

    def cut(self) -> None:
        """Let whatever waits for the socket return, now and later."""
        with self._lock:
            self._is_cut = True
            self._shut()

    def _shut(self) -> None:
        if self._socket is not None:
            try:
                self._socket.shutdown(socket.SHUT_RDWR)
            except OSError:
                return  # not connected yet, or closed by the other side

    @contextmanager
    def cut_after(self, seconds: float) -> Iterator[None]:
        """Within the block, cut it when the time is over."""

        def late() -> None:
            self._is_late = True
            self.cut()

        timer = threading.Timer(seconds, late)
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()

    def check(self, who: str, seconds: float) -> None:
        """Raise an UnavailableError if the time was over before the answer was."""
        if self._is_late:
            raise UnavailableError(f"{who} did not end its answer within {seconds:g} s; try again later")

    def close(self) -> None:
        """Let go of the socket."""
        with self._lock:
            if self._socket is not None:
                self._socket.close()


def _connected(parts: SplitResult, seconds: float, line: _Line) -> http.client.HTTPConnection:
    """A connection on a socket that the line holds from its first moment."""
    assert parts.hostname is not None
    port = parts.port or (443 if parts.scheme == "https" else 80)
    opened = _dialled(parts.hostname, port, seconds, line)
    if parts.scheme == "https":
        context = ssl.create_default_context()
        opened = line.hold(context.wrap_socket(opened, server_hostname=parts.hostname, do_handshake_on_connect=False))
        assert isinstance(opened, ssl.SSLSocket)
        opened.do_handshake()
    connection = http.client.HTTPConnection(parts.hostname, parts.port)
    connection.default_port = port  # what the Host header leaves out
    connection.sock = opened
    return connection


def _dialled(host: str, port: int, seconds: float, line: _Line) -> socket.socket:
    """A socket that is connected to one of a name's addresses, all of them tried within the time."""
    until = time.monotonic() + seconds
    failed: OSError | None = None
    for family, kind, protocol, _, address in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM):
        opened = line.hold(socket.socket(family, kind, protocol))
        opened.settimeout(max(until - time.monotonic(), 0.001))
        try:
            opened.connect(address)
        except OSError as error:
            opened.close()
            failed = error
        else:
            opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return opened
    raise failed or OSError(f"{host} has no address")


def _read(answer: http.client.HTTPResponse, raw: bytes, *, who: str, secret: str | None) -> Response:
    text = raw.decode("utf-8", "replace")
    if not 200 <= answer.status < 300:
        body = cleaned(_json(text), secret)
        wait = _wait_seconds(dict(answer.headers.items()), text)
        raise failure(who, answer.status, body, said=shown(body, secret), wait_seconds=wait)
    if len(raw) > ANSWER_BYTES:
        raise ProviderError(f"{who} answered more than {ANSWER_BYTES} bytes", status=answer.status)
    if text.lstrip().startswith(("data:", "event:", ":")) or "event-stream" in (answer.headers["Content-Type"] or ""):
        events = tuple(_json(line[5:].strip()) for line in text.splitlines() if line.startswith("data:"))
        return Response(answer.status, text, events)
    return Response(answer.status, _json(text))


def _json(text: str) -> object:
    """JSON of a bounded depth, or the text itself: what walks through it later need not be afraid."""
    try:
        return json.loads(text) if nesting_of(text.encode()) <= NESTING else text
    except (ValueError, RecursionError):
        return text


def shown(body: object, secret: str | None) -> str:
    """What of a body may be shown: its message, without keys, on one short line."""
    found = evidence_of(body)
    words = _original(body) or found.message or found.code
    return _shown(words, secret)


def cleaned(body: object, secret: str | None) -> object:
    """A body without the key in it, since an error carries it along."""
    if isinstance(body, str):
        return _without_keys(body, secret)
    if isinstance(body, list):
        return [cleaned(each, secret) for each in body]
    if isinstance(body, dict):
        return {_without_keys(str(key), secret): cleaned(value, secret) for key, value in body.items()}
    return body


def _without_keys(text: str, secret: str | None) -> str:
    whole = whole_characters(text)
    return _SECRET.sub("[key]", whole.replace(secret, "[key]") if secret else whole)


def _original(body: object) -> str:
    """The message as it was written, where it is in one of the usual places."""
    for _ in range(3):
        if isinstance(body, list) and body:
            body = body[0]
        if isinstance(body, dict):
            body = body.get("error") or body.get("message") or body.get("detail") or ""
    return re.sub(r"<[^<>]*>", " ", body) if isinstance(body, str) else ""


def _shown(text: str, secret: str | None) -> str:
    return _without_keys(" ".join(text.split()), secret)[:_SHOWN_CHARACTERS]


def _wait_seconds(headers: Mapping[str, str], text: str) -> float | None:
    """How long the provider asks to wait: a header in seconds, milliseconds or as a date, or its own words."""
    lower = {name.lower(): value.strip() for name, value in headers.items()}
    milliseconds, asked = lower.get("retry-after-ms"), lower.get("retry-after")
    for value, scale in ((milliseconds, 0.001), (asked, 1.0)):
        if value and re.fullmatch(r"\d+(?:\.\d+)?", value):
            return _bearable(float(value) * scale)
    if asked:
        try:
            return _bearable(parsedate_to_datetime(asked).timestamp() - time.time())
        except (ValueError, OverflowError, OSError):  # no date, or one that no clock shows
            return None
    if found := _ASKED_TO_WAIT.search(text.lower()):
        minutes, number, unit = found.groups()
        return _bearable(float(minutes or 0) * 60 + float(number) * (0.001 if unit == "ms" else 1.0))
    return None


def _bearable(seconds: float) -> float:
    """A wait that can be told and compared, whatever number was named."""
    return min(max(seconds, 0.0), PATIENCE_SECONDS)


def key_from(variables: tuple[str, ...]) -> str | None:
    """A key from the environment, else from the system's keyring if `keyring` is installed; never from a file."""
    for name in variables:
        if value := os.environ.get(name, "").strip():
            return value
    if importlib.util.find_spec("keyring") is None:
        return None
    keyring = importlib.import_module("keyring")
    return next((str(value) for name in variables if (value := keyring.get_password("brimful", name))), None)
