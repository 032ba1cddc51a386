"""The server's store: many writers, many readers, row-level security."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from functools import partial
from pathlib import Path
from typing import Any, cast

import psycopg
from blake3 import blake3
from psycopg.pq import TransactionStatus

from brimful.budget import scaled
from brimful.errors import DocumentError, StoreBusyError, StoreError, StoreUnreachableError
from brimful.store import remembered
from brimful.store.address import Address
from brimful.store.caching import KEPT_BYTES, BlobCache
from brimful.store.format import Cursor, Value
from brimful.store.postgres import layout
from brimful.store.postgres.session import (
    HOLD,
    SILENT_SECONDS,
    STATEMENT_SECONDS,
    WAIT_SECONDS,
    Connection,
    PostgresCursor,
    SilentError,
    beginning,
    connected,
    prepared,
    translated,
)
from brimful.store.rows import Row
from brimful.store.segments import StoredSegment
from brimful.store.snapshot import StoredSnapshot
from brimful.store.store import Store

_BESIDE_SECONDS = 0.25
"""How long a question waits for a writer before its vectors are not remembered."""

_SPARE = 3
_GENERATION = "SELECT value FROM meta WHERE key = 'generation'"
_DRAIN_SECONDS = 1
"""After a silence, questions that waited meanwhile fail at once: each would wait in turn."""
_LEASE_SECONDS, _BEAT_SECONDS, _LOOK_SECONDS = 20, 5, 0.05


class _Held(PostgresCursor):
    """The cursor of a snapshot. It reads in a transaction that ends when nobody asks, and begins anew with the next
    question, or once where the connection was lost: a generation is one corpus.
    """

    def __init__(self, store: PostgresStore, connection: Connection, generation: bytes) -> None:
        super().__init__(connection, cache=store.kept)
        self._store, self.generation = store, generation
        self._is_resting = self._is_closed = False

    def _read(self, statement: str, values: Sequence[Any]) -> list[tuple[Any, ...]]:
        with self._in_use, translated(self._store.path):
            self._resume()
            try:
                return super()._read(statement, values)
            except SilentError:
                raise
            except psycopg.OperationalError as error:
                if not self.connection.closed and not isinstance(error, psycopg.errors.SerializationFailure):
                    raise
                self.pause()
                self._resume()
                return super()._read(statement, values)

    def stream(self, statement: str) -> Iterator[tuple[Any, ...]]:
        with translated(self._store.path):
            self._resume()
            yield from super().stream(statement)

    def _resume(self) -> None:
        if self._is_closed:
            raise StoreError(f"a snapshot of {self._store.path} was closed; ask the store for a new one")
        if self._is_resting and not self.goes_on(*self._store.begun()):
            raise StoreUnreachableError(
                f"{self._store.path} was changed while the connection was lost; try the same again"
            )

    def goes_on(self, connection: Connection, generation: bytes) -> bool:
        """Read in a transaction that has begun, where it sees this generation; else it is ended."""
        with self._in_use:
            if generation == self.generation and self._is_resting:
                self.connection, self._is_resting = connection, False
            else:
                self._store.give_back(connection)
        return generation == self.generation

    def pause(self) -> None:
        """End the transaction."""
        with self._in_use:
            if not self._is_resting:
                self._is_resting = True
                self._store.give_back(self.connection)

    def close(self) -> None:
        self.pause()
        if not self._is_closed:
            self._is_closed = True
            self._store.trips += self.trips


class PostgresStore(Store):
    """A corpus on a server."""

    path: Address

    def __init__(
        self,
        address: Address,
        *,
        outdated: bool = False,
        make: bool = True,
    ) -> None:
        """Open a corpus, or make it where the role may; `make=False` opens one that is there."""
        self.path = address
        self.kept = BlobCache(scaled(KEPT_BYTES))
        self.trips = 0
        self._spare: list[Connection] = []
        self._lock = threading.Lock()
        self._is_closed = False
        self._silent_until = 0.0
        with translated(address):
            connection = connected(address)
            try:
                self.corpus = prepared(connection, address, make=make)
            except BaseException:
                connection.close()
                raise
            self._spare.append(connection)
        try:
            self._check_opened(outdated=outdated)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Close the connections."""
        with self._lock:
            self._is_closed = True
            spare, self._spare = self._spare, []
        for connection in spare:
            connection.close()

    def begun(self, wait_seconds: float | None = None) -> tuple[Connection, bytes]:
        """A connection whose transaction has begun, and the generation that it sees; a lost one is made anew."""
        begin = beginning(self.path, corpus=self.corpus, wait_seconds=wait_seconds)
        if time.monotonic() < self._silent_until:
            raise SilentError("no answer to the question before")
        while True:
            with self._lock:
                if self._is_closed:
                    raise StoreError(f"{self.path} was closed; open it again to ask or add")
                spare = self._spare.pop() if self._spare else None
            connection = spare
            try:
                connection = connection or connected(self.path)
                connection.silent_seconds = SILENT_SECONDS if wait_seconds is None else STATEMENT_SECONDS
                cursor = connection.execute(f"{begin}; {_GENERATION}")
                while cursor.nextset():
                    pass
                return connection, bytes((cursor.fetchone() or (b"",))[0])
            except BaseException as error:
                if connection is not None:
                    connection.close()
                if isinstance(error, SilentError | psycopg.errors.ConnectionTimeout):
                    self._silent_until = time.monotonic() + _DRAIN_SECONDS
                elif spare is not None and isinstance(error, psycopg.OperationalError):
                    continue  # it was lost since
                raise

    def give_back(self, connection: Connection) -> None:
        """End a transaction that is open; its connection is used again."""
        with suppress(psycopg.Error):
            if connection.info.transaction_status != TransactionStatus.IDLE:
                connection.execute("ROLLBACK")
            with self._lock:
                if not self._is_closed and not connection.closed and len(self._spare) < _SPARE:
                    self._spare.append(connection)
                    return
        connection.close()

    @contextmanager
    def _transaction(self, wait_seconds: float | None = None) -> Iterator[PostgresCursor]:
        """One transaction on a connection that nobody else has: to read, or where it may wait, to write."""
        with translated(self.path):
            connection, _ = self.begun(wait_seconds)
            cursor = PostgresCursor(connection, another=partial(self._transaction, WAIT_SECONDS))
            try:
                yield cursor
                cursor.flush()
                connection.execute("COMMIT")
            finally:
                self.trips += cursor.trips
                self.give_back(connection)

    # ---- reading

    def snapshot(self) -> StoredSnapshot:
        """The corpus as it is now, on a connection that nobody else has; later commits do not change it."""
        with translated(self.path):
            cursor = _Held(self, *self.begun())
            try:
                return StoredSnapshot(cursor)
            except BaseException:
                cursor.close()
                raise

    def is_newest(self, snapshot: StoredSnapshot) -> bool:
        """Whether a snapshot holds the newest state; then it goes on in a new transaction."""
        with translated(self.path):
            return cast("_Held", snapshot.cursor).goes_on(*self.begun())

    def pause(self, snapshot: StoredSnapshot) -> None:
        """End the transaction of a snapshot until its next question."""
        cast("_Held", snapshot.cursor).pause()

    def _reading(self) -> AbstractContextManager[Cursor]:
        return self._transaction()

    def size_bytes(self) -> int:
        """How many bytes this corpus keeps of text and index."""
        with self._reading() as cursor:
            ((size,),) = cursor.fetch("SELECT coalesce(sum(octet_length(data)), 0)::bigint FROM blobs")
        return int(size)

    def own_files(self) -> list[Path]:
        """None here."""
        return []

    # ---- writing

    @contextmanager
    def _writing(self, *, late: bool = False) -> Iterator[PostgresCursor]:
        """One transaction; writers of a corpus wait for each other here, and nobody else does."""
        with self._transaction(WAIT_SECONDS) as cursor:
            if not late:
                cursor.take_turn()
            yield cursor

    @contextmanager
    def _merging(self) -> Iterator[tuple[Cursor, Sequence[StoredSegment]]]:
        """Segments are read from a snapshot and written as one while others commit; the turn comes at the end.

        One process at a time merges: a second one would work in vain.
        """
        with self._writing(late=True) as cursor:
            if not cursor.fetch(f"{HOLD} SKIP LOCKED", (layout.HELD["merging"],)):
                raise StoreBusyError(f"another process merges the segments of {self.path}; it need not be done twice")
            with self.snapshot() as now:
                yield cursor, now.segments()

    def _insert(self, cursor: Cursor, rows: Sequence[Row], maps: Mapping[int, bytes]) -> list[Row]:
        for row in rows:
            if len(row.path.encode()) > layout.LONGEST_PATH_BYTES:
                raise DocumentError(
                    f"{row.path!r:.100} has {len(row.path.encode())} bytes, and a path on PostgreSQL has "
                    f"{layout.LONGEST_PATH_BYTES} at most; give the document a shorter one"
                )
        return super()._insert(cursor, rows, maps)

    def turn(self, prefix: str | None = None, *, wait_seconds: float | None) -> AbstractContextManager[None]:
        """One process at a time brings what comes from below a root up to date; roots do not wait for each other."""
        return nullcontext() if prefix is None else self._turn(prefix, wait_seconds)

    @contextmanager
    def _turn(self, prefix: str, wait_seconds: float | None) -> Iterator[None]:
        """A lease that is renewed until the turn ends: a process that dies keeps others waiting for seconds only."""
        number = _turn_of(prefix)
        until = None if wait_seconds is None else time.monotonic() + wait_seconds
        while (end := self._leased(number)) is None:
            if until is not None and time.monotonic() >= until:
                raise StoreBusyError(f"another process is adding this place to {self.path}; try again when it is done")
            time.sleep(_LOOK_SECONDS)
        ended = threading.Event()

        def renew() -> None:
            nonlocal end
            while end is not None and not ended.wait(_BEAT_SECONDS):
                with suppress(StoreError):
                    end = self._leased(number, end)

        renewing = threading.Thread(target=renew, name="brimful-turn", daemon=True)
        renewing.start()
        try:
            yield
        finally:
            ended.set()
            renewing.join()
            with suppress(StoreError), self._transaction(WAIT_SECONDS) as cursor:
                cursor.execute("DELETE FROM counters WHERE number = ? AND segments = ?", (number, end))

    def _leased(self, number: int, end: int | None = None) -> int | None:
        """Until when a place is this process's, by the server's clock; None where another one has it."""
        statement = (
            "WITH now AS (SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint AS at) "
            "UPDATE counters SET segments = at + ? FROM now WHERE number = ? AND "
            "(segments = ? OR (? = 1 AND segments < at)) RETURNING segments"
        )
        with self._transaction(WAIT_SECONDS) as cursor:
            cursor.execute("INSERT INTO counters VALUES (?, 0) ON CONFLICT DO NOTHING", (number,))
            rows = cursor.fetch(statement, (_LEASE_SECONDS * 1_000_000, number, end, int(end is None)))
        return int(rows[0][0]) if rows else None

    @contextmanager
    def _remembering(self, *, write: bool) -> Iterator[Cursor]:
        """A transaction that does not wait for writers of documents."""
        with self._transaction(_BESIDE_SECONDS if write else None) as cursor:
            if write:
                cursor.take_turn()
            yield cursor

    # ---- what models answered

    def keeps_answers(self) -> bool:
        """Whether this role may write them here; a standby and a role that may only ask have a file instead."""
        statement = "SELECT has_table_privilege('all_partials', 'INSERT') AND NOT pg_catalog.pg_is_in_recovery()"
        with self._reading() as cursor:
            return bool(cursor.fetch(statement)[0][0])

    def answers(self, statement: str, values: Sequence[Value] = ()) -> list[tuple[Any, ...]]:
        """The rows of a statement on models' answers."""
        with self._remembering(write=False) as cursor:
            return cursor.fetch(statement, values)

    def keep_answers(self, statements: Sequence[tuple[str, Sequence[Value]]]) -> None:
        """Some statements in one transaction; it waits for others that keep answers, not for writers of documents."""
        with self._transaction(WAIT_SECONDS) as cursor:
            cursor.fetch(HOLD, (layout.HELD["answers"],))
            for statement, values in statements:
                cursor.execute(statement, values)

    def purge(self) -> None:
        """Compact, and forget vectors; the server's files give the room to others after its own VACUUM."""
        with self._writing() as cursor:
            remembered.forget(cursor)
        self.compact()

    def _give_back(self) -> None:
        """Nothing: PostgreSQL does so (autovacuum)."""


def _turn_of(prefix: str) -> int:
    """The number of the row to lock for a place."""
    first = int.from_bytes(blake3(prefix.encode("utf-8", "surrogateescape")).digest(4), "big") >> 1
    return max(first, layout.FIRST_TURN)
