"""Documents written down as segments.

`prepare` does all that takes long, terms, cuts, packing and hashes, without the store: readers and other writers wait
only for what is left.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import numpy as np
from blake3 import blake3

from brimful.budget import scaled
from brimful.documents.documents import Document
from brimful.documents.reading import LongDocument
from brimful.index.build import Extent, Outlined, extents_from, extents_of, index_terms, outline_extents
from brimful.index.segments import Numbers, Page, pack_sorted, pages_of
from brimful.native.terms import multiplier_of
from brimful.outline.cuts import Heads
from brimful.store.columns import compressed, pack_cards, pack_map, pack_table
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
    key_of,
    seal_of,
)
from brimful.store.merkle import bucket_of, leaf_hash
from brimful.store.rows import BLOCK_BYTES, Card, Extents, Row
from brimful.store.segments import BlobReader, StoredSegment

if TYPE_CHECKING:
    from brimful.documents.loaders.loaded import SourceMap

T = TypeVar("T")

SEGMENT_BYTES = 16 << 20
"""Text that is indexed and committed at once."""

_MORE_BEYOND = 3
_LEAST_PART = 8
_CARDS = f"SELECT {', '.join(Card._fields)} FROM documents WHERE number BETWEEN ? AND ?"  # noqa: S608

# ---- documents


@dataclass(frozen=True, slots=True)
class NewDocument:
    """A document to be stored, with where it came from."""

    document: Document | LongDocument
    rule: str = "utf-8"
    title: str | None = None
    origin: str | None = None  # the file that it was read from
    stamp: str | None = None  # that file's size and time of change
    source_map: SourceMap | None = None  # the way back to the original
    content_hash: bytes | None = None  # where it is known already


def row_of(new: NewDocument) -> Row:
    """The row of a document that is not stored yet."""
    document = new.document
    content_hash = new.content_hash or _content_hash(document)
    return Row(
        0,
        document.path,
        bytes.fromhex(document.id),
        content_hash,
        leaf_hash(document.path, document.time, content_hash),
        bucket_of(document.path),
        len(document),
        document.time,
        document.kind,
        document.language,
        new.rule,
        new.title,
        new.origin,
        new.stamp,
    )


def _content_hash(document: Document | LongDocument) -> bytes:
    return blake3(document.content).digest() if isinstance(document, Document) else document.content_hash


def pieces(document: Document | LongDocument) -> Iterator[tuple[int, bytes]]:
    """A document's extents, read as they are needed where it is too long to hold."""
    if isinstance(document, LongDocument):
        return extents_from(document.blocks())
    return extents_of(document.content)


# ---- groups


class DocumentExtent(NamedTuple):
    """A stretch of a document; the document's number, or its row in a batch."""

    document: int
    start: int
    extent: Extent


def grouped(extents: Iterable[DocumentExtent]) -> Iterator[list[DocumentExtent]]:
    """Extents in groups of about a segment's size."""
    return together(extents, lambda member: _weight(member.extent.content), limit=scaled(SEGMENT_BYTES))


def together(items: Iterable[T], size_of: Callable[[T], int], *, limit: int) -> Iterator[list[T]]:
    """Items in groups that end with the item that reaches the limit.

    Less than an eighth of the limit at the end goes with the group before: a question looks into every segment.

    >>> list(together([5, 6, 9, 1], int, limit=10)), list(together([5, 6, 1], int, limit=10))
    ([[5, 6], [9, 1]], [[5, 6, 1]])
    """
    group: list[T] = []
    full: list[T] = []
    size = 0
    for item in items:
        group.append(item)
        size += size_of(item)
        if full and size * _LEAST_PART >= limit:
            yield full
            full = []
        if size >= limit:
            full, group, size = group, [], 0
    full += group
    del group  # the caller may empty a group
    if full:
        yield full


