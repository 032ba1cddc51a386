"""A heading a document, a fence a window. The fence is longer than any run of backticks inside."""

from __future__ import annotations

import re

from brimful.assembly.formats.form import Form, Fragment, Payload, details, read_details, read_name, safe_name
from brimful.errors import FormatError
from brimful.text.unseen import CONTROL, INVISIBLE
from brimful.windows.seams import Seam
from brimful.windows.window import MARKER, Window

_TICKS = re.compile(f"(?:`[{CONTROL}{INVISIBLE}]*){{3,}}")  # as a reader sees them
_FENCE = re.compile(r"(`{3,})([^`\n]*)\Z")
_IN = "in"
_PLAIN_LANGUAGE = re.compile(r"[A-Za-z0-9_+#-]+\Z")


def _write(window: Window, metadata: bool) -> list[Fragment]:  # noqa: FBT001  (Form.write's shape)
    fragments = []
    for seam in window.seams:
        fragments += _fenced(seam.text, seam.start, _IN)
    if window.cut_start:
        fragments.append(Fragment(f"{MARKER}\n"))
    language = window.document.language if window.document else None
    info = language if language and _PLAIN_LANGUAGE.match(language) else "text"
    if metadata:
        info += "".join(f" {name}={value}" for name, value in details(window).items())
    fragments += _fenced(window.text, window.start, info)
    if window.cut_end:
        fragments.append(Fragment(f"{MARKER}\n"))
    return fragments


def _fenced(text: str, start: int, info: str) -> list[Fragment]:
    longest = max((run.count("`") for run in _TICKS.findall(text)), default=2)
    fence = "`" * (longest + 1)
    source = [Fragment(text, "source", start, start + len(text.encode()))] if text else []
    return [Fragment(f"{fence}{info}\n"), *source, Fragment(f"\n{fence}\n")]


def _read(payload: Payload) -> list[Window]:
    if not isinstance(payload, str):
        raise FormatError(f"Markdown is a str, got {type(payload).__name__}")
    windows: list[Window] = []
    path, cut, seams = "", False, []
    lines, at = payload.split("\n"), 0
    while at < len(lines):
        line, at = lines[at], at + 1
        opening = _FENCE.match(line)
        if opening:
            end = next((n for n in range(at, len(lines)) if lines[n] == opening.group(1)), None)
            if end is None or not path:
                raise FormatError(f"line {at}: a fence without its heading or its end")
            text, at = "\n".join(lines[at:end]), end + 1
            if opening.group(2) == _IN:
                seams.append(Seam("signature", 0, 0, text))
                continue
            after = at < len(lines) and lines[at] == MARKER
            windows.append(_window(path, text, opening.group(2), cut_start=cut, cut_end=after, seams=tuple(seams)))
            at, cut, seams = at + after, False, []
        elif line == MARKER:
            cut = True
        elif line.startswith("### "):
            path = read_name(line.removeprefix("### "))
        elif line:
            raise FormatError(f"line {at} is not ours: {line[:40]!r}")
    return windows


def _window(path: str, text: str, info: str, *, cut_start: bool, cut_end: bool, seams: tuple[Seam, ...]) -> Window:
    found = dict(pair.split("=", 1) for pair in info.split(" ")[1:])
    start, end, score, time = read_details(found) if found else (0, -1, 0.0, None)
    return Window(
        path,
        text,
        start,
        end,
        score=score,
        time=time,
        cut_start=cut_start,
        cut_end=cut_end,
        seams=seams,
    )


MARKDOWN = Form(
    name="markdown",
    block_opening=lambda path: f"### {safe_name(path)}\n\n",
    write=_write,
    read=_read,
    payload=lambda _blocks, text, _metadata: text,
    block_separator="\n",
    window_separator="\n",
)
