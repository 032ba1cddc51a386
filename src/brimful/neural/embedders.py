"""Who turns texts into vectors? A model on this machine, or a server that is asked."""

from __future__ import annotations

import importlib
import json
import os
import re
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from brimful.errors import EndpointError, InputError, MissingPartError, ScoreError, SettingError, install
from brimful.transport import Timeouts, base_address, exchange

# ---- endpoints: How is a server asked for vectors or scores?
#
# A key is read from the environment at each call, sent over https or to this machine only, and is in no error or repr.

_OK = 200
_ANSWER_BYTES = 256 << 20


class Endpoint:
    """One path of a server, to which JSON is posted: one request, no second try."""

    def __init__(self, base_url: str, path: str, *, key_variable: str, timeout_seconds: float) -> None:
        self.base = base_address(base_url)
        self._path, self._key_variable, self._timeout = path, key_variable, timeout_seconds

    def post(self, payload: object) -> Any:
        """The JSON that the server answers; whatever else it does is an EndpointError."""
        key = os.environ.get(self._key_variable)
        try:
            status, _, answer = exchange(
                self.base + self._path,
                payload,
                key_headers={"Authorization": f"Bearer {key}"} if key else {},
                key_variable=self._key_variable,
                timeouts=Timeouts(connect_seconds=self._timeout, idle_seconds=self._timeout),
                most_bytes=_ANSWER_BYTES,
            )
        except OSError as error:
            name = type(error).__name__
            raise EndpointError(f"{self.base} did not answer within {self._timeout} s: {name}") from error
        if len(answer) > _ANSWER_BYTES:
            raise EndpointError(f"{self.base} answered more than {_ANSWER_BYTES} bytes; ask with smaller batches")
        if status != _OK:
            raise EndpointError(f"{self.base} answered {status}{_reason(answer)}; look at its model name and key")
        try:
            return json.loads(answer)
        except (ValueError, RecursionError) as error:
            raise EndpointError(f"{self.base} answered with something else than JSON") from error