def _weight(content: bytes) -> int:
    """The bytes of a text, fourfold beyond ASCII: of Chinese nearly every pair of characters is a term."""
    beyond = 0 if content.isascii() else int(np.count_nonzero(np.frombuffer(content, np.int8) < 0))
    return len(content) + _MORE_BEYOND * beyond


# ---- segments

_Blob = tuple[int, int, bytes]
"""The kind of a blob, its place in the sequence of that kind, the bytes."""


class _SegmentDraft(NamedTuple):
    """A segment without its terms."""

    texts: Outlined
    extents: Extents


@dataclass(frozen=True, slots=True, eq=False)
class _SegmentBytes:
    """A segment as it is written down, but for its number."""

    length: int  # of its axis
    extents: Extents
    blobs: list[_Blob]


@dataclass(frozen=True, slots=True, eq=False)
class Batch:
    """Documents that are ready to be written."""

    rows: list[Row]  # by path
    maps: dict[int, bytes]  # by row: the way back to the original
    segments: list[_SegmentBytes]  # whose extents name documents by their rows


def prepare(documents: list[NewDocument]) -> Batch:
    """Index documents; the last one of a path is taken.

    The list is emptied, and each text freed when its segment has been packed: memory holds each once.
    """
    latest = {new.document.path: new for new in documents}
    documents.clear()
    ordered = {row: latest.pop(path) for row, path in enumerate(sorted(latest))}
    rows = [row_of(new) for new in ordered.values()]
    maps = {row: pack_map(new.source_map) for row, new in ordered.items() if new.source_map is not None}
    drafts = list(map(_draft, grouped(_extents(ordered))))
    segments = []
    while drafts:
        hashes = [rows[row].content_hash for row in drafts[0].extents.documents.tolist()]
        segments.append(_packed(drafts.pop(0), multiplier=multiplier_of(b"".join(hashes))))
    return Batch(rows, maps, segments)


def _extents(documents: dict[int, NewDocument]) -> Iterator[DocumentExtent]:
    """The extents of documents by row, which are taken out one by one."""
    for row in range(len(documents)):
        document = documents.pop(row).document
        for start, piece in pieces(document):
            yield DocumentExtent(row, start, Extent(piece, document.kind, document.language, document.path))


def _draft(group: list[DocumentExtent]) -> _SegmentDraft:
    """Lay extents on an axis and find where they can be cut; the group is emptied."""
    sizes, documents, starts = (
        np.array(column, np.int64)
        for column in zip(*((len(part.extent.content), part.document, part.start) for part in group), strict=True)
    )
    contents = [part.extent for part in group]
    group.clear()
    texts = outline_extents(contents)
    return _SegmentDraft(texts, Extents(texts.bases, texts.bases + sizes, documents, starts))


def _packed(draft: _SegmentDraft, *, multiplier: int | None = None) -> _SegmentBytes:
    """Compress a segment's text and find its terms, which are hashed with the multiplier."""
    texts, extents = draft
    del draft
    length = int(extents.ends[-1])
    blocks = list(block_blobs(memoryview(texts.padded)[:length]))
    postings, cuts = index_terms(texts.padded, multiplier=multiplier), texts[2:]
    del texts
    blobs = [*page_blobs(pages_of(postings)), *cut_blobs(*cuts), *blocks]
    return _SegmentBytes(length, extents, blobs)


def page_blobs(pages: Iterable[Page]) -> Iterator[_Blob]:
    """Postings, the first term of each page, and the words among all terms, which misspelt ones are compared with."""
    firsts, words = [], []
    for place, page in enumerate(pages):
        yield PAGE, place, page.data
        firsts.append(page.first)
        words.append(page.words)
    yield FIRSTS, 0, compressed(b"\n".join(firsts))
    yield WORDS, 0, compressed(b"".join(words))


def cut_blobs(units: Numbers, sections: Numbers, heads: Heads) -> Iterator[_Blob]:
    """Units, sections and headings."""
    yield UNITS, 0, pack_sorted(units)
    yield SECTIONS, 0, pack_sorted(sections)
    yield HEADS, 0, pack_table(heads)


