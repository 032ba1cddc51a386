"""Write every command's help into docs/cli.md, below its mark; a test compares the two."""

import os
import subprocess
import sys
from pathlib import Path

PAGE = Path(__file__).resolve().parent.parent / "docs" / "cli.md"
MARK = "<!-- Everything below is written by `make cli-docs`. -->"
COMMANDS = ("", *"context search add status verify densify capture captures eval remove purge serve mcp".split())


def helps() -> str:
    """The help of the program and of every command, at 80 columns."""
    environment = {**os.environ, "COLUMNS": "80", "NO_COLOR": "1"}
    parts = []
    for command in COMMANDS:
        arguments = [sys.executable, "-m", "brimful", *command.split(), "--help"]
        done = subprocess.run(arguments, capture_output=True, text=True, env=environment, check=True)
        shown = "\n".join(line.rstrip() for line in done.stdout.strip().splitlines())
        parts.append(f"## {' '.join(['brimful', *command.split()])}\n\n```text\n{shown}\n```\n")
    return "\n".join(parts)


def page() -> str:
    """The page as it should be."""
    return f"{PAGE.read_text(encoding='utf-8').partition(MARK)[0]}{MARK}\n\n{helps()}"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
