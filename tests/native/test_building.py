"""The kernels are built from the source at hand, or the reader is told what to do."""

import ast
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from brimful import native
from brimful.errors import KernelsError
from brimful.native import building

ROOT = Path(__file__).parent.parent.parent
ASK = "from brimful.native import columns; import numpy; print(columns.pack_numbers(numpy.array([300])).hex())"


@pytest.fixture
def checkout(tmp_path):
    """A source tree of its own, without a built library."""
    for name in ("pyproject.toml", "README.md", "LICENSE", "hatch_build.py"):
        shutil.copy(ROOT / name, tmp_path / name)
    ignored = shutil.ignore_patterns("built", "__pycache__")
    shutil.copytree(ROOT / "src/brimful/native", tmp_path / "src/brimful/native", ignore=ignored)
    for name in ("errors.py",):
        shutil.copy(ROOT / "src" / "brimful" / name, tmp_path / "src" / "brimful" / name)
    (tmp_path / "src" / "brimful" / "__init__.py").touch()
    return tmp_path


def asked(checkout, **environment):
    """What a new process says that uses a kernel of that tree."""
    given = {**os.environ, "PYTHONPATH": str(checkout / "src"), **environment}
    return subprocess.run([sys.executable, "-c", ASK], env=given, capture_output=True, text=True, check=False)


def test_a_checkout_builds_what_it_needs_and_again_when_the_source_changes(checkout):
    """A first use compiles, a second one doesn't, and a changed kernel is a new library."""
    assert asked(checkout).stdout == "ac02\n"
    first = {path.stem for path in (checkout / "src/brimful/native/built").iterdir()}
    assert asked(checkout, PATH="").stdout == "ac02\n"
    source = checkout / "src/brimful/native/columns.c"
    source.write_text(source.read_text().replace("(uint8_t)(value | 0x80)", "(uint8_t)(value | 0x81)"))
    assert asked(checkout).stdout == "ad02\n"
    second = {path.stem for path in (checkout / "src/brimful/native/built").iterdir()}
    assert len(first) == len(second) == 1  # what the old source left is gone
    assert second != first


def test_source_that_does_not_compile_is_an_error_with_the_remedy(checkout):
    """Nothing runs slowly in place of a kernel: the compiler's own words are shown."""
    source = checkout / "src/brimful/native/columns.c"
    source.write_text(source.read_text() + "\nnot C at all\n")
    said = asked(checkout).stderr
    assert "KernelsError: the kernels could not be compiled" in said
    assert "not C at all" in said


def test_no_compiler_is_an_error_with_the_remedy(tmp_path, monkeypatch):
    """A machine without a compiler and without ziglang is told which package has one."""
    monkeypatch.setattr(building, "compilers", list)
    with pytest.raises(OSError, match="pip install 'ziglang"):
        building.build(tmp_path / "kernels.so")


@pytest.mark.parametrize("target", ["x86_64-macos.11.0", "aarch64-macos.11.0", "x86_64-windows-gnu"])
def test_other_systems_can_compile_every_kernel(target, tmp_path):
    """No name in the kernels is one that the headers of macOS or Windows have taken, and nobody is warned."""
    flags = ["-std=c11", "-O0", "-Wall", "-Wextra", "-Werror", '-DBRIMFUL_SOURCE="any"']
    command = [sys.executable, "-m", "ziglang", "cc", "-target", target, *flags, "-c", "-o", str(tmp_path / "made.o")]
    said = {
        source.name: subprocess.run([*command, str(source)], capture_output=True, text=True, check=False).stderr
        for source in sorted(building.FOLDER.glob("*.c"))
    }
    assert said == dict.fromkeys(said, "")
    assert len(said) > 1


def test_a_library_of_other_source_is_refused(tmp_path, monkeypatch):
    """The hash that a library carries must be that of the source beside it."""
    path = tmp_path / f"kernels{building.suffix_for()}"
    building.build(path)
    assert native.opened(path)
    monkeypatch.setattr(building, "digest", lambda: "0" * 64)
    with pytest.raises(KernelsError, match=r"built from other source .* install brimful again"):
        native.opened(path)


def test_what_is_no_library_is_refused(tmp_path):
    """A file that is missing or damaged is a typed error with a stable code."""
    (tmp_path / "kernels.so").write_bytes(b"damaged")
    for path in (tmp_path / "kernels.so", tmp_path / "missing.so"):
        with pytest.raises(KernelsError, match="install brimful again") as caught:
            native.opened(path)
        assert caught.value.code == "missing.kernels"


def test_a_wheel_carries_the_library_for_every_python_of_its_platform(checkout):
    """`py3-none-<platform>`, with a library that loads."""
    command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", "dist"]
    subprocess.run(command, cwd=checkout, check=True, capture_output=True)
    (wheel,) = (checkout / "dist").iterdir()
    assert "-py3-none-" in wheel.name
    assert not wheel.name.endswith("-any.whl")
    installed = checkout / "installed"
    zipfile.ZipFile(wheel).extractall(installed)
    assert (installed / "brimful/native" / building.shipped().name).is_file()
    assert not (installed / "brimful/native/built").exists()
    given = {**os.environ, "PYTHONPATH": str(installed), "PATH": ""}
    done = subprocess.run([sys.executable, "-c", ASK], env=given, capture_output=True, text=True, check=False)
    assert done.stdout == "ac02\n", done.stderr
    (installed / "brimful/native" / building.shipped().name).unlink()
    done = subprocess.run([sys.executable, "-c", ASK], env=given, capture_output=True, text=True, check=False)
    assert "KernelsError: the compiled kernels can't be loaded" in done.stderr


def test_the_build_of_a_wheel_finds_what_it_asks_for():
    """Every name that `hatch_build.py` uses of this module is there: it runs where the package can't be imported."""
    tree = ast.parse((ROOT / "hatch_build.py").read_text(encoding="utf-8"))
    asked = {
        node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "building"
    }
    assert "ZIG" in asked
    assert [name for name in sorted(asked) if not hasattr(building, name)] == []
