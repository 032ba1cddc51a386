"""A fragment loader for the program llm: `llm -f brimful:notes.db:"When is tea?" "Answer from this."`.

What stands before the question is a store, or a folder. `brimful context` runs with the settings of the environment and
of the current folder (`BRIMFUL_BUDGET`, `BRIMFUL_MODEL`).
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import llm


def register_fragment_loaders(register: Callable[[str, Callable[[str], llm.Fragment]], None]) -> None:
    """Tell llm what `brimful:` means."""
    register("brimful", _fragment)


llm.hookimpl(register_fragment_loaders)


def _fragment(argument: str) -> llm.Fragment:
    """The context that answers a question of a place, `PLACE:QUESTION`; a ValueError where there is none."""
    colons = (colon for colon, sign in enumerate(argument) if sign == ":")
    end = next((colon for colon in colons if Path(argument[:colon]).expanduser().exists()), None)
    if end is None:
        raise ValueError(f"{argument!r} names no store or folder before its question; write brimful:notes.db:QUESTION")
    place, question = Path(argument[:end]).expanduser(), argument[end + 1 :]
    named = ["--", question, str(place)] if place.is_dir() else ["--store", str(place), "--", question]
    command = [sys.executable, "-m", "brimful", "context", *named]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", check=False)  # noqa: S603
    if done.returncode:
        raise ValueError(done.stderr.strip())
    return llm.Fragment(done.stdout, source=f"brimful:{argument}")
