"""What do all routes share? How answers leave, the engine, the threads that ask it, the limits, receipts and counts."""

from __future__ import annotations

import asyncio
import base64
import binascii
import json
import queue
import re
import threading
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from typing import Any, TypeVar

from blake3 import blake3
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response

from brimful.engine import Engine
from brimful.errors import (
    OUTCOMES,
    BrimfulError,
    BudgetError,
    DocumentError,
    InputTooLongError,
    ProviderError,
    SettingError,
    choose,
    outcome_of,
    suggest,
)
from brimful.limits import PATIENCE_SECONDS
from brimful.surfaces.http import ServeSettings
from brimful.surfaces.records import Record
from brimful.surfaces.schemas import ProblemBody
from brimful.surfaces.serving import Receipts

# ---- problems: How is an error written down for a program? As problem+json (RFC 9457), by the one table of outcomes.

MEDIA_TYPE = "application/problem+json"
_CODE_OF = {404: "request.not_found", 405: "request.method", 400: "request.json"}
_RETRY_SECONDS = 1
_QUOTED = re.compile(r"'([^']*)'")
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


def install_problems(app: FastAPI) -> None:
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
        return f"{given[:60]!r} is not one of the choices; {suggest(given[:60], choices)}choices: {', '.join(choices)}"
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

    >>> _after_cursor(_cursor_after("a.md", of="documents"), of="documents")
    'a.md'
    """
    raw = name.encode()
    return base64.urlsafe_b64encode(_check(raw, of) + raw).decode().rstrip("=")


def _after_cursor(cursor: str, *, of: str) -> str:
    """The name that a cursor comes after; one that was made elsewhere, or for another list, is refused."""
    try:
        found = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True)
        check, raw = found[:_CHECK_BYTES], found[_CHECK_BYTES:]
        if check == _check(raw, of):
            return raw.decode()
    except (binascii.Error, ValueError):
        pass
    raise RefusedRequest("request.invalid", f"cursor {cursor[:60]!r} is not one of this list; begin without one")


def _paged(record: Mapping[str, object], *, of: str) -> dict[str, object]:
    """A page of a list with the cursor of the one after it, in place of the last name."""
    last = record["last"]
    rest = {name: value for name, value in record.items() if name != "last"}
    return {**rest, "next": None if last is None else _cursor_after(str(last), of=of)}


def _check(raw: bytes, of: str) -> bytes:
    return blake3(raw, derive_key_context=f"brimful 2026 cursor of {of}").digest(_CHECK_BYTES)


# ---- executor: How does the engine work beside the event loop? In a few threads for each kind of work, with a bounded
# queue.

Answer = TypeVar("Answer")
_Task = tuple[Future[Any], Callable[[], Any]]


class _Executor:
    """Threads that ask the engine. Work that nobody waits for any more is finished, and counts until then.

    The threads are daemons: a process that was told to stop does not wait for them.
    """

    def __init__(self, *, threads: int, waiting: int, name: str) -> None:
        self._threads, self._most, self._name = threads, threads + waiting, name
        self._lock = threading.Lock()
        self._tasks: queue.SimpleQueue[_Task | None] = queue.SimpleQueue()
        self._started = self._running = 0

    async def run(self, work: Callable[[], Answer]) -> Answer:
        """The answer, or a refusal at once when too many wait already."""
        future: Future[Answer] = Future()
        with self._lock:
            if self._running >= self._most:
                raise RefusedRequest("request.busy", f"{self._running} requests are being answered; try again later")
            self._running += 1
            if self._started < min(self._running, self._threads):
                self._started += 1
                threading.Thread(target=self._work, args=(self._tasks,), name=self._name, daemon=True).start()
        future.add_done_callback(self._done)
        self._tasks.put((future, work))
        return await asyncio.wrap_future(future)

    def close(self) -> None:
        """Let go of the threads; what has begun is finished, what has not is dropped."""
        with self._lock:
            tasks, self._tasks = self._tasks, queue.SimpleQueue()
            started, self._started = self._started, 0
        while True:
            try:
                task = tasks.get_nowait()
            except queue.Empty:
                break
            if task is not None:
                task[0].cancel()
        for _ in range(started):
            tasks.put(None)

    def _work(self, tasks: queue.SimpleQueue[_Task | None]) -> None:
        while (task := tasks.get()) is not None:
            _do(*task)
            del task  # an answer is not kept until the next question

    def _done(self, _: Future[Answer]) -> None:
        with self._lock:
            self._running -= 1


def _do(future: Future[Any], work: Callable[[], Any]) -> None:
    if future.set_running_or_notify_cancel():
        try:
            future.set_result(work())
        except BaseException as error:  # noqa: BLE001  (it belongs to whoever waits for the answer)
            future.set_exception(error)


# ---- metrics: How busy is the server? Counters and histograms as Prometheus reads them (text format 0.0.4).

METRICS_TYPE = "text/plain; version=0.0.4"
_BOUNDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)


class Metrics:
    """What was counted since the start; safe to share between threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._requests: Counter[tuple[str, str, int]] = Counter()
        self._seconds: dict[str, list[int]] = defaultdict(lambda: [0] * (len(_BOUNDS) + 1))
        self._sums: Counter[str] = Counter()
        self._counts: Counter[str] = Counter()

    def request(self, route: str, method: str, status: int, seconds: float) -> None:
        """Count a request that was answered; `route` is a template, so that there are few."""
        with self._lock:
            self._requests[route, method, status] += 1
            place = next((at for at, bound in enumerate(_BOUNDS) if seconds <= bound), len(_BOUNDS))
            self._seconds[route][place] += 1
            self._sums[route] += seconds  # type: ignore[assignment]  # a Counter adds floats as well

    def count(self, name: str, by: int = 1) -> None:
        """Add to a counter of its own."""
        with self._lock:
            self._counts[name] += by

    def text(self, gauges: Mapping[str, int]) -> str:
        """Everything, in a fixed order."""
        with self._lock:
            return "\n".join([*self._lines(), *_gauges(gauges)]) + "\n"

    def _lines(self) -> Iterator[str]:
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


