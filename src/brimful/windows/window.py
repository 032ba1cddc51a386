"""Windows of documents, how coherent they are, and clusters of windows that belong together."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache

from blake3 import blake3

from brimful.choices import normalise
from brimful.documents.documents import Document, Hit, check_place
from brimful.errors import DocumentError, SpanError
from brimful.settings import Strategy
from brimful.text.spans import Span, whole_characters
from brimful.windows.seams import Seam, resized_seams

MARKER = "[...]"
"""The line that marks a cut edge (085a §4): the document goes on there."""

_NOT_BLANK = re.compile(rb"\S")
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
    """One reason for a coherence score: a value from 0 to 1, and its weight.

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
    """How well a window or cluster hangs together, from 0 to 1, with its reasons (085b coherence_score).

    >>> Coherence.of(("edges", 1.0, 3), ("blocks", 0.5, 1)).score
    0.875
    """

    score: float
    parts: tuple[Part, ...] = ()

    @staticmethod
    @lru_cache(maxsize=4096)
    def of(*parts: tuple[str, float, int]) -> Coherence:
        """The weighted mean of parts (name, value, weight), rounded to four digits so that machines agree.

        Windows with equal parts share one object: 450 bytes each, of a budget of twice the text (085b targets).
        """
        weight = sum(part[2] for part in parts)
        total = sum(round(value * 10_000) * weight for _, value, weight in parts)
        return Coherence(total // weight / 10_000 if weight else 1.0, tuple(Part(*part) for part in parts))


@dataclass(frozen=True, slots=True)
class Window:
    """A range of a document with its text (InflationResult, ContextChunk).

    `start` and `end` are bytes of the document and exclude the seams. A window from another retriever needs only path,
    text and score: it can be packed and rendered, but not grown or verified. `line` is then its first line, if known.

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
    cluster: str | None = field(default=None, kw_only=True, repr=False)  # the id of its cluster
    also_in: tuple[str, ...] = field(default=(), kw_only=True, repr=False)  # documents with nearly equal text
    filling: bool = field(default=False, kw_only=True)  # it answers far less than others, and only fills the budget
    cut_start: bool = field(default=False, kw_only=True)
    cut_end: bool = field(default=False, kw_only=True)
    line: int | None = field(default=None, kw_only=True)
    seams: tuple[Seam, ...] = field(default=(), kw_only=True, repr=False)
    trail_share: int | None = field(default=None, kw_only=True, repr=False)  # of WindowSettings; None: seams stay
    time: int | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        if not isinstance(self.text, str):
            raise DocumentError(f"{self.path}: a window's text is a str, got {type(self.text).__name__}")
        if isinstance(self.sequence, bool) or not isinstance(self.sequence, int):
            raise DocumentError(f"{self.path}: sequence must be a whole number, got {self.sequence!r}")
        if self.line is not None and (isinstance(self.line, bool) or not isinstance(self.line, int) or self.line < 1):
            raise DocumentError(f"{self.path}: line must be a whole number from 1 on, got {self.line!r}")
        try:
            size = len(self.text) if self.text.isascii() else len(self.text.encode())
        except UnicodeEncodeError as error:
            raise DocumentError(f"{self.path}: the text has a lone surrogate at character {error.start}") from error
        end = self.start + size if self.end == -1 else self.end
        score = check_place("window", self.path, self.start, end, score=self.score, time=self.time)
        if end - self.start != size:
            raise SpanError(
                f"window [{self.start}, {end}) of {self.path} holds {size} bytes of text; leave `end` out or correct it"
            )
        normalise(self, end=end, score=score)

    @property
    def id(self) -> str:
        """A hash of document and range, or of path, range and text where no document is known."""
        hasher = blake3(f"{self.start}:{self.end}:".encode())
        if self.document is not None and (self.text or self.document):  # an empty one tells nothing
            hasher.update(self.document.id.encode())
        else:
            hasher.update(f"{self.sequence}:{len(self.path)}:{self.path}{self.text}".encode())
        return hasher.hexdigest(16)

    @property
    def lines(self) -> tuple[int, int] | None:
        """First and last line in the document; None where neither a document nor `line` says so."""
        if self.document is not None and (self.text or self.document):  # an empty one tells nothing
            return self.document.lines(self.start, self.end)
        return (self.line, self.line + self.text.count("\n", 0, -1)) if self.line else None

    @property
    def order(self) -> tuple[float, str, int, int, int, str]:
        """The sort key of windows, best first (CFS §5); the text makes the order total."""
        return (-self.score, self.path, self.sequence, self.start, self.end, self.text)

    @property
    def span(self) -> Span:
        """The range in bytes of the document."""
        return Span(self.start, self.end)

    @property
    def core(self) -> Span:
        """From the first hit to the end of the last: what must not be cut away."""
        if not self.hits:
            return Span(self.start, self.start)
        first, last = min(hit.start for hit in self.hits), max(hit.end for hit in self.hits)
        if self.document:
            first, last = whole_characters(self.document.content, first, last)
        return Span(max(self.start, min(first, self.end)), min(self.end, max(last, self.start)))

    @classmethod
    def cut(cls, document: Document, start: int, end: int, *, score: float = 0.0, hits: tuple[Hit, ...] = ()) -> Window:
        """The bytes `[start, end)` of a document."""
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
        )

    def resized(self, start: int, end: int, *, hits: tuple[Hit, ...]) -> Window:
        """A window over other bytes of its document, with the hits in them and the seams above them."""
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
        )

    def seams_over(self, start: int, end: int) -> tuple[Seam, ...]:
        """The seams that it would need over other bytes of its document."""
        assert self.document is not None
        outside = tuple(seam for seam in self.seams if seam.end <= start or seam.start >= end)
        if self.trail_share is None:
            return outside
        return resized_seams(self.document, Span(start, end), outside, trail_share=self.trail_share)

    def joined(self, later: Sequence[Window]) -> Window:
        """The union with windows that follow without a gap."""
        hits = {hit for window in (self, *later) for hit in window.hits}
        union = self.resized(self.start, later[-1].end, hits=tuple(sorted(hits, key=lambda hit: hit.order)))
        windows = (self, *later)
        score, filling = max(window.score for window in windows), all(window.filling for window in windows)
        return replace(union, score=score, filling=filling)


@dataclass(frozen=True, slots=True)
class Cluster:
    """Windows that belong together, in reading or time order (ruling 14)."""

    windows: tuple[Window, ...]
    strategy: Strategy
    coherence: Coherence

    @property
    def score(self) -> float:
        """The best window's score."""
        return max(window.score for window in self.windows)

    @property
    def id(self) -> str:
        """The cluster that its windows name, or a hash of their ids."""
        named = next((window.cluster for window in self.windows if window.cluster), None)
        return named or blake3("".join(window.id for window in self.windows).encode()).hexdigest(8)


def touching(windows: Iterable[Window], *, cap: int | None = None) -> list[list[Window]]:
    """Runs of windows that follow each other in one document without a gap and may be merged (ruling 26)."""
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
    """Whether a window may be this long: up to the cap, or longer if it begins and ends with a section (ruling 26).

    The end of a section inside a long paragraph does not count: the edge must be at a line's end.
    """
    if cap is None or len(span) <= cap:
        return True
    outline, content = document.outline, document.content
    return all(
        outline.section_before(edge) == edge and (edge in (0, len(document)) or content[edge - 1 : edge] == b"\n")
        for edge in (span.start, span.end)
    )


def goes_on_before(document: Document, start: int) -> bool:
    """Whether the document has text before `start`."""
    return start > 0 and _NOT_BLANK.search(document.content, 0, start) is not None


def goes_on_after(document: Document, end: int) -> bool:
    """Whether the document has text after `end`."""
    return _NOT_BLANK.search(document.content, end) is not None
