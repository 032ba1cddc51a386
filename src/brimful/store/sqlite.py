"""The embedded store: one SQLite file, one writer, many readers across processes."""

from __future__ import annotations

import errno
import os
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, NamedTuple, Self
from urllib.parse import quote

import apsw
import numpy as np
from blake3 import blake3

from brimful.corpus.streaming import LongDocument
from brimful.errors import (
    CorruptError,
    MissingPartError,
    StoreBusyError,
    StoreError,
    StoreFullError,
    StoreVersionError,
)
from brimful.index.build import Extent
from brimful.index.coding import default_embedder
from brimful.index.embedders import Embedder, check_same_model
from brimful.index.quantised import Bytes
from brimful.store import remembered
from brimful.store.laying import SEGMENT_BYTES, Laid, drop_segment, grouped, mask, rename_card, write_segment
from brimful.store.locking import turn
from brimful.store.merging import batches, crowded, merge
from brimful.store.merkle import bucket_of, leaf_hash, root_of, state_root
from brimful.store.meta import (
    bucket_roots,
    check_rules,
    checked_leaves,
    checked_roots,
    find_meta,
    layout_of,
    sealed_meta,
    stored_model,
    write_meta,
    write_rules,
)
from brimful.store.pages import checkpoint, next_version, version_of
from brimful.store.preparing import Entry, Prepared, Row, built, model_of, pieces, prepare, row_of
from brimful.store.remembered import KnownVectors
from brimful.store.schema import APPLICATION_ID, DAMAGED, TABLES, VERSION, fetch, seal_of
from brimful.store.shelf import Shelf, check_seal
from brimful.store.snapshot import SqliteSnapshot
from brimful.store.views import SqliteSegment
from brimful.text.kinds import kind_of

__all__ = ["Entry", "Origins", "SqliteStore"]

LOG_PAGES = 1_000
"""Pages that the write-ahead log gathers before they are moved into the file."""

LOG_BYTES = 64 << 20
"""What the log keeps of the disk when a larger transaction has been moved."""

BUSY_SECONDS = 10
"""How long a writer waits for another one."""

BESIDE_MILLISECONDS = 250
"""How long a question waits for a writer before its vectors are not remembered."""

_NOT_WRITABLE = (
    "{path} can't be written to: it is on a read-only file system, or you may not; it can be asked, and a copy in a "
    "place that you may write to can be changed (--store)"
)
_NO_ROOM = (errno.ENOSPC, errno.EFBIG, errno.EDQUOT)  # SQLite itself knows the first one only
_SNIFFED = 65_536
_FREE_PART = 5


class Origins(NamedTuple):
    """What is stored of one file."""

    stamp: str | None
    paths: list[str]


class TakenError(Exception):
    """A path became that of another document since it was chosen; never leaves the package."""


