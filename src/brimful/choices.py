"""Choices: fields of dataclasses that declare their values, range, unit and help once.

Checks, command-line options, configuration keys, schemas and controls are derived from them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field as dataclass_field
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any, Literal, NamedTuple

from brimful.errors import SettingError, choose

Kind = Literal["int", "float", "bool", "text", "texts"]
WORDS: Mapping[str, bool] = {
    **dict.fromkeys(("true", "yes", "on", "1"), True),
    **dict.fromkeys(("false", "no", "off", "0"), False),
}
"""The words for on and off."""
_NOTHING = ("none", "null", "")


class Choice(NamedTuple):
    """One choice: its values, its help, and how surfaces show it."""

    help: str
    names: tuple[str, ...] = ()  # the values, where there are few
    low: float | None = None
    high: float | None = None
    unit: str = ""
    flag: str = ""  # the option's own name, where it is not the field's
    off: str = ""  # and that of its opposite
    common: bool = False  # surfaces with little room name it too: a model's tools, the page
    searches: bool = False  # it says how a question is read or what may answer it, so a search has it as well
    is_set: bool = True  # it may be set once for all questions, in the environment or a file
    # From the field itself:
    name: str = ""
    kind: Kind = "text"
    may_be_none: bool = False
    default: Any = None


def choice(default: Any, help: str, **about: Any) -> Any:  # noqa: A002
    """A field of a frozen dataclass that is a choice."""
    return dataclass_field(default=default, metadata={"choice": Choice(help, **about)})


@cache
def choices_of(settings: type[Any]) -> dict[str, Choice]:
    """The choices of a dataclass by name, before the inherited ones."""
    choices = {}
    inherited = {field.name for base in settings.__mro__[1:] if is_dataclass(base) for field in fields(base)}
    for field in sorted(fields(settings), key=lambda field: field.name in inherited):
        if (choice := field.metadata.get("choice")) is not None:
            kinds = str(field.type).split(" | ")
            choices[field.name] = choice._replace(
                name=field.name, kind=_kind_of(kinds[0]), may_be_none="None" in kinds, default=field.default
            )
    return choices


def _kind_of(written: str) -> Kind:
    if written.startswith("tuple"):
        return "texts"
    return written if written in ("int", "float", "bool") else "text"  # type: ignore[return-value]


def check(settings: Any) -> None:
    """Refuse a value outside of its choice; the error names the value and the range."""
    for name, choice in choices_of(type(settings)).items():  # type: ignore[arg-type]  # a type is hashable
        check_value(choice, getattr(settings, name), name=name)


def normalise(value: object, **fields: object) -> None:
    """Set fields of a frozen dataclass while it is constructed; the only place that may."""
    for name, field_value in fields.items():
        object.__setattr__(value, name, field_value)


def check_value(choice: Choice, value: object, *, name: str) -> None:
    """Refuse one value outside of its choice."""
    if value is None and choice.may_be_none:
        return
    if choice.names and choice.kind == "text":
        if value not in choice.names:
            choose(value, choice.names, what=name)  # type: ignore[arg-type]
    elif choice.kind in ("int", "float"):
        _check_number(choice, value, name)


def _check_number(choice: Choice, value: object, name: str) -> None:
    """Refuse a number out of range, or of the wrong type."""
    if isinstance(value, int if choice.kind == "int" else int | float) and not isinstance(value, bool):
        assert isinstance(value, int | float)
        if (choice.low is None or value >= choice.low) and (choice.high is None or value <= choice.high):
            return
        if choice.high is None:
            raise SettingError(f"{name} is {value!r}; it must be at least {choice.low:g}")
    raise SettingError(f"{name} is {value!r:.60}; it must be {span_of(choice)}")


def span_of(choice: Choice) -> str:
    """The range of a choice in words.

    >>> span_of(Choice("", kind="int", low=1)), span_of(Choice("", kind="float", low=0, high=1))
    ('a whole number, at least 1', 'a number between 0 and 1')
    """
    what = "a whole number" if choice.kind == "int" else "a number"
    if choice.high is not None:
        ends = ("from", "to") if choice.kind == "int" else ("between", "and")
        return f"{what} {ends[0]} {choice.low or 0:g} {ends[1]} {choice.high:.15g}"
    return what if choice.low is None else f"{what}, at least {choice.low:g}"


def from_text(choice: Choice, value: object, *, name: str = "") -> object:
    """A value for its field: text becomes a number, a switch or a list, other values stay.

    >>> from_text(Choice("", kind="bool"), "off"), from_text(Choice("", kind="texts"), "a.md")
    (False, ('a.md',))
    >>> from_text(Choice("", kind="int", name="top_k"), "many")
    Traceback (most recent call last):
    brimful.errors.SettingError: top_k is 'many'; it must be a whole number
    """
    name = name or choice.name
    if choice.kind == "texts":
        return tuple(value) if isinstance(value, list | tuple) else (value,)
    if not isinstance(value, str):
        return value
    if choice.may_be_none and value.casefold() in _NOTHING:
        return None
    if choice.kind == "bool":
        if value.casefold() not in WORDS:
            raise SettingError(f"{name} is {value!r:.60}; it is on or off")
        return WORDS[value.casefold()]
    if choice.kind == "text":
        return value
    for number in (int, float):
        try:
            return number(value)
        except ValueError:
            continue
    raise SettingError(f"{name} is {value!r:.60}; it must be {span_of(choice)}")
