"""How are documents written down as segments, masked when they go, and several segments made one?"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, NamedTuple, TypeVar, cast

import numpy as np
from blake3 import blake3

from brimful.documents.documents import Document
from brimful.documents.reading import LongDocument
from brimful.index.build import (
    GAP,
    Extent,
    Outlined,
    extents_from,
    extents_of,
    index_terms,
    outline_extents,
)
from brimful.index.segments import (
    Numbers,
    Page,
    Postings,
    merge_postings,
    pack_numbers,
    pack_sorted,
    pages_of,
    without_empty,
)
from brimful.native.terms import multiplier_of
from brimful.outline.cuts import Heads
from brimful.outline.kinds import Kind
from brimful.store.format import (
    CARDS,
    EXTENTS,
    FIRSTS,
    HEADS,
    LITTLE,
    PAGE,
    SECTIONS,
    TEXT,
    UNITS,
    WORDS,
    BlobReader,
    Cursor,
    compressed,
    key_of,
    pack_cards,
    pack_map,
    pack_table,
    seal_of,
    unpack_cards,
    unpack_table,
)
from brimful.store.merkle import bucket_of, leaf_hash
from brimful.store.rows import BLOCK_BYTES, Card, Extents
from brimful.store.views import StoredSegment
from brimful.text.stems import telling_words
from brimful.text.terms import Names

if TYPE_CHECKING:
    from brimful.documents.loaders.loaded import SourceMap

T = TypeVar("T")

# ---- laying: How is a segment written down, masked and dropped?

SEGMENT_BYTES = 16 << 20
"""Text that is indexed and committed at once."""

_MORE_BEYOND = 3
_LEAST_PART = 8
_CARDS = "SELECT number, path, title, length, time, kind, language FROM documents WHERE number BETWEEN ? AND ?"


class Laid(NamedTuple):
    """An extent with the document that it belongs to, and where in it it begins."""

    document: int
    start: int
    extent: Extent


def grouped(laid: Iterable[Laid]) -> Iterator[list[Laid]]:
    """Extents in groups of about a segment's size."""
    return together(laid, lambda each: _weight(each.extent.content), limit=SEGMENT_BYTES)


def together(given: Iterable[T], size_of: Callable[[T], int], *, limit: int) -> Iterator[list[T]]:
    """What is given in groups of so many bytes, each the first that reaches it.

    Less than an eighth of that at the end goes with the group before: a question looks into every segment.

    >>> list(together([5, 6, 9, 1], int, limit=10)), list(together([5, 6, 1], int, limit=10))
    ([[5, 6], [9, 1]], [[5, 6, 1]])
    """
    group: list[T] = []
    full: list[T] = []
    size = 0
    for each in given:
        group.append(each)
        size += size_of(each)
        if full and size * _LEAST_PART >= limit:
            yield full
            full = []
        if size >= limit:
            full, group, size = group, [], 0
    full += group
    del group  # whoever takes a group may empty it
    if full:
        yield full


def _weight(content: bytes) -> int:
    """The bytes of a text, those beyond ASCII fourfold: of Chinese nearly every pair of characters is a term."""
    beyond = 0 if content.isascii() else int(np.count_nonzero(np.frombuffer(content, np.int8) < 0))
    return len(content) + _MORE_BEYOND * beyond


_Blob = tuple[int, int, bytes]
"""What a segment keeps: the kind of blob, its place in the sequence of that kind, the bytes."""


@dataclass(frozen=True, slots=True, eq=False)
class Packed:
    """A segment as it is written down, but for its number and those of its documents."""

    length: int  # of its axis
    bases: Numbers  # where each extent begins on the axis
    ends: Numbers
    starts: Numbers  # where each begins in its document
    blobs: list[_Blob]


class _Outline(NamedTuple):
    """A segment of which all is known but where its terms stand."""

    texts: Outlined
    ends: Numbers  # of each extent on the axis
    starts: Numbers  # where each begins in its document
    documents: Numbers


def _outline(group: list[Laid]) -> _Outline:
    """Lay a group of extents on an axis, and find where they can be cut; the group is emptied."""
    sizes = np.array([len(each.extent.content) for each in group], np.int64)
    starts, documents = (np.array(column, np.int64) for column in zip(*(each[1::-1] for each in group), strict=True))
    extents = [each.extent for each in group]
    group.clear()
    texts = outline_extents(extents)
    return _Outline(texts, texts.bases + sizes, starts, documents)


