"""How is a file read safely while others may write it, and a text of any size without being held?"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import BinaryIO

from blake3 import blake3

from brimful.documents.documents import check_path, check_time
from brimful.documents.encodings import Source, converted, rule_of
from brimful.documents.skips import Refusal, Skipped, SourceSettings
from brimful.documents.sources import Found, is_remote, opened_elsewhere, stat_of
from brimful.outline.kinds import Kind, kind_of

BLOCK_BYTES = 1_048_576
"""No single read is larger (085b §4)."""

ATTEMPTS = 3
_MOVED = "it or a folder above it became a link since the walk"


def read(
    found: Found, *, settings: SourceSettings | None = None, refuse: Callable[[bytes], None] | None = None
) -> bytes | Skipped:
    """Read a file that holds still; one that changes while it is read is tried again, then skipped.

    `refuse` sees the first block and may raise a Refusal, so that a large binary costs one read.
    """
    settings = settings or SourceSettings()
    for _ in range(ATTEMPTS):
        try:
            blocks = read_blocks(found, check=settings.check_whole)
            first = next(blocks, b"")
            if refuse is not None and first:
                refuse(first)
            return b"".join([first, *blocks])
        except Refusal as refusal:
            if refusal.reason != "changing":
                return refusal.at(found.path)
    return Skipped(found.path, "changing", f"written to during each of {ATTEMPTS} reads; add it again later")


def read_blocks(
    found: Found, *, block_bytes: int = BLOCK_BYTES, check: Callable[[int], None] = lambda _: None
) -> Iterator[bytes]:
    """A file in blocks, of a size that passes a check; a change while reading raises a Refusal at the end.

    What was read before the Refusal must then be thrown away.
    """
    if is_remote(found.location):
        yield from _fetched_blocks(found, block_bytes, check)
        return
    descriptor = _descriptor(found.location)
    try:
        before = _stat_of(descriptor, found)
        left = before[0]
        check(left)
        while left and (block := os.read(descriptor, min(left, block_bytes))):
            left -= len(block)
            yield block
        if left or stat_of(os.fstat(descriptor)) != before:
            raise _changing()
    except OSError as error:
        raise Refusal("unreadable", error.strerror or type(error).__name__) from error
    finally:
        os.close(descriptor)


def _fetched_blocks(found: Found, block_bytes: int, check: Callable[[int], None]) -> Iterator[bytes]:
    """The blocks of a file that fsspec opens."""
    check(found.size)
    files, path = opened_elsewhere(found.location)
    left = found.size
    try:
        with files.open(path, "rb") as stream:
            while block := stream.read(block_bytes):
                left -= len(block)
                yield block
    except Exception as error:  # each kind of place has errors of its own
        raise Refusal("unreadable", f"{type(error).__name__}: {error}"[:200]) from error
    if left:
        raise _changing()


def _changing() -> Refusal:
    return Refusal("changing", "written to while it was read; add it again later")


def stream_blocks(stream: BinaryIO) -> Iterator[bytes]:
    """What a stream gives, in blocks; a pipe that breaks is a Refusal."""
    try:
        while block := stream.read(BLOCK_BYTES):
            yield block
    except OSError as error:
        raise Refusal("unreadable", error.strerror or type(error).__name__) from error


def _descriptor(name: str) -> int:
    """Open a file; a FIFO put in its place can't block us."""
    try:
        return os.open(name, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY)
    except OSError as error:
        if os.path.realpath(name) != name:
            raise Refusal("outside", _MOVED) from error
        raise Refusal("unreadable", error.strerror or type(error).__name__) from error


def _stat_of(descriptor: int, found: Found) -> tuple[int, int, int, int]:
    """What a stat says of an open file that is a regular one, and the one that was found, or lies where that lay."""
    status = os.fstat(descriptor)
    is_found = stat_of(status) == found[2:]
    if not is_found and not _lies_at(descriptor, found.location):  # another file: is there a link on the way?
        raise Refusal("outside", _MOVED)
    if not stat.S_ISREG(status.st_mode):
        raise Refusal("special", "no longer a regular file")
    return stat_of(status)


