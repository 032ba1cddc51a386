"""How does a shell complete a command line? By a script that needs no process of its own: all words stand in it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from brimful.errors import choose
from brimful.surfaces import records
from brimful.surfaces.cli import quick
from brimful.surfaces.cli.configuration import DEFAULTS
from brimful.surfaces.cli.exits import FOUND
from brimful.surfaces.cli.terminal import give

SHELLS = ("bash", "zsh", "fish")
_COMMON = ("--help",)
_PROVIDERS = ("extractive:", "openai:", "anthropic:", "gemini:", "ollama:", "groq:", "mistral:", "http://")


def completion(*, shell: str, as_json: bool) -> int:
    """Print the script."""
    choose(shell, SHELLS, what="shell")
    script = fish() if shell == "fish" else bash(zsh=shell == "zsh")
    give(records.as_json({"shell": shell, "script": script}) if as_json else script)
    return FOUND


def bash(*, zsh: bool = False) -> str:
    """A function for bash, which zsh understands too once it was asked to."""
    commands = quick.grammar()
    lead = ["autoload -U +X compinit && compinit", "autoload -U +X bashcompinit && bashcompinit"] if zsh else []
    lines = [
        *lead,
        "_brimful() {",
        '  local word="${COMP_WORDS[COMP_CWORD]}" before="${COMP_WORDS[COMP_CWORD-1]}" command="${COMP_WORDS[1]}"',
        "  COMPREPLY=()",
        '  if [ "$COMP_CWORD" -eq 1 ]; then',
        f'    COMPREPLY=($(compgen -W "{" ".join((*commands, *_COMMON, "--version"))}" -- "$word"))',
        "    return",
        "  fi",
        '  case "$command $before" in',
        *(f"    {case}" for case in _bash_values(commands)),
        "  esac",
        '  case "$word" in',
        '    -*) case "$command" in',
        *(
            f'      {name}) COMPREPLY=($(compgen -W "{" ".join(_flags(command))}" -- "$word"));;'
            for name, command in commands.items()
        ),
        "    esac;;",
        '    *) case "$command" in',
        *(
            f'      {name}) COMPREPLY=($(compgen -W "{" ".join(words)}" -- "$word"));;'
            for name, words in _first_words(commands).items()
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
    commands = quick.grammar()
    only = "complete -c brimful -n __fish_use_subcommand -f -a"
    lines = [f"{only} {name} -d {_quoted(command['summary'])}" for name, command in commands.items()]
    for name, command in commands.items():
        seen = f"complete -c brimful -n '__fish_seen_subcommand_from {name}'"
        for option in command["options"]:
            flags = " ".join(
                f"-l {flag[2:]}" if flag.startswith("--") else f"-s {flag[1:]}"
                for flag in (*option["flags"], *option["off"])
            )
            words = _words_for(option)
            value = "" if option["kind"] == "flag" else f" -x -a {_quoted(' '.join(words))}" if words else " -r"
            lines.append(f"{seen} {flags}{value} -d {_quoted(option['help'])}")
        if first := _first_words(commands).get(name):
            lines.append(f"{seen} -f -a {_quoted(' '.join(first))}")
    return "\n".join(lines) + "\n"


def _bash_values(commands: Mapping[str, Any]) -> Iterator[str]:
    """What may follow an option: its words, else a file's name."""
    for name, command in commands.items():
        for option in command["options"]:
            if option["kind"] == "flag":
                continue
            cases = "|".join(f'"{name} {flag}"' for flag in option["flags"])
            words = _words_for(option)
            reply = f'-W "{" ".join(words)}"' if words else "-f"
            yield f'{cases}) COMPREPLY=($(compgen {reply} -- "$word")); return;;'


def _flags(command: Mapping[str, Any]) -> list[str]:
    named = (flag for option in command["options"] for flag in (*option["flags"], *option["off"]))
    return [flag for flag in named if flag.startswith("--")] + [*_COMMON]


def _words_for(option: Mapping[str, Any]) -> Sequence[str]:
    if option["kind"] == "flag":
        return ()
    if "|" in option["metavar"]:
        return option["metavar"].split("|")  # type: ignore[no-any-return]
    if option["key"] == "model":
        return _models()
    return _PROVIDERS if option["metavar"] == "MODEL" else ()


def _first_words(commands: Mapping[str, Any]) -> dict[str, list[str]]:
    """The arguments that are one of a few words."""
    found = {name: command["arguments"][0]["metavar"] for name, command in commands.items() if command["arguments"]}
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
