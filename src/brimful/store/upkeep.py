"""A corpus copied from one store to another; a store read through for everything that is not as it was written."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import apsw
import numpy as np
from blake3 import blake3

from brimful.documents.documents import Document
from brimful.documents.reading import LONG_BYTES, LongDocument
from brimful.errors import StoreError
from brimful.index.segments import pages_of
from brimful.store import remembered
from brimful.store.address import Address
from brimful.store.format import (
    CARDS,
    EXTENTS,
    FIRSTS,
    HEADS,
    PAGE,
    SECTIONS,
    TEXT,
    UNITS,
    WORDS,
    Cursor,
    SqliteCursor,
    seal_of,
    segment_of,
)
from brimful.store.merkle import bucket_of, leaf_hash, root_of, state_root
from brimful.store.rows import BLOCK_BYTES, Row
from brimful.store.segments import StoredSegment
from brimful.store.snapshot import StoredSnapshot
from brimful.store.sqlite import opened_to_read
from brimful.store.state import checked_roots
from brimful.store.store import Store
from brimful.store.writing import NewDocument

# ---- copying
#
# Documents that are there already are left alone, so a copy that was broken off goes on where it ended, and a later
# copy brings only the changes. It has ended when the state roots are equal.


class Copied(NamedTuple):
    """The result of a copy: documents written, there already, and deleted; and the root of both stores."""

    copied: int
    unchanged: int
    deleted: int
    root: str


def copy(
    source: Store, target: Store, *, delete: bool = False, progress: Callable[[str], None] | None = None
) -> Copied:
    """Bring a store to the state of another one; `delete` also forgets documents that only the target has."""
    with target.snapshot() as now:
        present = {row.path: row._replace(number=0) for row in now.rows()}
    with source.snapshot() as now:
        wanted = list(now.rows())
        extra = sorted(present.keys() - {row.path for row in wanted})
        if extra and not delete:
            raise StoreError(
                f"{target.path} has {len(extra)} documents that {source.path} has not ({extra[0]!r:.100}, …); "
                "copy to an empty store, or forget them with --delete"
            )
        missing = [row for row in wanted if present.get(row.path) != row._replace(number=0)]
        copied = target.add(_copies(now, missing, progress or (lambda _: None)))
        if extra:
            target.remove_of(None, extra)
        for prefix, name in source.roots().items():
            target.remember_root(prefix, name)
        with target.snapshot() as then:
            if then.root != now.root:
                raise StoreError(f"{target.path} was changed while it was copied to; copy again")
        return Copied(copied, len(wanted) - copied, len(extra), now.root.hex())


def _copies(now: StoredSnapshot, rows: Iterable[Row], progress: Callable[[str], None]) -> Iterator[NewDocument]:
    """Stored documents as new ones."""
    for row in rows:
        progress(row.path)
        yield NewDocument(_document(now, row), row.rule, row.title, row.origin, row.stamp, now.source_map(row.number))


def _document(now: StoredSnapshot, row: Row) -> Document | LongDocument:
    """A stored document; a long one is read piece by piece."""
    if row.length <= LONG_BYTES:
        content = now.read(row.number, 0, row.length)
        return Document(row.path, content, time=row.time, kind=row.kind, language=row.language)

    def blocks() -> Iterator[bytes]:
        return (now.read(row.number, start, end) for start, end in now.extents(row.number))

    return LongDocument.of(row.path, blocks, kind=row.kind, language=row.language, time=row.time)


# ---- verifying


def verify(place: Path | Address) -> list[str]:
    """Read a whole store, and name everything that is not as it was written; an empty list means all is well.

    SQLite checks its own pages and their checksums; the seal of every row and blob is checked; every blob is compared
    with what names it, and every page of terms with its neighbours; every document is hashed, and the hashes must lead
    to the state root.
    """
    if isinstance(place, Path):
        return _read_through(place, _file_problems)
    from brimful.store.postgres import reading

    problems: list[str] = []
    try:
        with reading(place) as cursor:
            problems.extend(_problems(cursor))
    except StoreError as error:
        problems.append(f"the store can't be read through: {error}")
    return problems


def glance(path: Path) -> list[str]:
    """SQLite's view of its structure and its pages' checksums, in a moment, without reading any document."""
    return _read_through(path, lambda cursor: _reports_of(cursor, "quick_check"))


def _read_through(path: Path, look: Callable[[SqliteCursor], Iterator[str]]) -> list[str]:
    """The problems of a file; the last one says where it can't be read on."""
    problems: list[str] = []
    try:
        with closing(opened_to_read(path)) as connection:
            problems.extend(look(SqliteCursor(connection)))
    except (apsw.Error, StoreError) as error:
        problems.append(f"the store can't be read through: {error}")
    return problems