def _lies_at(descriptor: int, name: str) -> bool:
    """Whether an open file lies in this very place, with no link on the way; Linux says so in one call."""
    with suppress(OSError):
        if os.readlink(f"/proc/self/fd/{descriptor}") == name:  # noqa: PTH115  (a Path takes longer than the call)
            return True
    return os.path.realpath(name) == name


# ---- streaming: How does a text of any size become a document without being held?
#
# The encoding is found in a first pass over the source, the hashes are taken in a second, and a last one writes the
# text into the store and compares: a text that differs between passes is refused as changing.

LONG_BYTES = 8 << 20
"""A text above this is read block by block; below it, holding it costs less than reading it three times."""


@dataclass(frozen=True, slots=True)
class LongDocument:
    """A document whose content is read when it is needed; `content_hash` says what it must then be."""

    path: str
    time: int | None
    kind: Kind
    language: str | None
    rule: str
    id: str = field(repr=False)
    content_hash: bytes = field(repr=False)
    length: int
    source: Source = field(repr=False, compare=False)

    @classmethod
    def of(
        cls,
        path: str,
        source: Source,
        *,
        kind: Kind = "prose",
        language: str | None = None,
        rule: str = "utf-8",
        time: int | None = None,
    ) -> LongDocument:
        """Hash a text; the document is the one that `Document(path, content)` would be."""
        name = check_path(path)
        check_time(time, where=path)
        named, plain, length = blake3(len(name).to_bytes(8, "big") + name), blake3(), 0
        for block in converted(source(), rule):
            named.update(block)
            plain.update(block)
            length += len(block)
        return cls(path, time, kind, language, rule, named.hexdigest(), plain.digest(), length, source)

    def blocks(self) -> Iterator[bytes]:
        """The text as UTF-8; a Refusal at the end if it is not what was hashed."""
        hasher = blake3()
        for block in converted(self.source(), self.rule):
            hasher.update(block)
            yield block
        if hasher.digest() != self.content_hash:
            raise _changing()

    def __len__(self) -> int:
        return self.length


def streamed(
    path: str, source: Source, *, folder: str = "", time: int | None = None, settings: SourceSettings
) -> LongDocument | None:
    """The document that a source's bytes are; None for a format that is converted as a whole.

    Raises a Refusal where they are left out, or changed between two passes.
    """
    from brimful.documents.loaders import CHAT_SNIFF_BYTES, is_streamable  # a question reads no files
    from brimful.documents.loaders.loaded import check_escaped
    from brimful.documents.secrets import PREFIX_BYTES, secret_in

    head = _head(source(), CHAT_SNIFF_BYTES)
    if not is_streamable(path, head):
        return None
    rule = rule_of(source, encoding=settings.encoding)
    if rule.size > settings.max_bytes and not settings.allows("too_large"):
        raise Refusal("too_large", f"{rule.size} bytes, more than max_bytes = {settings.max_bytes}")
    check_escaped(rule.escaped, rule.size, settings)
    opening = _head(converted(source(), rule.name), PREFIX_BYTES)
    secret = None if settings.allows("secret") else secret_in(opening)
    if secret:
        raise Refusal("secret", secret)
    kind, language = kind_of(path, opening)
    return LongDocument.of(folder + path, source, kind=kind, language=language, rule=rule.name, time=time)


def _head(blocks: Iterable[bytes], size: int) -> bytes:
    """The first bytes of blocks, which are let go at once."""
    iterator = iter(blocks)
    head = b""
    try:
        while len(head) < size and (block := next(iterator, None)) is not None:
            head += block
    finally:
        close = getattr(iterator, "close", None)
        if close is not None:
            close()
    return head[:size]
