"""The embedded store: one SQLite file, one writer at a time, many readers across processes."""

from __future__ import annotations

import ctypes
import errno
import os
import threading
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext, suppress
from functools import cache
from pathlib import Path
from urllib.parse import quote

import apsw
import apsw.sqlite_extra

from brimful.errors import (
    MissingPartError,
    StoreBusyError,
    StoreError,
    StoreFullError,
    StoreVersionError,
)
from brimful.store import remembered
from brimful.store.format import APPLICATION_ID, TABLES, VERSION, Cursor, SqliteCursor, damage, fetch
from brimful.store.snapshot import StoredSnapshot
from brimful.store.state import begin, generation_of
from brimful.store.store import BUSY_SECONDS, Store

# ---- turns
#
# A commit is all or nothing. Adding a folder takes many commits and decides names by what is there, so two processes
# that add take turns: a lock on a file next to the store, which the system releases with the process, however it ends.

try:
    import fcntl
except ImportError:  # Windows
    import msvcrt

_LOCK_SUFFIX = "-lock"
_LOOK_SECONDS = 0.02
_FLAGS = os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0)


@contextmanager
def turn(path: Path, *, wait_seconds: float | None) -> Iterator[None]:
    """Hold the store for a change of several commits; None waits without an end."""
    lock = path.with_name(path.name + _LOCK_SUFFIX)
    try:
        descriptor = os.open(lock, _FLAGS, 0o600)
    except OSError as error:
        raise StoreError(
            f"{lock} can't be written ({error.strerror}), so {path} can't be changed; copy the store to a place that "
            "you may write to, or name another one with --store"
        ) from error
    try:
        until = None if wait_seconds is None else time.monotonic() + wait_seconds
        while not _locked(descriptor):
            if until is not None and time.monotonic() >= until:
                raise StoreBusyError(f"another process is adding to {path}; try again when it has finished")
            time.sleep(_LOOK_SECONDS)
        yield
    finally:
        with suppress(OSError):
            os.close(descriptor)


def _locked(descriptor: int) -> bool:
    try:
        if "fcntl" in globals():
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        else:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined,unused-ignore]
    except OSError:
        return False
    return True


# ---- the store

LOG_PAGES = 1_000
"""Pages that the write-ahead log gathers before they are moved into the file."""

_LOG_BYTES = 64 << 20
"""The room on disk that the log keeps after a larger transaction."""

BESIDE_MILLISECONDS = 250
"""How long a question waits for a writer before its vectors are not remembered."""

_NOT_WRITABLE = (
    "{path} can't be written to: it is on a read-only file system, or you may not; it can be asked, and a copy in a "
    "place that you may write to can be changed (--store)"
)
# Readers and writers share 32 KB in a file next to the store.
_NO_SHARED_MEMORY = (apsw.SQLITE_IOERR_SHMSIZE, apsw.SQLITE_IOERR_SHMOPEN, apsw.SQLITE_IOERR_SHMMAP)
_NO_ROOM = (errno.ENOSPC, errno.EFBIG, errno.EDQUOT)  # SQLite itself knows the first one only
_FREE_PART = 5
_CHECKSUM_BYTES = 8  # at the end of every page
_LOADING = threading.Lock()


