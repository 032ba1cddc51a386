"""Write what is made from the table of the command line and from the choices of a question; a test compares all of it.

docs/cli.md (below its mark)       every command's help, for readers
docs/choices.md (below its mark)   every choice of a question: values, range, default, option
"""

import os
import sys
from pathlib import Path

from brimful.choices import Choice, span_of
from brimful.settings import ASKED, CHOICES
from brimful.surfaces.cli.dispatch import help_of
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
    option = {each.name: each for each in COMMANDS["context"].options if each.choice}
    rows = [
        _row(name, told, " / ".join((*option[name].flags, *option[name].off)) if name in option else "--synonyms FILE")
        for name, told in ASKED.items()
    ]
    lines = ["## Each question", "", "| name | values | default | option | |", "|---|---|---|---|---|", *rows]
    for part, title in PARTS.items():
        named = {name: told for name, told in CHOICES.items() if name.startswith(f"{part}.")}
        rows = [_row(name, told) for name, told in named.items()]
        lines += ["", f"## {title}", "", "| name | values | default | |", "|---|---|---|---|", *rows]
    return f"{REFERENCE.read_text(encoding='utf-8').partition(MARK)[0]}{MARK}\n\n" + "\n".join(lines) + "\n"


def _row(name: str, told: Choice, option: str | None = None) -> str:
    cells = [f"`{name}`", _values(told), f"`{_default(told)}`", *([] if option is None else [f"`{option}`"]), told.help]
    return f"| {' | '.join(cells)} |"


def _values(told: Choice) -> str:
    if told.names:
        found = ", ".join(f"`{each}`" for each in told.names)
    elif told.kind in ("int", "float"):
        found = span_of(told) + (f", in {told.unit}" if told.unit else "")
    else:
        found = {"bool": "on, off", "text": "a text", "texts": "texts"}[told.kind]
    return f"{found}; none" if told.may_be_none else found


def _default(told: Choice) -> str:
    if isinstance(told.default, bool):
        return "on" if told.default else "off"
    return "none" if told.default in (None, ()) else str(told.default)


WRITTEN = {PAGE: page, REFERENCE: reference}

if __name__ == "__main__":
    for file, text in WRITTEN.items():
        file.write_text(text(), encoding="utf-8")
    sys.stdout.write(f"written: {', '.join(str(file.relative_to(ROOT)) for file in WRITTEN)}\n")
