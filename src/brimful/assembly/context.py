"""What is the result? One text, its windows, and an account of every byte, token and omission."""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import accumulate, chain, pairwise
from operator import add
from typing import TYPE_CHECKING, Literal, NamedTuple

from brimful.assembly.citing import Checked, check_answer
from brimful.assembly.formats import Block, Form, Fragment, Payload, Showing, form_for
from brimful.assembly.formats.form import in_block
from brimful.assembly.showing import anthropic_arguments, context_html, context_record, openai_messages, prompt_of
from brimful.budget import Budget
from brimful.documents.documents import Document, by_path
from brimful.search.late import ReadReport
from brimful.search.search import Found, Sense
from brimful.search.spelling import Correction
from brimful.settings import FormatName, LineNumbers, Packing
from brimful.text.spans import Span
from brimful.text.terms import QueryTerm, query_terms
from brimful.text.tokens import TokenCounter
from brimful.text.vocabularies import tokens_for
from brimful.windows.window import Cluster, Window

if TYPE_CHECKING:
    from collections.abc import Collection

    from brimful.receipts.receipt import Receipt


# ---- account: Where do the tokens of a budget go? Reserves, headers, seams, markers, content and what is free: all of
# them, once.
#
# Texts that stand side by side can share a token, so parts can't be counted one by one. Each fragment is charged what
# the text costs with it beyond what it costs without it, from the first to the last: the charges add up to the total.

Part = Literal["headers", "seams", "markers", "content", "digests"]


@dataclass(frozen=True, slots=True)
class Account:
    """A budget in tokens. The reserves, the five parts and `free` add up to `total`; the parts are `used`.

    - `headers`: what names documents and stands between windows, details and tags included;
    - `seams`: what explains a window from elsewhere in its document, with its frame;
    - `markers`: `[...]` at gaps and cut edges, and the lines that follow; backslashes before what looks like ours;
    - `content`: the windows' own bytes; `digests`: a model's words in their place.
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
    written: Sequence[tuple[Window | None, Fragment]],
    *,
    counter: TokenCounter,
    budget: Budget,
    generated: Collection[str] = (),
) -> Account:
    """The account of a text that was written from these fragments; `generated` are the paths of digests.

    >>> from brimful.text.vocabularies import tokens_for
    >>> made = [(None, Fragment("[DOC: a]\\n")), (Window("a", "Tea."), Fragment("Tea.", "source", 0, 4, "content"))]
    >>> found = _account_of(made, counter=tokens_for("gpt-4o"), budget=Budget(20, 0, 0, 0))
    >>> found.headers, found.content, found.free
    (5, 2, 13)
    """
    shown = [(window, fragment) for window, fragment in written if fragment.text]
    parts = list(_parts(shown, generated))
    sums = dict.fromkeys(("headers", "seams", "markers", "content", "digests"), 0)
    for part, tokens in zip(parts, _charges([fragment.text for _, fragment in shown], counter), strict=True):
        sums[part] += tokens
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
    """What each text adds to those before it, never less than nothing."""
    if not texts:
        return []
    costs = [measure.tokens for measure in accumulate(map(counter.measure, texts), add)]
    # A longer text can cost less than its beginning: what is saved is taken from the text that was begun.
    low = list(accumulate(reversed(costs), min))[::-1]
    return [later - earlier for earlier, later in pairwise(chain([0], low))]


def _parts(shown: Sequence[tuple[Window | None, Fragment]], generated: Collection[str]) -> Iterator[Part]:
    for window, fragment in shown:
        is_generated = fragment.role == "content" and window is not None and window.path in generated
        yield "digests" if is_generated else fragment.role


# ---- matches: Where in the windows of a context do the words of a question stand?

_GAP_BYTES = 8  # between two terms that one word is written as


class Match(NamedTuple):
    """Bytes of a document that a word of the question was found as."""

    start: int
    end: int
    word: str


def matches(windows: Sequence[Window], senses: Sequence[Sense]) -> tuple[tuple[Match, ...], ...]:
    """The places of all words in each window, in order and apart; a whole word hides the parts of itself.

    >>> tea = Sense("tea", ((b"tea",), (b"teas",)))
    >>> matches([Window("a.md", "Green teas.", 100), Window("b.md", "My tea.")], [tea])
    ((Match(start=106, end=110, word='tea'),), (Match(start=3, end=6, word='tea'),))
    """
    found = query_terms("\n".join(window.text for window in windows))  # no term has a line's end in it
    single = {form[0]: sense.word for sense in reversed(senses) for form in sense.forms if len(form) == 1}
    pairs = {form: sense.word for sense in reversed(senses) for form in sense.forms if len(form) == 2}
    places = [Match(term.start, term.end, single[term.term]) for term in found if term.term in single]
    places += _following([term for term in found if not term.is_part], pairs)
    begins = list(accumulate((window.end - window.start + 1 for window in windows), initial=0))
    shown: list[list[Match]] = [[] for _ in windows]
    for start, end, word in _apart(places):
        at = bisect_right(begins, start) - 1
        shift = windows[at].start - begins[at]
        if end < begins[at + 1]:
            shown[at].append(Match(start + shift, end + shift, word))
    return tuple(map(tuple, shown))


def _following(terms: Sequence[QueryTerm], pairs: Mapping[tuple[bytes, bytes], str]) -> Iterator[Match]:
    if not pairs:
        return
    for first, second in pairwise(terms):
        word = pairs.get((first.term, second.term))
        if word is not None and second.start - first.end <= _GAP_BYTES:
            yield Match(first.start, second.end, word)


def _apart(places: Iterable[Match]) -> Iterator[Match]:
    reached = 0
    for place in sorted(places, key=lambda place: (place.start, -place.end, place.word)):
        if place.start >= reached:
            yield place
            reached = place.end


# ---- context: What is the result? One text, its windows, and an account of every byte and every omission.

DIGEST_PREFIX = "digest:"
"""The path of a digest is that of its document behind this: it can't be taken for a document."""

