"""Who answers a question with a context? Each contender builds from the same folder and answers within a budget.

The peers retrieve pieces, and a careful loop packs them: each with its header, counted with what it adds, until the
first that does not fit. Pieces are of at most 1,600 characters, ended at blank lines or lines where that can be.
"""

from collections.abc import Callable, Iterator, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Any, Protocol

from ingest.contenders import texts_in

PIECE = 1_600  # characters
DIMENSIONS = 128
STORE = "brimful.db"
_TOKENS_PER_PIECE = 250  # fewer than most pieces have: so many pieces are asked for


class Contender(Protocol):
    """Something that can be built once and asked often."""

    largest: float  # megabytes of the largest corpus that it is asked to hold

    def build(self, folder: Path, where: Path) -> None:
        """Take in a folder of texts."""
        ...

    def open(self, where: Path) -> Callable[[str, int], str]:
        """What answers a question within a budget."""
        ...


def pieces(folder: Path) -> Iterator[tuple[str, str]]:
    """Names and pieces of all texts."""
    for name, content in texts_in(folder):
        text, at = content.decode(), 0
        while at < len(text):
            end = min(at + PIECE, len(text))
            if end < len(text):
                cut = text.rfind("\n\n", at + PIECE // 2, end)
                cut = cut if cut >= 0 else text.rfind("\n", at + PIECE // 2, end)
                end = cut + 1 if cut >= 0 else end
            yield name, text[at:end]
            at = end


def packed(found: Sequence[tuple[str, str]], budget: int) -> str:
    """The pieces that fit, in the order in which they were found."""
    from core.offline import o200k

    encode = o200k().encode_ordinary
    parts: list[str] = []
    spent = 0
    for name, text in found:
        part = f"[DOC: {name}]\n{text}\n\n"
        cost = len(encode(part))
        if spent + cost > budget:
            break
        parts.append(part)
        spent += cost
    return "".join(parts)


def wanted(budget: int) -> int:
    """How many pieces are retrieved for a budget."""
    return max(budget // _TOKENS_PER_PIECE, 10)


class Brimful:
    """`engine.context`: exact budget, byte ranges, receipts, repaired spellings."""

    largest = 1e9

    def build(self, folder: Path, where: Path) -> None:
        import brimful

        with brimful.open(where / STORE) as engine:
            engine.add(folder)

    def open(self, where: Path) -> Callable[[str, int], str]:
        import brimful

        engine = brimful.open(where / STORE, embedder="none")  # words alone; a model is measured apart
        return lambda question, budget: engine.context(question, budget=budget).text


class Bm25s:
    """Scores in memory-mapped columns; the pieces in a file that is read line by line."""

    largest = 150

    def build(self, folder: Path, where: Path) -> None:
        import bm25s

        found = list(pieces(folder))
        index = bm25s.BM25()
        index.index(bm25s.tokenize([text for _, text in found], show_progress=False), show_progress=False)
        corpus = [{"name": name, "text": text} for name, text in found]
        index.save(str(where), corpus=corpus, show_progress=False)

    def open(self, where: Path) -> Callable[[str, int], str]:
        import bm25s

        index = bm25s.BM25.load(str(where), mmap=True, load_corpus=True)

        def ask(question: str, budget: int) -> str:
            tokens = bm25s.tokenize(question, show_progress=False)
            count = min(wanted(budget), len(index.corpus))
            rows, _ = index.retrieve(tokens, k=count, show_progress=False)
            return packed([(row["name"], row["text"]) for row in rows[0]], budget)

        return ask


class Tantivy:
    """Stored pieces and an index of them on disk."""

    largest = 1e9

    def build(self, folder: Path, where: Path) -> None:
        import tantivy

        schema = tantivy.SchemaBuilder()
        schema.add_text_field("name", stored=True, tokenizer_name="raw", index_option="basic")
        schema.add_text_field("body", stored=True, tokenizer_name="en_stem")
        writer = tantivy.Index(schema.build(), path=str(where)).writer(num_threads=1)
        for name, text in pieces(folder):
            writer.add_document(tantivy.Document(name=name, body=text))
        writer.commit()
        writer.wait_merging_threads()

    def open(self, where: Path) -> Callable[[str, int], str]:
        import tantivy

        index = tantivy.Index.open(str(where))
        searcher = index.searcher()

        def ask(question: str, budget: int) -> str:
            query, _ = index.parse_query_lenient(question, ["body"])
            documents = (searcher.doc(address) for _, address in searcher.search(query, limit=wanted(budget)).hits)
            return packed([(document["name"][0], document["body"][0]) for document in documents], budget)

        return ask


def hashed(text: str) -> list[float]:
    """A cheap embedding that is the same everywhere: words counted into buckets, length 1."""
    counts = [0.0] * DIMENSIONS
    for word in text.lower().split():
        counts[blake2b(word.encode(), digest_size=2).digest()[0] % DIMENSIONS] += 1.0
    length = sum(count * count for count in counts) ** 0.5 or 1.0
    return [count / length for count in counts]


class LlamaIndex:
    """SentenceSplitter, VectorStoreIndex in memory, its retriever; hashed words in place of a model."""

    largest = 15

    def build(self, folder: Path, where: Path) -> None:
        from core.offline import o200k
        from llama_index.core import Document, VectorStoreIndex, set_global_tokenizer
        from llama_index.core.node_parser import SentenceSplitter

        set_global_tokenizer(o200k().encode_ordinary)
        documents = [Document(text=content.decode(), doc_id=name) for name, content in texts_in(folder)]
        nodes = SentenceSplitter(chunk_size=400, chunk_overlap=0).get_nodes_from_documents(documents)
        index = VectorStoreIndex(nodes, embed_model=self._embedding())
        index.storage_context.persist(str(where))

    def open(self, where: Path) -> Callable[[str, int], str]:
        from llama_index.core import StorageContext, load_index_from_storage

        index = load_index_from_storage(
            StorageContext.from_defaults(persist_dir=str(where)), embed_model=self._embedding()
        )

        def ask(question: str, budget: int) -> str:
            found = index.as_retriever(similarity_top_k=wanted(budget)).retrieve(question)
            return packed([(each.node.ref_doc_id or "", each.node.get_content()) for each in found], budget)

        return ask

    def _embedding(self) -> Any:
        from llama_index.core.embeddings import BaseEmbedding

        class Hashed(BaseEmbedding):
            def _get_text_embedding(self, text: str) -> list[float]:
                return hashed(text)

            def _get_query_embedding(self, query: str) -> list[float]:
                return hashed(query)

            async def _aget_query_embedding(self, query: str) -> list[float]:
                return hashed(query)

        return Hashed(model_name="hashed")


class LangChain:
    """RecursiveCharacterTextSplitter, InMemoryVectorStore, its retriever; hashed words in place of a model."""

    largest = 15

    def build(self, folder: Path, where: Path) -> None:
        from langchain_core.documents import Document
        from langchain_text_splitters import RecursiveCharacterTextSplitter

        store = self._store()
        splitter = RecursiveCharacterTextSplitter(chunk_size=PIECE, chunk_overlap=0)
        for name, content in texts_in(folder):
            store.add_documents(
                [Document(part, metadata={"name": name}) for part in splitter.split_text(content.decode())]
            )
        store.dump(str(where / "langchain.json"))

    def open(self, where: Path) -> Callable[[str, int], str]:
        from langchain_core.vectorstores import InMemoryVectorStore

        store = InMemoryVectorStore.load(str(where / "langchain.json"), self._embedding())

        def ask(question: str, budget: int) -> str:
            found = store.as_retriever(search_kwargs={"k": wanted(budget)}).invoke(question)
            return packed([(each.metadata["name"], each.page_content) for each in found], budget)

        return ask

    def _store(self) -> Any:
        from langchain_core.vectorstores import InMemoryVectorStore

        return InMemoryVectorStore(self._embedding())

    def _embedding(self) -> Any:
        from langchain_core.embeddings import Embeddings

        class Hashed(Embeddings):
            def embed_documents(self, texts: list[str]) -> list[list[float]]:
                return [hashed(text) for text in texts]

            def embed_query(self, text: str) -> list[float]:
                return hashed(text)

        return Hashed()


CONTENDERS: dict[str, Callable[[], Contender]] = {
    "Brimful": Brimful,
    "bm25s": Bm25s,
    "tantivy": Tantivy,
    "LlamaIndex": LlamaIndex,
    "LangChain": LangChain,
}
"""They read the corpus as text files; imports are part of `build` and `open`, so that a cold start pays for them."""
