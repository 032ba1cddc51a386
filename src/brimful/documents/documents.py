"""What is a document, and what is a place in it that matters?"""

from __future__ import annotations

import math
import re
from array import array
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cached_property

import numpy as np
from blake3 import blake3

from brimful.choices import normalise
from brimful.errors import DocumentError, ScoreError, SpanError, choose
from brimful.native import lines as kernels
from brimful.outline.kinds import Kind, kind_of
from brimful.outline.outlines import Outline
from brimful.outline.outlines import outline as outline_of
from brimful.text.spans import Span, check_span

_FIRST_SECOND, _LAST_SECOND = -62_135_596_800, 253_402_300_799

KINDS: tuple[Kind, ...] = ("prose", "code", "data")

_MAX_LIKE_CHARACTERS = 1_000
_MAX_LIKE_PATHS = 3


@dataclass(frozen=True)
class Document:
    """Immutable bytes with a name (the seeds' compound, document, snapshot).

    `content` may be a str; it is kept as UTF-8 bytes, which must be valid. `kind` and `language` default to what
    path and content show. `time` is in seconds since 1970, UTC; `vector` and `entities` are the caller's. `outline`,
    the places where it may be cut, is read off the content when first needed. A store, which has checked the content
    already, gives `id` and `outline`.

    >>> Document("notes.md", "Tea at four.").kind
    'prose'
    """

    path: str
    content: bytes = field(repr=False)
    time: int | None
    kind: Kind
    language: str | None
    vector: tuple[float, ...] | None = field(repr=False)
    entities: tuple[str, ...] = field(repr=False)
    id: str = field(repr=False)
    _outline: Outline | None = field(repr=False, compare=False)

    def __init__(
        self,
        path: str,
        content: str | bytes,
        *,
        time: int | None = None,
        kind: Kind | None = None,
        language: str | None = None,
        vector: Iterable[float] | None = None,
        entities: Iterable[str] = (),
        outline: Outline | None = None,
        id: str | None = None,  # noqa: A002  (the field's name)
    ) -> None:
        if isinstance(content, str):
            content = _encode(path, content)
        id = id or _hash_of(check_path(path), _check_utf8(path, content))  # noqa: A001
        check_time(time, where=path)
        likely_kind, likely_language = (choose(kind, KINDS, what="kind"), None) if kind else kind_of(path, content)
        normalise(
            self,
            path=path,
            content=content,
            time=time,
            kind=likely_kind,
            language=language or likely_language,
            vector=_check_vector(vector, where=path),
            entities=_check_names(entities, where=path),
            id=id,
            _outline=outline,
        )

    @cached_property
    def outline(self) -> Outline:
        """The places where the content may be cut, with their headings and definitions."""
        if self._outline is not None:
            return self._outline
        return outline_of(self.content, kind=self.kind, language=self.language, path=self.path)

    def __len__(self) -> int:
        return len(self.content)

    @property
    def is_whole(self) -> bool:
        """Whether all bytes are in memory; of a very long document a store reads only what is shown."""
        return True

    def reach(self, start: int, end: int) -> Span:  # noqa: ARG002  (of a document in parts it counts)
        """The span in which a window at `[start, end)` may grow."""
        return Span(0, len(self))

    def text(self, start: int, end: int) -> str:
        """The bytes `[start, end)` as text; both must be code point boundaries."""
        check_span(start, end, length=len(self), where=f" {self.path}")
        try:
            return str(self.content[start:end], "utf-8")
        except UnicodeDecodeError as error:
            raise SpanError(f"[{start}, {end}) of {self.path} cuts a UTF-8 character; snap the edges first") from error

    def lines(self, start: int, end: int) -> tuple[int, int]:
        """First and last line (from 1) that `[start, end)` touches."""
        first = bisect_left(self._line_ends, start)
        return first + 1, bisect_left(self._line_ends, max(start, end - 1), first) + 1

    @property
    def line_count(self) -> int:
        """The number of lines; text after the last newline is one more.

        >>> Document("a.txt", "one\\ntwo\\n").line_count, Document("b.txt", "one\\ntwo").line_count
        (2, 2)
        """
        return len(self._line_ends) + (not self.content.endswith(b"\n"))

    def span_of_lines(self, first: int, last: int) -> Span:
        """The bytes of the lines from `first` to `last` (from 1), with the end of the last one.

        >>> Document("a.txt", "one\\ntwo\\nthree").span_of_lines(2, 3)
        Span(start=4, end=13)
        """
        if not 1 <= first <= last:
            raise SpanError(
                f"lines {first} to {last} of {self.path} are not a range of lines: it needs 1 <= first <= last"
            )
        if first > self.line_count:
            raise SpanError(f"line {first} is beyond {self.path}, which has {self.line_count} lines")
        ends = self._line_ends
        start = 0 if first == 1 else ends[first - 2] + 1
        return Span(start, ends[last - 1] + 1 if last <= len(ends) else len(self.content))

    @cached_property
    def _line_ends(self) -> array[int]:
        return kernels.find_newlines(self.content)


