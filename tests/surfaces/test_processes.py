"""What only a process of its own can show."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.surfaces.conftest import start

ROOT = Path(__file__).parent.parent.parent


def test_help_imports_nothing_heavy():
    """`--help` and `--version` read neither NumPy nor the engine nor rich."""
    program = (
        "import sys; from brimful.surfaces.cli import main; codes = main(['--help']), main(['--version']); "
        "heavy = {'numpy', 'rich', 'apsw', 'brimful.engine'} & set(sys.modules); sys.exit(f'{codes} {heavy}')"
    )
    done = start(program=("-c", program))
    assert done.err.strip() == "(0, 0) set()"
    assert "Usage: brimful" in done.out


def test_ctrl_c_ends_cleanly(corpus):
    """A real SIGINT in the middle: exit code 130, one line, no traceback."""
    program = (
        "import os, signal, sys; from brimful.surfaces import cli; from brimful.surfaces.cli import commands; "
        "commands.asked = lambda question: os.kill(os.getpid(), signal.SIGINT) or question; "
        f"sys.argv = ['brimful', 'context', 'tea', {str(corpus)!r}]; cli.run()"
    )
    done = start(program=("-c", program))
    assert (done.code, done.out) == (130, "")
    assert done.err.split() == "brimful: stopped; what was stored before is intact".split()


def test_a_closed_pipe_ends_cleanly(corpus):
    """`| true` takes nothing: no traceback, and the shell sees no failure."""
    command = f"set -o pipefail; {sys.executable} -m brimful context tea {corpus} -q | true"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, env=os.environ, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_terminal_without_unicode_gets_question_marks(corpus):
    """What it can't show is replaced on standard error; the data stays UTF-8."""
    done = start("context", "tea", corpus, "-b", "50", env={**os.environ, "PYTHONIOENCODING": "ascii"})
    assert done.code == 0
    assert "Tea came to Europe" in done.out
    assert "text" in done.err
    assert done.err.isascii()


def test_a_bug_is_not_nothing_found():
    """An unforeseen error exits with 70, since 1 has a meaning of its own."""
    program = (
        "import sys; from brimful.surfaces import cli; from brimful.surfaces.cli import stores; "
        "stores.store_to_ask = None; sys.argv = ['brimful', 'status']; cli.run()"
    )
    done = start(program=("-c", program))
    assert done.code == 70
    assert "this is a bug" in done.err


@pytest.mark.parametrize("name", ["cli.md"])
def test_the_page_has_every_command_as_it_is(name):
    """docs/cli.md holds every command's help, word for word; `make cli-docs` renews it."""
    program = "import sys; sys.path.insert(0, 'scripts'); import cli_docs; sys.stdout.write(cli_docs.page())"
    done = start(program=("-c", program), cwd=ROOT)
    assert done.out == (ROOT / "docs" / name).read_text(encoding="utf-8")
    from brimful.surfaces.cli.app import app

    commands = [command.name or command.callback.__name__ for command in app.registered_commands]
    assert all(f"## brimful {command}\n" in done.out for command in commands)
