"""A format: literals around windows, a way to write each window's text, and the reader of both.

A window is written with regard to the one before it in its block: one marker between them names the lines of the
second, and a long trail that both have in common is written above the first only.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Literal, NamedTuple

from brimful.settings import FormatName, LineNumbers
from brimful.text.unseen import BREAK, CONTROL, INVISIBLE
from brimful.windows.seams import Seam
from brimful.windows.window import MARKER, Window

Payload = str | list[dict[str, object]]
"""The text for a model, or a provider's structure around it."""

_Role = Literal["headers", "seams", "markers", "content"]

NOTHING_ABOVE = "[nothing above]"
"""Written where line numbers suggest text above, and only blank lines are."""


class Fragment(NamedTuple):
    """A run of rendered text: source bytes, an escape of source bytes, or a literal; `role` is for the account."""

    text: str
    kind: Literal["source", "escape", "literal"] = "literal"
    start: int = -1
    end: int = -1
    role: _Role = "headers"


class Block(NamedTuple):
    """Consecutive windows under one header."""

    path: str
    windows: tuple[Window, ...]


@dataclass(frozen=True, slots=True)
class Showing:
    """The details that are written of each window (CFS include_metadata), and whether lines are."""

    metadata: bool = False
    lines: LineNumbers = "ranges"

    def lines_of(self, window: Window) -> tuple[int, int] | None:
        """The lines of a window, if they are known and to be written."""
        return window.lines if self.metadata or self.lines != "none" else None

    def marks(self, window: Window) -> bool:
        """Whether a window stands under a header for what only fills; `none` leaves the headers of CFS."""
        return window.filling and self.lines != "none"

    def number_of(self, window: Window) -> int | None:
        """The number of a window's first line, if every line is numbered."""
        lines = window.lines if self.lines == "every" else None
        return lines[0] if lines else None


_PLAINLY = Showing()


@dataclass(frozen=True, slots=True)
class Form:
    """One format. A context is `opening + join(block_separator, blocks) + closing`, and a block is
    `head + lead(None, first) + body(first) + lead(first, second) + body(second) + … + tail(last)`.
    """

    name: FormatName
    head: Callable[[str, Window, Showing], str]
    lead: Callable[[Window | None, Window, Showing], list[Fragment]]
    body: Callable[[Window, Showing], list[Fragment]]
    tail: Callable[[Window, Showing], list[Fragment]]
    read: Callable[[Payload], list[Window]]
    payload: Callable[[Sequence[Block], str, Showing], Payload] = lambda _blocks, text, _showing: text
    opening: str = ""
    closing: str = ""
    block_separator: str = ""


def in_block(
    windows: Sequence[Window], form: Form, showing: Showing
) -> Iterator[tuple[Window, list[Fragment], list[Fragment]]]:
    """Each window of a block, with the fragments above its text and of its text."""
    previous: Window | None = None
    for window in windows:
        yield window, form.lead(previous, window, showing), form.body(window, showing)
        previous = window


_LAST_OF_FOUR_DIGITS = 0xFFFF
_UNSAFE_IN_NAMES = re.compile(f"[\\\\{BREAK}{CONTROL}{INVISIBLE}\ufffe\uffff]")
_ESCAPED_IN_NAMES = re.compile(r"\\(?:u([0-9a-f]{4})|U([0-9a-f]{8}))")
_LINES = r"(?:(numbered) )?lines? ([0-9]+)(?:-[0-9]+)?"
ALSO = "ALSO: "
"""Stands before the name of a document whose windows only fill."""
_LOOKS_LIKE_MARKS = re.compile(rf" (?=lines? [0-9]+(?:-[0-9]+)?\Z)|\A{ALSO[0]}(?={ALSO[1:]})")
_TITLE = re.compile(rf"({ALSO})?(.*?)(?: {_LINES})?\Z", re.DOTALL)


def safe_name(path: str) -> str:
    r"""A path on one line, with controls, invisible characters and backslashes as \uXXXX.

    >>> safe_name("a\nb\U000e0041")
    'a\\u000ab\\U000e0041'
    """
    return _UNSAFE_IN_NAMES.sub(_written_out, path)


def _written_out(match: re.Match[str]) -> str:
    code = ord(match.group())
    return f"\\u{code:04x}" if code <= _LAST_OF_FOUR_DIGITS else f"\\U{code:08x}"


STEP = " > "
"""The separator between two seams of a trail."""
AS_ABOVE = "as above"
"""Replaces a long trail that equals the previous window's."""
LOOKS_LIKE_STEPS = rf"(?:(?<= )|\A)>(?= |\Z)|\A{AS_ABOVE[0]}(?={AS_ABOVE[1:]}\Z)"
"""The parts of a seam that look like `STEP` or `AS_ABOVE`."""
_MAX_REPEATED = 64  # characters of a trail that are written again below an equal one


def safe_sign(sign: str) -> str:
    """The escape of a character that looks like `STEP`, `AS_ABOVE` or the end of a line."""
    return f"\\u{ord(sign):04x}" if sign in (">", AS_ABOVE[0]) else safe_name(sign)


