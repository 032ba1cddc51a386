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
from pathlib import Path
from types import ModuleType
from typing import Any

from core.report import commit
from shared.sets import ROOT, find_shared

import brimful
from brimful.corpus.documents import Document
from brimful.evaluation.axis import Cited, TokenAxis
from brimful.evaluation.measures import Difference, difference, score
from brimful.evaluation.sets import Evidence, Question

MODEL = "cl100k_base"
LINE_BUDGETS = (2_000, 4_000, 8_000, 16_000)
PEER = "bm25-rec400"
TABLE = ("| tokens | this | BM25-400 | difference (95 %) |", "|---|---|---|---|")
FETCHED = ROOT / ".real_dev"


def main() -> int:
    """Ask both sets, print the tables and write them down."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--late", default="none", help="the model that reads the best places (none)")
    parser.add_argument("--only", choices=("real_dev", "code_swe_dev"), help="one of the two")
    parser.add_argument("--dry", action="store_true", help="print only, write no results")
    options = parser.parse_args()
    shared = find_shared()
    if shared is None:
        print("The shared evaluation sets are not on this machine: nothing was measured.")
        return 1
    lines = [f"# Questions as people ask them, at {commit()}, late leg: {options.late}", ""]
    if options.only != "code_swe_dev":
        lines += _real(shared / "data" / "real_dev", options.late)
    if options.only != "real_dev":
        lines += _bugs(shared, options.late)
    print("\n".join(lines))
    if not options.dry:
        place = Path(__file__).parent / "results" / f"people-{commit()}{'' if options.late == 'none' else '-late'}.md"
        place.write_text("\n".join(lines) + "\n", encoding="utf-8")
        print(f"Written: {place.name}")
    return 0


def _module(path: Path) -> ModuleType:
    found = importlib.util.spec_from_file_location(f"shared_{path.stem}", path)
    assert found is not None
    assert found.loader is not None
    made = importlib.util.module_from_spec(found)
    found.loader.exec_module(made)
    return made


def _real(folder: Path, late: str) -> list[str]:
    judge = _module(folder / "score.py")
    subprocess.run(["sh", str(folder / "fetch.sh"), str(FETCHED)], check=True, stdout=subprocess.DEVNULL)
    questions = judge.load_questions()
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory(prefix="brimful-people-") as stores:
        for corpus in sorted({question["corpus"] for question in questions}):
            with brimful.open(Path(stores) / f"{corpus}.db", late=late) as engine:
                engine.add(FETCHED / corpus)
                for question in (each for each in questions if each["corpus"] == corpus):
                    for budget in judge.BUDGETS:
                        text = engine.context(question["question"], budget=budget, model=MODEL).text
                        row = {"qid": question["qid"], "budget": budget, "text": text, "found": bool(text.strip())}
                        rows.append(row)
    ours = judge.score(questions, rows)
    with gzip.open(folder / "answers" / "bm25.jsonl.gz", "rt", encoding="utf-8") as file:
        theirs = judge.score(questions, [json.loads(line) for line in file])
    lines = [
        "## real_dev",
        "",
        judge.table(ours),
        "",
        "| tokens | this | BM25-400 | difference (95 %) |",
        "|---|---|---|---|",
    ]
    for budget in judge.BUDGETS:
        here, there = (
            {q: float(r["full"]) for (q, b), r in each.items() if b == budget and not r["none"]}
            for each in (ours, theirs)
        )
        lines.append(_row(str(budget), here, there))
    return [*lines, ""]


def _answered(results: dict[tuple[str, int], dict[str, Any]], budget: int) -> dict[str, float]:
    """Whether each question that has an answer got all of it."""
    return {name: float(row["full"]) for (name, tokens), row in results.items() if tokens == budget and not row["none"]}


def _bugs(shared: Path, late: str) -> list[str]:
    unpack = _module(shared / "data" / "code_swe_dev" / "unpack.py")
    texts = dict(unpack.blobs())
    ours: dict[int, dict[str, float]] = {budget: {} for budget in LINE_BUDGETS}
    for bug in (each for each in unpack.instances() if each["evidence"]):
        evidence = tuple(Evidence(each["doc_id"], each["bstart"], each["bend"]) for each in bug["evidence"])
        question = Question(bug["qid"], bug["question"], None, evidence)
        with tempfile.TemporaryDirectory(prefix="brimful-people-") as folder, brimful.open(folder, late=late) as engine:
            engine.add_documents(Document(path, texts[blob]) for path, blob in bug["files"].items())
            for budget in LINE_BUDGETS:
                windows = engine.context(question.text, budget=budget, model=MODEL).windows
                ranked = sorted(windows, key=lambda window: (-window.score, window.path, window.start, window.end))
                paths = sorted({window.path for window in windows} | {each.path for each in evidence})
                axis = TokenAxis(Document(path, texts[bug["files"][path]]) for path in paths)
                cited = [Cited(window.path, window.start, window.end) for window in ranked]
                ours[budget][bug["qid"]] = score(axis, question, axis.fill(cited, budget=budget)).recall
    measured = json.loads((shared / "baselines" / "swe_dev.json").read_text(encoding="utf-8"))[PEER]["per_question"]
    lines = ["## code_swe_dev", "", "Recall of the lines that a fix changes.", ""]
    lines += TABLE
    for budget in LINE_BUDGETS:
        theirs = {row["qid"]: row[str(budget)]["recall"] for row in measured if str(budget) in row}
        lines.append(_row(str(budget), ours[budget], theirs))
    return [*lines, ""]


def _row(name: str, ours: dict[str, float], theirs: dict[str, float]) -> str:
    shared = sorted(ours.keys() & theirs.keys())
    found: Difference = difference({each: ours[each] for each in shared}, {each: theirs[each] for each in shared})
    means = [sum(values[each] for each in shared) / max(len(shared), 1) for values in (ours, theirs)]
    shown = f"**{found}**" if found.is_clear else str(found)
    return f"| {name} | {means[0]:.3f} | {means[1]:.3f} | {shown} |"


if __name__ == "__main__":
    os.environ.setdefault("BRIMFUL_EMBEDDER", "none")
    sys.exit(main())
