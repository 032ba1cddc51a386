"""Write what is made from the declarations of the command line; a test compares all of it.

docs/cli.md (below its mark)        every command's help, for readers
src/…/cli/help.txt, grammar.json    the same help and the options, for the program, which shows and reads them quickly
"""

import json
import os
import re
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "cli.md"
BESIDE = ROOT / "src" / "brimful" / "surfaces" / "cli"
MARK = "<!-- Everything below is written by `make cli-docs`. -->"
_KEY = re.compile(r"\[env: BRIMFUL_(\w+)\]")


def _commands() -> dict[str, Any]:
    """The program's own parser, command by command; the program itself is the first."""
    from typer.main import get_command

    from brimful.surfaces.cli.app import app

    whole = get_command(app)
    return {"": whole, **whole.commands}


def _help(name: str, command: Any) -> str:

    parent = _context(_commands()[""], "brimful", None)
    context = parent if not name else _context(command, name, parent)
    lines = command.get_help(context).strip().splitlines()
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _context(command: Any, name: str, parent: Any) -> Any:
    return command.context_class(command, info_name=name, parent=parent, **command.context_settings)


def helps() -> dict[str, str]:
    """The help of the program and of every command, at 80 columns."""
    os.environ["COLUMNS"] = "80"
    return {name: _help(name, command) for name, command in _commands().items()}


def page() -> str:
    """docs/cli.md as it should be."""
    parts = [f"## {f'brimful {name}'.strip()}\n\n```text\n{text}```\n" for name, text in helps().items()]
    return f"{PAGE.read_text(encoding='utf-8').partition(MARK)[0]}{MARK}\n\n" + "\n".join(parts)


def help_text() -> str:
    """The names of the commands in a line, then the help of each."""
    found = helps()
    return f"{','.join(found)}\n\f\n" + "\f\n".join(found.values())


def grammar() -> str:
    """Every command's arguments and options as JSON."""
    found = {name: _grammar(command) for name, command in _commands().items() if name}
    return json.dumps(found, indent=1) + "\n"


def _grammar(command: Any) -> dict[str, object]:
    arguments, options = [], []
    for each in command.params:
        default = None if callable(each.default) else each.default
        if each.param_type_name == "argument":
            many = each.nargs == -1
            arguments.append(
                {
                    "name": each.name,
                    "metavar": each.metavar,
                    "many": many,
                    "required": each.required,
                    "default": None if many else default,
                }
            )
        elif each.name != "help":
            key = _KEY.search(each.help or "")
            options.append(
                {
                    "name": each.name,
                    "flags": each.opts,
                    "off": each.secondary_opts,
                    "kind": _kind(each),
                    "metavar": None if each.is_flag else each.metavar,
                    "help": each.help,
                    "default": default,
                    "key": key.group(1).lower() if key else None,
                }
            )
    return {"summary": command.short_help, "arguments": arguments, "options": options}


def _kind(option: Any) -> str:
    if option.is_flag:
        return "flag"
    if option.multiple:
        return "list"
    return "int" if "int" in str(option.type_descriptor.annotation) else "str"


WRITTEN = {PAGE: page, BESIDE / "help.txt": help_text, BESIDE / "grammar.json": grammar}

if __name__ == "__main__":
    for file, text in WRITTEN.items():
        file.write_text(text(), encoding="utf-8")
    sys.stdout.write(f"written: {', '.join(str(file.relative_to(ROOT)) for file in WRITTEN)}\n")
