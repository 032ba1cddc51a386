"""Connections to a PostgreSQL server, the cursor on one, and its errors."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import lru_cache
from itertools import count
from typing import Any, Literal, NamedTuple, TypeVar, cast

import psycopg
from psycopg.conninfo import make_conninfo
from psycopg.types.string import StrDumper, TextBinaryLoader, TextLoader

from brimful.errors import (
    CorruptError,
    InputError,
    StoreAccessError,
    StoreBusyError,
    StoreError,
    StoreFullError,
    StoreUnreachableError,
    StoreVersionError,
)
from brimful.store.address import Address
from brimful.store.caching import BlobCache, RemoteBlobs
from brimful.store.format import CHANGING, ChangedError, Cursor, SealedKey, Value, kind_of_key
from brimful.store.postgres import layout
from brimful.store.state import begin

CONNECT_SECONDS, STATEMENT_SECONDS = 10, 600
SILENT_SECONDS = 30
"""How long a question waits for the next byte of a server."""
WAIT_SECONDS = 120
"""How long a writer waits for another one: a document of gigabytes is one commit, too."""
IDLE_SECONDS = 600
"""How long a transaction may be idle where the administrator has set no limit."""

# ---- errors

_NOT_YOURS = (
    "{address}: this role may not use that corpus, or make it; ask an administrator for it "
    "(`brimful stores roles` prints the statements)"
)


@contextmanager
def translated(place: object) -> Iterator[None]:
    """Translate PostgreSQL's errors, without any password."""
    try:
        yield
    except psycopg.Error as error:
        raise _typed(place, error) from None


def _typed(place: object, error: psycopg.Error) -> StoreError:
    reason = without(place, error)
    state = error.sqlstate or next((code for sign, code in _SIGNS.items() if sign in reason), "")
    if not state and isinstance(error, psycopg.OperationalError | psycopg.InterfaceError):
        state = "08"
    for code, (kind, meaning) in _MEANINGS.items():
        if state.startswith(code):
            return kind(f"{place}{meaning}".replace("REASON", reason))
    return StoreError(f"{place}: {reason or type(error).__name__}; look at the server's log")


_SIGNS = {
    "too many connections": "53300",
    "too many clients": "53300",
    "remaining connection slots": "53300",
    "authentication failed": "28",
    "no password supplied": "28",
    "pg_hba.conf": "28",
    "role ": "28",
    "does not exist": "3D000",
}
"""Codes for errors before a session has begun, which come without one."""
_GONE = (
    " can't be reached (REASON); is the server running, and is the address right? "
    "What was committed is intact: try the same again"
)
_TAKEN = (
    ": all connections of the server, its role or its database are taken (REASON); close engines that nobody asks, "
    "put a pooler before the server, or raise max_connections"
)
_ENDED = (
    f": a statement was ended after {STATEMENT_SECONDS // 60} minutes, or by an administrator (REASON); nothing of it "
    "was kept: try again when the server is less busy"
)
_IDLE = ": the server ended an idle transaction (REASON); raise idle_in_transaction_session_timeout, or try again"
_BUSY = (StoreBusyError, " is busy (REASON); try again, or wait longer")
_FULL = (StoreFullError, ": no room left on the server; free some disk space, the last commit stands")
_MEANINGS: dict[str, tuple[type[StoreError], str]] = {
    "53300": (StoreBusyError, _TAKEN),
    "28": (StoreAccessError, " refuses this role or its password (REASON); see ~/.pgpass or PGPASSWORD"),
    "3D000": (StoreAccessError, ": the server has no such database (REASON); make it: createdb NAME"),
    "42501": (StoreAccessError, ": this role may not do that (REASON); see `brimful stores roles`"),
    "57014": (StoreBusyError, _ENDED),
    "25P03": (StoreBusyError, _IDLE),
    "55P03": _BUSY,
    "40P01": _BUSY,
    "40001": _BUSY,
    "53100": _FULL,
    "53000": _FULL,
    "25006": (StoreError, " is a standby or read-only, and can only be asked; write to its primary server"),
    "XX": (CorruptError, ": the server says that its files are damaged (REASON); restore a backup"),
    "08": (StoreUnreachableError, _GONE),
    "57": (StoreUnreachableError, _GONE),
}
"""Our errors by the beginning of PostgreSQL's code."""


