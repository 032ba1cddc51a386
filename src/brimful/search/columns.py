"""Units, documents, headings and words of a snapshot, as columns."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from brimful.budget import scaled
from brimful.index.segments import Numbers, Places, Postings, sequence
from brimful.native.columns import Columns, HeadingTree, PlacedUnits, UnitGrid, add_to_rows, leave_out
from brimful.native.terms import merge_lines
from brimful.outline.cuts import merged
from brimful.search.priors import FileKinds
from brimful.search.query import AskedTerm
from brimful.search.signals import postings_of_names
from brimful.search.spelling import Spellings
from brimful.search.terms import Form, forms_of
from brimful.store.caching import ByteCache
from brimful.store.rows import Documents
from brimful.store.segments import StoredSegment
from brimful.store.snapshot import StoredSnapshot
from brimful.text.stems import telling_words
from brimful.text.terms import query_terms

# ---- units: Where do units lie, and to which document does each belong? Columns over a whole snapshot.
#
# The live units of all segments are numbered in order. A unit's number depends on history; its neighbours, its document
# and its place there do not, and only these decide anything.

_BLOCK_UNITS = 16
"""Neighbouring units that are looked at together when a question is first narrowed down."""

_RECORDS = frozenset({"csv", "tsv", "log", "jsonl"})

DEEPEST = 6
"""Levels of headings."""

_LEAST_TOLD = 3  # different words that only this language has, before it counts as one of the corpus
_LEAST_BREADTH = 3  # a third as many different ones as the language with most of them
_LEAST_SHARE = 10  # a tenth of the occurrences of the commonest language
_KEPT_TERMS = 4_096
_KEPT_PLACES_BYTES = 8 << 20
"""Of positions that were asked for last."""

_WeighedPlaces = tuple[tuple[int, Columns], ...]
"""Weights in thousandths, each with positions segment by segment."""

Ids = NDArray[np.int64]


class _SegmentUnits(NamedTuple):
    """The live units of one segment."""

    view: StoredSegment
    starts: NDArray[np.int64] | NDArray[np.uint32]  # where its units begin on the axis, in as few bytes as hold it
    live: Numbers  # the extents of the view that have units
    counts: Numbers  # how many each of these has


class CorpusColumns:
    """The columns that a question is answered from, over one snapshot."""

    def __init__(self, snapshot: StoredSnapshot) -> None:
        self.snapshot = snapshot
        self.documents: Documents = snapshot.documents()
        plotted = [_plot(view) for view in snapshot.segments()]
        self.segments = [segment for segment in plotted if len(segment.starts)]
        views = [segment.view for segment in self.segments]
        self._rows = [self.documents.rows_of(view.extents.documents) for view in views]  # of every extent
        counts = _joined([segment.counts for segment in self.segments])
        nexts = np.cumsum(counts)
        owners = _joined([rows[segment.live] for rows, segment in zip(self._rows, self.segments, strict=True)])
        ends = _joined([segment.view.extents.ends[segment.live] for segment in self.segments])
        shifts = [(segment.view.extents.starts - segment.view.extents.bases)[segment.live] for segment in self.segments]
        extents = (nexts - counts, nexts, ends, _joined(shifts), owners)
        self.grid = UnitGrid(extents, [segment.starts for segment in self.segments])
        self.block_firsts = _block_firsts(nexts - counts, counts)  # blocks begin with each extent
        blocks = self.grid.placed(self.block_firsts)
        self.block_rows, self.block_offsets = blocks.rows.astype(np.int32), blocks.offsets
        # Places of terms, and of the forms of a word, by which they are kept.
        self._kept: ByteCache[Any, Any] = ByteCache(scaled(_KEPT_PLACES_BYTES))
        terms = snapshot.terms_in(views, self._kept)
        self.census = lru_cache(_KEPT_TERMS)(terms.census)  # occurrences of a term in live text
        self.names, self.near_names = terms.names, terms.near
        self._all_places = terms.all_places
        self.places = terms.places  # where a term stands on the axis of each segment
        self.forms_of = lru_cache(_KEPT_TERMS)(self._forms_of)
        self._trees: dict[int, HeadingTree | None] = {}

    def placed(self, units: Ids) -> PlacedUnits:
        """The documents and places of some units, in any order."""
        return self.grid.placed(units)

    def __len__(self) -> int:
        return len(self.grid)

    @cached_property
    def description(self) -> str:
        """A hash of the titles, kinds and languages."""
        return self.documents.description()

    @cached_property
    def document_sizes(self) -> NDArray[np.float64]:
        """How long each document is against the others on average."""
        lengths = self.documents.lengths
        return lengths / max(int(lengths.sum()) / max(len(lengths), 1), 1.0)

    @property
    def length(self) -> int:
        """Bytes of all live text."""
        return int(self.documents.lengths.sum())

    @property
    def unit_size(self) -> int:
        """Bytes of a unit on average."""
        return max(self.length // max(len(self), 1), 1)

    # ---- words

    def occurs(self, term: bytes) -> bool:
        """Whether a term stands anywhere, in live text or in the name of a document."""
        return bool(self.census(term)) or self.is_titled(term)

    def _words(self) -> bytes:
        """The words of the corpus as sorted lines, deleted text included."""
        self.snapshot.expect_words()
        return merge_lines([segment.view.words() for segment in self.segments])[0]

    def _forms_of(self, term: bytes, *, is_prefix: bool) -> tuple[Form, ...]:
        """The forms of a question's word, wherever the question has it."""
        asked_term = AskedTerm(term, 0, len(term), is_prefix=is_prefix)
        return forms_of(asked_term, self, languages=self.languages or ("en",))

    def places_of(self, forms: tuple[Form, ...]) -> _WeighedPlaces:
        """The places of some forms, the heaviest first, so that each counts as its heaviest form does.

        No place is in two of the groups.
        """
        weighed: _WeighedPlaces | None = self._kept.get(forms)
        if weighed is None:
            fresh = self._weighed(forms)
            weighed = self._kept.keep(forms, fresh, size=sum(4 * placed.total for _, placed in fresh))
        return weighed

    def _weighed(self, forms: tuple[Form, ...]) -> _WeighedPlaces:
        by_weight: dict[int, list[Form]] = {}
        for form in forms:
            by_weight.setdefault(form.weight, []).append(form)
        placed: list[Columns] = []
        for weight in sorted(by_weight, reverse=True):
            runs = [following(self, form.terms) for form in by_weight[weight] if len(form.terms) > 1]
            single = [form.terms[0] for form in by_weight[weight] if len(form.terms) == 1]
            placed.append(leave_out(self._all_places(single, runs), placed))
        return tuple(zip(sorted(by_weight, reverse=True), placed, strict=True))

    @cached_property
    def spellings(self) -> Spellings:
        """The words of the corpus by their spelling, deleted text included."""
        return Spellings(self._words())

    @cached_property
    def languages(self) -> tuple[str, ...]:
        """The languages of which the corpus has several little words that no other has, the commonest first.

        One such word may be a name, a number in hexadecimals or another language's: how many different ones there are
        decides, against the language that has most.
        """
        self.snapshot.expect_terms([word for words in telling_words().values() for word in words])
        counts_by_language = {
            language: [count for word in words if (count := self.census(word))]
            for language, words in telling_words().items()
        }
        totals = {language: sum(counts) for language, counts in counts_by_language.items()}
        largest, widest = max(totals.values(), default=0), max(map(len, counts_by_language.values()), default=0)
        present = [
            name
            for name, counts in counts_by_language.items()
            if len(counts) >= _LEAST_TOLD
            and len(counts) * _LEAST_BREADTH >= widest
            and totals[name] * _LEAST_SHARE >= largest
        ]
        return tuple(sorted(present, key=lambda name: (-totals[name], name)))

    # ---- units

    def units_of(self, places: Columns) -> Ids:
        """The unit of each position, segment by segment, ascending."""
        units = [
            segment.starts.searchsorted(positions.astype(segment.starts.dtype), side="right") - 1 + first
            for segment, first, positions in zip(self.segments, self.grid.begins, places, strict=True)
            if len(positions)
        ]
        return _joined(units)

    def units_of_blocks(self, blocks: Ids) -> tuple[Ids, Ids]:
        """The first and the last unit of each of some blocks."""
        edges = np.append(self.block_firsts, len(self))
        return edges[blocks], edges[blocks + 1] - 1

    def blocks_with(self, groups: _WeighedPlaces) -> NDArray[np.bool_]:
        """Which blocks have any of some positions."""
        counts = np.zeros(len(self.block_rows), np.int64)
        for _, places in groups:
            add_to_rows(counts, places, *self._blocks, weight=1)
        return counts > 0

    @cached_property
    def _blocks(self) -> tuple[Columns, Columns]:
        """The starts of each segment's blocks on its axis, and the numbers of the blocks."""
        bounds = self.block_firsts.searchsorted([*self.grid.begins, len(self)]).tolist()
        starts = [
            segment.starts[self.block_firsts[first:last] - begin]
            for segment, begin, (first, last) in zip(self.segments, self.grid.begins, pairwise(bounds), strict=True)
        ]
        return Columns(starts), Columns([np.arange(first, last, dtype=np.int32) for first, last in pairwise(bounds)])

    def units_with(self, term: bytes) -> list[int]:
        """The units that hold a term, by path and place."""
        units = merged(self.units_of(self.places(term)))
        placed = self.placed(units)
        ranked: list[int] = units[np.lexsort((placed.offsets, placed.rows))].tolist()
        return ranked

    def text(self, unit: int) -> bytes:
        """The text of a unit."""
        return self.texts(np.array([unit]))[0]

    def texts(self, units: Ids) -> list[bytes]:
        """The texts of some units, in their order; neighbours are read together."""
        _, starts, ends, *_ = self.placed(units)
        order, in_order = np.argsort(units), [b""] * len(units)
        bounds = np.append(units[order].searchsorted(self.grid.begins), len(units)).tolist()
        for segment, (low, high) in zip(self.segments, pairwise(bounds), strict=True):
            if low < high:
                places = order[low:high]
                texts = segment.view.texts(starts[places].tolist(), ends[places].tolist())
                for place, text in zip(places.tolist(), texts, strict=True):
                    in_order[place] = text
        return in_order

    def document_counts(self, *groups: tuple[int, Columns]) -> Numbers:
        """The weights of positions in each document, by row."""
        counts = np.zeros(len(self.documents), np.int64)
        for weight, places in groups:
            add_to_rows(counts, places, *self._extents, weight=weight)
        return counts

    @cached_property
    def _extents(self) -> tuple[Columns, Columns]:
        """The starts of each segment's extents on its axis, and the rows of their documents."""
        return Columns([segment.view.extents.bases for segment in self.segments]), Columns(self._rows)

    def heading_tree(self, number: int) -> HeadingTree | None:
        """The headings of a segment and which one each stands under; None where there are none."""
        if number not in self._trees:
            segment = self.segments[number]
            starts, ends, _, _ = segment.view.heads
            bases = self._extents[0][number]
            self._trees[number] = HeadingTree(starts, ends, _parents(segment), bases) if len(starts) else None
        return self._trees[number]

    def headings_above(self, unit: int, *, size: int) -> list[bytes]:
        """The lines of the headings above a unit of `size` bytes, outermost first, without its own."""
        number = int(self.grid.begins.searchsorted(unit, side="right")) - 1
        segment = self.segments[number]
        tree = self.heading_tree(number)
        if tree is None:
            return []
        starts, ends, parents = tree.starts, tree.ends, tree.parents
        begin = int(segment.starts[unit - self.grid.begins[number]])
        bases = segment.view.extents.bases
        base = int(bases[bases.searchsorted(begin, side="right") - 1])
        lowest = int(ends.searchsorted(begin, side="right")) - 1
        lines = []
        if lowest + 1 < len(starts) and starts[lowest + 1] < begin + size:
            lowest = int(parents[lowest + 1])
        while 0 <= lowest < len(starts) and starts[lowest] >= base:
            lines.append(bytes(segment.view.text(int(starts[lowest]), int(ends[lowest]))))
            lowest = int(parents[lowest])
        return lines[::-1]

    # ---- names

    @property
    def language(self) -> str:
        """The commonest language of the corpus; English where none is recognised."""
        return next(iter(self.languages), "en")

    @cached_property
    def file_kinds(self) -> FileKinds:
        """Which documents are tests, lock files and the like."""
        return FileKinds(self.documents.paths)

    @cached_property
    def sources(self) -> NDArray[np.bool_]:
        """Which documents are source code, by row."""
        return np.array([kind == "code" for kind in self.documents.kinds], np.bool_)

    @cached_property
    def records(self) -> NDArray[np.bool_]:
        """Which documents are made of records, one a line, by row."""
        return np.array([language in _RECORDS for language in self.documents.languages], np.bool_)

    @cached_property
    def titles(self) -> Postings:
        """Terms of the documents' paths and titles, each with the rows that have it (a row once for each time)."""
        return postings_of_names(self.documents.paths, self.documents.titles)

    def is_titled(self, *terms: bytes) -> bool:
        """Whether the path or title of any document has one of some terms."""
        return len(self.titled(terms)) > 0

    def titled(self, terms: tuple[bytes, ...]) -> Numbers:
        """The rows of the documents whose path or title has one of some terms (a row once for each time)."""
        return self.titles.of_all(terms)


