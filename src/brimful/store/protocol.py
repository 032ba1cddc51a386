"""What is true of a corpus at one moment? The one Snapshot type that every store gives."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
from blake3 import blake3
from numpy.typing import NDArray

from brimful.errors import DocumentError
from brimful.index.segments import Numbers, Places
from brimful.index.vectors import Codes
from brimful.store.merkle import Proof
from brimful.store.ready import Ready
from brimful.text.kinds import Kind
from brimful.text.outline import Heads

if TYPE_CHECKING:
    from brimful.corpus.loaders.loaded import SourceMap
    from brimful.store.format import BlobReader

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
    def of(cls, cards: Iterable[Card]) -> Documents:
        """Columns of some cards.

        >>> cards = [Card(7, "b.md", None, 4, None, "prose", None), Card(9, "a.md", "A", 5, 60, "prose", None)]
        >>> found = Documents.of(cards)
        >>> found.paths, found.numbers.tolist(), found.row_of(7), found.rows_of(np.array([9, 7, 9])).tolist()
        (('a.md', 'b.md'), [9, 7], 1, [0, 1, 0])
        """
        return cls.of_columns(list(zip(*cards, strict=True)) or [()] * len(Card._fields))

    @classmethod
    def of_columns(cls, columns: Sequence[Sequence[Any]]) -> Documents:
        """The same of cards whose fields are columns already, one for each field."""
        order = sorted(range(len(columns[1])), key=columns[1].__getitem__)
        numbers, paths, titles, lengths, times, kinds, languages = (
            tuple(map(column.__getitem__, order)) for column in columns
        )
        known = np.array([NO_TIME if time is None else time for time in times], np.int64)
        column = np.array(numbers, np.int64)
        rows = np.argsort(column)
        sizes = np.array(lengths, np.int64)
        kinds, languages = _shared(kinds), _shared(languages)
        return cls(column, paths, titles, sizes, known, kinds, languages, column[rows], rows)

    def arrays(self) -> list[NDArray[Any]]:
        """All of it as arrays, texts as JSON."""
        kinds, languages = (sorted(set(column), key=str) for column in (self.kinds, self.languages))
        coded = [
            np.array([known.index(value) for value in column], np.int32)
            for known, column in ((kinds, self.kinds), (languages, self.languages))
        ]
        told = json.dumps([self.paths, self.titles, kinds, languages]).encode()
        return [self.numbers, self.lengths, self.times, *coded, np.frombuffer(told, np.uint8)]

    @classmethod
    def of_arrays(cls, *arrays: NDArray[Any]) -> Documents:
        """The same back; a ValueError where they are no such arrays.

        >>> cards = [Card(7, "b.md", None, 4, None, "prose", None), Card(9, "a.md", "A", 5, 60, "code", "go")]
        >>> Documents.of_arrays(*Documents.of(cards).arrays()).listed(0) == Documents.of(cards).listed(0)
        True
        """
        numbers, lengths, times, *_ = arrays
        paths, titles, *known = json.loads(arrays[-1].tobytes())
        if {array.dtype for array in arrays[:3]} != {np.dtype(np.int64)}:
            raise ValueError("numbers, lengths and times are whole numbers")
        if {*map(len, arrays[:-1]), len(titles)} != {len(paths)}:
            raise ValueError("every document has a value in every column")
        named = (tuple(map(names.__getitem__, each.tolist())) for names, each in zip(known, arrays[3:5], strict=True))
        rows = np.argsort(numbers)
        return cls(numbers, tuple(paths), tuple(titles), lengths, times, next(named), next(named), numbers[rows], rows)

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

        >>> one, other = (Documents.of([Card(1, "a.md", title, 4, None, "prose", None)]) for title in ("A", "B"))
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


def _shared(values: Sequence[Any]) -> tuple[Any, ...]:
    """The same values, equal ones as one object: a million documents have two dozen languages."""
    known = {value: value for value in values}
    return tuple(known[value] for value in values)


class Extents(NamedTuple):
    """Live stretches of documents on a segment's axis, in its order."""

    bases: Numbers
    ends: Numbers
    documents: Numbers  # whose they are
    starts: Numbers  # where in the document they begin


