"""A question over a corpus: its documents, its units, and what words are worth there."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from brimful.native import Column, Numbers, Places, Reals, numbers_of, places_of
from brimful.native.columns import Columns, HeadingTree, PlacedUnits, UnitGrid, add_to_rows

_MILLION = 1_000_000


class ChosenUnits(NamedTuple):
    """Ascending units that a question looks at, and their places (`UnitGrid.placed`)."""

    units: Numbers
    placed: PlacedUnits
    bounds: list[int]  # of the units of each segment


class CorpusPlaces:
    """Columns of a corpus that questions look at.

    Extents begin at `bases`, segment by segment, and belong to `rows`; blocks begin at `block_starts`, and have the row
    and the first unit that `block_rows` and `block_firsts` say. `records` and `sources` say of each row whether it is
    made of records, or is source code.
    """

    def __init__(
        self,
        bases: Columns,
        rows: Columns,
        *,
        block_starts: Columns,
        block_rows: Places,
        block_firsts: Numbers,
        records: NDArray[np.bool_],
        sources: NDArray[np.bool_],
        grid: UnitGrid,
    ) -> None:
        self.documents, self.blocks, self.segments = len(records), len(block_rows), len(bases)
        edges = np.append(block_firsts, len(grid))
        self.bases, self.rows, self.block_starts, self.grid = bases, rows, block_starts, grid
        self.block_rows, self.block_edges, self.records, self.sources = block_rows, edges, records, sources
        self.block_numbers = Columns.cut(np.arange(self.blocks, dtype=np.int32), np.array(block_starts.sizes, np.int64))


class AskedWords:
    """Words with their places in a corpus: of each word weights in thousandths with positions, segment by segment.

    No position is in two groups of a word, and the first ones count most. `called` are the documents whose names have
    each word.
    """

    def __init__(
        self, corpus: CorpusPlaces, words: Sequence[Sequence[tuple[int, Columns]]], called: Sequence[Numbers]
    ) -> None:
        self.corpus, self.groups, self.called = corpus, words, called

    def __len__(self) -> int:
        return len(self.groups)

    def document_counts(self, word: int, *, name: int) -> Numbers:
        """The weight of a word in each document: of its positions, and `name` for each time that the name has it."""
        counts = np.zeros(self.corpus.documents, np.int64)
        for weight, places in self.groups[word]:
            add_to_rows(counts, places, self.corpus.bases, self.corpus.rows, weight=weight)
        np.add.at(counts, self.called[word], name)
        return counts

    def choose(
        self,
        ordered: Sequence[tuple[int, float]],
        *,
        named: dict[int, Numbers],
        documents: Reals,
        document: float,
        limit: int,
        of_records: int,
        allowed: NDArray[np.bool_] | None,
        reach: int,
    ) -> ChosenUnits:
        """The units of the best blocks by their words, with `reach` more on both sides.

        `ordered` are the words that are looked at, each with what it adds to a block that has it; `named` the blocks
        that a word without places has. A block counts by these, the best one's being one, and by `document` times what
        its document is worth. No more than one in `of_records` are of records while others have anything; 0 for any.
        """
        corpus, worth = self.corpus, np.zeros(self.corpus.blocks)
        for word, gain in ordered:
            worth[named[word] if word in named else self._blocks_with(word)] += gain
        blocks = np.flatnonzero(worth)
        blocks = blocks if allowed is None else blocks[allowed[corpus.block_rows[blocks]]]
        if len(blocks) > limit:
            rows = corpus.block_rows[blocks]
            ranks = _millionths(worth[blocks] / worth.max() + document * documents[rows])
            best, is_record = self._best(blocks, ranks, limit), corpus.records[rows]
            other_blocks = int(np.count_nonzero(~is_record))
            room = max(limit // of_records, limit - other_blocks) if of_records else limit
            if np.count_nonzero(corpus.records[corpus.block_rows[best]]) > room:
                parts = ((is_record, room), (~is_record, limit - room))
                best = np.concatenate([self._best(blocks[part], ranks[part], count) for part, count in parts])
            blocks = np.sort(best)
        units = corpus.grid.between(corpus.block_edges[blocks], corpus.block_edges[blocks + 1] - 1, reach=reach)
        bounds = units.searchsorted([*corpus.grid.begins, len(corpus.grid)]).tolist()
        return ChosenUnits(units, corpus.grid.placed(units), bounds)

    def _blocks_with(self, word: int) -> NDArray[np.bool_]:
        """Which blocks have a word."""
        counts = np.zeros(self.corpus.blocks, np.int64)
        for _, places in self.groups[word]:
            add_to_rows(counts, places, self.corpus.block_starts, self.corpus.block_numbers, weight=1)
        return counts > 0

    def _best(self, blocks: Numbers, ranks: Numbers, limit: int) -> Numbers:
        """The best `most` of some blocks; equal ones by path and place."""
        if limit >= len(blocks):
            return blocks
        least = np.partition(ranks, -limit)[-limit] if limit else np.iinfo(np.int64).max
        above, equal = blocks[ranks > least], blocks[ranks == least]
        placed = self.corpus.grid.placed(self.corpus.block_edges[equal])
        order = np.lexsort((placed.offsets, placed.rows))
        return np.concatenate((above, equal[order[: limit - len(above)]]))


class WordsInUnits:
    """Counts of words in units, and what headings above these add, in thousandths: a row for each word.

    A word counts `heading` in every unit under a heading that has it.
    """

    def __init__(
        self,
        words: AskedWords,
        chosen: ChosenUnits,
        trees: Sequence[HeadingTree | None],
        *,
        deepest: int,
        heading: int,
    ) -> None:
        self._words, self._chosen, self._trees = words, chosen, trees
        _, self._starts, self._ends, self._rows, _, self._firsts, self._lasts = chosen.placed
        self.counts, self.from_headings = np.zeros((2, len(words), len(chosen.units)), np.int64)
        for number, (first, last) in enumerate(pairwise(chosen.bounds)):
            tree, part = trees[number], slice(first, last)
            if first == last:
                continue
            starts, ends = places_of(self._starts[part]), places_of(self._ends[part])
            for counts, groups in zip(self.counts, words.groups, strict=True):
                for weight, columns in groups:
                    counts[part] += weight * _times(columns[number], starts, ends)
            if tree is not None:
                above = _HeadingsAbove(tree, starts, ends, deepest=deepest)
                for added, groups in zip(self.from_headings, words.groups, strict=True):
                    added[part] = heading * above.have([columns[number] for _, columns in groups])
        self.present = self.counts > 0

    def in_headings(self, wanted: Sequence[bool]) -> Numbers:
        """Places of the `wanted` words in headings.

        Four rows: the word, the place, its unit, and the heading of its segment. The places of a word are neighbours
        and ascend in each segment.
        """
        words, columns = self._words, [np.empty((4, 0), np.int64)]
        for word in [word for word in range(len(words)) if wanted[word] and words.groups[word]]:
            places = words.groups[word][0][1]
            for number, (first, last) in enumerate(pairwise(self._chosen.bounds)):
                tree = self._trees[number]
                if tree is not None:
                    inside, units = _inside(places[number], self._starts[first:last], self._ends[first:last])
                    heads = tree.headings_at(inside)
                    rows = np.array([np.full(len(inside), word), inside, units + first, heads], np.int64)
                    columns.append(rows[:, heads >= 0])
        return np.concatenate(columns, axis=1)

    def scales(
        self,
        worths: Sequence[Sequence[float]],
        *,
        reaches: Sequence[int],
        unit_bytes: Sequence[int],
        covering: Sequence[float],
        documents: Reals,
        shares: Sequence[float],
        saturation: float,
        length: float,
    ) -> ScaledUnits:
        """Scores of units by their words at two scales and in their documents; records count by themselves alone.

        Of each scale: what each word is worth there, how far it reaches, how many bytes it has on average. `shares` are
        what the unit, its document and its surroundings count; `covering` what words are worth where the
        question is covered.
        """
        numbers, sizes, scores, units = np.arange(len(self._rows)), self._ends - self._starts, [], len(self._rows)
        for worth, reach, size in zip(worths, reaches, unit_bytes, strict=True):
            around = (np.maximum(numbers - reach, self._firsts), np.minimum(numbers + reach, self._lasts) + 1)
            damped = saturation * (1 - length + length * (_summed(sizes, *around) / size))
            gains, present, covered, whole = np.zeros(units), np.zeros(units), np.zeros(units), 0.0
            for word, counts in enumerate(self.counts):
                times = (_summed(counts, *around) + self.from_headings[word]) / 1000.0
                gains += worth[word] * (times * (saturation + 1) / (times + damped))
                present += worth[word] * (times > 0)
                covered += covering[word] * (times > 0)
                whole += worth[word]
            scores.append(gains * np.sqrt(present / whole) if whole else gains)
        alone, near = map(_to_one, scores)
        unit_share, document_share, near_share = shares
        is_record = self._words.corpus.records[self._rows]
        lexical = unit_share * alone + document_share * np.where(is_record, alone, documents[self._rows])
        is_alone = is_record | self._words.corpus.sources[self._rows]
        lexical = lexical + near_share * np.where(is_alone, alone, near)
        return ScaledUnits(alone, near, lexical, float(covered.max(initial=0.0)))


def _summed(values: Numbers, firsts: Numbers, ends: Numbers) -> Numbers:
    """The sums of values over some ranges."""
    sums = numbers_of(np.append(0, np.cumsum(values)))
    return sums[ends] - sums[firsts]


def _times(places: Places, starts: Places, ends: Places) -> Numbers:
    """How many positions lie in each stretch."""
    return numbers_of(places.searchsorted(ends) - places.searchsorted(starts))


class _HeadingsAbove:
    """The headings above the units of a segment: neighbouring units mostly have one chain of them."""

    def __init__(self, tree: HeadingTree, begins: Places, ends: Places, *, deepest: int) -> None:
        nearest, self._owners = np.unique(tree.above(begins, ends), return_inverse=True)
        parents, chains = np.append(tree.parents, len(tree.parents)), [nearest]
        for _ in range(deepest - 1):
            chains.append(parents[chains[-1]])
        heads, numbers = np.unique(np.array(chains), return_inverse=True)
        self._chains, heads = numbers.reshape(deepest, -1), heads[heads < len(tree.starts)]
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


class ScaledUnits(NamedTuple):
    """Scores of units at each scale, where the best has 1, and in all."""

    alone: Reals
    near: Reals
    lexical: Reals
    covered: float  # what the words are worth that the unit with most of them has near it


class WeighedDocuments:
    """Scores of documents by BM25, word by word of a question.

    A word in a document's name counts `name` thousandths; `sizes` are lengths of documents relative to their mean. Each
    word is counted first, then weighed.
    """

    def __init__(self, words: AskedWords, *, name: int, sizes: Reals, saturation: float, length: float) -> None:
        self._words, self._name, self.scores = words, name, np.zeros(words.corpus.documents)
        self._sizes, self._saturation, self._length = sizes, saturation, length
        self._rows = self._counts = np.zeros(0, np.int64)

    def count(self, word: int) -> int:
        """Count a word in all documents; return how many have it."""
        counts = self._words.document_counts(word, name=self._name)
        self._rows = np.flatnonzero(counts)
        self._counts = counts[self._rows]
        return len(self._rows)

    def weigh(self, worth: float) -> None:
        """Add the word that was counted last, with this worth."""
        times, damp = self._counts / 1000.0, 1 - self._length + self._length * self._sizes[self._rows]
        self.scores[self._rows] += worth * (times * (self._saturation + 1) / (times + self._saturation * damp))


def settle_units(
    words: AskedWords,
    chosen: ChosenUnits,
    lexical: Reals,
    *,
    documents: Reals,
    share: float,
    favour: Numbers | None,
    allowed: NDArray[np.bool_] | None,
) -> tuple[Reals, Numbers, Numbers]:
    """Scores of units and documents, times the share of the question that the corpus has (`share`).

    A document scores by its words and by its best unit; `favour` is its factor in thousandths, `allowed` whether it
    may be shown.
    """
    rows = chosen.placed.rows
    lexical = lexical * share
    total, best = lexical, np.zeros(words.corpus.documents)
    np.maximum.at(best, rows, lexical)
    by_row = documents + _to_one(best)
    if favour is not None:
        total, by_row = total * (favour / 1000.0)[rows], by_row * (favour / 1000.0)
    by_row = by_row if allowed is None else np.where(allowed, by_row, 0.0)
    return lexical, _millionths(total), _millionths(by_row)


def order_field(chosen: ChosenUnits, scores: Numbers, lexical: Reals) -> tuple[Numbers, ...]:
    """Units with a score above 0, the best first; equal ones by path and place.

    Five columns: places among the chosen, units, documents, scores, and what words are worth in millionths.
    """
    rows = chosen.placed.rows
    order = np.lexsort((chosen.placed.offsets, rows, -scores))
    order = order[scores[order] > 0]
    return order, chosen.units[order], rows[order], scores[order], _millionths(lexical[order])


def _to_one(scores: Reals) -> Reals:
    """The best is worth one."""
    highest = float(scores.max(initial=0.0))
    return scores / highest if highest > 0 else scores


def _millionths(values: Column) -> Numbers:
    millionths: Numbers = np.rint(values * _MILLION).astype(np.int64)
    return millionths
