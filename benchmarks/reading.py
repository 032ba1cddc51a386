"""How well do windows read? Drawn by a seed from people's questions, judged by rules: `reading.py draw`, then `judge`.

    reading.py draw --folders FOLDER --out drawn.json     ask real_dev's questions of its folders (one per corpus)
    reading.py judge before.json drawn.json               judge both by the outline of this version

A window is clean if it begins and ends where something does (a sentence, a statement, a record), if a list has its
lead-in and a row of a table its header. Drawing and judging are apart, so that an older version can draw too.
"""

import argparse
import importlib.util
import json
import random
import tempfile
from collections import Counter
from itertools import groupby
from pathlib import Path
from typing import Any

from shared.sets import find_shared

import brimful
from brimful.corpus.documents import Document

BUDGETS = (1_000, 4_000)
SEED = 14
COUNT = 200
RULES = ("start", "end", "lead-in", "header")


def main() -> int:
    """Draw windows, or judge them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    draw = commands.add_parser("draw")
    draw.add_argument("--folders", type=Path, required=True, help="the folders of real_dev, as its script fetches them")
    draw.add_argument("--out", type=Path, required=True)
    judge = commands.add_parser("judge")
    judge.add_argument("files", type=Path, nargs="+")
    options = parser.parse_args()
    if options.command == "draw":
        options.out.write_text(json.dumps(_drawn(options.folders), indent=1), encoding="utf-8")
        return 0
    print("| windows | budget | clean |", " | ".join(RULES), "|\n|---|---|---|" + "---|" * len(RULES))
    for file in options.files:
        for line in _judged(json.loads(file.read_text(encoding="utf-8"))):
            print(f"| {file.stem} | {line}")
    return 0


def _drawn(folders: Path) -> list[dict[str, Any]]:
    """So many windows of every budget, with the text of their documents."""
    shared = find_shared()
    if shared is None:
        raise SystemExit("The shared evaluation sets are not on this machine.")
    source = importlib.util.spec_from_file_location("real_score", shared / "data" / "real_dev" / "score.py")
    assert source is not None
    assert source.loader is not None
    module = importlib.util.module_from_spec(source)
    source.loader.exec_module(module)
    questions = sorted(module.load_questions(), key=lambda each: (each["corpus"], each["qid"]))
    found: dict[int, list[dict[str, Any]]] = {budget: [] for budget in BUDGETS}
    for corpus, group in groupby(questions, key=lambda each: each["corpus"]):
        asked = list(group)
        with tempfile.TemporaryDirectory() as place, brimful.open(Path(place) / "corpus.db") as engine:
            engine.add(folders / corpus)
            for budget in BUDGETS:
                for question in asked:
                    context = engine.context(question["question"], budget=budget, model="cl100k_base")
                    found[budget] += [_noted(corpus, question["qid"], budget, window) for window in context.windows]
    chance = random.Random(SEED)
    return [each for budget in BUDGETS for each in chance.sample(found[budget], min(COUNT, len(found[budget])))]


def _noted(corpus: str, question: str, budget: int, window: Any) -> dict[str, Any]:
    document = window.document
    return {
        "corpus": corpus,
        "question": question,
        "budget": budget,
        "path": window.path,
        "start": window.start,
        "end": window.end,
        "seams": [[seam.start, seam.end] for seam in window.seams],
        "kind": document.kind,
        "language": document.language,
        "text": document.content[:].decode(),
    }


def _judged(windows: list[dict[str, Any]]) -> list[str]:
    lines = []
    for budget in BUDGETS:
        chosen = [each for each in windows if each["budget"] == budget]
        faults = [_faults(each) for each in chosen]
        counts = Counter(fault for each in faults for fault in each)
        clean = sum(not each for each in faults) / max(len(chosen), 1)
        lines.append(f"{budget:,} | {clean:.1%} | " + " | ".join(str(counts[rule]) for rule in RULES) + " |")
    return lines


def _faults(window: dict[str, Any]) -> set[str]:
    """Which rules a window breaks."""
    document = Document(window["path"], window["text"], kind=window["kind"], language=window["language"])
    start, end, content = window["start"], window["end"], document.content
    cuts = {int(cut) for cut in document.outline.units} | _after_blank(content)
    # White space at the edges says nothing about them.
    start += len(content[start:end]) - len(content[start:end].lstrip(b" \t\r\n"))
    said = end - (len(content[:end]) - len(content[:end].rstrip()))
    found = set()
    if not any(cut in cuts for cut in range(content.rfind(b"\n", 0, start) + 1, start + 1)):
        found.add("start")
    following = end + len(content[end:]) - len(content[end:].lstrip())
    if following < len(content) and not any(cut in cuts for cut in range(said, following + 1)):
        found.add("end")
    for passage in document.outline.structure.passages:
        if passage.lead is None or not passage.start <= start < passage.end:
            continue
        shown = passage.lead[0] >= window["start"] or any(
            low <= passage.lead[0] and passage.lead[1] <= high for low, high in window["seams"]
        )
        if not shown and passage.kind == "table":
            found.add("header")
        elif not shown and passage.kind == "list":
            found.add("lead-in")
    return found


def _after_blank(content: bytes) -> set[int]:
    """Where lines begin that stand below a blank one: the end of a paragraph or of a group of statements."""
    lines = content.split(b"\n")
    starts, at = set(), 0
    for number, line in enumerate(lines):
        if number and not lines[number - 1].strip():
            starts.add(at)
        at += len(line) + 1
    return starts


if __name__ == "__main__":
    raise SystemExit(main())
