"""What does a command line mean, what is wrong with it, and what does its help say? All of it by the one table."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches

from brimful.errors import suggest
from brimful.surfaces.cli.table import (
    ABOUT,
    ANSWER,
    COMMANDS,
    EXITS,
    FINE,
    NARROW,
    OWN,
    PREFIX,
    Argument,
    Command,
    Option,
)

HELP = ("-h", "--help")
NARROWEST, WIDEST = 30, 80
_LEFT, _NAMES = 2, 30  # columns before an option, and those that its names may take

Values = dict[str, object]


class WrongLineError(Exception):
    """A line that can't be read: what is wrong with it, and which help says what is right."""

    def __init__(self, message: str, command: str = "") -> None:
        super().__init__(message)
        self.advice = f"Try: {f'brimful {command}'.strip()} --help"


class HelpAskedError(Exception):
    """A line that asks for help, which is what it gets."""


# ---- reading


def read(
    words: Sequence[str], *, configured: Callable[[str], object], is_file: Callable[[str], bool]
) -> tuple[Command, Values]:
    """The command and the value of each argument and option.

    `configured` gives what stands in for an option that is missing, None where nothing does. The choices of a question
    are gathered under `ask`, and only those that were made.
    """
    command = _command(words, is_file)
    given, rest = _given(words[1:], command)
    values: Values = _placed(rest, command)
    ask: Values = {}
    for option in command.options:
        value = given.get(option.name)
        if value is None and option.key is not None:
            value = configured(option.key)
        if option.choice is None:
            values[option.name] = (() if option.kind == "texts" else option.default) if value is None else value
        elif value is not None:
            ask[option.name] = value
    return command, {**values, "ask": ask} if any(each.choice for each in command.options) else values


def _command(words: Sequence[str], is_file: Callable[[str], bool]) -> Command:
    word = words[0]
    if word in COMMANDS:
        return COMMANDS[word]
    if word in HELP:
        raise HelpAskedError("")
    if word.startswith("-"):
        raise WrongLineError(f"No such option: {word}; a command comes first: brimful COMMAND {word}")
    if " " in word or is_file(word):
        raise WrongLineError(f"{word!r} is not a command; to ask it: brimful context QUESTION PATH")
    raise WrongLineError(f"No such command {word!r}; {suggest(word, COMMANDS) or 'brimful --help lists them'}".rstrip())


def _given(words: Sequence[str], command: Command) -> tuple[Values, list[str]]:
    """The options that are there, and the words that are none."""
    options = {flag: each for each in command.options for flag in (*each.flags, *each.off)}
    values: Values = {}
    rest: list[str] = []
    left = iter(words)
    for word in left:
        if word == "--":
            rest.extend(left)
        elif word == "-" or not word.startswith("-"):
            rest.append(word)
        else:
            for flag, value in _flags(word, options, command):
                _take(values, options[flag], flag, value, left, command)
    return values, rest


def _flags(word: str, options: Mapping[str, Option], command: Command) -> Iterator[tuple[str, str | None]]:
    """The options of a word, each with the value that is joined to it: `--budget=5`, `-b5`, `-qb`."""
    if word.startswith("--"):
        flag, sign, value = word.partition("=")
        yield _known(flag, options, command), value if sign else None
        return
    at = 1
    while at < len(word):
        flag = _known(f"-{word[at]}", options, command, whole=word)
        at += 1
        if options[flag].kind == "flag" or at == len(word):
            yield flag, None
        else:
            yield flag, word[at:].removeprefix("=")
            return


def _known(flag: str, options: Mapping[str, Option], command: Command, *, whole: str = "") -> str:
    if flag in HELP:
        raise HelpAskedError(command.name)
    if flag in options:
        return flag
    close = get_close_matches(whole or flag, options, n=2, cutoff=0.7)
    hint = f"; did you mean {' or '.join(close)}?" if close else ""
    raise WrongLineError(f"No such option: {whole or flag}{hint}", command.name)


def _take(values: Values, option: Option, flag: str, joined: str | None, left: Iterator[str], command: Command) -> None:
    """Set what an option says."""
    if option.kind == "flag":
        if joined is not None:
            raise WrongLineError(f"{flag} takes no value; got {joined!r:.60}", command.name)
        values[option.name] = flag not in option.off
        return
    value = next(left, None) if joined is None else joined
    if value is None:
        raise WrongLineError(f"{flag} needs a value: {flag} {option.metavar}", command.name)
    if option.kind == "texts":
        before = values.get(option.name)
        values[option.name] = [*(before if isinstance(before, list) else ()), value]
    else:
        is_whole = option.kind == "int" and not _is_none(option, value)
        values[option.name] = _number(option, value, command) if is_whole else value


def _is_none(option: Option, value: str) -> bool:
    return option.choice is not None and option.choice.may_be_none and value.casefold() == "none"


