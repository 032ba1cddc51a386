"""Build a wheel for every platform with zig, and try this machine's: add a text, ask, verify."""

import os
import platform
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# Targets of zig's, and the platform tags of their wheels.
TARGETS = {
    "x86_64-linux-gnu.2.17": "manylinux_2_17_x86_64.manylinux2014_x86_64",
    "aarch64-linux-gnu.2.17": "manylinux_2_17_aarch64.manylinux2014_aarch64",
    "x86_64-linux-musl": "musllinux_1_2_x86_64",
    "aarch64-linux-musl": "musllinux_1_2_aarch64",
    "x86_64-macos.11.0": "macosx_11_0_x86_64",
    "aarch64-macos.11.0": "macosx_11_0_arm64",
    "x86_64-windows-gnu": "win_amd64",
    "aarch64-windows-gnu": "win_arm64",
}
LIBRARIES = {f"brimful/native/kernels{suffix}" for suffix in (".so", ".dylib", ".dll")}
TRY = """
import brimful
from pathlib import Path
from brimful import native
assert Path(native.__file__).is_relative_to({folder!r}), native.__file__
with brimful.open("try.db") as engine:
    engine.add_text("tea.md", "Tea is at four.")
    context = engine.context("When is tea?", budget=500)
    assert "four" in context.text
    assert engine.verify(context.receipt).verified
print("a context and a receipt that verifies, with", native.library())
"""


def main(folder: Path) -> int:
    """Build all, say how large each is, and try the one for this machine."""
    for target, tag in TARGETS.items():
        _build(folder, f"{target} {tag}")
        (wheel,) = folder.glob(f"*-py3-none-{tag}.whl")
        inside = zipfile.ZipFile(wheel).infolist()
        (library,) = (each.file_size for each in inside if each.filename in LIBRARIES)
        print(f"{wheel.name}: {wheel.stat().st_size:,} bytes, the kernels {library:,}", flush=True)
    machine = {"AMD64": "x86_64", "arm64": "aarch64"}.get(platform.machine(), platform.machine())
    system = {"Linux": "linux-gnu", "Darwin": "macos", "Windows": "windows"}[platform.system()]
    if system == "linux-gnu" and platform.libc_ver()[0] != "glibc":
        system = "linux-musl"
    own = next(tag for target, tag in TARGETS.items() if target.startswith(f"{machine}-{system}"))
    return _try(next(folder.glob(f"*-py3-none-{own}.whl")))


def _build(folder: Path, target: str) -> None:
    command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder)]
    subprocess.run(command, cwd=ROOT, env={**os.environ, "BRIMFUL_WHEEL_TARGET": target}, check=True)


def _try(wheel: Path) -> int:
    with tempfile.TemporaryDirectory() as folder:
        pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "--quiet", "--no-deps"]
        subprocess.run([*pip, "--target", folder, str(wheel)], check=True)
        paths = os.pathsep.join(filter(None, (folder, os.environ.get("PYTHONPATH"))))
        environment = {**os.environ, "PYTHONPATH": paths, "BRIMFUL_EMBEDDER": "none"}
        program = [sys.executable, "-c", TRY.format(folder=folder)]
        return subprocess.run(program, cwd=folder, env=environment, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]) if sys.argv[1:] else ROOT / "dist"))
