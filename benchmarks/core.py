"""Inflation and packing against LlamaIndex, LangChain and Haystack: `make bench-core`.

Everything runs in one process on the same texts; figures are medians with their spread, and ratios. Tables go
to standard output, and to benchmarks/results as JSON and Markdown named by the commit.
"""

import argparse
import sys
import textwrap
import time
import warnings
from pathlib import Path

from core import counting, duplicates, memory, packing, report, texts, windows

RESULTS = Path(__file__).parent / "results"
MEASURES = {
    "counting": counting.measure,
    "packing": packing.measure,
    "duplicates": duplicates.measure,
    "memory": memory.measure,
    "windows": windows.measure,
}


def main() -> int:
    """Measure, print as it goes, and keep the results."""
    if sys.argv[1:2] == [memory.CHILD]:
        return memory.child(sys.argv[2:])
    parser = argparse.ArgumentParser(description="Measure inflation and packing.")
    parser.add_argument("--only", nargs="+", choices=list(MEASURES), default=list(MEASURES), help="(all)")
    parser.add_argument("--dry", action="store_true", help="print only, write no results")
    options = parser.parse_args()
    warnings.simplefilter("ignore")  # the peers' own
    started = time.monotonic()
    facts = {"commit": report.commit(), **report.machine()}
    print(textwrap.fill(report.facts_line(facts), report.WIDTH))
    corpus = texts.corpus()
    tables: list[report.Table] = []
    summary: list[str] = []
    for name in options.only:
        print(f"… {name} at {time.monotonic() - started:.0f} s", file=sys.stderr, flush=True)
        measured, lines = MEASURES[name](corpus)
        for table in measured:
            print(report.as_text(table), flush=True)
        tables += measured
        summary += lines
    tables.sort(key=lambda table: table.title)
    names = [] if options.dry else report.write(tables, facts, folder=RESULTS, summary=summary)
    print("", *(textwrap.fill(line, report.WIDTH, subsequent_indent="  ") for line in summary), sep="\n")
    print(f"\n{time.monotonic() - started:,.0f} s. Written to benchmarks/results: {', '.join(names) or 'nothing'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
