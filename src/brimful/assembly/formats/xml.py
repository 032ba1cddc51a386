"""`<context><document path="…"><window>…</window></document></context>`, well-formed for any text."""

from __future__ import annotations

import re
from xml.etree import ElementTree as ET

from brimful.assembly.formats.form import (
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
from brimful.windows.seams import Seam
from brimful.windows.window import MARKER, Window

_SPECIAL = re.compile("[&<>\r\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
_NAMED = {"&": "&amp;", "<": "&lt;", ">": "&gt;", "\r": "&#13;"}


def _escape(character: str) -> str:
    """XML has no way to say NUL; an element of our own does."""
    return _NAMED.get(character) or f'<c hex="{ord(character):x}"/>'


def _attribute(value: object) -> str:
    return str(value).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;")


def _write(window: Window, metadata: bool) -> list[Fragment]:  # noqa: FBT001  (Form.write's shape)
    fragments = []
    for seam in window.seams:
        fragments += [
            Fragment("<in>"),
            *with_escapes(seam.text, seam.start, _SPECIAL, _escape),
            Fragment("</in>\n"),
        ]
    shown = details(window) if metadata else {}
    attributes = "".join(f' {name}="{_attribute(value)}"' for name, value in shown.items())
    fragments.append(Fragment(f"{MARKER if window.cut_start else ''}<window{attributes}>"))
    fragments += with_escapes(window.text, window.start, _SPECIAL, _escape)
    fragments.append(Fragment(f"</window>{MARKER if window.cut_end else ''}\n"))
    return fragments


def _read(payload: Payload) -> list[Window]:
    if not isinstance(payload, str) or "<!" in payload:
        raise FormatError("expected XML text without declarations")
    if not payload:
        return []
    try:
        root = ET.fromstring(payload)  # noqa: S314  (no declarations, so no entities)
    except ET.ParseError as error:
        raise FormatError(f"not well-formed: {error}") from error
    windows = []
    for document in root:
        seams: list[Seam] = []
        before = document.text or ""
        for element in document:
            after = element.tail or ""
            if element.tag == "in":
                seams.append(Seam("signature", 0, 0, _text(element)))
            else:
                start, end, score, time = read_details(dict(element.attrib)) if element.attrib else (0, -1, 0.0, None)
                windows.append(
                    Window(
                        read_name(document.attrib["path"]),
                        _text(element),
                        start,
                        end,
                        score=score,
                        time=time,
                        cut_start=before.endswith(MARKER),
                        cut_end=after.startswith(MARKER),
                        seams=tuple(seams),
                    )
                )
                seams = []
            before = after.removeprefix(MARKER) if element.tag == "window" else after
    return windows


def _text(element: ET.Element) -> str:
    return (element.text or "") + "".join(chr(int(c.attrib["hex"], 16)) + (c.tail or "") for c in element)


XML = Form(
    name="xml",
    block_opening=lambda path: f'<document path="{_attribute(safe_name(path))}">\n',
    write=_write,
    read=_read,
    payload=lambda _blocks, text, _metadata: text,
    opening="<context>\n",
    closing="</context>\n",
    block_closing="</document>\n",
)
