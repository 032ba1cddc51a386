"""The command line: `brimful context QUESTION PATH`.

table          which commands, arguments and options are there?
dispatch       what does a line mean, what runs it, what does its help say, and what is said of an error?
commands       what does each do?    digests, examining, looking, receipts, serving, setup likewise
configuration  which value does a setting have, and which store does a command mean?
views          what does a person see of a result?
terminal       how is anything shown, and kept plain for a program? How is it copied?
"""

import os
import sys
import traceback
import warnings
from collections.abc import Sequence

from brimful.surfaces.cli.dispatch import guarded


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code; no outcome but a bug shows a traceback."""
    return guarded(sys.argv[1:] if arguments is None else arguments)


def run() -> None:
    """The entry point of the installed program."""
    warnings.formatwarning = lambda message, *_, **__: f"brimful: {message}\n"
    os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "4")  # NumPy's threads sleep at once where they have nothing to do
    try:
        code = main()
    except Exception:  # noqa: BLE001  (Python's own exit code for a bug is 1, which here means "nothing found")
        traceback.print_exc()
        sys.stderr.write("brimful: this is a bug; please report it with the lines above\n")
        code = 70
    sys.exit(code)
