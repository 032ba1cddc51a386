"""One immutable state of a corpus: what it holds, and what it answers. Threads may share it.

question ──> search ──> hits ──> inflate ──> windows ──> pack ──> context, receipt
"""

from __future__ import annotations

import os
import re
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache, cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from brimful import rules
from brimful.assembly.citing import check_answer
from brimful.assembly.context import Context, digest_document, relevance_of
from brimful.assembly.explain import PRICED, Explanation, price_of
from brimful.assembly.outline_map import by_importance, draw, inside
from brimful.assembly.showing import map_part, question_part
from brimful.budget import Budget, budget_of
from brimful.building import ContextBuilder
from brimful.documents.documents import Document, check_path, close_paths
from brimful.errors import (
    DocumentError,
    FormatError,
    InputError,
    SettingError,
    SpanError,
    StoreError,
    choose,
    did_you_mean,
    install,
)
from brimful.neural.embedders import Embedder, identity_of
from brimful.receipts.notation import read_value
from brimful.receipts.receipt import CitedWindow, Receipt, hash_of, make_receipt
from brimful.search.columns import CorpusColumns
from brimful.search.late import LateEncoder
from brimful.search.query import PathPattern
from brimful.search.search import Found, search
from brimful.settings import (
    DEFAULT_BUDGET,
    DEFAULT_MODEL,
    FILTER_NAMES,
    MEANINGS,
    VERSION,
    Ask,
    AskSettings,
    FieldSettings,
    Filters,
    Meaning,
)
from brimful.store.caching import ByteCache
from brimful.store.documents import WholeDocuments
from brimful.store.rows import Listed
from brimful.store.snapshot import StoredSnapshot
from brimful.store.store import Store
from brimful.text.terms import terms_of
from brimful.text.vocabularies import tokens_for
from brimful.windows.window import Window

if TYPE_CHECKING:
    from brimful.assembly.citing import Checked
    from brimful.assembly.outline_map import CorpusMap
    from brimful.neural.embedders import Reranker
    from brimful.receipts.checking import Findings

KEPT_CONTEXTS = 64
KEPT_CONTEXT_BYTES = 12 << 20
"""Bytes of documents that the kept contexts may hold in memory."""
_MAPPED_DOCUMENTS = 50
"""Documents that the map of a question shows opened, at most."""
_CITATION = re.compile(r"(?P<path>.+):(?P<first>[0-9]{1,12})(?:-(?P<last>[0-9]{1,12}))?", re.DOTALL)

ContextCache = ByteCache[tuple[object, ...], Context]
"""The last contexts of a store (CFS caching), by state, room and question."""


class Models:
    """The embedder and the reranker of an engine, opened when a question first needs them."""

    def __init__(self, store: Store, *, place: object, embedder: Embedder | str, reranker: Reranker | str) -> None:
        self.place = place
        self._store, self._embedder, self._reranker = store, embedder, reranker
        self._lock = threading.RLock()

    @property
    def encoder(self) -> LateEncoder | None:
        """The encoder over the chosen embedder; None where questions go by words alone."""
        with self._lock:
            return self._encoder

    @cached_property
    def _encoder(self) -> LateEncoder | None:
        from brimful.neural.named import chosen_embedder
        from brimful.neural.wordtable import word_table

        embedder = chosen_embedder(self._embedder) if isinstance(self._embedder, str) else self._embedder
        if embedder is None:
            return None
        return LateEncoder(embedder, self._store, runtime=identity_of(embedder).runtime, table=word_table)

    @cached_property
    def reranker(self) -> Reranker | None:
        """The reranker that was named, here or as BRIMFUL_RERANKER."""
        from brimful.neural.named import reranker_named

        chosen = self._reranker
        if chosen == "auto":
            chosen = os.environ.get("BRIMFUL_RERANKER") or "none"
        if chosen == "none":
            return None
        return reranker_named(chosen) if isinstance(chosen, str) else chosen

    @property
    def name(self) -> str | None:
        """The embedder and its runtime, as a receipt names them; None without one."""
        return None if self.encoder is None else f"{self.encoder.name} ({self.encoder.runtime})"

    def encoder_for(self, meaning: Meaning) -> LateEncoder | None:
        """The encoder for a question, unless it asks for words alone."""
        return None if meaning == "words" else self.encoder


