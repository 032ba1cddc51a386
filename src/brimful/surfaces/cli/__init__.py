"""The command line: `brimful context QUESTION PATH`, or `brimful QUESTION`.

table          commands, arguments and options
parsing        reading a line, and its help
commands       context, search, add, remove
looking        map, status
receipts       explain, cite, verify
stores         stores
digests        densify, capture
serving        serve, mcp, add --watch
examining      doctor, model, eval
setup          config
opening        the corpus that a command asks, up to date
places         which store a command means
configuration  settings and where they come from
views          results as a person reads them
terminal       output for a person or a program
"""

from __future__ import annotations

import errno
import json
import os
import sys
import traceback
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from functools import cache
from importlib import import_module

from brimful.budget import MEMORY, memory_bytes
from brimful.errors import STORAGE, USAGE, BrimfulError, outcome_of
from brimful.rules import VERSION
from brimful.surfaces.cli.configuration import DEFAULT, files, setting
from brimful.surfaces.cli.parsing import HELP, HelpAskedError, WrongLineError, help_of, read
from brimful.surfaces.cli.table import Command
from brimful.surfaces.cli.terminal import give, harmless, say, tint

FOUND = 0
NOTHING = 1  # nothing found; for `verify`: something is not as the receipt says
PARTIAL = 3  # answered, but something that belongs to the corpus could not be read; `verify`: no source was given

FIXABLE = ("unreadable", "changing", "missing_part")
"""Skips that make an answer partial: another try, a permission or an install brings the file in."""

_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EROFS)
_MODELS = ("embedder", "reranker")
_FUNCTIONS = {"eval": "evaluate", "map": "outline"}  # the others are called as their commands are


def _run(command: Command, values: Mapping[str, object], configured: Callable[[str], object]) -> int:
    """Call the function of a command with the values of its arguments and options; returns the exit code."""
    module = import_module(f"brimful.surfaces.cli.{command.module}")  # imported when needed: help starts at once
    work: Callable[..., int] = getattr(module, _FUNCTIONS.get(command.name, command.name))
    if (memory := configured("max_memory")) is not None:
        os.environ[MEMORY] = str(memory)
    if "embedder" in values:
        for name in _MODELS:
            model = values.get(name) or configured(name)
            if model is not None and model != "auto":
                os.environ[f"BRIMFUL_{name.upper()}"] = str(model)  # for every store that this command opens
    from brimful.surfaces.cli.opening import Line  # slow to import, as the commands

    shared = {field.name for field in fields(Line)}
    line = Line(**{name: value for name, value in values.items() if name in shared})  # type: ignore[arg-type]
    return work(line, **{name: value for name, value in values.items() if name not in {*shared, *_MODELS}})


def _guarded(words: Sequence[str]) -> int:
    """Run a line; an expected failure becomes a message and an exit code, never a traceback."""
    as_json = "--json" in words
    try:
        code = _run_line(words)
        sys.stdout.flush()
    except KeyboardInterrupt:
        return _complain("stopped; what was stored before is intact", "cancelled", 130, as_json=as_json, lead="\n")
    except BrokenPipeError:  # `| head` has seen enough
        _close_output()
        return FOUND
    except BrimfulError as error:
        return _complain(str(error), error.code, outcome_of(error.code).exit, as_json=as_json)
    except OSError as error:
        return _system_error(error, as_json=as_json)
    return code


def _system_error(error: OSError, *, as_json: bool) -> int:
    """A full disk is a failure of storage; the caller can correct any other error of the system."""
    if error.errno not in _NO_ROOM:
        return _complain(str(error), "input", USAGE, as_json=as_json)
    _close_output()  # or Python tries to write the rest once more when it leaves
    text = str(error) if error.filename else f"standard output can't be written: {error.strerror}"
    return _complain(text, "store.full", STORAGE, as_json=as_json)


def _run_line(words: Sequence[str]) -> int:
    """Read a line and run it, or print the help that it asks for."""
    options = words[: words.index("--")] if "--" in words else words
    if "--no-color" in options:
        os.environ["NO_COLOR"] = "1"
        words = [*(word for word in options if word != "--no-color"), *words[len(options) :]]
    words = _without_memory(words)
    if not words:
        say(help_of("").rstrip())
        return USAGE
    if words[0] in HELP or list(words) == ["--version"]:
        give(help_of("") if words[0] in HELP else f"brimful {VERSION}\n")
        return FOUND
    configured = _configured()
    try:
        return _run(*read(words, configured=configured, is_file=os.path.exists), configured)
    except HelpAskedError as asked:
        give(help_of(str(asked)))
        return FOUND
    except WrongLineError as error:
        return _complain(str(error), "input.usage", USAGE, as_json="--json" in words, after=error.advice)


def _without_memory(words: Sequence[str]) -> Sequence[str]:
    """A line without `--max-memory SIZE`, which every command takes."""
    options = words[: words.index("--")] if "--" in words else words
    for place, word in enumerate(options):
        name, sign, size = word.partition("=")
        if name == "--max-memory":
            size = size if sign else "".join(options[place + 1 : place + 2])
            memory_bytes(size)
            os.environ[MEMORY] = size
            return [*words[:place], *words[place + (1 if sign else 2) :]]
    return words


def _configured() -> Callable[[str], object]:
    """A setting's value by its key, None if neither the environment nor a file sets it; files are looked for once."""
    places = cache(lambda: [*files()])

    def value_of(key: str) -> object:
        current = setting(key, places())
        return None if current.origin == DEFAULT else current.value

    return value_of


def _complain(message: str, code: str, exit_code: int, *, as_json: bool, lead: str = "", after: str = "") -> int:
    if as_json:
        say(json.dumps({"error": {"code": code, "message": message, "exit": exit_code}}))
    else:
        say(f"{lead}{tint('bad', 'brimful:')} {harmless(message)}")
        if after:
            say(after)
    return exit_code


def _close_output() -> None:
    """Send the rest of stdout nowhere."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code; only a bug shows a traceback."""
    return _guarded(sys.argv[1:] if arguments is None else arguments)


def run() -> None:
    """The entry point of the installed program."""
    warnings.formatwarning = lambda message, *_, **__: f"brimful: {message}\n"
    os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "4")  # NumPy's threads sleep at once when they have nothing to do
    try:
        code = main()
    except Exception:  # noqa: BLE001  (Python's own exit code for a bug is 1, which here means "nothing found")
        traceback.print_exc()
        sys.stderr.write("brimful: this is a bug; please report it with the lines above\n")
        code = 70
    sys.exit(code)
