"""What does a corpus hold and answer, as it is at one moment? Nothing of it changes, so threads share it freely.

question ──> search ──> hits ──> inflate ──> windows ──> pack ──> context, receipt
"""

from __future__ import annotations

import os
import re
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from brimful import rules
from brimful.asking import Asked
from brimful.assembly.citing import check_answer
from brimful.assembly.context import Context, digest_document, relevance_of
from brimful.assembly.explain import PRICED, Explanation, Prices
from brimful.assembly.outline_map import by_importance, draw, inside
from brimful.assembly.showing import map_part, question_part
from brimful.budget import Budget, budget_of
from brimful.documents.documents import Document, check_path, close_part
from brimful.errors import DocumentError, FormatError, InputError, SettingError, SpanError, StoreError, choose, install
from brimful.neural.embedders import Embedder, identity_of
from brimful.receipts.notation import read_as
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
from brimful.store.documents import WholeDocuments
from brimful.store.format import ByteLru
from brimful.store.rows import Listed
from brimful.store.snapshot import StoredSnapshot
from brimful.store.store import Store
from brimful.text.vocabularies import tokens_for
from brimful.windows.window import Window

if TYPE_CHECKING:
    from brimful.assembly.citing import Checked
    from brimful.assembly.outline_map import CorpusMap
    from brimful.neural.named import Reranker
    from brimful.receipts.checking import Findings

KEPT_CONTEXTS = 64
KEPT_CONTEXT_BYTES = 12 << 20
"""Of the documents that the contexts which are kept hold."""
_MAPPED = 50
"""Documents that a map for a question opens at most."""
_CITATION = re.compile(r"(?P<path>.+):(?P<first>[0-9]{1,12})(?:-(?P<last>[0-9]{1,12}))?", re.DOTALL)

KeptContexts = ByteLru[tuple[object, ...], Context]
"""The contexts that were made last, whichever moment they are of, by all that they depend on."""


# ---- readers: Who compares a question with the corpus beside its words?


class Readers:
    """The model that reads the best places, and who puts the very best in order; opened when first needed."""

    def __init__(
        self,
        store: Store,
        *,
        place: object,
        embedder: Embedder | str,
        reranker: Reranker | str,
    ) -> None:
        self.place = place
        self._store, self._embedder_chosen, self._reranker_chosen = store, embedder, reranker
        self._lock = threading.RLock()

    @property
    def late(self) -> LateEncoder | None:
        """Who reads the best places of a question; opened with the first one."""
        with self._lock:
            return self._opened

    @cached_property
    def _opened(self) -> LateEncoder | None:
        from brimful.neural.named import chosen_embedder

        chosen = self._embedder_chosen
        embedder = chosen_embedder(chosen) if isinstance(chosen, str) else chosen
        return None if embedder is None else LateEncoder(embedder, self._store, runtime=identity_of(embedder).runtime)

    @cached_property
    def reranker(self) -> Reranker | None:
        """Who puts the best passages in order; nobody unless one was named."""
        from brimful.neural.named import reranker_named

        chosen = self._reranker_chosen
        if chosen == "auto":
            chosen = os.environ.get("BRIMFUL_RERANKER") or "none"
        if chosen == "none":
            return None
        return reranker_named(chosen) if isinstance(chosen, str) else chosen

    @property
    def name(self) -> str | None:
        """The model that reads the best places, and what computes it; None where none does."""
        return None if self.late is None else f"{self.late.name} ({self.late.runtime})"

    def needed(self) -> LateEncoder:
        """The one that reads, or an error that says how to get one."""
        if self.late is None:
            raise SettingError(f"no model reads here; {install('neural')}, or name one (embedder=…)")
        return self.late

    def for_question(self, meaning: Meaning) -> LateEncoder | None:
        """Who reads for a question: nobody where words alone are asked for."""
        return None if meaning == "words" else self.late


# ---- corpus


