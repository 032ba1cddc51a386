"""A heading a document, a fence a window, its trail as code in a line, in more backticks than any run inside."""

from __future__ import annotations

import re

from brimful.assembly.formats.form import (
    AS_ABOVE,
    LOOKS_LIKE_STEPS,
    STEP,
    BlockReader,
    Form,
    Fragment,
    Payload,
    Showing,
    Trail,
    details,
    edge_above,
    gap_between,
    lines_in_words,
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


def _lead(previous: Window | None, window: Window, showing: Showing) -> list[Fragment]:
    """The marker of the gap or the edge, and the trail, one line each."""
    fragments = []
    if previous is not None:
        gap = gap_between(previous, window, lines_in_words(window, showing))
        fragments.append(Fragment(f"{gap}\n", role="markers" if gap else "headers"))
    fragments += _in_line(trail_of(previous, window))
    if previous is None and (edge := edge_above(window, showing)):
        fragments.append(Fragment(f"{edge}\n", role="markers"))
    return fragments


def _in_line(trail: Trail) -> list[Fragment]:
    if trail is None:
        return []
    words = _write_trail(trail)
    ticks = "`" * (_longest_run(words, least=0) + 1)
    return [Fragment(f"{ticks}[IN: ", role="seams"), *words, Fragment(f"]{ticks}\n", role="seams")]


def _write_trail(trail: tuple[Seam, ...] | str) -> list[Fragment]:
    if isinstance(trail, str):
        return [Fragment(AS_ABOVE, role="seams")]
    words: list[Fragment] = []
    for number, seam in enumerate(trail):
        words += [Fragment(STEP, role="seams")] if number else []
        words += with_escapes(seam.text, seam.start, _UNSAFE_IN_TRAILS, safe_sign, role="seams")
    return words


def _body(window: Window, showing: Showing) -> list[Fragment]:
    language = window.document.language if window.document else None
    info = language if language and _PLAIN_LANGUAGE.match(language) else "text"
    if showing.metadata:
        info += "".join(f" {name}={value}" for name, value in details(window, showing).items())
    source = Fragment(window.text, "source", window.start, window.start + len(window.text.encode()), "content")
    return _fenced(with_numbers([source] if window.text else [], showing.number_of(window)), info)


def fenced(text: str) -> str:
    """A text in a fence that it can't close."""
    return "".join(fragment.text for fragment in _fenced([Fragment(text)], "text"))


def _fenced(inside: list[Fragment], info: str) -> list[Fragment]:
    fence = "`" * (_longest_run(inside, least=2) + 1)
    return [Fragment(f"{fence}{info}\n"), *inside, Fragment(f"\n{fence}\n")]


def _longest_run(inside: list[Fragment], *, least: int) -> int:
    """The longest run of backticks, invisible characters aside."""
    text = "".join(fragment.text for fragment in inside)
    runs: list[str] = _TICKS.findall(text)
    return max([least, *(run.count("`") for run in runs)])


def _tail(last: Window, _showing: Showing) -> list[Fragment]:
    return [Fragment(f"{MARKER}\n", role="markers")] if last.cut_end else []


def _read(payload: Payload) -> list[Window]:
    if not isinstance(payload, str):
        raise FormatError(f"Markdown is a str, got {type(payload).__name__}")
    blocks: list[BlockReader] = []
    lines, number = payload.split("\n"), 0
    while number < len(lines):
        line, number = lines[number], number + 1
        opening = _FENCE.match(line)
        if opening:
            end = next((n for n in range(number, len(lines)) if lines[n] == opening.group(1)), None)
            if end is None or not blocks:
                raise FormatError(f"line {number}: a fence without its heading or its end")
            details = dict(pair.split("=", 1) for pair in opening.group(2).split(" ")[1:])
            blocks[-1].take("\n".join(lines[number:end]), details)
            number = end + 1
        elif blocks and (trail := _TRAIL.match(line)):
            blocks[-1].take_trail(trail[2].split(STEP))
        elif line.startswith("### "):
            blocks.append(BlockReader(read_title(line.removeprefix("### "))))
        elif line and not (blocks and blocks[-1].mark(line)):
            raise FormatError(f"line {number} is not ours: {line[:40]!r}")
    return [window for block in blocks for window in block.windows]


MARKDOWN = Form(
    name="markdown",
    head=lambda path, first, showing: f"### {title(path, first, showing)}\n\n",
    lead=_lead,
    body=_body,
    tail=_tail,
    read=_read,
    block_separator="\n",
)