class SqliteStore(Store):
    """A corpus in one file.

    >>> import tempfile
    >>> from brimful import Document
    >>> from brimful.store.writing import NewDocument
    >>> folder = tempfile.mkdtemp()
    >>> with SqliteStore(Path(folder, "store.db")) as store:
    ...     added = store.add([NewDocument(Document("tea.md", "Tea at four."))])
    ...     with store.snapshot() as now:
    ...         [row.path for row in now.rows()], now.census(b"tea")
    (['tea.md'], 1)
    """

    path: Path

    def __init__(self, path: Path, *, outdated: bool = False) -> None:
        """Open a store, or make one; `outdated` opens one that other rules made, to `rebuild` it."""
        self.path = path
        self._in_use = threading.RLock()  # the connection that writes; others wait for the commit
        with _translated(path):
            self._connection, self._is_fixed = _opened(path)
            _prepare(self._connection, path)
            self._check_opened(outdated=outdated)
        self._vectors: apsw.Connection | None = None  # their own connection: they do not wait for writers of documents
        self._vectors_lock = threading.Lock()

    def close(self) -> None:
        """Close the file."""
        with self._vectors_lock:
            if self._vectors is not None:
                self._vectors.close()
        self._connection.close()

    def snapshot(self) -> StoredSnapshot:
        """The corpus as it is now, on a separate connection; later commits do not change it."""
        with _translated(self.path):
            cursor = SqliteCursor(opened_to_read(self.path))
            cursor.execute("BEGIN")
            return StoredSnapshot(cursor)

    def pause(self, snapshot: StoredSnapshot) -> None:
        """Nothing: a file has no transaction to end."""

    def turn(self, prefix: str | None = None, *, wait_seconds: float | None) -> AbstractContextManager[None]:  # noqa: ARG002
        """Hold the store for a change of several commits; a file has one writer, whatever it changes."""
        return turn(self.path, wait_seconds=wait_seconds)

    def own_files(self) -> list[Path]:
        """The file, and the files that SQLite and a turn make next to it."""
        path = self.path.resolve()
        suffixes = ("-wal", "-shm", "-journal", _LOCK_SUFFIX)
        return [path, *(path.with_name(path.name + suffix) for suffix in suffixes)]

    def size_bytes(self) -> int:
        """The size of the file once its log has been written into it: what was just committed counts too."""
        with self._reading() as cursor:
            return cursor.size_bytes()

    @contextmanager
    def _writing(self, *, late: bool = False) -> Iterator[Cursor]:  # noqa: ARG002
        """One transaction."""
        if self._is_fixed:
            raise StoreError(_NOT_WRITABLE.format(path=self.path))
        with self._in_use, _translated(self.path), _transaction(self._connection) as cursor:
            yield cursor

    @contextmanager
    def _reading(self) -> Iterator[Cursor]:
        with self._in_use, _translated(self.path):
            yield SqliteCursor(self._connection)

    def generation(self) -> int:
        """The number of commits, by any process or thread; it does not wait for a writer."""
        with self._remembering(write=False) as cursor:
            return generation_of(cursor)

    @property
    def _is_writable(self) -> bool:
        return not self._is_fixed

    @contextmanager
    def _remembering(self, *, write: bool) -> Iterator[Cursor]:
        with _translated(self.path), self._vectors_lock:
            if self._vectors is None:
                self._vectors = _opened(self.path)[0]
                self._vectors.set_busy_timeout(BESIDE_MILLISECONDS)
                self._vectors.pragma("synchronous", "normal")  # vectors that a power cut loses are made again
            with _transaction(self._vectors) if write else nullcontext(SqliteCursor(self._vectors)) as cursor:
                yield cursor

    def purge(self) -> None:
        """Compact, then leave no byte of deleted content in the file or its journal."""
        with self.turn(wait_seconds=BUSY_SECONDS), _translated(self.path):
            self._connection.pragma("secure_delete", "on")
            with self._writing() as cursor:
                remembered.forget(cursor)
            self.compact()
            self._connection.execute("VACUUM")
            self._connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)

    def _give_back(self) -> None:
        """Commits fill what merging left free; give it back only where it is much."""
        if _FREE_PART * self._connection.pragma("freelist_count") > self._connection.pragma("page_count"):
            with self._writing() as cursor:
                cursor.fetch("PRAGMA incremental_vacuum")


@cache
def checksums() -> str:
    """The name of apsw's VFS that writes a checksum into every page and compares it whenever the page is read."""
    try:
        with _LOADING, closing(apsw.Connection(":memory:")) as connection:
            default = apsw.vfs_names()[0]
            apsw.sqlite_extra.load(connection, "cksumvfs")
            apsw.set_default_vfs(default)  # other connections of this process are as they were
    except (LookupError, apsw.sqlite_extra.NotAvailable, apsw.ExtensionLoadingError) as error:
        raise MissingPartError(
            f"apsw {apsw.apsw_version()} was built here without SQLite's checksums of pages ({error}); "
            "install its wheel: pip install --force-reinstall --only-binary apsw apsw"
        ) from error
    return "cksmvfs"


def _opened(path: Path) -> tuple[apsw.Connection, bool]:
    """A connection to write by; where nobody can write, one to read by, and True."""
    connection = apsw.Connection(str(path), vfs=checksums())
    try:
        _configure(connection)
        fetch(connection.cursor(), "SELECT name FROM sqlite_schema LIMIT 1")
    except (apsw.CantOpenError, apsw.ReadOnlyError):
        connection.close()
        if not path.is_file() or os.access(path.parent, os.W_OK):
            raise
        return _opened_fixed(path), True
    return connection, connection.readonly("main")


