"""Compile the kernels with sanitizers and compare them with their oracles on much generated input.

A copy of the source gets a library with AddressSanitizer and UndefinedBehaviorSanitizer in place of the usual one, and
`tests/kernels` runs on it: an access outside of what the caller gave, or behaviour that C leaves open, ends the run.
Memory comes from `malloc`, so that also the bytes behind a Python object are watched.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FLAGS = ["-O1", "-g", "-fno-omit-frame-pointer", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]


def main() -> int:
    """Build, then run the tests that compare kernels with NumPy."""
    options = argparse.ArgumentParser(description="Fuzz the kernels under sanitizers.")
    options.add_argument("--examples", type=int, default=2_000, help="inputs for each comparison (2000)")
    options.add_argument("--seed", type=int, default=1, help="of what is generated (1)")
    given = options.parse_args()
    compiler = shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        print("The sanitizers come with gcc or clang: install one. (zig has no AddressSanitizer.)")
        return 1
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "src")
        shutil.copytree(ROOT / "src", source, ignore=shutil.ignore_patterns("built", "__pycache__"))
        shutil.copy(ROOT / "pyproject.toml", folder)
        environment = {**os.environ, "PYTHONPATH": str(source), "CC": compiler}
        build = (
            "from brimful.kernels import building; "
            f"building.build(building.beside_source(), flags={FLAGS!r}); print(building.beside_source())"
        )
        subprocess.run([sys.executable, "-c", build], env=environment, check=True)
        environment |= {
            "LD_PRELOAD": _runtime(compiler),
            "ASAN_OPTIONS": "detect_leaks=0",  # the interpreter's own
            "PYTHONMALLOC": "malloc",
            "BRIMFUL_EXAMPLES": str(given.examples),
        }
        tests = sorted(str(path) for path in (ROOT / "tests/kernels").glob("test_*.py") if "building" not in path.name)
        # Not captured: a sanitizer ends the process, and what pytest holds back then is lost with it.
        pytest = [sys.executable, "-m", "pytest", "-q", "-s", "-x", "-n", "0"]
        command = [*pytest, f"--hypothesis-seed={given.seed}", *tests]
        return subprocess.run(command, env=environment, cwd=ROOT, check=False).returncode


def _runtime(compiler: str) -> str:
    """The sanitizer's own library, which must be loaded before everything else."""
    for name in ("libasan.so", "libclang_rt.asan-x86_64.so", "libclang_rt.asan.so"):
        found = subprocess.run([compiler, f"-print-file-name={name}"], capture_output=True, text=True, check=True)
        path = found.stdout.strip()
        if Path(path).is_absolute():
            return str(Path(path).resolve())
    return ""


if __name__ == "__main__":
    sys.exit(main())
