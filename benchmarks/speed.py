"""How fast, how large, how much memory? Brimful beside FTS5, tantivy and bm25s: `make bench-speed`.

Each measurement runs in a process of its own over the same files. Peers keep pieces of 1,600 characters, and a loop
joins the best until the budget is full, counted by tiktoken. Processor time, since cores are shared.
"""

import argparse
import json
import re
import resource
import shutil
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from core.report import commit, machine
from shared.questions import questions
from shared.texts import lay_out

RESULTS = Path(__file__).parent / "results" / "speed.json"
PACKAGES = ("brimful", "numpy", "apsw", "bm25s", "tantivy", "tiktoken")
PIECE_CHARS, FOUND = 1_600, 400
BUDGETS = (1_000, 4_000)

Ask = Callable[[str, int], int]  # a question and a budget; the tokens of the context


def main() -> int:
    """Measure each size and contender in turn, and write the figures down after each size."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--megabytes", type=float, nargs="+", default=[1, 10, 100], help="sizes of corpora (1 10 100)")
    parser.add_argument("--systems", nargs="+", default=list(SYSTEMS), choices=list(SYSTEMS), help="(all)")
    parser.add_argument("--questions", type=int, default=5, help="of each of four kinds (5)")
    parser.add_argument("--out", type=Path, default=RESULTS, help="the file of figures")
    parser.add_argument("--child", nargs=3, metavar=("SYSTEM", "ACTION", "PLACE"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        print(json.dumps(_child(*options.child)))
        return 0
    rows: list[dict[str, Any]] = []
    for megabytes in options.megabytes:
        with tempfile.TemporaryDirectory(prefix="brimful-bench-") as place:
            corpus = lay_out(Path(place, "texts"), megabytes=megabytes)
            asked = [text for kind in questions(corpus.folder, options.questions).values() for text in kind]
            Path(place, "questions.json").write_text(json.dumps(asked), encoding="utf-8")
            for system in options.systems:
                row = {"system": system, "megabytes": round(corpus.megabytes, 1), "files": corpus.files}
                row |= _measured(system, "build", place) | _measured(system, "ask", place)
                rows.append(row)
                print(json.dumps(row), flush=True)
        options.out.write_text(json.dumps({"commit": commit(), **machine(PACKAGES), "rows": rows}, indent=1) + "\n")
    return 0


def _measured(system: str, action: str, place: str) -> dict[str, Any]:
    command = [sys.executable, __file__, "--child", system, action, place]
    return dict(json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout))


def _child(system: str, action: str, named: str) -> dict[str, Any]:
    """One measurement in this process."""
    place = Path(named)
    texts, index = place / "texts", place / f"{system}.index"
    build, opened = SYSTEMS[system]
    if action == "build":
        shutil.rmtree(index, ignore_errors=True)
        index.mkdir()
        started = time.process_time()
        build(texts, index)
        spent = time.process_time() - started
        size = sum(path.stat().st_size for path in index.rglob("*") if path.is_file())
        return {"index_s": round(spent, 3), "index_mb": round(size / 1e6, 1), "index_peak_mb": _peak()}
    asked = json.loads((place / "questions.json").read_text("utf-8"))
    started = time.process_time()
    ask = opened(index)
    ask(asked[0], BUDGETS[0])
    figures: dict[str, Any] = {"first_ms": round((time.process_time() - started) * 1e3, 1)}
    for budget in BUDGETS:
        times, used = [], []
        for question in asked[1:]:
            started = time.process_time()
            used.append(ask(question, budget) / budget)
            times.append((time.process_time() - started) * 1e3)
        figures[f"p50_{budget}_ms"] = round(statistics.median(times), 2)
        figures[f"p95_{budget}_ms"] = round(statistics.quantiles(times, n=20)[-1], 2)
        figures[f"used_{budget}"] = round(statistics.fmean(used), 3)
    return figures | {"ask_peak_mb": _peak()}


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


# ---- contenders


def _pieces(folder: Path) -> Iterator[tuple[str, str]]:
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            text = path.read_bytes().decode()
            for start in range(0, len(text), PIECE_CHARS):
                yield path.relative_to(folder).as_posix(), text[start : start + PIECE_CHARS]


def _joining(search: Callable[[str], Iterator[str]]) -> Ask:
    """The best pieces until the next does not fit."""
    from core.offline import o200k

    encoding = o200k()

    def ask(question: str, budget: int) -> int:
        tokens = 0
        for piece in search(question):
            size = len(encoding.encode_ordinary(piece)) + 2
            if tokens + size > budget:
                break
            tokens += size
        return tokens

    return ask


def _build_brimful(folder: Path, index: Path) -> None:
    import brimful
    from brimful.documents.skips import SourceSettings

    with brimful.open(index / "store.db", embedder="none") as engine:
        engine.add(folder, settings=SourceSettings(allow=("secret",)))


def _open_brimful(index: Path) -> Ask:
    import brimful

    engine = brimful.open(index / "store.db", embedder="none")
    return lambda question, budget: engine.context(question, budget=budget).tokens


def _build_fts5(folder: Path, index: Path) -> None:
    with sqlite3.connect(index / "fts.db") as base:
        base.execute("CREATE VIRTUAL TABLE pieces USING fts5(path UNINDEXED, body)")
        base.executemany("INSERT INTO pieces VALUES (?, ?)", _pieces(folder))


def _open_fts5(index: Path) -> Ask:
    base = sqlite3.connect(index / "fts.db")

    def search(question: str) -> Iterator[str]:
        words = " OR ".join(f'"{word}"' for word in re.findall(r"\w+", question))
        order = "SELECT body FROM pieces WHERE pieces MATCH ? ORDER BY rank LIMIT ?"
        return (body for (body,) in base.execute(order, (words, FOUND)))

    return _joining(search)


def _build_tantivy(folder: Path, index: Path) -> None:
    import tantivy

    schema = tantivy.SchemaBuilder()
    schema.add_text_field("path", stored=True, tokenizer_name="raw")
    schema.add_text_field("body", stored=True, index_option="position")
    writer = tantivy.Index(schema.build(), path=str(index)).writer(num_threads=1)
    for path, piece in _pieces(folder):
        writer.add_document(tantivy.Document(path=path, body=piece))
    writer.commit()
    writer.wait_merging_threads()


def _open_tantivy(index: Path) -> Ask:
    import tantivy

    opened = tantivy.Index.open(str(index))
    searcher = opened.searcher()

    def search(question: str) -> Iterator[str]:
        query = opened.parse_query(" ".join(re.findall(r"\w+", question)), ["body"])
        return (str(searcher.doc(at)["body"][0]) for _, at in searcher.search(query, FOUND).hits)

    return _joining(search)


def _build_bm25s(folder: Path, index: Path) -> None:
    import bm25s

    pieces = [piece for _, piece in _pieces(folder)]
    model = bm25s.BM25()
    model.index(bm25s.tokenize(pieces, show_progress=False), show_progress=False)
    model.save(index, corpus=pieces)


def _open_bm25s(index: Path) -> Ask:
    import bm25s

    model = bm25s.BM25.load(index, load_corpus=True, mmap=True)

    def search(question: str) -> Iterator[str]:
        words = bm25s.tokenize([question], show_progress=False)
        found, _ = model.retrieve(words, k=min(FOUND, model.scores["num_docs"]), show_progress=False)
        return (each["text"] for each in found[0])

    return _joining(search)


SYSTEMS: dict[str, tuple[Callable[[Path, Path], None], Callable[[Path], Ask]]] = {
    "Brimful": (_build_brimful, _open_brimful),
    "FTS5": (_build_fts5, _open_fts5),
    "tantivy": (_build_tantivy, _open_tantivy),
    "bm25s": (_build_bm25s, _open_bm25s),
}

if __name__ == "__main__":
    sys.exit(main())
