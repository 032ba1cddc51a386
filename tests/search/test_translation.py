"""Words of a foreign question are looked for as the corpus's words that mean the same."""

import pytest

import brimful
from brimful.search.late import LateEncoder
from brimful.search.search import search
from brimful.testing import FakeEmbedder

PAGE = "Remove a row of an array with delete.\n\nColumns are counted from zero.\n\nThe kettle sings in the evening.\n"
NEAR = {
    "fila": [("file", 900_000), ("queue", 500_000), ("row", 480_000), ("line", 200_000)],
    "supprimer": [("remove", 700_000)],
    "配列": [("columns", 400_000), ("array", 390_000), ("kettle", 100_000)],
}


class Table:
    """A small table of words."""

    def __init__(self):
        self.asked = []

    def parts(self, run):
        """The first two characters."""
        yield 0, run[:2]

    def nearest(self, words):
        """What stands in NEAR."""
        self.asked += words
        return [NEAR.get(word, []) for word in words]


@pytest.fixture
def ask(tmp_path):
    """What a question finds, and the table that it was given."""
    with brimful.open(tmp_path / "store.db", embedder="none") as engine:
        engine.add_text("arrays.md", PAGE * 3)
        table = Table()
        late = LateEncoder(FakeEmbedder(), engine._store, runtime="fake", table=lambda: table)
        yield lambda question: (search(engine.columns, question, late=late), table)


def words_of(found):
    """What each word of a question was looked for as."""
    return {sense.word: [b" ".join(form) for form in sense.forms] for sense in found.senses}


def test_a_foreign_word_is_looked_for_as_what_it_means(ask):
    """Of the nearest words those that the corpus has, and that are nearly as near as the best of them."""
    found, _ = ask("¿Cómo quitar una fila de la tabla?")
    assert words_of(found)["fila"] == [b"row"]
    assert found.hits[0].path == "arrays.md"
    assert found.corrections == ()


def test_words_without_blanks_are_looked_for_by_their_meanings(ask):
    """Characters that the corpus has nowhere are words of another language."""
    found, _ = ask("配列")
    assert words_of(found)["配列"] == [b"columns", b"array"]


def test_a_question_in_the_language_of_the_corpus_asks_no_table(ask):
    """A word that is missing there is missing, or misspelt."""
    found, table = ask("How do I remove the fila of an aray?")
    assert table.asked == []
    assert [each.term for each in found.corrections] == [b"array"]


def test_a_name_is_no_foreign_word(ask):
    """What is written as code writes names means itself."""
    _, table = ask("¿Cómo quitar la fila con read_csv_file?")
    assert "read_csv_file" not in table.asked
    assert "fila" in table.asked


def test_a_model_reads_the_question_in_the_words_of_the_corpus(tmp_path):
    """It knows the corpus's language only."""
    read = []

    class Reader(FakeEmbedder):
        def embed(self, texts):
            read.extend(texts)
            return super().embed(texts)

    with brimful.open(tmp_path / "store.db", embedder="none") as engine:
        engine.add_text("arrays.md", PAGE * 3)
        late = LateEncoder(Reader(), engine._store, runtime="fake", table=Table)
        search(engine.columns, "¿Cómo supprimer una fila?", late=late)
    assert "¿Cómo remove una row ?" in read


def test_little_words_of_the_question_only_ask(ask):
    """They are no words that the corpus lacks, and they weigh what "how" weighs in English."""
    found, _ = ask("¿Cómo quitar una fila de las tablas?")
    assert set(found.missing) <= {"quitar", "tablas"}