def _reports_of(cursor: SqliteCursor, check: str) -> Iterator[str]:
    return (f"SQLite: {problem}" for (problem,) in cursor.fetch(f"PRAGMA {check}") if problem != "ok")


_SEALED = {
    "meta": "key, value",
    "roots": "path, name",
    "segments": "number, length, live, dead, lowest, highest",
}


def _file_problems(cursor: SqliteCursor) -> Iterator[str]:
    cursor.execute("BEGIN")
    yield from _reports_of(cursor, "integrity_check")
    yield from _problems(cursor)


def _problems(cursor: Cursor) -> Iterator[str]:
    segments: set[int] = set()
    for (key,) in cursor.fetch("SELECT key FROM blobs ORDER BY key"):
        data, seal = cursor.sealed("blobs", key) or (None, None)
        segments.add(segment_of(key))
        if seal_of(key, data) != seal:
            yield f"blob {key} fails its checksum"
    for table, columns in _SEALED.items():
        for *values, seal in cursor.fetch(f"SELECT {columns}, seal FROM {table}"):  # noqa: S608
            if seal_of(*values) != seal:
                yield f"a row of {table} fails its checksum"
    yield from remembered.problems(cursor)
    now = StoredSnapshot(cursor)
    checked_roots(cursor, now.root)
    if lost := segments - {segment.number for segment in now.segments()}:
        yield f"segment {min(lost)} has blobs, but no row"
    for segment in now.segments():
        yield from _segment_problems(segment)
    yield from _document_problems(now)


_SINGLE = (FIRSTS, UNITS, SECTIONS, HEADS, EXTENTS, CARDS, WORDS)


def _segment_problems(segment: StoredSegment) -> Iterator[str]:
    """A segment has each of its blobs, and no page says other terms than the list of pages and the words say.

    Whatever reads a column compares its numbers with the segment's row.
    """
    places = set(segment.places())
    named = {(kind, 0) for kind in _SINGLE} | {(PAGE, place) for place in range(len(segment.firsts))}
    for kind, place in sorted(named - places):
        yield f"segment {segment.number} has lost a blob of kind {kind}, number {place}"
    blocks = {(TEXT, place) for place in range(segment.length // BLOCK_BYTES + 1)}
    for kind, place in sorted(places - named - blocks):
        yield f"segment {segment.number} has a blob that nothing names, of kind {kind}, number {place}"
    if named - places:
        return
    words = b""
    following = [*segment.firsts[1:], None]
    for place, postings in enumerate(segment.pages()):
        names = list(postings.names)
        is_sorted = all(first < second for first, second in pairwise(names))
        end = following[place]
        if not names or names[0] != segment.firsts[place] or not is_sorted or (end is not None and names[-1] >= end):
            yield f"page {place} of segment {segment.number} does not hold the terms that it is found by"
        words += b"".join(page.words for page in pages_of(postings))
    if words != segment.words():
        yield f"the words of segment {segment.number} are not the ones of its pages"
    begun = segment.extents.bases[segment.extents.ends > segment.extents.bases]
    for cuts in (segment.unit_starts, segment.section_starts):
        if not np.isin(begun, cuts).all():
            yield f"a document in segment {segment.number} begins no unit or section"
    _ = segment.heads  # compared with the segment's row when it is read


def _document_problems(now: StoredSnapshot) -> Iterator[str]:
    """Cards say what the table says; every document has the content that was added, and leads to the state root."""
    cards = sorted(card for segment in now.segments() for card in segment.cards())
    rows = list(now.rows())
    if cards != sorted(row.card for row in rows):
        yield "the columns of documents do not say what their table says"
    leaves: dict[int, list[bytes]] = {}
    for row in rows:
        now.source_map(row.number)
        hasher = blake3()
        end = 0
        for start, end in now.extents(row.number):
            hasher.update(now.read(row.number, start, end))
        if hasher.digest() != row.content_hash or end != row.length:
            yield f"{row.path}: the stored content is not what was added"
        leaves.setdefault(bucket_of(row.path), []).append(leaf_hash(row.path, row.time, row.content_hash))
    if state_root({bucket: root_of(members) for bucket, members in leaves.items()}) != now.root:
        yield "the documents do not lead to the state root"
