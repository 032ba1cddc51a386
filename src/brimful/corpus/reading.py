"""How is a file read safely while others may write it?"""

from __future__ import annotations

import contextlib
import os
import stat
import sys
from collections.abc import Callable, Iterator
from dataclasses import field
from typing import BinaryIO

from brimful.classes import dataclass
from brimful.corpus.skips import Refusal, Skipped, SourceSettings
from brimful.corpus.sources import Found, Place, is_remote, opened_elsewhere

BLOCK_BYTES = 1_048_576
"""No single read is larger (085b §4)."""

ATTEMPTS = 3
_MOVED = "it or a folder above it became a link since the walk"


@dataclass(frozen=True, slots=True)
class Raw:
    """A file's bytes as they were at one moment, with the size, time and inode of that moment.

    `place` is None for what came from a stream or a string.
    """

    path: str
    content: bytes = field(repr=False)
    place: Place | None = None


def read(
    found: Found,
    *,
    settings: SourceSettings | None = None,
    refuse: Callable[[bytes], None] | None = None,
) -> Raw | Skipped:
    """Read a file that holds still; one that changes under our eyes is tried again, then skipped.

    `refuse` sees the first block and may raise a Refusal, so that a large binary costs one read.
    """
    settings = settings or SourceSettings()
    try:
        for _ in range(ATTEMPTS):
            with contextlib.suppress(_ChangedError):
                return _read_once(found, settings, refuse)
    except Refusal as refusal:
        return refusal.at(found.path)
    return Skipped(found.path, "changing", f"written to during each of {ATTEMPTS} reads; add it again later")


def read_blocks(found: Found, *, block_bytes: int = BLOCK_BYTES) -> Iterator[bytes]:
    """A file in blocks, for texts too large to hold; a change while reading raises a Refusal at the end.

    What was read before the Refusal must then be thrown away.
    """
    with _open(found) as (descriptor, before):
        left = before.size
        while left and (block := os.read(descriptor, min(left, block_bytes))):
            left -= len(block)
            yield block
        if left or Place.of(os.fstat(descriptor)) != before:
            raise Refusal("changing", "written to while it was read; add it again later")


def fetched_blocks(found: Found, *, block_bytes: int = BLOCK_BYTES) -> Iterator[bytes]:
    """The same of a file that fsspec opens."""
    files, path = opened_elsewhere(found.location)
    left = found.size
    try:
        with files.open(path, "rb") as stream:
            while block := stream.read(block_bytes):
                left -= len(block)
                yield block
    except Exception as error:  # each kind of place has errors of its own
        raise _unreadable(error) from error
    if left:
        raise Refusal("changing", "written to while it was read; add it again later")


def _unreadable(error: Exception) -> Refusal:
    return Refusal("unreadable", f"{type(error).__name__}: {error}"[:200])


def read_stream(
    stream: BinaryIO | None = None, *, path: str = "stdin", settings: SourceSettings | None = None
) -> Raw | Skipped:
    """Everything that a stream gives, standard input by default, up to what may be held."""
    settings = settings or SourceSettings()
    blocks: list[bytes] = []
    size = 0
    try:
        for block in stream_blocks(stream or sys.stdin.buffer):
            blocks.append(block)
            size += len(block)
            settings.check_whole(size)
    except Refusal as refusal:
        return refusal.at(path)
    return Raw(path, b"".join(blocks))


def stream_blocks(stream: BinaryIO, *, block_bytes: int = BLOCK_BYTES) -> Iterator[bytes]:
    """What a stream gives, in blocks; a pipe that breaks is a Refusal."""
    try:
        while block := stream.read(block_bytes):
            yield block
    except OSError as error:
        raise Refusal("unreadable", error.strerror or type(error).__name__) from error


def given(path: str, text: str | bytes) -> Raw:
    """A string as if it had been read from `path`; a lone surrogate is written out as its escape.

    >>> given("note.txt", "Tea at four.").content
    b'Tea at four.'
    """
    return Raw(path, text.encode("utf-8", "backslashreplace") if isinstance(text, str) else text)


class _ChangedError(Exception):
    """The file was written to while it was read."""


def _read_once(found: Found, settings: SourceSettings, refuse: Callable[[bytes], None] | None) -> Raw:
    if is_remote(found.location):
        return _fetched(found, settings, refuse)
    with _open(found) as (descriptor, before):
        settings.check_whole(before.size)
        blocks: list[bytes] = []
        left = before.size
        while left and (block := os.read(descriptor, min(left, BLOCK_BYTES))):
            if refuse is not None and not blocks:
                refuse(block)
            blocks.append(block)
            left -= len(block)
        if left or Place.of(os.fstat(descriptor)) != before:
            raise _ChangedError
        return Raw(found.path, b"".join(blocks), before)


def _fetched(found: Found, settings: SourceSettings, refuse: Callable[[bytes], None] | None) -> Raw:
    """A file that fsspec opens, whole."""
    settings.check_whole(found.size)
    files, path = opened_elsewhere(found.location)
    try:
        with files.open(path, "rb") as stream:
            head = stream.read(min(found.size, BLOCK_BYTES))
            if refuse is not None and head:
                refuse(head)
            content = head + stream.read(found.size - len(head) + 1)
    except Refusal:
        raise
    except Exception as error:  # each kind of place has errors of its own
        raise _unreadable(error) from error
    if len(content) != found.size:
        raise _ChangedError
    return Raw(found.path, content, found.place)


@contextlib.contextmanager
def _open(found: Found) -> Iterator[tuple[int, Place]]:
    """Open a regular file that still lies where it was found; a FIFO put in its place can't block us."""
    name = found.location
    try:
        descriptor = os.open(name, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY)
    except OSError as error:
        if os.path.realpath(name) != name:
            raise Refusal("outside", _MOVED) from error
        raise Refusal("unreadable", error.strerror or type(error).__name__) from error
    try:
        if not _lies_at(descriptor, name):
            raise Refusal("outside", _MOVED)
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise Refusal("special", "no longer a regular file")
        yield descriptor, Place.of(status)
    except OSError as error:
        raise Refusal("unreadable", error.strerror or type(error).__name__) from error
    finally:
        os.close(descriptor)


def _lies_at(descriptor: int, name: str) -> bool:
    """Whether an open file lies in this very place, with no link on the way; Linux says so in one call."""
    try:
        if os.readlink(f"/proc/self/fd/{descriptor}") == name:  # noqa: PTH115  (a Path takes longer than the call)
            return True
    except OSError:
        pass
    return os.path.realpath(name) == name
