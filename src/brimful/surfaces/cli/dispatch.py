"""What runs a command? Its module is imported when it is needed, and not before."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

_MODULE_OF = {
    "add": "commands",
    "capture": "digests",
    "captures": "digests",
    "cite": "citing",
    "completion": "completing",
    "config": "configuring",
    "context": "commands",
    "copy": "moving",
    "densify": "digests",
    "doctor": "examining",
    "eval": "evaluating",
    "explain": "receipts",
    "get": "looking",
    "ls": "looking",
    "map": "looking",
    "mcp": "serving",
    "postgres": "moving",
    "purge": "commands",
    "remove": "commands",
    "search": "commands",
    "serve": "serving",
    "status": "commands",
    "stores": "keeping",
    "verify": "receipts",
    "warm": "keeping",
    "watch": "following",
}


_LISTS = ("paths", "allow", "exclude", "include", "hosts", "models", "path", "not_path", "kind", "phrase", "without")
_HOW = (
    *("path", "not_path", "kind", "after", "before", "phrase", "without"),
    *("operators", "repair", "priors", "anyway", "meaning"),
)
"""How a question is read and what may answer it: handed on together, as fields of the settings."""


def run(command: str, values: Mapping[str, Any]) -> int:
    """Call what a command stands for with the values of its arguments and options; returns the exit code."""
    module = import_module(f"brimful.surfaces.cli.{_MODULE_OF[command]}")
    if not gc.isenabled():
        gc.freeze()  # what was read stays to the end, and is not looked at again
        gc.enable()
    work: Callable[..., int] = getattr(module, "evaluate" if command == "eval" else command)
    if values.get("embedder", "auto") != "auto":
        os.environ["BRIMFUL_EMBEDDER"] = values["embedder"]  # for every store that this command opens
    given = {
        name: () if value is None and name in _LISTS else value for name, value in values.items() if name != "embedder"
    }
    if "repair" in given:
        given["how"] = {name: given.pop(name) for name in _HOW if name in given}
    return work(**given)
