"""What does a model make of the best places of a question? Its order is fused with that of words.

A model reads the best units by words, each with the path and the headings above it; nothing else of the corpus has to
be embedded. Vectors are remembered in the store by the text that was read, so no text is read twice. The two orders are
fused by reciprocal ranks, which need no weight and no scale; a part of each unit's worth goes to its neighbours, since
an answer often stands beside the sentence that the question is like.
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
from brimful.neural.embedders import Embedder
from brimful.search.columns import CorpusColumns, Ids
from brimful.search.field import MILLION, Field, in_order, taken

if TYPE_CHECKING:
    from brimful.neural.named import Reranker

READ_UNITS: Final = 400
"""Units that a model reads for a question: the best by words."""
_RERANKED_UNITS: Final = 60
"""Units that a reranker reads together with the question, where one is named."""
_RANK_OFFSET: Final = 10
"""What is added to a rank before its reciprocal is taken: the first counts twice as much as the twelfth."""
_NEIGHBOUR: Final = (3, 10)
"""The share of a unit's worth that each of its neighbours gets."""
_HEADING_CHARACTERS = 80
_HEADING_MARKS = "#=*~-_:{} \t\r\n"
_KEPT_QUESTIONS = 64
_BATCH = 64  # texts that are embedded before they are remembered


class _VectorMemory(Protocol):
    """Where vectors are kept by the text that they were made of."""

    def vectors_known(self, model: str, keys: Sequence[bytes], *, width: int) -> _KnownVectors:
        """A row for each key, and which are missing."""

    def remember_vectors(self, model: str, keys: Sequence[bytes], rows: Bytes) -> str | None:
        """Keep some; why not, where they could not be kept."""

    def retain_vectors(self, model: str, keys: Sequence[bytes]) -> int:
        """Forget all vectors of a model but these; returns how many."""


class _KnownVectors(Protocol):
    """What a memory has of some keys."""

    @property
    def rows(self) -> Bytes:
        """A row for each key, zeros where nothing is remembered."""

    @property
    def missing(self) -> Numbers:
        """The places of the keys that are not remembered."""


@dataclass(frozen=True, slots=True)
class ReadReport:
    """What models did for a question."""

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

    def __init__(self, embedder: Embedder, memory: _VectorMemory, *, runtime: str) -> None:
        self.name, self.runtime = embedder.name, runtime
        self._embedder, self._memory = embedder, memory
        self._question = lru_cache(_KEPT_QUESTIONS)(lambda text: quantise(embedder.embed([text]))[0])

    def question(self, text: str) -> Bytes:
        """The vector of a question; the last ones are remembered."""
        vector: Bytes = self._question(text)
        return vector

    def vectors(self, texts: Sequence[str]) -> tuple[Bytes, int]:
        """A row for each text, and how many had to be embedded; those are remembered by content."""
        keys = [text_key(text) for text in texts]
        known = self._memory.vectors_known(self.name, keys, width=self._embedder.dimensions)
        rows, missing = known.rows, known.missing.tolist()
        for first in range(0, len(missing), _BATCH):
            places = missing[first : first + _BATCH]
            rows[places] = quantise(self._embedder.embed([texts[at] for at in places]))
            self._memory.remember_vectors(self.name, [keys[at] for at in places], rows[places])
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
    """What a model reads of some units: the path of the document, the headings above and the text itself."""
    paths, rows, sizes = columns.documents.paths, columns.rows[units].tolist(), columns.sizes[units].tolist()
    texts = []
    for unit, row, size, content in zip(units.tolist(), rows, sizes, columns.texts(units), strict=True):
        lines = columns.headings_above(unit, size=size)
        above = (line.decode("utf-8", "replace").strip(_HEADING_MARKS)[:_HEADING_CHARACTERS] for line in lines)
        names = " > ".join([paths[row], *filter(None, above)])
        texts.append(f"{names}: {content.decode('utf-8', 'replace')}")
    return texts


