"""How do the kernels become a library?

By the machine's C compiler, or by `ziglang` from the package index where there is none. Only the standard library and
cffi are needed here: the build of a wheel reads this file before the package can be imported.
"""

from __future__ import annotations

import contextlib
import os
import sys
import zlib
from collections.abc import Sequence
from functools import cache
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
ZIG = "ziglang>=0.14"
"""What to install where no compiler is."""
CFFI = "cffi>=1.17"
"""What reads `kernels.h`."""

_COMPILERS = ("cc", "gcc", "clang")
_FLAGS = (
    "-std=c11",
    "-O3",
    "-shared",
    "-fvisibility=hidden",
    "-Wall",
    "-Wextra",
    "-ffp-contract=off",
    "-fno-math-errno",
)
"""Sums of floats are rounded as written, on every processor; a root is an instruction, no call of another library."""
_SUFFIXES = {"win32": ".dll", "cygwin": ".dll", "darwin": ".dylib"}


@cache
def digest() -> str:
    """A checksum of the kernels' source, which every start works out: to load a better hash takes 3 ms."""
    source = b"".join(
        path.name.encode() + b"\0" + path.read_bytes().replace(b"\r\n", b"\n") + b"\0"
        for path in sorted([*FOLDER.glob("*.c"), *FOLDER.glob("*.h")])
    )
    return f"{zlib.crc32(source):08x}{zlib.adler32(source):08x}{len(source):08x}"


def suffix_for(target: str | None = None) -> str:
    """How the name of a library ends, on this machine or on a target of zig's (`aarch64-macos`)."""
    if target is None:
        return _SUFFIXES.get(sys.platform, ".so")
    return ".dll" if "windows" in target else ".dylib" if "macos" in target else ".so"


def shipped() -> Path:
    """The path of the library in a wheel."""
    return FOLDER / f"kernels{suffix_for()}"


def beside_source() -> Path:
    """The path of the library of a checkout, named by a hash of its source."""
    import sysconfig  # what only building needs is imported here and below: every start loads this module

    return FOLDER / "built" / f"{sysconfig.get_platform()}-{digest()}{suffix_for()}"


def declarations_beside(library: Path) -> Path:
    """The path of what cffi made of `kernels.h` for a library: to read C at each start takes it 0.06 s."""
    return library.with_suffix(".cffi")


def remove_older(library: Path) -> None:
    """Remove the libraries of earlier source from a checkout.

    Other processes may have such a library open, or remove it too: what can't be removed stays until the next time.
    """
    platform = library.name.rpartition("-")[0]
    for path in library.parent.glob(f"{platform}-*"):
        if path.stem != library.stem:
            with contextlib.suppress(OSError):
                path.unlink()


def is_checkout() -> bool:
    """Whether this is a source tree, where a library may be built when it is needed."""
    return FOLDER.parent.parent.name == "src" and (FOLDER.parent.parent.parent / "pyproject.toml").is_file()


def compilers() -> list[list[str]]:
    """The commands that may compile C here, the best first."""
    import importlib.util
    import shlex
    import shutil

    named = shlex.split(os.environ.get("CC", ""))
    commands = [named] if named and shutil.which(named[0]) else []
    commands += [[path] for name in _COMPILERS if (path := shutil.which(name))]
    return commands + ([_zig()] if importlib.util.find_spec("ziglang") else [])


def _zig() -> list[str]:
    return [sys.executable, "-m", "ziglang", "cc"]


def build(library: Path, *, target: str | None = None, flags: Sequence[str] = ()) -> None:
    """Compile the kernels, for a target of zig's where one is named; raises an OSError that says what failed."""
    import shlex

    commands = compilers() if target is None else [[*_zig(), "-target", target]]
    if not commands:
        raise OSError(f"there is no C compiler (cc, gcc, clang, $CC); install one, or: pip install '{ZIG}'")
    library.parent.mkdir(parents=True, exist_ok=True)
    problems = []
    for command in commands:
        problem = _compiled(command, library, flags, is_windows=suffix_for(target) == ".dll")
        if problem is None:
            return
        problems.append(f"{shlex.join(command)}: {problem}")
    raise OSError(f"the kernels could not be compiled; {'; '.join(problems)}; install another compiler, or {ZIG}")


def _compiled(command: Sequence[str], library: Path, flags: Sequence[str], *, is_windows: bool) -> str | None:
    """Compile and replace the library in one step; return what went wrong."""
    import subprocess
    import tempfile

    sources = sorted(map(str, FOLDER.glob("*.c")))
    position = () if is_windows else ("-fPIC",)
    with tempfile.TemporaryDirectory(dir=library.parent, prefix=".") as folder:
        fresh = Path(folder, library.name)
        line = [*command, *_FLAGS, *position, f'-DBRIMFUL_SOURCE="{digest()}"', *flags, "-o", str(fresh), *sources]
        try:
            compiler = subprocess.run(line, capture_output=True, text=True, check=False)  # noqa: S603 - a compiler
        except OSError as error:
            return f"{error}"
        if compiler.returncode or not fresh.is_file():
            return (compiler.stderr.strip() or f"exit code {compiler.returncode}")[:500]
        declarations = declarations_beside(fresh)
        _declare(declarations)
        os.replace(declarations, declarations_beside(library))  # noqa: PTH105 - over what another process put there
        os.replace(fresh, library)  # noqa: PTH105
    return None


def _declare(path: Path) -> None:
    """Write the types of `kernels.h` as cffi loads them."""
    from cffi import FFI, recompiler

    ffi = FFI()
    ffi.set_source("kernels", None)
    ffi.cdef((FOLDER / "kernels.h").read_text())
    recompiler.make_py_source(ffi, "kernels", str(path))
