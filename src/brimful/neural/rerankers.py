"""How well does each text answer a question, read together with it?

A reranker is slower and more exact than vectors. None is used unless it is named. Scores are whole thousandths of the
model's, so that a last bit decides nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite
from typing import Protocol

from brimful.errors import EndpointError
from brimful.neural.embedders import Endpoint

_MAX_THOUSANDTHS = 1 << 53


class Reranker(Protocol):
    """Scores texts for a question."""

    @property
    def name(self) -> str:
        """Whose scores these are."""

    def scores(self, question: str, texts: Sequence[str]) -> list[int]:
        """One whole number for each text, the higher the better."""


class EndpointReranker:
    """A server's `/rerank`, as Jina, Cohere, vLLM and llama.cpp offer it; `base_url` ends in `/v1` as a rule."""

    runtime = "endpoint"

    def __init__(
        self, base_url: str, model: str, *, key_variable: str = "BRIMFUL_API_KEY", timeout_seconds: float = 30.0
    ) -> None:
        self._endpoint = Endpoint(base_url, "/rerank", key_variable=key_variable, timeout_seconds=timeout_seconds)
        self._model = model
        self.name = f"{self._endpoint.base}#{model}"

    def __repr__(self) -> str:
        return f"EndpointReranker({self._endpoint.base!r}, {self._model!r})"

    def scores(self, question: str, texts: Sequence[str]) -> list[int]:
        """The server's scores in thousandths, in the order of the texts, from one request."""
        if not texts:
            return []
        answer = self._endpoint.post({"model": self._model, "query": question, "documents": list(texts)})
        items = answer.get("results") if isinstance(answer, dict) else answer
        rows = self._endpoint.numbered(items, lambda item: float(item["relevance_score"]), len(texts), what="scores")
        return thousandths(rows.tolist(), len(texts), source=self.name)


def thousandths(scores: Sequence[float], count: int, *, source: str) -> list[int]:
    """Scores as whole thousandths, where they are as many as they should be, and numbers."""
    if len(scores) != count:
        raise EndpointError(f"{source} gave {len(scores)} scores for {count} texts")
    if not all(isfinite(score) and abs(score) * 1_000 < _MAX_THOUSANDTHS for score in scores):
        raise EndpointError(f"{source} gave a score that is not a number; look at its model")
    return [round(score * 1_000) for score in scores]