class SqliteStore:
    """A corpus in one file.

    >>> import tempfile
    >>> from brimful import Document
    >>> folder = tempfile.mkdtemp()
    >>> with SqliteStore(Path(folder, "store.db")) as store:
    ...     added = store.add([Entry(Document("tea.md", "Tea at four."))])
    ...     with store.snapshot() as now:
    ...         [row.path for row in now.rows()], now.census(b"tea")
    (['tea.md'], 1)
    """

    def __init__(
        self, path: Path, *, embedder: Embedder | Literal["default"] | None = "default", outdated: bool = False
    ) -> None:
        """Open a store, or make one.

        The embedder makes a code for each unit: the static table where the `semantic` extra is installed, None
        for a store without vectors. `outdated` opens one whose terms were made by other rules, to `rebuild` it.
        """
        self.path = path
        self._chosen = embedder
        with _translated(path):
            self._connection, self._is_fixed = _opened(path)
            _prepare(self._connection, path)
            self._outdated = check_rules(self._connection.cursor(), path, refuse=not outdated)
            model = find_meta(self._connection.cursor(), "model")
        if model is not None and embedder is not None and embedder != "default" and not outdated:
            check_same_model(model.decode() or "no embedder", embedder.name)
        self._frames, self._moved = 0, 0
        self._connection.set_wal_hook(self._log_grew)
        self._beside: apsw.Connection | None = None  # for vectors, which are read and written beside documents
        self._beside_lock = threading.Lock()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the file."""
        with self._beside_lock:
            if self._beside is not None:
                self._beside.close()
        if not self._is_fixed:
            with suppress(apsw.ConnectionClosedError):
                checkpoint(self._connection, self.path)
        self._connection.close()

    def _log_grew(self, _connection: apsw.Connection, _name: str, frames: int) -> int:
        self._frames = frames
        return apsw.SQLITE_OK

    def _move_log(self, connection: apsw.Connection, frames: int) -> None:
        """Move the write-ahead log into the file each time that it has grown by so many pages."""
        self._moved = min(self._moved, frames)
        # A reader can keep the log from being moved, and it grows: the longer it is, the less often it is tried.
        if frames - self._moved >= max(LOG_PAGES, self._moved // 2):
            checkpoint(connection, self.path)
            self._moved = frames

    def snapshot(self) -> SqliteSnapshot:
        """The corpus as it is now, on a connection of its own; later commits do not change it."""
        with _translated(self.path):
            return SqliteSnapshot(opened_to_read(self.path))

    def generation(self) -> int:
        """How many commits there have been, by whichever process."""
        with _translated(self.path):
            return int.from_bytes(sealed_meta(self._connection.cursor(), "generation"), "big")

    # ---- writing

    def add(self, entries: Iterable[Entry]) -> int:
        """Store documents, replacing those of the same path; each batch is committed at once. Returns how many."""
        batch: list[Entry] = []
        count, size = 0, 0
        for entry in entries:
            if isinstance(entry.document, LongDocument):
                count += (self._commit(batch) if batch else 0) + self._commit_long(entry, entry.document)
                batch, size = [], 0
                continue
            batch.append(entry)
            size += len(entry.document)
            if size >= SEGMENT_BYTES:
                count, batch, size = count + self._commit(batch), [], 0
        count += self._commit(batch) if batch else 0
        self.tidy()
        return count

    def remove(self, paths: Iterable[str]) -> int:
        """Forget documents; their text stays in the file until it is compacted or purged. Returns how many."""
        with turn(self.path, wait_seconds=BUSY_SECONDS):
            return self.remove_of(None, paths)

    def remove_of(self, prefix: str | None, paths: Iterable[str]) -> int:
        """The same for whoever has the turn; of a root, only what comes from below it."""
        with self._writing() as cursor:
            gone = self._forget(cursor, paths, only=prefix)
            if gone:
                self._finish(cursor, touched={bucket_of(path) for path in gone})
        return len(gone)

    def _commit(self, batch: Sequence[Entry]) -> int:
        return self.write(prepare(batch, self.embedder()))

    def write(self, prepared: Prepared, *, prefix: str | None = None) -> int:
        """Commit a batch that was prepared, replacing documents of the same path. Returns how many.

        With the prefix of a root, a TakenError where one of the paths is that of a document from elsewhere.
        """
        with self._writing() as cursor:
            self._note_model(cursor, prepared.model)
            paths = [row.path for row in prepared.rows]
            if prefix is not None:
                _check_taken(cursor, paths, prefix)
            self._forget(cursor, paths)
            numbers = np.array(self._insert(cursor, prepared.rows, prepared.maps), np.int64)
            for packed, owners in prepared.segments:
                write_segment(cursor, packed, numbers[owners])
            self._finish(cursor, touched={bucket_of(path) for path in paths})
        return len(paths)

    def _commit_long(self, entry: Entry, document: LongDocument) -> int:
        """Lay a document down piece by piece, in one transaction: memory holds a piece, and nobody sees a half."""
        embedder = self.embedder()
        with self._writing() as cursor:
            self._note_model(cursor, model_of(embedder))
            self._forget(cursor, [document.path])
            numbers = np.array(self._insert(cursor, [row_of(entry)], {}), np.int64)
            for start, part in pieces(document):  # a segment each takes half the memory; merging makes fewer of them
                laid = Laid(0, start, Extent(part, document.kind, document.language))
                write_segment(cursor, built([laid], embedder), numbers)
            self._finish(cursor, touched={bucket_of(document.path)})
        return 1

    @contextmanager
    def _writing(self) -> Iterator[apsw.Cursor]:
        """One transaction: all of it or nothing."""
        if self._is_fixed:
            raise StoreError(_NOT_WRITABLE.format(path=self.path))
        with _translated(self.path):
            with _transaction(self._connection) as cursor:
                self._connection.pragma("user_version", next_version(self._connection.pragma("user_version")))
                yield cursor
            self._move_log(self._connection, self._frames)

    def _insert(self, cursor: apsw.Cursor, rows: Sequence[Row], maps: Mapping[int, bytes]) -> range:
        """Put documents into their table; returns their numbers."""
        ((first,),) = fetch(cursor, "SELECT coalesce(max(number), 0) + 1 FROM documents")
        numbers = range(first, first + len(rows))
        sealed = ((number, *row, seal_of(number, *row)) for number, row in zip(numbers, rows, strict=True))
        cursor.executemany(f"INSERT INTO documents VALUES ({'?, ' * (len(Row._fields) + 1)}?)", sealed)  # noqa: S608
        for at, data in maps.items():
            cursor.execute("INSERT INTO maps VALUES (?, ?, ?)", (numbers[at], data, seal_of(numbers[at], data)))
        return numbers

    def embedder(self) -> Embedder | None:
        """Who makes the codes of what is added now: whoever made those that are there."""
        if self._outdated:
            raise StoreVersionError(f"the terms of {self.path} were made by other rules; rebuild() it before adding")
        model = find_meta(self._connection.cursor(), "model")
        if model == b"":
            return None
        embedder = default_embedder() if self._chosen == "default" else self._chosen
        if model is not None and embedder is None:
            raise MissingPartError(
                f"{self.path} has vectors of {model.decode()!r}, and no embedder is at hand to add to them; "
                "pip install brimful[semantic], or open the store with its embedder"
            )
        if model is not None and embedder is not None:
            check_same_model(model.decode(), embedder.name)
        return embedder

    def _note_model(self, cursor: apsw.Cursor, name: str) -> None:
        """The first commit decides whose vectors a store has."""
        if find_meta(cursor, "model") is None:
            write_meta(cursor, "model", name.encode())
        elif (stored_model(cursor) or "") != name:
            raise StoreBusyError(f"another process began {self.path} with other vectors; try again")

    def _forget(self, cursor: apsw.Cursor, paths: Iterable[str], *, only: str | None = None) -> list[str]:
        gone: dict[int, str] = {}
        for path in paths:
            for number, origin in fetch(cursor, "SELECT number, origin FROM documents WHERE path = ?", (path,)):
                if only is not None and not (origin or "").startswith(only):
                    continue  # it has become another's since it was listed
                cursor.execute("DELETE FROM documents WHERE number = ?", (number,))
                cursor.execute("DELETE FROM maps WHERE document = ?", (number,))
                gone[number] = path
        if gone:
            mask(cursor, list(gone))
        return list(gone.values())

    def _finish(self, cursor: apsw.Cursor, *, touched: Iterable[int]) -> None:
        """Bring the state root and the generation up to date; the last step of every commit."""
        checked_roots(cursor, sealed_meta(cursor, "root"))
        changed = _leaves(cursor, sorted(set(touched)))
        cursor.executemany(
            "INSERT OR REPLACE INTO buckets VALUES (?, ?)",
            [(bucket, root_of(leaves)) for bucket, leaves in changed.items() if leaves],
        )
        gone = [(bucket,) for bucket, leaves in changed.items() if not leaves]
        cursor.executemany("DELETE FROM buckets WHERE number = ?", gone)
        roots = bucket_roots(cursor)
        generation = int.from_bytes(sealed_meta(cursor, "generation"), "big") + 1
        for key, value in (("root", state_root(roots)), ("generation", generation.to_bytes(8, "big"))):
            write_meta(cursor, key, value)
        write_meta(cursor, "layout", layout_of(cursor, generation))

    # ---- where documents came from

    def origins(self, prefix: str) -> dict[str, Origins]:
        """What is stored of each file below a root: its stamp and the paths of its documents."""
        found: dict[str, Origins] = {}
        statement = "SELECT origin, stamp, path FROM documents WHERE origin >= ? AND origin < ? ORDER BY path"
        with _translated(self.path):
            for origin, stamp, path in fetch(self._connection.cursor(), statement, (prefix, prefix[:-1] + "0")):
                found.setdefault(origin.removeprefix(prefix), Origins(stamp, [])).paths.append(path)
        return found

    def owner(self, path: str) -> str | None:
        """The origin of the document of that path; an empty one where it has none."""
        with _translated(self.path):
            found = fetch(self._connection.cursor(), "SELECT origin FROM documents WHERE path = ?", (path,))
        return (found[0][0] or "") if found else None

    def is_taken(self, path: str, *, prefix: str) -> bool:
        """Whether a file of that path would replace documents that do not come from below a root."""
        statement = "SELECT origin FROM documents WHERE path = ? OR (path > ? AND path < ?)"
        with _translated(self.path):
            found = fetch(self._connection.cursor(), statement, (path, f"{path}#/", f"{path}#:"))
        return any(not (origin or "").startswith(prefix) for (origin,) in found)

    def has_others(self, prefix: str) -> bool:
        """Whether there are documents that do not come from below a root."""
        statement = "SELECT 1 FROM documents WHERE {} LIMIT 1"
        conditions = {"origin IS NULL": (), "origin < ?": (prefix,), "origin >= ?": (prefix[:-1] + "0",)}
        with _translated(self.path):
            cursor = self._connection.cursor()
            return any(fetch(cursor, statement.format(each), values) for each, values in conditions.items())

    def remember_root(self, prefix: str, name: str) -> None:
        """Note a place that was added, so that it can be brought up to date later."""
        if self.roots().get(prefix) != name:
            with self._writing() as cursor:
                cursor.execute("INSERT OR REPLACE INTO roots VALUES (?, ?, ?)", (prefix, name, seal_of(prefix, name)))

    def roots(self) -> dict[str, str]:
        """The places that were added, with their names."""
        with _translated(self.path):
            rows = fetch(self._connection.cursor(), "SELECT path, name, seal FROM roots ORDER BY path")
        for path, name, seal in rows:
            check_seal("the list of added places", seal, path, name)
        return {path: name for path, name, _ in rows}

    def rename(self, old: str, new: str, *, origin: str | None = None) -> bool:
        """Give a document another path without indexing it again; False where its kind would change with it."""
        with self._writing() as cursor, self.snapshot() as now:
            row = now.row(old)
            if row is None or now.row(new) is not None:
                return False
            if kind_of(new, now.read(row.number, 0, min(row.length, _SNIFFED))) != (row.kind, row.language):
                return False
            hasher = blake3(len(new.encode()).to_bytes(8, "big") + new.encode())
            for start, end in now.extents(row.number):
                hasher.update(now.read(row.number, start, end))
            (values,) = fetch(cursor, "SELECT * FROM documents WHERE number = ?", (row.number,))
            number, _, _, content_hash, _, _, length, time, kind, language, rule, title, _, stamp, _ = values
            leaf = leaf_hash(new, time, content_hash)
            kept = (length, time, kind, language, rule, title)
            values = (number, new, hasher.digest(), content_hash, leaf, bucket_of(new), *kept, origin, stamp)
            cursor.execute("DELETE FROM documents WHERE number = ?", (number,))
            cursor.execute(f"INSERT INTO documents VALUES ({'?, ' * len(values)}?)", (*values, seal_of(*values)))  # noqa: S608
            rename_card(cursor, now.home(number), number, new)
            self._finish(cursor, touched={bucket_of(old), bucket_of(new)})
        return True

    # ---- vectors of texts

    def vectors_known(self, model: str, keys: Sequence[bytes], *, width: int) -> KnownVectors:
        """What is remembered of texts by now, whichever process embedded them; `index.quantised.text_key` makes keys.

        A row that is not what was written is a CorruptError: it must not become another ranking.
        """
        with _translated(self.path), self._vectors() as connection:
            return remembered.known(connection.cursor(), model, keys, width=width)

    def remember_vectors(self, model: str, keys: Sequence[bytes], rows: Bytes) -> str | None:
        """Keep the vectors of texts, in one short transaction; returns why not, where they could not be kept.

        No new generation and no other state root comes from it. Where another process writes or the store may not be
        written, nothing is lost but time.
        """
        try:
            with _translated(self.path), self._vectors() as connection:
                with _transaction(connection) as cursor:
                    remembered.remember(cursor, model, keys, rows)
                    connection.pragma("user_version", next_version(connection.pragma("user_version")))
                self._move_log(connection, connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_NOOP)[0])
        except CorruptError:
            raise
        except StoreBusyError:
            return "another process is writing to the store"
        except StoreFullError:
            return "the disk is full"
        except StoreError:
            return "the store may not be written"
        return None

    def retain_vectors(self, model: str, keys: Sequence[bytes]) -> int:
        """Forget a model's vectors of all texts but these; returns how many. `purge` forgets all of them."""
        with self._writing() as cursor:
            return remembered.retain(cursor, model, keys)

    @contextmanager
    def _vectors(self) -> Iterator[apsw.Connection]:
        """A connection of its own: questions remember while another thread may be adding documents."""
        with self._beside_lock:
            if self._beside is None:
                self._beside = _opened(self.path)[0]
                self._beside.set_busy_timeout(BESIDE_MILLISECONDS)
                self._beside.wal_autocheckpoint(0)
                self._beside.pragma("synchronous", "normal")  # the last ones may be lost with the power: made again
            yield self._beside

    # ---- keeping house

    def compact(self) -> None:
        """Lay all live documents down anew, without what was deleted, in as few segments as there can be."""
        with self._writing() as cursor:
            for batch in list(batches(_views(cursor))):
                if len(batch) > 1 or batch[0].dead:
                    merge(cursor, batch)
            self._finish(cursor, touched=())

    def purge(self) -> None:
        """Compact, then leave no byte of deleted content in the file or its journal."""
        with turn(self.path, wait_seconds=BUSY_SECONDS), _translated(self.path):
            self._connection.pragma("secure_delete", "on")
            with self._writing() as cursor:
                remembered.forget(cursor)
            self.compact()
            self._connection.execute("VACUUM")
            checkpoint(self._connection, self.path)
            self._connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)

    def tidy(self) -> None:
        """Merge segments before there are many of them: each look-up visits every segment.

        Everything is committed by then: where there is no room or another process writes, it waits for the next time.
        """
        if self._is_fixed:
            return
        with suppress(StoreFullError, StoreBusyError):
            while crowded(_views(self._connection.cursor())):
                with self._writing() as cursor:
                    chosen = crowded(_views(cursor))
                    if chosen:
                        merge(cursor, chosen)
                        self._finish(cursor, touched=())
            # Commits fill what merging left free; give it back only where it is much.
            if _FREE_PART * self._connection.pragma("freelist_count") > self._connection.pragma("page_count"):
                with self._writing() as cursor:
                    fetch(cursor, "PRAGMA incremental_vacuum")

    def rebuild(self) -> None:
        """Index all stored text again, by today's rules and with the embedder that the store was opened with."""
        embedder = default_embedder() if self._chosen == "default" else self._chosen
        with self._writing() as cursor, self.snapshot() as now:
            kinds = {row.number: (row.kind, row.language) for row in now.rows()}
            old = now.segments()
            laid = (
                Laid(number, start, Extent(now.read(number, start, end), *kinds[number]))
                for number in sorted(kinds)
                for start, end in now.extents(number)
            )
            for group in grouped(laid):
                write_segment(cursor, built(group, embedder), np.array([each.document for each in group]))
            for segment in old:
                drop_segment(cursor, segment.number)
            write_meta(cursor, "model", model_of(embedder).encode())
            write_rules(cursor)
            self._finish(cursor, touched=())
        self._outdated = False
        self.tidy()


