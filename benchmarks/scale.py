"""How far does it go? 1 TB and 100 TB on paper, from what was measured at small sizes: `make bench-scale`.

Corpora of three sizes are indexed and asked, each in a process of its own. Lines through the smaller two say how wrong
such lines are, by the largest; lines through the larger two are extended. Segments are not fitted but simulated, by the
store's own rules of merging. The tables go to docs/internals/scale.md, the figures to benchmarks/results.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from core import report
from ingest.texts import lay_out
from query.questions import questions

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs/internals/scale.md"
MARK = "<!-- What follows until the next mark is written by `make bench-scale`. -->"
END = "<!-- mark -->"
os.environ["BRIMFUL_EMBEDDER"] = "none"
SIZES = (3, 9, 27)
"""Megabytes that are measured: two for the fit, one to see how wrong it is."""
MB, GB, TB = 10**6, 10**9, 10**12
CORE_HOUR, GB_MONTH = 0.04, 0.10
"""Dollars, for a core for an hour and a gigabyte of disk for a month: put in your own."""
CORES = 32
"""That index at once."""
TRIP_MS = 0.5
"""A round trip in a data centre."""


@dataclass(frozen=True)
class Measured:
    """One corpus: what it is, what it takes, what a question takes."""

    megabytes: float
    documents: int
    units: int
    terms: int
    segments: int
    blobs: int
    stored_bytes: int
    index_cpu: float
    memory: int  # of the process that asks, beyond one that asks a tiny corpus
    question_cpu: float
    fetches: float
    fetched_bytes: float


# ---- measuring


def one(megabytes: float, count: int) -> Measured:
    """Index and ask one corpus, in this process; another process asks it again for its memory."""
    import brimful
    from brimful.documents.skips import SourceSettings
    from brimful.store.format import SqliteCursor

    with tempfile.TemporaryDirectory(prefix="brimful-scale-") as name:
        scratch = Path(name)
        corpus = lay_out(scratch / "all", megabytes=megabytes)
        place = scratch / "store.db"
        started = time.process_time()
        with brimful.open(place) as engine:
            engine.add(scratch / "all", settings=SourceSettings())
        index_cpu = time.process_time() - started
        asked = [each for kind in questions(scratch / "all", count).values() for each in kind]
        memory = _memory(place, asked)
        seen = Counter[str]()
        fetch, sealed = SqliteCursor.fetch, SqliteCursor.sealed

        def counted(cursor: Any, table: Any, key: int) -> Any:
            found = sealed(cursor, table, key)
            seen["fetches"] += 1
            seen["bytes"] += len(found[0]) if found else 0
            return found

        with brimful.open(place) as engine:
            engine.context("Which words warm the caches?")
            SqliteCursor.sealed = counted
            started = time.process_time()
            for question in asked:
                engine.context(question)
            question_cpu = (time.process_time() - started) / len(asked)
            SqliteCursor.fetch, SqliteCursor.sealed = fetch, sealed
            snapshot = engine.columns.snapshot
            ((blobs, stored),) = snapshot.cursor.fetch("SELECT count(*), sum(length(data)) FROM blobs")
            return Measured(
                corpus.total / MB,
                len(engine.columns.documents),
                len(engine.columns),
                len(snapshot.terms()),
                len(snapshot.segments()),
                blobs,
                int(stored),
                index_cpu,
                memory,
                question_cpu,
                seen["fetches"] / len(asked),
                seen["bytes"] / len(asked),
            )


_ASKER = """
import json, re, sys
import brimful
with brimful.open(sys.argv[1]) as engine:
    for question in json.loads(sys.argv[2]):
        engine.context(question)
