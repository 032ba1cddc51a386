"""Which embedder or reranker does a name mean, and how well does each text answer a question?"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from math import isfinite
from pathlib import Path
from typing import Any, Literal, Protocol

import numpy as np

from brimful.errors import (
    BrimfulError,
    ChoiceError,
    EndpointError,
    InputError,
    MissingPartError,
    SettingError,
    choose,
    suggest,
)
from brimful.neural import bert
from brimful.neural.bert import BertEmbedder
from brimful.neural.embedders import (
    Embedder,
    Endpoint,
    EndpointEmbedder,
    Floats,
    checked_rows,
    library,
    opened,
    positive,
    version_of,
)

# ---- rerankers: How well does each text answer a question, read together with it?
#
# A reranker is slower and more exact than vectors: it reads question and text at once. None is used unless it is named.
# Scores are whole thousandths of what the model gives, so that a last bit decides nothing.

_THOUSAND = 1_000
_MOST = 1 << 53


class Reranker(Protocol):
    """Something that scores texts for a question."""

    @property
    def name(self) -> str:
        """Whose scores these are."""

    def scores(self, question: str, texts: Sequence[str]) -> list[int]:
        """One whole number for each text, the higher the better."""


class _CrossEncoderReranker:
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
        raise EndpointError(f"{who} gave a score that is not a number; look at its model")
    return [round(score * _THOUSAND) for score in scores]


# ---- named: Which embedder or reranker does a name mean?
#
#     granite                       granite-embedding-30m-english, the model of the `neural` extra
#     a folder                      a BERT model as sentence-transformers saves it
#     sentence-transformers:NAME    a model that the user has, by the library of that name; fastembed:NAME likewise
#     model2vec:FOLDER              a model of that library
#     openai:MODEL@BASE_URL         a server's /embeddings, Ollama's included; without a URL, OpenAI itself
#     none                          nobody
#     default                       granite where it is installed, else nobody
#
# Whoever is named is asked for a vector at once, so that what is missing is told before anything is written. Nothing is
# downloaded: libraries are told to use what is on this machine.

_OPENAI_URL = "https://api.openai.com/v1"
NAMES = ("default", "none", "granite")
_LIBRARIES = ("sentence-transformers", "fastembed", "model2vec", "openai")
_RERANKERS = ("none", "cross-encoder", "rerank")

_FORMS = f"choices: {', '.join(NAMES)}, a folder, {', '.join(f'{each}:NAME' for each in _LIBRARIES)}"

_Encode = Callable[[str], Sequence[float]]


def embedder_named(name: str) -> Embedder | None:
    """The embedder of a name, ready to be asked; None for nobody.

    >>> embedder_named("none") is None
    True
    >>> embedder_named("granit")
    Traceback (most recent call last):
    brimful.errors.ChoiceError: unknown embedder 'granit'; did you mean 'granite'? choices: ...
    """
    found = _of_a_name(name) if name in NAMES else _of_a_library(name) or _of_a_folder(name)
    if found is not None and not (found.dimensions > 0 and found.name):  # opened here, or an error says why not
        raise InputError(f"{name!r} gives vectors without numbers; name another embedder")
    return found


def check_embedder(name: str) -> None:
    """Whether a name could mean an embedder; nothing is opened for it.

    >>> check_embedder("granite"), check_embedder("auto"), check_embedder("openai:small@http://localhost:1/v1")
    (None, None, None)
    >>> check_embedder("granit")
    Traceback (most recent call last):
    brimful.errors.ChoiceError: unknown embedder 'granit'; did you mean 'granite'? choices: ...
    """
    library, _, model = name.partition(":")
    if not (name in (*NAMES, "auto") or (library in _LIBRARIES and model) or Path(name).expanduser().is_dir()):
        raise ChoiceError(f"unknown embedder {name!r}; {suggest(name, NAMES + _LIBRARIES)}{_FORMS}")


def chosen_embedder(name: str = "auto") -> Embedder | None:
    """Who reads the best places of a question: whoever is named, or else granite where it is installed.

    "auto" takes what BRIMFUL_EMBEDDER names.
    """
    if name == "auto":
        name = os.environ.get("BRIMFUL_EMBEDDER") or ("granite" if bert.is_installed() else "none")
    return embedder_named(name)


def reranker_named(name: str) -> Reranker | None:
    """The reranker of a name: `none`, `cross-encoder:NAME`, or `rerank:MODEL@BASE_URL`.

    >>> reranker_named("none") is None
    True
    """
    check_reranker(name)
    kind, _, rest = name.partition(":")
    if kind == "cross-encoder":
        return _CrossEncoderReranker(rest)
    if kind == "rerank":
        model, url = _split(rest)
        return EndpointReranker(url, model, key_variable=_key_variable(url))
    return None


def check_reranker(name: str) -> None:
    """Whether a name could mean a reranker; nothing is opened for it.

    >>> check_reranker("none"), check_reranker("cross-encoder:small"), check_reranker("rerank:small@http://localhost:1")
    (None, None, None)
    """
    kind, _, rest = name.partition(":")
    if not (name == "none" or (kind == "cross-encoder" and rest) or (kind == "rerank" and "@" in rest)):
        choices = "choices: none, cross-encoder:NAME, rerank:MODEL@BASE_URL"
        raise ChoiceError(f"unknown reranker {name!r}; {suggest(kind, _RERANKERS)}{choices}")


def _of_a_name(name: str) -> Embedder | None:
    if name == "none" or (name == "default" and not bert.is_installed()):
        return None
    return BertEmbedder()


def _of_a_library(name: str) -> Embedder | None:
    kind, _, rest = name.partition(":")
    if kind not in _LIBRARIES:
        return None
    if not rest:
        raise SettingError(f"{name!r} names no model; write {kind}:NAME")
    if kind == "openai":
        model, url = _split(rest)
        return EndpointEmbedder(url, model, key_variable=_key_variable(url))
    return _LibraryEmbedder(kind, rest)


def _of_a_folder(name: str) -> Embedder:
    folder = Path(name).expanduser()
    if name and folder.is_dir():
        return BertEmbedder(folder)
    if os.sep in name:
        raise MissingPartError(
            f"{name} is not a folder; give one with model.safetensors, config.json and tokenizer.json"
        )
    raise ChoiceError(f"unknown embedder {name!r}; {suggest(name, NAMES + _LIBRARIES)}{_FORMS}")


def _split(rest: str) -> tuple[str, str]:
    """The model and the base URL; a model's own name may hold an @ before the last one."""
    model, at, url = rest.rpartition("@")
    return (model, url) if at and "://" in url else (rest, _OPENAI_URL)


