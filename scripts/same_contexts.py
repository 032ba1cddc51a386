"""Do two source trees give the same contexts, byte for byte? Ask both and compare hashes.

    python scripts/same_contexts.py QUESTIONS.jsonl TREE OTHER_TREE [--budgets 500 4000]

A line of QUESTIONS.jsonl is `{"store": PATH, "question": TEXT}`, or `{"folder": PATH, "question": TEXT}` for a folder
that each tree indexes itself; a tree is a checkout (its `src` is imported). Each context is hashed in plain text and
in XML. What differs is listed, and the exit code is 1.
"""

import argparse
import hashlib
import itertools
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

FORMATS = ("plain", "xml")


def hashes(questions: Path, budgets: list[int]) -> dict[str, str]:
    """The hash of each context, of the `brimful` that can be imported here."""
    import brimful

    lines = map(json.loads, questions.read_text(encoding="utf-8").splitlines())
    found = {}
    for (store, folder), asked in itertools.groupby(lines, lambda line: (line.get("store"), line.get("folder"))):
        with tempfile.TemporaryDirectory() as scratch, brimful.open(store or Path(scratch) / "same.db") as engine:
            if folder:
                engine.add(folder)
            for line, budget, form in itertools.product(asked, budgets, FORMATS):
                context = engine.context(line["question"], budget=budget, format=form)
                key = f"{store or folder} {budget} {form} {line['question']}"
                found[key] = hashlib.sha256(context.text.encode()).hexdigest()
    return found


def asked_of(tree: Path, questions: Path, budgets: list[int]) -> dict[str, str]:
    """The same of a tree, in a process of its own."""
    command = [sys.executable, __file__, "--one", os.fspath(questions), *("--budgets", *map(str, budgets))]
    environment = {**os.environ, "PYTHONPATH": os.fspath(tree.resolve() / "src")}
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True)
    found: dict[str, str] = json.loads(done.stdout)
    return found


def main() -> int:
    """Compare, and say what differs."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("questions", type=Path)
    parser.add_argument("trees", type=Path, nargs="*")
    parser.add_argument("--budgets", type=int, nargs="+", default=[500, 4_000])
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_intermixed_args()
    if given.one:
        sys.stdout.write(json.dumps(hashes(given.questions, given.budgets)))
        return 0
    if len(given.trees) != 2:
        parser.error("two trees are compared; name both")
    one, other = (asked_of(tree, given.questions, given.budgets) for tree in given.trees)
    differing = [key for key in one if one[key] != other.get(key)]
    for key in differing:
        sys.stdout.write(f"differs: {key}\n")
    sys.stdout.write(f"{len(one) - len(differing)} of {len(one)} contexts are the same\n")
    return 1 if differing or len(one) != len(other) else 0


if __name__ == "__main__":
    sys.exit(main())
