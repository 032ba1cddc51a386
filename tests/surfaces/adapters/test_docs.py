"""The page about adapters: its examples run, one after the other, as they stand there."""

import re
from pathlib import Path

PAGE = Path(__file__).resolve().parents[3] / "docs" / "adapters.md"


def test_the_examples_of_the_page_run(tmp_path, monkeypatch):
    """From the first store to the last question."""
    monkeypatch.chdir(tmp_path)
    examples = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert len(examples) == 5
    for example in examples:
        exec(compile(example, str(PAGE), "exec"), {})
