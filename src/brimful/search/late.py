"""Compare the best units with the question by an embedder, or a reranker.

A model reads the best units by words, each with the path and the headings above it; nothing else of the corpus has to
be embedded. Vectors are remembered in the store by the text that was read, so no text is read twice.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Final, Protocol

import numpy as np

from brimful.errors import EndpointError
from brimful.index.segments import Numbers
from brimful.index.vectors import Bytes, cosines, quantise, text_key
from brimful.neural.embedders import Embedder, embed_distinct
from brimful.search.columns import CorpusColumns, Ids
from brimful.search.field import ScoredUnits, reordered
from brimful.search.translation import Table

if TYPE_CHECKING:
    from brimful.neural.embedders import Reranker

READ_UNITS: Final = 600
"""Units that a model reads for a question: the best by words."""
_RERANKED_UNITS: Final = 60
"""Units that a reranker reads together with the question, where one is named."""
_HEADING_CHARACTERS = 80
_HEADING_MARKS = "#=*~-_:{} \t\r\n"
_KEPT_QUESTIONS = 64
_BATCH = 64  # texts that are embedded before they are remembered


class _VectorMemory(Protocol):
    """A store of vectors by the text that they embed."""

    def vectors_known(self, model: str, keys: Sequence[bytes], *, width: int) -> _KnownVectors:
        """A row for each key, and which are missing."""

    def remember_vectors(self, model: str, keys: Sequence[bytes], rows: Bytes) -> str | None:
        """Keep some; why not, where they could not be kept."""

    def retain_vectors(self, model: str, keys: Sequence[bytes]) -> int:
        """Forget all vectors of a model but these; returns how many."""


class _KnownVectors(Protocol):
    """The remembered vectors of some keys."""

    @property
    def rows(self) -> Bytes:
        """A row for each key, zeros where nothing is remembered."""

    @property
    def missing(self) -> Numbers:
        """The places of the keys that are not remembered."""


@dataclass(frozen=True, slots=True)
class ReadReport:
    """A report on the models that ran for a question."""

    model: str
    runtime: str
    units: int  # that were compared with the question
    embedded: int  # of these, that nobody had read before
    failed: str | None = None  # why words alone decided
    nearest: int = 0  # the likeness of the nearest unit, in millionths
    reranker: str | None = None  # who read the best units again, together with the question
    reranked: int = 0  # how many units that were
    not_reranked: str | None = None  # why it did not


class LateEncoder:
    """An embedder and a memory of what it has read; safe to share between threads."""

    def __init__(
        self,
        embedder: Embedder,
        memory: _VectorMemory,
        *,
        runtime: str,
        table: Callable[[], Table | None] = lambda: None,
    ) -> None:
        """`table` loads words of many languages, where there are such."""
        self.name, self.runtime, self.table = embedder.name, runtime, table
        self._embedder, self._memory = embedder, memory
        self._question = lru_cache(_KEPT_QUESTIONS)(lambda text: quantise(embedder.embed([text]))[0])

    def question(self, text: str) -> Bytes:
        """The vector of a question; the last ones are remembered."""
        vector: Bytes = self._question(text)
        return vector

    def vectors(self, texts: Sequence[str]) -> tuple[Bytes, int]:
        """A row for each text, and how many had to be embedded; those are remembered by content."""
        keys = [text_key(text) for text in texts]
        remembered = self._memory.vectors_known(self.name, keys, width=self._embedder.dimensions)
        rows, missing = remembered.rows, remembered.missing.tolist()
        for first in range(0, len(missing), _BATCH):
            places = missing[first : first + _BATCH]
            rows[places] = quantise(embed_distinct(self._embedder, [texts[place] for place in places]))
            self._memory.remember_vectors(self.name, [keys[place] for place in places], rows[places])
        return rows, len(missing)

    def warm(self, columns: CorpusColumns, *, progress: Callable[[int, int], None] | None = None) -> int:
        """Read every unit that was not read yet, and forget texts that are gone; returns how many units there are.

        What was read stays read: one that was broken off goes on where it ended.
        """
        keys: list[bytes] = []
        for first in range(0, len(columns), _BATCH):
            texts = unit_texts(columns, np.arange(first, min(first + _BATCH, len(columns))))
            self.vectors(texts)
            keys += map(text_key, texts)
            if progress is not None:
                progress(len(keys), len(columns))
        self._memory.retain_vectors(self.name, keys)
        return len(keys)


def unit_texts(columns: CorpusColumns, units: Ids) -> list[str]:
    """The text of each unit for a model: the path of the document, the headings above and the unit."""
    paths, placed, texts = columns.documents.paths, columns.placed(units), []
    places = zip(units.tolist(), placed.rows.tolist(), placed.sizes.tolist(), strict=True)
    for (unit, row, size), content in zip(places, columns.texts(units), strict=True):
        lines = columns.headings_above(unit, size=size)
        above = (line.decode("utf-8", "replace").strip(_HEADING_MARKS)[:_HEADING_CHARACTERS] for line in lines)
        names = " > ".join([paths[row], *filter(None, above)])
        texts.append(f"{names}: {content.decode('utf-8', 'replace')}")
    return texts


def read_late(
    columns: CorpusColumns, units: Ids, question: str, late: LateEncoder
) -> tuple[Numbers | None, ReadReport]:
    """How like the question some units are, in millionths; None where the model fails."""
    try:
        rows, embedded = late.vectors(unit_texts(columns, units))
        alike = cosines(rows, late.question(question))
    except EndpointError as error:
        return None, ReadReport(late.name, late.runtime, 0, 0, str(error))
    return alike, ReadReport(late.name, late.runtime, len(units), embedded, nearest=int(alike.max(initial=0)))


def read_again(
    columns: CorpusColumns,
    scored: ScoredUnits,
    question: str,
    reranker: Reranker,
    report: ReadReport | None,
    *,
    earlier_scores: dict[str, int],
) -> tuple[ScoredUnits, ReadReport]:
    """The scored units with the best ones in a reranker's order; unchanged where the reranker fails.

    Only the best `_RERANKED_UNITS` change places, and scores stay with places. `earlier_scores` holds what the
    reranker has scored for this question, so that no text is read twice.
    """
    report = report or ReadReport("none", "none", 0, 0)
    texts = unit_texts(columns, scored.units[:_RERANKED_UNITS])
    new = [text for text in dict.fromkeys(texts) if text not in earlier_scores]
    try:
        earlier_scores.update(zip(new, reranker.scores(question, new) if new else (), strict=True))
    except EndpointError as error:
        return scored, replace(report, reranker=reranker.name, not_reranked=str(error))
    worth = np.array([earlier_scores[text] for text in texts], np.int64)
    places = np.append(np.argsort(-worth, kind="stable"), np.arange(len(texts), len(scored.units)))
    moved = replace(reordered(scored, places), scores=scored.scores)  # the scores stay: they say the place
    return moved, replace(report, reranker=reranker.name, reranked=len(texts))