Reason = Literal["budget", "stopped", "per_document", "duplicate", "empty", "condensed"]


def _unpriced(_window: Window) -> None:
    """Nobody has asked for a price."""


@dataclass(frozen=True, slots=True)
class Omitted:
    """A window that is not in the context, and why.

    - `budget`: it did not fit in what was left when its turn came;
    - `stopped`: packing stopped before its turn (score_weighted at the first that does not fit);
    - `per_document`: its document has its `max_per_document` windows already;
    - `duplicate`: a better window says the same;
    - `empty`: it has no text;
    - `condensed`: it did not fit, and a digest or some of its own sentences stand for it.
    """

    window: Window
    reason: Reason
    duplicate_of: str | None = None
    _price: Callable[[Window], int | None] = field(default=_unpriced, repr=False, compare=False)

    @property
    def enters_at(self) -> int | None:
        """The smallest budget at which this window would be packed whole; None where no budget helps.

        What `pack` left out is packed again at growing budgets when it is asked for. An engine's context has prices
        where they were asked for: `explain`, and `Engine.prices`.
        """
        return self._price(self.window) if self.reason in ("budget", "stopped") else None

    def at_price(self, tokens: int | None) -> Omitted:
        """The same, with a price that was worked out."""
        return replace(self, _price=lambda _window: tokens)


@dataclass(frozen=True, slots=True)
class Piece:
    """Some bytes of the rendered text, and where they come from.

    `source`: the same bytes stand in the document. `escape`: they stand for these bytes of the
    document (`&lt;` for `<`). `digest`: a model's words, whose places `Context.digests` has. `literal`: the template's
    own (headers, separators, markers).
    """

    start: int
    end: int
    text: str
    kind: Literal["source", "escape", "digest", "literal"]
    path: str | None = None
    document_id: str | None = None
    source_start: int = -1
    source_end: int = -1


class Said(NamedTuple):
    """A sentence of a digest: its place there, and the ranges of the source that it came from."""

    span: Span
    sources: tuple[Span, ...]


