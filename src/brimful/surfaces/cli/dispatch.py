"""What does a command line mean, what runs it, which exit code does it have, and what is said of an error?"""

from __future__ import annotations

import argparse
import errno
import json
import os
import sys
import textwrap
from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from functools import cache
from importlib import import_module
from typing import Any

from brimful.errors import STORAGE, USAGE, BrimfulError, outcome_of, suggest
from brimful.rules import VERSION
from brimful.surfaces.cli.configuration import DEFAULT, files, setting
from brimful.surfaces.cli.table import ABOUT, COMMANDS, EXITS, GROUPS, OWN, PREFIX, Argument, Command, Option
from brimful.surfaces.cli.terminal import give, harmless, say, tint

# ---- parsing: What does a command line mean, what is wrong with it, and what does its help say? All of it by the one
# table.

_HELP = ("-h", "--help")


class WrongLineError(Exception):
    """A line that can't be read: what is wrong with it, and which help says what is right."""

    def __init__(self, message: str, command: str = "") -> None:
        super().__init__(message)
        self.advice = f"Try: {f'brimful {command}'.strip()} --help"


class HelpAskedError(Exception):
    """A line that asks for help, which is what it gets."""


def read(
    words: Sequence[str], *, configured: Callable[[str], object], is_file: Callable[[str], bool]
) -> tuple[Command, dict[str, object]]:
    """The command and the value of each argument and option.

    `configured` gives the value of an option that is missing, None where nothing does. The choices of a question
    are gathered under `ask`, and only those that were made.
    """
    command = _named_command(words, is_file)
    parsed = _parsed(words[1:], command)
    values = {argument.name: parsed[argument.name] for argument in command.arguments}
    ask: dict[str, object] = {}
    for option in command.options:
        value = parsed[option.name]
        if value is None and option.key is not None:
            value = configured(option.key)
        if option.choice is None:
            values[option.name] = (() if option.kind == "texts" else option.default) if value is None else value
        elif value is not None:
            ask[option.name] = value
    return command, {**values, "ask": ask} if any(option.choice for option in command.options) else values


def _named_command(words: Sequence[str], is_file: Callable[[str], bool]) -> Command:
    word = words[0]
    if word in COMMANDS:
        return COMMANDS[word]
    if word.startswith("-"):
        raise WrongLineError(f"No such option: {word}; a command comes first: brimful COMMAND {word}")
    if " " in word or is_file(word):
        raise WrongLineError(f"{word!r} is not a command; to ask it: brimful context QUESTION PATH")
    raise WrongLineError(f"No such command {word!r}; {suggest(word, COMMANDS) or 'brimful --help lists them'}".rstrip())


def _parsed(words: Sequence[str], command: Command) -> dict[str, object]:
    """The value of each argument and option, None for an option that is missing."""
    end = words.index("--") if "--" in words else len(words)
    try:
        found, rest = _parser(command).parse_known_args(words[:end])
    except argparse.ArgumentError as error:
        flag = str(error.argument_name).split("/")[0]
        wrong = f"needs a value: {flag}=VALUE" if error.message.startswith("expected") else error.message
        raise WrongLineError(f"{flag} {wrong}", command.name) from None
    values = vars(found)
    if values["help"]:
        raise HelpAskedError(command.name)
    for word in rest:
        if word.startswith("-") and word != "-":
            flags = [flag for option in command.options for flag in (*option.flags, *option.off)]
            close = get_close_matches(word.partition("=")[0], flags, n=2, cutoff=0.7)
            hint = f"; did you mean {' or '.join(close)}?" if close else ""
            raise WrongLineError(f"No such option: {word}{hint}", command.name)
    return {**values, **_placed([*rest, *words[end + 1 :]], command)}


def _placed(words: list[str], command: Command) -> dict[str, object]:
    """The words as arguments: one each, and what is left for the last if it takes many."""
    values: dict[str, object] = {}
    for argument in command.arguments:
        if argument.takes_many:
            values[argument.name], words = words, []
        else:
            values[argument.name] = words.pop(0) if words else argument.default
        if argument.is_needed and values[argument.name] in (None, []):
            raise WrongLineError(f"{argument.metavar} is missing: {_usage(command)}", command.name)
    if words:
        raise WrongLineError(f"{words[0]!r:.60} is one argument too many: {_usage(command)}", command.name)
    return values


