"""How are a store's statements run on PostgreSQL, blobs sent and fetched, and what is kept of them?"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from functools import lru_cache
from itertools import count
from typing import Any, Literal

import psycopg

from brimful.errors import CorruptError, StoreAccessError, StoreError
from brimful.store.cursors import ChangedError, Cursor, Sealed
from brimful.store.schema import (
    CARDS,
    EXTENTS,
    FIRSTS,
    HEADS,
    SECTIONS,
    UNITS,
    Value,
    key_of,
    kind_of_key,
    segment_of,
)

PIECE_BYTES = 1 << 20
"""What one fetch brings of a value at most."""

MOST_BYTES = 1 << 30
"""What a value has at most: PostgreSQL itself holds no larger one."""

KEPT_BYTES = 96 << 20
"""Blobs that a reader keeps."""

_BATCH_BYTES = 4 << 20
_INCOMING = (
    "CREATE TEMP TABLE IF NOT EXISTS brimful_incoming (key bigint, data bytea STORAGE EXTERNAL, seal bytea) "
    "ON COMMIT DELETE ROWS"
)
_names = count(1)

Connection = psycopg.Connection[tuple[Any, ...]]


class KeptBlobs:
    """What was read of segments, which never change; the ones used last stay, up to a size."""

    def __init__(self, most_bytes: int = KEPT_BYTES) -> None:
        self._most, self._held = most_bytes, 0
        self._blobs: OrderedDict[int, tuple[bytes, bytes]] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: int) -> tuple[bytes, bytes] | None:
        """A blob that is kept."""
        with self._lock:
            if key in self._blobs:
                self._blobs.move_to_end(key)
            return self._blobs.get(key)

    def keep(self, key: int, blob: tuple[bytes, bytes]) -> None:
        """Keep one, and let go of the oldest."""
        if kind_of_key(key) in _CHANGING:  # the two that a later commit writes anew
            return
        with self._lock:
            if key not in self._blobs:
                self._blobs[key] = blob
                self._held += len(blob[0])
            while self._held > self._most:
                self._held -= len(self._blobs.popitem(last=False)[1][0])


class PostgresCursor:
    """The statements of a store on one connection."""

    def __init__(
        self,
        connection: Connection,
        *,
        corpus: int,
        kept: KeptBlobs | None = None,
        beside: Callable[[], AbstractContextManager[Cursor]] | None = None,
    ) -> None:
        self.connection, self.corpus = connection, corpus
        self._kept, self._beside = kept, beside
        self._has_turn = False
        self._cursor = connection.cursor(binary=True)
        self._waiting: dict[int, Sealed] = {}
        self._waiting_bytes = 0
        self._incoming = False
        self._changing: dict[int, tuple[bytes, bytes]] = {}  # fetched with others of their segment, not asked for yet
        self._next, self._ahead = 0, _TOGETHER
        self.trips = 0

    def fetch(self, statement: str, values: Sequence[Value] = ()) -> list[tuple[Any, ...]]:
        """All rows of a statement."""
        self._send(statement)
        self.trips += 1
        return self._cursor.execute(_with_marks(statement), values).fetchall()

    def each(self, statement: str) -> Iterator[tuple[Any, ...]]:
        """The same, one by one: the server keeps the rest."""
        if self.connection.autocommit and not self.connection.info.transaction_status:
            yield from self.fetch(statement)
            return
        with self.connection.cursor(f"brimful_{next(_names)}", binary=True) as cursor:
            cursor.itersize = 1_000
            self.trips += 1
            yield from cursor.execute(_with_marks(statement))

    def execute(self, statement: str, values: Sequence[Value] = ()) -> object:
        """A statement without rows."""
        self._send(statement)
        self.trips += 1
        return self._cursor.execute(_with_marks(statement), values or None)

    def executemany(self, statement: str, values: Iterable[Sequence[Value]]) -> object:
        """The same for many values, in one go."""
        self._send(statement)
        many = list(values)
        if not many:
            return None
        self.trips += 1
        self._cursor.executemany(_with_marks(statement), many)
        return None

    def sealed(self, table: Literal["blobs", "maps"], key: int) -> tuple[bytes, bytes] | None:
        """Bytes with their seal: their length first, with as much as one fetch may bring, then the rest in pieces."""
        if table == "blobs" and key in self._waiting:
            return self._waiting[key][1:]
        if table == "maps" or self._kept is None:
            return self._fetched(table, f"{_KEY[table]} = %s", (key,)).get(key)
        known = self._kept.get(key) or self._changing.pop(key, None)
        if known is None:
            for near, blob in self._near(key, self._kept).items():
                if kind_of_key(near) in _CHANGING and near != key:
                    self._changing[near] = blob
                elif near == key:
                    known = blob
                self._kept.keep(near, blob)
        return known

    def _near(self, key: int, kept: KeptBlobs) -> dict[int, tuple[bytes, bytes]]:
        """A blob with those that are asked for next: the columns of its segment, or its neighbours."""
        if kind_of_key(key) in _COLUMNS:
            first = key_of(segment_of(key), 0)
            wanted = [first + key_of(0, kind) for kind in _COLUMNS]
            return self._fetched("blobs", "key = ANY(%s)", ([each for each in wanted if kept.get(each) is None],))
        first = key - key % _TOGETHER
        self._ahead = min(2 * self._ahead, _MOST_AHEAD) if first == self._next else _TOGETHER
        self._next = first + self._ahead
        return self._fetched("blobs", "key >= %s AND key < %s", (first, self._next))

    def _fetched(self, table: str, condition: str, values: Sequence[object]) -> dict[int, tuple[bytes, bytes]]:
        self.trips += 1
        statement = _SEALED.format(table=table, key=_KEY[table], condition=condition)
        found = {}
        for key, length, seal, data in self._cursor.execute(statement, (1, PIECE_BYTES, *values)).fetchall():
            if length > MOST_BYTES:
                raise CorruptError(f"{table} {key} has {length} bytes; verify the store, or index the sources again")
            found[key] = (self._whole(table, key, data, length), seal)
        return found

    def _whole(self, table: str, key: int, data: bytes, length: int) -> bytes:
        parts = [data]
        statement = _SEALED.format(table=table, key=_KEY[table], condition=f"{_KEY[table]} = %s")
        for start in range(len(data), length, PIECE_BYTES):
            self.trips += 1
            more = self._cursor.execute(statement, (start + 1, PIECE_BYTES, key)).fetchone()
            parts.append(more[3] if more else b"")
        return b"".join(parts)

    def write_blobs(self, blobs: Iterable[Sealed]) -> None:
        """Keep blobs; they are sent together, some megabytes at once."""
        for blob in blobs:
            self._waiting[blob[0]] = blob
            self._waiting_bytes += len(blob[1])
            if self._waiting_bytes >= _BATCH_BYTES:
                self.flush()

    def flush(self) -> None:
        """Send what is waiting: COPY, which row-level security allows into a table of the session's own only."""
        waiting, self._waiting, self._waiting_bytes = self._waiting, {}, 0
        if not waiting:
            return
        self.trips += 3
        if not self._incoming:
            self._cursor.execute(_INCOMING)
            self._incoming = True
        rewritten = [key for key in waiting if kind_of_key(key) in _CHANGING]
        if rewritten:
            self._cursor.execute("DELETE FROM blobs WHERE key = ANY(%s)", (rewritten,))
        with self._cursor.copy("COPY pg_temp.brimful_incoming FROM STDIN (FORMAT BINARY)") as copy:
            copy.set_types(["int8", "bytea", "bytea"])
            for blob in waiting.values():
                copy.write_row(blob)
        self._cursor.execute("INSERT INTO blobs SELECT key, data, seal FROM pg_temp.brimful_incoming")
        self._cursor.execute("DELETE FROM pg_temp.brimful_incoming")

    def _send(self, statement: str) -> None:
        if self._waiting and "blobs" in statement:
            self.flush()

    def next_segment(self) -> int:
        """A number that no segment of this corpus ever had: what a reader keeps of one stays true."""
        if self._beside is None:
            raise StoreError("only a transaction that writes has new segments")
        with self._beside() as cursor:  # committed at once, so that nobody waits for it
            ((number,),) = cursor.fetch(_COUNT)
            return int(number)

    def take_turn(self, expected: Sequence[tuple[int, bytes]] = ()) -> None:
        """Lock the corpus's own row: one that others can't see can't be locked by them."""
        if self._has_turn:
            return
        self.flush()
        if not self.fetch("SELECT number FROM corpora WHERE number = ? FOR UPDATE", (self.corpus,)):
            raise StoreAccessError("the corpus is gone, or its role was changed; open it again")
        self._has_turn = True
        if expected:
            self.trips += 1
            keys = [key for key, _ in expected]
            found = self._cursor.execute("SELECT key, seal FROM blobs WHERE key = ANY(%s)", (keys,)).fetchall()
            if sorted(found) != sorted(expected):
                raise ChangedError

    def size_bytes(self) -> int:
        """The size of the tables, which corpora share: a bound for what is unpacked."""
        ((size,),) = self.fetch("SELECT pg_catalog.pg_total_relation_size('all_blobs')::bigint")
        return int(size)

    def has_vectors(self) -> bool:
        """They come with the schema."""
        return True

    def make_vectors(self) -> None:
        """They are there."""

    @property
    def is_lost(self) -> bool:
        """Whether the connection was cut."""
        return bool(self.connection.closed)

    def close(self) -> None:
        """Let go of the connection."""
        self.connection.close()


@lru_cache(256)
def _with_marks(statement: str) -> str:
    return statement.replace("?", "%s")


_COUNT = "UPDATE counters SET segments = segments + 1 RETURNING segments"
_KEY = {"blobs": "key", "maps": "document"}
_SEALED = "SELECT {key}, octet_length(data), seal, substr(data, %s, %s) FROM {table} WHERE {condition}"
_CHANGING = (EXTENTS, CARDS)
"""The kinds of blobs that a later commit may write anew."""
_COLUMNS = (FIRSTS, UNITS, SECTIONS, HEADS, EXTENTS, CARDS)
"""The kinds of which a segment has one blob; a question reads nearly all of them."""
_TOGETHER, _MOST_AHEAD = 4, 32
"""So many neighbours come with a blob of some ten kilobytes, and more where one after the other is read."""
