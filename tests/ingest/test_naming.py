"""Documents are named by their folder and the path in it, whatever was added before (ruling 18)."""

import itertools
import os
import shutil
from pathlib import Path

import pytest

import brimful
from brimful import Document
from brimful.documents.sources import walk
from brimful.errors import DocumentError
from brimful.ingest.folders import ingest, preview
from brimful.store.opening import opened
from brimful.store.sqlite import SqliteStore
from brimful.store.writing import NewDocument

FOLDERS = ("work/docs", "work/notes", "play/songs")


@pytest.fixture
def disk(tmp_path):
    """Folders with files of the same names, all of one time."""
    for folder in (*FOLDERS, "play/docs"):
        (tmp_path / folder / "deep").mkdir(parents=True)
        for name in ("tea.md", "deep/pot.py"):
            (tmp_path / folder / name).write_text(f"# {name} of {folder}\n")
            os.utime(tmp_path / folder / name, (1_700_000_000, 1_700_000_000))
    return tmp_path


def names(store):
    """The names of all documents."""
    with store.snapshot() as now:
        return [row.path for row in now.rows()]


def added(path, *places, **choices):
    """The state root and the names that adding places to a new store leads to."""
    with SqliteStore(path) as store:
        for place in places:
            ingest(store, place, **choices)
        with store.snapshot() as now:
            return now.root, names(store)


def test_any_order_and_company_gives_the_same_names(disk):
    """Folders added alone, together and in every order have the same documents, under the same state root."""
    alone = sorted(name for at, each in enumerate(FOLDERS) for name in added(disk / f"{at}.db", disk / each)[1])
    assert alone == [
        *("docs/deep/pot.py", "docs/tea.md", "notes/deep/pot.py"),
        *("notes/tea.md", "songs/deep/pot.py", "songs/tea.md"),
    ]
    together = {
        (root, tuple(found))
        for at, order in enumerate(itertools.permutations(FOLDERS))
        for root, found in [added(disk / f"all{at}.db", *(disk / each for each in order))]
    }
    assert [found for _, found in together] == [tuple(alone)]


def test_a_printed_name_opens_from_the_folder_above(disk, store, monkeypatch):
    """From the parent of an added folder, the name of each of its documents is the path of its file."""
    ingest(store, disk / "work/docs")
    monkeypatch.chdir(disk / "work")
    assert [Path(name).read_text() for name in names(store)] == [
        "# deep/pot.py of work/docs\n",
        "# tea.md of work/docs\n",
    ]


def test_a_taken_name_gets_the_folder_above_in_front(disk, store):
    """Of two folders of one name the second is named with its parent, both keep their names, whichever comes again."""
    ingest(store, disk / "work/docs")
    ingest(store, disk / "play/docs")
    first = names(store)
    assert first == ["docs/deep/pot.py", "docs/tea.md", "play/docs/deep/pot.py", "play/docs/tea.md"]
    assert list(store.roots().values()) == ["play/docs/", "docs/"]
    shutil.rmtree(disk / "work/docs")
    (disk / "work/docs").mkdir()
    ingest(store, disk / "work/docs")
    (disk / "play/docs/new.md").write_text("new\n")
    report = ingest(store, disk / "play/docs")
    assert (report.added, report.unchanged) == (1, 2)
    assert names(store) == ["play/docs/deep/pot.py", "play/docs/new.md", "play/docs/tea.md"]


def test_a_name_is_taken_though_nothing_is_stored_under_it_yet(disk, store, tmp_path):
    """A folder keeps its name while it is empty: neither the same nor a name above or below it goes to another."""
    (tmp_path / "empty/docs").mkdir(parents=True)
    ingest(store, tmp_path / "empty/docs", label="team/docs")
    for taken in ("team/docs", "team", "team/docs/deep"):
        with pytest.raises(DocumentError, match="names other documents already"):
            ingest(store, disk / "work/docs", label=taken)
    (tmp_path / "void/notes").mkdir(parents=True)
    assert ingest(store, tmp_path / "void/notes").folder == "notes/"
    assert ingest(store, disk / "work/notes").folder == "work/notes/"


def test_nested_folders_do_not_share_names(disk, store):
    """A folder inside another has names of its own, and no name overlaps another folder's."""
    ingest(store, disk / "work")
    ingest(store, disk / "work/docs")
    ingest(store, disk / "play/docs")
    ingest(store, disk / "play")
    folders = list(store.roots().values())
    assert folders == [f"{disk.name}/play/", "play/docs/", "work/", "docs/"]
    assert len(names(store)) == 2 * 2 + 2 + 2 + 2 * 2
    assert not any(one != other and one.startswith(other) for one in folders for other in folders)


