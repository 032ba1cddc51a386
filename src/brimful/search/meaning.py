"""What does a question mean, as a vector that units are compared with?

By the static table it is the sum over its terms, as a unit is; a model reads the question as it is worded.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import cast

import numpy as np

from brimful.errors import SettingError
from brimful.index.coding import default_embedder
from brimful.index.columns import Numbers
from brimful.index.embedders import STATIC_NAME, Embedder
from brimful.index.vectors import TermVectors, project, query_vector
from brimful.search.ground import Ground
from brimful.search.query import Query
from brimful.search.repair import Correction

_KEPT_QUESTIONS = 256


class QuestionVectors:
    """Questions as a model reads them; the last ones are remembered, since filling a budget asks more than once."""

    def __init__(self, embedder: Embedder) -> None:
        self.name = embedder.name
        self._embedder = embedder
        self.of = lru_cache(_KEPT_QUESTIONS)(self._of)

    def _of(self, text: str) -> Numbers:
        vector: Numbers = project(self._embedder.embed([text]))[0]
        return vector


def maker_of(model: str | None, embedder: Embedder | None, *, where: object) -> TermVectors | QuestionVectors | None:
    """Who compares questions with vectors of this model: the embedder that was given, or else the static table.

    Nobody where there are no vectors, or where they are the table's and it is not installed; an error where they are
    those of another model: an answer by words alone would look like theirs.
    """
    if model is None:
        return None
    asked = embedder or default_embedder()
    if asked is None and model.startswith(STATIC_NAME):
        return None
    name = asked.name if asked is not None else "no embedder"
    if asked is None or name != model:
        raise SettingError(
            f"{where} has vectors of {model!r}, not of {name!r}; open it with the embedder of that name, "
            "or with vectors=False to ask by words alone"
        )
    return cast("TermVectors", asked) if asked.kind == "static" else QuestionVectors(asked)


def meaning_of(query: Query, mended: Sequence[Correction], vectors: TermVectors | QuestionVectors) -> Numbers:
    """The vector of a question, misspelt words as they were repaired."""
    if isinstance(vectors, QuestionVectors):
        return vectors.of(wording(query, mended))
    instead = {each.word: each.term for each in reversed(mended)}
    return query_vector([instead.get(asked.term, asked.term) for asked in query.terms if not asked.is_part], vectors)


def wording(query: Query, mended: Sequence[Correction]) -> str:
    """The question as text: without operators and what they exclude, and with the words that were meant."""
    instead = {each.word: each.term for each in reversed(mended)}
    content = query.text.encode("utf-8", "replace")
    wholes = [asked for asked in query.terms if not asked.is_part]
    if query.has_operators:
        words = [instead.get(asked.term, content[asked.start : asked.end]) for asked in wholes]
        return b" ".join(words).decode("utf-8", "replace")
    for asked in reversed(wholes):
        if asked.term in instead:
            content = content[: asked.start] + instead[asked.term] + content[asked.end :]
    return content.decode("utf-8", "replace")


def meaning_between(ground: Ground, path: str, start: int, end: int) -> tuple[float, ...] | None:
    """What a stretch of a document means: the sum of the codes of its units; None in a store without any."""
    row = ground.snapshot.row(path)
    if row is None:
        return None
    extents = np.flatnonzero(ground.owners == ground.documents.row_of(row.number))
    within = []
    for extent in extents.tolist():
        units = np.arange(ground.extent_firsts[extent], ground.behind(extent))
        offsets = ground.offsets_of(units, np.full(len(units), extent))
        last = max(int(offsets.searchsorted(end)), int(offsets.searchsorted(start, side="right")))
        within.append(units[max(int(offsets.searchsorted(start, side="right")) - 1, 0) : last])
    chosen = np.sort(np.concatenate(within)) if within else np.zeros(0, np.int64)
    codes = ground.codes(chosen) if len(chosen) else None
    if codes is None:
        return None
    bits = np.unpackbits(codes, axis=1).astype(np.int64)
    return tuple(map(float, (2 * bits - 1).sum(axis=0).tolist()))
