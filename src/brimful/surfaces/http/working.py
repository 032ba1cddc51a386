"""How does the engine work beside the event loop? In a few threads, with a bounded queue."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

from brimful.surfaces.http.problems import RefusedRequest

Answer = TypeVar("Answer")


class Workers:
    """Threads that ask the engine. Work that nobody waits for any more is finished, and counts until then."""

    def __init__(self, *, threads: int, waiting: int) -> None:
        self._threads, self._most = threads, threads + waiting
        self._pool: ThreadPoolExecutor | None = None
        self._lock = threading.Lock()
        self._running = 0

    async def run(self, work: Callable[[], Answer]) -> Answer:
        """The answer, or a refusal at once when too many wait already."""
        with self._lock:
            if self._running >= self._most:
                raise RefusedRequest("request.busy", f"{self._running} requests are being answered; try again later")
            self._running += 1
            self._pool = self._pool or ThreadPoolExecutor(self._threads, thread_name_prefix="brimful-http")
            future = self._pool.submit(work)
        future.add_done_callback(self._done)
        return await asyncio.wrap_future(future)

    def close(self) -> None:
        """Let go of the threads; what has begun is finished, what has not is dropped."""
        with self._lock:
            pool, self._pool = self._pool, None
        if pool is not None:
            pool.shutdown(wait=False, cancel_futures=True)

    def _done(self, _: Future[Answer]) -> None:
        with self._lock:
            self._running -= 1