def _check_taken(cursor: apsw.Cursor, paths: Iterable[str], prefix: str) -> None:
    for path in paths:
        for (origin,) in fetch(cursor, "SELECT origin FROM documents WHERE path = ?", (path,)):
            if not (origin or "").startswith(prefix):
                raise TakenError(path)


def _views(cursor: apsw.Cursor) -> list[SqliteSegment]:
    shelf, coded = Shelf(cursor), stored_model(cursor) is not None
    return [SqliteSegment(shelf, row, coded=coded) for row in shelf.segments()]


_LEAVES = "SELECT bucket, leaf FROM documents WHERE bucket IN ({marks}) ORDER BY bucket, path"
_AT_ONCE = 500  # values in one statement


def _leaves(cursor: apsw.Cursor, buckets: Sequence[int]) -> dict[int, list[bytes]]:
    """The leaves of some buckets, by path."""
    found: dict[int, list[tuple[Any, ...]]] = {bucket: [] for bucket in buckets}
    for first in range(0, len(buckets), _AT_ONCE):
        part = tuple(buckets[first : first + _AT_ONCE])
        for bucket, leaf in fetch(cursor, _LEAVES.format(marks=", ".join("?" * len(part))), part):
            found[bucket].append((leaf,))
    return {bucket: checked_leaves(rows) for bucket, rows in found.items()}


