"""The relevance field against the same sums as plain loops over units."""

from decimal import Context, Decimal
from math import log, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from brimful import Document
from brimful.index.build import Extent
from brimful.search import candidates
from brimful.search.candidates import MILLION, THOUSAND, TermHits
from brimful.search.field import relevance
from brimful.search.signals import idf, plain_rarity
from brimful.settings import FieldSettings
from brimful.text.terms import terms_of
from tests.index.segment import build_segment

from .conftest import corpus, counts_in

SETTINGS = FieldSettings(unit=1.0, near=0.8, near_reach=2, document=0.9, definition=0)


def sought_of(columns, *words, weights=None):
    """Words with all their places."""
    weights = weights or {}
    return [TermHits(word, weights.get(word, 1.0), ((THOUSAND, columns.places(word)),), (word,)) for word in words]


def saturated(times, size, settings):
    """BM25's measure of so many times in a text of some size."""
    return (
        times
        * (settings.saturation + 1)
        / (times + settings.saturation * (1 - settings.length + settings.length * size))
    )


def plain_scale(groups, counts, sizes, term_hits, censuses, total, average, settings, told=None, worth_of=idf):
    """BM25 over groups of units, each word's worth times how much of the question's worth is there; best is one."""
    worths = [each.weight * worth_of(census, total) for each, census in zip(term_hits, censuses, strict=True)]
    scores = []
    for place, group in enumerate(groups):
        size = sum(sizes[unit] for unit in group) / average
        score = covered = 0.0
        for word, (worth, count) in enumerate(zip(worths, counts, strict=True)):
            times = sum(count[unit] for unit in group) + (told[word][place] if told else 0)
            score += worth * saturated(times, size, settings)
            covered += worth * (times > 0)
        scores.append(score if worth_of is plain_rarity else score * sqrt(covered / sum(worths)))
    best = max(scores)
    return [score / best for score in scores]


def is_told(columns, unit, word):
    """Whether a heading above a unit has a word: the last one before it, the last higher one before that, and so on."""
    placed = columns.placed(np.array([unit]))
    number, offset = int(columns.documents.numbers[placed.rows[0]]), int(placed.offsets[0])
    row = columns.snapshot.row(columns.documents.paths[placed.rows[0]])
    content = columns.snapshot.read(number, 0, row.length)
    heads = build_segment([Extent(content, row.kind, row.language)]).heads
    level = 99
    for start, end, this in reversed(list(zip(heads.starts, heads.ends, heads.levels, strict=True))):
        if end <= offset and this < level:
            level = this
            if word in terms_of(content[start:end]).names:
                return True
    return False


def plain_field(columns, term_hits, settings):
    """The whole field without blocks, in plain loops: the score of every unit in millionths."""
    units = range(len(columns))
    counts = [counts_in(columns, np.arange(len(columns)), each.places[0][1]) for each in term_hits]
    placed = columns.placed(np.arange(len(columns)))
    sizes, extents, rows = placed.sizes.tolist(), placed.extents.tolist(), placed.rows.tolist()

    def around(unit, reach):
        near = range(max(unit - reach, 0), min(unit + reach, len(columns) - 1) + 1)
        return [other for other in near if extents[other] == extents[unit]]

    lengths = columns.documents.lengths.tolist()
    by_row = [[unit for unit in units if rows[unit] == row] for row in range(len(lengths))]
    names = [np.bincount(columns.titles.of(each.word), minlength=len(lengths)).tolist() for each in term_hits]
    tallies = [
        [sum(count[unit] for unit in by_row[row]) + settings.name * names[at][row] for row in range(len(lengths))]
        for at, count in enumerate(counts)
    ]
    documents = plain_scale(
        [[row] for row in range(len(lengths))],
        tallies,
        lengths,
        term_hits,
        [sum(tally > 0 for tally in column) for column in tallies],
        len(lengths),
        sum(lengths) / len(lengths),
        settings,
        worth_of=plain_rarity,
    )
    records = [columns.documents.paths[rows[unit]] == "stock.csv" for unit in units]
    sources = [columns.documents.paths[rows[unit]].endswith(".py") for unit in units]
    told = [[settings.heading * is_told(columns, unit, each.word) for unit in units] for each in term_hits]
    own: list[float] = []
    lexical = [0.0] * len(units)
    scales = ((0, settings.unit), (settings.near_reach, settings.near))
    for reach, share in scales:
        width = 2 * reach + 1
        censuses = [each.occurrences * width for each in term_hits]
        groups = [around(unit, reach) for unit in units]
        average = columns.unit_size * width
        scale = plain_scale(groups, counts, sizes, term_hits, censuses, len(columns), average, settings, told)
        own = own or scale  # a record or a unit of code stands for itself at every scale
        here = [own[unit] if records[unit] or sources[unit] else scale[unit] for unit in units]
        lexical = [value + share * worth for value, worth in zip(lexical, here, strict=True)]
    whole = [own[unit] if records[unit] else documents[rows[unit]] for unit in units]
    lexical = [value + settings.document * worth for value, worth in zip(lexical, whole, strict=True)]
    return [round(value * MILLION) for value in lexical]


@pytest.mark.parametrize("words", [(b"tea",), (b"tea", b"harbour"), (b"lamp", b"price", b"absent", b"brass")])
@pytest.mark.parametrize("seed", [1, 2])
def test_field_is_the_plain_sum(laid, words, seed):
    """On a corpus small enough to be looked at whole, every score is that of the plain loops, to a millionth."""
    columns = laid(corpus(seed, count=6, longest=14))
    term_hits = sought_of(columns, *words, weights={b"lamp": 0.5})
    found = relevance(columns, term_hits, settings=SETTINGS, blocks=10_000)
    expected = plain_field(columns, term_hits, SETTINGS)
    scores = dict(zip(found.units.tolist(), found.scores.tolist(), strict=True))
    assert scores
    for unit, score in scores.items():
        assert abs(score - expected[unit]) <= 1
    full = [each for each in term_hits if not each.is_minor]  # little words narrow nothing down beside others
    has_word = {int(unit) for each in full for unit in columns.units_of(each.places[0][1])}
    assert has_word <= set(scores)


