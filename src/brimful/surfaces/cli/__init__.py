"""The command line: `brimful context QUESTION PATH`.

app, upkeep, options   which commands and options are there?
quick                  how is help shown, and a plain line read, without waiting for the parser?
dispatch               what runs a command?
commands               what does each do?              digests, evaluating, receipts, following, serving,
                                                       examining, configuring, completing, looking likewise
configuration          which value does a setting have, and where does it come from?
views                  what does a person see of a result?
stores                 which store does a command mean?
terminal, clipboard    how is anything shown, copied, and kept plain for a program?
failing, exits         what is said of an error, and which exit code does an outcome have?
"""

from __future__ import annotations

import os
import sys

from brimful.surfaces.cli.quick import NARROWEST, help_for

TYPE_CHECKING = False  # `typing` itself takes a while to load
if TYPE_CHECKING:
    from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code; no outcome but a bug shows a traceback."""
    words = _without_colour(list(sys.argv[1:] if arguments is None else arguments))
    shown = _shown(words)
    if shown is None:
        from brimful.surfaces.cli.dispatch import guarded

        return guarded(words)
    stream = sys.stdout if words else sys.stderr  # no command at all is a mistake
    try:
        stream.write(shown)
        stream.flush()
    except OSError as error:
        from brimful.surfaces.cli.dispatch import unwritten

        return unwritten(error)
    return 0 if words else 2


def run() -> None:
    """The entry point of the installed program."""
    import gc

    gc.disable()  # until the modules of a command are read: none of them makes garbage (`dispatch` goes on)
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


def _shown(words: list[str]) -> str | None:
    """What a line without a command shows."""
    if words == ["--version"]:
        from brimful import __version__

        return f"brimful {__version__}\n"
    return help_for(words or ["--help"]) if _columns() >= NARROWEST else None


def _without_colour(words: list[str]) -> list[str]:
    """The words before `--` without --no-color, which may stand anywhere."""
    end = words.index("--") if "--" in words else len(words)
    if "--no-color" not in words[:end]:
        return words
    os.environ["NO_COLOR"] = "1"
    return [word for word in words[:end] if word != "--no-color"] + words[end:]


def _columns() -> int:
    try:
        return int(os.environ.get("COLUMNS") or 0) or os.get_terminal_size(1).columns or NARROWEST
    except (ValueError, OSError):
        return NARROWEST
