"""Folders that nobody would make on purpose become documents or reasons, never an exception."""

import codecs
import os
import subprocess

import pytest

from brimful.documents import reading
from brimful.documents.encodings import encode_back
from brimful.documents.sources import walk
from brimful.ingest.folders import ingest
from brimful.store.sqlite import SqliteStore
from brimful.store.upkeep import verify
from tests.store.places import places_of

FILES = int(os.environ.get("BRIMFUL_FILES", "2000"))
TEXT = "Zürich – naïve café, déjà vu.\r\n" * 3


@pytest.fixture
def folder(tmp_path):
    """An empty folder."""
    (tmp_path / "odd").mkdir()
    return tmp_path / "odd"


def reasons(report):
    """What was left out, and why."""
    return {skip.path: skip.reason for skip in report.skipped}


def paths(store):
    """What is stored."""
    with store.snapshot() as now:
        return [row.path for row in now.rows()]


def test_very_many_tiny_files(store, folder):
    """2,000 files (200,000 in `make test-faults`) go in, are known again, and a change among them is found."""
    for number in range(FILES):
        if number % 1_000 == 0:
            (folder / f"{number // 1_000:03}").mkdir()
        name = folder / f"{number // 1_000:03}" / f"{number:06}.txt"
        descriptor = os.open(name, os.O_CREAT | os.O_WRONLY)
        os.write(descriptor, b"tea number %d\n" % number)
        os.close(descriptor)
    assert ingest(store, folder).added == FILES
    with store.snapshot() as now:
        assert now.census(b"tea") == FILES
        assert [start for _, start in places_of(now, b"%d" % (FILES - 1))] == [11]
    (folder / "000" / "000007.txt").write_text("coffee\n")
    (folder / "000" / "000008.txt").unlink()
    report = ingest(store, folder)
    assert (report.added, report.changed, report.removed, report.unchanged) == (0, 1, 1, FILES - 2)
    store.close()
    assert verify(store.path) == []


def test_deep_trees_loops_and_special_files(store, folder):
    """A path beyond the system's limit, links in circles and a FIFO are reasons; what lies around them is stored."""
    here = os.open(folder, os.O_RDONLY)
    try:
        for _ in range(2_100):
            os.mkdir("d", dir_fd=here)
            below = os.open("d", os.O_RDONLY, dir_fd=here)
            os.close(here)
            here = below
        shallow = folder / "d/d/d/d/deep.txt"
        shallow.write_text("deep tea")
        (folder / "up").symlink_to("..")
        (folder / "ping").symlink_to("pong")
        (folder / "pong").symlink_to("ping")
        os.mkfifo(folder / "pipe")
        report = ingest(store, folder)
        found = reasons(report)
        assert paths(store) == ["odd/d/d/d/d/deep.txt"]
        assert found.pop(max(found, key=len)) == "too_deep"
        assert found == {"odd/up/": "loop", "odd/ping": "loop", "odd/pong": "loop", "odd/pipe": "special"}
    finally:
        os.close(here)
        subprocess.run(["rm", "-rf", folder / "d"], check=True)


def test_a_file_that_turns_into_something_else(store, folder, monkeypatch):
    """Between walk and read a file becomes a folder, a FIFO or a link, or is gone: each a reason, the rest stored."""
    for name in ("folder", "fifo", "link", "gone", "fine"):
        (folder / f"{name}.txt").write_text("tea")
    real = ingest.__globals__["walk"]

    def turn(root, *, settings):
        yield from list(real(root, settings=settings))[::-1]

    def walk_then_turn(root, *, settings):
        found = list(turn(root, settings=settings))
        for name in ("folder", "fifo", "link", "gone"):
            (folder / f"{name}.txt").unlink()
        (folder / "folder.txt").mkdir()
        os.mkfifo(folder / "fifo.txt")
        (folder / "link.txt").symlink_to(folder.parent / "store.db")
        yield from found

    monkeypatch.setitem(ingest.__globals__, "walk", walk_then_turn)
    report = ingest(store, folder)
    assert reasons(report) == {
        "odd/folder.txt": "special",
        "odd/fifo.txt": "special",
        "odd/link.txt": "outside",
        "odd/gone.txt": "unreadable",
    }
    assert paths(store) == ["odd/fine.txt"]


