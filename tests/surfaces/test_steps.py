"""Fewer steps for people: lines around a hit, a pipe as a source, patterns, the cache's stores, files by name."""

import io
import json
import re
import sys
import threading
from pathlib import Path
from types import SimpleNamespace

import pytest

from brimful.engine import open as open_store
from brimful.surfaces.cli import main


@pytest.fixture
def notes(tmp_path, monkeypatch):
    """A folder with a few files, and a cache of its own."""
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "tea.md").write_text("# Tea\n\nOne line.\n\nThe samovar boils.\n\nLast line.\n", encoding="utf-8")
    (folder / "cake.txt").write_text("The cake is iced.\n", encoding="utf-8")
    (folder / "picture.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 9)
    (folder / "noise.txt").write_bytes(bytes(range(256)) * 9)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("BRIMFUL_CACHE", str(tmp_path / "cache"))
    return folder


def piped(monkeypatch, data):
    """Standard input with these bytes."""
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(data), isatty=lambda: False))


def test_lines_around_a_hit(notes, capfd):
    """-C shows lines as grep does: a colon behind the hit's numbers, a hyphen behind the others."""
    assert main(["search", "samovar", "notes", "-C", "2", "-n", "1", "-q"]) == 0
    lines = capfd.readouterr().out.splitlines()
    name = lines[0].split("-3-")[0]
    assert lines == [
        f"{name}-3-One line.",
        f"{name}-4-",
        f"{name}:5:The samovar boils.",
        f"{name}-6-",
        f"{name}-7-Last line.",
    ]
    assert main(["search", "samovar", "notes", "-C", "-1"]) == 2


def test_standard_input_is_a_source(notes, capfd, monkeypatch):
    """What is piped in is a document of its own, is cited as stdin, and is kept nowhere unless it is added."""
    piped(monkeypatch, b"The zeppelin lands at noon.\n")
    assert main(["context", "When does the zeppelin land?", "-", "-b", "60", "-q"]) == 0
    assert capfd.readouterr().out == "[DOC: stdin]\nThe zeppelin lands at noon.\n\n"
    assert not (Path("cache")).exists()
    piped(monkeypatch, b"The zeppelin lands at noon.\n")
    assert main(["add", "-", "--store", "own.db", "-q"]) == 0
    capfd.readouterr()
    assert main(["cite", "stdin", "--store", "own.db"]) == 0
    assert capfd.readouterr().out == "The zeppelin lands at noon.\n"


@pytest.mark.parametrize(("question", "data", "said"), [("-", b"x", "both"), ("x", b" \n", "empty")])
def test_a_pipe_that_can_not_be_used_is_named(notes, capfd, monkeypatch, question, data, said):
    """It gives one thing, and not nothing."""
    piped(monkeypatch, data)
    assert main(["context", question, "-"]) == 2
    assert said in capfd.readouterr().err


def test_patterns_say_what_is_added(notes, capfd):
    """--exclude and --include take patterns as in .gitignore."""
    assert main(["add", "notes", "--store", "a.db", "--exclude", "*.txt", "-q"]) == 0
    assert main(["add", "notes", "--store", "b.db", "--include", "*.txt", "-q"]) == 0
    for store, kept in (("a.db", ["tea.md"]), ("b.db", ["cake.txt"])):
        with open_store(store) as engine:
            assert [Path(each.path).name for each in engine.documents()] == kept


def test_all_that_is_left_out_is_listed(notes, capfd):
    """`status --skipped` also names what only a file's bytes tell, and stores nothing."""
    assert main(["add", "notes", "--store", "own.db", "-q"]) == 0
    capfd.readouterr()
    assert main(["status", "--store", "own.db", "--skipped", "--json"]) == 0
    record = json.loads(capfd.readouterr().out)
    assert {Path(each["path"]).name for each in record["skipped"]} >= {"picture.png", "noise.txt"}
    assert record["documents"] == 2


def test_the_caches_stores_are_listed_and_pruned(notes, capfd):
    """A store whose folder is gone is deleted by --prune, the others stay."""
    other = notes.parent / "other"
    other.mkdir()
    (other / "a.md").write_text("Tea.\n", encoding="utf-8")
    assert main(["context", "samovar", "notes", "-q"]) == 0
    assert main(["context", "tea", "other", "-q"]) == 0
    capfd.readouterr()
    assert main(["stores", "--json"]) == 0
    listed = json.loads(capfd.readouterr().out)["stores"]
    assert sorted(each["documents"] for each in listed) == [1, 2]
    assert main(["stores"]) == 0
    assert re.search(r"^ +[0-9,]+ bytes +2 documents  \S+notes  notes-", capfd.readouterr().out, re.MULTILINE)
    (other / "a.md").unlink()
    other.rmdir()
    assert main(["stores", "prune", "--dry-run"]) == 0
    assert "1 of 2 stores would be deleted" in capfd.readouterr().err
    assert main(["stores", "prune"]) == 0
    assert "other" in capfd.readouterr().out
    assert [each for each in listed if Path(each["store"]).exists()] == [each for each in listed if each["needed"]][:1]


def test_a_server_follows_its_folders(notes, capfd, monkeypatch):
    """While it runs, a new file is found; --no-watch leaves the store as it is."""
    seen = []

    def serve(store, **_):
        (notes / "new.md").write_text("The heron lands.\n", encoding="utf-8")
        for _ in range(200):
            with open_store(store) as engine:
                found = engine.search("heron", repair=False).hits
            if found or seen == ["wait"]:
                break
            threading.Event().wait(0.05)
        seen.append(bool(found))

    monkeypatch.setitem(sys.modules, "brimful.surfaces.http", SimpleNamespace(serve=serve))
    assert main(["serve", "notes", "-q"]) == 0
    assert seen == [True]


def test_watching_names_files(notes, tmp_path):
    """A report names what was done to which file, and a line says it."""
    from brimful.ingest.folders import ingest
    from brimful.store.sqlite import SqliteStore
    from brimful.surfaces.cli.views import changed

    with SqliteStore(tmp_path / "own.db") as store:
        ingest(store, notes)
        (notes / "cake.txt").write_text("The cake is plain, and large.\n", encoding="utf-8")
        (notes / "tea.md").unlink()
        (notes / "new.md").write_text("New.\n", encoding="utf-8")
        report = ingest(store, notes)
    assert sorted(report.files) == [
        ("added", "notes/new.md"),
        ("changed", "notes/cake.txt"),
        ("removed", "notes/tea.md"),
    ]
    files = [{"done": done, "path": path} for done, path in report.files]
    assert "added   notes/new.md\n" in changed({"place": "notes", "files": files})
