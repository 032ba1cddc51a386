"""Who runs the statements of a store? A few lines of SQL that SQLite and PostgreSQL both understand.

Everything above this seam (segments, tiers, views, snapshots, roots, proofs) is the same for every engine. Statements
have `?` where a value stands, replace a row by deleting it first, and never name the corpus: a cursor sees one.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Literal, Protocol

import apsw

from brimful.store.schema import VECTOR_TABLES, Value, fetch, rows_of

Sealed = tuple[int, bytes, bytes]
"""A key, what is kept under it, and its seal."""


class ChangedError(Exception):
    """Another writer was faster; never leaves the package."""


class Cursor(Protocol):
    """A connection inside a transaction, or outside of one."""

    def fetch(self, statement: str, values: Sequence[Value] = ()) -> list[tuple[Any, ...]]:
        """All rows of a statement."""
        ...

    def each(self, statement: str) -> Iterator[tuple[Any, ...]]:
        """The same, one by one; other statements wait until the last."""
        ...

    def execute(self, statement: str, values: Sequence[Value] = ()) -> object:
        """A statement without rows."""
        ...

    def executemany(self, statement: str, values: Iterable[Sequence[Value]]) -> object:
        """The same for many values."""
        ...

    def sealed(self, table: Literal["blobs", "maps"], key: int) -> tuple[bytes, bytes] | None:
        """Bytes of any length with their seal, or None; what an engine gives in pieces is put together here."""
        ...

    def write_blobs(self, blobs: Iterable[Sealed]) -> None:
        """Keep blobs, in the place of those of the same key."""
        ...

    def next_segment(self) -> int:
        """A number that no live segment has."""
        ...

    def take_turn(self, expected: Sequence[tuple[int, bytes]] = ()) -> None:
        """Keep other writers out until the end of the transaction, where they are not kept out already.

        A ChangedError where one of some blobs, by their seals, is not there any more.
        """
        ...

    def size_bytes(self) -> int:
        """How much room the store takes."""
        ...

    def has_vectors(self) -> bool:
        """Whether there are tables for remembered vectors."""
        ...

    def make_vectors(self) -> None:
        """Make them, unless they are there."""
        ...

    @property
    def is_lost(self) -> bool:
        """Whether the connection was cut."""
        ...

    def close(self) -> None:
        """Let go of the connection."""
        ...


class SqliteCursor:
    """One of a SQLite file."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection
        self._cursor = connection.cursor()
        self._in_use = threading.Lock()  # threads that ask the same state read one after the other
        self._given = 0  # the number of a segment that was given last

    def fetch(self, statement: str, values: Sequence[Value] = ()) -> list[tuple[Any, ...]]:
        """All rows of a statement."""
        with self._in_use:
            return fetch(self._cursor, statement, values)

    def each(self, statement: str) -> Iterator[tuple[Any, ...]]:
        """The same, one by one."""
        return rows_of(self._connection.cursor(), statement)

    def execute(self, statement: str, values: Sequence[Value] = ()) -> apsw.Cursor:
        """A statement without rows."""
        return self._cursor.execute(statement, values)

    def executemany(self, statement: str, values: Iterable[Sequence[Value]]) -> apsw.Cursor:
        """The same for many values."""
        return self._cursor.executemany(statement, values)

    def sealed(self, table: Literal["blobs", "maps"], key: int) -> tuple[bytes, bytes] | None:
        """Bytes with their seal, or None."""
        found = self.fetch(_SEALED[table], (key,))
        return (found[0][0], found[0][1]) if found else None

    def write_blobs(self, blobs: Iterable[Sealed]) -> None:
        """Keep blobs."""
        for blob in blobs:  # one by one: whoever makes them may read through this cursor meanwhile
            self._cursor.execute("INSERT OR REPLACE INTO blobs VALUES (?, ?, ?)", blob)

    def next_segment(self) -> int:
        """A number that no live segment has."""
        ((number,),) = self.fetch("SELECT coalesce(max(number), 0) + 1 FROM segments")
        self._given = max(int(number), self._given + 1)  # one that was given may not be in the table yet
        return self._given

    def take_turn(self, expected: Sequence[tuple[int, bytes]] = ()) -> None:
        """A file has one writer from the beginning of a transaction on."""

    def size_bytes(self) -> int:
        """The size of the file."""
        ((pages,),) = self.fetch("PRAGMA page_count")
        ((size,),) = self.fetch("PRAGMA page_size")
        return int(pages) * int(size)

    def has_vectors(self) -> bool:
        """Whether this store has ever remembered a vector."""
        return bool(self.fetch("SELECT 1 FROM sqlite_schema WHERE name = 'vectors'"))

    def make_vectors(self) -> None:
        """Make their tables with the first vectors: a store of an earlier version is read as it is."""
        self._cursor.execute(VECTOR_TABLES)

    @property
    def is_lost(self) -> bool:
        """A file does not go away."""
        return False

    def close(self) -> None:
        """Let go of the file."""
        self._connection.close()


_SEALED = {
    "blobs": "SELECT data, seal FROM blobs WHERE key = ?",
    "maps": "SELECT data, seal FROM maps WHERE document = ?",
}
