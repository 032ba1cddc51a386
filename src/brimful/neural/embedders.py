"""Embedders turn texts into vectors, rerankers score them for a question. Here: the protocols, and servers.

Each embedder has a name that is kept with its vectors, since vectors of two models can't be compared. Nothing is ever
downloaded. A reranker is slower and more exact than vectors, and none is used unless it is named. Its scores are whole
thousandths of the model's, so that a last bit decides nothing. Models on this machine are in `bert` and `libraries`.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Sequence
from functools import cached_property
from math import isfinite
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from brimful.errors import EndpointError, InputError, ScoreError, SettingError
from brimful.transport import Timeouts, base_address, exchange

Floats = NDArray[np.float32]
_Number = TypeVar("_Number", int, float)

_ANSWER_BYTES = 256 << 20
_BATCH = 64


class Embedder(Protocol):
    """Turns texts into vectors."""

    @property
    def name(self) -> str:
        """Equal names promise comparable vectors."""

    @property
    def dimensions(self) -> int:
        """How many numbers a vector has."""

    def embed(self, texts: Sequence[str]) -> Floats:
        """One row for each text."""


def embed_distinct(embedder: Embedder, texts: Sequence[str]) -> Floats:
    """One row for each text; equal texts are read once.

    >>> embed_distinct(wrap("lengths", lambda texts: [[len(texts)] for _ in texts], dimensions=1), "aba").tolist()
    [[2.0], [2.0], [2.0]]
    """
    numbers = {text: number for number, text in enumerate(dict.fromkeys(texts))}
    return embedder.embed(list(numbers))[[numbers[text] for text in texts]]


class _Identity(NamedTuple):
    """Whose vectors these are, and what computed them: what a receipt says of an embedder."""

    model: str
    runtime: str


def identity_of(embedder: Embedder) -> _Identity:
    """The name of an embedder, and its runtime with a version where it names one.

    >>> identity_of(wrap("lengths", lambda texts: [[len(text)] for text in texts], dimensions=1))
    _Identity(model='lengths', runtime='caller')
    """
    return _Identity(embedder.name, getattr(embedder, "runtime", "caller"))


class _Endpoint:
    """One path of a server, to which JSON is posted: one request, no second try.

    The key is read from the environment at each call, sent over https or to this machine only, and never shown.
    """

    def __init__(self, base_url: str, path: str, *, key_variable: str, timeout_seconds: float) -> None:
        self.base = base_address(base_url)
        self._path, self._key_variable = path, key_variable
        self._seconds = positive(timeout_seconds, "timeout_seconds")

    def post(self, payload: object) -> Any:
        """The JSON that the server answers; whatever else it does is an EndpointError."""
        key = os.environ.get(self._key_variable)
        try:
            status, _, answer = exchange(
                self.base + self._path,
                payload,
                key_headers={"Authorization": f"Bearer {key}"} if key else {},
                key_variable=self._key_variable,
                timeouts=Timeouts(connect_seconds=self._seconds, idle_seconds=self._seconds),
                most_bytes=_ANSWER_BYTES,
            )
        except OSError as error:
            name = type(error).__name__
            raise EndpointError(f"{self.base} did not answer within {self._seconds} s: {name}") from error
        if len(answer) > _ANSWER_BYTES:
            raise EndpointError(f"{self.base} answered more than {_ANSWER_BYTES} bytes; ask with smaller batches")
        if status != 200:
            raise EndpointError(f"{self.base} answered {status}{_reason(answer)}; look at its model name and key")
        try:
            return json.loads(answer)
        except (ValueError, RecursionError) as error:
            raise EndpointError(f"{self.base} answered with something else than JSON") from error

    def numbered(self, items: Any, read: Callable[[Any], ArrayLike], count: int, *, what: str) -> Floats:
        """Numbers that `read` takes from items with an `index`, in the order of `count` texts."""
        try:
            ordered = sorted(items, key=lambda item: int(item["index"]))
            numbers = [item["index"] for item in ordered]
            rows = np.array([read(item) for item in ordered], float)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise EndpointError(f"{self.base} answered with something else than {what}") from error
        if numbers != list(range(count)):
            raise EndpointError(f"{self.base} answered {len(numbers)} {what} to {count} texts")
        return rows


def _reason(answer: bytes) -> str:
    """The server's own word for an error: a plain name only, since a longer message may repeat the key."""
    try:
        word = json.loads(answer)["error"]["code"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return ""
    return f" ({word})" if isinstance(word, str) and re.fullmatch(r"[a-z_]{1,40}", word) else ""


class EndpointEmbedder:
    """A server's `/embeddings`, as OpenAI, Ollama, vLLM, llama.cpp and others offer it.

    `base_url` ends in `/v1` as a rule. One request for each batch, no second try, no redirects. Without `dimensions`,
    they are learnt from the server's vector for a word.
    """

    runtime = "endpoint"  # nobody can see from here what the server runs

    def __init__(
        self,
        base_url: str,
        model: str,
        *,
        dimensions: int | None = None,
        key_variable: str = "OPENAI_API_KEY",
        timeout_seconds: float = 30.0,
        batch: int = _BATCH,
    ) -> None:
        self._endpoint = _Endpoint(base_url, "/embeddings", key_variable=key_variable, timeout_seconds=timeout_seconds)
        self._model = model
        self._stated_dimensions = None if dimensions is None else positive(dimensions, "dimensions")
        self._batch = positive(batch, "batch")

    def __repr__(self) -> str:
        return f"EndpointEmbedder({self._endpoint.base!r}, {self._model!r}, dimensions={self._stated_dimensions})"

    @cached_property
    def dimensions(self) -> int:
        """The stated number, or else as many as the server gives for a word."""
        return self._stated_dimensions or len(self._rows(["word"])[0])

    @property
    def name(self) -> str:
        """The server and its model."""
        return f"{self._endpoint.base}#{self._model}:{self.dimensions}"

    def embed(self, texts: Sequence[str]) -> Floats:
        """One row for each text, in order."""
        rows = [np.zeros((0, self.dimensions), np.float32)]
        for first in range(0, len(texts), self._batch):
            batch = texts[first : first + self._batch]
            answered = self._rows(batch)
            try:
                rows.append(checked_rows(answered, len(batch), self.dimensions, source=self.name))
            except InputError as error:
                raise EndpointError(f"{error}; look at the server's model") from error
        return np.concatenate(rows)

    def _rows(self, texts: Sequence[str]) -> Floats:
        """One row for each text, as the server answers."""
        answer = self._endpoint.post({"model": self._model, "input": list(texts)})
        items = answer.get("data") if isinstance(answer, dict) else None
        rows = self._endpoint.numbered(items, lambda item: item["embedding"], len(texts), what="embeddings")
        if rows.ndim != 2:
            raise EndpointError(f"{self._endpoint.base} answered with something else than embeddings")
        return rows.astype(np.float32)


class _Wrapped:
    def __init__(self, name: str, function: Callable[[Sequence[str]], ArrayLike], dimensions: int) -> None:
        self.name, self.dimensions, self._function = name, dimensions, function

    def __repr__(self) -> str:
        return f"wrap({self.name!r}, dimensions={self.dimensions})"

    def embed(self, texts: Sequence[str]) -> Floats:
        rows = self._function(list(texts)) if texts else np.zeros((0, self.dimensions))
        return checked_rows(np.asarray(rows, np.float32), len(texts), self.dimensions, source=self.name)


def wrap(name: str, function: Callable[[Sequence[str]], ArrayLike], *, dimensions: int) -> Embedder:
    """Your own function from texts to rows of numbers as an Embedder; the name is kept with its vectors.

    >>> lengths = wrap("lengths", lambda texts: [[len(text), 1] for text in texts], dimensions=2)
    >>> lengths.embed(["one", "three"]).tolist()
    [[3.0, 1.0], [5.0, 1.0]]
    """
    if not name:
        raise InputError("an embedder needs a name that tells its vectors from others")
    return _Wrapped(name, function, positive(dimensions, "dimensions"))


def checked_rows(rows: Floats, count: int, dimensions: int, *, source: str) -> Floats:
    """The rows, if their shape is right and they are numbers."""
    if rows.shape != (count, dimensions):
        raise InputError(f"{source} gave vectors of the shape {rows.shape}, not {(count, dimensions)}")
    if not np.isfinite(rows).all():
        raise ScoreError(f"{source} gave NaN or infinity")
    return rows


def positive(value: _Number, name: str) -> _Number:
    """The value, where it is above zero."""
    if value <= 0:
        raise SettingError(f"{name} is {value!r}; it must be above zero")
    return value


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
        self._endpoint = _Endpoint(base_url, "/rerank", key_variable=key_variable, timeout_seconds=timeout_seconds)
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
