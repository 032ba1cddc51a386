"""What the README shows can be done as it stands there."""

import re
import shlex
import shutil
from pathlib import Path

import pytest

import brimful
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
    for part in re.findall(r"adapters\.(\w+) import", example):
        pytest.importorskip({"langchain": "langchain_core", "haystack": "haystack"}[part])
    if "notes.add" not in example and "notes.db" in example:
        with brimful.open("notes.db") as notes:  # which the examples before it have made
            notes.add("docs")
    names: dict[str, object] = {}
    exec(compile(example, "README.md", "exec"), names)
    if "retriever" in names:
        found = names["retriever"].invoke("When was tea sold as medicine?")
        names["retriever"].engine.close()
        assert any("It was sold as medicine." in document.page_content for document in found)
        return
    if "component" in names:
        found = names["component"].run(query="When was tea sold as medicine?")["documents"]
        names["component"].close()
        assert any("It was sold as medicine." in document.content for document in found)
        return
    if "arguments" in names:
        assert names["arguments"]["messages"][0]["content"][-1]["text"] == "When was tea sold as medicine?"
        assert names["messages"][-1]["content"].endswith("When was tea sold as medicine?")
    assert "Tea came to Europe in 1610. It was sold as medicine." in names["context"].text


def test_commands_run(docs, capfd):
    """Each command of the README exits with 0, in their order."""
    lines = [line for block in blocks("sh") for line in block.splitlines() if line.startswith("brimful ")]
    assert len(lines) >= 5
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


def test_the_line_for_llamaindex_is_the_same(docs):
    """`or .llamaindex` is true: the same line makes a retriever there."""
    pytest.importorskip("llama_index.core")
    (source,) = [block for block in blocks("python") if "adapters.langchain" in block]
    names: dict[str, object] = {}
    exec(compile(source.replace("adapters.langchain", "adapters.llamaindex"), "README.md", "exec"), names)
    assert type(names["retriever"]).__module__ == "brimful.surfaces.adapters.llamaindex"
