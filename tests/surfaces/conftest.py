"""A small corpus with a store that the tests of a module share, and the program in this process or in its own."""

import os
import pty
import subprocess
import sys
from typing import NamedTuple

import pytest

from brimful.surfaces.cli import main

PAGES = {
    "mind.md": "# Mind\n\nConsciousness is hard to define. Consciousness has no unit.\n\nMachines may have none.\n",
    "tea.md": "# Tea\n\nTea came to Europe in 1610. It was sold as medicine.\n\nCoffee came first.\n",
    "src/kettle.py": "def boil(water):\n    '''Boil the water for tea.'''\n    return water * 2\n",
}
HOSTILE_NAME = "evil\n\x1b[31mred.md"
HOSTILE_TEXT = "The zebra says \x1b]0;owned\x07 and \x9b31m and \u202e too.\n"


class Done(NamedTuple):
    """What a run of the program left."""

    code: int
    out: str
    err: str


@pytest.fixture(scope="module", autouse=True)
def cache(tmp_path_factory):
    """Stores that nobody named, for this module."""
    place = tmp_path_factory.mktemp("cache")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BRIMFUL_CACHE", str(place))
        patch.setenv("BRIMFUL_CONFIG", str(place / "config.toml"))
        patch.setenv("COLUMNS", "80")
        patch.delenv("BRIMFUL_STORE", raising=False)
        yield place


def write_pages(folder):
    """The corpus in a folder."""
    for name, text in PAGES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    """A folder that no test changes."""
    folder = tmp_path_factory.mktemp("shared") / "corpus"
    folder.mkdir()
    return write_pages(folder)


@pytest.fixture
def own(tmp_path):
    """A folder that this test may change."""
    folder = tmp_path / "own"
    folder.mkdir()
    return write_pages(folder)


@pytest.fixture
def brimful(capsys):
    """The program in this process."""

    def run(*arguments):
        capsys.readouterr()
        code = main([str(argument) for argument in arguments])
        return Done(code, *capsys.readouterr())

    return run


def on_a_terminal(*arguments, **environment):
    """What the program shows on a terminal of 80 columns, both streams together."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.environ.update({"TERM": "xterm", "COLUMNS": "80", **environment})
        os.execv(sys.executable, [sys.executable, "-m", "brimful", *map(str, arguments)])
    shown = b""
    while True:
        try:
            block = os.read(terminal, 65_536)
        except OSError:  # the other end is closed
            break
        if not block:
            break
        shown += block
    os.close(terminal)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), shown.decode()


def start(*arguments, program=("-m", "brimful"), **options):
    """The program in a process of its own, through pipes."""
    options = {"input": b"", "env": {**os.environ}} | options
    command = [sys.executable, *program, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, check=False, timeout=120, **options)
    return Done(done.returncode, done.stdout.decode(), done.stderr.decode())
