"""Seams: source bytes shown above a window so that a reader can place it.

Code gets the signatures around it, data its header row, prose its headings, a chat its speaker, and a mail its subject,
sender and date. Seams count in the budget, so in prose their length is limited to a part of the window's.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from brimful.documents.documents import Document
from brimful.outline.layout import used_definitions
from brimful.outline.prose import sentence_starts
from brimful.outline.times import time_of
from brimful.text.spans import Span

SeamKind = Literal["signature", "definition", "header", "heading", "speaker"]
_Range = tuple[SeamKind, int, int]

MAX_TRAIL_BYTES = 120
"""Of headings and speaker above a window of prose."""
_WINDOW_BYTES_PER_SPEAKER_BYTE = 4
_WINDOW_BYTES_PER_LEAD_BYTE = 2
"""A lead is the header row of a table in prose, or the sentence that introduces a list."""
_MIN_LEAD_BYTES = 60
"""Allowed above even the shortest row or item."""
_MAX_HEADINGS = 3
_MAX_SIGNATURES = 32  # the innermost ones
_MAX_HEADER_BYTES = 1_024
"""A longer header row would crowd out the rows that it explains, and is left out."""
_MAX_SIGNATURE_BYTES = 256
"""Of the line that names a definition; a longer one is left out."""
_FRAME_BYTES = 8  # what a format writes around a seam, roughly
_SPEAKER_LOOKBACK_BYTES = 16_384
_KEYS_LOOKBACK_BYTES = 4_096

# Loaders write messages as `Speaker (2024-05-01T10:00:00Z): …`, or `User: …` where no time is known.
_MESSAGE = re.compile(
    rb"^(?:[^\n:()]{1,80} \((?P<time>\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ)\):|(?:User|Assistant):)(?= )", re.MULTILINE
)
# Loaders write a mail as its headers, one a line, and its text after an empty line.
_MAIL_HEADERS = re.compile(rb"(?:[A-Z][A-Za-z-]{0,40}: [^\n]{1,2000}\n){2,20}\n")
_MAIL_ORIGIN = re.compile(rb"^(?:Subject|From|Date): [^\n]+", re.MULTILINE)
_SPEAKER = re.compile(rb"(?:Z\)|Assistant|User): ")
_HEADING_SIGN = re.compile(rb"(?:[#=*]+|\.S[HS])[ \t]+")
_QUOTE = ord('"')
_WORDS = re.compile(rb"[0-9A-Za-z\x80-\xff]")
_LINE = re.compile(rb"\S(?:[^\n]*\S)?")
_DECORATION = (b"@", b"#[", b"[<", b"//", b"/*", b"*", b"#!")
_NOT_BLANK = re.compile(rb"\S")
_JSON_SIGN = re.compile(rb'"(?:[^"\\]|\\.)*+"|([\[\]{}])')
_KEY_BEFORE = re.compile(rb'"((?:[^"\\\n]|\\.)+)"\s*:\s*\Z')


@dataclass(frozen=True, slots=True)
class Seam:
    """Source bytes shown above a window; never part of its range."""

    kind: SeamKind
    start: int
    end: int
    text: str


def seams_for(document: Document, span: Span, *, definitions: bool = False, trail_share: int = 0) -> tuple[Seam, ...]:
    """The seams of a window: outside its span, in reading order, each range once.

    Headings get one byte for every `trail_share` bytes of the window; 0 gives prose no seams. `definitions` adds the
    definitions that code uses.
    """
    if document.kind == "data":
        header = document.outline.header
        if header is not None:
            is_short = header[1] - header[0] <= _MAX_HEADER_BYTES
            return _cut_out(document, span, [("header", *header)] if is_short else [])
        is_json = document.language == "json"
        return _cut_out(document, span, _keys_above(document, span.start) if is_json else [])
    if document.kind == "prose":
        return _cut_out(
            document, span, [*_trail(document, span, trail_share), *_lead(document, span)] if trail_share else []
        )
    first = _NOT_BLANK.search(document.content, span.start, span.end)
    begin = first.start() if first else span.start
    around = [block for block in document.outline.enclosing(begin, begin + 1) if block.kind in ("function", "class")]
    ranges: list[_Range] = [
        ("signature", *_naming_line(document.content, block.signature_start, block.signature_end))
        for block in around[-_MAX_SIGNATURES:]
    ]
    if ranges and ranges[-1][1] < around[-1].signature_end <= ranges[-1][1] + min(_MAX_SIGNATURE_BYTES, len(span)):
        ranges[-1] = "signature", ranges[-1][1], around[-1].signature_end
    if definitions and document.is_whole:
        names = used_definitions(document.content, span.start, span.end, document.outline.structure)
        ranges.extend(("definition", name.start, name.end) for name in names)
    return _cut_out(document, span, ranges)


def resized_seams(document: Document, span: Span, previous: Sequence[Seam], *, trail_share: int) -> tuple[Seam, ...]:
    """The seams of a window after resizing; definitions that it used stay while they are outside of it."""
    definitions: list[_Range] = [(seam.kind, seam.start, seam.end) for seam in previous if seam.kind == "definition"]
    seams = seams_for(document, span, trail_share=trail_share)
    if not definitions:
        return seams
    return _cut_out(document, span, [*definitions, *((seam.kind, seam.start, seam.end) for seam in seams)])


def time_in(document: Document, span: Span) -> int | None:
    """The time of the message that a span begins in, or else of the first one inside it; None without messages."""
    if document.kind != "prose":
        return None
    message = _message_at(document, span.start)
    if message is None and document.content.find(b"Z): ", span.start, span.end) >= 0:
        message = _MESSAGE.search(document.content, span.start, span.end)
    return time_of(message["time"]) if message and message["time"] else None


def _cut_out(document: Document, span: Span, ranges: Sequence[_Range]) -> tuple[Seam, ...]:
    """Ranges outside the span as seams, without those inside an earlier one."""
    seams: list[Seam] = []
    for kind, start, end in sorted(set(ranges), key=lambda seam: (seam[1], -seam[2], seam[0])):
        is_outside = end <= span.start or start >= span.end
        if is_outside and end > start and not (seams and end <= seams[-1].end):
            seams.append(Seam(kind, start, end, document.text(start, end)))
    return tuple(seams)


def _keys_above(document: Document, position: int) -> list[_Range]:
    r"""The keys of the objects and arrays that a place of JSON lies in, as far as they are near and there is room.

    >>> page = Document("a.json", '{"shop": {"open": [1, 2], "items": [{"name": "tea"}, {"name": "milk"}]}}')
    >>> [page.text(start, end) for _, start, end in _keys_above(page, 54)]
    ['items', 'shop']
    """
    content, opened = document.content, list[int]()
    low = document.outline.cut_before(max(position - _KEYS_LOOKBACK_BYTES, 0))
    for sign in _JSON_SIGN.finditer(content, low, position):
        if sign[1] in (b"{", b"["):
            opened.append(sign.start())
        elif sign[1] and opened:
            opened.pop()
    keys: list[_Range] = []
    room = MAX_TRAIL_BYTES
    for opening in reversed(opened):
        key = _KEY_BEFORE.search(content, max(opening - MAX_TRAIL_BYTES, 0), opening)
        if key is None:
            continue
        room -= len(key[1]) + _FRAME_BYTES
        if room < 0:
            break
        keys.append(("heading", *key.span(1)))
    return keys


def _trail(document: Document, span: Span, share: int) -> list[_Range]:
    """The speaker and the headings above a span, the nearest first, as far as there is room."""
    length = span.end - span.start
    room = min(MAX_TRAIL_BYTES, length // share)
    trail: list[_Range] = []
    message = _message_at(document, span.start)
    speaker_bytes = len(message[0]) if message and message.end() <= span.start else 0
    if message and 0 < speaker_bytes <= min(MAX_TRAIL_BYTES, length // _WINDOW_BYTES_PER_SPEAKER_BYTE):
        trail.append(("speaker", message.start(), message.end()))
        room -= speaker_bytes
    trail += _mail_origin(document, span)
    headings = [block for block in document.outline.enclosing(span.start, span.start) if block.kind == "heading"]
    for block in headings[: -_MAX_HEADINGS - 1 : -1]:
        start, end = _heading_words(document.content, block.signature_start, block.signature_end)
        size = end - start + _FRAME_BYTES
        if block.signature_end > span.start or end == start:
            continue
        if size > room:
            break  # a heading further up says little without this one
        trail.append(("heading", start, end))
        room -= size
    return trail


def _mail_origin(document: Document, span: Span) -> list[_Range]:
    """Subject, sender and date of the mail that a span lies in, as far as there is room."""
    headers = _MAIL_HEADERS.match(document.content)
    if headers is None or headers.end() > span.start or b"From: " not in headers[0]:
        return []
    room = max(_MIN_LEAD_BYTES, min(MAX_TRAIL_BYTES, len(span) // _WINDOW_BYTES_PER_SPEAKER_BYTE))
    origin: list[_Range] = []
    for line in _MAIL_ORIGIN.finditer(headers[0]):
        room -= len(line[0])
        if room >= 0:
            origin.append(("speaker", *line.span()))
    return origin


def _heading_words(content: bytes, start: int, end: int) -> tuple[int, int]:
    r"""The words of a heading, without the signs that make it one.

    >>> text = b"## Proxies ##\n"
    >>> text[slice(*_heading_words(text, 0, len(text)))]
    b'Proxies'
    >>> page = b'.SH "SEE ALSO"\n'
    >>> page[slice(*_heading_words(page, 0, len(page)))]
    b'SEE ALSO'
    """
    for line in _LINE.finditer(content, start, end):
        if _WORDS.search(line[0]):
            sign = _HEADING_SIGN.match(line[0])
            first = line.start() + (sign.end() if sign else 0)
            unclosed = line[0].rstrip(b"#")
            last = line.start() + len(unclosed.rstrip()) if unclosed.endswith((b" ", b"\t")) else line.end()
            if sign and sign[0].startswith(b".S") and content[first] == content[last - 1] == _QUOTE:
                first, last = first + 1, last - 1  # manual pages quote titles of several words
            return (first, last) if first < last else (start, start)
    return start, start


def _naming_line(content: bytes, start: int, end: int) -> tuple[int, int]:
    r"""The line of a signature that names it, after decorators and attributes; empty where it is too long.

    >>> code = b"@cached\ndef brew(\n    pot,\n):\n"
    >>> code[slice(*_naming_line(code, 0, len(code)))]
    b'def brew('
    """
    for line in _LINE.finditer(content, start, end):
        if not line[0].startswith(_DECORATION):
            return (start, start) if len(line[0]) > _MAX_SIGNATURE_BYTES else line.span()
    return start, start


def _lead(document: Document, span: Span) -> list[_Range]:
    """The header of the table or the introduction of the list that a span begins in, if short against the span.

    Of an introduction only the last sentence is shown, if it takes at most two lines.
    """
    passages = document.outline.passages_at(span.start)
    index = bisect_right(passages, span.start, key=lambda passage: passage.start) - 1
    if index < 0 or passages[index].end <= span.start or passages[index].kind not in ("table", "list"):
        return []
    lead = passages[index].lead
    if lead is None or lead[1] > span.start:
        return []
    room = max(len(span) // _WINDOW_BYTES_PER_LEAD_BYTE, _MIN_LEAD_BYTES)
    if passages[index].kind == "table":
        return [("header", *lead)] if lead[1] - lead[0] <= min(_MAX_HEADER_BYTES, room) else []
    start, end = _last_sentence(document.content, *lead)
    is_short = end - start <= min(MAX_TRAIL_BYTES, room) and document.content[start:end].count(b"\n") <= 1
    return [("header", start, end)] if is_short else []


def _last_sentence(content: bytes, start: int, end: int) -> tuple[int, int]:
    r"""The last sentence of a paragraph.

    >>> _last_sentence(b"Tea is hot. You need:", 0, 21)
    (12, 21)
    """
    starts = sentence_starts(content[start:end])
    return (start + starts[-1] if starts else start), end


def _message_at(document: Document, position: int) -> re.Match[bytes] | None:
    """The last message that begins at or before a position, if it is near."""
    content = document.content
    low = max(position - _SPEAKER_LOOKBACK_BYTES, 0)
    if not _SPEAKER.search(content, low, position + MAX_TRAIL_BYTES):
        return None
    low = content.find(b"\n", low, position) + 1 if low else 0
    messages = _MESSAGE.finditer(content, low, position + MAX_TRAIL_BYTES)
    return max(
        (match for match in messages if match.start() <= position), key=lambda match: match.start(), default=None
    )
