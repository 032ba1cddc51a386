"""What all routes share: problems, ETags, the threads that ask the engine, limits, receipts and counts."""

from __future__ import annotations

import asyncio
import re
import threading
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial, wraps
from inspect import signature
from typing import Any, TypeVar

from blake3 import blake3
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, Response

from brimful.documents.documents import Document
from brimful.engine import Engine
from brimful.errors import (
    OUTCOMES,
    BrimfulError,
    BudgetError,
    DocumentError,
    InputTooLongError,
    SettingError,
    choose,
    suggest,
)
from brimful.surfaces.guard import PROBLEM_TYPE, RefusedRequest, ServeSettings, problem, problem_of
from brimful.surfaces.records import Record
from brimful.surfaces.schemas import ProblemBody
from brimful.surfaces.server import Receipts

_CODE_OF = {404: "request.not_found", 405: "request.method", 400: "request.json"}
_QUOTED = re.compile(r"'([^']*)'")
_MOST_ERRORS = 20


def install_problems(app: FastAPI) -> None:
    """Answer every refusal and error of this application with a problem."""

    @app.exception_handler(BrimfulError)
    async def named(_: Request, error: BrimfulError) -> Response:
        return problem_of(error)

    @app.exception_handler(RequestValidationError)
    async def invalid(_: Request, error: RequestValidationError) -> Response:
        errors = [_field_error(item) for item in error.errors()[:_MOST_ERRORS]]
        return problem("request.invalid", f"{errors[0]['where']}: {errors[0]['problem']}", errors=errors)

    @app.exception_handler(HTTPException)
    async def other(request: Request, error: HTTPException) -> Response:
        code = _CODE_OF.get(error.status_code, "error")
        detail = f"{request.method} {request.url.path}: {error.detail}; /openapi.json lists what there is"
        return problem(code, detail, headers=error.headers)


def _field_error(error: Mapping[str, Any]) -> dict[str, str]:
    message, value = error["msg"].removeprefix("Value error, "), error.get("input")
    if error["type"] == "literal_error" and isinstance(value, str):
        choices = _QUOTED.findall(error["ctx"]["expected"])
        message = (
            f"{value[:60]!r} is not one of the choices; {suggest(value[:60], choices)}choices: {', '.join(choices)}"
        )
    return {"where": ".".join(map(str, error["loc"]))[:200], "problem": message}


def tagged_bytes(
    request: Request, content: bytes, *, media_type: str, root: str = "", headers: Mapping[str, str] | None = None
) -> Response:
    """A response under an ETag of the state root and a hash of its content, or 304 if the client has it."""
    tag = f'"{root[:32]}-{blake3(content).hexdigest(16)}"'
    headers = {"etag": tag, "cache-control": "private, no-cache", **(headers or {})}
    client_tags = [item.strip().removeprefix("W/") for item in request.headers.get("if-none-match", "").split(",")]
    if tag in client_tags or "*" in client_tags:
        return Response(status_code=304, headers=headers)
    return Response(content, headers=headers, media_type=media_type)


def tagged_json(request: Request, content: bytes | memoryview, *, root: str) -> Response:
    """JSON under an ETag, or 304 if the client has it."""
    return tagged_bytes(request, bytes(content), media_type="application/json", root=root)


def described(model: type, *statuses: int, tag: bool = False) -> dict[int | str, dict[str, Any]]:
    """The responses of a route for OpenAPI: its answer, and a problem for each status."""
    headers = {"ETag": {"description": "State root and hash of the answer", "schema": {"type": "string"}}}
    responses: dict[int | str, dict[str, Any]] = {200: {"model": model, **({"headers": headers} if tag else {})}}
    if tag:
        responses[304] = {"description": "The client has it already", "headers": headers}
    responses[400] = {"description": "Not HTTP that can be read, or a head that is too long"}
    for status in sorted({401, 403, 405, 421, 422, 500, 503, 504, *statuses}):
        titles = "; ".join(dict.fromkeys(item.title for item in OUTCOMES.values() if item.status == status))
        responses[status] = {"model": ProblemBody, "description": titles, "content": {PROBLEM_TYPE: {}}}
    return responses


Answer = TypeVar("Answer")


class _Executor:
    """Threads that ask the engine, with a bounded queue. Abandoned work is finished, and counts until then."""

    def __init__(self, *, threads: int, waiting: int, name: str) -> None:
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix=name)
        self._free = threading.Semaphore(threads + waiting)

    async def run(self, work: Callable[[], Answer]) -> Answer:
        """The answer, or a refusal at once when too many wait already."""
        if not self._free.acquire(blocking=False):
            raise RefusedRequest("request.busy", "too many requests are being answered; try again later")
        future = self._pool.submit(work)
        future.add_done_callback(lambda _: self._free.release())
        return await asyncio.wrap_future(future)

    def close(self) -> None:
        """End the threads: work in progress is finished, waiting work is dropped."""
        self._pool.shutdown(wait=False, cancel_futures=True)


METRICS_TYPE = "text/plain; version=0.0.4"
_BOUNDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)