@dataclass(frozen=True, slots=True)
class Condensed:
    """What a model made of the parts of one document that did not fit: a document of its own."""

    document: Document
    source: str  # the path of the document that was condensed
    model: str
    sentences: tuple[Said, ...] = field(repr=False)

    @property
    def path(self) -> str:
        """What its windows are cited by."""
        return self.document.path


@dataclass(frozen=True, slots=True)
class Relevance:
    """Where in an answer what is relevant ends, and what of the question the corpus does not have (ruling 19)."""

    covered: float  # how much of what the question says stands together at the best place, from 0 to 1
    lacking: float  # how much of it are words that no document has
    missing: tuple[str, ...]  # these words
    end: float  # windows whose best hit scores less only fill
    reason: str | None = None  # why the answer is empty
    nearest: bool = False  # whether it is empty though something is near, which `anyway` shows

    def is_filling(self, window: Window) -> bool:
        """Whether a window is there to fill the budget, not because it answers."""
        return max((hit.score for hit in window.hits), default=window.score) < self.end


def relevance_of(found: Found, context: Context) -> Relevance:
    """What a search says about how far its answer can be trusted."""
    end = found.hits[found.relevant - 1].score if found.relevant else 0.0
    reason = None if context.windows else why_empty(found, is_full=bool(context.omitted))
    nearest = bool(reason and found.is_unanswerable and found.hits and not context.omitted)
    return Relevance(found.covered, found.lacking, found.missing, end, reason, nearest)


def why_empty(found: Found, *, is_full: bool = False) -> str:
    """Why there is nothing to show; `is_full` says that something was found and did not fit."""
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
    """What a model wrote as a document of its own: prose without a time."""
    return Document(path, text, kind="prose", language="text")


