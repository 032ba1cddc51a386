"""The result: one text, its windows, and the origin of every byte and the reason of every omission."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, chain, pairwise
from operator import add
from typing import TYPE_CHECKING, Literal, NamedTuple

from brimful.assembly.citing import Checked, check_answer
from brimful.assembly.formats import Block, Form, Fragment, Payload, Showing, form_for
from brimful.assembly.formats.form import in_block
from brimful.assembly.notebook import context_html
from brimful.assembly.showing import anthropic_arguments, context_record, openai_messages, prompt_of
from brimful.budget import Budget
from brimful.documents.documents import Document, by_path
from brimful.search.late import ReadReport
from brimful.search.search import Found, MatchedWord
from brimful.search.spelling import Correction
from brimful.settings import FormatName, LineNumbers, Packing
from brimful.text.spans import Span
from brimful.text.tokens import TokenCounter
from brimful.text.vocabularies import tokens_for
from brimful.windows.window import Cluster, Window

if TYPE_CHECKING:
    from brimful.receipts.receipt import Receipt

DIGEST_PREFIX = "digest:"
"""Stands before the document's path in the path of a digest, so that the two differ."""

Reason = Literal["budget", "stopped", "per_document", "duplicate", "empty", "condensed"]


@dataclass(frozen=True, slots=True)
class Omitted:
    """A window that is not in the context, and the reason.

    - `budget`: too long for the tokens that were left at its turn;
    - `stopped`: packing stopped before its turn (score_weighted at the first that does not fit);
    - `per_document`: its document has its `max_per_document` windows already;
    - `duplicate`: a better window has its text;
    - `empty`: it has no text;
    - `condensed`: too long; a digest or some of its own sentences are shown instead.

    `enters_at` is the smallest budget at which it would be packed whole, where prices were asked for.
    """

    window: Window
    reason: Reason
    duplicate_of: str | None = None
    enters_at: int | None = field(default=None, compare=False)  # tokens


@dataclass(frozen=True, slots=True)
class Piece:
    """Some bytes of the rendered text, and their origin.

    `source`: equal bytes of the document. `escape`: a replacement for bytes of the document (`&lt;` for `<`).
    `digest`: a model's words, whose sources `Context.digests` has. `literal`: headers, separators and markers.
    """

    start: int
    end: int
    text: str
    kind: Literal["source", "escape", "digest", "literal"]
    path: str | None = None
    document_id: str | None = None
    source_start: int = -1
    source_end: int = -1


class DigestSentence(NamedTuple):
    """A sentence of a digest: its range there, and the ranges of the source that it came from."""

    span: Span
    sources: tuple[Span, ...]


@dataclass(frozen=True, slots=True)
class Condensed:
    """A digest: a document that a model wrote from the parts of another that did not fit."""

    document: Document
    source: str  # the path of the document that was condensed
    model: str
    sentences: tuple[DigestSentence, ...] = field(repr=False)

    @property
    def path(self) -> str:
        """The path that its windows are cited by."""
        return self.document.path


@dataclass(frozen=True, slots=True)
class Relevance:
    """How well the corpus answers a question, and where windows only fill the budget (ruling 19)."""

    covered: float  # share of the question at the best place, from 0 to 1
    lacking: float  # share of the question in words that no document has
    missing: tuple[str, ...]  # these words
    end: float  # the score below which windows only fill
    reason: str | None = None  # why the answer is empty
    nearest: bool = False  # whether it is empty though `anyway` would show something near


def relevance_of(found: Found, context: Context) -> Relevance:
    """The relevance of a context, from its search."""
    reason = None if context.windows else why_empty(found, is_full=bool(context.omitted))
    nearest = bool(reason and found.is_unanswerable and found.hits and not context.omitted)
    return Relevance(found.covered, found.lacking, found.missing, found.end, reason, nearest)


def why_empty(found: Found, *, is_full: bool = False) -> str:
    """The reason of an empty answer; `is_full` says that hits did not fit."""
    query = found.query
    narrows = query.has_filters or query.phrases or query.excluded or query.excluded_phrases
    if is_full:
        return "what was found does not fit into the budget"
    if found.missing and (found.is_unanswerable or not narrows):
        return f"no document has: {', '.join(found.missing)}"
    if narrows:
        return f"the filters leave nothing{' that has a word of the question' if query.terms else ''}"
    return "no document has a word of the question" if query.terms else "the question has no word to look for"


def digest_document(path: str, text: str | bytes) -> Document:
    """A model's text as a document: prose without a time."""
    return Document(path, text, kind="prose", language="text")


# ---- account: where the tokens of a budget go, each token once.


