"""How is help shown and a plain command line read without waiting for the parser?

`make cli-docs` writes help.txt and grammar.json from the declarations in `app`. A line that is not plain (an unknown
option, a wrong number, two short options in one) gives None here, and the parser says what is wrong with it.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

NARROWEST = 80
_HELP = ("-h", "--help")


def help_for(arguments: Sequence[str]) -> str | None:
    """The help that a line asks for, if it asks for nothing else; laid out for 80 columns."""
    command, *rest = arguments if len(arguments) > 1 else ("", *arguments)
    if len(rest) != 1 or rest[0] not in _HELP:
        return None
    names, *texts = text_of("help.txt").split("\f\n")
    known = names.rstrip("\n").split(",")
    return texts[known.index(command)] if command in known else None


def text_of(name: str) -> str:
    """A file that stands beside this one."""
    with open(f"{__file__.rpartition('quick.')[0]}{name}", encoding="utf-8") as file:  # noqa: PTH123  (pathlib is slow)
        return file.read()


def grammar() -> dict[str, Any]:
    """Every command with its arguments and options."""
    import json

    found: dict[str, Any] = json.loads(text_of("grammar.json"))
    return found


def read(
    arguments: Sequence[str], commands: Mapping[str, Any], *, configured: Callable[[str], object]
) -> tuple[str, dict[str, object]] | None:
    """The command and the value of each argument and option, or None where the line is not plain.

    `configured` gives the value of a setting for which no option is given.
    """
    if not arguments or arguments[0] not in commands:
        return None
    grammar = commands[arguments[0]]
    given = _given(
        arguments[1:], {flag: each for each in grammar["options"] for flag in (*each["flags"], *each["off"])}
    )
    if given is None:
        return None
    values, words = given
    placed = _placed(words, grammar["arguments"])
    if placed is None:
        return None
    for option in grammar["options"]:
        name = option["name"]
        if name not in values:
            values[name] = option["default"] if option["key"] is None else configured(option["key"])
    return arguments[0], {**placed, **values}


def _given(words: Sequence[str], options: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]] | None:
    """The options that are there, and the words that are none."""
    values: dict[str, Any] = {}
    rest: list[str] = []
    left = iter(words)
    for word in left:
        if word == "--":
            rest.extend(left)
        elif word == "-" or not word.startswith("-"):
            rest.append(word)
        else:
            flag, is_joined, value = word.partition("=") if word.startswith("--") else (word, "", "")
            option = options.get(flag)
            if option is None or (option["kind"] == "flag" and is_joined):
                return None
            if option["kind"] == "flag":
                values[option["name"]] = flag not in option["off"]
                continue
            taken = _value(option["kind"], value if is_joined else next(left, None))
            if taken is None:
                return None
            values[option["name"]] = [*values.get(option["name"], ()), taken] if option["kind"] == "list" else taken
    return values, rest


def _value(kind: str, word: str | None) -> str | int | None:
    if word is None or kind != "int":
        return word
    return int(word) if word.isascii() and word.removeprefix("-").isdigit() else None


def _placed(words: list[str], arguments: Sequence[Mapping[str, Any]]) -> dict[str, object] | None:
    """The words as arguments: one each, and what is left for the last if it takes many."""
    values: dict[str, object] = {}
    for argument in arguments:
        if argument["many"]:
            values[argument["name"]] = words or None
            words = []
        else:
            values[argument["name"]] = words.pop(0) if words else argument["default"]
        if argument["required"] and values[argument["name"]] is None:
            return None
    return None if words else values
