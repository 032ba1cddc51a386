"""From a question to a context, against bm25s, tantivy, LlamaIndex and LangChain: `make bench-query`.

Every measurement runs in a process of its own, on the same files. Tables go to standard output, and to
benchmarks/results as JSON, Markdown and a plot named by the commit.
"""

import argparse
import shutil
import sys
import tempfile
import textwrap
import time
from collections.abc import Sequence
from pathlib import Path

from core import plot, report
from ingest.texts import lay_out
from query import jobs, measures
from query.contenders import CONTENDERS

from ingest import jobs as processes

RESULTS = Path(__file__).parent / "results"
PACKAGES = ("brimful", "numpy", "apsw", "bm25s", "tantivy", "llama-index-core", "langchain-core", "tiktoken")


def main() -> int:
    """Measure, print as it goes, and keep the results."""
    if sys.argv[1:2] == [processes.CHILD]:
        return processes.child(sys.argv[2:], jobs.JOBS)
    options = _options()
    started = time.monotonic()
    facts = {"commit": report.commit(), **report.machine(PACKAGES)}
    print(textwrap.fill(report.facts_line(facts), report.WIDTH))
    scratch = Path(tempfile.mkdtemp(prefix="brimful-bench-", dir=options.scratch))
    stages: list[measures.Stage] = []
    names: list[str] = []
    try:
        for megabytes in options.megabytes:
            home = scratch / f"{megabytes:g}"
            stage = measures.Stage(lay_out(home / "texts", megabytes=megabytes), home / "built")
            print(f"… {stage.label} at {time.monotonic() - started:.0f} s", file=sys.stderr, flush=True)
            measures.measure(stage, options.systems, each=options.questions)
            stages.append(stage)
            shutil.rmtree(home, ignore_errors=True)
            tables, summary = _told(stages, options.systems)
            if not options.dry:  # after each size, so that a run which is ended early keeps what it has
                shown = "What a question takes against the size of the corpus"
                names = report.write(tables, facts, folder=RESULTS, summary=summary, name="query", image=shown)
                picture = f"query-{facts['commit']}.png"
                plot.draw(measures.panels(stages, options.systems), RESULTS / picture)
                names.append(picture)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    for table in tables:
        print(report.as_text(table), flush=True)
    print("", *(textwrap.fill(line, report.WIDTH, subsequent_indent="  ") for line in summary), sep="\n")
    print(f"\n{time.monotonic() - started:,.0f} s. Written to benchmarks/results: {', '.join(names) or 'nothing'}")
    return 0


def _told(stages: Sequence[measures.Stage], systems: Sequence[str]) -> tuple[list[report.Table], list[str]]:
    """Everything that was measured so far, as tables and in a few lines."""
    corpora = []
    for stage in stages:
        copies = f", {stage.corpus.copies} copies of what this machine has" if stage.corpus.copies > 1 else ""
        corpora.append(f"{stage.label}: {stage.corpus.files:,} files{copies}")
    answers, lines = measures.answers(stages, systems)
    memory, more = measures.memory(stages, systems)
    tables = [answers, measures.stages_of(stages), measures.starts(stages, systems), memory, measures.read_late(stages)]
    return tables, [*corpora, *lines, *more]


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Measure the way from a question to a context.")
    sizes, count = [1.0, 10.0, 100.0], 5
    parser.add_argument("--megabytes", type=float, nargs="+", default=sizes, help="sizes of the corpora (1 10 100)")
    parser.add_argument("--questions", type=int, default=count, help="of each kind at each budget (5)")
    parser.add_argument("--systems", nargs="+", default=list(CONTENDERS), choices=list(CONTENDERS), help="(all)")
    parser.add_argument("--scratch", help="where to build (the system's folder for temporary files)")
    parser.add_argument("--dry", action="store_true", help="print only, write no results")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
