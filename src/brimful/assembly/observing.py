"""Which bytes does a cited document have now, in a store or in a file?"""

from __future__ import annotations

import codecs
import os
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from blake3 import blake3

from brimful.assembly.cited import CitedDocument
from brimful.corpus.documents import Document
from brimful.corpus.encodings import decode
from brimful.corpus.loaders import Loaded, load
from brimful.corpus.reading import BLOCK_BYTES, read, read_blocks
from brimful.corpus.skips import Reason, Refusal, Skipped, SourceSettings
from brimful.corpus.sources import Found
from brimful.patterns import compiled
from brimful.store.protocol import Row, Snapshot
from brimful.text.kinds import SNIFF_BYTES, kind_of

Span = tuple[int, int]

_SAID = compiled(rb"\S")
_BLANK = b" \t\n\r\x0b\x0c"  # what \S leaves out
_VERBATIM = ("utf-8", "utf-8-bom")
_MEMBER = compiled(r"#\d{4,}\Z")
_ALLOWED: tuple[Reason, ...] = ("secret", "binary", "encoding")  # what was let in once may be looked at again


@dataclass(frozen=True, slots=True)
class Seen:
    """A document as it is now: its hashes, its length, where it says anything, and the ranges that were asked for."""

    content_hash: str
    id: str
    length: int
    first_said: int  # the first and the last byte that is not blank; the length and -1 where none is
    last_said: int
    head: bytes
    _starts: tuple[int, ...]
    _parts: tuple[bytes, ...]
    _newlines: dict[int, int]

    def read(self, start: int, end: int) -> bytes:
        """A range that was asked for; what lies beyond the document's end is cut off."""
        at = bisect_right(self._starts, start) - 1
        return self._parts[at][start - self._starts[at] : end - self._starts[at]] if start < end and at >= 0 else b""

    def lines(self, start: int, end: int) -> tuple[int, int]:
        """The first and last line that a range touches which was asked for."""
        return self._newlines[start] + 1, self._newlines[max(start, end - 1)] + 1


def observe(path: str, blocks: Iterable[bytes], spans: Iterable[Span]) -> Seen:
    """Read a document once, block by block, and keep only what is asked for, each byte once.

    >>> observe("a.md", [b"Tea at", b" four."], [(4, 11), (0, 6)]).read(4, 11)
    b'at four'
    """
    wanted = list(spans)
    places = sorted({place for start, end in wanted for place in (start, max(start, end - 1))})
    kept = _Kept(_united(wanted))
    content, named = blake3(), blake3(len(path.encode()).to_bytes(8, "big") + path.encode())
    newlines: dict[int, int] = {}
    at = next_place = lines = 0
    first, last, head = -1, -1, b""
    for block in blocks:
        content.update(block)
        named.update(block)
        kept.take(block, at)
        if at <= SNIFF_BYTES:
            head += block[: SNIFF_BYTES + 1 - at]
        if first < 0 and (said := _SAID.search(block)):
            first = at + said.start()
        if (end := len(block.rstrip(_BLANK))) > 0:
            last = at + end - 1
        counted = 0
        while next_place < len(places) and places[next_place] < at + len(block):
            place = places[next_place] - at
            lines += block.count(b"\n", counted, place)
            newlines[places[next_place]], counted = lines, place
            next_place += 1
        lines += block.count(b"\n", counted)
        at += len(block)
    newlines.update(dict.fromkeys(places[next_place:], lines))
    starts, parts = kept.result()
    first = at if first < 0 else first
    return Seen(content.hexdigest(), named.hexdigest(), at, first, last, head, starts, parts, newlines)


def _united(spans: Iterable[Span]) -> list[Span]:
    """The ranges in order, those that touch as one."""
    found: list[Span] = []
    for start, end in sorted(spans):
        if found and start <= found[-1][1]:
            found[-1] = (found[-1][0], max(found[-1][1], end))
        elif start < end:
            found.append((start, end))
    return found


class _Kept:
    """The bytes of ranges that lie apart and in order, taken from blocks as they come."""

    def __init__(self, spans: list[Span]) -> None:
        self._spans = spans
        self._parts: list[list[bytes]] = [[] for _ in spans]
        self._first = 0

    def take(self, block: bytes, at: int) -> None:
        number = self._first
        while number < len(self._spans) and self._spans[number][0] < at + len(block):
            start, end = self._spans[number]
            self._parts[number].append(block[max(start - at, 0) : end - at])
            if end > at + len(block):
                break
            number += 1
        self._first = number

    def result(self) -> tuple[tuple[int, ...], tuple[bytes, ...]]:
        return tuple(start for start, _ in self._spans), tuple(b"".join(parts) for parts in self._parts)


class SeenDocument(Document):
    """A document of which only the cited bytes are at hand: all that formats ask of one in order to write windows."""

    __slots__ = ("_seen",)
    _seen: Seen

    def __init__(self, cited: CitedDocument, seen: Seen) -> None:
        for name in ("path", "time", "language", "id"):
            object.__setattr__(self, name, getattr(cited, name))
        object.__setattr__(self, "kind", "prose")
        object.__setattr__(self, "_seen", seen)

    def __len__(self) -> int:
        return self._seen.length

    @property
    def is_whole(self) -> bool:
        """No: only what is cited was kept."""
        return False

    def goes_on(self, start: int, end: int) -> tuple[bool, bool]:
        """Whether the document says anything before a range, and after it."""
        return self._seen.first_said < start, self._seen.last_said >= end

    def text(self, start: int, end: int) -> str:
        """A cited range; what is not UTF-8 there is a UnicodeDecodeError."""
        return self._seen.read(start, end).decode()

    def lines(self, start: int, end: int) -> tuple[int, int]:
        """First and last line (from 1) that a cited range touches."""
        return self._seen.lines(start, end)