class _Metrics:
    """Counts since the start, as Prometheus reads them (text format 0.0.4). Threads may share it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._requests: Counter[tuple[str, str, int]] = Counter()
        self._seconds: dict[str, list[int]] = defaultdict(lambda: [0] * (len(_BOUNDS) + 1))
        self._sums: defaultdict[str, float] = defaultdict(float)
        self._counts: Counter[str] = Counter()

    def request(self, route: str, method: str, status: int, seconds: float) -> None:
        """Count an answered request; `route` is a template, so that there are few."""
        with self._lock:
            self._requests[route, method, status] += 1
            self._seconds[route][bisect_left(_BOUNDS, seconds)] += 1
            self._sums[route] += seconds

    def count(self, name: str, by: int = 1) -> None:
        """Add to a named counter."""
        with self._lock:
            self._counts[name] += by

    def text(self, gauges: Mapping[str, int]) -> str:
        """All counts in a fixed order, with gauges of the moment."""
        with self._lock:
            return "\n".join(self._lines(gauges)) + "\n"

    def _lines(self, gauges: Mapping[str, int]) -> Iterator[str]:
        yield "# HELP brimful_requests_total Requests by route, method and status."
        yield "# TYPE brimful_requests_total counter"
        for (route, method, status), count in sorted(self._requests.items()):
            yield f'brimful_requests_total{{route="{route}",method="{method}",status="{status}"}} {count}'
        yield "# HELP brimful_request_seconds How long requests took."
        yield "# TYPE brimful_request_seconds histogram"
        for route, places in sorted(self._seconds.items()):
            total = 0
            for bound, count in zip((*map(str, _BOUNDS), "+Inf"), places, strict=True):
                total += count
                yield f'brimful_request_seconds_bucket{{route="{route}",le="{bound}"}} {total}'
            yield f'brimful_request_seconds_sum{{route="{route}"}} {self._sums[route]:.6f}'
            yield f'brimful_request_seconds_count{{route="{route}"}} {total}'
        for name, count in sorted({"contexts": 0, "context_tokens": 0, **self._counts}.items()):
            yield f"# TYPE brimful_{name}_total counter"
            yield f"brimful_{name}_total {count}"
        for name, value in sorted(gauges.items()):
            yield f"# TYPE brimful_{name} gauge"
            yield f"brimful_{name} {value}"


class Service:
    """The engine of a server with its threads, limits and receipts."""

    def __init__(self, engine: Engine, settings: ServeSettings) -> None:
        self.engine, self.settings = engine, settings
        self.metrics = _Metrics()
        self.workers = _Executor(threads=settings.workers, waiting=settings.waiting, name="brimful-http")
        self.runs = _Executor(threads=settings.runs, waiting=settings.waiting_runs, name="brimful-run")
        self.health = _Executor(threads=1, waiting=settings.waiting, name="brimful-health")
        self.receipts = Receipts(settings.receipts)

    def close(self) -> None:
        """End the threads."""
        for item in (self.workers, self.runs, self.health):
            item.close()

    async def answer(self, work: Callable[[], Record]) -> Response:
        """The JSON of a record that a worker thread makes."""
        return await self.workers.run(lambda: JSONResponse(work()))

    def answers(self, work: Callable[..., Record]) -> Callable[..., Awaitable[Response]]:
        """A route from a function that gives a record: it runs in a worker thread with the request's arguments."""

        @wraps(work)
        async def route(**arguments: Any) -> Response:
            return await self.answer(partial(work, **arguments))

        route.__signature__ = signature(work, eval_str=True).replace(return_annotation=Response)  # type: ignore[attr-defined]
        return route

    async def run(self, work: Callable[[threading.Event], Record]) -> Response:
        """The JSON of a record that may wait for a provider: it has other threads, and ends when the client leaves."""
        cancel = threading.Event()
        try:
            return await self.runs.run(lambda: JSONResponse(work(cancel)))
        finally:
            cancel.set()

    async def tagged(self, request: Request, work: Callable[[], Record]) -> Response:
        """The JSON of a record under an ETag, or 304 if the client has it."""

        def answered() -> Response:
            record = work()
            return tagged_json(request, JSONResponse(record).body, root=str(record.get("root", "")))

        return await self.workers.run(answered)

    async def page(
        self, request: Request, list_page: Callable[..., Record], limit: int, cursor: str | None
    ) -> Response:
        """A page of a list: `limit` names after the cursor, which is the last name of the page before."""
        self.check_results(limit, limit_of_server=self.settings.page_items)

        def paged() -> Record:
            record = dict(list_page(self.engine, after=cursor, limit=limit))
            return {**record, "next": record.pop("last")}

        return await self.tagged(request, paged)

    def check_question(self, question: str) -> None:
        """Refuse a question above the limit of characters."""
        limit = self.settings.question_characters
        if len(question) > limit:
            raise InputTooLongError(f"the question has {len(question)} characters and {limit} is the limit; shorten it")

    def check_budget(self, tokens: int) -> None:
        """Refuse a budget above the limit of tokens."""
        limit = self.settings.budget_tokens
        if tokens > limit:
            raise BudgetError(f"a budget of {tokens} tokens is above the server's limit of {limit}; ask for less")

    def check_results(self, limit: int, *, limit_of_server: int) -> None:
        """Refuse to list more than the server lists at once."""
        if limit > limit_of_server:
            raise SettingError(f"limit is {limit}; this server lists {limit_of_server} at most")

    def document(self, path: str) -> Document:
        """A stored document; an unknown path is refused with the close ones."""
        try:
            return self.engine.document(path)
        except DocumentError as error:
            raise RefusedRequest("request.not_found", str(error)) from error

    def check_model(self, model: str) -> None:
        """Refuse a model that the operator did not allow: a name may hold any address, and cost money."""
        choose(model, self.settings.densify_models, what="model for condensing on this server")
