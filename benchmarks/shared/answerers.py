"""Who answers? The engine, or whatever function the command line names."""

import importlib
import os
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np

import brimful
from brimful.assembly.context import Context
from brimful.documents.documents import Document
from brimful.evaluation import Answerer, Place
from brimful.neural.named import embedder_named
from shared.sets import Scope, SharedQuestion

MOST_DOCUMENTS = 10
_BATCH = 32  # texts that are embedded together


class Maker(Protocol):
    """Turns documents into something that answers."""

    def __call__(self, documents: Sequence[Document], scopes: Iterable[Scope], *, whole: bool) -> Answerer:
        """`whole` asks for documents in order instead of windows."""
        ...


def engine_answerer(
    documents: Sequence[Document], scopes: Iterable[Scope], folder: Path, *, whole: bool = False, warm: bool = False
) -> Answerer:
    """The one place where the engine is plugged in: a store for each scope, filled before the first question.

    It uses `brimful.open(store)`, `.add_documents(documents)` and `.context(question, budget=…).windows`, whose windows
    have path, start, end and score; they are cited the best first. `warm` reads all of it with the model that is set.
    """
    engines: dict[Scope, Any] = {}
    for number, scope in enumerate(dict.fromkeys(scopes)):
        engine = brimful.open(folder / f"scope-{number}.db")
        engine.add_documents(document for document in documents if scope is None or document.path in scope)
        if warm:
            engine.warm()
        engines[scope] = engine

    def rank(question: SharedQuestion, _budget: int) -> list[Place]:
        found = engines[question.scope].search(question.text, limit=MOST_DOCUMENTS).documents
        return [Place(path, 0, 1) for path, _ in found]

    def answer(question: SharedQuestion, budget: int) -> list[Place]:
        return cited(engines[question.scope].context(question.text, budget=budget, model="cl100k_base"))

    return rank if whole else answer


def cited(context: Context) -> list[Place]:
    """The places of a context's windows, the best first."""
    ranked = sorted(context.windows, key=lambda window: (-window.score, window.path, window.start, window.end))
    return [Place(window.path, window.start, window.end) for window in ranked]


def by_model(documents: Sequence[Document]) -> Answerer:
    """Whole documents in the order of a model alone: that of BRIMFUL_EMBEDDER, what it reads of a text's beginning."""
    embedder = embedder_named(os.environ["BRIMFUL_EMBEDDER"])
    assert embedder is not None
    texts = [document.content.decode("utf-8", "replace") for document in documents]
    vectors = np.concatenate([embedder.embed(texts[at : at + _BATCH]) for at in range(0, len(texts), _BATCH)])

    def answer(question: SharedQuestion, _budget: int) -> list[Place]:
        likeness = vectors @ embedder.embed([question.text])[0]
        best = np.lexsort((np.arange(len(likeness)), -likeness))[:MOST_DOCUMENTS]
        return [Place(documents[at].path, 0, 1) for at in best.tolist()]

    return answer


def maker_of(name: str, *, warm: bool = False) -> Maker:
    """`engine`, or `module:function` with a function from documents to an answerer."""
    if name == "engine":
        folder = tempfile.TemporaryDirectory(prefix="brimful-eval-")
        count = iter(range(10**9))

        def make(documents: Sequence[Document], scopes: Iterable[Scope], *, whole: bool) -> Answerer:
            place = Path(folder.name) / str(next(count))
            place.mkdir()
            return engine_answerer(documents, scopes, place, whole=whole, warm=warm)

        return make
    module, _, function = name.partition(":")
    made = getattr(importlib.import_module(module), function)

    def named(documents: Sequence[Document], _scopes: Iterable[Scope], *, whole: bool) -> Answerer:
        del whole
        answer: Answerer = made(documents)
        return answer

    return named
