"""docs/internals/scale.md: its tables are what the committed figures give; its simulation counts what a store does."""

import json
import re
import statistics
import sys
from pathlib import Path

import pytest

from brimful.documents.documents import Document
from brimful.store.sqlite import SqliteStore
from brimful.store.writing import NewDocument

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def scale():
    """The script, as a module."""
    sys.path.insert(0, str(ROOT / "benchmarks"))
    try:
        import scale

        yield scale
    finally:
        sys.path.remove(str(ROOT / "benchmarks"))


def test_the_page_says_what_the_figures_give(scale):
    """The figures that the page names by their commit, put through the model again, are the tables on the page."""
    page = (ROOT / "docs/internals/scale.md").read_text("utf-8")
    shown = page.partition(scale.MARK)[2].partition(scale.END)[0].strip()
    commit = re.match(r"At ([0-9a-f]+)\.", shown)[1]
    measured = scale._read(ROOT / f"benchmarks/results/scale-{commit}.json")
    assert [scale.simulated(each.megabytes)[0] for each in measured] == [each.segments for each in measured]
    made = "\n".join(map(scale.report.as_markdown, scale.on_paper(measured)))
    assert shown == f"At {commit}.\n\n{made}".strip()


def test_the_simulation_counts_the_segments_of_a_store(scale, tmp_path):
    """After each of forty commits of one size, a store has as many segments as the simulation says."""
    size = 70_000
    with SqliteStore(tmp_path / "store.db") as store:
        for number in range(1, 41):
            text = (f"Tea number {number} is served at four. " * 2_000)[:size]
            store.add([NewDocument(Document(f"{number}.txt", text))])
            with store.snapshot() as now:
                there = len(now.segments())
            assert there == scale.simulated(number * size / scale.MB, batch=size)[0], number


def test_what_was_measured_on_servers_is_what_the_page_says():
    """Times and round trips of the page's newest row are the medians of the committed figures that it names."""
    page = (ROOT / "docs/internals/scale.md").read_text("utf-8")
    row = next(line for line in page.splitlines() if line.endswith("| postgres-1da8dd3 |"))
    cells = [cell.strip() for cell in row.strip("|").split("|")]
    figures = json.loads((ROOT / "benchmarks/results/postgres-1da8dd3.json").read_text("utf-8"))
    (table,) = (each for each in figures["tables"] if each["title"].startswith("Question to context"))
    warm = {
        each["store"]: [statistics.median(column) for column in zip(*each["warm"], strict=True)]
        for each in table["figures"]
    }
    times = [f"{1_000 * warm[store][0]:,.0f} ms" for store in ("SQLite", "PostgreSQL")]
    trips = f"{warm['PostgreSQL'][1]:.0f}"
    traffic, peer = f"{warm['PostgreSQL'][2] / 1e6:.1f} MB", f"{1_000 * warm['tsvector + pgvector'][0]:,.0f} ms"
    assert cells[1:-1] == [*times, trips, traffic, peer]


def test_a_benchmark_goes_on_where_it_was_broken_off(scale, tmp_path):
    """A stage that was done is not done again, by a later run either; one that failed is."""
    from postgres import Stages

    done = []
    stages = Stages(tmp_path / "stages.json")
    assert stages.once("first", lambda: done.append("first") or 7) == 7
    with pytest.raises(KeyboardInterrupt):
        stages.once("second", _broken_off)
    again = Stages(tmp_path / "stages.json")
    assert again.once("first", lambda: done.append("again")) == 7
    assert again.once("second", lambda: done.append("second") or [1.5, 2]) == [1.5, 2]
    assert done == ["first", "second"]
    assert [each["found"] for each in again.used()] == [7, [1.5, 2]]


def _broken_off():
    raise KeyboardInterrupt
