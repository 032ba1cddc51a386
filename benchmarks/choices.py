"""What does a choice cost? Recall, fullness and the size of windows by sizing, strategy, packing and profile.

    make bench-choices

Every STEP-th dev question of four sets is asked with the default and with each choice in its place, at four budgets.
Beside recall it is counted how many contexts are filled to 98 % though the corpus has more to give, how many leave room
for something that they leave out, and how many of their windows are scraps. Results go to benchmarks/results.
"""

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from core.report import commit
from shared.answerers import cited
from shared.sets import ASKED, BUDGETS, Asked, find_shared

import brimful
from brimful import render
from brimful.assembly.context import Context
from brimful.engine import Engine
from brimful.evaluation import LEAST_COVERAGE, EvaluationSet, Place, Question, TokenAxis, coverage, score
from brimful.settings import Ask, AskSettings, FieldSettings
from brimful.text.vocabularies import tokens_for

SETS = ("chroma", "qa_scifact", "qa_anthropic_code", "memory_locomo")
STEPS = {"chroma": 8, "qa_scifact": 10, "qa_anthropic_code": 6, "memory_locomo": 50}
"""Every so many-th question is asked, so that all of it takes minutes."""
MODEL = "cl100k_base"
FULL_PERCENT = 98
SCRAP_BYTES = 150
ABOUT = f"""Recall of evidence at four budgets (tokens), words alone. `full`: contexts filled to {FULL_PERCENT} % of
those whose corpus has more to give (`fill="brim"`). `leaving`: of them, those that leave room for something that they
leave out. `windows`:
in a context, on average; `scraps`: those under {SCRAP_BYTES} bytes. `covered`: contexts with a coverage above
{LEAST_COVERAGE}."""
CHOICES: Mapping[str, str] = {
    "default": "",
    "sizing density": "sizing=density",
    "sizing radial": "sizing=radial",
    "sizing elastic": "sizing=elastic",
    "fill relevant": "fill=relevant",
    "density, relevant": "sizing=density; fill=relevant",
    "radial, relevant": "sizing=radial; fill=relevant",
    "elastic, relevant": "sizing=elastic; fill=relevant",
    "strategy temporal": "strategy=temporal",
    "strategy semantic": "strategy=semantic",
    "strategy narrative": "strategy=narrative",
    "packing interleaved": "packing=interleaved",
    "packing score_weighted": "packing=score_weighted",
    "profile cfs": "profile=cfs",
}


@dataclass
class Row:
    """What was counted of one choice on one set at one budget."""

    recalls: list[float] = field(default_factory=list)
    could: int = 0  # contexts of a corpus that has more to give
    full: int = 0  # of those, filled to 98 %
    leaving: int = 0  # with something left out that fits
    windows: int = 0
    scraps: int = 0
    covered: int = 0

    @property
    def recall(self) -> float:
        """The mean."""
        return sum(self.recalls) / max(len(self.recalls), 1)

    def add(self, context: Context, recall: float, *, has_more: bool, is_brim: bool) -> None:
        """Count one context."""
        self.recalls.append(recall)
        available = context.budget.available
        if is_brim and has_more and context.windows:
            self.could += 1
            self.full += context.tokens * 100 >= available * FULL_PERCENT
        if is_brim:
            self.leaving += leaves_room(context)
        self.windows += len(context.windows)
        self.scraps += sum(len(window.span) < SCRAP_BYTES for window in context.windows)
        self.covered += coverage(context, counter=tokens_for(MODEL)) > LEAST_COVERAGE


def leaves_room(context: Context) -> bool:
    """Whether something that was left out for the budget's sake would fit, with a header of its own."""
    room = context.budget.available - context.tokens
    left = [each.window for each in context.omitted if each.reason == "budget"]
    return any(tokens_for(MODEL).count(render([window])) <= room for window in left if len(window.text) <= 8 * room)


def engines(asked: EvaluationSet, folder: Path, name: str) -> dict[tuple[str, ...] | None, Engine]:
    """One store for each scope of a set, made where it is not there yet."""
    made = {}
    for scope in dict.fromkeys(question.scope for question in asked.questions):
        place = folder / (f"{name}.db" if scope is None else f"{name}-{'-'.join(scope)[:60].replace('/', '_')}.db")
        is_new = not place.exists()
        made[scope] = brimful.open(place, embedder="none")
        if is_new:
            made[scope].add_documents(d for d in asked.documents if scope is None or d.path in scope)
    return made


