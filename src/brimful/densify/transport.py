"""How does one HTTP request end: an answer, an error, silence, or the caller's wish?

Plain `http.client`, one connection a request: no retries, no redirects, no proxy, nothing logged. A response may take
as long as it likes in all, but not fall silent for longer than `idle_seconds`.
"""

from __future__ import annotations

import http.client
import importlib
import importlib.util
import json
import os
import re
import socket
import time
from collections.abc import Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from urllib.parse import urlsplit

from brimful.densify.evidence import evidence_of
from brimful.densify.model import Stop, failure
from brimful.errors import ProviderError, SettingError

_MOST_BYTES = 16 << 20
_SHOWN_CHARACTERS = 300
_LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})
_SECRET = re.compile(r"\b(?:sk|pk|rk|gsk|xai|hf|AIza|Bearer|key)[-_ ]?[A-Za-z0-9][\w*.-]{7,}")
_ASKED_TO_WAIT = re.compile(r"(?:try again|retry|wait)[^.\d]{0,20}(?:(\d+)m)?(\d+(?:\.\d+)?) ?(ms|s|sec|seconds?)\b")


@dataclass(frozen=True, slots=True)
class Timeouts:
    """How long to wait for a connection, and for the next byte of an answer."""

    connect_seconds: float = 10.0
    idle_seconds: float = 120.0


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
    kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    connection = kind(parts.hostname, parts.port, timeout=timeouts.connect_seconds)
    path = parts.path + (f"?{parts.query}" if parts.query else "")
    try:
        connection.connect()
        with stop.woken_by(lambda: _shut(connection)):
            connection.sock.settimeout(timeouts.idle_seconds)
            body = None if payload is None else json.dumps(payload).encode()
            sent = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream", **headers}
            connection.request("GET" if body is None else "POST", path, body, sent)
            with connection.getresponse() as answer:
                raw = answer.read(_MOST_BYTES + 1)
    except ValueError:  # its message would show the key
        raise SettingError("the key can't be sent in a header; look for blanks and newlines") from None
    except (OSError, http.client.HTTPException) as error:
        stop.check()
        raise failure(who, None, error, said=_shown(f"{type(error).__name__}: {error}", secret)) from None
    finally:
        connection.close()
    stop.check()
    return _read(answer, raw, who=who, secret=secret)


def _shut(connection: http.client.HTTPConnection) -> None:
    """Let a blocked read return."""
    if (sock := connection.sock) is not None:
        try:
            sock.shutdown(socket.SHUT_RDWR)
        except OSError:
            return  # already closed by the other side


def _read(answer: http.client.HTTPResponse, raw: bytes, *, who: str, secret: str | None) -> Response:
    text = raw.decode("utf-8", "replace")
    if not 200 <= answer.status < 300:
        body = cleaned(_json(text), secret)
        wait = _wait_seconds(dict(answer.headers.items()), text)
        raise failure(who, answer.status, body, said=shown(body, secret), wait_seconds=wait)
    if len(raw) > _MOST_BYTES:
        raise ProviderError(f"{who} answered more than {_MOST_BYTES} bytes", status=answer.status)
    if text.lstrip().startswith(("data:", "event:", ":")) or "event-stream" in (answer.headers["Content-Type"] or ""):
        events = tuple(_json(line[5:].strip()) for line in text.splitlines() if line.startswith("data:"))
        return Response(answer.status, text, events)
    return Response(answer.status, _json(text))


def _json(text: str) -> object:
    try:
        return json.loads(text)
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
    return _SECRET.sub("[key]", text.replace(secret, "[key]") if secret else text)


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
            return float(value) * scale
    if asked:
        try:
            return max(parsedate_to_datetime(asked).timestamp() - time.time(), 0.0)
        except ValueError:
            return None
    if found := _ASKED_TO_WAIT.search(text.lower()):
        minutes, number, unit = found.groups()
        return int(minutes or 0) * 60 + float(number) * (0.001 if unit == "ms" else 1.0)
    return None


def key_from(variables: tuple[str, ...]) -> str | None:
    """A key from the environment, else from the system's keyring if `keyring` is installed; never from a file."""
    for name in variables:
        if value := os.environ.get(name, "").strip():
            return value
    if importlib.util.find_spec("keyring") is None:
        return None
    keyring = importlib.import_module("keyring")
    return next((str(value) for name in variables if (value := keyring.get_password("brimful", name))), None)
