"""Where do units lie, and to which document does each belong? Columns over a whole snapshot.

The live units of all segments are numbered one after the other. Which number a unit has is history; what is said of
it (its neighbours within its extent, its document, its place there) is not, and only that decides anything.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from brimful.index.columns import Numbers
from brimful.index.segments import Postings
from brimful.index.vectors import CODE_BYTES, Codes
from brimful.search.forms import Form, FormWeights, forms_of
from brimful.search.query import AskedTerm
from brimful.search.spellings import Spellings
from brimful.store.protocol import Documents, SegmentView, Snapshot
from brimful.text.stems import SNOWBALL, STOP_WORDS
from brimful.text.terms import terms_of

BLOCK_UNITS = 16
"""Neighbouring units that are looked at together when a question is first narrowed down."""

DEEPEST = 6
"""Levels of headings."""

_LEAST_TOLD = 3  # words that only this language has, before it counts as one of the corpus
_LEAST_SHARE = 10  # one in so many of the commonest language's
_KEPT_TERMS = 4_096

Ids = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Plot:
    """The live units of one segment."""

    view: SegmentView
    first: int  # the number of its first unit
    starts: Numbers  # where its units begin and end on the axis
    ends: Numbers
    stored: Numbers  # which of the view's units each is
    extents: Numbers  # which extent of the view each lies in


class Ground:
    """Everything that a question is asked of, at one moment."""

    def __init__(self, snapshot: Snapshot) -> None:
        self.snapshot = snapshot
        self.documents: Documents = snapshot.documents()
        self.plots: list[Plot] = []
        self._rows: list[Numbers] = []  # of each plot, the document of every extent
        rows: list[Numbers] = []
        inside: list[Numbers] = []
        count = 0
        for view in snapshot.segments():
            plot = _plot(view, count)
            if not len(plot.starts):
                continue
            self.plots.append(plot)
            self._rows.append(self.documents.rows_of(view.extents.documents))
            rows.append(self._rows[-1][plot.extents])
            inside.append(_places_in_run(plot.extents))
            count += len(plot.starts)
        self.rows = _joined(rows).astype(np.int32)  # the document of each unit, by path
        self.sizes = _joined([plot.ends - plot.starts for plot in self.plots]).astype(np.int32)
        places = _joined(inside)
        self.block_firsts = np.flatnonzero(places % BLOCK_UNITS == 0)  # the grid begins with each extent
        self.blocks = np.cumsum(places % BLOCK_UNITS == 0, dtype=np.int32) - 1  # which block each unit is in
        self.extent_firsts = np.flatnonzero(places == 0)
        self.extents = (
            np.cumsum(places == 0, dtype=np.int32) - 1
        )  # which extent each unit is in, of those that have any
        self.census = lru_cache(_KEPT_TERMS)(self._census)
        self.places = lru_cache(256)(self._places)
        self.forms_of = lru_cache(_KEPT_TERMS)(self._forms_of)
        self._parents: dict[int, Numbers] = {}

    def __len__(self) -> int:
        return len(self.rows)

    @cached_property
    def firsts(self) -> Numbers:
        """The number of the first unit of each plot."""
        return np.array([plot.first for plot in self.plots], np.int64)

    @cached_property
    def length(self) -> int:
        """Bytes of all live text."""
        return int(self.documents.lengths.sum())

    @cached_property
    def unit_size(self) -> int:
        """Bytes of a unit on average."""
        return max(int(self.sizes.sum(dtype=np.int64)) // max(len(self), 1), 1)

    @cached_property
    def offsets(self) -> Numbers:
        """Where in its document each unit begins."""
        return _joined(
            [plot.starts + (plot.view.extents.starts - plot.view.extents.bases)[plot.extents] for plot in self.plots]
        )

    def between(self, firsts: Ids, lasts: Ids, *, reach: int) -> Ids:
        """The units from each first to its last, ascending, and so many more on both sides, within their extents."""
        if not len(firsts):
            return firsts
        ends = np.append(self.extent_firsts[1:], len(self)) - 1
        low = np.maximum(firsts - reach, self.extent_firsts[self.extents[firsts]])
        high = np.minimum(lasts + reach, ends[self.extents[lasts]])
        low = np.maximum(low, np.concatenate(([0], np.maximum.accumulate(high)[:-1] + 1)))
        sizes = np.maximum(high - low + 1, 0)
        steps = np.arange(int(sizes.sum())) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        units: Ids = np.repeat(low, sizes) + steps
        return units

    # ---- words

    def names(self, prefix: bytes) -> list[bytes]:
        """All terms that begin so, in bytewise order; what only deleted text says is none."""
        return _merged([plot.view.live_names(prefix) for plot in self.plots])

    def _census(self, term: bytes) -> int:
        return self.snapshot.census(term)

    def _places(self, term: bytes) -> tuple[Numbers, ...]:
        """Where a term stands on the axis of each plot."""
        return tuple(plot.view.positions(term) for plot in self.plots)

    def _forms_of(self, asked: AskedTerm, weights: FormWeights) -> tuple[Form, ...]:
        """What a word of a question stands for; where it stands in the question does not matter."""
        return forms_of(asked, self, languages=self.languages, weights=weights)

    def spellings(self) -> Spellings:
        """The words of the corpus by their spelling."""
        return self._spellings

    @cached_property
    def _spellings(self) -> Spellings:
        words = (word for plot in self.plots for word in plot.view.words())
        return Spellings(list(dict.fromkeys(words)))  # whoever asks counts them too

    @cached_property
    def languages(self) -> tuple[str, ...]:
        """The languages of the corpus: those whose own little words it has, the commonest first."""
        told = {language: sum(self.census(word) for word in own) for language, own in _TELLING.items()}
        most = max(told.values(), default=0)
        known = [name for name, count in told.items() if count >= _LEAST_TOLD and count * _LEAST_SHARE >= most]
        return tuple(sorted(known, key=lambda name: (-told[name], name)))

    # ---- units

    def units_of(self, places: Sequence[Numbers]) -> Ids:
        """The unit of each position, plot by plot, ascending."""
        found = [
            plot.starts.searchsorted(positions, side="right") - 1 + plot.first
            for plot, positions in zip(self.plots, places, strict=True)
            if len(positions)
        ]
        return _joined(found)

    def blocks_with(self, places: Sequence[Numbers]) -> NDArray[np.bool_]:
        """Which blocks have any of the positions."""
        found = np.zeros(len(self.block_firsts), bool)
        for plot, (first, starts), positions in zip(self.plots, self._block_starts, places, strict=True):
            if not len(positions):
                continue
            if len(positions) < len(starts):
                found[first + starts.searchsorted(positions, side="right") - 1] = True
            else:
                before = positions.searchsorted(np.append(starts, plot.view.length))
                found[first : first + len(starts)] = np.diff(before) > 0
        return found

    @cached_property
    def _block_starts(self) -> list[tuple[int, Numbers]]:
        """Of each plot the number of its first block, and where its blocks begin on the axis."""
        bounds = self.block_firsts.searchsorted([plot.first for plot in self.plots] + [len(self)]).tolist()
        return [
            (first, plot.starts[self.block_firsts[first:last] - plot.first])
            for plot, (first, last) in zip(self.plots, pairwise(bounds), strict=True)
        ]

    def units_with(self, term: bytes) -> list[int]:
        """The units that hold a term, by path and place."""
        found = np.unique(self.units_of(self.places(term)))
        order = np.lexsort((self.offsets[found], self.rows[found]))
        ranked: list[int] = found[order].tolist()
        return ranked

    def text(self, unit: int) -> bytes:
        """What a unit says."""
        number, start = int(self.documents.numbers[self.rows[unit]]), int(self.offsets[unit])
        return self.snapshot.read(number, start, start + int(self.sizes[unit]))

    def counts_in(self, places: Sequence[Numbers], units: Ids) -> Numbers:
        """How many of the positions lie in each of some ascending units."""
        counts = np.zeros(len(units), np.int64)
        bounds = np.append(units.searchsorted(self.firsts), len(units)).tolist()
        for number, (plot, positions) in enumerate(zip(self.plots, places, strict=True)):
            low, high = bounds[number], bounds[number + 1]
            if low < high and len(positions):
                local = units[low:high] - plot.first
                counts[low:high] = positions.searchsorted(plot.ends[local]) - positions.searchsorted(plot.starts[local])
        return counts

    def document_counts(self, places: Sequence[Numbers]) -> Numbers:
        """How many of the positions lie in each document, by row."""
        counts = np.zeros(len(self.documents), np.int64)
        for plot, rows, positions in zip(self.plots, self._rows, places, strict=True):
            if not len(positions):
                continue
            bases, ends, *_ = plot.view.extents
            if len(positions) < len(bases):
                at = bases.searchsorted(positions, side="right") - 1
                np.add.at(counts, rows[at], 1)
            else:
                np.add.at(counts, rows, positions.searchsorted(ends) - positions.searchsorted(bases))
        return counts

    def codes(self, units: Ids) -> Codes | None:
        """The codes of some ascending units; None in a store without vectors."""
        codes = np.zeros((len(units), CODE_BYTES), np.uint8)
        bounds = np.append(units.searchsorted(self.firsts), len(units)).tolist()
        for number, plot in enumerate(self.plots):
            low, high = bounds[number], bounds[number + 1]
            if low < high:
                stored = plot.view.codes
                if stored is None:
                    return None
                codes[low:high] = stored[plot.stored[units[low:high] - plot.first]]
        return codes

    def head_parents(self, number: int) -> Numbers:
        """The heading above each heading of a plot; their number stands for none."""
        if number not in self._parents:
            self._parents[number] = _parents(self.plots[number])
        return self._parents[number]

    # ---- names

    @cached_property
    def titles(self) -> Postings:
        """Terms of the documents' paths and titles, each with the rows that have it (a row once for each time)."""
        lines = [
            f"{path} {title or ''}".replace("\n", " ").encode("utf-8", "replace")
            for path, title in zip(self.documents.paths, self.documents.titles, strict=True)
        ]
        starts = np.cumsum([0, *(len(line) + 1 for line in lines)])
        found = terms_of(b"\n".join(lines))
        return Postings(found.names, found.offsets, starts.searchsorted(found.starts, side="right") - 1)


