"""What runs a command, which exit code does its outcome have, and what is said of an error?"""

from __future__ import annotations

import errno
import gc
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any

from brimful.errors import BrimfulError
from brimful.surfaces import outcomes
from brimful.surfaces.cli import columns, parsing
from brimful.surfaces.cli.table import Command
from brimful.surfaces.cli.terminal import PipeClosed, give, harmless, say, tint

# ---- exits: Which exit code does an outcome have?

FOUND = 0
NOTHING = 1  # nothing found; for `verify`: something is not as the receipt says
USAGE = outcomes.USAGE
PARTIAL = 3  # answered, but something that belongs to the corpus could not be read; `verify`: no source was given
PROVIDER = outcomes.PROVIDER
STORAGE = outcomes.STORAGE
_INTERRUPTED = 130

FIXABLE = ("unreadable", "changing", "missing_part")
"""Skips that make an answer partial: another try, a permission or an install brings the file in."""


def exit_of(error: BrimfulError) -> int:
    """The exit code for an error, by the first part of its code.

    >>> from brimful.errors import BudgetError, StoreFullError
    >>> exit_of(BudgetError("0")), exit_of(StoreFullError("no room"))
    (2, 5)
    """
    return exit_of_code(error.code)


def exit_of_code(code: str) -> int:
    """The same, where only the code is left of an error.

    >>> exit_of_code("provider.quota")
    4
    """
    return outcomes.outcome_of(code).exit


# ---- dispatch: What runs a command? Its module is imported when it is needed, and not before.


_MODELS = {"embedder", "reranker"}


def run(command: Command, values: Mapping[str, Any]) -> int:
    """Call what a command stands for with the values of its arguments and options; returns the exit code."""
    module = import_module(f"brimful.surfaces.cli.{command.module}")
    if not gc.isenabled():
        gc.freeze()  # what was read stays to the end, and is not looked at again
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
        return _complain(str(error), error.code, exit_of(error), as_json=as_json)
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
        return run(*parsing.read(words, configured=_configured, is_file=os.path.exists))
    except parsing.HelpAskedError as asked:
        give(parsing.help_of(str(asked), width=columns()))
        return FOUND
    except parsing.WrongLineError as error:
        return _complain(str(error), "input.usage", USAGE, as_json="--json" in words, after=error.advice)


def _configured(key: str) -> object:
    """What the environment or a file says in place of an option; None where neither does."""
    from brimful.surfaces.cli.configuration import DEFAULT, setting

    found = setting(key)
    return None if found.origin == DEFAULT else found.value


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