def _number(option: Option, value: str, command: Command) -> int:
    if not (value.isascii() and value.removeprefix("-").isdigit()):
        example = option.default if isinstance(option.default, int) and option.default else 10
        name = option.flags[0]
        raise WrongLineError(f"{name} takes a whole number, such as {name} {example}; got {value!r:.60}", command.name)
    return int(value)


def _placed(words: list[str], command: Command) -> Values:
    """The words as arguments: one each, and what is left for the last if it takes many."""
    values: Values = {}
    for argument in command.arguments:
        if argument.takes_many:
            taken, words = words, []
            values[argument.name] = taken
        else:
            values[argument.name] = words.pop(0) if words else argument.default
        if argument.is_needed and not (values[argument.name] or values[argument.name] == ""):
            raise WrongLineError(f"{argument.metavar} is missing: {_usage(command)}", command.name)
    if words:
        raise WrongLineError(f"{words[0]!r:.60} is one argument too many: {_usage(command)}", command.name)
    return values


# ---- help


def help_of(name: str, *, width: int = WIDEST) -> str:
    """The help of a command, or of the program, laid out for so many columns."""
    width = min(max(width, NARROWEST), WIDEST)
    if not name:
        return _written(_program(width))
    command = COMMANDS[name]
    lines = [f"Usage: {_usage(command)}", ""]
    for paragraph in command.about:
        lines += [*_wrapped(paragraph, width, _LEFT), ""]
    if command.arguments:
        lines += ["Arguments:", *_columns(((each.metavar, _said(each)) for each in command.arguments), width), ""]
    for group in (ANSWER, NARROW, OWN, FINE):
        rows = [(_names(each), _told(each)) for each in command.options if each.group == group]
        rows += [("-h, --help", "Show this message and exit.")] if group == OWN else []
        lines += [f"{group}:", *_columns(rows, width), ""] if rows else []
    return _written(lines)


def _written(lines: Sequence[str]) -> str:
    return "\n".join(lines).rstrip("\n") + "\n"


def _program(width: int) -> list[str]:
    options = (
        ("--version", "Show the version and exit."),
        ("--no-color", "No colour; works in any place, as NO_COLOR does."),
        ("-h, --help", "Show this message and exit."),
    )
    commands = ((each.name, each.summary) for each in COMMANDS.values())
    return [
        "Usage: brimful [OPTIONS] COMMAND [ARGS]...",
        "",
        *_wrapped(ABOUT, width, _LEFT),
        "",
        "Options:",
        *_columns(options, width),
        "",
        "Commands:",
        *_columns(commands, width),
        "",
        *_wrapped(EXITS, width, _LEFT),
    ]


def _usage(command: Command) -> str:
    return " ".join(("brimful", command.name, "[OPTIONS]", *map(_shape, command.arguments)))


def _shape(argument: Argument) -> str:
    name = argument.metavar if argument.is_needed or argument.metavar.startswith("[") else f"[{argument.metavar}]"
    return f"{name}..." if argument.takes_many and not argument.metavar.startswith("[") else name


def _said(argument: Argument) -> str:
    return f"{argument.help} [default: {argument.default}]" if argument.default else argument.help


def _names(option: Option) -> str:
    short = [flag for flag in option.flags if not flag.startswith("--")]
    names = ", ".join((*short, *(flag for flag in option.flags if flag.startswith("--"))))
    names = " / ".join((names, *option.off))
    return f"{names} {option.metavar}".rstrip()


def _told(option: Option) -> str:
    """What an option does, where else it can be set, and what it is by default."""
    said = option.help
    if option.key is not None:
        said += f" [env: {PREFIX}{option.key.upper()}]"
    if option.off and option.default is not None:
        return f"{said} [default: {(option.flags if option.default else option.off)[0].removeprefix('--')}]"
    if option.kind == "flag" or option.default in (None, ()):
        return said
    return f"{said} [default: {option.default}]"


def _columns(rows: Iterable[tuple[str, str]], width: int) -> Iterator[str]:
    """Names on the left, what they mean on the right; names that are too long have a line of their own."""
    listed = list(rows)
    wide = min(max(len(left) for left, _ in listed), _NAMES, width // 2)
    indent = _LEFT + wide + 2
    for left, right in listed:
        lines = list(_wrapped(right, width, indent))
        if len(left) <= wide:
            lines[0] = f"{' ' * _LEFT}{left:<{wide}}  {lines[0].lstrip()}"
            yield from lines
        else:
            yield f"{' ' * _LEFT}{left}"
            yield from lines


def _wrapped(text: str, width: int, indent: int) -> Iterator[str]:
    """Lines of at most so many columns, all of them indented; a longer word has a line of its own."""
    line = ""
    for word in text.split(" "):
        if line and indent + len(line) + 1 + len(word) > width:
            yield " " * indent + line
            line = word
        else:
            line = f"{line} {word}" if line else word
    yield " " * indent + line
