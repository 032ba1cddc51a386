"""The command line: `brimful context QUESTION PATH`.

table          which commands, arguments and options are there?
dispatch       what does a line mean, what runs it, what does its help say, and what is said of an error?
commands       what does each do?    digests, evaluating, examining, looking, receipts, serving, setup likewise
configuration  which value does a setting have, and which store does a command mean?
views          what does a person see of a result?
terminal       how is anything shown, and kept plain for a program? How is it copied?
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False  # `typing` itself takes a while to load
if TYPE_CHECKING:
    from collections.abc import Sequence

ONE_QUESTION = frozenset({"context", "search"})
"""The commands that end with an answer: they begin and end as fast as they can."""

is_own_process = False
"""Whether this process is the program's alone, so that it may say how memory is kept, and where."""

_WIDTH = 80  # of the help that is written ahead


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


def _plainly(message: Warning | str, *_: object, **__: object) -> str:
    """A warning as the program says it, without the line of code that it came from."""
    return f"brimful: {message}\n"


def run() -> None:
    """The entry point of the installed program."""
    global is_own_process
    import gc
    import warnings

    warnings.formatwarning = _plainly

    is_own_process, codes = True, list[int]()
    _end_at_once(codes)
    os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "4")  # NumPy's threads sleep at once where they have nothing to do
    for name in _UNUSED if ONE_QUESTION.intersection(sys.argv[1:2]) else ():
        _load_later(name)
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
    gc.freeze()  # the interpreter looks for no garbage in what ends with it
    codes.append(code)
    sys.exit(code)


_UNUSED = (
    *("numpy._core._add_newdocs", "numpy._core._add_newdocs_scalars"),  # write docstrings, and nobody reads them here
    *("pickle", "platform"),  # are imported by NumPy for functions that nobody calls here
    *("ipaddress", "linecache", "tokenize"),  # likewise by parts of Python
)


def _load_later(name: str) -> None:
    """Let a module wait until somebody asks for something in it; whoever imports it before gets what stands for it."""

    class Later(type(sys)):  # type: ignore[misc]
        def __getattr__(self, wanted: str) -> object:
            if wanted == "__path__":  # which only packages have
                raise AttributeError(wanted)
            from importlib import import_module

            if sys.modules.get(name) is self:
                del sys.modules[name]
            found = import_module(name)
            self.__dict__.update(vars(found))
            return getattr(found, wanted)

    if name not in sys.modules:
        sys.modules[name] = Later(name)


def _end_at_once(codes: list[int]) -> None:
    """End behind everything that waits for the end, without taking each object apart, by the code that is there then.

    Threads have been waited for, and functions of `atexit` called: ours is the first and so the last. Where another was
    there before, or what was said can't be written, Python ends as ever.
    """
    import atexit

    def leave() -> None:
        try:
            sys.stdout.flush()
            sys.stderr.flush()
        except (OSError, ValueError, AttributeError):  # full, closed or none
            return
        for code in codes:
            os._exit(code)

    if getattr(atexit, "_ncallbacks", lambda: 1)() == 0:
        atexit.register(leave)


def _shown(words: list[str]) -> str | None:
    """What a line without a command shows."""
    if words == ["--version"]:
        from brimful import __version__

        return f"brimful {__version__}\n"
    return _help_for(words or ["--help"])


def _help_for(words: Sequence[str]) -> str | None:
    """The help that a line asks for, if it asks for nothing else: `make cli-docs` has written it ahead of time."""
    command, *rest = words if len(words) > 1 else ("", *words)
    if len(rest) != 1 or rest[0] not in ("-h", "--help") or columns() < _WIDTH:
        return None
    with open(f"{__file__.rpartition('__init__')[0]}help.txt", encoding="utf-8") as file:  # noqa: PTH123  (pathlib is slow)
        names, *texts = file.read().split("\f\n")
    known = names.rstrip("\n").split(",")
    return texts[known.index(command)] if command in known else None


def _without_colour(words: list[str]) -> list[str]:
    """The words before `--` without --no-color, which may stand anywhere."""
    end = words.index("--") if "--" in words else len(words)
    if "--no-color" not in words[:end]:
        return words
    os.environ["NO_COLOR"] = "1"
    return [word for word in words[:end] if word != "--no-color"] + words[end:]


def columns() -> int:
    """How wide the terminal is."""
    try:
        return int(os.environ.get("COLUMNS") or 0) or os.get_terminal_size(1).columns or _WIDTH
    except (ValueError, OSError):
        return _WIDTH
