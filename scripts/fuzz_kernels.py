"""Compile the kernels with sanitizers and compare them with their oracles on much generated input.

A copy of the source gets a library with AddressSanitizer in place of the usual one, and `tests/native` runs on it: an
access outside of what the caller gave ends the run. Memory comes from `malloc`, so that also the bytes behind a Python
object are watched. Input is Hypothesis's own, by chance and with UndefinedBehaviorSanitizer too; or, with `--guided`,
atheris looks for bytes that reach lines of the kernels which no earlier ones reached, so many seconds a comparison.
`--tests` runs other tests on that library: those of stores whose numbers lie.
"""

import argparse
import inspect
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TESTS = ROOT / "tests" / "native"
FLAGS = ["-O1", "-g", "-fno-omit-frame-pointer", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
GUIDED = ["-O1", "-g", "-fsanitize=address", "-fsanitize-coverage=inline-8bit-counters,pc-table,trace-cmp"]
LONGEST = 8_192  # bytes that Hypothesis makes one input of
_REACHED = re.compile(r"DONE +cov: (\d+)")
_RUNS = re.compile(r"Done (\d+) runs")


def main() -> int:
    """Build, then run the tests that compare kernels with NumPy."""
    options = argparse.ArgumentParser(description="Fuzz the kernels under sanitizers.")
    options.add_argument("--examples", type=int, default=2_000, help="inputs for each comparison (2000)")
    options.add_argument("--guided", type=int, metavar="SECONDS", help="atheris looks for input, so long for each")
    options.add_argument("--only", default="", help="comparisons whose name has this, with --guided")
    options.add_argument("--seed", type=int, default=1, help="of what is generated (1)")
    options.add_argument("--tests", nargs="+", metavar="PATH", help="other tests than those in tests/native")
    options.add_argument("--one", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    given = options.parse_args()
    if given.one:
        return _fuzz(*given.one)
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "src")
        shutil.copytree(ROOT / "src", source, ignore=shutil.ignore_patterns("built", "__pycache__"))
        shutil.copy(ROOT / "pyproject.toml", folder)
        environment = {
            **os.environ,
            "PYTHONPATH": f"{source}{os.pathsep}{ROOT}",
            "ASAN_OPTIONS": "detect_leaks=0",  # the interpreter's own
            "PYTHONMALLOC": "malloc",
        }
        if given.guided:
            return _guided(environment, seconds=given.guided, seed=given.seed, only=given.only)
        tests = given.tests or sorted(str(path) for path in TESTS.glob("test_*.py") if "building" not in path.name)
        return _by_chance(environment, tests, examples=given.examples, seed=given.seed)


def _by_chance(environment: dict[str, str], tests: list[str], *, examples: int, seed: int) -> int:
    """The tests as they are, with Hypothesis's own inputs."""
    compiler = shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        print("The sanitizers come with gcc or clang: install one. (zig has no runtime for them.)")
        return 1
    _build({**environment, "CC": compiler}, FLAGS)
    environment = {**environment, "LD_PRELOAD": _runtime(compiler), "BRIMFUL_EXAMPLES": str(examples)}
    # Not captured: a sanitizer ends the process, and what pytest holds back then is lost with it.
    pytest = [sys.executable, "-m", "pytest", "-q", "-s", "-x", "-n", "0"]
    command = [*pytest, f"--hypothesis-seed={seed}", *tests]
    return subprocess.run(command, env=environment, cwd=ROOT, check=False).returncode


def _guided(environment: dict[str, str], *, seconds: int, seed: int, only: str) -> int:
    """Inputs that reach something new, by atheris, whose package has the runtime; zig compiles for it."""
    if (platform.system(), platform.machine()) != ("Linux", "x86_64"):
        print("atheris comes with its runtime for Linux on x86-64 only: run this there.")
        return 1
    lock = str(ROOT / "requirements/fuzz.lock")
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--require-hashes", "--no-deps", "-r", lock]
    subprocess.run(pip, check=True)
    import atheris

    _build({**environment, "CC": f"{sys.executable} -m ziglang cc"}, GUIDED)
    environment = {**environment, "LD_PRELOAD": str(Path(atheris.path(), "asan_with_fuzzer.so"))}
    found = Path(tempfile.gettempdir(), "brimful-fuzz-kernels")
    found.mkdir(exist_ok=True)
    failed = 0
    for module, name in _comparisons():
        if only not in name:
            continue
        limits = [f"-max_total_time={seconds}", f"-max_len={LONGEST}", f"-seed={seed}", "-timeout=60"]
        # Long input from the start: an example of Hypothesis's takes many bytes.
        limits += ["-len_control=0", "-rss_limit_mb=6144", f"-artifact_prefix={found}/{module}.{name}."]
        command = [sys.executable, __file__, "--one", module, name, *limits]
        done = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, check=False)
        said = done.stdout + done.stderr
        runs, reached = _RUNS.search(said), _REACHED.search(said)
        if done.returncode or runs is None:
            failed += 1
            at = max(said.find("ERROR: "), said.find("=== Uncaught Python exception"), 0)
            print(f"FAILED {module}.{name}\n{said[at : at + 4_000]}", flush=True)
        else:
            places = f"reach {reached[1]} places" if reached else "made no example: give it longer"
            print(f"{module}.{name}: {int(runs[1]):,} inputs {places}", flush=True)
    print(f"{failed} failed" + (f"; their inputs are in {found}" if failed else ""))
    return 1 if failed else 0


def _comparisons() -> Iterator[tuple[str, str]]:
    """The tests that Hypothesis makes input for, but those that want something else too."""
    sys.path.insert(0, str(ROOT))
    for path in sorted(TESTS.glob("test_*.py")):
        for name, test in vars(import_module(f"tests.native.{path.stem}")).items():
            if not name.startswith("test_") or not hasattr(test, "hypothesis"):
                continue
            if inspect.signature(test).parameters:
                print(f"{path.stem}.{name}: not guided, since it has parameters")
            else:
                yield path.stem, name


def _fuzz(module: str, name: str, *limits: str) -> int:
    """One comparison, in a process that was started for it."""
    import atheris

    with atheris.instrument_imports(include=["tests.native"]):
        test = getattr(import_module(f"tests.native.{module}"), name)
    take: Callable[[bytes], bytes | None] = test.hypothesis.fuzz_one_input

    def compared(data: bytes) -> None:
        take(data)

    atheris.Setup([name, *limits], compared)
    atheris.Fuzz()
    return 0


def _build(environment: dict[str, str], flags: list[str]) -> None:
    """The library of the copy that the environment's path names."""
    build = (
        "from brimful.native import building; "
        f"building.build(building.beside_source(), flags={flags!r}); print(building.beside_source())"
    )
    subprocess.run([sys.executable, "-c", build], env=environment, check=True)


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
