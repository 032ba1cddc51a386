"""The cited documents as a store, or the files below a folder, have them now."""

from __future__ import annotations

import codecs
import os
import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePath, PurePosixPath
from typing import NamedTuple

from blake3 import blake3

from brimful.documents.encodings import decode
from brimful.documents.loaders import Loaded, load
from brimful.documents.reading import BLOCK_BYTES, read, read_blocks
from brimful.documents.skips import Reason, Refusal, Skipped, SourceSettings
from brimful.documents.sources import Found
from brimful.outline.kinds import SNIFF_BYTES, kind_of
from brimful.receipts.offline import Kind
from brimful.receipts.receipt import CitedDocument
from brimful.store.snapshot import StoredSnapshot
from brimful.text.spans import Span, merge_spans

_VISIBLE = re.compile(rb"\S")
_BLANK = b" \t\n\r\x0b\x0c"  # what \S leaves out
_VERBATIM = ("utf-8", "utf-8-bom")
_MEMBER = re.compile(r"#\d{4,}\Z")
_ALLOWED: tuple[Reason, ...] = ("secret", "binary", "encoding")  # what was let in once may be looked at again


@dataclass(frozen=True, slots=True)
class ObservedDocument:
    """A document as it is now: hashes, length, its first and last visible byte, and the ranges that were asked for."""

    content_hash: str
    id: str
    length: int
    first_visible: int  # the length where all is blank
    last_visible: int  # -1 where all is blank
    head: bytes
    _starts: tuple[int, ...]
    _parts: tuple[bytes, ...]
    _newlines: dict[int, int]

    def read(self, start: int, end: int) -> bytes:
        """The bytes of a requested range; what lies beyond the document's end is cut off."""
        part = bisect_right(self._starts, start) - 1
        if start >= end or part < 0:
            return b""
        return self._parts[part][start - self._starts[part] : end - self._starts[part]]

    def lines(self, start: int, end: int) -> tuple[int, int]:
        """The first and last line of a requested range."""
        return self._newlines[start] + 1, self._newlines[max(start, end - 1)] + 1


def observe(path: str, blocks: Iterable[bytes], spans: Iterable[tuple[int, int]]) -> ObservedDocument:
    """Read a document once, block by block, and keep only the requested ranges, each byte once.

    >>> observe("a.md", [b"Tea at", b" four."], [(4, 11), (0, 6)]).read(4, 11)
    b'at four'
    """
    wanted = list(spans)
    places = sorted({place for start, end in wanted for place in (start, max(start, end - 1))})
    ranges = merge_spans(Span(start, end) for start, end in wanted if start < end)
    starts, ends = tuple(span.start for span in ranges), [span.end for span in ranges]
    parts: list[list[bytes]] = [[] for _ in ranges]
    content, named = blake3(), blake3(len(path.encode()).to_bytes(8, "big") + path.encode())
    newlines: dict[int, int] = {}
    offset = next_place = lines = 0
    first, last, head = -1, -1, b""
    for block in blocks:
        content.update(block)
        named.update(block)
        for number in range(bisect_right(ends, offset), bisect_left(starts, offset + len(block))):
            parts[number].append(block[max(starts[number] - offset, 0) : ends[number] - offset])
        if offset <= SNIFF_BYTES:
            head += block[: SNIFF_BYTES + 1 - offset]
        if first < 0 and (visible := _VISIBLE.search(block)):
            first = offset + visible.start()
        if (end := len(block.rstrip(_BLANK))) > 0:
            last = offset + end - 1
        counted = 0
        while next_place < len(places) and places[next_place] < offset + len(block):
            place = places[next_place] - offset
            lines += block.count(b"\n", counted, place)
            newlines[places[next_place]], counted = lines, place
            next_place += 1
        lines += block.count(b"\n", counted)
        offset += len(block)
    newlines.update(dict.fromkeys(places[next_place:], lines))
    first = offset if first < 0 else first
    hashes = content.hexdigest(), named.hexdigest()
    return ObservedDocument(*hashes, offset, first, last, head, starts, tuple(map(b"".join, parts)), newlines)


class Source(NamedTuple):
    """The bytes of a document in a store or a file, and the facts that are kept of it there."""

    blocks: Iterable[bytes]
    time: int | None
    kind: Kind  # of a finding where rule or language differ
    rule: str | None = None  # None: as they are, and the first of them say which
    language: str | None = None

    def facts(self, document: CitedDocument, observed: ObservedDocument) -> tuple[str, str | None]:
        """The rule and the language by which it was read."""
        if self.rule is not None:
            return self.rule, self.language
        rule = "utf-8-bom" if observed.head.startswith(codecs.BOM_UTF8) else "utf-8"
        return rule, kind_of(document.path, observed.head)[1]


def stored(snapshot: StoredSnapshot, document: CitedDocument) -> Source:
    """A document of a store, block by block; the store verifies them."""
    row = snapshot.row(document.path)
    if row is None:
        raise FileNotFoundError(document.path)
    starts = range(0, row.length, BLOCK_BYTES)
    blocks = (snapshot.read(row.number, start, min(start + BLOCK_BYTES, row.length)) for start in starts)
    return Source(blocks, row.time, "receipt", row.rule, row.language)


_Reading = tuple[bytes, str, str | None]
"""Content, rule and language of a file that was read in one way."""


