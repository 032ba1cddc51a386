"""What is a model asked? The prompts are the text files beside this one."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Literal

from blake3 import blake3

Task = Literal["part", "merge"]


@dataclass(frozen=True, slots=True)
class _Prompt:
    """A prompt around a text: what stands before it and behind it, with a place for the number of words."""

    task: Task
    before: str
    behind: str

    def render(self, text: str, *, words: int) -> str:
        """The whole prompt; the text is put in as it is, and nothing in it is taken for a place to fill.

        >>> prompt("part").render("{{words}}", words=80).count("80")
        1
        """
        return f"{self.before.replace('{{words}}', str(words))}{text}{self.behind}"

    @property
    def identity(self) -> bytes:
        """A hash of the prompt's own words, so that answers to an older prompt are not taken for answers to this."""
        return blake3(f"{self.task}\0{self.before}\0{self.behind}".encode()).digest(16)


@cache
def prompt(task: Task) -> _Prompt:
    """The prompt for a task, from its file."""
    whole = files(__package__).joinpath(f"{task}.txt").read_text("utf-8").rstrip("\n")
    before, _, behind = whole.partition("{{text}}")
    return _Prompt(task, before, behind)
