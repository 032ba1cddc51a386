"""How often does the way of a question cross from one package to another? The calls of one context, counted.

    python scripts/walk.py STORE QUESTION [--before "how do I stream a response"] [--budget 1000] [--pairs 20]

The question before makes the columns and is not counted. A generator that goes on counts as a call.
"""

import argparse
import os
import sys
from collections import Counter
from pathlib import Path
from types import FrameType

import brimful

_ROOT = f"{Path(brimful.__file__).parent}{os.sep}"
_Pair = tuple[str, str, str, str]


def walk(store: str, question: str, *, before: str, budget: int) -> tuple[int, Counter[_Pair]]:
    """How many modules a question passes through; who calls whom across packages, and how often."""
    modules: set[str] = set()
    pairs: Counter[_Pair] = Counter()

    def note(frame: FrameType, event: str, _: object) -> None:
        if event != "call" or not _is_ours(frame):
            return
        modules.add(frame.f_code.co_filename)
        caller = frame.f_back
        while caller is not None and not _is_ours(caller):
            caller = caller.f_back
        if caller is not None and _package(caller) != _package(frame):
            pairs[(*_place(caller), *_place(frame))] += 1

    with brimful.open(store) as engine:
        engine.context(before, budget=budget)
        sys.setprofile(note)
        try:
            engine.context(question, budget=budget)
        finally:
            sys.setprofile(None)
    return len(modules), pairs


def _is_ours(frame: FrameType) -> bool:
    return frame.f_code.co_filename.startswith(_ROOT)


def _place(frame: FrameType) -> tuple[str, str]:
    return frame.f_code.co_filename.removeprefix(_ROOT), frame.f_code.co_qualname


def _package(frame: FrameType) -> str:
    return Path(_place(frame)[0]).parts[0]


def main() -> None:
    """Count, and name the pairs that call most."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("store")
    parser.add_argument("question")
    parser.add_argument("--before", default="how do I stream a response")
    parser.add_argument("--budget", type=int, default=1_000)
    parser.add_argument("--pairs", type=int, default=20)
    given = parser.parse_args()
    modules, pairs = walk(given.store, given.question, before=given.before, budget=given.budget)
    print(f"{pairs.total()} calls between packages, {modules} modules")
    for (caller, who, module, what), count in pairs.most_common(given.pairs):
        print(f"{count:>5}  {caller} {who} -> {module} {what}")


if __name__ == "__main__":
    main()
