"""`Engine` for an event loop: every call runs in a thread while the loop goes on.

A call that is cancelled before its turn never runs. Once begun it runs to its end: what it reads is dropped, what it
writes is written whole.
"""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from functools import partial, wraps
from inspect import signature
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Self, TypeVar

from brimful.engine import Engine
from brimful.errors import StoreError
from brimful.neural.embedders import Embedder
from brimful.store.opening import Named

if TYPE_CHECKING:
    from brimful.neural.embedders import Reranker

_THREADS = 4
"""Calls at a time, at work or waiting for a model."""

P = ParamSpec("P")
Result = TypeVar("Result")


def open_async(path: Named, *, embedder: Embedder | str = "auto", reranker: Reranker | str = "auto") -> AsyncEngine:
    """`open` for an event loop; the store is opened by the first call, or by `async with`.

    >>> import tempfile
    >>> async def ask():
    ...     async with open_async(tempfile.mkdtemp()) as engine:
    ...         await engine.add_text("tea.md", "Tea is served at four.")
    ...         return (await engine.context("When is tea?", budget=50)).text
    >>> asyncio.run(ask())
    '[DOC: tea.md]\\nTea is served at four.\\n'
    """
    return AsyncEngine(partial(Engine, path, embedder=embedder, reranker=reranker))


def _awaited(
    method: Callable[Concatenate[Engine, P], Result],
) -> Callable[Concatenate[AsyncEngine, P], Coroutine[Any, Any, Result]]:
    """A method of `Engine` as a coroutine; its `cancel`, if it takes one, is set when the coroutine is cancelled."""
    takes_cancel = "cancel" in signature(method).parameters

    @wraps(method)
    async def call(self: AsyncEngine, /, *args: P.args, **kwargs: P.kwargs) -> Result:
        cancel = kwargs.get("cancel") or threading.Event()
        if takes_cancel:
            kwargs["cancel"] = cancel
        try:
            return await self.call(lambda engine: method(engine, *args, **kwargs))
        except asyncio.CancelledError:
            assert isinstance(cancel, threading.Event)
            cancel.set()
            raise

    return call


class AsyncEngine:
    """The methods of `Engine` as coroutines, with equal arguments and results.

    It wraps an open engine (`AsyncEngine(engine)`), or one that `open_async` opens. Callbacks (`progress`) run in the
    call's thread.
    """

    def __init__(self, engine: Engine | Callable[[], Engine]) -> None:
        self._source = engine
        self._engine = engine if isinstance(engine, Engine) else None
        self._opening = threading.Lock()
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="brimful")
        self._is_closed = False

    async def __aenter__(self) -> Self:
        await self.call(lambda _engine: None)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    @property
    def engine(self) -> Engine:
        """The engine itself, for code that may block; opened if it is not yet."""
        with self._opening:
            if self._engine is None:
                assert not isinstance(self._source, Engine)
                self._engine = self._source()
            return self._engine

    async def close(self) -> None:
        """Close the store once running calls have their answer; asking later is an error."""
        if self._is_closed:
            return
        self._is_closed = True
        try:
            if self._engine is not None:
                await self._run(self._engine.close)
        finally:
            self._threads.shutdown(wait=False)

    add = _awaited(Engine.add)
    preview = _awaited(Engine.preview)
    left_out = _awaited(Engine.left_out)
    add_text = _awaited(Engine.add_text)
    add_documents = _awaited(Engine.add_documents)
    remove = _awaited(Engine.remove)
    purge = _awaited(Engine.purge)

    async def root(self) -> str:
        """The state root: one hash over path, time and content of all documents."""
        return await self.call(lambda engine: engine.root)

    async def size_bytes(self) -> int:
        """Bytes that the store takes on disk."""
        return await self.call(lambda engine: engine.size_bytes)

    async def reader(self) -> str | None:
        """The embedder and its runtime; None where questions go by words alone."""
        return await self.call(lambda engine: engine.reader)

    async def roots(self) -> tuple[str, ...]:
        """The files, folders and globs that were added."""
        return await self.call(lambda engine: engine.roots)

    async def folders(self) -> dict[str, str]:
        """Each added place with the label of its documents; an empty label for a single file."""
        return await self.call(lambda engine: engine.folders)

    length = _awaited(Engine.length)
    document = _awaited(Engine.document)
    documents = _awaited(Engine.documents)
    lines = _awaited(Engine.lines)
    text = _awaited(Engine.text)
    origins = _awaited(Engine.origins)
    cite = _awaited(Engine.cite)
    check_answer = _awaited(Engine.check_answer)

    warm = _awaited(Engine.warm)
    search = _awaited(Engine.search)
    map = _awaited(Engine.map)
    context = _awaited(Engine.context)
    prices = _awaited(Engine.prices)
    explain = _awaited(Engine.explain)
    verify = _awaited(Engine.verify)
    replay = _awaited(Engine.replay)
    verify_determinism = _awaited(Engine.verify_determinism)

    densify = _awaited(Engine.densify)
    capture = _awaited(Engine.capture)
    one_capture = _awaited(Engine.one_capture)
    captures = _awaited(Engine.captures)
    retry_capture = _awaited(Engine.retry_capture)

    async def call(self, call: Callable[[Engine], Result]) -> Result:
        """Run any function of the engine in a thread: `await engine.call(lambda engine: …)`."""
        if self._is_closed:
            raise StoreError("this engine was closed; open it again to ask or add")
        return await self._run(lambda: call(self.engine))

    async def _run(self, call: Callable[[], Result]) -> Result:
        """Run in a thread, with the caller's context variables (tracing, logging)."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, contextvars.copy_context().run, call)
