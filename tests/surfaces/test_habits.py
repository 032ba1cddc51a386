"""What holds for every command: errors, dry runs, terminals."""

import io
import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from brimful.errors import StoreFullError
from brimful.surfaces.cli import terminal
from tests.surfaces.conftest import on_a_terminal, start


@pytest.mark.parametrize(
    ("line", "code", "exit_code"),
    [
        (["context", "tea", "nowhere", "--json"], "input.document", 2),
        (["context", "tea", "--budget", "many", "--json"], "input.usage", 2),
        (["context", "tea", "--model", "gpt-4p", "--json"], "input.model", 2),
        (["status", "--store", "nowhere.db", "--json"], "input", 2),
        (["nonsense", "--json"], "input.usage", 2),
    ],
)
def test_with_json_an_error_is_an_object(brimful, line, code, exit_code, tmp_path, monkeypatch):
    """On standard error, in one line: code, message and exit code; standard output stays empty."""
    monkeypatch.chdir(tmp_path)
    done = brimful(*line)
    error = json.loads(done.err)["error"]
    assert (done.code, done.out, error["code"], error["exit"]) == (exit_code, "", code, exit_code)
    assert error["message"]


def test_a_full_disk_is_exit_code_5(corpus):
    """Standard output that can't be written is a failure, also for help, with one line and no traceback."""
    for arguments in (["context", "tea", str(corpus), "-q"], ["--help"], ["search", "tea", str(corpus), "--json"]):
        with Path("/dev/full").open("wb") as full:
            done = subprocess.run(
                [sys.executable, "-m", "brimful", *arguments], stdout=full, stderr=subprocess.PIPE, check=False
            )
        assert done.returncode == 5
        assert done.stderr.decode().count("\n") == 1
        assert b"No space left" in done.stderr


def test_no_color_works_in_any_place(corpus):
    """As an option too; after `--` it is a word."""
    for line in (["--no-color", "context", "tea", corpus], ["context", "tea", "--no-color", corpus]):
        code, shown = on_a_terminal(*line, "-b", "50")
        assert code == 0
        assert "\033[" not in shown


def test_a_dry_run_leaves_everything_as_it_is(brimful, own, tmp_path):
    """`add` counts files and makes no store; `purge` and `capture` change nothing."""
    store = tmp_path / "kept" / "notes.db"
    record = json.loads(brimful("add", own, "--store", store, "--dry-run", "--json").out)
    assert (record["added"], record["dry_run"]) == (3, True)
    assert not store.parent.exists()
    brimful("add", own, "--store", store)
    (own / "new.md").write_text("New.\n", encoding="utf-8")
    (own / "tea.md").write_text("Tea is new.\n", encoding="utf-8")
    (own / "mind.md").unlink()
    before = store.read_bytes()
    for command in (["add", own], ["add"]):
        record = json.loads(brimful(*command, "--store", store, "--dry-run", "--json").out)
        assert [record[name] for name in ("added", "changed", "removed", "unchanged")] == [1, 1, 1, 1]
    assert "would erase" in brimful("stores", "purge", "--store", store, "--dry-run").out
    assert "calls" in brimful("capture", own / "tea.md", "--store", store, "--dry-run").out
    assert store.read_bytes() == before


def test_what_condensing_would_cost_is_counted_without_a_call(brimful, tmp_path):
    """Parts, calls and tokens; the server that is named is never asked to condense."""
    from brimful.testing import ScriptedProvider
    from tests.densify.test_densify import story

    (tmp_path / "story.txt").write_text(story(200), encoding="utf-8")
    with ScriptedProvider(limit=2_000) as provider:
        line = ["densify", tmp_path / "story.txt", "-m", f"{provider.url}#tiny", "--limit", "2000"]
        plan = json.loads(brimful(*line, "--dry-run", "--json").out)
        assert not provider.calls
        digest = json.loads(brimful(*line, "--json").out)
    assert plan["parts"] == digest["parts"]
    assert plan["parts"] < plan["calls"]
    assert plan["source_tokens"] == digest["source_tokens"]


