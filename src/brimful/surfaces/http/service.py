"""What do all routes share? The engine, the threads that ask it, the limits, receipts and counts."""

from __future__ import annotations

import asyncio
import queue
import threading
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from typing import Any, TypeVar

from fastapi import Request
from starlette.responses import Response

from brimful.engine import Engine
from brimful.errors import BudgetError, DocumentError, InputTooLongError, SettingError, choose
from brimful.surfaces.http import ServeSettings
from brimful.surfaces.http.answers import RefusedRequest, after_cursor, paged, tagged_bytes, written
from brimful.surfaces.records import Record
from brimful.surfaces.serving import Receipts

# ---- working: How does the engine work beside the event loop? In a few threads for each kind of work, with a bounded
# queue.

Answer = TypeVar("Answer")
_Task = tuple[Future[Any], Callable[[], Any]]


class Executor:
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
        self.workers = Executor(threads=settings.workers, waiting=settings.waiting, name="brimful-http")
        self.runs = Executor(threads=settings.runs, waiting=settings.waiting_runs, name="brimful-run")
        self.health = Executor(threads=1, waiting=settings.waiting, name="brimful-health")
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
        after = None if cursor is None else after_cursor(cursor, of=of)
        return await self.tagged(request, lambda: paged(made(self.engine, after=after, limit=limit, **more), of=of))

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
