"""How is an error written down for a program? As problem+json (RFC 9457), by the one table of outcomes."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response

from brimful.errors import BrimfulError, ProviderError, suggest
from brimful.limits import PATIENCE_SECONDS
from brimful.patterns import compiled
from brimful.surfaces.outcomes import outcome_of

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


def problem_of(error: BrimfulError) -> Response:
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
        return problem_of(error)

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
