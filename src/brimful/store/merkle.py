"""Which documents does a state hold? One root over all of them, and proofs that one is among them.

The tree is a function of the set of documents alone: leaves fall into 4,096 buckets by the hash of
their path and are sorted inside, so neither the order nor the history of adding shows. Changing one
document touches its bucket and twelve nodes above.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from blake3 import blake3

from brimful.kernels import hashes as kernels
from brimful.kernels.hashes import hash_texts

_BITS = 12
BUCKETS = 1 << _BITS

_LEAF, _NODE, _EMPTY = b"\x00", b"\x01", b"\x02"
NOTHING = blake3(_EMPTY).digest()
"""The root of a tree or bucket without documents."""


@dataclass(frozen=True, slots=True)
class Proof:
    """The hashes beside the way from a leaf to the root; True means that the sibling stands on the left."""

    siblings: tuple[tuple[bool, bytes], ...]

    def root(self, leaf: bytes) -> bytes:
        """The root that this proof leads to from a leaf."""
        for on_left, sibling in self.siblings:
            leaf = _join(sibling, leaf) if on_left else _join(leaf, sibling)
        return leaf


def leaf_hash(path: str, time: int | None, content_hash: bytes) -> bytes:
    """What is proven of a document: its path, its time and its content."""
    return blake3(_leaf_text(path, time, content_hash)).digest()


def leaf_hashes(documents: Iterable[tuple[str, int | None, bytes]]) -> list[bytes]:
    """The same of many."""
    return hash_texts([_leaf_text(*document) for document in documents])


def _leaf_text(path: str, time: int | None, content_hash: bytes) -> bytes:
    name = path.encode()
    moment = b"" if time is None else time.to_bytes(8, "big", signed=True)
    return b"%b%b%b%c%b%b" % (_LEAF, len(name).to_bytes(8, "big"), name, len(moment), moment, content_hash)


def bucket_of(path: str) -> int:
    """The bucket that a path's leaf falls into."""
    return _bucket(blake3(path.encode()).digest(2))


def buckets_of(paths: Iterable[str]) -> list[int]:
    """The buckets of many paths."""
    return list(map(_bucket, hash_texts(list(map(str.encode, paths)))))


def _bucket(hashed: bytes) -> int:
    return (hashed[0] << 8 | hashed[1]) >> (16 - _BITS)


def _levels_of(leaves: Iterable[bytes]) -> list[list[bytes]]:
    """A tree from its leaves up: neighbours are joined pair by pair; a last odd one moves up as it is."""
    level = list(leaves) or [NOTHING]
    above = kernels.parted(kernels.levels_above(b"".join(level), sign=_NODE))
    levels = [level]
    while len(levels[-1]) > 1:
        size = (len(levels[-1]) + 1) // 2
        levels.append(above[:size])
        del above[:size]
    return levels


def root_of(leaves: Iterable[bytes]) -> bytes:
    """The root over leaves in this order.

    >>> root_of([]) == NOTHING
    True
    """
    return _levels_of(leaves)[-1][0]


def roots_of(trees: Sequence[Sequence[bytes]]) -> list[bytes]:
    """The roots over the leaves of many trees, none of which is empty.

    >>> one, other = NOTHING, bytes(32)
    >>> roots_of([[one], [one, other]]) == [one, root_of([one, other])]
    True
    """
    bounds = np.cumsum([0, *map(len, trees)])
    return kernels.roots_of(b"".join([leaf for tree in trees for leaf in tree]), bounds, sign=_NODE)


def all_buckets(roots: Mapping[int, bytes]) -> list[list[bytes]]:
    """The tree over all buckets; those not given are empty. Its last level is the state root."""
    return _levels_of(roots.get(bucket, NOTHING) for bucket in range(BUCKETS))


def written_levels(levels: Iterable[Iterable[bytes]]) -> bytes:
    """The tree over all buckets as one row of bytes."""
    return b"".join([hashed for level in levels for hashed in level])


def read_levels(raw: bytes, *, root: bytes) -> list[list[bytes]]:
    """The same back; a ValueError where it is no tree with that root.

    >>> tree = all_buckets({7: NOTHING})
    >>> read_levels(written_levels(tree), root=tree[-1][0]) == tree
    True
    """
    levels, size, at = list[list[bytes]](), BUCKETS, 0
    if len(raw) != (2 * BUCKETS - 1) * len(NOTHING) or not raw.endswith(root):
        raise ValueError("these are not the hashes of all buckets")
    while size:
        levels.append([raw[each : each + len(NOTHING)] for each in range(at, at + size * len(NOTHING), len(NOTHING))])
        at, size = at + size * len(NOTHING), size // 2
    return levels


def state_root(roots: Mapping[int, bytes]) -> bytes:
    """The root over all buckets; a commit asks again for what the one before it has left."""
    return _root_over(b"".join([roots.get(bucket, NOTHING) for bucket in range(BUCKETS)]))


@functools.lru_cache(maxsize=2)
def _root_over(leaves: bytes) -> bytes:
    return kernels.levels_above(leaves, sign=_NODE)[-len(NOTHING) :]


def prove(bucket: Sequence[bytes], number: int, *, place: int, above: Sequence[Sequence[bytes]]) -> Proof:
    """The proof for leaf `number` of the bucket that stands at `place` in the tree over all buckets."""
    return Proof((*_siblings(_levels_of(bucket), number), *_siblings(above, place)))


def _siblings(levels: Sequence[Sequence[bytes]], number: int) -> Iterator[tuple[bool, bytes]]:
    """What stands beside the way up from a leaf."""
    for level in levels[:-1]:
        beside = number ^ 1
        if beside < len(level):
            yield beside < number, level[beside]
        number //= 2


def _join(left: bytes, right: bytes) -> bytes:
    return blake3(_NODE + left + right).digest()
