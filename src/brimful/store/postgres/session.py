"""How is a server spoken to: who is connected, who runs the statements, and what does a failure mean?"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import lru_cache
from itertools import count
from typing import Any, Literal, NamedTuple

import psycopg
from psycopg import sql
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
from brimful.store.far import CHANGING, FarBlobs, KeptBlobs
from brimful.store.format import ChangedError, Cursor, Sealed, Value, kind_of_key
from brimful.store.postgres import layout
from brimful.store.store import new_store

# ---- errors: What does PostgreSQL say, in our words and without any password?

_NOT_YOURS = (
    "{address}: this role may not use that corpus, or make it; ask an administrator for it "
    "(`brimful postgres roles` prints the statements)"
)
_TAKEN = ("too many connections", "too many clients", "remaining connection slots")
_REFUSED = ("password authentication failed", "no password supplied", "authentication failed", "pg_hba.conf", "role ")


@contextmanager
def translated(place: object) -> Iterator[None]:
    """PostgreSQL's errors in our words, without any password."""
    try:
        yield
    except psycopg.Error as error:
        raise _typed(place, error) from None


def _typed(place: object, error: psycopg.Error) -> StoreError:
    state = error.sqlstate or ""
    said = without(place, error)
    if state == "53300" or (not state and any(sign in said for sign in _TAKEN)):
        return StoreBusyError(
            f"{place}: all connections of the server, its role or its database are taken ({said}); close engines that "
            "nobody asks (each has up to six), put a pooler of sessions before the server, or raise max_connections"
        )
    if state[:2] == "28" or (not state and any(sign in said for sign in _REFUSED)):
        return StoreAccessError(f"{place} refuses this role or its password ({said}); see ~/.pgpass or PGPASSWORD")
    if state == "3D000" or (not state and "database " in said and "does not exist" in said):
        return StoreAccessError(f"{place}: the server has no such database ({said}); make it: createdb NAME")
    if state == "42501":
        return StoreAccessError(f"{place}: this role may not do that ({said}); see `brimful postgres roles`")
    if state == "57014":
        return StoreBusyError(
            f"{place}: a statement was ended after {STATEMENT_SECONDS // 60} minutes, or by an administrator ({said}); "
            "nothing of it was kept: try again when the server is less busy"
        )
    if state in ("55P03", "40P01", "40001"):
        return StoreBusyError(f"{place} is busy ({said}); try again, or wait longer")
    if state in ("53100", "53000"):
        return StoreFullError(f"no room left on the server of {place}; free some disk space, the last commit stands")
    if state == "25006":
        return StoreError(f"{place} is a standby or read-only, and can only be asked; write to its primary server")
    if state[:2] == "XX":
        return CorruptError(f"{place}: the server says that its files are damaged ({said}); restore a backup")
    if state[:2] in ("08", "57"):
        return StoreUnreachableError(_GONE.format(place=place, said=said))
    if not state and isinstance(error, psycopg.OperationalError | psycopg.InterfaceError):
        return StoreUnreachableError(_GONE.format(place=place, said=said))
    return StoreError(f"{place}: {said or type(error).__name__}; look at the server's log")


_GONE = (
    "{place} can't be reached ({said}); is the server running, and is the address right? "
    "What was committed is intact: try the same again"
)


def without(place: object, error: BaseException) -> str:
    """What a server said, on one line and without the password."""
    said = " ".join(str(error).split())
    for secret in place.secrets if isinstance(place, Address) else ():
        said = said.replace(secret, "***")
    return said[:300]


# ---- cursor: How are a store's statements run on PostgreSQL, blobs sent and fetched, and what is kept of them?

PIECE_BYTES = 1 << 20
"""What one fetch brings of a value at most."""

MOST_BYTES = 1 << 30
"""What a value has at most: PostgreSQL itself holds no larger one."""

