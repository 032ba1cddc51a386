"""Build a virtual environment from lock files, or say what is missing and how to get it.

    python scripts/make_venv.py .venv requirements/test.lock requirements/oracles.lock .

A point at the end stands for this package, which is installed from its sources.
"""

import hashlib
import subprocess
import sys
from pathlib import Path

OLDEST = (3, 11)
VENV_REMEDY = (
    "This Python has no working venv module ({reason}).\n"
    "On Debian or Ubuntu: apt-get install python3-venv; elsewhere install a full Python 3.11 or later,\n"
    "or name another one: make PYTHON=/path/to/python3 …"
)


def main(venv: Path, *wanted: str) -> int:
    """Create the environment if needed and install what is wanted, with hashes checked; a second call is free."""
    if sys.version_info < OLDEST:
        print(f"Brimful needs Python 3.11 or later, this is {sys.version.split()[0]}: make PYTHON=python3.11 …")
        return 1
    version = ".".join(map(str, sys.version_info[:2]))
    files = [Path("pyproject.toml" if name == "." else name) for name in wanted]
    state = f"{version} {hashlib.sha256(b''.join(file.read_bytes() for file in files)).hexdigest()}"
    stamp = venv / ".locked"
    installed = stamp.read_text() if stamp.exists() else ""
    if installed == state:
        return 0
    try:
        import ensurepip  # noqa: F401  (Debian ships venv without it; venv then fails half way)
        import venv as venv_module
    except ImportError as error:
        print(VENV_REMEDY.format(reason=error))
        return 1
    if not installed.startswith(f"{version} "):
        print(f"Building {venv} with Python {version} …", flush=True)
        venv_module.create(venv, with_pip=True, clear=True)
    # Errors only: warnings are about places of the machine's own configuration.
    pip = [str(venv / "bin" / "python"), "-m", "pip", "--disable-pip-version-check", "install", "-qq"]
    has_builder = any("hatchling==" in file.read_text("utf-8") for file in files)
    for name in wanted:
        if name == ".":
            arguments = ["--no-deps", *(["--no-build-isolation"] if has_builder else []), "-e", "."]
        else:
            # The lock is complete; resolving again would look at newer releases, for `sqlalchemy[asyncio]` for one.
            arguments = ["--require-hashes", "--no-deps", "-r", name]
        done = subprocess.run([*pip, *arguments], check=False)
        if done.returncode:
            print(f"pip could not install {' '.join(arguments)}; is the package index reachable?")
            return done.returncode
    stamp.write_text(state)
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), *sys.argv[2:]))
