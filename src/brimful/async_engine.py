"""How is a corpus asked from an event loop, without stopping it?

Every call runs in one of a few threads of its own while the loop goes on. A call that is cancelled before its turn
never runs; one that has begun is let go: what it reads is dropped, what it writes is written whole.
"""

from __future__ import annotations

import asyncio
import contextvars
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar

from brimful.assembly.context import Context
from brimful.assembly.explain import Explanation
from brimful.budget import Budget
from brimful.corpus.documents import Document
from brimful.corpus.skips import Reason, Skipped, SourceSettings
from brimful.corpus.sources import Found as FoundFile
from brimful.engine import Engine
from brimful.errors import StoreError
from brimful.index.embedders import Embedder
from brimful.ingest.folders import Report
from brimful.receipts.checking import Findings
from brimful.receipts.receipt import Receipt
from brimful.search.search import Found
from brimful.settings import DEFAULT_MODEL, AskSettings, FieldSettings, Meaning
from brimful.store.opening import Named
from brimful.store.protocol import Listed
from brimful.windows.window import Window

if TYPE_CHECKING:
    from brimful.assembly.citing import Checked
    from brimful.assembly.outline_map import CorpusMap
    from brimful.densify.captures import Capture
    from brimful.densify.digest import Digest
    from brimful.densify.model import Model
    from brimful.densify.plan import DensifySettings
    from brimful.densify.run import Progress
    from brimful.store.sharding import ShardState

THREADS = 4
"""The store answers one at a time; the others are for calls that wait for a model."""

Result = TypeVar("Result")


def open_async(
    path: Named, *, vectors: bool = True, embedder: Embedder | None = None, ray: str | None = None
) -> AsyncEngine:
    """As `open`, for an event loop; the store is opened by the first call, or by `async with`.

    >>> import tempfile
    >>> async def ask():
    ...     async with open_async(tempfile.mkdtemp()) as engine:
    ...         await engine.add_text("tea.md", "Tea is served at four.")
    ...         return (await engine.context("When is tea?", budget=50)).text
    >>> asyncio.run(ask())
    '[DOC: tea.md]\\nTea is served at four.\\n'
    """
    return AsyncEngine(partial(Engine, path, vectors=vectors, embedder=embedder, ray=ray))


