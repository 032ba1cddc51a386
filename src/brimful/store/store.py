"""What does every store do? Documents in, one commit at a time; segments merged, renamed, dropped, built anew.

An engine (`sqlite`, `postgres`) says how its connections are opened, what one transaction is and which of its errors
mean what; all else is here, so that a corpus has the same bytes on each of them.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Self, TypeGuard

import numpy as np
from blake3 import blake3

from brimful.documents.reading import LongDocument
from brimful.errors import (
    CorruptError,
    StoreBusyError,
    StoreError,
    StoreFullError,
)
from brimful.index.build import Extent
from brimful.index.vectors import Bytes
from brimful.outline.kinds import kind_of
from brimful.store import remembered
from brimful.store.address import Place
from brimful.store.format import BlobReader, ChangedError, Cursor, Value, check_seal, seal_of
from brimful.store.merkle import bucket_of, leaf_hash, root_of, state_root
from brimful.store.remembered import KnownVectors
from brimful.store.snapshot import (
    COLUMNS,
    StoredSnapshot,
    check_rules,
    checked_leaves,
    checked_roots,
    layout_of,
    sealed_meta,
    write_meta,
    write_rules,
)
from brimful.store.views import StoredSegment
from brimful.store.writing import (
    SEGMENT_BYTES,
    Entry,
    Laid,
    Prepared,
    Row,
    batches,
    card_of,
    crowded,
    drop_segment,
    grouped,
    lay_anew,
    mask,
    merge,
    pieces,
    prepare,
    publish,
    rename_card,
    rows_of,
    send,
    write_blobs,
    write_cards,
    write_extents,
    write_segment,
)

BUSY_SECONDS = 10
"""How long a writer waits for another one."""

_SNIFFED = 65_536
_AT_ONCE = 500
"""Paths that one statement asks for."""


class Origins(NamedTuple):
    """What is stored of one file."""

    stamp: str | None
    paths: list[str]


@dataclass(frozen=True, slots=True, eq=False)
class Adopted:
    """Whole segments of another store, with the documents of all their live extents by their numbers there."""

    rows: dict[int, Row]
    maps: dict[int, bytes]
    segments: list[StoredSegment]


def generation_of(cursor: Cursor) -> int:
    """Which commit was the last."""
    return int.from_bytes(sealed_meta(cursor, "generation"), "big")


class TakenError(Exception):
    """Paths are those of documents from elsewhere; never leaves the package."""

    def __init__(self, paths: Sequence[str]) -> None:
        super().__init__(paths)
        self.paths = frozenset(paths)


class Store(ABC):
    """A corpus that can be changed. A base class, since each engine is opened and let go of in its own way."""

    path: Place
    """Where it is, as people write it."""

    # ---- what an engine says of itself

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @abstractmethod
    def close(self) -> None:
        """Let go of the connections."""

    @abstractmethod
    def snapshot(self) -> StoredSnapshot:
        """The corpus as it is now, on a connection of its own; later commits do not change it."""

    @abstractmethod
    def turn(self, prefix: str | None = None, *, wait_seconds: float | None) -> AbstractContextManager[None]:
        """Hold the store for a change of several commits to what comes from below a root."""

    @abstractmethod
    def own_files(self) -> list[Path]:
        """The files that it consists of, so that it is never taken for a part of its own corpus."""

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
        """A transaction beside whoever writes documents."""

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
    def rest(self, snapshot: StoredSnapshot) -> None:
        """Leave a snapshot that nobody asks at the moment."""

    # ---- writing

    def add(self, entries: Iterable[Entry]) -> int:
        """Store documents, replacing those of the same path; each batch is committed at once. Returns how many."""
        batch: list[Entry] = []
        count, size = 0, 0
        for entry in entries:
            if isinstance(entry.document, LongDocument):
                count += (self.write(prepare(batch)) if batch else 0) + self._commit_long(entry, entry.document)
                batch, size = [], 0
                continue
            batch.append(entry)
            size += len(entry.document)
            if size >= SEGMENT_BYTES:
                count, batch, size = count + self.write(prepare(batch)), [], 0
        count += self.write(prepare(batch)) if batch else 0
        self.tidy()
        return count

    def remove(self, paths: Iterable[str]) -> int:
        """Forget documents; their text stays where it is until it is compacted or purged. Returns how many."""
        with self.turn(wait_seconds=BUSY_SECONDS):
            return self.remove_of(None, paths)

    def remove_of(self, prefix: str | None, paths: Iterable[str]) -> int:
        """The same for whoever has the turn; of a root, only what comes from below it."""
        with self._writing() as cursor:
            gone = self._forget(cursor, paths, only=prefix)
            if gone:
                self._finish(cursor, touched=set(map(bucket_of, gone)))
        return len(gone)

    def write(self, prepared: Prepared, *, own: Sequence[str] | None = None) -> int:
        """Commit a batch that was prepared, replacing documents of the same path. Returns how many.

        With the prefixes of roots, a TakenError where one of the paths is that of a document from elsewhere.
        """
        with self._writing(late=True) as cursor:
            sent = [send(cursor, packed) for packed, _ in prepared.segments]
            cursor.take_turn()
            check_rules(cursor, self.path)
            paths = [row.path for row in prepared.rows]
            known = list(_named(cursor, paths))
            if own is not None:
                _check_taken(known, own)
            _drop(cursor, [number for number, _, _ in known])
            numbers = np.array(self._insert(cursor, prepared.rows, prepared.maps), np.int64)
            for number, (packed, owners) in zip(sent, prepared.segments, strict=True):
                publish(cursor, number, packed, numbers[owners], cards=map(card_of, numbers.tolist(), prepared.rows))
            self._finish(cursor, touched={row.bucket for row in prepared.rows})
        return len(paths)

    def adopt(self, given: Adopted) -> int:
        """Take segments of another store as they are, in one commit; their documents replace those of the same path."""
        with self._writing() as cursor:
            paths = [row.path for row in given.rows.values()]
            self._forget(cursor, paths)
            check_rules(cursor, self.path)
            places = {number: at for at, number in enumerate(given.rows)}
            maps = {places[number]: data for number, data in given.maps.items()}
            numbers = dict(zip(given.rows, self._insert(cursor, list(given.rows.values()), maps), strict=True))
            for segment in given.segments:
                _adopt_segment(cursor, segment, numbers)
            self._finish(cursor, touched=set(map(bucket_of, paths)))
        return len(paths)

    def _commit_long(self, entry: Entry, document: LongDocument) -> int:
        """Lay a document down piece by piece, in one transaction: memory holds a piece, and nobody sees a half."""
        with self._writing() as cursor:
            check_rules(cursor, self.path)
            self._forget(cursor, [document.path])
            numbers = np.array(self._insert(cursor, rows_of([entry]), {}), np.int64)
            for start, part in pieces(document):  # a segment each takes half the memory; merging makes fewer of them
                laid = Laid(0, start, Extent(part, document.kind, document.language))
                write_segment(cursor, [laid], numbers)
            self._finish(cursor, touched={bucket_of(document.path)})
        return 1

    def _insert(self, cursor: Cursor, rows: Sequence[Row], maps: Mapping[int, bytes]) -> range:
        """Put documents into their table; returns their numbers."""
        ((first,),) = cursor.fetch("SELECT coalesce(max(number), 0) + 1 FROM documents")
        numbers = range(first, first + len(rows))
        numbered = ((number, *row) for number, row in zip(numbers, rows, strict=True))
        sealed = ((*row, seal_of(*row)) for row in numbered)
        cursor.executemany(f"INSERT INTO documents VALUES ({'?, ' * (len(Row._fields) + 1)}?)", sealed)  # noqa: S608
        with_seals = [(numbers[at], data, seal_of(numbers[at], data)) for at, data in maps.items()]
        cursor.executemany("INSERT INTO maps VALUES (?, ?, ?)", with_seals)
        return numbers

    def _forget(self, cursor: Cursor, paths: Iterable[str], *, only: str | None = None) -> list[str]:
        gone = {
            number: path
            for number, path, origin in _named(cursor, paths)
            if only is None or (origin or "").startswith(only)  # else it has become another's since it was listed
        }
        _drop(cursor, list(gone))
        return list(gone.values())

    def _finish(self, cursor: Cursor, *, touched: Iterable[int]) -> None:
        """Bring the state root and the generation up to date; the last step of every commit."""
        roots = checked_roots(cursor, sealed_meta(cursor, "root"))
        buckets = sorted(set(touched))
        leaves = _leaves(cursor, buckets)
        cursor.executemany("DELETE FROM buckets WHERE number = ?", [(bucket,) for bucket in buckets])
        fresh = [(bucket, root_of(leaves[bucket])) for bucket in buckets if bucket in leaves]
        cursor.executemany("INSERT INTO buckets VALUES (?, ?)", fresh)
        for bucket in buckets:
            roots.pop(bucket, None)
        roots.update(fresh)
        generation = int.from_bytes(sealed_meta(cursor, "generation"), "big") + 1
        for key, value in (("root", state_root(roots)), ("generation", generation.to_bytes(8, "big"))):
            write_meta(cursor, key, value)
        write_meta(cursor, "layout", layout_of(cursor, generation))

    # ---- where documents came from

    def origins(self, prefix: str) -> dict[str, Origins]:
        """What is stored of each file below a root: its stamp and the paths of its documents."""
        found: dict[str, Origins] = {}
        statement = "SELECT origin, stamp, path FROM documents WHERE origin >= ? AND origin < ? ORDER BY path"
        with self._reading() as cursor:
            for origin, stamp, path in cursor.fetch(statement, (prefix, prefix[:-1] + "0")):
                name = origin.removeprefix(prefix)
                if name in found:
                    found[name].paths.append(path)
                else:
                    found[name] = Origins(stamp, [path])
        return found

    def owner(self, path: str) -> str | None:
        """The origin of the document of that path; an empty one where it has none."""
        with self._reading() as cursor:
            found = cursor.fetch("SELECT origin FROM documents WHERE path = ?", (path,))
        return (found[0][0] or "") if found else None

    def claim_folder(self, prefix: str, places: Sequence[Named], *, own: Sequence[str]) -> str | None:
        """Record the folder that the documents of a root are named in: the first that is free; None where none is.

        What was recorded before stays. `own` are the prefixes of roots at the same place, which may share it.
        """
        with self._writing() as cursor:
            roots = _roots(cursor)
            if is_folder(known := roots.get(prefix)):
                return known
            others = [folder for each, folder in roots.items() if is_folder(folder) and not each.startswith(tuple(own))]
            free = next((each for each in places if _is_free(cursor, each, others, own)), None)
            if free is not None:
                _write_root(cursor, prefix, free.folder)
        return None if free is None else free.folder

    def remember_root(self, prefix: str, folder: str) -> None:
        """Note a place that was added and the folder that its documents are named in, as another store says."""
        if self.roots().get(prefix) != folder:
            with self._writing() as cursor:
                _write_root(cursor, prefix, folder)

    def roots(self) -> dict[str, str]:
        """The places that were added, and the folder that the documents of each are named in.

        Of a place that was added by a program which knew no such folders it is a name without a slash (`is_folder`).
        """
        with self._reading() as cursor:
            return _roots(cursor)

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
            (values,) = cursor.fetch(f"SELECT {COLUMNS} FROM documents WHERE number = ?", (row.number,))  # noqa: S608
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
        """What is remembered of texts by now, whichever process embedded them; `index.vectors.text_key` makes keys.

        A row that is not what was written is a CorruptError: it must not become another ranking.
        """
        with self._remembering(write=False) as cursor:
            return remembered.known(cursor, model, keys, width=width)

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
        """Lay all live documents down anew, without what was deleted, in as few segments as there can be."""
        with self._writing() as cursor:
            for batch in list(batches(_views(cursor))):
                if len(batch) > 1 or batch[0].dead:
                    merge(cursor, batch)
            self._finish(cursor, touched=())

    def tidy(self) -> None:
        """Merge segments before there are many of them: each look-up visits every segment.

        Everything is committed by then: where there is no room or another process writes, it waits for the next time.
        """
        if not self._is_writable:
            return
        with suppress(StoreFullError, StoreBusyError, ChangedError):
            while self._is_crowded():
                with self._merging() as (cursor, views):
                    chosen = crowded(views)
                    if chosen:
                        merge(cursor, chosen)
                        self._finish(cursor, touched=())
            self._give_back()

    @contextmanager
    def _merging(self) -> Iterator[tuple[Cursor, Sequence[StoredSegment]]]:
        """A transaction, and the segments that it may merge."""
        with self._writing() as cursor:
            yield cursor, _views(cursor)

    def _is_crowded(self) -> bool:
        with self._reading() as cursor:
            return bool(crowded(_views(cursor)))

    def rebuild(self) -> None:
        """Index all stored text again, by today's rules."""
        with self._writing() as cursor, self.snapshot() as now:
            kinds = {row.number: (row.kind, row.language) for row in now.rows()}
            old = now.segments()
            laid = (
                Laid(number, start, Extent(now.read(number, start, end), *kinds[number]))
                for number in sorted(kinds)
                for start, end in now.extents(number)
            )
            for group in grouped(laid):
                documents = np.array([each.document for each in group])
                write_segment(cursor, group, documents)
            for segment in old:
                drop_segment(cursor, segment.number)
            write_rules(cursor)
            self._finish(cursor, touched=())
        self.tidy()


