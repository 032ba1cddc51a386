"""What did a store hold at one moment? Reads that verify every byte they give."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, lru_cache
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from brimful.errors import CorruptError, DocumentError
from brimful.index.columns import Numbers
from brimful.index.places import NOWHERE, Places
from brimful.store.cursors import Cursor
from brimful.store.merkle import Proof, all_buckets, bucket_of, leaf_hash, prove
from brimful.store.meta import check_layout, checked_leaves, checked_roots, sealed_meta, stored_model
from brimful.store.protocol import Documents, Heads, Row
from brimful.store.shelf import Shelf, check_seal
from brimful.store.tables import unpack_map
from brimful.store.views import StoredSegment
from brimful.text.spans import check_span

if TYPE_CHECKING:
    from brimful.corpus.loaders.loaded import SourceMap

_KEPT_DOCUMENTS = 4_096
_ZERO = np.zeros(1, np.int64)
COLUMNS = "number, path, id, content_hash, leaf, bucket, length, time, kind, language, rule, title, origin, stamp, seal"


class StoredSnapshot:
    """One generation, held by a read transaction."""

    def __init__(self, cursor: Cursor) -> None:
        self._cursor = cursor
        self.generation = int.from_bytes(sealed_meta(self._cursor, "generation"), "big")
        self.root = sealed_meta(self._cursor, "root")
        self.model = stored_model(self._cursor)
        check_layout(self._cursor, self.generation)
        self._shelf = Shelf(self._cursor)
        self._extents = lru_cache(_KEPT_DOCUMENTS)(self._find_extents)
        self._row = lru_cache(_KEPT_DOCUMENTS)(self._find_row)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def is_lost(self) -> bool:
        """Whether the connection that holds this moment was cut."""
        return self._cursor.is_lost

    def close(self) -> None:
        """Let go of this moment."""
        self._cursor.close()

    # ---- documents

    def rows(self) -> Iterator[Row]:
        """Live documents by path."""
        statement = f"SELECT {COLUMNS} FROM documents ORDER BY path"  # noqa: S608
        yield from map(_row, self._cursor.each(statement))

    def stored_rows(self) -> Iterator[tuple[Any, ...]]:
        """The same with all that is stored of each, but for its seal."""
        statement = f"SELECT {COLUMNS} FROM documents ORDER BY path"  # noqa: S608
        for *values, seal in self._cursor.each(statement):
            check_seal("a document", seal, *values)
            yield tuple(values)

    def row(self, path: str) -> Row | None:
        """The live document of that path."""
        return self._row(path)

    def _find_row(self, path: str) -> Row | None:
        found = self._cursor.fetch(f"SELECT {COLUMNS} FROM documents WHERE path = ?", (path,))  # noqa: S608
        if not found and "_documents" in self.__dict__ and path in self._documents.paths:
            raise CorruptError(f"the row of {path!r:.200} can't be found any more; index the sources again")
        return _row(found[0]) if found else None

    def documents(self) -> Documents:
        """All live documents in columns, read once."""
        return self._documents

    @cached_property
    def _documents(self) -> Documents:
        return Documents.of(card for segment in self._segments.values() for card in segment.cards())

    def source_map(self, number: int) -> SourceMap | None:
        """The way back from a document's text to its original; None where a byte is a byte."""
        data = self.packed_map(number)
        return None if data is None else unpack_map(data, most=self._shelf.most_bytes)

    def packed_map(self, number: int) -> bytes | None:
        """The same as it is stored."""
        found = self._cursor.sealed("maps", number)
        if found is None:
            return None
        data, seal = found
        check_seal(f"the source map of document {number}", seal, number, data)
        return data

    def extents(self, number: int) -> list[tuple[int, int]]:
        """The ranges in which a document is stored."""
        return [(start, start + size) for _, _, start, size in self._extents(number)]

    def _find_extents(self, number: int) -> list[tuple[int, int, int, int]]:
        """Segment, base, start and length of a document's extents, in order."""
        found: list[tuple[int, int, int, int]] = []
        for segment in self._segments.values():
            if not segment.lowest <= number <= segment.highest:
                continue
            bases, ends, _, starts = segment.extents
            at = segment.extents_of(number)
            sizes = ends[at] - bases[at]
            places = zip(bases[at].tolist(), starts[at].tolist(), sizes.tolist(), strict=True)
            found += [(segment.number, *place) for place in places]
        return sorted(found, key=lambda extent: (extent[2], extent[3]))

    def home(self, number: int) -> int:
        """The segment in which a document begins."""
        return self._extents(number)[0][0]

    def read(self, number: int, start: int, end: int) -> bytes:
        """Bytes `[start, end)` of a document, block by block, each verified."""
        extents = self._extents(number)
        length = max((first + size for *_, first, size in extents), default=0)
        check_span(start, end, length=length, where=f" document {number}")
        parts = []
        for segment, base, first, size in extents:
            low, high = max(start, first), min(end, first + size)
            if low < high:
                parts.append(self._segments[segment].text(base + low - first, base + high - first))
        return b"".join(parts)

    # ---- terms

    def segments(self) -> Sequence[StoredSegment]:
        """Everything that is indexed, by ascending number."""
        return list(self._segments.values())

    def places(self, term: bytes) -> Places:
        """Every occurrence of a term in live documents, by document number and byte."""
        documents, starts = [], []
        for segment in self._segments.values():
            positions = segment.positions(term)
            bases, _, numbers, offsets = segment.extents
            at = bases.searchsorted(positions, side="right") - 1
            documents.append(numbers[at])
            starts.append(positions - bases[at] + offsets[at])
        if not sum(map(len, documents)):
            return NOWHERE
        found = Places(np.concatenate(documents), np.concatenate(starts))
        order = np.argsort(found.keys, kind="stable")
        return Places(found.documents[order], found.starts[order])

    def census(self, term: bytes) -> int:
        """How many occurrences there are, without reading any text."""
        return sum(segment.count(term) for segment in self._segments.values())

    def terms(self) -> list[bytes]:
        """Every term that a live document has, sorted."""
        return sorted({name for segment in self._segments.values() for name in segment.live_names()})

    def units(self, number: int, start: int = 0, end: int | None = None) -> Numbers:
        """The cut points of a document's units, its length included; or those from `start` until before `end`."""
        return self._cuts(number, StoredSegment.units_in, start, end)

    def sections(self, number: int, start: int = 0, end: int | None = None) -> Numbers:
        """The cut points of its sections, likewise."""
        return self._cuts(number, StoredSegment.sections_in, start, end)

    def heads(self, number: int) -> Heads:
        """A document's headings and first lines of definitions."""
        found = []
        for segment, base, start, size in self._extents(number):
            starts, ends, levels = self._segments[segment].heads
            first, last = starts.searchsorted((base, base + size))
            here, shift = slice(first, last), start - base
            found.append((starts[here] + shift, np.minimum(ends[here], base + size) + shift, levels[here]))
        return Heads(*(np.concatenate(columns) for columns in zip(*found, strict=True)))

    def _cuts(
        self, number: int, cuts_in: Callable[[StoredSegment, int, int], Numbers], low: int, high: int | None
    ) -> Numbers:
        cuts, length = [], 0
        for segment, base, start, size in self._extents(number):
            length = start + size
            if start < (length if high is None else high) and low < length:
                last = size if high is None else min(size, high - start)
                cuts.append(cuts_in(self._segments[segment], base + max(low - start, 0), base + last) - base + start)
        if high is not None:
            return np.concatenate([np.zeros(0, np.int64), *cuts])
        joined = np.concatenate([_ZERO, *cuts, np.array([length], np.int64)])
        # Cuts are in order already; the edges of the document and of its extents may be there twice.
        is_new = np.ones(len(joined), bool)
        np.greater(joined[1:], joined[:-1], out=is_new[1:])
        return joined[is_new]

    @cached_property
    def _segments(self) -> dict[int, StoredSegment]:
        coded = self.model is not None
        return {row.number: StoredSegment(self._shelf, row, coded=coded) for row in self._shelf.segments()}

    # ---- proofs

    def buckets(self) -> dict[int, bytes]:
        """The root of each bucket that holds documents."""
        return checked_roots(self._cursor, self.root)

    def prove(self, path: str, *, above: list[list[bytes]] | None = None) -> Proof:
        """That the document of this path is under the root, or under that of a tree of which this is a part."""
        above = self._buckets if above is None else above
        bucket = bucket_of(path)
        found = self._cursor.fetch("SELECT path, leaf FROM documents WHERE bucket = ? ORDER BY path", (bucket,))
        number = next((at for at, (name, _) in enumerate(found) if name == path), None)
        if number is None:
            raise DocumentError(f"{path!r} is not in this snapshot")
        proof = prove(checked_leaves([(leaf,) for _, leaf in found]), number, place=bucket, above=above)
        row = self.row(path)
        if row is None or proof.root(leaf_hash(path, row.time, row.content_hash)) != above[-1][0]:
            raise CorruptError(f"the proof of {path!r:.200} does not lead to the state root; index the sources again")
        return proof

    @cached_property
    def _buckets(self) -> list[list[bytes]]:
        return all_buckets(checked_roots(self._cursor, self.root))


def _row(values: tuple[Any, ...]) -> Row:
    *fields, seal = values
    check_seal("a document", seal, *fields)
    number, path, raw_id, content_hash, _, _, length, time, kind, language, rule, title, _, _ = fields
    return Row(number, path, raw_id.hex(), content_hash, length, time, kind, language, rule, title)
