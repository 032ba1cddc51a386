"""What the README shows can be done as it stands there."""

import re
import shlex
import shutil
from pathlib import Path

import pytest

from brimful.surfaces.cli import main

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
TEA = "# Tea\n\nTea came to Europe in 1610. It was sold as medicine.\n\nCoffee came first.\n"


@pytest.fixture
def docs(tmp_path, monkeypatch):
    """The pages of `docs` and one about tea below the current folder, and stores of their own."""
    shutil.copytree(ROOT / "docs", tmp_path / "docs")
    (tmp_path / "docs" / "tea.md").write_text(TEA, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("BRIMFUL_CACHE", str(tmp_path / "cache"))
    return tmp_path


def blocks(language):
    """The README's examples in a language."""
    return re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)


@pytest.mark.parametrize("example", blocks("python"))
def test_python_examples_run(docs, example):
    """Each Python example runs as it stands, its own assertions hold, and it finds the sentence with its subject."""
    names: dict[str, object] = {}
    exec(compile(example, "README.md", "exec"), names)
    assert "Tea came to Europe in 1610. It was sold as medicine." in names["context"].text


def test_commands_run(docs, capfd):
    """Each command of the README exits with 0, in their order."""
    lines = [line for block in blocks("sh") for line in block.splitlines() if line.startswith("brimful ")]
    assert lines
    for line in lines:
        command, _, target = line.partition(" > ")
        assert main(shlex.split(command)[1:]) == 0, line
        shown = capfd.readouterr().out
        assert shown
        if target:
            (docs / target).write_text(shown, encoding="utf-8", newline="")


def test_every_page_it_names_is_there():
    """No link leads nowhere."""
    links = re.findall(r"\]\(([^)#:]+)\)", README)
    assert links
    assert [link for link in links if not (ROOT / link).exists()] == []


def test_it_is_short():
    """At most 900 words outside of code."""
    prose = re.sub(r"```.*?```", " ", README, flags=re.DOTALL)
    assert len(re.findall(r"[A-Za-z][A-Za-z'-]*", prose)) <= 900
