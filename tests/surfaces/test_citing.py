"""`brimful cite`: a citation leads to its bytes, an answer's quotations are checked."""

import json

import pytest

from brimful.surfaces.cli import main

TEA = "# Tea\n\nGreen tea is brewed for two minutes.\n\nBlack tea takes four.\n"


@pytest.fixture
def notes(tmp_path, monkeypatch):
    """A folder with a page, and a store of it here."""
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "tea.md").write_text(TEA, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("BRIMFUL_CACHE", str(tmp_path / "cache"))
    assert main(["add", "notes", "--store", ".brimful", "-q"]) == 0
    return tmp_path


def path_of(capfd):
    """The page as it is cited."""
    capfd.readouterr()
    assert main(["status", "--files"]) == 0
    return capfd.readouterr().out.strip()


def test_a_citation_prints_its_bytes(notes, capfd):
    """The lines go to standard output as they are stored, where they are to standard error."""
    path = path_of(capfd)
    assert main(["cite", f"{path}:3"]) == 0
    shown = capfd.readouterr()
    assert shown.out == "Green tea is brewed for two minutes.\n"
    assert "line 3, bytes 7-44" in shown.err
    assert main(["cite", f"{path}:3", "--json"]) == 0
    assert json.loads(capfd.readouterr().out)["start"] == 7


def test_an_answer_is_checked(notes, capfd):
    """By receipt from the store, or by the printed context alone; what does not stand gives exit code 1."""
    path = path_of(capfd)
    assert main(["context", "How long is green tea brewed?", "-b", "80", "--receipt", "r.json", "-q"]) == 0
    (notes / "context.txt").write_text(capfd.readouterr().out, encoding="utf-8")
    (notes / "good.txt").write_text(f'"Green tea is brewed for two minutes" ({path}:3)', encoding="utf-8")
    (notes / "bad.txt").write_text(f'"Green tea is brewed for ten minutes" ({path}:99)', encoding="utf-8")
    for against in (["--receipt", "r.json"], ["--context", "context.txt"]):
        assert main(["cite", "--answer", "good.txt", *against]) == 0
        assert capfd.readouterr().out.split()[0] == "stands"
        assert main(["cite", "--answer", "bad.txt", *against]) == 1
        shown = capfd.readouterr()
        assert [line.split()[0] for line in shown.out.splitlines()] == ["missing", "outside"]
        assert "0 of 1 quotations stand" in shown.err


@pytest.mark.parametrize(
    "line", [[], ["x:1", "--answer", "a"], ["--answer", "a"], ["--answer", "a", "--receipt", "r", "--context", "c"]]
)
def test_what_is_missing_or_too_much_is_named(notes, capfd, line):
    """A citation or an answer, and one thing to check it against."""
    assert main(["cite", *line]) == 2
    assert "one of the two" in capfd.readouterr().err
