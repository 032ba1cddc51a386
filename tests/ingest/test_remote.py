"""Files that lie on no disk: addresses that fsspec opens, added, brought up to date and left out as on a disk."""

import fsspec
import pytest

import brimful
from brimful.documents.skips import SourceSettings
from brimful.errors import DocumentError


@pytest.fixture
def files():
    """A file system in memory."""
    found = fsspec.filesystem("memory")
    found.store.clear()
    for path, text in {
        "/notes/tea.md": "# Tea\n\nTea is served at four.\n",
        "/notes/deep/pot.txt": "The pot holds two litres.\n",
        "/notes/.hidden.md": "Nobody sees this.\n",
        "/notes/.git/config": "[core]\n",
        "/notes/id_rsa": "a key\n",
        "/notes/old.bin": "\0\1\2",
    }.items():
        found.pipe(path, text.encode())
    yield found
    found.store.clear()


def test_files_elsewhere_are_documents(files, tmp_path):
    """They have the names, and give the answers, that the same files on a disk do; the rest is left out by name."""
    with brimful.open(tmp_path / "store.db") as engine:
        report = engine.add("memory://notes")
        assert report.added == 2
        assert {each.path: each.reason for each in report.skipped} == {
            "notes/.git/config": "hidden",
            "notes/.hidden.md": "hidden",
            "notes/id_rsa": "secret",
            "notes/old.bin": "binary",
        }
        assert [each.path for each in engine.documents()] == ["notes/deep/pot.txt", "notes/tea.md"]
        assert "Tea is served at four." in engine.context("When is tea?", budget=100).text
        assert engine.roots == ("memory://notes",)


def test_only_what_changed_is_read_again(files, tmp_path):
    """Unchanged files cost a listing; changed, new and vanished ones are seen."""
    with brimful.open(tmp_path / "store.db") as engine:
        engine.add("memory://notes/")
        assert engine.add("memory://notes").unchanged == 2
        files.pipe("/notes/tea.md", b"# Tea\n\nTea is served at five o'clock.\n")
        files.pipe("/notes/new.md", b"Coffee at ten.\n")
        files.rm("/notes/deep/pot.txt")
        report = engine.add("memory://notes")
        assert (report.changed, report.added, report.removed, report.unchanged) == (1, 1, 1, 0)
        assert "five o'clock" in engine.context("When is tea?", budget=100).text


def test_one_file_and_none(files, tmp_path):
    """A single file is added by its name; an address without files is an error that names it."""
    with brimful.open(tmp_path / "store.db") as engine:
        assert engine.add("memory://notes/tea.md").added == 1
        assert [each.path for each in engine.documents()] == ["tea.md"]
        for place in ("memory://nothing", "nosuchplace://x"):
            with pytest.raises(DocumentError, match=place.partition(":")[0]):
                engine.add(place)


def test_a_file_that_cannot_be_read_keeps_what_was_stored(files, tmp_path, monkeypatch):
    """What a place refuses is left out with its reason, and what was stored of it before stays."""
    with brimful.open(tmp_path / "store.db") as engine:
        engine.add("memory://notes")
        files.pipe("/notes/tea.md", b"Changed.\n")

        def refused(*_given, **_named):
            raise PermissionError("not yours")

        monkeypatch.setattr(type(files), "_open", refused)
        report = engine.add("memory://notes")
        assert [(each.path, each.reason) for each in report.skipped if each.reason == "unreadable"] == [
            ("notes/tea.md", "unreadable")
        ]
        assert engine.document("notes/tea.md").content == b"# Tea\n\nTea is served at four.\n"


def test_a_long_file_elsewhere_is_read_in_blocks(files, tmp_path, monkeypatch):
    """More than may be held at once; the documents are those of the same files on a disk."""
    monkeypatch.setattr("brimful.ingest.folders.LONG_BYTES", 10_000)
    texts = {
        "tea.txt": "".join(f"Tea number {number} is served at four.\n" for number in range(2_000)).encode(),
        "alt.txt": "".join(f"Käse Nummer {number} ist da.\n" for number in range(2_000)).encode("utf-16"),
    }
    (tmp_path / "notes").mkdir()
    for name, content in texts.items():
        files.pipe(f"/long/notes/{name}", content)
        (tmp_path / "notes" / name).write_bytes(content)
    settings = SourceSettings(max_whole_bytes=20_000)
    with brimful.open(tmp_path / "a.db") as remote, brimful.open(tmp_path / "b.db") as local:
        assert remote.add("memory://long/notes", settings=settings).added == 2
        assert local.add(tmp_path / "notes", settings=settings).added == 2
        for path in ("notes/tea.txt", "notes/alt.txt"):
            assert remote.document(path).content == local.document(path).content
        files.pipe("/long/notes/tea.txt", texts["tea.txt"] + b"Coffee at ten.\n")
        assert remote.add("memory://long/notes", settings=settings).changed == 1
        assert "Coffee at ten." in remote.context("When is coffee?", budget=50).text


def test_a_long_file_that_breaks_off_is_left_out(files, tmp_path, monkeypatch):
    """One that is shorter than it was listed, or that the place refuses, is skipped with its reason, and nothing of it
    stays.
    """
    monkeypatch.setattr("brimful.ingest.folders.LONG_BYTES", 10_000)
    files.pipe("/long/tea.txt", b"Tea is served at four.\n" * 2_000)
    found = files.find

    def listed(path, **named):
        return {name: {**facts, "size": facts["size"] + 1} for name, facts in found(path, **named).items()}

    with brimful.open(tmp_path / "store.db") as engine:
        monkeypatch.setattr(type(files), "find", lambda _, path, **named: listed(path, **named))
        assert [each.reason for each in engine.add("memory://long").skipped] == ["changing"]

        def refused(*_given, **_named):
            raise PermissionError("not yours")

        monkeypatch.setattr(type(files), "_open", refused)
        assert [each.reason for each in engine.add("memory://long").skipped] == ["unreadable"]
        assert engine.documents() == ()
