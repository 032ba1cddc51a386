"""`{"documents":[{"path":…,"windows":[{"lines":…,"text":…}]}]}`: the JSON text itself is what the model sees.

The key `also` in place of `path` names a document whose windows only fill. The format `windows` is one record each.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from brimful.assembly.formats.form import (
    BlockReader,
    Form,
    Fragment,
    Payload,
    Showing,
    Title,
    attributes,
    edge_above,
    gap_between,
    with_escapes,
    with_numbers,
)
from brimful.errors import FormatError
from brimful.text.unseen import INVISIBLE
from brimful.windows.seams import Seam
from brimful.windows.window import MARKER, Window

_SPECIAL = re.compile('["\\\\\x00-\x1f\x7f\u2028\u2029]')

_UNSEEN = re.compile(f"[\x80-\x9f{INVISIBLE}]")
_CUT_ABOVE = "[... above]"
_BLANK_LINE = "\n\n"
_DETAILS = ("bytes", "lines", "numbered", "score", "time")


def _escape(character: str) -> str:
    return json.dumps(character)[1:-1] if character != "\x7f" else "\\u007f"


def _string(text: str) -> str:
    return f'"{_SPECIAL.sub(lambda match: _escape(match.group()), text)}"'


def _name(path: str) -> str:
    """A path with its invisible characters escaped."""
    return _UNSEEN.sub(lambda match: json.dumps(match.group())[1:-1], _string(path))


def _head(path: str, first: Window, showing: Showing) -> str:
    return f'{{"{"also" if showing.marks(first) else "path"}":{_name(path)},"windows":['


def _lead(previous: Window | None, window: Window, showing: Showing) -> list[Fragment]:
    """The end of the previous object, and this one up to its text, always with its own trail."""
    fragments = []
    if previous is None:
        marker = edge_above(window, showing)
    else:
        marker = gap_between(previous, window) if window.cut_start else ""
        fragments += [*_after(marked=previous.cut_end and not window.cut_start), Fragment(",")]
    fragments.append(
        Fragment("{" + "".join(f'"{name}":{_string(value)},' for name, value in attributes(window, showing).items()))
    )
    for number, seam in enumerate(window.seams):
        fragments.append(Fragment('","' if number else '"in":["', role="seams"))
        fragments += with_escapes(seam.text, seam.start, _SPECIAL, _escape, role="seams")
    if window.seams:
        fragments.append(Fragment('"],', role="seams"))
    if marker:
        fragments.append(Fragment(f'"before":"{marker}",', role="markers"))
    return [*fragments, Fragment('"text":"')]


def _after(*, marked: bool) -> list[Fragment]:
    if marked:
        return [Fragment('"'), Fragment(f',"after":"{MARKER}"', role="markers"), Fragment("}")]
    return [Fragment('"}')]


def _body(window: Window, showing: Showing) -> list[Fragment]:
    return with_numbers(with_escapes(window.text, window.start, _SPECIAL, _escape), showing.number_of(window))


def _tail(last: Window, _showing: Showing) -> list[Fragment]:
    return [*_after(marked=last.cut_end), Fragment("]}")]


def _read(payload: Payload) -> list[Window]:
    if not isinstance(payload, str):
        raise FormatError(f"JSON is read from its text, got {type(payload).__name__}")
    if not payload:
        return []
    try:
        documents = json.loads(payload)["documents"]
        return [window for document in documents for window in _windows(document)]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise FormatError(f"not a context as JSON: {error}") from error


def _windows(document: Mapping[str, Any]) -> list[Window]:
    filling = "also" in document
    reader = BlockReader(Title(document["also" if filling else "path"], filling=filling))
    for record in document["windows"]:
        reader.mark(record.get("before", ""))
        seams = record.get("in", [])
        if not isinstance(seams, list):
            raise FormatError(f"a trail is a list of texts, got {seams!r}")
        for seam in seams:
            reader.take_seam(seam)
        reader.take(record["text"], {name: str(value) for name, value in record.items() if name in _DETAILS})
        if "after" in record:
            reader.mark(_CUT_ABOVE)
    return reader.windows


JSON = Form(
    name="json",
    head=_head,
    lead=_lead,
    body=_body,
    tail=_tail,
    read=_read,
    opening='{"documents":[',
    closing="]}\n",
    block_separator=",",
)


# ---- windows: one record each, for programs that write their own prompt; the counted text is that of windows alone.


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


def _read_records(payload: Payload) -> list[Window]:
    if isinstance(payload, str):
        raise FormatError("windows are read from their records (context.payload), not from the counted text")
    return list(map(_window, payload))


def _window(record: Mapping[str, Any]) -> Window:
    lines = record.get("lines")
    return Window(
        record["path"],
        record["text"],
        record["start"],
        record["end"],
        score=record["score"],
        time=record["time"],
        line=lines[0] if lines else None,
        cut_start=bool(record["cut_start"]),
        cut_end=bool(record["cut_end"]),
        seams=tuple(Seam("signature", 0, 0, text) for text in record["in"]),
        filling=bool(record["filling"]),
    )


WINDOWS = Form(
    name="windows",
    head=lambda _path, _first, _showing: "",
    lead=lambda previous, _window, _showing: [] if previous is None else [Fragment(_BLANK_LINE)],
    body=lambda window, _showing: [Fragment(window.text, "source", window.start, window.end, "content")],
    tail=lambda _last, _showing: [],
    read=_read_records,
    payload=lambda blocks, _text, _showing: [_record(window) for block in blocks for window in block.windows],
    block_separator=_BLANK_LINE,
)
