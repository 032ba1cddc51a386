"""How do documents become what only has to be written down?

All that takes long is done here, without the store: terms, cuts, codes, packing, hashes. It can be done in another
process, and readers and other writers wait only for what is left.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from blake3 import blake3

from brimful.corpus.documents import Document
from brimful.corpus.streaming import LongDocument, same_again
from brimful.index.build import Extent, build_segment, extents_from, extents_of
from brimful.index.coding import code_units
from brimful.index.columns import Numbers
from brimful.index.embedders import Embedder
from brimful.store.laying import Laid, Packed, grouped, pack_segment
from brimful.store.merkle import bucket_of, leaf_hash
from brimful.store.tables import pack_map

if TYPE_CHECKING:
    from brimful.corpus.loaders.loaded import SourceMap


@dataclass(frozen=True, slots=True)
class Entry:
    """A document to be stored, with where it came from."""

    document: Document | LongDocument
    rule: str = "utf-8"
    title: str | None = None
    origin: str | None = None  # the file that it was read from
    stamp: str | None = None  # that file's size and time of change
    source_map: SourceMap | None = None  # the way back to the original


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


@dataclass(frozen=True, slots=True, eq=False)
class Prepared:
    """A batch of documents, ready to be written."""

    rows: list[Row]  # by path
    maps: dict[int, bytes]  # by row: the way back to the original
    segments: list[tuple[Packed, Numbers]]  # with the row of each extent
    model: str  # whose vectors the codes are made of; nothing without codes


def prepare(entries: Sequence[Entry], embedder: Embedder | None, *, parts: int = 1) -> Prepared:
    """Index a batch; of documents with the same path the last one is taken.

    For a corpus in several parts no segment has documents of two; `split` makes a batch of each.
    """
    latest = {entry.document.path: entry for entry in entries}
    entries = [latest[path] for path in sorted(latest)]
    segments = []
    for part in range(parts):
        laid = (
            Laid(number, start, Extent(piece, entry.document.kind, entry.document.language))
            for number, entry in enumerate(entries)
            if part_of(entry.document.path, parts) == part
            for start, piece in pieces(entry.document)
        )
        segments += [(built(group, embedder), np.array([each.document for each in group])) for group in grouped(laid)]
    maps = {at: pack_map(entry.source_map) for at, entry in enumerate(entries) if entry.source_map is not None}
    return Prepared([row_of(entry) for entry in entries], maps, segments, model_of(embedder))


def part_of(path: str, parts: int) -> int:
    """The part of a corpus that a document lies in: a bucket of the tree of hashes is never in two.

    >>> part_of("tea.md", 1), part_of("tea.md", 3) in range(3)
    (0, True)
    """
    return bucket_of(path) % parts


def split(prepared: Prepared, parts: int) -> list[Prepared]:
    """The documents of each part with their segments, of a batch that was prepared for so many."""
    found = []
    for part in range(parts):
        chosen = [at for at, row in enumerate(prepared.rows) if row.bucket % parts == part]
        places = {at: place for place, at in enumerate(chosen)}
        segments = [
            (packed, np.array([places[at] for at in owners.tolist()]))
            for packed, owners in prepared.segments
            if int(owners[0]) in places
        ]
        maps = {places[at]: data for at, data in prepared.maps.items() if at in places}
        found.append(Prepared([prepared.rows[at] for at in chosen], maps, segments, prepared.model))
    return found


def row_of(entry: Entry) -> Row:
    """What is kept of a document."""
    document = entry.document
    content_hash = blake3(document.content).digest() if isinstance(document, Document) else document.content_hash
    return Row(
        document.path,
        bytes.fromhex(document.id),
        content_hash,
        leaf_hash(document.path, document.time, content_hash),
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


def built(group: Sequence[Laid], embedder: Embedder | None) -> Packed:
    """A segment of extents, packed."""
    segment = build_segment([each.extent for each in group])
    return pack_segment(group, segment, code_units(segment, embedder) if embedder is not None else None)


def pieces(document: Document | LongDocument) -> Iterator[tuple[int, bytes]]:
    """A document's extents, read as they are needed where it is too long to hold."""
    if isinstance(document, LongDocument):
        return extents_from(same_again(document))
    return extents_of(document.content)


def model_of(embedder: Embedder | None) -> str:
    """The name that a store keeps of an embedder; nothing for none."""
    return embedder.name if embedder is not None else ""
