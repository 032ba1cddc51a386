"""Threads index some batches while others are read and written, and nobody can tell."""

import signal
import subprocess
import sys
import threading

import pytest

from brimful.ingest import batches
from brimful.ingest.batches import prepare
from brimful.ingest.folders import ingest
from brimful.store.sqlite import SqliteStore
from brimful.store.upkeep import verify
from tests.store.test_sqlite import dump


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Files of several kinds, in many small batches."""
    monkeypatch.setattr(batches, "SEGMENT_BYTES", 2_000)
    place = tmp_path / "notes"
    place.mkdir()
    for number in range(40):
        (place / f"{number:02}.md").write_text(f"# Note {number}\n\n" + f"Tea number {number}, café and C++. " * 9)
        (place / f"{number:02}.py").write_text(f"def brew_{number}(cup):\n    return cup + {number}\n" * 5)
    (place / "mail.mbox").write_bytes(
        b"From a\nFrom: a@b.example\nSubject: tea\n\nHot.\n\nFrom b\nFrom: b@b.example\n\nX\n"
    )
    (place / "secret.txt").write_text("key = AKIA" + "Q" * 16)
    return place


def indexers() -> list[str]:
    """The threads that index and are still running."""
    return [each.name for each in threading.enumerate() if each.name.startswith("brimful-index")]


def test_any_number_of_cores_makes_one_store(folder, tmp_path, monkeypatch):
    """With one core and with two: one report, one dump, the same bytes on disk."""
    reports, dumps = [], []
    for number in (1, 2):
        monkeypatch.setattr(batches, "cores", lambda number=number: number)
        with SqliteStore(tmp_path / f"{number}.db") as store:
            reports.append(ingest(store, folder))
            dumps.append(dump(store))
    assert reports[0] == reports[1]
    assert reports[0].added == 81
    assert dumps[0] == dumps[1]
    assert (tmp_path / "1.db").read_bytes() == (tmp_path / "2.db").read_bytes()
    assert not indexers()


def test_what_fails_in_a_thread_is_told_here_and_loses_nothing(folder, tmp_path, monkeypatch):
    """An error keeps its kind, what was committed before stays, no thread is left, and adding again completes it."""
    asked = []

    def failing(outlines):
        asked.append(outlines)
        if len(asked) == 5:
            raise ZeroDivisionError("tea")
        return prepare(outlines)

    with SqliteStore(tmp_path / "store.db") as store:
        with monkeypatch.context() as patched:
            patched.setattr(batches, "prepare", failing)
            with pytest.raises(ZeroDivisionError, match="tea"):
                ingest(store, folder)
        assert not indexers()
        with store.snapshot() as now:
            before = len(list(now.rows()))
        assert 0 < before < 82
        ingest(store, folder)
        with SqliteStore(tmp_path / "fresh.db") as fresh:
            ingest(fresh, folder)
            assert dump(store) == dump(fresh)
    assert verify(tmp_path / "store.db") == []


def test_no_thread_goes_on_when_a_batch_cannot_be_written(folder, tmp_path, monkeypatch):
    """What fails here while others index ends them too; what they have not begun is never done."""
    with SqliteStore(tmp_path / "store.db") as store:
        monkeypatch.setattr(store, "write", lambda *_, **__: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            ingest(store, folder)
        assert not indexers()


SCRIPT = """
import sys
from pathlib import Path
from brimful.ingest import batches
from brimful.ingest.batches import prepare
from brimful.ingest.folders import ingest
from brimful.store.sqlite import SqliteStore
batches.SEGMENT_BYTES = 2_000
with SqliteStore(Path(sys.argv[1])) as store:
    told = lambda found: print(found.path, flush=True)
    ingest(store, sys.argv[2], progress=told)
"""


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGKILL])
def test_a_program_ends_in_the_middle_of_it(folder, tmp_path, sent):
    """Stopped from the keyboard or killed while a thread indexes: the program ends, and the store is sound."""
    for number in range(400):
        (folder / f"more{number:03}.md").write_text(f"Tea {number}. " * 300)
    store = tmp_path / "store.db"
    command = [sys.executable, "-c", SCRIPT, str(store), str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as program:
        program.stdout.readline()  # a batch has been written
        program.send_signal(sent)
        program.communicate(timeout=60)
    assert program.returncode == -sent
    assert verify(store) == []