def read_name(name: str) -> str:
    r"""The inverse of `safe_name`.

    >>> read_name(safe_name("a\n\\b")) == "a\n\\b"
    True
    """
    return _ESCAPED_IN_NAMES.sub(_read_back, name)


def _read_back(match: re.Match[str]) -> str:
    code = int(match[1] or match[2], 16)
    return chr(code) if code <= sys.maxunicode else match[0]


def _title_of(path: str) -> str:
    """A path, escaped if it begins like `ALSO` or ends like lines."""
    return _LOOKS_LIKE_MARKS.sub(_written_out, safe_name(path))


def title(path: str, first: Window, showing: Showing) -> str:
    """The name of a document with the lines of its first window, unless it is shown whole, marked if it only fills.

    >>> title("notes/tea.md", Window("notes/tea.md", "Tea", line=12, cut_start=True), _PLAINLY)
    'notes/tea.md line 12'
    """
    name = f"{ALSO if showing.marks(first) else ''}{_title_of(path)}"
    lines = lines_in_words(first, showing)
    return f"{name} {lines}" if lines and (showing.lines == "every" or not is_whole(first)) else name


def is_whole(window: Window) -> bool:
    """Whether a window is known to show its whole document."""
    lines = window.lines
    return lines is not None and lines[0] == 1 and not window.cut_start and not window.cut_end


class Title(NamedTuple):
    """A title as it was read: path, first line, whether lines are numbered, and whether the windows only fill."""

    path: str
    line: int | None = None
    numbered: bool = False
    filling: bool = False


def read_title(text: str) -> Title:
    """The inverse of `title`."""
    match = _TITLE.match(text)
    assert match is not None
    return Title(read_name(match[2]), int(match[4]) if match[4] else None, bool(match[3]), bool(match[1]))


def lines_in_words(window: Window, showing: Showing) -> str:
    """The lines of a window in words, for headers and markers; empty with details, which have them."""
    lines = None if showing.metadata else showing.lines_of(window)
    if lines is None:
        return ""
    first, last = lines
    words = f"lines {first}-{last}" if last > first else f"line {first}"
    return f"numbered {words}" if showing.lines == "every" else words


def edge_above(window: Window, showing: Showing) -> str:
    """The marker above the first window of a block; empty where its line number implies it."""
    lines = showing.lines_of(window)
    goes_on = lines is not None and lines[0] > 1
    if goes_on == window.cut_start:
        return ""
    return MARKER if window.cut_start else NOTHING_ABOVE


def gap_between(first: Window, second: Window, lines: str = "") -> str:
    """The marker between two windows of a block, with the lines of the second; empty where neither edge is cut.

    >>> gap_between(Window("a", "x", cut_end=True), Window("a", "y", cut_start=True), "lines 40-52")
    '[... lines 40-52]'
    """
    if first.cut_end and second.cut_start:
        return f"[... {lines}]" if lines else MARKER
    if first.cut_end or second.cut_start:
        side = "above" if first.cut_end else "below"
        return f"[... {side}, {lines}]" if lines else f"[... {side}]"
    return f"[{lines}]" if lines else ""


class Gap(NamedTuple):
    """A gap as it was read: the cut edges, and the first line of the second window."""

    cut_end: bool
    cut_start: bool
    line: int | None
    numbered: bool


_GAP = re.compile(rf"\[(?:(\.\.\.)(?: (above|below))?(?:,? (?=(?:numbered )?line))?)?(?:{_LINES})?\]\Z")


def read_gap(line: str) -> Gap | None:
    """The inverse of `gap_between`; None for other lines."""
    match = _GAP.match(line) if len(line) > len("[]") else None
    if match is None:
        return None
    dots, side, numbered, first = match.groups()
    is_cut = bool(dots)
    return Gap(is_cut and side != "below", is_cut and side != "above", int(first) if first else None, bool(numbered))


Trail = tuple[Seam, ...] | Literal["as above"] | None
"""The trail to write: its seams, a reference to the previous window's, or nothing."""


def trail_of(previous: Window | None, window: Window) -> Trail:
    """The trail to write above a window.

    A long one is written once, as header rows repeat for every window. A short one is repeated, so that each window can
    be placed without the others.
    """
    seams = window.seams
    if not seams:
        return None
    is_same = previous is not None and _places(previous.seams) == _places(seams)
    is_long = sum(len(seam.text) for seam in seams) > _MAX_REPEATED
    return "as above" if is_same and is_long else seams


def _places(seams: Sequence[Seam]) -> list[tuple[int, str]]:
    return [(seam.start, seam.text) for seam in seams]


_LINE = re.compile(r"[^\n]*\n|[^\n]+")


def with_numbers(fragments: Iterable[Fragment], line: int | None) -> list[Fragment]:
    """A window's text with the number of each line before it.

    >>> "".join(each.text for each in with_numbers([Fragment("tea" + chr(10) + "cups", "source", 0, 8)], 7))
    '7| tea\\n8| cups'
    """
    if line is None:
        return list(fragments)
    numbered: list[Fragment] = []
    begins = True
    for fragment in fragments:
        start = fragment.start
        is_source = fragment.kind == "source"
        for run in _LINE.findall(fragment.text) if is_source else [fragment.text]:
            if begins:
                numbered.append(Fragment(f"{line}| "))
                begins, line = False, line + 1
            size = len(run.encode())
            numbered.append(fragment._replace(text=run, start=start, end=start + size) if is_source else fragment)
            start += size
            begins = run.endswith("\n") if is_source else run == "\\n"
    return numbered