def _reason(answer: bytes) -> str:
    """The server's own word for an error: a plain name only, since a longer message may repeat the key."""
    try:
        word = json.loads(answer)["error"]["code"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return ""
    return f" ({word})" if isinstance(word, str) and re.fullmatch(r"[a-z_]{1,40}", word) else ""


# ---- embedders: Who turns texts into vectors?
#
# A model on this machine, a server that speaks the embeddings protocol of OpenAI, or the user's own
# function. Each has a name that is kept with what it made, since vectors of two models can't be compared.
# Nothing is ever downloaded.

Floats = NDArray[np.float32]
_Number = TypeVar("_Number", int, float)
Item = TypeVar("Item")

_BATCH = 64


class Embedder(Protocol):
    """Something that turns texts into vectors."""

    @property
    def name(self) -> str:
        """Which vectors these are: equal names promise comparable vectors."""

    @property
    def dimensions(self) -> int:
        """How many numbers a vector has."""

    def embed(self, texts: Sequence[str]) -> Floats:
        """One row for each text."""


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


class EndpointEmbedder:
    """A server's `/embeddings`, as OpenAI, Ollama, vLLM, llama.cpp and others offer it.

    `base_url` ends in `/v1` as a rule. A key is read from the environment at each call, sent to that server
    only, and never shown. One request for each batch, no second try, no redirects. Without `dimensions`, the server is
    asked for one vector to learn them.
    """

    runtime = "endpoint"  # nobody can see from here what runs behind it

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
        self._endpoint = Endpoint(
            base_url,
            "/embeddings",
            key_variable=key_variable,
            timeout_seconds=positive(timeout_seconds, "timeout_seconds"),
        )
        self._model = model
        self._told = None if dimensions is None else positive(dimensions, "dimensions")
        self._batch = positive(batch, "batch")

    def __repr__(self) -> str:
        return f"EndpointEmbedder({self._endpoint.base!r}, {self._model!r}, dimensions={self._told})"

    @cached_property
    def dimensions(self) -> int:
        """As many as were told, or else as the server gives for a word."""
        return self._told or len(self._rows(["word"])[0])

    @property
    def name(self) -> str:
        """The server and its model."""
        return f"{self._endpoint.base}#{self._model}:{self.dimensions}"

    def embed(self, texts: Sequence[str]) -> Floats:
        """One row for each text, in order."""
        found = [np.zeros((0, self.dimensions), np.float32)]
        for batch in _batches(texts, self._batch):
            rows = self._rows(batch)
            try:
                found.append(checked_rows(rows, len(batch), self.dimensions, who=self.name))
            except InputError as error:
                raise EndpointError(f"{error}; look at the server's model") from error
        return np.concatenate(found)

    def _rows(self, texts: Sequence[str]) -> Floats:
        """What the server answers, one row for each text."""
        base = self._endpoint.base
        answer = self._endpoint.post({"model": self._model, "input": list(texts)})
        try:
            entries = sorted(answer["data"], key=lambda entry: int(entry["index"]))
            places = [entry["index"] for entry in entries]
            rows = np.array([entry["embedding"] for entry in entries], np.float32)
        except (ValueError, KeyError, TypeError) as error:
            raise EndpointError(f"{base} answered with something else than embeddings") from error
        if places != list(range(len(texts))):
            raise EndpointError(f"{base} answered {len(places)} embeddings to {len(texts)} texts")
        if rows.ndim != 2:
            raise EndpointError(f"{base} answered with something else than embeddings")
        return rows


class _Wrapped:
    def __init__(self, name: str, function: Callable[[Sequence[str]], ArrayLike], dimensions: int) -> None:
        self.name, self.dimensions, self._function = name, dimensions, function

    def __repr__(self) -> str:
        return f"wrap({self.name!r}, dimensions={self.dimensions})"

    def embed(self, texts: Sequence[str]) -> Floats:
        rows = (
            np.asarray(self._function(list(texts)), np.float32) if texts else np.zeros((0, self.dimensions), np.float32)
        )
        return checked_rows(rows, len(texts), self.dimensions, who=self.name)


def wrap(name: str, function: Callable[[Sequence[str]], ArrayLike], *, dimensions: int) -> Embedder:
    """Your own function from texts to rows of numbers as an Embedder; the name is kept with what it makes.

    >>> lengths = wrap("lengths", lambda texts: [[len(text), 1] for text in texts], dimensions=2)
    >>> lengths.embed(["one", "three"]).tolist()
    [[3.0, 1.0], [5.0, 1.0]]
    """
    if not name:
        raise InputError("an embedder needs a name that tells its vectors from others")
    return _Wrapped(name, function, positive(dimensions, "dimensions"))


def checked_rows(rows: Floats, count: int, dimensions: int, *, who: str) -> Floats:
    """The rows, where they are as many and as long as they should be, and numbers."""
    if rows.shape != (count, dimensions):
        raise InputError(f"{who} gave vectors of the shape {rows.shape}, not {(count, dimensions)}")
    if not np.isfinite(rows).all():
        raise ScoreError(f"{who} gave NaN or infinity")
    return rows


def positive(value: _Number, what: str) -> _Number:
    """The value, where it is above zero."""
    if value <= 0:
        raise SettingError(f"{what} is {value!r}; it must be above zero")
    return value


def _batches(texts: Sequence[Item], size: int) -> Iterator[Sequence[Item]]:
    return (texts[first : first + size] for first in range(0, len(texts), size))


def library(package: str) -> Any:
    """A package of the user's, imported when it is first needed."""
    try:
        return importlib.import_module(package)
    except ImportError as error:
        raise MissingPartError(f"{package} is not installed; {install(package=package.replace('_', '-'))}") from error


def version_of(distribution: str) -> str:
    """The version of an installed package."""
    from importlib import metadata  # reads mail headers: slow to import

    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return "of unknown version"


def opened(package: str, kind: str, model: str, **settings: object) -> Any:
    """A model of a library, from this machine alone."""
    made = getattr(library(package), kind)
    try:
        return made(model, **settings)
    except Exception as error:  # a library's errors are its own
        why = f"{package} can't open {model!r} from this machine ({type(error).__name__})"
        raise MissingPartError(f"{why}; bring it here once, or name its folder") from error
