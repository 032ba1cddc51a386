"""A plain installation runs what the README shows, and a hint names a command that works where the program runs."""

import ast
import json
import re
import subprocess
import sys
import tomllib
from importlib.metadata import PackageNotFoundError, packages_distributions, requires
from pathlib import Path
from types import SimpleNamespace

import pytest

from brimful import errors
from brimful.errors import install

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
PACKAGE = ROOT / "src" / "brimful"
PLAIN = {
    "the page": [*(PACKAGE / "surfaces" / "http").glob("*.py"), PACKAGE / "surfaces" / "server.py"],
    "MCP": (PACKAGE / "surfaces" / "mcp").glob("*.py"),
    "PDF": [PACKAGE / "documents" / "loaders" / "office.py"],
    "following changes": [PACKAGE / "ingest" / "watching.py", PACKAGE / "surfaces" / "cli" / "serving.py"],
    "the command line": (PACKAGE / "surfaces" / "cli").glob("*.py"),
    "the store": (PACKAGE / "store").glob("*.py"),
}
OPTIONAL = {"compression", "posix_ipc", "uvloop"}  # taken where they are there
IN_OFFICE = {"mammoth", "openpyxl", "pptx"}  # what reads Office files stands in the module that reads PDF


def plain(name):
    """A package's name as the index compares it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def needed(wanted):
    """The names of packages that some requirements ask for, without extras."""
    return {plain(re.match(r"[A-Za-z0-9._-]+", each)[0]) for each in wanted if "extra ==" not in each}


def installed_by(wanted):
    """All that an installation of some requirements brings, by what is installed here."""
    found, left = set(), needed(wanted)
    while left:
        name = left.pop()
        if name not in found:
            found.add(name)
            try:
                left |= needed(requires(name) or ())
            except PackageNotFoundError:  # asked for on other systems only
                continue
    return found


def imported(file):
    """The names of the packages that a module imports, anywhere in it."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (each.name.partition(".")[0] for each in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield node.module.partition(".")[0]


@pytest.mark.parametrize("what", PLAIN)
def test_a_plain_installation_has_it(what):
    """What the page, MCP, PDF, watching and the rest of them import comes with the plain dependencies."""
    brought, of = installed_by(PROJECT["dependencies"]), packages_distributions()
    names = {name for file in PLAIN[what] for name in imported(file)} - (IN_OFFICE if what == "PDF" else set())
    foreign = {name for name in names - OPTIONAL if name != "brimful" and name not in sys.stdlib_module_names}
    missing = {name for name in foreign if not {plain(each) for each in of.get(name, ())} & brought}
    assert missing == set()
    assert foreign or what == "the command line"


@pytest.fixture
def _from_an_index(monkeypatch):
    """An installation that remembers no folder."""
    monkeypatch.setattr(errors.metadata, "distribution", lambda _: SimpleNamespace(read_text=lambda _: None))


def test_all_has_every_extra():
    """`brimful[all]` names every extra but those of developers, and no extra is left for what is always there."""
    extras = PROJECT["optional-dependencies"]
    (everything,) = extras["all"]
    named = set(re.search(r"\[(.*)\]", everything)[1].split(","))
    assert named == extras.keys() - {"all", "test", "bench"}
    assert not {"pdf", "watch", "http", "mcp"} & extras.keys()


@pytest.mark.parametrize(
    ("prefix", "extra", "package"),
    [
        ("/home/ada/.local/share/pipx/venvs/brimful", "pipx install --force", "pipx inject brimful"),
        (
            "/home/ada/.local/share/uv/tools/brimful",
            "uv tool install --force",
            "uv tool install --force 'brimful' --with",
        ),
    ],
)
@pytest.mark.usefixtures("_from_an_index")
def test_a_program_in_an_environment_of_its_own_is_changed_by_who_made_it(monkeypatch, prefix, extra, package):
    """Pipx and uv know their environments; pip would not reach into them, or not be there."""
    monkeypatch.setattr(sys, "prefix", prefix)
    assert install("office") == f"{extra} 'brimful[office]'"
    assert install(package="splintr-rs") == f"{package} 'splintr-rs'"


@pytest.mark.usefixtures("_from_an_index")
def test_anywhere_else_it_is_this_interpreters_pip(monkeypatch):
    """A hint works whatever `pip` of the path is: it names the interpreter; quoted where its path has a blank."""
    monkeypatch.setattr("importlib.machinery.PathFinder.find_spec", lambda _: True)
    assert install("office") == f"{sys.executable} -m pip install 'brimful[office]'"
    monkeypatch.setattr(sys, "executable", "/my programs/python")
    assert install() == "\"/my programs/python\" -m pip install 'brimful'"
    monkeypatch.setattr("importlib.machinery.PathFinder.find_spec", lambda _: None)
    assert install() == "uv pip install --python \"/my programs/python\" 'brimful'"


@pytest.mark.parametrize(
    ("origin", "named"),
    [
        ({"url": "file:///my%20code/brimful", "dir_info": {}}, "'/my code/brimful[office]'"),
        ({"url": "file:///brimful", "dir_info": {"editable": True}}, "-e '/brimful[office]'"),
        ({"url": "file:///tmp/brimful-0.1.0-py3-none-any.whl", "archive_info": {}}, "any.whl[office]'"),
        (
            {"url": "https://example.org/brimful", "vcs_info": {"vcs": "git", "commit_id": "c0ffee"}},
            "'brimful[office] @ git+https://example.org/brimful@c0ffee'",
        ),
    ],
)
def test_a_hint_names_where_the_program_came_from(monkeypatch, origin, named):
    """A folder, a file or a repository, as PEP 610 keeps it: an index need not have the package."""
    installed = SimpleNamespace(read_text=lambda _: json.dumps(origin))
    monkeypatch.setattr(errors.metadata, "distribution", lambda _: installed)
    assert install("office").endswith(named)


def test_the_hint_can_be_run():
    """What is printed is a command that a shell takes as it stands: pip says that it would install nothing it lacks."""
    pytest.importorskip("pip")
    command = install(package="pip").replace("install", "install --dry-run --no-index --no-deps", 1)
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
