"""What a question counts, chooses and weighs, over a corpus that fits on a page."""

import numpy as np
import pytest

from brimful.native.columns import Columns, HeadingTree, UnitGrid
from brimful.native.question import AskedWords, ChosenUnits, CorpusPlaces, WordsInUnits

STARTS = np.array([0, 10, 20, 30, 50, 60], np.uint32)
"""Units of one segment: four of the first document, then two of a table."""
TEA = [np.array([3, 5, 25, 52])]
CUP = [np.array([22, 61, 62, 63])]


@pytest.fixture
def corpus() -> CorpusPlaces:
    """Two documents with one extent each, every unit a block; the second is made of records."""
    grid = UnitGrid([[0, 4], [4, 6], [40, 70], [0, 0], [0, 1]], [STARTS])
    return CorpusPlaces(
        Columns([np.array([0, 50])]),
        Columns([np.array([0, 1])]),
        block_starts=Columns([STARTS]),
        block_rows=np.array([0, 0, 0, 0, 1, 1], np.int32),
        block_firsts=np.arange(6),
        records=np.array([False, True]),
        sources=np.zeros(2, np.bool_),
        grid=grid,
    )


def asked_of(corpus: CorpusPlaces) -> AskedWords:
    """Two words; the name of the second document has the first one."""
    words = [[(1_000, Columns(TEA))], [(1_000, Columns(CUP))]]
    return AskedWords(corpus, words, [np.array([1]), np.zeros(0, np.int64)])


def chosen_of(asked: AskedWords, *, limit: int = 6, of_records: int = 0, reach: int = 0) -> ChosenUnits:
    """The units of the best blocks, the second word worth twice as much."""
    return asked.choose(
        [(0, 1.0), (1, 2.0)],
        named={},
        documents=np.zeros(2),
        document=1.0,
        limit=limit,
        of_records=of_records,
        allowed=None,
        reach=reach,
    )


def test_a_word_counts_in_a_document_and_in_its_name(corpus: CorpusPlaces) -> None:
    """A thousand for each place, and what the name is worth."""
    assert asked_of(corpus).document_counts(0, name=500).tolist() == [3_000, 1_500]


def test_the_best_blocks_are_chosen_with_their_neighbours(corpus: CorpusPlaces) -> None:
    """What has both words comes first, then the rarer; neighbours of one document come along."""
    asked = asked_of(corpus)
    assert chosen_of(asked).units.tolist() == [0, 2, 4, 5]
    assert chosen_of(asked, limit=2).units.tolist() == [2, 5]
    assert chosen_of(asked, limit=1, reach=1).units.tolist() == [1, 2, 3]
    assert chosen_of(asked, limit=3, of_records=3).units.tolist() == [0, 2, 5]  # one of three is a record


def test_places_count_in_units_and_under_headings(corpus: CorpusPlaces) -> None:
    """Each place in its unit; a heading that has the word counts in the units below it."""
    asked = asked_of(corpus)
    tree = HeadingTree(*(np.array(column, np.int32) for column in ([0], [8], [1], [0, 50])))
    counted = WordsInUnits(asked, chosen_of(asked), [tree], deepest=2, heading=300)
    assert counted.counts.tolist() == [[2_000, 1_000, 1_000, 0], [0, 1_000, 0, 3_000]]
    assert counted.from_headings.tolist() == [[0, 300, 0, 0], [0, 0, 0, 0]]
    assert counted.in_headings([True, False]).T.tolist() == [[0, 3, 0, 0], [0, 5, 0, 0]]


def test_a_unit_with_both_words_is_worth_most(corpus: CorpusPlaces) -> None:
    """BM25 of the words, times the root of the share of words that are there; the best is worth one."""
    asked = asked_of(corpus)
    counted = WordsInUnits(asked, chosen_of(asked), [None], deepest=1, heading=0)
    options = {"unit_bytes": (10, 10), "covering": (1.0, 2.0), "documents": np.zeros(2), "shares": (1.0, 0.0, 0.0)}
    scaled = counted.scales([[1.0, 1.0]] * 2, reaches=(0, 1), saturation=1.0, length=0.0, **options)
    alone = np.array([2 * 2 / 3, 2.0, 1.0, 2 * 3 / 4]) * np.sqrt([0.5, 1, 0.5, 0.5])
    assert scaled.alone.tolist() == (alone / 2.0).tolist()
    assert scaled.covered == 3.0
