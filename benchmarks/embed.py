"""How fast does the sentence model read? Texts and tokens a second, by each kind of instructions; time to open.

    PYTHONPATH=src python benchmarks/embed.py

A minute on two shared cores. One thread's speed is by processor time, since the cores are shared; of two threads there
is the wall clock, which says more where the load is low. Texts are cut from the documentation of this repository.
"""

import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from brimful.native.bert import PATHS, Encoder, best_path
from brimful.neural import bert
from brimful.neural.bert import BertEmbedder

ROOT = Path(__file__).resolve().parents[1]
LENGTHS = (60, 120, 200)
COUNT = 30
ROUNDS = 2


def texts_of(words: int) -> list[str]:
    """Consecutive pieces of the documentation with so many words."""
    text = " ".join(path.read_text() for path in sorted((ROOT / "docs").glob("**/*.md"))).split()
    return [" ".join(text[first : first + words]) for first in range(0, COUNT * words, words)]


def best(run: Callable[[], object], clock: Callable[[], float]) -> float:
    """The shortest of some rounds: other programs on the machine only add."""
    times = []
    for _ in range(ROUNDS):
        start = clock()
        run()
        times.append(clock() - start)
    return min(times)


def read_all(encoder: Encoder, texts: Sequence[Sequence[int]]) -> None:
    """Read texts one by one."""
    for text in texts:
        encoder.read(text)


def main() -> int:
    """Print a table."""
    start = time.process_time()
    one, two = (BertEmbedder(threads=threads) for threads in (1, 2))
    one.embed(["word"])
    print(f"{one.name}: the first vector after {time.process_time() - start:.2f} s of processor time\n")
    two.embed(["word"])
    parts = bert._packed()  # noqa: SLF001
    encoders = [
        Encoder(parts.tensor, parts.words, parts.layers, vocabulary=parts.vocabulary, path=path)
        for path in range(best_path() + 1)
    ]
    names = [f"{PATHS[path]}, tokens/s" for path in range(len(encoders))]
    print(f"| tokens a text | {' | '.join(names)} | texts/s | on two threads, wall clock |")
    print("|---:" * (len(names) + 3) + "|")
    for words in LENGTHS:
        texts = texts_of(words // 2)
        tokens = [one._model.tokens(text) for text in texts]  # noqa: SLF001
        whole = sum(map(len, tokens))
        speeds = [whole / best(partial(read_all, each, tokens), time.process_time) for each in encoders]
        alone = len(texts) / best(partial(one.embed, texts), time.process_time)
        both = len(texts) / best(partial(two.embed, texts), time.perf_counter)
        cells = " | ".join(f"{speed:,.0f}" for speed in speeds)
        print(f"| {whole / len(texts):.0f} | {cells} | {alone:.0f} | {both:.0f} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