def opened_to_read(path: Path) -> apsw.Connection:
    """A connection that only reads, wherever the file is."""
    connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY, vfs=checksums())
    try:
        _configure(connection)
        fetch(connection.cursor(), "SELECT name FROM sqlite_schema LIMIT 1")
    except (apsw.CantOpenError, apsw.ReadOnlyError):
        connection.close()
        return _opened_fixed(path)
    return connection


def _opened_fixed(path: Path) -> apsw.Connection:
    """A connection to a file that can't change under us: SQLite then needs no other files."""
    log = path.with_name(f"{path.name}-wal")
    if log.exists() and log.stat().st_size:
        raise StoreError(
            f"{path} can't be written to, and its last commits are still in {log.name}; copy the store with all files "
            "of its name to a place that you may write to, and open it there"
        )
    flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
    connection = apsw.Connection(f"file:{quote(str(path))}?immutable=1", flags=flags, vfs=checksums())
    _configure(connection)
    return connection


def _configure(connection: apsw.Connection) -> None:
    connection.set_busy_timeout(BUSY_SECONDS * 1_000)
    # Before anything is read: while another process makes the file, a page of another size would fail its checksum.
    reserved = ctypes.c_int(_CHECKSUM_BYTES)
    connection.file_control("main", apsw.SQLITE_FCNTL_RESERVE_BYTES, ctypes.addressof(reserved))
    connection.pragma("page_size", 8_192)
    connection.pragma("cell_size_check", "on")
    connection.pragma("mmap_size", 0)
    connection.wal_autocheckpoint(LOG_PAGES)
    connection.pragma("journal_size_limit", _LOG_BYTES)
    connection.pragma("synchronous", "full")  # of each connection, whatever this SQLite was built with


def _prepare(connection: apsw.Connection, path: Path) -> None:
    """Make a new store, or check that this program can read the one that is there."""
    application, version = connection.pragma("application_id"), connection.pragma("user_version")
    tables = fetch(connection.cursor(), "SELECT name FROM sqlite_schema")
    if application == APPLICATION_ID and version == VERSION:
        return
    if application == APPLICATION_ID:
        raise StoreVersionError(
            f"{path} has schema version {version}, this program reads {VERSION}; open it with the Brimful that made it"
        )
    if tables or application:
        raise StoreVersionError(f"{path} is a SQLite file, but not a Brimful store; name another path")
    connection.pragma("auto_vacuum", "incremental")
    connection.pragma("journal_mode", "wal")
    with _transaction(connection) as cursor:
        if connection.pragma("user_version") == VERSION:  # another process was faster
            return
        cursor.execute(TABLES)
        begin(cursor)
        connection.pragma("application_id", APPLICATION_ID)
        connection.pragma("user_version", VERSION)


@contextmanager
def _transaction(connection: apsw.Connection) -> Iterator[SqliteCursor]:
    """One transaction; a limit on a file's size is a full disk, too."""
    cursor = SqliteCursor(connection)
    try:
        cursor.execute("BEGIN IMMEDIATE")
        yield cursor
        cursor.execute("COMMIT")
    except BaseException as error:
        is_full = isinstance(error, apsw.IOError) and connection.system_errno in _NO_ROOM
        if connection.in_transaction:
            cursor.execute("ROLLBACK")
        if is_full:
            raise apsw.FullError(str(error)) from error
        raise


@contextmanager
def _translated(path: Path) -> Iterator[None]:
    """Translate SQLite's errors."""
    try:
        with damage(path):
            yield
    except apsw.BusyError as error:
        raise StoreBusyError(f"{path} is being written by another process; try again, or wait longer") from error
    except apsw.FullError as error:
        raise StoreFullError(f"no room left for {path}; free some disk space, what was committed is intact") from error
    except (apsw.ReadOnlyError, apsw.PermissionsError) as error:
        raise StoreError(_NOT_WRITABLE.format(path=path)) from error
    except apsw.IOError as error:
        if (
            getattr(error, "extendedresult", 0) in _NO_SHARED_MEMORY
        ):  # 32 KB next to the file, which readers share with writers
            raise StoreFullError(f"no room left next to {path}, not even to read it; free some disk space") from error
        raise StoreError(f"{path} can't be read or written: {error}") from error
    except apsw.CantOpenError as error:
        raise StoreError(f"{path} can't be opened: does its folder exist, and may you write there?") from error