@dataclass(frozen=True, slots=True)
class Account:
    """A budget in tokens. The reserves, the five parts and `free` add up to `total`; the parts are `used`.

    - `headers`: names of documents and text between windows, details and tags included;
    - `seams`: text from elsewhere in a document that explains a window, with its frame;
    - `markers`: `[...]` at gaps and cut edges with the lines that follow, and backslashes that escape look-alikes;
    - `content`: the windows' own bytes; `digests`: a model's words instead of them.
    """

    total: int
    reserved_system: int
    reserved_query: int
    reserved_response: int
    available: int
    used: int
    headers: int
    seams: int
    markers: int
    content: int
    digests: int
    free: int


def _account_of(
    fragments: Sequence[tuple[Window | None, Fragment]],
    *,
    counter: TokenCounter,
    budget: Budget,
    generated: Collection[str] = (),
) -> Account:
    """The account of a text written from these fragments; `generated` are the paths of digests.

    Neighbouring fragments can share a token, so each is charged what it adds to the text before it.

    >>> from brimful.text.vocabularies import tokens_for
    >>> tea = [(None, Fragment("[DOC: a]\\n")), (Window("a", "Tea."), Fragment("Tea.", "source", 0, 4, "content"))]
    >>> account = _account_of(tea, counter=tokens_for("gpt-4o"), budget=Budget(20, 0, 0, 0))
    >>> account.headers, account.content, account.free
    (5, 2, 13)
    """
    sums = dict.fromkeys(("headers", "seams", "markers", "content", "digests"), 0)
    charges = _charges([fragment.text for _, fragment in fragments], counter)
    for (window, fragment), tokens in zip(fragments, charges, strict=True):
        is_generated = fragment.role == "content" and window is not None and window.path in generated
        sums["digests" if is_generated else fragment.role] += tokens
    used = sum(sums.values())
    return Account(
        total=budget.total,
        reserved_system=budget.reserved_system,
        reserved_query=budget.reserved_query,
        reserved_response=budget.reserved_response,
        available=budget.available,
        used=used,
        **sums,
        free=budget.available - used,
    )


def _charges(texts: Sequence[str], counter: TokenCounter) -> list[int]:
    """The tokens that each text adds to the texts before it, never below zero."""
    totals = [measure.tokens for measure in accumulate(map(counter.measure, texts), add)]
    # A longer text can cost less than its beginning: what is saved is taken from the text that was begun.
    lowest = list(accumulate(reversed(totals), min))[::-1]
    return [later - earlier for earlier, later in pairwise(chain([0], lowest))]