class SegmentView(Protocol):
    """Extents on one axis, with everything that is looked up by position.

    How documents are spread over segments is history: nothing that is shown may depend on it.
    """

    @property
    def number(self) -> int:
        """Tells segments of one snapshot apart."""

    @property
    def length(self) -> int:
        """Bytes of the axis, dead text included."""

    @property
    def extents(self) -> Extents:
        """What is live; they never overlap."""

    @property
    def units(self) -> Numbers:
        """Where units begin, ascending, dead ones included; a unit ends at the next one or with its extent."""

    @property
    def unit_starts(self) -> NDArray[np.int64] | NDArray[np.uint32]:
        """The same column in as few bytes as hold it; not to be changed."""

    @property
    def sections(self) -> Numbers:
        """Where sections begin, likewise."""

    @property
    def heads(self) -> Heads:
        """Headings, dead ones included."""

    @property
    def codes(self) -> Codes | None:
        """A row of 32 bytes for each of `units`; None in a store without vectors."""

    def code_parts(self) -> Iterator[Codes] | None:
        """The same rows, some hundreds of them at a time."""

    def codes_of(self, units: Numbers) -> Codes | None:
        """The rows of some ascending units, of which only those are read."""

    @property
    def dead(self) -> int:
        """Extents that are no longer live."""

    @property
    def firsts(self) -> list[bytes]:
        """The first term of every page."""

    @property
    def shelf(self) -> BlobReader:
        """Where its pages of terms are read from, those of several segments together."""

    def positions(self, term: bytes) -> Numbers:
        """Where a term stands in live text, ascending."""

    def is_live(self, positions: NDArray[np.integer]) -> NDArray[np.bool_]:
        """Which positions lie in live text."""

    def count(self, term: bytes) -> int:
        """How often a term stands in live text."""

    def names(self, prefix: bytes) -> list[bytes]:
        """The terms that begin so, sorted, those of dead text included; no positions are read."""

    def little_words(self) -> Numbers | None:
        """How often each of the words stands that tell languages apart; None where it must be looked up."""

    def live_names(self, prefix: bytes) -> list[bytes]:
        """The same without those that only dead text has: what was deleted changes nothing that is shown."""

    def words(self) -> bytes:
        """Of all these the ones that are made of letters, and perhaps some others: sorted, a newline behind each."""

    def text(self, start: int, end: int) -> bytes:
        """Bytes of the axis inside one extent."""

    def texts(self, starts: Iterable[int], ends: Iterable[int]) -> list[bytes]:
        """The same of several places."""


class Snapshot(Protocol):
    """One generation of a corpus with one state root; nothing in it ever changes."""

    @property
    def generation(self) -> int:
        """Counts the commits."""

    @property
    def root(self) -> bytes:
        """The state root over path, time and content of all live documents."""

    @property
    def model(self) -> str | None:
        """Whose vectors the unit codes were made of; None without any."""

    @property
    def missing(self) -> tuple[str, ...]:
        """The shards that this moment goes without, since they can't be reached."""

    @property
    def ready(self) -> Ready:
        """What of it lies ready, made by another process; nothing, where there is no file."""

    def leave_ready(self) -> None:
        """Write down what was made of the whole corpus, for the next process."""

    def check_held(self, path: str) -> None:
        """Raise where a document may lie in one of them."""

    def expect(self, paths: Iterable[str], *, proofs: bool = False) -> None:
        """Be told which documents will be asked for; whoever is far away fetches them at once."""

    def expect_terms(self, terms: Sequence[bytes]) -> None:
        """The same of terms that will be looked for, or of beginnings of terms."""
        ...

    def expect_words(self) -> None:
        """The same of the words of all segments."""
        ...

    def near_elsewhere(
        self, views: Sequence[Any], meaning: Numbers, *, least: int, limit: int | None
    ) -> list[tuple[Numbers, Numbers]] | None:
        """The stored units of each segment that are alike to a question, and their scores; None to read codes here.

        With a `limit` so many of the best live ones of each, and those that are as good as the last.
        """
        ...

    def scores_elsewhere(self, wanted: Sequence[tuple[Any, Numbers]], meaning: Numbers) -> list[Numbers] | None:
        """How alike some stored units of each segment are to a question; None to read codes here."""
        ...

    def segments(self) -> Sequence[SegmentView]:
        """Everything that is indexed, by ascending number."""

    def documents(self) -> Documents:
        """All live documents in columns, read once."""

    def rows(self) -> Iterator[Row]:
        """Live documents by path."""

    def row(self, path: str) -> Row | None:
        """The live document of that path."""

    def read(self, number: int, start: int, end: int) -> bytes:
        """Bytes of a document, verified."""

    def places(self, term: bytes) -> Places:
        """Every occurrence of a term in live documents."""

    def census(self, term: bytes) -> int:
        """How many occurrences there are (105 §2.3 phase 1)."""

    def source_map(self, number: int) -> SourceMap | None:
        """The way back from a document's text to its original; None where a byte is a byte."""

    def units(self, number: int, start: int = 0, end: int | None = None) -> Numbers:
        """The cut points of a document's units, its length included; or those from `start` until before `end`."""

    def sections(self, number: int, start: int = 0, end: int | None = None) -> Numbers:
        """The cut points of its sections, likewise."""

    def heads(self, number: int) -> Heads:
        """Its headings and first lines of definitions."""

    def prove(self, path: str) -> Proof:
        """That a document is under the root."""
