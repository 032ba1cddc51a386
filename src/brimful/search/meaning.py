"""What does a question mean, and what do the best places mean?

A question as a vector that units are compared with; and a model that reads the best places when a question needs
them, and remembers what it read.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import cast

import numpy as np

from brimful.errors import SettingError
from brimful.index.build import default_embedder
from brimful.index.embedders import STATIC_NAME, Embedder
from brimful.index.segments import Numbers
from brimful.index.vectors import TermVectors, project, query_vector
from brimful.search.columns import CorpusColumns
from brimful.search.query import Query
from brimful.search.spelling import Correction

# ---- meaning: What does a question mean, as a vector that units are compared with?
#
# By the static table it is the sum over its terms, as a unit is; a model reads the question as it is worded.

_KEPT_QUESTIONS = 256
_LONGEST_WORD = 48  # bytes; what is longer is an id or a paste, and its pieces mean nothing


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


def meaning_of(query: Query, repairs: Sequence[Correction], vectors: TermVectors | QuestionVectors) -> Numbers:
    """The vector of a question, misspelt words as they were repaired."""
    if isinstance(vectors, QuestionVectors):
        return vectors.of(wording(query, repairs))
    instead = {each.word: each.term for each in reversed(repairs)}
    words = [instead.get(asked.term, asked.term) for asked in query.terms if not asked.is_part]
    return query_vector([word for word in words if len(word) <= _LONGEST_WORD], vectors)


def wording(query: Query, repairs: Sequence[Correction]) -> str:
    """The question as text: without operators and what they exclude, and with the words that were meant."""
    instead = {each.word: each.term for each in reversed(repairs)}
    content = query.text.encode("utf-8", "replace")
    wholes = [asked for asked in query.terms if not asked.is_part]
    if query.has_operators:
        words = [instead.get(asked.term, content[asked.start : asked.end]) for asked in wholes]
        return b" ".join(words).decode("utf-8", "replace")
    for asked in reversed(wholes):
        if asked.term in instead:
            content = content[: asked.start] + instead[asked.term] + content[asked.end :]
    return content.decode("utf-8", "replace")


def meaning_between(columns: CorpusColumns, path: str, start: int, end: int) -> tuple[float, ...] | None:
    """What a stretch of a document means: the sum of the codes of its units; None in a store without any."""
    row = columns.snapshot.row(path)
    if row is None:
        return None
    extents = np.flatnonzero(columns.owners == columns.documents.row_of(row.number))
    within = []
    for extent in extents.tolist():
        units = np.arange(columns.extent_firsts[extent], columns.extent_behinds[extent])
        offsets = columns.offsets_of(units, np.full(len(units), extent))
        last = max(int(offsets.searchsorted(end)), int(offsets.searchsorted(start, side="right")))
        within.append(units[max(int(offsets.searchsorted(start, side="right")) - 1, 0) : last])
    chosen = np.sort(np.concatenate(within)) if within else np.zeros(0, np.int64)
    codes = columns.codes(chosen) if len(chosen) else None
    if codes is None:
        return None
    bits = np.unpackbits(codes, axis=1).astype(np.int64)
    return tuple(map(float, (2 * bits - 1).sum(axis=0).tolist()))
