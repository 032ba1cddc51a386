"""Haystack: a retriever whose documents fill a budget, and a packer that fits any documents into one.

The budget covers the contents of the documents joined by empty lines. What a prompt template adds is not in it.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any

from brimful.budget import Budget
from brimful.engine import Engine
from brimful.errors import MissingPartError, install
from brimful.settings import DEFAULT_MODEL, FormatName
from brimful.store.opening import place_of
from brimful.surfaces.adapters.answers import Brought, Fitting, Retrieval

try:
    from haystack import Document, component, default_from_dict, default_to_dict
except ImportError as error:
    raise MissingPartError(f"Haystack is not installed; {install('haystack')}") from error


@component
class BrimfulRetriever:
    """The windows of a context as documents, in reading order, with citations in their meta.

    `store` is a path, opened when first needed, or an open engine, of which the path is saved. `format="windows"` gives
    one document a window, whose content is its source's bytes; `plain`, `markdown`, `xml` and `json` give one document
    that holds the whole context with its headers. `choices` are further fields of `AskSettings`, and `field`.
    """

    def __init__(
        self,
        store: Engine | str | os.PathLike[str],
        *,
        budget: Budget | int = 4_000,
        model: str = DEFAULT_MODEL,
        format: FormatName = "windows",  # noqa: A002
        choices: dict[str, Any] | None = None,
    ) -> None:
        self._retrieval = Retrieval(budget, model, format, choices or {})
        self.store = store
        self._engine = store if isinstance(store, Engine) else None
        self._opening = threading.Lock()

    def warm_up(self) -> None:
        """Open the store, once."""
        self._opened()

    def close(self) -> None:
        """Close a store that this component opened."""
        with self._opening:
            if self._engine is not None and not isinstance(self.store, Engine):
                self._engine.close()
                self._engine = None

    @component.output_types(documents=list[Document])
    def run(self, query: str, budget: int | None = None) -> dict[str, list[Document]]:
        """The passages for a question; `budget` is for this question alone."""
        answers = self._retrieval.answers(self._opened(), query, budget=budget)
        documents = [Document(id=item.id, content=item.text, meta=item.metadata, score=item.score) for item in answers]
        return {"documents": documents}

    @component.output_types(documents=list[Document])
    async def run_async(self, query: str, budget: int | None = None) -> dict[str, list[Document]]:
        """`run` in a thread, for an event loop."""
        return await asyncio.to_thread(self.run, query, budget)

    def to_dict(self) -> dict[str, Any]:
        """The component in a saved pipeline: the store's path, not its contents."""
        store = self.store.path if isinstance(self.store, Engine) else place_of(self.store)
        chosen = self._retrieval
        return default_to_dict(
            self,
            store=str(store),
            budget=_plain(chosen.budget),
            model=chosen.model,
            format=chosen.format,
            choices=dict(chosen.choices) or None,
        )

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> BrimfulRetriever:
        """From a saved pipeline."""
        return default_from_dict(cls, _with_budget(data))

    def _opened(self) -> Engine:
        with self._opening:
            if self._engine is None:
                assert not isinstance(self.store, Engine)
                self._engine = Engine(self.store)
            return self._engine


@component
class BrimfulPacker:
    """Fits the documents of any retriever into a budget, best first; the last that gets in is cut to fill it.

    Id, score and meta are kept; `meta["brimful"]` says which bytes of the content are shown. With `sources` (whole
    texts by what the documents' `meta[source_key]` says) windows are grown around what was found.
    """

    def __init__(
        self,
        *,
        budget: Budget | int = 4_000,
        model: str = DEFAULT_MODEL,
        dedup_threshold: float | None = None,
        sources: Mapping[str, str] | None = None,
        source_key: str = "source_id",
    ) -> None:
        self.source_key = source_key
        self._fitting = Fitting(budget, model, dedup_threshold, sources)

    @component.output_types(documents=list[Document])
    def run(self, documents: list[Document], budget: int | None = None) -> dict[str, list[Document]]:
        """The documents that fit; `budget` is for these documents alone."""
        fitting = self._fitting if budget is None else replace(self._fitting, budget=budget)
        brought = [Brought(item.content, item.meta.get(self.source_key)) for item in documents]  # type: ignore[arg-type]
        fitted = [
            replace(
                documents[item.numbers[0]],
                content=item.text,
                meta={**documents[item.numbers[0]].meta, "brimful": item.record},
            )
            for item in fitting.fit(brought)
        ]
        return {"documents": fitted}

    @component.output_types(documents=list[Document])
    async def run_async(self, documents: list[Document], budget: int | None = None) -> dict[str, list[Document]]:
        """`run` in a thread, for an event loop."""
        return await asyncio.to_thread(self.run, documents, budget)

    def to_dict(self) -> dict[str, Any]:
        """The component in a saved pipeline."""
        fitting = self._fitting
        return default_to_dict(
            self,
            budget=_plain(fitting.budget),
            model=fitting.model,
            dedup_threshold=fitting.dedup_threshold,
            sources=None if fitting.sources is None else dict(fitting.sources),
            source_key=self.source_key,
        )

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> BrimfulPacker:
        """From a saved pipeline."""
        return default_from_dict(cls, _with_budget(data))


def _plain(budget: Budget | int) -> dict[str, int] | int:
    return asdict(budget) if isinstance(budget, Budget) else budget


def _with_budget(data: Mapping[str, Any]) -> dict[str, Any]:
    """Saved values, with a budget's parts as a Budget."""
    chosen = dict(data.get("init_parameters", {}))
    if isinstance(chosen.get("budget"), dict):
        chosen["budget"] = Budget(**chosen["budget"])
    return {**data, "init_parameters": chosen}
