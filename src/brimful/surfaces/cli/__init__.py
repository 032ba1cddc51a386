"""The command line: `brimful context QUESTION PATH`, or `brimful QUESTION`.

table          commands, arguments and options
parsing        reading a line, and its help
dispatch       running a command, exit codes, errors
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

import os
import sys
import traceback
import warnings
from collections.abc import Sequence

from brimful.surfaces.cli.dispatch import guarded


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code; only a bug shows a traceback."""
    return guarded(sys.argv[1:] if arguments is None else arguments)


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
