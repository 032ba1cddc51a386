"""What did the embedded store hold at one moment? Reads that verify every byte they give."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from functools import cached_property, lru_cache
from types import TracebackType
from typing import Any, Self

import apsw
import numpy as np
import zstandard

from brimful.errors import CorruptError, DocumentError
from brimful.index.columns import Numbers, unpack_sorted
from brimful.index.places import NOWHERE, Places
from brimful.index.segments import Postings, read_page
from brimful.store.merkle import Proof, all_buckets, bucket_of, prove
from brimful.store.protocol import BLOCK_BYTES, Row
from brimful.store.schema import FIRSTS, PAGE, TEXT, UNITS, fetch, key_of, seal_of
from brimful.text.spans import check_span

_EXTENTS = "SELECT segment, base, document, start, length, seal FROM extents"
_KEPT_BLOCKS, _KEPT_PAGES = 64, 256
_COLUMNS = (
    "number, path, id, content_hash, leaf, bucket, length, time, kind, language, rule, title, origin, stamp, seal"
)


class SqliteSnapshot:
    """One generation, held by a read transaction."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection
        self._cursor = connection.cursor()
        self._cursor.execute("BEGIN")
        self.generation = int.from_bytes(sealed_meta(self._cursor, "generation"), "big")
        self.root = sealed_meta(self._cursor, "root")
        self._block = lru_cache(_KEPT_BLOCKS)(self._read_block)
        self._page = lru_cache(_KEPT_PAGES)(self._read_page)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let go of this moment."""
        self._connection.close()

    # ---- documents

    def rows(self) -> Iterator[Row]:
        """Live documents by path."""
        for values in self._connection.cursor().execute(f"SELECT {_COLUMNS} FROM documents ORDER BY path"):  # noqa: S608
            yield _row(values)

    def row(self, path: str) -> Row | None:
        """The live document of that path."""
        found = fetch(self._cursor, f"SELECT {_COLUMNS} FROM documents WHERE path = ?", (path,))  # noqa: S608
        return _row(found[0]) if found else None

    def extents(self, number: int) -> list[tuple[int, int]]:
        """The ranges in which a document is stored."""
        return [(start, start + size) for _, _, start, size in self._extents(number)]

    def _extents(self, number: int) -> list[tuple[int, int, int, int]]:
        """Segment, base, start and length of a document's extents, in order."""
        extents = []
        for *values, seal in fetch(self._cursor, f"{_EXTENTS} WHERE document = ? ORDER BY start", (number,)):
            _check("an extent", seal, *values)
            segment, base, _, start, size = values
            extents.append((segment, base, start, size))
        return extents

    def read(self, number: int, start: int, end: int) -> bytes:
        """Bytes `[start, end)` of a document, block by block, each verified."""
        extents = self._extents(number)
        length = max((first + size for *_, first, size in extents), default=0)
        check_span(start, end, length=length, where=f" document {number}")
        parts = []
        for segment, base, first, size in extents:
            low, high = max(start, first), min(end, first + size)
            if low < high:
                parts.append(self._axis(segment, base + low - first, base + high - first))
        return b"".join(parts)

    def _axis(self, segment: int, start: int, end: int) -> bytes:
        blocks = range(start // BLOCK_BYTES, (end - 1) // BLOCK_BYTES + 1)
        joined = b"".join(self._block(segment, place) for place in blocks)
        begin = blocks.start * BLOCK_BYTES
        if end - begin > len(joined):
            raise CorruptError(f"segment {segment} ends before byte {end}")
        return joined[start - begin : end - begin]

    def _read_block(self, segment: int, place: int) -> bytes:
        packed = self._blob(key_of(segment, TEXT, place))
        return zstandard.ZstdDecompressor().decompress(packed, max_output_size=BLOCK_BYTES)

    # ---- terms

    def places(self, term: bytes) -> Places:
        """Every occurrence of a term in live documents, by document number and byte."""
        documents, starts = [], []
        for segment in self._segments:
            positions = self._positions(segment, term)
            if not len(positions):
                continue
            bases, ends, numbers, offsets = self._live[segment]
            at = bases.searchsorted(positions, side="right") - 1
            inside = (at >= 0) & (positions < ends[at])
            at, positions = at[inside], positions[inside]
            documents.append(numbers[at])
            starts.append(positions - bases[at] + offsets[at])
        if not documents:
            return NOWHERE
        found = Places(np.concatenate(documents), np.concatenate(starts))
        order = np.argsort(found.keys, kind="stable")
        return Places(found.documents[order], found.starts[order])

    def census(self, term: bytes) -> int:
        """How many occurrences there are, without reading any text."""
        count = 0
        for segment in self._segments:
            positions = self._positions(segment, term)
            bases, ends, *_ = self._live[segment]
            count += int((positions.searchsorted(ends) - positions.searchsorted(bases)).sum())
        return count

    def terms(self) -> list[bytes]:
        """Every term that a live document has, sorted."""
        found: set[bytes] = set()
        for segment in self._segments:
            bases, ends, *_ = self._live[segment]
            for place in range(len(self._firsts[segment])):
                postings = self._page(segment, place)
                at = bases.searchsorted(postings.positions, side="right") - 1
                live = (at >= 0) & (postings.positions < ends[at])
                counts = np.add.reduceat(live, postings.offsets[:-1])
                found.update(postings.names[index] for index in np.flatnonzero(counts).tolist())
        return sorted(found)

    def units(self, number: int) -> Numbers:
        """The cut points of a document's units, its length included."""
        cuts, length = [], 0
        for segment, base, start, size in self._extents(number):
            column = unpack_sorted(self._blob(key_of(segment, UNITS)))
            first, last = column.searchsorted((base, base + size))
            cuts.append(column[first:last] - base + start)
            length = start + size
        return np.unique(np.concatenate([*cuts, np.array([0, length], np.int64)]))

    def _positions(self, segment: int, term: bytes) -> Numbers:
        place = bisect_right(self._firsts[segment], term) - 1
        return self._page(segment, place).of(term) if place >= 0 else np.zeros(0, np.int64)

    def _read_page(self, segment: int, place: int) -> Postings:
        return read_page(self._blob(key_of(segment, PAGE, place)))

    @cached_property
    def _segments(self) -> list[int]:
        found = fetch(self._cursor, "SELECT number, length, seal FROM segments ORDER BY number")
        for number, length, seal in found:
            _check("a segment", seal, number, length)
        return [number for number, *_ in found]

    @cached_property
    def _firsts(self) -> dict[int, list[bytes]]:
        """The first term of every page, by segment."""
        firsts = {}
        for segment in self._segments:
            raw = zstandard.ZstdDecompressor().decompressobj().decompress(self._blob(key_of(segment, FIRSTS)))
            names, at = [], 0
            while at < len(raw):
                size = int.from_bytes(raw[at : at + 2], "big")
                names.append(raw[at + 2 : at + 2 + size])
                at += 2 + size
            firsts[segment] = names
        return firsts

    @cached_property
    def _live(self) -> dict[int, tuple[Numbers, Numbers, Numbers, Numbers]]:
        """Live extents of every segment: base, end, document, offset in it."""
        columns: dict[int, list[tuple[int, int, int, int]]] = {segment: [] for segment in self._segments}
        rows = fetch(self._cursor, f"{_EXTENTS} ORDER BY segment, base")
        for *values, seal in rows:
            _check("an extent", seal, *values)
            segment, base, document, start, length = values
            columns[segment].append((base, base + length, document, start))
        live = {}
        for segment, extents in columns.items():
            table = np.array(extents, np.int64).reshape(-1, 4)
            live[segment] = (table[:, 0], table[:, 1], table[:, 2], table[:, 3])
        return live

    def _blob(self, key: int) -> bytes:
        found = fetch(self._cursor, "SELECT data, seal FROM blobs WHERE key = ?", (key,))
        if not found:
            raise CorruptError(f"blob {key} is missing; verify the store, or index the sources again")
        ((data, seal),) = found
        _check(f"blob {key}", seal, key, data)
        return bytes(data)

    # ---- proofs

    def prove(self, path: str) -> Proof:
        """That the document of this path is under the root."""
        bucket = bucket_of(path)
        found = fetch(self._cursor, "SELECT path, leaf FROM documents WHERE bucket = ? ORDER BY path", (bucket,))
        number = next((at for at, (name, _) in enumerate(found) if name == path), None)
        if number is None:
            raise DocumentError(f"{path!r} is not in this snapshot")
        return prove([leaf for _, leaf in found], number, place=bucket, above=self._buckets)

    @cached_property
    def _buckets(self) -> list[list[bytes]]:
        return all_buckets(dict(fetch(self._cursor, "SELECT number, root FROM buckets")))


def sealed_meta(cursor: apsw.Cursor, key: str) -> bytes:
    """A value of the store as a whole."""
    found = fetch(cursor, "SELECT value, seal FROM meta WHERE key = ?", (key,))
    if not found:
        raise CorruptError(f"the store has lost its {key}")
    ((value, seal),) = found
    _check(key, seal, key, value)
    return bytes(value)


def _row(values: tuple[Any, ...]) -> Row:
    *fields, seal = values
    _check("a document", seal, *fields)
    number, path, raw_id, content_hash, _, _, length, time, kind, language, rule, title, _, _ = fields
    return Row(number, path, raw_id.hex(), content_hash, length, time, kind, language, rule, title)


def _check(what: str, seal: object, *values: object) -> None:
    if seal_of(*values) != seal:
        raise CorruptError(f"{what} fails its checksum; verify the store, or index the sources again")
