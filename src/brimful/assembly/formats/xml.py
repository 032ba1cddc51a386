"""`<context><document path="…"><window lines="12-30">…</window></document></context>`, well-formed for any text.

An element `also` in place of `document` has windows that only fill.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from brimful.assembly.formats.form import (
    AS_ABOVE,
    BlockReader,
    Form,
    Fragment,
    Payload,
    Showing,
    Title,
    attributes,
    edge_above,
    gap_between,
    read_name,
    safe_name,
    trail_of,
    with_escapes,
    with_numbers,
)
from brimful.errors import FormatError
from brimful.windows.window import MARKER, Window

if TYPE_CHECKING:
    from xml.etree import ElementTree as ET

_SPECIAL = re.compile("[&<>\r\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
_ALSO = "also"
"""The element of a document whose windows only fill."""
_NAMED = {"&": "&amp;", "<": "&lt;", ">": "&gt;", "\r": "&#13;"}


def _escape(character: str) -> str:
    """An entity, or an element of ours for characters that XML can't contain."""
    return _NAMED.get(character) or f'<c hex="{ord(character):x}"/>'


def as_text(text: str) -> str:
    """Any text, escaped for an element."""
    return _SPECIAL.sub(lambda match: _escape(match.group()), text)


def _attribute(value: object) -> str:
    return str(value).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;")


def _element(first: Window, showing: Showing) -> str:
    return _ALSO if showing.marks(first) else "document"


def _head(path: str, first: Window, showing: Showing) -> str:
    return f'<{_element(first, showing)} path="{_attribute(safe_name(path))}">\n'


def _lead(previous: Window | None, window: Window, showing: Showing) -> list[Fragment]:
    """The marker, the trail and the tag of a window."""
    marker = edge_above(window, showing) if previous is None else gap_between(previous, window)
    fragments = [Fragment(f"{marker}\n", role="markers")] if marker else []
    trail = trail_of(previous, window)
    if isinstance(trail, str):
        fragments.append(Fragment("<as-above/>\n", role="seams"))
    elif trail is not None:
        for seam in trail:
            fragments.append(Fragment("<in>", role="seams"))
            fragments += with_escapes(seam.text, seam.start, _SPECIAL, _escape, role="seams")
            fragments.append(Fragment("</in>", role="seams"))
        fragments.append(Fragment("\n", role="seams"))
    named = "".join(f' {name}="{_attribute(value)}"' for name, value in attributes(window, showing).items())
    return [*fragments, Fragment(f"<window{named}>")]


def _body(window: Window, showing: Showing) -> list[Fragment]:
    text = with_escapes(window.text, window.start, _SPECIAL, _escape)
    return [*with_numbers(text, showing.number_of(window)), Fragment("</window>\n")]


def _tail(last: Window, showing: Showing) -> list[Fragment]:
    edge = [Fragment(f"{MARKER}\n", role="markers")] if last.cut_end else []
    return [*edge, Fragment(f"</{_element(last, showing)}>\n")]


def _read(payload: Payload) -> list[Window]:
    if not isinstance(payload, str) or "<!" in payload:
        raise FormatError("expected XML text without declarations")
    if not payload:
        return []
    from xml.etree import ElementTree as ET  # only reading needs it

    try:
        root = ET.fromstring(payload)  # noqa: S314  (no declarations, so no entities)
    except ET.ParseError as error:
        raise FormatError(f"not well-formed: {error}") from error
    return [window for document in root for window in _windows(document)]


def _windows(document: ET.Element) -> list[Window]:
    """The windows of a document element; the text between elements is markers."""
    reader = BlockReader(Title(read_name(document.attrib["path"]), filling=document.tag == _ALSO))
    reader.mark((document.text or "").strip())
    for element in document:
        if element.tag == "in":
            reader.take_seam(_text(element))
        elif element.tag == "as-above":
            reader.take_trail([AS_ABOVE])
        else:
            reader.take(_text(element), element.attrib)
            reader.mark((element.tail or "").strip())
    return reader.windows


def _text(element: ET.Element) -> str:
    return (element.text or "") + "".join(chr(int(c.attrib["hex"], 16)) + (c.tail or "") for c in element)


XML = Form(
    name="xml",
    head=_head,
    lead=_lead,
    body=_body,
    tail=_tail,
    read=_read,
    opening="<context>\n",
    closing="</context>\n",
)