class Corpus:
    """A corpus at one state; caches are shared with the states before and after it."""

    def __init__(
        self, snapshot: StoredSnapshot, *, models: Models, documents: WholeDocuments, contexts: ContextCache
    ) -> None:
        self.snapshot = snapshot
        self.contexts = contexts
        self._models, self._documents = models, documents

    @cached_property
    def columns(self) -> CorpusColumns:
        """The corpus as arrays, built with the first question."""
        return CorpusColumns(self.snapshot)

    @property
    def root(self) -> str:
        """The state root: one hash over path, time and content of all documents."""
        return self.snapshot.root.hex()

    def length(self, path: str) -> int | None:
        """Bytes of a stored document, from its row; None if there is no such document."""
        row = self.snapshot.row(path)
        return None if row is None else row.length

    def document(self, path: str) -> Document:
        """A stored document with its whole text."""
        check_path(path)
        if self.snapshot.row(path) is None:
            close = did_you_mean(close_paths(path, self.columns.documents.paths))
            raise DocumentError(f"{path!r:.200} is not in the store; {close}paths are as they are cited")
        return self._documents.document(self.snapshot, path, as_stored=False)

    def documents(self, path: str | Sequence[str] = (), *, lines: bool = False) -> tuple[Listed, ...]:
        """The stored documents by path; `path` is a part of paths or a pattern, or several of them.

        No text is read, unless `lines` asks for the number of lines.
        """
        listed = tuple(self.columns.documents.listed(row) for row in self._rows(path))
        return tuple(each._replace(lines=self._line_count(each)) for each in listed) if lines else listed

    def _rows(self, path: str | Sequence[str]) -> list[int]:
        """The rows of the documents whose path fits; all rows without a path."""
        patterns = [PathPattern(each) for each in _as_tuple(path)]
        paths = self.columns.documents.paths
        return [row for row in range(len(paths)) if not patterns or any(each.matches(paths[row]) for each in patterns)]

    def _line_count(self, listed: Listed) -> int:
        return self.lines(listed.path, max(listed.bytes - 1, 0), listed.bytes)[1]

    def lines(self, path: str, start: int, end: int) -> tuple[int, int]:
        """The first and last line that a byte range of a document touches, from 1."""
        return self._documents.lines(self.snapshot, path, start, end)

    def text(self, path: str, start: int, end: int) -> str:
        """The text of a byte range, whose ends lie between characters."""
        try:
            return self._documents.text(self.snapshot, path, start, end).decode()
        except UnicodeDecodeError as error:
            raise SpanError(
                f"bytes {start} to {end} of {path!r:.200} cut a character of several bytes; give where one begins"
            ) from error

    def origins(self, path: str, start: int, end: int) -> tuple[str, ...]:
        """The places of converted bytes in their file (`page 3`, `#tea`); empty for plain text."""
        row = self.snapshot.row(path)
        source_map = None if row is None else self.snapshot.source_map(row.number)
        return () if source_map is None else source_map.between(start, end)

    def cite(self, place: str) -> Window:
        """The bytes that a citation names: `notes/tea.md:12-30`, `notes/tea.md:12`, or a path alone.

        A stored path that itself ends like `:12` is taken as a path.
        """
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
        """Which quotations of an answer stand in the context of a receipt, and which citations it shows.

        Windows are read from the store; the ones that no longer have the cited bytes are named in `changed`.
        """
        receipt = Receipt.of(receipt)
        digests = {each.path: each.text for each in receipt.digests}
        windows = [(each, self._cited_window(each, digests.get(each.path))) for each in receipt.windows]
        changed = [f"{each.path} [{each.start}, {each.end})" for each, window in windows if window is None]
        return check_answer(answer, [window for _, window in windows if window is not None], changed=changed)

    def _cited_window(self, cited: CitedWindow, digest: str | None) -> Window | None:
        """A window of a receipt, from the store; None if its bytes are not the cited ones."""
        if digest is None and (self.length(cited.path) or 0) < cited.end:
            return None
        document = self.document(cited.path) if digest is None else digest_document(cited.path, digest)
        if hash_of(document.content[cited.start : cited.end]) != cited.hash:
            return None
        return Window.cut(document, cited.start, cited.end)

    def verify(self, receipt: Receipt, *, text: str | None) -> Findings:
        """Write a receipt's text again and compare it with the receipt."""
        from brimful.receipts.checking import check_store

        return check_store(receipt, self.snapshot, text=text)

    def search(
        self,
        /,
        question: str,
        *,
        limit: int = 10,
        field: FieldSettings | None = None,
        operators: bool = True,
        repair: bool = True,
        meaning: Meaning = "auto",
        **filters: Any,
    ) -> Found:
        """The best units for a question, and how it was understood.

        Operators in the question are read ("phrases", -words, stars, path:) unless `operators` is False.
        `filters` are the fields of `Filters`: path, not_path, kind, after, before, phrase, without.
        """
        if isinstance(limit, bool) or not isinstance(limit, int) or limit < 1:
            raise SettingError(f"limit is {limit!r}; it must be at least 1")
        choose(meaning, MEANINGS, what="meaning")
        for name in filters:
            choose(name, FILTER_NAMES, what="filter")
        return search(
            self.columns,
            readable(question),
            limit=limit,
            settings=field,
            late=self._models.encoder_for(meaning),
            reranker=self._models.reranker,
            repair=repair,
            operators=operators,
            filters=Filters(**filters),
        )

    def warm(self, *, progress: Callable[[int, int], None] | None = None) -> int:
        """Embed every unit of the corpus now, so that no question waits for it; returns how many were new.

        An interrupted run goes on where it ended. `progress` gets the units done and their total.
        """
        if self._models.encoder is None:
            raise SettingError(f"no model reads here; {install('neural')}, or name one (embedder=…)")
        return self._models.encoder.warm(self.columns, progress=progress)

    def map(
        self,
        *,
        budget: Budget | int = DEFAULT_BUDGET,
        question: str | None = None,
        model: str = DEFAULT_MODEL,
        path: str | Sequence[str] = (),
        tokens: bool = False,
    ) -> CorpusMap:
        """Files by folder with their headings and definitions as indented lines, within a budget.

        With a question, the documents that it finds come first, opened, with the names that it uses. `path` is a part
        of the paths to show, a pattern, or several of them; `tokens` also gives the length of each file.
        """
        return self._draw_map(budget_of(budget).available, question, model, path, tokens=tokens)

    def _draw_map(
        self, room: int, question: str | None, model: str, path: str | Sequence[str], *, tokens: bool = False
    ) -> CorpusMap:
        documents = self.columns.documents
        rows = by_importance(documents, self._rows(path))
        hits = None if question is None else self.search(question, limit=_MAPPED_DOCUMENTS, path=_as_tuple(path))
        best = [] if hits is None else [name for name, _ in hits.documents][:_MAPPED_DOCUMENTS]
        files = dict.fromkeys([*best, *(documents.paths[row] for row in rows)])
        counter = tokens_for(model)
        return draw(
            tuple(files),
            partial(inside, self.snapshot),
            counter=counter,
            room=room,
            answered=len(best),
            words=() if hits is None else _question_words(hits),
            uses=self._uses,
            tokens_of=(lambda path: counter.count(self.text(path, 0, len(self.document(path))))) if tokens else None,
        )

    def _uses(self, name: str) -> int:
        """How many documents have a name in their text."""
        terms = terms_of(name.encode("utf-8", "replace")).names
        counts = self.columns.document_counts((1, self.columns.places(max(terms, key=len)))) if terms else ()
        return int(np.count_nonzero(counts))

    def context(self, ask: Ask) -> Context:
        """The fullest context within the budget of a question; nothing is condensed."""
        return fill_beside_map(ask, room_for=partial(self.room_beside_map, ask), fill=partial(self._fill, ask))

    def _fill(self, ask: Ask, room: Budget) -> Context:
        if self._models.encoder_for(ask.settings.meaning) is None:
            ask = replace(ask, settings=replace(ask.settings, meaning="words"))
        key = self.key(ask, room)
        if (cached := self.contexts.get(key)) is not None:
            return cached
        context, hits = self.asked(ask).fullest(room)
        context = self.with_receipt(ask, context, hits)
        return self.contexts.keep(key, context, size=context.held_bytes)

    def asked(self, ask: Ask) -> ContextBuilder:
        """The question over this corpus, to be answered at any budget."""
        return ContextBuilder(
            ask.question,
            self.columns,
            self._documents,
            ask.settings,
            ask.field,
            tokens_for(ask.settings.model),
            self._models.encoder_for(ask.settings.meaning),
            self._models.reranker,
        )

    def key(self, ask: Ask, room: Budget) -> tuple[object, ...]:
        """The cache key of a context: the generation, since titles and kinds count too and are not under the root."""
        return (self.snapshot.generation, room, ask)

    def room_beside_map(self, ask: Ask, slack: int) -> tuple[Budget, str | None]:
        """The part of a budget that the map and the question leave, and the map."""
        budget, settings = ask.budget, ask.settings
        counter = tokens_for(settings.model)
        query = counter.count(question_part(settings.format, ask.question)) + slack if settings.shows_question else 0
        map_text, map_tokens = None, 0
        if settings.map_percent:
            share = max(budget.available * settings.map_percent // 100, 1)
            map_text = self._draw_map(share, ask.question, settings.model, settings.path).text or None
            map_tokens = 0 if map_text is None else counter.count(map_part(settings.format, map_text)) + slack
        room = replace(
            budget,
            reserved_system=budget.reserved_system + map_tokens,
            reserved_query=max(budget.reserved_query, query),
        )
        return room, map_text

    def with_receipt(self, ask: Ask, context: Context, hits: Found) -> Context:
        """The context with its origins and its receipt, which names the whole budget so that it can be replayed."""
        rows = {window.path: self.snapshot.row(window.path) for window in context.windows}
        maps = self.snapshot.source_maps([row.number for row in rows.values() if row is not None])
        context = replace(
            context,
            question=ask.question,
            corrections=hits.corrections,
            senses=hits.senses,
            relevance=relevance_of(hits, context),
            read=hits.read,
            lengths=tuple(None if (row := rows[window.path]) is None else row.length for window in context.windows),
            origins=tuple(
                maps[row.number].between(window.start, window.end)
                if (row := rows[window.path]) is not None and row.number in maps
                else ()
                for window in context.windows
            ),
        )
        reranker = hits.read and hits.read.reranker
        receipt = make_receipt(
            replace(context, budget=ask.budget),
            question=ask.question,
            snapshot=self.snapshot,
            settings={
                "rules": rules.RULES,
                "ask": ask.settings,
                "field": ask.field,
                "embedder": None if hits.read is None or hits.read.failed else self._models.name,
                "described": self.columns.description,
                **({"reranker": reranker} if reranker else {}),
            },
            corrections=hits.corrections,
            run={"version": VERSION, "time": int(time.time())},
        )
        return replace(context, receipt=receipt)

    def explain(self, ask: Ask, context: Context) -> Explanation:
        """How a question was understood, with the prices of what its context leaves out."""
        asked = self.asked(ask)
        hits = asked.search(max(len(context.windows), 1))
        context = self.priced(ask, context, asked=asked)
        return Explanation(hits, context, counts_kinds=ask.settings.priors and ask.field.priors)

    def priced(self, ask: Ask, context: Context, *, most: int = PRICED, asked: ContextBuilder | None = None) -> Context:
        """The context with the budgets at which the best windows that it leaves out would enter, `most` of them."""
        if ask.settings.densify is not None or not context.omitted:
            return context
        builder, available = asked or self.asked(ask), context.budget.available
        at_budget = cache(lambda tokens: builder.fullest(budget_of(tokens))[0].windows)

        def shows(budget: int, window: Window) -> bool:
            return any(
                shown.path == window.path and shown.start <= window.start and window.end <= shown.end
                for shown in at_budget(budget)
            )

        omitted = [
            replace(out, enters_at=price_of(out.window, shows, available=available))
            if out.reason in ("budget", "stopped")
            else out
            for out in context.omitted[:most]
        ]
        return replace(context, omitted=(*omitted, *context.omitted[most:]))

    def ask_of(self, receipt: Receipt) -> Ask:
        """The question of a receipt with its budget and settings, if it can be asked here."""
        receipt.check_rules()
        if receipt.question is None:
            raise InputError("this receipt keeps only the hash of its question; ask the question itself again")
        ask, field = receipt.settings.get("ask"), receipt.settings.get("field")
        if not isinstance(ask, Mapping) or not isinstance(field, Mapping):
            raise FormatError("settings: this receipt was not made by an engine; assemble the context again by hand")
        settings = read_value(AskSettings, ask, where="settings.ask")
        weights = read_value(FieldSettings, field, where="settings.field")
        self._check_comparable(receipt)
        return Ask(receipt.question, receipt.budget, settings, weights)

    def _check_comparable(self, receipt: Receipt) -> None:
        """Refuse a receipt whose question would be ranked in another way here."""
        described = self.columns.description
        if receipt.state_root == self.root and receipt.settings.get("described", described) != described:
            raise StoreError(
                f"{self._models.place} has the receipt's texts, but other titles, kinds or languages, by which "
                "questions are ranked; add the documents as they were added then, or ask the question again"
            )
        if isinstance(wanted := receipt.settings.get("embedder"), str) and wanted != self._models.name:
            raise SettingError(
                f"the receipt's question was read by {wanted!r}, this engine reads by {self._models.name!r}; "
                "open the store with that model (embedder=…)"
            )
        reranker = None if self._models.reranker is None else self._models.reranker.name
        if (wanted := receipt.settings.get("reranker")) != reranker:
            raise SettingError(
                f"the receipt's passages were put in order by {wanted!r}, here it is {reranker!r}; "
                "open the store with that reranker (reranker=…)"
            )


def fill_beside_map(
    ask: Ask, *, room_for: Callable[[int], tuple[Budget, str | None]], fill: Callable[[Budget], Context]
) -> Context:
    """The fullest context within the budget, with a map and the question if the ask wants them."""
    settings = ask.settings
    if not settings.shows_question and not settings.map_percent:
        return fill(ask.budget)
    limit = ask.budget.available + (ask.budget.reserved_query if settings.shows_question else 0)
    slack = 0
    while True:
        room, map_text = room_for(slack)
        context = replace(fill(room), map_text=map_text, with_question=settings.shows_question)
        surplus = _prompt_tokens(context) - limit
        if surplus <= 0:
            return context
        slack += surplus  # tokens that arise where the parts meet


def _prompt_tokens(context: Context) -> int:
    """Tokens of a context together with its map and its question."""
    map_text = "" if context.map_text is None else map_part(context.format, context.map_text)
    question = question_part(context.format, context.question or "") if context.with_question else ""
    if not map_text and not question:
        return context.tokens
    return (context.counter or tokens_for(context.model)).count(f"{map_text}{context.text}{question}")


def ask_for(
    question: str | Ask,
    budget: Budget | int,
    settings: AskSettings | None,
    field: FieldSettings | None,
    choices: Mapping[str, Any],
) -> Ask:
    """An `Ask` from the arguments of `Engine.context`."""
    if not isinstance(question, Ask):
        question = Ask(readable(question), budget_of(budget), settings or AskSettings(), field or FieldSettings())
    return replace(question, settings=replace(question.settings, **choices)) if choices else question


def readable(question: object) -> str:
    """A question as UTF-8 can hold it: a lone surrogate becomes a question mark."""
    if not isinstance(question, str):
        raise InputError(f"a question is a str, got {type(question).__name__}: {question!r:.60}")
    return question.encode("utf-8", "replace").decode()


def _as_tuple(path: str | Sequence[str]) -> tuple[str, ...]:
    return Filters(path=path if isinstance(path, str) else tuple(path)).path  # type: ignore[arg-type]  # a str is one


def _question_words(hits: Found) -> tuple[frozenset[bytes], ...]:
    """The content words of a question, each with the terms that it may match."""
    return tuple(frozenset(term for form in sense.forms for term in form) for sense in hits.senses)
