"""Does what an answer quotes and cites stand where it says? Its quotations and citations, checked against windows.

A citation is a path with lines, as the headers of a context name them: `notes/tea.md:12-30`, `notes/tea.md lines
12-30`, `notes/tea.md#L12-L30`. A quotation is what stands in quotation marks, three words or more, or behind `>` at the
start of lines. White space, the shape of quotation marks and dashes and capitals make no difference, and dots inside
leave something out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from brimful.errors import InputError
from brimful.windows.window import Window

MOST_ANSWER_BYTES = 1 << 20
_LEAST_WORDS = 3
"""A quotation of fewer is a name or a manner of speaking."""

_LEAST_WITHOUT_SPACES = 8  # letters, in scripts that put no spaces between words
_NEAR = 120  # characters behind a quotation in which its citation stands
_MARKS = {"\u201c": "\u201d", "\u201e": "\u201c\u201d", "\u00ab": "\u00bb", "\u300c": "\u300d"}
_ALIKE = str.maketrans("\u2018\u2019\u201a\u201c\u201d\u201e\u2013\u2014\u2011\u00a0", "'''\"\"\"--- ")
_LEFT_OUT = re.compile(r"\[?(?:\.\.\.|\u2026)\]?")
_LINES = re.compile(
    r"(?::|#L|,? ?\(?,? ?lines? |,? ?\(?,? ?l\. ?)([0-9]{1,9})(?:(?:-L?|\u2013| to )([0-9]{1,9}))?", re.IGNORECASE
)
_ANY_PATH = re.compile(r"(?<![\w./-])[\w.-][\w./-]{0,200}\.[A-Za-z0-9]{1,10}(?=:[0-9])")
_INSIDE_A_PATH = re.compile(r"[\w./-]")


@dataclass(frozen=True, slots=True)
class Place:
    """Lines of a document, from 1, both ends included; and its bytes `[start, end)`, where they are known."""

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
    """A place that an answer names.

    `shown`: the context has all of these lines. `outside`: it has the document, but not all of them. `unknown`: it has
    no such document.
    """

    said: str
    place: Place
    verdict: _CitationVerdict


@dataclass(frozen=True, slots=True)
class Quotation:
    """Words that an answer quotes, and where they stand.

    `stands`: the context has them, at the lines that are cited behind them if there are any. `elsewhere`: it has them,
    but not there. `missing`: it does not have them.
    """

    text: str
    places: tuple[Place, ...]
    cited: Place | None
    verdict: _QuotationVerdict


@dataclass(frozen=True, slots=True)
class Checked:
    """What an answer quotes and cites, each with its verdict. `changed` are windows that the store has no more."""

    quotations: tuple[Quotation, ...]
    citations: tuple[Citation, ...]
    changed: tuple[str, ...] = field(default=())

    @property
    def holds(self) -> bool:
        """Whether every quotation stands where it should and every citation is shown, and all could be checked."""
        return (
            not self.changed
            and all(each.verdict == "stands" for each in self.quotations)
            and all(each.verdict == "shown" for each in self.citations)
        )


def check_answer(answer: str, windows: Iterable[Window], *, changed: Sequence[str] = ()) -> Checked:
    """Find the quotations and citations of an answer in the windows that it was made from.

    >>> window = Window("tea.md", "Green tea is brewed for two minutes.", line=3)
    >>> answer = '"Green tea is brewed for two minutes" (tea.md:3), "brewed for ten minutes" (tea.md:3).'
    >>> found = check_answer(answer, [window])
    >>> [each.verdict for each in found.quotations], [each.verdict for each in found.citations]
    (['stands', 'missing'], ['shown', 'shown'])
    """
    if not isinstance(answer, str):
        raise InputError(f"an answer is a text, got {type(answer).__name__}")
    if len(answer.encode(errors="surrogatepass")) > MOST_ANSWER_BYTES:
        raise InputError(f"an answer of more than {MOST_ANSWER_BYTES:,} bytes is not checked; give it in parts")
    shown = [_Shown(window) for window in windows]
    cited = list(_citations(answer, shown))
    quoted = list(_quoted(answer))
    ends = [*(start for start, _, _ in quoted[1:]), len(answer)]
    quotations = tuple(_checked(each, until, cited, shown) for each, until in zip(quoted, ends, strict=False))
    return Checked(quotations, tuple(each.citation for each in cited), tuple(changed))


class _Shown:
    """A window as it is searched: its text without what makes no difference, and where each character came from."""

    def __init__(self, window: Window) -> None:
        self.window = window
        self.lines = window.lines or (1, 1 + window.text.count("\n", 0, -1))
        self.said, self._offsets = _plain(window.text)

    def places(self, parts: Sequence[str]) -> Iterator[Place]:
        """Where these parts stand one behind the other; each place begins with the first part."""
        at = self.said.find(parts[0])
        while at >= 0:
            end = at + len(parts[0])
            for part in parts[1:]:
                end = self.said.find(part, end)
                if end < 0:
                    return
                end += len(part)
            yield self._place(self._offsets[at], self._offsets[end - 1] + 1)
            at = self.said.find(parts[0], at + 1)

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
    signs: list[str] = []
    offsets: list[int] = []
    for at, sign in enumerate(text.translate(_ALIKE)):
        if sign.isspace():
            if signs and signs[-1] != " ":
                signs.append(" ")
                offsets.append(at)
            continue
        small = sign.lower()
        signs.append(small if len(small) == 1 else sign)
        offsets.append(at)
    return "".join(signs), offsets


# ---- citations


class _Cited(NamedTuple):
    start: int
    citation: Citation


def _citations(answer: str, shown: Sequence[_Shown]) -> Iterator[_Cited]:
    """The places that an answer names, in its order: paths that are known, and whatever looks like one."""
    known = sorted({each.window.path for each in shown}, key=lambda path: (-len(path), path))
    taken: list[tuple[int, int]] = []
    found: list[tuple[int, int, str]] = []
    for path in known:
        at = answer.find(path)
        while at >= 0:
            end = at + len(path)
            inside = at > 0 and _INSIDE_A_PATH.match(answer[at - 1])
            if not inside and not any(start < end and at < stop for start, stop in taken):
                taken.append((at, end))
                found.append((at, end, path))
            at = answer.find(path, end)
    found += [
        (*match.span(), match[0])
        for match in _ANY_PATH.finditer(answer)
        if not any(start < match.end() and match.start() < stop for start, stop in taken)
    ]
    for start, end, path in sorted(found):
        lines = _LINES.match(answer, end)
        if lines:
            first = int(lines[1])
            place = Place(path, first, max(first, int(lines[2] or first)))
            yield _Cited(start, Citation(answer[start : lines.end()], place, _verdict(place, shown)))


def _verdict(place: Place, shown: Sequence[_Shown]) -> _CitationVerdict:
    own = [each.lines for each in shown if each.window.path == place.path]
    if not own:
        return "unknown"
    line = place.first_line
    for first, last in sorted(own):
        if first <= line <= last:
            line = last + 1
    return "shown" if line > place.last_line else "outside"


# ---- quotations


def _quoted(answer: str) -> Iterator[tuple[int, int, str]]:
    """Where each quotation begins and ends, and what it says."""
    found = [*_in_marks(answer), *_in_blocks(answer)]
    for start, end, text in sorted(found):
        plain = _plain(text)[0].strip()
        is_one_word = plain.isalpha() and not plain.isascii() and len(plain) >= _LEAST_WITHOUT_SPACES
        if len(plain.split()) >= _LEAST_WORDS or is_one_word:
            yield start, end, text


def _in_marks(answer: str) -> Iterator[tuple[int, int, str]]:
    at = 0
    while at < len(answer):
        sign = answer[at]
        closing = '"' if sign == '"' else _MARKS.get(sign)
        if closing:
            paragraph = answer.find("\n\n", at)
            stop = len(answer) if paragraph < 0 else paragraph
            ends = [end for each in closing if (end := answer.find(each, at + 1, stop)) >= 0]
            if ends:
                yield at + 1, min(ends), answer[at + 1 : min(ends)]
                at = min(ends)
        at += 1


def _in_blocks(answer: str) -> Iterator[tuple[int, int, str]]:
    """Runs of lines behind `>`, as Markdown quotes."""
    at, begin = 0, 0
    rows: list[str] = []
    for line in [*answer.split("\n"), ""]:
        if line.startswith(">"):
            begin = begin if rows else at
            rows.append(line[1:].strip())
        elif rows:
            yield begin, at, "\n".join(rows)
            rows = []
        at += len(line) + 1


def _checked(quoted: tuple[int, int, str], until: int, cited: Sequence[_Cited], shown: Sequence[_Shown]) -> Quotation:
    """A quotation with its verdict; what is cited behind it and before `until` says where it should stand."""
    _, end, text = quoted
    place = next((each.citation.place for each in cited if end <= each.start < min(until, end + _NEAR)), None)
    places = _places(text, shown)
    if not places:
        return Quotation(text, (), place, "missing")
    stands = place is None or any(_touch(each, place) for each in places)
    return Quotation(text, places, place, "stands" if stands else "elsewhere")


def _places(text: str, shown: Sequence[_Shown]) -> tuple[Place, ...]:
    parts = [said for part in _LEFT_OUT.split(text) if (said := _plain(part)[0].strip())]
    if not parts:
        return ()
    for tried in (parts, [*parts[:-1], parts[-1].rstrip(".,;:!? ")]):
        if tried[-1]:
            found = [place for each in shown for place in each.places(tried)]
            if found:
                return tuple(sorted(set(found), key=lambda each: (each.path, each.first_line, each.start or 0)))
    return ()


def _touch(one: Place, other: Place) -> bool:
    return one.path == other.path and one.first_line <= other.last_line and other.first_line <= one.last_line
