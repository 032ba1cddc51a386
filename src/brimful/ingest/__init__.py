"""Folders, files and texts into a store: the one way in."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Literal

from brimful.documents.skips import Skipped

Change = Literal["added", "changed", "renamed", "removed"]


@dataclass(slots=True)
class Report:
    """The changes that adding a place made, file by file.

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
    files: list[tuple[str, str]] = field(default_factory=list)  # (change, path), in the order of the changes
    folder: str = ""  # in front of the paths of a place's files: `docs/`

    def __repr__(self) -> str:
        counts = {name: getattr(self, name) for name in ("added", "changed", "unchanged", "renamed", "removed")}
        parts = [f"{name}={count}" for name, count in {**counts, "skipped": len(self.skipped)}.items() if count]
        return f"Report({', '.join([f'folder={self.folder!r}', *parts])})"

    @property
    def changes(self) -> int:
        """Files whose documents changed in the store."""
        return self.added + self.changed + self.renamed + self.removed

    def note(self, change: Change, path: str) -> None:
        """Count a file and list it under its name in the store."""
        setattr(self, change, getattr(self, change) + 1)
        self.files.append((change, self.folder + path))

    def skip(self, skipped: Skipped) -> None:
        """List a file that was left out, under the name that it would have in the store."""
        path = self.folder + skipped.path if skipped.path != "./" else self.folder or "./"
        self.skipped.append(replace(skipped, path=path))
