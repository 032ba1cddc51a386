"""What is a format? Literals around windows, and a way to write each window's own text.

With the one that has no literals: windows one by one, for programs that write their own prompt.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal, NamedTuple

from brimful.errors import FormatError
from brimful.settings import FormatName, LineNumbers
from brimful.text.unseen import BREAK, CONTROL, INVISIBLE
from brimful.windows.seams import Seam
from brimful.windows.window import MARKER, Window

# ---- form: What is a format? Literals around windows, and a way to write each window's own text.
#
# How a window is written depends on the one before it in its block: between two windows stands one marker for the gap,
# which names the lines of the second, and a long trail that both have in common is written out above the first only.

Payload = str | list[dict[str, object]]
"""What is sent to a model: the text itself, or a provider's own structure around it."""

_Role = Literal["headers", "seams", "markers", "content"]

NOTHING_ABOVE = "[nothing above]"
"""Stands where line numbers would say that a document goes on above, and only blank lines do."""


class Fragment(NamedTuple):
    """A run of rendered text: source bytes, an escape that stands for source bytes, or a template literal.

    `role` is what its tokens are spent on.
    """

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
    """What is said of each window beside its text: details (CFS include_metadata), which lines it holds."""

    metadata: bool = False
    lines: LineNumbers = "ranges"

    def of(self, window: Window) -> tuple[int, int] | None:
        """The lines of a window, where they are known and wanted."""
        return window.lines if self.metadata or self.lines != "none" else None

    def number_of(self, window: Window) -> int | None:
        """The number of a window's first line, where each line gets its own."""
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
    # Whether a window's text may be written otherwise than it is, in a format that writes it between lines of its own
    # in square brackets; None in others.
    alters: Callable[[str], bool] | None = None
    opening: str = ""
    closing: str = ""
    block_separator: str = ""


def in_block(
    windows: Sequence[Window], form: Form, showing: Showing
) -> Iterator[tuple[Window, list[Fragment], list[Fragment]]]:
    """Each window of a block, with what stands before its text since the one before, and its text."""
    before: Window | None = None
    for window in windows:
        yield window, form.lead(before, window, showing), form.body(window, showing)
        before = window


# ---- names


_LAST_OF_FOUR_DIGITS = 0xFFFF
_UNSAFE_IN_NAMES = re.compile(f"[\\\\{BREAK}{CONTROL}{INVISIBLE}\ufffe\uffff]")
_ESCAPED_IN_NAMES = re.compile(r"\\(?:u([0-9a-f]{4})|U([0-9a-f]{8}))")
_LINES = r"(?:(numbered) )?lines? ([0-9]+)(?:-[0-9]+)?"
_LOOKS_LIKE_LINES = re.compile(r" (?=lines? [0-9]+(?:-[0-9]+)?\Z)")
_TITLE = re.compile(rf"(.*?)(?: {_LINES})?\Z", re.DOTALL)


def safe_name(path: str) -> str:
    r"""A path on one line as it is seen: controls, invisible characters and backslashes as \uXXXX.

    >>> safe_name("a\nb\U000e0041")
    'a\\u000ab\\U000e0041'
    """
    return _UNSAFE_IN_NAMES.sub(_written_out, path)


def _written_out(match: re.Match[str]) -> str:
    code = ord(match.group())
    return f"\\u{code:04x}" if code <= _LAST_OF_FOUR_DIGITS else f"\\U{code:08x}"


STEP = " > "
"""What stands between two seams of a trail."""


AS_ABOVE = "as above"
"""Stands for a long trail that the window before has too."""
LOOKS_LIKE_STEPS = rf"(?:(?<= )|\A)>(?= |\Z)|\A{AS_ABOVE[0]}(?={AS_ABOVE[1:]}\Z)"
"""What in a seam would be taken for `STEP` or `AS_ABOVE`."""
_REPEATED = 64  # characters of a trail that are written out again below the same


def safe_sign(sign: str) -> str:
    """A sign of a trail that would be taken for `STEP`, for `AS_ABOVE` or for the end of a line, written out."""
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
    """A path that can't be taken for one with lines behind it."""
    return _LOOKS_LIKE_LINES.sub(r"\\u0020", safe_name(path))


def title(path: str, first: Window, showing: Showing) -> str:
    """What names a document and the lines of its first window. One that is shown whole needs no lines.

    >>> title("notes/tea.md", Window("notes/tea.md", "Tea", line=12, cut_start=True), _PLAINLY)
    'notes/tea.md line 12'
    """
    name = _title_of(path)
    said = lines_said(first, showing)
    return f"{name} {said}" if said and (showing.lines == "every" or not is_whole(first)) else name


def is_whole(window: Window) -> bool:
    """Whether a window is known to show all that its document says, from its first line on."""
    lines = window.lines
    return lines is not None and lines[0] == 1 and not window.cut_start and not window.cut_end