def _plot(view: StoredSegment) -> _SegmentUnits:
    """The live units of a segment."""
    bases, ends, *_ = view.extents
    starts = view.unit_starts
    lows, highs = (starts.searchsorted(edges.astype(starts.dtype)) for edges in (bases, ends))
    live = np.flatnonzero(highs > lows)
    counts = (highs - lows)[live]
    if int(counts.sum()) < len(starts):
        starts = starts[np.repeat(lows[live] - (np.cumsum(counts) - counts), counts) + np.arange(counts.sum())]
    return _SegmentUnits(view, starts, live, counts)


def _block_firsts(firsts: Numbers, counts: Numbers) -> Numbers:
    """Every sixteenth of the units of each extent."""
    blocks = -(-counts // _BLOCK_UNITS)
    steps = np.arange(int(blocks.sum())) - np.repeat(np.cumsum(blocks) - blocks, blocks)
    return np.repeat(firsts, blocks) + _BLOCK_UNITS * steps


def _joined(columns: Sequence[Numbers]) -> Numbers:
    return np.concatenate(columns) if columns else np.zeros(0, np.int64)


def _parents(segment: _SegmentUnits) -> NDArray[np.int32]:
    """The heading above each heading of a segment, within its document; their number for none."""
    starts, _, levels, _ = segment.view.heads
    count = len(starts)
    numbers = np.arange(count, dtype=np.int32)
    above = np.full(count, -1, np.int32)
    last = above
    for level in range(1, DEEPEST + 1):
        above = np.where(levels == level, last, above)
        last = np.maximum(last, np.maximum.accumulate(np.where(levels == level, numbers, -1)))
    bases = segment.view.extents.bases
    extents = bases.searchsorted(starts, side="right")
    same = (above >= 0) & (extents[above] == extents)
    return np.where(same, above, count).astype(np.int32)


# ---- headings: Under which headings does a unit stand, and do they have a word of the question?
#
# What a passage is about is often said above it only: in the chapter's heading, the class of a method, the session of
# a chat. A word there counts as if it stood, for a part, in every unit below.


# ---- phrases: Where do words stand side by side?

_GAP = 8  # bytes between two words that follow each other
_NO_WORD = 2  # in so few no other word has room
_MOST_LOOKED_AT = 1_000  # places of a phrase in one segment whose text is read
_RUNS_ON = "\u0e00"  # scripts from here on are written without blanks; their terms overlap


def following(columns: CorpusColumns, terms: Sequence[bytes], *, gap: int = _GAP) -> Columns:
    """The places where terms follow each other, segment by segment."""
    placed = [columns.places(term) for term in terms]
    lengths = [len(term) - _shared(term, after) for term, after in zip(terms, [*terms[1:], b""], strict=True)]
    starts = []
    for number in range(len(columns.segments)):
        here = [Places(np.zeros(len(column[number]), np.int64), column[number].astype(np.int64)) for column in placed]
        starts.append(sequence(here, lengths=lengths, gap_bytes=gap).starts)
    return Columns(starts)


def literal(columns: CorpusColumns, terms: Sequence[bytes]) -> Columns:
    """The places of terms with no word between them; wider gaps are checked in the text, up to a limit."""
    if len(terms) == 1:
        return columns.places(terms[0])
    starts = []
    size = sum(map(len, terms)) + _GAP * len(terms)
    for segment, near, loose in zip(
        columns.segments, following(columns, terms, gap=_NO_WORD), following(columns, terms), strict=True
    ):
        bases, ends, *_ = segment.view.extents
        wide = np.setdiff1d(loose, near, assume_unique=True)
        limits = np.minimum(wide + size, ends[bases.searchsorted(wide, side="right") - 1]).tolist()
        unlike = [
            start
            for start, end in list(zip(wide.tolist(), limits, strict=True))[:_MOST_LOOKED_AT]
            if not _begins(segment.view.text(start, end), terms)
        ]
        starts.append(np.setdiff1d(loose, np.array(unlike, np.int64), assume_unique=True))
    return Columns(starts)


def _begins(content: bytes, terms: Sequence[bytes]) -> bool:
    """Whether a text begins with these terms and no other between them."""
    starts: dict[int, set[bytes]] = {}
    for word in query_terms(content.decode("utf-8", "replace")):
        if not word.is_part:
            starts.setdefault(word.start, set()).add(word.term)
    ordered = [starts[start] for start in sorted(starts)][: len(terms)]
    return len(ordered) == len(terms) and all(term in here for term, here in zip(terms, ordered, strict=True))


def _shared(term: bytes, after: bytes) -> int:
    """Bytes that two terms have in common where the text runs on: of 亚马逊 the terms are 亚马 and 马逊."""
    first, second = term.decode("utf-8", "replace"), after.decode("utf-8", "replace")
    runs_on = len(first) == len(second) == 2 and first[1] == second[0] >= _RUNS_ON
    return len(first[1].encode()) if runs_on else 0