print(1024 * int(re.search(r"VmHWM:\\s+(\\d+) kB", open("/proc/self/status").read())[1]))
"""


def _memory(place: Path, asked: list[str]) -> int:
    with tempfile.TemporaryDirectory() as name:
        tiny = Path(name, "tiny.db")
        command = [sys.executable, "-c", _ASKER]
        sizes = [
            int(subprocess.run([*command, str(each), json.dumps(asked)], check=True, capture_output=True).stdout)
            for each in (tiny, place)
        ]
    return sizes[1] - sizes[0]


# ---- the simulation


def simulated(megabytes: float, *, batch: int | None = None) -> tuple[int, float]:
    """How many segments merging leaves, and how often a byte of text is written, by the store's own rules."""
    from brimful.store.merging import FANOUT, LARGEST_BYTES, tier_of
    from brimful.store.writing import SEGMENT_BYTES

    batch = batch or SEGMENT_BYTES

    tiers: dict[int, list[int]] = {}
    full, written, left = 0, 0, int(megabytes * MB)
    total = left
    while left > 0:
        size = min(batch, left)
        left -= size
        written += size
        tiers.setdefault(tier_of(size), []).append(size)
        tier = tier_of(size)
        while len(tiers.get(tier, ())) >= FANOUT:
            merged, rest = 0, []
            for each in tiers.pop(tier):
                if merged + each <= LARGEST_BYTES:
                    merged += each
                else:
                    rest.append(each)
            written += merged
            if 2 * merged > LARGEST_BYTES or merged == 0:  # no other of its size fits beside it
                full += 1 if merged else 0
            else:
                tiers.setdefault(tier_of(merged), []).append(merged)
            if rest:
                tiers.setdefault(tier, []).extend(rest)
            tier = tier_of(merged) if merged else tier + 1
            if merged == 0:
                break
    return full + sum(map(len, tiers.values())), written / total


@dataclass(frozen=True)
class Fit:
    """A straight line through two corpora, and what it says of the third."""

    at_nothing: float
    each: float
    missed: float  # by how much, of what was measured

    def at(self, amount: float) -> float:
        """What it says of any amount."""
        return max(self.at_nothing + self.each * amount, 0)


def fitted(measured: list[Measured], name: str, by: str = "megabytes") -> Fit:
    """A figure by the size of the corpus."""
    (x0, y0), (x1, y1), (x2, y2) = [(getattr(each, by), float(getattr(each, name))) for each in measured]
    slope = (y1 - y0) / (x1 - x0) if x1 != x0 else y1 / x1
    told = y1 + slope * (x2 - x1)
    return Fit(y1 - slope * x1, slope, (told - y2) / y2 if y2 else 0.0)


# ---- the tables


def on_paper(measured: list[Measured]) -> tuple[report.Table, report.Table, report.Table]:
    """What was measured, how wrong the model is, and what it says of large corpora."""
    small = report.Table(
        "Measured",
        (
            *("MB", "documents", "units", "terms", "segments", "blobs", "stored", "index CPU", "memory"),
            *("CPU a question", "fetches", "fetched"),
        ),
        about="Real files of this machine in SQLite, one process; CPU in seconds, memory of the asking process beyond "
        "that for an empty corpus; fetches and bytes of a warm question, means.",
    )
    for each in measured:
        small.add(
            f"{each.megabytes:.0f}",
            *(f"{value:,}" for value in (each.documents, each.units, each.terms, each.segments, each.blobs)),
            f"{each.stored_bytes / each.megabytes / MB:.2f} of the text",
            f"{each.index_cpu:.1f}",
            f"{each.memory / MB:.0f} MB",
            f"{each.question_cpu:.3f}",
            f"{each.fetches:.0f}",
            f"{each.fetched_bytes / 1_000:.0f} KB",
            **asdict(each),
        )
    fits = {name: fitted(measured, name) for name in _FITTED}
    last = measured[-1]
    segments, _ = simulated(last.megabytes)
    model = report.Table(
        "Model",
        ("figure", "for an empty corpus", "each MB", f"says of {last.megabytes:.0f} MB", "measured", "off by"),
        about="Lines through the two smaller corpora, and the simulated segments.",
    )
    for name, fit in fits.items():
        unit, scale = _FITTED[name]
        model.add(
            f"{name.replace('_', ' ')}{unit}",
            f"{fit.at_nothing / scale:,.2f}",
            f"{fit.each / scale:,.4f}",
            f"{fit.at(last.megabytes) / scale:,.1f}",
            f"{getattr(last, name) / scale:,.1f}",
            f"{100 * fit.missed:+.0f} %",
            name=name,
            **asdict(fit),
        )
    model.add(
        "segments", "", "", f"{segments}", f"{last.segments}", f"{segments - last.segments:+d}", segments=segments
    )
    return small, model, _large(measured)


_FITTED = {
    "documents": ("", 1),
    "units": (", thousands", 1_000),
    "blobs": ("", 1),
    "stored_bytes": (", MB", MB),
    "index_cpu": (", s", 1),
    "memory": (", MB", MB),
    "question_cpu": (", s", 1),
    "fetches": ("", 1),
    "fetched_bytes": (", KB", 1_000),
}