_BATCH_BYTES = 4 << 20
_INCOMING = (
    "CREATE TEMP TABLE IF NOT EXISTS brimful_incoming (key bigint, data bytea STORAGE EXTERNAL, seal bytea) "
    "ON COMMIT DELETE ROWS"
)
_names = count(1)

Connection = psycopg.Connection[tuple[Any, ...]]


class PostgresCursor:
    """The statements of a store on one connection."""

    is_far = True

    def __init__(
        self,
        connection: Connection,
        *,
        corpus: int,
        kept: KeptBlobs | None = None,
        beside: Callable[[], AbstractContextManager[Cursor]] | None = None,
    ) -> None:
        self.connection, self.corpus = connection, corpus
        self._far = None if kept is None else FarBlobs(kept, self._blobs)
        self._beside = beside
        self._has_turn = False
        self._cursor = connection.cursor(binary=True)
        self._waiting: dict[int, Sealed] = {}
        self._waiting_bytes = 0
        self._incoming = False
        self._in_use = threading.RLock()  # threads that ask the same state read one after the other
        self.trips = 0

    def fetch(self, statement: str, values: Sequence[Value] = ()) -> list[tuple[Any, ...]]:
        """All rows of a statement."""
        with self._in_use:
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
        if table == "maps" or self._far is None:
            return self._fetched(table, [key]).get(key)
        return self._far.get(key)

    def expect(self, keys: Sequence[int]) -> None:
        """Blobs that will be asked for, where they are kept."""
        if self._far is not None:
            self._far.expect(keys)

    def _blobs(self, keys: Sequence[int]) -> dict[int, tuple[bytes, bytes]]:
        return self._fetched("blobs", keys)

    def _fetched(self, table: str, keys: Sequence[int]) -> dict[int, tuple[bytes, bytes]]:
        statement = _SEALED.format(table=table, key=_KEY[table], condition=f"{_KEY[table]} = ANY(%s)")
        found = {}
        with self._in_use:
            self.trips += 1
            for key, length, seal, data in self._cursor.execute(statement, (1, PIECE_BYTES, list(keys))).fetchall():
                if length > MOST_BYTES:
                    said = f"{table} {key} has {length} bytes; verify the store, or index the sources again"
                    raise CorruptError(said)
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
        rewritten = [key for key in waiting if kind_of_key(key) in CHANGING]
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
            ((number,),) = cursor.fetch(_COUNT, (layout.HELD["segments"],))
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


_COUNT = "UPDATE counters SET segments = segments + 1 WHERE number = ? RETURNING segments"
_KEY = {"blobs": "key", "maps": "document"}
_SEALED = "SELECT {key}, octet_length(data), seal, substr(data, %s, %s) FROM {table} WHERE {condition}"


# ---- session: How is a session begun, and how do tables and corpora come to be? Texts with a NUL are kept, too.

CONNECT_SECONDS, STATEMENT_SECONDS = 10, 600
WAIT_SECONDS = 120
"""How long a writer waits for another one: a document of gigabytes is one commit, too."""
_FASTER = (psycopg.errors.UniqueViolation, psycopg.errors.DuplicateSchema, psycopg.errors.DuplicateTable)
"""What is said where another process made the same in the same moment."""


@contextmanager
def reading(address: Address) -> Iterator[Cursor]:
    """A cursor that sees one moment of a corpus that is there."""
    with translated(address), connected(address) as connection:
        corpus, _ = prepared(connection, address, make=False)
        connection.execute("SELECT set_config('brimful.corpus', %s, false)", (str(corpus),))
        connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
        yield PostgresCursor(connection, corpus=corpus)
        connection.execute("ROLLBACK")


def check_there(address: Address) -> None:
    """Raise where the server, the database or the corpus is not there, or not for this role."""
    with reading(address):
        pass


