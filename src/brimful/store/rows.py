"""The facts of stored documents without their text: rows, cards, and columns of all of them."""

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


class Card(NamedTuple):
    """The facts of a live document that search shows."""

    number: int
    path: str
    title: str | None
    length: int
    time: int | None
    kind: Kind
    language: str | None


class Row(NamedTuple):
    """The columns of a document in its table, but for the seal; its number is 0 until it is stored."""

    number: int
    path: str
    raw_id: bytes
    content_hash: bytes
    leaf: bytes
    bucket: int
    length: int
    time: int | None
    kind: Kind
    language: str | None
    rule: str
    title: str | None
    origin: str | None
    stamp: str | None

    @property
    def id(self) -> str:
        """The id as documents have it."""
        return self.raw_id.hex()

    @property
    def card(self) -> Card:
        """The facts that search shows."""
        return Card(self.number, self.path, self.title, self.length, self.time, self.kind, self.language)


COLUMNS = ", ".join(Row._fields).replace("raw_id", "id")
"""The columns of documents in a statement."""
NO_TIME = int(np.iinfo(np.int64).min)
"""The time of a document without one, in the column of times."""


class Listed(NamedTuple):
    """A document in a list; its lines only where they were counted."""

    path: str
    title: str | None
    bytes: int
    kind: Kind
    language: str | None
    time: int | None
    lines: int | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Documents:
    """All live documents in columns, by path: the row of a document does not depend on history, its number does."""

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
        """All documents from a column for each field of a card.

        >>> cards = [Card(7, "b.md", None, 4, None, "prose", None), Card(9, "a.md", "A", 5, 60, "prose", None)]
        >>> documents = Documents.of(list(zip(*cards)))
        >>> documents.paths, documents.numbers.tolist(), documents.rows_of(np.array([9, 7, 9])).tolist()
        (('a.md', 'b.md'), [9, 7], [0, 1, 0])
        """
        order = sorted(range(len(columns[1])), key=columns[1].__getitem__)
        numbers, paths, titles, lengths, times, kinds, languages = (
            tuple(map(column.__getitem__, order)) for column in columns
        )
        seconds = np.array([NO_TIME if time is None else time for time in times], np.int64)
        column = np.array(numbers, np.int64)
        rows = np.argsort(column)
        sizes = np.array(lengths, np.int64)
        names: dict[str | None, Any] = {}  # equal ones as one object: a million documents have two dozen languages
        kinds, languages = (tuple(names.setdefault(name, name) for name in column) for column in (kinds, languages))
        return cls(column, paths, titles, sizes, seconds, kinds, languages, column[rows], rows)

    def __len__(self) -> int:
        return len(self.numbers)

    def listed(self, row: int) -> Listed:
        """The entry of a row in a list."""
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
        """A hash of titles, kinds and languages, which search uses and which are not under the root.

        >>> rest = [[4], [None], ["prose"], [None]]
        >>> one, other = (Documents.of([[1], ["a.md"], [title], *rest]) for title in ("A", "B"))
        >>> one.description() == one.description(), one.description() == other.description()
        (True, False)
        """
        columns = [list(self.paths), list(self.titles), list(self.kinds), list(self.languages)]
        return blake3(json.dumps(columns, separators=(",", ":")).encode()).hexdigest()

    def rows_of(self, numbers: Numbers) -> Numbers:
        """The rows of many numbers at once."""
        places = self._sorted.searchsorted(numbers)
        is_live = places < len(self)
        is_live[is_live] = self._sorted[places[is_live]] == numbers[is_live]
        if not is_live.all():
            raise DocumentError(f"no live document has the number {numbers[~is_live][0]}; ask the same snapshot")
        return self._rows[places]


class Extents(NamedTuple):
    """Live stretches of documents on a segment's axis, in its order."""

    bases: Numbers
    ends: Numbers
    documents: Numbers  # whose they are
    starts: Numbers  # where in the document they begin
