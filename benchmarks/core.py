"""Inflation and packing against LlamaIndex, LangChain and Haystack: `make bench-core`.

Everything runs in one process on the same texts; figures are medians with their spread, and ratios. Tables go
to standard output, and to benchmarks/results as JSON and Markdown named by the commit.
"""

import sys
import textwrap
import time
import warnings
from pathlib import Path

from core import counting, duplicates, memory, packing, report, texts, windows

RESULTS = Path(__file__).parent / "results"


def main() -> int:
    """Measure, print as it goes, and keep the results."""
    if sys.argv[1:2] == [memory.CHILD]:
        return memory.child(sys.argv[2:])
    warnings.simplefilter("ignore")  # the peers' own
    started = time.monotonic()
    facts = {"commit": report.commit(), **report.machine()}
    print(textwrap.fill(report.facts_line(facts), report.WIDTH))
    corpus = texts.corpus()
    tables: list[report.Table] = []
    summary: list[str] = []
    for measure in (counting.measure, packing.measure, duplicates.measure, memory.measure, windows.measure):
        print(f"… {measure.__module__} at {time.monotonic() - started:.0f} s", file=sys.stderr, flush=True)
        measured, lines = measure(corpus)
        for table in measured:
            print(report.as_text(table), flush=True)
        tables += measured
        summary += lines
    tables.sort(key=lambda table: table.title)
    names = report.write(tables, facts, folder=RESULTS, summary=summary)
    print("", *(textwrap.fill(line, report.WIDTH, subsequent_indent="  ") for line in summary), sep="\n")
    print(f"\n{time.monotonic() - started:,.0f} s. Written to benchmarks/results: {', '.join(names)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
