r"""`[DOC: path]` and the text below it (CFS §9), and the provider shapes that carry the same text.

What a document says can't be mistaken for what Brimful says: a line that looks like one of our
own (`[DOC:`, `[IN:`, `[SPAN:`, or an edge marker `...`) gets a backslash, and reading takes it off again.

- `plain`: the text is what the model sees.
- `messages`: one user message whose content is the plain text; that content is what is counted.
- `anthropic`: one `search_result` block a document, one text block a window; what is counted is each
  block's source and title on a line of their own, then its text blocks.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from brimful.assembly.formats.form import (
    Block,
    Form,
    Fragment,
    Payload,
    details,
    read_details,
    read_name,
    safe_name,
    with_escapes,
)
from brimful.errors import FormatError
from brimful.text.unseen import BLANK, BREAK, CONTROL, INVISIBLE
from brimful.windows.seams import Seam
from brimful.windows.window import MARKER, Window

_UNSEEN = f"{BLANK}{CONTROL}{INVISIBLE}"
_GAP = f"[{CONTROL}{INVISIBLE}]*"


def _seen_as(said: str) -> str:
    """A pattern for what a reader sees so, whatever nobody sees stands in between."""
    return _GAP.join(map(re.escape, said))


_OURS = f"(?:{'|'.join(map(_seen_as, ('[doc:', '[in:', '[in|', '[span:', MARKER)))})"
_ANYWHERE = re.compile(_OURS, re.IGNORECASE)  # far cheaper than to look behind the start of every line
# These are long to compile and seldom needed: `re` does it at their first use.
_LOOKS_OURS = rf"(?:\A|(?<=[{BREAK}]))[{_UNSEEN}]*\\*(?={_OURS})"
_ESCAPED = rf"((?:\A|(?<=[{BREAK}]))[{_UNSEEN}]*\\*)\\(?={_OURS})"
_FEW_DOTS = rf"(?:\A|(?<=[{BREAK}]))[{_UNSEEN}]*\\*()\.{{1,2}}\Z"
_FEW_ESCAPED = rf"(?:\A|(?<=[{BREAK}]))[{_UNSEEN}]*\\*(\\)\.{{1,2}}\Z"
_END = re.compile(r"(\\*)(\.\.\.)?(?=\n*\Z)")
_UNSAFE_IN_SEAMS = re.compile("[\\\\\r\v\f\x1c\x1d\x1e\x85\u2028\u2029]")
_HEADER = re.compile(r"\[DOC: ([^\n]*)\]\Z")


def write_window(window: Window, metadata: bool) -> list[Fragment]:  # noqa: FBT001  (Form.write's shape)
    """A window as plain text: details, seams, edge markers, and its own text with look-alikes escaped."""
    fragments = []
    if metadata:
        shown = ", ".join(f"{name} {value}" for name, value in details(window).items())
        fragments.append(Fragment(f"[SPAN: {shown}]\n"))
    for seam in window.seams:
        fragments.extend(_write_seam(seam))
    if window.cut_start:
        fragments.append(Fragment(MARKER))
    fragments.extend(_write_text(window.text, window.start, cut_end=window.cut_end))
    if window.cut_end:
        fragments.append(Fragment(MARKER))
    return fragments


def _write_seam(seam: Seam) -> list[Fragment]:
    """One line each; what would break a line elsewhere is escaped. `[IN| ` continues a seam of several lines."""
    fragments, at = [], seam.start
    for number, line in enumerate(seam.text.split("\n")):
        written = with_escapes(line, at, _UNSAFE_IN_SEAMS, safe_name)
        fragments += [Fragment("[IN| " if number else "[IN: "), *written, Fragment("]\n")]
        at += len(line.encode()) + 1
    return fragments


def _write_text(text: str, start: int, *, cut_end: bool) -> list[Fragment]:
    """Insert backslashes; everything else is source bytes as they are."""
    inserts = []
    if _ANYWHERE.search(text):
        inserts = [(match.end(), "\\") for match in re.finditer(_LOOKS_OURS, text, re.IGNORECASE)]
    tail = _end_of(text)
    if tail:
        slashes, dots = tail.groups()
        # Slashes at the end are doubled, so that a marker after them is never taken for an escaped one.
        added = len(slashes) + (1 if dots else 0)
        on_own_line = inserts and inserts[-1][0] == tail.end(1)
        if on_own_line:
            added += 1 + len(inserts.pop()[1])
        inserts.append((tail.end(1), "\\" * added))
    elif cut_end and text.endswith(".") and (few := re.search(_FEW_DOTS, text)):
        inserts.append((few.start(1), "\\"))  # with the marker they would begin with one
    fragments: list[Fragment] = []
    at, byte = 0, start
    for position, slash in inserts:
        if position > at:
            run = text[at:position]
            fragments.append(Fragment(run, "source", byte, byte := byte + len(run.encode())))
            at = position
        fragments.append(Fragment(slash))
    if at < len(text):
        fragments.append(Fragment(text[at:], "source", byte, byte + len(text[at:].encode())))
    return fragments


def _read_text(text: str, *, cut_end: bool) -> str:
    tail = _end_of(text)
    if cut_end and text.endswith(".") and (few := re.search(_FEW_ESCAPED, text)):
        text = text[: few.start(1)] + text[few.end(1) :]
    elif tail:
        text = text[: tail.start()] + "\\" * (len(tail.group(1)) // 2) + text[tail.end(1) :]
    return re.sub(_ESCAPED, r"\1", text, flags=re.IGNORECASE)


def _end_of(text: str) -> re.Match[str] | None:
    """Slashes at the end of a text's last line, dots after them; None where there is neither."""
    said = text.rstrip("\n")
    if not said.endswith(("\\", MARKER)):
        return None
    return _END.search(text, len(said.removesuffix(MARKER).rstrip("\\")))