def block_blobs(text: bytes | memoryview, *, first: int = 0) -> Iterator[_Blob]:
    """Blocks of text, numbered from `first`."""
    for place, start in enumerate(range(0, len(text), BLOCK_BYTES), start=first):
        yield TEXT, place, compressed(text[start : start + BLOCK_BYTES])


def write_segment(cursor: Cursor, group: list[DocumentExtent]) -> None:
    """Write extents of documents that are in their table as a segment; the group is emptied."""
    segment = _packed(_draft(group))
    cards = cursor.fetch(_CARDS, (int(segment.extents.documents.min()), int(segment.extents.documents.max())))
    publish(cursor, send(cursor, segment), segment.extents, segment.length, cards=map(Card._make, cards))


def send(cursor: Cursor, segment: _SegmentBytes) -> int:
    """Write the blobs of a segment, which nobody sees before it is published; returns its number."""
    number = cursor.next_segment()
    write_blobs(cursor, number, segment.blobs)
    return number


def publish(cursor: Cursor, number: int, extents: Extents, length: int, *, cards: Iterable[Card]) -> None:
    """Say whose extents a segment holds, with the cards of the documents that begin in it."""
    begun = set(extents.documents[extents.starts == 0].tolist())
    write_extents(cursor, number, extents, length=length)
    write_cards(cursor, number, [card for card in cards if card.number in begun])


def write_extents(cursor: Cursor, number: int, extents: Extents, *, length: int, dead: int = 0) -> None:
    """Write the live extents of a segment; `dead` counts the others."""
    live = int((extents.ends - extents.bases).sum())
    values = (number, length, live, dead, int(extents.documents.min()), int(extents.documents.max()))
    cursor.execute("DELETE FROM segments WHERE number = ?", (number,))
    cursor.execute("INSERT INTO segments VALUES (?, ?, ?, ?, ?, ?, ?)", (*values, seal_of(*values)))
    write_blobs(cursor, number, [(EXTENTS, 0, pack_table(extents))])


def write_cards(cursor: Cursor, number: int, cards: Sequence[Card]) -> None:
    """Write the cards of the documents that begin in a segment."""
    write_blobs(cursor, number, [(CARDS, 0, pack_cards(cards))])


def write_blobs(cursor: Cursor, number: int, blobs: Iterable[_Blob]) -> None:
    """Write blobs of a segment with their seals."""
    keyed = ((key_of(number, kind, place), data) for kind, place, data in blobs)
    cursor.write_blobs((key, data, seal_of(key, data)) for key, data in keyed)


# ---- changes


def segments_of(cursor: Cursor) -> list[StoredSegment]:
    """The segments inside a transaction."""
    reader = BlobReader(cursor)
    return [StoredSegment(reader, row) for row in reader.segments()]


def mask(cursor: Cursor, documents: Sequence[int]) -> None:
    """Take documents out of live text; a segment without any is dropped."""
    gone = np.array(sorted(documents), np.int64)
    for segment in segments_of(cursor):
        if not ((gone >= segment.lowest) & (gone <= segment.highest)).any():
            continue
        is_live = ~np.isin(segment.extents.documents, gone)
        if not is_live.any():
            drop_segment(cursor, segment.number)
        elif not is_live.all():
            dead = segment.dead + int(np.count_nonzero(~is_live))
            live = Extents(*(column[is_live] for column in segment.extents))
            write_extents(cursor, segment.number, live, length=segment.length, dead=dead)


def drop_segment(cursor: Cursor, number: int) -> None:
    """Delete a segment with all its blobs."""
    cursor.execute("DELETE FROM blobs WHERE key >= ? AND key < ?", (key_of(number, 0), key_of(number + 1, 0)))
    cursor.execute("DELETE FROM segments WHERE number = ?", (number,))
