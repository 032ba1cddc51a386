"""Units near in meaning are candidates of their own, whatever their words: the static codes of a plain install."""

import numpy as np
import pytest

import brimful
from brimful.settings import FieldSettings

NOTES = {
    "cars.md": "# Motoring\n\nThe automobile takes forty litres of petrol, and the tank is checked each week.\n",
    "garden.md": "# Garden\n\nThe roses are pruned in March. Compost goes under the hedge.\n",
    "kitchen.md": "# Kitchen\n\nBoil the potatoes for twenty minutes, then mash them with butter.\n",
}


@pytest.fixture
def engine(tmp_path):
    """A few notes."""
    with brimful.open(tmp_path / "a.db") as made:
        made.add_documents(brimful.Document(path, text) for path, text in NOTES.items())
        yield made


def test_other_words_are_found(engine):
    """No word of the question stands anywhere, and the right note comes first."""
    found = engine.search("vehicle fuel")
    assert found.hits[0].path == "cars.md"
    assert found.missing == ("vehicle", "fuel")
    assert found.hits[0].lexical == 0 < found.hits[0].semantic
    assert not engine.search("vehicle fuel", field=FieldSettings(near_candidates=0)).hits


def test_a_context_does_not_pretend(engine):
    """A table of words can't tell whether a note answers: the context is empty, unless it is asked for anyway."""
    assert engine.context("vehicle fuel", budget=100).text == ""
    assert "petrol" in engine.context("vehicle fuel", budget=100, anyway=True).text


def test_history_changes_nothing(engine, tmp_path):
    """Units that are as alike come by path and place, in whichever order the notes were added."""
    with brimful.open(tmp_path / "b.db") as other:
        for path in sorted(NOTES, reverse=True):
            other.add_text(path, NOTES[path])
        one, two = (each.search("vehicle fuel", limit=20).hits for each in (engine, other))
        assert [(hit.path, hit.start, hit.score) for hit in one] == [(hit.path, hit.start, hit.score) for hit in two]


def test_the_nearest_are_those_of_all(engine, monkeypatch):
    """As many as are asked for, ascending, only of documents that may answer, and more alike than by chance."""
    columns = engine.columns
    meaning = np.arange(-128, 128)
    assert len(columns.nearest(meaning, limit=9)) == 0  # this question means nothing
    monkeypatch.setattr("brimful.search.columns.BEYOND_CHANCE", -9)
    every = columns.nearest(meaning, limit=1_000)
    few = columns.nearest(meaning, limit=2)
    assert len(few) == 2
    assert set(few.tolist()) <= set(every.tolist())
    assert (np.diff(every) > 0).all()
    allowed = np.array([path == "garden.md" for path in columns.documents.paths])
    assert {
        columns.documents.paths[row] for row in columns.rows[columns.nearest(meaning, limit=9, allowed=allowed)]
    } == {"garden.md"}
