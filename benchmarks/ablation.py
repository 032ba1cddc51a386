"""What does each part of the ranking bring? `make ablation`: the shared sets with one part left out at a time.

Units are taken as search ranks them, without headers or packing, so that only the ranking differs.
"""

import argparse
import os
import sys
import tempfile
from pathlib import Path

from core.report import commit
from shared.sets import ASKED, BUDGETS, find_shared

import brimful
from brimful.evaluation.measures import Cited, TokenAxis, score
from brimful.evaluation.sets import EvaluationSet
from brimful.settings import FieldSettings

UNITS = 600
WITHOUT = {
    "all parts": {},
    "no document scale": {"document": 0.0},
    "no wide surroundings": {"wide": 0.0},
    "no near surroundings": {"near": 0.0},
    "units alone": {"document": 0.0, "wide": 0.0, "near": 0.0, "spread": 0.0, "heading": 0.0, "meaning": 0.0},
    "no spreading": {"spread": 0.0},
    "no headings": {"heading": 0.0},
    "no meaning": {"meaning": 0.0},
    "asking words in full": {"asking": 1.0},
    "parts of words in full": {"part": 1.0},
    "common words in full": {"common": 0.0},
    "repeated words once": {"repeated": 0.0},
    "names not in units": {"name_in_unit": 0.0},
    "documents not named": {"called": 0.0},
    "no definitions": {"definition": 0.0},
    "no runs of words": {"runs": 0.0},
    "no priors of files": {"priors": False},
    "reciprocal ranks": {"fusion": "rrf"},
}


def main() -> int:
    """Measure every variant on every qa set and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--step", type=int, default=3, help="ask every so manyth question (3)")
    options = parser.parse_args()
    shared = find_shared()
    if shared is None:
        print("The shared evaluation sets are not on this machine: nothing was measured.")
        return 1
    name = commit()
    rows: dict[str, list[str]] = {variant: [] for variant in WITHOUT}
    asked = [each for each in ASKED if not each.name.startswith("ir_")]
    for each in asked:
        with tempfile.TemporaryDirectory(prefix="brimful-ablation-") as folder:
            questions = each.read(shared)
            means = _measured(questions, Path(folder), step=options.step)
        for variant, recalls in means.items():
            rows[variant].append("/".join(f"{value:.3f}".removeprefix("0") for value in recalls))
            print(f"{each.name:20} {variant:24} {rows[variant][-1]}", flush=True)
    lines = [
        f"# What each part of the ranking brings ({name})",
        "",
        f"Recall at {'/'.join(map(str, BUDGETS))} tokens of the units in rank order, without headers or packing.",
        f"Every question in {options.step} was asked; `make ablation`.",
        "",
        "| ranking | " + " | ".join(each.name for each in asked) + " |",
        "|---|" + "---|" * len(asked),
        *(f"| {variant} | " + " | ".join(cells) + " |" for variant, cells in rows.items()),
    ]
    place = Path(__file__).parent / "results" / f"ablation-{name}.md"
    place.write_text("\n".join(lines) + "\n", encoding="utf-8")
    print(f"Written: {place.name}")
    return 0


def _measured(questions: EvaluationSet, folder: Path, *, step: int) -> dict[str, list[float]]:
    """The mean recall of each variant at each budget."""
    chosen = questions.questions[::step]
    engines = {}
    for number, scope in enumerate(dict.fromkeys(question.scope for question in chosen)):
        engines[scope] = brimful.open(folder / f"{number}.db")
        held = (each for each in questions.documents if scope is None or each.path in scope)
        engines[scope].add_documents(held, allow=("secret",))  # as the set has them
    axis = TokenAxis(questions.documents)
    means = {}
    for variant, changed in WITHOUT.items():
        sums = [0.0] * len(BUDGETS)
        settings = FieldSettings(**changed)
        for question in chosen:
            found = engines[question.scope].search(question.text, limit=UNITS, field=settings)
            cited = [Cited(hit.path, hit.start, hit.end) for hit in found.hits]
            for place, budget in enumerate(BUDGETS):
                sums[place] += score(axis, question, axis.fill(cited, budget=budget)).recall
        means[variant] = [total / len(chosen) for total in sums]
    for engine in engines.values():
        engine.close()
    return means


if __name__ == "__main__":
    os.environ.setdefault("BRIMFUL_EMBEDDER", "none")  # words alone; people.py --late measures a model
    sys.exit(main())