def without(place: object, error: BaseException) -> str:
    """A server's message on one line, without the password."""
    message = " ".join(str(error).split())
    for secret in place.secrets if isinstance(place, Address) else ():
        message = message.replace(secret, "***")
    return message[:300]


# ---- connections

T = TypeVar("T")
R = TypeVar("R")


class SilentError(psycopg.OperationalError):
    """A server took a statement and does not answer."""


class Connection(psycopg.Connection[tuple[Any, ...]]):
    """A connection that gives up a server after too long a silence."""

    silent_seconds: float = SILENT_SECONDS

    def wait(self, gen: Any, *arguments: Any, **named: Any) -> Any:
        """Run a statement until its end, in psycopg's way."""
        try:
            return super().wait(self._limited(gen), *arguments, **named)
        except SilentError:
            self.close()
            raise

    def _limited(self, gen: Generator[T, T, R]) -> Generator[T, T, R]:
        begun = heard = time.monotonic()
        try:
            wanted = next(gen)
            while True:
                ready = yield wanted
                now = time.monotonic()
                heard = now if ready else heard
                if now - heard > self.silent_seconds:
                    raise SilentError(f"no answer for {now - begun:.0f} s")
                wanted = gen.send(ready)
        except StopIteration as end:
            return cast("R", end.value)


def connected(address: Address) -> Connection:
    """A connection with this store's texts; its transactions begin with `beginning`, so a pooler may share it."""
    standard = {
        "connect_timeout": str(CONNECT_SECONDS),
        "application_name": "brimful",
        "tcp_user_timeout": str(SILENT_SECONDS * 1_000),
        "keepalives_idle": "30",
        "keepalives_interval": "10",
        "keepalives_count": "3",
    }
    try:
        conninfo = make_conninfo("", **{**standard, **dict(address.settings)}, client_encoding="utf8")
    except psycopg.ProgrammingError as error:
        raise InputError(f"{address} can't be used as an address: {without(address, error)}") from None
    # A pooler may give the next transaction to another session, without prepared statements.
    connection = Connection.connect(conninfo, autocommit=True, prepare_threshold=None)
    connection.adapters.register_dumper(str, _TextDumper)
    connection.adapters.register_loader("text", _TextLoader)
    connection.adapters.register_loader("text", _TextBinaryLoader)
    return connection


def beginning(address: Address, *, corpus: int | None = None, wait_seconds: float | None = None) -> str:
    """The statements that begin a transaction; without a wait it only reads.

    All settings end with it. The administrator's limit for idle transactions holds; where there is none, ours does.
    """
    kind = "REPEATABLE READ READ ONLY" if wait_seconds is None else "READ COMMITTED"
    return (
        f"BEGIN ISOLATION LEVEL {kind}; SET LOCAL search_path = {address.schema}, pg_temp; "
        f"SET LOCAL lock_timeout = {round(1_000 * (wait_seconds or WAIT_SECONDS))}; "
        f"SET LOCAL statement_timeout = '{STATEMENT_SECONDS}s'; SET LOCAL standard_conforming_strings = on; "
        f"SELECT set_config('idle_in_transaction_session_timeout', '{IDLE_SECONDS}s', true) "
        "WHERE current_setting('idle_in_transaction_session_timeout') = '0'; "
        f"SELECT set_config('brimful.corpus', '{'' if corpus is None else corpus}', true)"
    )


@contextmanager
def transaction(connection: Connection, begin: str) -> Iterator[None]:
    """All of it or nothing."""
    connection.execute(begin)
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        with suppress(psycopg.Error):
            connection.execute("ROLLBACK")
        raise


# ---- the cursor

PIECE_BYTES = 1 << 20
"""The largest part of a value that one fetch brings."""

MOST_BYTES = 1 << 30
"""The largest value: PostgreSQL itself holds no larger one."""

_BATCH_BYTES = 4 << 20
_names = count(1)