def measured(asked: Asked, shared: Path, stores: Path, names: list[str], step: int) -> Iterator[tuple[str, int, Row]]:
    """Every choice on one set, budget by budget."""
    whole = asked.read(shared)
    axis = TokenAxis(whole.documents)
    opened = engines(whole, stores, asked.folder)
    sizes = {scope: sum(len(range(*axis.span(Place(d.path, 0, len(d))))) for d in whole.documents
                        if scope is None or d.path in scope) for scope in opened}  # fmt: skip
    for name in names:
        ask = Ask.of("", {"model": MODEL}, CHOICES[name])
        chosen, how = ask.settings, ask.field
        for budget in BUDGETS:
            row = Row()
            for question in whole.questions[::step]:
                context = _asked(opened[question.scope], question, budget, chosen, how)
                found = score(axis, question.evidence, axis.fill(cited(context), budget=budget).tokens).recall
                row.add(context, found, has_more=sizes[question.scope] > 2 * budget, is_brim=chosen.fill == "brim")
            yield name, budget, row
    for engine in opened.values():
        engine.close()


def _asked(engine: Engine, question: Question, budget: int, chosen: AskSettings, how: FieldSettings) -> Context:
    return engine.context(question.text, budget=budget, settings=chosen, field=how)


def main() -> int:
    """Ask, print as it goes, write down."""
    options = _options()
    shared = find_shared()
    if shared is None:
        print("The shared evaluation sets are not on this machine: nothing was measured.")
        return 1
    label, began = commit(), time.monotonic()
    names = [name for name in CHOICES if not options.choices or name in options.choices]
    found: dict[str, dict[str, dict[int, Row]]] = {}
    with tempfile.TemporaryDirectory(prefix="brimful-choices-") as made:
        for asked in (each for each in ASKED if each.name in (options.sets or SETS)):
            step = STEPS.get(asked.name, 10) * options.times
            rows = measured(asked, shared, options.stores or Path(made), names, step)
            for name, budget, row in rows:
                found.setdefault(asked.name, {}).setdefault(name, {})[budget] = row
                if budget == BUDGETS[-1]:
                    print(asked.name, *_cells(name, found[asked.name][name]), sep=" | ", flush=True)
    print(f"{time.monotonic() - began:.0f} s")
    if not options.dry:
        place = Path(__file__).parent / "results" / f"choices-{label}.md"
        place.write_text("\n".join(_page(found, label)) + "\n", encoding="utf-8")
        print(f"Written: {place.name}")
    return 0


def _cells(name: str, rows: Mapping[int, Row]) -> tuple[str, ...]:
    each = rows.values()
    could, windows = sum(row.could for row in each), max(sum(row.windows for row in each), 1)
    asked = sum(len(row.recalls) for row in each)
    return (
        name,
        *(f"{rows[budget].recall:.3f}" for budget in BUDGETS),
        f"{100 * sum(row.full for row in each) / could:.0f} %" if could else "",
        str(sum(row.leaving for row in each)),
        f"{windows / max(asked, 1):.1f}",
        f"{100 * sum(row.scraps for row in each) / windows:.0f} %",
        f"{100 * sum(row.covered for row in each) / max(asked, 1):.0f} %",
    )


def _page(found: Mapping[str, Mapping[str, Mapping[int, Row]]], label: str) -> list[str]:
    heads = ("choice", *map(str, BUDGETS), "full", "leaving", "windows", "scraps", "covered")
    lines = [
        f"# What a choice costs, at {label}",
        "",
        ABOUT,
    ]
    for name, choices in found.items():
        asked = len(next(iter(next(iter(choices.values())).values())).recalls)
        lines += [
            "",
            f"## {name}, {asked} questions",
            "",
            f"| {' | '.join(heads)} |",
            "|---|" + "---:|" * (len(heads) - 1),
        ]
        lines += [f"| {' | '.join(_cells(choice, rows))} |" for choice, rows in choices.items()]
    return lines


def _options() -> Any:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", nargs="*", help=f"some of {', '.join(SETS)} (all)")
    parser.add_argument("--choices", nargs="*", help="some of the choices, by name (all)")
    parser.add_argument("--times", type=int, default=1, help="ask so many times fewer questions")
    parser.add_argument("--stores", type=Path, help="where stores of the sets are kept; without, they are made anew")
    parser.add_argument("--dry", action="store_true", help="print only, write no results")
    return parser.parse_args()


if __name__ == "__main__":
    os.environ.setdefault("BRIMFUL_EMBEDDER", "none")
    sys.exit(main())
