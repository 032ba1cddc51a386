"""How much memory does inflation take beyond the documents, against the text that it inflates?

Each figure comes from a process of its own, so that no earlier work has left room behind: one counts every
allocation (tracemalloc), one watches the process grow (the kernel's peak, set back just before).
"""

import json
import resource
import subprocess
import sys
import tracemalloc
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from core.report import Table
from core.texts import Text, corpus, hits_in

CHILD = "--memory-child"
SHARE = 4
"""Every fourth text: tracing is slow."""
COUNTS = (1_000, 3_000)
TARGET = 2.0
STATES = {"warm": "outlines there", "first": "first"}


def measure(_: Sequence[Text]) -> tuple[list[Table], list[str]]:
    """The same inflation with outlines there already and not, traced and watched."""
    table = Table("2. Memory during inflation", ("", "hits", "MB inflated", "traced peak", "kept", "process peak"))
    table.about = (
        "Peak memory beyond the documents, divided by the bytes of text inflated (the windows' texts are 1x of it); "
        f"the seed allows {TARGET:.0f}x. `kept` is what the result holds afterwards, `process` the growth of resident "
        "memory, which may find room that earlier work has freed. "
        "`first` includes the outlines of all documents hit, which stay with them."
    )
    worst = 0.0
    for state, label in STATES.items():
        for count in COUNTS:
            try:
                traced, watched = (_run(how, state, count) for how in ("traced", "watched"))
            except subprocess.CalledProcessError as error:
                table.add(label, f"{count}", "", "", "", "failed", hits=count)
                table.notes.append(f"{label} at {count:,} hits failed: {error.stderr.splitlines()[-1]}")
                continue
            peak, kept, grown = (
                value / traced["inflated"] for value in (traced["peak"], traced["kept"], watched["peak"])
            )
            worst = max(worst, peak) if state == "warm" else worst
            cells = (
                f"{count}",
                f"{traced['inflated'] / 1e6:.2f}",
                f"{peak:.2f}x",
                f"{kept:.2f}x",
                f"{grown:.2f}x",
            )
            figures = {
                "hits": count,
                "inflated_bytes": traced["inflated"],
                "peak": peak,
                "kept": kept,
                "process_peak": grown,
            }
            table.add(label, *cells, **figures)
    return [table], [
        f"Memory during inflation: at most {worst:.2f}x of the text inflated, the seed allows {TARGET:.0f}x"
    ]


def _run(how: str, state: str, count: int) -> dict[str, int]:
    command = [sys.executable, str(Path(__file__).parent.parent / "core.py"), CHILD, how, state, str(count)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    found: dict[str, int] = json.loads(done.stdout)
    return found


def child(arguments: Sequence[str]) -> int:
    """Inflate once and print what it took, in bytes."""
    from brimful import inflate
    from core.windows import budget_for, documents_of, hits_of

    how, state, count = arguments[0], arguments[1], int(arguments[2])
    texts = corpus()[::SHARE]
    hits = hits_of(hits_in(texts, count))
    documents = documents_of(texts, outlined=state == "warm")
    inflate(hits_of(hits_in(texts[:3], 3)), documents_of(texts[:3], outlined=False))  # modules and grammars are loaded
    budget = budget_for("density", count)
    if how == "traced":
        tracemalloc.start()
        before = tracemalloc.get_traced_memory()[0]
        windows = inflate(hits, documents, budget=budget)
        kept, peak = (value - before for value in tracemalloc.get_traced_memory())
    else:
        before = _reset_peak()
        windows = inflate(hits, documents, budget=budget)
        kept, peak = 0, _peak() - before
    inflated = sum(len(window.text.encode()) for window in windows)
    print(json.dumps({"peak": peak, "kept": kept, "inflated": inflated}))
    return 0


def _reset_peak() -> int:
    """Set the kernel's peak back to what is resident now, where it allows that."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")
    return _peak()


def _peak() -> int:
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))
