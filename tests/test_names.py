"""Which names does the package have? Only those that somebody else asks for, and each once."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "src" / "brimful"
PLACES = ("src", "tests", "scripts", "benchmarks")
MODULES = sorted(PACKAGE.rglob("*.py"))
_SET = re.compile(r"\w\.([A-Z_]{2,})\b")  # a constant that a test sets: "brimful.store.sharding.SLICE_BYTES"


def defined(tree: ast.Module) -> Iterator[str]:
    """The names that a module gives a value by itself."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            yield node.target.id
        elif isinstance(node, ast.Assign):
            parts = [each for target in node.targets for each in getattr(target, "elts", [target])]
            yield from (each.id for each in parts if isinstance(each, ast.Name))


def mentioned(tree: ast.Module) -> Iterator[str]:
    """The names that a module may mean of another: imported, behind a dot, or in a table of names."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            yield from (each.name for each in node.names)
        elif isinstance(node, ast.Attribute):
            yield node.attr
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield from [node.value] if node.value.isidentifier() else _SET.findall(node.value)


@pytest.fixture(scope="module")
def users() -> dict[str, set[Path]]:
    """Who mentions each name: modules, tests, scripts, benchmarks, and what is written about the package."""
    found: dict[str, set[Path]] = defaultdict(set)
    for path in (*ROOT.glob("*.py"), *(each for place in PLACES for each in (ROOT / place).rglob("*.py"))):
        for name in mentioned(ast.parse(path.read_bytes())):
            found[name].add(path)
    for path in (
        *(ROOT / "docs").rglob("*.md"),
        ROOT / "docs/openapi.json",
        ROOT / "README.md",
        ROOT / "pyproject.toml",
    ):
        for name in re.findall(r"\w+", path.read_text(encoding="utf-8")):
            found[name].add(path)
    return found


def test_a_public_name_is_used_outside_of_its_module(users):
    """Whoever reads a module knows by its underscores which names nobody else asks for."""
    lonely = [
        f"{path.relative_to(PACKAGE)}: {name}"
        for path in MODULES
        for name in defined(ast.parse(path.read_bytes()))
        if not name.startswith("_") and not users[name] - {path}
    ]
    assert lonely == [], "used in their own module only: give them an underscore, or delete them"


def test_no_module_gives_a_name_twice():
    """A constant that a later line of the module overwrites says something else than it seems to."""
    again = []
    for path in MODULES:
        names = list(defined(ast.parse(path.read_bytes())))
        again += [
            f"{path.relative_to(PACKAGE)}: {name}" for name in sorted({each for each in names if names.count(each) > 1})
        ]
    assert again == []
