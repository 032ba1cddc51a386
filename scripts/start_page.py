"""Run docs/start.md, and put a recording of its commands at its end.

`commands()` gives the bash blocks with what each should show; the recording is what a terminal of 80 columns shows.
"""

import os
import pty
import re
import subprocess
import sys
import tempfile
from pathlib import Path

PAGE = Path(__file__).resolve().parent.parent / "docs" / "start.md"
_BLOCK = re.compile(r"```bash\n(.*?)```(?:\n\n```text\n(.*?)```)?", re.DOTALL)
_RECORDING = re.compile(r"(<!-- recording -->\n).*?(<!-- end of recording -->)", re.DOTALL)
_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]")
RECORDED = (
    'brimful context "How long is green tea brewed?" notes --budget 60',
    'brimful context "waranty of the ketle" notes --budget 40',
    'brimful explain "Who drinks green tea?" notes -b 40',
)


def commands() -> list[tuple[str, str]]:
    """Each bash block, and what it should show ("..." stands for anything)."""
    return [(found[1], found[2] or "") for found in _BLOCK.finditer(PAGE.read_text(encoding="utf-8"))]


def prepared(folder: Path) -> dict[str, str]:
    """An environment in which `brimful` is this program, and nothing of this user's own is touched."""
    programs = folder / "bin"
    programs.mkdir()
    program = programs / "brimful"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m brimful "$@"\n', encoding="utf-8")
    program.chmod(0o755)
    own = {"BRIMFUL_CACHE": str(folder / "cache"), "BRIMFUL_CONFIG": str(folder / "config.toml"), "COLUMNS": "80"}
    kept = {name: value for name, value in os.environ.items() if not name.startswith("BRIMFUL_")}
    return {**kept, **own, "PATH": f"{programs}:{os.environ['PATH']}"}


def recorded() -> str:
    """What a terminal shows while the commands are run, without colour and motion."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        work = folder / "work"
        work.mkdir()
        environment = {**prepared(folder), "TERM": "xterm", "NO_COLOR": "1"}
        subprocess.run(["bash", "-e", "-c", commands()[0][0]], cwd=work, env=environment, check=True)
        shown = []
        for command in RECORDED:
            lines = _ESCAPES.sub("", _on_a_terminal(command, work, environment)).replace("\r", "").rstrip()
            shown.append(f"$ {command}\n{lines}\n")
        return "\n".join(shown)


def _on_a_terminal(command: str, folder: Path, environment: dict[str, str]) -> str:
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(folder)
        os.execvpe("bash", ["bash", "-c", command], environment)
    shown = b""
    try:
        while block := os.read(terminal, 65_536):
            shown += block
    except OSError:  # the other end is closed
        pass
    os.close(terminal)
    os.waitpid(pid, 0)
    return shown.decode()


def page() -> str:
    """The page with its recording."""
    text = PAGE.read_text(encoding="utf-8")
    return _RECORDING.sub(lambda found: f"{found[1]}\n```text\n{recorded()}```\n\n{found[2]}", text)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    sys.stdout.write(f"written: {PAGE.name}\n")