@dataclass(frozen=True, slots=True)
class Context:
    """The packed, rendered result (AssembledContext). `str(context)` is its text."""

    text: str
    tokens: int
    blocks: tuple[Block, ...]
    budget: Budget
    model: str
    exact: bool
    format: FormatName
    packing: Packing
    content_tokens: int
    truncated: bool
    include_metadata: bool = False
    line_numbers: LineNumbers = "ranges"
    omitted: tuple[Omitted, ...] = ()
    trimmed: tuple[str, ...] = ()
    question: str | None = None
    corrections: tuple[Correction, ...] = ()
    digests: tuple[Condensed, ...] = ()
    clusters: tuple[Cluster, ...] = ()  # linked by a strategy; shown windows only
    relevance: Relevance | None = None
    origins: tuple[tuple[str, ...], ...] = ()  # of each window: pages or cells of the file it was converted from
    lengths: tuple[int | None, ...] = ()  # of each window: bytes of its stored document
    read: ReadReport | None = field(default=None, compare=False)  # what a model read for it
    with_question: bool = False  # whether the budget covers the question
    map_text: str | None = None  # before the text, within the budget
    receipt: Receipt | None = field(default=None, repr=False, compare=False)
    senses: tuple[MatchedWord, ...] = field(default=(), repr=False, compare=False)
    counter: TokenCounter | None = field(default=None, repr=False, compare=False)  # None: the counter of `model`

    def __str__(self) -> str:
        return self.text

    @property
    def windows(self) -> tuple[Window, ...]:
        """The windows in reading order."""
        return tuple(window for block in self.blocks for window in block.windows)

    @property
    def showing(self) -> Showing:
        """The details that are shown of each window."""
        return Showing(self.include_metadata, self.line_numbers)

    @property
    def payload(self) -> Payload:
        """The text to send, or the provider's structure for `messages` and `anthropic`."""
        return form_for(self.format).payload(self.blocks, self.text, self.showing)

    @property
    def prompt(self) -> Payload:
        """The payload with the map and the question if `map_percent` or `with_question` put them in the budget."""
        return prompt_of(self)

    def to_openai_messages(self, system: str | None = None, *, question: str | None = None) -> list[dict[str, object]]:
        """`messages` for a chat completion: this text and the question; `tokens` counts the text alone.

        `question` replaces the one that was asked; an empty one leaves it out.
        """
        return openai_messages(self, system=system, question=question)

    def to_anthropic(self, system: str | None = None, *, question: str | None = None) -> dict[str, object]:
        """Arguments for Anthropic's `messages.create`: search results with citations, and the question.

        For a context of `format="anthropic"`, whose `tokens` counts each block's source, title and texts.
        """
        return anthropic_arguments(self, system=system, question=question)

    def _repr_html_(self) -> str:
        """The view of a notebook."""
        return context_html(self)

    def to_json(self) -> str:
        """Text, windows, corrections and omissions as one JSON object."""
        return json.dumps(context_record(self), ensure_ascii=False)

    @property
    def pieces(self) -> tuple[Piece, ...]:
        """The text in order as pieces, each with its origin (invariant 3)."""
        return tuple(_pieces(self))

    @property
    def account(self) -> Account:
        """The tokens of the budget by purpose."""
        fragments = written(self.blocks, form=form_for(self.format), showing=self.showing)
        return _account_of(
            [(window, fragment) for window, fragment in fragments if fragment.text],
            counter=self.counter or tokens_for(self.model),
            budget=self.budget,
            generated={digest.path for digest in self.digests},
        )

    @property
    def held_bytes(self) -> int:
        """Bytes of the documents that its windows, shown or left out, keep in memory."""
        windows = (*self.windows, *(omitted.window for omitted in self.omitted))
        documents = {id(window.document): window.document for window in windows if window.document is not None}
        return sum(len(document.content) for document in documents.values() if document.is_whole)

    def check_answer(self, answer: str) -> Checked:
        """Check the quotations and citations of an answer against this context."""
        return check_answer(answer, self.windows)

    def drift(self, documents: Iterable[Document] | Mapping[str, Document] | None = None) -> list[str]:
        """Compare every cited byte with its document and name the changes; an empty list means none.

        `documents` are the sources as they are now; without them the windows' own documents are read again.
        """
        current = by_path(documents) if documents is not None else None
        packed = {window.document.id: window.document for window in self.windows if window.document}
        changes = []
        pieces = self.pieces
        for piece in pieces:
            if piece.kind != "source" or piece.path is None:
                continue
            where = f"{piece.path} [{piece.source_start}, {piece.source_end})"
            document = current.get(piece.path) if current is not None else packed.get(piece.document_id or "")
            if document is None:
                changes.append(f"{where}: the document is missing")
            elif document.content[piece.source_start : piece.source_end] != piece.text.encode():
                changes.append(f"{where}: the bytes have changed")
            elif piece.document_id is not None and document.id != piece.document_id:
                changes.append(f"{where}: the cited bytes are there, but the document has changed elsewhere")
        if "".join(piece.text for piece in pieces) != self.text:
            changes.append("the text is not what its pieces say")
        return changes


def verify_determinism(assemble: Callable[[], Context]) -> bool:
    """Assemble twice and compare window ids and bytes (CFS §12)."""
    first, second = assemble(), assemble()
    first_ids, second_ids = ([window.id for window in context.windows] for context in (first, second))
    return first_ids == second_ids and first.text.encode() == second.text.encode()


def written(blocks: Iterable[Block], *, form: Form, showing: Showing) -> Iterator[tuple[Window | None, Fragment]]:
    """The fragments of the rendered text in order, each with its window (None between windows)."""
    filled = [block for block in blocks if block.windows]
    if not filled:
        return
    yield None, Fragment(form.opening)
    for number, block in enumerate(filled):
        head = form.head(block.path, block.windows[0], showing)
        yield None, Fragment((form.block_separator if number else "") + head)
        for window, above, body in in_block(block.windows, form, showing):
            for fragment in above:
                yield (None if fragment.kind == "literal" else window), fragment
            for fragment in body:
                yield window, fragment
        for fragment in form.tail(block.windows[-1], showing):
            yield None, fragment
    yield None, Fragment(form.closing)


def text_of(blocks: Iterable[Block], *, form: Form, showing: Showing) -> str:
    """The rendered text."""
    return "".join([fragment.text for _, fragment in written(blocks, form=form, showing=showing)])


def _pieces(context: Context) -> Iterator[Piece]:
    start = 0
    form = form_for(context.format)
    generated = {digest.path for digest in context.digests}
    for window, fragment in written(context.blocks, form=form, showing=context.showing):
        if not fragment.text:
            continue
        end = start + len(fragment.text.encode())
        if window is None or fragment.kind == "literal":
            yield Piece(start, end, fragment.text, "literal")
        else:
            document_id = window.document.id if window.document else None
            kind = "digest" if window.path in generated else fragment.kind
            yield Piece(start, end, fragment.text, kind, window.path, document_id, fragment.start, fragment.end)
        start = end
