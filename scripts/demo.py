"""Show what Brimful does: the real command line over a copy of this repository's own text and code."""

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
QUESTION = "How is the rest of the bugdet filled after packing?"  # misspelt on purpose
TTY = sys.stdout.isatty() and not os.environ.get("NO_COLOR")


def head(text: str) -> None:
    """A line of our own between the program's."""
    print(f"\033[1m{text}\033[0m" if TTY else text, flush=True)


def brimful(*arguments: str, folder: Path, shown: Path | None = None) -> int:
    """Show a command and run it as it would run in a shell; `shown` gets its standard output too."""
    command = shlex.join(["brimful", *arguments])
    head(f"$ {command}{' > ../' + shown.name if shown else ''}")
    environment = {**os.environ, "BRIMFUL_CACHE": str(folder.parent / "cache")}
    output = shown.open("wb") if shown else None
    try:
        done = subprocess.run(
            [sys.executable, "-m", "brimful", *arguments],
            cwd=folder,
            env=environment,
            stdout=output,
            stderr=None if TTY else sys.stdout,
            check=False,
        )
    finally:
        if output:
            output.close()
    return done.returncode


def main() -> int:
    """Ask, check, change a byte, check again, show the page."""
    with tempfile.TemporaryDirectory(prefix="brimful-demo-") as place:
        folder = Path(place, "corpus")
        folder.mkdir()
        for part in PARTS:
            source, target = ROOT / part, folder / part
            if source.is_dir():
                shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
            else:
                shutil.copy2(source, target)
        return _play(folder)


def _play(folder: Path) -> int:
    budget = ("--budget", "600")
    head("\n1. A question over a folder: indexed on the fly, misspelling and all.\n")
    asked = brimful("context", QUESTION, ".", *budget, folder=folder)
    head("\n2. The same again, for a program: the text to a file, and a receipt.\n")
    text, receipt = folder.parent / "context.txt", "../receipt.json"
    again = brimful("context", QUESTION, ".", *budget, "--receipt", receipt, folder=folder, shown=text)
    head("\n3. The receipt, checked against the text and every cited file.\n")
    compare = ("verify", receipt, "--files", ".", "--text", "../context.txt")
    whole = brimful(*compare, folder=folder)
    cited = json.loads((folder / receipt).read_bytes())["windows"][0]
    head(f"\n4. One byte of {cited['path']} is changed, and found.\n")
    file = folder.parent / cited["path"]  # a printed name opens from the folder above
    changed = bytearray(file.read_bytes())
    changed[cited["start"] + 1] ^= 1
    file.write_bytes(changed)
    broken = brimful(*compare, folder=folder)
    head("\n5. What else there is: brimful --help, docs/cli.md. In Python: README.md. And the page:\n")
    served = _serve(folder)
    return 0 if (asked, again, whole, broken, served) == (0, 0, 0, 1, 0) else 1


def _serve(folder: Path) -> int:
    """Serve the page: on a terminal until Ctrl-C, elsewhere until it has answered once."""
    head("$ brimful serve . --port 0")
    command = [sys.executable, "-m", "brimful", "serve", ".", "--port", "0", "--json", "--quiet"]
    environment = {**os.environ, "BRIMFUL_CACHE": str(folder.parent / "cache")}
    with subprocess.Popen(command, cwd=folder, env=environment, stdout=subprocess.PIPE) as server:
        assert server.stdout is not None
        try:
            address = json.loads(server.stdout.readline())["listening"]
            with urllib.request.urlopen(address, timeout=60) as answer:
                found = answer.status == 200 and b"<title>" in answer.read()
            print(f"{address}{'   (Ctrl-C ends it)' if TTY and found else ''}", flush=True)
            if TTY and found:
                server.wait()
        except KeyboardInterrupt:
            print()
        finally:
            server.terminate()
    return 0 if found else 1


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
