"""Which known words are a few edits away from this one?

Every word of letters has a signature of 64 bits, one for each of its trigrams by a hash. Of two words that are
alike enough in pg_trgm's sense, the signature of one covers so many trigrams of the other; a pass of bit counts over
the words of about the same length leaves few, and only these are compared letter by letter. The signature saves time
and decides nothing: what it lets pass is checked, and what it stops could not have passed (but for words beyond
ASCII whose trigrams collide in pg_trgm's checksum).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from brimful.errors import MissingPartError
from brimful.index.trigrams import similarity

LEAST_LETTERS: Final = 3
MOST_LETTERS: Final = 24
LEAST_SIMILARITY: Final = 0.3
"""pg_trgm's own threshold (ruling 12)."""
_SHARE = (3, 10)  # the same as a fraction
_BATCH = 100_000  # names
_FACTORS = np.array([0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D], np.uint32)  # odd, so that no bit is lost
_BLANK = 0x20


class Spelling(NamedTuple):
    """A known word that is spelled alike."""

    term: bytes
    similarity: float
    distance: int  # edits: insert, delete, replace, or swap two neighbours


class Spellings:
    """The words of 3 to 24 letters of a vocabulary, found by their spelling.

    >>> spellings = Spellings([b"conscience", b"consciousness", b"limerence", b"limerick"])
    >>> spellings.near("limerance", edits=2)
    [Spelling(term=b'limerence', similarity=0.5384615659713745, distance=1)]
    """

    def __init__(self, names: Sequence[bytes]) -> None:
        kept, sizes = _words(names)
        order = np.argsort(sizes, kind="stable")
        sizes = sizes[order]
        kept = [kept[at] for at in order.tolist()]
        self._firsts = np.searchsorted(sizes, np.arange(MOST_LETTERS + 2))  # the first word of each length
        self._letters = b"".join(kept)
        self._offsets = np.concatenate([[0], np.cumsum(np.fromiter(map(len, kept), np.int64, len(kept)))])
        parts = [np.zeros(0, np.uint64)]
        for size in range(LEAST_LETTERS, MOST_LETTERS + 1):
            first, last = self._firsts[size : size + 2].tolist()
            parts += [_signatures(kept[at : min(at + _BATCH, last)], size) for at in range(first, last, _BATCH)]
        self._signatures = np.concatenate(parts)

    def __len__(self) -> int:
        return len(self._signatures)

    def near(self, word: str, *, edits: int) -> list[Spelling]:
        """The words at most so many edits away that are alike, the most alike first, then fewest edits, then by name.

        The word itself is not among them.
        """
        size = len(word)
        lowest, highest = max(LEAST_LETTERS, size - edits), min(MOST_LETTERS, size + edits)
        if lowest > highest:
            return []
        first, last = int(self._firsts[lowest]), int(self._firsts[highest + 1])
        rows = (np.flatnonzero(_could_be_alike(word, self._signatures[first:last])) + first).tolist()
        if not rows:
            return []
        starts, ends = self._offsets[rows].tolist(), self._offsets[[row + 1 for row in rows]].tolist()
        names = [self._letters[start:end].decode() for start, end in zip(starts, ends, strict=True)]
        found = [
            Spelling(name.encode(), _similarity(word, name), distance)
            for name, distance in _within(word, names, edits)
            if distance
        ]
        alike = [each for each in found if np.float32(each.similarity) >= np.float32(LEAST_SIMILARITY)]
        return sorted(alike, key=lambda each: (-each.similarity, each.distance, each.term))


def _words(names: Sequence[bytes]) -> tuple[list[bytes], NDArray[np.uint8]]:
    """The names that are words of letters, and how many letters each has: first those in ASCII."""
    kept = [name for name in names if LEAST_LETTERS <= len(name) <= MOST_LETTERS and name.isalpha()]
    sizes = bytearray(map(len, kept))
    for name in names:
        text = "" if name.isascii() else name.decode("utf-8", "replace")
        if LEAST_LETTERS <= len(text) <= MOST_LETTERS and text.isalpha():
            kept.append(name)
            sizes.append(len(text))
    return kept, np.frombuffer(bytes(sizes), np.uint8)


def _bits(names: Sequence[bytes], size: int) -> NDArray[np.uint64]:
    """The bit of each trigram of names that all have so many letters: a row for each name."""
    points = np.frombuffer(b"".join(names).decode().encode("utf-32-le"), "<u4").reshape(len(names), size)
    padded = np.full((len(names), size + 3), _BLANK, np.uint32)
    padded[:, 2:-1] = points
    mixed = padded[:, :-2] * _FACTORS[0] + padded[:, 1:-1] * _FACTORS[1] + padded[:, 2:] * _FACTORS[2]
    bits: NDArray[np.uint64] = (mixed >> np.uint32(26)).astype(np.uint64)
    return bits


def _signatures(names: Sequence[bytes], size: int) -> NDArray[np.uint64]:
    found: NDArray[np.uint64] = np.bitwise_or.reduce(np.uint64(1) << _bits(names, size), axis=1)
    return found


def _could_be_alike(word: str, signatures: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """Whether the share of trigrams can reach 0.3: no fewer than 3/13 of both words' trigrams are shared then.

    A known word has at least as many trigrams as its signature has bits. Trigrams of the word that fall on the same
    bit are counted each, so shared ones are never counted too low.
    """
    trigrams = sorted(_trigrams(word))
    bits = [_trigram_bit(trigram) for trigram in trigrams]
    shared = np.zeros(len(signatures), np.uint16)
    for times in range(1, max(map(bits.count, bits)) + 1):
        mask = sum(1 << bit for bit in set(bits) if bits.count(bit) >= times)
        shared += np.bitwise_count(signatures & np.uint64(mask))
    part, whole = _SHARE
    either = np.bitwise_count(signatures).astype(np.uint16) + np.uint16(len(trigrams))
    return shared * np.uint16(whole + part) >= either * np.uint16(part)


def _trigrams(word: str) -> set[str]:
    padded = f"  {word} "
    return {padded[at : at + 3] for at in range(len(padded) - 2)}


def _trigram_bit(trigram: str) -> int:
    mixed = 0
    for char, factor in zip(trigram, _FACTORS.tolist(), strict=True):
        mixed += ord(char) * int(factor)
    return (mixed & 0xFFFFFFFF) >> 26


def _similarity(word: str, name: str) -> float:
    """pg_trgm's; in ASCII without its detour over numbers, since a candidate costs a hundredth so."""
    if not word.isascii() or not name.isascii():
        return similarity(word, name)
    mine, theirs = _trigrams(word), _trigrams(name)
    shared = len(mine & theirs)
    return float(np.float32(shared) / np.float32(len(mine) + len(theirs) - shared))


def _within(word: str, names: Sequence[str], edits: int) -> list[tuple[str, int]]:
    try:
        from rapidfuzz import process
        from rapidfuzz.distance import OSA
    except ImportError as error:
        raise MissingPartError("spellings are compared with rapidfuzz; install it: pip install rapidfuzz") from error
    found = process.extract(word, names, scorer=OSA.distance, score_cutoff=edits, limit=None)
    return [(name, int(distance)) for name, distance, _ in found]