class Files:
    """Documents in the files below a folder. The last converted file is kept: the next document is often of it, too."""

    def __init__(self, root: Path, *, convert: bool, label: str | None = None) -> None:
        self._root, self._convert, self._label = root, convert, label
        self._last: tuple[tuple[str, str | None, int], list[Loaded | Skipped]] | None = None

    def read(self, document: CitedDocument) -> Source:
        """The document's bytes from its file: as they are, decoded by its rule, or converted again.

        Raises FileNotFoundError where there is no file, and a Refusal with the reason where it can't be compared.
        """
        is_text = _is_encoding(document.rule)
        file = _find(document.path, self._root, member=not is_text, label=self._label)
        if document.rule in _VERBATIM:
            return Source(read_blocks(file), document.time, "unchecked")
        if not is_text and not self._convert:
            raise Refusal(
                "malformed", f"made from its file by the rule {document.rule!r}: no byte of it stands there as it is"
            )
        # By the file's size, which the receipt does not state.
        allow = _ALLOWED[1:] if "masked" in document.rule.split(":") else _ALLOWED
        settings = SourceSettings(allow=allow, max_bytes=max(SourceSettings().max_bytes, 4 * file.size))
        readings = _decoded(_raw(file, settings), document) if is_text else self._converted(file, document, settings)
        content, rule, language = _best(readings, document)
        return Source([content], document.time, "unchecked", rule, language)

    def _converted(self, file: Found, document: CitedDocument, settings: SourceSettings) -> Iterator[_Reading]:
        """Nothing where the file no longer has such a document; a failed conversion is a Refusal."""
        _, _, encoding = document.rule.rpartition(":")
        for name in (None, encoding) if encoding else (None,):
            for result in self._loaded(file, name, settings):
                if isinstance(result, Loaded) and result.path == document.path:
                    yield result.content, result.rule, result.language
                elif isinstance(result, Skipped) and result.path in (document.path, file.path):
                    detail = f"it can't be converted again by the rule {document.rule!r}: {result.detail}"
                    raise Refusal(result.reason, detail)

    def _loaded(self, file: Found, encoding: str | None, settings: SourceSettings) -> list[Loaded | Skipped]:
        key = (file.path, encoding, settings.max_bytes)
        if self._last is None or self._last[0] != key:
            limits = SourceSettings(allow=settings.allow, max_bytes=settings.max_bytes, encoding=encoding)
            self._last = key, list(load(file.path, _raw(file, settings), settings=limits))
        return self._last[1]


def _raw(file: Found, settings: SourceSettings) -> bytes:
    raw = read(file, settings=settings)
    if isinstance(raw, Skipped):
        raise Refusal(raw.reason, raw.detail)
    return raw


def _best(readings: Iterable[_Reading], document: CitedDocument) -> _Reading:
    """The reading of a file that gives the cited document, or the first of all."""
    first: _Reading | None = None
    for reading in readings:
        if blake3(reading[0]).hexdigest() == document.content_hash:
            return reading
        first = reading if first is None else first
    if first is None:
        raise FileNotFoundError(document.path)
    return first


def _decoded(raw: bytes, document: CitedDocument) -> Iterator[_Reading]:
    for encoding in (None, document.rule):
        content, chosen = decode(raw, encoding=encoding)
        yield content, chosen.rule, kind_of(document.path, content)[1]


def _is_encoding(rule: str) -> bool:
    if rule == "bytes":
        return True
    try:
        codecs.lookup(rule.removesuffix("-bom"))
    except (LookupError, ValueError):
        return False
    return True


def _find(path: str, root: Path, *, member: bool, label: str | None) -> Found:
    """The file of a document, nowhere but below the root; a member of a file is found by the file's name."""
    names = [path, _MEMBER.sub("", path)] if member and _MEMBER.search(path) else [path]
    top = os.path.realpath(root)
    for name in names:
        pure = PurePosixPath(name)
        if "\0" in name or pure.is_absolute() or ".." in pure.parts:
            raise Refusal("outside", "its path leads out of the folder, so it was not opened")
        if str(pure) != name:  # another name of one file, of which a receipt could have a thousand
            raise Refusal("outside", "its path is not written as that of a file is, so it was not opened")
        for below in _below(name, top, label):
            location = os.path.realpath(os.path.join(top, below))  # noqa: PTH118 - a Path would tidy the name
            if os.path.commonpath((top, location)) != top:
                raise Refusal("outside", "a link leads out of the folder, so it was not opened")
            try:
                status = os.stat(location)  # noqa: PTH116 - the name that is opened later
            except (FileNotFoundError, NotADirectoryError):
                continue
            except OSError as error:
                raise Refusal("unreadable", error.strerror or type(error).__name__) from error
            return Found(name, location, status.st_size, status.st_mtime_ns, status.st_ino, status.st_dev)
    raise FileNotFoundError(path)


def _below(name: str, top: str, label: str | None) -> list[str]:
    """Names below a folder that a document's file may have: its path, or that without the folder's name in front.

    >>> _below("docs/tea.md", "/work/docs", None), _below("handbook/tea.md", "/work/docs", "handbook")
    (['docs/tea.md', 'tea.md'], ['tea.md'])
    """
    if label is not None:
        return [name.removeprefix(f"{label}/")] if name.startswith(f"{label}/") else []
    parts, above = PurePosixPath(name).parts, PurePath(top).parts
    shared = [count for count in range(1, len(parts)) if above[-count:] == parts[:count]]
    return [name, *("/".join(parts[count:]) for count in shared)]
