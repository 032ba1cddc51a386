"""What do all routes share? The engine, the threads that ask it, the limits, and the receipts given out."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable

from fastapi import Request
from starlette.responses import Response

from brimful.engine import Engine
from brimful.errors import BudgetError, DocumentError, InputTooLongError, SettingError, choose
from brimful.limits import RECEIPTS_BYTES
from brimful.surfaces.http.answers import tagged_bytes, written
from brimful.surfaces.http.metrics import Metrics
from brimful.surfaces.http.problems import RefusedRequest
from brimful.surfaces.http.settings import ServeSettings
from brimful.surfaces.http.working import Workers
from brimful.surfaces.records import Record


class Receipts:
    """The receipts of the contexts that were made last, by id."""

    def __init__(self, most: int) -> None:
        self._most, self._held = most, 0
        self._lock = threading.Lock()
        self._kept: OrderedDict[str, bytes] = OrderedDict()

    def keep(self, id: str, content: bytes) -> None:  # noqa: A002
        """Keep one, and let go of the oldest that are too many."""
        with self._lock:
            self._held += len(content) - len(self._kept.pop(id, b""))
            self._kept[id] = content
            while len(self._kept) > self._most or (self._held > RECEIPTS_BYTES and len(self._kept) > 1):
                self._held -= len(self._kept.popitem(last=False)[1])

    def get(self, id: str) -> bytes | None:  # noqa: A002
        """One of them."""
        with self._lock:
            return self._kept.get(id)


class House:
    """An engine that is served."""

    def __init__(self, engine: Engine, settings: ServeSettings) -> None:
        self.engine, self.settings = engine, settings
        self.metrics = Metrics()
        self.workers = Workers(threads=settings.workers, waiting=settings.waiting, name="brimful-http")
        self.runs = Workers(threads=settings.runs, waiting=settings.waiting_runs, name="brimful-run")
        self.health = Workers(threads=1, waiting=settings.waiting, name="brimful-health")
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
