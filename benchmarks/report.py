"""One report of all benchmarks, from the results that are committed: `make bench`.

Writes benchmarks/REPORT.md, the table of README.md and that of docs/internals/scale.md. Each part names the commit that
was measured; `tests/test_figures.py` compares what is written with the results.
"""

import json
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from answered import CODE, compared

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "benchmarks" / "results"
MARKS = "<!-- figures -->", "<!-- end of figures -->"
# People's sets are asked at three budgets, code at these four.
BUDGETS = {"people": (500, 1_000, 4_000), "code": (500, 1_000, 2_000, 4_000)}
LEGS = {
    "Brimful, words alone": ("people-words", "this"),
    "Brimful with `neural`": ("people-granite", "this"),
    "BM25 (bm25s) over pieces of 200 tokens": ("people-words", "BM25-200"),
    "semble, by words": ("tools", "semble"),
    "qmd, by words": ("tools", "qmd"),
}
WIDTH = 40
REPORT = """\
# All benchmarks

`make bench` writes this page from the committed results; [README.md](README.md) says how each is measured.

## Questions answered

Percent of questions whose answer stands in a context of so many tokens: Brimful by words at {words}, with the model at
{model}; {versions}. Ranking was developed on these questions: on others Brimful finds less. `+` and `-` are
questions won and lost against Brimful by words, p that of a sign test.

People: three sets of questions over 35 folders.

{people}

Code: is the file that answers shown, of 20 repositories?

{code}

{bars}

semble and qmd were asked without their models, which lie on a hub that this machine can't reach; with them both find
more (semble publishes .69/.85/.94/.98 of its own code questions). Their results are joined in their order, the last one
cut to fit. repomix chooses nothing, it writes everything down: {repomix}.

## Speed, size, memory

At {commit}; {cores} shared cores, processor time, medians, words alone. Peers keep pieces of 1,600 characters and join
the best until the next does not fit, so they cite no lines and leave some of the budget empty.

{speed}

## Everything else

{others}
"""

Answers = dict[str, list[float]]  # what a leg answers at each budget, by question


def read(name: str) -> dict[str, Any]:
    """The results of a file."""
    return dict(json.loads((RESULTS / f"{name}.json").read_text("utf-8")))


def answers(leg: str, part: str) -> Answers:
    """What a leg answered of the questions of a part that have an answer."""
    file, key = LEGS[leg]
    answerable = {name for name, row in read("tools")["questions"].items() if not row["none"]}
    return {
        name: row[key]
        for name, row in read(file)["questions"].items()
        if name in answerable and key in row and (name.partition("/")[0] == CODE) == (part == "code")
    }


def shares(rows: Answers) -> list[float]:
    """The percentage answered at each budget."""
    return [100 * sum(column) / len(column) for column in zip(*rows.values(), strict=True)]


