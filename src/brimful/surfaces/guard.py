"""Who may ask a server, HTTP or MCP, and what is checked of every request before any of it is parsed.

Host (a name bent to this machine), Origin (another site's page), token, media type, size, JSON that means one thing,
time. Everything that is refused is refused with a problem, and every answer has headers that keep it inert.
"""

from __future__ import annotations

import asyncio
import hmac
import ipaddress
import json
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from brimful import limits
from brimful.errors import BrimfulError, ProviderError, SettingError, outcome_of
from brimful.surfaces.server import read_body
from brimful.text.strict_json import StrictJsonError, strict_json

TOKEN_VARIABLE = "BRIMFUL_TOKEN"  # noqa: S105  (the name of a variable, not a token)
_MAKE_ONE = "python -c 'import secrets; print(secrets.token_urlsafe())'"


def _check_token(token: str | None, *, host: str) -> None:
    """Refuse an address that strangers reach without a token, and a token that can be guessed or not be sent.

    >>> _check_token(None, host="127.0.0.1")
    >>> _check_token("tea", host="0.0.0.0")
    Traceback (most recent call last):
    brimful.errors.SettingError: token (BRIMFUL_TOKEN) has 3 characters; it needs 16 or more of ASCII without blanks...
    """
    if token is not None and (len(token) < limits.TOKEN_CHARACTERS or not all("!" <= each <= "~" for each in token)):
        raise SettingError(
            f"token ({TOKEN_VARIABLE}) has {len(token)} characters; it needs {limits.TOKEN_CHARACTERS} or more of "
            f"ASCII without blanks; make one: {_MAKE_ONE}"
        )
    if token is None and not _is_loopback(host):
        raise SettingError(
            f"{host!r} can be reached from other machines, which needs a token ({TOKEN_VARIABLE}); give one, or stay "
            "on 127.0.0.1"
        )


def _is_authorised(header: str, token: str) -> bool:
    """Whether an Authorization header holds the token, in constant time.

    >>> _is_authorised("bearer tea-at-four-oclock", "tea-at-four-oclock"), _is_authorised("Bearer tea", "tea-at-four")
    (True, False)
    """
    scheme, _, sent = header.partition(" ")
    is_same = hmac.compare_digest(sent.strip().encode("utf-8", "surrogateescape"), token.encode())
    return is_same and scheme.lower() == "bearer"


def _is_own_origin(origin: str, host: str) -> bool:
    """Whether an Origin header is the origin of the Host header; nothing is parsed, so nothing can fail.

    >>> _is_own_origin("http://localhost:8080", "localhost:8080"), _is_own_origin("http://[::1", "localhost:8080")
    (True, False)
    """
    scheme, _, place = origin.lower().partition("://")
    return scheme in ("http", "https") and bool(place) and place == host.lower()


def _is_loopback(host: str) -> bool:
    """Whether only this machine reaches it.

    >>> _is_loopback("localhost"), _is_loopback("[::1]"), _is_loopback("127.8.8.8"), _is_loopback("example.org")
    (True, True, True, False)
    """
    address = address_of(host)
    return host.lower() == "localhost" if address is None else address.is_loopback


def address_of(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """The IP address of a host, None for a name."""
    try:
        return ipaddress.ip_address(host.removeprefix("[").removesuffix("]"))
    except ValueError:
        return None


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
        _check_token(self.token, host=self.host)


def is_served(name: str, settings: ServeSettings) -> bool:
    """Whether a Host header names this server: what any other site's name was bent to here is refused.

    A number can't be bent by a DNS server, so beyond loopback every address of this machine is fine.
    """
    plain = name.lower().rstrip(".")
    if plain in ("localhost", settings.host.lower()) or plain in (host.lower() for host in settings.hosts):
        return True
    address = address_of(plain)
    return address is not None and (address.is_loopback or not _is_loopback(settings.host))


PROBLEM_TYPE = "application/problem+json"
PAGE_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cache-control": "no-store",
}
_LONG = ("/v1/densify", "/v1/captures", "/mcp")
_OPEN = ("/", "/health/live", "/health/ready")
_OVERTIME_SECONDS = 5.0  # for a run that ends itself at its own deadline
_RETRY_SECONDS = 1
_log = logging.getLogger(__name__)