@pytest.mark.parametrize(
    ("place", "folder"),
    [
        (".", "docs/"),
        ("..", "work/"),
        ("deep/..", "docs/"),
        ("", "docs/"),
        ("*.md", "docs/"),
        ("../docs/d*/*", "docs/"),
    ],
)
def test_a_place_is_named_by_what_it_is(disk, store, monkeypatch, place, folder):
    """`.`, `..` and globs have the name of the folder that they stand for."""
    monkeypatch.chdir(disk / "work/docs")
    assert ingest(store, place).folder == folder
    assert all(name.startswith(folder) for name in names(store))


def test_the_root_of_the_file_system_has_no_name(store, disk, monkeypatch):
    """Names of files below `/` open from it; in a store that holds other texts it must be given a name."""
    file = disk / "work/docs/tea.md"
    below_root = [found._replace(path=os.fspath(file).lstrip("/")) for found in walk(file)]
    monkeypatch.setattr("brimful.ingest.folders.walk", lambda *_, **__: iter(below_root))  # not the whole machine
    assert ingest(store, "/").added == 1
    assert names(store) == [os.fspath(file).lstrip("/")]
    with SqliteStore(disk / "other.db") as other:
        other.add([NewDocument(Document("mine.md", "a text"))])
        with pytest.raises(DocumentError, match="--as NAME"):
            ingest(other, "/")
        assert ingest(other, "/", label="machine").folder == "machine/"


def test_a_file_by_itself_has_its_own_name(disk, store):
    """A single file is called by its name; a second one of that name has its folder in front."""
    ingest(store, disk / "work/docs/tea.md")
    ingest(store, disk / "play/songs/tea.md")
    assert names(store) == ["songs/tea.md", "tea.md"]
    ingest(store, disk / "play/songs")
    assert names(store) == ["play/songs/deep/pot.py", "play/songs/tea.md", "songs/tea.md", "tea.md"]
    with pytest.raises(DocumentError, match="is a file"):
        ingest(store, disk / "work/notes/tea.md", label="notes")


def test_globs_of_one_folder_share_its_name(disk, store):
    """What several globs of a folder find is one document, and stays while one of them finds it."""
    ingest(store, disk / "work/docs/*.md")
    ingest(store, disk / "work/docs/t*")
    assert (ingest(store, disk / "work/docs").unchanged, names(store)) == (1, ["docs/deep/pot.py", "docs/tea.md"])
    (disk / "work/docs/tea.md").write_text("changed\n")
    assert ingest(store, disk / "work/docs/t*").added == 1
    assert [ingest(store, disk / "work/docs" / glob).unchanged for glob in ("*.md", "")] == [1, 2]
    (disk / "work/docs/tea.md").unlink()
    for glob in ("*.md", "t*", ""):
        ingest(store, disk / "work/docs" / glob)
    assert names(store) == ["docs/deep/pot.py"]


def test_a_label_names_a_folder_and_stays(disk, store):
    """`--as` names the documents; it is recorded, so the folder is brought up to date without it, and never changes."""
    ingest(store, disk / "work/docs", label="team/handbook")
    (disk / "work/docs/new.md").write_text("new\n")
    assert ingest(store, disk / "work/docs").files == [("added", "team/handbook/new.md")]
    assert names(store) == ["team/handbook/deep/pot.py", "team/handbook/new.md", "team/handbook/tea.md"]
    assert ingest(store, disk / "work/docs", label="team/handbook").unchanged == 3
    with pytest.raises(DocumentError, match="names do not change"):
        ingest(store, disk / "work/docs", label="docs")
    for taken in ("team/handbook", "team", "team/handbook/deep"):
        with pytest.raises(DocumentError, match="names other documents already"):
            ingest(store, disk / "play/docs", label=taken)
    assert ingest(store, disk / "play/docs").folder == "docs/"


@pytest.mark.parametrize(
    "label", ["", "/", "a/", "/a", "a//b", "..", "a/../b", "./a", "a\nb", "a\u202eb", " a", "\ud800"]
)
def test_what_can_not_be_a_label_is_refused(disk, store, label):
    """A label is a name or several with slashes between them, which shows as it is."""
    with pytest.raises(DocumentError):
        ingest(store, disk / "work/docs", label=label)
    assert store.roots() == {}


