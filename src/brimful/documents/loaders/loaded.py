"""What does a file become, and which place of the file does each byte come from?"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field

from brimful.documents.encodings import SNIFF_BYTES, Encoding, decode, is_verbatim, looks_binary
from brimful.documents.skips import Refusal, SourceSettings
from brimful.outline.kinds import Kind, kind_of


@dataclass(frozen=True, slots=True)
class SourceMap:
    """The way back from canonical text to the original: places such as "page 3" or "message 12", by first byte.

    >>> pages = SourceMap((0, 120), ("page 1", "page 2"), (None, None))
    >>> pages.between(119, 121)
    ('page 1', 'page 2')
    """

    starts: tuple[int, ...] = field(repr=False)
    labels: tuple[str, ...] = field(repr=False)
    times: tuple[int | None, ...] = field(repr=False)

    def between(self, start: int, end: int) -> tuple[str, ...]:
        """The labels that `[start, end)` touches, in order."""
        first = max(bisect_right(self.starts, start) - 1, 0)
        return self.labels[first : bisect_right(self.starts, max(start, end - 1))]


@dataclass(frozen=True, slots=True)
class Loaded:
    """One document of a file, ready to be stored.

    `rule` names the conversion: that of an encoding for text, else "pdf", "html:utf-8" and so on. `source_map` is
    None for text, where lines are the file's lines.
    """

    path: str
    content: bytes = field(repr=False)
    kind: Kind
    language: str | None
    rule: str
    time: int | None = None
    title: str | None = None
    source_map: SourceMap | None = field(default=None, repr=False)

    @property
    def is_verbatim(self) -> bool:
        """Whether the content is the file's bytes."""
        return is_verbatim(self.rule)


class Canon:
    """Canonical text in the making: pieces, and labels for the places where they begin."""

    def __init__(self, *, max_bytes: int) -> None:
        self.size = 0
        self._max_bytes = max_bytes
        self._pieces: list[bytes] = []
        self._places: list[tuple[int, str, int | None]] = []  # start, label, time

    def label(self, label: str, *, time: int | None = None) -> None:
        """Begin a place of the original; one that stays empty is dropped."""
        if self._places and self._places[-1][0] == self.size:
            self._places.pop()
        self._places.append((self.size, label, time))

    def add(self, text: str) -> None:
        """Add text; a lone surrogate is written out as its escape, as JSON writes it."""
        piece = text.encode("utf-8", "backslashreplace")
        self.size += len(piece)
        if self.size > self._max_bytes:
            raise Refusal("too_large", f"its text is longer than max_text_bytes = {self._max_bytes}")
        self._pieces.append(piece)

    def loaded(
        self,
        path: str,
        rule: str,
        *,
        kind: Kind = "prose",
        language: str = "markdown",
        time: int | None = None,
        title: str | None = None,
    ) -> Loaded:
        """The document that this text is."""
        source_map = SourceMap(*zip(*self._places, strict=True)) if self._places else None
        return Loaded(path, b"".join(self._pieces), kind, language, rule, time, title, source_map)


def fenced(text: str, *, language: str = "") -> str:
    """Text as a Markdown code block whose fence is longer than any run of backticks in it."""
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text.rstrip(chr(10))}\n{fence}\n"


def table_row(cells: list[str]) -> str:
    """One row of a Markdown table: no line breaks, bars escaped."""
    return "| " + " | ".join(" ".join(cell.split()).replace("|", "\\|") for cell in cells) + " |\n"


_MAX_ESCAPED_SHARE = 20  # one byte in twenty that is not UTF-8 is a damaged text, more is another encoding


def load_text(path: str, raw: bytes, settings: SourceSettings) -> Iterator[Loaded]:
    """Prose, code, tables, JSON, logs: the file's bytes, or their conversion to UTF-8 by a named rule."""
    if not settings.allows("binary") and looks_binary(raw[:SNIFF_BYTES]):
        raise Refusal("binary", "its first bytes are those of a binary format")
    content, encoding = decode(raw, encoding=settings.encoding)
    check_escaped(encoding, settings)
    kind, language = kind_of(path, content)
    yield Loaded(path, content, kind, language, encoding.rule)


def check_escaped(encoding: Encoding, settings: SourceSettings) -> None:
    """Refuse a text that is most likely in an encoding that must be named."""
    is_other = encoding.escaped * _MAX_ESCAPED_SHARE > encoding.size
    if is_other and not (settings.allows("encoding") or settings.allows("binary")):
        raise Refusal(
            "encoding", f"{encoding.escaped} of {encoding.size} bytes are not UTF-8; name the file's encoding"
        )
