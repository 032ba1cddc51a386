"""The usual hybrid, written by hand: BM25 and a sentence model over pieces of 200 tokens, fused by rank.

The peer that questions as people ask them are compared with: every piece is embedded before the first question, the
two orders are added as reciprocal ranks, and the best pieces are joined until the next one would not fit.
"""

from collections import Counter, defaultdict
from collections.abc import Sequence
from math import log
from re import findall

import numpy as np
from numpy.typing import NDArray

from brimful.index.embedders import Embedder
from brimful.text.tokens import TokenCounter

PIECE_TOKENS = 200
RANK_OFFSET = 60
"""The usual constant of reciprocal rank fusion."""
_K1, _B = 1.2, 0.75
_BETWEEN = "\n\n"


def pieces_of(text: str, counter: TokenCounter, *, most: int = PIECE_TOKENS) -> list[str]:
    """A text in pieces of whole lines of at most so many tokens; a longer line is halved until it fits."""
    pieces: list[str] = []
    held, size = "", 0
    for line in text.splitlines(keepends=True):
        for part in _halved(line, counter, most):
            tokens = counter.count(part)
            if held and size + tokens > most:
                pieces.append(held)
                held, size = "", 0
            held, size = held + part, size + tokens
    return [*pieces, held] if held.strip() else pieces


def _halved(line: str, counter: TokenCounter, most: int) -> list[str]:
    if counter.count(line) <= most or len(line) < most:
        return [line]
    middle = line.rfind(" ", 1, len(line) // 2) + 1 or len(line) // 2
    return [*_halved(line[:middle], counter, most), *_halved(line[middle:], counter, most)]


class Fused:
    """Pieces of some texts, found by their words, by a model, or by both."""

    def __init__(
        self, texts: Sequence[str], embedder: Embedder, vectors: NDArray[np.float32], counter: TokenCounter
    ) -> None:
        self.pieces, self._embedder, self._vectors, self._counter = texts, embedder, vectors, counter
        self._postings: dict[str, list[tuple[int, int]]] = defaultdict(list)
        self._sizes = np.array([len(_words(text)) for text in texts], np.float64)
        for at, text in enumerate(texts):
            for word, times in Counter(_words(text)).items():
                self._postings[word].append((at, times))

    def context(self, question: str, *, budget: int, leg: str = "fused") -> str:
        """The best pieces until the next one would not fit; `leg` is words, model or fused."""
        orders = {"words": [self._by_words], "model": [self._by_model], "fused": [self._by_words, self._by_model]}[leg]
        worth = np.zeros(len(self.pieces))
        for order in orders:
            found = order(question)
            worth[found] += 1 / (RANK_OFFSET + 1 + np.arange(len(found)))
        text = ""
        for at in np.lexsort((np.arange(len(worth)), -worth)).tolist():
            longer = text + (_BETWEEN if text else "") + self.pieces[at]
            if not worth[at] or self._counter.count(longer) > budget:
                break
            text = longer
        return text

    def _by_words(self, question: str) -> NDArray[np.int64]:
        scores = np.zeros(len(self.pieces))
        mean = max(self._sizes.mean(), 1.0)
        for word in sorted(set(_words(question))):
            if not (found := self._postings.get(word)):
                continue
            places, times = np.array(found).T
            idf = log(1 + (len(self.pieces) - len(found) + 0.5) / (len(found) + 0.5))
            scores[places] += idf * times * (_K1 + 1) / (times + _K1 * (1 - _B + _B * self._sizes[places] / mean))
        order = np.lexsort((np.arange(len(scores)), -scores))
        return order[scores[order] > 0]

    def _by_model(self, question: str) -> NDArray[np.int64]:
        likeness = self._vectors @ self._embedder.embed([question])[0]
        return np.lexsort((np.arange(len(likeness)), -likeness))


def _words(text: str) -> list[str]:
    return findall(r"\w+", text.lower())
