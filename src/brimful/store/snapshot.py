"""What did a store hold at one moment? What is true of it as a whole, and the snapshot over all of its segments."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property, lru_cache
from itertools import chain
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from blake3 import blake3

from brimful import rules
from brimful.errors import CorruptError, DocumentError, StoreRulesError
from brimful.index.segments import Numbers, OpenPage
from brimful.outline.cuts import Heads
from brimful.store.far import SINGLE
from brimful.store.format import (
    TEXT,
    WORDS,
    BlobReader,
    Cursor,
    check_seal,
    kept_bytes_of,
    key_of,
    seal_of,
    unpack_map,
)
from brimful.store.merkle import (
    NOTHING,
    Proof,
    all_buckets,
    bucket_of,
    leaf_hash,
    prove,
    state_root,
)
from brimful.store.rows import BLOCK_BYTES, Card, Documents, Row
from brimful.store.views import StoredSegment
from brimful.text.spans import check_span

if TYPE_CHECKING:
    from brimful.documents.loaders.loaded import SourceMap


# ---- meta: What is true of a store as a whole, and by which rules was it made?

_NO_PATH = "the hashes of the store do not lead to its state root; verify it, or index the sources again"


def sealed_meta(cursor: Cursor, key: str) -> bytes:
    """A value that every store has."""
    value = _find_meta(cursor, key)
    if value is None:
        raise CorruptError(f"the store has lost its {key}")
    return value


def _find_meta(cursor: Cursor, key: str) -> bytes | None:
    """A value of the store, None where there is none yet."""
    found = cursor.fetch("SELECT value, seal FROM meta WHERE key = ?", (key,))
    if not found:
        return None
    ((value, seal),) = found
    check_seal(key, seal, key, value)
    return bytes(value)


def write_meta(cursor: Cursor, key: str, value: bytes) -> None:
    """Note a value, with its seal."""
    cursor.execute("DELETE FROM meta WHERE key = ?", (key,))
    cursor.execute("INSERT INTO meta VALUES (?, ?, ?)", (key, value, seal_of(key, value)))


def layout_of(cursor: Cursor, generation: int) -> bytes:
    """Which segments a generation has: where a row of them can't be found any more, the rest is not the corpus."""
    hasher = blake3()
    for number, seal in cursor.fetch("SELECT number, seal FROM segments ORDER BY number"):
        hasher.update(f"{number!r}:{seal!r};".encode())
    return generation.to_bytes(8, "big") + hasher.digest()


def _check_layout(cursor: Cursor, generation: int) -> None:
    """Raise where segments are missing."""
    if sealed_meta(cursor, "layout") != layout_of(cursor, generation):
        raise CorruptError("the store has lost a segment; verify it, or index the sources again")


def checked_leaves(leaves: Sequence[Any]) -> Sequence[bytes]:
    """The leaves of documents, where they are hashes at all."""
    _check_hashes(leaves)
    return leaves


def _bucket_roots(cursor: Cursor) -> dict[int, bytes]:
    """The root of each bucket that holds documents."""
    found = cursor.fetch("SELECT number, root FROM buckets")
    if not all(isinstance(number, int) for number, _ in found):
        raise CorruptError(_NO_PATH)
    _check_hashes([root for _, root in found])
    return dict(found)


def _check_hashes(values: Sequence[Any]) -> None:
    if not (set(map(type, values)) <= {bytes} and set(map(len, values)) <= {len(NOTHING)}):
        raise CorruptError(_NO_PATH)


def checked_roots(cursor: Cursor, root: bytes) -> dict[int, bytes]:
    """The same, where they lead to the state root, which has a seal; they have none themselves."""
    found = _bucket_roots(cursor)
    if state_root(found) != root:
        raise CorruptError(_NO_PATH)
    return found


def write_rules(cursor: Cursor) -> None:
    """Note that what is stored is made by the rules of this program."""
    write_meta(cursor, "rules", rules.RULES.encode())


def check_rules(cursor: Cursor, path: object) -> None:
    """Refuse a store that other rules made: questions and new documents would be split and cut in another way."""
    made_by = (_find_meta(cursor, "rules") or b"rules that it does not name").decode()
    if made_by != rules.RULES:
        raise StoreRulesError(
            f"{path} was made by other rules ({made_by}) than this program's ({rules.RULES}); index its own text "
            f"again: brimful stores rebuild --store {path}, in Python brimful.rebuild(path)"
        )


# ---- snapshot: What did a store hold at one moment? Reads that verify every byte they give.

