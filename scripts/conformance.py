"""Write docs/conformance.md from the marks on the tests; a test compares it.

A test that holds something the specifications ask for says so: `@pytest.mark.seed(section, asks, where=…, ruling=…)`.
What differs by a ruling names it, and the reasons stand below the table. What falls short stands here.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "conformance.md"
LEAD = """# Conformance

What do the five specifications ask for, where is it, and which test fails without it? `python scripts/conformance.py`
writes this page from marks on the tests (`@pytest.mark.seed`). 085a is context inflation and dynamic density, 085b the
inflation protocol, 105 elastic context and fuzzy search, CFS context assembly, DENS densification. A number under
"ruling" means that the specifications contradict each other or leave something open; the reason is below. Tests are in
`tests/`, modules in `src/brimful/`.
"""
RULINGS = {
    2: "Ranges are half-open everywhere; 085b counts its gap inclusively, which would skip or double a byte.",
    3: "The policies share one set of numbers: the squeeze runs before the floor, so that the floor can't overshoot; "
    "padding leaves room for the hit (the seed halves the whole window); what is left unspent is refilled.",
    4: "Each policy merges by its own rule; a contained hit never shortens its container, and over the cap a window "
    "splits at the widest gap, so that no hit is cut away.",
    5: "The budget is never exceeded. 085b allows 5 %; 105 and CFS do not.",
    6: "What does not fit is skipped and the next one tried, as CFS's own packing vector needs; its code would cut it.",
    7: "Interleaved and score-weighted packing end as CFS §8 writes them.",
    8: "The order is total, and duplicates are looked for after sorting, so that the best copy stays.",
    9: "The code of CFS §9 wins over its examples; a text can't forge a header.",
    10: "The time of a run is outside of what is hashed, or no two runs would be the same.",
    12: "pg_trgm's similarity decides, few edits are asked for, and only words that the corpus lacks are repaired: "
    "105's own SQL has no trigram clause and misses its own example.",
    13: "Two pools, each sized by its census; what one leaves flows to the other. Shares are distributed with "
    "`related=True`; without it the best hits come first, whichever words they have.",
    14: "Bytes merge only where they are adjacent; other strategies link windows, each with its own citation.",
    15: "Allowances come from the model's limit, as DENS itself wants; its constants are guards and a profile. A merge "
    "that overflows is recovered with its partials kept.",
    16: "A context is cached by everything that changes it, not by three hashes.",
    20: "A window that links to no other stays a plain window of its document.",
    21: "Exact, prefix and trigram are tiers: a later one pushes none of an earlier one out.",
    24: 'Documents are read on by default; `order="best"` has the top 3 first and is the CFS profile\'s order.',
    25: "What several documents say nearly alike is shown once, naming the others; one document may say it twice.",
    26: "Caps and floors hold for windows as sized. Growing to the brim, or becoming one with a neighbour, passes "
    'a cap only where the window then begins and ends with a section; `fill="relevant"` passes none.',
    28: "DENS retries a capture once after any failure of its provider. We send the request that failed once more, and "
    "only where another try can end differently; a failed capture is kept, and taken up when somebody asks for it.",
}
SHORT = (
    (
        "085b targets",
        "less than twice the text's memory, outlining included",
        "documents that no store has cut are outlined first: 2 to 4 times, of code 22; long windows beyond ASCII 2.3",
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
        "words rank; where a model reads the best places, what it makes of them is added",
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
    lines = [
        LEAD,
        f"{len(marks)} rows.",
        "",
        "| specification | it asks | where | ruling | test |",
        "|---|---|---|---|---|",
    ]
    lines += [f"| {row.section} | {row.asks} | `{row.where}` | {row.ruling or ''} | `{row.file}` |" for row in marks]
    lines += ["", "## Rulings", ""]
    used = sorted({row.ruling for row in marks if row.ruling})
    lines += [f"- **{number}**: {RULINGS[number]}" for number in used]
    lines += ["", "## What falls short", "", "| specification | it asks | today |", "|---|---|---|"]
    lines += [f"| {section} | {asks} | {today} |" for section, asks, today in SHORT]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    print(f"written: {PAGE.relative_to(ROOT)}")
