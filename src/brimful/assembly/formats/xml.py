"""`<context><document path="…"><window lines="12-30">…</window></document></context>`, well-formed for any text."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

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
_NAMED = {"&": "&amp;", "<": "&lt;", ">": "&gt;", "\r": "&#13;"}


def _escape(character: str) -> str:
    """XML has no way to say NUL; an element of our own does."""
    return _NAMED.get(character) or f'<c hex="{ord(character):x}"/>'


def as_text(text: str) -> str:
    """Any text inside of an element."""
    return _SPECIAL.sub(lambda match: _escape(match.group()), text)


def _attribute(value: object) -> str:
    return str(value).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;")


def _lead(before: Window | None, window: Window, showing: Showing) -> list[Fragment]:
    """A line with the marker, if there is one; one with the trail; the tag."""
    marker = edge_above(window, showing) if before is None else gap_between(before, window)
    fragments = [Fragment(f"{marker}\n", role="markers")] if marker else []
    trail = trail_of(before, window)
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


def _tail(last: Window, _showing: Showing) -> list[Fragment]:
    edge = [Fragment(f"{MARKER}\n", role="markers")] if last.cut_end else []
    return [*edge, Fragment("</document>\n")]


def _read(payload: Payload) -> list[Window]:
    if not isinstance(payload, str) or "<!" in payload:
        raise FormatError("expected XML text without declarations")
    if not payload:
        return []
    from xml.etree import ElementTree as ET  # nobody who only writes needs it

    try:
        root = ET.fromstring(payload)  # noqa: S314  (no declarations, so no entities)
    except ET.ParseError as error:
        raise FormatError(f"not well-formed: {error}") from error
    return [window for document in root for window in _windows(document)]


def _windows(document: ET.Element) -> list[Window]:
    """The windows of a document; what stands between two of them is a marker."""
    windows: list[Window] = []
    path = read_name(document.attrib["path"])
    seams: list[str] = []
    seams_above: list[str] = []
    marker = (document.text or "").strip() or None
    for element in document:
        if element.tag != "window":
            seams += [_text(element)] if element.tag == "in" else seams_above
            continue
        after = (element.tail or "").strip() or None
        is_last = element is document[-1]
        read = read_details(dict(element.attrib))
        before_gap = read_gap(marker) if marker and windows else None
        after_gap = read_gap(after) if after and not is_last else None
        cut_start = bool(before_gap and before_gap.cut_start) if windows else is_cut_above(read.line, marker)
        cut_end = after == MARKER if is_last else bool(after_gap and after_gap.cut_end)
        windows.append(read.window(path, _text(element), cut_start=cut_start, cut_end=cut_end, seams=seams))
        marker, seams_above, seams = after, seams, []
    return windows


def _text(element: ET.Element) -> str:
    return (element.text or "") + "".join(chr(int(c.attrib["hex"], 16)) + (c.tail or "") for c in element)


XML = Form(
    name="xml",
    head=lambda path, _first, _showing: f'<document path="{_attribute(safe_name(path))}">\n',
    lead=_lead,
    body=_body,
    tail=_tail,
    read=_read,
    opening="<context>\n",
    closing="</context>\n",
)