class PostgresCursor(Cursor):
    """The statements of a store on one connection."""

    is_far = True

    def __init__(
        self,
        connection: Connection,
        *,
        cache: BlobCache | None = None,
        another: Callable[[], AbstractContextManager[Cursor]] | None = None,
    ) -> None:
        self.connection = connection
        self._remote = None if cache is None else RemoteBlobs(cache, self._blobs)
        self._another_transaction = another
        self._has_turn = False
        self._waiting: dict[int, SealedKey] = {}
        self._waiting_bytes = 0
        self._in_use = threading.RLock()  # threads that share a snapshot read one after the other
        self.trips = 0

    def _read(self, statement: str, values: Sequence[Any]) -> list[tuple[Any, ...]]:
        """The rows of a statement in PostgreSQL's dialect."""
        with self._in_use:
            self.trips += 1
            return self.connection.cursor(binary=True).execute(statement, values).fetchall()

    def fetch(self, statement: str, values: Sequence[Value] = ()) -> list[tuple[Any, ...]]:
        """All rows of a statement."""
        self._send(statement)
        return self._read(_with_marks(statement), values)

    def stream(self, statement: str) -> Iterator[tuple[Any, ...]]:
        """Rows one by one, of which the server keeps the others."""
        with self.connection.cursor(f"brimful_{next(_names)}", binary=True) as cursor:
            cursor.itersize = 1_000
            self.trips += 1
            yield from cursor.execute(_with_marks(statement))

    def execute(self, statement: str, values: Sequence[Value] = ()) -> object:
        """A statement without rows."""
        self._send(statement)
        self.trips += 1
        return self.connection.execute(_with_marks(statement), values or None)

    def executemany(self, statement: str, values: Iterable[Sequence[Value]]) -> None:
        """A statement for many values, sent together."""
        self._send(statement)
        self.trips += 1
        self.connection.cursor().executemany(_with_marks(statement), values)

    def sealed(self, table: Literal["blobs", "maps"], key: int) -> tuple[bytes, bytes] | None:
        """Bytes with their seal, in pieces where they are long."""
        if table == "blobs" and key in self._waiting:
            return self._waiting[key][1:]
        if table == "maps" or self._remote is None:
            return self._fetched(table, [key]).get(key)
        return self._remote.get(key)

    def expect(self, keys: Sequence[int]) -> None:
        """Fetch blobs that are needed next, where this cursor keeps any."""
        if self._remote is not None:
            self._remote.expect(keys)

    def _blobs(self, keys: Sequence[int]) -> dict[int, tuple[bytes, bytes]]:
        return self._fetched("blobs", keys)

    def _fetched(self, table: str, keys: Sequence[int]) -> dict[int, tuple[bytes, bytes]]:
        statement = _SEALED.format(table=table, key=_KEY[table])
        blobs = {}
        for key, length, seal, data in self._read(statement, (1, PIECE_BYTES, list(keys))):
            if length > MOST_BYTES:
                raise CorruptError(f"{table} {key} has {length} bytes; verify the store, or index the sources again")
            parts = [data]
            for start in range(len(data), length, PIECE_BYTES):
                parts += [part for *_, part in self._read(statement, (start + 1, PIECE_BYTES, [key]))]
            blobs[key] = (b"".join(parts), seal)
        return blobs

    def write_blobs(self, blobs: Iterable[SealedKey]) -> None:
        """Write blobs, some megabytes at once."""
        for blob in blobs:
            self._waiting[blob[0]] = blob
            self._waiting_bytes += len(blob[1])
            if self._waiting_bytes >= _BATCH_BYTES:
                self.flush()

    def flush(self) -> None:
        """Send the blobs that are waiting."""
        waiting, self._waiting, self._waiting_bytes = self._waiting, {}, 0
        if not waiting:
            return
        self.trips += 2
        rewritten = [key for key in waiting if kind_of_key(key) in CHANGING]
        if rewritten:
            self.connection.execute("DELETE FROM blobs WHERE key = ANY(%s)", (rewritten,))
        self.connection.cursor().executemany("INSERT INTO blobs VALUES (%b, %b, %b)", list(waiting.values()))

    def _send(self, statement: str) -> None:
        if self._waiting and "blobs" in statement:
            self.flush()

    def next_segment(self) -> int:
        """A number that no segment of this corpus ever had: a reader's copy of one stays true."""
        if self._another_transaction is None:
            raise StoreError("only a transaction that writes has new segments")
        with self._another_transaction() as cursor:  # committed at once, so that nobody waits for it
            ((number,),) = cursor.fetch(_COUNT, (layout.HELD["segments"],))
            return int(number)

    def take_turn(self, expected: Sequence[tuple[int, bytes]] = ()) -> None:
        """Lock a row of the corpus, which other tenants can't see and so can't lock."""
        if self._has_turn:
            return
        self.flush()
        if not self.fetch(HOLD, (layout.HELD["writing"],)):
            raise StoreAccessError("the corpus is gone, or its role was changed; open it again")
        self._has_turn = True
        if expected:
            present = self._read("SELECT key, seal FROM blobs WHERE key = ANY(%s)", ([key for key, _ in expected],))
            if sorted(present) != sorted(expected):
                raise ChangedError

    def size_bytes(self) -> int:
        """The size of the tables, which corpora share: a bound for what is unpacked."""
        ((size,),) = self.fetch("SELECT pg_catalog.pg_total_relation_size('all_blobs')::bigint")
        return int(size)

    def close(self) -> None:
        """Close the connection."""
        self.connection.close()


