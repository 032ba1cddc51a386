"""Which units does a question look at, and how often does each have its words?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from brimful.index.segments import Numbers
from brimful.native import Places, Reals, numbers_of, places_of
from brimful.native.columns import Columns, HeadingTree, PlacedUnits
from brimful.search.columns import DEEPEST, CorpusColumns, Ids
from brimful.search.signals import idf

THOUSAND, MILLION = 1_000, 1_000_000
MOST_PLACES = 200_000
"""Positions that are looked at to narrow a question down: the rarest words first, at least one of them."""
_SURROUNDINGS = 8  # units scored on both sides of a chosen one
_OF_RECORDS = 4
"""At most one block in four is of records, where enough others have words of the question."""


@dataclass(frozen=True, slots=True, eq=False)
class TermHits:
    """A word of the question and where it stands: weights with positions, segment by segment.

    No position is in two of the groups, and the first ones count most.
    """

    word: bytes
    weight: float
    places: tuple[tuple[int, Columns], ...]  # the weights in thousandths
    names: tuple[bytes, ...] = ()  # its terms in paths and titles
    is_minor: bool = False  # it only asks, or is a part of a longer word: no place is looked at for its sake
    is_literal: bool = False  # a phrase in quotation marks: what has it stands above all that has not

    @property
    def occurrences(self) -> int:
        """How often the word occurs in the corpus."""
        return sum(places.total for _, places in self.places)


class ChosenUnits(NamedTuple):
    """Ascending units that a question looks at, and their places (`UnitGrid.placed`)."""

    units: Numbers
    placed: PlacedUnits
    bounds: list[int]  # of the units of each segment


def choose(
    columns: CorpusColumns,
    term_hits: Sequence[TermHits],
    documents: Reals,
    *,
    limit: int,
    allowed: NDArray[np.bool_] | None,
    spares_records: bool,
) -> ChosenUnits:
    """The units of the `limit` blocks with most of the rare words, and units around them.

    A block counts by its words, the best one's being one, and by `documents`, what its document is worth. Blocks of
    records get a share only, where others have words of the question: a pasted log line is whole in hundreds of blocks,
    but the text that explains it has a part of its words.
    """
    read, worth = 0, np.zeros(len(columns.block_rows))
    for hits in sorted(term_hits, key=lambda hits: (hits.is_minor, hits.occurrences, hits.word)):
        called = columns.titled(hits.names)
        if not (hits.occurrences or len(called)) or (read and (read + hits.occurrences > MOST_PLACES or hits.is_minor)):
            continue
        read += hits.occurrences
        has_word = columns.blocks_with(hits.places) if hits.occurrences else _first_blocks(columns, called)
        worth[has_word] += hits.weight * idf(hits.occurrences, len(columns))
    blocks = np.flatnonzero(worth)
    blocks = blocks if allowed is None else blocks[allowed[columns.block_rows[blocks]]]
    if len(blocks) > limit:
        rows = columns.block_rows[blocks]
        ranks = millionths(worth[blocks] / worth.max() + documents[rows])
        best, is_record = _best(columns, blocks, ranks, limit), columns.records[rows]
        room = max(limit // _OF_RECORDS, limit - int(np.count_nonzero(~is_record))) if spares_records else limit
        if np.count_nonzero(columns.records[columns.block_rows[best]]) > room:
            parts = ((is_record, room), (~is_record, limit - room))
            best = np.concatenate([_best(columns, blocks[part], ranks[part], count) for part, count in parts])
        blocks = np.sort(best)
    units = columns.grid.between(*columns.units_of_blocks(blocks), reach=_SURROUNDINGS)
    bounds = units.searchsorted([*columns.grid.begins, len(columns)]).tolist()
    return ChosenUnits(units, columns.placed(units), bounds)


def _first_blocks(columns: CorpusColumns, rows: Numbers) -> Ids:
    """The first blocks of some documents."""
    is_called = np.zeros(len(columns.documents), bool)
    is_called[rows] = True
    return np.flatnonzero(is_called[columns.block_rows] & (columns.block_offsets == 0))


def _best(columns: CorpusColumns, blocks: Ids, ranks: Numbers, limit: int) -> Ids:
    """The best `limit` of some blocks; equal ones by path and place."""
    if 0 < limit < len(blocks):
        is_near = ranks >= np.partition(ranks, -limit)[-limit]
        blocks, ranks = blocks[is_near], ranks[is_near]
    order = np.lexsort((columns.block_offsets[blocks], columns.block_rows[blocks], -ranks))
    return blocks[order[:limit]]


class WordsInUnits:
    """Counts of words in units, and what headings above these add, in thousandths: a row for each word.

    A word counts `heading` in every unit under a heading that has it.
    """

    def __init__(
        self,
        columns: CorpusColumns,
        chosen: ChosenUnits,
        words: Sequence[Sequence[tuple[int, Columns]]],
        *,
        heading: int,
    ) -> None:
        self._words, self._chosen = words, chosen
        self._trees = [
            columns.heading_tree(number) if first < last else None
            for number, (first, last) in enumerate(pairwise(chosen.bounds))
        ]
        self.counts, self.from_headings = np.zeros((2, len(words), len(chosen.units)), np.int64)
        for number, (first, last) in enumerate(pairwise(chosen.bounds)):
            tree, part = self._trees[number], slice(first, last)
            starts, ends = places_of(chosen.placed.starts[part]), places_of(chosen.placed.ends[part])
            for counts, groups in zip(self.counts, words, strict=True):
                for weight, places in groups:
                    counts[part] += weight * _times(places[number], starts, ends)
            if tree is not None:
                above = _HeadingsAbove(tree, starts, ends)
                for added, groups in zip(self.from_headings, words, strict=True):
                    added[part] = heading * above.have([places[number] for _, places in groups])
        self.present = self.counts > 0

    def in_headings(self, wanted: Sequence[bool]) -> Numbers:
        """Places of the `wanted` words in headings.

        Four rows: the word, the place, its unit, and the heading of its segment. The places of a word are neighbours
        and ascend in each segment.
        """
        columns, placed = [np.empty((4, 0), np.int64)], self._chosen.placed
        for word in [word for word, groups in enumerate(self._words) if wanted[word] and groups]:
            places = self._words[word][0][1]
            for number, (first, last) in enumerate(pairwise(self._chosen.bounds)):
                tree = self._trees[number]
                if tree is not None:
                    inside, units = _inside(places[number], placed.starts[first:last], placed.ends[first:last])
                    heads = tree.headings_at(inside)
                    rows = np.array([np.full(len(inside), word), inside, units + first, heads], np.int64)
                    columns.append(rows[:, heads >= 0])
        return np.concatenate(columns, axis=1)


def _times(places: Places, starts: Places, ends: Places) -> Numbers:
    """How many positions lie in each stretch."""
    return numbers_of(places.searchsorted(ends) - places.searchsorted(starts))


class _HeadingsAbove:
    """The headings above the units of a segment: neighbouring units mostly have one chain of them."""

    def __init__(self, tree: HeadingTree, begins: Places, ends: Places) -> None:
        nearest, self._owners = np.unique(tree.above(begins, ends), return_inverse=True)
        parents, chains = np.append(tree.parents, len(tree.parents)), [nearest]
        for _ in range(DEEPEST - 1):
            chains.append(parents[chains[-1]])
        heads, numbers = np.unique(np.array(chains), return_inverse=True)
        self._chains, heads = numbers.reshape(DEEPEST, -1), heads[heads < len(tree.starts)]
        self._starts, self._ends = tree.starts[heads], tree.ends[heads]

    def have(self, groups: Sequence[Places]) -> NDArray[np.bool_]:
        """Whether each unit is under a heading with any of these positions."""
        marks = np.zeros(len(self._starts) + 1, np.bool_)  # the last is for no heading
        for places in groups:
            marks[:-1] |= _times(places, self._starts, self._ends) > 0
        chains: NDArray[np.bool_] = np.logical_or.reduce(marks[self._chains], axis=0)
        return chains[self._owners]


def _inside(places: Places, starts: Numbers, ends: Numbers) -> tuple[Numbers, Numbers]:
    """Positions inside of ascending stretches, and the stretch of each."""
    firsts = places.searchsorted(starts)
    counts = places.searchsorted(ends) - firsts
    shifts = np.repeat(firsts - (np.cumsum(counts) - counts), counts)
    return numbers_of(places[shifts + np.arange(len(shifts))]), np.repeat(np.arange(len(starts)), counts)


def millionths(values: Reals) -> Numbers:
    """Whole millionths, so that no last bit decides anything."""
    whole: Numbers = np.rint(values * MILLION).astype(np.int64)
    return whole
