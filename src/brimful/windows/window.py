"""What is a window, and what belongs together?"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import lru_cache, partial

from blake3 import blake3

from brimful.corpus.documents import Document, Hit, check_path, check_score, check_time
from brimful.errors import DocumentError, SpanError
from brimful.patterns import compiled
from brimful.settings import Strategy
from brimful.text.spans import Span, back_to_code_point, check_span, on_to_code_point
from brimful.windows.seams import Seam, seams_after

MARKER = "[...]"
"""What a cut edge shows (085a §4), on a line of its own: the document goes on there."""

_SAID = compiled(rb"\S")

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

        Windows with the same reasons share one object.
        """
        weight = sum(part[2] for part in parts)
        total = sum(round(value * 10_000) * weight for _, value, weight in parts)
        return Coherence(total // weight / 10_000 if weight else 1.0, tuple(Part(*part) for part in parts))


@dataclass(frozen=True, slots=True)
class Window:
    """A range of a document with its text (InflationResult, ContextChunk).

    A window made by `inflate` knows its document. One that another retriever brings needs only
    path, text and score: it can be packed and rendered, but not grown or verified.
    `start` and `end` are bytes of the document and exclude the seams.

    >>> Window("a.md", "Chunk 1", score=0.9).end
    7
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
    _id: str | None = field(default=None, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        check_path(self.path)
        check_time(self.time, where=f"window in {self.path!r}")
        if not isinstance(self.text, str):
            raise DocumentError(f"{self.path}: a window's text is a str, got {type(self.text).__name__}")
        if isinstance(self.sequence, bool) or not isinstance(self.sequence, int):
            raise DocumentError(f"{self.path}: sequence must be a whole number, got {self.sequence!r}")
        try:
            size = len(self.text.encode())
        except UnicodeEncodeError as error:
            raise DocumentError(f"{self.path}: the text has a lone surrogate at character {error.start}") from error
        if self.line is not None and (isinstance(self.line, bool) or not isinstance(self.line, int) or self.line < 1):
            raise DocumentError(f"{self.path}: line must be a whole number from 1 on, got {self.line!r}")
        if self.end == -1:
            object.__setattr__(self, "end", self.start + size)
        check_span(self.start, self.end, where=f" (a window in {self.path!r})")
        if self.end - self.start != size:
            raise SpanError(
                f"window [{self.start}, {self.end}) of {self.path} holds {size} bytes of text; "
                "leave `end` out or correct it"
            )
        where = f"window in {self.path!r} at {self.start}"
        object.__setattr__(self, "score", check_score(self.score, where=where))

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

    def resized(self, start: int, end: int) -> Window:
        """The same window over other bytes of its document, with the seams that it needs there."""
        assert self.document is not None
        seams = tuple(seam for seam in self.seams if seam.end <= start or seam.start >= end)
        return self.changed(
            text=self.document.text(start, end),
            start=start,
            end=end,
            cut_start=goes_on_before(self.document, start),
            cut_end=goes_on_after(self.document, end),
            seams=seams
            if self.trail_share is None
            else seams_after(self.document, Span(start, end), seams, trail_share=self.trail_share),
        )

    def changed(self, **values: object) -> Window:
        """This window with other values that need no check: filling a budget tries hundreds.

        The text and its range are changed together, from the document's own bytes.
        """
        window = object.__new__(Window)
        put = partial(object.__setattr__, window)
        for name in _FIELDS:
            put(name, values[name] if name in values else getattr(self, name))
        put("_id", None)
        return window

    def joined(self, later: Sequence[Window]) -> Window:
        """This window and those that follow it without a gap, as one."""
        hits = {hit for window in (self, *later) for hit in window.hits}
        return replace(
            self.resized(self.start, later[-1].end),
            score=max(window.score for window in (self, *later)),
            hits=tuple(sorted(hits, key=lambda hit: hit.order)),
            is_inflated=True,
        )

    @property
    def span(self) -> Span:
        """The bytes of the document that this window holds."""
        return Span(self.start, self.end)

    @property
    def lines(self) -> tuple[int, int] | None:
        """First and last line in the document, or None where neither a document nor `line` tells.

        >>> Window("a.md", "Tea\\nand scones\\n", line=7).lines
        (7, 8)
        """
        if self.document:
            return self.document.lines(self.start, self.end)
        return (self.line, self.line + self.text.count("\n", 0, -1)) if self.line else None

    @property
    def core(self) -> Span:
        """From the first hit to the end of the last: what must not be cut away."""
        if not self.hits:
            return Span(self.start, self.start)
        first, last = min(hit.start for hit in self.hits), max(hit.end for hit in self.hits)
        if self.document:
            first = back_to_code_point(self.document.content, first)
            last = on_to_code_point(self.document.content, last)
        return Span(max(self.start, min(first, self.end)), min(self.end, max(last, self.start)))

    @property
    def order(self) -> tuple[float, str, int, int, int, str]:
        """Best first (CFS §5): score, path, sequence, byte offset; the text makes the order total."""
        return (-self.score, self.path, self.sequence, self.start, self.end, self.text)

    @property
    def id(self) -> str:
        """A hash of document and range, or of path, range and text where no document is known."""
        if self._id is None:
            hasher = blake3(f"{self.start}:{self.end}:".encode())
            if self.document:
                hasher.update(self.document.id.encode())
            else:
                hasher.update(f"{self.sequence}:{len(self.path)}:{self.path}{self.text}".encode())
            object.__setattr__(self, "_id", hasher.hexdigest(16))
        assert self._id is not None
        return self._id


_FIELDS = tuple(each.name for each in fields(Window) if each.init)


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


def touching(windows: Iterable[Window]) -> list[list[Window]]:
    """Runs of windows that follow each other in one document without a gap."""
    runs: list[list[Window]] = []
    for window in windows:
        last = runs[-1][-1] if runs else None
        follows = last and last.document and window.document and last.document.id == window.document.id
        if follows and last and last.end == window.start:
            runs[-1].append(window)
        else:
            runs.append([window])
    return runs


def goes_on_before(document: Document, start: int) -> bool:
    """Does the document say anything before `start`?"""
    return start > 0 and _SAID.search(document.content, 0, start) is not None


def goes_on_after(document: Document, end: int) -> bool:
    """Does the document say anything after `end`?"""
    return _SAID.search(document.content, end) is not None
