"""Which names does the package have, and which way does a question take through it?"""

import ast
import importlib.util
import re
import tomllib
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

import brimful
from tests import house

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "src" / "brimful"
PLACES = ("src", "tests", "scripts", "benchmarks")
MODULES = sorted(PACKAGE.rglob("*.py"))
_SET = re.compile(r"\w\.([A-Z_]{2,})\b")  # a constant that a test sets: "brimful.store.writing.SEGMENT_BYTES"


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


@pytest.fixture(scope="module")
def figures():
    """What this state has of each thing that house.toml bounds."""
    return house.figures()


def test_nothing_of_the_project_outgrows_its_bound(figures):
    """What the project has of each thing is at most what house.toml says; delete something before more is added."""
    limits = house.bounds()
    assert figures.keys() == limits.keys()
    assert {name: f"{n}, at most {limits[name]}" for name, n in figures.items() if n > limits[name]} == {}


def test_bounds_only_fall(figures):
    """A bound is no more than a hundredth above its figure, so what was deleted does not come back."""
    limits = house.bounds()
    loose = {name: f"lower it to {n}" for name, n in figures.items() if limits[name] - n > n // 100}
    assert loose == {}, f"run `{house.LOWER}`"


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


def test_the_way_of_a_question_never_turns_round(tmp_path):
    """No package calls one above it, by a callback or a generator neither: the layers hold when the program runs."""
    spec = importlib.util.spec_from_file_location("walk", ROOT / "scripts" / "walk.py")
    walk = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(walk)
    contract = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]["contracts"][0]
    layers = [each.removeprefix("brimful.") for each in reversed(contract["layers"])]
    with brimful.open(tmp_path / "store.db") as engine:
        engine.add_text("tea.md", "# Tea\n\nTea is served at four. The kettle sings.\n\n" * 40)
        engine.add_text("pot.py", "def pour(cup):\n    # Pour tea.\n    return cup.fill('tea')\n\n\n" * 9)
        engine.add_text("cups.csv", "cup,tea\n" + "".join(f"{n},green tea\n" for n in range(99)))
    _, calls = walk.walk(str(tmp_path / "store.db"), 'who pours "tea" at foor?', before="kettle", budget=400)
    assert calls.total() > 100
    up = [call for call in calls if _rank(call[0], layers) < _rank(call[2], layers)]
    assert up == []


def _rank(module, layers):
    """How high a module of the package stands; what no layer names is below all."""
    package = module.partition("/")[0].removesuffix(".py")
    return layers.index(package) if package in layers else -1
