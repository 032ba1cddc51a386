"""How does an answer leave? As JSON under an ETag, as problem+json, or as a page of a list."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from blake3 import blake3
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response

from brimful.errors import OUTCOMES, BrimfulError, ProviderError, outcome_of, suggest
from brimful.limits import PATIENCE_SECONDS
from brimful.patterns import compiled
from brimful.surfaces.schemas import ProblemBody

# ---- problems: How is an error written down for a program? As problem+json (RFC 9457), by the one table of outcomes.

MEDIA_TYPE = "application/problem+json"
_CODE_OF = {404: "request.not_found", 405: "request.method", 400: "request.json"}
_RETRY_SECONDS = 1
_QUOTED = compiled(r"'([^']*)'")
_MOST_ERRORS = 20


class RefusedRequest(Exception):  # noqa: N818  (no error of the server's)
    """A request that this surface itself refuses."""

    def __init__(self, code: str, detail: str, *, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(detail)
        self.code, self.detail, self.headers = code, detail, dict(headers or {})


def problem_record(code: str, detail: str, errors: Sequence[Mapping[str, str]] = ()) -> dict[str, object]:
    """A problem; half a surrogate pair that a request brought is shown as a question mark."""
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
    record = problem_record(code, detail, errors)
    found = {"cache-control": "no-store", **(headers or {})}
    status = outcome_of(code).status
    if status == 503:
        found.setdefault("retry-after", str(_RETRY_SECONDS))
    content = json.dumps(record, ensure_ascii=False).encode("utf-8", "replace")
    return Response(content, status, found, media_type=MEDIA_TYPE)


def _problem_of(error: BrimfulError) -> Response:
    """The response for an error of the engine."""
    headers = {}
    if isinstance(error, ProviderError) and error.wait_seconds is not None:
        headers["retry-after"] = str(max(1, round(min(error.wait_seconds, PATIENCE_SECONDS))))
    return problem(error.code, str(error), headers=headers)


def install(app: FastAPI) -> None:
    """Answer every refusal and error of this application with a problem."""

    async def refused(_: Request, error: Exception) -> Response:
        assert isinstance(error, RefusedRequest)
        return problem(error.code, error.detail, headers=error.headers)

    async def named(_: Request, error: Exception) -> Response:
        assert isinstance(error, BrimfulError)
        return _problem_of(error)

    async def invalid(_: Request, error: Exception) -> Response:
        assert isinstance(error, RequestValidationError)
        errors = list(_errors(error.errors()))
        return problem("request.invalid", f"{errors[0]['where']}: {errors[0]['problem']}", errors=errors)

    async def other(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        code = _CODE_OF.get(error.status_code, "error")
        detail = f"{request.method} {request.url.path}: {error.detail}; /openapi.json lists what there is"
        return problem(code, detail, headers=error.headers)

    app.add_exception_handler(RefusedRequest, refused)
    app.add_exception_handler(BrimfulError, named)
    app.add_exception_handler(RequestValidationError, invalid)
    app.add_exception_handler(HTTPException, other)


def _errors(found: Iterable[Mapping[str, object]]) -> Iterable[dict[str, str]]:
    for number, each in enumerate(found):
        if number == _MOST_ERRORS:
            return
        where = each["loc"]
        assert isinstance(where, tuple)
        yield {"where": ".".join(map(str, where))[:200], "problem": _said(each)}


def _said(error: Mapping[str, object]) -> str:
    said = str(error["msg"]).removeprefix("Value error, ")
    expected, given = (error.get("ctx") or {}), error.get("input")
    if error["type"] == "literal_error" and isinstance(expected, Mapping) and isinstance(given, str):
        choices = _QUOTED.findall(str(expected.get("expected", "")))
        return f"{given[:60]!r} is none of the choices; {suggest(given[:60], choices)}choices: {', '.join(choices)}"
    return said


# ---- answers: How does an answer leave? As JSON, under an ETag of the state that it was made from.


def tagged_bytes(
    request: Request, content: bytes, *, media_type: str, root: str = "", headers: Mapping[str, str] | None = None
) -> Response:
    """What is there, or 304 where the client has it already: the tag is the state root and a hash of the answer."""
    tag = f'"{root[:32]}-{blake3(content).hexdigest(16)}"'
    found = {"etag": tag, "cache-control": "private, no-cache", **(headers or {})}
    given = [each.strip().removeprefix("W/") for each in request.headers.get("if-none-match", "").split(",")]
    if tag in given or "*" in given:
        return Response(status_code=304, headers=found)
    return Response(content, headers=found, media_type=media_type)


def described(model: type, *statuses: int, tag: bool = False) -> dict[int | str, dict[str, Any]]:
    """The responses of a route, for its description: the answer, and a problem of each status."""
    headers = {"ETag": {"description": "State root and hash of the answer", "schema": {"type": "string"}}}
    found: dict[int | str, dict[str, Any]] = {200: {"model": model, **({"headers": headers} if tag else {})}}
    if tag:
        found[304] = {"description": "The client has it already", "headers": headers}
    found[400] = {"description": "Not HTTP that can be read, or a head that is too long"}
    for status in sorted({401, 403, 405, 421, 422, 500, 503, 504, *statuses}):
        found[status] = {"model": ProblemBody, "description": _titles(status), "content": {MEDIA_TYPE: {}}}
    return found


def _titles(status: int) -> str:
    titles: Iterable[str] = dict.fromkeys(each.title for each in OUTCOMES.values() if each.status == status)
    return "; ".join(titles)


def written(record: Mapping[str, object]) -> bytes:
    """A record as it is sent."""
    return json.dumps(record, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()


# ---- cursors: Where does the next page begin? An opaque cursor that only this surface makes, and checks before it is
# used.

_CHECK_BYTES = 6


def _cursor_after(name: str, *, of: str) -> str:
    """The cursor for what comes after a name in a list.

    >>> after_cursor(_cursor_after("a.md", of="documents"), of="documents")
    'a.md'
    """
    raw = name.encode()
    return base64.urlsafe_b64encode(_check(raw, of) + raw).decode().rstrip("=")


def after_cursor(cursor: str, *, of: str) -> str:
    """The name that a cursor comes after; one that was made elsewhere, or for another list, is refused."""
    try:
        found = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True)
        check, raw = found[:_CHECK_BYTES], found[_CHECK_BYTES:]
        if check == _check(raw, of):
            return raw.decode()
    except (binascii.Error, ValueError):
        pass
    raise RefusedRequest("request.invalid", f"cursor {cursor[:60]!r} is none of this list; begin without one")


def paged(record: Mapping[str, object], *, of: str) -> dict[str, object]:
    """A page of a list with the cursor of the one after it, in place of the last name."""
    last = record["last"]
    rest = {name: value for name, value in record.items() if name != "last"}
    return {**rest, "next": None if last is None else _cursor_after(str(last), of=of)}


def _check(raw: bytes, of: str) -> bytes:
    return blake3(raw, derive_key_context=f"brimful 2026 cursor of {of}").digest(_CHECK_BYTES)
