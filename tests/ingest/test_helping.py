"""A second process takes part of the work, and nobody can tell."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from brimful.corpus.loaders.box import close_box
from brimful.corpus.skips import SourceSettings
from brimful.errors import HelperError, SettingError
from brimful.ingest import workers as batches
from brimful.ingest import workers as helping
from brimful.ingest.folders import ingest
from brimful.ingest.workers import Helper, helpers_for
from brimful.store.sqlite import SqliteStore
from brimful.store.upkeep import verify
from tests.store.test_sqlite import dump

TWO = SourceSettings(workers=2)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Files of several kinds, in many small batches."""
    monkeypatch.setattr(batches, "SEGMENT_BYTES", 2_000)
    close_box()  # an earlier test may have left one, and children are counted here
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


def children(parent: int | str = "self") -> list[int]:
    """The processes that one has started and that are still running."""
    tasks = Path(f"/proc/{parent}/task")
    try:
        found = [int(each) for task in tasks.iterdir() for each in (task / "children").read_text().split()]
    except OSError:  # it has ended
        return []
    return [each for each in found if is_running(each)]


def is_running(process: int) -> bool:
    """Whether a process has not ended, even if nobody has asked how it did."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.parametrize("embedder", ["default", None])
def test_a_helper_makes_the_same_store(folder, tmp_path, embedder):
    """With one process and with three: the same report, the same root, the same dump, the same bytes on disk."""
    reports, dumps = [], []
    for workers in (1, 3):
        with SqliteStore(tmp_path / f"{workers}.db", embedder=embedder) as store:
            report = ingest(store, folder, settings=SourceSettings(workers=workers))
            report.skipped.sort(key=lambda skip: skip.path)
            reports.append(report)
            dumps.append(dump(store))
    assert reports[0] == reports[1]
    assert reports[0].added == 81
    assert dumps[0] == dumps[1]
    assert (tmp_path / "1.db").read_bytes() == (tmp_path / "3.db").read_bytes()
    assert not children()


def test_a_killed_helper_is_a_typed_error_and_loses_nothing(folder, tmp_path, monkeypatch):
    """What was committed before stays, and adding again completes it."""
    ask, asked = Helper.ask, []

    def killed(self, files):
        asked.append(files)
        if len(asked) == 3:
            self._process.kill()
        return ask(self, files)

    monkeypatch.setattr(Helper, "ask", killed)
    with SqliteStore(tmp_path / "store.db") as store:
        with pytest.raises(HelperError, match="add the place again"):
            ingest(store, folder, settings=TWO)
        assert not children()
        with store.snapshot() as now:
            before = len(list(now.rows()))
        assert 0 < before < 82
        ingest(store, folder, settings=SourceSettings(workers=1))
        with SqliteStore(tmp_path / "fresh.db") as fresh:
            ingest(fresh, folder, settings=SourceSettings(workers=1))
            assert dump(store) == dump(fresh)
    assert verify(tmp_path / "store.db") == []


def test_what_fails_in_a_helper_is_told_here(folder, tmp_path, monkeypatch):
    """An error keeps its kind on the way from one process to the other."""
    failing = "import brimful.ingest.workers as helping; helping.index_batch = lambda *_: 1 / 0; helping.serve()"
    source = str(Path(helping.__file__).parents[2])
    command = [sys.executable, "-P", "-c", f"import sys; sys.path.append({source!r}); {failing}"]
    monkeypatch.setattr(helping, "own_python", lambda module: command)
    monkeypatch.setattr(helping.Workers, "_claim", _only_helpers(helping.Workers._claim))
    with SqliteStore(tmp_path / "store.db") as store, pytest.raises(HelperError, match="ZeroDivisionError"):
        ingest(store, folder, settings=TWO)
    assert not children()


def _only_helpers(claim):
    """A claim that leaves all batches to helpers."""
    return lambda self, *, wait: claim(self, wait=wait) if wait else None


SCRIPT = """
import sys
from pathlib import Path
from brimful.corpus.skips import SourceSettings
from brimful.ingest import workers as batches
from brimful.ingest.folders import ingest
from brimful.store.sqlite import SqliteStore
batches.SEGMENT_BYTES = 2_000
print("begun", flush=True)
with SqliteStore(Path(sys.argv[1])) as store:
    print(ingest(store, sys.argv[2], settings=SourceSettings(workers=2)).added, flush=True)
"""


def test_a_script_need_not_be_importable(folder, tmp_path):
    """A program without `if __name__ == "__main__"` runs once, in whatever folder it is started."""
    (tmp_path / "numpy.py").write_text("raise RuntimeError('not for helpers')")
    script = tmp_path / "scripts" / "program.py"
    script.parent.mkdir()
    script.write_text(SCRIPT)
    command = [sys.executable, str(script), str(tmp_path / "store.db"), str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, timeout=120, check=False)
    assert (done.stdout.split(), done.stderr) == (["begun", "81"], "")


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGKILL])
def test_no_helper_outlives_its_program(folder, tmp_path, sent):
    """Stopped from the keyboard or killed: no process is left behind, and the store is sound."""
    for number in range(400):
        (folder / f"more{number:03}.md").write_text(f"Tea {number}. " * 300)
    store = tmp_path / "store.db"
    command = [sys.executable, "-c", SCRIPT, str(store), str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as program:
        program.stdout.readline()
        helpers: list[int] = []
        while not helpers and program.poll() is None:
            helpers = children(program.pid)
        program.send_signal(sent)
        program.wait(timeout=60)
    deadline = time.monotonic() + 60
    while any(map(is_running, helpers)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert helpers
    assert not any(map(is_running, helpers))
    assert verify(store) == []


def test_little_is_done_alone():
    """A helper is started for much text only, or where the caller asks for one."""
    assert helpers_for(1 << 20, workers=None) == 0
    assert helpers_for(1 << 40, workers=1) == 0
    assert helpers_for(0, workers=3) == 2


@pytest.mark.parametrize("workers", [0, -1, 17, True, 1.5])
def test_workers_are_a_small_number(workers):
    """Anything else is refused with the value."""
    with pytest.raises(SettingError, match="workers is"):
        SourceSettings(workers=workers)