def connected(address: Address) -> Connection:
    """A connection whose search path, timeouts and texts are ours."""
    given = {"connect_timeout": str(CONNECT_SECONDS), "application_name": "brimful", **dict(address.settings)}
    alive = {"keepalives_idle": "30", "keepalives_interval": "10", "keepalives_count": "3"}
    try:
        known = make_conninfo("", **{**alive, **given}, client_encoding="utf8")
    except psycopg.ProgrammingError as error:
        raise InputError(f"{address} can't be used as an address: {without(address, error)}") from None
    connection = psycopg.connect(known, autocommit=True)
    connection.adapters.register_dumper(str, _TextDumper)
    connection.adapters.register_loader("text", _TextLoader)
    connection.adapters.register_loader("text", _TextBinaryLoader)
    connection.execute(
        f"SET search_path = {address.schema}, pg_temp; SET lock_timeout = '{WAIT_SECONDS}s'; "
        f"SET statement_timeout = '{STATEMENT_SECONDS}s'; SET idle_in_transaction_session_timeout = 0; "
        "SET default_transaction_isolation = 'read committed'; SET standard_conforming_strings = on"
    )
    return connection


def prepared(connection: Connection, address: Address, *, make: bool) -> tuple[int, str]:
    """The corpus of an address and its channel; what is not there yet is made."""
    if connection.info.server_version < layout.LEAST_SERVER:
        raise StoreVersionError(
            f"{address} is PostgreSQL {connection.info.server_version // 10_000}; "
            f"{layout.LEAST_SERVER // 10_000} or later is needed"
        )
    version = _version(connection, address)
    if version is None and not make:
        raise InputError(f"there is no store at {address}; make it: brimful add PATH --store ADDRESS")
    if version is None or version < layout.VERSION:
        _migrate(connection, address)
    elif version > layout.VERSION:
        raise StoreVersionError(
            f"{address} has tables of version {version}, this program reads {layout.VERSION}; update Brimful"
        )
    return _corpus(connection, address, make=make)


def _version(connection: Connection, address: Address) -> int | None:
    """The version of the tables, None where there are none."""
    statement = (
        "SELECT nspname, has_schema_privilege(oid, 'USAGE') FROM pg_catalog.pg_namespace WHERE nspname = %s",
        (address.schema,),
    )
    found = connection.execute(*statement).fetchone()
    if found is None:
        return None
    if not found[1]:
        raise StoreAccessError(_NOT_YOURS.format(address=address))
    if connection.execute("SELECT to_regclass('versions')").fetchone() == (None,):
        return None
    row = connection.execute("SELECT max(version) FROM versions").fetchone()
    return int(row[0]) if row and row[0] is not None else None


def _migrate(connection: Connection, address: Address) -> None:
    """Make the tables, or bring them to this version; whoever comes second finds it done."""
    try:
        _make(connection, address)
    except _FASTER:
        _make(connection, address)


def _make(connection: Connection, address: Address) -> None:
    with connection.transaction():
        version = _version(connection, address)
        if version is not None and version < layout.VERSION and not owns_tables(connection):
            raise StoreAccessError(
                f"{address} has tables of version {version}, this program needs {layout.VERSION}; their owner brings "
                "them up to date by opening a corpus: brimful status --store ADDRESS"
            )
        if version is not None and version < layout.VERSION:  # others may read meanwhile, and nobody else may do this
            connection.execute("LOCK TABLE versions IN SHARE ROW EXCLUSIVE MODE")
            version = _version(connection, address)
        if version is None:
            connection.execute(f"CREATE SCHEMA IF NOT EXISTS {address.schema}")
            connection.execute(layout.first())
            index_terms(connection)
            version = 1
        for number in range(version + 1, layout.VERSION + 1):
            connection.execute(layout.later(number))
            connection.execute("UPDATE versions SET version = %s", (number,))


def owns_tables(connection: Connection) -> bool:
    """Whether this role may change the tables."""
    statement = (
        "SELECT pg_catalog.pg_has_role(relowner, 'USAGE') FROM pg_catalog.pg_class WHERE oid = 'versions'::regclass"
    )
    row = connection.execute(statement).fetchone()
    return bool(row and row[0])


