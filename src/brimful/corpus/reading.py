"""How is a file read safely while others may write it, and a text of any size without being held?"""

from __future__ import annotations

import contextlib
import os
import stat
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import BinaryIO

from blake3 import blake3

from brimful.corpus.documents import check_path, check_time
from brimful.corpus.encodings import Source, converted, rule_of
from brimful.corpus.skips import Refusal, Skipped, SourceSettings
from brimful.corpus.sources import Found, Place, is_remote, opened_elsewhere
from brimful.text.kinds import Kind, kind_of

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
    found: Found, *, settings: SourceSettings | None = None, refuse: Callable[[bytes], None] | None = None
) -> Raw | Skipped:
    """Read a file that holds still; one that changes under our eyes is tried again, then skipped.

    `refuse` sees the first block and may raise a Refusal, so that a large binary costs one read.
    """
    settings = settings or SourceSettings()
    for _ in range(ATTEMPTS):
        try:
            return _read_once(found, settings, refuse)
        except _ChangedError:
            pass
        except Refusal as refusal:
            return refusal.at(found.path)
    return Skipped(found.path, "changing", f"written to during each of {ATTEMPTS} reads; add it again later")


def read_blocks(found: Found, *, block_bytes: int = BLOCK_BYTES) -> Iterator[bytes]:
    """A file in blocks, for texts too large to hold; a change while reading raises a Refusal at the end.

    What was read before the Refusal must then be thrown away.
    """
    with _open(found) as (descriptor, before):
        left = before.size
        for block in _blocks(descriptor, left, block_bytes):
            left -= len(block)
            yield block
        if left or Place.of(os.fstat(descriptor)) != before:
            raise Refusal("changing", "written to while it was read; add it again later")


def _fetched_blocks(found: Found, *, block_bytes: int = BLOCK_BYTES) -> Iterator[bytes]:
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


def stream_blocks(stream: BinaryIO) -> Iterator[bytes]:
    """What a stream gives, in blocks; a pipe that breaks is a Refusal."""
    try:
        while block := stream.read(BLOCK_BYTES):
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
    descriptor = _descriptor(found.location)
    try:
        before = _place_of(descriptor, found)
        size = before.size
        settings.check_whole(size)
        content = os.read(descriptor, min(size, BLOCK_BYTES))  # most files are smaller, and need no list of blocks
        if refuse is not None and content:
            refuse(content)
        if len(content) < size:
            content = b"".join([content, *_blocks(descriptor, size - len(content))])
        if len(content) < size or not before.is_of(os.fstat(descriptor)):
            raise _ChangedError
    except OSError as error:
        raise Refusal("unreadable", error.strerror or type(error).__name__) from error
    finally:
        os.close(descriptor)
    return Raw(found.path, content, before)


def _blocks(descriptor: int, left: int, block_bytes: int = BLOCK_BYTES) -> Iterator[bytes]:
    """The next so many bytes of an open file, as far as there are any."""
    while left and (block := os.read(descriptor, min(left, block_bytes))):
        left -= len(block)
        yield block


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
    """An open file and what a stat says of it."""
    descriptor = _descriptor(found.location)
    try:
        yield descriptor, _place_of(descriptor, found)
    except OSError as error:
        raise Refusal("unreadable", error.strerror or type(error).__name__) from error
    finally:
        os.close(descriptor)


def _descriptor(name: str) -> int:
    """Open a file; a FIFO put in its place can't block us."""
    try:
        return os.open(name, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY)
    except OSError as error:
        if os.path.realpath(name) != name:
            raise Refusal("outside", _MOVED) from error
        raise Refusal("unreadable", error.strerror or type(error).__name__) from error


def _place_of(descriptor: int, found: Found) -> Place:
    """What a stat says of an open file that is a regular one, and the one that was found, or lies where that lay."""
    status = os.fstat(descriptor)
    place = Place.of(status)
    if place != found[2:] and not _lies_at(descriptor, found.location):  # another file: is there a link on the way?
        raise Refusal("outside", _MOVED)
    if not stat.S_ISREG(status.st_mode):
        raise Refusal("special", "no longer a regular file")
    return place


