"""The store under faults, at full size, in slices that can be chosen and gone on with.

    python scripts/faults.py                    all slices that did not pass yet at this state of the source
    python scripts/faults.py kills flips        these
    python scripts/faults.py --list             what there is, and what passed
    python scripts/faults.py --again kills      though it passed before

Each slice is a run of its tests with larger numbers; what it came to stands in `.faults/`, with the hash of the source
that it was run on, so a run that was broken off goes on with what is missing.
"""

import argparse
import hashlib
import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
KEPT = ROOT / ".faults"
_COUNT = re.compile(r"(\d+) (passed|failed|error|errors|skipped)\b")


class Slice(NamedTuple):
    """Some tests, or a script that runs tests, and the numbers that make them long."""

    name: str
    says: str
    tests: tuple[str, ...]
    numbers: dict[str, int]


def _kills() -> list[Slice]:
    """A thousand, a hundred at a time."""
    tests = ("tests/store/test_faults.py::test_kill_loses_nothing_committed",)
    return [
        Slice(
            f"kills-{first:03}",
            f"kill -9 of a writer, moments {first} to {first + 99}",
            tests,
            {"KILLS": 100, "FIRST_KILL": first},
        )
        for first in range(0, 1_000, 100)
    ]


SLICES = (
    *_kills(),
    Slice(
        "flips",
        "300 flipped bits, 100 cut ends and other damages of worn stores",
        ("tests/store/test_faults.py", "-k", "not kill_loses and not readers"),
        {"FLIPS": 300, "CUTS": 100, "WORN": 900},
    ),
    Slice(
        "readers",
        "eight processes that read while one writes, a minute",
        ("tests/store/test_faults.py", "-k", "readers"),
        {"READERS": 8, "SECONDS": 60},
    ),
    Slice("power", "3,000 power cuts", ("tests/store/test_power_cuts.py",), {"POWER_CUTS": 3_000}),
    Slice(
        "server",
        "PostgreSQL killed 200 times during an ingest",
        ("tests/store/test_postgres_faults.py",),
        {"SERVER_KILLS": 200},
    ),
    Slice(
        "standby",
        "a standby, a server that hangs, a pooler, PostgreSQL 15, tenants that look for others",
        ("tests/store/test_postgres_servers.py", "tests/store/test_tenants.py"),
        {},
    ),
    Slice(
        "lies",
        "stores whose checksums fit and whose numbers lie, under AddressSanitizer: half an hour",
        ("scripts/fuzz_kernels.py", "--tests", "tests/store/test_lies.py"),
        {"LIES": 1_800},
    ),
    Slice("writers", "40 rounds of processes that write at once", ("tests/store/test_writers.py",), {"WRITERS": 40}),
    Slice("files", "200,000 files", ("tests/store/test_odd_input.py",), {"FILES": 200_000}),
    Slice("line", "a line of 1 GB", ("tests/ingest/test_streaming.py",), {"LINE_MEGABYTES": 1_000}),
    Slice(
        "native",
        "two minutes of generated input for the compiled loops, under sanitizers",
        ("scripts/fuzz_kernels.py", "--examples", "150"),
        {},
    ),
)


def state() -> str:
    """A hash of the package's source: what passed for another state is run again."""
    found = hashlib.sha256()
    for file in sorted((ROOT / "src").rglob("*")):
        if file.suffix in (".py", ".c", ".h"):
            found.update(file.relative_to(ROOT).as_posix().encode() + b"\0" + file.read_bytes() + b"\0")
    return found.hexdigest()[:16]


def passed(one: Slice, now: str) -> dict[str, object] | None:
    """What a slice came to at this state, if it passed."""
    try:
        kept = json.loads((KEPT / f"{one.name}.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return kept if kept["state"] == now and kept["ok"] else None


def chosen(names: list[str]) -> list[Slice]:
    """The slices that some names mean: `kills` means all of them."""
    found = [one for one in SLICES if not names or any(one.name.startswith(name) for name in names)]
    unknown = [name for name in names if not any(one.name.startswith(name) for one in SLICES)]
    if unknown or not found:
        raise SystemExit(f"no slice is called {', '.join(unknown)}; there are {', '.join(one.name for one in SLICES)}")
    return found


def run(one: Slice, now: str) -> bool:
    """Run a slice, show its progress, keep what it came to."""
    print(f"{one.name}: {one.says}", flush=True)
    numbers = {f"BRIMFUL_{name}": str(value) for name, value in one.numbers.items()}
    pytest = ("-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider")
    command = [sys.executable, *(() if one.tests[0].startswith("scripts/") else pytest), *one.tests]
    began, lines = time.monotonic(), []
    with subprocess.Popen(command, cwd=ROOT, env={**os.environ, **numbers}, stdout=subprocess.PIPE, text=True) as tests:
        assert tests.stdout is not None
        for line in tests.stdout:
            lines.append(line)
            print(f"  {line}", end="", flush=True)
    counts = {word: int(number) for number, word in _COUNT.findall(lines[-1] if lines else "")}
    ok = tests.returncode == 0 and counts.get("passed", 0) > 0
    record = {"slice": one.name, "state": now, "ok": ok, "seconds": round(time.monotonic() - began), **counts}
    KEPT.mkdir(exist_ok=True)
    (KEPT / f"{one.name}.json").write_text(json.dumps(record) + "\n", encoding="utf-8")
    return ok


def main() -> int:
    """Run what is asked for and missing."""
    reader = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    reader.add_argument("names", nargs="*", metavar="SLICE")
    reader.add_argument("--list", action="store_true", help="show what there is, and what passed")
    reader.add_argument("--again", action="store_true", help="run what passed before, too")
    asked = reader.parse_args()
    now, failed = state(), []
    for one in chosen(asked.names):
        known = passed(one, now)
        if asked.list:
            print(f"{'passed' if known else 'to run':7} {one.name:10} {one.says}")
        elif known and not asked.again:
            print(f"{one.name}: passed before, in {known['seconds']} s", flush=True)
        elif not run(one, now):
            failed.append(one.name)
    if failed:
        print(f"failed: {', '.join(failed)}; their output is above")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
