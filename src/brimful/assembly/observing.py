"""Which bytes does a cited document have now, in a store or in a file?"""

from __future__ import annotations

import codecs
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from blake3 import blake3

from brimful.assembly.cited import CitedDocument
from brimful.corpus.encodings import decode
from brimful.corpus.loaders import Loaded, load
from brimful.corpus.reading import BLOCK_BYTES, read, read_blocks
from brimful.corpus.skips import Reason, Refusal, Skipped, SourceSettings
from brimful.corpus.sources import Found
from brimful.store.protocol import Row, Snapshot

Span = tuple[int, int]

_VERBATIM = ("utf-8", "utf-8-bom")
_MEMBER = re.compile(r"#\d{4,}\Z")
_ALLOWED: tuple[Reason, ...] = ("secret", "binary", "encoding")  # what was let in once may be looked at again


@dataclass(frozen=True, slots=True)
class Seen:
    """A document as it is now: its hashes, its length, and the bytes of the ranges that were asked for."""

    content_hash: str
    id: str
    length: int
    parts: dict[Span, bytes]


def observe(path: str, blocks: Iterable[bytes], spans: Sequence[Span]) -> Seen:
    """Read a document once, block by block, and keep only what is asked for; a range beyond its end is cut off.

    >>> observe("a.md", [b"Tea at", b" four."], [(4, 11)]).parts
    {(4, 11): b'at four'}
    """
    content, named = blake3(), blake3(len(path.encode()).to_bytes(8, "big") + path.encode())
    parts: dict[Span, list[bytes]] = {span: [] for span in spans}
    at = 0
    for block in blocks:
        content.update(block)
        named.update(block)
        for (start, end), kept in parts.items():
            if start < at + len(block) and at < end:
                kept.append(block[max(start - at, 0) : end - at])
        at += len(block)
    return Seen(content.hexdigest(), named.hexdigest(), at, {span: b"".join(kept) for span, kept in parts.items()})


def bytes_in_store(snapshot: Snapshot, row: Row) -> Iterator[bytes]:
    """A stored document, block by block; the store verifies what it reads."""
    for start in range(0, row.length, BLOCK_BYTES):
        yield snapshot.read(row.number, start, min(start + BLOCK_BYTES, row.length))


def bytes_in_file(document: CitedDocument, root: Path, *, convert: bool) -> Iterable[bytes]:
    """The document's bytes from its file: as they are, decoded by its rule, or converted again.

    Raises FileNotFoundError where there is no file, and a Refusal with the reason where it can't be compared.
    """
    is_text = _is_encoding(document.rule)
    found = _find(document.path, root, member=not is_text)
    if document.rule in _VERBATIM:
        return read_blocks(found)
    if not is_text and not convert:
        raise Refusal(
            "malformed", f"made from its file by the rule {document.rule!r}: no byte of it stands there as it is"
        )
    settings = SourceSettings(allow=_ALLOWED, max_bytes=max(SourceSettings().max_bytes, 4 * document.length))
    raw = read(found, settings=settings)
    if isinstance(raw, Skipped):
        raise Refusal(raw.reason, raw.detail)
    contents = _decoded(raw.content, document) if is_text else _converted(raw.content, found.path, document, settings)
    return [_best(contents, document)]


def _best(contents: Iterable[bytes], document: CitedDocument) -> bytes:
    """The reading of a file that gives the cited document, or the first of all."""
    first: bytes | None = None
    for content in contents:
        if blake3(content).hexdigest() == document.content_hash:
            return content
        first = content if first is None else first
    if first is None:
        raise FileNotFoundError(document.path)
    return first


def _decoded(raw: bytes, document: CitedDocument) -> Iterator[bytes]:
    for encoding in (None, document.rule):
        yield decode(raw, encoding=encoding).content


def _converted(raw: bytes, path: str, document: CitedDocument, settings: SourceSettings) -> Iterator[bytes]:
    """Nothing where the file no longer has such a document; a failed conversion is a Refusal."""
    _, _, encoding = document.rule.partition(":")
    for name in (None, encoding) if encoding else (None,):
        limits = SourceSettings(allow=settings.allow, max_bytes=settings.max_bytes, encoding=name)
        for each in load(path, raw, settings=limits):
            if isinstance(each, Loaded) and each.path == document.path:
                yield each.content
            elif isinstance(each, Skipped) and each.path in (document.path, path):
                raise Refusal(each.reason, f"it can't be converted again by the rule {document.rule!r}: {each.detail}")


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
