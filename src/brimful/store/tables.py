"""How are several columns written as one blob?"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import zstandard

from brimful.errors import CorruptError
from brimful.index.columns import Numbers
from brimful.store.protocol import Card
from brimful.store.schema import unpacked

if TYPE_CHECKING:
    from brimful.corpus.loaders.loaded import SourceMap

_LEVEL = 3


def pack_table(columns: Sequence[Numbers]) -> bytes:
    """Columns of one length: the differences between neighbours, compressed.

    >>> packed = pack_table([np.array([3, 5]), np.array([9, -2])])
    >>> [column.tolist() for column in unpack_table(packed, width=2, most=32)]
    [[3, 5], [9, -2]]
    """
    steps = np.diff(np.stack([np.asarray(column, np.int64) for column in columns]), axis=1, prepend=0)
    return zstandard.ZstdCompressor(level=_LEVEL).compress(steps.astype("<i8").tobytes())


def unpack_table(packed: bytes, *, width: int, most: int) -> list[Numbers]:
    """The columns that `pack_table` packed, of so many bytes at most."""
    raw = unpacked(packed, most=most)
    if len(raw) % (8 * width):
        raise CorruptError(f"{len(raw)} bytes do not make {width} columns; index the sources again")
    steps = np.frombuffer(raw, "<i8")
    return list(np.cumsum(steps.reshape(width, -1), axis=1, dtype=np.int64))


def pack_cards(cards: Sequence[Card]) -> bytes:
    """Cards column by column, compressed.

    >>> unpack_cards(pack_cards([Card(7, "a.md", None, 5, 60, "prose", None)]), most=200)[0].path
    'a.md'
    """
    columns = list(zip(*sorted(cards), strict=True))
    return zstandard.ZstdCompressor(level=_LEVEL).compress(json.dumps(columns).encode())


def unpack_cards(packed: bytes, *, most: int) -> list[Card]:
    """The cards that `pack_cards` packed, of so many bytes at most."""
    columns = json.loads(unpacked(packed, most=most))
    return list(map(Card._make, zip(*columns, strict=True)))


def pack_map(found: SourceMap) -> bytes:
    """The way back to a document's original, compressed.

    >>> from brimful.corpus.loaders.loaded import SourceMap
    >>> unpack_map(pack_map(SourceMap((0, 9), ("page 1", "page 2"), (None, 60))), most=200).at(9).label
    'page 2'
    """
    columns = [found.starts, found.labels, found.times]
    return zstandard.ZstdCompressor(level=_LEVEL).compress(json.dumps(columns).encode())


def unpack_map(packed: bytes, *, most: int) -> SourceMap:
    """The map that `pack_map` packed, of so many bytes at most."""
    starts, labels, times = json.loads(unpacked(packed, most=most))
    from brimful.corpus.loaders.loaded import SourceMap

    return SourceMap(tuple(starts), tuple(labels), tuple(times))
