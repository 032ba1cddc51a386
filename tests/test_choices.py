"""Every choice has one name, which every surface takes in one way."""

from dataclasses import fields

import pytest

from brimful.errors import ChoiceError, SettingError
from brimful.settings import CFS, CFS_FIELD, AskSettings, FieldSettings, WindowSettings, profiled

NAMES = [
    *(each.name for each in fields(AskSettings) if each.name != "windows"),
    *(f"windows.{each.name}" for each in fields(WindowSettings)),
    *(f"field.{each.name}" for each in fields(FieldSettings)),
]


def value_of(name, settings, field):
    """What a setting stands at."""
    part, dot, inner = name.partition(".")
    if not dot:
        return getattr(settings, name)
    return getattr(field if part == "field" else settings.windows or WindowSettings(), inner)


@pytest.mark.parametrize("name", NAMES)
def test_every_setting_can_be_named(name):
    """A value given as a text is the value itself, for each field of the three kinds of settings."""
    default = value_of(name, AskSettings(), FieldSettings())
    texts = {
        "operators": "off",
        "after": "2024",
        "before": "2025",
        "synonyms": "tea: infusion",
        "densify": "extractive:",
    }
    given = {True: "on", False: "off", None: "none"}.get(default, str(default)) if default not in ((), 0, 1) else None
    text = texts.get(name) or given or ("x.md" if default == () else str(default))
    text = "prose" if name == "kind" else text
    settings, field = profiled(AskSettings(), f"{name}={text}")
    found = value_of(name, settings, field)
    assert type(found) is type(default) or name in ("after", "before", "densify") or isinstance(default, bool | int)
    assert found == default or name in texts or default == ()


def test_several_and_again():
    """Semicolons part them; a list grows; what else was chosen stays."""
    settings, _ = profiled(AskSettings(sizing="radial"), "order=best; path=docs/; path=notes/; related=on")
    assert (settings.sizing, settings.order, settings.path, settings.related) == (
        "radial",
        "best",
        ("docs/", "notes/"),
        True,
    )


def test_a_profile_decides_what_is_left_as_it_is():
    """CFS by name is CFS, with its search; whatever was chosen besides holds."""
    assert profiled(AskSettings(), "profile=cfs") == (CFS, CFS_FIELD)
    assert profiled(AskSettings(packing="interleaved"), {"profile": "cfs"})[0].packing == "interleaved"
    assert profiled(AskSettings(), "") == (AskSettings(), FieldSettings())


@pytest.mark.parametrize(
    ("given", "error", "says"),
    [
        ("ordr=best", ChoiceError, "did you mean 'order'"),
        ("order=bst", ChoiceError, "best"),
        ("order", SettingError, "write name=value"),
        ("trim=perhaps", SettingError, "on or off"),
        ("top_k=many", SettingError, "it is a number"),
        ("profile=cps", ChoiceError, "cfs"),
        ("windows.max_window_bytes=-1", SettingError, "at least 1"),
    ],
)
def test_what_is_no_choice_is_named(given, error, says):
    """With the value and the remedy."""
    with pytest.raises(error, match=says):
        profiled(AskSettings(), given)
