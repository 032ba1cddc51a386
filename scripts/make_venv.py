"""Build a virtual environment from a lock file, or say what is missing and how to get it."""

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


ORACLES = Path("requirements/oracles.lock")


def main(venv: Path, lock: Path) -> int:
    """Create `venv` if needed and install what `lock` pins, with hashes checked; a second call is free."""
    if sys.version_info < OLDEST:
        print(f"Brimful needs Python 3.11 or later, this is {sys.version.split()[0]}: make PYTHON=python3.11 …")
        return 1
    version = ".".join(map(str, sys.version_info[:2]))
    pinned = lock.read_bytes() + ORACLES.read_bytes() + Path("pyproject.toml").read_bytes()
    wanted = f"{version} {hashlib.sha256(pinned).hexdigest()}"
    stamp = venv / ".locked"
    found = stamp.read_text() if stamp.exists() else ""
    if found == wanted:
        return 0
    try:
        import ensurepip  # noqa: F401  (Debian ships venv without it; venv then fails half way)
        import venv as venv_module
    except ImportError as error:
        print(VENV_REMEDY.format(reason=error))
        return 1
    if not found.startswith(f"{version} "):
        print(f"Building {venv} with Python {version} (about half a minute) …", flush=True)
        venv_module.create(venv, with_pip=True, clear=True)
    pip = [str(venv / "bin" / "python"), "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
    for arguments in (
        # The lock is complete; resolving again would look at newer releases, for `sqlalchemy[asyncio]` for one.
        ["--require-hashes", "--no-deps", "-r", str(lock)],
        ["--require-hashes", "--no-deps", "-r", str(ORACLES)],
        ["--no-deps", "--no-build-isolation", "-e", "."],
    ):
        done = subprocess.run([*pip, *arguments], check=False)
        if done.returncode:
            print(f"pip could not install {' '.join(arguments)}; is the package index reachable?")
            return done.returncode
    stamp.write_text(wanted)
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), Path(sys.argv[2])))
