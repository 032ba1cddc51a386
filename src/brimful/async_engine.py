"""How is a corpus asked from an event loop, without stopping it?

Every call runs in one of a few threads of its own while the loop goes on. A call that is cancelled before its turn
never runs; one that has begun is let go: what it reads is dropped, what it writes is written whole.
"""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial, wraps
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Self, TypeVar

from brimful.engine import Engine
from brimful.errors import StoreError
from brimful.neural.embedders import Embedder
from brimful.store.opening import Named

if TYPE_CHECKING:
    from brimful.neural.named import Reranker

_THREADS = 4
"""Calls that work or wait for a model at a time."""

P = ParamSpec("P")
Result = TypeVar("Result")


def open_async(path: Named, *, embedder: Embedder | str = "auto", reranker: Reranker | str = "auto") -> AsyncEngine:
    """As `open`, for an event loop; the store is opened by the first call, or by `async with`.

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
    """A method of `Engine` as a coroutine."""

    @wraps(method)
    async def call(self: AsyncEngine, /, *given: P.args, **named: P.kwargs) -> Result:
        return await self.call(lambda engine: _bound(engine, method)(*given, **named))

    return call


def _cancelled(
    method: Callable[Concatenate[Engine, P], Result],
) -> Callable[Concatenate[AsyncEngine, P], Coroutine[Any, Any, Result]]:
    """The same for one that may wait for a model: its `cancel` is set when the coroutine is cancelled."""

    @wraps(method)
    async def call(self: AsyncEngine, /, *given: P.args, **named: P.kwargs) -> Result:
        with _set_when_cancelled(named.get("cancel")) as stop:
            return await self.call(lambda engine: _bound(engine, method)(*given, **{**named, "cancel": stop}))

    return call


def _bound(engine: Engine, method: Callable[..., Result]) -> Callable[..., Result]:
    """The method of this engine, whichever it has under the name."""
    found: Callable[..., Result] = getattr(engine, method.__name__)
    return found


class AsyncEngine:
    """The methods of `Engine` as coroutines, each with the same arguments and the same result.

    Wrap an engine that is open already (`AsyncEngine(engine)`), or let `open_async` open one. Callbacks (`progress`)
    are called in the call's thread.
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
        """The engine itself, for code that may wait; it is opened where that has not happened yet."""
        with self._opening:
            if self._engine is None:
                assert not isinstance(self._source, Engine)
                self._engine = self._source()
            return self._engine

    async def close(self) -> None:
        """Let go of the store, once whoever is asking has the answer; asking later is an error."""
        if self._is_closed:
            return
        self._is_closed = True
        try:
            if self._engine is not None:
                await self._run(self._engine.close)
        finally:
            self._threads.shutdown(wait=False)

    # ---- the corpus

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
        """How much room the store takes."""
        return await self.call(lambda engine: engine.size_bytes)

    async def reader(self) -> str | None:
        """The model that reads the best places of a question, and what computes it; None where none does."""
        return await self.call(lambda engine: engine.reader)

    async def roots(self) -> tuple[str, ...]:
        """The files, folders and globs that were added."""
        return await self.call(lambda engine: engine.roots)

    async def folders(self) -> dict[str, str]:
        """What was added, and the folder that the documents of each place are named in."""
        return await self.call(lambda engine: engine.folders)

    length = _awaited(Engine.length)
    document = _awaited(Engine.document)
    documents = _awaited(Engine.documents)
    lines = _awaited(Engine.lines)
    text = _awaited(Engine.text)
    origins = _awaited(Engine.origins)
    cite = _awaited(Engine.cite)
    check_answer = _awaited(Engine.check_answer)

    # ---- questions

    warm = _awaited(Engine.warm)
    search = _awaited(Engine.search)
    map = _awaited(Engine.map)
    context = _cancelled(Engine.context)
    prices = _awaited(Engine.prices)
    explain = _cancelled(Engine.explain)
    verify = _awaited(Engine.verify)
    replay = _awaited(Engine.replay)
    verify_determinism = _awaited(Engine.verify_determinism)

    # ---- condensing: once one of these is cancelled, no further model call is made

    densify = _cancelled(Engine.densify)
    capture = _cancelled(Engine.capture)
    one_capture = _awaited(Engine.one_capture)
    captures = _awaited(Engine.captures)
    retry_capture = _cancelled(Engine.retry_capture)

    # ---- how

    async def call(self, call: Callable[[Engine], Result]) -> Result:
        """Whatever an engine can be asked, in a thread of its own: `await engine.call(lambda engine: …)`."""
        if self._is_closed:
            raise StoreError("this engine was closed; open it again to ask or add")
        return await self._run(lambda: call(self.engine))

    async def _run(self, call: Callable[[], Result]) -> Result:
        """In a thread, with the caller's context variables (tracing, logging)."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, contextvars.copy_context().run, call)


@contextmanager
def _set_when_cancelled(event: Any) -> Iterator[threading.Event]:
    event = event or threading.Event()
    try:
        yield event
    except asyncio.CancelledError:
        event.set()
        raise
