"""What the kernel for spellings replaced: signatures compared with NumPy, edits counted one by one."""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray


@cache
def edits_between(one: str, other: str) -> int:
    """How many letters are put in, left out, replaced or swapped with the next, tried from the ends of both words."""
    if not one or not other:
        return len(one) + len(other)
    ways = [
        edits_between(one[:-1], other) + 1,
        edits_between(one, other[:-1]) + 1,
        edits_between(one[:-1], other[:-1]) + (one[-1] != other[-1]),
    ]
    if min(len(one), len(other)) > 1 and one[-2:] == other[-2:][::-1]:
        ways.append(edits_between(one[:-2], other[:-2]) + 1)
    return min(ways)


def could_be_alike(bits: list[int], signatures: NDArray[np.uint64], *, share: tuple[int, int]) -> NDArray[np.bool_]:
    """Whether the share of trigrams, which fall on these bits, can reach so much."""
    shared = np.zeros(len(signatures), np.uint16)
    for times in range(1, max(map(bits.count, bits), default=0) + 1):
        mask = sum(1 << bit for bit in set(bits) if bits.count(bit) >= times)
        shared += np.bitwise_count(signatures & np.uint64(mask))
    part, whole = share
    either = np.bitwise_count(signatures).astype(np.uint16) + np.uint16(len(bits))
    return shared * np.uint16(whole + part) >= either * np.uint16(part)


def alike(
    word: str, words: list[str], signatures: NDArray[np.uint64], bits: list[int], *, share: tuple[int, int], edits: int
) -> list[tuple[str, int]]:
    """The words that may be alike to one and are at most so many edits away, each with its edits."""
    near = could_be_alike(bits, signatures, share=share)
    distances = [edits_between(word, other) for other in words]
    return [
        (other, distance)
        for other, is_near, distance in zip(words, near.tolist(), distances, strict=True)
        if is_near and distance <= edits
    ]


def signatures(points: NDArray[np.integer], factors: NDArray[np.uint32]) -> NDArray[np.uint64]:
    """Of words that all have so many letters, a row of code points each: the bits of their trigrams."""
    rows, size = points.shape
    padded = np.full((rows, size + 3), ord(" "), np.uint32)
    padded[:, 2:-1] = points
    mixed = padded[:, :-2] * factors[0] + padded[:, 1:-1] * factors[1] + padded[:, 2:] * factors[2]
    bits = np.uint64(1) << (mixed >> np.uint32(26)).astype(np.uint64)
    found: NDArray[np.uint64] = np.bitwise_or.reduce(bits, axis=1)
    return found