def test_a_text_has_its_name_first(disk, tmp_path):
    """A folder is not named where a text of the user's stands; a text is not stored in an added folder's name."""
    with brimful.open(tmp_path / "texts.db") as engine:
        engine.add_text("docs/mine.md", "A text of my own.")
        engine.add(disk / "work/docs")
        assert engine.folders == {os.fspath(disk / "work/docs"): "work/docs/"}
        for path in ("work/docs/tea.md", "work/docs/not/there.md"):
            with pytest.raises(DocumentError, match="another path"):
                engine.add_text(path, "not mine")
        engine.add_text("docs/more.md", "Mine, as before.")
        assert len(engine.documents()) == 4


@pytest.mark.parametrize(
    "path",
    ["./ow/a.md", "ow//b.md", "ow/../b.md", "b.md/", "../b.md", ".", "..", "//b.md", "cafe\u0301.md", "x://a//b"],
)
def test_a_text_has_one_form_of_a_name(tmp_path, path):
    """Other spellings of a path are refused, so that no text stands beside a file's document under its own name."""
    with brimful.open(tmp_path / "store.db") as engine:
        with pytest.raises(DocumentError, match="normal form"):
            engine.add_text(path, "Tea at four.")
        for name in ("b.md", "B.md", "/b.md", "caf\u00e9.md", "https://tea.org/b.md", ".b/..c"):
            engine.add_text(name, "Tea at four.")
        assert engine.length("B.md") == 12


def test_a_text_is_not_called_like_a_folder_in_other_letters(tmp_path):
    """Beside the folder `ow` there is no text in `OW`; as files the two folders would be two."""
    (tmp_path / "ow").mkdir()
    (tmp_path / "ow/a.md").write_text("Tea at four.")
    with brimful.open(tmp_path / "store.db") as engine:
        engine.add(tmp_path / "ow")
        for path in ("ow/b.md", "OW/a.md"):
            with pytest.raises(DocumentError, match="would be a name in an added folder"):
                engine.add_text(path, "Tea at five.")


def test_a_folder_that_was_renamed_is_another_folder(disk, store):
    """What was stored of the old one keeps its names until it is removed; the new one has its own."""
    ingest(store, disk / "work/docs")
    (disk / "work/docs").rename(disk / "work/papers")
    ingest(store, disk / "work/papers")
    assert names(store) == ["docs/deep/pot.py", "docs/tea.md", "papers/deep/pot.py", "papers/tea.md"]


def test_a_file_that_moves_keeps_its_folder(disk, store):
    """A renamed file is called by the same folder."""
    ingest(store, disk / "work/docs", label="handbook")
    (disk / "work/docs/tea.md").rename(disk / "work/docs/deep/green.md")
    assert ingest(store, disk / "work/docs").files == [("renamed", "handbook/deep/green.md")]
    assert names(store) == ["handbook/deep/green.md", "handbook/deep/pot.py"]


def test_a_preview_names_what_adding_would(disk, store):
    """What would be left out is called as it would be when it is added; nothing is recorded."""
    (disk / "work/docs/.env").write_text("KEY=value")
    assert [skip.path for skip in preview(disk / "work/docs").skipped] == ["docs/.env"]
    assert [skip.path for skip in preview(disk / "work/docs", store, label="x").skipped] == ["x/.env"]
    assert store.roots() == {}


def test_a_folder_whose_name_is_not_utf8_is_refused(store, tmp_path):
    """No document in it could be cited: a typed error that names it and says what to do, and nothing is recorded."""
    folder = os.fsencode(tmp_path) + b"/caf\xe9"
    try:
        Path(os.fsdecode(folder)).mkdir()
    except OSError:
        pytest.skip("this file system has UTF-8 names only")
    (Path(os.fsdecode(folder)) / "tea.md").write_text("tea\n")
    with pytest.raises(DocumentError, match="rename it"):
        ingest(store, os.fsdecode(folder))
    assert store.roots() == {}


def test_a_copy_keeps_the_names(disk, tmp_path):
    """Labels go with a copy."""
    from brimful.store.upkeep import copy

    with SqliteStore(tmp_path / "one.db") as one, SqliteStore(tmp_path / "two.db") as two:
        ingest(one, disk / "work/docs", label="handbook")
        ingest(one, disk / "play/docs")
        copy(one, two)
        assert two.roots() == one.roots()
        (disk / "work/docs/new.md").write_text("new\n")
        assert ingest(two, disk / "work/docs").files == [("added", "handbook/new.md")]


def test_a_server_names_documents_as_a_file_does(disk, store, postgres_server):
    """On PostgreSQL the same folders have the same names."""
    address = postgres_server.address("naming")
    with opened(address) as there:
        for place in (disk / "work/docs", disk / "play/docs", disk / "work/notes"):
            ingest(store, place)
            ingest(there, place)
        assert there.roots() == store.roots()
        assert names(there) == names(store)
