"""`{"documents":[{"path":…,"windows":[{"lines":…,"text":…}]}]}`: the JSON text itself is what the model sees."""

from __future__ import annotations

import json
import re

from brimful.assembly.formats.form import (
    Form,
    Fragment,
    Payload,
    Showing,
    attributes,
    edge_above,
    gap_between,
    is_cut_above,
    read_details,
    read_gap,
    with_escapes,
    with_numbers,
)
from brimful.errors import FormatError
from brimful.text.unseen import INVISIBLE
from brimful.windows.window import MARKER, Window

_SPECIAL = re.compile('["\\\\\x00-\x1f\x7f\u2028\u2029]')

_UNSEEN = re.compile(f"[\x80-\x9f{INVISIBLE}]")
_DETAILS = ("bytes", "lines", "numbered", "score", "time")


def _escape(character: str) -> str:
    return json.dumps(character)[1:-1] if character != "\x7f" else "\\u007f"


def _string(text: str) -> str:
    return f'"{_SPECIAL.sub(lambda match: _escape(match.group()), text)}"'


def _name(path: str) -> str:
    """A path as it is seen: what nobody sees is written out."""
    return _UNSEEN.sub(lambda match: json.dumps(match.group())[1:-1], _string(path))


def _lead(before: Window | None, window: Window, showing: Showing) -> list[Fragment]:
    """The end of the object before, and this one's up to its text. Each says its own trail: programs read it too."""
    fragments = []
    if before is None:
        marker = edge_above(window, showing)
    elif window.cut_start:
        marker = gap_between(before, window)
    else:
        marker = ""
    if before is not None:
        fragments += _after(marked=before.cut_end and not window.cut_start)
        fragments.append(Fragment(","))
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
        return [window for document in documents for window in _windows(document["path"], document["windows"])]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise FormatError(f"not a context as JSON: {error}") from error


def _windows(path: str, found: list[dict[str, object]]) -> list[Window]:
    windows = []
    for at, each in enumerate(found):
        read = read_details({name: str(value) for name, value in each.items() if name in _DETAILS})
        before = str(each["before"]) if "before" in each else None
        gap = read_gap(before) if before and at else None
        following = found[at + 1].get("before") if at + 1 < len(found) else None
        gap_after = read_gap(str(following)) if following else None
        seams = each.get("in", [])
        assert isinstance(seams, list)
        windows.append(
            read.window(
                path,
                str(each["text"]),
                cut_start=gap is not None if at else is_cut_above(read.line, before),
                cut_end="after" in each or bool(gap_after and gap_after.cut_end),
                seams=seams,
            )
        )
    return windows


JSON = Form(
    name="json",
    head=lambda path, _first, _showing: f'{{"path":{_name(path)},"windows":[',
    lead=_lead,
    body=_body,
    tail=_tail,
    read=_read,
    opening='{"documents":[',
    closing="]}\n",
    block_separator=",",
)
