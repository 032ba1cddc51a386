"""Find Debian's PostgreSQL 15, which stores are tested on beside the newest one, or install it, or say what to do."""

import sys
from pathlib import Path

from make_browser import installed

PROGRAM = Path("/usr/lib/postgresql/15/bin/postgres")
NOTICE = "There is no PostgreSQL 15: installing Debian's package postgresql-15 now. To install nothing press Ctrl-C."
REMEDY = (
    "Stores are tested on PostgreSQL 15, and {place} is not there.\n"
    "On Debian 12: apt-get install postgresql-15. Elsewhere its tests are skipped, which CI does not accept."
)


def main() -> int:
    """Make sure that it is there; free where it is, and no reason to stop where it can't be."""
    if not PROGRAM.exists():
        installed(["postgresql-15"], NOTICE)
    if not PROGRAM.exists():
        print(REMEDY.format(place=PROGRAM))
    return 0


if __name__ == "__main__":
    sys.exit(main())
