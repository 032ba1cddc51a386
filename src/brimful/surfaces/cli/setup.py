"""What is set and where does it come from, and how does a shell complete a command line?"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from brimful.errors import USAGE, BrimfulError, InputError, choose
from brimful.store.address import masked
from brimful.surfaces import records
from brimful.surfaces.cli import configuration as known
from brimful.surfaces.cli.configuration import DEFAULTS
from brimful.surfaces.cli.dispatch import FOUND
from brimful.surfaces.cli.table import COMMANDS, Command, Option
from brimful.surfaces.cli.terminal import give, one_line, say, show, tint
from brimful.surfaces.cli.views import labelled

# ---- configuring: What is set, where does it come from, and how is it set?

_ACTIONS = ("show", "path", "get", "set")


def config(*, action: str, key: str | None, value: str | None, project: bool, dry_run: bool, as_json: bool) -> int:
    """Show the settings, the files, one setting; or set one."""
    choose(action, _ACTIONS, what="action")
    if action == "show":
        return _show(as_json=as_json)
    if action == "path":
        return _paths(as_json=as_json)
    if key is None or (action == "set") != (value is not None):
        raise InputError(f"give a key{' and a value' if action == 'set' else ''}: brimful config {action} budget …")
    if action == "set":
        assert value is not None
        return _set(key, value, project=project, dry_run=dry_run, as_json=as_json)
    found = known.setting(key)
    record: dict[str, object] = {"key": key, "value": _shown(found.value), "origin": found.origin}
    show(records.as_json(record) if as_json else f"{_written(found.value)}\n")
    return FOUND


def _show(*, as_json: bool) -> int:
    found, wrong = [], []
    for key in known.DEFAULTS:
        try:
            found.append(known.setting(key))
        except BrimfulError as error:
            wrong.append(str(error))
    wrong = list(dict.fromkeys(wrong))
    strangers = known.unknown_variables()
    if as_json:
        settings = [{"key": each.key, "value": _shown(each.value), "origin": each.origin} for each in found]
        show(records.as_json({"settings": settings, "errors": wrong, "unknown_variables": strangers}))
    else:
        show(labelled([(each.key, f"{_written(each.value):<20} {one_line(each.origin)}") for each in found]))
        for each in strangers:
            say(tint("warn", f"{one_line(each)} is set, but is not a setting of this program"))
        for each in wrong:
            say(f"{tint('bad', 'brimful:')} {one_line(each)}")
    return USAGE if wrong else FOUND


def _paths(*, as_json: bool) -> int:
    user, project = known.user_file(), known.project_file()
    record: dict[str, object] = {
        "project": None if project is None else os.fspath(project),
        "user": os.fspath(user),
        "user_exists": user.is_file(),
    }
    if as_json:
        show(records.as_json(record))
    else:
        rows = [("project", one_line(os.fspath(project)) if project else f"none ({known.PROJECT_FILE})")]
        rows.append(("user", f"{one_line(os.fspath(user))}{'' if user.is_file() else ' (not there)'}"))
        show(labelled(rows))
    return FOUND


def _set(key: str, value: str, *, project: bool, dry_run: bool, as_json: bool) -> int:
    file = Path.cwd() / known.PROJECT_FILE if project else known.user_file()
    new = known.checked(choose(key, known.DEFAULTS, what="setting"), value)
    if not dry_run:
        new = known.put(file, key, value)
    record: dict[str, object] = {"key": key, "value": _shown(new), "file": os.fspath(file), "dry_run": dry_run}
    verb = "would be set" if dry_run else "is set"
    show(records.as_json(record) if as_json else f"{key} = {_written(new)} {verb} in {one_line(os.fspath(file))}\n")
    return FOUND


def _shown(value: str | float | None) -> str | float | None:
    """A value without the password of an address."""
    return masked(value) if isinstance(value, str) else value


def _written(value: str | float | None) -> str:
    return "-" if value is None else one_line(masked(str(value)))


# ---- completing: How does a shell complete a command line? By a script that needs no process of its own: all words
# stand in it.

_SHELLS = ("bash", "zsh", "fish")
_COMMON = ("--help",)
_PROVIDERS = ("extractive:", "openai:", "anthropic:", "gemini:", "ollama:", "groq:", "mistral:", "http://")


def completion(*, shell: str, as_json: bool) -> int:
    """Print the script."""
    choose(shell, _SHELLS, what="shell")
    script = fish() if shell == "fish" else bash(zsh=shell == "zsh")
    give(records.as_json({"shell": shell, "script": script}) if as_json else script)
    return FOUND


def bash(*, zsh: bool = False) -> str:
    """A function for bash, which zsh understands too once it was asked to."""
    lead = ["autoload -U +X compinit && compinit", "autoload -U +X bashcompinit && bashcompinit"] if zsh else []
    lines = [
        *lead,
        "_brimful() {",
        '  local word="${COMP_WORDS[COMP_CWORD]}" before="${COMP_WORDS[COMP_CWORD-1]}" command="${COMP_WORDS[1]}"',
        "  COMPREPLY=()",
        '  if [ "$COMP_CWORD" -eq 1 ]; then',
        f'    COMPREPLY=($(compgen -W "{" ".join((*COMMANDS, *_COMMON, "--version"))}" -- "$word"))',
        "    return",
        "  fi",
        '  case "$command $before" in',
        *(f"    {case}" for command in COMMANDS.values() for case in _bash_values(command)),
        "  esac",
        '  case "$word" in',
        '    -*) case "$command" in',
        *(
            f'      {command.name}) COMPREPLY=($(compgen -W "{" ".join(_flags(command))}" -- "$word"));;'
            for command in COMMANDS.values()
        ),
        "    esac;;",
        '    *) case "$command" in',
        *(
            f'      {name}) COMPREPLY=($(compgen -W "{" ".join(words)}" -- "$word"));;'
            for name, words in _first_words().items()
        ),
        '      *) COMPREPLY=($(compgen -f -- "$word"));;',
        "    esac;;",
        "  esac",
        "}",
        "complete -o filenames -o bashdefault -F _brimful brimful",
    ]
    return "\n".join(lines) + "\n"


def fish() -> str:
    """One line an option."""
    only = "complete -c brimful -n __fish_use_subcommand -f -a"
    lines = [f"{only} {name} -d {_quoted(command.summary)}" for name, command in COMMANDS.items()]
    for name, command in COMMANDS.items():
        seen = f"complete -c brimful -n '__fish_seen_subcommand_from {name}'"
        for option in command.options:
            flags = " ".join(
                f"-l {flag[2:]}" if flag.startswith("--") else f"-s {flag[1:]}" for flag in (*option.flags, *option.off)
            )
            words = _words_for(option)
            value = "" if option.kind == "flag" else f" -x -a {_quoted(' '.join(words))}" if words else " -r"
            lines.append(f"{seen} {flags}{value} -d {_quoted(option.help)}")
        if first := _first_words().get(name):
            lines.append(f"{seen} -f -a {_quoted(' '.join(first))}")
    return "\n".join(lines) + "\n"


def _bash_values(command: Command) -> Iterator[str]:
    """What may follow an option: its words, else a file's name."""
    for option in command.options:
        if option.kind != "flag":
            cases = "|".join(f'"{command.name} {flag}"' for flag in option.flags)
            words = _words_for(option)
            reply = f'-W "{" ".join(words)}"' if words else "-f"
            yield f'{cases}) COMPREPLY=($(compgen {reply} -- "$word")); return;;'


