"""LangChain: a retriever whose documents fill a budget, and a compressor that fits any documents into one.

The budget covers the contents of the documents joined by empty lines, as LangChain's chains join them. What a
prompt adds (instructions, metadata, the question) is not in it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from brimful.budget import Budget
from brimful.documents.documents import Document
from brimful.documents.skips import Reason
from brimful.engine import Engine
from brimful.errors import DocumentError, MissingPartError, install
from brimful.settings import DEFAULT_MODEL, FormatName
from brimful.surfaces.adapters.answers import Brought, Fitting, Retrieval, check_engine

try:
    from langchain_core.callbacks import (
        AsyncCallbackManagerForRetrieverRun,
        CallbackManagerForRetrieverRun,
        Callbacks,
    )
    from langchain_core.documents import BaseDocumentCompressor, BaseDocumentTransformer
    from langchain_core.documents import Document as LangChainDocument
    from langchain_core.retrievers import BaseRetriever
    from pydantic import ConfigDict, Field, PrivateAttr, SkipValidation
except ImportError as error:
    raise MissingPartError(f"LangChain is not installed; {install('langchain')}") from error


class BrimfulRetriever(BaseRetriever):
    """The windows of a context as documents, in reading order, with citations in their metadata.

    `format="windows"` gives one document a window, whose content is its source's bytes; `plain`, `markdown`, `xml` and
    `json` give one document that holds the whole context with its headers. `choices` are further fields of
    `AskSettings`, and `field`. `budget` can be set for one call: `retriever.invoke(question, budget=500)`.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid")

    engine: SkipValidation[Engine] = Field(repr=False)
    budget: SkipValidation[Budget | int] = 4_000
    model: SkipValidation[str] = DEFAULT_MODEL
    format: SkipValidation[FormatName] = "windows"
    choices: SkipValidation[Mapping[str, object]] = Field(default_factory=dict)
    _retrieval: Retrieval = PrivateAttr()

    def model_post_init(self, context: Any, /) -> None:
        """Check the fields, with Brimful's messages."""
        super().model_post_init(context)
        check_engine(self.engine)
        self._retrieval = Retrieval(self.budget, self.model, self.format, self.choices)

    def _get_relevant_documents(
        self,
        query: str,
        *,
        run_manager: CallbackManagerForRetrieverRun,  # noqa: ARG002  (LangChain reports begin and end itself)
        budget: Budget | int | None = None,
    ) -> list[LangChainDocument]:
        answers = self._retrieval.answers(self.engine, query, budget=budget)
        return [LangChainDocument(id=item.id, page_content=item.text, metadata=item.metadata) for item in answers]

    async def _aget_relevant_documents(
        self,
        query: str,
        *,
        run_manager: AsyncCallbackManagerForRetrieverRun,
        budget: Budget | int | None = None,
    ) -> list[LangChainDocument]:
        return await asyncio.to_thread(
            self._get_relevant_documents, query, run_manager=run_manager.get_sync(), budget=budget
        )


class BrimfulCompressor(BaseDocumentCompressor, BaseDocumentTransformer):
    """Fits the documents of any retriever into a budget, best first; the last that gets in is cut to fill it.

    Metadata is kept; `metadata["brimful"]` says which bytes are shown. With `sources` (whole texts by what the
    documents' `metadata[source_key]` says) windows are grown around what was found.
    """

    model_config = ConfigDict(extra="forbid")

    budget: SkipValidation[Budget | int] = 4_000
    model: SkipValidation[str] = DEFAULT_MODEL
    dedup_threshold: SkipValidation[float | None] = None
    sources: SkipValidation[Mapping[str, str] | None] = Field(default=None, repr=False)
    source_key: SkipValidation[str] = "source"
    _fitting: Fitting = PrivateAttr()

    def model_post_init(self, context: Any, /) -> None:
        """Check the fields, with Brimful's messages."""
        super().model_post_init(context)
        self._fitting = Fitting(self.budget, self.model, self.dedup_threshold, self.sources)

    def compress_documents(
        self,
        documents: Sequence[LangChainDocument],
        query: str,  # noqa: ARG002  (the ranking is the order in which they come)
        callbacks: Callbacks | None = None,  # noqa: ARG002
    ) -> Sequence[LangChainDocument]:
        """The documents that fit."""
        return self.transform_documents(documents)

    def transform_documents(
        self,
        documents: Sequence[LangChainDocument],
        **kwargs: Any,  # noqa: ARG002
    ) -> Sequence[LangChainDocument]:
        """The documents that fit."""
        brought = [Brought(item.page_content, item.metadata.get(self.source_key)) for item in documents]
        return [
            LangChainDocument(
                page_content=passage.text,
                metadata={**documents[passage.numbers[0]].metadata, "brimful": passage.record},
                id=documents[passage.numbers[0]].id,
            )
            for passage in self._fitting.fit(brought)
        ]


def add_documents(
    engine: Engine,
    documents: Iterable[LangChainDocument],
    *,
    source_key: str = "source",
    allow: Iterable[Reason] = (),
) -> int:
    """Store documents of LangChain's loaders under `metadata[source_key]`, further ones of a source as `source#2`, ….

    A document that holds a credential refuses all of them, unless `allow=("secret",)`.
    """
    counts: dict[str, int] = {}
    stored = []
    for number, document in enumerate(documents):
        source = document.metadata.get(source_key) or document.id
        if not isinstance(source, str):
            raise DocumentError(f"document {number} has no name: metadata[{source_key!r}] is {source!r}")
        counts[source] = counts.get(source, 0) + 1
        path = source if counts[source] == 1 else f"{source}#{counts[source]}"
        stored.append(Document(path, document.page_content))
    return engine.add_documents(stored, allow=allow)
