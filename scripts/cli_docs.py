"""Write the generated part of two pages of docs from the table of commands and the choices; a test compares them.

docs/cli.md       the help of every command
docs/choices.md   every choice of a question: values, range, default, option
"""

import os
import sys
from pathlib import Path

from brimful.choices import Choice, span_of
from brimful.settings import ASKED, CHOICES
from brimful.surfaces.cli.parsing import help_of
from brimful.surfaces.cli.table import COMMANDS

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "cli.md"
REFERENCE = ROOT / "docs" / "choices.md"
MARK = "<!-- Everything below is written by `make cli-docs`. -->"
PARTS = {
    "windows": "How hits become windows",
    "field": "What counts how much",
    "densify": "How a text is condensed",
}


def page() -> str:
    """docs/cli.md as it should be."""
    os.environ["COLUMNS"] = "80"
    parts = [f"## {f'brimful {name}'.strip()}\n\n```text\n{help_of(name)}```\n" for name in ("", *COMMANDS)]
    return f"{PAGE.read_text(encoding='utf-8').partition(MARK)[0]}{MARK}\n\n" + "\n".join(parts)


def reference() -> str:
    """docs/choices.md as it should be."""
    flags = {option.name: (*option.flags, *option.off) for option in COMMANDS["context"].options if option.choice}
    rows = [_row(name, choice, " / ".join(flags.get(name, ("--set",)))) for name, choice in ASKED.items()]
    lines = ["## Each question", "", "| name | values | default | option | |", "|---|---|---|---|---|", *rows]
    for part, title in PARTS.items():
        rows = [_row(name, choice) for name, choice in CHOICES.items() if name.startswith(f"{part}.")]
        lines += ["", f"## {title}", "", "| name | values | default | |", "|---|---|---|---|", *rows]
    return f"{REFERENCE.read_text(encoding='utf-8').partition(MARK)[0]}{MARK}\n\n" + "\n".join(lines) + "\n"


def _row(name: str, choice: Choice, option: str | None = None) -> str:
    flags = [] if option is None else [f"`{option}`"]
    return f"| {' | '.join([f'`{name}`', _values(choice), f'`{_default(choice)}`', *flags, choice.help])} |"


def _values(choice: Choice) -> str:
    if choice.names:
        values = ", ".join(f"`{name}`" for name in choice.names)
    elif choice.kind in ("int", "float"):
        span = span_of(choice).removeprefix("a whole number").removeprefix(" from").removeprefix(",").strip()
        values = span.replace("a number", "decimal").replace("between ", "").replace(" and ", " to ")
        values += f" {choice.unit}" if choice.unit else ""
    else:
        values = {"bool": "on, off", "text": "a text", "texts": "texts"}[choice.kind]
    return f"{values}; none" if choice.may_be_none else values


def _default(choice: Choice) -> str:
    if isinstance(choice.default, bool):
        return "on" if choice.default else "off"
    return "none" if choice.default in (None, ()) else str(choice.default)


WRITTEN = {PAGE: page, REFERENCE: reference}

if __name__ == "__main__":
    for file, text in WRITTEN.items():
        file.write_text(text(), encoding="utf-8")
    sys.stdout.write(f"written: {', '.join(str(file.relative_to(ROOT)) for file in WRITTEN)}\n")
