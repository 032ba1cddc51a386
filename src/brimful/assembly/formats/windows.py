"""Windows one by one, for programs that write their own prompt: one record each, with path, range and score.

The counted text is that of the windows alone, joined by an empty line.
"""

from __future__ import annotations

from collections.abc import Sequence

from brimful.assembly.formats.form import Block, Form, Fragment, Payload, Showing
from brimful.errors import FormatError
from brimful.windows.seams import Seam
from brimful.windows.window import Window

_SEPARATOR = "\n\n"


def _lead(previous: Window | None, _window: Window, _showing: Showing) -> list[Fragment]:
    return [] if previous is None else [Fragment(_SEPARATOR)]


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
        "filling": window.filling,
        "text": window.text,
    }


def _read(payload: Payload) -> list[Window]:
    if isinstance(payload, str):
        raise FormatError("windows are read from their records (context.payload), not from the counted text")
    return [_window(record) for record in payload]


def _window(record: dict[str, object]) -> Window:
    start, end, score, time, seams = (record[name] for name in ("start", "end", "score", "time", "in"))
    assert isinstance(start, int)
    assert isinstance(end, int)
    assert isinstance(score, int | float)
    assert time is None or isinstance(time, int)
    assert isinstance(seams, list)
    lines = record.get("lines")
    assert lines is None or isinstance(lines, list | tuple)
    return Window(
        str(record["path"]),
        str(record["text"]),
        start,
        end,
        score=score,
        time=time,
        line=lines[0] if lines else None,
        cut_start=bool(record["cut_start"]),
        cut_end=bool(record["cut_end"]),
        seams=tuple(Seam("signature", 0, 0, text) for text in seams),
        filling=bool(record["filling"]),
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
