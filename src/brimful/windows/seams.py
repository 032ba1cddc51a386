"""What does a window need from elsewhere in its document in order to be understood?

Signatures around code, the header row of a table, the headings above prose, who speaks in a chat and when. Seams are
counted in the budget like everything else, so what prose gets is kept to a part of what the window itself says.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from brimful.corpus.documents import Document
from brimful.patterns import compiled
from brimful.text.spans import Span
from brimful.text.times import time_of
from brimful.text.uses import used_definitions

SeamKind = Literal["signature", "definition", "header", "heading", "speaker"]

MOST_TRAIL_BYTES = 120
"""Of headings and speakers above a window of prose."""
SPEAKER_SHARE = 4
"""At most one byte of the speaker, without whom a message is nobody's, for so many of the window."""
LEAD_SHARE = 4
"""And of the header of a table in prose, or the lead-in of a list."""
MOST_HEADINGS = 3
MOST_HEADER_BYTES = 1_024
"""Of a table's header row: a longer one would crowd out the rows that it explains, and is left out."""
MOST_SIGNATURE_BYTES = 256
"""Of a signature, of which only the line that names it is shown: a longer one is left out."""

_FRAME_BYTES = 8  # about what a format puts around a seam
_REACH = 16_384  # bytes that are looked back for who speaks
# As loaders write messages down: `Speaker (2024-05-01T10:00:00Z): …`, and `User: …` where no time is known.
_SPEAKS = compiled(
    rb"^(?:[^\n:()]{1,80} \((?P<time>\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ)\):|(?:User|Assistant):)(?= )", re.MULTILINE
)
_HEADING_SIGN = compiled(rb"(?:[#=*]+|\.S[HS])[ \t]+")
_WORDS = compiled(rb"[0-9A-Za-z\x80-\xff]")
_LINE = compiled(rb"\S(?:[^\n]*\S)?")
_NOT_A_NAME = (b"@", b"#[", b"[<", b"//", b"/*", b"*", b"#!")
_SIGNS = (b"Z): ", b"Assistant: ", b"User: ")


@dataclass(frozen=True, slots=True)
class Seam:
    """Source bytes shown before a window so that it can be understood; never part of its range."""

    kind: SeamKind
    start: int
    end: int
    text: str


def seams_for(document: Document, span: Span, *, definitions: bool = False, trail_share: int = 0) -> tuple[Seam, ...]:
    """Enclosing signatures and (when asked) used definitions of code, the header row of a table, and for prose the
    headings above the window and whoever speaks at its start.

    Only what stands outside the span, in reading order, each range once. Headings get one byte for `trail_share` bytes
    of the window, with what stands around them; 0 gives prose no seams.
    """
    found: list[tuple[SeamKind, int, int]] = []
    if document.kind == "data":
        header = document.outline.header
        found += [("header", *header)] if header and header[1] - header[0] <= MOST_HEADER_BYTES else []
    elif document.kind == "prose":
        found += [*_trail(document, span, trail_share), *_lead(document, span)] if trail_share else []
    else:
        found += [
            ("signature", *_naming_line(document.content, block.signature_start, block.signature_end))
            for block in document.outline.enclosing(span.start, span.end)
            if block.kind in ("function", "class")
        ]
        if definitions and document.is_whole:
            names = used_definitions(document.content, span.start, span.end, document.outline.structure)
            found.extend(("definition", name.start, name.end) for name in names)
    return _seams(document, span, found)


def seams_after(document: Document, span: Span, before: Sequence[Seam], *, trail_share: int) -> tuple[Seam, ...]:
    """The seams of a window that was resized; the definitions that it used stay where they are outside of it."""
    kept = [(seam.kind, seam.start, seam.end) for seam in before if seam.kind == "definition"]
    found = seams_for(document, span, trail_share=trail_share)
    if not kept:
        return found
    fresh = [(seam.kind, seam.start, seam.end) for seam in found]
    return _seams(document, span, [*kept, *fresh])


def time_in(document: Document, span: Span) -> int | None:
    """When was the first message of a span said, or the one that it begins in? None where no message tells."""
    if document.kind != "prose" or not document.speaks(_SIGNS):
        return None
    spoken = _speaker(document, span.start)
    if spoken is None and document.content.find(_SIGNS[0], span.start, span.end) >= 0:
        spoken = _SPEAKS.search(document.content, span.start, span.end)
    return time_of(spoken["time"]) if spoken and spoken["time"] else None


