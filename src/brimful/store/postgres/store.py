"""The server's store: many writers, many readers, row-level security."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext, suppress
from functools import wraps
from itertools import islice
from pathlib import Path
from typing import Any, Literal, ParamSpec, TypeVar, cast

import psycopg
from blake3 import blake3
from psycopg import sql

from brimful.errors import DocumentError, StoreBusyError, StoreError
from brimful.store import remembered
from brimful.store.address import Address
from brimful.store.far import KeptBlobs, kept_bytes
from brimful.store.format import Cursor, Value
from brimful.store.postgres import layout
from brimful.store.postgres.session import (
    WAIT_SECONDS,
    Connection,
    PostgresCursor,
    connected,
    index_terms,
    owns_tables,
    prepared,
    translated,
)
from brimful.store.snapshot import StoredSnapshot
from brimful.store.store import Store
from brimful.store.views import StoredSegment
from brimful.store.writing import Row

# ---- store: The server's store: what is one commit, one snapshot, one turn?

BESIDE_MILLISECONDS = 250
"""How long a question waits for a writer before its vectors are not remembered."""

_SPARE = 2
_LOOK_SECONDS, _LOOK_MILLISECONDS = 0.05, 20
_HOLD = "SELECT number FROM counters WHERE number = ? FOR UPDATE"


class _Held(PostgresCursor):
    """The cursor of a snapshot, which gives its connection back."""

    def __init__(self, store: PostgresStore, connection: Connection) -> None:
        super().__init__(connection, corpus=store.corpus, kept=store.kept)
        self._store: PostgresStore | None = store

    def fetch(self, statement: str, values: Sequence[Value] = ()) -> list[tuple[Any, ...]]:
        with translated(self._place):
            return super().fetch(statement, values)

    def each(self, statement: str) -> Iterator[tuple[Any, ...]]:
        with translated(self._place):
            yield from super().each(statement)

    def sealed(self, table: Literal["blobs", "maps"], key: int) -> tuple[bytes, bytes] | None:
        with translated(self._place):
            return super().sealed(table, key)

    def expect(self, keys: Sequence[int]) -> None:
        with translated(self._place):
            super().expect(keys)

    @property
    def _place(self) -> str:
        return str(self._store.path) if self._store is not None else "a snapshot that was closed"

    def close(self) -> None:
        if self._store is not None:
            self._store.give_back(self)
            self._store = None


P = ParamSpec("P")
R = TypeVar("R")
_ATTEMPTS = 3
_OVERTAKEN = (psycopg.errors.DeadlockDetected, psycopg.errors.SerializationFailure)


def _retried(method: Callable[P, R]) -> Callable[P, R]:
    """A change that is tried again where the server ended it for the sake of another: nothing of it was kept."""

    @wraps(method)
    def again(*given: P.args, **named: P.kwargs) -> R:
        for _ in range(_ATTEMPTS - 1):
            try:
                return method(*given, **named)
            except StoreBusyError as error:
                if not isinstance(error.__context__, _OVERTAKEN):
                    raise
        return method(*given, **named)

    return again


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
        self.kept = KeptBlobs(kept_bytes())
        self.trips = 0
        self._spare: list[Connection] = []
        self._lock = threading.Lock()
        self._is_closed = False
        self._beside: Connection | None = None
        self._beside_lock = threading.Lock()
        self._generation: int | None = None
        with translated(address):
            self._connection = connected(address)
            try:
                self.corpus, self._channel = prepared(self._connection, address, make=make)
                self._begin(self._connection, listen=True)
                self._check_opened(outdated=outdated)
            except BaseException:
                self._connection.close()
                raise

    def close(self) -> None:
        """Let go of the connections."""
        with self._lock:
            self._is_closed = True
            spare, self._spare = self._spare, []
        with self._beside_lock:
            if self._beside is not None:
                self._beside.close()
        for connection in (*spare, self._connection):
            connection.close()

    def _begin(self, connection: Connection, *, listen: bool = False) -> Connection:
        """See only this corpus from now on."""
        connection.execute("SELECT set_config('brimful.corpus', %s, false)", (str(self.corpus),))
        if listen:
            # One that fell asleep in the middle of a commit must not keep others waiting for ever.
            connection.execute("SET idle_in_transaction_session_timeout = '10min'")
            connection.execute(sql.SQL("LISTEN {}").format(sql.Identifier(self._channel)))
        return connection

    def _main(self) -> Connection:
        """The connection to write by, made anew where the server went away and came back."""
        if self._is_closed:
            raise StoreError(f"{self.path} was closed; open it again to ask or add")
        heard = _heard(self._connection)
        if heard:
            self._generation = None
        if heard is None:
            self._generation = None
            self._connection = self._begin(connected(self.path), listen=True)
        return self._connection

    # ---- reading

    def snapshot(self) -> StoredSnapshot:
        """The corpus as it is now, on a connection of its own; later commits do not change it."""
        with translated(self.path):
            connection = self._taken()
            try:
                connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
                return StoredSnapshot(_Held(self, connection))
            except BaseException:
                connection.close()
                raise

    def _taken(self) -> Connection:
        with self._lock:
            while self._spare:
                connection = self._spare.pop()
                if _heard(connection) is not None:
                    return connection
        return self._begin(connected(self.path))

    def give_back(self, cursor: PostgresCursor) -> None:
        """A snapshot's connection, to be used again."""
        connection = cursor.connection
        self.trips += cursor.trips
        with suppress(psycopg.Error):
            connection.execute("ROLLBACK")
            with self._lock:
                if not self._is_closed and not connection.closed and len(self._spare) < _SPARE:
                    self._spare.append(connection)
                    return
        connection.close()

    def generation(self) -> int:
        """How many commits there have been, by whichever process; asked only when one has been announced."""
        with translated(self.path):
            self._main()
        if self._generation is None:
            self._generation = super().generation()
        return self._generation

    @contextmanager
    def _reading(self) -> Iterator[Cursor]:
        with translated(self.path):
            cursor = PostgresCursor(self._main(), corpus=self.corpus)
            yield cursor
            self.trips += cursor.trips

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
    def _writing(self, *, late: bool = False) -> Iterator[Cursor]:
        """One transaction; writers of a corpus wait for each other here, and nobody else does."""
        with translated(self.path):
            connection = self._main()
            with connection.transaction():
                cursor = PostgresCursor(connection, corpus=self.corpus, beside=self._counting)
                if not late:
                    cursor.take_turn()
                yield cursor
                cursor.flush()
                cursor.fetch("SELECT pg_notify(?, '')", (self._channel,))
                self.trips += cursor.trips
            self._generation = None

    write = _retried(Store.write)
    adopt = _retried(Store.adopt)
    rename = _retried(Store.rename)
    compact = _retried(Store.compact)
    rebuild = _retried(Store.rebuild)
    claim_folder = _retried(Store.claim_folder)
    remember_root = _retried(Store.remember_root)
    _commit_long = _retried(Store._commit_long)  # noqa: SLF001
    _remove_listed = _retried(Store.remove_of)

    def remove_of(self, prefix: str | None, paths: Iterable[str]) -> int:
        """Forget documents; of a root, only what comes from below it."""
        return self._remove_listed(prefix, list(paths))

    def _counting(self) -> AbstractContextManager[Cursor]:
        return self._remembering(write=False)

    @contextmanager
    def _merging(self) -> Iterator[tuple[Cursor, Sequence[StoredSegment]]]:
        """Segments are read from a snapshot and written as one while others commit; the turn comes at the end.

        One process at a time merges: a second one would do the same work for nothing.
        """
        with self._writing(late=True) as cursor:
            if not cursor.fetch(f"{_HOLD} SKIP LOCKED", (layout.HELD["merging"],)):
                raise StoreBusyError(f"another process merges the segments of {self.path}; it need not be done twice")
            with self.snapshot() as now:
                yield cursor, now.segments()

    def _insert(self, cursor: Cursor, rows: Sequence[Row], maps: Mapping[int, bytes]) -> range:
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
        until = None if wait_seconds is None else time.monotonic() + wait_seconds
        with translated(self.path):
            connection = self._begin(connected(self.path))
        with closing(connection):  # whatever ends it lets go of the place
            while not self._has_turn(connection, _turn_of(prefix)):
                if until is not None and time.monotonic() >= until:
                    raise StoreBusyError(
                        f"another process is adding this place to {self.path}; try again when it is done"
                    )
                time.sleep(_LOOK_SECONDS)
            yield

    def _has_turn(self, connection: Connection, number: int) -> bool:
        """Whether this connection holds a place from now on: a row that it never commits, so nobody else inserts it."""
        with translated(self.path):
            connection.execute(f"BEGIN; SET LOCAL lock_timeout = '{_LOOK_MILLISECONDS}ms'")
            try:
                connection.execute("INSERT INTO counters VALUES (%s, 0)", (number,))
            except psycopg.errors.LockNotAvailable:
                connection.execute("ROLLBACK")
                return False
            return True

    @contextmanager
    def _remembering(self, *, write: bool) -> Iterator[Cursor]:
        """A connection of its own: questions remember while another thread may be adding documents."""
        with self._beside_lock, translated(self.path):
            if self._beside is None or _heard(self._beside) is None:
                self._beside = self._begin(connected(self.path))
                self._beside.execute(f"SET lock_timeout = {BESIDE_MILLISECONDS}")
            cursor = PostgresCursor(self._beside, corpus=self.corpus)
            if not write:
                yield cursor
                return
            with self._beside.transaction():
                cursor.take_turn()
                yield cursor

    # ---- what models answered

    def keeps_answers(self) -> bool:
        """Whether this role may write them here; a standby and a role that may only ask have a file instead."""
        statement = "SELECT has_table_privilege('all_partials', 'INSERT') AND NOT pg_catalog.pg_is_in_recovery()"
        with self._reading() as cursor:
            return bool(cursor.fetch(statement)[0][0])

    def answers(self, statement: str, values: Sequence[Value] = ()) -> list[tuple[Any, ...]]:
        """The rows of a statement, beside whoever writes documents."""
        with self._remembering(write=False) as cursor:
            return cursor.fetch(statement, values)

    @_retried
    def keep_answers(self, statements: Sequence[tuple[str, Sequence[Value]]]) -> None:
        """Some statements in one transaction; it waits for others that keep answers, not for writers of documents."""
        with self._remembering(write=False) as cursor, cast("PostgresCursor", cursor).connection.transaction():
            cursor.execute(f"SET LOCAL lock_timeout = '{WAIT_SECONDS}s'")
            cursor.fetch(_HOLD, (layout.HELD["answers"],))
            for statement, values in statements:
                cursor.execute(statement, values)

    def write_terms(self, counted: Iterable[tuple[str, int]], *, at_once: int) -> int:
        """Fill the table of terms anew; returns how many there are."""
        count = 0
        with self._writing() as cursor:
            if owns_tables(self._connection):  # pg_trgm may have come since they were made
                index_terms(self._connection)
            cursor.execute("DELETE FROM terms")
            each = iter(counted)
            while batch := list(islice(each, at_once)):
                cursor.executemany("INSERT INTO terms VALUES (?, ?)", batch)
                count += len(batch)
        return count

    def purge(self) -> None:
        """Compact, and forget vectors; the server's files give the room to others after its own VACUUM."""
        with self._writing() as cursor:
            remembered.forget(cursor)
        self.compact()

    def _give_back(self) -> None:
        """PostgreSQL does so by itself (autovacuum)."""


def _turn_of(prefix: str) -> int:
    """The row that stands for a place."""
    first = int.from_bytes(blake3(prefix.encode("utf-8", "surrogateescape")).digest(4), "big") >> 1
    return max(first, layout.FIRST_TURN)


def _heard(connection: Connection) -> int | None:
    """How much was announced since, without asking the server; None where the connection was cut."""
    if connection.closed:
        return None
    try:
        # The second look sees the end behind what the server said last.
        return sum(len(list(connection.notifies(timeout=0))) for _ in range(2))
    except psycopg.OperationalError:
        connection.close()
        return None


# ---- terms: Which words does a corpus have, for those who look with SQL?
#
# A table of terms with how often each stands in live text, filled when asked for: questions never read it, so that
# their answers are those of any other store. Where the server has pg_trgm, an index finds terms by likeness and by any
# part.

_AT_ONCE = 10_000


def list_terms(address: Address) -> int:
    """Write down all terms of a corpus that is there; returns how many."""
    with PostgresStore(address, make=False) as store, store.snapshot() as now:
        terms = now.terms()
        counted = ((term.decode("utf-8", "backslashreplace"), now.census(term)) for term in terms)
        return store.write_terms(counted, at_once=_AT_ONCE)
