"""Every surface takes every choice of a question, by the same name, with the same meaning."""

import json

import pytest

import brimful as package
from brimful.choices import choices_of
from brimful.settings import ASKED, CHOICES, Ask, AskSettings
from brimful.surfaces.cli.configuration import DEFAULTS, checked
from brimful.surfaces.records import control_record
from brimful.surfaces.schemas import ContextRequest, SearchRequest, typed


def test_a_request_has_a_field_for_every_choice():
    """With its default; reserves stand in the budget."""
    fields = ContextRequest.model_fields
    assert set(fields) == {*choices_of(AskSettings), "question", "budget", "set", "prices"}
    for name, told in choices_of(AskSettings).items():
        default = fields[name].default
        assert (tuple(default) if told.kind == "texts" else default) == told.default
    assert set(SearchRequest.model_fields) == {
        *(name for name, told in ASKED.items() if told.searches),
        "question",
        "limit",
    }


def test_every_choice_that_may_be_set_once_is_a_key():
    """With its default, and checked as the field itself checks it."""
    keys = {name: told for name, told in ASKED.items() if told.is_set and name != "synonyms"}
    assert {name: DEFAULTS[name] for name in keys} == {name: told.default for name, told in keys.items()}
    assert checked("twin_threshold", "none") is None
    assert checked("top_k", 7) == 7
    with pytest.raises(package.InputError, match="it must be a whole number from 1 to 100000"):
        checked("top_k", "0")


def test_every_choice_is_described_for_whoever_draws_a_control():
    """All of them, by name, kind, values and range."""
    for told in CHOICES.values():
        assert control_record(told)["help"] == told.help
        assert typed(told) is not None


@pytest.fixture
def reserved(own, monkeypatch):
    """A folder to ask, with a budget of which some is kept."""
    monkeypatch.chdir(own)
    with package.open(own / "store.db") as engine:
        engine.add(own)
        ask = Ask.of("tea", {"budget": 900}, "reserved_response=500; order=best")
        yield engine.context(ask).receipt.id, own / "store.db"


def test_reserves_and_order_are_set_by_name_on_the_command_line(brimful, reserved, monkeypatch):
    """By --set once or twice, or in the environment: the same receipt."""
    wanted, store = reserved
    asked = ("context", "tea", "--store", store, "--json", "-q", "-b", "900")
    options = ("--set", "reserved_response=500", "--set", "order=best")
    assert json.loads(brimful(*asked, *options).out)["receipt"] == wanted
    assert json.loads(brimful(*asked, "--set", "reserved_response=500; order=best").out)["receipt"] == wanted
    monkeypatch.setenv("BRIMFUL_RESERVED_RESPONSE", "500")
    monkeypatch.setenv("BRIMFUL_ORDER", "best")
    assert json.loads(brimful(*asked).out)["receipt"] == wanted


def test_a_projects_file_names_nobody_within_set(brimful, own, monkeypatch):
    """Who is sent a text is its reader's to say, however it is written."""
    monkeypatch.chdir(own)
    (own / ".brimful.toml").write_text('set = "order=best; densify=openai:gpt-4o"\n', encoding="utf-8")
    done = brimful("context", "tea", ".")
    assert done.code == 2
    assert "a project may not choose who is sent" in done.err
    (own / ".brimful.toml").write_text('set = "order=best; densify.attempts=3"\n', encoding="utf-8")
    assert brimful("context", "tea", ".").code == 0
