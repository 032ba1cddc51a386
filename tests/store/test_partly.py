"""A document of which only some places are read."""

import pytest

from brimful import Document
from brimful.store.documents import LineCount, PartlyRead
from brimful.store.sqlite import SqliteStore
from brimful.store.writing import NewDocument

TEXT = "".join(f"Sentence {n} of the ätext. It goes on.\n" for n in range(8_000)).encode()


@pytest.fixture
def part(tmp_path):
    """A long text, of which nothing but the edges is known, and what was read of it."""
    with SqliteStore(tmp_path / "s.db") as store:
        store.add([NewDocument(Document("a.txt", TEXT))])
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
