"""Every promise of docs/security.md and docs/reliability.md is held by a test that is there."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
_NAMED = re.compile(r"`((?:\w+/)*test_\w+)`(?::((?:\s*`test_\w+`,?)+))?")


@pytest.mark.parametrize("page", ["security.md", "reliability.md"])
def test_every_test_that_is_named_is_there(page):
    """A page names no file of tests, and no test in one, that does not exist."""
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    missing = []
    for found in _NAMED.finditer(text):
        file = ROOT / "tests" / f"{found[1]}.py"
        source = file.read_text(encoding="utf-8") if file.exists() else ""
        missing += [] if source else [found[1]]
        missing += [name for name in re.findall(r"test_\w+", found[2] or "") if f"def {name}(" not in source]
    assert missing == []


def test_every_promise_has_a_test():
    """Each row of the tables of promises ends in a cell that names a test."""
    text = (ROOT / "docs" / "security.md").read_text(encoding="utf-8")
    tables = [part for part in text.split("\n\n") if part.startswith("| promise | test |")]
    rows = [row for table in tables for row in table.splitlines()[2:]]
    assert len(rows) > 40
    assert [row for row in rows if not _NAMED.search(row.rsplit("|", 2)[1])] == []