def _pack_outline(given: _Outline, *, multiplier: int | None = None) -> Packed:
    """Compress a segment's text and find its terms; pack all that it holds.

    Its text is let go of when it was read for the last time. Terms are hashed with the multiplier.
    """
    texts, ends, starts, _ = given
    length, bases = int(ends[-1]), texts.bases
    blocks = list(_block_blobs(memoryview(texts.padded)[:length]))
    del given
    postings, cuts = index_terms(texts.padded, multiplier=multiplier), texts[2:]
    del texts
    blobs = [
        *_page_blobs(pages_of(postings)),
        (LITTLE, 0, pack_numbers(_little_in(postings))),
        *_cut_blobs(*cuts),
        *blocks,
    ]
    return Packed(length, bases, ends, starts, blobs)


def write_segment(cursor: Cursor, group: list[Laid], documents: Numbers) -> None:
    """Write extents as a segment; their documents, a number for each, are in their table. The group is emptied."""
    packed = _pack_outline(_outline(group))
    found = cursor.fetch(_CARDS, (int(documents.min()), int(documents.max())))
    publish(cursor, send(cursor, packed), packed, documents, cards=map(Card._make, found))


def send(cursor: Cursor, packed: Packed) -> int:
    """Write what a segment holds, which nobody sees before it is published; returns its number."""
    number = cursor.next_segment()
    write_blobs(cursor, number, packed.blobs)
    return number


def publish(cursor: Cursor, number: int, packed: Packed, documents: Numbers, *, cards: Iterable[Card]) -> None:
    """Say whose extents a segment holds; their documents are in their table already, and have these cards."""
    begun = set(documents[packed.starts == 0].tolist())
    extents = Extents(packed.bases, packed.ends, documents, packed.starts)
    write_extents(cursor, number, extents, length=packed.length)
    write_cards(cursor, number, [card for card in cards if card.number in begun])


def write_extents(cursor: Cursor, number: int, extents: Extents, *, length: int, dead: int = 0) -> None:
    """What is live in a segment; `dead` counts the extents that were."""
    live = int((extents.ends - extents.bases).sum())
    values = (number, length, live, dead, int(extents.documents.min()), int(extents.documents.max()))
    cursor.execute("DELETE FROM segments WHERE number = ?", (number,))
    cursor.execute("INSERT INTO segments VALUES (?, ?, ?, ?, ?, ?, ?)", (*values, seal_of(*values)))
    _write_blob(cursor, key_of(number, EXTENTS), pack_table(extents))


def write_cards(cursor: Cursor, number: int, cards: Sequence[Card]) -> None:
    """What search shows of the documents that begin in a segment."""
    _write_blob(cursor, key_of(number, CARDS), pack_cards(cards))


def _page_blobs(pages: Iterable[Page]) -> Iterator[_Blob]:
    """Postings, the first term of each page, and the words among all terms: what is misspelt is compared with these."""
    firsts, words = [], []
    for place, page in enumerate(pages):
        yield PAGE, place, page.data
        firsts.append(page.first)
        words.append(page.words)
    yield FIRSTS, 0, compressed(b"\n".join(firsts))
    yield WORDS, 0, compressed(b"".join(words))


def _little_in(postings: Postings) -> Numbers:
    """How often each of the words stands here that tell languages apart."""
    rows, known = Names.of(postings.names).find(_telling())
    return np.where(known, np.append(np.diff(postings.offsets), 0)[rows], 0)


@cache
def _telling() -> Names:
    return Names.of([word for own in telling_words().values() for word in own])


def _cut_blobs(units: Numbers, sections: Numbers, heads: Heads) -> Iterator[_Blob]:
    """Where units, sections and headings stand."""
    yield UNITS, 0, pack_sorted(units)
    yield SECTIONS, 0, pack_sorted(sections)
    yield HEADS, 0, pack_table(heads)


def _block_blobs(text: bytes | memoryview, *, first: int = 0) -> Iterator[_Blob]:
    """Blocks of text, from a place on."""
    for place, at in enumerate(range(0, len(text), BLOCK_BYTES), start=first):
        yield TEXT, place, compressed(text[at : at + BLOCK_BYTES])


def write_blobs(cursor: Cursor, number: int, blobs: Iterable[_Blob]) -> None:
    """Whatever a segment keeps."""
    keyed = ((key_of(number, kind, place), data) for kind, place, data in blobs)
    cursor.write_blobs((key, data, seal_of(key, data)) for key, data in keyed)


