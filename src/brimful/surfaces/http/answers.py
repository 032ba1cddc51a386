"""How does an answer leave? As JSON, under an ETag of the state that it was made from."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from blake3 import blake3
from fastapi import Request
from starlette.responses import Response

from brimful.surfaces.http.problems import MEDIA_TYPE
from brimful.surfaces.outcomes import OUTCOMES
from brimful.surfaces.schemas import ProblemBody


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
    found[400] = {
        "description": "Not HTTP that can be read, or a head that is too long",
        "content": {"text/plain": {"schema": {"type": "string"}}},
    }
    for status in sorted({401, 403, 405, 421, 422, 500, 503, 504, *statuses}):
        found[status] = {"model": ProblemBody, "description": _titles(status), "content": {MEDIA_TYPE: {}}}
    return found


def _titles(status: int) -> str:
    titles: Iterable[str] = dict.fromkeys(each.title for each in OUTCOMES.values() if each.status == status)
    return "; ".join(titles)


def written(record: Mapping[str, object]) -> bytes:
    """A record as it is sent."""
    return json.dumps(record, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()