@dataclass(frozen=True, slots=True)
class Hit:
    """A place in a document that matters for the question (SearchResult, RetrievalResult).

    Without `end` the hit is a position (085b §5.1). `sequence` is the caller's number of the piece inside its
    document, which breaks ties. `matches` are the byte ranges with words of the question, the most telling first: of a
    hit that is longer than the budget the part around them is shown.
    """

    path: str
    start: int
    end: int = -1
    score: float = 0.0
    sequence: int = field(default=0, kw_only=True)
    lexical: float | None = field(default=None, kw_only=True)
    semantic: float | None = field(default=None, kw_only=True)
    terms: tuple[str, ...] = field(default=(), kw_only=True)
    time: int | None = field(default=None, kw_only=True)
    vector: tuple[float, ...] | None = field(default=None, kw_only=True)
    entities: tuple[str, ...] = field(default=(), kw_only=True)
    matches: tuple[tuple[int, int], ...] = field(default=(), kw_only=True, compare=False)

    def __post_init__(self) -> None:
        end, where = self.start if self.end == -1 else self.end, f"hit in {self.path!r}"
        score = check_place("hit", self.path, self.start, end, score=self.score, time=self.time)
        for first, last in self.matches:
            check_span(first, last, where=f" (a match of a {where})")
        normalise(
            self,
            end=end,
            score=score,
            vector=_check_vector(self.vector, where=where),
            terms=tuple(self.terms),
            entities=_check_names(self.entities, where=where),
        )

    @property
    def order(self) -> tuple[float, str, int, int, int, tuple[str, ...]]:
        """The sort key, best first: score descending, path, sequence, byte offset (CFS §5, ruling 8), terms."""
        return (-self.score, self.path, self.sequence, self.start, self.end, self.terms)

    @classmethod
    def of(cls, document: Document, text: str, *, score: float = 0.0) -> Hit:
        """The hit for a piece of text that another retriever returned.

        White space may differ from the document's (splitters strip and join it), nothing else.

        >>> hit = Hit.of(Document("a.txt", "one two\\n three"), "two three", score=0.5)
        >>> hit.start, hit.end
        (4, 14)
        """
        wanted = _encode(document.path, text).strip()
        if not wanted:
            raise SpanError(f"an empty piece has no place in {document.path}; give the text that was found")
        exactly, loosely = re.escape(wanted), rb"\s+".join(map(re.escape, wanted.split()))
        place = re.search(exactly, document.content) or re.search(loosely, document.content)
        if place is None:
            raise SpanError(f"{document.path} does not hold {text[:40]!r}…; was the piece rewritten by its splitter?")
        return cls(document.path, *place.span(), score)


def by_path(documents: Iterable[Document] | Mapping[str, Document]) -> dict[str, Document]:
    """Documents by path; two different documents under one path are an error."""
    by_paths: dict[str, Document] = {}
    for document in documents.values() if isinstance(documents, Mapping) else documents:
        if not isinstance(document, Document):
            raise DocumentError(
                f"expected a Document, got {type(document).__name__}: wrap it in Document(path, content)"
            )
        if by_paths.setdefault(document.path, document).id != document.id:
            raise DocumentError(f"two different documents are called {document.path!r}; give each its own path")
    return by_paths


