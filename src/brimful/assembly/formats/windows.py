"""The windows one by one, for programs that write their own prompt: each window's text is its document's bytes.

`payload` is one record a window. What is counted is the texts alone, joined by an empty line, which is how prompts
put retrieved texts together; what else stands in a record (path, range, score, seams) is for the program.
"""

from __future__ import annotations

from collections.abc import Sequence

from brimful.assembly.formats.form import Block, Form, Fragment, Payload, Showing
from brimful.errors import FormatError
from brimful.windows.seams import Seam
from brimful.windows.window import Window

SEPARATOR = "\n\n"
"""What stands between two windows where their texts are put together."""


def _lead(before: Window | None, _window: Window, _showing: Showing) -> list[Fragment]:
    return [] if before is None else [Fragment(SEPARATOR)]


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
    block_separator=SEPARATOR,
)