class Title(NamedTuple):
    """What `title` wrote: the path, the first line and whether lines are numbered."""

    path: str
    line: int | None
    numbered: bool


def read_title(said: str) -> Title:
    """The inverse of `title`."""
    match = _TITLE.match(said)
    assert match is not None
    return Title(read_name(match[1]), int(match[3]) if match[3] else None, bool(match[2]))


# ---- lines and markers


def lines_said(window: Window, showing: Showing) -> str:
    """The lines of a window in words, where a header or a marker tells them; details tell them themselves."""
    lines = None if showing.metadata else showing.of(window)
    if lines is None:
        return ""
    first, last = lines
    said = f"lines {first}-{last}" if last > first else f"line {first}"
    return f"numbered {said}" if showing.lines == "every" else said


def edge_above(window: Window, showing: Showing) -> str:
    """The marker above the first window of a block: line numbers from 2 on say it already."""
    lines = showing.of(window)
    goes_on = lines is not None and lines[0] > 1
    if goes_on == window.cut_start:
        return ""
    return MARKER if window.cut_start else NOTHING_ABOVE


def is_cut_above(line: int | None, marker: str | None) -> bool:
    """The inverse of `edge_above`."""
    return marker == MARKER if marker else line is not None and line > 1


def gap_between(before: Window, window: Window, said: str = "") -> str:
    """The one marker between two windows of a block, with the lines of the second; empty where neither edge is cut.

    >>> gap_between(Window("a", "x", cut_end=True), Window("a", "y", cut_start=True), "lines 40-52")
    '[... lines 40-52]'
    """
    if before.cut_end and window.cut_start:
        return f"[... {said}]" if said else MARKER
    if before.cut_end or window.cut_start:
        side = "above" if before.cut_end else "below"
        return f"[... {side}, {said}]" if said else f"[... {side}]"
    return f"[{said}]" if said else ""


class Gap(NamedTuple):
    """What `gap_between` wrote: which edges are cut, and the first line of the second window."""

    cut_end: bool
    cut_start: bool
    line: int | None
    numbered: bool


_GAP = re.compile(rf"\[(?:(\.\.\.)(?: (above|below))?(?:,? (?=(?:numbered )?line))?)?(?:{_LINES})?\]\Z")


def read_gap(said: str) -> Gap | None:
    """The inverse of `gap_between`; None for what is no marker."""
    match = _GAP.match(said) if len(said) > len("[]") else None
    if match is None:
        return None
    dots, side, numbered, line = match.groups()
    return Gap(
        bool(dots) and side != "below",
        bool(dots) and side != "above",
        int(line) if line else None,
        bool(numbered),
    )


Trail = tuple[Seam, ...] | Literal["as above"] | None
"""What is written of a trail: its seams, that it is that of the window before, or nothing."""


def trail_of(before: Window | None, window: Window) -> Trail:
    """What to write above a window: the seams themselves where they are short or those of the window before differ.

    A header row is long, and rows are many: it is written once. A heading is worth its few tokens again, so that each
    window says by itself where it stands.
    """
    seams = window.seams
    if not seams:
        return None
    is_same = before is not None and _places(before.seams) == _places(seams)
    is_long = sum(len(seam.text) for seam in seams) > _REPEATED
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
        at = fragment.start
        is_source = fragment.kind == "source"
        for run in _LINE.findall(fragment.text) if is_source else [fragment.text]:
            if begins:
                numbered.append(Fragment(f"{line}| "))
                begins, line = False, line + 1
            size = len(run.encode())
            numbered.append(fragment._replace(text=run, start=at, end=at + size) if is_source else fragment)
            at += size
            begins = run.endswith("\n") if is_source else run == "\\n"
    return numbered


def without_numbers(text: str, line: int | None) -> str:
    """The inverse of `with_numbers`."""
    if line is None:
        return text
    return "\n".join(said.removeprefix(f"{line + at}| ") for at, said in enumerate(text.split("\n")))


# ---- details


def details(window: Window, showing: Showing) -> dict[str, str]:
    """What `include_metadata` shows of a window, in a fixed order (CFS include_metadata)."""
    shown = {"bytes": f"{window.start}-{window.end}"}
    if window.lines:
        shown["lines"] = f"{window.lines[0]}-{window.lines[1]}"
    if showing.number_of(window) is not None:
        shown["numbered"] = "yes"
    shown["score"] = repr(window.score)
    if window.time is not None:
        shown["time"] = datetime.fromtimestamp(window.time, UTC).isoformat().replace("+00:00", "Z")
    return shown


