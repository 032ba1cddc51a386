"""Texts of any size become documents without being held."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from brimful import Document
from brimful.budget import LEAST_MEMORY_BYTES, max_memory, scaled
from brimful.documents import reading
from brimful.documents.reading import LongDocument
from brimful.documents.skips import Refusal, SourceSettings
from brimful.errors import KernelsError, SettingError
from brimful.index import build
from brimful.ingest import folders as ingesting
from brimful.ingest.folders import ingest
from brimful.ingest.texts import add_documents
from brimful.store import store as storing
from brimful.store import writing
from brimful.store.sqlite import SqliteStore
from brimful.store.upkeep import verify
from brimful.store.writing import NewDocument
from tests.store.test_sqlite import dump


@pytest.fixture
def small(monkeypatch):
    """Everything is a thousand times smaller, so that a few kilobytes are a long text."""
    monkeypatch.setattr(build, "EXTENT_BYTES", 4_000)
    monkeypatch.setattr(storing, "SEGMENT_BYTES", 8_000)
    monkeypatch.setattr(writing, "SEGMENT_BYTES", 8_000)
    for module in (reading, ingesting):
        monkeypatch.setattr(module, "LONG_BYTES", 10_000)


@pytest.fixture
def folder(tmp_path):
    """An empty folder."""
    (tmp_path / "notes").mkdir()
    return tmp_path / "notes"


TEXT = "".join(f"line {n} of tea and café\n" for n in range(1_500))


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-be", "utf-32-le", "cp1252"])
@pytest.mark.parametrize("text", [TEXT, TEXT.replace("\n", " "), "caféine" * 3_000])
def test_a_long_text_is_stored_as_a_short_one_is(small, store, folder, tmp_path, monkeypatch, text, encoding):
    """Read block by block, a file becomes the document that it is when it is held: same hashes, units and places."""
    (folder / "long.txt").write_bytes(text.encode(encoding))
    os.utime(folder / "long.txt", (5, 5))
    assert ingest(store, folder).added == 1
    monkeypatch.setattr(ingesting, "LONG_BYTES", 1 << 40)
    with SqliteStore(tmp_path / "held.db") as held:
        assert ingest(held, folder).added == 1
        assert dump(held) == dump(store)
        with held.snapshot() as one, store.snapshot() as other:
            assert one.row("notes/long.txt") == other.row("notes/long.txt")
            assert len(one.extents(1)) > 1
    store.close()
    assert verify(store.path) == []


def test_a_text_that_changes_between_passes_leaves_the_old_one(small, store, folder, monkeypatch):
    """What was stored stays, nothing of the new text is visible, and the file is listed as changing."""
    path = folder / "long.txt"
    path.write_text(TEXT)
    ingest(store, folder)
    before = dump(store)
    path.write_text(TEXT + "more")
    real = LongDocument.of.__func__

    def write_after_hashing(cls, *arguments, **options):
        made = real(cls, *arguments, **options)
        with path.open("a") as file:
            file.write("and more")
        return made

    monkeypatch.setattr(LongDocument, "of", classmethod(write_after_hashing))
    report = ingest(store, folder)
    assert [(skip.path, skip.reason) for skip in report.skipped] == [("notes/long.txt", "changing")]
    assert (report.changed, report.removed) == (0, 0)
    assert dump(store) == before
    monkeypatch.undo()
    assert ingest(store, folder).changed == 1


def test_a_long_text_that_turns_into_something_else_is_forgotten(small, store, folder, monkeypatch):
    """Once it is no file any more, what was stored of it goes, and it is listed once."""
    path = folder / "long.txt"
    path.write_text(TEXT)
    ingest(store, folder)
    path.write_text(TEXT + "more")
    real = LongDocument.of.__func__

    def swap_after_hashing(cls, *arguments, **options):
        made = real(cls, *arguments, **options)
        path.unlink()
        path.mkdir()
        return made

    monkeypatch.setattr(LongDocument, "of", classmethod(swap_after_hashing))
    report = ingest(store, folder)
    assert [(skip.path, skip.reason) for skip in report.skipped] == [("notes/long.txt", "special")]
    assert (report.changed, report.removed) == (0, 1)
    with store.snapshot() as now:
        assert list(now.rows()) == []


def test_a_source_that_lies_is_found_out(small, store):
    """The same length with other bytes is refused, and the transaction leaves nothing behind."""
    texts = iter([TEXT.encode(), TEXT.upper().encode()])
    with pytest.raises(Refusal, match="changing"):
        store.add([NewDocument(LongDocument.of("a.txt", lambda: [next(texts)]))])
    with store.snapshot() as now:
        assert (list(now.rows()), now.generation) == ([], 0)


def test_long_and_short_entries_keep_their_order(small, store):
    """Of two entries with one path the later one stays, whichever is long."""
    long = LongDocument.of("a.txt", lambda: [TEXT.encode()])
    for entries, length in (
        ([NewDocument(Document("a.txt", "short")), NewDocument(long)], len(long)),
        ([NewDocument(long), NewDocument(Document("a.txt", "short"))], 5),
    ):
        assert store.add(entries) == 2
        with store.snapshot() as now:
            assert [row.length for row in now.rows()] == [length]


def test_limits_and_secrets_hold_for_long_texts(small, store, folder):
    """A long text with a credential, beyond max_bytes, or in an unknown encoding is listed; a long page is not held."""
    (folder / "key.txt").write_text("AK" + "IAQWERTYUIOPASDFGH " + TEXT)
    (folder / "russian.txt").write_bytes("Съешь ещё этих мягких булок. ".encode("koi8-r") * 500)
    (folder / "page.html").write_text("<html><body>" + TEXT)
    (folder / "huge.txt").write_text(TEXT * 3)
    (folder / "fine.jsonl").write_text('{"role": "user", "content": "tea"}\n' * 1_000)
    settings = SourceSettings(max_bytes=100_000, max_whole_bytes=12_000)
    report = ingest(store, folder, settings=settings)
    assert {skip.path: skip.reason for skip in report.skipped} == {
        "notes/key.txt": "secret",
        "notes/russian.txt": "encoding",
        "notes/page.html": "too_large",
        "notes/huge.txt": "too_large",
    }
    with store.snapshot() as now:
        assert [row.path for row in now.rows()] == ["notes/fine.jsonl"]


# ---- texts


def test_a_text_does_not_push_a_file_out(store, folder):
    """A path that a folder's file has or could have is refused with a remedy; any other is left alone by the folder."""
    (folder / "tea.md").write_text("a file\n")
    ingest(store, folder)
    for path in ("notes/tea.md", "notes/other.md"):
        with pytest.raises(ValueError, match="another path"):
            add_documents(store, [Document(path, "a text")])
    assert add_documents(store, [Document("tea.md", "a text")]) == 1
    (folder / "tea.md").unlink()
    assert ingest(store, folder).removed == 1
    with store.snapshot() as now:
        assert [(row.path, row.length) for row in now.rows()] == [("tea.md", 6)]


