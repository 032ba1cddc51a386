"""Write docs/internals/conformance.md from the marks on the tests; a test compares it.

A test that holds something the specifications ask for says so: `@pytest.mark.seed(section, asks, where=…, ruling=…)`.
What differs by a ruling names it, and the reasons stand below the table. What falls short stands here.
"""

from __future__ import annotations

import ast
import re
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "internals" / "conformance.md"
LEAD = """# Conformance

What the five specifications ask, which module of `src/brimful/` provides it, and which file in `tests/` holds it.
`python scripts/conformance.py` writes this page from the tests' marks (`@pytest.mark.seed`).
085a is context inflation and dynamic density, 085b the inflation protocol, 105 elastic context and fuzzy search, CFS
context assembly, DENS densification. A ruling decides where specifications contradict each other or leave a gap.
"""
RULINGS = {
    2: "Ranges are half-open; 085b's inclusive gap would skip or double a byte.",
    3: "The squeeze runs before the floor, so the floor can't overshoot. Padding leaves room for the hit. "
    "What is left unspent is refilled.",
    4: "A contained hit never shortens its container. Over the cap a window splits at its widest gap.",
    5: "The budget is never exceeded. 085b allows 5 %; 105 and CFS do not.",
    6: "What does not fit is skipped and the next tried, as CFS's packing vector needs.",
    7: "Interleaved and score-weighted packing follow CFS §8.",
    8: "The order is total. Duplicates are removed after sorting, so the best copy stays.",
    9: "The code of CFS §9 wins over its examples.",
    10: "The time of a run is not hashed, or no two runs would agree.",
    12: "pg_trgm's similarity decides, and only words that the corpus lacks are repaired. 105's SQL misses one.",
    13: "Two pools, sized by occurrences; what one leaves flows to the other. `related=True` distributes shares; "
    "without it the best hits come first.",
    14: "Only adjacent bytes merge; other strategies link windows, each with its citation.",
    15: "Allowances come from the model's limit; DENS's constants are a profile. Overflowing merges keep partials.",
    16: "A context is cached by everything that changes it.",
    20: "A window without links stays a plain window.",
    21: "Exact, prefix and trigram are tiers: a later one displaces none of an earlier one.",
    24: '`order="best"`, the order of the CFS profile, has the top 3 first.',
    25: "Near duplicates in several documents are shown once, naming the others.",
    26: "Caps and floors hold for windows as sized. Growing or merging passes a cap only by whole sections; "
    '`fill="relevant"` passes none.',
    28: "Only the request that failed is sent once more, and only where that can help. A failed capture is kept for "
    "`retry_capture`.",
}
SHORT = (
    (
        "085b targets",
        "less than twice the text's memory, outlining included",
        "documents outside a store are outlined first: 2 to 4 times, code 22; long windows beyond ASCII 2.3",
    ),
    ("085b targets", "above 90 % of relations kept", "not measured"),
    (
        "085b §2",
        "categories while a budget is grown to the brim",
        "growing adds the records beside a window, of any kind",
    ),
    (
        "CFS §2",
        "the combined score is RRF of a leg by words and one by meaning",
        "words rank; a model's scores of the best places are added",
    ),
    ("CFS parallel", "both legs of retrieval run side by side", "one after the other; their order changes no answer"),
    ("CFS §10", "evidence in a dropped twin counts as shown when recall is measured", "it counts as missed"),
    ("reachability", "settings of densification, reserves and the page's knobs", "not by name on every surface yet"),
)


class Row(NamedTuple):
    """One thing that is asked for, and who holds it."""

    section: str
    asks: str
    where: str
    ruling: int | None
    file: str
    test: str


def rows() -> list[Row]:
    """Every mark on every test, in the order of the specifications."""
    marks = []
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef):
                file = path.relative_to(ROOT / "tests").as_posix()
                marks += [_row(mark, file, node.name) for mark in node.decorator_list if _is_mark(mark)]
    return sorted(marks, key=lambda row: (_key(row.section), row.asks, row.file, row.test))


def _is_mark(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and ast.unparse(node.func) == "pytest.mark.seed"


def _row(node: ast.expr, file: str, test: str) -> Row:
    assert isinstance(node, ast.Call)
    section, asks = (ast.literal_eval(argument) for argument in node.args)
    named = {keyword.arg: ast.literal_eval(keyword.value) for keyword in node.keywords}
    return Row(section, asks, named["where"], named.get("ruling"), file, test)


def _key(section: str) -> tuple[int, tuple[tuple[int, str], ...]]:
    seeds = ("085a", "085b", "105", "CFS", "DENS")
    seed, _, rest = section.partition(" ")
    parts = re.findall(r"\d+|\D+", rest)
    return seeds.index(seed), tuple((int(part), "") if part.isdigit() else (0, part) for part in parts)


def page() -> str:
    """The page."""
    marks = rows()
    lines = [LEAD]
    for seed, group in groupby(marks, key=lambda row: row.section.partition(" ")[0]):
        lines += [f"## {seed}", "", "| section | it asks | where | ruling | test |", "|---|---|---|---|---|"]
        for row in group:
            section = row.section.partition(" ")[2]
            where, file = row.where.removesuffix(".py"), row.file.removesuffix(".py")
            lines.append(f"| {section} | {row.asks} | `{where}` | {row.ruling or ''} | `{file}` |")
        lines.append("")
    lines += ["## Rulings", ""]
    used = sorted({row.ruling for row in marks if row.ruling})
    lines += [f"- **{number}**: {RULINGS[number]}" for number in used]
    lines += ["", "## What falls short", "", "| specification | it asks | today |", "|---|---|---|"]
    lines += [f"| {section} | {asks} | {today} |" for section, asks, today in SHORT]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    print(f"written: {PAGE.relative_to(ROOT)}")