class _Help(argparse.HelpFormatter):
    """Names an option once, with its value behind its names, in every version of Python."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=32)  # columns for an option and its value

    def _format_action_invocation(self, action: argparse.Action) -> str:
        if not action.option_strings:
            return str(action.metavar)
        names = ", ".join(sorted(action.option_strings, key=lambda flag: flag.startswith("--")))  # the short one first
        return f"{names} {action.metavar or ''}".rstrip()

    def _split_lines(self, text: str, width: int) -> list[str]:
        return textwrap.wrap(text, width, break_on_hyphens=False)


class _Switch(argparse.Action):
    """An option without a value, off under the names that `const` holds."""

    def __call__(self, _parser: object, namespace: object, _values: object, option_string: str | None = None) -> None:
        setattr(namespace, self.dest, option_string not in self.const)


def help_of(name: str) -> str:
    """The help of a command, or of the program, as wide as the terminal."""
    return (_parser(COMMANDS[name], shows_arguments=True) if name else _program()).format_help()


def _program() -> argparse.ArgumentParser:
    """What is only asked for its help; a line is read by the parser of its command."""
    parser = argparse.ArgumentParser(
        usage="brimful [OPTIONS] COMMAND [ARGS]...",
        description=ABOUT,
        epilog=EXITS,
        formatter_class=_Help,
        add_help=False,
    )
    options, commands = parser.add_argument_group(OWN), parser.add_argument_group("Commands")
    options.add_argument("--version", action="store_true", help="Show the version and exit.")
    options.add_argument("--no-color", action="store_true", help="No colour; works in any place, as NO_COLOR does.")
    options.add_argument(*_HELP, action="store_true", help="Show this message and exit.")
    for command in COMMANDS.values():
        commands.add_argument(command.name, metavar=command.name, help=command.summary)
    return parser


def _parser(command: Command, *, shows_arguments: bool = False) -> argparse.ArgumentParser:
    """What reads the options of a command; its arguments may stand between them, so they are only there for help."""
    parser = argparse.ArgumentParser(
        usage=_usage(command),
        description=command.about,
        formatter_class=_Help,
        add_help=False,
        allow_abbrev=False,
        exit_on_error=False,
    )
    group = parser.add_argument_group("Arguments")
    for argument in command.arguments if shows_arguments else ():
        default = f" [default: {argument.default}]" if argument.default else ""
        group.add_argument(argument.name, metavar=argument.metavar, help=argument.help + default)
    for title in GROUPS:
        group = parser.add_argument_group(title)
        for option in command.options:
            if option.group == title:
                group.add_argument(*option.flags, *option.off, dest=option.name, help=_told(option), **_kind(option))
        if title == OWN:
            group.add_argument(*_HELP, action="store_true", help="Show this message and exit.")
    return parser


def _kind(option: Option) -> dict[str, Any]:
    """How argparse reads an option."""
    if option.kind == "flag":
        return {"action": _Switch, "nargs": 0, "const": option.off}
    if option.kind == "texts":
        return {"action": "append", "metavar": option.metavar}
    return {"type": _number_of(option) if option.kind == "int" else _text, "metavar": option.metavar}


def _text(value: str) -> str:
    return value.removeprefix("=")  # of `-m=gpt-4o`


def _number_of(option: Option) -> Callable[[str], int | str]:
    def number(value: str) -> int | str:
        value = _text(value)
        if option.choice is not None and option.choice.may_be_none and value.casefold() == "none":
            return value
        if not (value.isascii() and value.removeprefix("-").isdigit()):
            example = option.default if isinstance(option.default, int) and option.default else 10
            flag = option.flags[0]
            raise argparse.ArgumentTypeError(f"takes a whole number, such as {flag} {example}; got {value!r:.60}")
        return int(value)

    return number


def _usage(command: Command) -> str:
    return " ".join(("brimful", command.name, "[OPTIONS]", *map(_shape, command.arguments)))


def _shape(argument: Argument) -> str:
    name = argument.metavar if argument.is_needed or argument.metavar.startswith("[") else f"[{argument.metavar}]"
    return f"{name}..." if argument.takes_many and not argument.metavar.startswith("[") else name


def _told(option: Option) -> str:
    """What an option does, where else it can be set, and what it is by default."""
    text = option.help.replace("%", "%%")
    if option.key is not None:
        text += f" [env: {PREFIX}{option.key.upper()}]"
    if option.off and option.default is not None:
        return f"{text} [default: {(option.flags if option.default else option.off)[0].removeprefix('--')}]"
    return text if option.kind == "flag" or option.default in (None, ()) else f"{text} [default: {option.default}]"


# ---- exits: Which exit code does an outcome have?

FOUND = 0
NOTHING = 1  # nothing found; for `verify`: something is not as the receipt says
PARTIAL = 3  # answered, but something that belongs to the corpus could not be read; `verify`: no source was given

FIXABLE = ("unreadable", "changing", "missing_part")
"""Skips that make an answer partial: another try, a permission or an install brings the file in."""


# ---- dispatch: What runs a command? Its module is imported when it is needed, and not before.

_MODELS = {"embedder", "reranker"}


def run(command: Command, values: Mapping[str, Any]) -> int:
    """Call the function of a command with the values of its arguments and options; returns the exit code."""
    module = import_module(f"brimful.surfaces.cli.{command.module}")
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
        return _complain("stopped; what was stored before is intact", "cancelled", 130, as_json=as_json, lead="\n")
    except BrokenPipeError:  # `| head` has seen enough
        _let_go()
        return FOUND
    except BrimfulError as error:
        return _complain(str(error), error.code, outcome_of(error.code).exit, as_json=as_json)
    except OSError as error:
        return _unwritten(error, as_json=as_json)
    return code


def _unwritten(error: OSError, *, as_json: bool) -> int:
    """An error of the system: a disk without room is one of storage, anything else can be corrected by the caller."""
    if error.errno not in _NO_ROOM:
        return _complain(str(error), "input", USAGE, as_json=as_json)
    _let_go()  # or Python tries to write the rest once more when it leaves
    text = str(error) if error.filename else f"standard output can't be written: {error.strerror}"
    return _complain(text, "store.full", STORAGE, as_json=as_json)


def _command(words: Sequence[str]) -> int:
    """Read a line and run it; what asks for help gets it."""
    options = words[: words.index("--")] if "--" in words else words
    if "--no-color" in options:
        os.environ["NO_COLOR"] = "1"
        words = [*(word for word in options if word != "--no-color"), *words[len(options) :]]
    if not words:
        say(help_of("").rstrip())
        return USAGE
    if words[0] in _HELP or list(words) == ["--version"]:
        give(help_of("") if words[0] in _HELP else f"brimful {VERSION}\n")
        return FOUND
    try:
        return run(*read(words, configured=_configured(), is_file=os.path.exists))
    except HelpAskedError as asked:
        give(help_of(str(asked)))
        return FOUND
    except WrongLineError as error:
        return _complain(str(error), "input.usage", USAGE, as_json="--json" in words, after=error.advice)


def _configured() -> Callable[[str], object]:
    """What the environment or a file says in place of an option, None where neither does; files are looked for once."""
    places = cache(lambda: [*files()])

    def value_of(key: str) -> object:
        found = setting(key, places())
        return None if found.origin == DEFAULT else found.value

    return value_of


def _complain(message: str, code: str, exit_code: int, *, as_json: bool, lead: str = "", after: str = "") -> int:
    if as_json:
        say(json.dumps({"error": {"code": code, "message": message, "exit": exit_code}}))
    else:
        say(f"{lead}{tint('bad', 'brimful:')} {harmless(message)}")
        if after:
            say(after)
    return exit_code


def _let_go() -> None:
    """Nothing more can be written there."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