# ---- memory

PEAK = """
import sys
from pathlib import Path
import brimful
with brimful.open(sys.argv[1]) as engine:
    report = engine.add(sys.argv[2])
    lengths = [document.bytes for document in engine.documents()]
    engine.context("Where is tea at five o'clock?", budget=2_000)
# The peak of this program alone: ru_maxrss starts with that of the process that started it.
peak = int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0]) >> 10
print(peak, report.added, len(report.skipped), sum(lengths))
"""
MEGABYTES = int(os.environ.get("BRIMFUL_LINE_MEGABYTES", "60"))


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the system does not tell the peak")
@pytest.mark.parametrize(("files", "size"), [(1, MEGABYTES << 20), (40, 1 << 20), (4_000, 8 << 10)])
def test_indexing_and_asking_keep_to_the_memory_that_is_allowed(tmp_path, files, size):
    """Of one endless line (1 GB in `make test-faults`), some files and many; nothing is left out."""
    words = " ".join(f"word{n % 4_000} and tea at {n % 97} o'clock," for n in range(50_000)).encode()
    (tmp_path / "notes").mkdir()
    for number in range(files):
        with (tmp_path / "notes" / f"{number}.txt").open("wb") as file:
            for start in range(0, size, 1 << 20):
                file.write(words[: min(size - start, 1 << 20)])
    command = [sys.executable, "-c", PEAK, tmp_path / "store.db", tmp_path / "notes"]
    environment = {**os.environ, "BRIMFUL_MAX_MEMORY": "256MB"}
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
    peak, added, skipped, length = map(int, done.stdout.split())
    assert (added, skipped, length) == (files, 0, files * size)
    assert peak <= 256


def test_a_memory_that_is_none_is_refused(monkeypatch):
    """A size has a unit, and there is a least one."""
    assert max_memory() >= LEAST_MEMORY_BYTES
    monkeypatch.setenv("BRIMFUL_MAX_MEMORY", "512MB")
    assert (max_memory(), scaled(100)) == (512 << 20, 50)
    for size in ("512", "1MB", "lots", "-2GB"):
        monkeypatch.setenv("BRIMFUL_MAX_MEMORY", size)
        with pytest.raises(SettingError, match="512MB or 2GB"):
            max_memory()


def test_a_missing_part_of_this_program_is_no_fault_of_a_file(store, folder, monkeypatch):
    """Without its compiled loops nothing can be indexed: an error says so, and no file is listed as skipped."""
    (folder / "tea.md").write_text("Tea at four.")

    def missing(*_, **__):
        raise KernelsError("the compiled kernels can't be loaded")

    monkeypatch.setattr("brimful.documents.loaders.loaded.decode", missing)
    with pytest.raises(KernelsError, match="compiled kernels"):
        ingest(store, folder)