def test_order_is_total(laid):
    """The best first; equal ones by path, then by place, never by the number that history gave them."""
    documents = [Document(f"{name}.md", "Tea is here. " * 3) for name in "dacb"]
    columns = laid(documents, batch=1)
    found = relevance(columns, sought_of(columns, b"tea"), settings=FieldSettings(), blocks=100)
    placed = columns.placed(np.arange(len(columns)))
    order = [
        (-score, int(placed.rows[unit]), int(placed.offsets[unit]))
        for score, unit in zip(found.scores.tolist(), found.units.tolist(), strict=True)
    ]
    assert order == sorted(order)
    assert len(set(order)) == len(order) == len(columns)


def test_has_says_which_words_a_unit_has(laid):
    """For every unit and word, whether the unit's own text has it."""
    columns = laid(corpus(3))
    words = (b"tea", b"lamp", b"absent")
    found = relevance(columns, sought_of(columns, *words), settings=SETTINGS, blocks=10_000)
    has_words = found.has_words(len(found.units))
    for at, unit in enumerate(found.units.tolist()):
        text = columns.text(unit).lower().replace(b".", b" ").replace(b",", b" ").replace(b"(", b" ").split()
        assert [bool(has) for has in has_words[:, at]] == [word in text for word in words], text


def test_only_allowed_documents_are_scored(laid):
    """Units of other documents do not appear, however good they are."""
    columns = laid(corpus(4))
    allowed = np.array([path.endswith("1.md") for path in columns.documents.paths])
    found = relevance(columns, sought_of(columns, b"tea"), settings=SETTINGS, blocks=10_000, allowed=allowed)
    assert len(found.units)
    assert allowed[columns.placed(found.units).rows].all()


def test_favour_multiplies(laid):
    """A document that counts half as much again has scores half as high again."""
    columns = laid([Document("a.md", "Tea here."), Document("b.md", "Tea here.")])
    plain = relevance(columns, sought_of(columns, b"tea"), settings=SETTINGS, blocks=10)
    favour = np.array([1_000, 1_500])
    found = relevance(columns, sought_of(columns, b"tea"), settings=SETTINGS, blocks=10, favour=favour)
    assert found.scores.tolist() == [plain.scores[0] * 3 // 2, plain.scores[0]]
    assert columns.placed(found.units).rows.tolist() == [1, 0]


def test_blocks_narrow_without_losing_the_best(laid):
    """Where few blocks are looked at, they are those with most of the rare words, and scores need no others."""
    rare = Document("rare.md", "Nothing yet. " * 40 + "A zeppelin over the harbour. " + "Nothing more. " * 40)
    columns = laid([rare, *(Document(f"{n}.md", "The harbour again. " * 50) for n in range(20))])
    term_hits = sought_of(columns, b"zeppelin", b"harbour")
    few = relevance(columns, term_hits, settings=SETTINGS, blocks=1)
    assert b"zeppelin" in columns.text(int(few.units[0]))
    assert {columns.documents.paths[row] for row in columns.placed(few.units).rows} == {"rare.md"}


def test_a_common_word_is_not_read_where_a_rare_one_stands(laid, monkeypatch):
    """Narrowing reads the rarest words first and stops before it has read too many positions."""
    monkeypatch.setattr(candidates, "MOST_PLACES", 100)
    columns = laid([Document("a.md", "The tea. " * 500), Document("b.md", "A zeppelin.")])
    found = relevance(columns, sought_of(columns, b"tea", b"zeppelin"), settings=SETTINGS, blocks=100)
    assert {columns.documents.paths[row] for row in columns.placed(found.units).rows} == {"b.md"}
    alone = relevance(columns, sought_of(columns, b"tea"), settings=SETTINGS, blocks=100)
    assert {columns.documents.paths[row] for row in columns.placed(alone.units).rows} == {"a.md"}


def test_nothing_is_found_of_nothing(laid):
    """No words, absent words, or no units: an empty field."""
    columns = laid(corpus(5))
    for term_hits in ([], sought_of(columns, b"absent")):
        assert not len(relevance(columns, term_hits, settings=SETTINGS, blocks=10).units)
    nothing = laid([])
    assert not len(relevance(nothing, sought_of(nothing, b"tea"), settings=SETTINGS, blocks=10).units)


@given(st.integers(1, 10**9), st.floats(0, 1))
def test_rarity_is_that_of_decimals(total, share):
    """Where long numbers tell a logarithm, it is the one that twenty digits are rounded to."""
    for census in {0, 1, total, int(total**share)}:
        odds = 1 + Decimal(2 * (total - census) + 1) / Decimal(2 * census + 1)
        assert plain_rarity(census, total) == float(odds.ln(Context(prec=20)))


@pytest.mark.parametrize(("census", "total"), [(1, 1), (1, 1000), (999, 1000), (5000, 1000), (1, 10**9)])
def test_rarity_is_a_logarithm(census, total):
    """The same number as floating point gives, without depending on a machine's logarithm."""
    census_here = min(census, total)
    plain = log(1 + (total - census_here + 0.5) / (census_here + 0.5))
    assert idf(census, total) == pytest.approx(plain**1.25)
