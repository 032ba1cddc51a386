"""One root over all documents of a state, and proofs that one is among them.

The tree is a function of the set of documents alone: leaves fall into 4,096 buckets by the hash of
their path and are sorted inside, so neither the order nor the history of adding shows. Changing one
document touches its bucket and twelve nodes above.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from blake3 import blake3

_BITS = 12
_BUCKETS = 1 << _BITS

_LEAF, _NODE, _EMPTY = b"\x00", b"\x01", b"\x02"
NOTHING = blake3(_EMPTY).digest()
"""The root of a tree or bucket without documents."""


@dataclass(frozen=True, slots=True)
class Proof:
    """The hashes next to the way from a leaf to the root; True for a sibling on the left."""

    siblings: tuple[tuple[bool, bytes], ...]

    def root(self, leaf: bytes) -> bytes:
        """The root that this proof leads to from a leaf."""
        for on_left, sibling in self.siblings:
            leaf = _join(sibling, leaf) if on_left else _join(leaf, sibling)
        return leaf


def leaf_hash(path: str, time: int | None, content_hash: bytes) -> bytes:
    """The leaf of a document: its path, its time and its content."""
    name = path.encode()
    moment = b"" if time is None else time.to_bytes(8, "big", signed=True)
    text = b"%b%b%b%c%b%b" % (_LEAF, len(name).to_bytes(8, "big"), name, len(moment), moment, content_hash)
    return blake3(text).digest()


def bucket_of(path: str) -> int:
    """The bucket that a path's leaf falls into."""
    return int.from_bytes(blake3(path.encode()).digest(2), "big") >> (16 - _BITS)


def _levels_of(leaves: Iterable[bytes]) -> list[list[bytes]]:
    """A tree from its leaves up: neighbours are joined pair by pair; a last odd one moves up as it is."""
    levels = [list(leaves) or [NOTHING]]
    while len(level := levels[-1]) > 1:
        paired = len(level) // 2 * 2
        levels.append([*map(_join, level[:paired:2], level[1::2]), *level[paired:]])
    return levels


def root_of(leaves: Iterable[bytes]) -> bytes:
    """The root over leaves in this order.

    >>> root_of([]) == NOTHING
    True
    """
    return _levels_of(leaves)[-1][0]


def all_buckets(roots: Mapping[int, bytes]) -> list[list[bytes]]:
    """The tree over all buckets, empty where no root is given. Its last level is the state root."""
    return _levels_of(roots.get(bucket, NOTHING) for bucket in range(_BUCKETS))


def state_root(roots: Mapping[int, bytes]) -> bytes:
    """The root over all buckets; a commit asks again for what the one before it has left."""
    return _root_over(tuple(roots.get(bucket, NOTHING) for bucket in range(_BUCKETS)))


_root_over = functools.lru_cache(maxsize=2)(root_of)


def prove(bucket: Sequence[bytes], number: int, *, place: int, above: Sequence[Sequence[bytes]]) -> Proof:
    """The proof for leaf `number` of the bucket at `place` in the tree over all buckets."""
    return Proof((*_siblings(_levels_of(bucket), number), *_siblings(above, place)))


def _siblings(levels: Sequence[Sequence[bytes]], number: int) -> Iterator[tuple[bool, bytes]]:
    """The siblings on the way up from a leaf."""
    for level in levels[:-1]:
        sibling = number ^ 1
        if sibling < len(level):
            yield sibling < number, level[sibling]
        number //= 2


def _join(left: bytes, right: bytes) -> bytes:
    return blake3(_NODE + left + right).digest()
