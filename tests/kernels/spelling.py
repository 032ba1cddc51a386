"""What the kernel for spellings replaced: signatures compared with NumPy, edits counted by rapidfuzz."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from rapidfuzz.distance import OSA


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
) -> list[str]:
    """The words, of about the length of one, that may be alike; those in ASCII are at most so many edits away."""
    near = could_be_alike(bits, signatures, share=share)
    return [
        other
        for other, is_near in zip(words, near.tolist(), strict=True)
        if is_near
        and abs(len(other) - len(word)) <= edits
        and not (word.isascii() and other.isascii() and OSA.distance(word, other) > edits)
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