@lru_cache(256)
def _with_marks(statement: str) -> str:
    return statement.replace("?", "%s")


_COUNT = "UPDATE counters SET segments = segments + 1 WHERE number = ? RETURNING segments"
_KEY = {"blobs": "key", "maps": "document"}
_SEALED = "SELECT {key}, octet_length(data), seal, substr(data, %s, %s) FROM {table} WHERE {key} = ANY(%s)"
HOLD = "SELECT number FROM counters WHERE number = ? FOR UPDATE"


# ---- tables and corpora

_FASTER = (psycopg.errors.UniqueViolation, psycopg.errors.DuplicateSchema, psycopg.errors.DuplicateTable)
"""Errors of the slower of two processes that make tables at once."""


@contextmanager
def reading(address: Address) -> Iterator[Cursor]:
    """A cursor that sees one moment of a corpus that is there."""
    with translated(address), connected(address) as connection:
        corpus = prepared(connection, address, make=False)
        with transaction(connection, beginning(address, corpus=corpus)):
            yield PostgresCursor(connection)


def prepared(connection: Connection, address: Address, *, make: bool) -> int:
    """The number of an address's corpus, which is made where it may be, with its tables."""
    if connection.info.server_version < layout.LEAST_SERVER:
        raise StoreVersionError(
            f"{address} is PostgreSQL {connection.info.server_version // 10_000}; "
            f"{layout.LEAST_SERVER // 10_000} or later is needed"
        )
    with transaction(connection, beginning(address)):
        version = _version(connection, address)
        corpus = _known(connection, address) if version == layout.VERSION else None
    if corpus is not None:
        return corpus
    if version is None and not make:
        raise InputError(f"there is no store at {address}; make it: brimful add PATH --store ADDRESS")
    if version is not None and version > layout.VERSION:
        raise StoreVersionError(
            f"{address} has tables of version {version}, this program reads {layout.VERSION}; update Brimful"
        )
    writing = beginning(address, wait_seconds=WAIT_SECONDS)
    if version != layout.VERSION:
        for is_last in (False, True):  # who comes second finds it done
            with suppress(*(() if is_last else _FASTER)), transaction(connection, writing):
                _make_tables(connection, address)
    with transaction(connection, writing):
        corpus = _known(connection, address)
        if corpus is None and not make:
            raise InputError(
                f"there is no corpus {address.corpus!r} at {address}, or it is not yours; make it: "
                "brimful add PATH --store ADDRESS"
            )
        return _make_corpus(connection, address) if corpus is None else corpus


def _version(connection: Connection, address: Address) -> int | None:
    """The version of the tables, None where there are none."""
    statement = (
        "SELECT nspname, has_schema_privilege(oid, 'USAGE') FROM pg_catalog.pg_namespace WHERE nspname = %s",
        (address.schema,),
    )
    row = connection.execute(*statement).fetchone()
    if row is None:
        return None
    if not row[1]:
        raise StoreAccessError(_NOT_YOURS.format(address=address))
    if connection.execute("SELECT to_regclass('versions')").fetchone() == (None,):
        return None
    row = connection.execute("SELECT max(version) FROM versions").fetchone()
    return int(row[0]) if row and row[0] is not None else None


