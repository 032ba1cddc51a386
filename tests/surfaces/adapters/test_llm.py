"""A fragment for the program llm, which is stood in for by its two names that the loader uses."""

import importlib
import sys
from types import SimpleNamespace

import pytest

import brimful


@pytest.fixture
def loader(monkeypatch):
    """The loader that llm is told of."""
    fragments = SimpleNamespace(hookimpl=lambda hook: hook, Fragment=lambda text, source: (text, source))
    monkeypatch.setitem(sys.modules, "llm", fragments)
    module = importlib.import_module("brimful.surfaces.adapters.llm")
    loaders = {}
    module.register_fragment_loaders(loaders.__setitem__)
    yield loaders["brimful"]
    sys.modules.pop("brimful.surfaces.adapters.llm")


def test_a_store_and_a_folder_answer_a_question(loader, tmp_path, monkeypatch):
    """What stands before the question's colon is asked; a question may have colons of its own, or begin with a dash."""
    monkeypatch.setenv("BRIMFUL_CACHE", str(tmp_path / "cache"))
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "tea.md").write_text("Tea is served at four.\n", encoding="utf-8")
    with brimful.open(tmp_path / "notes.db") as engine:
        engine.add(tmp_path / "notes")
    for place in (tmp_path / "notes.db", tmp_path / "notes"):
        for question in ("When is tea?", "Tea: when?", "--tea when"):
            text, source = loader(f"{place}:{question}")
            assert text.strip() == "[DOC: notes/tea.md]\nTea is served at four."
            assert source == f"brimful:{place}:{question}"


@pytest.mark.parametrize("argument", ["When is tea?", "nowhere.db:When is tea?"])
def test_a_place_that_is_not_there_is_an_error(loader, argument):
    """The message says what to write."""
    with pytest.raises(ValueError, match=r"notes\.db:QUESTION"):
        loader(argument)


def test_an_answer_that_is_empty_is_an_error(loader, tmp_path):
    """The reason of the command is the error's text: llm asks no model about nothing."""
    with brimful.open(tmp_path / "notes.db") as engine:
        engine.add_text("tea.md", "Tea is served at four.")
    with pytest.raises(ValueError, match="nothing"):
        loader(f"{tmp_path / 'notes.db'}:Zanzibar Xylophone Quetzal?")
