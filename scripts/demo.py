"""Show what Brimful does: the real command line over a few notes, then over a copy of this repository."""

import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PARTS = ("README.md", "ARCHITECTURE.md", "docs", "src")
NOTES = {
    "kettle.md": "# The kettle\n\nIt boils two litres in four minutes. Descale it every month with vinegar.\n\n"
    "It was bought in 2019 and has a warranty of ten years; the receipt is in the blue folder.\n",
    "tea.md": "# Tea\n\nGreen tea is brewed at 80 degrees for two minutes, black tea at 100 degrees for four.\n",
    "guests.md": "# Guests\n\nAda drinks green tea without sugar. Grace takes black tea with milk.\n",
}
TTY = sys.stdout.isatty() and not os.environ.get("NO_COLOR")


def main() -> int:
    """Ask notes, ask the repository, check the receipt, change a byte, check again, show the page."""
    with tempfile.TemporaryDirectory(prefix="brimful-demo-") as place:
        folder = Path(place, "work")
        folder.mkdir()
        os.environ["BRIMFUL_CACHE"] = str(folder.parent / "cache")
        for name, text in NOTES.items():
            (folder / "notes").mkdir(exist_ok=True)
            (folder / "notes" / name).write_text(text, encoding="utf-8")
        for part in PARTS:
            source, target = ROOT / part, folder / "brimful" / part
            if source.is_dir():
                shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
            else:
                target.parent.mkdir(exist_ok=True)
                shutil.copy2(source, target)
        return 0 if all(_steps(folder)) else 1


def _steps(folder: Path) -> list[bool]:
    _head("\n1. Three notes, and a question with a typo:\n")
    asked = brimful("How long is the waranty?", cwd=folder / "notes") == 0
    _head("\n2. This repository, with a receipt; the answer comes first:\n")
    question = ("context", "Where is the index kept?", "brimful", "-b", "300")
    again = brimful(*question, "--receipt", "receipt.json", cwd=folder, stdout=folder / "context.txt") == 0
    print((folder / "context.txt").read_text(encoding="utf-8"), flush=True)
    _head("3. The receipt, checked against the text and every cited file:\n")
    check = ("verify", "receipt.json", "--files", "brimful", "--text", "context.txt", "--quiet")
    intact = brimful(*check, cwd=folder) == 0
    cited = json.loads((folder / "receipt.json").read_bytes())["windows"][0]
    _head(f"\n4. One byte of {cited['path']} is changed, and found:\n")
    changed = bytearray((folder / cited["path"]).read_bytes())
    changed[cited["start"] + 1] ^= 1
    (folder / cited["path"]).write_bytes(changed)
    found = brimful(*check, cwd=folder) == 1
    _head("\n5. The page. More: brimful --help, README.md, docs/cli.md.\n")
    return [asked, again, intact, found, _served(folder)]


def _head(text: str) -> None:
    print(f"\033[1m{text}\033[0m" if TTY else text, flush=True)


def brimful(*arguments: str, cwd: Path, stdout: Path | None = None) -> int:
    """Show a command and run it as a shell would; returns its exit code."""
    redirected = f" > {stdout.name}" if stdout else ""
    _head(f"$ {shlex.join(['brimful', *arguments])}{redirected}")
    with (stdout or Path(os.devnull)).open("wb") as file:
        return subprocess.run(
            [sys.executable, "-m", "brimful", *arguments],
            cwd=cwd,
            stdout=file if stdout else None,
            stderr=None if TTY else sys.stdout,
            check=False,
        ).returncode


def _served(folder: Path) -> bool:
    """Serve the page: on a terminal until Ctrl-C, elsewhere until it has answered once."""
    _head("$ brimful serve brimful --port 0")
    command = [sys.executable, "-m", "brimful", "serve", "brimful", "--port", "0", "--json", "--quiet"]
    is_served = False
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE) as server:
        assert server.stdout is not None
        try:
            address = json.loads(server.stdout.readline())["listening"]
            with urllib.request.urlopen(address, timeout=60) as answer:
                is_served = answer.status == 200 and b"<title>" in answer.read()
            print(f"{address}{'   (Ctrl-C ends it)' if TTY and is_served else ''}", flush=True)
            if TTY and is_served:
                server.wait()
        except KeyboardInterrupt:
            print()
        finally:
            server.terminate()
    return is_served


if __name__ == "__main__":
    sys.stdout.reconfigure(errors="replace")  # a terminal without Unicode shows question marks, not a traceback
    try:
        status = main()
        sys.stdout.flush()
    except BrokenPipeError:  # `| head` has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        status = 0
    except KeyboardInterrupt:
        status = 130
    sys.exit(status)
