"""What is a window, what does it need from elsewhere in its document, and what belongs together?"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import Literal

from blake3 import blake3

from brimful.choices import normalise
from brimful.documents.documents import SPEAKERS, Document, Hit, check_place
from brimful.errors import DocumentError, SpanError
from brimful.native.lines import has_speaker
from brimful.outline.layout import used_definitions
from brimful.outline.prose import sentence_starts
from brimful.outline.times import time_of
from brimful.settings import Strategy
from brimful.text.spans import Span, whole_characters

# ---- seams: What does a window need from elsewhere in its document in order to be understood?
#
# Signatures around code, the header row of a table, the headings above prose, who speaks in a chat and when. Seams are
# counted in the budget like everything else, so what prose gets is kept to a part of what the window itself says.

SeamKind = Literal["signature", "definition", "header", "heading", "speaker"]

MOST_TRAIL_BYTES = 120
"""Of headings and speakers above a window of prose."""
_SPEAKER_SHARE = 4
"""At most one byte of the speaker, without whom a message is nobody's, for so many of the window."""
_LEAD_SHARE = 2
"""And of the header of a table in prose, or the lead-in of a list."""
_LEAST_LEAD_BYTES = 60
"""So long a header or lead-in is shown above the shortest row or item."""
_MOST_HEADINGS = 3
_MOST_SIGNATURES = 32  # of what encloses code, the innermost
_MOST_HEADER_BYTES = 1_024
"""Of a table's header row: a longer one would crowd out the rows that it explains, and is left out."""
_MOST_SIGNATURE_BYTES = 256
"""Of a signature, of which only the line that names it is shown: a longer one is left out."""

_FRAME_BYTES = 8  # about what a format puts around a seam
_REACH = 16_384  # bytes that are looked back for who speaks
# As loaders write messages down: `Speaker (2024-05-01T10:00:00Z): …`, and `User: …` where no time is known.
_SPEAKS = re.compile(
    rb"^(?:[^\n:()]{1,80} \((?P<time>\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ)\):|(?:User|Assistant):)(?= )", re.MULTILINE
)
_HEADING_SIGN = re.compile(rb"(?:[#=*]+|\.S[HS])[ \t]+")
_QUOTE = ord('"')
_WORDS = re.compile(rb"[0-9A-Za-z\x80-\xff]")
_LINE = re.compile(rb"\S(?:[^\n]*\S)?")
_NOT_A_NAME = (b"@", b"#[", b"[<", b"//", b"/*", b"*", b"#!")
_SAID = re.compile(rb"\S")


@dataclass(frozen=True, slots=True)
class Seam:
    """Source bytes shown before a window so that it can be understood; never part of its range."""

    kind: SeamKind
    start: int
    end: int
    text: str


def seams_for(document: Document, span: Span, *, definitions: bool = False, trail_share: int = 0) -> tuple[Seam, ...]:
    """The signatures around a window's first line and (when asked) used definitions of code, the header row of a table,
    and for prose the headings above the window and whoever speaks at its start.

    Only what stands outside the span, in reading order, each range once. Headings get one byte for `trail_share` bytes
    of the window, with what stands around them; 0 gives prose no seams.
    """
    found: list[tuple[SeamKind, int, int]] = []
    if document.kind == "data":
        header = document.outline.header
        found += [("header", *header)] if header and header[1] - header[0] <= _MOST_HEADER_BYTES else []
    elif document.kind == "prose":
        found += [*_trail(document, span, trail_share), *_lead(document, span)] if trail_share else []
    else:
        first = _SAID.search(document.content, span.start, span.end)
        begins = first.start() if first else span.start
        around = [
            block for block in document.outline.enclosing(begins, begins + 1) if block.kind in ("function", "class")
        ]
        found += [
            ("signature", *_naming_line(document.content, block.signature_start, block.signature_end))
            for block in around[-_MOST_SIGNATURES:]
        ]
        if definitions and document.is_whole:
            names = used_definitions(document.content, span.start, span.end, document.outline.structure)
            found.extend(("definition", name.start, name.end) for name in names)
    return _seams(document, span, found)


def _seams_after(document: Document, span: Span, before: Sequence[Seam], *, trail_share: int) -> tuple[Seam, ...]:
    """The seams of a window that was resized; the definitions that it used stay where they are outside of it."""
    kept = [(seam.kind, seam.start, seam.end) for seam in before if seam.kind == "definition"]
    found = seams_for(document, span, trail_share=trail_share)
    if not kept:
        return found
    fresh = [(seam.kind, seam.start, seam.end) for seam in found]
    return _seams(document, span, [*kept, *fresh])