def index_terms(connection: Connection) -> None:
    """Where the server has pg_trgm, words are found by likeness and by any part."""
    found = connection.execute(
        "SELECT nspname FROM pg_catalog.pg_opclass AS kind JOIN pg_catalog.pg_namespace AS place "
        "ON place.oid = kind.opcnamespace WHERE opcname = 'gin_trgm_ops'"
    ).fetchone()
    if found is not None:
        kind = sql.Identifier(found[0], "gin_trgm_ops")
        made = "CREATE INDEX IF NOT EXISTS terms_by_likeness ON all_terms USING gin (term {})"
        connection.execute(sql.SQL(made).format(kind))


def _corpus(connection: Connection, address: Address, *, make: bool) -> tuple[int, str]:
    found = _known(connection, address)
    if found is None and not make:
        raise InputError(
            f"there is no corpus {address.corpus!r} at {address}, or it is not yours; make it: "
            "brimful add PATH --store ADDRESS"
        )
    if found is None:
        with connection.transaction():
            found = _made(connection, address)
    return found


def _known(connection: Connection, address: Address) -> tuple[int, str] | None:
    """The number and channel of a corpus that is there for this role, from now on the session's own."""
    statement = "SELECT number, channel FROM corpora WHERE name = %s"
    found = connection.execute(statement, (address.corpus,)).fetchone()
    if found is None:
        return None
    connection.execute("SELECT set_config('brimful.corpus', %s, false)", (str(found[0]),))
    is_begun = connection.execute("SELECT 1 FROM meta WHERE key = 'generation'").fetchone()
    return (int(found[0]), str(found[1])) if is_begun else None


def _made(connection: Connection, address: Address) -> tuple[int, str]:
    """Begin a corpus; an administrator may have given its name to a role already."""
    statement = ("SELECT number FROM corpora WHERE name = %s FOR UPDATE", (address.corpus,))
    row = connection.execute(*statement).fetchone()
    if row is None:
        made = "INSERT INTO corpora (name) VALUES (%s) ON CONFLICT DO NOTHING RETURNING number"
        row = connection.execute(made, (address.corpus,)).fetchone() or connection.execute(*statement).fetchone()
    if row is None:
        raise StoreAccessError(_NOT_YOURS.format(address=address))
    found = _known(connection, address)
    if found is not None:  # another process was faster
        return found
    connection.execute("SELECT set_config('brimful.corpus', %s, false)", (str(row[0]),))
    for number in layout.HELD.values():
        connection.execute("INSERT INTO counters VALUES (%s, 0)", (number,))
    new_store(PostgresCursor(connection, corpus=row[0]))
    found = _known(connection, address)
    assert found is not None
    return found


class _ServerState(NamedTuple):
    """What a server has, and what a role may do there."""

    version: str
    role: str
    connections: int
    most: int
    has_trigrams: bool
    may_write: bool
    is_above: bool  # row-level security does not hold for it


def server_of(address: Address) -> _ServerState:
    """Look at the server of a corpus that is there."""
    with reading(address) as cursor:
        (found,) = cursor.fetch(
            "SELECT current_setting('server_version'), current_user::text, "
            "(SELECT count(*) FROM pg_catalog.pg_stat_activity WHERE backend_type = 'client backend'), "
            "current_setting('max_connections')::int, "
            "EXISTS (SELECT FROM pg_catalog.pg_extension WHERE extname = 'pg_trgm'), "
            "has_table_privilege('all_documents', 'INSERT'), NOT row_security_active('all_documents')"
        )
    return _ServerState(*found)


# ---- texts: PostgreSQL holds none with a NUL, and a path may have one


def _escaped(text: str) -> str:
    """A text without NUL, in the same order as others.

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
        return _plain(super().load(data))  # type: ignore[arg-type]  # likewise