def _key_variable(url: str) -> str:
    """OpenAI's key goes to OpenAI alone."""
    return "OPENAI_API_KEY" if url.rstrip("/") == _OPENAI_URL else "BRIMFUL_API_KEY"


class _LibraryEmbedder:
    """A model of sentence-transformers, fastembed or model2vec that is on this machine.

    Each text is read by itself: a batch is padded to its longest text, and that would show in the last bits.
    """

    def __init__(self, library: str, model: str) -> None:
        self._library, self._model = library, model
        self.name = f"{library}:{model}"

    def __repr__(self) -> str:
        return f"LibraryEmbedder({self._library!r}, {self._model!r})"

    @cached_property
    def runtime(self) -> str:
        """The library and its version."""
        return f"{self._library} {version_of(self._library)}"

    @cached_property
    def dimensions(self) -> int:
        """As many as the model gives for a word."""
        return len(self._row("word"))

    def embed(self, texts: Sequence[str]) -> Floats:
        """One row for each text."""
        found = [np.zeros((0, self.dimensions), np.float32)]
        for text in texts:
            row = self._row(text)
            try:
                found.append(checked_rows(row[None], 1, self.dimensions, who=self.name))
            except InputError as error:
                raise EndpointError(f"{error}; look at the model") from error
        return np.concatenate(found)

    def _row(self, text: str) -> Floats:
        try:
            row = np.asarray(self._encode(text), np.float32)
        except BrimfulError:
            raise
        except Exception as error:  # a library's errors are its own
            raise EndpointError(f"{self.name} could not read a text: {type(error).__name__}: {error}") from error
        if row.ndim != 1:
            raise EndpointError(f"{self.name} gave an array of the shape {row.shape} for one text, not a vector")
        return row

    @cached_property
    def _encode(self) -> _Encode:
        return _OPENED[self._library](self._model)


def _sentence_transformer(model: str) -> _Encode:
    found = opened("sentence_transformers", "SentenceTransformer", model, device="cpu", local_files_only=True)
    return lambda text: found.encode([text], batch_size=1, convert_to_numpy=True, show_progress_bar=False)[0]


def _fastembed(model: str) -> _Encode:
    found = opened("fastembed", "TextEmbedding", model, threads=1, local_files_only=True)
    return lambda text: next(iter(found.embed([text], batch_size=1)))


def _model2vec(model: str) -> _Encode:
    if not Path(model).is_dir():
        raise MissingPartError(f"{model} is not a folder; give the folder of a model2vec model")
    static = library("model2vec").StaticModel
    try:
        found = static.from_pretrained(model)
    except Exception as error:  # a library's errors are its own
        raise MissingPartError(f"model2vec can't open {model}: {error}; bring the model there again") from error
    return lambda text: found.encode([text])[0]


_OPENED: Mapping[str, Callable[[str], _Encode]] = {
    "sentence-transformers": _sentence_transformer,
    "fastembed": _fastembed,
    "model2vec": _model2vec,
}
