"""What only a process of its own can show."""

import os
import subprocess
import sys
from pathlib import Path

from tests.surfaces.conftest import start

ROOT = Path(__file__).parent.parent.parent


def test_help_imports_nothing_heavy():
    """`--help`, `COMMAND --help` and `--version` import no command, and none of the libraries behind them."""
    program = (
        "import sys; from brimful.surfaces.cli import main; "
        "codes = main(['--help']), main(['context', '--help']), main(['--version']); "
        "heavy = {'apsw', 'fastapi', 'mcp', 'numpy', 'pydantic', 'uvicorn', 'brimful.engine'} & set(sys.modules); "
        "sys.exit(f'{codes} {heavy}')"
    )
    done = start(program=("-c", program))
    assert done.err.strip() == "(0, 0, 0) set()"
    assert "usage: brimful" in done.out


def test_ctrl_c_ends_cleanly(corpus):
    """A real SIGINT in the middle: exit code 130, one line, no traceback."""
    program = (
        "import os, signal, sys; from brimful.surfaces import cli; from brimful.surfaces.cli import commands; "
        "commands.question_text = lambda question: os.kill(os.getpid(), signal.SIGINT) or question; "
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
        "import sys; from brimful.surfaces import cli; from brimful.surfaces.cli import places; "
        "places.store_to_ask = None; sys.argv = ['brimful', 'status']; cli.run()"
    )
    done = start(program=("-c", program))
    assert done.code == 70
    assert "this is a bug" in done.err


def test_what_is_written_from_the_declarations_is_up_to_date():
    """docs/cli.md and docs/choices.md hold every command and choice; `make cli-docs` renews them."""
    program = (
        "import sys; sys.path.insert(0, 'scripts'); import cli_docs; "
        "sys.exit([str(file) for file, text in cli_docs.WRITTEN.items() if file.read_text(encoding='utf-8') != text()])"
    )
    done = start(program=("-c", program), cwd=ROOT)
    assert done.err.strip() == "[]"
