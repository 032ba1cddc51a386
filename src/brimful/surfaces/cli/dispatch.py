"""What does a command line mean, what runs it, which exit code does it have, and what is said of an error?"""

from __future__ import annotations

import errno
import gc
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

from brimful.errors import STORAGE, USAGE, BrimfulError, outcome_of, suggest
from brimful.surfaces.cli import ONE_QUESTION, columns
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
from brimful.surfaces.cli.terminal import PipeClosed, give, harmless, say, tint

if TYPE_CHECKING:
    from pathlib import Path

# ---- parsing: What does a command line mean, what is wrong with it, and what does its help say? All of it by the one
# table.

_HELP = ("-h", "--help")
_NARROWEST, _WIDEST = 30, 80
_LEFT, _NAMES = 2, 30  # columns before an option, and those that its names may take

Values = dict[str, object]


class WrongLineError(Exception):
    """A line that can't be read: what is wrong with it, and which help says what is right."""

    def __init__(self, message: str, command: str = "") -> None:
        super().__init__(message)
        self.advice = f"Try: {f'brimful {command}'.strip()} --help"


class HelpAskedError(Exception):
    """A line that asks for help, which is what it gets."""


def read(
    words: Sequence[str], *, configured: Callable[[str], object], is_file: Callable[[str], bool]
) -> tuple[Command, Values]:
    """The command and the value of each argument and option.

    `configured` gives what stands in for an option that is missing, None where nothing does. The choices of a question
    are gathered under `ask`, and only those that were made.
    """
    command = _named_command(words, is_file)
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


def _named_command(words: Sequence[str], is_file: Callable[[str], bool]) -> Command:
    word = words[0]
    if word in COMMANDS:
        return COMMANDS[word]
    if word in _HELP:
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
    if flag in _HELP:
        raise HelpAskedError(command.name)
    if flag in options:
        return flag
    from difflib import get_close_matches

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


def help_of(name: str, *, width: int = _WIDEST) -> str:
    """The help of a command, or of the program, laid out for so many columns."""
    width = min(max(width, _NARROWEST), _WIDEST)
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


# ---- exits: Which exit code does an outcome have?

FOUND = 0
NOTHING = 1  # nothing found; for `verify`: something is not as the receipt says
PARTIAL = 3  # answered, but something that belongs to the corpus could not be read; `verify`: no source was given
_INTERRUPTED = 130

FIXABLE = ("unreadable", "changing", "missing_part")
"""Skips that make an answer partial: another try, a permission or an install brings the file in."""


# ---- dispatch: What runs a command? Its module is imported when it is needed, and not before.


_MODELS = {"embedder", "reranker"}
_SELDOM = 100_000
"""What ends with its answer, or when files are in, looks for garbage each time that it has made so many objects more
than it let go of."""


def run(command: Command, values: Mapping[str, Any]) -> int:
    """Call what a command stands for with the values of its arguments and options; returns the exit code."""
    module = import_module(f"brimful.surfaces.cli.{command.module}")
    if not gc.isenabled():
        gc.freeze()  # what was read stays to the end, and is not looked at again
        if command.name in ONE_QUESTION or command.name == "add":
            gc.set_threshold(_SELDOM)
        gc.enable()
    work: Callable[..., int] = getattr(module, "evaluate" if command.name == "eval" else command.name)
    for name in _MODELS & values.keys():
        if values[name] != "auto":
            os.environ[f"BRIMFUL_{name.upper()}"] = values[name]  # for every store that this command opens
    return work(**{name: value for name, value in values.items() if name not in _MODELS})


# ---- failing: What is said of an error? One line on standard error, or with --json an object; never a traceback.

_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EROFS)


def guarded(words: Sequence[str]) -> int:
    """Run a command; whatever goes wrong on purpose becomes a message and an exit code."""
    as_json = "--json" in words
    try:
        code = _command(words)
        sys.stdout.flush()
    except KeyboardInterrupt:
        _complain("stopped; what was stored before is intact", "cancelled", _INTERRUPTED, as_json=as_json, lead="\n")
        return _INTERRUPTED
    except (BrokenPipeError, PipeClosed):
        _let_go()
        return FOUND
    except BrimfulError as error:
        return _complain(str(error), error.code, outcome_of(error.code).exit, as_json=as_json)
    except OSError as error:
        return unwritten(error, as_json=as_json)
    return code


def unwritten(error: OSError, *, as_json: bool = False) -> int:
    """An error of the system: a disk without room is one of storage, anything else can be corrected by the caller."""
    if isinstance(error, BrokenPipeError):
        _let_go()
        return FOUND
    code = STORAGE if error.errno in _NO_ROOM else USAGE
    if code == STORAGE:
        _let_go()  # or Python tries to write the rest once more when it leaves
    text = (
        f"standard output can't be written: {error.strerror}" if code == STORAGE and not error.filename else str(error)
    )
    return _complain(text, "store.full" if code == STORAGE else "input", code, as_json=as_json)


def _command(words: Sequence[str]) -> int:
    """Read a line and run it; what asks for help gets it."""
    try:
        return run(*read(words, configured=_configured(), is_file=os.path.exists))
    except HelpAskedError as asked:
        give(help_of(str(asked), width=columns()))
        return FOUND
    except WrongLineError as error:
        return _complain(str(error), "input.usage", USAGE, as_json="--json" in words, after=error.advice)


def _configured() -> Callable[[str], object]:
    """What the environment or a file says in place of an option, None where neither does; files are looked for once."""
    places: list[Path] | None = None

    def value_of(key: str) -> object:
        nonlocal places
        from brimful.surfaces.cli.configuration import DEFAULT, files, setting

        places = [*files()] if places is None else places
        found = setting(key, places)
        return None if found.origin == DEFAULT else found.value

    return value_of


def _complain(message: str, code: str, exit_code: int, *, as_json: bool, lead: str = "", after: str = "") -> int:
    if as_json:
        import json

        say(json.dumps({"error": {"code": code, "message": message, "exit": exit_code}}))
    else:
        say(f"{lead}{tint('bad', 'brimful:')} {harmless(message)}")
        if after:
            say(after)
    return exit_code


def _let_go() -> None:
    """Nothing more can be written there."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
