"""`{"documents":[{"path":…,"windows":[{"text":…}]}]}`: the JSON text itself is what the model sees."""

from __future__ import annotations

import json
import re

from brimful.assembly.formats.form import Form, Fragment, Payload, details, read_details, with_escapes
from brimful.errors import FormatError
from brimful.text.unseen import INVISIBLE
from brimful.windows.seams import Seam
from brimful.windows.window import MARKER, Window

_SPECIAL = re.compile('["\\\\\x00-\x1f\x7f\u2028\u2029]')

_UNSEEN = re.compile(f"[\x80-\x9f{INVISIBLE}]")


def _escape(character: str) -> str:
    return json.dumps(character)[1:-1] if character != "\x7f" else "\\u007f"


def _string(text: str) -> str:
    return f'"{_SPECIAL.sub(lambda match: _escape(match.group()), text)}"'


def _name(path: str) -> str:
    """A path as it is seen: what nobody sees is written out."""
    return _UNSEEN.sub(lambda match: json.dumps(match.group())[1:-1], _string(path))


def _write(window: Window, metadata: bool) -> list[Fragment]:  # noqa: FBT001  (Form.write's shape)
    shown = {name: str(value) for name, value in details(window).items()} if metadata else {}
    fragments = [Fragment("{" + "".join(f'"{name}":{_string(value)},' for name, value in shown.items()))]
    if window.seams:
        for number, seam in enumerate(window.seams):
            fragments.append(Fragment('","' if number else '"in":["'))
            fragments += with_escapes(seam.text, seam.start, _SPECIAL, _escape)
        fragments.append(Fragment('"],'))
    fragments.append(Fragment(f'"before":"{MARKER}","text":"' if window.cut_start else '"text":"'))
    fragments += with_escapes(window.text, window.start, _SPECIAL, _escape)
    fragments.append(Fragment(f'","after":"{MARKER}"}}' if window.cut_end else '"}'))
    return fragments


def _read(payload: Payload) -> list[Window]:
    if not isinstance(payload, str):
        raise FormatError(f"JSON is read from its text, got {type(payload).__name__}")
    if not payload:
        return []
    try:
        return [
            _window(document["path"], found)
            for document in json.loads(payload)["documents"]
            for found in document["windows"]
        ]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise FormatError(f"not a context as JSON: {error}") from error


def _window(path: str, found: dict[str, object]) -> Window:
    shown = {name: str(value) for name, value in found.items() if name in ("bytes", "score", "time")}
    start, end, score, time = read_details(shown) if shown else (0, -1, 0.0, None)
    seams = found.get("in", [])
    assert isinstance(seams, list)
    return Window(
        path,
        str(found["text"]),
        start,
        end,
        score=score,
        time=time,
        cut_start="before" in found,
        cut_end="after" in found,
        seams=tuple(Seam("signature", 0, 0, text) for text in seams),
    )


JSON = Form(
    name="json",
    block_opening=lambda path: f'{{"path":{_name(path)},"windows":[',
    write=_write,
    read=_read,
    payload=lambda _blocks, text, _metadata: text,
    opening='{"documents":[',
    closing="]}\n",
    block_separator=",",
    block_closing="]}",
    window_separator=",",
)
