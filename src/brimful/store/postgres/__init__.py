"""The server's store: a corpus on PostgreSQL, many writers, many readers, and the bytes that a file would have.

A commit is one transaction, and writers of one corpus wait for each other inside of it, no longer than it takes to send
what was prepared before. A question reads one snapshot (repeatable read), which ends with it; the next one asks first
which generation is the newest. Segments never change once written, and their numbers are never given again: a reader
keeps their blobs, up to a size.
"""

from __future__ import annotations

from brimful.errors import MissingPartError, install

try:
    import psycopg  # noqa: F401
except ImportError as error:
    raise MissingPartError(f"psycopg is not installed; install it: {install('postgres')}") from error

from brimful.store.postgres.session import reading
from brimful.store.postgres.store import PostgresStore

__all__ = ["PostgresStore", "reading"]
