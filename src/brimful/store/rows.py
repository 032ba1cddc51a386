"""What is known of a stored document before any of its text is read? Rows, cards, columns of all of them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from blake3 import blake3

from brimful.errors import DocumentError
from brimful.index.segments import Numbers
from brimful.outline.kinds import Kind

BLOCK_BYTES = 65_536
"""Bytes of text in a stored block; no single read is ever larger than a few of them (085b §4)."""


class Row(NamedTuple):
    """A live document as the store knows it."""

    number: int
    path: str
    id: str
    content_hash: bytes
    length: int
    time: int | None = None
    kind: Kind = "prose"
    language: str | None = None
    rule: str = "utf-8"
    title: str | None = None


NO_TIME = int(np.iinfo(np.int64).min)
"""Stands in the column of times for a document that has none."""


class Card(NamedTuple):
    """What search shows of a live document."""

    number: int
    path: str
    title: str | None
    length: int
    time: int | None
    kind: Kind
    language: str | None


class Listed(NamedTuple):
    """What is told of a document in a list; its lines only where they were counted."""

    path: str
    title: str | None
    bytes: int
    kind: Kind
    language: str | None
    time: int | None
    lines: int | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Documents:
    """All live documents in columns, by path: a row means the same after any history, a number does not."""

    numbers: Numbers
    paths: Sequence[str]
    titles: Sequence[str | None]
    lengths: Numbers
    times: Numbers  # NO_TIME where there is none
    kinds: Sequence[Kind]
    languages: Sequence[str | None]
    _sorted: Numbers  # the numbers, ascending
    _rows: Numbers  # and the row of each

    @classmethod
    def of(cls, columns: Sequence[Sequence[Any]]) -> Documents:
        """What cards say, given as a column for each of their fields.

        >>> cards = [Card(7, "b.md", None, 4, None, "prose", None), Card(9, "a.md", "A", 5, 60, "prose", None)]
        >>> found = Documents.of(list(zip(*cards)))
        >>> found.paths, found.numbers.tolist(), found.row_of(7), found.rows_of(np.array([9, 7, 9])).tolist()
        (('a.md', 'b.md'), [9, 7], 1, [0, 1, 0])
        """
        order = sorted(range(len(columns[1])), key=columns[1].__getitem__)
        numbers, paths, titles, lengths, times, kinds, languages = (
            tuple(map(column.__getitem__, order)) for column in columns
        )
        known = np.array([NO_TIME if time is None else time for time in times], np.int64)
        column = np.array(numbers, np.int64)
        rows = np.argsort(column)
        sizes = np.array(lengths, np.int64)
        names: dict[str | None, Any] = {}  # equal ones as one object: a million documents have two dozen languages
        kinds, languages = (tuple(names.setdefault(name, name) for name in column) for column in (kinds, languages))
        return cls(column, paths, titles, sizes, known, kinds, languages, column[rows], rows)

    def __len__(self) -> int:
        return len(self.numbers)

    def listed(self, row: int) -> Listed:
        """What is told of one of them."""
        time = int(self.times[row])
        return Listed(
            self.paths[row],
            self.titles[row],
            int(self.lengths[row]),
            self.kinds[row],
            self.languages[row],
            None if time == NO_TIME else time,
        )

    def description(self) -> str:
        """A hash of what search uses beside path, time and content, which are under the root: titles, kinds, languages.

        >>> rest = [[4], [None], ["prose"], [None]]
        >>> one, other = (Documents.of([[1], ["a.md"], [title], *rest]) for title in ("A", "B"))
        >>> one.description() == one.description(), one.description() == other.description()
        (True, False)
        """
        columns = [list(self.paths), list(self.titles), list(self.kinds), list(self.languages)]
        return blake3(json.dumps(columns, separators=(",", ":")).encode()).hexdigest()

    def row_of(self, number: int) -> int:
        """The row of a document's number."""
        return int(self.rows_of(np.array([number], np.int64))[0])

    def rows_of(self, numbers: Numbers) -> Numbers:
        """The rows of many numbers at once."""
        at = self._sorted.searchsorted(numbers)
        known = at < len(self)
        known[known] = self._sorted[at[known]] == numbers[known]
        if not known.all():
            raise DocumentError(f"no live document has the number {numbers[~known][0]}; ask the same snapshot")
        return self._rows[at]


class Extents(NamedTuple):
    """Live stretches of documents on a segment's axis, in its order."""

    bases: Numbers
    ends: Numbers
    documents: Numbers  # whose they are
    starts: Numbers  # where in the document they begin