def time_in(document: Document, span: Span) -> int | None:
    """When was the first message of a span said, or the one that it begins in? None where no message tells."""
    if document.kind != "prose" or not document.speaks:
        return None
    spoken = _speaker(document, span.start)
    if spoken is None and document.content.find(b"Z): ", span.start, span.end) >= 0:
        spoken = _SPEAKS.search(document.content, span.start, span.end)
    return time_of(spoken["time"]) if spoken and spoken["time"] else None


def _trail(document: Document, span: Span, share: int) -> list[tuple[SeamKind, int, int]]:
    """Who speaks, and the headings above, the nearest first, as far as there is room for them."""
    length = span.end - span.start
    room = min(MOST_TRAIL_BYTES, length // share)
    found: list[tuple[SeamKind, int, int]] = []
    spoken = _speaker(document, span.start)
    said = len(spoken[0]) if spoken and spoken.end() <= span.start else 0
    if spoken and 0 < said <= min(MOST_TRAIL_BYTES, length // _SPEAKER_SHARE):
        found.append(("speaker", spoken.start(), spoken.end()))
        room -= said
    above = [block for block in document.outline.enclosing(span.start, span.start) if block.kind == "heading"]
    for block in above[: -_MOST_HEADINGS - 1 : -1]:
        start, end = _heading_words(document.content, block.signature_start, block.signature_end)
        size = end - start + _FRAME_BYTES
        if block.signature_end > span.start or end == start:
            continue
        if size > room:
            break  # a heading further up, without this one, would say little
        found.append(("heading", start, end))
        room -= size
    return found


def _heading_words(content: bytes, start: int, end: int) -> tuple[int, int]:
    r"""What a heading says, without the signs that make it one.

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
            closed = line[0].rstrip(b"#")
            last = line.start() + len(closed.rstrip()) if closed.endswith((b" ", b"\t")) else line.end()
            if sign and sign[0].startswith(b".S") and content[first] == content[last - 1] == _QUOTE:
                first, last = first + 1, last - 1  # as man pages write titles of several words
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
            return (start, start) if len(line[0]) > _MOST_SIGNATURE_BYTES else line.span()
    return start, start


def _lead(document: Document, span: Span) -> list[tuple[SeamKind, int, int]]:
    """The header of the table or the lead-in of the list that a window begins in, if that is small beside the window.

    Of a lead-in only the last sentence is shown, in at most two lines.
    """
    passages = document.outline.passages_at(span.start)
    at = bisect_right(passages, span.start, key=lambda passage: passage.start) - 1
    if at < 0 or passages[at].end <= span.start or passages[at].kind not in ("table", "list"):
        return []
    lead = passages[at].lead
    if lead is None or lead[1] > span.start:
        return []
    share = max(len(span) // _LEAD_SHARE, _LEAST_LEAD_BYTES)
    if passages[at].kind == "table":
        return [("header", *lead)] if lead[1] - lead[0] <= min(_MOST_HEADER_BYTES, share) else []
    start, end = _last_sentence(document.content, *lead)
    most = min(MOST_TRAIL_BYTES, share)
    return [("header", start, end)] if end - start <= most and document.content[start:end].count(b"\n") <= 1 else []


def _last_sentence(content: bytes, start: int, end: int) -> tuple[int, int]:
    r"""The last sentence of a paragraph.

    >>> _last_sentence(b"Tea is hot. You need:", 0, 21)
    (12, 21)
    """
    starts = sentence_starts(content[start:end])
    return (start + starts[-1] if starts else start), end


def _speaker(document: Document, position: int) -> re.Match[bytes] | None:
    """The last beginning of a message at or before a place, if it is near."""
    if not document.speaks:
        return None
    content = document.content
    low = max(position - _REACH, 0)
    if not has_speaker(content[low : position + MOST_TRAIL_BYTES], SPEAKERS):
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


# ---- window: What is a window, and what belongs together?

MARKER = "[...]"
"""What a cut edge shows (085a §4), on a line of its own: the document goes on there."""

_REASONS = {
    "edges": "{:.0%} of its edges are natural boundaries",
    "blocks": "{:.0%} of its edges cut no paragraph, definition or record",
    "heading": "the heading, signature or header row above its beginning is shown: {:.0%}",
    "category": "{:.0%} of its records are of one category",
    "pauses": "{:.0%} of its records follow the one before within an hour",
    "antecedent": "opens on its own: {:.0%} (0% means that its first word points back)",
    "likeness": "neighbours share {:.0%} of their content",
    "closeness": "the longest pause leaves {:.0%} of the longest allowed",
    "entities": "{:.0%} of neighbours speak of the same",
    "windows": "its windows are {:.0%} coherent themselves, on average",
}


@dataclass(frozen=True, slots=True)
class Part:
    """One reason for a coherence score: a value in 0..1, its weight, and what it says in words.

    >>> Part("edges", 0.5, 2).why
    '50% of its edges are natural boundaries'
    """

    name: str
    value: float
    weight: int

    @property
    def why(self) -> str:
        """The reason as a sentence."""
        return _REASONS[self.name].format(self.value)


@dataclass(frozen=True, slots=True)
class Coherence:
    """How well a window or cluster hangs together, in 0..1, with its reasons (085b coherence_score).

    >>> Coherence.of(("edges", 1.0, 3), ("blocks", 0.5, 1)).score
    0.875
    """

    score: float
    parts: tuple[Part, ...] = ()

    @staticmethod
    @lru_cache(maxsize=4096)
    def of(*parts: tuple[str, float, int]) -> Coherence:
        """The weighted mean of parts (name, value, weight), to four digits so that it is the same everywhere.

        Windows with the same reasons share one object, which saves 450 bytes for each of a thousand.
        """
        weight = sum(part[2] for part in parts)
        total = sum(round(value * 10_000) * weight for _, value, weight in parts)
        return Coherence(total // weight / 10_000 if weight else 1.0, tuple(Part(*part) for part in parts))


_ENCODED = 1 << 16  # characters that are encoded at once


@dataclass(frozen=True)
class Window:
    """A range of a document with its text (InflationResult, ContextChunk).

    A window made by `inflate` knows its document. One that another retriever brings needs only
    path, text and score: it can be packed and rendered, but not grown or verified.
    `start` and `end` are bytes of the document and exclude the seams.

    >>> Window("a.md", "Chunk 1", score=0.9).end
    7
    >>> Window("a.md", "Tea\\nand scones\\n", line=7).lines
    (7, 8)
    """

    path: str
    text: str
    start: int = 0
    end: int = -1
    score: float = field(default=0.0, kw_only=True)
    sequence: int = field(default=0, kw_only=True)
    document: Document | None = field(default=None, kw_only=True, repr=False)
    hits: tuple[Hit, ...] = field(default=(), kw_only=True, repr=False)
    strategy: Strategy = field(default="adjacent", kw_only=True)
    coherence: Coherence = field(default=Coherence(1.0), kw_only=True, repr=False)
    cluster: str | None = field(default=None, kw_only=True, repr=False)  # which windows it is linked with
    also_in: tuple[str, ...] = field(default=(), kw_only=True, repr=False)  # documents that say nearly the same
    is_inflated: bool = field(default=False, kw_only=True)
    cut_start: bool = field(default=False, kw_only=True)
    cut_end: bool = field(default=False, kw_only=True)
    line: int | None = field(default=None, kw_only=True)  # the first, of a window that knows no document
    seams: tuple[Seam, ...] = field(default=(), kw_only=True, repr=False)
    trail_share: int | None = field(default=None, kw_only=True, repr=False)  # as in WindowSettings; None: seams stay
    time: int | None = field(default=None, kw_only=True)
    vector: tuple[float, ...] | None = field(default=None, kw_only=True, repr=False)
    entities: tuple[str, ...] = field(default=(), kw_only=True, repr=False)

    def __post_init__(self) -> None:
        if not isinstance(self.text, str):
            raise DocumentError(f"{self.path}: a window's text is a str, got {type(self.text).__name__}")
        if isinstance(self.sequence, bool) or not isinstance(self.sequence, int):
            raise DocumentError(f"{self.path}: sequence must be a whole number, got {self.sequence!r}")
        size = _utf8_bytes(self.path, self.text)
        if self.line is not None and (isinstance(self.line, bool) or not isinstance(self.line, int) or self.line < 1):
            raise DocumentError(f"{self.path}: line must be a whole number from 1 on, got {self.line!r}")
        end = self.start + size if self.end == -1 else self.end
        score = check_place("window", self.path, self.start, end, score=self.score, time=self.time)
        if end - self.start != size:
            raise SpanError(
                f"window [{self.start}, {end}) of {self.path} holds {size} bytes of text; leave `end` out or correct it"
            )
        normalise(self, end=end, score=score)

    @cached_property
    def id(self) -> str:
        """A hash of document and range, or of path, range and text where no document is known."""
        hasher = blake3(f"{self.start}:{self.end}:".encode())
        if self.document is not None and (self.text or self.document):  # an empty one tells nothing
            hasher.update(self.document.id.encode())
        else:
            hasher.update(f"{self.sequence}:{len(self.path)}:{self.path}{self.text}".encode())
        return hasher.hexdigest(16)

    @cached_property
    def lines(self) -> tuple[int, int] | None:
        """Its first and last line in the document, None where neither a document nor `line` tells."""
        if self.document is not None and (self.text or self.document):  # an empty one tells nothing
            return self.document.lines(self.start, self.end)
        return (self.line, self.line + self.text.count("\n", 0, -1)) if self.line else None

    @property
    def order(self) -> tuple[float, str, int, int, int, str]:
        """What windows are sorted by, best first (CFS §5): the text makes the order total."""
        return (-self.score, self.path, self.sequence, self.start, self.end, self.text)

    @property
    def span(self) -> Span:
        """Its bytes of the document."""
        return Span(self.start, self.end)

    @classmethod
    def cut(cls, document: Document, start: int, end: int, *, score: float = 0.0, hits: tuple[Hit, ...] = ()) -> Window:
        """The bytes `[start, end)` of a document, with its cut edges worked out."""
        return cls(
            document.path,
            document.text(start, end),
            start,
            end,
            score=score,
            document=document,
            hits=hits,
            cut_start=goes_on_before(document, start),
            cut_end=goes_on_after(document, end),
            time=document.time,
            vector=document.vector,
            entities=document.entities,
        )

    def resized(self, start: int, end: int, *, hits: tuple[Hit, ...]) -> Window:
        """The window over other bytes of its document, with the hits that they show and the seams that they need."""
        assert self.document is not None
        return replace(
            self,
            text=self.document.text(start, end),
            start=start,
            end=end,
            cut_start=goes_on_before(self.document, start),
            cut_end=goes_on_after(self.document, end),
            seams=self.seams_over(start, end),
            hits=hits,
            is_inflated=True,
        )

    def seams_over(self, start: int, end: int) -> tuple[Seam, ...]:
        """The seams that it would need over other bytes of its document."""
        assert self.document is not None
        kept = tuple(seam for seam in self.seams if seam.end <= start or seam.start >= end)
        if self.trail_share is None:
            return kept
        return _seams_after(self.document, Span(start, end), kept, trail_share=self.trail_share)

    def joined(self, later: Sequence[Window]) -> Window:
        """This window and those that follow it without a gap, as one."""
        hits = {hit for window in (self, *later) for hit in window.hits}
        union = self.resized(self.start, later[-1].end, hits=tuple(sorted(hits, key=lambda hit: hit.order)))
        return replace(union, score=max(window.score for window in (self, *later)))

    @property
    def core(self) -> Span:
        """From the first hit to the end of the last: what must not be cut away."""
        if not self.hits:
            return Span(self.start, self.start)
        first, last = min(hit.start for hit in self.hits), max(hit.end for hit in self.hits)
        if self.document:
            first, last = whole_characters(self.document.content, first, last)
        return Span(max(self.start, min(first, self.end)), min(self.end, max(last, self.start)))


@dataclass(frozen=True, slots=True)
class Cluster:
    """Windows that belong together, in reading or time order (ruling 14)."""

    windows: tuple[Window, ...]
    strategy: Strategy
    coherence: Coherence

    @property
    def score(self) -> float:
        """The best window's."""
        return max(window.score for window in self.windows)

    @property
    def id(self) -> str:
        """What its windows name as their cluster, or a hash of theirs."""
        named = next((window.cluster for window in self.windows if window.cluster), None)
        return named or blake3("".join(window.id for window in self.windows).encode()).hexdigest(8)


def _utf8_bytes(path: str, text: str) -> int:
    """How many bytes a text has, without a copy of all of it."""
    if text.isascii():
        return len(text)
    size = 0
    for at in range(0, len(text), _ENCODED):
        try:
            size += len(text[at : at + _ENCODED].encode())
        except UnicodeEncodeError as error:
            place = at + error.start
            raise DocumentError(f"{path}: the text has a lone surrogate at character {place}") from error
    return size


def touching(windows: Iterable[Window], *, cap: int | None = None) -> list[list[Window]]:
    """Runs of windows that follow each other in one document without a gap, and may be one (ruling 26)."""
    runs: list[list[Window]] = []
    for window in windows:
        last = runs[-1][-1] if runs else None
        follows = last and last.document and window.document and last.document.id == window.document.id
        meets = follows and last and last.end == window.start
        if meets and window.document and is_within(window.document, Span(runs[-1][0].start, window.end), cap):
            runs[-1].append(window)
        else:
            runs.append([window])
    return runs


def is_within(document: Document, span: Span, cap: int | None) -> bool:
    """Whether a window may be so long: up to the cap, or longer where it begins and ends with a section (ruling 26).

    A section of a long paragraph may end in its middle, which ends nothing.
    """
    if cap is None or len(span) <= cap:
        return True
    outline, content = document.outline, document.content
    return all(
        outline.section_before(edge) == edge and (edge in (0, len(document)) or content[edge - 1 : edge] == b"\n")
        for edge in (span.start, span.end)
    )


def goes_on_before(document: Document, start: int) -> bool:
    """Does the document say anything before `start`?"""
    return start > 0 and _SAID.search(document.content, 0, start) is not None


def goes_on_after(document: Document, end: int) -> bool:
    """Does the document say anything after `end`?"""
    return _SAID.search(document.content, end) is not None
