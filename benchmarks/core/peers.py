"""What is the nearest thing to `inflate` in LlamaIndex, LangChain and Haystack?

Each peer has an index-time part (`build`), which splits the documents and stores the parts, and a query-time
part (`assemble`), which turns what a retriever returned into longer texts. Between them `retrieved` finds the
part that holds each hit, and `again` copies those that `assemble` changes; they stand for the retriever and are
never timed.
"""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from core.offline import o200k  # first: it switches the network off
from core.texts import Place, Text

NEIGHBOURS = 3
"""Parts on each side of a hit: both libraries' default."""
PARENT_CHARACTERS, CHILD_CHARACTERS = 2_000, 400
"""The sizes of LangChain's own example."""


class LlamaWindows:
    """SentenceWindowNodeParser when indexing, MetadataReplacementPostProcessor when asked."""

    name = "LlamaIndex MetadataReplacement"
    build_name = "LlamaIndex SentenceWindowNodeParser"
    does = "swaps a sentence for 7 sentences joined when indexing; no byte ranges, no merging, no budget"

    def __init__(self) -> None:
        from llama_index.core import set_global_tokenizer
        from llama_index.core.node_parser import SentenceWindowNodeParser
        from llama_index.core.postprocessor import MetadataReplacementPostProcessor

        set_global_tokenizer(o200k().encode_ordinary)
        self._parser = SentenceWindowNodeParser.from_defaults(window_size=NEIGHBOURS)
        self._parser.sentence_splitter("Load. This.")
        self._replace = MetadataReplacementPostProcessor(target_metadata_key="window")
        self.nodes: list[Any] = []

    def build(self, texts: Sequence[Text]) -> None:
        from llama_index.core import Document

        documents = [Document(text=text.string, doc_id=text.path, metadata={"file_path": text.path}) for text in texts]
        self.nodes = self._parser.get_nodes_from_documents(documents)

    def retrieved(self, places: Sequence[Place]) -> Any:
        return list(zip(holding(self.nodes, places, _sentence_start), places, strict=True))

    def again(self, found: Any) -> Any:
        from llama_index.core.schema import NodeWithScore

        return [NodeWithScore(node=node.model_copy(), score=place.score) for node, place in found]

    def assemble(self, nodes: Any) -> list[str]:
        return [node.node.text for node in self._replace.postprocess_nodes(nodes)]


def _sentence_start(node: Any) -> tuple[str, int]:
    return node.ref_doc_id, node.start_char_idx or 0


class LlamaNeighbours:
    """PrevNextNodePostprocessor over the same sentence nodes in a SimpleDocumentStore."""

    name = "LlamaIndex PrevNext"
    build_name = "LlamaIndex SimpleDocumentStore, on top of the parser"
    does = "fetches 3 sentences before and after from the store as separate nodes; each once, not joined"

    def __init__(self, windows: LlamaWindows) -> None:
        self._windows = windows

    def build(self, _: Sequence[Text]) -> None:
        from llama_index.core.postprocessor import PrevNextNodePostprocessor
        from llama_index.core.storage.docstore import SimpleDocumentStore

        store = SimpleDocumentStore()
        store.add_documents(self._windows.nodes)
        self._expand = PrevNextNodePostprocessor(docstore=store, num_nodes=NEIGHBOURS, mode="both")

    def retrieved(self, places: Sequence[Place]) -> Any:
        return self._windows.retrieved(places)

    def again(self, found: Any) -> Any:
        return self._windows.again(found)

    def assemble(self, nodes: Any) -> list[str]:
        return [node.node.text for node in self._expand.postprocess_nodes(nodes)]