def _gauges(gauges: Mapping[str, int]) -> Iterator[str]:
    for name, value in sorted(gauges.items()):
        yield f"# TYPE brimful_{name} gauge"
        yield f"brimful_{name} {value}"


# ---- service: What do all routes share? The engine, the threads that ask it, the limits, and the receipts given out.


class Service:
    """An engine that is served."""

    def __init__(self, engine: Engine, settings: ServeSettings) -> None:
        self.engine, self.settings = engine, settings
        self.metrics = Metrics()
        self.workers = _Executor(threads=settings.workers, waiting=settings.waiting, name="brimful-http")
        self.runs = _Executor(threads=settings.runs, waiting=settings.waiting_runs, name="brimful-run")
        self.health = _Executor(threads=1, waiting=settings.waiting, name="brimful-health")
        self.receipts = Receipts(settings.receipts)

    def close(self) -> None:
        """Let go of the threads."""
        for each in (self.workers, self.runs, self.health):
            each.close()

    async def answer(self, work: Callable[[], Record]) -> Response:
        """What the engine answers, worked out and written down beside the event loop."""
        return Response(await self.workers.run(lambda: written(work())), media_type="application/json")

    async def run(self, work: Callable[[threading.Event], Record]) -> Response:
        """The same for what may wait for a provider: in threads of its own, and ended when nobody waits for it."""
        cancel = threading.Event()
        try:
            content = await self.runs.run(lambda: written(work(cancel)))
        finally:
            cancel.set()
        return Response(content, media_type="application/json")

    async def tagged(self, request: Request, work: Callable[[], Record]) -> Response:
        """The same for what may be asked for again: under an ETag, or 304."""

        def found() -> tuple[bytes, str]:
            record = work()
            return written(record), str(record.get("root", ""))

        content, root = await self.workers.run(found)
        return tagged_bytes(request, content, media_type="application/json", root=root)

    async def page(
        self, request: Request, made: Callable[..., Record], limit: int, cursor: str | None, *, of: str, **more: Any
    ) -> Response:
        """A page of a list: so many after the cursor, with the cursor of the page after it; `more` is for `made`."""
        self.check_results(limit, most=self.settings.page_items)
        after = None if cursor is None else _after_cursor(cursor, of=of)
        return await self.tagged(request, lambda: _paged(made(self.engine, after=after, limit=limit, **more), of=of))

    def check_question(self, question: str) -> None:
        """Refuse a question that is longer than this server reads."""
        most = self.settings.question_characters
        if len(question) > most:
            raise InputTooLongError(f"the question has {len(question)} characters and {most} is the limit; shorten it")

    def check_budget(self, tokens: int) -> None:
        """Refuse a budget that is larger than this server fills."""
        most = self.settings.budget_tokens
        if tokens > most:
            raise BudgetError(f"a budget of {tokens} tokens is above the server's limit of {most}; ask for less")

    def check_results(self, limit: int, *, most: int) -> None:
        """Refuse to list more than is listed at once."""
        if limit > most:
            raise SettingError(f"limit is {limit}; this server lists {most} at most")

    def check_stored(self, path: str) -> None:
        """Refuse a path that the store does not have, with the close ones that it has."""
        if self.engine.length(path) is None:
            try:
                self.engine.document(path)
            except DocumentError as error:
                raise RefusedRequest("request.not_found", str(error)) from error

    def check_model(self, model: str) -> None:
        """Refuse a model that this server was not told to use: a name may hold any address, and cost money."""
        choose(model, self.settings.densify_models, what="model for condensing on this server")
