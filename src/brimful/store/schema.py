"""How is a store laid out on disk, and is a row what was written?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import apsw
import zstandard
from blake3 import blake3

from brimful.errors import CorruptError

Value = None | int | str | bytes

VERSION = 2
APPLICATION_ID = 0x4252_494D  # "BRIM"

TABLES = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value BLOB NOT NULL, seal BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE roots (path TEXT PRIMARY KEY, name TEXT NOT NULL, seal BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE documents (
    number INTEGER PRIMARY KEY,
    path TEXT NOT NULL UNIQUE,
    id BLOB NOT NULL,
    content_hash BLOB NOT NULL,
    leaf BLOB NOT NULL,
    bucket INTEGER NOT NULL,
    length INTEGER NOT NULL,
    time INTEGER,
    kind TEXT NOT NULL,
    language TEXT,
    rule TEXT NOT NULL,
    title TEXT,
    origin TEXT,
    stamp TEXT,
    seal BLOB NOT NULL
);
CREATE INDEX documents_by_bucket ON documents (bucket, path);
CREATE INDEX documents_by_origin ON documents (origin);
CREATE TABLE maps (document INTEGER PRIMARY KEY, data BLOB NOT NULL, seal BLOB NOT NULL);
CREATE TABLE segments (
    number INTEGER PRIMARY KEY,
    length INTEGER NOT NULL,
    live INTEGER NOT NULL,
    dead INTEGER NOT NULL,
    lowest INTEGER NOT NULL,
    highest INTEGER NOT NULL,
    seal BLOB NOT NULL
);
CREATE TABLE blobs (key INTEGER PRIMARY KEY, data BLOB NOT NULL, seal BLOB NOT NULL);
CREATE TABLE buckets (number INTEGER PRIMARY KEY, root BLOB NOT NULL);
"""

VECTOR_TABLES = """
CREATE TABLE IF NOT EXISTS vector_models (
    number INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, width INTEGER NOT NULL, seal BLOB NOT NULL
);
CREATE TABLE IF NOT EXISTS vectors (
    model INTEGER NOT NULL, key BLOB NOT NULL, numbers BLOB NOT NULL, seal BLOB NOT NULL, PRIMARY KEY (model, key)
) WITHOUT ROWID;
"""
"""Of remembered vectors."""

# Blobs of a segment are kept under one number: the segment, the kind of blob, the place in its sequence.
TEXT, PAGE, FIRSTS, UNITS, SECTIONS, HEADS, CODES, EXTENTS, CARDS = range(9)
BLOB_CODES = 256
"""Unit codes in a blob."""
_KIND_BITS, _PLACE_BITS = 4, 28
_SMALL = 4_096
_NO_TEXT = (
    "a text in the store's tables is not what was written: it is no UTF-8 any more; "
    "bring back a copy of the store, or add the documents to a new one"
)


DAMAGED = (
    apsw.CorruptError,
    apsw.NotADBError,
    apsw.SQLError,
    apsw.MismatchError,
    apsw.FormatError,
    apsw.TooBigError,
    apsw.ConstraintError,
)
"""The statements are ours and have run before: where one fails so, it is for what the file holds."""


def fetch(cursor: apsw.Cursor, statement: str, values: Sequence[Value] = ()) -> list[tuple[Any, ...]]:
    """All rows of a statement; what their columns hold is known to whoever wrote it."""
    with _read(cursor):
        return cursor.execute(statement, values).fetchall()


def rows_of(cursor: apsw.Cursor, statement: str) -> Iterator[tuple[Any, ...]]:
    """The same, one by one."""
    with _read(cursor):
        yield from cursor.execute(statement)


@contextmanager
def _read(cursor: apsw.Cursor) -> Iterator[None]:
    """What SQLite says of bytes that it can't make sense of, in our words."""
    try:
        yield
    except UnicodeDecodeError as error:
        raise CorruptError(_NO_TEXT) from error
    except DAMAGED as error:
        file, here = Path(cursor.connection.filename), Path.cwd()
        path = file.relative_to(here) if file.is_relative_to(here) else file
        raise CorruptError(f"{path} is damaged ({error}); restore it or index the sources again") from error


def unpacked(packed: bytes, *, most: int) -> bytes:
    """What was compressed as one frame: not more than it can be, whatever the frame says of itself.

    >>> unpacked(zstandard.ZstdCompressor().compress(b"tea"), most=3)
    b'tea'
    >>> unpacked(zstandard.ZstdCompressor().compress(bytes(1_000_000)), most=1_000)
    Traceback (most recent call last):
    brimful.errors.CorruptError: a blob of ... bytes says that it holds 1000000, and can hold 1000 at most; ...
    """
    try:
        stated = zstandard.frame_content_size(packed)
        if not 0 <= stated <= most:
            raise CorruptError(
                f"a blob of {len(packed)} bytes says that it holds {stated}, and can hold {most} at most; "
                "restore the store, or index the sources again"
            )
        return zstandard.ZstdDecompressor().decompress(packed, max_output_size=stated) if stated else b""
    except zstandard.ZstdError as error:
        raise CorruptError(f"a blob can't be unpacked ({error}); index the sources again") from error


def key_of(segment: int, kind: int, place: int = 0) -> int:
    """The key of a segment's blob.

    >>> key_of(1, TEXT) < key_of(1, TEXT, 1) < key_of(1, PAGE) < key_of(2, TEXT)
    True
    """
    return ((segment << _KIND_BITS | kind) << _PLACE_BITS) | place


def segment_of(key: int) -> int:
    """The segment that a blob's key names.

    >>> segment_of(key_of(7, PAGE, 3))
    7
    """
    return key >> (_KIND_BITS + _PLACE_BITS)


def kind_of_key(key: int) -> int:
    """The kind of blob that a key names.

    >>> kind_of_key(key_of(7, PAGE, 3)) == PAGE
    True
    """
    return (key >> _PLACE_BITS) & ((1 << _KIND_BITS) - 1)


def place_of(key: int) -> int:
    """The place in its sequence that a blob's key names.

    >>> place_of(key_of(7, PAGE, 3))
    3
    """
    return key & ((1 << _PLACE_BITS) - 1)


def seal_of(*values: object) -> bytes:
    """A checksum over a row, so that a flipped bit anywhere in it is noticed."""
    raws = [value if isinstance(value, bytes) else repr(value).encode() for value in values]
    if sum(map(len, raws)) <= _SMALL:  # one call for a row, and no copy of a blob
        return blake3(b"".join([b"%d:%b" % (len(raw), raw) for raw in raws])).digest(8)
    hasher = blake3()
    for raw in raws:
        hasher.update(b"%d:" % len(raw))
        hasher.update(raw)
    return hasher.digest(8)
