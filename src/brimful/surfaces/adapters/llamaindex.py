"""LlamaIndex: a retriever whose nodes fill a budget, and a postprocessor that fits any nodes into one.

The budget covers the nodes as a model is shown them, `get_content(MetadataMode.LLM)`, joined by empty lines, as
LlamaIndex's synthesizers join them. What a prompt template and the question add is not in it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from brimful.budget import Budget
from brimful.engine import Engine
from brimful.errors import MissingPartError, install
from brimful.settings import DEFAULT_MODEL, FormatName
from brimful.surfaces.adapters.answers import Answer, Brought, Fitting, Kept, Retrieval, check_engine

try:
    from llama_index.core.callbacks import CallbackManager
    from llama_index.core.postprocessor.types import BaseNodePostprocessor
    from llama_index.core.retrievers import BaseRetriever
    from llama_index.core.schema import (
        BaseNode,
        MetadataMode,
        NodeRelationship,
        NodeWithScore,
        ObjectType,
        QueryBundle,
        RelatedNodeInfo,
        TextNode,
    )
    from pydantic import Field, PrivateAttr, SkipValidation
except ImportError as error:
    raise MissingPartError(f"LlamaIndex is not installed; {install('llamaindex')}") from error


class BrimfulRetriever(BaseRetriever):
    """The windows of a context as nodes, in reading order, with citations in their metadata, which no model is shown.

    `format="windows"` gives one node a window, whose text is its source's bytes; `plain`, `markdown`, `xml` and `json`
    give one node that holds the whole context with its headers. `choices` are further fields of `AskSettings`, and
    `field`.
    """

    def __init__(
        self,
        engine: Engine,
        *,
        budget: Budget | int = 4_000,
        model: str = DEFAULT_MODEL,
        format: FormatName = "windows",  # noqa: A002
        choices: Mapping[str, object] | None = None,
        callback_manager: CallbackManager | None = None,
        verbose: bool = False,
    ) -> None:
        self.engine = check_engine(engine)
        self._retrieval = Retrieval(budget, model, format, dict(choices or {}))
        super().__init__(callback_manager=callback_manager, verbose=verbose)

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        answers = self._retrieval.answers(self.engine, query_bundle.query_str)
        return [NodeWithScore(node=_node(answer), score=answer.score) for answer in answers]

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return await asyncio.to_thread(self._retrieve, query_bundle)


class BrimfulPostprocessor(BaseNodePostprocessor):
    """Fits the nodes of any retriever into a budget, best first; the last that gets in is cut to fill it.

    Metadata that a node shows to the model is counted with it; where only that would fit, the node is left out.
    `metadata["brimful"]` says which bytes of both are shown. With `sources` (whole texts by the id of the nodes'
    source) windows are grown around what was found, and no metadata is shown.
    """

    budget: SkipValidation[Budget | int] = 4_000
    model: SkipValidation[str] = DEFAULT_MODEL
    dedup_threshold: SkipValidation[float | None] = None
    sources: SkipValidation[Mapping[str, str] | None] = Field(default=None, repr=False)
    _fitting: Fitting = PrivateAttr()

    def model_post_init(self, context: Any, /) -> None:
        """Check the fields, with Brimful's messages."""
        super().model_post_init(context)
        self._fitting = Fitting(self.budget, self.model, self.dedup_threshold, self.sources)

    @classmethod
    def class_name(cls) -> str:
        """The name by which LlamaIndex saves it."""
        return "BrimfulPostprocessor"

    def _postprocess_nodes(
        self,
        nodes: list[NodeWithScore],
        query_bundle: QueryBundle | None = None,  # noqa: ARG002  (the ranking is the order in which they come)
    ) -> list[NodeWithScore]:
        mode = MetadataMode.LLM if self.sources is None else MetadataMode.NONE
        brought = [Brought(node.node.get_content(mode), _source_of(node.node)) for node in nodes]
        fitted = [_cut_node(nodes, brought, passage) for passage in self._fitting.fit(brought)]
        return [node for node in fitted if node is not None]


def _node(answer: Answer) -> TextNode:
    node = TextNode(id_=answer.id, text=answer.text, metadata=answer.metadata)
    node.excluded_llm_metadata_keys = node.excluded_embed_metadata_keys = list(answer.metadata)
    if "path" in answer.metadata:
        source = RelatedNodeInfo(node_id=answer.metadata["path"], node_type=ObjectType.DOCUMENT)
        node.relationships = {NodeRelationship.SOURCE: source}
    return node


def _source_of(node: BaseNode) -> str | None:
    return None if node.source_node is None else node.source_node.node_id


def _cut_node(nodes: Sequence[NodeWithScore], brought: Sequence[Brought], passage: Kept) -> NodeWithScore | None:
    """The best node of a window, cut to what the window shows; None if that is metadata alone."""
    number = passage.numbers[0]
    node = nodes[number].node.model_copy(deep=True)
    node.metadata["brimful"] = passage.record
    node.excluded_llm_metadata_keys = [*node.excluded_llm_metadata_keys, "brimful"]
    node.excluded_embed_metadata_keys = [*node.excluded_embed_metadata_keys, "brimful"]
    if passage.text != brought[number].text:
        body = node.get_content(MetadataMode.NONE).strip()
        head = brought[number].text.partition(body)[0] if body else brought[number].text
        if passage.text.strip() in head:
            return None
        node.set_content(passage.text.removeprefix(head))
    if node.get_content(MetadataMode.LLM) != passage.text:  # what is shown is what was counted, whatever the template
        node.set_content(passage.text)
        node.excluded_llm_metadata_keys = list(node.metadata)
    return NodeWithScore(node=node, score=nodes[number].score)
