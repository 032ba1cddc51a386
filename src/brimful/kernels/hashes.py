"""BLAKE3 of many short texts at once, and of trees over hashes (hashes.c)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from blake3 import blake3

from brimful.kernels import Numbers, address_of, library, numbers_of

HASH_BYTES = 32
_CHUNK_BYTES = 1_024  # a longer text is a tree of chunks itself


def hash_texts(texts: Sequence[bytes]) -> list[bytes]:
    """The hash of each of some texts, most of them short.

    >>> hash_texts([b"tea", bytes(2_000)]) == [blake3(b"tea").digest(), blake3(bytes(2_000)).digest()]
    True
    """
    short = [text if len(text) <= _CHUNK_BYTES else b"" for text in texts]
    bounds = np.zeros(len(short) + 1, np.int64)
    np.cumsum(np.fromiter(map(len, short), np.int64, len(short)), out=bounds[1:])
    made = np.empty(HASH_BYTES * len(short), np.uint8)
    library().hash_texts(b"".join(short), address_of(bounds), len(short), address_of(made))
    hashes = parted(made.tobytes())
    for at, text in enumerate(texts):
        if len(text) > _CHUNK_BYTES:
            hashes[at] = blake3(text).digest()
    return hashes


def parted(hashes: bytes) -> list[bytes]:
    """Hashes that lie one after the other, each by itself."""
    return [hashes[at : at + HASH_BYTES] for at in range(0, len(hashes), HASH_BYTES)]


def levels_above(leaves: bytes, *, sign: bytes) -> bytes:
    """The levels of a tree above its leaves, one after the other: neighbours are joined pair by pair, a last odd one
    moves up as it is. A sign stands before both of a pair.

    >>> one, other = bytes(32), bytes(range(32))
    >>> levels_above(one + other, sign=b"!") == blake3(b"!" + one + other).digest(), levels_above(one, sign=b"!")
    (True, b'')
    """
    count = left = _count(leaves)
    above = 0
    while left > 1:
        left = (left + 1) // 2
        above += left
    levels = np.empty(HASH_BYTES * above, np.uint8)
    library().hash_levels(leaves, count, sign[0], address_of(levels))
    return levels.tobytes()


def roots_of(leaves: bytes, bounds: Numbers, *, sign: bytes) -> list[bytes]:
    """The last level of each of some trees: tree i has the leaves from `bounds[i]` to before `bounds[i + 1]`.

    >>> leaves = bytes(32) + bytes(range(32)) + bytes(32)
    >>> [root == levels_above(leaves[:64], sign=b"!") for root in roots_of(leaves, np.array([0, 2, 3]), sign=b"!")]
    [True, False]
    """
    bounds = numbers_of(bounds)
    if not len(bounds) or bounds[0] != 0 or bounds[-1] != _count(leaves) or (np.diff(bounds) < 1).any():
        raise ValueError("every tree needs a leaf, and every leaf a tree")
    room, roots = np.empty(len(leaves), np.uint8), np.empty(HASH_BYTES * (len(bounds) - 1), np.uint8)
    given = (leaves, address_of(bounds), len(bounds) - 1, sign[0], address_of(room), address_of(roots))
    library().hash_roots(*given)
    return parted(roots.tobytes())


def _count(hashes: bytes) -> int:
    if len(hashes) % HASH_BYTES:
        raise ValueError(f"{len(hashes)} bytes are no hashes of {HASH_BYTES} bytes each")
    return len(hashes) // HASH_BYTES