class AsyncEngine:
    """The methods of `Engine` as coroutines, each with the same arguments and the same result.

    Wrap an engine that is open already (`AsyncEngine(engine)`), or let `open_async` open one. Callbacks (`progress`)
    are called in the call's thread.
    """

    def __init__(self, engine: Engine | Callable[[], Engine]) -> None:
        self._source = engine
        self._engine = engine if isinstance(engine, Engine) else None
        self._opening = threading.Lock()
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="brimful")
        self._is_closed = False

    async def __aenter__(self) -> Self:
        await self.call(lambda _engine: None)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
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

    async def add(
        self,
        place: str | os.PathLike[str],
        *,
        settings: SourceSettings | None = None,
        progress: Callable[[FoundFile], None] | None = None,
    ) -> Report:
        """Bring a file, folder or glob into the store, or up to date."""
        return await self.call(lambda engine: engine.add(place, settings=settings, progress=progress))

    async def preview(self, place: str | os.PathLike[str], *, settings: SourceSettings | None = None) -> Report:
        """What `add` would do."""
        return await self.call(lambda engine: engine.preview(place, settings=settings))

    async def left_out(self, place: str | os.PathLike[str], *, settings: SourceSettings | None = None) -> list[Skipped]:
        """Everything below a place that the store does not have, with the reason; it is read for that, not stored."""
        return await self.call(lambda engine: engine.left_out(place, settings=settings))

    async def add_text(
        self, path: str, text: str | bytes, *, time: int | None = None, allow: Iterable[Reason] = ()
    ) -> None:
        """Store a text of your own under this path, in place of what was there."""
        await self.call(lambda engine: engine.add_text(path, text, time=time, allow=allow))

    async def add_documents(self, documents: Iterable[Document], *, allow: Iterable[Reason] = ()) -> int:
        """Store many documents in few commits; returns how many. They are read in the call's thread."""
        return await self.call(lambda engine: engine.add_documents(documents, allow=allow))

    async def remove(self, *paths: str) -> int:
        """Forget documents; returns how many there were."""
        return await self.call(lambda engine: engine.remove(*paths))

    async def purge(self) -> None:
        """Leave no byte of what was removed or replaced."""
        await self.call(lambda engine: engine.purge())

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

    async def shards(self) -> tuple[ShardState, ...]:
        """What each shard holds, or why it can't be reached."""
        return await self.call(lambda engine: engine.shards)

    async def length(self, path: str) -> int | None:
        """How many bytes a document has; None where it is not there."""
        return await self.call(lambda engine: engine.length(path))

    async def document(self, path: str) -> Document:
        """A stored document as it is now, whole."""
        return await self.call(lambda engine: engine.document(path))

    async def documents(self, path: str | Sequence[str] = (), *, lines: bool = False) -> tuple[Listed, ...]:
        """The stored documents by path, or those whose path fits."""
        return await self.call(lambda engine: engine.documents(path, lines=lines))

    async def lines(self, path: str, start: int, end: int) -> tuple[int, int]:
        """The first and last line that a range of a document touches."""
        return await self.call(lambda engine: engine.lines(path, start, end))

    async def text(self, path: str, start: int, end: int) -> str:
        """A range of a document as it is stored."""
        return await self.call(lambda engine: engine.text(path, start, end))

    async def origins(self, path: str, start: int, end: int) -> tuple[str, ...]:
        """Where bytes of a converted document stand in its file."""
        return await self.call(lambda engine: engine.origins(path, start, end))

    # ---- questions

    async def search(
        self,
        question: str,
        *,
        limit: int = 10,
        field: FieldSettings | None = None,
        operators: bool = True,
        repair: bool = True,
        meaning: Meaning = "auto",
        **filters: Any,
    ) -> Found:
        """The units that matter most for a question, and how it was understood."""
        return await self.call(
            lambda engine: engine.search(
                question, limit=limit, field=field, operators=operators, repair=repair, meaning=meaning, **filters
            )
        )

    async def map(
        self,
        *,
        budget: Budget | int = 4_000,
        question: str | None = None,
        model: str = DEFAULT_MODEL,
        path: str | Sequence[str] = (),
    ) -> CorpusMap:
        """What the corpus holds, within a budget: files with their headings and definitions."""
        return await self.call(lambda engine: engine.map(budget=budget, question=question, model=model, path=path))

    async def warm(self, *, progress: Callable[[int, int], None] | None = None) -> int:
        """Let the model read every passage of the corpus now."""
        return await self.call(lambda engine: engine.warm(progress=progress))

    async def context(
        self,
        question: str,
        *,
        budget: Budget | int = 4_000,
        settings: AskSettings | None = None,
        field: FieldSettings | None = None,
        densify: Model | str | None = None,
        cancel: threading.Event | None = None,
        **choices: Any,
    ) -> Context:
        """Fill a budget with what the corpus says about a question; cancelled as `capture` is."""
        asked = {"budget": budget, "settings": settings, "field": field, "densify": densify, **choices}
        with _set_when_cancelled(cancel) as stop:
            return await self.call(lambda engine: engine.context(question, cancel=stop, **asked))

    async def explain(
        self,
        question: str | Receipt,
        *,
        budget: Budget | int = 4_000,
        densify: Model | str | None = None,
        cancel: threading.Event | None = None,
        **choices: Any,
    ) -> Explanation:
        """How a question was understood, why each window is in, and at which budget the next ones enter."""
        with _set_when_cancelled(cancel) as stop:
            return await self.call(
                lambda engine: engine.explain(question, budget=budget, densify=densify, cancel=stop, **choices)
            )

    async def cite(self, place: str) -> Window:
        """The bytes that a citation names: a path with lines."""
        return await self.call(lambda engine: engine.cite(place))

    async def check_answer(self, answer: str, receipt: Receipt | str | bytes) -> Checked:
        """Which quotations of an answer stand in the context that a receipt is for, and which citations it shows."""
        return await self.call(lambda engine: engine.check_answer(answer, receipt))

    async def verify(
        self,
        receipt: Receipt | str | bytes,
        *,
        text: str | None = None,
        files: str | os.PathLike[str] | None = None,
        replay: bool = False,
        densify: Model | str | None = None,
    ) -> Findings:
        """Write a receipt's text again and compare all that it says; `replay` also asks its question again."""
        return await self.call(
            lambda engine: engine.verify(receipt, text=text, files=files, replay=replay, densify=densify)
        )

    async def replay(self, receipt: Receipt | str | bytes, *, densify: Model | str | None = None) -> Context:
        """Ask a receipt's question again with its settings."""
        return await self.call(lambda engine: engine.replay(receipt, densify=densify))

    async def verify_determinism(self, question: str, *, budget: Budget | int = 4_000, **choices: Any) -> bool:
        """Assemble twice, without the cache, and compare window ids and bytes."""
        return await self.call(lambda engine: engine.verify_determinism(question, budget=budget, **choices))

    # ---- condensing

    async def densify(
        self,
        text: str | Document,
        *,
        model: Model | str = "extractive:",
        settings: DensifySettings | None = None,
        progress: Callable[[Progress], None] | None = None,
        cancel: threading.Event | None = None,
    ) -> Digest:
        """Condense a text; once this is cancelled, no further model call is made."""
        with _set_when_cancelled(cancel) as stop:
            chosen: dict[str, Any] = {"model": model, "settings": settings, "progress": progress, "cancel": stop}
            return await self.call(lambda engine: engine.densify(text, **chosen))

    async def capture(
        self,
        text: str | Document,
        *,
        name: str | None = None,
        model: Model | str = "extractive:",
        settings: DensifySettings | None = None,
        progress: Callable[[Progress], None] | None = None,
        cancel: threading.Event | None = None,
        allow: Iterable[Reason] = (),
    ) -> Capture:
        """Write a text down, condense it, store the digest; once this is cancelled, no further model call is made."""
        with _set_when_cancelled(cancel) as stop:
            chosen: dict[str, Any] = {"model": model, "settings": settings, "progress": progress, "cancel": stop}
            return await self.call(lambda engine: engine.capture(text, name=name, allow=allow, **chosen))

    async def one_capture(self, name: str) -> Capture:
        """A capture by its name."""
        return await self.call(lambda engine: engine.one_capture(name))

    async def captures(self) -> list[Capture]:
        """All captures by name, with their status."""
        return await self.call(lambda engine: engine.captures())

    async def retry_capture(
        self,
        name: str,
        *,
        model: Model | str | None = None,
        settings: DensifySettings | None = None,
        cancel: threading.Event | None = None,
        allow: Iterable[Reason] = (),
    ) -> Capture:
        """Try a failed or pending capture again, which pays only for what is missing; cancelled as `capture` is."""
        with _set_when_cancelled(cancel) as stop:
            return await self.call(
                lambda engine: engine.retry_capture(name, model=model, settings=settings, cancel=stop, allow=allow)
            )

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
def _set_when_cancelled(event: threading.Event | None) -> Iterator[threading.Event]:
    event = event or threading.Event()
    try:
        yield event
    except asyncio.CancelledError:
        event.set()
        raise
