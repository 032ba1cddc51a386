"""The command line: `brimful context QUESTION PATH`.

app        which commands and options are there?
commands   what does each do?                       digests, evaluating, receipts likewise
views      what does a person see of a result?
stores     which store does a command mean?
terminal   how is anything shown, and kept plain for a program?
exits      which exit code does an outcome have?
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code; no outcome but a bug shows a traceback."""
    from typer import Abort, TyperException

    from brimful.errors import BrimfulError
    from brimful.surfaces.cli.app import app
    from brimful.surfaces.cli.exits import FOUND, INTERRUPTED, USAGE, exit_of
    from brimful.surfaces.cli.terminal import PipeClosed, say, tint

    try:
        code = app(arguments, prog_name="brimful", standalone_mode=False) or FOUND
        sys.stdout.flush()
    except (KeyboardInterrupt, Abort):
        code = INTERRUPTED
    except (BrokenPipeError, PipeClosed):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FOUND
    except TyperException as error:
        say(_usage(error))
        return USAGE
    except BrimfulError as error:
        say(f"{tint('bad', 'brimful:')} {_harmless(str(error))}")
        return exit_of(error)
    except OSError as error:
        say(f"{tint('bad', 'brimful:')} {_harmless(str(error))}")
        return USAGE
    if code == INTERRUPTED:
        say("\nbrimful: stopped; what was stored before is intact")
    return int(code)


def run() -> None:
    """The entry point of the installed program."""
    try:
        code = main()
    except KeyboardInterrupt:  # while the first modules were read
        code = 130
    except Exception:  # noqa: BLE001  (Python's own exit code for a bug is 1, which here means "nothing found")
        import traceback

        traceback.print_exc()
        sys.stderr.write("brimful: this is a bug; please report it with the lines above\n")
        code = 70
    sys.exit(code)


def _usage(error: Exception) -> str:
    """What is wrong with a command line, the closest right one, and where to read on."""
    message = _harmless(getattr(error, "message", "") or str(error))
    format_message = getattr(error, "format_message", None)
    close = getattr(error, "possibilities", None)
    if close:
        message = f"{message}; did you mean {' or '.join(sorted(close))}?"
    elif format_message is not None:
        message = _harmless(format_message())
    if message.startswith("Usage: "):  # no command was given, and this is the list of them
        return message
    context = getattr(error, "ctx", None)
    command = context.command_path if context is not None else "brimful"
    return f"brimful: {message}\nTry: {command} --help"


def _harmless(text: str) -> str:
    from brimful.surfaces.cli.terminal import harmless

    return harmless(text)
