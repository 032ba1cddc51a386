"""A store on a file system that nobody can write to can be asked; whoever wants to change it is told why not."""

import os
import shutil
import subprocess
import sys

import pytest

from brimful.errors import StoreError
from brimful.store.sqlite import SqliteStore

MOUNTED = 'mount --bind "$0" "$0" && mount -o remount,bind,ro "$0" && exec "$@"'


@pytest.fixture
def fixed(own, tmp_path, brimful):
    """A function that runs a command where the store's folder is mounted read-only."""
    folder = tmp_path / "fixed"
    folder.mkdir()
    assert brimful("add", own, "--store", folder / "notes.db").code == 0
    shutil.copytree(own, folder / "own")
    tool = shutil.which("unshare")
    probe = [tool or "unshare", "-rm", "sh", "-c", MOUNTED, str(folder), "true"]
    if tool is None or subprocess.run(probe, capture_output=True, check=False).returncode:
        pytest.skip("no read-only mount can be made here")

    def run(*words):
        command = [tool, "-rm", "sh", "-c", MOUNTED, str(folder), sys.executable, "-m", "brimful", *map(str, words)]
        return subprocess.run(
            [*command, "--store", str(folder / "notes.db")], capture_output=True, text=True, env=os.environ, check=False
        )

    return run


QUESTIONS = [("search", "tea"), ("context", "tea", "-q"), ("status",), ("doctor",)]


@pytest.mark.parametrize(
    "words",
    [
        *QUESTIONS,
        (
            "status",
            "--files",
        ),
        ("map", "--budget", "99"),
        ("cite", "own/tea.md"),
    ],
)
def test_a_fixed_store_can_be_asked(fixed, words):
    """Questions and what only looks answer as they do elsewhere, and leave no traceback."""
    done = fixed(*words)
    assert (done.returncode, "Traceback" in done.stderr) == (0, False), done.stderr
    assert done.stdout


@pytest.mark.parametrize("words", [("add",), ("add", "own"), ("remove", "own/tea.md"), ("stores", "purge", "--yes")])
def test_a_fixed_store_can_not_be_changed(fixed, words, tmp_path):
    """Add, remove and purge end with exit code 5, the reason and the remedy."""
    done = fixed(*(str(tmp_path / "fixed" / "own") if word == "own" else word for word in words))
    assert done.returncode == 5, done.stderr
    assert "copy" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_store_whose_log_was_not_moved_is_not_read_without_it(tmp_path):
    """Where the last commits are still in the log and nobody can write, an older state is not shown as the newest."""
    from brimful.store.sqlite import _opened_fixed

    path = tmp_path / "notes.db"
    SqliteStore(path).close()
    (tmp_path / "notes.db-wal").write_bytes(b"x")
    with pytest.raises(StoreError, match="copy the store"):
        _opened_fixed(path)
