import pytest

import brimful
from brimful.documents.documents import Document, close_paths
from brimful.errors import DocumentError, SpanError
from brimful.store import documents
from brimful.text.spans import Span


def test_a_path_that_ends_in_the_wanted_one_comes_first():
    """Somebody who names only the file means the one that is called so, however deep it lies."""
    deep = "a/very/long/way/down/the/tree/of/folders/README.md"
    assert close_paths("README.md", ["README.mf", deep, "docs/tea.md"]) == [deep, "README.mf"]
    assert close_paths("./docs/tea.md", ["docs/tea.md"]) == ["docs/tea.md"]


@pytest.mark.parametrize("wanted", ["", "../..", "zebra", "x" * 100_000])
def test_nothing_close_is_nothing(wanted):
    """No path is made up for one that resembles none."""
    assert close_paths(wanted, ["docs/tea.md", "src/kettle.py"]) == []


def test_equally_close_paths_stand_in_their_order():
    """Which of several comes first does not depend on the order in which they are known."""
    known = ["tea4.md", "tea1.md", "tea3.md", "tea2.md"]
    assert close_paths("tea.md", known) == close_paths("tea.md", known[::-1]) == ["tea4.md", "tea3.md", "tea2.md"]


def test_an_unknown_document_names_the_close_ones(tmp_path):
    """The engine's message has the remedy, and a path that no store can have is told apart."""
    with brimful.open(tmp_path) as engine:
        engine.add_text("docs/tea.md", "Tea at four.")
        with pytest.raises(DocumentError, match=r"'tea\.md' is not in the store; did you mean 'docs/tea\.md'\?"):
            engine.document("tea.md")
        with pytest.raises(DocumentError, match="lone surrogate"):
            engine.document("\ud800")


def test_reading_all_documents_one_by_one_keeps_few(tmp_path, monkeypatch):
    """Memory does not grow with the corpus where documents are only looked at."""
    monkeypatch.setattr(documents, "KEPT_BYTES", 250)
    with brimful.open(tmp_path) as engine:
        for number in range(10):
            engine.add_text(f"{number}.md", "x" * 100)
        for number in range(10):
            assert len(engine.document(f"{number}.md")) == 100
        assert len(engine._documents._kept) == 2


def test_lines_have_their_bytes():
    """Lines are cut with their ends, the last one without if it has none."""
    document = Document("a.txt", "one\nzwölf\n\nlast")
    spans = [document.span_of_lines(line, line) for line in range(1, 5)]
    assert [document.text(span.start, span.end) for span in spans] == ["one\n", "zwölf\n", "\n", "last"]
    assert document.span_of_lines(2, 99) == Span(4, len(document))
    assert Document("b.txt", "").line_count == 1


@pytest.mark.parametrize(("first", "last", "message"), [(0, 1, "1 <= first"), (3, 2, "1 <= first"), (9, 9, "2 lines")])
def test_lines_that_are_not_there(first, last, message):
    """A line beyond the end, or a range that runs backwards, is an error that says how many there are."""
    with pytest.raises(SpanError, match=message):
        Document("a.txt", "one\ntwo\n").span_of_lines(first, last)
