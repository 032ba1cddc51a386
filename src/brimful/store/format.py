"""The tables of a store, the checksums of their rows, and the cursor that runs statements on them."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, Protocol

import apsw
from blake3 import blake3

from brimful.errors import CorruptError

Value = None | int | str | bytes

VERSION = 3
APPLICATION_ID = 0x4252_494D  # "BRIM"
_APPLICATION_ID_AT = 68  # in the header of an SQLite file

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
CREATE TABLE vector_models (
    number INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, width INTEGER NOT NULL, seal BLOB NOT NULL
);
CREATE TABLE vectors (
    model INTEGER NOT NULL, key BLOB NOT NULL, numbers BLOB NOT NULL, seal BLOB NOT NULL, PRIMARY KEY (model, key)
) WITHOUT ROWID;
"""


def is_store(file: Path) -> bool:
    """Whether a file is a store, by its header; one that can't be read is none."""
    try:
        with file.open("rb") as opened:
            header = opened.read(_APPLICATION_ID_AT + 4)
    except OSError:
        return False
    return header.startswith(b"SQLite format 3\0") and header[_APPLICATION_ID_AT:] == APPLICATION_ID.to_bytes(4, "big")


# Blobs of a segment are kept under one number: the segment, the kind of blob, the place in its sequence.
TEXT, PAGE, FIRSTS, UNITS, SECTIONS, HEADS = range(6)
EXTENTS, CARDS, WORDS = 7, 8, 10
SINGLE = (FIRSTS, UNITS, SECTIONS, HEADS, EXTENTS, CARDS)
"""The kinds of which a segment has one blob, and which a question reads."""
CHANGING = (EXTENTS, CARDS)
"""The kinds of blobs that a later commit may write anew."""
_KIND_BITS, _PLACE_BITS = 4, 28
_NO_TEXT = (
    "a text in the store's tables is not what was written: it is no UTF-8 any more; "
    "bring back a copy of the store, or add the documents to a new one"
)