class RefusedRequest(BrimfulError):  # noqa: N818  (no error of the server's)
    """A request that the server refuses, rather than the engine."""

    def __init__(self, code: str, detail: str, *, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(detail)
        self.code, self.headers = code, dict(headers or {})


def _problem_record(code: str, detail: str, errors: Sequence[Mapping[str, str]] = ()) -> dict[str, object]:
    """A problem as RFC 9457 writes it."""
    outcome = outcome_of(code)
    record: dict[str, object] = {
        "type": f"urn:brimful:error:{code}",
        "title": outcome.title,
        "status": outcome.status,
        "detail": detail,
        "code": code,
    }
    return {**record, "errors": list(errors)} if errors else record


def problem(
    code: str, detail: str, *, errors: Sequence[Mapping[str, str]] = (), headers: Mapping[str, str] | None = None
) -> Response:
    """The response for a problem."""
    record = _problem_record(code, detail, errors)
    headers = {"cache-control": "no-store", **(headers or {})}
    status = outcome_of(code).status
    if status == 503:
        headers.setdefault("retry-after", str(_RETRY_SECONDS))
    content = json.dumps(record, ensure_ascii=False).encode("utf-8", "replace")
    return Response(content, status, headers, media_type=PROBLEM_TYPE)


def problem_of(error: BrimfulError) -> Response:
    """The response for an error of the engine, or for a refused request."""
    headers = error.headers if isinstance(error, RefusedRequest) else {}
    if isinstance(error, ProviderError) and error.wait_seconds is not None:
        headers["retry-after"] = str(max(1, round(min(error.wait_seconds, limits.PATIENCE_SECONDS))))
    return problem(error.code, str(error), headers=headers)


_Count = Callable[[str, str, int, float], None]
"""Counts an answered request: its route, method, status and seconds."""


class Guard:
    """Passes checked requests on to the application."""

    def __init__(self, app: ASGIApp, *, settings: ServeSettings, count: _Count | None = None) -> None:
        self._app, self._settings, self._count = app, settings, count

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Check, then hand on."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        status, begun = 0, time.monotonic()

        async def sending(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        path = scope["path"]
        seconds = self._settings.seconds
        if path.startswith(_LONG):
            seconds = self._settings.densify_seconds + _OVERTIME_SECONDS
        refusal: RefusedRequest | None = None
        try:
            async with asyncio.timeout(seconds):
                self._check(scope)
                await self._attended(scope, receive, sending)
        except asyncio.CancelledError:  # the client is gone, or the server's grace time is over
            refusal = RefusedRequest("request.busy", "the server is being stopped; try again later")
        except TimeoutError:
            refusal = RefusedRequest("request.deadline", f"{path} took more than {seconds:g} s; ask for less")
        except RefusedRequest as error:
            refusal = error
        except Exception:  # noqa: BLE001  (whatever it is, the client gets a problem and the log the reason)
            _log.exception("%s %r failed", scope["method"], path)  # a path may hold a line's end
            refusal = RefusedRequest("error", "the server failed; its log has the reason")
        if refusal is not None and not status:
            await problem_of(refusal)(scope, receive, sending)
        if self._count is not None:
            self._count(_route(scope), _method(scope), status, time.monotonic() - begun)

    async def _attended(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer until the client leaves, which ends the work."""
        checked = await self._checked(scope, receive)
        if checked is receive:  # no body was read, so there is nothing that could be long at work
            await self._app(scope, receive, send)
            return
        answering = asyncio.ensure_future(self._app(scope, checked, send))
        leaving = asyncio.ensure_future(_left(receive))
        try:
            await asyncio.wait({answering, leaving}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            leaving.cancel()
            if not answering.done():
                answering.cancel()
            await asyncio.gather(answering, leaving, return_exceptions=True)
        answering.result()

    def _check(self, scope: Scope) -> None:
        """Refuse a name bent to this machine, another site's page and a wrong token; a link may open our page."""
        headers, path, token = Headers(scope=scope), scope["path"], self._settings.token
        names = headers.getlist("host")
        name = _host_of(names[0]) if len(names) == 1 else None
        if name is None or not is_served(name, self._settings):
            raise RefusedRequest(
                "request.host", f"Host {names[0][:100] if names else ''!r} is not a name of this server; use its own"
            )
        origin = headers.get("origin")
        is_foreign = origin is not None and not _is_own_origin(origin, names[0])
        is_bidden = headers.get("sec-fetch-site", "none") in ("same-origin", "none")
        if is_foreign or (not is_bidden and path not in _OPEN):
            raise RefusedRequest("request.origin", "only this server's own page and programs may ask, no other site's")
        is_open = path in _OPEN or path.startswith("/assets/")
        if token is not None and not is_open and not _is_authorised(headers.get("authorization", ""), token):
            raise RefusedRequest(
                "request.token",
                "send the server's token: Authorization: Bearer …",
                headers={"www-authenticate": 'Bearer realm="brimful"'},
            )

    async def _checked(self, scope: Scope, receive: Receive) -> Receive:
        """Read and check the body; returns a `receive` that gives it again."""
        headers = Headers(scope=scope)
        body_bytes = self._settings.body_bytes
        announced = headers.get("content-length", "")
        if announced.isdecimal() and int(announced[:20]) > body_bytes:
            raise _too_large(body_bytes)
        if scope["method"] in ("GET", "HEAD", "OPTIONS"):
            return receive
        read = await read_body(receive, most_bytes=body_bytes)
        if read is None:
            raise _too_large(body_bytes)
        body, again = read
        if body or scope["method"] in ("POST", "PUT", "PATCH"):
            _check_media_type(headers)
        try:
            if body:
                await asyncio.to_thread(strict_json, body, nesting=self._settings.nesting)
        except StrictJsonError as error:
            raise RefusedRequest("request.json", f"the body is refused: {error}") from error
        return again


async def _left(receive: Receive) -> None:
    """Wait until the client is gone."""
    while (await receive())["type"] != "http.disconnect":
        pass


def _too_large(most_bytes: int) -> RefusedRequest:
    return RefusedRequest("request.too_large", f"the body has more than {most_bytes} bytes; send less at once")


def _check_media_type(headers: Headers) -> None:
    sent = headers.get("content-type", "")
    kind, _, parameters = sent.partition(";")
    charset = parameters.strip().lower().removeprefix("charset=").strip('"')
    if kind.strip().lower() != "application/json" or charset not in ("", "utf-8"):
        raise RefusedRequest("request.media_type", f"Content-Type is {sent[:100]!r}; send application/json as UTF-8")
    if headers.get("content-encoding", "identity").lower() != "identity":
        raise RefusedRequest("request.media_type", "a compressed body is not accepted; send it as it is")


def _host_of(header: str) -> str | None:
    """The name in a Host header, without its port; None where it is none.

    >>> _host_of("localhost:8080"), _host_of("[::1]:8080"), _host_of("evil.example@localhost")
    ('localhost', '[::1]', None)
    """
    name, _, port = header.rpartition(":") if not header.endswith("]") and ":" in header else (header, "", "")
    is_sound = bool(name) and not set(name) & set("@/\\?# ,") and (not port or port.isdigit())
    return name if is_sound else None


def _route(scope: Scope) -> str:
    """The template of the route, so that the metrics have one line for each route."""
    return str(getattr(scope.get("route"), "path", "other"))


def _method(scope: Scope) -> str:
    methods = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
    return scope["method"] if scope["method"] in methods else "other"
