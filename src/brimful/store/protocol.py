"""What is true of a corpus at one moment? The one Snapshot type that every store gives."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from brimful.corpus.loaders.loaded import SourceMap
from brimful.errors import DocumentError
from brimful.index.columns import Numbers
from brimful.index.places import Places
from brimful.index.vectors import Codes
from brimful.store.merkle import Proof
from brimful.text.kinds import Kind

BLOCK_BYTES = 65_536
"""Bytes of text in a stored block; no single read is ever larger than a few of them (085b §4)."""


@dataclass(frozen=True, slots=True)
class Row:
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
    by_number: Numbers  # the rows by ascending number

    @classmethod
    def of(cls, rows: Iterable[Row | Card]) -> Documents:
        """Columns of some rows.

        >>> found = Documents.of([Row(7, "b.md", "", b"", 4), Row(9, "a.md", "", b"", 5, time=60)])
        >>> found.paths, found.numbers.tolist(), found.row_of(7), found.rows_of(np.array([9, 7, 9])).tolist()
        (['a.md', 'b.md'], [9, 7], 1, [0, 1, 0])
        """
        found = sorted(rows, key=lambda row: row.path)
        numbers = np.array([row.number for row in found], np.int64)
        return cls(
            numbers,
            [row.path for row in found],
            [row.title for row in found],
            np.array([row.length for row in found], np.int64),
            np.array([NO_TIME if row.time is None else row.time for row in found], np.int64),
            [row.kind for row in found],
            [row.language for row in found],
            np.argsort(numbers),
        )

    def __len__(self) -> int:
        return len(self.numbers)

    def row_of(self, number: int) -> int:
        """The row of a document's number."""
        return int(self.rows_of(np.array([number], np.int64))[0])

    def rows_of(self, numbers: Numbers) -> Numbers:
        """The rows of many numbers at once."""
        at = self.numbers[self.by_number].searchsorted(numbers)
        rows = self.by_number[np.minimum(at, max(len(self) - 1, 0))] if len(self) else at - 1
        if len(numbers) and not (len(self) and (self.numbers[rows] == numbers).all()):
            raise DocumentError(
                f"no live document has one of the numbers {numbers[:5].tolist()}; ask the same snapshot"
            )
        return rows


class Extents(NamedTuple):
    """Live stretches of documents on a segment's axis, in its order."""

    bases: Numbers
    ends: Numbers
    documents: Numbers  # whose they are
    starts: Numbers  # where in the document they begin


class Heads(NamedTuple):
    """Headings on a segment's axis, in its order."""

    starts: Numbers
    ends: Numbers
    levels: Numbers


class SegmentView(Protocol):
    """Extents on one axis, with everything that is looked up by position.

    How documents are spread over segments is history: nothing that is shown may depend on it.
    """

    @property
    def number(self) -> int:
        """Tells segments of one snapshot apart."""
        ...

    @property
    def length(self) -> int:
        """Bytes of the axis, dead text included."""
        ...

    @property
    def extents(self) -> Extents:
        """What is live; they never overlap."""
        ...

    @property
    def units(self) -> Numbers:
        """Where units begin, ascending, dead ones included; a unit ends at the next one or with its extent."""
        ...

    @property
    def sections(self) -> Numbers:
        """Where sections begin, likewise."""
        ...

    @property
    def heads(self) -> Heads:
        """Headings, dead ones included."""
        ...

    @property
    def codes(self) -> Codes | None:
        """A row of 32 bytes for each of `units`; None in a store without vectors."""
        ...

    def positions(self, term: bytes) -> Numbers:
        """Where a term stands in live text, ascending."""
        ...

    def names(self, prefix: bytes) -> list[bytes]:
        """The terms that begin so, sorted, those of dead text included; no positions are read."""
        ...


class Snapshot(Protocol):
    """One generation of a corpus with one state root; nothing in it ever changes."""

    @property
    def generation(self) -> int:
        """Counts the commits."""
        ...

    @property
    def root(self) -> bytes:
        """The state root over path, time and content of all live documents."""
        ...

    @property
    def model(self) -> str | None:
        """Whose vectors the unit codes were made of; None without any."""
        ...

    def segments(self) -> Sequence[SegmentView]:
        """Everything that is indexed, by ascending number."""
        ...

    def documents(self) -> Documents:
        """All live documents in columns, read once."""
        ...

    def rows(self) -> Iterator[Row]:
        """Live documents by path."""
        ...

    def row(self, path: str) -> Row | None:
        """The live document of that path."""
        ...

    def read(self, number: int, start: int, end: int) -> bytes:
        """Bytes of a document, verified."""
        ...

    def places(self, term: bytes) -> Places:
        """Every occurrence of a term in live documents."""
        ...

    def census(self, term: bytes) -> int:
        """How many occurrences there are (105 §2.3 phase 1)."""
        ...

    def source_map(self, number: int) -> SourceMap | None:
        """The way back from a document's text to its original; None where a byte is a byte."""
        ...

    def units(self, number: int) -> Numbers:
        """The cut points of a document's units, its length included."""
        ...

    def prove(self, path: str) -> Proof:
        """That a document is under the root."""
        ...
