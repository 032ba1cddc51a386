"""Does the server live, is it ready, how busy is it, and what does it serve?"""

from __future__ import annotations

import asyncio
from dataclasses import asdict

from fastapi import APIRouter, Request
from starlette.responses import Response

from brimful.search.query import KINDS
from brimful.settings import FILLS, FORMATS, ORDERS, PACKINGS, SIZINGS, STRATEGIES, VERSION, AskSettings
from brimful.surfaces import records
from brimful.surfaces.http import metrics
from brimful.surfaces.http.answers import described, written
from brimful.surfaces.http.house import House
from brimful.surfaces.http.problems import RefusedRequest
from brimful.surfaces.schemas import HealthBody, StatusBody
from brimful.text.vocabularies import KNOWN_MODELS


def router(house: House) -> APIRouter:
    """The routes."""
    routes = APIRouter(tags=["status"])

    @routes.get("/v1/status", responses=described(StatusBody, tag=True))
    async def status(request: Request) -> Response:
        """What the store holds, what a request may choose from, and how much it may ask for."""
        return await house.tagged(
            request, lambda: {"version": VERSION, **records.status_record(house.engine), **_offered(house)}
        )

    @routes.get("/health/live", responses=described(HealthBody))
    async def live() -> Response:
        """Whether the server runs."""
        return Response(written({"status": "live"}), media_type="application/json")

    @routes.get("/health/ready", responses=described(HealthBody))
    async def ready() -> Response:
        """Whether the store can be asked; answered whatever else is at work."""
        seconds = house.settings.ready_seconds
        try:
            async with asyncio.timeout(seconds):
                await house.health.run(lambda: house.engine.root)
        except TimeoutError as error:
            raise RefusedRequest(
                "request.busy", f"the store did not answer within {seconds:g} s; try again later"
            ) from error
        return Response(written({"status": "ready"}), media_type="application/json")

    @routes.get(
        "/metrics",
        response_class=Response,
        responses={**described(HealthBody), 200: {"content": {metrics.MEDIA_TYPE: {"schema": {"type": "string"}}}}},
    )
    async def measured() -> Response:
        """Requests, contexts and the store in numbers, as Prometheus reads them."""
        found = await house.health.run(lambda: records.status_record(house.engine))
        gauges = {f"store_{name}": int(str(found[name])) for name in ("documents", "bytes")}
        return Response(house.metrics.text(gauges), media_type=metrics.MEDIA_TYPE)

    return routes


def _offered(house: House) -> dict[str, object]:
    settings = house.settings
    names = ("body_bytes", "budget_tokens", "question_characters", "results", "passage_bytes", "seconds")
    defaults = asdict(AskSettings())
    return {
        "choices": {
            "formats": FORMATS,
            "sizings": SIZINGS,
            "strategies": STRATEGIES,
            "packings": PACKINGS,
            "fills": FILLS,
            "orders": ORDERS,
            "kinds": KINDS,
            "models": KNOWN_MODELS,
            "densify": settings.densify_models,
        },
        "limits": {name: getattr(settings, name) for name in names},
        "defaults": {**{name: value for name, value in defaults.items() if name != "windows"}, "budget": 4_000},
    }
