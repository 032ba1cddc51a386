"""How is a store laid out on disk, and is a row what was written?"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import apsw
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


def connect(path: Path, flags: int) -> apsw.Connection:
    """A connection to a store's file.

    On a read-only file system SQLite can't make the files that it keeps beside a store; there nobody else can write
    either, so the file is read as one that never changes.
    """
    if not is_frozen(path):
        return apsw.Connection(str(path), flags=flags)
    from urllib.parse import quote

    frozen = f"file:{quote(str(path.resolve()))}?immutable=1"
    return apsw.Connection(frozen, flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI)


def is_frozen(path: Path) -> bool:
    """Whether a store lies on a read-only file system, with nothing left in a log beside it."""
    try:
        log = path.with_name(f"{path.name}-wal")
        is_moved = not log.exists() or log.stat().st_size == 0
        return is_moved and path.is_file() and bool(os.statvfs(path).f_flag & os.ST_RDONLY)
    except (OSError, AttributeError):  # nothing there, or a system that can't say
        return False


def fetch(cursor: apsw.Cursor, statement: str, values: Sequence[Value] = ()) -> list[tuple[Any, ...]]:
    """All rows of a statement; what their columns hold is known to whoever wrote it."""
    try:
        return cursor.execute(statement, values).fetchall()
    except UnicodeDecodeError as error:
        raise CorruptError(_NO_TEXT) from error


def rows_of(cursor: apsw.Cursor, statement: str) -> Iterator[tuple[Any, ...]]:
    """The same, one by one."""
    try:
        yield from cursor.execute(statement)
    except UnicodeDecodeError as error:
        raise CorruptError(_NO_TEXT) from error


def key_of(segment: int, kind: int, place: int = 0) -> int:
    """The key of a segment's blob.

    >>> key_of(1, TEXT) < key_of(1, TEXT, 1) < key_of(1, PAGE) < key_of(2, TEXT)
    True
    """
    return ((segment << _KIND_BITS | kind) << _PLACE_BITS) | place


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