def _without_numbers(text: str, line: int | None) -> str:
    """The inverse of `with_numbers`."""
    if line is None:
        return text
    return "\n".join(row.removeprefix(f"{number}| ") for number, row in enumerate(text.split("\n"), line))


def details(window: Window, showing: Showing) -> dict[str, str]:
    """The details of a window, in a fixed order (CFS include_metadata)."""
    values = {"bytes": f"{window.start}-{window.end}"}
    if window.lines:
        values["lines"] = f"{window.lines[0]}-{window.lines[1]}"
    if showing.number_of(window) is not None:
        values["numbered"] = "yes"
    values["score"] = repr(window.score)
    if window.time is not None:
        values["time"] = datetime.fromtimestamp(window.time, UTC).isoformat().replace("+00:00", "Z")
    return values


def attributes(window: Window, showing: Showing) -> dict[str, str]:
    """The attributes of a window: all details, or its lines."""
    if showing.metadata:
        return details(window, showing)
    lines = showing.lines_of(window)
    if lines is None or (showing.lines != "every" and is_whole(window)):
        return {}
    values = {"lines": f"{lines[0]}-{lines[1]}" if lines[1] > lines[0] else str(lines[0])}
    return {**values, "numbered": "yes"} if showing.lines == "every" else values


class BlockReader:
    """The windows under one header, as they are read with the markers and trails around them."""

    def __init__(self, named: Title, unescaped: Callable[[str], str] = str) -> None:
        self._named, self._unescaped = named, unescaped
        self._line, self._numbered = named.line, named.numbered  # of the next window
        self._above: str | None = None  # the marker above the first window
        self._gap: Gap | None = None  # the one below the last
        self._seams: list[str] = []  # of the next window
        self.windows: list[Window] = []

    def mark(self, line: str) -> bool:
        """Read a line between windows; returns whether it is a marker."""
        gap = read_gap(line)
        if not self.windows and line in (MARKER, NOTHING_ABOVE):
            self._above = line
        if gap is None:
            return line == NOTHING_ABOVE
        if self.windows:
            self.windows[-1] = replace(self.windows[-1], cut_end=gap.cut_end)
        self._gap, self._line, self._numbered = gap, gap.line or self._line, gap.numbered or self._numbered
        return True

    def take_trail(self, steps: Sequence[str]) -> None:
        """Read a part of the next window's trail."""
        is_above = list(steps) == [AS_ABOVE] and not self._seams and self.windows
        self._seams += [seam.text for seam in self.windows[-1].seams] if is_above else map(read_name, steps)

    def take_seam(self, seam: str) -> None:
        """Read a step of the next window's trail as it is."""
        self._seams.append(seam)

    def take_line(self, line: str) -> None:
        """Read a further line of the first step of what follows the last trail."""
        first, *others = line.split(STEP)
        self._seams[-1] += f"\n{read_name(first)}"
        self._seams += map(read_name, others)

    def take(self, text: str, details: Mapping[str, str] | None = None) -> None:
        """Read a window; `details` are those of `details` or `attributes`."""
        values = details or {}
        start, end = values["bytes"].split("-") if "bytes" in values else ("0", "-1")
        line = int(values["lines"].split("-")[0]) if "lines" in values else self._line
        numbered = "numbered" in values or self._numbered
        is_cut = self._above == MARKER if self._above else line is not None and line > 1
        if self.windows:
            is_cut = self._gap is not None and self._gap.cut_start
        window = Window(
            self._named.path,
            self._unescaped(_without_numbers(text, line if numbered else None)),
            int(start),
            int(end),
            score=float(values.get("score", 0.0)),
            time=int(datetime.fromisoformat(values["time"]).timestamp()) if "time" in values else None,
            line=line,
            cut_start=is_cut,
            seams=tuple(Seam("signature", 0, 0, seam) for seam in self._seams),
            filling=self._named.filling,
        )
        self.windows.append(window)
        self._line, self._numbered, self._gap, self._seams = None, False, None, []


def with_escapes(
    text: str, start: int, pattern: re.Pattern[str], escape: Callable[[str], str], *, role: _Role = "content"
) -> list[Fragment]:
    """Source text as fragments, with every match of `pattern` replaced by its escape."""
    fragments: list[Fragment] = []
    character, byte = 0, start
    for match in pattern.finditer(text):
        if match.start() > character:
            run = text[character : match.start()]
            fragments.append(Fragment(run, "source", byte, byte := byte + len(run.encode()), role))
        raw = match.group()
        fragments.append(Fragment(escape(raw), "escape", byte, byte := byte + len(raw.encode()), role))
        character = match.end()
    if character < len(text):
        run = text[character:]
        fragments.append(Fragment(run, "source", byte, byte + len(run.encode()), role))
    return fragments
