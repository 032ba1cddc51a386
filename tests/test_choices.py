"""Every choice has one name, which every surface takes in one way."""

from dataclasses import fields

import pytest

from brimful.budget import Budget
from brimful.choices import choices_of
from brimful.errors import BudgetError, ChoiceError, SettingError
from brimful.settings import (
    ASKED,
    CFS,
    CHOICES,
    Ask,
    AskSettings,
    DensifySettings,
    FieldSettings,
    WindowSettings,
    condensing,
)


def value_of(name, ask):
    """What a choice stands at."""
    part, dot, inner = name.partition(".")
    if name == "budget" or name.startswith("reserved_"):
        return ask.budget.total if name == "budget" else getattr(ask.budget, name)
    if not dot:
        return getattr(ask.settings, name)
    parts = {"windows": ask.settings.windows, "field": ask.field, "densify": ask.settings.condensing}
    return getattr(parts[part], inner)


@pytest.mark.parametrize("name", CHOICES)
def test_every_choice_can_be_named(name):
    """A value given as a text is the value itself, for each field of the parts of a question."""
    told = CHOICES[name]
    texts = {"after": "2024", "before": "2025", "synonyms": "tea: infusion", "densify": "extractive:", "kind": "prose"}
    written = {True: "on", False: "off", None: "none"}.get(told.default) if not told.default else str(told.default)
    if isinstance(told.default, bool):
        written = "on" if told.default else "off"
    text = texts.get(name) or ("x.md" if told.kind == "texts" else "0" if told.default == 0 else written)
    found = value_of(name, Ask.of("", {}, f"{name}={text}"))
    wanted = (text,) if told.kind == "texts" else text if name in texts else told.default
    assert (found, type(found)) == (wanted, type(wanted))


def test_no_choice_is_without_its_help():
    """Every field of every part says what it does; the only fields that are no choices are the parts themselves."""
    for kind in (AskSettings, WindowSettings, FieldSettings, DensifySettings):
        told = choices_of(kind)
        assert {each.name for each in fields(kind)} - set(told) <= {"windows", "condensing"}
        assert all(each.help.endswith((".", "...")) for each in told.values())
    assert list(ASKED)[:4] == ["budget", "reserved_system", "reserved_query", "reserved_response"]


@pytest.mark.parametrize("name", [name for name, told in CHOICES.items() if told.kind in ("int", "float")])
def test_a_number_outside_of_its_range_is_refused(name):
    """One below the lowest, and one above the highest, with the name and the value."""
    told = CHOICES[name]
    for value in (None if told.low is None else told.low - 1, None if told.high is None else told.high + 1):
        if value is not None:
            with pytest.raises((SettingError, BudgetError), match=f"{value}"):
                Ask.of("", {name: type(told.low)(value)})


def test_reserves_are_taken_from_the_budget():
    """Those that are named, and no others; a whole budget keeps its own."""
    assert Ask.of("", {"budget": 2_000, "reserved_response": 500}).budget == Budget(2_000, 0, 0, 500)
    assert Ask.of("", {"budget": Budget(2_000)}, "reserved_query=0").budget == Budget(2_000, reserved_query=0)


def test_what_is_said_counts_though_it_is_the_default():
    """A profile decides only what nobody chose."""
    assert Ask.of("", {"order": "relevance"}, "profile=cfs").settings.order == "relevance"


def test_how_a_text_is_condensed_can_be_named():
    """By the same names; what is decided elsewhere comes first."""
    assert condensing("densify.attempts=3; order=best", target_tokens=None) == DensifySettings(attempts=3)
    assert condensing({"densify.target_tokens": 9}, target_tokens=5).target_tokens == 5


def test_several_and_again():
    """Semicolons part them; a list grows; what else was chosen stays."""
    settings = Ask.of("", {"sizing": "radial"}, "order=best; path=docs/; path=notes/; related=on").settings
    assert (settings.sizing, settings.order, settings.path, settings.related) == (
        "radial",
        "best",
        ("docs/", "notes/"),
        True,
    )


def test_a_profile_decides_what_is_left_as_it_is():
    """CFS by name is CFS, with its search; whatever was chosen besides holds."""
    cfs, plain = Ask.of("", {}, "profile=cfs"), Ask.of("", {})
    assert (cfs.settings, cfs.field) == (CFS, FieldSettings())
    assert Ask.of("", {"packing": "interleaved"}, {"profile": "cfs"}).settings.packing == "interleaved"
    assert (plain.settings, plain.field) == (AskSettings(), FieldSettings())


@pytest.mark.parametrize(
    ("given", "error", "says"),
    [
        ("ordr=best", ChoiceError, "did you mean 'order'"),
        ("order=bst", ChoiceError, "best"),
        ("order", SettingError, "write name=value"),
        ("trim=perhaps", SettingError, "on or off"),
        ("top_k=many", SettingError, "it must be a whole number from 1 to 100000"),
        ("profile=cps", ChoiceError, "cfs"),
        ("windows.max_window_bytes=-1", SettingError, "at least 200"),
    ],
)
def test_what_is_no_choice_is_named(given, error, says):
    """With the value and the remedy."""
    with pytest.raises(error, match=says):
        Ask.of("", {}, given)
