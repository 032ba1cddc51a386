"""What a stranger runs first."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent


def run(*arguments, **options):
    """A Python program in a process of its own."""
    return subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True, cwd=ROOT, check=False, **options
    )


def test_demo_shows_a_context_and_a_receipt_that_verifies():
    """In plain text through a pipe: the bar, citations, a correction, a receipt, a found change, a page."""
    done = run("scripts/demo.py", env={"COLUMNS": "80"})
    assert done.returncode == 0, done.stderr
    assert "█" in done.stdout
    assert "searched for warranty instead of waranty" in done.stdout
    assert "[DOC: brimful/docs/keep.md lines 1-" in done.stdout
    assert "verified: " in done.stdout
    assert "the cited bytes are no longer there" in done.stdout
    assert "http://127.0.0.1:" in done.stdout.splitlines()[-1]
    assert "\033" not in done.stdout
    assert done.stderr == ""


def test_demo_survives_a_short_pipe_and_a_plain_terminal():
    """`| head` and a terminal without Unicode end without a traceback."""
    for command in ("scripts/demo.py | head -3", "scripts/demo.py"):
        done = subprocess.run(
            ["bash", "-c", f"set -o pipefail; {sys.executable} {command}"],
            capture_output=True,
            cwd=ROOT,
            env={"PYTHONIOENCODING": "ascii", "PATH": "/usr/bin:/bin"},
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert b"Traceback" not in done.stderr


def test_missing_venv_module_prints_the_remedy(tmp_path):
    """A Debian Python without python3-venv is told what to install."""
    program = (
        "import sys, runpy; sys.modules['ensurepip'] = None; "
        f"sys.argv = ['make_venv.py', {str(tmp_path / 'v')!r}, 'requirements/test.lock']; "
        "runpy.run_path('scripts/make_venv.py', run_name='__main__')"
    )
    done = run("-c", program)
    assert done.returncode == 1
    assert "apt-get install python3-venv" in done.stdout
    assert not (tmp_path / "v").exists()


def test_bare_make_lists_the_targets():
    """`make` alone explains itself."""
    done = subprocess.run(["make"], capture_output=True, text=True, cwd=ROOT, check=True)
    for target in ("demo", "test", "lint", "types", "bench-core", "eval", "cli-docs"):
        assert f"make {target}" in done.stdout


def test_nothing_names_a_machine_or_a_registry():
    """Lock files pin by hash alone."""
    for lock in (ROOT / "requirements").iterdir():
        assert "://" not in lock.read_text()
