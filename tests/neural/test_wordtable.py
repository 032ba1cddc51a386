"""Words of many languages lie by their meaning in a table that the extra brings."""

import numpy as np
import pytest

from brimful.errors import MissingPartError
from brimful.neural import wordtable
from brimful.neural.wordtable import WordTable


@pytest.fixture(scope="module")
def table():
    """The table of the extra."""
    return WordTable()


@pytest.mark.parametrize(
    ("word", "meaning"),
    [("fichier", "file"), ("tamaño", "size"), ("удалить", "remove"), ("文件", "files"), ("出力", "output")],
)
def test_a_word_of_another_language_lies_near_what_it_means(table, word, meaning):
    """The nearest English word of a known word means the same."""
    (near,) = table.nearest([word])
    english = [name for name, _ in near if name.isascii()]
    assert english.index(meaning) < 2


def test_the_nearest_words_come_first_and_are_whole_numbers(table):
    """Cosines in millionths fall, and a word that the table has is its own nearest."""
    for word, near in zip(["imagen", "file"], table.nearest(["imagen", "file"]), strict=True):
        alike = [cosine for _, cosine in near]
        assert alike == sorted(alike, reverse=True)
        assert all(isinstance(cosine, int) for cosine in alike)
        assert near[0] == (word, 1_000_000)


def test_words_are_compared_alike_alone_and_together(table):
    """A batch changes no number."""
    words = ["fila", "матрицы", "x" * 300, ""]
    assert [table.nearest([word])[0] for word in words] == table.nearest(words)


def test_a_text_without_blanks_is_cut_into_words(table):
    """Known words are found whole; ideographs that are no word of the table come in pairs."""
    assert list(table.parts("文件出力")) == [(0, "文件"), (2, "出力")]
    assert list(table.parts("配列")) == [(0, "配"), (0, "配列")]
    assert list(table.parts("")) == []


def test_another_file_is_refused(tmp_path, monkeypatch):
    """Only the table that this version knows is read."""
    (tmp_path / "resources").mkdir()
    (tmp_path / "__init__.py").write_text("")
    (tmp_path / "resources" / "sp.model").write_bytes(b"\x0a\x03\x0a\x01x")
    monkeypatch.setattr(wordtable, "PACKAGE", tmp_path.name)
    monkeypatch.syspath_prepend(str(tmp_path.parent))
    with pytest.raises(MissingPartError, match="is not the table"):
        WordTable()


def test_nothing_is_compared_without_words(table):
    """A word of unknown signs has no meaning."""
    (near,) = table.nearest(["\ue000\ue001"])
    assert np.unique([cosine for _, cosine in near]).tolist() == [0]
