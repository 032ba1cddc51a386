"""Reading a command line by the table of commands, and the help that the table makes."""

from __future__ import annotations

import argparse
import textwrap
from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any

from brimful.errors import suggest
from brimful.settings import ASKED
from brimful.surfaces.cli.table import ABOUT, COMMANDS, EXITS, GROUPS, OPTIONS, PREFIX, Argument, Command, Option

HELP = ("-h", "--help")
_QUESTION = '  brimful "How are receipts checked?"        ask this folder'


class WrongLineError(Exception):
    """A line that can't be read: what is wrong with it, and which help shows what is right."""

    def __init__(self, message: str, command: str = "") -> None:
        super().__init__(message)
        self.advice = f"Try: {f'brimful {command}'.strip()} --help"


class HelpAskedError(Exception):
    """A line that asks for the help of a command."""


def read(
    words: Sequence[str], *, configured: Callable[[str], object], is_file: Callable[[str], bool]
) -> tuple[Command, dict[str, object]]:
    """The command and the value of each argument and option.

    `configured` gives the value of a setting, None where there is none. The choices of a question are gathered under
    `ask`, and only if they were made. A line that begins with a word with a space in it, or with an option before one,
    is for `context`.
    """
    first = words[:1] if not words[0].startswith("-") else words
    is_question = any(" " in word.strip() for word in first) and not is_file(words[0])
    command = COMMANDS["context"] if is_question else _command(words[0], is_file)
    line = _parsed(words if is_question else words[1:], command)
    values = {argument.name: line[argument.name] for argument in command.arguments}
    ask: dict[str, object] = {}
    for option in command.options:
        value = line[option.name]
        if value is None and option.key is not None:
            value = configured(option.key)
        if option.key == "set" and isinstance(value, list):
            value = "; ".join(value)
        if option.choice is None:
            values[option.name] = (
                (() if option.kind == "texts" and option.key is None else option.default) if value is None else value
            )
        elif value is not None:
            ask[option.name] = value
    if "more" in values and any(option.choice for option in command.options):
        hidden = (name for name, choice in ASKED.items() if choice.is_set and name not in {*line, "synonyms"})
        ask.update({name: value for name in hidden if (value := configured(name)) is not None})
    return command, {**values, "ask": ask} if any(option.choice for option in command.options) else values


def _command(word: str, is_file: Callable[[str], bool]) -> Command:
    if word in COMMANDS:
        return COMMANDS[word]
    if word.startswith("-"):
        raise WrongLineError(f"No such option: {word}; a command comes first: brimful COMMAND {word}")
    if is_file(word):
        raise WrongLineError(f"{word!r} is not a command; to ask it: brimful context QUESTION {word}")
    close = suggest(word, COMMANDS) or f"to ask for it: brimful context {word}"
    raise WrongLineError(f"No such command {word!r}; {close}".rstrip())


def _parsed(words: Sequence[str], command: Command) -> dict[str, object]:
    """The value of each argument and option, None for an option that is missing."""
    end = words.index("--") if "--" in words else len(words)
    try:
        options, others = _parser(command).parse_known_args(words[:end])
    except argparse.ArgumentError as error:
        flag = str(error.argument_name).split("/")[0]
        wrong = f"needs a value: {flag}=VALUE" if error.message.startswith("expected") else error.message
        raise WrongLineError(f"{flag} {wrong}", command.name) from None
    values = vars(options)
    if values["help"]:
        raise HelpAskedError(command.name)
    for word in others:
        if word.startswith("-") and word != "-":
            raise WrongLineError(_unknown_option(word, command), command.name)
    return {**values, **_arguments([*others, *words[end + 1 :]], command)}


def _unknown_option(word: str, command: Command) -> str:
    """Explain an unknown option: how `--set` takes it, or which options are close."""
    name, _, value = word.partition("=")
    setting = name.removeprefix("--").removeprefix("no-").replace("-", "_")
    if setting in ASKED and any(option.key == "set" for option in command.options):
        value = "off" if name.startswith("--no-") else value or "VALUE"
        return f"No such option: {word}; give it as --set {setting}={value}"
    flags = [flag for option in command.options for flag in (*option.flags, *option.off)]
    close = get_close_matches(name, flags, n=2, cutoff=0.7)
    return f"No such option: {word}" + (f"; did you mean {' or '.join(close)}?" if close else "")


def _arguments(words: list[str], command: Command) -> dict[str, object]:
    """One word for each argument, and the rest for the last if it takes many."""
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
    """Names an option once, its value after its names, in every version of Python."""

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
    if not name:
        return f"{_program().format_help()}\nExamples:\n{_QUESTION}\n  {COMMANDS['context'].examples[0]}\n\n{EXITS}\n"
    examples = COMMANDS[name].examples
    text = _parser(COMMANDS[name], shows_arguments=True).format_help()
    return "\n".join((f"{text}\nExamples:", *(f"  {line}" for line in examples), "")) if examples else text


def _program() -> argparse.ArgumentParser:
    """A parser for help alone; a line is read by the parser of its command."""
    parser = argparse.ArgumentParser(
        usage='brimful "QUESTION" | brimful COMMAND [ARGS]...', description=ABOUT, formatter_class=_Help, add_help=False
    )
    options, commands = parser.add_argument_group(OPTIONS), parser.add_argument_group("Commands")
    options.add_argument("--version", action="store_true", help="Show the version and exit.")
    options.add_argument("--no-color", action="store_true", help="No colour, as with NO_COLOR; works for any command.")
    memory = "Memory for indexing and asking, 256MB or more; works for any command. Default: a quarter of the machine."
    options.add_argument("--max-memory", metavar="SIZE", help=memory)
    options.add_argument(*HELP, action="store_true", help="Show this message and exit.")
    for command in COMMANDS.values():
        commands.add_argument(command.name, metavar=command.name, help=command.summary)
    return parser


def _parser(command: Command, *, shows_arguments: bool = False) -> argparse.ArgumentParser:
    """A parser of a command's options; arguments may stand between them, so they are added for help alone."""
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
                help_text = _option_help(option)
                group.add_argument(*option.flags, *option.off, dest=option.name, help=help_text, **_kind(option))
        if title == OPTIONS:
            group.add_argument(*HELP, action="store_true", help="Show this message and exit.")
    return parser


def _kind(option: Option) -> Mapping[str, Any]:
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
    name = "ACTION" if argument.name == "action" else argument.metavar
    name = name if argument.is_needed or name.endswith("]") else f"[{name}]"
    return f"{name}..." if argument.takes_many else name


def _option_help(option: Option) -> str:
    """The help of an option with its environment variable and its default."""
    text = option.help.replace("%", "%%")
    if option.key is not None and option.choice is None:
        text += f" [env: {PREFIX}{option.key.upper()}]"
    if option.off and option.default is not None:
        return f"{text} [default: {(option.flags if option.default else option.off)[0].removeprefix('--')}]"
    return text if option.kind == "flag" or option.default in (None, ()) else f"{text} [default: {option.default}]"
