"""Open a store, fill it, and ask the newest corpus in it.

add, remove, purge ──> store ──> corpus at a moment (`moment`) ──> search, context, explain, verify
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
from brimful.documents.documents import Document
from brimful.documents.secrets import check_secret
from brimful.documents.skips import Reason, Skipped, SourceSettings
from brimful.errors import InputError, SettingError
from brimful.moment import KEPT_CONTEXT_BYTES, KEPT_CONTEXTS, Corpus, KeptContexts, Readers, ask_for, beside_the_rest
from brimful.neural.embedders import Embedder
from brimful.receipts.receipt import Receipt
from brimful.search.columns import CorpusColumns
from brimful.settings import DEFAULT_BUDGET, Ask, AskSettings, FieldSettings
from brimful.states import States
from brimful.store.documents import WholeDocuments
from brimful.store.opening import Named, digests_of, opened, place_of
from brimful.store.store import place_below

if TYPE_CHECKING:
    from brimful.assembly.citing import Checked
    from brimful.densify.captures import Capture, Captures
    from brimful.densify.digest import Digest
    from brimful.densify.memory import Memory
    from brimful.densify.model import Model
    from brimful.densify.run import Progress
    from brimful.documents.sources import Found as FoundFile
    from brimful.ingest import Report
    from brimful.neural.named import Reranker
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

    `postgresql://USER@HOST/DATABASE?corpus=NAME` is a corpus on a server (docs/postgres.md), with the same bytes.

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
    """What a corpus answers, asked of the newest one."""

    @wraps(method)
    def asked(self: Engine, /, *given: P.args, **named: P.kwargs) -> R:
        with self.corpus() as corpus:
            return method(corpus, *given, **named)

    return asked


class Engine:
    """A corpus that can be asked. Safe to share between threads: they ask side by side, and while one of them adds."""

    def __init__(
        self,
        path: Named,
        *,
        embedder: Embedder | str = "auto",
        reranker: Reranker | str = "auto",
    ) -> None:
        self.path = place_of(path)
        self._store = opened(self.path)
        self._writer = threading.RLock()  # one thread changes the corpus at a time
        self._readers = Readers(self._store, place=self.path, embedder=embedder, reranker=reranker)
        self._documents = WholeDocuments()
        self._contexts = KeptContexts(KEPT_CONTEXT_BYTES, most=KEPT_CONTEXTS)
        self._states = States(place=self.path, store=self._store, opened=self._at)
        self._memory: Memory | None = None
        self._memory_lock = threading.Lock()

    def _at(self, snapshot: StoredSnapshot) -> Corpus:
        return Corpus(snapshot, readers=self._readers, documents=self._documents, contexts=self._contexts)

    def corpus(self) -> AbstractContextManager[Corpus]:
        """The newest corpus, the same for all that one thread asks it: `with engine.corpus() as corpus: …`."""
        return self._states.asking()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the store, once whoever is asking has the answer; asking later is an error."""
        self._states.close(self._close)

    def _close(self) -> None:
        self._store.close()
        if self._memory is not None:
            self._memory.close()

    # ---- the corpus

    def add(
        self,
        place: str | os.PathLike[str],
        *,
        label: str | None = None,
        settings: SourceSettings | None = None,
        progress: Callable[[FoundFile], None] | None = None,
    ) -> Report:
        """Bring a file, folder or glob into the store, or up to date; visible when this returns.

        The documents of a folder are named `label/path below it`. The label is the folder's own name, or the one given
        here; where another folder has that name, the one above is put in front. It is recorded, and stays. A file that
        is added by itself has its own name.
        """
        with self._changing():
            from brimful.ingest.folders import ingest

            return ingest(self._store, place, label=label, settings=settings, progress=progress)

    def preview(
        self, place: str | os.PathLike[str], *, label: str | None = None, settings: SourceSettings | None = None
    ) -> Report:
        """What `add` would find there by looking at the files' stats alone; nothing is read or written."""
        with self._states.turn():
            from brimful.ingest.folders import preview

            return preview(place, self._store, label=label, settings=settings)

    def left_out(self, place: str | os.PathLike[str], *, settings: SourceSettings | None = None) -> list[Skipped]:
        """Everything below a place that the store does not have, with the reason; it is read for that, not stored."""
        from brimful.ingest.folders import left_out

        with self._states.turn():
            return left_out(self._store, place, settings=settings)

    def add_text(self, path: str, text: str | bytes, *, time: int | None = None, allow: Iterable[Reason] = ()) -> None:
        """Store a text of your own under this path, in place of another text; names in added folders are their files'.

        One that holds a credential is refused as a file would be, unless `allow=("secret",)` says otherwise.
        """
        self.add_documents([Document(path, text, time=time)], allow=allow)

    def add_documents(self, documents: Iterable[Document], *, allow: Iterable[Reason] = ()) -> int:
        """Store many documents in few commits; returns how many. None may have a name in an added folder.

        What is refused in one of a list refuses the list; where documents are given one by one, those before it stay.
        """
        from brimful.ingest.texts import add_documents

        with self._changing():
            return add_documents(self._store, documents, allow=allow)

    def remove(self, *paths: str) -> int:
        """Forget documents, of captured texts their digests too; returns how many there were."""
        from brimful.densify.captures import CAPTURED, digest_path

        digests = [digest_path(path) for path in paths if path.startswith(CAPTURED)]
        with self._changing():
            return self._store.remove([*paths, *digests])

    def purge(self) -> None:
        """Leave no byte of what was removed or replaced in the file, nor of what models answered beside it.

        Captures stay, save for those whose document was removed.
        """
        with self._changing(), self._states.alone():  # what others read must not be overwritten
            self._store.purge()
        with self.corpus() as corpus:
            if self._store.keeps_answers() or digests_of(self.path).exists():
                self._captures.purge(corpus.columns.documents.paths)

    @contextmanager
    def _changing(self) -> Iterator[None]:
        """One thread changes the corpus; others ask what was there before, or is there by then."""
        with self._writer:
            self._states.check_open()
            yield

    # ---- what it holds

    @property
    def root(self) -> str:
        """The state root: one hash over path, time and content of all documents."""
        with self.corpus() as corpus:
            return corpus.root

    @property
    def size_bytes(self) -> int:
        """How much room the store takes."""
        with self._states.turn():
            return self._store.size_bytes()

    @property
    def roots(self) -> tuple[str, ...]:
        """The files, folders and globs that were added, as `add` takes them."""
        return tuple(self.folders)

    @property
    def folders(self) -> dict[str, str]:
        """What was added, and the folder that the documents of each place are named in: none for a single file."""
        with self._states.turn():
            return {place_below(prefix): folder for prefix, folder in self._store.roots().items()}

    @property
    def columns(self) -> CorpusColumns:
        """The corpus as it is now, in columns."""
        with self.corpus() as corpus:
            return corpus.columns

    length = _of_corpus(Corpus.length)
    document = _of_corpus(Corpus.document)
    documents = _of_corpus(Corpus.documents)
    lines = _of_corpus(Corpus.lines)
    text = _of_corpus(Corpus.text)
    origins = _of_corpus(Corpus.origins)
    cite = _of_corpus(Corpus.cite)

    def check_answer(self, answer: str, receipt: Receipt | str | bytes) -> Checked:
        """Which quotations of an answer stand in the context that a receipt is for, and which citations it shows.

        The windows are read from the store; those that it has no more as they were cited are named in `changed`.
        """
        cited = Receipt.of(receipt)
        with self.corpus() as corpus:
            return corpus.check_answer(answer, cited)

    # ---- questions

    @property
    def reader(self) -> str | None:
        """The model that reads the best places of a question, and what computes it; None where none does."""
        return self._readers.name

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
        """Fill a budget with what the corpus says about a question; no hits give an empty text.

        `choices` are the fields of `AskSettings`: model, format, sizing, strategy, packing, fill, … An `Ask` holds all
        of it, the question included. `densify` names the model (or is one) that condenses what does not fit into a part
        of the same budget; `cancel` ends that with a CancelledError.
        """
        ask = ask_for(question, budget, settings, field, {**choices, **_named(densify)})
        if ask.settings.densify is None:
            with self.corpus() as corpus:
                return corpus.context(ask)
        model = densify or ask.settings.densify
        return beside_the_rest(
            ask,
            room_for=partial(self._room_for, ask),
            filled=lambda room: self._condensed(ask, room, model, cancel),
        )

    def _condensed(self, ask: Ask, room: Budget, model: Model | str, cancel: threading.Event | None) -> Context:
        from brimful.densify.condensing import condensed

        return condensed(ask, room, model, states=self._states, memory=lambda: self.memory, cancel=cancel)

    def _room_for(self, ask: Ask, slack: int) -> tuple[Budget, str | None]:
        with self.corpus() as corpus:
            return corpus.room_beside(ask, slack)

    def prices(self, context: Context, *, most: int = PRICED) -> Context:
        """The same context, with the budgets at which the best of what it leaves out would enter, of so many at most.

        Each is found by asking again at other budgets; so a context has none until they are asked for.
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

        A receipt is asked again with its own budget and settings.
        """
        if isinstance(question, Receipt):
            ask, densify = self._asked_by(question, densify)
        else:
            ask = ask_for(question, budget, settings, field, {**choices, **_named(densify)})
        if ask.settings.densify is not None:
            self.context(ask, densify=densify, cancel=cancel)  # kept; nobody waits while a model works
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
        """Write a receipt's text again from the store, or from a folder of files, and compare all that it says.

        `replay` also asks its question again, which compares what no source can show: ranking, omissions, settings.
        Nothing found means that all that was compared is as the receipt says; `compared` and `not_checked` of the
        result name both.
        """
        from brimful.receipts.checking import check_files, compared_again

        cited = Receipt.of(receipt)
        if files is not None:
            found = check_files(cited, Path(files), text=text)
        else:
            with self.corpus() as corpus:
                found = corpus.verify(cited, text=text)
        if not replay:
            return found
        with self.corpus() as corpus:
            return compared_again(cited, found, root=corpus.root, again=lambda: self.replay(cited, densify=densify))

    def replay(self, receipt: Receipt | str | bytes, *, densify: Model | str | None = None) -> Context:
        """Ask a receipt's question again with its settings; on the same state the bytes are the same.

        A receipt may name any model, and so any address, for condensing: it is asked only where `densify` names it too.
        """
        cited = Receipt.of(receipt)
        with self.corpus():
            ask, model = self._asked_by(cited, densify)
            return self.context(ask, densify=model)

    def _asked_by(self, receipt: Receipt, densify: Model | str | None) -> tuple[Ask, Model | str | None]:
        """The question of a receipt, and who condenses for it."""
        with self.corpus() as corpus:
            ask = corpus.ask_of(receipt)
        named = ask.settings.densify
        if named is not None and _named(densify) != {"densify": named} and not named.startswith("extractive:"):
            raise SettingError(
                f"the receipt's context was condensed by {named!r}, which is not asked because a receipt says so; "
                f"name it yourself (densify={named!r}) where it may be asked"
            )
        return ask, None if named is None else densify

    def verify_determinism(self, /, question: str, *, budget: Budget | int = DEFAULT_BUDGET, **choices: Any) -> bool:
        """Assemble twice, without the cache, and compare window ids and bytes (CFS §12)."""

        def assemble() -> Context:
            with self._states.turn():
                self._contexts.clear()
                self._documents.clear()
                self._states.let_go()
                return self.context(question, budget=budget, **choices)

        return verify_determinism(assemble)

    # ---- condensing

    @property
    def memory(self) -> Memory:
        """What models have answered, and the captures: on a corpus's server, or in a file beside the store."""
        from brimful.densify.memory import memory_of

        self._states.check_open()
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
        """Condense a text; what a model answers is remembered beside the store, so that nothing is paid twice."""
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
        """Store a text whole as `capture:name`, condense it, and store the digest beside it; a failure is its status.

        The digest is `capture:name/digest`, and says what it was made from (ruling 22). An empty text is refused.
        Without a name it is called by the hash of its text. `cancel` ends it, as a failure that can be tried again.
        A text that holds a credential is refused before it is written down or sent, as `add_text` refuses it.
        """
        from brimful.densify.captures import Capture, name_of

        name = name or name_of(text)
        original = text if isinstance(text, Document) else Document(name, text)
        check_secret(original.path, original.content, SourceSettings(allow=allow))
        if original.content.strip():
            self._stored(Capture(name, "", "pending", original), allow)
        made = self._captures.capture(text, model, name=name, settings=settings, progress=progress, cancel=cancel)
        return self._stored(made, allow)

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
        """Try a failed or pending capture again, which pays only for what is missing."""
        return self._stored(self._captures.retry(name, model, settings=settings, cancel=cancel), allow)

    def _stored(self, capture: Capture, allow: Iterable[Reason]) -> Capture:
        """The text in the store, and its digest beside it; one of a text that was there before under this name goes."""
        from brimful.densify.captures import digest_path

        digest = capture.digest_document()
        with self._states.turn():
            if digest is None and capture.status == "done" and self.length(digest_path(capture.path)) is not None:
                self.remove(digest_path(capture.path))
            self.add_documents([capture.document(), *([digest] if digest else [])], allow=allow)
        return capture


def _named(densify: Model | str | None) -> dict[str, str]:
    """Who condenses, as a choice."""
    return {} if densify is None else {"densify": densify if isinstance(densify, str) else densify.name}
