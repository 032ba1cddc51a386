"""The kernels that a question is asked with, against the same steps in NumPy, to the last bit."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from brimful.native.columns import Columns, HeadingTree, UnitGrid, leave_out
from brimful.native.question import (
    AskedWords,
    CorpusPlaces,
    WordsInUnits,
)

from . import question as oracle

DOCUMENTS, DEEPEST = 6, 3
POSITIONS = st.lists(st.integers(0, 150), max_size=20).map(lambda found: np.array(sorted(found), np.int64))
WORTHS = st.one_of(st.just(0.0), st.floats(0, 40))


class Corpus:
    """A small corpus: units in extents, blocks of them, headings."""

    def __init__(self, draw):
        segments = draw(st.lists(st.lists(st.integers(1, 6), min_size=1, max_size=4), min_size=1, max_size=3))
        self.starts, self.bases, self.rows, self.block_starts = [], [], [], []
        extents, block_units, count = [], [], 0
        wide = draw(st.integers(1, 3))
        for sizes in segments:
            own, bases, rows, blocks, base = [], [], [], [], 0
            for size in sizes:
                cuts = sorted(draw(st.sets(st.integers(base, base + 20), min_size=size, max_size=size)))
                row = draw(st.integers(0, DOCUMENTS - 1))
                bases.append(cuts[0])
                rows.append(row)
                blocks += cuts[::wide]
                block_units += range(count, count + size, wide)
                own, base = own + cuts, cuts[-1] + draw(st.integers(1, 9))
                # No two units of a document begin at one place of it.
                extents.append((count, count + size, base, 1_000 * len(extents), row))
                count += size
            self.starts.append(np.array(own, draw(st.sampled_from([np.uint32, np.int64]))))
            for made, part in ((self.bases, bases), (self.rows, rows), (self.block_starts, blocks)):
                made.append(np.array(part, np.int64))
        self.extents = np.array(extents, np.int64).T
        self.block_firsts, self.count = np.array(block_units, np.int64), count
        self.grid = UnitGrid(self.extents, self.starts)
        placed = self.grid.placed(self.block_firsts)
        self.block_rows, self.block_offsets = placed.rows, placed.offsets
        self.records = np.array(draw(st.lists(st.booleans(), min_size=DOCUMENTS, max_size=DOCUMENTS)))
        self.places = CorpusPlaces(
            Columns(self.bases),
            Columns(self.rows),
            block_starts=Columns(self.block_starts),
            block_rows=self.block_rows,
            block_firsts=self.block_firsts,
            records=self.records,
            grid=self.grid,
        )

    def words(self, draw, most=4):
        """Words with groups of positions, and the documents that they call."""
        words = []
        for _ in range(draw(st.integers(0, most))):
            groups = []
            for _ in range(draw(st.integers(0, 3))):
                columns = Columns([draw(POSITIONS) for _ in self.starts])
                weight, before = draw(st.integers(0, 1_000)), [held for _, held in groups]
                groups.append((weight, leave_out(columns, before)))
            words.append(groups)
        words.append([])  # it has no places, and names the blocks that `chosen` wants
        called = [np.array(draw(st.lists(st.integers(0, DOCUMENTS - 1), max_size=4)), np.int64) for _ in words]
        return words, called, AskedWords(self.places, words, called)

    def trees(self, draw):
        """The headings of each segment, or none."""
        found = []
        for number in range(len(self.starts)):
            edges = draw(st.lists(st.tuples(st.integers(0, 150), st.integers(1, 30)), max_size=7))
            # They may overlap, as long as both ascend.
            starts = np.array(sorted(first for first, _ in edges), np.int64)
            ends = np.array(sorted(first + size for first, size in edges), np.int64)
            parents = [draw(st.sampled_from([len(starts), *range(at)])) for at in range(len(starts))]
            found.append((starts, ends, np.array(parents, np.int64), self.bases[number]) if len(starts) else None)
        return found

    def chosen(self, draw, words):
        """Some units."""
        blocks = np.array(sorted(draw(st.sets(st.integers(0, len(self.block_firsts) - 1)))), np.int64)
        last = len(words) - 1
        return words.choose(
            [(last, 1.0)],
            named={last: blocks},
            documents=np.zeros(DOCUMENTS),
            document=1.0,
            limit=len(self.block_firsts),
            of_records=0,
            allowed=None,
            reach=draw(st.integers(0, 2)),
        )


corpora = st.composite(Corpus)()


@given(corpora, st.data())
def test_units_are_chosen_as_by_sorting_all_blocks(corpus, data):
    """The best blocks by their words and documents, few of records, only of what is allowed; and what is around."""
    words, _, asked = corpus.words(data.draw)
    named = {
        at: np.unique(np.array(data.draw(st.lists(st.integers(0, len(corpus.block_rows) - 1))), np.int64))
        for at, word in enumerate(words)
        if not word
    }
    order = data.draw(st.permutations(range(len(words))))
    ordered = [(at, data.draw(st.one_of(st.just(0.0), st.sampled_from([0.25, 1.0]), WORTHS))) for at in order]
    values = np.array(data.draw(st.lists(st.sampled_from([0.0, 0.5, 1.0]), min_size=DOCUMENTS, max_size=DOCUMENTS)))
    allowed = data.draw(st.one_of(st.none(), st.lists(st.booleans(), min_size=DOCUMENTS, max_size=DOCUMENTS)))
    allowed = None if allowed is None else np.array(allowed)
    most, share, reach = (
        data.draw(st.integers(1, 8)),
        data.draw(st.sampled_from([0, 2, 4])),
        data.draw(st.integers(0, 3)),
    )
    given_all = {"documents": values, "document": 1.5, "allowed": allowed}
    blocks = oracle.blocks(
        ordered,
        words,
        named,
        corpus.block_starts,
        corpus.block_rows,
        corpus.block_offsets,
        share=share,
        most=most,
        records=corpus.records,
        **given_all,
    )
    behind = np.append(corpus.block_firsts, corpus.count)
    units = corpus.grid.between(corpus.block_firsts[blocks], behind[blocks + 1] - 1, reach=reach)
    firsts = np.cumsum([0, *map(len, corpus.starts)])
    for _ in range(2):
        chosen = asked.choose(ordered, named=named, limit=most, of_records=share, reach=reach, **given_all)
        assert chosen.units.tolist() == units.tolist()
        assert [each.tolist() for each in chosen.placed] == [column.tolist() for column in corpus.grid.placed(units)]
        assert chosen.bounds == units.searchsorted(firsts).tolist()


@given(corpora, st.data())
def test_words_are_counted_in_units_as_by_a_sorted_lookup(corpus, data):
    """How often each counts, what headings tell of it, and where it may be defined."""
    words, _, asked = corpus.words(data.draw)
    trees, chosen = corpus.trees(data.draw), corpus.chosen(data.draw, asked)
    made = [None if tree is None else HeadingTree(*tree) for tree in trees]
    _, starts, ends, *_ = chosen.placed
    for _ in range(2):
        counted = WordsInUnits(asked, chosen, made, deepest=DEEPEST, heading=300)
        defining = {True: [], False: []}
        for at, word in enumerate(words):
            counts, told = np.zeros((2, len(starts)), np.int64)
            for number, tree in enumerate(trees):
                part = slice(*chosen.bounds[number : number + 2])
                for weight, columns in word:
                    column = columns[number]
                    counts[part] += weight * (column.searchsorted(ends[part]) - column.searchsorted(starts[part]))
                if word and tree is not None:
                    every = np.sort(np.concatenate([columns[number] for _, columns in word]))
                    has = np.append(every.searchsorted(tree[1]) > every.searchsorted(tree[0]), False)
                    above = oracle.chains(*tree, starts[part], ends[part], DEEPEST)
                    told[part] += 300 * has[above].any(axis=1)
                for anywhere, wanted in defining.items():
                    wanted.extend(_defining(at, word, number, tree, chosen, anywhere=anywhere))
            assert counted.counts[at].tolist() == counts.tolist()
            assert counted.from_headings[at].tolist() == told.tolist()
            assert counted.present[at].tolist() == (counts > 0).tolist()
        for anywhere, wanted in defining.items():
            found = counted.defining([True] * len(words), [anywhere] * len(words))
            assert sorted(map(tuple, found.T.tolist())) == sorted(wanted)
            assert not counted.defining([False] * len(words), [anywhere] * len(words)).size


def _defining(at, word, number, tree, chosen, *, anywhere):
    """The places of a word's first group in the units of a segment, in headings or anywhere."""
    _, starts, ends, *_ = chosen.placed
    for position in word[0][1][number].tolist() if word else ():
        last = -1 if tree is None else int(tree[0].searchsorted(position, side="right")) - 1
        heads = [last] if last >= 0 and position < tree[1][last] else []
        for unit in range(*chosen.bounds[number : number + 2]):
            if starts[unit] <= position < ends[unit] and (heads or anywhere):
                yield at, position, unit, heads[0] if heads else -1


