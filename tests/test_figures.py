"""Figures on the pages are those of the committed results."""

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def report():
    """The script, as a module."""
    sys.path.insert(0, str(ROOT / "benchmarks"))
    try:
        import report

        yield report
    finally:
        sys.path.remove(str(ROOT / "benchmarks"))


def test_every_page_has_the_figures_of_the_results(report):
    """README.md, docs/internals/scale.md and benchmarks/REPORT.md are what `make bench` writes."""
    for page, text in report.pages().items():
        assert page.read_text("utf-8") == text, f"{page.name}: run make bench"


def test_no_two_results_are_of_one_kind():
    """A new result replaces the old one."""
    kinds = [file.stem.partition("-")[0] + file.suffix for file in (ROOT / "benchmarks/results").glob("*-*.*")]
    twice = {kind for kind in kinds if kinds.count(kind) > 1} - {"people.json"}
    assert twice == set()
