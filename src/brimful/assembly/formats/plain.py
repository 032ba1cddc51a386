r"""`[DOC: path lines 12-30]` and the text below it (CFS §9), `[ALSO: …]` above what only fills; and providers' shapes.

What a document says can't be mistaken for what Brimful says: each line of ours begins with a bracket, and a line of a
document that looks like one (`[DOC:`, `[ALSO:`, `[IN:`, `[SPAN:`, a marker `[...]` alone) gets a backslash, which
reading takes off.

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
    ALSO,
    AS_ABOVE,
    LOOKS_LIKE_STEPS,
    NOTHING_ABOVE,
    STEP,
    Block,
    BlockReader,
    Form,
    Fragment,
    Payload,
    Showing,
    Title,
    Trail,
    details,
    edge_above,
    gap_between,
    in_block,
    lines_in_words,
    read_gap,
    read_name,
    read_title,
    safe_name,
    safe_sign,
    title,
    trail_of,
    with_escapes,
    with_numbers,
)
from brimful.errors import FormatError
from brimful.text.unseen import BLANK, BREAK, COMBINING, CONTROL, INVISIBLE
from brimful.windows.window import MARKER, Window

_UNSEEN = f"{BLANK}{CONTROL}{INVISIBLE}"

_BEGINNINGS = (
    "[doc:",
    "[also:",
    "[in:",
    "[in|",
    "[span:",
    "[... above",
    "[... below",
    "[... line",
    "[... numbered line",
)
_BEFORE_DIGITS = ("[line ", "[lines ", "[numbered line ", "[numbered lines ")
MAP, QUESTION = "[MAP]", "[QUESTION]"
"""The lines above a map before a context, and above a question after it."""
_WHOLE_LINES = (MARKER, NOTHING_ABOVE, MAP, QUESTION)


# None of these has another case; to say so makes the patterns compile ten times as fast.
_HIDDEN, _BLANKS = f"(?-i:[{CONTROL}{INVISIBLE}]*)", f"(?-i:[{BLANK}]+)"


def _seen_as(words: str) -> str:
    """A pattern for these words with any invisible characters inside."""
    return _HIDDEN.join(_BLANKS if sign == " " else re.escape(sign) for sign in words)


_OURS = "|".join(
    [
        *map(_seen_as, _BEGINNINGS),
        *(f"{_seen_as(words)}{_HIDDEN}[0-9]" for words in _BEFORE_DIGITS),
        *(f"{_seen_as(words)}(?=(?-i:[{_UNSEEN}]*)(?:[{BREAK}]|\\Z))" for words in _WHOLE_LINES),
    ]
)
_BEGINS = rf"(?:\A|(?<=[{BREAK}]))[{_UNSEEN}{COMBINING}]*\\*"
_ANYWHERE = re.compile(_OURS, re.IGNORECASE)  # far cheaper than looking at the start of every line
# These take long to compile, and few texts need them.
_LOOKS_OURS, _ESCAPED = rf"(?i){_BEGINS}(?={_OURS})", rf"(?i)({_BEGINS})\\(?={_OURS})"
# In a trail: what breaks a line elsewhere, and a sign that would stand between two seams.
_UNSAFE_IN_TRAILS = re.compile(f"[\\\\\r\v\f\x1c\x1d\x1e\x85\u2028\u2029]|{LOOKS_LIKE_STEPS}")
_HEADER = re.compile(rf"\[(?:DOC: |(?={ALSO}))([^\n]*)\]\Z")


def _head(path: str, first: Window, showing: Showing) -> str:
    return f"[{'' if showing.marks(first) else 'DOC: '}{title(path, first, showing)}]\n"


def _lead(previous: Window | None, window: Window, showing: Showing) -> list[Fragment]:
    """The lines above a window: the marker of the gap or the edge, details, and its trail."""
    fragments = []
    if previous is not None:
        fragments += _line(gap_between(previous, window, lines_in_words(window, showing)))
    if showing.metadata:
        values = ", ".join(f"{name} {value}" for name, value in details(window, showing).items())
        fragments.append(Fragment(f"[SPAN: {values}]\n"))
    fragments += _write_trail(trail_of(previous, window))
    if previous is None:
        fragments += _line(edge_above(window, showing))
    return fragments


def _line(marker: str) -> list[Fragment]:
    return [Fragment(f"{marker}\n", role="markers")] if marker else []


def _write_trail(trail: Trail) -> list[Fragment]:
    """`[IN: Deployment > Proxies]`; the further lines of a seam that has several begin with `[IN| `."""
    if trail is None:
        return []
    if isinstance(trail, str):
        return [Fragment(f"[IN: {AS_ABOVE}]\n", role="seams")]
    fragments = [Fragment("[IN: ", role="seams")]
    for number, seam in enumerate(trail):
        if number:
            fragments.append(Fragment(STEP, role="seams"))
        start = seam.start
        for row, line in enumerate(seam.text.split("\n")):
            if row:
                fragments.append(Fragment("]\n[IN| ", role="seams"))
            fragments += with_escapes(line, start, _UNSAFE_IN_TRAILS, safe_sign, role="seams")
            start += len(line.encode()) + 1
    return [*fragments, Fragment("]\n", role="seams")]


def _body(window: Window, showing: Showing) -> list[Fragment]:
    return [*with_numbers(_write_text(window.text, window.start), showing.number_of(window)), Fragment("\n")]


def _write_text(text: str, start: int) -> list[Fragment]:
    """Source bytes, with a backslash before each line that looks like ours."""
    fragments: list[Fragment] = []
    character, byte = 0, start
    if _may_look_ours(text):
        for match in re.finditer(_LOOKS_OURS, text):
            if match.end() > character:
                run = text[character : match.end()]
                fragments.append(Fragment(run, "source", byte, byte := byte + len(run.encode()), "content"))
                character = match.end()
            fragments.append(Fragment("\\", role="markers"))
    if character < len(text):
        run = text[character:]
        fragments.append(Fragment(run, "source", byte, byte + len(run.encode()), "content"))
    return fragments


def _may_look_ours(text: str) -> bool:
    return "[" in text and _ANYWHERE.search(text) is not None


def with_backslashes(text: str) -> str:
    """A text with its look-alike lines escaped."""
    return "".join(fragment.text for fragment in _write_text(text, 0))


def _tail(last: Window, _showing: Showing) -> list[Fragment]:
    return _line(MARKER) if last.cut_end else []


def _read_plain(payload: Payload) -> list[Window]:
    if not isinstance(payload, str):
        raise FormatError(f"plain text is a str, got {type(payload).__name__}")
    windows: list[Window] = []
    named: Title | None = None
    rows: list[str] = []
    in_map = payload.startswith(f"{MAP}\n")
    for number, line in enumerate(payload.split("\n") if payload else (), 1):
        if line == QUESTION:  # the question is not part of the corpus
            rows = [*(rows[:-1] if named else rows), ""]
            break
        header = _HEADER.match(line)
        if header:
            windows += _windows(named, [rows[:-1]]) if named else []
            named, rows = read_title(header[1]), []
        elif named is None and not in_map:
            raise FormatError(f"line {number} comes before any [DOC: …] header: {line[:40]!r}")
        elif named is not None:
            rows.append(line)
    return windows + (_windows(named, [rows[:-1]]) if named else [])


def _windows(named: Title, parts: Sequence[Sequence[str]]) -> list[Window]:
    """The windows under one header, from its lines; each part begins a new window."""
    reader = BlockReader(named, lambda text: re.sub(_ESCAPED, r"\1", text))
    details: dict[str, str] = {}
    text: list[str] = []

    def close() -> None:
        if text:
            reader.take("\n".join(text), details)
            text.clear()
            details.clear()

    for part in parts:
        if not (part and read_gap(part[0])):
            close()
        for line in part:
            if line.startswith("[IN: "):
                close()
                reader.take_trail(line[5:-1].split(STEP))
            elif line.startswith("[IN| "):
                reader.take_line(line[5:-1])
            elif line.startswith("[SPAN: "):
                close()
                details.update(dict(pair.split(" ", 1) for pair in line[7:-1].split(", ")))
            elif read_gap(line) or (line == NOTHING_ABOVE and not text):
                close()
                reader.mark(line)
            else:
                text.append(line)
    close()
    return reader.windows


def _as_messages(_blocks: Sequence[Block], text: str, _showing: Showing) -> Payload:
    return [{"role": "user", "content": text}] if text else []


def _read_messages(payload: Payload) -> list[Window]:
    if isinstance(payload, str):
        return _read_plain(payload)
    contents = [message.get("content") for message in payload]
    if not all(isinstance(content, str) for content in contents):
        raise FormatError("each message needs a text as its content")
    return [window for content in contents for window in _read_plain(str(content))]


def _as_search_results(blocks: Sequence[Block], _text: str, showing: Showing) -> Payload:
    return [
        {
            "type": "search_result",
            "source": safe_name(block.path),
            "title": title(block.path, block.windows[0], showing),
            "content": [{"type": "text", "text": text} for text in _window_texts(block, showing)],
            "citations": {"enabled": True},
        }
        for block in blocks
        if block.windows
    ]


def _window_texts(block: Block, showing: Showing) -> list[str]:
    """The lines of each window of a block; the last one includes the edge below it."""
    texts = []
    for window, above, body in in_block(block.windows, PLAIN, showing):
        below = _tail(window, showing) if window is block.windows[-1] else []
        texts.append("".join(fragment.text for fragment in (*above, *body, *below)).removesuffix("\n"))
    return texts


def _read_search_results(payload: Payload) -> list[Window]:
    if isinstance(payload, str):
        raise FormatError("anthropic windows are read from the blocks (context.payload), not from the counted text")
    windows: list[Window] = []
    for block in payload:
        parts = block.get("content")
        if block.get("type") != "search_result" or not isinstance(parts, list):
            raise FormatError(f"expected a search_result block, got {block.get('type')!r}")
        named = read_title(str(block["title"]))._replace(path=read_name(str(block["source"])))
        windows += _windows(named, [part["text"].split("\n") for part in parts])
    return windows


def _source_and_title(path: str, first: Window, showing: Showing) -> str:
    return f"{safe_name(path)}\n{title(path, first, showing)}\n"


PLAIN = Form(
    name="plain",
    head=_head,
    lead=_lead,
    body=_body,
    tail=_tail,
    read=_read_plain,
    block_separator="\n",
)
MESSAGES = replace(PLAIN, name="messages", read=_read_messages, payload=_as_messages)
ANTHROPIC = replace(
    PLAIN,
    name="anthropic",
    head=_source_and_title,
    read=_read_search_results,
    payload=_as_search_results,
)
