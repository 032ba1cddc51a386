"""Which of a corpus's documents does a shard hold, and where should they be?

The 4,096 buckets of the tree of hashes are what is spread and moved: a document's bucket follows from its path. Each
shard notes which buckets it holds. While some are on their way to another shard, they are `leaving`: they can be read
there until the other one holds them too, and nobody changes them. So a bucket is held by one shard, or by one that it
leaves and one that it came to, and then the second one answers for it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from brimful.errors import CorruptError
from brimful.store.merkle import BUCKETS

ALL = frozenset(range(BUCKETS))
NOBODY = -1
"""Stands in a placement for a bucket that no shard holds."""

_EVEN = 50
"""Shards are even when the fullest and the emptiest differ by less than this part of an even share."""


@dataclass(frozen=True, slots=True)
class Claim:
    """What one shard says of itself.

    >>> Claim.read(Claim("c0ffee", frozenset({1, 9}), frozenset({9})).packed()).settled
    frozenset({1})
    """

    corpus: str  # the same for all shards of a corpus
    held: frozenset[int]
    leaving: frozenset[int] = frozenset()
    is_founded: bool = True  # False until all shards of a new corpus know what they hold

    @property
    def settled(self) -> frozenset[int]:
        """What may be changed here."""
        return self.held - self.leaving

    def packed(self) -> bytes:
        """As it is stored."""
        fields = {
            "corpus": self.corpus,
            "held": _bits(self.held),
            "leaving": _bits(self.leaving),
            "founded": self.is_founded,
        }
        return json.dumps(fields, separators=(",", ":")).encode()

    @classmethod
    def read(cls, data: bytes) -> Claim:
        """What was stored."""
        try:
            fields = json.loads(data)
            return cls(fields["corpus"], _numbers(fields["held"]), _numbers(fields["leaving"]), fields["founded"])
        except (ValueError, KeyError, TypeError) as error:
            raise CorruptError("what a shard notes of itself can't be read; add the sources to new shards") from error


def _bits(buckets: Iterable[int]) -> str:
    return format(sum(1 << bucket for bucket in buckets), "x")


def _numbers(bits: str) -> frozenset[int]:
    return frozenset(bucket for bucket, bit in enumerate(reversed(f"{int(bits, 16):b}")) if bit == "1")


def dealt(shard: int, shards: int) -> frozenset[int]:
    """What one of several new shards begins with.

    >>> [len(dealt(shard, 3)) for shard in range(3)]
    [1366, 1365, 1365]
    """
    return frozenset(range(shard, BUCKETS, shards))


class UnsettledError(Exception):
    """A bucket was found with two shards: it moved while they were looked at; never leaves the package."""


def placement(claims: Mapping[int, Claim]) -> list[int]:
    """The shard of each bucket, by the claims of some shards.

    >>> before, after = Claim("a", frozenset({0, 1}), frozenset({1})), Claim("a", frozenset({1}))
    >>> placement({0: before, 1: after})[:3]
    [0, 1, -1]
    """
    found = [NOBODY] * BUCKETS
    for shard, claim in sorted(claims.items()):
        for bucket in claim.leaving:
            found[bucket] = shard
    settled: set[int] = set()
    for shard, claim in sorted(claims.items()):
        if settled & claim.settled:
            raise UnsettledError
        settled |= claim.settled
        for bucket in claim.settled:
            found[bucket] = shard
    return found


class Move(NamedTuple):
    """A bucket that should be in another shard."""

    bucket: int
    source: int
    target: int


def plan(weights: Sequence[Mapping[int, int]], *, leave: frozenset[int] = frozenset()) -> list[Move]:
    """Which buckets to move until all shards weigh about the same; those that are to `leave` keep nothing.

    Each shard's buckets have weights. From the fullest to the emptiest shard goes the first bucket that weighs no more
    than half of their difference, again and again: so heavy and light ones are moved alike, and no more than needed.

    >>> plan([{0: 5, 1: 4, 2: 1}, {}])
    [Move(bucket=0, source=0, target=1)]
    >>> plan([{0: 5, 1: 4}, {2: 1}], leave=frozenset({1}))
    [Move(bucket=2, source=1, target=0)]
    """
    stay = [shard for shard in range(len(weights)) if shard not in leave]
    held = [dict(sorted(each.items())) for each in weights]
    loads = [sum(each.values()) for each in weights]
    moves: list[Move] = []

    def move(source: int, target: int, bucket: int) -> None:
        weight = held[target][bucket] = held[source].pop(bucket)
        loads[source] -= weight
        loads[target] += weight
        moves.append(Move(bucket, source, target))

    for shard in sorted(leave):
        for bucket in list(held[shard]):
            move(shard, min(stay, key=lambda each: (loads[each], each)), bucket)
    while True:
        low, high = (min(stay, key=lambda each: (loads[each] * sign, each)) for sign in (1, -1))
        difference = loads[high] - loads[low]
        fitting = next((bucket for bucket, weight in held[high].items() if 2 * weight <= difference), None)
        if fitting is None or difference * _EVEN * len(stay) < sum(loads):
            return _final(moves)
        move(high, low, fitting)


def _final(moves: Iterable[Move]) -> list[Move]:
    """Each bucket once, from where it is to where it ends."""
    first: dict[int, Move] = {}
    for each in moves:
        known = first.setdefault(each.bucket, each)
        first[each.bucket] = Move(each.bucket, known.source, each.target)
    return sorted((each for each in first.values() if each.source != each.target), key=lambda each: each[1:] + each[:1])
