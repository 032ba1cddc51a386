"""Folders become documents, and stay what the folder holds."""

import os

import pytest

from brimful.documents.skips import Skipped
from brimful.ingest.folders import ingest
from brimful.store.sqlite import SqliteStore
from tests.store.test_sqlite import dump


@pytest.fixture
def folder(tmp_path):
    """A few files."""
    root = tmp_path / "notes"
    (root / "deep").mkdir(parents=True)
    (root / "tea.md").write_text("# Tea\n\nTea at four.\n")
    (root / "deep" / "pot.py").write_text("def pour():\n    return 1\n")
    (root / ".env").write_text("KEY=value")
    return root


def paths(store):
    """The paths of all live documents."""
    with store.snapshot() as now:
        return [row.path for row in now.rows()]


def fresh_dump(folder, tmp_path, name="fresh.db"):
    """What a new store says of the same folder."""
    with SqliteStore(tmp_path / name) as fresh:
        ingest(fresh, folder)
        return dump(fresh)


def test_a_folder_is_added_and_skips_are_listed(store, folder):
    """Files become documents, named by the folder and the path in it; what is left out is named so too."""
    report = ingest(store, folder)
    assert (report.added, report.unchanged, report.removed) == (2, 0, 0)
    assert paths(store) == ["notes/deep/pot.py", "notes/tea.md"]
    assert [skip.path for skip in report.skipped] == ["notes/.env"]
    assert list(store.roots().values()) == ["notes/"]


def test_adding_again_costs_a_stat(store, folder, monkeypatch):
    """Unchanged files are not opened."""
    ingest(store, folder)
    monkeypatch.setattr("brimful.ingest.batches.load_file", lambda *_, **__: pytest.fail("opened"))
    report = ingest(store, folder)
    assert (report.added, report.changed, report.unchanged) == (0, 0, 2)


def test_changes_are_followed(store, folder, tmp_path):
    """Changed, new and vanished files; the result equals a fresh build."""
    ingest(store, folder)
    (folder / "tea.md").write_text("# Coffee\n\nAt ten.\n")
    (folder / "new.txt").write_text("something new\n")
    (folder / "deep" / "pot.py").unlink()
    report = ingest(store, folder)
    assert (report.added, report.changed, report.removed, report.unchanged) == (1, 1, 1, 0)
    assert paths(store) == ["notes/new.txt", "notes/tea.md"]
    assert dump(store) == fresh_dump(folder, tmp_path)


def test_a_renamed_file_is_named_so(store, folder, tmp_path):
    """A moved file is neither added nor removed, and the result equals a fresh build."""
    ingest(store, folder)
    (folder / "tea.md").rename(folder / "deep" / "green.md")
    report = ingest(store, folder)
    assert (report.renamed, report.added, report.removed) == (1, 0, 0)
    assert paths(store) == ["notes/deep/green.md", "notes/deep/pot.py"]
    assert dump(store) == fresh_dump(folder, tmp_path)


def test_two_roots_with_the_same_names(store, folder, tmp_path):
    """Files of the same name in two folders are named by their folders; each is updated on its own."""
    other = tmp_path / "other"
    other.mkdir()
    (other / "tea.md").write_text("other tea")
    ingest(store, folder)
    ingest(store, other)
    assert paths(store) == ["notes/deep/pot.py", "notes/tea.md", "other/tea.md"]
    (other / "tea.md").unlink()
    report = ingest(store, other)
    assert report.removed == 1
    assert paths(store) == ["notes/deep/pot.py", "notes/tea.md"]


def test_a_file_that_can_not_be_read_now_stays(store, folder, monkeypatch):
    """A passing failure loses nothing that was stored."""
    ingest(store, folder)
    (folder / "deep" / "pot.py").write_text("changed = 1\n")
    real = os.open

    def refuse(path, *arguments, **options):
        if str(path).endswith("pot.py"):
            raise PermissionError(13, "denied", str(path))
        return real(path, *arguments, **options)

    monkeypatch.setattr(os, "open", refuse)
    report = ingest(store, folder)
    monkeypatch.undo()
    assert "notes/deep/pot.py" in [skip.path for skip in report.skipped]
    assert paths(store) == ["notes/deep/pot.py", "notes/tea.md"]


def test_an_unreadable_file_keeps_only_itself(store, folder, monkeypatch):
    """A name that begins like the unreadable one's is judged on its own."""
    (folder / "tea.md.old").write_text("an older note\n")
    ingest(store, folder)
    (folder / "tea.md.old").unlink()
    real = ingest.__globals__["walk"]

    def walk(root, *, settings):
        for found in real(root, settings=settings):
            yield Skipped("tea.md", "unreadable") if getattr(found, "path", "") == "tea.md" else found

    monkeypatch.setitem(ingest.__globals__, "walk", walk)
    assert ingest(store, folder).removed == 1
    assert paths(store) == ["notes/deep/pot.py", "notes/tea.md"]
