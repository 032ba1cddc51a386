"""What does condensing cost and give? Recall and coverage of contexts with `densify="extractive:"`, by share.

Coverage is the part of the distinct words of a four times larger context that stand in this one.
    python benchmarks/condense.py qa_scifact --questions 80 --percents 0,15,25
"""

import argparse
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from statistics import fmean

from shared.answerers import cited
from shared.sets import ASKED, find_shared

import brimful
from brimful.evaluation import evaluate
from brimful.text.terms import query_terms

BUDGETS = (1_000, 4_000)
_LEAST_LETTERS = 4


def words(text: str) -> set[bytes]:
    return {term for term, *_ in query_terms(text) if len(term) >= _LEAST_LETTERS}


def measure(name: str, questions: int, percents: list[int], shared: Path, folder: Path) -> None:
    whole = next(asked for asked in ASKED if asked.name == name).read(shared)
    step = max(len(whole.questions) // questions, 1)
    asked = replace(whole, questions=whole.questions[::step][:questions])
    engines = {}
    for number, scope in enumerate(dict.fromkeys(question.scope for question in asked.questions)):
        engines[scope] = brimful.open(folder / f"{number}.db")
        held = (each for each in asked.documents if scope is None or each.path in scope)
        engines[scope].add_documents(held, allow=("secret",))  # as the set has them
    print("| set | budget | share | recall | coverage | documents |\n|---|---:|---:|---:|---:|---:|")
    for percent in percents:
        seen: dict[int, list[tuple[float, int]]] = {budget: [] for budget in BUDGETS}
        choices = {"densify": "extractive:", "densify_percent": percent} if percent else {}

        def answer(question, budget, seen=seen, choices=choices):
            made = engines[question.scope].context(question.text, budget=budget, model="cl100k_base", **choices)
            wide = words(engines[question.scope].context(question.text, budget=4 * budget, model="cl100k_base").text)
            covered = len(wide & words(made.text)) / max(len(wide), 1)
            seen[budget].append((covered, len({window.path for window in made.windows})))
            return cited(made)

        result = evaluate(answer, asked, BUDGETS)
        for budget in BUDGETS:
            recall = result.mean("recall", budget)
            coverage, documents = (fmean(values) for values in zip(*seen[budget], strict=True))
            print(
                f"| {name} | {budget:,} | {percent} % | {recall:.3f} | {coverage:.3f} | {documents:.1f} |", flush=True
            )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("set")
    parser.add_argument("--questions", type=int, default=80)
    parser.add_argument("--percents", default="0,15,25")
    options = parser.parse_args()
    shared = find_shared()
    if shared is None:
        print("The shared evaluation sets are not on this machine: nothing was measured.")
        return 1
    with tempfile.TemporaryDirectory() as folder:
        percents = [int(each) for each in options.percents.split(",")]
        measure(options.set, options.questions, percents, shared, Path(folder))
    return 0


if __name__ == "__main__":
    sys.exit(main())