_KEPT_DOCUMENTS = 4_096
_AT_ONCE = 500
"""Buckets, or blobs, that one statement asks for."""
_BLOCKS_AHEAD = 16
"""Blocks of text that come with the row of a document."""
_ZERO = np.zeros(1, np.int64)
COLUMNS = "number, path, id, content_hash, leaf, bucket, length, time, kind, language, rule, title, origin, stamp, seal"


class StoredSnapshot:
    """One generation of a corpus with one state root, held by a read transaction; nothing in it ever changes."""

    def __init__(self, cursor: Cursor) -> None:
        self._cursor = cursor
        self.generation = int.from_bytes(sealed_meta(self._cursor, "generation"), "big")
        self.root = sealed_meta(self._cursor, "root")
        _check_layout(self._cursor, self.generation)
        self._shelf = self._reader()
        self._extents = lru_cache(_KEPT_DOCUMENTS)(self._find_extents)
        self._row = lru_cache(_KEPT_DOCUMENTS)(self._find_row)
        self._documents: Documents | None = None  # read when they are first asked for
        self._expected: dict[str, Row] = {}  # read before they are asked for
        self._expected_leaves: dict[int, list[tuple[str, bytes]]] = {}
        self._was_expected: set[str] = set()

    def _reader(self) -> BlobReader:
        """Who reads its blobs; what is far away is kept by whoever fetches it, so less of it here."""
        if self._cursor.is_far:
            return BlobReader(self._cursor)
        return BlobReader(self._cursor, kept_bytes=kept_bytes_of(self._cursor.size_bytes()))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def cursor(self) -> Cursor:
        """What its statements are run by."""
        return self._cursor

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

    def expect(self, paths: Iterable[str], *, proofs: bool = False) -> None:
        """Read the rows of some documents in one round trip, where each is one, and what proves that they are there.

        With rows that are new comes the text of the documents, or the beginning of a long one.
        """
        if proofs:
            self._expect_leaves(sorted({bucket_of(path) for path in paths}))
        if not self._cursor.is_far:  # a row is read as fast by itself
            return
        fresh = sorted({path for path in paths if path not in self._was_expected})
        for first in range(0, len(fresh), _AT_ONCE):
            some = fresh[first : first + _AT_ONCE]
            statement = f"SELECT {COLUMNS} FROM documents WHERE path IN ({', '.join('?' * len(some))})"  # noqa: S608
            rows = [_row(values) for values in self._cursor.fetch(statement, some)]
            self._expected.update((row.path, row) for row in rows)
            self._cursor.expect([key for row in rows for key in self._text_keys(row.number)])
        self._was_expected.update(fresh[:_KEPT_DOCUMENTS])
        if len(self._was_expected) > _KEPT_DOCUMENTS:
            self._was_expected.clear()
            self._expected.clear()

    def _text_keys(self, number: int) -> list[int]:
        """The keys of a document's blocks of text, the first ones of a long one."""
        keys = [
            key_of(segment, TEXT, place)
            for segment, base, _, size in self._extents(number)
            for place in range(base // BLOCK_BYTES, (base + max(size, 1) - 1) // BLOCK_BYTES + 1)
        ]
        return keys[:_BLOCKS_AHEAD]

    def _expect_leaves(self, buckets: Sequence[int]) -> None:
        found: dict[int, list[tuple[str, bytes]]] = {}
        for first in range(0, len(buckets), _AT_ONCE):
            some = buckets[first : first + _AT_ONCE]
            marks = ", ".join("?" * len(some))
            statement = f"SELECT bucket, path, leaf FROM documents WHERE bucket IN ({marks}) ORDER BY bucket, path"  # noqa: S608
            for bucket, path, leaf in self._cursor.fetch(statement, some):
                found.setdefault(bucket, []).append((path, leaf))
        self._expected_leaves = found  # all at once: threads share a snapshot

    def _find_row(self, path: str) -> Row | None:
        if (expected := self._expected.pop(path, None)) is not None:
            return expected
        found = self._cursor.fetch(f"SELECT {COLUMNS} FROM documents WHERE path = ?", (path,))  # noqa: S608
        if not found and self._documents is not None and path in self._documents.paths:
            raise CorruptError(f"the row of {path!r:.200} can't be found any more; index the sources again")
        return _row(found[0]) if found else None

    def documents(self) -> Documents:
        """All live documents in columns, read once."""
        if self._documents is None:
            self._documents = self._document_columns()
        return self._documents

    def _document_columns(self) -> Documents:
        parts = [segment.card_columns() for segment in self._segments.values()]
        return Documents.of([list(chain(*columns)) for columns in zip(*parts, strict=True)] or [()] * len(Card._fields))

    def source_map(self, number: int) -> SourceMap | None:
        """The way back from a document's text to its original; None where a byte is a byte."""
        data = self.packed_map(number)
        return None if data is None else unpack_map(data, most=self._shelf.most_bytes)

    def source_maps(self, numbers: Sequence[int]) -> dict[int, SourceMap]:
        """The maps of the converted documents among these; which ones they are costs one read."""
        converted: list[int] = []
        for first in range(0, len(numbers), _AT_ONCE):
            batch = numbers[first : first + _AT_ONCE]
            marks = ", ".join("?" * len(batch))
            statement = f"SELECT document FROM maps WHERE document IN ({marks}) ORDER BY document"  # noqa: S608
            converted += [number for (number,) in self._cursor.fetch(statement, batch)]
        return {number: found for number in converted if (found := self.source_map(number)) is not None}

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

    def _find_extents(self, number: int) -> tuple[tuple[int, int, int, int], ...]:
        """Segment, base, start and length of a document's extents, in order."""
        found: list[tuple[int, int, int, int]] = []
        for segment in self._segments.values():
            if not segment.lowest <= number <= segment.highest:
                continue
            bases, ends, _, starts = segment.extents
            for at in segment.extents_of(number).tolist():  # mostly one
                base = int(bases[at])
                found.append((segment.number, base, int(starts[at]), int(ends[at]) - base))
        return tuple(sorted(found, key=lambda extent: (extent[2], extent[3])))

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

    def expect_terms(self, terms: Sequence[bytes]) -> None:
        """Be told which terms will be looked for, or beginnings of terms."""
        if self._cursor.is_far:
            self._cursor.expect([key for each in self._segments.values() for key in each.pages_of(terms)])

    def expect_words(self) -> None:
        """Be told that the words of all segments will be asked for."""
        if self._cursor.is_far:
            self._cursor.expect([key_of(number, WORDS) for number in self._segments])

    def pages(self, places: Sequence[tuple[int, int]]) -> list[OpenPage]:
        """Pages of postings, each of a segment and a place there, read together."""
        return self._shelf.pages(places)

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
            heads = self._segments[segment].heads
            first, last = heads.starts.searchsorted(np.array((base, base + size), heads.starts.dtype))
            starts, ends, levels = (column[first:last].astype(np.int64) for column in heads)
            shift = start - base
            found.append((starts + shift, np.minimum(ends, base + size) + shift, levels))
        return Heads(*(np.concatenate(columns) for columns in zip(*found, strict=True)))

    def _cuts(
        self, number: int, cuts_in: Callable[[StoredSegment, int, int], Numbers], low: int, high: int | None
    ) -> Numbers:
        cuts, length, extents = [], 0, self._extents(number)
        for segment, base, start, size in extents:
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
        rows = self._shelf.segments()
        if self._cursor.is_far:  # the columns of all segments at once, of which a question reads nearly all
            self._cursor.expect([key_of(row.number, kind) for row in rows for kind in SINGLE])
        return {row.number: StoredSegment(self._shelf, row) for row in rows}

    # ---- proofs

    def prove(self, path: str) -> Proof:
        """That the document of this path is under the root."""
        above = self._buckets
        bucket = bucket_of(path)
        found: Sequence[tuple[Any, ...]] = self._expected_leaves.get(bucket, ())
        if not found:
            found = self._cursor.fetch("SELECT path, leaf FROM documents WHERE bucket = ? ORDER BY path", (bucket,))
        number = next((at for at, (name, _) in enumerate(found) if name == path), None)
        if number is None:
            raise DocumentError(f"{path!r} is not in this snapshot")
        proof = prove(checked_leaves([leaf for _, leaf in found]), number, place=bucket, above=above)
        row = self.row(path)
        if row is None or proof.root(leaf_hash(path, row.time, row.content_hash)) != above[-1][0]:
            raise CorruptError(f"the proof of {path!r:.200} does not lead to the state root; index the sources again")
        return proof

    @cached_property
    def _buckets(self) -> list[list[bytes]]:
        found = all_buckets(_bucket_roots(self._cursor))
        if found[-1][0] != self.root:
            raise CorruptError(_NO_PATH)
        return found


def _row(values: tuple[Any, ...]) -> Row:
    *fields, seal = values
    check_seal("a document", seal, *fields)
    number, path, raw_id, content_hash, _, _, length, time, kind, language, rule, title, _, _ = fields
    return Row(number, path, raw_id.hex(), content_hash, length, time, kind, language, rule, title)