_DAMAGED = (
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
    """All rows of a statement."""
    with damage(cursor):
        return cursor.execute(statement, values).fetchall()


@contextmanager
def damage(place: Path | apsw.Cursor) -> Iterator[None]:
    """Translate SQLite's errors about damaged bytes."""
    try:
        yield
    except UnicodeDecodeError as error:
        raise CorruptError(_NO_TEXT) from error
    except (*_DAMAGED, apsw.IOError) as error:
        is_checksum = getattr(error, "extendedresult", 0) == apsw.SQLITE_IOERR_DATA
        if isinstance(error, apsw.IOError) and not is_checksum:
            raise
        reason = "a page fails its checksum" if is_checksum else error
        path, here = place if isinstance(place, Path) else Path(place.connection.filename), Path.cwd()
        path = path.relative_to(here) if path.is_relative_to(here) else path
        raise CorruptError(f"{path} is damaged ({reason}); restore it or index the sources again") from error


def key_of(segment: int, kind: int, place: int = 0) -> int:
    """The key of a segment's blob.

    >>> key_of(1, TEXT) < key_of(1, TEXT, 1) < key_of(1, PAGE) < key_of(2, TEXT)
    True
    >>> [part(key_of(7, PAGE, 3)) for part in (segment_of, kind_of_key, place_of)] == [7, PAGE, 3]
    True
    """
    return ((segment << _KIND_BITS | kind) << _PLACE_BITS) | place


def segment_of(key: int) -> int:
    """The segment that a blob's key names."""
    return key >> (_KIND_BITS + _PLACE_BITS)


def kind_of_key(key: int) -> int:
    """The kind of blob that a key names."""
    return (key >> _PLACE_BITS) & ((1 << _KIND_BITS) - 1)


def place_of(key: int) -> int:
    """The place in its sequence that a blob's key names."""
    return key & ((1 << _PLACE_BITS) - 1)


def seal_of(*values: object) -> bytes:
    """A checksum over a row, so that a flipped bit anywhere in it is noticed."""
    raws = [value if isinstance(value, bytes) else repr(value).encode() for value in values]
    return blake3(b"".join([b"%d:%b" % (len(raw), raw) for raw in raws])).digest(8)


def check_seal(subject: str, seal: object, *values: object) -> None:
    """Raise where values are not the ones that were sealed."""
    if seal_of(*values) != seal:
        raise CorruptError(f"{subject} fails its checksum; verify the store, or index the sources again")


# ---- cursors: a few lines of SQL that SQLite and PostgreSQL both understand
#
# Segments, snapshots, roots and proofs are above this seam, and alike for every engine. Statements have `?` in the
# place of a value, replace a row by deleting it first, and never name the corpus: a cursor sees one.

SealedKey = tuple[int, bytes, bytes]
"""A key, the bytes under it, and their seal."""


class ChangedError(Exception):
    """Another writer was faster; never leaves the package."""


class Cursor(Protocol):
    """A connection inside a transaction, or outside of one."""

    is_far: bool = False
    """Whether each statement is a round trip, so that few large ones are better than many small ones."""

    def fetch(self, statement: str, values: Sequence[Value] = ()) -> list[tuple[Any, ...]]:
        """All rows of a statement."""

    def stream(self, statement: str) -> Iterator[tuple[Any, ...]]:
        """Rows one by one; other statements wait until the last."""

    def execute(self, statement: str, values: Sequence[Value] = ()) -> object:
        """A statement without rows."""

    def executemany(self, statement: str, values: Iterable[Sequence[Value]]) -> object:
        """A statement for many values."""

    def sealed(self, table: Literal["blobs", "maps"], key: int) -> tuple[bytes, bytes] | None:
        """Bytes of any length with their seal, or None."""

    def expect(self, keys: Sequence[int]) -> None:
        """Fetch blobs that are needed next, where the store is on a server."""

    def write_blobs(self, blobs: Iterable[SealedKey]) -> None:
        """Write blobs, replacing any with an equal key."""

    def next_segment(self) -> int:
        """A number that no segment has whose row or blobs are still in the store."""

    def take_turn(self, expected: Sequence[tuple[int, bytes]] = ()) -> None:
        """Keep other writers out until the end of the transaction, where they are not kept out already.

        A ChangedError where one of the expected blobs, by key and seal, has changed.
        """

    def size_bytes(self) -> int:
        """The size of the store."""

    def close(self) -> None:
        """Close the connection."""


class SqliteCursor(Cursor):
    """A cursor on a SQLite file."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection
        self._cursor = connection.cursor()
        self._in_use = threading.Lock()  # threads that share a snapshot read one after the other

    def fetch(self, statement: str, values: Sequence[Value] = ()) -> list[tuple[Any, ...]]:
        """All rows of a statement."""
        with self._in_use:
            return fetch(self._cursor, statement, values)

    def stream(self, statement: str) -> Iterator[tuple[Any, ...]]:
        """Rows one by one."""
        with damage(self._cursor):
            yield from self._connection.cursor().execute(statement)

    def execute(self, statement: str, values: Sequence[Value] = ()) -> apsw.Cursor:
        """A statement without rows."""
        return self._cursor.execute(statement, values)

    def executemany(self, statement: str, values: Iterable[Sequence[Value]]) -> apsw.Cursor:
        """A statement for many values."""
        return self._cursor.executemany(statement, values)

    def sealed(self, table: Literal["blobs", "maps"], key: int) -> tuple[bytes, bytes] | None:
        """Bytes with their seal, or None."""
        rows = self.fetch(_SEALED[table], (key,))
        return (rows[0][0], rows[0][1]) if rows else None

    def expect(self, keys: Sequence[int]) -> None:
        """Nothing: a file is near."""

    def take_turn(self, expected: Sequence[tuple[int, bytes]] = ()) -> None:
        """A file has one writer from the beginning of a transaction on."""

    def write_blobs(self, blobs: Iterable[SealedKey]) -> None:
        """Write blobs one by one: their iterator may read through this cursor meanwhile."""
        for blob in blobs:
            self._cursor.execute("INSERT OR REPLACE INTO blobs VALUES (?, ?, ?)", blob)

    def next_segment(self) -> int:
        """A number that no segment has whose row or blobs are still in the store."""
        ((number, key),) = self.fetch("SELECT (SELECT max(number) FROM segments), (SELECT max(key) FROM blobs)")
        return max(number or 0, segment_of(key or 0)) + 1

    def size_bytes(self) -> int:
        """The size of the file."""
        ((pages,),) = self.fetch("PRAGMA page_count")
        ((size,),) = self.fetch("PRAGMA page_size")
        return int(pages) * int(size)

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()


_SEALED = {
    "blobs": "SELECT data, seal FROM blobs WHERE key = ?",
    "maps": "SELECT data, seal FROM maps WHERE document = ?",
}
