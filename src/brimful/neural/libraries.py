"""Models of sentence-transformers, fastembed and model2vec that are on this machine; nothing is downloaded.

Texts are read one by one: a batch is padded to its longest text, and that would show in the last bits.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from functools import cached_property
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from brimful.errors import BrimfulError, EndpointError, InputError, MissingPartError, install
from brimful.neural.embedders import Floats, checked_rows, thousandths


class LibraryEmbedder:
    """An embedding model of one of the libraries."""

    def __init__(self, library: str, model: str) -> None:
        self._library, self._model = library, model
        self.name = f"{library}:{model}"

    def __repr__(self) -> str:
        return f"LibraryEmbedder({self._library!r}, {self._model!r})"

    @cached_property
    def runtime(self) -> str:
        """The library and its version."""
        return _version_of(self._library)

    @cached_property
    def dimensions(self) -> int:
        """How many numbers the model gives for a word."""
        return len(self._row("word"))

    def embed(self, texts: Sequence[str]) -> Floats:
        """One row for each text."""
        rows = [np.zeros((0, self.dimensions), np.float32)]
        for text in texts:
            try:
                rows.append(checked_rows(self._row(text)[None], 1, self.dimensions, source=self.name))
            except InputError as error:
                raise EndpointError(f"{error}; look at the model") from error
        return np.concatenate(rows)

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
    def _encode(self) -> Callable[[str], ArrayLike]:
        if self._library == "sentence-transformers":
            sentences = _opened("sentence_transformers", "SentenceTransformer", self._model, **_ON_THIS_MACHINE)
            return lambda text: sentences.encode([text], batch_size=1, convert_to_numpy=True, show_progress_bar=False)[
                0
            ]
        if self._library == "fastembed":
            fast = _opened("fastembed", "TextEmbedding", self._model, threads=1, local_files_only=True)
            return lambda text: next(iter(fast.embed([text], batch_size=1)))
        if not Path(self._model).is_dir():
            raise MissingPartError(f"{self._model} is not a folder; give the folder of a model2vec model")
        static = _opened("model2vec", "StaticModel.from_pretrained", self._model)
        return lambda text: static.encode([text])[0]


class CrossEncoderReranker:
    """A cross-encoder of sentence-transformers; pairs of question and text are read one by one."""

    def __init__(self, model: str) -> None:
        self._model = model
        self.name = f"cross-encoder:{model}"

    def __repr__(self) -> str:
        return f"CrossEncoderReranker({self._model!r})"

    @cached_property
    def runtime(self) -> str:
        """The library and its version."""
        return _version_of("sentence-transformers")

    def scores(self, question: str, texts: Sequence[str]) -> list[int]:
        """The model's scores in thousandths."""
        if not texts:
            return []
        pairs = [(question, text) for text in texts]
        try:
            scores = [float(score) for score in self._encoder.predict(pairs, batch_size=1, show_progress_bar=False)]
        except BrimfulError:
            raise
        except Exception as error:  # a library's errors are its own
            raise EndpointError(f"{self.name} could not score: {type(error).__name__}: {error}") from error
        return thousandths(scores, len(texts), source=self.name)

    @cached_property
    def _encoder(self) -> Any:
        return _opened("sentence_transformers", "CrossEncoder", self._model, **_ON_THIS_MACHINE)


_ON_THIS_MACHINE = {"device": "cpu", "local_files_only": True}


def _opened(package: str, maker: str, model: str, **settings: object) -> Any:
    """Open a model of a library from this machine alone."""
    try:
        make: Any = importlib.import_module(package)
    except ImportError as error:
        raise MissingPartError(f"{package} is not installed; {install(package=package.replace('_', '-'))}") from error
    for name in maker.split("."):
        make = getattr(make, name)
    try:
        return make(model, **settings)
    except Exception as error:  # a library's errors are its own
        why = f"{package} can't open {model!r} from this machine ({type(error).__name__})"
        raise MissingPartError(f"{why}; bring it here once, or name its folder") from error


def _version_of(distribution: str) -> str:
    try:
        return f"{distribution} {metadata.version(distribution)}"
    except metadata.PackageNotFoundError:
        return f"{distribution} of unknown version"
