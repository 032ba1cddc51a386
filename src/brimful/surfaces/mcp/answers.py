"""The texts that a model reads as answers of the tools.

Texts of documents are indented and names stay on one line, so that neither can pass for a line of the server.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from brimful import limits
from brimful.assembly.citing import Checked
from brimful.assembly.citing import Place as QuotedPlace
from brimful.assembly.context import Context, why_empty
from brimful.assembly.explain import Explanation
from brimful.corpus import Corpus
from brimful.densify.captures import Capture
from brimful.documents.documents import Document
from brimful.receipts.offline import Findings
from brimful.receipts.receipt import Receipt
from brimful.search.search import Found
from brimful.settings import Ask, Filters
from brimful.text.spans import Span, back_to_code_point

_OTHER_WORDS = "Use other words for it, or name what a document about it would say."
_FEWER_FILTERS = "Drop filters, or widen them."
_ANYWAY = "Call again with set='anyway=on' to see what is nearest."


def one_line(text: str) -> str:
    r"""A name with its control characters and line ends escaped.

    >>> one_line("a\nb")
    'a\\nb'
    """
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)


def ranges(numbers: Sequence[int]) -> str:
    """Growing numbers in few words.

    >>> ranges([2, 3, 4, 7, 9, 10])
    '2-4, 7, 9-10'
    """
    runs: list[list[int]] = []
    for number in numbers:
        if runs and runs[-1][-1] == number - 1:
            runs[-1][1:] = [number]
        else:
            runs.append([number])
    return ", ".join("-".join(map(str, run)) for run in runs)


def _short_id(receipt: Receipt) -> str:
    """The first characters of a receipt's id, by which the tools take it."""
    return receipt.id[: limits.RECEIPT_CHARACTERS]


def context_note(ask: Ask, context: Context) -> str:
    """A context's tokens and receipt, what it lacks, and what to do about it."""
    assert context.receipt is not None  # an engine gives every context one
    about = "" if context.exact else "about "
    parts = [f"{about}{context.tokens} of {context.budget.available} tokens; receipt {_short_id(context.receipt)}."]
    parts += [f"{_text(each.word)} was searched as {_text(each.term)} too." for each in context.corrections]
    relevance = context.relevance
    if relevance is not None and context.windows:
        parts += [_missing(relevance.missing)]
        filling = [number for number, window in enumerate(context.windows, 1) if window.filling]
        parts += [f"Passages that only fill the budget, in reading order: {ranges(filling)}."] if filling else []
    elif relevance is not None:
        parts += [f"Nothing found: {one_line(relevance.reason or '')}.", _advice(ask.settings.filters, context)]
    return " ".join(filter(None, parts))


def _advice(filters: Filters, context: Context) -> str:
    """The remedy for an empty context."""
    if context.omitted:
        return f"Raise the budget of {context.budget.available}, or lower the reserves."
    nearest = context.relevance is not None and context.relevance.nearest
    return f"{_OTHER_WORDS if filters == Filters() else _FEWER_FILTERS}{' ' + _ANYWAY if nearest else ''}"


def _missing(words: Sequence[str]) -> str:
    return f"No document has: {', '.join(map(one_line, words))}." if words else ""


def hits(corpus: Corpus, results: Found) -> str:
    """The places of a search, best first, with their text."""
    lines = [_missing(results.missing)] if results.hits else [f"Nothing found: {one_line(why_empty(results))}."]
    if not results.hits:
        lines.append(_FEWER_FILTERS if results.query.has_filters else _OTHER_WORDS)
    lines += [f"{_text(each.word)}: searched as {_text(each.term)} too" for each in results.corrections]
    for number, hit in enumerate(results.hits, 1):
        first, last = corpus.lines(hit.path, hit.start, hit.end)
        origins = "".join(f", {one_line(origin)}" for origin in corpus.origins(hit.path, hit.start, hit.end))
        place = f"{one_line(hit.path)}, lines {first}-{last} (bytes {hit.start}-{hit.end}){origins}"
        text = corpus.text(hit.path, hit.start, hit.end)[: limits.HIT_CHARACTERS]
        lines += [f"{number}. {place}, score {hit.score:.3f}", indented(text)]
    return "\n".join(filter(None, lines))


def _text(word: bytes) -> str:
    return one_line(word.decode("utf-8", "replace"))


def indented(text: str) -> str:
    """A document's text with four blanks before every line."""
    return "\n".join(f"    {line}" for line in text.splitlines())


