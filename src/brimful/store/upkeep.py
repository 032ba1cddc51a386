"""How does a corpus move from one store to another, and is everything in it still what was written?"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import apsw
from blake3 import blake3

from brimful.errors import StoreError
from brimful.store import remembered
from brimful.store.address import Address
from brimful.store.format import Cursor, SqliteCursor, seal_of
from brimful.store.merkle import bucket_of, leaf_hash, root_of, state_root
from brimful.store.rows import Card
from brimful.store.snapshot import StoredSnapshot, checked_roots
from brimful.store.sqlite import opened_to_read
from brimful.store.store import Adopted, Store
from brimful.store.views import StoredSegment
from brimful.store.writing import Row

# ---- copying: How does a corpus move from one store to another, without being indexed again?
#
# Segment by segment, each with its documents in one commit: text and positions are taken as they are, only the
# numbers of documents are new. What is there already is left alone, so a copy that was broken off goes on where it
# ended, and one of a store that changed since brings only the changes. It has ended when the state roots are equal.


class Copied(NamedTuple):
    """What a copy did: documents that were written, were there already, and were deleted; and the root of both."""

    copied: int
    unchanged: int
    deleted: int
    root: str


def copy(
    source: Store, target: Store, *, delete: bool = False, progress: Callable[[str], None] | None = None
) -> Copied:
    """Bring a store to what another one holds now; `delete` also forgets documents that only the target has."""
    with source.snapshot() as now:
        known = {path: values for _, path, *values in _rows(target)}
        wanted = {number: (path, *values) for number, path, *values in now.stored_rows()}
        extra = sorted(known.keys() - {path for path, *_ in wanted.values()})
        if extra and not delete:
            raise StoreError(
                f"{target.path} has {len(extra)} documents that {source.path} has not ({extra[0]!r:.100}, …); "
                "copy to an empty store, or forget them with --delete"
            )
        copied = 0
        for group in _groups(now.segments()):
            numbers = sorted({number for segment in group for number in segment.extents.documents.tolist()})
            rows = {number: wanted[number] for number in numbers}
            if any(known.get(path) != values for path, *values in rows.values()):
                maps = {number: data for number in rows if (data := now.packed_map(number)) is not None}
                adopted = {number: Row(*values) for number, values in rows.items()}
                copied += target.adopt(Adopted(adopted, maps, group))
                if progress is not None:
                    progress(rows[numbers[-1]][0])
        if extra:
            target.remove_of(None, extra)
        for prefix, name in source.roots().items():
            target.remember_root(prefix, name)
        target.tidy()
        with target.snapshot() as then:
            if then.root != now.root:
                raise StoreError(f"{target.path} was changed while it was copied to; copy again")
        return Copied(copied, len(wanted) - copied, len(extra), now.root.hex())


def _rows(store: Store) -> Iterator[tuple[Any, ...]]:
    with store.snapshot() as now:
        yield from now.stored_rows()


def _groups(segments: Sequence[StoredSegment]) -> list[list[StoredSegment]]:
    """Segments that share documents stay together: nobody sees a part of a long one."""
    groups: list[tuple[set[int], list[StoredSegment]]] = []
    for segment in segments:
        documents, together = set(segment.extents.documents.tolist()), [segment]
        apart = []
        for others, group in groups:
            if others & documents:
                documents |= others
                together = group + together
            else:
                apart.append((others, group))
        groups = [*apart, (documents, together)]
    return [group for _, group in groups]


# ---- verify: Is everything that is stored still what was written?


def verify(place: Path | Address) -> list[str]:
    """Read a whole store, and name everything that is not as it was written; an empty list means all is well.

    SQLite checks its own pages and their checksums; every row's and blob's seal is checked; every document's content is
    hashed; and the hashes must lead to the state root.
    """
    if isinstance(place, Path):
        return _read_through(place, _file_problems)
    from brimful.store.postgres import reading

    found: list[str] = []
    try:
        with reading(place) as cursor:
            found.extend(_problems(cursor))
    except StoreError as error:
        found.append(f"the store can't be read through: {error}")
    return found


def glance(path: Path) -> list[str]:
    """SQLite's view of its structure and its pages' checksums, in a moment, without reading any document."""
    return _read_through(path, lambda cursor: _told_by(cursor, "quick_check"))


def _read_through(path: Path, look: Callable[[SqliteCursor], Iterator[str]]) -> list[str]:
    """What a look at a file finds, the end of it included where it can't be read on."""
    found: list[str] = []
    try:
        with closing(opened_to_read(path)) as connection:
            found.extend(look(SqliteCursor(connection)))
    except (apsw.Error, StoreError) as error:
        found.append(f"the store can't be read through: {error}")
    return found


def _told_by(cursor: SqliteCursor, check: str) -> Iterator[str]:
    return (f"SQLite: {problem}" for (problem,) in cursor.fetch(f"PRAGMA {check}") if problem != "ok")


_SEALED = {
    "meta": "key, value",
    "roots": "path, name",
    "segments": "number, length, live, dead, lowest, highest",
}


def _file_problems(cursor: SqliteCursor) -> Iterator[str]:
    cursor.execute("BEGIN")
    yield from _told_by(cursor, "integrity_check")
    yield from _problems(cursor)


def _problems(cursor: Cursor) -> Iterator[str]:
    for (key,) in cursor.fetch("SELECT key FROM blobs ORDER BY key"):
        data, seal = cursor.sealed("blobs", key) or (None, None)
        if seal_of(key, data) != seal:
            yield f"blob {key} fails its checksum"
    for table, columns in _SEALED.items():
        for *values, seal in cursor.fetch(f"SELECT {columns}, seal FROM {table}"):  # noqa: S608
            if seal_of(*values) != seal:
                yield f"a row of {table} fails its checksum"
    yield from remembered.problems(cursor)
    now = StoredSnapshot(cursor)
    checked_roots(cursor, now.root)
    yield from _column_problems(now)
    yield from _content_problems(now)


def _column_problems(now: StoredSnapshot) -> Iterator[str]:
    """Columns are copies of what stands elsewhere, or must fit to each other."""
    cards = []
    for segment in now.segments():
        cards += segment.cards()
        bases, ends, documents, _ = segment.extents
        if int((ends - bases).sum()) != segment.live or (bases[1:] < ends[:-1]).any() or ends[-1] > segment.length:
            yield f"the extents of segment {segment.number} do not fit on its axis"
        if documents.min() < segment.lowest or documents.max() > segment.highest:
            yield f"segment {segment.number} holds documents that it does not name"
        if len(segment.heads.starts) and segment.heads.ends.max() > segment.length:
            yield f"a heading of segment {segment.number} lies outside of it"
    rows = [Card(row.number, row.path, row.title, row.length, row.time, row.kind, row.language) for row in now.rows()]
    if sorted(cards) != sorted(rows):
        yield "the columns of documents do not say what their table says"
    for row in rows:
        now.source_map(row.number)


def _content_problems(now: StoredSnapshot) -> Iterator[str]:
    leaves: dict[int, list[bytes]] = {}
    for row in now.rows():
        hasher = blake3()
        end = 0
        for start, end in now.extents(row.number):
            hasher.update(now.read(row.number, start, end))
        if hasher.digest() != row.content_hash or end != row.length:
            yield f"{row.path}: the stored content is not what was added"
        leaves.setdefault(bucket_of(row.path), []).append(leaf_hash(row.path, row.time, row.content_hash))
    if state_root({bucket: root_of(found) for bucket, found in leaves.items()}) != now.root:
        yield "the documents do not lead to the state root"