@given(corpora, st.data(), st.floats(0.1, 3), st.floats(0, 1), st.integers(1, 500))
def test_units_are_weighed_to_the_last_bit(corpus, data, k1, b, unit_bytes):
    """Every sum and product in the same order, at all scales, whichever words and runs there are."""
    words, _, asked = corpus.words(data.draw)
    chosen = corpus.chosen(data.draw, asked)
    counted = WordsInUnits(asked, chosen, [None] * len(corpus.starts), deepest=1, heading=0)
    _, starts, ends, rows, _, *runs = chosen.placed
    reaches = data.draw(st.tuples(*(st.integers(0, 5),) * 2))
    worths = [[data.draw(WORTHS) for _ in words] for _ in range(3)]
    values = np.array(data.draw(st.lists(WORTHS, min_size=DOCUMENTS, max_size=DOCUMENTS)))
    first_ones = data.draw(st.integers(1, 6))
    found = counted.scales(
        worths[:2],
        reaches=reaches,
        unit_bytes=[unit_bytes] * 2,
        covering=worths[2],
        documents=values,
        shares=(1.0, 1.5, 0.7),
        saturation=k1,
        length=b,
        best=first_ones,
    )
    own, near = (
        oracle.scale(
            counted.counts,
            counted.from_headings,
            runs,
            ends - starts,
            worth,
            reach=reach,
            unit_bytes=unit_bytes,
            k1=k1,
            b=b,
        )
        for worth, reach in zip(worths, reaches, strict=False)
    )
    is_record = corpus.records[rows]
    lexical = 1.0 * own + 1.5 * np.where(is_record, own, values[rows])
    lexical = lexical + 0.7 * np.where(is_record, own, near)
    for made, wanted in zip(found, (own, near, lexical), strict=False):
        assert made.tolist() == wanted.tolist()
    covered = np.zeros(len(rows))
    for worth, count, told in zip(worths[2], counted.counts, counted.from_headings, strict=True):
        covered += worth * (oracle.around(count, *runs, reaches[1]) + told > 0)
    assert found.covered == float(covered.max(initial=0.0))
    ranks = np.rint(lexical * 1_000_000).astype(np.int64)
    least = np.sort(ranks)[-first_ones] if len(ranks) > first_ones else 1
    assert found.best.tolist() == np.flatnonzero(ranks >= max(least, 1)).tolist()


