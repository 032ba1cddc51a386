"""How is a segment written down, masked and dropped?"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import zstandard

from brimful.index.build import Extent, Segment
from brimful.index.columns import Numbers, pack_sorted
from brimful.index.segments import Page, pages_of
from brimful.index.vectors import Codes
from brimful.store.cursors import Cursor
from brimful.store.protocol import BLOCK_BYTES, Card, Extents, Heads
from brimful.store.schema import (
    BLOB_CODES,
    CARDS,
    CODES,
    EXTENTS,
    FIRSTS,
    HEADS,
    PAGE,
    SECTIONS,
    TEXT,
    UNITS,
    key_of,
    seal_of,
)
from brimful.store.shelf import Shelf
from brimful.store.tables import pack_cards, pack_table, unpack_cards, unpack_table

SEGMENT_BYTES = 4 << 20
"""Text that is indexed and committed at once."""

LEVEL = 3
_CODES_LEVEL = 1
_CARDS = "SELECT number, path, title, length, time, kind, language FROM documents WHERE number BETWEEN ? AND ?"


class Laid(NamedTuple):
    """An extent with the document that it belongs to, and where in it it begins."""

    document: int
    start: int
    extent: Extent


def grouped(laid: Iterable[Laid]) -> Iterator[list[Laid]]:
    """Extents in groups of about a segment's size."""
    group: list[Laid] = []
    size = 0
    for each in laid:
        group.append(each)
        size += len(each.extent.content)
        if size >= SEGMENT_BYTES:
            yield group
            group, size = [], 0
    if group:
        yield group


Blob = tuple[int, int, bytes]
"""What a segment keeps: the kind of blob, its place in the sequence of that kind, the bytes."""


@dataclass(frozen=True, slots=True, eq=False)
class Packed:
    """A segment as it is written down, but for its number and those of its documents."""

    length: int  # of its axis
    bases: Numbers  # where each extent begins on the axis
    ends: Numbers
    starts: Numbers  # where each begins in its document
    blobs: list[Blob]


def pack_segment(laid: Sequence[Laid], segment: Segment, codes: Codes | None) -> Packed:
    """Pack and compress all that a segment holds."""
    sizes = np.array([len(each.extent.content) for each in laid], np.int64)
    heads = Heads(segment.heads.starts, segment.heads.ends, segment.heads.levels)
    blobs = [
        *page_blobs(pages_of(segment.postings)),
        *cut_blobs(segment.units, segment.sections, heads),
        *code_blobs(codes),
        *(
            block_blob(place, segment.axis[at : at + BLOCK_BYTES])
            for place, at in enumerate(range(0, len(segment.axis), BLOCK_BYTES))
        ),
    ]
    starts = np.array([each.start for each in laid], np.int64)
    return Packed(len(segment.axis), segment.bases, segment.bases + sizes, starts, blobs)


def write_segment(cursor: Cursor, packed: Packed, documents: Numbers) -> None:
    """Write a segment whose documents, one number for each extent, are in their table already."""
    publish(cursor, send(cursor, packed), packed, documents)


def send(cursor: Cursor, packed: Packed) -> int:
    """Write what a segment holds, which nobody sees before it is published; returns its number."""
    number = cursor.next_segment()
    write_blobs(cursor, number, packed.blobs)
    return number


def publish(cursor: Cursor, number: int, packed: Packed, documents: Numbers) -> None:
    """Say whose extents a segment holds; their documents are in their table already."""
    begun = set(documents[packed.starts == 0].tolist())
    found = cursor.fetch(_CARDS, (int(documents.min()), int(documents.max())))
    extents = Extents(packed.bases, packed.ends, documents, packed.starts)
    write_extents(cursor, number, extents, length=packed.length)
    write_cards(cursor, number, [Card(*values) for values in found if values[0] in begun])


def write_extents(cursor: Cursor, number: int, extents: Extents, *, length: int, dead: int = 0) -> None:
    """What is live in a segment; `dead` counts the extents that were."""
    live = int((extents.ends - extents.bases).sum())
    values = (number, length, live, dead, int(extents.documents.min()), int(extents.documents.max()))
    cursor.execute("DELETE FROM segments WHERE number = ?", (number,))
    cursor.execute("INSERT INTO segments VALUES (?, ?, ?, ?, ?, ?, ?)", (*values, seal_of(*values)))
    write_blob(cursor, key_of(number, EXTENTS), pack_table(extents))


def write_cards(cursor: Cursor, number: int, cards: Sequence[Card]) -> None:
    """What search shows of the documents that begin in a segment."""
    write_blob(cursor, key_of(number, CARDS), pack_cards(cards))


def page_blobs(pages: Iterable[Page]) -> Iterator[Blob]:
    """Postings, and the first term of each page."""
    firsts = []
    for place, page in enumerate(pages):
        yield PAGE, place, page.data
        firsts.append(page.first)
    yield FIRSTS, 0, zstandard.ZstdCompressor(level=LEVEL).compress(b"\n".join(firsts))


def cut_blobs(units: Numbers, sections: Numbers, heads: Heads) -> Iterator[Blob]:
    """Where units, sections and headings stand."""
    yield UNITS, 0, pack_sorted(units)
    yield SECTIONS, 0, pack_sorted(sections)
    yield HEADS, 0, pack_table(heads)


def code_blobs(codes: Codes | None) -> Iterator[Blob]:
    """A row for each unit, some hundred to a blob: a question reads those that it looks at."""
    if codes is not None:
        compressor = zstandard.ZstdCompressor(level=_CODES_LEVEL)
        for place, first in enumerate(range(0, max(len(codes), 1), BLOB_CODES)):
            yield CODES, place, compressor.compress(codes[first : first + BLOB_CODES].tobytes())


def block_blob(place: int, text: bytes) -> Blob:
    """A block of text."""
    return TEXT, place, zstandard.ZstdCompressor(level=LEVEL).compress(text)


def write_blobs(cursor: Cursor, number: int, blobs: Iterable[Blob]) -> None:
    """Whatever a segment keeps."""
    keyed = ((key_of(number, kind, place), data) for kind, place, data in blobs)
    cursor.write_blobs((key, data, seal_of(key, data)) for key, data in keyed)


def write_blob(cursor: Cursor, key: int, data: bytes) -> None:
    """Anything, with its seal."""
    cursor.write_blobs([(key, data, seal_of(key, data))])


def mask(cursor: Cursor, documents: Sequence[int]) -> None:
    """Take documents out of what is live; a segment without any is dropped."""
    gone = np.array(sorted(documents), np.int64)
    shelf = Shelf(cursor)
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
    packed, most = Shelf(cursor).column(key_of(segment, CARDS))
    cards = unpack_cards(packed, most=most)
    write_cards(cursor, segment, [card._replace(path=path) if card.number == number else card for card in cards])


def drop_segment(cursor: Cursor, number: int) -> None:
    """Forget a segment with all its blobs."""
    cursor.execute("DELETE FROM blobs WHERE key >= ? AND key < ?", (key_of(number, 0), key_of(number + 1, 0)))
    cursor.execute("DELETE FROM segments WHERE number = ?", (number,))
