"""How well does each text answer a question, read together with it?

A reranker is slower and more exact than vectors: it reads question and text at once. None is used unless it is named.
Scores are whole thousandths of what the model gives, so that a last bit decides nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from math import isfinite
from typing import Any, Literal, Protocol

from brimful.errors import BrimfulError, EndpointError, choose
from brimful.index.embedders import opened, positive, version_of
from brimful.index.endpoints import Endpoint

_THOUSAND = 1_000
_MOST = 1 << 53


class Reranker(Protocol):
    """Something that scores texts for a question."""

    @property
    def name(self) -> str:
        """Whose scores these are."""
        ...

    def scores(self, question: str, texts: Sequence[str]) -> list[int]:
        """One whole number for each text, the higher the better."""
        ...


class CrossEncoderReranker:
    """A cross-encoder of sentence-transformers that is on this machine; each pair is read by itself."""

    def __init__(self, model: str) -> None:
        self._model = model
        self.name = f"cross-encoder:{model}"

    def __repr__(self) -> str:
        return f"CrossEncoderReranker({self._model!r})"

    @cached_property
    def runtime(self) -> str:
        """The library and its version."""
        return f"sentence-transformers {version_of('sentence-transformers')}"

    def scores(self, question: str, texts: Sequence[str]) -> list[int]:
        """The model's scores in thousandths."""
        if not texts:
            return []
        pairs = [(question, text) for text in texts]
        try:
            found = self._encoder.predict(pairs, batch_size=1, show_progress_bar=False)
            numbers = [float(score) for score in found]
        except BrimfulError:
            raise
        except Exception as error:  # a library's errors are its own
            raise EndpointError(f"{self.name} could not score: {type(error).__name__}: {error}") from error
        return _whole(numbers, len(texts), who=self.name)

    @cached_property
    def _encoder(self) -> Any:
        return opened("sentence_transformers", "CrossEncoder", self._model, device="cpu", local_files_only=True)


class EndpointReranker:
    """A server's `/rerank`: as Jina, Cohere, vLLM and llama.cpp offer it, or, with `tei`, as text-embeddings-inference.

    `base_url` ends in `/v1` as a rule. The key is treated as that of an EndpointEmbedder.
    """

    runtime = "endpoint"

    def __init__(
        self,
        base_url: str,
        model: str,
        *,
        protocol: Literal["jina", "tei"] = "jina",
        key_variable: str = "BRIMFUL_API_KEY",
        timeout_seconds: float = 30.0,
    ) -> None:
        choose(protocol, ("jina", "tei"), what="protocol")
        positive(timeout_seconds, "timeout_seconds")
        self._endpoint = Endpoint(base_url, "/rerank", key_variable=key_variable, timeout_seconds=timeout_seconds)
        self._model, self._protocol = model, protocol
        self.name = f"{self._endpoint.base}#{model}"

    def __repr__(self) -> str:
        return f"EndpointReranker({self._endpoint.base!r}, {self._model!r})"

    def scores(self, question: str, texts: Sequence[str]) -> list[int]:
        """The server's scores in thousandths, in the order of the texts, from one request."""
        if not texts:
            return []
        field = "documents" if self._protocol == "jina" else "texts"
        answer = self._endpoint.post({"model": self._model, "query": question, field: list(texts)})
        try:
            entries = answer["results"] if isinstance(answer, dict) else answer
            found = sorted(
                (entry["index"], float(entry.get("relevance_score", entry.get("score")))) for entry in entries
            )
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise EndpointError(f"{self._endpoint.base} answered with something else than scores") from error
        if [place for place, _ in found] != list(range(len(texts))):
            raise EndpointError(f"{self._endpoint.base} answered {len(found)} scores to {len(texts)} texts")
        return _whole([score for _, score in found], len(texts), who=self.name)


def _whole(scores: Sequence[float], count: int, *, who: str) -> list[int]:
    if len(scores) != count:
        raise EndpointError(f"{who} gave {len(scores)} scores for {count} texts")
    if not all(isfinite(score) and abs(score) * _THOUSAND < _MOST for score in scores):
        raise EndpointError(f"{who} gave a score that is no number; look at its model")
    return [round(score * _THOUSAND) for score in scores]
