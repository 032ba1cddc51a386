"""A heading a document, a fence a window, its trail as code in a line, in more backticks than any run inside."""

from __future__ import annotations

import re

from brimful.assembly.formats.form import (
    AS_ABOVE,
    LOOKS_LIKE_STEPS,
    NOTHING_ABOVE,
    STEP,
    Form,
    Fragment,
    Gap,
    Payload,
    ReadDetails,
    Showing,
    Title,
    Trail,
    details,
    edge_above,
    gap_between,
    is_cut_above,
    lines_said,
    read_details,
    read_gap,
    read_name,
    read_title,
    safe_sign,
    title,
    trail_of,
    with_escapes,
    with_numbers,
)
from brimful.errors import FormatError
from brimful.text.unseen import CONTROL, INVISIBLE
from brimful.windows.seams import Seam
from brimful.windows.window import MARKER, Window

_TICKS = re.compile(f"(?:`[{CONTROL}{INVISIBLE}]*)+")
_FENCE = re.compile(r"(`{3,})([^`\n]*)\Z")
_TRAIL = re.compile(r"(`+)\[IN: (.*)\]\1\Z")
_UNSAFE_IN_TRAILS = re.compile(f"[\\\\\n]|{LOOKS_LIKE_STEPS}")
_PLAIN_LANGUAGE = re.compile(r"[A-Za-z0-9_+#-]+\Z")


def _lead(before: Window | None, window: Window, showing: Showing) -> list[Fragment]:
    """The marker of the gap or the edge, and the trail, each on a line of its own."""
    fragments = []
    if before is not None:
        gap = gap_between(before, window, lines_said(window, showing))
        fragments.append(Fragment(f"{gap}\n", role="markers" if gap else "headers"))
    fragments += _in_line(trail_of(before, window))
    if before is None and (edge := edge_above(window, showing)):
        fragments.append(Fragment(f"{edge}\n", role="markers"))
    return fragments


def _in_line(trail: Trail) -> list[Fragment]:
    if trail is None:
        return []
    said = _write_trail(trail)
    ticks = "`" * (_longest_run(said, least=0) + 1)
    return [Fragment(f"{ticks}[IN: ", role="seams"), *said, Fragment(f"]{ticks}\n", role="seams")]


def _write_trail(trail: tuple[Seam, ...] | str) -> list[Fragment]:
    if isinstance(trail, str):
        return [Fragment(AS_ABOVE, role="seams")]
    said: list[Fragment] = []
    for number, seam in enumerate(trail):
        said += [Fragment(STEP, role="seams")] if number else []
        said += with_escapes(seam.text, seam.start, _UNSAFE_IN_TRAILS, safe_sign, role="seams")
    return said


def _body(window: Window, showing: Showing) -> list[Fragment]:
    language = window.document.language if window.document else None
    info = language if language and _PLAIN_LANGUAGE.match(language) else "text"
    if showing.metadata:
        info += "".join(f" {name}={value}" for name, value in details(window, showing).items())
    source = Fragment(window.text, "source", window.start, window.start + len(window.text.encode()), "content")
    return _fenced(with_numbers([source] if window.text else [], showing.number_of(window)), info)


def fenced(text: str) -> str:
    """A text of its own in a fence that it can't close."""
    return "".join(fragment.text for fragment in _fenced([Fragment(text)], "text"))


def _fenced(inside: list[Fragment], info: str) -> list[Fragment]:
    fence = "`" * (_longest_run(inside, least=2) + 1)
    return [Fragment(f"{fence}{info}\n"), *inside, Fragment(f"\n{fence}\n")]


def _longest_run(inside: list[Fragment], *, least: int) -> int:
    """How many backticks stand together, as a reader sees them."""
    text = "".join(fragment.text for fragment in inside)
    runs: list[str] = _TICKS.findall(text)
    return max([least, *(run.count("`") for run in runs)])


def _tail(last: Window, _showing: Showing) -> list[Fragment]:
    return [Fragment(f"{MARKER}\n", role="markers")] if last.cut_end else []


# ---- reading


def _read(payload: Payload) -> list[Window]:
    if not isinstance(payload, str):
        raise FormatError(f"Markdown is a str, got {type(payload).__name__}")
    blocks: list[_Block] = []
    lines, at = payload.split("\n"), 0
    while at < len(lines):
        line, at = lines[at], at + 1
        opening = _FENCE.match(line)
        if opening:
            end = next((n for n in range(at, len(lines)) if lines[n] == opening.group(1)), None)
            if end is None or not blocks:
                raise FormatError(f"line {at}: a fence without its heading or its end")
            text, at = "\n".join(lines[at:end]), end + 1
            blocks[-1].take(opening.group(2), text)
        elif blocks and (trail := _TRAIL.match(line)):
            blocks[-1].take_trail(trail[2])
        elif line.startswith("### "):
            blocks.append(_Block(read_title(line.removeprefix("### "))))
        elif line and not (blocks and blocks[-1].mark(line)):
            raise FormatError(f"line {at} is not ours: {line[:40]!r}")
    return [window for block in blocks for window in block.windows()]


class _Block:
    """The windows under one heading, as they are read fence by fence."""

    def __init__(self, named: Title) -> None:
        self._named = named
        self._found: list[tuple[str, ReadDetails, tuple[str, ...]]] = []
        self._markers: dict[int, str] = {}  # before which window each stands
        self._seams: tuple[str, ...] = ()

    def take_trail(self, said: str) -> None:
        """The trail of the next window."""
        above = self._found[-1][2] if self._found else ()
        self._seams = above if said == AS_ABOVE else tuple(map(read_name, said.split(STEP)))

    def mark(self, line: str) -> bool:
        """A line between fences: whether it is a marker."""
        self._markers[len(self._found)] = line
        return line == NOTHING_ABOVE or read_gap(line) is not None

    def take(self, info: str, text: str) -> None:
        """A fence: a window."""
        found = dict(pair.split("=", 1) for pair in info.split(" ")[1:])
        gap = self._gap(len(self._found))
        if found:
            read = read_details(found)
        elif self._found:
            read = ReadDetails(line=gap.line, numbered=gap.numbered) if gap else ReadDetails()
        else:
            read = ReadDetails(line=self._named.line, numbered=self._named.numbered)
        self._found.append((text, read, self._seams))
        self._seams = ()

    def windows(self) -> list[Window]:
        """The windows, with the edges that the markers around them say are cut."""
        windows = []
        for at, (text, read, seams) in enumerate(self._found):
            before, after = self._gap(at), self._gap(at + 1)
            is_first = at == 0
            cut_start = is_cut_above(read.line, self._markers.get(0)) if is_first else bool(before and before.cut_start)
            cut_end = bool(after and after.cut_end)
            windows.append(read.window(self._named.path, text, cut_start=cut_start, cut_end=cut_end, seams=seams))
        return windows

    def _gap(self, at: int) -> Gap | None:
        return read_gap(self._markers.get(at, ""))


MARKDOWN = Form(
    name="markdown",
    head=lambda path, first, showing: f"### {title(path, first, showing)}\n\n",
    lead=_lead,
    body=_body,
    tail=_tail,
    read=_read,
    block_separator="\n",
)