def table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table of Markdown, figures to the right."""
    lines = ["| " + " | ".join(row) + " |" for row in (columns, *rows)]
    return "\n".join([lines[0], "|---|" + "---:|" * (len(columns) - 1), *lines[1:]])


def quality(part: str) -> str:
    """The shares of all legs, and how many questions each wins and loses against Brimful by words."""
    ours = answers("Brimful, words alone", part)
    rows = []
    for leg in LEGS:
        theirs = answers(leg, part)
        shared = [name for name in ours if name in theirs]
        pairs = [compared([theirs[n][at] for n in shared], [ours[n][at] for n in shared]) for at in (0, -1)]
        cells = ["–", "–"] if leg == "Brimful, words alone" else pairs
        rows.append([leg, *(f"{share:.1f}" for share in shares(theirs)), *cells])
    budgets = [f"{budget:,}" for budget in BUDGETS[part]]
    against = [f"against words at {budgets[0]}", f"at {budgets[-1]}"]
    return table([f"{len(ours)} questions", *budgets, *against], rows)


def readme() -> str:
    """The table of README.md."""
    rows = []
    for leg in LEGS:
        people, code = (shares(answers(leg, part)) for part in BUDGETS)
        rows.append([leg, *(f"{share:.1f}" for share in people), *(f"{code[at]:.1f}" for at in (0, 1, 3))])
    columns = ["", "people: 500", "1,000", "4,000", "code: 500", "1,000", "4,000"]
    return table(columns, rows)


def speed(*, ours: bool = False) -> str:
    """Indexing and asking by size; all contenders, or Brimful alone."""
    rows = []
    for row in read("speed")["rows"]:
        if not ours or row["system"] == "Brimful":
            figures = [
                f"{row[name]:,}" for name in ("index_s", "index_mb", "p50_1000_ms", "p50_4000_ms", "ask_peak_mb")
            ]
            rows.append([f"{row['megabytes']:,g} MB" + ("" if ours else f", {row['system']}"), *figures])
    columns = ["text", "indexing, s", "index, MB", "1,000 tokens, ms", "4,000 tokens, ms", "memory, MB"]
    return table(columns, rows)


def bars() -> str:
    """The shares at 1,000 tokens as lines of text."""
    lines = []
    for part in BUDGETS:
        lines.append(f"{part}, 1,000 tokens")
        for leg in LEGS:
            share = shares(answers(leg, part))[1]
            lines.append(f"  {leg.replace('`', ''):40} {'█' * round(share * WIDTH / 100):{WIDTH}} {share:.1f}")
    return "\n".join(["```text", *lines, "```"])


def repomix() -> str:
    """How many tokens whole folders are."""
    sizes = {key: cost["tokens"] for key, cost in read("tools")["costs"]["repomix"].items()}
    code = sorted(size for key, size in sizes.items() if key.startswith(f"{CODE}/"))
    fits = sum(size <= 128_000 for size in code)
    return f"a median of {code[len(code) // 2]:,} tokens a repository; {fits} of {len(code)} fit into 128,000"


def summaries() -> Iterator[str]:
    """The newest tables of the other benchmarks, from their first table on."""
    for file in sorted(RESULTS.glob("*.md")):
        text = file.read_text("utf-8")
        title = text.partition("\n")[0].removeprefix("# ")
        facts = [line for line in text.splitlines() if line.startswith("- ")][:12]
        first = re.search(r"(?:^\|.*\n)+", text, re.MULTILINE)
        body = "\n".join(facts) if facts else first[0].strip() if first else ""
        yield f"### {title}\n\n{body}\n\n[All of it](results/{file.name})"


def report() -> str:
    """The whole report."""
    tools, measured = read("tools"), read("speed")
    return REPORT.format(
        words=read("people-words")["commit"],
        model=read("people-granite")["commit"],
        versions=", ".join(f"{name} {number}" for name, number in tools["versions"].items()),
        people=quality("people"),
        code=quality("code"),
        bars=bars(),
        repomix=repomix(),
        commit=measured["commit"],
        cores=measured["cores"],
        speed=speed(),
        others="\n\n".join(summaries()),
    )


def written(text: str, block: str) -> str:
    """A page with another table between its marks."""
    first, last = MARKS
    head, _, rest = text.partition(first)
    return f"{head}{first}\n\n{block}\n\n{last}{rest.partition(last)[2]}"


def pages() -> dict[Path, str]:
    """Each page that shows figures, as the results make it."""
    front, scale = ROOT / "README.md", ROOT / "docs" / "internals" / "scale.md"
    return {
        ROOT / "benchmarks" / "REPORT.md": report(),
        front: written(front.read_text("utf-8"), readme()),
        scale: written(scale.read_text("utf-8"), speed(ours=True)),
    }


if __name__ == "__main__":
    for page, text in pages().items():
        page.write_text(text, "utf-8")
        sys.stdout.write(f"{page.relative_to(ROOT)}\n")
