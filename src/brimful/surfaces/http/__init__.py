"""The HTTP surface: `create_app` for a server of your own, `serve` for ours.

The application has routes behind a guard, the page, health and metrics, and their OpenAPI description.
"""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import Any

from fastapi import APIRouter, Depends, FastAPI, Request
from fastapi.openapi.utils import get_openapi
from starlette.responses import JSONResponse, RedirectResponse, Response

from brimful.engine import Engine
from brimful.engine import open as open_store
from brimful.errors import BrimfulError, suggest
from brimful.search.query import KINDS
from brimful.settings import ASKED, FILLS, FORMATS, ORDERS, PACKINGS, SIZINGS, STRATEGIES, VERSION
from brimful.store.address import Place
from brimful.surfaces import records
from brimful.surfaces.guard import PAGE_POLICY, PROBLEM_TYPE, Guard, RefusedRequest, ServeSettings
from brimful.surfaces.http.routes import digest_routes, document_routes, question_routes
from brimful.surfaces.http.service import METRICS_TYPE, Service, described, install_problems, tagged_bytes
from brimful.surfaces.schemas import StatusBody
from brimful.surfaces.server import Server, address_of, listen, log_to_stderr
from brimful.text.vocabularies import KNOWN_MODELS

__all__ = ["ServeSettings", "create_app", "serve"]


def _describe(app: FastAPI) -> dict[str, Any]:
    """The OpenAPI description of an application, with problems as they are sent."""
    description = get_openapi(title=app.title, version=app.version, description=app.description, routes=app.routes)
    for path in description["paths"].values():
        for operation in path.values():
            for status, response in operation["responses"].items():
                if int(status) >= 400:
                    response["content"] = {PROBLEM_TYPE: {"schema": {"$ref": "#/components/schemas/ProblemBody"}}}
                if status in ("400", "503"):  # uvicorn answers these where no route is reached
                    response["content"]["text/plain"] = {"schema": {"type": "string"}}
    schemas = description["components"]["schemas"]
    for unused in ("HTTPValidationError", "ValidationError"):
        schemas.pop(unused, None)
    description["components"]["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
    description["security"] = [{}, {"token": []}]
    return description


FOLDER = Path(__file__).parent / "web"
_KINDS = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".png": "image/png",
    ".svg": "image/svg+xml",
}


def _page_routes() -> APIRouter:
    """The page at `/`, and what it needs below `/assets/`."""
    routes = APIRouter(include_in_schema=False)
    files = {
        file.relative_to(FOLDER).as_posix(): (file.read_bytes(), _KINDS[file.suffix])
        for file in sorted(FOLDER.rglob("*"))
        if file.suffix in _KINDS
    }

    def served(request: Request, name: str) -> Response:
        if name not in files:
            raise RefusedRequest("request.not_found", f"there is no {name[:100]!r} here")
        content, kind = files[name]
        return tagged_bytes(request, content, media_type=kind, headers={"content-security-policy": PAGE_POLICY})

    @routes.get("/")
    async def page(request: Request) -> Response:
        """The page; a query (`/?q=…`, from a browser's search field) becomes the fragment, which the page reads."""
        if request.url.query:
            return RedirectResponse(f"/#{request.url.query}", status_code=303)
        return served(request, "index.html")

    @routes.get("/assets/{name:path}")
    async def asset(request: Request, name: str) -> Response:
        return served(request, f"assets/{name}")

    return routes


