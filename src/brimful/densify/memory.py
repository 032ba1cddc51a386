"""Remembers the answers of models, so that no request is paid twice.

A partial is remembered by its recipe (prompt, model, settings) and content, and by its place in its source, so that a
run that was killed, or cut its parts anew, asks only for what is missing. Committed at each answer, in a SQLite file,
or in the store of a corpus on a server; a row whose checksum fails counts as never written.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

import apsw
from blake3 import blake3

from brimful.errors import StoreBusyError, StoreError, StoreFullError, StoreVersionError
from brimful.store.address import Address
from brimful.store.format import Value, fetch, seal_of
from brimful.store.opening import digests_of
from brimful.store.store import Store
from brimful.text.spans import Span

_APPLICATION_ID = 0x4252_444D  # "BRDM"
_VERSION = 1
_BUSY_MILLISECONDS = 10_000
_TABLES = """
CREATE TABLE IF NOT EXISTS partials (key BLOB PRIMARY KEY, text BLOB NOT NULL, seal BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS places (
    recipe BLOB NOT NULL, source BLOB NOT NULL, start INTEGER NOT NULL, "end" INTEGER NOT NULL, key BLOB NOT NULL,
    PRIMARY KEY (recipe, source, start, "end")
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS limits (
    endpoint TEXT NOT NULL, model TEXT NOT NULL, kind TEXT NOT NULL, tokens INTEGER NOT NULL,
    PRIMARY KEY (endpoint, model, kind)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS captures (
    name TEXT PRIMARY KEY, model TEXT NOT NULL, status TEXT NOT NULL, message BLOB NOT NULL,
    original BLOB NOT NULL, digest BLOB NOT NULL, sources BLOB NOT NULL, seal BLOB NOT NULL
) WITHOUT ROWID;
"""
_Statement = tuple[str, Sequence[Value]]
Row = tuple[Any, ...]
_KEYS = {
    "partials": ("key",),
    "places": ("recipe", "source", "start", '"end"'),
    "limits": ("endpoint", "model", "kind"),
    "captures": ("name",),
}


class Memory:
    """Answers in a file or a store, shared by threads and processes; without either they end with the object.

    >>> with Memory() as memory:
    ...     memory.keep(memory.key(b"recipe", ["Tea at four."]), "Tea.")
    ...     memory.find(memory.key(b"recipe", ["Tea at four."]))
    'Tea.'
    """

    def __init__(self, path: Path | str | None = None, *, store: Store | None = None) -> None:
        self._rows: _File | Store = _File(path) if store is None else store

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file; a store stays open."""
        if isinstance(self._rows, _File):
            self._rows.close()

    @staticmethod
    def key(recipe: bytes, texts: Sequence[str]) -> bytes:
        """A hash of a recipe and of the texts that were condensed, in order."""
        hasher = blake3(recipe)
        for text in texts:
            raw = text.encode()
            hasher.update(len(raw).to_bytes(8, "big") + raw)
        return hasher.digest()

    def find(self, key: bytes) -> str | None:
        """The answer kept under a key."""
        for seal, raw in self.rows("SELECT seal, text FROM partials WHERE key = ?", (key,)):
            text = _text(raw)
            return text if seal == seal_of(key, text) else None
        return None

    def keep(
        self, key: bytes, text: str, *, recipe: bytes = b"", source: bytes = b"", span: Span | None = None
    ) -> None:
        """Keep an answer, and the place that it condenses; committed when this returns."""
        statements = _replacing("partials", (key, text.encode(), seal_of(key, text)))
        if span is not None:
            statements += _replacing("places", (recipe, source, span.start, span.end, key))
        self._rows.keep_answers(statements)

    def places(self, recipe: bytes, source: bytes) -> list[tuple[Span, str]]:
        """Partials of a source by their places, none overlapping; of several that begin alike the longest."""
        statement = (
            'SELECT key, seal, start, "end", text FROM partials JOIN places USING (key) '
            'WHERE recipe = ? AND source = ? ORDER BY start, "end" DESC'
        )
        partials: list[tuple[Span, str]] = []
        reached = 0
        for key, seal, start, end, raw in self.rows(statement, (recipe, source)):
            text = _text(raw)
            if start >= reached and seal == seal_of(key, text):
                partials.append((Span(start, end), text))
                reached = end
        return partials

    def limit(self, endpoint: str, model: str, kind: str) -> int | None:
        """A number of tokens that was learnt: `named` by an error, or `overflowed`, the smallest that was too much."""
        rows = self.rows(
            "SELECT tokens FROM limits WHERE endpoint = ? AND model = ? AND kind = ?", (endpoint, model, kind)
        )
        return int(rows[0][0]) if rows else None

    def keep_limit(self, endpoint: str, model: str, kind: str, tokens: int) -> None:
        """Remember a limit; of what overflowed, the smallest counts."""
        smallest = self.limit(endpoint, model, kind)
        if kind == "overflowed" and smallest is not None and smallest <= tokens:
            return
        self._rows.keep_answers(_replacing("limits", (endpoint, model, kind, tokens)))

    def purge(self) -> None:
        """Leave no byte of any answer in the file, no row of one in the store; limits and captures stay."""
        if isinstance(self._rows, _File):
            self._rows.purge()
        else:
            self._rows.keep_answers([("DELETE FROM places", ()), ("DELETE FROM partials", ())])

    def captures(self, name: str | None = None) -> Iterator[Row]:
        """The rows of one capture, or of all, by name: values, then their seal."""
        statement = "SELECT * FROM captures WHERE name = ?" if name else "SELECT * FROM captures ORDER BY name"
        for row in self.rows(statement, (name,) if name else ()):
            yield tuple(_text(value) if number in _CAPTURED_TEXTS else value for number, value in enumerate(row))

    def keep_capture(self, row: Row) -> None:
        """Write a capture down, in place of one of its name."""
        packed = [value.encode() if number in _CAPTURED_TEXTS else value for number, value in enumerate(row)]
        self._rows.keep_answers(_replacing("captures", packed))

    def write(self, statement: str, values: Sequence[Value]) -> None:
        """One statement, committed when this returns."""
        self._rows.keep_answers([(statement, values)])

    def rows(self, statement: str, values: Sequence[Value] = ()) -> list[Row]:
        """The rows of a statement."""
        return self._rows.answers(statement, values)

    def take_from(self, other: Memory, *, replace: bool = True) -> int:
        """Keep what another memory holds and this one does not; returns how many answers and captures came.

        A capture of a name that is here already is replaced, or stays as it is.
        """
        keys = {key for (key,) in self.rows("SELECT key FROM partials")}
        count = 0
        for (key,) in other.rows("SELECT key FROM partials ORDER BY key"):
            if key not in keys and (text := other.find(key)) is not None:
                self.keep(key, text)
                count += 1
        for row in other.rows("SELECT endpoint, model, kind, tokens FROM limits ORDER BY endpoint, model, kind"):
            self.keep_limit(*row)
        rows = other.rows(f"SELECT {', '.join(_KEYS['places'])}, key FROM places")  # noqa: S608 - names of ours
        self._rows.keep_answers([statement for row in rows for statement in _replacing("places", row)])
        seals: dict[str, bytes] = dict(self.rows("SELECT name, seal FROM captures"))
        for row in other.captures():
            if row[0] not in seals or (replace and seals[row[0]] != row[-1]):
                self.keep_capture(row)
                count += 1
        return count


_CAPTURED_TEXTS = (3, 5, 6)  # columns kept as bytes


def _replacing(table: str, row: Sequence[Value]) -> list[_Statement]:
    """The statements that replace the row of a key, on any engine."""
    keys = _KEYS[table]
    matches = " AND ".join(f"{key} = ?" for key in keys)
    return [
        (f"DELETE FROM {table} WHERE {matches}", row[: len(keys)]),  # noqa: S608 - names of ours
        (f"INSERT INTO {table} VALUES ({', '.join('?' * len(row))})", row),  # noqa: S608
    ]


def _text(raw: bytes | str) -> str:
    """A text from its bytes; of damaged ones something that no seal fits to."""
    return raw if isinstance(raw, str) else raw.decode("utf-8", "replace")


def memory_of(store: Store) -> Memory:
    """The memory of a corpus: in its store where that is a server's, or in a file next to it.

    A server's memory takes over once what a file of this machine has. A role that may not write there keeps its
    answers in that file.
    """
    file = digests_of(store.path)
    if not store.keeps_answers():
        if isinstance(store.path, Address):
            file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        return Memory(file)
    memory = Memory(store=store)
    if file.exists():
        with Memory(file) as earlier:
            memory.take_from(earlier, replace=False)
        file.replace(file.with_name(f"{file.name}-moved"))
    return memory


def copy_answers(source: Store, target: Store) -> int:
    """Bring what models answered for one corpus, and its captures, to another; returns how many were new there."""
    if isinstance(source.path, Address):
        with memory_of(target) as memory:
            return memory.take_from(Memory(store=source))
    file = digests_of(source.path)
    if not file.exists():
        return 0
    with Memory(file) as earlier, memory_of(target) as memory:
        return memory.take_from(earlier)


class _File:
    """Rows in a SQLite file, or in memory."""

    def __init__(self, path: Path | str | None) -> None:
        self.path = path
        self._lock = threading.Lock()
        with _translated(path):
            self._connection = apsw.Connection(":memory:" if path is None else str(path))
            self._connection.set_busy_timeout(_BUSY_MILLISECONDS)
            self._prepare()

    def _prepare(self) -> None:
        cursor = self._connection.cursor()
        ((application,),) = cursor.execute("PRAGMA application_id").fetchall()
        is_other = not application and fetch(cursor, "SELECT 1 FROM sqlite_schema LIMIT 1")
        if application not in (0, _APPLICATION_ID) or is_other:
            raise StoreVersionError(f"{self.path} is not a memory of this package; give another path")
        cursor.execute("PRAGMA journal_mode = WAL")
        cursor.execute("PRAGMA synchronous = FULL")
        with self._connection:
            ((version,),) = fetch(cursor, "PRAGMA user_version")
            if application and version != _VERSION:
                raise StoreVersionError(f"{self.path} was written by another version of Brimful; give another path")
            cursor.execute(_TABLES)
            cursor.execute(f"PRAGMA application_id = {_APPLICATION_ID}; PRAGMA user_version = {_VERSION}")

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def answers(self, statement: str, values: Sequence[Value] = ()) -> list[Row]:
        """The rows of a statement."""
        with self._lock, _translated(self.path):
            return fetch(self._connection.cursor(), statement, values)

    def keep_answers(self, statements: Sequence[_Statement]) -> None:
        """All statements or none."""
        with self._lock, _translated(self.path), self._connection:
            for statement, values in statements:
                self._connection.cursor().execute(statement, values)

    def purge(self) -> None:
        """Leave no byte of any answer in the file."""
        with self._lock, _translated(self.path):
            cursor = self._connection.cursor()
            cursor.execute("PRAGMA secure_delete = ON")
            cursor.execute("BEGIN IMMEDIATE; DELETE FROM places; DELETE FROM partials; COMMIT")
            cursor.execute("VACUUM")
            fetch(cursor, "PRAGMA wal_checkpoint(TRUNCATE)")


@contextmanager
def _translated(path: Path | str | None) -> Iterator[None]:
    """Raise SQLite's errors as ours."""
    try:
        yield
    except apsw.FullError as error:
        raise StoreFullError(f"no room left for {path}; what was finished before is kept") from error
    except apsw.BusyError as error:
        raise StoreBusyError(f"another process is writing to {path}; try again") from error
    except apsw.NotADBError as error:
        raise StoreVersionError(f"{path} is not a memory of this package; give another path") from error
    except apsw.Error as error:
        raise StoreError(f"{path}: {error}; look at the file and its rights") from error
