"""How are several columns of whole numbers written as one blob?"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import zstandard

from brimful.errors import CorruptError
from brimful.index.columns import Numbers

_LEVEL = 3


def pack_table(columns: Sequence[Numbers]) -> bytes:
    """Columns of one length: the differences between neighbours, compressed.

    >>> [column.tolist() for column in unpack_table(pack_table([np.array([3, 5]), np.array([9, -2])]), width=2)]
    [[3, 5], [9, -2]]
    """
    steps = np.diff(np.stack([np.asarray(column, np.int64) for column in columns]), axis=1, prepend=0)
    return zstandard.ZstdCompressor(level=_LEVEL).compress(steps.astype("<i8").tobytes())


def unpack_table(packed: bytes, *, width: int) -> list[Numbers]:
    """The columns that `pack_table` packed."""
    steps = np.frombuffer(zstandard.ZstdDecompressor().decompress(packed), "<i8")
    if len(steps) % width:
        raise CorruptError(f"{len(steps)} numbers do not make {width} columns; index the sources again")
    return list(np.cumsum(steps.reshape(width, -1), axis=1, dtype=np.int64))