def _opened(path: Path) -> tuple[apsw.Connection, bool]:
    """A connection to write by; where nobody can write, one to read by, and True."""
    connection = apsw.Connection(str(path))
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
    """A connection to look at a file by, wherever it lies."""
    connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        _configure(connection)
        fetch(connection.cursor(), "SELECT name FROM sqlite_schema LIMIT 1")
    except (apsw.CantOpenError, apsw.ReadOnlyError):
        connection.close()
        return _opened_fixed(path)
    return connection


def _opened_fixed(path: Path) -> apsw.Connection:
    """A connection to a file that can't change under us: SQLite then needs no files beside it."""
    log = path.with_name(f"{path.name}-wal")
    if log.exists() and log.stat().st_size:
        raise StoreError(
            f"{path} can't be written to, and its last commits are still in {log.name}; copy the store with all files "
            "of its name to a place that you may write to, and open it there"
        )
    flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
    connection = apsw.Connection(f"file:{quote(str(path))}?immutable=1", flags=flags)
    _configure(connection)
    return connection


def _configure(connection: apsw.Connection) -> None:
    connection.set_busy_timeout(BUSY_SECONDS * 1_000)
    connection.pragma("cell_size_check", "on")
    connection.pragma("mmap_size", 0)
    connection.pragma("journal_size_limit", LOG_BYTES)