def place_below(prefix: str) -> str:
    """The file, folder or glob that a root's prefix stands for, as `Engine.add` takes it.

    >>> place_below("/notes//"), place_below("/notes?*.md//")
    ('/notes', '/notes/*.md')
    """
    path = prefix.removesuffix("//")
    folder, mark, glob = path.rpartition("?")
    return f"{folder}/{glob}" if mark and not os.path.lexists(path) else path or "/"


def new_store(cursor: Cursor) -> None:
    """What is true of a corpus without documents."""
    for key, value in (("generation", (0).to_bytes(8, "big")), ("root", state_root({}))):
        write_meta(cursor, key, value)
    write_meta(cursor, "layout", layout_of(cursor, 0))
    write_rules(cursor)


class Named(NamedTuple):
    """Where the documents of a root would be named: in a folder (`docs/`, or none), of a single file its name there."""

    folder: str
    file: str = ""


def is_folder(folder: str | None) -> TypeGuard[str]:
    """Whether this names documents: `docs/`, or nothing for those that stand in no folder."""
    return folder is not None and (not folder or folder.endswith("/"))


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


def _is_free(cursor: Cursor, place: Named, others: Iterable[str], own: Sequence[str]) -> bool:
    """Whether a root may name its documents there: no other folder overlaps it, no other document is in it."""
    folder, file = place
    for each in filter(None, others if folder else ()):
        if folder.startswith(each) or (not file and each.startswith(folder)):
            return False
    if file:
        path = folder + file
        found = cursor.fetch(
            "SELECT origin FROM documents WHERE path = ? OR (path > ? AND path < ?)", (path, f"{path}#/", f"{path}#:")
        )
    elif folder:
        bounds = (folder, folder[:-1] + "0")
        found = cursor.fetch("SELECT origin FROM documents WHERE path >= ? AND path < ?", bounds)
    else:
        found = cursor.fetch("SELECT origin FROM documents")
    return all((origin or "").startswith(tuple(own)) for (origin,) in found)


