"""What is said of an error? One line on standard error, or with --json an object; never a traceback."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Sequence
from itertools import pairwise

from brimful.errors import BrimfulError
from brimful.surfaces.cli import quick
from brimful.surfaces.cli.exits import FOUND, INTERRUPTED, STORAGE, USAGE, exit_of
from brimful.surfaces.cli.terminal import PipeClosed, harmless, say, tint

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
        from brimful.surfaces.cli.dispatch import run

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