def _make_tables(connection: Connection, address: Address) -> None:
    """Make the tables, or bring them to this version."""
    version = _version(connection, address)
    if version is not None and version < layout.VERSION:
        if not _owns_tables(connection):
            raise StoreAccessError(
                f"{address} has tables of version {version}, this program needs {layout.VERSION}; their owner brings "
                "them up to date by opening a corpus: brimful status --store ADDRESS"
            )
        # Others may read meanwhile, and nobody else may do this.
        connection.execute("LOCK TABLE versions IN SHARE ROW EXCLUSIVE MODE")
        version = _version(connection, address)
    if version is None:
        connection.execute(f"CREATE SCHEMA IF NOT EXISTS {address.schema}")
    if version is None or version < layout.VERSION:
        connection.execute(layout.tables())


def _owns_tables(connection: Connection) -> bool:
    """Whether this role may change the tables."""
    statement = (
        "SELECT pg_catalog.pg_has_role(relowner, 'USAGE') FROM pg_catalog.pg_class WHERE oid = 'versions'::regclass"
    )
    row = connection.execute(statement).fetchone()
    return bool(row and row[0])


def _number(connection: Connection, address: Address) -> int | None:
    """The number of a corpus of this role, which the transaction chooses, whether it was begun or not."""
    row = connection.execute("SELECT number FROM own_corpora() WHERE name = %s", (address.corpus,)).fetchone()
    if row is None:
        return None
    connection.execute("SELECT set_config('brimful.corpus', %s, true)", (str(row[0]),))
    return int(row[0])


def _known(connection: Connection, address: Address) -> int | None:
    """The number of a corpus that is there for this role."""
    number = _number(connection, address)
    is_begun = number is not None and connection.execute("SELECT 1 FROM meta WHERE key = 'generation'").fetchone()
    return number if is_begun else None


def _make_corpus(connection: Connection, address: Address) -> int:
    """Begin a corpus; an administrator may have given its name to a role already."""
    if _number(connection, address) is None:
        connection.execute("INSERT INTO corpora (name) VALUES (%s) ON CONFLICT DO NOTHING", (address.corpus,))
    number = _number(connection, address)
    if number is None:
        raise StoreAccessError(_NOT_YOURS.format(address=address))
    for row in layout.HELD.values():
        connection.execute("INSERT INTO counters VALUES (%s, 0) ON CONFLICT DO NOTHING", (row,))
    cursor = PostgresCursor(connection)
    cursor.take_turn()
    if _known(connection, address) is None:  # else another process was faster
        begin(cursor)
    return number


class _ServerState(NamedTuple):
    """Facts of a server, and rights of a role there."""

    version: str
    role: str
    connections: int
    limit: int
    is_standby: bool
    may_write: bool
    is_above: bool  # row-level security does not hold for it


def server_of(address: Address) -> _ServerState:
    """Look at the server of a corpus that is there."""
    with reading(address) as cursor:
        (row,) = cursor.fetch(
            "SELECT current_setting('server_version'), current_user::text, "
            "(SELECT count(*) FROM pg_catalog.pg_stat_activity WHERE backend_type = 'client backend'), "
            "current_setting('max_connections')::int, "
            "pg_is_in_recovery(), "
            "has_table_privilege('all_documents', 'INSERT'), NOT row_security_active('all_documents')"
        )
    return _ServerState(*row)


# ---- texts: PostgreSQL has no NUL in one, and a path may have it


def _escaped(text: str) -> str:
    """A text without NUL, which keeps the order of texts.

    >>> _escaped("a\\0b\\1") == "a\\1\\1b\\1\\2" and _plain(_escaped("a\\0b\\1")) == "a\\0b\\1"
    True
    """
    return text.replace("\1", "\1\2").replace("\0", "\1\1") if "\1" in text or "\0" in text else text


def _plain(text: str) -> str:
    return _PAIR.sub(lambda pair: "\0" if pair[0] == "\1\1" else "\1", text) if "\1" in text else text


_PAIR = re.compile("\1[\1\2]")


class _TextDumper(StrDumper):
    def dump(self, obj: str) -> Any:
        return super().dump(_escaped(obj))


class _TextLoader(TextLoader):
    def load(self, data: Any) -> Any:
        return _plain(super().load(data))  # type: ignore[arg-type]  # the connection's encoding is known


class _TextBinaryLoader(TextBinaryLoader):
    def load(self, data: Any) -> Any:
        return _plain(super().load(data))  # type: ignore[arg-type]  # the connection's encoding is known
