"""`brimful config`: settings, the files they are in, and the completion of shells."""

from __future__ import annotations

import os
from pathlib import Path

from brimful.errors import USAGE, BrimfulError, InputError, choose
from brimful.store.address import masked
from brimful.surfaces import records
from brimful.surfaces.cli import FOUND, configuration
from brimful.surfaces.cli.configuration import DEFAULTS
from brimful.surfaces.cli.opening import Line
from brimful.surfaces.cli.table import COMMANDS, Command, Option
from brimful.surfaces.cli.terminal import give, one_line, say, show, tint
from brimful.surfaces.cli.views import labelled

_ACTIONS = ("show", "path", "get", "set", "completion")
_SHELLS = ("bash", "zsh", "fish")


def config(line: Line, *, action: str, key: str | None, value: str | None, project: bool) -> int:
    """Show the settings, the files or one setting; set one; or print a completion script."""
    choose(action, _ACTIONS, what="action")
    if action == "show":
        return _show(line)
    if action == "path":
        return _paths(line)
    if action == "completion":
        shell = choose(key or "", _SHELLS, what="shell")
        script = _fish() if shell == "fish" else _bash(zsh=shell == "zsh")
        give(records.as_json({"shell": shell, "script": script}) if line.as_json else script)
        return FOUND
    if key is None or (action == "set") != (value is not None):
        raise InputError(f"give a key{' and a value' if action == 'set' else ''}: brimful config {action} budget …")
    if value is not None:
        return _set(line, key, value, project=project)
    current = configuration.setting(key)
    record: dict[str, object] = {"key": key, "value": _shown(current.value), "origin": current.origin}
    line.show(record, f"{_written(current.value)}\n")
    return FOUND


def _show(line: Line) -> int:
    settings: list[configuration.Setting] = []
    errors: dict[str, None] = {}
    for key in DEFAULTS:
        try:
            settings.append(configuration.setting(key))
        except BrimfulError as error:
            errors[str(error)] = None
    unknown = configuration.unknown_variables()
    if line.as_json:
        rows = [{"key": item.key, "value": _shown(item.value), "origin": item.origin} for item in settings]
        show(records.as_json({"settings": rows, "errors": list(errors), "unknown_variables": unknown}))
    else:
        show(labelled((item.key, f"{_written(item.value):<20} {one_line(item.origin)}") for item in settings))
        for name in unknown:
            say(tint("warn", f"{one_line(name)} is set, but is not a setting of this program"))
        for message in errors:
            say(f"{tint('bad', 'brimful:')} {one_line(message)}")
    return USAGE if errors else FOUND


def _paths(line: Line) -> int:
    user, project = configuration.user_file(), configuration.project_file()
    record: dict[str, object] = {
        "project": None if project is None else os.fspath(project),
        "user": os.fspath(user),
        "user_exists": user.is_file(),
    }
    rows = [
        ("project", one_line(os.fspath(project)) if project else f"none ({configuration.PROJECT_FILE})"),
        ("user", f"{one_line(os.fspath(user))}{'' if user.is_file() else ' (not there)'}"),
    ]
    line.show(record, labelled(rows))
    return FOUND


def _set(line: Line, key: str, value: str, *, project: bool) -> int:
    file = Path.cwd() / configuration.PROJECT_FILE if project else configuration.user_file()
    new = configuration.checked(choose(key, DEFAULTS, what="setting"), value)
    if not line.dry_run:
        new = configuration.put(file, key, value)
    record: dict[str, object] = {"key": key, "value": _shown(new), "file": os.fspath(file), "dry_run": line.dry_run}
    verb = "would be set" if line.dry_run else "is set"
    line.show(record, f"{key} = {_written(new)} {verb} in {one_line(os.fspath(file))}\n")
    return FOUND


def _shown(value: str | float | None) -> str | float | None:
    """A value without the password of an address."""
    return masked(value) if isinstance(value, str) else value


def _written(value: str | float | None) -> str:
    return "-" if value is None else one_line(masked(str(value)))


def _bash(*, zsh: bool = False) -> str:
    """A completion function for bash, which zsh runs too; every word is in it, so completing starts no process."""
    lead = ["autoload -U +X compinit && compinit", "autoload -U +X bashcompinit && bashcompinit"] if zsh else []
    reply = 'COMPREPLY=($(compgen -W "{}" -- "$word"))'
    lines = [
        *lead,
        "_brimful() {",
        '  local word="${COMP_WORDS[COMP_CWORD]}" before="${COMP_WORDS[COMP_CWORD-1]}" command="${COMP_WORDS[1]}"',
        f'  if [ "$COMP_CWORD" -eq 1 ]; then {reply.format(" ".join((*COMMANDS, "--help", "--version")))}; return; fi',
        '  case "$command $before" in',
        *(
            f'    "{command.name} {flag}") {reply.format(" ".join(_values(option)))}; return;;'
            for command in COMMANDS.values()
            for option in command.options
            for flag in option.flags
            if _values(option)
        ),
        "  esac",
        '  case "$command $word" in',
        *(f'    "{name} -"*) {reply.format(" ".join(_flags(command)))};;' for name, command in COMMANDS.items()),
        *(f'    "{name} "*) {reply.format(" ".join(words))};;' for name, words in _first_words().items()),
        '    *) COMPREPLY=($(compgen -f -- "$word"));;',
        "  esac",
        "}",
        "complete -o filenames -o bashdefault -F _brimful brimful",
    ]
    return "\n".join(lines) + "\n"


def _fish() -> str:
    """A completion line for each command and option."""
    lines = [
        f"complete -c brimful -n __fish_use_subcommand -f -a {name} -d {_quoted(command.summary)}"
        for name, command in COMMANDS.items()
    ]
    for name, command in COMMANDS.items():
        seen = f"complete -c brimful -n '__fish_seen_subcommand_from {name}'"
        for option in command.options:
            flags = (*option.flags, *option.off)
            names = " ".join(f"-l {flag[2:]}" if flag.startswith("--") else f"-s {flag[1:]}" for flag in flags)
            words = _values(option)
            value = "" if option.kind == "flag" else f" -x -a {_quoted(' '.join(words))}" if words else " -r"
            lines.append(f"{seen} {names}{value} -d {_quoted(option.help)}")
        if words := _first_words().get(name, []):
            lines.append(f"{seen} -f -a {_quoted(' '.join(words))}")
    return "\n".join(lines) + "\n"


def _flags(command: Command) -> list[str]:
    flags = (flag for option in command.options for flag in (*option.flags, *option.off))
    return [*(flag for flag in flags if flag.startswith("--")), "--help"]


def _values(option: Option) -> list[str]:
    return option.metavar.split("|") if "|" in option.metavar else []


def _first_words() -> dict[str, list[str]]:
    """The values of arguments that take one of a few words, by command."""
    metavars = {name: command.arguments[0].metavar for name, command in COMMANDS.items() if command.arguments}
    words = {name: metavar.split("|") for name, metavar in metavars.items() if "|" in metavar and metavar.islower()}
    return {**words, "config": [*words["config"], *DEFAULTS, *_SHELLS]}


def _quoted(text: str) -> str:
    escaped = text.replace("'", "\\'")
    return f"'{escaped}'"
