"""The changes of a corpus, on every engine: documents in, one commit at a time; segments merged, renamed, built anew.

An engine (`sqlite`, `postgres`) says how its connections are opened, what a transaction is and what its errors mean;
all else is here, so a corpus has equal bytes on each of them.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np

from brimful.budget import scaled
from brimful.documents.reading import LongDocument
from brimful.errors import CorruptError, StoreBusyError, StoreError, StoreFullError
from brimful.index.build import Extent
from brimful.index.vectors import Bytes
from brimful.store import remembered
from brimful.store.address import Place
from brimful.store.format import ChangedError, Cursor, Value, check_seal, seal_of
from brimful.store.merging import batches, crowded, merge, publish_merged
from brimful.store.remembered import KnownVectors
from brimful.store.rows import Row
from brimful.store.segments import StoredSegment
from brimful.store.snapshot import StoredSnapshot
from brimful.store.state import AT_ONCE, check_rules, commit, generation_of, read_state, write_rules
from brimful.store.writing import (
    SEGMENT_BYTES,
    Batch,
    DocumentExtent,
    NewDocument,
    drop_segment,
    grouped,
    mask,
    pieces,
    prepare,
    publish,
    row_of,
    segments_of,
    send,
    write_segment,
)

BUSY_SECONDS = 10
"""How long a writer waits for another one."""

_SNIFFED = 65_536


class Origins(NamedTuple):
    """The stamp of one file and the paths of its documents."""

    stamp: str | None
    paths: list[str]


class TakenError(Exception):
    """Paths belong to documents from elsewhere; never leaves the package."""

    def __init__(self, paths: Sequence[str]) -> None:
        super().__init__(paths)
        self.paths = frozenset(paths)


class Store(ABC):
    """A corpus that can be changed. A base class, since each engine opens and closes in another way."""

    path: Place
    """Where it is, as people write it."""

    # ---- what an engine says of itself

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @abstractmethod
    def close(self) -> None:
        """Close the connections."""

    @abstractmethod
    def snapshot(self) -> StoredSnapshot:
        """The corpus as it is now, on a separate connection; later commits do not change it."""

    @abstractmethod
    def turn(self, prefix: str | None = None, *, wait_seconds: float | None) -> AbstractContextManager[None]:
        """Hold the store for a change of several commits to what comes from below a root."""

    @abstractmethod
    def own_files(self) -> list[Path]:
        """The files of the store, which are never part of its corpus."""

    @abstractmethod
    def purge(self) -> None:
        """Compact, then leave no byte of deleted content that this program can reach."""

    @abstractmethod
    def size_bytes(self) -> int:
        """How much room it takes."""

    @abstractmethod
    def _writing(self, *, late: bool = False) -> AbstractContextManager[Cursor]:
        """One transaction: all of it or nothing. A late one may send before it takes its turn among writers."""

    @abstractmethod
    def _reading(self) -> AbstractContextManager[Cursor]:
        """Statements that only look."""

    @abstractmethod
    def _remembering(self, *, write: bool) -> AbstractContextManager[Cursor]:
        """A transaction that does not wait for writers of documents."""

    @property
    def _is_writable(self) -> bool:
        return True

    @abstractmethod
    def _give_back(self) -> None:
        """Return room that merging left free, where it is much."""

    def _check_opened(self, *, outdated: bool) -> None:
        """See that this program can go on with what the store holds."""
        if not outdated:
            with self._reading() as cursor:
                check_rules(cursor, self.path)

    def generation(self) -> int:
        """How many commits there have been, by whichever process."""
        with self._reading() as cursor:
            return generation_of(cursor)

    def is_newest(self, snapshot: StoredSnapshot) -> bool:
        """Whether a snapshot holds the newest state; then it can be asked."""
        return snapshot.generation == self.generation()

    @abstractmethod
    def pause(self, snapshot: StoredSnapshot) -> None:
        """Leave a snapshot that nobody asks at the moment."""

    # ---- writing

    def add(self, documents: Iterable[NewDocument]) -> int:
        """Store documents, replacing any of an equal path; each batch is committed at once. Returns how many."""
        batch: list[NewDocument] = []
        count, size = 0, 0
        for new in documents:
            if isinstance(new.document, LongDocument):
                count += self._write_all(batch) + self._commit_long(new, new.document)
                size = 0
                continue
            batch.append(new)
            size += len(new.document)
            if size >= scaled(SEGMENT_BYTES):
                count += self._write_all(batch)
                size = 0
        count += self._write_all(batch)
        self.tidy()
        return count

    def _write_all(self, documents: list[NewDocument]) -> int:
        """Commit documents and empty their list."""
        return self.write(prepare(documents)) if documents else 0

    def remove(self, paths: Iterable[str]) -> int:
        """Delete documents; their text stays in the file until it is compacted or purged. Returns how many."""
        with self.turn(wait_seconds=BUSY_SECONDS):
            return self.remove_of(None, paths)

    def remove_of(self, prefix: str | None, paths: Iterable[str]) -> int:
        """Delete documents during a turn; of a root, only the ones from below it. Returns how many."""
        with self._writing() as cursor:
            gone = {
                number: path
                for number, path, origin in _numbers_of(cursor, paths)
                if prefix is None or (origin or "").startswith(prefix)  # else it has become another's since
            }
            if gone:
                with commit(cursor, gone.values()):
                    _drop(cursor, list(gone))
        return len(gone)

    def write(self, batch: Batch, *, own_prefixes: Sequence[str] | None = None) -> int:
        """Commit a prepared batch, replacing documents of an equal path. Returns how many.

        With the prefixes of roots in `own`, a TakenError where a path belongs to a document from elsewhere.
        """
        with self._writing(late=True) as cursor:
            sent = [send(cursor, segment) for segment in batch.segments]
            cursor.take_turn()
            check_rules(cursor, self.path)
            paths = [row.path for row in batch.rows]
            replaced = list(_numbers_of(cursor, paths))
            if own_prefixes is not None:
                _check_taken(replaced, own_prefixes)
            with commit(cursor, paths):
                _drop(cursor, [number for number, _, _ in replaced])
                rows = self._insert(cursor, batch.rows, batch.maps)
                numbers, cards = np.array([row.number for row in rows], np.int64), [row.card for row in rows]
                for number, segment in zip(sent, batch.segments, strict=True):
                    extents = segment.extents._replace(documents=numbers[segment.extents.documents])
                    publish(cursor, number, extents, segment.length, cards=cards)
        return len(paths)

    def _commit_long(self, new: NewDocument, document: LongDocument) -> int:
        """Store a document piece by piece, in one transaction: memory holds a piece, and nobody sees a half."""
        with self._writing() as cursor:
            check_rules(cursor, self.path)
            with commit(cursor, [document.path]):
                _drop(cursor, [number for number, _, _ in _numbers_of(cursor, [document.path])])
                (row,) = self._insert(cursor, [row_of(new)], {})
                for start, part in pieces(document):  # a segment each takes half the memory; merging makes fewer
                    extent = Extent(part, document.kind, document.language, document.path)
                    write_segment(cursor, [DocumentExtent(row.number, start, extent)])
        return 1

    def _insert(self, cursor: Cursor, rows: Sequence[Row], maps: Mapping[int, bytes]) -> list[Row]:
        """Put documents into their table, with source maps by their place among them; returns them with numbers."""
        ((first,),) = cursor.fetch("SELECT coalesce(max(number), 0) + 1 FROM documents")
        numbered = [row._replace(number=number) for number, row in enumerate(rows, start=first)]
        cursor.executemany(_INSERT, ((*row, seal_of(*row)) for row in numbered))
        sealed_maps = [(first + place, data, seal_of(first + place, data)) for place, data in maps.items()]
        cursor.executemany("INSERT INTO maps VALUES (?, ?, ?)", sealed_maps)
        return numbered

    # ---- where documents came from

    def origins(self, prefix: str) -> dict[str, Origins]:
        """The stamp of each file below a root and the paths of its documents."""
        origins: dict[str, Origins] = {}
        statement = "SELECT origin, stamp, path FROM documents WHERE origin >= ? AND origin < ? ORDER BY path"
        with self._reading() as cursor:
            for origin, stamp, path in cursor.fetch(statement, (prefix, prefix[:-1] + "0")):
                name = origin.removeprefix(prefix)
                origins.setdefault(name, Origins(stamp, [])).paths.append(path)
        return origins

    def owner(self, path: str) -> str | None:
        """The origin of the document of that path; an empty one where it has none."""
        with self._reading() as cursor:
            rows = cursor.fetch("SELECT origin FROM documents WHERE path = ?", (path,))
        return (rows[0][0] or "") if rows else None

    def claim_folder(self, prefix: str, places: Sequence[Named], *, own_prefixes: Sequence[str]) -> str | None:
        """Record the folder that the documents of a root are named in: the first that is free; None where none is.

        A recorded folder stays. `own` are the prefixes of roots at this place, which may share it.
        """
        with self._writing() as cursor:
            roots = _roots(cursor)
            if (recorded := roots.get(prefix)) is not None:
                return recorded
            folders = [folder for root, folder in roots.items() if not root.startswith(tuple(own_prefixes))]
            free = next((place for place in places if _is_free(cursor, place, folders, own_prefixes)), None)
            if free is not None:
                _write_root(cursor, prefix, free.folder)
        return None if free is None else free.folder

    def remember_root(self, prefix: str, folder: str) -> None:
        """Note a place that was added and the folder that its documents are named in, as another store says."""
        if self.roots().get(prefix) != folder:
            with self._writing() as cursor:
                _write_root(cursor, prefix, folder)

    def roots(self) -> dict[str, str]:
        """The places that were added, and the folder that the documents of each are named in."""
        with self._reading() as cursor:
            return _roots(cursor)

    # ---- vectors of texts

    def vectors_known(self, model: str, keys: Sequence[bytes], *, width: int) -> KnownVectors:
        """The remembered vectors of texts, by any process; `index.vectors.text_key` makes keys.

        A row that is not what was written is a CorruptError: it must not become another ranking.
        """
        with self._remembering(write=False) as cursor:
            return remembered.remembered_vectors(cursor, model, keys, width=width)

    def remember_vectors(self, model: str, keys: Sequence[bytes], rows: Bytes) -> str | None:
        """Keep the vectors of texts, in one short transaction; returns why not, where they could not be kept.

        No new generation and no other state root comes from it. Where another process writes or the store may not be
        written, nothing is lost but time.
        """
        return self._kept(lambda cursor: remembered.remember(cursor, model, keys, rows))

    def _kept(self, keep: Callable[[Cursor], None]) -> str | None:
        try:
            with self._remembering(write=True) as cursor:
                keep(cursor)
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
        with self._remembering(write=True) as cursor:
            return remembered.retain(cursor, model, keys)

    # ---- what models answered: rows that `densify.memory` knows the meaning of

    def keeps_answers(self) -> bool:
        """Whether answers and captures lie in this store; else they have a file of their own."""
        return False

    def answers(self, statement: str, values: Sequence[Value] = ()) -> list[tuple[Any, ...]]:  # noqa: ARG002
        """The rows of a statement on them."""
        raise StoreError(f"{self.path} keeps no answers; they have a file of their own")

    def keep_answers(self, statements: Sequence[tuple[str, Sequence[Value]]]) -> None:  # noqa: ARG002
        """Some statements on them, all or none, committed when this returns; no new generation comes from it."""
        raise StoreError(f"{self.path} keeps no answers; they have a file of their own")

    # ---- keeping house

    def compact(self) -> None:
        """Lay all live documents down anew, without deleted text, in as few segments as there can be."""
        with self._writing() as cursor, commit(cursor):
            for batch in list(batches(segments_of(cursor))):
                if len(batch) > 1 or batch[0].dead:
                    publish_merged(cursor, merge(cursor, batch), batch)

    def tidy(self) -> None:
        """Merge segments before there are many of them: each look-up visits every segment.

        Everything is committed by then: where there is no room or another process writes, it waits for the next time.
        """
        if not self._is_writable:
            return
        with suppress(StoreFullError, StoreBusyError, ChangedError):
            while self._is_crowded():
                with self._merging() as (cursor, segments):
                    chosen = crowded(segments)
                    if chosen:
                        self._merge(cursor, chosen)
            self._give_back()

    def _merge(self, cursor: Cursor, segments: Sequence[StoredSegment]) -> None:
        """Commit one segment in the place of some, where they are still as they were read."""
        merged = merge(cursor, segments)
        cursor.take_turn([seal for segment in segments for seal in segment.changing()])
        with commit(cursor):
            publish_merged(cursor, merged, segments)

    @contextmanager
    def _merging(self) -> Iterator[tuple[Cursor, Sequence[StoredSegment]]]:
        """A transaction, and the segments that it may merge."""
        with self._writing() as cursor:
            read_state(cursor)
            yield cursor, segments_of(cursor)

    def _is_crowded(self) -> bool:
        with self._reading() as cursor:
            return bool(crowded(segments_of(cursor)))

    def rebuild(self) -> None:
        """Index all stored text again, by the rules of this program."""
        with self._writing() as cursor, self.snapshot() as now, commit(cursor):
            kinds = {row.number: (row.kind, row.language, row.path) for row in now.rows()}
            outdated = now.segments()
            extents = (
                DocumentExtent(number, start, Extent(now.read(number, start, end), *kinds[number]))
                for number in sorted(kinds)
                for start, end in now.extents(number)
            )
            for group in grouped(extents):
                write_segment(cursor, group)
            for segment in outdated:
                drop_segment(cursor, segment.number)
            write_rules(cursor)
        self.tidy()


def place_below(prefix: str) -> str:
    """The file, folder or glob of a root's prefix, as `Engine.add` takes it.

    >>> place_below("/notes//"), place_below("/notes?*.md//")
    ('/notes', '/notes/*.md')
    """
    path = prefix.removesuffix("//")
    folder, mark, glob = path.rpartition("?")
    return f"{folder}/{glob}" if mark and not os.path.lexists(path) else path or "/"


class Named(NamedTuple):
    """The name of a root's documents: a folder (`docs/`, or none), of a single file its name there."""

    folder: str
    file: str = ""