def _write_blob(cursor: Cursor, key: int, data: bytes) -> None:
    """Anything, with its seal."""
    cursor.write_blobs([(key, data, seal_of(key, data))])


def mask(cursor: Cursor, documents: Sequence[int]) -> None:
    """Take documents out of what is live; a segment without any is dropped."""
    gone = np.array(sorted(documents), np.int64)
    shelf = BlobReader(cursor)
    for row in shelf.segments():
        if not ((gone >= row.lowest) & (gone <= row.highest)).any():
            continue
        packed, most = shelf.column(key_of(row.number, EXTENTS))
        extents = Extents(*unpack_table(packed, width=4, most=most))
        kept = ~np.isin(extents.documents, gone)
        if not kept.any():
            drop_segment(cursor, row.number)
        elif not kept.all():
            dead = row.dead + int(np.count_nonzero(~kept))
            left = Extents(*(column[kept] for column in extents))
            write_extents(cursor, row.number, left, length=row.length, dead=dead)


def rename_card(cursor: Cursor, segment: int, number: int, path: str) -> None:
    """Show another path for a document that begins in this segment."""
    packed, most = BlobReader(cursor).column(key_of(segment, CARDS))
    cards = list(map(Card._make, zip(*unpack_cards(packed, most=most), strict=True)))
    write_cards(cursor, segment, [card._replace(path=path) if card.number == number else card for card in cards])


def drop_segment(cursor: Cursor, number: int) -> None:
    """Forget a segment with all its blobs."""
    cursor.execute("DELETE FROM blobs WHERE key >= ? AND key < ?", (key_of(number, 0), key_of(number + 1, 0)))
    cursor.execute("DELETE FROM segments WHERE number = ?", (number,))


# ---- preparing: How do documents become what only has to be written down?
#
# All that takes long is done here, without the store: terms, cuts, packing, hashes. It can be done in another
# process, and readers and other writers wait only for what is left.


@dataclass(frozen=True, slots=True)
class Entry:
    """A document to be stored, with where it came from."""

    document: Document | LongDocument
    rule: str = "utf-8"
    title: str | None = None
    origin: str | None = None  # the file that it was read from
    stamp: str | None = None  # that file's size and time of change
    source_map: SourceMap | None = None  # the way back to the original
    content_hash: bytes | None = None  # where somebody has hashed the content already


class Row(NamedTuple):
    """What is kept of a document in its table, but for its number and seal."""

    path: str
    id: bytes
    content_hash: bytes
    leaf: bytes
    bucket: int
    length: int
    time: int | None
    kind: str
    language: str | None
    rule: str
    title: str | None
    origin: str | None
    stamp: str | None


def card_of(number: int, row: Row) -> Card:
    """What search shows of a document."""
    return Card(number, row.path, row.title, row.length, row.time, cast("Kind", row.kind), row.language)


@dataclass(frozen=True, slots=True, eq=False)
class Prepared:
    """A batch of documents, ready to be written."""

    rows: list[Row]  # by path
    maps: dict[int, bytes]  # by row: the way back to the original
    segments: list[tuple[Packed, Numbers]]  # with the row of each extent


class _Outlines(NamedTuple):
    """A batch of documents that are read and laid out; their own objects are no longer needed."""

    rows: list[Row]
    maps: dict[int, bytes]
    segments: list[_Outline]


def lay_out(entries: list[Entry]) -> _Outlines:
    """Lay a batch out in segments; of documents with the same path the last one is taken.

    The entries are taken out of the list, and let go of as soon as their segment has their text.
    """
    latest = {entry.document.path: entry for entry in entries}
    entries.clear()
    left = {at: latest.pop(path) for at, path in enumerate(sorted(latest))}
    rows = rows_of(list(left.values()))
    maps = {at: pack_map(entry.source_map) for at, entry in left.items() if entry.source_map is not None}
    return _Outlines(rows, maps, list(map(_outline, grouped(_laid(left)))))


def _laid(entries: dict[int, Entry]) -> Iterator[Laid]:
    """The extents of entries, which are taken out one by one."""
    for number in range(len(entries)):
        document = entries.pop(number).document
        for start, piece in pieces(document):
            yield Laid(number, start, Extent(piece, document.kind, document.language))


