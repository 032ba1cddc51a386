"""What does the server offer? Routes behind a guard, and their description."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from fastapi import Depends, FastAPI, Request

from brimful.engine import Engine
from brimful.errors import suggest
from brimful.settings import VERSION
from brimful.surfaces.http import digests, documents, health, pages, problems, questions
from brimful.surfaces.http.description import describe
from brimful.surfaces.http.guard import Guard
from brimful.surfaces.http.house import House
from brimful.surfaces.http.problems import RefusedRequest
from brimful.surfaces.http.settings import ServeSettings


def create_app(engine: Engine, settings: ServeSettings | None = None) -> FastAPI:
    """The application over an open engine, which stays the caller's to close."""
    house = House(engine, settings or ServeSettings())

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        house.close()

    app = FastAPI(
        title="Brimful",
        version=VERSION,
        description="Fills a language model's context to the brim and never over it.",
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
        dependencies=[Depends(_known_parameters)],
    )
    for router in (questions.router(house), documents.router(house), digests.router(house), health.router(house)):
        app.include_router(router)
    app.include_router(pages.router())
    problems.install(app)
    app.add_middleware(Guard, settings=house.settings, metrics=house.metrics)
    described: dict[str, Any] = {}

    def openapi() -> dict[str, Any]:
        if not described:
            described.update(describe(app))
        return described

    app.openapi = openapi  # type: ignore[method-assign]  # FastAPI's own way to change the description
    return app


async def _known_parameters(request: Request) -> None:
    """Refuse a parameter that the route does not have, rather than to pass over it."""
    dependant = getattr(request.scope.get("route"), "dependant", None)
    known = [each.alias for each in dependant.query_params] if dependant is not None else []
    for name in request.query_params:
        if name not in known:
            said = f"; {suggest(name[:60], known)}parameters: {', '.join(known)}" if known else "; there are none"
            raise RefusedRequest("request.invalid", f"unknown parameter {name[:60]!r}{said}")
