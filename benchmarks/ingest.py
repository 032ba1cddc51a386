"""Taking texts in, against SQLite FTS5, tantivy and bm25s: `make bench-ingest`.

Every measurement runs in a process of its own, on the same files. Tables go to standard output, and to
benchmarks/results as JSON, Markdown and a plot named by the commit.
"""

import argparse
import shutil
import sys
import tempfile
import textwrap
import time
from pathlib import Path
from typing import Any

from core import plot, report
from ingest.measures import Stage
from ingest.texts import lay_out

from ingest import jobs, measures, neural

RESULTS = Path(__file__).parent / "results"
PACKAGES = ("brimful", "apsw", "numpy", "backports.zstd", "tantivy", "bm25s")


def main() -> int:
    """Measure, print as it goes, and keep the results."""
    if sys.argv[1:2] == [jobs.CHILD]:
        return jobs.child(sys.argv[2:])
    options = _options()
    started = time.monotonic()
    facts = {"commit": report.commit(), **report.machine(PACKAGES)}
    print(textwrap.fill(report.facts_line(facts), report.WIDTH))
    scratch = Path(tempfile.mkdtemp(prefix="brimful-bench-", dir=options.scratch))
    try:
        tables, summary, corpora = _measure(options, scratch, started)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    facts["corpora"] = corpora
    names = [] if options.dry else _write(tables, facts, summary)
    print("", *(textwrap.fill(line, report.WIDTH, subsequent_indent="  ") for line in summary), sep="\n")
    print(f"\n{time.monotonic() - started:,.0f} s. Written to benchmarks/results: {', '.join(names) or 'nothing'}")
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Measure ingestion against FTS5, tantivy and bm25s.")
    parser.add_argument("--megabytes", type=float, default=100, help="size of the main corpus (100)")
    parser.add_argument("--large", action="store_true", help="also take in ten times as much, for the plot")
    parser.add_argument("--neural", action="store_true", help="also LlamaIndex with MiniLM, on 2 MB (a few minutes)")
    parser.add_argument("--scratch", help="where to build (the system's folder for temporary files)")
    parser.add_argument("--dry", action="store_true", help="print only, write no results")
    return parser.parse_args()


def _measure(
    options: argparse.Namespace, scratch: Path, started: float
) -> tuple[list[report.Table], list[str], list[dict[str, Any]]]:
    def note(what: str) -> None:
        print(f"… {what} at {time.monotonic() - started:.0f} s", file=sys.stderr, flush=True)

    tables: list[report.Table] = []
    summary: list[str] = []

    def show(found: list[report.Table], lines: list[str]) -> None:
        for table in found:
            print(report.as_text(table), flush=True)
        tables.extend(found)
        summary.extend(lines)

    stages = []
    factors = (0.01, 0.1, 1, 10) if options.large else (0.01, 0.1, 1)
    for factor in factors:
        home = scratch / f"{factor:g}"
        corpus = lay_out(home / "texts", megabytes=options.megabytes * factor)
        stage = Stage(corpus, home / "indexes")
        note(f"{corpus.megabytes:,.0f} MB in {corpus.files:,} files")
        measures.build_all(stage, two_cores=factor == 1)
        measures.look_all(stage, openings=measures.OPENINGS if factor == 1 else 1)
        stages.append(stage)
    main = stages[2]
    corpora = [
        {"megabytes": stage.corpus.megabytes, "files": stage.corpus.files, "kinds": stage.corpus.kinds}
        for stage in stages
    ]
    kinds = ", ".join(f"{size / main.corpus.total:.0%} {kind}" for kind, size in main.corpus.kinds.items())
    summary.append(f"{main.corpus.megabytes:,.0f} MB in {main.corpus.files:,} files: {kinds}")
    for measure in (measures.rates, measures.sizes):
        table, lines = measure(main)
        show([table], lines)
    note("updates")
    table, lines = measures.updates(main)
    show([table], lines)
    show(*measures.lookups(main))
    note("deletions")
    table, lines = measures.deletions(stages[0])
    show([table], lines)
    show([measures.curve(stages)], [])
    if options.neural:
        note("LlamaIndex with MiniLM")
        table, lines = neural.measure(scratch / "neural", main)
        show([table], lines)
    return tables, summary, corpora


def _write(tables: list[report.Table], facts: dict[str, Any], summary: list[str]) -> list[str]:
    """Write the figures, the tables and the plot; returns their names."""
    shown = "Cost against the size of the corpus"
    names = report.write(tables, facts, folder=RESULTS, summary=summary, name="ingest", image=shown)
    curve = next(table for table in tables if table.title.startswith("6"))
    picture = f"ingest-{facts['commit']}.png"
    plot.draw(measures.panels(curve), RESULTS / picture)
    return [*names, picture]


if __name__ == "__main__":
    sys.exit(main())
