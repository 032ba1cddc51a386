"""The usual hybrid: BM25 (bm25s) and a sentence model over pieces of 200 tokens, fused by rank.

The peers that questions as people ask them are compared with. The orders are added as reciprocal ranks, and the best
pieces are joined until the next one would not fit.
"""

from collections.abc import Sequence
from pathlib import Path

import bm25s
import numpy as np
import Stemmer
from numpy.typing import NDArray

import brimful
from brimful.neural.embedders import Embedder
from brimful.neural.named import embedder_named
from brimful.text.tokens import TokenCounter

PIECE_TOKENS = 200
RANK_OFFSET = 60
"""The usual constant of reciprocal rank fusion."""
MODEL = "cl100k_base"
_BATCH = 64
_BETWEEN = "\n\n"

Place = tuple[str, int, int]  # path, first byte, byte after the last


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
    """Pieces of some texts, found by their words, or by these and a model: `vectors` are the pieces' own."""

    def __init__(
        self,
        pieces: Sequence[tuple[Place, str]],
        counter: TokenCounter,
        vectors: NDArray[np.float16] | None = None,
        embedder: Embedder | None = None,
    ) -> None:
        self._pieces, self._counter, self._vectors, self._embedder = pieces, counter, vectors, embedder
        self._bm25 = bm25s.BM25()
        self._bm25.index(_words([text for _, text in pieces]), show_progress=False)

    def context(self, question: str, *, budget: int) -> tuple[str, list[Place]]:
        """The best pieces until the next one would not fit, and where they stand."""
        worth = np.zeros(len(self._pieces))
        for order in (self._by_words(question), self._by_model(question)):
            worth[order] += 1 / (RANK_OFFSET + 1 + np.arange(len(order)))
        text, places = "", []
        for at in np.lexsort((np.arange(len(worth)), -worth)).tolist():
            place, piece = self._pieces[at]
            longer = text + (_BETWEEN if text else "") + piece
            if not worth[at] or self._counter.count(longer) > budget:
                break
            text = longer
            places.append(place)
        return text, places

    def _by_words(self, question: str) -> NDArray[np.int64]:
        scores = self._bm25.get_scores(_words([question])[0])
        order = np.lexsort((np.arange(len(scores)), -scores))
        return order[scores[order] > 0]

    def _by_model(self, question: str) -> NDArray[np.int64]:
        if self._vectors is None or self._embedder is None:
            return np.zeros(0, np.int64)
        likeness = self._vectors @ self._embedder.embed([question])[0]
        return np.lexsort((np.arange(len(likeness)), -likeness))


def fused_peer(engine: brimful.Engine, kept: Path, *, model: str) -> Fused:
    """The peer over the texts of a store; what its model (or "none") made of the pieces is kept in a file."""
    counter = brimful.tokens_for(MODEL)
    pieces: list[tuple[Place, str]] = []
    for document in engine.documents():
        start = 0
        for piece in pieces_of(engine.text(document.path, 0, document.bytes), counter):
            end = start + len(piece.encode())
            pieces.append(((document.path, start, end), piece))
            start = end
    embedder = embedder_named(model)
    if embedder is None:
        return Fused(pieces, counter)
    if not kept.exists() or len(np.load(kept)) != len(pieces):
        texts = [text for _, text in pieces]
        vectors = [embedder.embed(texts[at : at + _BATCH]) for at in range(0, len(texts), _BATCH)]
        kept.parent.mkdir(parents=True, exist_ok=True)
        np.save(kept, np.concatenate(vectors).astype(np.float16))
    return Fused(pieces, counter, np.load(kept), embedder)


def _words(texts: Sequence[str]) -> list[list[str]]:
    """The stems of the texts' words, English stop words left out: what the library suggests."""
    return bm25s.tokenize(
        texts, stopwords="en", stemmer=Stemmer.Stemmer("english"), return_ids=False, show_progress=False
    )
