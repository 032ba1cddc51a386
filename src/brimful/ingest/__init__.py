"""Folders, files and texts into a store: the one way in."""

from __future__ import annotations

from dataclasses import field
from typing import Literal

from brimful.classes import dataclass
from brimful.corpus.skips import Skipped

Done = Literal["added", "changed", "renamed", "removed"]


@dataclass(slots=True)
class Report:
    """What adding a place did, file by file."""

    added: int = 0
    changed: int = 0
    unchanged: int = 0
    renamed: int = 0
    removed: int = 0
    skipped: list[Skipped] = field(default_factory=list)
    files: list[tuple[str, str]] = field(default_factory=list)  # what was done to which, in the order of doing

    def note(self, done: Done, path: str) -> None:
        """Count a file, and name it."""
        setattr(self, done, getattr(self, done) + 1)
        self.files.append((done, path))
