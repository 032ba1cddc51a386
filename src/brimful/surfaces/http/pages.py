"""What does a browser get? The files of the page, read once at the start: no request names a file."""

from __future__ import annotations

from pathlib import Path

from fastapi import APIRouter, Request
from starlette.responses import Response

from brimful.surfaces.http.answers import tagged_bytes
from brimful.surfaces.http.guard import PAGE_POLICY
from brimful.surfaces.http.problems import RefusedRequest

FOLDER = Path(__file__).parent / "web"
_KINDS = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".png": "image/png",
    ".svg": "image/svg+xml",
}


def router() -> APIRouter:
    """The page at `/`, and what it needs below `/assets/`."""
    routes = APIRouter(include_in_schema=False)
    files = {
        each.relative_to(FOLDER).as_posix(): (each.read_bytes(), _KINDS[each.suffix])
        for each in sorted(FOLDER.rglob("*"))
        if each.suffix in _KINDS
    }

    def served(request: Request, name: str) -> Response:
        if name not in files:
            raise RefusedRequest("request.not_found", f"there is no {name[:100]!r} here")
        content, kind = files[name]
        return tagged_bytes(request, content, media_type=kind, headers={"content-security-policy": PAGE_POLICY})

    @routes.get("/")
    async def page(request: Request) -> Response:
        return served(request, "index.html")

    @routes.get("/assets/{name:path}")
    async def asset(request: Request, name: str) -> Response:
        return served(request, f"assets/{name}")

    return routes