def passage(corpus: Corpus, document: Document, span: Span) -> list[str]:
    """A stretch of a document, and where it stands and goes on."""
    start, stop = (back_to_code_point(document.content, offset) for offset in (span.start, span.end))
    end = min(stop, back_to_code_point(document.content, start + limits.MODEL_PASSAGE_BYTES))
    first, last = document.lines(start, end)
    origins = "".join(f", {one_line(origin)}" for origin in corpus.origins(document.path, start, end))
    note = f"{one_line(document.path)}, lines {first}-{last} of {document.line_count}{origins}; "
    note += f"bytes {start}-{end} of {len(document)}"
    if end < len(document):
        note += f"; read on with start={end}"
    return [document.text(start, end) or "(no text)", note]


def explanation(explained: Explanation) -> Iterator[str]:
    """How a question was understood, what is in, and what is not."""
    context, results = explained.context, explained.found
    for word, count in results.census:
        yield f"{one_line(word)}: occurs {count} times"
    for correction in results.corrections:
        yield f"{_text(correction.word)}: searched as {_text(correction.term)} too"
    if results.missing:
        yield _missing(results.missing)
    if context.relevance is not None and context.relevance.reason:
        yield f"empty: {one_line(context.relevance.reason)}"
    assert context.receipt is not None  # an engine gives every context one
    yield _summary(context.receipt, len(context.windows))
    for window in context.windows:
        words = sorted({term for hit in window.hits for term in hit.terms})
        prior = explained.prior(window)
        marks = [*([f"; {prior}"] if prior else []), *(["; fills"] if window.filling else [])]
        place = _place(window.path, window.start, window.end, window.lines)
        yield f"in  {place}, score {window.score:.3f}: {_words(words)}{''.join(marks)}"
    for omitted in context.omitted[: limits.OMITTED]:
        window = omitted.window
        place = _place(window.path, window.start, window.end, window.lines)
        yield f"out {place}, score {window.score:.3f}: {omitted.reason}{_enters(omitted.enters_at)}"
    yield from _more(len(context.omitted))


def receipt_explanation(receipt: Receipt, findings: Findings) -> Iterator[str]:
    """The windows and omissions of a receipt, and what has changed since."""
    yield _summary(receipt, len(receipt.windows))
    for window in receipt.windows:
        place = _place(window.path, window.start, window.end)
        yield f"in  {place}, score {float(window.score):.3f}: {_words(window.terms)}"
    for omitted in receipt.omitted[: limits.OMITTED]:
        place = _place(omitted.path, omitted.start, omitted.end)
        yield f"out {place}, score {float(omitted.score):.3f}: {omitted.reason}{_enters(omitted.enters_at)}"
    yield from _more(len(receipt.omitted))
    for finding in findings:
        yield f"changed: {one_line(finding.message)}"
    for message in findings.not_checked:
        yield f"not checked: {one_line(message)}"
    if not findings:
        yield "nothing has changed"


def _summary(receipt: Receipt, windows: int) -> str:
    budget = receipt.budget.available
    return f"{receipt.tokens} of {budget} tokens, {windows} windows, receipt {_short_id(receipt)}"


def _place(path: str, start: int, end: int, lines: tuple[int, int] | None = None) -> str:
    cited = f", lines {lines[0]}-{lines[1]}" if lines else ""
    return f"{one_line(path)}{cited} (bytes {start}-{end})"


def _words(terms: Sequence[str]) -> str:
    return ", ".join(map(one_line, terms)) or "no word of the question"


def _enters(budget: int | None) -> str:
    return f", enters at a budget of {budget}" if budget else ""


def _more(omitted: int) -> Iterator[str]:
    if omitted > limits.OMITTED:
        yield f"out {omitted - limits.OMITTED} more"


def verdicts(checked: Checked) -> str:
    """A line for each quotation and citation of an answer, with its verdict."""
    lines = [
        f'{quotation.verdict}: "{one_line(quotation.text)}" {", ".join(map(_lines, quotation.places))}'.rstrip()
        for quotation in checked.quotations
    ]
    lines += [f"{citation.verdict}: {_lines(citation.place)}" for citation in checked.citations]
    lines += [f"changed: {one_line(place)}" for place in checked.changed]
    return "\n".join(lines) or "The answer quotes and cites nothing."


def _lines(place: QuotedPlace) -> str:
    return f"{one_line(place.path)}:{place.first_line}-{place.last_line}"


def captured(capture: Capture) -> str:
    """The path of a capture, and its digest."""
    return f"stored as {one_line(capture.path)} by {one_line(capture.model)}\n{indented(capture.digest)}"
