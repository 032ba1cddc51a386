"""Questions as people ask them, and bug reports: `make eval-people`, beside BM25 over pieces of 400 tokens.

`real_dev` asks ten folders that its own script fetches from the package registries; `code_swe_dev` asks each repository
for the lines that a fix changed. Both are shared evaluation data and stay outside of this repository.
"""

import argparse
import gzip
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from core.report import commit
from fused import Fused, pieces_of
from shared.answerers import cited
from shared.measures import difference
from shared.sets import ROOT, find_shared

import brimful
from brimful.corpus.documents import Document
from brimful.evaluation.measures import TokenAxis, score
from brimful.evaluation.sets import Place
from brimful.index.named import embedder_named
from brimful.text.vocabularies import tokens_for

MODEL = "cl100k_base"
LINE_BUDGETS = (2_000, 4_000, 8_000, 16_000)
PEER = "bm25-rec400"
LEGS = ("words", "model", "fused")
PEERS = {"words": "BM25-200", "model": "the model-200", "fused": "both, fused-200"}
BATCH = 64
Ask = Callable[[str, int], str]
TABLE = ("| tokens | this | BM25-400 | difference (95 %) |", "|---|---|---|---|")
FETCHED = ROOT / ".real_dev"


def main() -> int:
    """Ask both sets, print the tables and write them down."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--late", default="none", help="the model that reads the best places (none)")
    parser.add_argument("--full", action="store_true", help="let it read every passage before the first question")
    parser.add_argument("--fused", action="store_true", help="beside BM25 and that model over pieces of 200 tokens")
    parser.add_argument("--corpora", default="", help="some folders of real_dev, with commas between (all)")
    parser.add_argument("--only", choices=("real_dev", "code_swe_dev"), help="one of the two")
    parser.add_argument("--dry", action="store_true", help="print only, write no results")
    options = parser.parse_args()
    shared = find_shared()
    if shared is None:
        print("The shared evaluation sets are not on this machine: nothing was measured.")
        return 1
    leg = f"{options.late}, {'every passage read ahead' if options.full else 'late'}"
    lines = [f"# Questions as people ask them, at {commit()}, model: {leg}", ""]
    if options.only != "code_swe_dev":
        lines += _real(shared / "data" / "real_dev", options)
    if options.only != "real_dev":
        lines += _bugs(shared, options.late)
    print("\n".join(lines))
    if not options.dry:
        kind = "" if options.late == "none" else "-full" if options.full else "-late"
        place = Path(__file__).parent / "results" / f"people-{commit()}{kind}.md"
        place.write_text("\n".join(lines) + "\n", encoding="utf-8")
        print(f"Written: {place.name}")
    return 0


def shared_module(path: Path) -> ModuleType:
    """A script of the shared evaluation data."""
    found = importlib.util.spec_from_file_location(f"shared_{path.stem}", path)
    assert found is not None
    assert found.loader is not None
    made = importlib.util.module_from_spec(found)
    found.loader.exec_module(made)
    return made


def _real(folder: Path, options: argparse.Namespace) -> list[str]:
    judge = shared_module(folder / "score.py")
    subprocess.run(["sh", str(folder / "fetch.sh"), str(FETCHED)], check=True, stdout=subprocess.DEVNULL)
    asked = set(options.corpora.split(",")) - {""}
    questions = [each for each in judge.load_questions() if each["corpus"] in asked or not asked]
    corpora = sorted({question["corpus"] for question in questions})
    ours: list[dict[str, Any]] = []
    fused: dict[str, list[dict[str, Any]]] = {leg: [] for leg in LEGS if options.fused}
    with tempfile.TemporaryDirectory(prefix="brimful-people-") as stores:
        for corpus in corpora:
            own = [each for each in questions if each["corpus"] == corpus]
            with brimful.open(Path(stores) / f"{corpus}.db", late=options.late) as engine:
                engine.add(FETCHED / corpus)
                if options.full:
                    engine.warm()
                ours += _answers(judge, own, partial(_by_engine, engine))
                peer = _fused_peer(engine, corpus, options.late) if options.fused else None
            for leg, rows in fused.items():
                rows.extend(_answers(judge, own, partial(_by_leg, peer, leg)))
            print(f"{corpus}: asked", file=sys.stderr, flush=True)
    with gzip.open(folder / "answers" / "bm25.jsonl.gz", "rt", encoding="utf-8") as file:
        names = {each["qid"] for each in questions}
        bm25 = [row for row in map(json.loads, file) if row["qid"] in names]
    scored = judge.score(questions, ours)
    lines = ["## real_dev", "", f"{len(questions)} questions over {', '.join(corpora)}.", "", judge.table(scored), ""]
    for name, rows in {"BM25-400": bm25, **{PEERS[leg]: rows for leg, rows in fused.items()}}.items():
        lines += [f"| tokens | this | {name} | difference (95 %) |", "|---|---|---|---|"]
        theirs = judge.score(questions, rows)
        lines += [_row(str(each), _answered(scored, each), _answered(theirs, each)) for each in judge.BUDGETS]
        lines.append("")
    return lines


def _answers(
    judge: ModuleType, questions: list[dict[str, Any]], ask: Callable[[str, int], str]
) -> list[dict[str, Any]]:
    """What somebody answers to some questions at each budget."""
    rows = []
    for question in questions:
        for budget in judge.BUDGETS:
            text = ask(question["question"], budget)
            rows.append({"qid": question["qid"], "budget": budget, "text": text, "found": bool(text.strip())})
    return rows


def _by_engine(engine: brimful.Engine, question: str, budget: int) -> str:
    return engine.context(question, budget=budget, model=MODEL).text


def _by_leg(peer: Fused, leg: str, question: str, budget: int) -> str:
    return peer.context(question, budget=budget, leg=leg)


def _fused_peer(engine: brimful.Engine, corpus: str, late: str) -> Fused:
    """The hybrid over the same texts; what it embedded is kept beside them."""
    counter = tokens_for(MODEL)
    embedder = embedder_named(late)
    assert embedder is not None
    texts = [engine.text(each.path, 0, each.bytes) for each in engine.documents()]
    pieces = [piece for text in texts for piece in pieces_of(text, counter)]
    place = FETCHED / f"pieces-{corpus}-{late}.npy"
    if place.exists() and len(np.load(place)) == len(pieces):
        return Fused(pieces, embedder, np.load(place), counter)
    vectors = np.concatenate([embedder.embed(pieces[at : at + BATCH]) for at in range(0, len(pieces), BATCH)])
    np.save(place, vectors)
    return Fused(pieces, embedder, vectors, counter)


def _answered(results: dict[tuple[str, int], dict[str, Any]], budget: int) -> dict[str, float]:
    """Whether each question that has an answer got all of it."""
    return {name: float(row["full"]) for (name, tokens), row in results.items() if tokens == budget and not row["none"]}


def _bugs(shared: Path, late: str) -> list[str]:
    unpack = shared_module(shared / "data" / "code_swe_dev" / "unpack.py")
    texts = dict(unpack.blobs())
    ours: dict[int, dict[str, float]] = {budget: {} for budget in LINE_BUDGETS}
    for bug in (each for each in unpack.instances() if each["evidence"]):
        evidence = [Place(each["doc_id"], each["bstart"], each["bend"]) for each in bug["evidence"]]
        with tempfile.TemporaryDirectory(prefix="brimful-people-") as folder, brimful.open(folder, late=late) as engine:
            engine.add_documents(Document(path, texts[blob]) for path, blob in bug["files"].items())
            for budget in LINE_BUDGETS:
                places = cited(engine.context(bug["question"], budget=budget, model=MODEL))
                paths = sorted({each.path for each in [*places, *evidence]})
                axis = TokenAxis(Document(path, texts[bug["files"][path]]) for path in paths)
                ours[budget][bug["qid"]] = score(axis, evidence, axis.fill(places, budget=budget).tokens).recall
    measured = json.loads((shared / "baselines" / "swe_dev.json").read_text(encoding="utf-8"))[PEER]["per_question"]
    lines = ["## code_swe_dev", "", "Recall of the lines that a fix changes.", ""]
    lines += TABLE
    for budget in LINE_BUDGETS:
        theirs = {row["qid"]: row[str(budget)]["recall"] for row in measured if str(budget) in row}
        lines.append(_row(str(budget), ours[budget], theirs))
    return [*lines, ""]


def _row(name: str, ours: dict[str, float], theirs: dict[str, float]) -> str:
    shared = sorted(ours.keys() & theirs.keys())
    found = difference({each: ours[each] for each in shared}, {each: theirs[each] for each in shared})
    means = [sum(values[each] for each in shared) / max(len(shared), 1) for values in (ours, theirs)]
    shown = f"**{found}**" if found.is_clear else str(found)
    return f"| {name} | {means[0]:.3f} | {means[1]:.3f} | {shown} |"


if __name__ == "__main__":
    os.environ.setdefault("BRIMFUL_EMBEDDER", "none")
    sys.exit(main())