_WORDS = {language: set(STOP_WORDS[language].encode().split()) for language in SNOWBALL}
_TELLING = {
    language: sorted(own - set().union(*(other for name, other in _WORDS.items() if name != language)))[:16]
    for language, own in _WORDS.items()
}


def _plot(view: SegmentView, first: int) -> Plot:
    """The live units of a segment."""
    bases, ends, *_ = view.extents
    starts = view.units
    at = bases.searchsorted(starts, side="right") - 1
    live = (at >= 0) & (starts < ends[np.maximum(at, 0)]) if len(bases) else np.zeros(len(starts), bool)
    stored = np.flatnonzero(live)
    kept, extents = starts[stored], at[stored]
    if not len(kept):
        return Plot(view, first, kept, kept, stored, extents)
    following = np.append(starts, view.length)[stored + 1]
    return Plot(view, first, kept, np.minimum(following, ends[extents]), stored, extents)


def _places_in_run(groups: Numbers) -> Numbers:
    """How many before each have the same number: groups are ascending runs."""
    begins = np.flatnonzero(np.diff(groups, prepend=-1))
    return np.arange(len(groups)) - np.repeat(begins, np.diff(begins, append=len(groups)))


def _merged(found: Sequence[list[bytes]]) -> list[bytes]:
    return found[0] if len(found) == 1 else sorted({name for names in found for name in names})


def _joined(columns: Sequence[Numbers]) -> Numbers:
    return np.concatenate(columns) if columns else np.zeros(0, np.int64)


def _parents(plot: Plot) -> Numbers:
    """The heading above each heading of a segment, within its document; one more than there are for none."""
    starts, _, levels = plot.view.heads
    count = len(starts)
    numbers = np.arange(count)
    above = np.full(count, -1)
    last = np.full(count, -1)
    for level in range(1, DEEPEST + 1):
        above = np.where(levels == level, last, above)
        last = np.maximum(last, np.maximum.accumulate(np.where(levels == level, numbers, -1)))
    bases = plot.view.extents.bases
    own = bases.searchsorted(starts, side="right")
    same = (above >= 0) & (own[above] == own)
    return np.append(np.where(same, above, count), count)