def bytes_in_store(snapshot: Snapshot, row: Row) -> Iterator[bytes]:
    """A stored document, block by block; the store verifies what it reads."""
    for start in range(0, row.length, BLOCK_BYTES):
        yield snapshot.read(row.number, start, min(start + BLOCK_BYTES, row.length))


class FileBytes(NamedTuple):
    """The bytes of a document as its file has them, and the rule and language by which they were read from it."""

    blocks: Iterable[bytes]
    rule: str | None = None  # None: as they are, and the first of them say which
    language: str | None = None


_As = tuple[bytes, str, str | None]


class Files:
    """Documents as the files below a folder have them. What one file gave when it was converted is kept for the next
    document, which is often of the same file.
    """

    def __init__(self, root: Path, *, convert: bool) -> None:
        self._root, self._convert = root, convert
        self._last: tuple[tuple[str, str | None, int], list[Loaded | Skipped]] | None = None

    def read(self, document: CitedDocument) -> FileBytes:
        """The document's bytes from its file: as they are, decoded by its rule, or converted again.

        Raises FileNotFoundError where there is no file, and a Refusal with the reason where it can't be compared.
        """
        is_text = _is_encoding(document.rule)
        found = _find(document.path, self._root, member=not is_text)
        if document.rule in _VERBATIM:
            return FileBytes(read_blocks(found))
        if not is_text and not self._convert:
            raise Refusal(
                "malformed", f"made from its file by the rule {document.rule!r}: no byte of it stands there as it is"
            )
        # By the file's size, which the receipt does not state.
        settings = SourceSettings(allow=_ALLOWED, max_bytes=max(SourceSettings().max_bytes, 4 * found.size))
        readings = _decoded(_raw(found, settings), document) if is_text else self._converted(found, document, settings)
        content, rule, language = _best(readings, document)
        return FileBytes([content], rule, language)

    def _converted(self, found: Found, document: CitedDocument, settings: SourceSettings) -> Iterator[_As]:
        """Nothing where the file no longer has such a document; a failed conversion is a Refusal."""
        _, _, encoding = document.rule.partition(":")
        for name in (None, encoding) if encoding else (None,):
            for each in self._loaded(found, name, settings):
                if isinstance(each, Loaded) and each.path == document.path:
                    yield each.content, each.rule, each.language
                elif isinstance(each, Skipped) and each.path in (document.path, found.path):
                    detail = f"it can't be converted again by the rule {document.rule!r}: {each.detail}"
                    raise Refusal(each.reason, detail)

    def _loaded(self, found: Found, encoding: str | None, settings: SourceSettings) -> list[Loaded | Skipped]:
        key = (found.path, encoding, settings.max_bytes)
        if self._last is None or self._last[0] != key:
            limits = SourceSettings(allow=settings.allow, max_bytes=settings.max_bytes, encoding=encoding)
            self._last = key, list(load(found.path, _raw(found, settings), settings=limits))
        return self._last[1]


def _raw(found: Found, settings: SourceSettings) -> bytes:
    raw = read(found, settings=settings)
    if isinstance(raw, Skipped):
        raise Refusal(raw.reason, raw.detail)
    return raw.content


def facts_in_file(document: CitedDocument, read_as: FileBytes, seen: Seen) -> tuple[str, str | None]:
    """The rule and the language that a file gives, once it was seen."""
    if read_as.rule is not None:
        return read_as.rule, read_as.language
    return "utf-8-bom" if seen.head.startswith(codecs.BOM_UTF8) else "utf-8", kind_of(document.path, seen.head)[1]


def _best(readings: Iterable[_As], document: CitedDocument) -> _As:
    """The reading of a file that gives the cited document, or the first of all."""
    first: _As | None = None
    for reading in readings:
        if blake3(reading[0]).hexdigest() == document.content_hash:
            return reading
        first = reading if first is None else first
    if first is None:
        raise FileNotFoundError(document.path)
    return first


def _decoded(raw: bytes, document: CitedDocument) -> Iterator[_As]:
    for encoding in (None, document.rule):
        found = decode(raw, encoding=encoding)
        yield found.content, found.rule, kind_of(document.path, found.content)[1]


def _is_encoding(rule: str) -> bool:
    if rule == "bytes":
        return True
    try:
        codecs.lookup(rule.removesuffix("-bom"))
    except (LookupError, ValueError):
        return False
    return True


def _find(path: str, root: Path, *, member: bool) -> Found:
    """The file of a document, nowhere but below the root; a member of a file is found by the file's name."""
    names = [path, _MEMBER.sub("", path)] if member and _MEMBER.search(path) else [path]
    top = os.path.realpath(root)
    for name in names:
        pure = PurePosixPath(name)
        if "\0" in name or pure.is_absolute() or ".." in pure.parts:
            raise Refusal("outside", "its path leads out of the folder, so it was not opened")
        if str(pure) != name:  # another name of the same file, which a receipt could give it a thousand times
            raise Refusal("outside", "its path is not written as that of a file is, so it was not opened")
        location = os.path.realpath(os.path.join(top, name))  # noqa: PTH118 - a Path would tidy the name
        if os.path.commonpath((top, location)) != top:
            raise Refusal("outside", "a link leads out of the folder, so it was not opened")
        try:
            status = os.stat(location)  # noqa: PTH116 - the same name that is opened later
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as error:
            raise Refusal("unreadable", error.strerror or type(error).__name__) from error
        return Found(name, location, status.st_size, status.st_mtime_ns, status.st_ino, status.st_dev)
    raise FileNotFoundError(path)
