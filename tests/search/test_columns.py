"""The columns of a corpus say what the documents themselves say, in whichever segments they lie."""

from itertools import pairwise

import numpy as np
import pytest

from brimful import Document
from brimful.index import build
from brimful.text.terms import terms_of
from tests.index.segment import build_segment

from .conftest import corpus, counts_in

GONE = [Document("gone.md", "Tea. Zanzibar teapots. " * 20), Document("tea/00.md.old", "Lamps. Teacups. " * 9)]


@pytest.fixture(params=[1, 3, 100])
def made(request, laid):
    """A corpus in many, some, or few segments, after two documents have gone."""
    documents = corpus(7)
    return laid(documents, batch=request.param, gone=GONE), {document.path: document for document in documents}


def units_of(document):
    """Start and end of every unit of a document that is laid down all by itself."""
    found = []
    for offset, part in build.extents_of(document.content):
        cuts = build_segment([build.Extent(part, document.kind, document.language)]).units.tolist()
        cuts = sorted({*cuts, 0, len(part)})
        found += [(offset + start, offset + end) for start, end in pairwise(cuts) if end <= len(part)]
    return found


def test_units_are_the_documents_own(made):
    """Every unit of every live document stands in the columns exactly once, with its place and size."""
    columns, documents = made
    found = {}
    placed = columns.placed(np.arange(len(columns)))
    for row, start, size in zip(placed.rows.tolist(), placed.offsets.tolist(), placed.sizes.tolist(), strict=True):
        found.setdefault(columns.documents.paths[row], []).append((start, start + size))
    assert found == {path: units_of(document) for path, document in documents.items() if len(document)}
    assert columns.length == sum(map(len, documents.values()))
    assert columns.unit_size == columns.length // len(columns)


def test_text_of_a_unit(made):
    """A unit says what stands there in its document."""
    columns, documents = made
    placed = columns.placed(np.arange(len(columns)))
    for unit, (row, start, size) in enumerate(zip(placed.rows, placed.offsets, placed.sizes, strict=True)):
        content = documents[columns.documents.paths[row]].content
        assert columns.text(unit) == content[start : start + size]


@pytest.mark.parametrize("term", [b"tea", b"lamp", b"stone", b"price", b"zanzibar", b"absent"])
def test_positions_fall_into_units_and_documents(made, term):
    """Counts in units and documents are those of the documents' own terms; deleted text counts nowhere."""
    columns, documents = made
    places = columns.places(term)
    everything = np.arange(len(columns))
    by_unit, by_document = {}, {}
    for path, document in documents.items():
        found = terms_of(document.content)
        starts = [] if term not in found.names else found.starts[_range(found, term)].tolist()
        by_document[path] = len(starts)
        for start, end in units_of(document):
            by_unit[path, start] = sum(start <= at < end for at in starts)
    placed = columns.placed(everything)
    named = [(columns.documents.paths[row], start) for row, start in zip(placed.rows, placed.offsets, strict=True)]
    counted = dict(zip(named, counts_in(columns, everything, places), strict=True))
    assert counted == by_unit
    counts = columns.document_counts((1, places)).tolist()
    assert dict(zip(columns.documents.paths, counts, strict=True)) == by_document
    assert columns.census(term) == sum(by_document.values())
    holding = {named[unit] for unit in columns.units_with(term)}
    assert holding == {place for place, count in by_unit.items() if count}
    some = everything[::3]
    assert counts_in(columns, some, places) == [by_unit[named[unit]] for unit in some]


def _range(found, term):
    at = found.names.index(term)
    return slice(int(found.offsets[at]), int(found.offsets[at + 1]))


def test_names_are_those_of_live_text(made):
    """A word that only deleted text had is no word of the corpus, by whichever prefix one looks."""
    columns, documents = made
    words = sorted({name for document in documents.values() for name in terms_of(document.content).names})
    for prefix in (b"", b"t", b"te", b"teac", b"zan", b"la", b"q"):
        assert columns.names(prefix) == [word for word in words if word.startswith(prefix)]
    assert b"zanzibar" not in words


def test_surroundings_stay_in_their_extent(made):
    """`between` gives each unit once, ascending, with its neighbours, and never one of another document."""
    columns, _ = made
    extents = columns.placed(np.arange(len(columns))).extents
    for reach in (0, 2, 8):
        chosen = np.arange(0, len(columns), 5)
        found = columns.grid.between(chosen, chosen, reach=reach).tolist()
        expected = set()
        for unit in chosen.tolist():
            near = range(max(unit - reach, 0), min(unit + reach + 1, len(columns)))
            expected |= {other for other in near if extents[other] == extents[unit]}
        assert found == sorted(expected)


def test_blocks_are_a_grid_in_each_extent(made):
    """Sixteen units a block, counted from where an extent begins: history moves no border."""
    columns, _ = made
    place, last = 0, None
    for unit, extent in enumerate(columns.placed(np.arange(len(columns))).extents):
        place = place + 1 if extent == last else 0
        last = extent
        assert (unit in columns.block_firsts) == (place % 16 == 0)


def test_titles_and_paths_have_rows(laid):
    """A word of a path or a title names the document, once for each time it stands there."""
    columns = laid([Document("tea/green tea.md", "x"), Document("pot.md", "y")])
    rows = {path: row for row, path in enumerate(columns.documents.paths)}
    assert columns.titles.of(b"tea").tolist() == [rows["tea/green tea.md"]] * 2
    assert columns.titles.of(b"pot").tolist() == [rows["pot.md"]]
    assert not len(columns.titles.of(b"lamp"))


def test_languages_are_told_by_little_words(laid):
    """German text is German, although English words stand in it."""
    german = "Der Tee ist nicht für den Hafen und auch nicht für das Schiff. " * 3
    assert laid([Document("a.md", german + "The tea.")]).languages[0] == "de"
    assert laid([Document("b.md", "qzx 17")]).languages == ()


def test_words_in_memory_say_what_the_index_says(made):
    """Whether a word is looked up or its absence is known from the words in memory, it is counted alike."""
    columns, _ = made
    asked = [*columns.names(b""), b"tea", b"te", b"teax", b"zzz", b"a1", "thé".encode(), b"x" * 30]
    before = [columns.census(term) for term in asked]
    _ = columns.spellings
    columns.census.cache_clear()
    assert [columns.census(term) for term in asked] == before
    assert 0 in before
    assert max(before) > 0


def test_an_empty_ground(laid):
    """Without documents, or with empty ones only, there are no units, and nothing fails."""
    for documents in ([], [Document("a.md", ""), Document("b.md", "")]):
        columns = laid(documents)
        assert len(columns) == 0
        assert columns.names(b"") == []
        assert columns.languages == ()
        assert columns.units_with(b"tea") == []
        assert columns.document_counts((1, columns.places(b"tea"))).tolist() == [0] * len(documents)


def test_a_long_document_lies_in_several_extents(laid, monkeypatch):
    """Its units are numbered on without a gap, wherever its extents lie."""
    monkeypatch.setattr(build, "EXTENT_BYTES", 4_096)
    document = Document("long.md", "Tea is served at four. " * 4_000)
    columns = laid([document, Document("a.md", "Tea.")])
    placed = columns.placed(np.arange(len(columns)))
    mine = placed.rows == columns.documents.paths.index("long.md")
    assert sorted(placed.offsets[mine].tolist()) == [start for start, _ in units_of(document)]
    assert len(np.unique(placed.extents[mine])) > 10
