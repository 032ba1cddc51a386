"""What has been answered already?

A partial is remembered by its recipe (prompt, model, what was asked for) and content, and by its place in its source,
so that a run that was killed, or cut its parts anew, asks only for what is missing. One SQLite file, committed at each
answer; a row whose checksum fails is treated as never written.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import apsw
from blake3 import blake3

from brimful.classes import dataclass
from brimful.errors import StoreBusyError, StoreError, StoreFullError, StoreVersionError
from brimful.store.format import Value, fetch, seal_of
from brimful.text.spans import Span

_APPLICATION_ID = 0x4252_444D  # "BRDM"
_BUSY_MILLISECONDS = 10_000
_TABLES = """
CREATE TABLE IF NOT EXISTS partials (key BLOB PRIMARY KEY, text TEXT NOT NULL, seal BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS places (
    recipe BLOB NOT NULL, source BLOB NOT NULL, start INTEGER NOT NULL, end INTEGER NOT NULL, key BLOB NOT NULL,
    PRIMARY KEY (recipe, source, start, end)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS limits (
    endpoint TEXT NOT NULL, model TEXT NOT NULL, kind TEXT NOT NULL, tokens INTEGER NOT NULL,
    PRIMARY KEY (endpoint, model, kind)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS captures (
    name TEXT PRIMARY KEY, model TEXT NOT NULL, status TEXT NOT NULL, message TEXT NOT NULL,
    original BLOB NOT NULL, digest TEXT NOT NULL, sources TEXT NOT NULL, seal BLOB NOT NULL
) WITHOUT ROWID;
"""


@dataclass(frozen=True, slots=True)
class Remembered:
    """A partial of an earlier run, and the place in the source that it condenses."""

    span: Span
    text: str


class Memory:
    """One file of answers, shared by threads and processes; without a path it lives as long as the object.

    >>> with Memory() as memory:
    ...     memory.keep(memory.key(b"recipe", ["Tea at four."]), "Tea.")
    ...     memory.find(memory.key(b"recipe", ["Tea at four."]))
    'Tea.'
    """

    def __init__(self, path: Path | str | None = None) -> None:
        self.path = path
        self._lock = threading.Lock()
        try:
            self._connection = apsw.Connection(":memory:" if path is None else str(path))
            self._connection.set_busy_timeout(_BUSY_MILLISECONDS)
            self._prepare()
        except apsw.Error as error:
            raise _translated(error, path) from error

    def _prepare(self) -> None:
        cursor = self._connection.cursor()
        found = cursor.execute("PRAGMA application_id").fetchall()[0][0]
        if found not in (0, _APPLICATION_ID) or (not found and fetch(cursor, "SELECT 1 FROM sqlite_schema LIMIT 1")):
            raise StoreVersionError(f"{self.path} is no memory of this package; give another path")
        cursor.execute("PRAGMA journal_mode = WAL")
        cursor.execute("PRAGMA synchronous = FULL")
        with self._connection:
            cursor.execute(_TABLES)
            cursor.execute(f"PRAGMA application_id = {_APPLICATION_ID}")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the file."""
        self._connection.close()

    # ---- partials

    @staticmethod
    def key(recipe: bytes, texts: Sequence[str]) -> bytes:
        """What an answer is kept under: the recipe and the texts it was given, in order."""
        hasher = blake3(recipe)
        for text in texts:
            raw = text.encode()
            hasher.update(len(raw).to_bytes(8, "big") + raw)
        return hasher.digest()

    def find(self, key: bytes) -> str | None:
        """The answer kept under a key."""
        rows = self._rows("SELECT text, seal FROM partials WHERE key = ?", (key,))
        return str(rows[0][0]) if rows and rows[0][1] == seal_of(key, rows[0][0]) else None

    def keep(
        self, key: bytes, text: str, *, recipe: bytes = b"", source: bytes = b"", span: Span | None = None
    ) -> None:
        """Keep an answer, and the place that it condenses; committed when this returns."""
        with self._lock, _store_errors(self.path), self._connection:
            cursor = self._connection.cursor()
            cursor.execute("INSERT OR REPLACE INTO partials VALUES (?, ?, ?)", (key, text, seal_of(key, text)))
            if span is not None:
                row = (recipe, source, span.start, span.end, key)
                cursor.execute("INSERT OR REPLACE INTO places VALUES (?, ?, ?, ?, ?)", row)

    def places(self, recipe: bytes, source: bytes) -> list[Remembered]:
        """Partials of this source that do not overlap, the longest reach first where several begin alike."""
        rows = self._rows(
            "SELECT start, end, key, text, seal FROM places JOIN partials USING (key) "
            "WHERE recipe = ? AND source = ? ORDER BY start, end DESC",
            (recipe, source),
        )
        found: list[Remembered] = []
        reached = 0
        for start, end, key, text, seal in rows:
            if start >= reached and seal == seal_of(key, text):
                found.append(Remembered(Span(start, end), text))
                reached = end
        return found

    # ---- limits

    def limit(self, endpoint: str, model: str, kind: str) -> int | None:
        """A number of tokens that was learnt: `named` by an error, or `overflowed`, the smallest that was too much."""
        rows = self._rows(
            "SELECT tokens FROM limits WHERE endpoint = ? AND model = ? AND kind = ?", (endpoint, model, kind)
        )
        return int(rows[0][0]) if rows else None

    def keep_limit(self, endpoint: str, model: str, kind: str, tokens: int) -> None:
        """Remember a limit; of what overflowed, the smallest counts."""
        known = self.limit(endpoint, model, kind)
        if kind == "overflowed" and known is not None and known <= tokens:
            return
        self.write("INSERT OR REPLACE INTO limits VALUES (?, ?, ?, ?)", (endpoint, model, kind, tokens))

    def purge(self) -> None:
        """Leave no byte of any answer in the file; limits and captures stay."""
        with self._lock, _store_errors(self.path):
            cursor = self._connection.cursor()
            cursor.execute("PRAGMA secure_delete = ON")
            cursor.execute("BEGIN IMMEDIATE; DELETE FROM places; DELETE FROM partials; COMMIT")
            cursor.execute("VACUUM")
            fetch(cursor, "PRAGMA wal_checkpoint(TRUNCATE)")

    # ---- rows, for captures too

    def write(self, statement: str, values: Sequence[Value]) -> None:
        """One statement, committed when this returns."""
        with self._lock, _store_errors(self.path), self._connection:
            self._connection.cursor().execute(statement, values)

    def rows(self, statement: str, values: Sequence[Value] = ()) -> list[tuple[Any, ...]]:
        """The rows of a statement."""
        return list(self._rows(statement, values))

    def _rows(self, statement: str, values: Sequence[Value]) -> list[tuple[Any, ...]]:
        with self._lock, _store_errors(self.path):
            return fetch(self._connection.cursor(), statement, values)


class _store_errors:  # noqa: N801 - used as a block
    """Within the block SQLite's errors become ours."""

    def __init__(self, path: Path | str | None) -> None:
        self._path = path

    def __enter__(self) -> None:
        return None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(error, apsw.Error):
            raise _translated(error, self._path) from error


def _translated(error: apsw.Error, path: Path | str | None) -> StoreError:
    if isinstance(error, apsw.FullError):
        return StoreFullError(f"no room left for {path}; what was finished before is kept")
    if isinstance(error, apsw.BusyError):
        return StoreBusyError(f"another process is writing to {path}; try again")
    if isinstance(error, apsw.NotADBError):
        return StoreVersionError(f"{path} is no memory of this package; give another path")
    return StoreError(f"{path}: {error}; look at the file and its rights")