def attributes(window: Window, showing: Showing) -> dict[str, str]:
    """What a format with attributes says of a window: all details, or only which lines it holds."""
    if showing.metadata:
        return details(window, showing)
    lines = showing.of(window)
    if lines is None or (showing.lines != "every" and is_whole(window)):
        return {}
    shown = {"lines": f"{lines[0]}-{lines[1]}" if lines[1] > lines[0] else str(lines[0])}
    return {**shown, "numbered": "yes"} if showing.lines == "every" else shown


@dataclass(frozen=True, slots=True)
class ReadDetails:
    """What was read of a window beside its text."""

    start: int = 0
    end: int = -1
    score: float = 0.0
    time: int | None = None
    line: int | None = None
    numbered: bool = False

    def window(self, path: str, text: str, *, cut_start: bool, cut_end: bool, seams: Sequence[str] = ()) -> Window:
        """The window, its line numbers taken off."""
        return Window(
            path,
            without_numbers(text, self.line if self.numbered else None),
            self.start,
            self.end,
            score=self.score,
            time=self.time,
            line=self.line,
            cut_start=cut_start,
            cut_end=cut_end,
            seams=tuple(Seam("signature", 0, 0, seam) for seam in seams),
        )


def read_details(found: Mapping[str, str]) -> ReadDetails:
    """What `details` or `attributes` wrote."""
    start, end = found["bytes"].split("-") if "bytes" in found else ("0", "-1")
    time = found.get("time")
    lines = found.get("lines")
    return ReadDetails(
        int(start),
        int(end),
        float(found.get("score", 0.0)),
        int(datetime.fromisoformat(time).timestamp()) if time else None,
        int(lines.split("-")[0]) if lines else None,
        "numbered" in found,
    )


def with_escapes(
    text: str, start: int, pattern: re.Pattern[str], escape: Callable[[str], str], *, role: _Role = "content"
) -> list[Fragment]:
    """Source text as fragments, with every match of `pattern` replaced by its escape."""
    fragments: list[Fragment] = []
    at, byte = 0, start
    for match in pattern.finditer(text):
        if match.start() > at:
            run = text[at : match.start()]
            fragments.append(Fragment(run, "source", byte, byte := byte + len(run.encode()), role))
        raw = match.group()
        fragments.append(Fragment(escape(raw), "escape", byte, byte := byte + len(raw.encode()), role))
        at = match.end()
    if at < len(text):
        run = text[at:]
        fragments.append(Fragment(run, "source", byte, byte + len(run.encode()), role))
    return fragments


# ---- windows: The windows one by one, for programs that write their own prompt: each window's text is its document's
# bytes.
#
# `payload` is one record a window. What is counted is the texts alone, joined by an empty line, which is how prompts
# put retrieved texts together; what else stands in a record (path, range, score, seams) is for the program.

_SEPARATOR = "\n\n"
"""What stands between two windows where their texts are put together."""


def _lead(before: Window | None, _window: Window, _showing: Showing) -> list[Fragment]:
    return [] if before is None else [Fragment(_SEPARATOR)]


def _body(window: Window, _showing: Showing) -> list[Fragment]:
    return [Fragment(window.text, "source", window.start, window.end, "content")]


def _payload(blocks: Sequence[Block], _text: str, _showing: Showing) -> Payload:
    return [_record(window) for block in blocks for window in block.windows]


def _record(window: Window) -> dict[str, object]:
    return {
        "path": window.path,
        "start": window.start,
        "end": window.end,
        "lines": window.lines,
        "score": window.score,
        "time": window.time,
        "in": [seam.text for seam in window.seams],
        "cut_start": window.cut_start,
        "cut_end": window.cut_end,
        "text": window.text,
    }


def _read(payload: Payload) -> list[Window]:
    if isinstance(payload, str):
        raise FormatError("windows are read from their records (context.payload), not from the counted text")
    return [_window(found) for found in payload]


def _window(found: dict[str, object]) -> Window:
    start, end, score, time, seams = (found[name] for name in ("start", "end", "score", "time", "in"))
    assert isinstance(start, int)
    assert isinstance(end, int)
    assert isinstance(score, int | float)
    assert time is None or isinstance(time, int)
    assert isinstance(seams, list)
    lines = found.get("lines")
    assert lines is None or isinstance(lines, list | tuple)
    return Window(
        str(found["path"]),
        str(found["text"]),
        start,
        end,
        score=score,
        time=time,
        line=lines[0] if lines else None,
        cut_start=bool(found["cut_start"]),
        cut_end=bool(found["cut_end"]),
        seams=tuple(Seam("signature", 0, 0, text) for text in seams),
    )


WINDOWS = Form(
    name="windows",
    head=lambda _path, _first, _showing: "",
    lead=_lead,
    body=_body,
    tail=lambda _last, _showing: [],
    read=_read,
    payload=_payload,
    block_separator=_SEPARATOR,
)
