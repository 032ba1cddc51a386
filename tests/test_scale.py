"""docs/scale.md: its tables are what the committed figures give, and its simulation counts what a store does."""

import re
import sys
from pathlib import Path

import pytest

from brimful.corpus.documents import Document
from brimful.store.sqlite import SqliteStore
from brimful.store.writing import Entry

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
    page = (ROOT / "docs/scale.md").read_text("utf-8")
    shown = page.partition(scale.MARK)[2].partition(scale.END)[0].strip()
    commit = re.match(r"At ([0-9a-f]+)\.", shown)[1]
    measured = scale._read(ROOT / f"benchmarks/results/scale-{commit}.json")
    assert [scale.simulated(each.megabytes)[0] for each in measured] == [each.segments for each in measured]
    made = "\n".join(map(scale.report.as_markdown, scale.on_paper(measured)))
    assert shown == f"At {commit}.\n\n{made}".strip()


def test_the_simulation_counts_the_segments_of_a_store(scale, tmp_path):
    """After each of forty commits of one size, a store has as many segments as the simulation says."""
    size = 70_000
    with SqliteStore(tmp_path / "store.db", embedder=None) as store:
        for number in range(1, 41):
            text = (f"Tea number {number} is served at four. " * 2_000)[:size]
            store.add([Entry(Document(f"{number}.txt", text))])
            with store.snapshot() as now:
                there = len(now.segments())
            assert there == scale.simulated(number * size / scale.MB, batch=size)[0], number
