"""What does a model read where a client shows it the text of a result alone?

Text of documents is indented, and their names are kept on one line, so that none can pass for a line of ours.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from brimful.assembly.context import Context, Relevance
from brimful.surfaces.mcp.schemas import CaptureResult, CheckedResult, Citation, CitedPlace, ExplainResult, SearchResult

NOTHING = "Use other words for the same thing, fewer filters, or name what a document on it would say."
ANYWAY = "Call again with anyway = true to see what is nearest."


def note(context: Context) -> str:
    """What a model should know of an answer that is empty, or that lacks words of the question."""
    about = context.relevance
    if about is None:
        return ""
    if context.windows:
        return " ".join(filter(None, (missing(about.missing), _filling(context, about))))
    return nothing(about.reason or "", nearest=about.nearest)


def _filling(context: Context, about: Relevance) -> str:
    numbers = [number for number, window in enumerate(context.windows, 1) if about.is_filling(window)]
    return f"Passages that only fill the budget, in reading order: {ranges(numbers)}." if numbers else ""


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


def missing(words: Sequence[str]) -> str:
    """Which words of the question no document has."""
    return f"No document has: {', '.join(map(one_line, words))}." if words else ""


def nothing(reason: str, *, nearest: bool = False) -> str:
    """Why there is no answer, and what to do next."""
    return f"Nothing found: {one_line(reason)}. {NOTHING}{' ' + ANYWAY if nearest else ''}"


def one_line(text: str) -> str:
    """With characters that steer or break lines written out.

    >>> one_line("a\\nb")
    'a\\\\nb'
    """
    return "".join(each if each.isprintable() else each.encode("unicode_escape").decode() for each in text)


def place(citation: Citation) -> str:
    """A path with its lines."""
    first, last = citation.lines
    where = f"{one_line(citation.path)}, lines {first}-{last} (bytes {citation.start}-{citation.end})"
    return f"{where}, {', '.join(map(one_line, citation.origins))}" if citation.origins else where


def hits(found: SearchResult) -> str:
    """A search's hits, best first."""
    listed = (
        f"{number}. {place(hit)}, score {hit.score:.3f}\n{indented(hit.text)}"
        for number, hit in enumerate(found.hits, 1)
    )
    return "\n".join([*([found.note] if found.note else ()), *listed])


def indented(text: str) -> str:
    """Every line of a document's text behind four blanks."""
    return "\n".join(f"    {line}" for line in text.splitlines())


def explanation(result: ExplainResult) -> str:
    """Line by line: words, what is in, what is not, what has changed."""
    return "\n".join(_explained(result))


def _explained(result: ExplainResult) -> Iterator[str]:
    for word, count in result.census.items():
        yield f"{one_line(word)}: occurs {count} times"
    for each in result.corrections:
        yield f"{one_line(each.word)}: searched as {one_line(each.term)} too"
    if result.relevance is not None and result.relevance.missing:
        yield f"no document has: {', '.join(map(one_line, result.relevance.missing))}"
    if result.relevance is not None and result.relevance.reason:
        yield f"empty: {one_line(result.relevance.reason)}"
    yield f"{result.tokens} of {result.budget} tokens, {len(result.windows)} windows, receipt {result.receipt}"
    for window in result.windows:
        terms = ", ".join(map(one_line, window.terms)) or "no word of the question"
        prior = f"; {window.prior.kind}: counts {window.prior.counts:g}" if window.prior else ""
        marks = f"{prior}; fills" if window.filling else prior
        yield f"in  {one_line(window.path)} bytes {window.start}-{window.end}, score {window.score:.3f}: {terms}{marks}"
    for omitted in result.omitted:
        where = f"{one_line(omitted.path)} bytes {omitted.start}-{omitted.end}, score {omitted.score:.3f}"
        price = f", enters at a budget of {omitted.enters_at}" if omitted.enters_at else ""
        yield f"out {where}: {omitted.reason}{price}"
    if result.omitted_total > len(result.omitted):
        yield f"out {result.omitted_total - len(result.omitted)} more"
    for finding in result.findings:
        yield f"changed: {one_line(finding.message)}"


def checked(result: CheckedResult) -> str:
    """Each quotation and citation on a line of its own."""
    lines = [
        f'{each.verdict}: "{one_line(each.text)}" {", ".join(map(_lines, each.places))}'.rstrip()
        for each in result.quotations
    ]
    lines += [f"{each.verdict}: {_lines(each.place)}" for each in result.citations]
    lines += [f"changed: {one_line(each)}" for each in result.changed]
    return "\n".join(lines) or "The answer quotes and cites nothing."


def _lines(place: CitedPlace) -> str:
    return f"{one_line(place.path)}:{place.first_line}-{place.last_line}"


def captured(result: CaptureResult) -> str:
    """Where a capture is, and what became of it."""
    return f"stored as {one_line(result.path)} by {one_line(result.model)}\n{indented(result.digest)}"