def check_place(what: str, path: object, start: object, end: object, *, score: object, time: object) -> float:
    """Refuse a bad place, score or time of a hit or a window; returns the score as a float."""
    check_path(path)
    check_span(start, end, where=f" (a {what} in {path!r})")
    check_time(time, where=f"{what} in {path!r}")
    return _check_score(score, where=f"{what} in {path!r} at {start}")


def _check_score(value: object, *, where: str) -> float:
    """A finite float, with -0.0 as 0.0; else a ScoreError that names its origin."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.floating | np.integer):
        raise ScoreError(f"score of {where} must be a number, got {value!r}")
    score = float(value)
    if not math.isfinite(score):
        raise ScoreError(f"score of {where} is {score}; it has no place in an order, drop or replace it")
    return score + 0.0


def _check_names(names: Iterable[str], *, where: str) -> tuple[str, ...]:
    """Entities as a tuple; a single str is refused."""
    if isinstance(names, str):
        raise DocumentError(f"entities of {where} must be a list of names, got the text {names!r}")
    return tuple(names)


def _check_vector(vector: Iterable[float] | None, *, where: str) -> tuple[float, ...] | None:
    """A tuple of finite floats, or None."""
    if vector is None:
        return None
    try:
        values = tuple(float(value) for value in vector)
    except (TypeError, ValueError) as error:
        raise ScoreError(f"vector of {where} must hold numbers: {error}") from error
    if not all(map(math.isfinite, values)):
        raise ScoreError(f"vector of {where} has a value that is not finite")
    return values


def check_path(path: object) -> bytes:
    """A path as UTF-8."""
    if not isinstance(path, str) or not path:
        raise DocumentError(f"a document needs a path to be cited by, got {path!r}")
    try:
        return path.encode()
    except UnicodeEncodeError as error:
        raise DocumentError(
            f"path {path!r} has a lone surrogate; rename it, or escape it when you decode it"
        ) from error


def check_time(time: object, *, where: str) -> None:
    """None, or whole seconds since 1970 that a calendar has."""
    if time is not None and (isinstance(time, bool) or not isinstance(time, int)):
        raise DocumentError(f"{where}: time must be whole seconds since 1970 (UTC), got {time!r}")
    if time is not None and not is_time(time):
        raise DocumentError(f"{where}: time {time} is in no year from 1 to 9999; is it in milliseconds?")


def is_time(seconds: int) -> bool:
    """Whether a calendar has this second: one of the years 1 to 9999."""
    return _FIRST_SECOND <= seconds <= _LAST_SECOND


def _encode(path: str, text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise DocumentError(
            f"{path}: the text has a lone surrogate at character {error.start}; it is not UTF-8"
        ) from error


def _hash_of(path: bytes, content: bytes) -> str:
    hasher = blake3(len(path).to_bytes(8, "big") + path)
    hasher.update(content)
    return hasher.hexdigest()


def _check_utf8(path: str, content: object) -> bytes:
    if not isinstance(content, bytes):
        raise DocumentError(f"{path}: content must be str or bytes, got {type(content).__name__}")
    if content.isascii():
        return content
    try:
        content.decode()
    except UnicodeDecodeError as error:
        raise DocumentError(
            f"{path}: byte {error.start} is not UTF-8; decode the file with its own encoding and pass the text"
        ) from error
    return content


def close_paths(wanted: str, paths: Sequence[str]) -> list[str]:
    """Paths that end in a wanted one, then paths that are spelt alike; best first.

    >>> close_paths("kettle.py", ["docs/tea.md", "src/kettle.py", "src/kettles.py"])
    ['src/kettle.py', 'src/kettles.py']
    >>> close_paths("zebra", ["docs/tea.md"])
    []
    """
    wanted = wanted[:_MAX_LIKE_CHARACTERS].lstrip("./")
    if not wanted:
        return []
    ending = sorted(path for path in paths if path.endswith(f"/{wanted}"))
    return list(dict.fromkeys([*ending, *get_close_matches(wanted, paths, n=_MAX_LIKE_PATHS)]))[:_MAX_LIKE_PATHS]