def _large(measured: list[Measured]) -> report.Table:
    fits = {name: fitted([*measured[1:], measured[-1]], name) for name in _FITTED}
    sizes = {"10 GB": 10 * GB, "100 GB": 100 * GB, "1 TB": TB, "100 TB": 100 * TB}
    table = report.Table(
        "On paper",
        ("", *sizes),
        about=f"{CORES} cores that index; ${CORE_HOUR} for a core's hour, ${GB_MONTH} for a gigabyte's month. A "
        "question is asked by one process that reads the columns of the whole corpus.",
    )
    rows: dict[str, list[str]] = {}
    for size in sizes.values():
        megabytes = size / MB
        segments, writes = simulated(min(megabytes, 20_000))
        segments *= max(megabytes / 20_000, 1)
        stored = fits["stored_bytes"].at(megabytes)
        cpu_hours = fits["index_cpu"].at(megabytes) / 3_600
        fetches = measured[-1].fetches * max(segments / max(measured[-1].segments, 1), 1)
        traffic = measured[-1].fetched_bytes * max(segments / max(measured[-1].segments, 1), 1)
        seconds = fits["question_cpu"].at(megabytes)
        for name, cell in (
            ("documents (rows)", f"{fits['documents'].at(megabytes):,.0f}"),
            ("blobs (rows)", f"{fits['blobs'].at(megabytes):,.0f}"),
            ("stored", _bytes(stored)),
            ("segments", f"{segments:,.0f}"),
            ("writes of each byte of text", f"{writes:.1f}"),
            (f"indexing, hours of {CORES} cores", f"{cpu_hours / CORES:,.1f}"),
            ("indexing, dollars", f"{cpu_hours * CORE_HOUR:,.0f}"),
            ("disk, dollars a month", f"{stored / GB * GB_MONTH:,.0f}"),
            ("memory of who asks", _bytes(fits["memory"].at(megabytes))),
            ("processor time a question, s", f"{seconds:,.1f}"),
            ("fetches a question", f"{fetches:,.0f}"),
            ("traffic a question", _bytes(traffic)),
            (f"fetches at {TRIP_MS} ms, s", f"{fetches * TRIP_MS / 1_000:,.1f}"),
        ):
            rows.setdefault(name, []).append(cell)
    for name, cells in rows.items():
        table.add(name, *cells)
    return table


def _bytes(amount: float) -> str:
    for unit, name in ((TB, "TB"), (GB, "GB"), (MB, "MB")):
        if amount >= unit:
            return f"{amount / unit:,.1f} {name}"
    return f"{amount / 1_000:,.0f} KB"


def main() -> int:
    """Measure, model, and write both down."""
    options = _options()
    if options.one:
        print(json.dumps(asdict(one(options.one, options.questions))))
        return 0
    facts = {"commit": report.commit(), **report.machine(("brimful", "numpy", "apsw"))}
    measured = [] if options.again is None else _read(options.again)
    for size in () if measured else SIZES:
        command = [sys.executable, __file__, "--one", str(size), "--questions", str(options.questions)]
        said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        measured.append(Measured(**json.loads(said)))
        print(measured[-1], flush=True)
    tables = on_paper(measured)
    print(*map(report.as_text, tables), sep="\n")
    if not options.dry:
        if options.again is not None:
            facts["commit"] = json.loads(options.again.read_text("utf-8"))["commit"]
        print(*report.write(list(tables), facts, folder=ROOT / "benchmarks/results", summary=[], name="scale"))
        write_page(tables, str(facts["commit"]))
    return 0


def _read(file: Path) -> list[Measured]:
    """What an earlier run has measured."""
    figures = json.loads(file.read_text("utf-8"))["tables"][0]["figures"]
    return [Measured(**{name: each[name] for name in Measured.__dataclass_fields__}) for each in figures]


def write_page(tables: tuple[report.Table, ...], commit: str) -> None:
    """Put the tables between the marks of the page."""
    before, _, rest = PAGE.read_text("utf-8").partition(MARK)
    _, _, after = rest.partition(END)
    body = "\n".join(map(report.as_markdown, tables))
    PAGE.write_text(f"{before}{MARK}\n\nAt {commit}.\n\n{body}\n{END}{after}", "utf-8")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--questions", type=int, default=6, help="of each kind")
    parser.add_argument("--one", type=float, default=0, help="measure this many megabytes only, as JSON")
    parser.add_argument("--again", type=Path, help="results to compute the tables from anew, without measuring")
    parser.add_argument("--dry", action="store_true", help="write no files")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
