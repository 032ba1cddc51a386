"""The quotations and citations of an answer, checked against windows.

A citation is a path with lines, as headers of a context write it: `notes/tea.md:12-30`, `notes/tea.md lines 12-30`,
`notes/tea.md#L12-L30`. A quotation is text in quotation marks, three words or more, or after `>` at the start of lines.
White space, case and the shape of quotation marks and dashes make no difference; dots inside skip text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

from brimful.errors import InputError
from brimful.windows.window import Window

MAX_ANSWER_BYTES = 1 << 20
_MIN_WORDS = 3
"""Shorter quotations are names or manners of speaking."""

_MIN_LETTERS = 8  # of a quotation in a script without spaces
_CITATION_REACH = 120  # characters from the end of a quotation to its citation
_MARKS = {'"': '"', "\u201c": "\u201d", "\u201e": "\u201c\u201d", "\u00ab": "\u00bb", "\u300c": "\u300d"}
_ALIKE = str.maketrans("\u2018\u2019\u201a\u201c\u201d\u201e\u2013\u2014\u2011\u00a0", "'''\"\"\"--- ")
_SKIPPED = re.compile(r"\[?(?:\.\.\.|\u2026)\]?")
_LINES = re.compile(
    r"(?::|#L|,? ?\(?,? ?lines? |,? ?\(?,? ?l\. ?)([0-9]{1,9})(?:(?:-L?|\u2013| to )([0-9]{1,9}))?", re.IGNORECASE
)
_ANY_PATH = re.compile(r"(?<![\w./-])[\w.-][\w./-]{0,200}\.[A-Za-z0-9]{1,10}(?=:[0-9])")
_BLOCK = re.compile(r"^>[^\n]*\n?(?:>[^\n]*\n?)*", re.MULTILINE)
_INSIDE_A_PATH = re.compile(r"[\w./-]")


@dataclass(frozen=True, slots=True)
class Place:
    """Lines of a document, from 1, both ends included; and its bytes `[start, end)` where known."""

    path: str
    first_line: int
    last_line: int
    start: int | None = None
    end: int | None = None

    def __str__(self) -> str:
        lines = f"{self.first_line}-{self.last_line}" if self.last_line > self.first_line else f"{self.first_line}"
        return f"{self.path}:{lines}"


_CitationVerdict = Literal["shown", "outside", "unknown"]
_QuotationVerdict = Literal["stands", "elsewhere", "missing"]


@dataclass(frozen=True, slots=True)
class Citation:
    """A place that an answer cites.

    `shown`: the context has all of these lines. `outside`: it has the document, but not all lines. `unknown`: it has no
    such document.
    """

    said: str
    place: Place
    verdict: _CitationVerdict


@dataclass(frozen=True, slots=True)
class Quotation:
    """Words that an answer quotes, and their places in the context.

    `stands`: the context has them, at the cited lines if any are cited. `elsewhere`: it has them elsewhere.
    `missing`: it does not have them.
    """

    text: str
    places: tuple[Place, ...]
    cited: Place | None
    verdict: _QuotationVerdict


@dataclass(frozen=True, slots=True)
class Checked:
    """The quotations and citations of an answer with verdicts; `changed` are windows that the store no longer has."""

    quotations: tuple[Quotation, ...]
    citations: tuple[Citation, ...]
    changed: tuple[str, ...] = field(default=())

    @property
    def holds(self) -> bool:
        """Whether all quotations and citations could be checked and are right."""
        return (
            not self.changed
            and all(quotation.verdict == "stands" for quotation in self.quotations)
            and all(citation.verdict == "shown" for citation in self.citations)
        )


def check_answer(answer: str, windows: Iterable[Window], *, changed: Sequence[str] = ()) -> Checked:
    """Check the quotations and citations of an answer against the windows that it was written from.

    >>> window = Window("tea.md", "Green tea is brewed for two minutes.", line=3)
    >>> answer = '"Green tea is brewed for two minutes" (tea.md:3), "brewed for ten minutes" (tea.md:3).'
    >>> checked = check_answer(answer, [window])
    >>> [quotation.verdict for quotation in checked.quotations], [cited.verdict for cited in checked.citations]
    (['stands', 'missing'], ['shown', 'shown'])
    """
    if not isinstance(answer, str):
        raise InputError(f"an answer is a text, got {type(answer).__name__}")
    if len(answer.encode(errors="surrogatepass")) > MAX_ANSWER_BYTES:
        raise InputError(f"an answer of more than {MAX_ANSWER_BYTES:,} bytes is not checked; give it in parts")
    sources = [_Source(window) for window in windows]
    citations = list(_citations(answer, sources))
    quotes = list(_quotes(answer))
    ends = [*(start for start, _, _ in quotes[1:]), len(answer)]
    quotations = tuple(_checked(quote, end, citations, sources) for quote, end in zip(quotes, ends, strict=False))
    return Checked(quotations, tuple(citation for _, citation in citations), tuple(changed))


class _Source:
    """A window with its normalised text, and the offset of each of its characters in the original."""

    def __init__(self, window: Window) -> None:
        self.window = window
        self.lines = window.lines or (1, 1 + window.text.count("\n", 0, -1))
        self._text, self._offsets = _plain(window.text)

    def places(self, parts: Sequence[str]) -> Iterator[Place]:
        """The places with these parts in order; each begins with the first part."""
        start = self._text.find(parts[0])
        while start >= 0:
            end = start + len(parts[0])
            for part in parts[1:]:
                end = self._text.find(part, end)
                if end < 0:
                    return
                end += len(part)
            yield self._place(self._offsets[start], self._offsets[end - 1] + 1)
            start = self._text.find(parts[0], start + 1)

    def _place(self, first: int, last: int) -> Place:
        window, text = self.window, self.window.text
        line = self.lines[0]
        start = window.start + len(text[:first].encode())
        return Place(
            window.path,
            line + text.count("\n", 0, first),
            line + text.count("\n", 0, last),
            *((start, start + len(text[first:last].encode())) if window.document is not None else (None, None)),
        )


def _plain(text: str) -> tuple[str, list[int]]:
    """A text in lower case, with single spaces and plain marks, and the offset of each character."""
    characters: list[str] = []
    offsets: list[int] = []
    for offset, character in enumerate(text.translate(_ALIKE)):
        if character.isspace():
            if characters and characters[-1] != " ":
                characters.append(" ")
                offsets.append(offset)
            continue
        lower = character.lower()
        characters.append(lower if len(lower) == 1 else character)
        offsets.append(offset)
    return "".join(characters), offsets


def _citations(answer: str, sources: Sequence[_Source]) -> Iterator[tuple[int, Citation]]:
    """The citations in their order, each with its offset: paths of windows, and anything that looks like a path."""
    paths: list[tuple[int, int, str]] = []
    for path in sorted({source.window.path for source in sources}, key=lambda path: (-len(path), path)):
        for match in re.finditer(re.escape(path), answer):
            is_inside = match.start() > 0 and _INSIDE_A_PATH.match(answer[match.start() - 1])
            if not is_inside and not _overlaps(match, paths):
                paths.append((*match.span(), path))
    paths += [(*match.span(), match[0]) for match in _ANY_PATH.finditer(answer) if not _overlaps(match, paths)]
    for start, end, path in sorted(paths):
        lines = _LINES.match(answer, end)
        if lines:
            first = int(lines[1])
            place = Place(path, first, max(first, int(lines[2] or first)))
            yield start, Citation(answer[start : lines.end()], place, _verdict(place, sources))


def _overlaps(match: re.Match[str], paths: Iterable[tuple[int, int, str]]) -> bool:
    return any(start < match.end() and match.start() < end for start, end, _ in paths)


def _verdict(place: Place, sources: Sequence[_Source]) -> _CitationVerdict:
    lines = [source.lines for source in sources if source.window.path == place.path]
    if not lines:
        return "unknown"
    line = place.first_line
    for first, last in sorted(lines):
        if first <= line <= last:
            line = last + 1
    return "shown" if line > place.last_line else "outside"


def _quotes(answer: str) -> Iterator[tuple[int, int, str]]:
    """The start, end and text of each quotation."""
    for start, end, text in sorted([*_in_marks(answer), *_in_blocks(answer)]):
        plain = _plain(text)[0].strip()
        is_one_word = plain.isalpha() and not plain.isascii() and len(plain) >= _MIN_LETTERS
        if len(plain.split()) >= _MIN_WORDS or is_one_word:
            yield start, end, text


def _in_marks(answer: str) -> Iterator[tuple[int, int, str]]:
    """Quotations in quotation marks, which end with their paragraph at the latest."""
    start = 0
    while start < len(answer):
        closing = _MARKS.get(answer[start])
        start += 1
        if closing:
            paragraph = answer.find("\n\n", start - 1)
            limit = len(answer) if paragraph < 0 else paragraph
            ends = [end for mark in closing if (end := answer.find(mark, start, limit)) >= 0]
            if ends:
                yield start, min(ends), answer[start : min(ends)]
                start = min(ends) + 1


def _in_blocks(answer: str) -> Iterator[tuple[int, int, str]]:
    """Runs of lines after `>`, as Markdown quotes."""
    for match in _BLOCK.finditer(answer):
        yield match.start(), match.end(), "\n".join(row[1:].strip() for row in match[0].rstrip("\n").split("\n"))


def _checked(
    quote: tuple[int, int, str], limit: int, citations: Sequence[tuple[int, Citation]], sources: Sequence[_Source]
) -> Quotation:
    """A quotation with its verdict; the first citation after it and before `limit` says where it should be."""
    _, end, text = quote
    limit = min(limit, end + _CITATION_REACH)
    cited = next((citation.place for start, citation in citations if end <= start < limit), None)
    places = _places(text, sources)
    if not places:
        return Quotation(text, (), cited, "missing")
    is_there = cited is None or any(_touch(place, cited) for place in places)
    return Quotation(text, places, cited, "stands" if is_there else "elsewhere")


def _places(text: str, sources: Sequence[_Source]) -> tuple[Place, ...]:
    """The places of a quoted text, if need be without the punctuation at its end."""
    parts = [plain for part in _SKIPPED.split(text) if (plain := _plain(part)[0].strip())]
    if not parts:
        return ()
    for variant in (parts, [*parts[:-1], parts[-1].rstrip(".,;:!? ")]):
        places = {place for source in sources for place in source.places(variant)} if variant[-1] else set()
        if places:
            return tuple(sorted(places, key=lambda place: (place.path, place.first_line, place.start or 0)))
    return ()


def _touch(one: Place, other: Place) -> bool:
    return one.path == other.path and one.first_line <= other.last_line and other.first_line <= one.last_line
