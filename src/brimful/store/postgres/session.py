"""How is a session begun, and how do tables and corpora come to be? Texts with a NUL are kept, too."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import psycopg
from psycopg import sql
from psycopg.conninfo import make_conninfo
from psycopg.types.string import StrDumper, TextBinaryLoader, TextLoader

from brimful.errors import InputError, StoreAccessError, StoreVersionError
from brimful.patterns import compiled
from brimful.store.address import Address
from brimful.store.cursors import Cursor
from brimful.store.postgres import layout
from brimful.store.postgres.cursor import Connection, PostgresCursor
from brimful.store.postgres.errors import NOT_YOURS, translated, without
from brimful.store.store import new_store

CONNECT_SECONDS, STATEMENT_SECONDS = 10, 600
WAIT_SECONDS = 120
"""How long a writer waits for another one: a document of gigabytes is one commit, too."""
_SETUP_LOCK = 0x4252_494D  # "BRIM"


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
    if version is None or version < layout.VERSION:
        if not make:
            raise InputError(f"there is no store at {address}; make it: brimful add PATH --store ADDRESS")
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
        raise StoreAccessError(NOT_YOURS.format(address=address))
    if connection.execute("SELECT to_regclass('versions')").fetchone() == (None,):
        return None
    row = connection.execute("SELECT max(version) FROM versions").fetchone()
    return int(row[0]) if row and row[0] is not None else None


def _migrate(connection: Connection, address: Address) -> None:
    """Make the tables, or bring them to this version; whoever comes second finds it done."""
    with connection.transaction():
        connection.execute("SELECT pg_advisory_xact_lock(%s)", (_SETUP_LOCK,))
        version = _version(connection, address)
        if version is None:
            connection.execute(f"CREATE SCHEMA IF NOT EXISTS {address.schema}")
            connection.execute(layout.first())
            _index_terms(connection)
            version = 1
        for number in range(version + 1, layout.VERSION + 1):
            connection.execute(layout.MIGRATIONS[number])
            connection.execute("UPDATE versions SET version = %s", (number,))


def _index_terms(connection: Connection) -> None:
    """Where the server has pg_trgm, words are found by likeness and by any part."""
    found = connection.execute(
        "SELECT nspname FROM pg_catalog.pg_opclass AS kind JOIN pg_catalog.pg_namespace AS place "
        "ON place.oid = kind.opcnamespace WHERE opcname = 'gin_trgm_ops'"
    ).fetchone()
    if found is not None:
        kind = sql.Identifier(found[0], "gin_trgm_ops")
        connection.execute(sql.SQL("CREATE INDEX terms_by_likeness ON all_terms USING gin (term {})").format(kind))


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
    connection.execute("SELECT pg_advisory_xact_lock(%s)", (_SETUP_LOCK,))
    found = _known(connection, address)
    if found is not None:  # another process was faster
        return found
    statement = "SELECT number FROM corpora WHERE name = %s"
    row = connection.execute(statement, (address.corpus,)).fetchone()
    if row is None:
        row = connection.execute(
            "INSERT INTO corpora (name) VALUES (%s) ON CONFLICT DO NOTHING RETURNING number", (address.corpus,)
        ).fetchone()
    if row is None:
        raise StoreAccessError(NOT_YOURS.format(address=address))
    connection.execute("SELECT set_config('brimful.corpus', %s, false)", (str(row[0]),))
    connection.execute("INSERT INTO counters VALUES (0, 0)")
    new_store(PostgresCursor(connection, corpus=row[0]))
    found = _known(connection, address)
    assert found is not None
    return found


class ServerState(NamedTuple):
    """What a server has, and what a role may do there."""

    version: str
    role: str
    connections: int
    most: int
    has_trigrams: bool
    may_write: bool
    is_above: bool  # row-level security does not hold for it


def server_of(address: Address) -> ServerState:
    """Look at the server of a corpus that is there."""
    with reading(address) as cursor:
        (found,) = cursor.fetch(
            "SELECT current_setting('server_version'), current_user::text, "
            "(SELECT count(*) FROM pg_catalog.pg_stat_activity WHERE backend_type = 'client backend'), "
            "current_setting('max_connections')::int, "
            "EXISTS (SELECT FROM pg_catalog.pg_extension WHERE extname = 'pg_trgm'), "
            "has_table_privilege('all_documents', 'INSERT'), NOT row_security_active('all_documents')"
        )
    return ServerState(*found)


# ---- texts: PostgreSQL holds none with a NUL, and a path may have one


def _escaped(text: str) -> str:
    """A text without NUL, in the same order as others.

    >>> _escaped("a\\0b\\1") == "a\\1\\1b\\1\\2" and _plain(_escaped("a\\0b\\1")) == "a\\0b\\1"
    True
    """
    return text.replace("\1", "\1\2").replace("\0", "\1\1") if "\1" in text or "\0" in text else text


def _plain(text: str) -> str:
    return _PAIR.sub(lambda pair: "\0" if pair[0] == "\1\1" else "\1", text) if "\1" in text else text


_PAIR = compiled("\1[\1\2]")


class _TextDumper(StrDumper):
    def dump(self, obj: str) -> Any:
        return super().dump(_escaped(obj))


class _TextLoader(TextLoader):
    def load(self, data: Any) -> Any:
        return _plain(super().load(data))  # type: ignore[arg-type]  # the connection's encoding is known


class _TextBinaryLoader(TextBinaryLoader):
    def load(self, data: Any) -> Any:
        return _plain(super().load(data))  # type: ignore[arg-type]  # likewise