def _read_plain(payload: Payload) -> list[Window]:
    if not isinstance(payload, str):
        raise FormatError(f"plain text is a str, got {type(payload).__name__}")
    if not payload:
        return []
    windows: list[Window] = []
    path, body = "", [""]
    lines = payload.split("\n")
    for number, line in enumerate(lines, 1):
        header = _HEADER.match(line)
        if header:
            if windows or path:
                windows.extend(_read_block(path, "\n".join(body[:-1])))
            path, body = read_name(header.group(1)), []
        elif not path:
            raise FormatError(f"line {number} comes before any [DOC: …] header: {line[:40]!r}")
        else:
            body.append(line)
    return windows + _read_block(path, "\n".join(body[:-1]))


def _read_block(path: str, body: str) -> list[Window]:
    """Windows of one document: a cut edge, a seam or a span line after a cut edge begins the next."""
    lines, parts, at = body.split("\n"), [], 0
    while at < len(lines):
        first = at
        at = _content_line(lines, at)
        text = lines[at].removeprefix(MARKER)
        while at + 1 < len(lines) and not _begins(lines[at + 1], _ends_cut(text)):
            at += 1
            text = lines[at]
        parts.append("\n".join(lines[first : at + 1]))
        at += 1
    return [read_window(path, part) for part in parts]


def _content_line(lines: Sequence[str], at: int) -> int:
    while at + 1 < len(lines) and lines[at].startswith(("[IN: ", "[IN| ", "[SPAN: ")):
        at += 1
    return at


def _begins(line: str, after_cut: bool) -> bool:  # noqa: FBT001
    return line.startswith("[SPAN: ") or (after_cut and line.startswith((MARKER, "[IN: ")))


def _ends_cut(text: str) -> bool:
    """Does a text end with a marker, rather than with dots of its own?"""
    slashes = len(text) - len(MARKER) - len(text[: -len(MARKER)].rstrip("\\"))
    return text.endswith(MARKER) and slashes % 2 == 0


def read_window(path: str, text: str) -> Window:
    """The inverse of `write_window`."""
    start, end, score, time = 0, -1, 0.0, None
    if text.startswith("[SPAN: "):
        line, _, text = text.partition("\n")
        found = dict(pair.split(" ", 1) for pair in line.removeprefix("[SPAN: ").removesuffix("]").split(", "))
        start, end, score, time = read_details(found)
    seams: list[Seam] = []
    while text.startswith(("[IN: ", "[IN| ")):
        line, _, text = text.partition("\n")
        said = read_name(line[5:].removesuffix("]"))
        if line.startswith("[IN| ") and seams:
            said = f"{seams.pop().text}\n{said}"
        seams.append(Seam("signature", 0, 0, said))
    cut_start = text.startswith(MARKER)
    text = text.removeprefix(MARKER)
    cut_end = _ends_cut(text)
    text = _read_text(text[: -len(MARKER)] if cut_end else text, cut_end=cut_end)
    return Window(
        path,
        text,
        start,
        end,
        score=score,
        time=time,
        cut_start=cut_start,
        cut_end=cut_end,
        seams=tuple(seams),
    )


def _as_text(_blocks: Sequence[Block], text: str, _metadata: bool) -> Payload:  # noqa: FBT001
    return text


def _as_messages(_blocks: Sequence[Block], text: str, _metadata: bool) -> Payload:  # noqa: FBT001
    return [{"role": "user", "content": text}] if text else []


def _read_messages(payload: Payload) -> list[Window]:
    if isinstance(payload, str):
        return _read_plain(payload)
    contents = [message.get("content") for message in payload]
    if not all(isinstance(content, str) for content in contents):
        raise FormatError("each message needs a text as its content")
    return [window for content in contents for window in _read_plain(str(content))]


def _as_search_results(blocks: Sequence[Block], _text: str, metadata: bool) -> Payload:  # noqa: FBT001
    return [
        {
            "type": "search_result",
            "source": safe_name(block.path),
            "title": safe_name(block.path),
            "content": [
                {
                    "type": "text",
                    "text": "".join(fragment.text for fragment in write_window(window, metadata)),
                }
                for window in block.windows
            ],
            "citations": {"enabled": True},
        }
        for block in blocks
    ]


def _read_search_results(payload: Payload) -> list[Window]:
    if isinstance(payload, str):
        raise FormatError("anthropic windows are read from the blocks (context.payload), not from the counted text")
    windows: list[Window] = []
    for block in payload:
        parts = block.get("content")
        if block.get("type") != "search_result" or not isinstance(parts, list):
            raise FormatError(f"expected a search_result block, got {block.get('type')!r}")
        windows.extend(read_window(read_name(str(block["source"])), part["text"]) for part in parts)
    return windows


def _source_and_title(path: str) -> str:
    name = safe_name(path)
    return f"{name}\n{name}\n"


def _header(path: str) -> str:
    return f"[DOC: {safe_name(path)}]\n"


PLAIN = Form(
    name="plain",
    block_opening=_header,
    write=write_window,
    read=_read_plain,
    payload=_as_text,
    block_separator="\n",
    block_closing="\n",
    window_separator="\n",
)
MESSAGES = replace(PLAIN, name="messages", read=_read_messages, payload=_as_messages)
ANTHROPIC = replace(
    PLAIN, name="anthropic", block_opening=_source_and_title, read=_read_search_results, payload=_as_search_results
)