def _trail(document: Document, span: Span, share: int) -> list[tuple[SeamKind, int, int]]:
    """Who speaks, and the headings above, the nearest first, as far as there is room for them."""
    room = min(MOST_TRAIL_BYTES, len(span) // share)
    found: list[tuple[SeamKind, int, int]] = []
    spoken = _speaker(document, span.start)
    said = len(spoken[0]) if spoken and spoken.end() <= span.start else 0
    if spoken and 0 < said <= min(MOST_TRAIL_BYTES, len(span) // SPEAKER_SHARE):
        found.append(("speaker", spoken.start(), spoken.end()))
        room -= said
    above = [block for block in document.outline.enclosing(span.start, span.start) if block.kind == "heading"]
    for block in above[: -MOST_HEADINGS - 1 : -1]:
        start, end = _heading_words(document.content, block.signature_start, block.signature_end)
        size = end - start + _FRAME_BYTES
        if block.signature_end <= span.start and end > start and size <= room:
            found.append(("heading", start, end))
            room -= size
    return found


def _heading_words(content: bytes, start: int, end: int) -> tuple[int, int]:
    r"""What a heading says, without the signs that make it one.

    >>> text = b"## Proxies ##\n"
    >>> text[slice(*_heading_words(text, 0, len(text)))]
    b'Proxies'
    """
    for line in _LINE.finditer(content, start, end):
        if _WORDS.search(line[0]):
            sign = _HEADING_SIGN.match(line[0])
            first = line.start() + (sign.end() if sign else 0)
            closed = line[0].rstrip(b"#")
            last = line.start() + len(closed.rstrip()) if closed.endswith((b" ", b"\t")) else line.end()
            return (first, last) if first < last else (start, start)
    return start, start


def _naming_line(content: bytes, start: int, end: int) -> tuple[int, int]:
    r"""The line of a signature that names it, behind decorators and attributes; nothing where that is too long.

    >>> code = b"@cached\ndef brew(\n    pot,\n):\n"
    >>> code[slice(*_naming_line(code, 0, len(code)))]
    b'def brew('
    """
    for line in _LINE.finditer(content, start, end):
        if not line[0].startswith(_NOT_A_NAME):
            return (start, start) if len(line[0]) > MOST_SIGNATURE_BYTES else line.span()
    return start, start


def _lead(document: Document, span: Span) -> list[tuple[SeamKind, int, int]]:
    """The header of the table or the lead-in of the list that a window begins in, if that is small beside the window.

    A lead-in of several lines is left out.
    """
    passages = document.outline.structure.passages
    at = bisect_right(passages, span.start, key=lambda passage: passage.start) - 1
    if at < 0 or passages[at].end <= span.start or passages[at].kind not in ("table", "list"):
        return []
    lead = passages[at].lead
    if lead is None or lead[1] > span.start:
        return []
    most = MOST_HEADER_BYTES if passages[at].kind == "table" else MOST_TRAIL_BYTES
    is_line = passages[at].kind == "table" or document.content.find(b"\n", *lead) < 0
    return [("header", *lead)] if is_line and lead[1] - lead[0] <= min(most, len(span) // LEAD_SHARE) else []


def _speaker(document: Document, position: int) -> re.Match[bytes] | None:
    """The last beginning of a message at or before a place, if it is near."""
    if not document.speaks(_SIGNS):
        return None
    content = document.content
    low = max(position - _REACH, 0)
    if not any(content.find(sign, low, position + MOST_TRAIL_BYTES) >= 0 for sign in _SIGNS):
        return None
    low = content.find(b"\n", low, position) + 1 if low else 0
    heads = [head for head in _SPEAKS.finditer(content, low, position + MOST_TRAIL_BYTES) if head.start() <= position]
    return heads[-1] if heads else None


def _seams(document: Document, span: Span, found: Sequence[tuple[SeamKind, int, int]]) -> tuple[Seam, ...]:
    if not found:
        return ()
    seams: list[Seam] = []
    for kind, start, end in sorted(set(found), key=lambda seam: (seam[1], -seam[2], seam[0])):
        outside = end <= span.start or start >= span.end
        if outside and end > start and not (seams and end <= seams[-1].end):
            seams.append(Seam(kind, start, end, document.text(start, end)))
    return tuple(seams)
