"""The table of what the specifications ask for is what the marks on the tests say."""

import importlib.util
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def script():
    """The script that writes the table."""
    spec = importlib.util.spec_from_file_location("conformance", ROOT / "scripts" / "conformance.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_is_what_the_script_writes(script):
    """`python scripts/conformance.py` renews it."""
    assert (ROOT / "docs" / "internals" / "conformance.md").read_text(encoding="utf-8") == script.page()


def test_every_row_names_what_is_there(script):
    """Its module exists, and each ruling has its reason."""
    rows = script.rows()
    assert len(rows) > 90
    for row in rows:
        assert (ROOT / "src" / "brimful" / row.where).exists(), row
        assert row.ruling is None or row.ruling in script.RULINGS, row