def folder_above(roots: Mapping[str, str], path: str) -> str | None:
    """The added place in whose folder a path lies, whether it has such a file or not."""
    return next((place for place, folder in roots.items() if folder.endswith("/") and path.startswith(folder)), None)


def _roots(cursor: Cursor) -> dict[str, str]:
    rows = cursor.fetch("SELECT path, name, seal FROM roots ORDER BY path")
    for path, name, seal in rows:
        check_seal("the list of added places", seal, path, name)
    return {path: name for path, name, _ in rows}


def _write_root(cursor: Cursor, prefix: str, folder: str) -> None:
    cursor.execute("DELETE FROM roots WHERE path = ?", (prefix,))
    cursor.execute("INSERT INTO roots VALUES (?, ?, ?)", (prefix, folder, seal_of(prefix, folder)))


def _is_free(cursor: Cursor, place: Named, folders: Iterable[str], own_prefixes: Sequence[str]) -> bool:
    """Whether a root may name its documents there: no other folder overlaps it, no other document is in it."""
    folder, file = place
    for neighbour in filter(None, folders if folder else ()):
        if folder.startswith(neighbour) or (not file and neighbour.startswith(folder)):
            return False
    if file:
        path = folder + file
        origins = cursor.fetch(
            "SELECT origin FROM documents WHERE path = ? OR (path > ? AND path < ?)", (path, f"{path}#/", f"{path}#:")
        )
    elif folder:
        bounds = (folder, folder[:-1] + "0")
        origins = cursor.fetch("SELECT origin FROM documents WHERE path >= ? AND path < ?", bounds)
    else:
        origins = cursor.fetch("SELECT origin FROM documents")
    return all((origin or "").startswith(tuple(own_prefixes)) for (origin,) in origins)


_INSERT = f"INSERT INTO documents VALUES ({'?, ' * len(Row._fields)}?)"  # noqa: S608


def _numbers_of(cursor: Cursor, paths: Iterable[str]) -> Iterator[tuple[int, str, str | None]]:
    """Number, path and origin of the documents of some paths."""
    distinct = list(dict.fromkeys(paths))
    for first in range(0, len(distinct), AT_ONCE):
        batch = distinct[first : first + AT_ONCE]
        marks = ", ".join("?" * len(batch))
        yield from cursor.fetch(f"SELECT number, path, origin FROM documents WHERE path IN ({marks})", batch)  # noqa: S608


def _drop(cursor: Cursor, numbers: Sequence[int]) -> None:
    """Delete documents by their numbers."""
    if numbers:
        cursor.executemany("DELETE FROM documents WHERE number = ?", [(number,) for number in numbers])
        cursor.executemany("DELETE FROM maps WHERE document = ?", [(number,) for number in numbers])
        mask(cursor, numbers)


def _check_taken(documents: Iterable[tuple[int, str, str | None]], own_prefixes: Sequence[str]) -> None:
    paths = [path for _, path, origin in documents if not (origin or "").startswith(tuple(own_prefixes))]
    if paths:
        raise TakenError(paths)
