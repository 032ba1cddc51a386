"""Several processes change one store at once: the end is that of one after the other, in some order."""

import itertools
import os
import subprocess
import sys
import threading

import pytest

from brimful import Document
from brimful.errors import StoreBusyError
from brimful.ingest.folders import ingest
from brimful.store.sqlite import SqliteStore, turn
from brimful.store.upkeep import verify
from brimful.store.writing import NewDocument

ROUNDS = int(os.environ.get("BRIMFUL_WRITERS", "4"))
FILES = 12

ADDING = """
import sys
from pathlib import Path
from brimful.ingest import batches
from brimful.ingest.folders import ingest
from brimful.store.sqlite import SqliteStore
batches.SEGMENT_BYTES = 300  # a commit for every file or two
with SqliteStore(Path(sys.argv[1])) as store:
    print("ready", flush=True)
    sys.stdin.readline()
    for what, argument in zip(sys.argv[2::2], sys.argv[3::2]):
        if what == "add":
            ingest(store, argument)
        elif what == "remove":
            store.remove(argument.split())
        else:
            store.purge()
"""


@pytest.fixture
def folders(tmp_path):
    """Three folders with files of the same names and other texts, all of one time."""
    made = []
    for name in ("one", "two", "three"):
        folder = tmp_path / name
        folder.mkdir()
        for number in range(FILES):
            file = folder / f"{number:02}.md"
            file.write_text(f"Tea number {number} of {name}. " * 9)
            os.utime(file, (1_700_000_000, 1_700_000_000))
        made.append(str(folder))
    return made


def state(store):
    """What is stored: the root, and every document with its text and the file that it came from."""
    with store.snapshot() as now:
        texts = {row.path: now.read(row.number, 0, row.length) for row in now.rows()}
        return now.root, texts, {path: store.owner(path) for path in texts}


def together(path, *programs):
    """Run programs of steps side by side, begun at one moment."""
    command = [sys.executable, "-c", ADDING, str(path)]
    started = [
        subprocess.Popen([*command, *program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        for program in programs
    ]
    for each in started:
        line = each.stdout.readline()
        assert line == b"ready\n", each.communicate()[1].decode()
    for each in started:
        each.stdin.write(b"\n")
        each.stdin.flush()
    for each in started:
        _, said = each.communicate()
        assert each.returncode == 0, said.decode()


def serial_states(tmp_path, steps):
    """What the steps lead to, in each of their orders."""
    found = []
    for number, order in enumerate(itertools.permutations(steps)):
        with SqliteStore(tmp_path / f"serial{number}.db") as store:
            for what, argument in order:
                if what == "add":
                    ingest(store, argument)
                elif what == "remove":
                    store.remove(argument.split())
            found.append(state(store))
    return found


def test_folders_added_at_once_lose_no_file(tmp_path, folders):
    """Three processes, the same file names: every file of every folder is stored, as if they had come in some order."""
    possible = serial_states(tmp_path, [("add", folder) for folder in folders])
    for number in range(ROUNDS):
        path = tmp_path / f"store{number}.db"
        together(path, *(("add", folder) for folder in folders))
        with SqliteStore(path) as store:
            found = state(store)
        assert len(found[1]) == 3 * FILES
        assert found in possible
        assert verify(path) == []


def test_a_remove_and_a_purge_in_between_have_their_place_in_some_order(tmp_path, folders):
    """Two processes add, one removes, one purges: the end is that of these steps in some order."""
    names = " ".join(f"one/{number:02}.md" for number in range(0, FILES, 2))
    steps = [("add", folders[0]), ("add", folders[1]), ("remove", names)]
    possible = serial_states(tmp_path, steps)
    for number in range(ROUNDS):
        path = tmp_path / f"store{number}.db"
        together(path, *steps, ("purge", "-"))
        with SqliteStore(path) as store:
            assert state(store) in possible
        assert verify(path) == []


def test_a_text_stored_while_a_folder_is_read_is_not_replaced(tmp_path, folders, monkeypatch):
    """A path that is taken between the look at a file and the commit stays the text's; the file is skipped."""
    with SqliteStore(tmp_path / "store.db") as store:
        write = store.write

        def late(prepared, **choices):
            monkeypatch.setattr(store, "write", write)
            store.add([NewDocument(Document("one/03.md", "A text of my own."))])
            return write(prepared, **choices)

        monkeypatch.setattr(store, "write", late)
        report = ingest(store, folders[0])
        _, texts, _ = state(store)
    assert report.added == FILES - 1
    assert [(skip.path, skip.reason) for skip in report.skipped] == [("one/03.md", "name")]
    assert texts["one/03.md"] == b"A text of my own."
    assert len(texts) == FILES


def test_whoever_may_not_wait_is_told_that_another_adds(tmp_path, folders):
    """A turn that is taken is a typed error after the time that was given; freed, it is free."""
    with SqliteStore(tmp_path / "store.db") as store:
        held, done = threading.Event(), threading.Event()

        def hold():
            with turn(store.path, wait_seconds=0):
                held.set()
                done.wait()

        other = threading.Thread(target=hold)
        other.start()
        held.wait()
        try:
            with pytest.raises(StoreBusyError, match="adding"):
                ingest(store, folders[0], wait_seconds=0)
        finally:
            done.set()
            other.join()
        assert ingest(store, folders[0], wait_seconds=0).added == FILES