def _prepare(connection: apsw.Connection, path: Path) -> None:
    """Make a new store, or see that this is one that we can read."""
    found, version = connection.pragma("application_id"), version_of(connection.pragma("user_version"))
    tables = fetch(connection.cursor(), "SELECT name FROM sqlite_schema")
    if found == APPLICATION_ID and version == VERSION:
        return
    if found == APPLICATION_ID:
        raise StoreVersionError(
            f"{path} has schema version {version}, this program reads {VERSION}; open it with the Brimful that made it"
        )
    if tables or found:
        raise StoreVersionError(f"{path} is a SQLite file, but not a Brimful store; name another path")
    connection.pragma("page_size", 8_192)
    connection.pragma("auto_vacuum", "incremental")
    connection.pragma("journal_mode", "wal")
    connection.pragma("synchronous", "full")
    with _transaction(connection) as cursor:
        if version_of(connection.pragma("user_version")) == VERSION:  # another process was faster
            return
        cursor.execute(TABLES)
        for key, value in (("generation", (0).to_bytes(8, "big")), ("root", state_root({}))):
            write_meta(cursor, key, value)
        write_rules(cursor)
        connection.pragma("application_id", APPLICATION_ID)
        connection.pragma("user_version", VERSION)


@contextmanager
def _transaction(connection: apsw.Connection) -> Iterator[apsw.Cursor]:
    """All of it or nothing; a limit on a file's size is a full disk, too."""
    cursor = connection.cursor()
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
    """SQLite's errors in our words."""
    try:
        yield
    except apsw.BusyError as error:
        raise StoreBusyError(f"{path} is being written by another process; try again, or wait longer") from error
    except apsw.FullError as error:
        raise StoreFullError(f"no room left for {path}; free some disk space, what was committed is intact") from error
    except DAMAGED as error:
        raise CorruptError(f"{path} is damaged ({error}); restore it or index the sources again") from error
    except (apsw.ReadOnlyError, apsw.PermissionsError) as error:
        raise StoreError(_NOT_WRITABLE.format(path=path)) from error
    except apsw.IOError as error:
        raise StoreError(f"{path} can't be read or written: {error}") from error
    except apsw.CantOpenError as error:
        raise StoreError(f"{path} can't be opened: does its folder exist, and may you write there?") from error
