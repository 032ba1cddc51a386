"""What runs a command, which exit code does its outcome have, and what is said of an error?"""

from __future__ import annotations

import errno
import gc
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from itertools import pairwise
from typing import Any

from brimful.errors import BrimfulError
from brimful.surfaces import outcomes
from brimful.surfaces.cli import quick
from brimful.surfaces.cli.terminal import PipeClosed, harmless, say, tint

# ---- exits: Which exit code does an outcome have?

FOUND = 0
NOTHING = 1  # nothing found; for `verify`: something is not as the receipt says
USAGE = outcomes.USAGE
PARTIAL = 3  # answered, but something that belongs to the corpus could not be read; `verify`: no source was given
PROVIDER = outcomes.PROVIDER
STORAGE = outcomes.STORAGE
INTERRUPTED = 130

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

_MODULE_OF = {
    "add": "commands",
    "capture": "digests",
    "captures": "digests",
    "cite": "receipts",
    "completion": "setup",
    "config": "setup",
    "context": "commands",
    "copy": "looking",
    "densify": "digests",
    "doctor": "examining",
    "eval": "evaluating",
    "explain": "receipts",
    "get": "looking",
    "ls": "looking",
    "map": "looking",
    "mcp": "serving",
    "postgres": "looking",
    "purge": "commands",
    "remove": "commands",
    "search": "commands",
    "serve": "serving",
    "shard": "sharding",
    "status": "commands",
    "stores": "keeping",
    "verify": "receipts",
    "warm": "keeping",
    "watch": "serving",
}


_LISTS = ("paths", "allow", "exclude", "include", "hosts", "models", "path", "not_path", "kind", "phrase", "without")
_HOW = (
    *("path", "not_path", "kind", "after", "before", "phrase", "without"),
    *("operators", "repair", "priors", "anyway", "partial", "meaning"),
)
"""How a question is read and what may answer it: handed on together, as fields of the settings."""


def run(command: str, values: Mapping[str, Any]) -> int:
    """Call what a command stands for with the values of its arguments and options; returns the exit code."""
    module = import_module(f"brimful.surfaces.cli.{_MODULE_OF[command]}")
    if not gc.isenabled():
        gc.freeze()  # what was read stays to the end, and is not looked at again
        gc.enable()
    work: Callable[..., int] = getattr(module, "evaluate" if command == "eval" else command)
    if values.get("embedder", "auto") != "auto":
        os.environ["BRIMFUL_EMBEDDER"] = values["embedder"]  # for every store that this command opens
    given = {
        name: () if value is None and name in _LISTS else value for name, value in values.items() if name != "embedder"
    }
    if "repair" in given:
        given["how"] = {name: given.pop(name) for name in _HOW if name in given}
    return work(**given)


# ---- failing: What is said of an error? One line on standard error, or with --json an object; never a traceback.

_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EROFS)


def guarded(words: Sequence[str]) -> int:
    """Run a command; whatever goes wrong on purpose becomes a message and an exit code."""
    as_json = "--json" in words
    try:
        code = _command(words)
        sys.stdout.flush()
    except KeyboardInterrupt:
        _complain("stopped; what was stored before is intact", "cancelled", INTERRUPTED, as_json=as_json, lead="\n")
        return INTERRUPTED
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
    """Read a plain line quickly, any other with the parser."""
    from brimful.surfaces.cli.configuration import setting

    read = quick.read(words, quick.grammar(), configured=lambda key: setting(key).value)
    if read is not None:
        return run(*read)
    return parsed(words)


def parsed(words: Sequence[str]) -> int:
    """The same through the parser, which says what is wrong with a line."""
    from typer import Abort, TyperException

    from brimful.surfaces.cli.app import app

    try:
        code: int = app(list(words), prog_name="brimful", standalone_mode=False, default_map=_defaults(words)) or FOUND
    except Abort as error:
        raise KeyboardInterrupt from error
    except TyperException as error:
        text = _usage(error, words)
        if text.startswith("Usage: "):  # no command was given, and this is the list of them
            say(text)
            return USAGE
        return _complain(text, "input.usage", USAGE, as_json="--json" in words, after=_advice(error))
    return code


def _defaults(words: Sequence[str]) -> dict[str, dict[str, object]]:
    """For the options without a value: what is set elsewhere, looked up when it is needed."""
    from brimful.surfaces.cli.configuration import setting

    if not words or {"-h", "--help"} & set(words):
        return {}
    options = quick.grammar().get(words[0], {"options": ()})["options"]
    return {
        words[0]: {option["name"]: lambda key=option["key"]: setting(key).value for option in options if option["key"]}
    }


def _usage(error: Exception, words: Sequence[str]) -> str:
    """What is wrong with a command line, and the closest right one."""
    flags: Sequence[str] = getattr(getattr(error, "param", None), "opts", ())
    wrong = [value for flag, value in pairwise(words) if flag in flags]
    if wrong and type(error).__name__ == "BadParameter":
        return f"{flags[0]} takes a whole number, such as {flags[0]} 4000; got {wrong[-1]!r}"
    message = getattr(error, "message", "") or str(error)
    close = getattr(error, "possibilities", None)
    if close:
        return f"{message.rstrip('.')}; did you mean {' or '.join(sorted(close))}?"
    if message.startswith("No such command") and (" " in words[0] or os.path.exists(words[0])):  # noqa: PTH110
        return f"{words[0]!r} is no command; to ask it: brimful context QUESTION PATH"
    written = getattr(error, "format_message", None)
    return str(written()) if written is not None else message


def _advice(error: Exception) -> str:
    context = getattr(error, "ctx", None)
    return f"Try: {context.command_path if context is not None else 'brimful'} --help"


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