class Corpus:
    """A corpus at one moment; what is asked for again is remembered in what it shares with the moments around it."""

    def __init__(
        self, snapshot: StoredSnapshot, *, readers: Readers, documents: WholeDocuments, contexts: KeptContexts
    ) -> None:
        self.snapshot = snapshot
        self.contexts = contexts
        self._readers, self._documents = readers, documents

    @cached_property
    def columns(self) -> CorpusColumns:
        """All of it in columns; whoever asks first waits for them."""
        return CorpusColumns(self.snapshot)

    @property
    def root(self) -> str:
        """The state root: one hash over path, time and content of all documents."""
        return self.snapshot.root.hex()

    # ---- what it holds

    def length(self, path: str) -> int | None:
        """How many bytes a stored document has, without reading it; None where there is none."""
        row = self.snapshot.row(path)
        return None if row is None else row.length

    def document(self, path: str) -> Document:
        """A stored document, whole."""
        check_path(path)
        if self.snapshot.row(path) is None:
            close = close_part(path, self.columns.documents.paths)
            raise DocumentError(f"{path!r:.200} is not in the store; {close}paths are as they are cited")
        return self._documents.many(self.snapshot, [path], as_stored=False)[path]

    def documents(self, path: str | Sequence[str] = (), *, lines: bool = False) -> tuple[Listed, ...]:
        """The stored documents by path, or those whose path has one of some parts or fits one of some patterns.

        Nothing of their text is read, unless their `lines` are to be counted.
        """
        found = tuple(self.columns.documents.listed(row) for row in self._rows(path))
        return tuple(each._replace(lines=self._line_count(each)) for each in found) if lines else found

    def _rows(self, path: str | Sequence[str]) -> list[int]:
        """The documents whose path is meant, all where none is named."""
        patterns = [PathPattern(each) for each in _several(path)]
        paths = self.columns.documents.paths
        return [row for row in range(len(paths)) if not patterns or any(each.matches(paths[row]) for each in patterns)]

    def _line_count(self, listed: Listed) -> int:
        return self.lines(listed.path, max(listed.bytes - 1, 0), listed.bytes)[1]

    def lines(self, path: str, start: int, end: int) -> tuple[int, int]:
        """The first and last line that a range of a document touches; it need not be held for that."""
        return self._documents.lines(self.snapshot, path, start, end)

    def text(self, path: str, start: int, end: int) -> str:
        """A range of a document as it is stored; both ends lie between characters."""
        try:
            return self._documents.text(self.snapshot, path, start, end).decode()
        except UnicodeDecodeError as error:
            raise SpanError(
                f"bytes {start} to {end} of {path!r:.200} cut a character of several bytes; give where one begins"
            ) from error

    def origins(self, path: str, start: int, end: int) -> tuple[str, ...]:
        """Where bytes of a converted document stand in its file (`page 3`, `#tea`); nothing where lines say it."""
        row = self.snapshot.row(path)
        found = None if row is None else self.snapshot.source_map(row.number)
        return () if found is None else tuple(origin.label for origin in found.between(start, end))

    def cite(self, place: str) -> Window:
        """The bytes that a citation names: `notes/tea.md:12-30`, `notes/tea.md:12`, or a path alone.

        A path may itself end like lines; then it is the path that is meant.
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
        """Which quotations of an answer stand in the context that a receipt is for, and which citations it shows.

        The windows are read from the store; those that it has no more as they were cited are named in `changed`.
        """
        cited = Receipt.of(receipt)
        digests = {each.path: each.text for each in cited.digests}
        found = [(each, self._cited_window(each, digests.get(each.path))) for each in cited.windows]
        changed = [f"{each.path} [{each.start}, {each.end})" for each, window in found if window is None]
        return check_answer(answer, [window for _, window in found if window is not None], changed=changed)

    def _cited_window(self, cited: CitedWindow, digest: str | None) -> Window | None:
        """A window of a receipt as the store has it; None where that is not what was cited."""
        if digest is None and (self.length(cited.path) or 0) < cited.end:
            return None
        document = self.document(cited.path) if digest is None else digest_document(cited.path, digest)
        if hash_of(document.content[cited.start : cited.end]) != cited.hash:
            return None
        return Window.cut(document, cited.start, cited.end)

    def verify(self, receipt: Receipt, *, text: str | None) -> Findings:
        """Write a receipt's text again and compare all that it says."""
        from brimful.receipts.checking import check_store

        return check_store(receipt, self.snapshot, text=text)

    # ---- questions

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
        """The units that matter most for a question, and how it was understood.

        The operators of the question count here: "phrases", -words, stars, path:; `operators=False` reads it as
        plain text. `filters` are the fields of `Filters`: path, not_path, kind, after, before, phrase, without.
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
            late=self._readers.for_question(meaning),
            reranker=self._readers.reranker,
            repair=repair,
            operators=operators,
            filters=Filters(**filters),
        )

    def warm(self, *, progress: Callable[[int, int], None] | None = None) -> int:
        """Let the model read every unit of the corpus now, so that no question has to wait for it; returns how many.

        What was read stays read: a warm that was broken off goes on where it ended. `progress` gets how many are done
        and how many there are.
        """
        return self._readers.needed().warm(self.columns, progress=progress)

    def map(
        self,
        *,
        budget: Budget | int = DEFAULT_BUDGET,
        question: str | None = None,
        model: str = DEFAULT_MODEL,
        path: str | Sequence[str] = (),
    ) -> CorpusMap:
        """What the corpus holds, within a budget: files with their headings and definitions, as indented lines.

        Every file is named before any is opened; with a question, the documents that it finds come first, opened, and
        in them the names that it uses. `path` is a part of the paths to show, or a pattern; any of several.
        """
        return self._drawn(budget_of(budget).available, question, model, path)

    def _drawn(self, room: int, question: str | None, model: str, path: str | Sequence[str]) -> CorpusMap:
        """A map of so many tokens at most."""
        counter = tokens_for(model)
        documents = self.columns.documents
        rows = by_importance(documents, self._rows(path))
        found = None if question is None else self.search(question, limit=_MAPPED, path=_several(path))
        best = [] if found is None else [each for each, _ in found.documents][:_MAPPED]
        files = dict.fromkeys([*best, *(documents.paths[row] for row in rows)])
        return draw(
            tuple(files),
            partial(inside, self.snapshot),
            counter=counter,
            room=room,
            asked=len(best),
            words=() if found is None else _asked_words(found),
        )

    def context(self, ask: Ask) -> Context:
        """What the corpus says about a question, in its budget; nothing is condensed."""
        return beside_the_rest(ask, room_for=partial(self.room_beside, ask), filled=partial(self._filled, ask))

    def _filled(self, ask: Ask, room: Budget) -> Context:
        """The context for a room, of what was asked for as a whole."""
        if self._readers.for_question(ask.settings.meaning) is None:
            ask = replace(ask, settings=replace(ask.settings, meaning="words"))
        key = self.key(ask, room)
        if (kept := self.contexts.get(key)) is not None:
            return kept
        context, found = self.asked(ask).fullest(room)
        made = self.receipted(ask, context.without_prices(), found)
        return self.contexts.keep(key, made, size=made.held_bytes)

    def asked(self, ask: Ask) -> Asked:
        """The question, ready to be answered in any room."""
        return Asked(
            ask.question,
            self.columns,
            self._documents,
            ask.settings,
            ask.field,
            tokens_for(ask.settings.model),
            self._readers.for_question(ask.settings.meaning),
            self._readers.reranker,
        )

    def key(self, ask: Ask, room: Budget) -> tuple[object, ...]:
        """What a context is kept under. Not the root: titles and kinds change what is found, and are not under it."""
        return (self.snapshot.generation, room, ask)

    def room_beside(self, ask: Ask, slack: int) -> tuple[Budget, str | None]:
        """What the map and the question leave of a budget, and the map."""
        whole, settings = ask.budget, ask.settings
        counter = tokens_for(settings.model)
        asked = counter.count(question_part(settings.format, ask.question)) + slack if settings.shows_question else 0
        drawn, mapped = None, 0
        if settings.map_percent:
            share = max(whole.available * settings.map_percent // 100, 1)
            drawn = self._drawn(share, ask.question, settings.model, settings.path).text or None
            mapped = 0 if drawn is None else counter.count(map_part(settings.format, drawn)) + slack
        room = replace(
            whole,
            reserved_system=whole.reserved_system + mapped,
            reserved_query=max(whole.reserved_query, asked),
        )
        return room, drawn

    def receipted(self, ask: Ask, context: Context, found: Found) -> Context:
        """The context with its receipt, which names the whole budget: asked again, the same is taken from it."""
        context = replace(
            context,
            question=ask.question,
            corrections=found.corrections,
            senses=found.senses,
            relevance=relevance_of(found, context),
            read=found.read,
        )
        reranker = found.read and found.read.reranker
        receipt = make_receipt(
            replace(context, budget=ask.budget),
            question=ask.question,
            snapshot=self.snapshot,
            settings={
                "rules": rules.RULES,
                "ask": ask.settings,
                "field": ask.field,
                "embedder": None if found.read is None or found.read.failed else self._readers.name,
                "described": self.columns.description,
                **({"reranker": reranker} if reranker else {}),
            },
            corrections=found.corrections,
            run={"version": VERSION, "time": int(time.time())},
        )
        return replace(context, receipt=receipt)

    def explain(self, ask: Ask, context: Context) -> Explanation:
        """How its question was understood, beside a context of this moment, and what enters it at which budget."""
        asked = self.asked(ask)
        found = asked.found(max(len(context.windows), 1))
        context = self._priced(asked, ask, context, most=PRICED)
        return Explanation(found, context, counts_kinds=ask.settings.priors and ask.field.priors)

    def priced(self, ask: Ask, context: Context, *, most: int = PRICED) -> Context:
        """The context with the budgets at which the best of what it leaves out enters, of so many at most."""
        return self._priced(self.asked(ask), ask, context, most=most)

    @staticmethod
    def _priced(asked: Asked, ask: Ask, context: Context, *, most: int) -> Context:
        if ask.settings.densify is not None or not context.omitted:
            return context
        prices = Prices(lambda tokens: asked.fullest(budget_of(tokens))[0], context.budget.available)
        guessed = {each.window.id: each for each in asked.fullest(context.budget)[0].omitted}
        omitted = [
            each.at_price(prices.of(guessed[each.window.id])) if each.window.id in guessed else each
            for each in context.omitted[:most]
        ]
        return replace(context, omitted=(*omitted, *context.omitted[most:]))

    def ask_of(self, receipt: Receipt) -> Ask:
        """The question of a receipt with its budget and settings, where it can be asked here."""
        receipt.check_rules()
        if receipt.question is None:
            raise InputError("this receipt keeps only the hash of its question; ask the question itself again")
        ask, field = receipt.settings.get("ask"), receipt.settings.get("field")
        if not isinstance(ask, Mapping) or not isinstance(field, Mapping):
            raise FormatError("settings: this receipt was not made by an engine; assemble the context again by hand")
        settings = read_as(AskSettings, ask, where="settings.ask")
        weights = read_as(FieldSettings, field, where="settings.field")
        self._check_comparable(receipt)
        return Ask(receipt.question, receipt.budget, settings, weights)

    def _check_comparable(self, receipt: Receipt) -> None:
        """Refuse a receipt whose question would be compared in another way here."""
        described = self.columns.description
        if receipt.state_root == self.root and receipt.settings.get("described", described) != described:
            raise StoreError(
                f"{self._readers.place} has the receipt's texts, but other titles, kinds or languages, by which "
                "questions are ranked; add the documents as they were added then, or ask the question again"
            )
        if isinstance(wanted := receipt.settings.get("embedder"), str) and wanted != self._readers.name:
            raise SettingError(
                f"the receipt's question was read by {wanted!r}, this engine reads by {self._readers.name!r}; "
                "open the store with that model (embedder=…)"
            )
        own = None if self._readers.reranker is None else self._readers.reranker.name
        if (wanted := receipt.settings.get("reranker")) != own:
            raise SettingError(
                f"the receipt's passages were put in order by {wanted!r}, here it is {own!r}; "
                "open the store with that reranker (reranker=…)"
            )


def beside_the_rest(
    ask: Ask, *, room_for: Callable[[int], tuple[Budget, str | None]], filled: Callable[[Budget], Context]
) -> Context:
    """The fullest context that the budget has room for beside a map and the question, where these are wanted."""
    whole, settings = ask.budget, ask.settings
    room, drawn, slack = whole, None, 0
    while True:
        if settings.shows_question or settings.map_percent:
            room, drawn = room_for(slack)
        made = filled(room)
        if drawn is not None or settings.shows_question:
            made = replace(made, map_text=drawn, with_question=settings.shows_question)
        over = _prompt_tokens(made) - whole.available - (whole.reserved_query if settings.shows_question else 0)
        if room is whole or over <= 0:
            return made
        slack += over  # tokens that came to it where the parts meet


def _prompt_tokens(made: Context) -> int:
    """What a context counts together with its map and its question."""
    if made.map_text is None and not made.with_question:
        return made.tokens
    counter = made.counter or tokens_for(made.model)
    before = "" if made.map_text is None else map_part(made.format, made.map_text)
    after = question_part(made.format, made.question or "") if made.with_question else ""
    return counter.count(f"{before}{made.text}{after}")


def ask_for(
    question: str | Ask,
    budget: Budget | int,
    settings: AskSettings | None,
    field: FieldSettings | None,
    choices: Mapping[str, Any],
) -> Ask:
    """What is asked, whichever way it was said."""
    if not isinstance(question, Ask):
        question = Ask(readable(question), budget_of(budget), settings or AskSettings(), field or FieldSettings())
    return replace(question, settings=replace(question.settings, **choices)) if choices else question


def readable(question: object) -> str:
    """A question that can be written down: half a surrogate pair becomes a question mark, as it is read."""
    if not isinstance(question, str):
        raise InputError(f"a question is a str, got {type(question).__name__}: {question!r:.60}")
    return question.encode("utf-8", "replace").decode()


def _several(path: str | Sequence[str]) -> tuple[str, ...]:
    return Filters(path=path if isinstance(path, str) else tuple(path)).path  # type: ignore[arg-type]  # one is several


def _asked_words(found: Found) -> tuple[frozenset[bytes], ...]:
    """The words of a question that say something, each with the terms that it may stand as."""
    return tuple(frozenset(term for form in sense.forms for term in form) for sense in found.senses)