def test_a_folder_is_watched_until_ctrl_c(own, tmp_path):
    """A line for the first look and for each change; Ctrl-C ends it with 130, one line and no traceback."""
    store = tmp_path / "notes.db"
    command = [sys.executable, "-m", "brimful", "add", "--watch", str(own), "--store", str(store), "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as watcher:
        first = json.loads(watcher.stdout.readline())
        (own / "new.md").write_text("A giraffe is tall.\n", encoding="utf-8")
        second = json.loads(watcher.stdout.readline())
        watcher.send_signal(signal.SIGINT)
        _, said = watcher.communicate(timeout=60)
    assert (first["added"], second["added"], watcher.returncode) == (3, 1, 130)
    assert "Traceback" not in said
    assert "giraffe" in start("search", "giraffe", "--store", store).out


def test_a_terminal_is_left_as_it_was_by_ctrl_c(tmp_path):
    """In the middle of reading many files, with the progress shown: the cursor is visible again."""
    for number in range(3_000):
        (tmp_path / f"{number}.md").write_text(f"Note {number}.\n" * 20, encoding="utf-8")
    program = (
        "import os, pty, signal, sys, time\n"
        "pid, terminal = pty.fork()\n"
        "if pid == 0:\n"
        "    os.environ.update(TERM='xterm', COLUMNS='80')\n"
        "    os.execv(sys.executable, [sys.executable, '-m', 'brimful', *sys.argv[1:]])\n"
        "shown = b''\n"
        "while b'reading' not in shown:\n"
        "    shown += os.read(terminal, 65536)\n"
        "os.write(terminal, b'\\x03')\n"
        "try:\n"
        "    while block := os.read(terminal, 65536):\n"
        "        shown += block\n"
        "except OSError:\n"
        "    pass\n"
        "code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])\n"
        "is_visible = shown.rfind(b'\\x1b[?25h') >= shown.rfind(b'\\x1b[?25l')\n"
        "print(code, is_visible, shown.count(b'Traceback'), b'stopped' in shown)\n"
    )
    done = start("context", "note", tmp_path, program=("-c", program))
    assert done.out.split() == ["130", "True", "0", "True"]


def test_the_doctor_looks_at_everything(brimful, own, tmp_path, monkeypatch):
    """Parts, store, vectors, tokens, disk: exit code 0; a damaged store is 5, one that is not there 2."""
    store = tmp_path / "notes.db"
    brimful("add", own, "--store", store)
    record = json.loads(brimful("doctor", "--store", store, "--json").out)
    states = {each["what"]: each["state"] for each in record["findings"]}
    assert record["exit"] == 0
    assert states["store"] == states["tokens"] == states["packages"] == "good"
    assert brimful("doctor", "--store", tmp_path / "nowhere.db").code == 2
    raw = bytearray(store.read_bytes())
    raw[len(raw) // 2] ^= 0xFF
    store.write_bytes(raw)
    done = brimful("doctor", "--store", store)
    assert done.code == 5
    assert max(map(len, done.out.splitlines())) <= 80


def test_the_doctor_asks_a_model_only_if_it_is_named(brimful):
    """It answers, or its failure is exit code 4."""
    from brimful.testing import Fault, ScriptedProvider

    with ScriptedProvider(reply=lambda prompt: "yes") as provider:
        assert brimful("doctor").code == 0
        assert not provider.calls
        assert "answers: 'yes'" in brimful("doctor", "--model", f"{provider.url}#tiny").out
    with ScriptedProvider(every=Fault.status(401, {"error": {"message": "No such key"}})) as provider:
        done = brimful("doctor", "--model", f"{provider.url}#tiny")
        assert done.code == 4
        assert "No such key" in done.out


def test_a_store_without_room_is_exit_code_5(brimful, corpus, monkeypatch):
    """The message is the store's own."""
    from brimful.engine import Engine

    def full(*_, **__):
        raise StoreFullError("no room left on the disk; make some")

    monkeypatch.setattr(Engine, "context", full)
    done = brimful("context", "tea", corpus)
    assert done.code == 5
    assert "no room left" in done.err


def test_progress_leaves_nothing_behind(monkeypatch):
    """The line with the name, the number and the time is drawn again, and is gone at the end."""
    shown = io.StringIO()
    shown.isatty = lambda: True
    monkeypatch.setattr(sys, "stderr", shown)
    monkeypatch.setattr(terminal, "_SHOWN_SECONDS", 0)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    with terminal.progress("reading") as advance:
        advance("tea.md", 1, 3)
    assert "reading 1 of 3 0:0" in shown.getvalue()
    assert shown.getvalue().endswith("\r\x1b[2K")
