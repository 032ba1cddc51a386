"""Who answers? The engine, or whatever function the command line names."""

import importlib
import tempfile
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import brimful
from brimful.corpus.documents import Document
from brimful.evaluation.run import Answerer, Cited
from brimful.evaluation.sets import Scope

Maker = Callable[[Sequence[Document], Iterable[Scope]], Answerer]


def engine_answerer(documents: Sequence[Document], scopes: Iterable[Scope], folder: Path) -> Answerer:
    """The one place where the engine is plugged in: a store for each scope, filled before the first question.

    It uses `brimful.open(store)`, `.add_documents(documents)` and `.context(question, budget=…).windows`, whose windows
    have path, start, end and score; they are cited the best first.
    """
    if not hasattr(brimful, "open"):
        raise SystemExit("this version has no engine (brimful.open) to ask; name another answerer with --answerer")
    engines: dict[Scope, Any] = {}
    for number, scope in enumerate(dict.fromkeys(scopes)):
        engine = brimful.open(folder / f"scope-{number}.db")
        engine.add_documents(document for document in documents if scope is None or document.path in scope)
        engines[scope] = engine

    def answer(question: str, budget: int, scope: Scope) -> list[Cited]:
        windows = engines[scope].context(question, budget=budget, model="cl100k_base").windows
        ranked = sorted(windows, key=lambda window: (-window.score, window.path, window.start, window.end))
        return [Cited(window.path, window.start, window.end) for window in ranked]

    return answer


def maker_of(name: str) -> Maker:
    """`engine`, or `module:function` with a function from documents to an answerer."""
    if name == "engine":
        folder = tempfile.TemporaryDirectory(prefix="brimful-eval-")
        count = iter(range(10**9))

        def make(documents: Sequence[Document], scopes: Iterable[Scope]) -> Answerer:
            place = Path(folder.name) / str(next(count))
            place.mkdir()
            return engine_answerer(documents, scopes, place)

        return make
    module, _, function = name.partition(":")
    made = getattr(importlib.import_module(module), function)
    return lambda documents, _scopes: made(documents)