def index(given: _Outlines) -> Prepared:
    """Find the terms of a batch; an outline is let go of when that is done."""
    segments = []
    while given.segments:
        documents = given.segments[0].documents
        multiplier = multiplier_of(b"".join(given.rows[at].content_hash for at in documents.tolist()))
        segments.append((_pack_outline(given.segments.pop(0), multiplier=multiplier), documents))
    return Prepared(given.rows, given.maps, segments)


def prepare(entries: Sequence[Entry]) -> Prepared:
    """Lay a batch out and index it."""
    return index(lay_out(list(entries)))


def rows_of(entries: Sequence[Entry]) -> list[Row]:
    """What is kept of documents."""
    documents = [entry.document for entry in entries]
    hashes = [entry.content_hash or _content_hash(entry.document) for entry in entries]
    return [
        Row(
            document.path,
            bytes.fromhex(document.id),
            hashed,
            leaf_hash(document.path, document.time, hashed),
            bucket_of(document.path),
            len(document),
            document.time,
            document.kind,
            document.language,
            entry.rule,
            entry.title,
            entry.origin,
            entry.stamp,
        )
        for entry, document, hashed in zip(entries, documents, hashes, strict=True)
    ]


def _content_hash(document: Document | LongDocument) -> bytes:
    return blake3(document.content).digest() if isinstance(document, Document) else document.content_hash


def pieces(document: Document | LongDocument) -> Iterator[tuple[int, bytes]]:
    """A document's extents, read as they are needed where it is too long to hold."""
    if isinstance(document, LongDocument):
        return extents_from(document.blocks())
    return extents_of(document.content)


# ---- merging: How do several segments become one without reading any text again?
#
# Positions, cuts and headings of live extents are moved to a new axis; what was deleted is left behind. Text
# of a large segment without dead extents keeps its compressed blocks: its part of the new axis begins at a block.

FANOUT = 8
"""So many segments of a tier are merged into one of the next."""

LARGEST_BYTES = 128 << 20
"""Live text of a segment that merging may make."""

_SMALLEST_TIER = 1 << 16
_MOVED_BYTES = 16 * BLOCK_BYTES
"""A segment from this size on keeps its blocks; smaller ones are laid together and compressed anew."""


def tier_of(live: int) -> int:
    """Segments of one tier differ in size by less than the fanout.

    >>> [tier_of(size) for size in (0, 1 << 16, 1 << 20, 8 << 20, 64 << 20)]
    [0, 1, 2, 3, 4]
    """
    tier = 0
    while live >= _SMALLEST_TIER << (3 * tier):
        tier += 1
    return tier


def crowded(segments: Sequence[StoredSegment]) -> list[StoredSegment]:
    """Segments that should become one now: the smallest tier that is full, or one that is more than half dead."""
    tiers: dict[int, list[StoredSegment]] = {}
    for segment in segments:
        tiers.setdefault(tier_of(segment.live), []).append(segment)
    for tier in sorted(tiers):
        if len(tiers[tier]) >= FANOUT:
            chosen = next((batch for batch in batches(tiers[tier][:FANOUT]) if len(batch) > 1), None)
            if chosen:
                return chosen
    return next(([each] for each in segments if each.dead and 2 * each.live < each.length), [])


def batches(segments: Sequence[StoredSegment]) -> Iterator[list[StoredSegment]]:
    """Neighbouring segments together, up to the largest size."""
    batch: list[StoredSegment] = []
    size = 0
    for segment in segments:
        if batch and size + segment.live > LARGEST_BYTES:
            yield batch
            batch, size = [], 0
        batch.append(segment)
        size += segment.live
    if batch:
        yield batch


def merge(cursor: Cursor, segments: Sequence[StoredSegment]) -> None:
    """Write one segment in the place of some, inside the caller's transaction."""
    number = cursor.next_segment()
    extents, length = lay_anew(cursor, number, segments)
    cards = [card for segment in segments for card in segment.cards()]
    cursor.take_turn([seal for segment in segments for seal in segment.changing()])
    write_extents(cursor, number, extents, length=length)
    write_cards(cursor, number, cards)
    for segment in segments:
        drop_segment(cursor, segment.number)