def _flags(command: Command) -> list[str]:
    named = (flag for option in command.options for flag in (*option.flags, *option.off))
    return [flag for flag in named if flag.startswith("--")] + [*_COMMON]


def _words_for(option: Option) -> Sequence[str]:
    if option.kind == "flag":
        return ()
    if "|" in option.metavar:
        return option.metavar.split("|")
    if option.key == "model":
        return _models()
    return _PROVIDERS if option.metavar == "MODEL" else ()


def _first_words() -> dict[str, list[str]]:
    """The arguments that are one of a few words."""
    found = {name: command.arguments[0].metavar for name, command in COMMANDS.items() if command.arguments}
    words = {name: metavar.split("|") for name, metavar in found.items() if "|" in metavar and metavar.islower()}
    return {**words, "config": [*words["config"], *DEFAULTS]}


def _models() -> list[str]:
    """Every name that stands in the table of vocabularies, without the marks of a prefix."""
    from brimful.text.vocabularies import VOCABULARIES

    names = {name.rstrip(".") for names in VOCABULARIES.values() for name in names if ":" not in name}
    return sorted({*VOCABULARIES, *names, "claude-sonnet-4-5", "gemini-2.5-pro"})


def _quoted(text: str) -> str:
    escaped = text.replace("'", "\\'")
    return f"'{escaped}'"
