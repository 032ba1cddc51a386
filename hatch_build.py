"""Build the kernels into a wheel: hatchling runs this."""

from __future__ import annotations

import importlib.util
import os
import platform
import sysconfig
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


def _building() -> Any:
    """The package's own module that builds; the package itself can't be imported yet."""
    path = Path(__file__).parent / "src" / "brimful" / "native" / "building.py"
    spec = importlib.util.spec_from_file_location("building", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class KernelsHook(BuildHookInterface[Any]):
    """One wheel a platform, whatever the version of Python: the library does not know Python."""

    def dependencies(self) -> list[str]:
        """cffi, and a compiler from the package index where the machine has none."""
        building = _building()
        return [building.CFFI] if building.compilers() else [building.CFFI, building.ZIG]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile, and put the library into the wheel; an editable install has it beside the source.

        `BRIMFUL_WHEEL_TARGET` names a target of zig's and a platform tag, for wheels of other machines.
        """
        building = _building()
        if version == "editable":
            building.build(building.beside_source())
            return
        target, _, tag = os.environ.get("BRIMFUL_WHEEL_TARGET", "").partition(" ")
        folder = Path(tempfile.mkdtemp(prefix="brimful-kernels-"))
        library = folder / f"kernels{building.suffix_for(target or None)}"
        building.build(library, target=target or None)
        for path in (library, building.declarations_beside(library)):
            build_data["force_include"][str(path)] = f"brimful/native/{path.name}"
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{tag or _own_tag()}"


def _own_tag() -> str:
    """The tag of this machine; a Python for two processors builds for the one that it runs on."""
    found = sysconfig.get_platform().replace("universal2", platform.machine())
    return found.replace("-", "_").replace(".", "_")