def _health_routes(service: Service) -> APIRouter:
    """Routes of status, health and metrics."""
    routes = APIRouter(tags=["status"])

    @routes.get("/v1/status", responses=described(StatusBody, tag=True))
    async def status(request: Request) -> Response:
        """The contents of the store in numbers, the choices of a request, and the limits."""
        return await service.tagged(
            request, lambda: {"version": VERSION, **records.status_record(service.engine), **_offered(service)}
        )

    @routes.get("/health/live", responses=described(dict[str, str]))
    async def live() -> Response:
        """Whether the server runs."""
        return JSONResponse({"status": "live"})

    @routes.get("/health/ready", responses=described(dict[str, str]))
    async def ready() -> Response:
        """Whether the store can be asked; answered whatever else is at work."""
        seconds = service.settings.ready_seconds
        try:
            async with asyncio.timeout(seconds):
                await service.health.run(lambda: service.engine.root)
        except TimeoutError as error:
            raise RefusedRequest(
                "request.busy", f"the store did not answer within {seconds:g} s; try again later"
            ) from error
        return JSONResponse({"status": "ready"})

    @routes.get(
        "/metrics",
        response_class=Response,
        responses={**described(dict[str, str]), 200: {"content": {METRICS_TYPE: {"schema": {"type": "string"}}}}},
    )
    async def measured() -> Response:
        """Requests, contexts and the store in numbers, as Prometheus reads them."""
        gauges = {"store_ready": 0}
        with suppress(TimeoutError, BrimfulError):
            async with asyncio.timeout(service.settings.ready_seconds):
                record = await service.health.run(lambda: records.status_record(service.engine))
            gauges = {"store_ready": 1, **{f"store_{name}": int(str(record[name])) for name in ("documents", "bytes")}}
        return Response(service.metrics.text(gauges), media_type=METRICS_TYPE)

    return routes


def _offered(service: Service) -> dict[str, object]:
    settings = service.settings
    names = ("body_bytes", "budget_tokens", "question_characters", "results", "passage_bytes", "seconds")
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
        "controls": [records.control_record(choice) for choice in ASKED.values()],
        "limits": {name: getattr(settings, name) for name in names},
        "defaults": {name: choice.default for name, choice in ASKED.items()},
    }


def create_app(engine: Engine, settings: ServeSettings | None = None) -> FastAPI:
    """The application over an open engine, which stays the caller's to close."""
    service = Service(engine, settings or ServeSettings())

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        service.close()

    app = FastAPI(
        title="Brimful",
        version=VERSION,
        description="Fills a language model's context to the brim and never over it.",
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
        dependencies=[Depends(_known_parameters)],
    )
    for routes in (question_routes, document_routes, digest_routes, _health_routes):
        app.include_router(routes(service))
    app.include_router(_page_routes())
    install_problems(app)
    app.add_middleware(Guard, settings=service.settings, count=service.metrics.request)

    def openapi() -> dict[str, Any]:
        app.openapi_schema = app.openapi_schema or _describe(app)
        return app.openapi_schema

    app.openapi = openapi  # type: ignore[method-assign]  # FastAPI's own way to change the description
    return app


async def _known_parameters(request: Request) -> None:
    """Refuse a parameter that the route does not have; the page ignores it."""
    if request.url.path == "/":
        return
    dependant = getattr(request.scope.get("route"), "dependant", None)
    names = [parameter.alias for parameter in dependant.query_params] if dependant is not None else []
    for name in request.query_params:
        if name not in names:
            advice = f"; {suggest(name[:60], names)}parameters: {', '.join(names)}" if names else "; there are none"
            raise RefusedRequest("request.invalid", f"unknown parameter {name[:60]!r}{advice}")


def serve(
    store: Place,
    *,
    host: str = "127.0.0.1",
    port: int = 8080,
    token: str | None = None,
    hosts: Sequence[str] = (),
    densify_models: Sequence[str] = (),
    ready: Callable[[str], None] | None = None,
) -> None:
    """Serve a store until a signal ends it; `ready` gets the address once it listens. Port 0 takes a free one.

    Beyond loopback a token is needed. `hosts` are other names that the server is called by, `densify_models` the
    further models that may condense.
    """
    settings = ServeSettings(
        host=host, token=token, hosts=tuple(hosts), densify_models=("extractive:", *densify_models)
    )
    log_to_stderr()
    with listen(host, port) as listener, open_store(store) as engine:
        address = address_of(listener)
        server = Server(create_app(engine, settings), ready=None if ready is None else lambda: ready(address))
        with _ended_by_signals(), suppress(KeyboardInterrupt):
            server.run(sockets=[listener])


@contextmanager
def _ended_by_signals() -> Iterator[None]:
    """Let this function return after a graceful end: uvicorn raises the signal again, which would kill the process."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    previous = signal.signal(signal.SIGTERM, lambda _number, _frame: None)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, previous)