class LangChainParents:
    """ParentDocumentRetriever, with a vector store that returns the children it is told to."""

    name = "LangChain ParentDocumentRetriever"
    build_name = "LangChain ParentDocumentRetriever.add_documents"
    does = "looks up the fixed 2,000-character part around each 400-character one; each parent once, no byte ranges"

    def build(self, texts: Sequence[Text]) -> None:
        from langchain_classic.retrievers import ParentDocumentRetriever
        from langchain_core.documents import Document
        from langchain_core.stores import InMemoryStore
        from langchain_text_splitters import RecursiveCharacterTextSplitter

        self._store = InMemoryStore()
        self._children = _told_store()
        self._retriever = ParentDocumentRetriever(
            vectorstore=self._children,
            docstore=self._store,
            parent_splitter=RecursiveCharacterTextSplitter(
                chunk_size=PARENT_CHARACTERS, chunk_overlap=0, add_start_index=True
            ),
            child_splitter=RecursiveCharacterTextSplitter(
                chunk_size=CHILD_CHARACTERS, chunk_overlap=0, add_start_index=True
            ),
        )
        self._retriever.add_documents(
            [Document(page_content=text.string, metadata={"source": text.path}) for text in texts]
        )

    def retrieved(self, places: Sequence[Place]) -> Any:
        keys = list(self._store.yield_keys())
        starts = {key: parent.metadata["start_index"] for key, parent in zip(keys, self._store.mget(keys), strict=True)}

        def where(child: Any) -> tuple[str, int]:
            return child.metadata["source"], starts[child.metadata["doc_id"]] + child.metadata["start_index"]

        return holding(self._children.held, places, where)

    def again(self, found: Any) -> Any:
        return found

    def assemble(self, children: Any) -> list[str]:
        self._children.told = children
        return [parent.page_content for parent in self._retriever.invoke("")]


def _told_store() -> Any:
    from langchain_core.vectorstores import VectorStore

    class Told(VectorStore):
        """Keeps documents without embedding them, and finds whatever it was told to."""

        def __init__(self) -> None:
            self.held: list[Any] = []
            self.told: list[Any] = []

        def add_documents(self, documents: list[Any], **_: Any) -> list[str]:
            self.held.extend(documents)
            return []

        def similarity_search(self, _query: str, _k: int = 4, **_: Any) -> list[Any]:
            return self.told

        @classmethod
        def from_texts(cls, *_: Any, **__: Any) -> Any:
            raise NotImplementedError

    return Told()


class HaystackWindows:
    """DocumentSplitter and InMemoryDocumentStore when indexing, SentenceWindowRetriever when asked.

    Its own sentence splitter downloads a model; `period` needs none, and splits at every full stop.
    """

    name = "Haystack SentenceWindowRetriever"
    build_name = "Haystack DocumentSplitter and store"
    does = (
        "fetches 3 sentences on each side by filter and joins them without overlap inside a window; character offsets"
    )

    def build(self, texts: Sequence[Text]) -> None:
        from haystack import Document
        from haystack.components.preprocessors import DocumentSplitter

        splitter = DocumentSplitter(split_by="period", split_length=1)
        splitter.run([Document(content="Load. This.")])
        documents = [Document(content=text.string, meta={"file_path": text.path}) for text in texts]
        self._parts = splitter.run(documents)["documents"]
        self._store(self._parts)

    def _store(self, parts: Sequence[Any]) -> None:
        from haystack.components.retrievers import SentenceWindowRetriever
        from haystack.document_stores.in_memory import InMemoryDocumentStore
        from haystack.document_stores.types import DuplicatePolicy

        store = InMemoryDocumentStore()
        store.write_documents(list(parts), policy=DuplicatePolicy.SKIP)
        self._retriever = SentenceWindowRetriever(store, window_size=NEIGHBOURS)

    def retrieved(self, places: Sequence[Place]) -> Any:
        """In its favour, the store then holds only the documents that are hit: it reads all it has for every hit."""
        hit = {place.text.path for place in places}
        self._store([part for part in self._parts if part.meta["file_path"] in hit])
        return holding(self._parts, places, lambda part: (part.meta["file_path"], part.meta["split_idx_start"]))

    def again(self, found: Any) -> Any:
        return found

    def assemble(self, parts: Any) -> list[str]:
        windows: list[str] = self._retriever.run(parts)["context_windows"]
        return windows


def holding(parts: Sequence[Any], places: Sequence[Place], where: Any) -> list[Any]:
    """The part that holds each hit's first character; `where` gives a part's path and first character."""
    by_path: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for number, part in enumerate(parts):
        path, start = where(part)
        by_path[path].append((start, number))
    for starts in by_path.values():
        starts.sort()
    found = []
    for place in places:
        starts = by_path[place.text.path]
        at = bisect_right(starts, (place.text.characters(place.start), len(parts))) - 1
        found.append(parts[starts[max(at, 0)][1]])
    return found