def read_late(columns: CorpusColumns, field: Field, question: str, late: LateEncoder) -> tuple[Field, ReadReport]:
    """The units by words and model together; where the model fails, as they were by words."""
    count = min(READ_UNITS, len(field.units))
    try:
        rows, embedded = late.vectors(unit_texts(columns, field.units[:count]))
        alike = cosines(rows, late.question(question))
    except EndpointError as error:
        return field, ReadReport(late.name, late.runtime, 0, 0, str(error))
    by_model = np.full(len(field.units), len(field.units), np.int64)
    by_model[:count] = _ranks_of(alike)
    worth = _reciprocal(np.arange(len(field.units))) + np.where(by_model < count, _reciprocal(by_model), 0)
    semantic = field.semantic.copy()
    semantic[:count] = alike
    documents = _documents(field, by_model)
    fused = replace(field, scores=_spread(columns, field.units, worth), semantic=semantic, documents=documents)
    nearest = int(alike.max(initial=0))
    return in_order(fused), ReadReport(late.name, late.runtime, count, embedded, nearest=nearest)


def _ranks_of(worth: Numbers) -> Numbers:
    """The place of each in descending order, from 0; of equal ones the first stands first.

    >>> _ranks_of(np.array([5, 9, 5])).tolist()
    [1, 0, 2]
    """
    ranks = np.empty(len(worth), np.int64)
    ranks[np.argsort(-worth, kind="stable")] = np.arange(len(worth))
    return ranks


def _reciprocal(ranks: Numbers) -> Numbers:
    found: Numbers = MILLION // (_RANK_OFFSET + 1 + ranks)
    return found


def _spread(columns: CorpusColumns, units: Ids, worth: Numbers) -> Numbers:
    """The worth of units with a share of that of the units right before and after them in their documents."""
    order = np.argsort(units, kind="stable")
    placed, worth_in_order = units[order], worth[order]
    extents = columns.extents[placed]
    is_next = (np.diff(placed) == 1) & (np.diff(extents) == 0)
    share, whole = _NEIGHBOUR
    gained = worth_in_order.copy()
    gained[1:] += np.where(is_next, worth_in_order[:-1] * share // whole, 0)
    gained[:-1] += np.where(is_next, worth_in_order[1:] * share // whole, 0)
    found = np.empty(len(units), np.int64)
    found[order] = gained
    return found


def _documents(field: Field, by_model: Numbers) -> Numbers:
    """What documents are worth by words and by their nearest unit together."""
    nearest = np.full(len(field.documents), len(field.units), np.int64)
    np.minimum.at(nearest, field.rows, by_model)
    by_unit = np.where(nearest < len(field.units), _reciprocal(_ranks_of(-nearest)), 0)
    by_words = np.where(field.documents > 0, _reciprocal(_ranks_of(field.documents)), 0)
    found: Numbers = by_words + by_unit
    return found


def read_again(
    columns: CorpusColumns,
    field: Field,
    question: str,
    reranker: Reranker,
    report: ReadReport | None,
    *,
    known: dict[str, int],
) -> tuple[Field, ReadReport]:
    """The field with its best units as a reranker orders them; where it fails, as it was.

    They change places among themselves: what it did not read stays behind them. `known` are the texts that it has read
    for this question, so that none is read twice.
    """
    report = report or ReadReport("none", "none", 0, 0)
    texts = unit_texts(columns, field.units[:_RERANKED_UNITS])
    new = [text for text in dict.fromkeys(texts) if text not in known]
    try:
        known.update(zip(new, reranker.scores(question, new) if new else (), strict=True))
    except EndpointError as error:
        return field, replace(report, reranker=reranker.name, not_reranked=str(error))
    worth = np.array([known[text] for text in texts], np.int64)
    places = np.append(np.argsort(-worth, kind="stable"), np.arange(len(texts), len(field.units)))
    moved = replace(taken(field, places), scores=field.scores)  # the scores stay: they say the place
    return moved, replace(report, reranker=reranker.name, reranked=len(texts))
