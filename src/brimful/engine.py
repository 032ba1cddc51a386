"""Open a store, fill it, and ask the newest state of its corpus.

add, remove, purge ──> store ──> newest snapshot ──> `Corpus` ──> search, context, explain, verify
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Self, TypeVar

from brimful.assembly.context import Context, verify_determinism
from brimful.assembly.explain import PRICED, Explanation
from brimful.budget import Budget
from brimful.corpus import KEPT_CONTEXT_BYTES, KEPT_CONTEXTS, ContextCache, Corpus, Models, ask_for, fill_beside_map
from brimful.documents.documents import Document
from brimful.documents.secrets import check_secret
from brimful.documents.skips import Reason, Skipped, SourceSettings
from brimful.errors import InputError, SettingError
from brimful.neural.embedders import Embedder
from brimful.receipts.receipt import Receipt
from brimful.search.columns import CorpusColumns
from brimful.settings import DEFAULT_BUDGET, Ask, AskSettings, FieldSettings
from brimful.snapshots import SnapshotPool
from brimful.store.documents import WholeDocuments
from brimful.store.opening import Named, digests_of, opened, place_of
from brimful.store.store import place_below

if TYPE_CHECKING:
    from brimful.densify.calls import Model
    from brimful.densify.captures import Capture, Captures
    from brimful.densify.digest import Digest
    from brimful.densify.memory import Memory
    from brimful.densify.run import Progress
    from brimful.documents.sources import Found as FoundFile
    from brimful.ingest import Report
    from brimful.neural.embedders import Reranker
    from brimful.receipts.checking import Findings
    from brimful.settings import DensifySettings
    from brimful.store.snapshot import StoredSnapshot


def open(  # noqa: A001
    path: Named,
    *,
    embedder: Embedder | str = "auto",
    reranker: Reranker | str = "auto",
) -> Engine:
    """Open the store at this path, or make one; a folder holds it as `brimful.db`.

    `postgresql://USER@HOST/DATABASE?corpus=NAME` is a corpus on a server (docs/postgres.md), with equal bytes.

    `embedder` is the model that reads the best places of each question, or its name (`granite`, a folder,
    `openai:MODEL@URL`, …; `none` for nobody); "auto" takes what BRIMFUL_EMBEDDER names, or granite where it is
    installed. `reranker` puts the best passages of a question in order, after the model; nobody does unless one is
    named, here or as BRIMFUL_RERANKER (docs/vectors.md).

    >>> import tempfile
    >>> with open(tempfile.mkdtemp()) as engine:
    ...     engine.add_text("tea.md", "Tea is served at four. Coffee comes at ten.")
    ...     engine.context("When is tea?", budget=50).text
    '[DOC: tea.md]\\nTea is served at four. Coffee comes at ten.\\n'
    """
    return Engine(path, embedder=embedder, reranker=reranker)


P = ParamSpec("P")
R = TypeVar("R")


def _of_corpus(method: Callable[Concatenate[Corpus, P], R]) -> Callable[Concatenate[Engine, P], R]:
    """A method of `Corpus`, called on the newest one."""

    @wraps(method)
    def call(self: Engine, /, *args: P.args, **kwargs: P.kwargs) -> R:
        with self.corpus() as corpus:
            return method(corpus, *args, **kwargs)

    return call


class Engine:
    """A store whose corpus can be changed and asked. Threads may share it: questions don't wait for an `add`."""

    def __init__(self, path: Named, *, embedder: Embedder | str = "auto", reranker: Reranker | str = "auto") -> None:
        self.path = place_of(path)
        self._store = opened(self.path)
        self._writer = threading.RLock()  # one thread changes the corpus at a time
        self._models = Models(self._store, place=self.path, embedder=embedder, reranker=reranker)
        self._documents = WholeDocuments()
        self._contexts = ContextCache(KEPT_CONTEXT_BYTES, max_entries=KEPT_CONTEXTS)
        self._pool = SnapshotPool(place=self.path, store=self._store, open_corpus=self._corpus_of)
        self._memory: Memory | None = None
        self._memory_lock = threading.Lock()

    def _corpus_of(self, snapshot: StoredSnapshot) -> Corpus:
        return Corpus(snapshot, models=self._models, documents=self._documents, contexts=self._contexts)

    def corpus(self) -> AbstractContextManager[Corpus]:
        """The newest corpus, unchanged for the calling thread until the `with` block ends."""
        return self._pool.corpus()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the store once running questions have their answer; asking later is an error."""
        self._pool.close(self._close)

    def _close(self) -> None:
        self._store.close()
        if self._memory is not None:
            self._memory.close()

    def add(
        self,
        place: str | os.PathLike[str],
        *,
        label: str | None = None,
        settings: SourceSettings | None = None,
        progress: Callable[[FoundFile], None] | None = None,
    ) -> Report:
        """Index a file, folder or glob, or bring it up to date; visible to questions when this returns.

        Documents of a folder are named `label/path`. The label is the folder's name unless given; a name that is taken
        gets its parent folder in front. The label is recorded and stays. A single file has its own name.
        """
        with self._changing():
            from brimful.ingest.folders import ingest

            return ingest(self._store, place, label=label, settings=settings, progress=progress)

    def preview(
        self, place: str | os.PathLike[str], *, label: str | None = None, settings: SourceSettings | None = None
    ) -> Report:
        """A report of what `add` would do, judged by file sizes and times; nothing is read or written."""
        with self._pool.pinned():
            from brimful.ingest.folders import preview

            return preview(place, self._store, label=label, settings=settings)

    def left_out(self, place: str | os.PathLike[str], *, settings: SourceSettings | None = None) -> list[Skipped]:
        """Every file below a place that `add` leaves out, with the reason; files are read, nothing is stored."""
        from brimful.ingest.folders import left_out

        with self._pool.pinned():
            return left_out(self._store, place, settings=settings)

    def add_text(self, path: str, text: str | bytes, *, time: int | None = None, allow: Iterable[Reason] = ()) -> None:
        """Store a text under a path, or replace it; a path inside an added folder belongs to its file.

        A text that holds a credential is refused, unless `allow=("secret",)`.
        """
        self.add_documents([Document(path, text, time=time)], allow=allow)

    def add_documents(self, documents: Iterable[Document], *, allow: Iterable[Reason] = ()) -> int:
        """Store many documents in few commits; returns how many. No path may lie in an added folder.

        One refused document of a list refuses the list; of an iterator the documents before it stay.
        """
        from brimful.ingest.texts import add_documents

        with self._changing():
            return add_documents(self._store, documents, allow=allow)

    def remove(self, *paths: str) -> int:
        """Forget documents, and the digests of captures among them; returns how many were stored."""
        from brimful.densify.captures import CAPTURED, digest_path

        digests = [digest_path(path) for path in paths if path.startswith(CAPTURED)]
        with self._changing():
            return self._store.remove([*paths, *digests])

    def purge(self) -> None:
        """Erase every byte of removed and replaced documents, and of what models answered about them.

        Captures stay unless their document was removed.
        """
        with self._changing(), self._pool.exclusive():  # no byte may be overwritten while it is read
            self._store.purge()
        with self.corpus() as corpus:
            if self._store.keeps_answers() or digests_of(self.path).exists():
                self._captures.purge(corpus.columns.documents.paths)

    @contextmanager
    def _changing(self) -> Iterator[None]:
        """One thread writes; others go on reading the state before."""
        with self._writer:
            self._pool.check_open()
            yield

    @property
    def root(self) -> str:
        """The state root: one hash over path, time and content of all documents."""
        with self.corpus() as corpus:
            return corpus.root

    @property
    def size_bytes(self) -> int:
        """Bytes that the store takes on disk."""
        with self._pool.pinned():
            return self._store.size_bytes()

    @property
    def roots(self) -> tuple[str, ...]:
        """The files, folders and globs that were added, as `add` takes them."""
        return tuple(self.folders)

    @property
    def folders(self) -> dict[str, str]:
        """Each added place with the label of its documents; an empty label for a single file."""
        with self._pool.pinned():
            return {place_below(prefix): folder for prefix, folder in self._store.roots().items()}

    @property
    def columns(self) -> CorpusColumns:
        """The newest corpus as arrays."""
        with self.corpus() as corpus:
            return corpus.columns

    length = _of_corpus(Corpus.length)
    document = _of_corpus(Corpus.document)
    documents = _of_corpus(Corpus.documents)
    lines = _of_corpus(Corpus.lines)
    text = _of_corpus(Corpus.text)
    origins = _of_corpus(Corpus.origins)
    cite = _of_corpus(Corpus.cite)
    check_answer = _of_corpus(Corpus.check_answer)

    @property
    def reader(self) -> str | None:
        """The embedder and its runtime; None where questions go by words alone."""
        return self._models.name

    warm = _of_corpus(Corpus.warm)
    search = _of_corpus(Corpus.search)
    map = _of_corpus(Corpus.map)

    def context(
        self,
        /,
        question: str | Ask,
        *,
        budget: Budget | int = DEFAULT_BUDGET,
        settings: AskSettings | None = None,
        field: FieldSettings | None = None,
        densify: Model | str | None = None,
        cancel: threading.Event | None = None,
        **choices: Any,
    ) -> Context:
        """Fill a budget with what the corpus says about a question; without hits the text is empty.

        `choices` are the fields of `AskSettings`: model, format, sizing, strategy, packing, fill, … An `Ask` holds the
        question and all choices. `densify` is a model, or its name, that condenses what does not fit into a part of the
        budget; `cancel` stops it with a CancelledError.
        """
        ask = ask_for(question, budget, settings, field, {**choices, **_named(densify)})
        if ask.settings.densify is None:
            with self.corpus() as corpus:
                return corpus.context(ask)
        model = densify or ask.settings.densify

        from brimful.densify.condensing import condensed

        def fill(room: Budget) -> Context:
            return condensed(ask, room, model, pool=self._pool, memory=lambda: self.memory, cancel=cancel)

        return fill_beside_map(ask, room_for=partial(self._room_beside_map, ask), fill=fill)

    _room_beside_map = _of_corpus(Corpus.room_beside_map)

    def prices(self, context: Context, *, most: int = PRICED) -> Context:
        """The context with the budgets at which the best windows that it leaves out would enter, `most` of them.

        Each price takes several questions at other budgets, so a context has none until this is called.
        """
        if context.receipt is None:
            raise InputError("this context has no receipt to ask again by; price what an engine's `context` gave")
        with self.corpus() as corpus:
            return corpus.priced(corpus.ask_of(context.receipt), context, most=most)

    def explain(
        self,
        /,
        question: str | Ask | Receipt,
        *,
        budget: Budget | int = DEFAULT_BUDGET,
        settings: AskSettings | None = None,
        field: FieldSettings | None = None,
        densify: Model | str | None = None,
        cancel: threading.Event | None = None,
        **choices: Any,
    ) -> Explanation:
        """How a question was understood, why each window is in, and at which budget the next ones enter.

        The question of a receipt comes with its budget and settings.
        """
        if isinstance(question, Receipt):
            ask, densify = self._asked_by(question, densify)
        else:
            ask = ask_for(question, budget, settings, field, {**choices, **_named(densify)})
        if ask.settings.densify is not None:
            self.context(ask, densify=densify, cancel=cancel)  # cached; no corpus is pinned while a model works
        with self.corpus() as corpus:
            return corpus.explain(ask, self.context(ask, densify=densify))

    def verify(
        self,
        receipt: Receipt | str | bytes,
        *,
        text: str | None = None,
        files: str | os.PathLike[str] | None = None,
        replay: bool = False,
        densify: Model | str | None = None,
    ) -> Findings:
        """Write a receipt's text again from the store, or from a folder of files, and compare it with the receipt.

        `replay` also asks its question again, which checks ranking, omissions and settings. No findings mean that all
        that was compared holds; the result's `compared` and `not_checked` name both parts.
        """
        from brimful.receipts.checking import check_files, compared_again

        receipt = Receipt.of(receipt)
        with self.corpus() as corpus:
            findings = (
                corpus.verify(receipt, text=text) if files is None else check_files(receipt, Path(files), text=text)
            )
            if not replay:
                return findings
            again = partial(self.replay, receipt, densify=densify)
            return compared_again(receipt, findings, root=corpus.root, again=again)

    def replay(self, receipt: Receipt | str | bytes, *, densify: Model | str | None = None) -> Context:
        """Ask a receipt's question again with its settings; an equal state gives equal bytes.

        A receipt may name any model, and so any address, for condensing: it is called only if `densify` names it too.
        """
        with self.corpus():
            ask, model = self._asked_by(Receipt.of(receipt), densify)
            return self.context(ask, densify=model)

    def _asked_by(self, receipt: Receipt, densify: Model | str | None) -> tuple[Ask, Model | str | None]:
        """The ask of a receipt, and the model that may condense for it."""
        with self.corpus() as corpus:
            ask = corpus.ask_of(receipt)
        name = ask.settings.densify
        if name is not None and _named(densify) != {"densify": name} and not name.startswith("extractive:"):
            raise SettingError(
                f"the receipt's context was condensed by {name!r}, which is not asked because a receipt says so; "
                f"name it yourself (densify={name!r}) where it may be asked"
            )
        return ask, None if name is None else densify

    def verify_determinism(self, /, question: str, *, budget: Budget | int = DEFAULT_BUDGET, **choices: Any) -> bool:
        """Assemble twice, without the cache, and compare window ids and bytes (CFS §12)."""

        def assemble() -> Context:
            with self._pool.pinned():
                self._contexts.clear()
                self._documents.clear()
                self._pool.drop()
                return self.context(question, budget=budget, **choices)

        return verify_determinism(assemble)

    @property
    def memory(self) -> Memory:
        """Answers of models and the captures: on the corpus's server, or in a file next to the store."""
        from brimful.densify.memory import memory_of

        self._pool.check_open()
        with self._memory_lock:
            if self._memory is None:
                self._memory = memory_of(self._store)
            return self._memory

    @property
    def _captures(self) -> Captures:
        from brimful.densify.captures import Captures

        return Captures(self.memory)

    def densify(
        self,
        text: str | Document,
        *,
        model: Model | str = "extractive:",
        settings: DensifySettings | None = None,
        progress: Callable[[Progress], None] | None = None,
        cancel: threading.Event | None = None,
    ) -> Digest:
        """Condense a text; answers of models are stored, so that no call is paid twice."""
        from brimful.densify import densify, model_for
        from brimful.densify.extractive import ExtractiveModel

        chosen = model_for(model) if isinstance(model, str) else model
        memory = None if isinstance(chosen, ExtractiveModel) else self.memory
        return densify(text, chosen, settings=settings, memory=memory, progress=progress, cancel=cancel)

    def capture(
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
        """Store a text as `capture:name`, condense it, and store the digest; a failure is the capture's status.

        The digest is `capture:name/digest`, and says what it was made from (ruling 22). An empty text is refused.
        The default name is the hash of the text. `cancel` ends it as a failure that can be retried.
        A text that holds a credential is refused before it is stored or sent.
        """
        from brimful.densify.captures import Capture, name_of

        name = name or name_of(text)
        original = text if isinstance(text, Document) else Document(name, text)
        check_secret(original.path, original.content, SourceSettings(allow=allow))
        if original.content.strip():
            self._stored(Capture(name, "", "pending", original), allow)
        capture = self._captures.capture(text, model, name=name, settings=settings, progress=progress, cancel=cancel)
        return self._stored(capture, allow)

    def one_capture(self, name: str) -> Capture:
        """A capture by its name."""
        return self._captures.get(name)

    def captures(self) -> list[Capture]:
        """All captures by name, with their status."""
        return self._captures.list()

    def retry_capture(
        self,
        name: str,
        *,
        model: Model | str | None = None,
        settings: DensifySettings | None = None,
        cancel: threading.Event | None = None,
        allow: Iterable[Reason] = (),
    ) -> Capture:
        """Try a failed or pending capture again; only missing answers are paid for."""
        return self._stored(self._captures.retry(name, model, settings=settings, cancel=cancel), allow)

    def _stored(self, capture: Capture, allow: Iterable[Reason]) -> Capture:
        """Store the text with its digest; the digest of an earlier text of that name is removed."""
        from brimful.densify.captures import digest_path

        digest = capture.digest_document()
        with self._pool.pinned():
            if digest is None and capture.status == "done" and self.length(digest_path(capture.path)) is not None:
                self.remove(digest_path(capture.path))
            self.add_documents([capture.document(), *([digest] if digest else [])], allow=allow)
        return capture


def _named(densify: Model | str | None) -> dict[str, str]:
    """The condensing model as a choice of `AskSettings`."""
    return {} if densify is None else {"densify": densify if isinstance(densify, str) else densify.name}