def _named(cursor: Cursor, paths: Iterable[str]) -> Iterator[tuple[int, str, str | None]]:
    """Number, path and origin of the documents of some paths."""
    asked = list(dict.fromkeys(paths))
    for first in range(0, len(asked), _AT_ONCE):
        some = asked[first : first + _AT_ONCE]
        marks = ", ".join("?" * len(some))
        yield from cursor.fetch(f"SELECT number, path, origin FROM documents WHERE path IN ({marks})", some)  # noqa: S608


def _leaves(cursor: Cursor, buckets: Sequence[int]) -> dict[int, list[bytes]]:
    """The leaves of some buckets, by path."""
    found: dict[int, list[bytes]] = {}
    for first in range(0, len(buckets), _AT_ONCE):
        some = buckets[first : first + _AT_ONCE]
        marks = ", ".join("?" * len(some))
        rows = cursor.fetch(f"SELECT bucket, leaf FROM documents WHERE bucket IN ({marks}) ORDER BY bucket, path", some)  # noqa: S608
        checked_leaves([leaf for _, leaf in rows])
        for bucket, leaf in rows:
            found.setdefault(bucket, []).append(leaf)
    return found


def _drop(cursor: Cursor, numbers: Sequence[int]) -> None:
    """Forget documents by their numbers."""
    if numbers:
        cursor.executemany("DELETE FROM documents WHERE number = ?", [(number,) for number in numbers])
        cursor.executemany("DELETE FROM maps WHERE document = ?", [(number,) for number in numbers])
        mask(cursor, numbers)


def _check_taken(known: Iterable[tuple[int, str, str | None]], own: Sequence[str]) -> None:
    taken = [path for _, path, origin in known if not (origin or "").startswith(tuple(own))]
    if taken:
        raise TakenError(taken)


def _adopt_segment(cursor: Cursor, segment: StoredSegment, numbers: Mapping[int, int]) -> None:
    """Write a segment of another store down; of one that has dead text only what is live."""
    number = cursor.next_segment()
    extents, length = segment.extents, segment.length
    if segment.dead:
        extents, length = lay_anew(cursor, number, [segment])
    else:
        write_blobs(cursor, number, segment.blobs())
    renumbered = np.array([numbers[each] for each in extents.documents.tolist()], np.int64)
    write_extents(cursor, number, extents._replace(documents=renumbered), length=length)
    write_cards(cursor, number, [card._replace(number=numbers[card.number]) for card in segment.cards()])


def _views(cursor: Cursor) -> list[StoredSegment]:
    shelf = BlobReader(cursor)
    return [StoredSegment(shelf, row) for row in shelf.segments()]
