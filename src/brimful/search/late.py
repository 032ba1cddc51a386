"""What do the best places mean? A model reads them when a question needs them, and remembers what it read.

Words (and static codes) choose a fixed number of candidates; the passages that these stand in are embedded and
compared with the question, and what stands out moves up. Vectors are kept in the store by content, so no text is read
twice and no corpus has to be embedded before it can be asked (ruling 27). A passage is the units that begin in one
cell of a document's bytes: it depends on the document alone, never on the question or on what was asked before.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final, NamedTuple, Protocol

import numpy as np

from brimful.errors import EndpointError
from brimful.index.columns import Numbers
from brimful.index.embedders import Embedder
from brimful.index.quantised import Bytes, cosines, quantise, text_key
from brimful.search.field import MILLION, Field, standing_out
from brimful.search.ground import Ground
from brimful.settings import FieldSettings

CELL_BYTES: Final = 600
"""Units that begin in the same so many bytes of a document are read together."""
_KEPT_QUESTIONS = 64
_BATCH = 32  # texts that are embedded before they are remembered


class VectorMemory(Protocol):
    """Where vectors are kept by the text that they were made of."""

    def vectors_known(self, model: str, keys: Sequence[bytes], *, width: int) -> Known:
        """A row for each key, and which are missing."""
        ...

    def remember_vectors(self, model: str, keys: Sequence[bytes], rows: Bytes) -> str | None:
        """Keep some; why not, where they could not be kept."""
        ...


class Known(Protocol):
    """What a memory has of some keys."""

    @property
    def rows(self) -> Bytes:
        """A row for each key, zeros where nothing is remembered."""
        ...

    @property
    def missing(self) -> Numbers:
        """The places of those."""
        ...


@dataclass(frozen=True, slots=True)
class Read:
    """What the late leg did for a question."""

    model: str
    runtime: str
    passages: int  # that were compared
    embedded: int  # of these, that nobody had read before
    failed: str | None = None  # why words alone decided


class _Passage(NamedTuple):
    """A cell of a document: its row, its first unit and the one behind its last."""

    row: int
    first: int
    behind: int


class Late:
    """An embedder and a memory of what it has read; safe to share between threads."""

    def __init__(self, embedder: Embedder, memory: VectorMemory, *, runtime: str) -> None:
        self.name, self.runtime = embedder.name, runtime
        self._embedder, self._memory = embedder, memory
        self._question = lru_cache(_KEPT_QUESTIONS)(self._of_question)

    def _of_question(self, text: str) -> bytes:
        return bytes(quantise(self._embedder.embed([text]))[0].tobytes())

    def compared(self, question: str, texts: Sequence[str]) -> tuple[Numbers, int]:
        """How alike each text is to the question, in millionths, and how many of them had to be embedded."""
        query = np.frombuffer(self._question(question), np.int8)
        rows, embedded = self.vectors(texts)
        return cosines(rows, query), embedded

    def vectors(self, texts: Sequence[str]) -> tuple[Bytes, int]:
        """The vectors of some texts, those that are new embedded and remembered in small batches."""
        keys = [text_key(text) for text in texts]
        known = self._memory.vectors_known(self.name, keys, width=self._embedder.dimensions)
        rows, missing = known.rows.copy(), known.missing.tolist()
        for low in range(0, len(missing), _BATCH):
            part = missing[low : low + _BATCH]
            made = quantise(self._embedder.embed([texts[at] for at in part]))
            rows[part] = made
            self._memory.remember_vectors(self.name, [keys[at] for at in part], made)
        return rows, len(missing)


def read_late(ground: Ground, field: Field, question: str, late: Late, settings: FieldSettings) -> tuple[Field, Read]:
    """The field with what a model makes of its best places; where the model fails, as it was."""
    count = min(settings.late_candidates, len(field.units))
    passages = _passages(ground, field.units[:count])
    each = list(dict.fromkeys(passages))
    try:
        alike, embedded = late.compared(question, [passage_text(ground, passage) for passage in each])
    except EndpointError as error:
        return field, Read(late.name, late.runtime, 0, 0, str(error))
    by_passage = dict(zip(each, alike.tolist(), strict=True))
    found = np.array([by_passage[passage] for passage in passages], np.int64)
    gains = np.rint(settings.late * standing_out(found) * MILLION).astype(np.int64)
    scores, semantic = field.scores.copy(), field.semantic.copy()
    scores[:count] += gains
    semantic[:count] += gains
    order = np.lexsort((np.arange(len(scores)), -scores))  # of the same worth, as words have it
    moved = replace(
        field,
        units=field.units[order],
        scores=scores[order],
        lexical=field.lexical[order],
        semantic=semantic[order],
        has=field.has[:, order],
    )
    return moved, Read(late.name, late.runtime, len(each), embedded)


def all_passages(ground: Ground) -> Iterator[str]:
    """Every passage of the corpus, as it is embedded; by path and place."""
    units = np.arange(len(ground))
    firsts = dict.fromkeys(_passages(ground, units)) if len(units) else {}
    for passage in sorted(firsts, key=lambda each: (each.row, int(ground.offsets[np.array([each.first])][0]))):
        yield passage_text(ground, passage)


def passage_text(ground: Ground, passage: _Passage) -> str:
    """What a model reads of a passage: the path of its document and its text."""
    units = np.array([passage.first, passage.behind - 1])
    first, last = ground.offsets[units].tolist()
    end = last + int(ground.sizes[units[1:]][0])
    content = ground.snapshot.read(int(ground.documents.numbers[passage.row]), first, end)
    return f"{ground.documents.paths[passage.row]}: {content.decode('utf-8', 'replace')}"


def _passages(ground: Ground, units: Numbers) -> list[_Passage]:
    """The passage that each of some units stands in."""
    order = np.argsort(units, kind="stable")
    ordered = units[order]
    rows, extents, starts = ground.rows[ordered], ground.extents[ordered], ground.starts[ordered]
    offsets = ground.offsets[ordered]
    origins = starts - offsets  # where the document begins on the axis, were it all there
    cells = offsets // CELL_BYTES
    plots = ground.firsts.searchsorted(ordered, side="right") - 1
    found: list[_Passage] = []
    for at in range(len(ordered)):
        plot = ground.plots[int(plots[at])]
        low = int(origins[at] + cells[at] * CELL_BYTES)
        first, behind = (int(each) + plot.first for each in plot.starts.searchsorted((max(low, 0), low + CELL_BYTES)))
        edge = int(extents[at])
        first, behind = max(first, int(ground.extent_firsts[edge])), min(behind, ground.behind(edge))
        found.append(_Passage(int(rows[at]), first, behind))
    back = np.empty(len(order), np.int64)
    back[order] = np.arange(len(order))
    return [found[at] for at in back.tolist()]
