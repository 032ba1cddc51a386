"""How does the engine work beside the event loop? In a few threads for each kind of work, with a bounded queue."""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, TypeVar

from brimful.surfaces.http.problems import RefusedRequest

Answer = TypeVar("Answer")
_Task = tuple[Future[Any], Callable[[], Any]]


class Workers:
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
