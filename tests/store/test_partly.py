"""A document of which only some places are read."""

import pytest

from brimful import Document
from brimful.store.documents import LineCount, PartlyRead
from brimful.store.sqlite import SqliteStore
from brimful.store.writing import NewDocument
from brimful.text.spans import Span
from brimful.windows.whole import completed

TEXT = "".join(f"Sentence {n} of the ätext. It goes on.\n" for n in range(8_000)).encode()


@pytest.fixture
def part(tmp_path):
    """A long text, of which nothing but the edges is known, and what was read of it."""
    yield from parts_of(tmp_path, TEXT)


@pytest.fixture
def line(tmp_path):
    """The same of a text without any line's end."""
    yield from parts_of(tmp_path, TEXT.replace(b"\n", b"  "))


def parts_of(tmp_path, text):
    """A stored text as it is read in parts."""
    with SqliteStore(tmp_path / "s.db") as store:
        store.add([NewDocument(Document("a.txt", text))])
        with store.snapshot() as now:
            row = now.row("a.txt")
            yield PartlyRead(now, row, LineCount(row.length, lambda start, end: now.read(row.number, start, end)))


def test_slices_read_what_they_need(part):
    """Any slice has the document's own bytes, whatever was read before, and the rest stays unread."""
    for start, end in ((150_000, 150_010), (149_990, 150_500), (0, 5), (len(TEXT) - 9, len(TEXT)), (150_100, 150_600)):
        assert part.content[start:end] == TEXT[start:end]
    assert part.read_bytes < len(TEXT) // 2
    assert part.content[:] == TEXT
    assert part.read_bytes == len(TEXT)


def test_cuts_around_places_are_the_documents_own(part):
    """Where it was read the units are those of the whole document, and windows may grow that far and no farther."""
    part.near([(150_000, 150_010)], reach_bytes=1_000)
    whole = Document("a.txt", TEXT, kind="prose", language="text").outline
    reach = part.reach(150_000, 150_010)
    assert 149_000 <= reach.start < 149_200
    assert 150_800 < reach.end <= 151_010
    for place in range(reach.start, reach.end, 37):
        assert part.outline.cut_before(place) == whole.cut_before(place)
        assert part.outline.cut_after(place) == whole.cut_after(place)
    assert len(part.reach(200_000, 200_001)) == 1


def test_lines_are_counted_from_the_beginning(part):
    """Lines are those of the whole document, in any order of asking."""
    whole = Document("a.txt", TEXT)
    for start, end in ((150_000, 150_400), (10, 20), (len(TEXT) - 5, len(TEXT)), (7, 7)):
        assert part.lines(start, end) == whole.lines(start, end)


def test_places_are_looked_for_where_it_was_read(part):
    """The next and the last place of a part are the document's where that was read, and nothing more is read."""
    part.near([(150_000, 150_010)], reach_bytes=1_000)
    before = part.read_bytes
    assert part.content.find(b"\n", 150_000) == TEXT.find(b"\n", 150_000)
    assert part.content.rfind(b"\n", 0, 150_000) == TEXT.rfind(b"\n", 0, 150_000)
    assert part.content.find(b"Sentence 7999 ", 150_000) == TEXT.find(b"Sentence 7999 ")
    assert part.content.find(TEXT[120_000:120_030]) == part.content.rfind(TEXT[120_000:120_030]) == -1
    assert part.read_bytes == before


def test_whole_things_of_an_endless_line_need_no_more_of_it(line):
    """Where no line ends in what was read, none is looked for in the rest."""
    place = line.content[149_000:151_000].index(b"  Sentence") + 149_000
    line.near([(place, place + 40)], reach_bytes=1_000)
    before = line.read_bytes
    assert completed(line, Span(place, place + 40), 400).shared(Span(place, place + 40))
    assert line.read_bytes == before
