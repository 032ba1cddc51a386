"""Which embedder or reranker does a name mean?

    granite                       granite-embedding-30m-english, the model of the `neural` extra
    a folder                      a BERT model as sentence-transformers saves it
    sentence-transformers:NAME    a model that the user has, by the library of that name; fastembed:NAME works alike
    model2vec:FOLDER              a model of that library
    openai:MODEL@BASE_URL         a server's /embeddings, Ollama's included; without a URL, OpenAI itself
    none                          no model
    default                       granite where it is installed, else none

A named embedder is opened at once, so that an error comes before anything is written.
"""

from __future__ import annotations

import os
from pathlib import Path

from brimful.errors import ChoiceError, InputError, MissingPartError, SettingError, suggest
from brimful.neural import bert
from brimful.neural.bert import BertEmbedder
from brimful.neural.embedders import Embedder, EndpointEmbedder, EndpointReranker, Reranker
from brimful.neural.libraries import CrossEncoderReranker, LibraryEmbedder

_OPENAI_URL = "https://api.openai.com/v1"
_NAMES = ("default", "none", "granite")
_LIBRARIES = ("sentence-transformers", "fastembed", "model2vec", "openai")
_RERANKERS = ("none", "cross-encoder", "rerank")
_FORMS = f"choices: {', '.join(_NAMES)}, a folder, {', '.join(f'{library}:NAME' for library in _LIBRARIES)}"


def embedder_named(name: str) -> Embedder | None:
    """The embedder of a name, ready to be asked; None for "none".

    >>> embedder_named("none") is None
    True
    >>> embedder_named("granit")
    Traceback (most recent call last):
    brimful.errors.ChoiceError: unknown embedder 'granit'; did you mean 'granite'? choices: ...
    """
    if name == "none" or (name == "default" and not bert.is_installed()):
        return None
    library, _, model = name.partition(":")
    folder = Path(name).expanduser()
    embedder: Embedder
    if name in _NAMES:
        embedder = BertEmbedder()
    elif library in _LIBRARIES:
        if not model:
            raise SettingError(f"{name!r} names no model; write {library}:NAME")
        if library == "openai":
            model, url = _split(model)
            embedder = EndpointEmbedder(url, model, key_variable=_key_variable(url))
        else:
            embedder = LibraryEmbedder(library, model)
    elif os.sep in name and not folder.is_dir():
        raise MissingPartError(
            f"{name} is not a folder; give one with model.safetensors, config.json and tokenizer.json"
        )
    else:
        check_embedder(name)
        embedder = BertEmbedder(folder)
    if not (embedder.dimensions > 0 and embedder.name):  # opened here, or an error says why not
        raise InputError(f"{name!r} gives vectors without numbers; name another embedder")
    return embedder


def check_embedder(name: str) -> None:
    """Raise a ChoiceError where a name can't mean an embedder; nothing is opened for it.

    >>> check_embedder("granite"), check_embedder("auto"), check_embedder("openai:small@http://localhost:1/v1")
    (None, None, None)
    >>> check_embedder("granit")
    Traceback (most recent call last):
    brimful.errors.ChoiceError: unknown embedder 'granit'; did you mean 'granite'? choices: ...
    """
    library, _, model = name.partition(":")
    is_folder = bool(name) and Path(name).expanduser().is_dir()
    if not (name in (*_NAMES, "auto") or (library in _LIBRARIES and model) or is_folder):
        raise ChoiceError(f"unknown embedder {name!r}; {suggest(name, _NAMES + _LIBRARIES)}{_FORMS}")


def chosen_embedder(name: str = "auto") -> Embedder | None:
    """The embedder of a name; "auto" means BRIMFUL_EMBEDDER, else granite where it is installed."""
    return embedder_named((os.environ.get("BRIMFUL_EMBEDDER") or "default") if name == "auto" else name)


def reranker_named(name: str) -> Reranker | None:
    """The reranker of a name: `none`, `cross-encoder:NAME`, or `rerank:MODEL@BASE_URL`.

    >>> reranker_named("none") is None
    True
    """
    check_reranker(name)
    kind, _, model = name.partition(":")
    if kind == "cross-encoder":
        return CrossEncoderReranker(model)
    if kind == "rerank":
        model, url = _split(model)
        return EndpointReranker(url, model, key_variable=_key_variable(url))
    return None


def check_reranker(name: str) -> None:
    """Raise a ChoiceError where a name can't mean a reranker; nothing is opened for it.

    >>> check_reranker("none"), check_reranker("cross-encoder:small"), check_reranker("rerank:small@http://localhost:1")
    (None, None, None)
    """
    kind, _, model = name.partition(":")
    if not (name == "none" or (kind == "cross-encoder" and model) or (kind == "rerank" and "@" in model)):
        choices = "choices: none, cross-encoder:NAME, rerank:MODEL@BASE_URL"
        raise ChoiceError(f"unknown reranker {name!r}; {suggest(kind, _RERANKERS)}{choices}")


def _split(place: str) -> tuple[str, str]:
    """The model and the base URL; a model's own name may hold an @ before the last one."""
    model, separator, url = place.rpartition("@")
    return (model, url) if separator and "://" in url else (place, _OPENAI_URL)


def _key_variable(url: str) -> str:
    """OpenAI's key goes to OpenAI alone."""
    return "OPENAI_API_KEY" if url.rstrip("/") == _OPENAI_URL else "BRIMFUL_API_KEY"
