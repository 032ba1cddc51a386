"""How is a file read safely while others may write it, and a text of any size without being held in memory?"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from blake3 import blake3

from brimful.documents.documents import check_path, check_time
from brimful.documents.encodings import Source, converted
from brimful.documents.remote import is_remote, opened
from brimful.documents.skips import Refusal, Skipped, SourceSettings
from brimful.documents.sources import Found, stat_of
from brimful.outline.kinds import Kind

BLOCK_BYTES = 1_048_576
"""No single read is larger (085b §4)."""

ATTEMPTS = 3
_MOVED = "it or a folder above it became a link since the walk"


def read(
    file: Found, *, settings: SourceSettings | None = None, refuse: Callable[[bytes], None] | None = None
) -> bytes | Skipped:
    """Read a file that holds still; one that changes while it is read is tried again, then skipped.

    `refuse` sees the first block and may raise a Refusal, so that a large binary costs one read.
    """
    settings = settings or SourceSettings()
    for _ in range(ATTEMPTS):
        try:
            blocks = read_blocks(file, check=settings.check_whole)
            first = next(blocks, b"")
            if refuse is not None and first:
                refuse(first)
            return b"".join([first, *blocks])
        except Refusal as refusal:
            if refusal.reason != "changing":
                return refusal.at(file.path)
    return Skipped(file.path, "changing", f"written to during each of {ATTEMPTS} reads; add it again later")


def read_blocks(
    file: Found, *, block_bytes: int = BLOCK_BYTES, check: Callable[[int], None] = lambda _: None
) -> Iterator[bytes]:
    """A file in blocks, of a size that passes a check; a change while reading raises a Refusal at the end.

    What was read before the Refusal must then be thrown away.
    """
    if is_remote(file.location):
        yield from _fetched_blocks(file, block_bytes, check)
        return
    descriptor = _descriptor(file.location)
    try:
        first_stat = _checked_stat(descriptor, file)
        remaining = first_stat[0]
        check(remaining)
        while remaining and (block := os.read(descriptor, min(remaining, block_bytes))):
            remaining -= len(block)
            yield block
        if remaining or stat_of(os.fstat(descriptor)) != first_stat:
            raise _changing()
    except OSError as error:
        raise Refusal("unreadable", error.strerror or type(error).__name__) from error
    finally:
        os.close(descriptor)


def _fetched_blocks(file: Found, block_bytes: int, check: Callable[[int], None]) -> Iterator[bytes]:
    """The blocks of a file that fsspec opens."""
    check(file.size)
    files, path = opened(file.location)
    remaining = file.size
    try:
        with files.open(path, "rb") as stream:
            while block := stream.read(block_bytes):
                remaining -= len(block)
                yield block
    except Exception as error:  # every kind of file system has its errors
        raise Refusal("unreadable", f"{type(error).__name__}: {error}"[:200]) from error
    if remaining:
        raise _changing()


def _changing() -> Refusal:
    return Refusal("changing", "written to while it was read; add it again later")


def _descriptor(name: str) -> int:
    """Open a file; a FIFO put in its place can't block us."""
    try:
        return os.open(name, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY)
    except OSError as error:
        if os.path.realpath(name) != name:
            raise Refusal("outside", _MOVED) from error
        raise Refusal("unreadable", error.strerror or type(error).__name__) from error


def _checked_stat(descriptor: int, file: Found) -> tuple[int, int, int, int]:
    """The stat of an open file, if it is a regular one, and that of the walk or in its place."""
    status = os.fstat(descriptor)
    if stat_of(status) != file[2:]:  # another file: is there a link on the way?
        place = Path(file.location)
        if os.path.realpath(place) != file.location or not os.path.samestat(status, place.stat()):
            raise Refusal("outside", _MOVED)
    if not stat.S_ISREG(status.st_mode):
        raise Refusal("special", "no longer a regular file")
    return stat_of(status)


LONG_BYTES = 8 << 20
"""A longer text is read block by block; holding a shorter one costs less than reading it three times."""


@dataclass(frozen=True, slots=True)
class LongDocument:
    """A document whose content is read block by block whenever it is needed.

    A first pass over the source finds the encoding, a second the hashes; every later one is compared with
    `content_hash`, and a text that differs is refused as changing.
    """

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
        id_hash, content_hash, length = blake3(len(name).to_bytes(8, "big") + name), blake3(), 0
        for block in converted(source(), rule):
            id_hash.update(block)
            content_hash.update(block)
            length += len(block)
        return cls(path, time, kind, language, rule, id_hash.hexdigest(), content_hash.digest(), length, source)

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