def _lies_at(descriptor: int, name: str) -> bool:
    """Whether an open file lies in this very place, with no link on the way; Linux says so in one call."""
    try:
        if os.readlink(f"/proc/self/fd/{descriptor}") == name:  # noqa: PTH115  (a Path takes longer than the call)
            return True
    except OSError:
        pass
    return os.path.realpath(name) == name


# ---- streaming: How does a text of any size become a document without being held?
#
# streamed(path, source) -> LongText | Skipped | None    None: it must be read as a whole
# LongDocument.of(path, text, …)                         hashed, ready to be stored
#
# The encoding is found in a first pass over the source, the hashes are taken in a second, and a last one lays the text
# down and compares: a text that is not the same twice is refused as changing.

LONG_BYTES = 8 << 20
"""A text above this is read block by block; below it, holding it costs less than reading it three times."""


@dataclass(frozen=True, slots=True)
class LongText:
    """Which text the bytes of a source mean: what a Loaded is for a text that is held."""

    path: str
    kind: Kind
    language: str | None
    rule: str
    source: Source = field(repr=False, compare=False)

    def blocks(self) -> Iterator[bytes]:
        """The text as UTF-8."""
        return converted(self.source(), self.rule)


@dataclass(frozen=True, slots=True)
class LongDocument:
    """A document whose content is read when it is needed; `content_hash` says what it must then be."""

    path: str
    time: int | None
    kind: Kind
    language: str | None
    id: str = field(repr=False)
    content_hash: bytes = field(repr=False)
    length: int
    blocks: Callable[[], Iterator[bytes]] = field(repr=False, compare=False)

    @classmethod
    def of(cls, path: str, text: LongText, *, time: int | None = None) -> LongDocument:
        """Hash a text; the document is the one that `Document(path, content)` would be."""
        name = check_path(path)
        check_time(time, where=path)
        named, plain, length = blake3(len(name).to_bytes(8, "big") + name), blake3(), 0
        for block in text.blocks():
            named.update(block)
            plain.update(block)
            length += len(block)
        return cls(path, time, text.kind, text.language, named.hexdigest(), plain.digest(), length, text.blocks)

    def __len__(self) -> int:
        return self.length


def streamed_file(found: Found, *, settings: SourceSettings | None = None) -> LongText | Skipped | None:
    """A file as a long text; one that does not hold still is tried again, then skipped."""
    blocks = _fetched_blocks if is_remote(found.location) else read_blocks
    return streamed(found.path, partial(blocks, found), settings=settings)


def streamed(path: str, source: Source, *, settings: SourceSettings | None = None) -> LongText | Skipped | None:
    """Find out what a source's bytes mean; None where it is a format that is converted as a whole."""
    settings = settings or SourceSettings()
    for attempt in range(ATTEMPTS):
        try:
            return _streamed(path, source, settings)
        except Refusal as refusal:
            if refusal.reason != "changing" or attempt == ATTEMPTS - 1:
                return refusal.at(path)
    return None


def _streamed(path: str, source: Source, settings: SourceSettings) -> LongText | None:
    from brimful.corpus.loaders import CHAT_SNIFF_BYTES, is_streamable  # a question reads no files
    from brimful.corpus.loaders.loaded import check_escaped
    from brimful.corpus.secrets import PREFIX_BYTES, secret_in

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
    return LongText(path, kind, language, rule.name, source)


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


def same_again(document: LongDocument) -> Iterator[bytes]:
    """A document's content once more; a Refusal at the end if it is not what was hashed."""
    hasher = blake3()
    for block in document.blocks():
        hasher.update(block)
        yield block
    if hasher.digest() != document.content_hash:
        raise Refusal("changing", "written to between two passes over it; add it again later")
