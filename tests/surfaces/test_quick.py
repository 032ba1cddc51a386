"""A plain line is read the same without the parser."""

import json
from pathlib import Path

import pytest

from brimful.surfaces.cli import configuration, dispatch, quick
from brimful.surfaces.cli import dispatch as failing

LINES = [
    ["context", "tea"],
    ["context", "tea", "a", "b", "-b", "50", "--format=xml", "--json", "-q"],
    ["context", "--budget=7", "--", "-tea", "--json"],
    ["context", "-", "--store", "x.db", "--receipt", "r.json", "--densify", "extractive:"],
    ["search", "tea", "-n", "3"],
    ["context", "tea", "--path", "a", "--path=b", "--as-typed", "--no-priors", "--anyway", "--operators"],
    ["search", "tea", "--no-operators", "--kind", "code", "--after", "2024", "--phrase", "a b", "--without", "c"],
    ["explain", "tea", "--not-path", "x", "--before", "2025", "--repair", "--priors", "--not-anyway"],
    ["add", "--allow", "hidden", "--allow", "binary", "."],
    ["add"],
    ["remove", "a", "b", "--dry-run"],
    ["densify"],
    ["densify", "notes.md", "-t", "9", "-m", "extractive:"],
    ["eval", "--make", "set", "--path", "a", "--path", "b", "--limit", "2"],
    ["config", "set", "budget", "900"],
    ["purge", "--all", "-y"],
    ["mcp", "--transport", "http", "-p", "0"],
]
STRANGE = [
    [],
    ["contxt"],
    ["context"],
    ["context", "tea", "--bugdet", "5"],
    ["context", "tea", "-b", "many"],
    ["context", "tea", "--json=yes"],
    ["context", "tea", "--no-priors=yes"],
    ["context", "tea", "-qb", "5"],
    ["context", "tea", "--budget"],
    ["verify", "a", "b"],
    ["--version", "context"],
]


def configured(key):
    """A setting's value without files or environment."""
    return configuration.DEFAULTS[key]


@pytest.mark.parametrize("line", LINES, ids=" ".join)
def test_a_plain_line_is_read_as_the_parser_reads_it(line, monkeypatch):
    """The same command with the same values, of the same types."""
    monkeypatch.delenv("BRIMFUL_EMBEDDER", raising=False)
    seen = []
    monkeypatch.setattr(dispatch, "run", lambda command, values: seen.append((command, dict(values))) or 0)
    monkeypatch.setattr("brimful.surfaces.cli.app.run", dispatch.run)
    monkeypatch.setattr("brimful.surfaces.cli.app.run", dispatch.run)
    assert failing.parsed(line) == 0
    assert quick.read(line, quick.grammar(), configured=configured) == seen[0]


@pytest.mark.parametrize("line", STRANGE, ids=" ".join)
def test_whatever_is_not_plain_is_left_to_the_parser(line):
    """Mistakes, and ways of writing that are rare."""
    assert quick.read(line, quick.grammar(), configured=configured) is None


def test_a_plain_line_needs_no_parser(brimful, corpus):
    """`context` runs without typer, pydantic, rich and asyncio: they take longer to load than the answer."""
    from tests.surfaces.conftest import start

    program = (
        "import sys; from brimful.surfaces.cli import main; code = main(sys.argv[1:]); "
        "heavy = {'typer', 'pydantic', 'rich', 'asyncio', 'tree_sitter', 'brimful.densify'} & set(sys.modules); "
        "sys.exit(f'{code} {heavy}')"
    )
    brimful("context", "tea", corpus)
    done = start("context", "tea", corpus, "-q", program=("-c", program))
    assert done.err.strip() == "0 set()"


def test_every_command_takes_json(brimful):
    """--json is an option of each."""
    file = Path(quick.__file__).with_name("grammar.json")
    for name, command in json.loads(file.read_text(encoding="utf-8")).items():
        assert "as_json" in [option["name"] for option in command["options"]], name
