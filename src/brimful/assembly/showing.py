"""A context as it leaves: as JSON, and as the arguments of providers' clients.

The budget covers the context alone. The system prompt, the question and what a provider adds around messages belong to
the reserves of the `Budget`. With `with_question` and `map_percent` the engine takes these from the room for the
context, so that `Context.prompt` is within the budget.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, NamedTuple

from brimful.assembly.formats.markdown import fenced
from brimful.assembly.formats.plain import MAP, QUESTION, with_backslashes
from brimful.assembly.formats.xml import as_text
from brimful.errors import FormatError, InputError
from brimful.results import (
    LeftOut,
    ShownCluster,
    ShownCoherence,
    ShownCorrection,
    ShownMatch,
    ShownPart,
    ShownWindow,
    as_record,
)
from brimful.search.search import MatchedWord
from brimful.search.spelling import Correction
from brimful.settings import FormatName
from brimful.text.terms import QueryTerm, query_terms
from brimful.windows.window import Cluster, Coherence, Window

if TYPE_CHECKING:
    from brimful.assembly.context import Condensed, Context, Omitted
    from brimful.assembly.formats import Payload

_WORD_GAP_BYTES = 8  # at most, between the two terms of a compound word
Message = dict[str, object]


def context_record(context: Context, *, prices: int = 0) -> dict[str, object]:
    """A context with its citations and its account as JSON values; `prices` adds the prices of omitted windows."""
    return {
        "question": context.question,
        "text": context.text,
        "prompt": context.prompt if context.with_question or context.map_text else None,
        "payload": None if isinstance(context.payload, str) else context.payload,
        "tokens": context.tokens,
        "content_tokens": context.content_tokens,
        "budget": context.budget.available,
        "account": asdict(context.account),
        "model": context.model,
        "exact": context.exact,
        "format": context.format,
        "packing": context.packing,
        "truncated": context.truncated,
        "windows": [as_record(window) for window in _shown_windows(context)],
        "clusters": [as_record(_cluster(cluster, context.windows)) for cluster in context.clusters],
        "read": None if context.read is None else asdict(context.read),
        "relevance": None if context.relevance is None else asdict(context.relevance),
        "digests": [_digest_record(digest) for digest in context.digests],
        "receipt": context.receipt.id if context.receipt else None,
        "corrections": corrections_record(context.corrections),
        "omitted": [_omitted_record(omitted, with_price=bool(prices)) for omitted in context.omitted],
    }


def corrections_record(corrections: Iterable[Correction]) -> list[dict[str, object]]:
    """The words that were searched for in addition to misspelt ones."""
    return [as_record(_correction(correction)) for correction in corrections]


def _correction(correction: Correction) -> ShownCorrection:
    word, term = (spelling.decode("utf-8", "replace") for spelling in (correction.word, correction.term))
    return ShownCorrection(word, term, correction.how, correction.distance, correction.weight)


def _digest_record(digest: Condensed) -> dict[str, object]:
    return {
        "path": digest.path,
        "model": digest.model,
        "source": digest.source,
        "sentences": [
            {
                "start": span.start,
                "end": span.end,
                "text": digest.document.text(span.start, span.end),
                "sources": [[source.start, source.end] for source in sources],
            }
            for span, sources in digest.sentences
        ],
    }


def _shown_windows(context: Context) -> list[ShownWindow]:
    """The windows of a context, with what its store said of them."""
    windows = context.windows
    in_windows = matches(windows, context.senses)
    origins, lengths = context.origins or [()] * len(windows), context.lengths or [None] * len(windows)
    return [_window(*shown) for shown in zip(windows, in_windows, origins, lengths, strict=True)]


def _window(window: Window, in_window: Iterable[Match], origins: tuple[str, ...], length: int | None) -> ShownWindow:
    best = min(window.hits, key=lambda hit: hit.order, default=None)
    return ShownWindow(
        path=window.path,
        start=window.start,
        end=window.end,
        lines=window.lines,
        origins=origins,
        score=window.score,
        filling=window.filling,
        length=len(window.document) if length is None and window.document else length,
        lexical=best.lexical if best else None,
        semantic=best.semantic if best else None,
        text=window.text,
        terms=tuple(sorted({term for hit in window.hits for term in hit.terms})),
        matches=tuple(ShownMatch(*match) for match in in_window),
        coherence=_coherence(window.coherence),
        strategy=window.strategy,
        also_in=tuple(window.also_in),
    )


def _coherence(coherence: Coherence) -> ShownCoherence:
    parts = (ShownPart(part.name, part.value, part.weight, part.why) for part in coherence.parts)
    return ShownCoherence(coherence.score, tuple(parts))


def _cluster(cluster: Cluster, windows: Sequence[Window]) -> ShownCluster:
    """A cluster, with its windows by their number in the context."""
    numbers = {window.id: number for number, window in enumerate(windows)}
    members = tuple(numbers[window.id] for window in cluster.windows)
    return ShownCluster(cluster.strategy, _coherence(cluster.coherence), members)


def _omitted_record(omitted: Omitted, *, with_price: bool) -> dict[str, object]:
    window, reason, better = omitted.window, omitted.reason, omitted.duplicate_of
    record = as_record(
        LeftOut(window.path, window.start, window.end, window.score, reason, better, window.lines, omitted.enters_at)
    )
    if not with_price:
        del record["enters_at"]
    return record


class Match(NamedTuple):
    """Bytes of a document that match a word of the question."""

    start: int
    end: int
    word: str


def matches(windows: Sequence[Window], senses: Sequence[MatchedWord]) -> tuple[tuple[Match, ...], ...]:
    """The matches of all words in each window, in order, without overlaps; a whole word hides its parts.

    >>> tea = MatchedWord("tea", ((b"tea",), (b"teas",)))
    >>> matches([Window("a.md", "Green teas.", 100), Window("b.md", "My tea.")], [tea])
    ((Match(start=106, end=110, word='tea'),), (Match(start=3, end=6, word='tea'),))
    """
    terms = query_terms("\n".join(window.text for window in windows))  # no term contains a line's end
    single = {form[0]: sense.word for sense in reversed(senses) for form in sense.forms if len(form) == 1}
    pairs = {form: sense.word for sense in reversed(senses) for form in sense.forms if len(form) == 2}
    places = [Match(term.start, term.end, single[term.term]) for term in terms if term.term in single]
    places += _compounds([term for term in terms if not term.is_part], pairs)
    begins = list(accumulate((window.end - window.start + 1 for window in windows), initial=0))
    in_windows: list[list[Match]] = [[] for _ in windows]
    for start, end, word in _without_overlaps(places):
        number = bisect_right(begins, start) - 1
        shift = windows[number].start - begins[number]
        if end < begins[number + 1]:
            in_windows[number].append(Match(start + shift, end + shift, word))
    return tuple(map(tuple, in_windows))


def _compounds(terms: Sequence[QueryTerm], pairs: Mapping[tuple[bytes, bytes], str]) -> Iterator[Match]:
    if not pairs:
        return
    for first, second in pairwise(terms):
        word = pairs.get((first.term, second.term))
        if word is not None and second.start - first.end <= _WORD_GAP_BYTES:
            yield Match(first.start, second.end, word)


def _without_overlaps(places: Iterable[Match]) -> Iterator[Match]:
    reached = 0
    for place in sorted(places, key=lambda place: (place.start, -place.end, place.word)):
        if place.start >= reached:
            yield place
            reached = place.end


def question_part(format: FormatName, question: str) -> str:  # noqa: A002
    """A question as it follows a context of a format.

    >>> question_part("xml", "Is 3 < 4?")
    '<question>Is 3 &lt; 4?</question>\\n'
    """
    if format == "xml":
        return f"<question>{as_text(question)}</question>\n"
    if format == "json":
        return json.dumps({"question": question}, ensure_ascii=False) + "\n"
    if format in ("plain", "messages"):
        return f"\n{QUESTION}\n{question}\n"
    return question if format == "anthropic" else f"\n{question}\n"


def map_part(format: FormatName, drawn: str) -> str:  # noqa: A002
    """A map of the corpus as it precedes a context of a format, escaped so that no line looks like a header."""
    if format == "xml":
        return f"<map>\n{as_text(drawn)}</map>\n"
    if format == "json":
        return json.dumps({"map": drawn}, ensure_ascii=False) + "\n"
    if format == "markdown":
        return f"### Map\n\n{fenced(drawn)}\n"
    return f"{MAP}\n{with_backslashes(drawn)}\n"


def prompt_of(context: Context) -> Payload:
    """Map, context and question together, if the budget covers map or question."""
    form = context.format
    question = context.question if context.with_question else None
    if question is None and context.map_text is None:
        return context.payload
    if form == "windows":
        raise FormatError("windows are for programs that write their own prompt; ask with another format")
    before = "" if context.map_text is None else map_part(form, context.map_text)
    after = "" if question is None else question_part(form, question)
    if form == "anthropic":
        assert isinstance(context.payload, list)
        texts: list[list[Message]] = [[{"type": "text", "text": part}] if part else [] for part in (before, after)]
        return [*texts[0], *context.payload, *texts[1]]
    text = f"{before}{context.text}{after if context.text or before else after.lstrip()}"
    return [{"role": "user", "content": text}] if form == "messages" else text


def openai_messages(context: Context, *, system: str | None, question: str | None) -> list[Message]:
    """An optional system message, then a user message of the counted text, an empty line and the question."""
    if context.format == "anthropic":
        raise FormatError("this context was counted as blocks for Anthropic; ask with format='messages' for this shape")
    question = _question(context, question)
    gap = "" if not (context.text and question) else "\n" if context.text.endswith("\n") else "\n\n"
    content = f"{context.text}{gap}{question}"
    messages: list[Message] = [] if system is None else [{"role": "system", "content": system}]
    return [*messages, {"role": "user", "content": content}]


def anthropic_arguments(context: Context, *, system: str | None, question: str | None) -> dict[str, object]:
    """`messages` with one search result per document, citations enabled, then the question; `system` if given."""
    if context.format != "anthropic":
        raise FormatError(
            f"this context was counted as {context.format}, which search result blocks may exceed; "
            "ask with format='anthropic'"
        )
    question = _question(context, question)
    assert isinstance(context.payload, list)
    blocks = [*context.payload, *([{"type": "text", "text": question}] if question else [])]
    messages = [{"role": "user", "content": blocks}]
    return {"messages": messages} if system is None else {"system": system, "messages": messages}


def _question(context: Context, question: str | None) -> str:
    """The question to send: this one, or the one that was asked."""
    text = context.question or "" if question is None else question
    if not context.text and not text:
        raise InputError("there is nothing to send: the context is empty and no question is given")
    return text