def lay_anew(cursor: Cursor, number: int, segments: Sequence[StoredSegment]) -> tuple[Extents, int]:
    """Write what is live in some segments, also of another store, as one; returns its extents and its length."""
    axis = _Axis(cursor, number)
    moves = [_Move(segment, axis.lay(segment)) for segment in segments]
    length = axis.close()
    little = np.zeros(len(_telling()), np.int64)
    write_blobs(cursor, number, _page_blobs(_pages(moves, little)))
    _write_blob(cursor, key_of(number, LITTLE), pack_numbers(little))
    heads = Heads(*_joined([move.heads() for move in moves]))
    units, sections = (np.concatenate([move.cuts(name) for move in moves]) for name in ("units", "sections"))
    write_blobs(cursor, number, _cut_blobs(units, sections, heads))
    return Extents(*_joined([move.extents for move in moves])), length


def _joined(tables: Sequence[Sequence[Numbers]]) -> list[Numbers]:
    return [np.concatenate(columns) for columns in zip(*tables, strict=True)]


@dataclass(frozen=True, slots=True)
class _Move:
    """A segment with where each of its extents begins on the new axis."""

    segment: StoredSegment
    bases: Numbers

    @property
    def extents(self) -> Extents:
        old = self.segment.extents
        return Extents(self.bases, self.bases + old.ends - old.bases, old.documents, old.starts)

    def _shifts(self, positions: Numbers) -> tuple[np.typing.NDArray[np.bool_], Numbers]:
        """Which positions are live, and how far they move."""
        bases, ends, *_ = self.segment.extents
        at = bases.searchsorted(positions, side="right") - 1
        return (at >= 0) & (positions < ends[at]), (self.bases - bases)[at]

    def cuts(self, name: str) -> Numbers:
        """Live cut points on the new axis."""
        column: Numbers = getattr(self.segment, name)
        live, shifts = self._shifts(column)
        return (column + shifts)[live]

    def heads(self) -> Heads:
        """Live headings on the new axis."""
        starts, ends, levels = self.segment.heads
        live, shifts = self._shifts(starts)
        return Heads((starts + shifts)[live], (ends + shifts)[live], levels[live])

    def pages(self) -> Iterator[Postings]:
        """Live postings on the new axis."""
        shifts = np.unique(self.bases - self.segment.extents.bases)
        for page in self.segment.pages():
            if self.segment.dead or len(shifts) > 1:
                yield without_empty(page, *self._shifts(page.positions))
            else:
                yield Postings(page.names, page.offsets, page.positions + shifts)


def _pages(moves: Sequence[_Move], little: Numbers) -> Iterator[Page]:
    """The pages of all together; to `little` is added how often they have the words that tell languages apart."""
    for postings in merge_postings([move.pages() for move in moves]):
        little += _little_in(postings)
        yield from pages_of(postings)


class _Axis:
    """The text of a new segment in the making."""

    def __init__(self, cursor: Cursor, number: int) -> None:
        self._cursor, self._number = cursor, number
        self._place = 0  # of the next block
        self._open = bytearray()  # text that is not in a block yet
        self._begun = False  # is there an extent since the last whole segment?

    def lay(self, segment: StoredSegment) -> Numbers:
        """Add a segment's live text; returns where its extents begin."""
        if segment.dead or segment.length < _MOVED_BYTES:
            return np.array([self._add(content) for content in segment.contents()], np.int64)
        self._flush()
        base = self._place * BLOCK_BYTES
        blocks = segment.length // BLOCK_BYTES + 1  # at least a byte stays free, as between any two extents
        for place in range(blocks):
            data = segment.packed_block(place)
            if data is not None:  # between two parts of an axis there may be none
                _write_blob(self._cursor, key_of(self._number, TEXT, self._place + place), data)
        self._place += blocks
        return segment.extents.bases + base

    def _add(self, content: bytes) -> int:
        if self._begun:
            self._open += GAP
        self._begun = True
        base = self._place * BLOCK_BYTES + len(self._open)
        self._open += content
        while len(self._open) > BLOCK_BYTES:
            self._write(bytes(self._open[:BLOCK_BYTES]))
            del self._open[:BLOCK_BYTES]
        return base

    def _write(self, text: bytes) -> None:
        write_blobs(self._cursor, self._number, _block_blobs(text, first=self._place))
        self._place += 1

    def _flush(self) -> None:
        """Begin a new block, at least a byte after the last extent."""
        if self._open:
            self._write(bytes(self._open))
            self._place += len(self._open) == BLOCK_BYTES
            self._open.clear()
        self._begun = False

    def close(self) -> int:
        """Write what is left; returns the length of the axis."""
        end = self._place * BLOCK_BYTES + len(self._open)
        self._flush()
        return end
