"""`brimful stores warm`: a model reads everything ahead."""

import json

import pytest

NOTES = {
    "cars.md": "# Motoring\n\nThe automobile takes forty litres of petrol.\n",
    "garden.md": "# Garden\n\nRoses are pruned in March.\n",
}
MODEL = ("--embedder", "granite")


@pytest.fixture
def notes(tmp_path, monkeypatch):
    """A folder of two notes; what a command names in the environment does not outlive the test."""
    monkeypatch.setenv("BRIMFUL_EMBEDDER", "none")
    folder = tmp_path / "notes"
    folder.mkdir()
    for name, text in NOTES.items():
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def test_a_folder_is_read_ahead(brimful, notes):
    """Every unit is read, and the question after it has nothing left to read."""
    warmed = brimful("stores", "warm", notes, *MODEL, "--json")
    assert warmed.code == 0
    told = json.loads(warmed.out)
    assert told["units"] == 4
    assert told["model"].startswith("granite-embedding-30m-english:")
    read = json.loads(brimful("context", "petrol for cars", notes, *MODEL, "--json").out)["read"]
    assert (read["embedded"], read["failed"]) == (0, None)
    assert brimful("stores", "warm", notes, *MODEL).err.startswith("4 units read by granite")


def test_warming_without_a_model_says_how_to_get_one(brimful, notes):
    """Nobody reads here: the command names the package."""
    refused = brimful("stores", "warm", notes, "--embedder", "none")
    assert refused.code == 2
    assert "[neural]'" in refused.err


def test_an_unknown_embedder_is_named_with_close_ones(brimful, notes, monkeypatch, tmp_path):
    """On the command line and in a file of settings."""
    assert "'granite'" in brimful("context", "petrol", notes, "--embedder", "granit").err
    monkeypatch.setenv("BRIMFUL_CONFIG", str(tmp_path / "config.toml"))
    assert brimful("config", "set", "embedder", "granit").code == 2
    assert brimful("config", "set", "embedder", "none").code == 0


def test_which_model_reads_is_shown(brimful, monkeypatch):
    """Its name and who chose it; without one, how to bring it, with exit code 1."""
    monkeypatch.setenv("BRIMFUL_EMBEDDER", "none")
    done = brimful("model")
    assert (done.code, "[neural]'" in done.out) == (1, True)
    record = json.loads(brimful("model", "--embedder", "granite", "--json").out)
    assert record["embedder"].startswith("granite-embedding-30m-english")


def test_a_missing_model_is_noted_once(brimful, corpus, monkeypatch, tmp_path):
    """The first context without a model says so and how to bring one; later ones say nothing."""
    monkeypatch.setenv("BRIMFUL_CACHE", str(tmp_path))
    monkeypatch.setattr("brimful.neural.bert.PACKAGE", "no_such_weights")
    assert "no model" not in brimful("context", "tea", corpus, "--embedder", "none").err
    monkeypatch.delenv("BRIMFUL_EMBEDDER", raising=False)
    first, second = (brimful("context", "tea", corpus).err for _ in range(2))
    assert "no model is installed, so words alone decide" in first
    assert "[neural]" in first
    assert "no model" not in second
