"""Folders, files and texts into a store: the one way in."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Literal

from brimful.documents.skips import Skipped

Done = Literal["added", "changed", "renamed", "removed"]


@dataclass(slots=True)
class Report:
    """What adding a place did, file by file.

    >>> report = Report(folder="docs/")
    >>> report.note("added", "tea.md")
    >>> report, report.files
    (Report(folder='docs/', added=1), [('added', 'docs/tea.md')])
    """

    added: int = 0
    changed: int = 0
    unchanged: int = 0
    renamed: int = 0
    removed: int = 0
    skipped: list[Skipped] = field(default_factory=list)
    files: list[tuple[str, str]] = field(default_factory=list)  # what was done to which, in the order of doing
    folder: str = ""  # what stands in front of the paths of one place's files: `docs/`

    def __repr__(self) -> str:
        counts = {name: getattr(self, name) for name in ("added", "changed", "unchanged", "renamed", "removed")}
        shown = [f"{name}={count}" for name, count in {**counts, "skipped": len(self.skipped)}.items() if count]
        return f"Report({', '.join([f'folder={self.folder!r}', *shown])})"

    def note(self, done: Done, path: str) -> None:
        """Count a file, and name it as its documents are."""
        setattr(self, done, getattr(self, done) + 1)
        self.files.append((done, self.folder + path))

    def skip(self, skipped: Skipped) -> None:
        """List what was left out, by the name that it would have."""
        path = self.folder + skipped.path if skipped.path != "./" else self.folder or "./"
        self.skipped.append(replace(skipped, path=path))