def test_what_does_not_belong_together_is_refused():
    """Sizes, rows, words and units are checked before a kernel is called."""
    at = np.arange(3)
    column, grid = Columns([at]), UnitGrid([at, at + 1, at + 1, at * 0, at], [at])
    right = {"block_starts": column, "block_rows": at, "block_firsts": at, "records": np.zeros(3, bool), "grid": grid}
    for wrong in (
        {"block_starts": Columns([at, at])},
        {"block_rows": at[:2]},
        {"block_rows": at + 1},
        {"block_firsts": at + 1},
        {"block_firsts": at[::-1]},
        {"records": np.zeros(2, bool)},
    ):
        with pytest.raises(ValueError, match=r"block|row|segment"):
            CorpusPlaces(column, column, **{**right, **wrong})
    with pytest.raises(ValueError, match="extent"):
        CorpusPlaces(column, Columns([at[:2]]), **right)
    corpus = CorpusPlaces(column, column, **right)
    for words, called in (([[]], []), ([[]], [at + 1])):
        with pytest.raises(ValueError, match="word"):
            AskedWords(corpus, words, called)
    for group in ((1, Columns([at, at])), (-1, column)):
        with pytest.raises(ValueError, match="segment"):
            AskedWords(corpus, [[group]], [at])
    asked = AskedWords(corpus, [[(1, column)]], [at])
    right = {"documents": np.zeros(3), "limit": 1, "allowed": None, "reach": 0, "named": {}}
    right |= {"document": 1.0, "of_records": 0}
    chosen = asked.choose([(0, 1.0)], **right)
    with pytest.raises(ValueError, match="segment"):
        WordsInUnits(asked, chosen, [], deepest=1, heading=1)
    counted = WordsInUnits(asked, chosen, [None], deepest=1, heading=1)
    with pytest.raises(ValueError, match="word"):
        counted.defining([True, True], [True])
    right = {"reaches": (0, 1), "unit_bytes": (1, 1), "covering": (1.0,), "documents": np.zeros(3)}
    right |= {"shares": (1, 1, 1), "saturation": 1.0, "length": 0.5, "best": 3}
    for worths, wrong in (
        ([[1.0]] * 3, {}),
        ([[1.0]] * 2, {"reaches": (0, -1)}),
        ([[1.0]] * 2, {"covering": ()}),
        ([[1.0]] * 2, {"documents": np.zeros(2)}),
    ):
        with pytest.raises(ValueError, match=r"scale|worth|numbers"):
            counted.scales(worths, **{**right, **wrong})
