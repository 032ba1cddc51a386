"""Who answers? The engine, or whatever function the command line names."""

import importlib
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Protocol

import brimful
from brimful.corpus.documents import Document
from brimful.evaluation.measures import Cited
from brimful.evaluation.run import Answerer
from brimful.evaluation.sets import Scope

MOST_DOCUMENTS = 10


class Maker(Protocol):
    """Turns documents into something that answers."""

    def __call__(self, documents: Sequence[Document], scopes: Iterable[Scope], *, whole: bool) -> Answerer:
        """`whole` asks for documents in order instead of windows."""
        ...


def engine_answerer(
    documents: Sequence[Document], scopes: Iterable[Scope], folder: Path, *, whole: bool = False
) -> Answerer:
    """The one place where the engine is plugged in: a store for each scope, filled before the first question.

    It uses `brimful.open(store)`, `.add_documents(documents)` and `.context(question, budget=…).windows`, whose windows
    have path, start, end and score; they are cited the best first.
    """
    engines: dict[Scope, Any] = {}
    for number, scope in enumerate(dict.fromkeys(scopes)):
        engine = brimful.open(folder / f"scope-{number}.db")
        engine.add_documents(document for document in documents if scope is None or document.path in scope)
        engines[scope] = engine

    def rank(question: str, _budget: int, scope: Scope) -> list[Cited]:
        found = engines[scope].search(question, limit=MOST_DOCUMENTS).documents
        return [Cited(path, 0, 1) for path, _ in found]

    def answer(question: str, budget: int, scope: Scope) -> list[Cited]:
        windows = engines[scope].context(question, budget=budget, model="cl100k_base").windows
        ranked = sorted(windows, key=lambda window: (-window.score, window.path, window.start, window.end))
        return [Cited(window.path, window.start, window.end) for window in ranked]

    return rank if whole else answer


def maker_of(name: str) -> Maker:
    """`engine`, or `module:function` with a function from documents to an answerer."""
    if name == "engine":
        folder = tempfile.TemporaryDirectory(prefix="brimful-eval-")
        count = iter(range(10**9))

        def make(documents: Sequence[Document], scopes: Iterable[Scope], *, whole: bool) -> Answerer:
            place = Path(folder.name) / str(next(count))
            place.mkdir()
            return engine_answerer(documents, scopes, place, whole=whole)

        return make
    module, _, function = name.partition(":")
    made = getattr(importlib.import_module(module), function)

    def named(documents: Sequence[Document], _scopes: Iterable[Scope], *, whole: bool) -> Answerer:
        del whole
        answer: Answerer = made(documents)
        return answer

    return named
