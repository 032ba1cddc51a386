"""How are the figures shown? One list of tables, as text for a terminal, as Markdown, and as JSON."""

import json
import os
import platform
import subprocess
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

WIDTH = 80
PACKAGES = (
    "brimful",
    "splintr-rs",
    "numpy",
    "llama-index-core",
    "langchain-classic",
    "langchain-core",
    "langchain-text-splitters",
    "haystack-ai",
    "tiktoken",
)


@dataclass
class Table:
    """A title, what it means, rows of ready words, and the same figures unrounded."""

    title: str
    columns: tuple[str, ...]
    about: str = ""
    rows: list[tuple[str, ...]] = field(default_factory=list)
    figures: list[dict[str, Any]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def add(self, *cells: str, **figures: Any) -> None:
        """One row, and its figures for the JSON file."""
        self.rows.append(cells)
        self.figures.append({self.columns[0] or "what": cells[0], **figures})


def as_text(table: Table) -> str:
    """The table in 80 columns: names to the left, figures to the right, long names on a line of their own."""
    widths = [max(len(row[at]) for row in [table.columns, *table.rows]) for at in range(len(table.columns))]
    first = WIDTH - sum(widths[1:]) - 2 * (len(widths) - 1)
    widths[0] = min(widths[0], first)
    lines = ["", table.title, "=" * len(table.title)]
    if table.about:
        lines += [*textwrap.wrap(table.about, WIDTH), ""]
    for number, row in enumerate([table.columns, *table.rows]):
        name, *cells = row
        if len(name) > widths[0]:
            lines.append(name)
            name = ""
        numbers = (cell.rjust(width) for cell, width in zip(cells, widths[1:], strict=True))
        lines.append("  ".join([name.ljust(widths[0]), *numbers]).rstrip())
        if not number:
            lines.append("-" * (sum(widths) + 2 * (len(widths) - 1)))
    for note in table.notes:
        lines += textwrap.wrap(note, WIDTH, initial_indent="* ", subsequent_indent="  ")
    return "\n".join(lines)


def as_markdown(table: Table) -> str:
    """The table for a reader of the repository."""
    lines = [f"## {table.title}", ""]
    if table.about:
        lines += [table.about, ""]
    lines.append("| " + " | ".join(table.columns) + " |")
    lines.append("|" + "|".join(["---", *["---:"] * (len(table.columns) - 1)]) + "|")
    lines += ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in table.rows]
    if table.notes:
        lines += ["", *(f"- {note}" for note in table.notes)]
    return "\n".join([*lines, ""])


def machine(packages: Sequence[str] = PACKAGES) -> dict[str, Any]:
    """What the figures depend on; nothing that names this machine or where it stands."""
    return {
        "cores": os.cpu_count(),
        "processor": platform.machine(),
        "system": platform.system(),
        "python": platform.python_version(),
        "packages": {name: version(name) for name in packages},
    }


def commit() -> str:
    """The short commit that was measured, or `worktree` where files differ from it."""
    here = Path(__file__).parent
    try:
        # Results of earlier runs are not part of what is measured.
        command = ["git", "status", "--porcelain", "--", ":/", ":(top,exclude)benchmarks/results"]
        if subprocess.run(command, cwd=here, check=True, capture_output=True, text=True).stdout:
            return "worktree"
        command = ["git", "rev-parse", "--short", "HEAD"]
        return subprocess.run(command, cwd=here, check=True, capture_output=True, text=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "worktree"


def facts_line(facts: dict[str, Any]) -> str:
    """The machine in one sentence."""
    packages = ", ".join(f"{name} {number}" for name, number in facts["packages"].items())
    return f"{facts['cores']} cores, {facts['processor']}, {facts['system']}, Python {facts['python']}; {packages}."


def write(
    tables: list[Table],
    facts: dict[str, Any],
    *,
    folder: Path,
    summary: list[str],
    name: str = "core",
    image: str | None = None,
) -> list[str]:
    """Write both files of `make bench-<name>` and return their names; `image` says what the plot beside them shows."""
    folder.mkdir(parents=True, exist_ok=True)
    stem = f"{name}-{facts['commit']}"
    measured = [
        {"title": table.title, "about": table.about, "notes": table.notes, "figures": table.figures} for table in tables
    ]
    figures = {**facts, "summary": summary, "tables": measured}
    (folder / f"{stem}.json").write_text(json.dumps(figures, indent=1, ensure_ascii=False) + "\n")
    head = [
        f"# bench-{name} at {facts['commit']}",
        "",
        facts_line(facts),
        "",
        *(f"- {line}" for line in summary),
        "",
        *([f"![{image}]({stem}.png)", ""] if image else []),
    ]
    (folder / f"{stem}.md").write_text("\n".join([*head, *map(as_markdown, tables)]))
    return [f"{stem}.json", f"{stem}.md"]


def milliseconds(seconds: float) -> str:
    """Three figures, in milliseconds."""
    value = seconds * 1e3
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}" if value >= 0.1 else f"{value:.4f}"


def times(ratio: float) -> str:
    """A ratio to Brimful: above 1 the other is slower, below 1 it is faster."""
    if ratio != ratio:  # what it is compared with has failed
        return ""
    return f"{ratio:,.0f}x" if ratio >= 10 else f"{ratio:.2g}x"


def percent(share: float) -> str:
    """A share in whole percents."""
    return f"{share:.0%}"