def test_a_file_that_changes_while_it_is_read(store, folder, monkeypatch):
    """Written to during each read, it is listed as changing and keeps what was stored; later it goes in."""
    path = folder / "log.txt"
    path.write_text("one\n")
    (folder / "fine.txt").write_text("fine\n")
    ingest(store, folder)
    path.write_text("one\ntwo\n")
    plain_read = os.read

    def read_and_write(descriptor, size):
        block = plain_read(descriptor, size)
        with path.open("a") as file:
            file.write("more\n")
        return block

    with monkeypatch.context() as patched:
        patched.setattr(reading.os, "read", read_and_write)
        assert reasons(ingest(store, folder)) == {"odd/log.txt": "changing"}
    with store.snapshot() as now:
        assert now.read(now.row("odd/log.txt").number, 0, 4) == b"one\n"
    assert ingest(store, folder).changed == 1


@pytest.mark.parametrize(
    ("raw", "rule"),
    [
        (TEXT.encode(), "utf-8"),
        (codecs.BOM_UTF8 + TEXT.encode(), "utf-8-bom"),
        (codecs.BOM_UTF16_LE + TEXT.encode("utf-16-le"), "utf-16-le-bom"),
        (codecs.BOM_UTF16_BE + TEXT.encode("utf-16-be"), "utf-16-be-bom"),
        (codecs.BOM_UTF32_LE + TEXT.encode("utf-32-le"), "utf-32-le-bom"),
        (codecs.BOM_UTF32_BE + TEXT.encode("utf-32-be"), "utf-32-be-bom"),
        (TEXT.encode("utf-16-le"), "utf-16-le"),
        (TEXT.encode("utf-16-be"), "utf-16-be"),
        (TEXT.encode("utf-32-le"), "utf-32-le"),
        (TEXT.encode("utf-32-be"), "utf-32-be"),
        (TEXT.encode("cp1252"), "windows-1252"),
        (("Größe " * 9).encode() + b"\xff", "bytes"),
        (b"one\r\ntwo\0three\r\n", "utf-8"),
        (b"", "utf-8"),
    ],
)
def test_every_encoding_leads_back_from_the_store(store, folder, raw, rule):
    """The rule is stored with the document, and gives the file's own bytes again."""
    (folder / "a.txt").write_bytes(raw)
    ingest(store, folder)
    with store.snapshot() as now:
        row = now.row("odd/a.txt")
        assert row.rule == rule
        assert encode_back(now.read(row.number, 0, row.length), row.rule) == raw


def test_the_store_is_no_part_of_its_corpus(tmp_path):
    """A store inside the folder that it indexes leaves itself out, however its file is called."""
    (tmp_path / "tea.md").write_text("tea")
    with SqliteStore(tmp_path / "notes.txt") as store:
        for _ in range(2):
            report = ingest(store, tmp_path)
            assert reasons(report).keys() >= {f"{tmp_path.name}/notes.txt", f"{tmp_path.name}/notes.txt-wal"}
            assert paths(store) == [f"{tmp_path.name}/tea.md"]


@pytest.mark.parametrize("seconds", [253_402_300_800, 2**40, -(2**36)])
def test_a_file_time_that_no_calendar_has_costs_the_time_only(folder, store, seconds, monkeypatch):
    """A file from beyond the year 9999 (or before the year 1) is stored without a time, with its folder."""

    def odd_walk(root, *, settings):  # most file systems keep no such time, so the walk says it
        for found in walk(root, settings=settings):
            yield found._replace(mtime_ns=seconds * 10**9) if found.path == "far.md" else found

    monkeypatch.setattr("brimful.ingest.folders.walk", odd_walk)
    (folder / "far.md").write_text("Tea in the far future.")
    (folder / "near.md").write_text("Tea today.")
    report = ingest(store, folder)
    assert (report.added, report.skipped) == (2, [])
    with store.snapshot() as now:
        assert now.row("odd/far.md").time is None
        assert now.row("odd/near.md").time is not None