@dataclass(frozen=True)
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
    clusters: tuple[Cluster, ...] = ()  # the windows that a strategy has linked, those of them that are shown
    relevance: Relevance | None = None
    origins: tuple[tuple[str, ...], ...] = ()  # of each window: pages or cells of the file it was converted from
    lengths: tuple[int | None, ...] = ()  # of each window: bytes of its stored document
    read: ReadReport | None = field(
        default=None, compare=False
    )  # what a model read for it; how much was new is no answer
    with_question: bool = False  # whether the budget covers the question too
    map_text: str | None = None  # a map of the corpus that stands before the text, and that the budget covers
    receipt: Receipt | None = field(default=None, repr=False, compare=False)
    senses: tuple[Sense, ...] = field(default=(), repr=False, compare=False)
    counter: TokenCounter | None = field(default=None, repr=False, compare=False)  # None: the one that `model` names

    def __str__(self) -> str:
        return self.text

    @property
    def windows(self) -> tuple[Window, ...]:
        """The windows in reading order."""
        return tuple(window for block in self.blocks for window in block.windows)

    @property
    def showing(self) -> Showing:
        """What is said of each window beside its text."""
        return Showing(self.include_metadata, self.line_numbers)

    @property
    def payload(self) -> Payload:
        """What to send: the text, or the provider's structure for `messages` and `anthropic`."""
        return form_for(self.format).payload(self.blocks, self.text, self.showing)

    @property
    def prompt(self) -> Payload:
        """What to send with the map and the question, as far as they were asked for: `payload` without either.

        With `with_question` or `map_percent` the budget covers all of it.
        """
        return prompt_of(self)

    def to_openai_messages(self, system: str | None = None, *, question: str | None = None) -> list[dict[str, object]]:
        """`messages` for a chat completion: this text and the question; `tokens` counts the text alone.

        Without a `question` it is the one that was asked; an empty one leaves it out.
        """
        return openai_messages(self, system=system, question=question)

    def to_anthropic(self, system: str | None = None, *, question: str | None = None) -> dict[str, object]:
        """Arguments for Anthropic's `messages.create`: search results with citations, and the question.

        For a context of `format="anthropic"`, whose `tokens` counts each block's source, title and texts.
        """
        return anthropic_arguments(self, system=system, question=question)

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        return context_html(self)

    def to_json(self) -> str:
        """Text, windows, corrections and omissions as one JSON object."""
        return json.dumps(context_record(self), ensure_ascii=False)

    @cached_property
    def pieces(self) -> tuple[Piece, ...]:
        """Every byte of the text, in order: which source bytes it is, or which literal (invariant 3)."""
        return tuple(_pieces(self))

    @cached_property
    def account(self) -> Account:
        """Where the tokens of the budget went; everything adds up to its total."""
        written_text = list(written(self.blocks, form=form_for(self.format), showing=self.showing))
        return _account_of(
            written_text,
            counter=self.counter or tokens_for(self.model),
            budget=self.budget,
            generated={each.path for each in self.digests},
        )

    @cached_property
    def matches(self) -> tuple[tuple[Match, ...], ...]:
        """For each window, where the words of the question stand in it."""
        return matches(self.windows, self.senses)

    @cached_property
    def held_bytes(self) -> int:
        """What it keeps in memory of documents: those of its windows, shown or left out, each once."""
        windows = (*self.windows, *(each.window for each in self.omitted))
        documents = {id(window.document): window.document for window in windows if window.document is not None}
        return sum(len(document.content) for document in documents.values() if document.is_whole)

    def without_prices(self) -> Context:
        """The same, with no price for what is left out."""
        return replace(self, omitted=tuple(replace(each, _price=_unpriced) for each in self.omitted))

    def check_answer(self, answer: str) -> Checked:
        """Which quotations of an answer stand in this context, and which of its citations it shows."""
        return check_answer(answer, self.windows)

    def drift(self, documents: Iterable[Document] | Mapping[str, Document] | None = None) -> list[str]:
        """Re-read every cited byte and name what has changed; an empty list means all is as cited.

        `documents` are the sources as they are now; without them the windows' own are read again.
        """
        known = by_path(documents) if documents is not None else None
        own = {window.document.id: window.document for window in self.windows if window.document}
        found = []
        for piece in self.pieces:
            if piece.kind != "source" or piece.path is None:
                continue
            where = f"{piece.path} [{piece.source_start}, {piece.source_end})"
            document = known.get(piece.path) if known is not None else own.get(piece.document_id or "")
            if document is None:
                found.append(f"{where}: the document is missing")
            elif document.content[piece.source_start : piece.source_end] != piece.text.encode():
                found.append(f"{where}: the bytes have changed")
            elif piece.document_id is not None and document.id != piece.document_id:
                found.append(f"{where}: the cited bytes are there, but the document has changed elsewhere")
        if "".join(piece.text for piece in self.pieces) != self.text:
            found.append("the text is not what its pieces say")
        return found


def verify_determinism(assemble: Callable[[], Context]) -> bool:
    """Assemble twice and compare window ids and bytes (CFS §12)."""
    first, second = assemble(), assemble()
    same_windows = [window.id for window in first.windows] == [window.id for window in second.windows]
    return same_windows and first.text.encode() == second.text.encode()


def written(blocks: Iterable[Block], *, form: Form, showing: Showing) -> Iterator[tuple[Window | None, Fragment]]:
    """The rendered text in order, fragment by fragment, each with its window (None between windows)."""
    shown = [block for block in blocks if block.windows]
    if not shown:
        return
    yield None, Fragment(form.opening)
    for number, block in enumerate(shown):
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
    """The rendered text itself."""
    return "".join([fragment.text for _, fragment in written(blocks, form=form, showing=showing)])


def _pieces(context: Context) -> Iterator[Piece]:
    at = 0
    form = form_for(context.format)
    generated = {each.path for each in context.digests}
    for window, fragment in written(context.blocks, form=form, showing=context.showing):
        if not fragment.text:
            continue
        end = at + len(fragment.text.encode())
        if window is None or fragment.kind == "literal":
            yield Piece(at, end, fragment.text, "literal")
        else:
            document_id = window.document.id if window.document else None
            kind = "digest" if window.path in generated else fragment.kind
            yield Piece(at, end, fragment.text, kind, window.path, document_id, fragment.start, fragment.end)
        at = end
