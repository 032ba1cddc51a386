"""The corpus as it was after one commit: documents, text, cuts, proofs, each byte verified when it is read."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from functools import cached_property, lru_cache
from itertools import chain
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from brimful.errors import CorruptError, DocumentError
from brimful.index.segments import Numbers
from brimful.native.columns import Columns
from brimful.outline.cuts import Heads
from brimful.store.caching import ByteCache
from brimful.store.columns import Cuts, check, checked_row, read_map, unpacked
from brimful.store.format import SINGLE, TEXT, WORDS, Cursor, check_seal, key_of
from brimful.store.merkle import Proof, all_buckets, bucket_of, leaf_hash, prove
from brimful.store.rows import BLOCK_BYTES, COLUMNS, Card, Documents, Row
from brimful.store.segments import BlobReader, StoredSegment, StoredTerms
from brimful.store.state import AT_ONCE, check_hashes, checked_roots, read_state
from brimful.text.spans import check_span

if TYPE_CHECKING:
    from brimful.documents.loaders.loaded import SourceMap

_KEPT_DOCUMENTS = 4_096
_BLOCKS_AHEAD = 16
"""Blocks of text that come with the row of a document."""
_BY_PATH = f"SELECT {COLUMNS}, seal FROM documents ORDER BY path"  # noqa: S608


class StoredSnapshot:
    """One generation of a corpus, held by a read transaction; nothing in it ever changes."""

    def __init__(self, cursor: Cursor) -> None:
        self._cursor = cursor
        self.generation, self.root = read_state(cursor)
        self._blobs = BlobReader(cursor)
        self._extents = lru_cache(_KEPT_DOCUMENTS)(self._find_extents)
        self._rows: ByteCache[str, Row] = ByteCache(_KEPT_DOCUMENTS)  # each counts as one byte
        self._leaves: dict[int, list[tuple[str, bytes]]] = {}  # by bucket, read ahead
        self._documents: Documents | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def cursor(self) -> Cursor:
        """The cursor of its transaction."""
        return self._cursor

    def close(self) -> None:
        """End the transaction."""
        self._cursor.close()

    # ---- documents

    def rows(self) -> Iterator[Row]:
        """Live documents by path."""
        return map(_opened, self._cursor.stream(_BY_PATH))

    def row(self, path: str) -> Row | None:
        """The live document of a path."""
        row = self._rows.get(path) or next(iter(self._read_rows([path])), None)
        if row is None and self._documents is not None and path in self._documents.paths:
            raise CorruptError(f"the row of {path!r:.200} can't be found any more; index the sources again")
        return row

    def _read_rows(self, paths: Sequence[str]) -> list[Row]:
        marks = ", ".join("?" * len(paths))
        statement = f"SELECT {COLUMNS}, seal FROM documents WHERE path IN ({marks})"  # noqa: S608
        rows = list(map(_opened, self._cursor.fetch(statement, paths)))
        for row in rows:
            is_whole = sum(size for *_, size in self._extents(row.number)) == row.length
            check(is_whole, f"{row.path!r:.200} is not stored from its beginning to its end")
            self._rows.keep(row.path, row, size=1)
        return rows

    def expect(self, paths: Collection[str], *, proofs: bool = False) -> None:
        """Read the rows of some documents, the beginnings of their texts, and their proofs, in few round trips."""
        if proofs:
            self._leaves = self._read_leaves(sorted({bucket_of(path) for path in paths}))
        missing = sorted(path for path in set(paths) if path not in self._rows) if self._cursor.is_far else []
        for first in range(0, len(missing), AT_ONCE):
            rows = self._read_rows(missing[first : first + AT_ONCE])
            self._cursor.expect([key for row in rows for key in self._text_keys(row.number)])

    def _text_keys(self, number: int) -> list[int]:
        """The keys of a document's first blocks of text."""
        keys = [
            key_of(segment, TEXT, place)
            for segment, base, _, size in self._extents(number)
            for place in range(base // BLOCK_BYTES, (base + max(size, 1) - 1) // BLOCK_BYTES + 1)
        ]
        return keys[:_BLOCKS_AHEAD]

    def documents(self) -> Documents:
        """All live documents in columns, read once."""
        if self._documents is None:
            parts = [segment.card_columns() for segment in self._segments.values()]
            columns: list[list[Any]] = [list(chain(*columns)) for columns in zip(*parts, strict=True)]
            self._documents = Documents.of(columns or [[]] * len(Card._fields))
        return self._documents

    def source_map(self, number: int) -> SourceMap | None:
        """The way back from a document's text to its original; None where a byte is a byte."""
        row = self._cursor.sealed("maps", number)
        if row is None:
            return None
        data, seal = row
        check_seal(f"the source map of document {number}", seal, number, data)
        return read_map(unpacked(data, limit_bytes=self._blobs.most_bytes))

    def source_maps(self, numbers: Sequence[int]) -> dict[int, SourceMap]:
        """The maps of the converted documents among these; which ones they are costs one read."""
        converted: list[int] = []
        for first in range(0, len(numbers), AT_ONCE):
            batch = numbers[first : first + AT_ONCE]
            marks = ", ".join("?" * len(batch))
            statement = f"SELECT document FROM maps WHERE document IN ({marks}) ORDER BY document"  # noqa: S608
            converted += [number for (number,) in self._cursor.fetch(statement, batch)]
        return {number: source_map for number in converted if (source_map := self.source_map(number)) is not None}

    def extents(self, number: int) -> list[tuple[int, int]]:
        """The ranges in which a document is stored."""
        return [(start, start + size) for _, _, start, size in self._extents(number)]

    def _find_extents(self, number: int) -> tuple[tuple[int, int, int, int], ...]:
        """Segment, base, start and length of a document's extents, in order."""
        extents: list[tuple[int, int, int, int]] = []
        for segment in self._segments.values():
            if not segment.lowest <= number <= segment.highest:
                continue
            bases, ends, _, starts = segment.extents
            for index in segment.extents_of(number).tolist():  # mostly one
                base = int(bases[index])
                extents.append((segment.number, base, int(starts[index]), int(ends[index]) - base))
        extents.sort(key=lambda extent: (extent[2], extent[3]))
        length = 0
        for _, _, start, size in extents:
            check(start == length, f"document {number} is not stored from its beginning to its end")
            length += size
        return tuple(extents)

    def read(self, number: int, start: int, end: int) -> bytes:
        """Bytes `[start, end)` of a document."""
        extents = self._extents(number)
        check_span(start, end, length=sum(size for *_, size in extents), where=f" document {number}")
        parts = []
        for segment, base, first, size in extents:
            low, high = max(start, first), min(end, first + size)
            if low < high:
                parts.append(self._segments[segment].text(base + low - first, base + high - first))
        return b"".join(parts)

    # ---- terms and cuts

    def segments(self) -> Sequence[StoredSegment]:
        """All segments, by ascending number."""
        return list(self._segments.values())

    @cached_property
    def _segments(self) -> dict[int, StoredSegment]:
        rows = self._blobs.segments()
        # A question reads nearly all columns of all segments.
        self._cursor.expect([key_of(row.number, kind) for row in rows for kind in SINGLE])
        return {row.number: StoredSegment(self._blobs, row) for row in rows}

    def expect_terms(self, terms: Sequence[bytes]) -> None:
        """Read the pages of terms, or of beginnings of terms, in few round trips."""
        if self._cursor.is_far:
            self._cursor.expect([key for segment in self._segments.values() for key in segment.pages_of(terms)])

    def expect_words(self) -> None:
        """Read the words of all segments in few round trips."""
        self._cursor.expect([key_of(number, WORDS) for number in self._segments])

    def terms_in(self, segments: Sequence[StoredSegment], places: ByteCache[Any, Any]) -> StoredTerms:
        """Counts and places of terms over some segments; places are kept in the cache."""
        return StoredTerms(self._blobs, segments, places)

    @cached_property
    def _terms(self) -> StoredTerms:
        return self.terms_in(self.segments(), ByteCache(0))

    def places(self, term: bytes) -> Columns:
        """The places of a term in live text, on the axis of each segment."""
        return self._terms.places(term)

    def census(self, term: bytes) -> int:
        """The occurrences of a term."""
        return self._terms.census(term)

    def terms(self) -> list[bytes]:
        """Every term of a live document, sorted."""
        return self._terms.names(b"")

    def units(self, number: int, start: int = 0, end: int | None = None) -> Numbers:
        """The cut points of a document's units with its length, or only the ones from `start` until before `end`."""
        return self._cuts(number, lambda segment: segment.unit_starts, start, end)

    def sections(self, number: int, start: int = 0, end: int | None = None) -> Numbers:
        """The cut points of a document's sections with its length, or only the ones from `start` until before `end`."""
        return self._cuts(number, lambda segment: segment.section_starts, start, end)

    def heads(self, number: int) -> Heads:
        """A document's headings and first lines of definitions."""
        parts = []
        for segment, base, start, size in self._extents(number):
            heads = self._segments[segment].heads
            first, last = heads.starts.searchsorted(np.array((base, base + size), heads.starts.dtype))
            starts, ends, levels, names = (column[first:last].astype(np.int64) for column in heads)
            shift = start - base
            parts.append((starts + shift, np.minimum(ends, base + size) + shift, levels, names + shift))
        return Heads(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))

    def _cuts(self, number: int, column_of: Callable[[StoredSegment], Cuts], low: int, high: int | None) -> Numbers:
        cuts, length = [np.zeros(0, np.int64)], 0
        for segment, base, start, size in self._extents(number):
            length = start + size
            if start < (length if high is None else high) and low < length:
                column = column_of(self._segments[segment])
                bounds = base + max(low - start, 0), base + (size if high is None else min(size, high - start))
                first, last = column.searchsorted(np.array(bounds, column.dtype))
                cuts.append(column[first:last].astype(np.int64) - base + start)
        # The edges of the document and of its extents may be there twice.
        return np.concatenate(cuts) if high is not None else np.unique(np.concatenate([[0], *cuts, [length]]))

    # ---- proofs

    def prove(self, path: str) -> Proof:
        """A proof that the document of this path is under the root."""
        bucket = bucket_of(path)
        leaves = self._leaves.get(bucket) or self._read_leaves([bucket]).get(bucket, [])
        index = next((index for index, (name, _) in enumerate(leaves) if name == path), None)
        if index is None:
            raise DocumentError(f"{path!r} is not in this snapshot")
        check_hashes([leaf for _, leaf in leaves])
        proof = prove([leaf for _, leaf in leaves], index, place=bucket, above=self._buckets)
        row = self.row(path)
        if row is None or proof.root(leaf_hash(path, row.time, row.content_hash)) != self.root:
            raise CorruptError(f"the proof of {path!r:.200} does not lead to the state root; index the sources again")
        return proof

    def _read_leaves(self, buckets: Sequence[int]) -> dict[int, list[tuple[str, bytes]]]:
        """Path and leaf of all documents of some buckets."""
        leaves: dict[int, list[tuple[str, bytes]]] = {}
        for first in range(0, len(buckets), AT_ONCE):
            batch = buckets[first : first + AT_ONCE]
            marks = ", ".join("?" * len(batch))
            statement = f"SELECT bucket, path, leaf FROM documents WHERE bucket IN ({marks}) ORDER BY bucket, path"  # noqa: S608
            for bucket, path, leaf in self._cursor.fetch(statement, batch):
                leaves.setdefault(bucket, []).append((path, leaf))
        return leaves

    @cached_property
    def _buckets(self) -> list[list[bytes]]:
        return all_buckets(checked_roots(self._cursor, self.root))


def _opened(values: Sequence[Any]) -> Row:
    """A row whose seal fits, and whose values a document can have."""
    *columns, seal = values
    check_seal("a document", seal, *columns)
    return checked_row(columns)
