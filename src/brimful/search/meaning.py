"""What does a question mean, as a vector that units are compared with?

By the static table it is the sum over its terms, as a unit is; a model reads the question as it is worded.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import cast

from brimful.errors import SettingError
from brimful.index.coding import default_embedder
from brimful.index.columns import Numbers
from brimful.index.embedders import STATIC_NAME, Embedder
from brimful.index.vectors import TermVectors, project, query_vector
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
