"""One table reads every line, says what is wrong with it, and writes its help."""

import pytest

from brimful.settings import ASKED
from brimful.surfaces import cli
from brimful.surfaces.cli.table import COMMANDS
from tests.surfaces.conftest import start


def read(*line, configured=lambda key: None):
    """The command's name and its values, without files or environment."""
    command, values = cli.read(line, configured=configured, is_file=lambda word: False)
    return command.name, values


@pytest.mark.parametrize(
    ("line", "values"),
    [
        (["context", "tea"], {"question": "tea", "paths": [], "ask": {}}),
        (
            ["context", "tea", "a", "b", "-b", "50", "--format=xml", "--json", "-q"],
            {"paths": ["a", "b"], "ask": {"budget": 50, "format": "xml"}, "as_json": True, "quiet": True},
        ),
        (["search", "tea", "--phrase=-x"], {"ask": {"phrase": ["-x"]}}),
        (["context", "tea", "--set", "order=best", "--set=trim=off", "--map", "9"], {"more": "order=best; trim=off"}),
        (
            ["context", "--budget=7", "--", "-tea", "--json"],
            {"question": "-tea", "paths": ["--json"], "as_json": False, "ask": {"budget": 7}},
        ),
        (
            ["context", "-", "--store", "x.db", "--receipt", "r.json"],
            {"question": "-", "store": "x.db", "receipt": "r.json"},
        ),
        (["context", "tea", "-qb", "5", "docs"], {"quiet": True, "ask": {"budget": 5}, "paths": ["docs"]}),
        (
            ["context", "tea", "-b5", "-qm=gpt-4o"],
            {"ask": {"budget": 5, "model": "gpt-4o"}, "quiet": True},
        ),
        (["search", "tea", "-n", "3", "-C", "2"], {"limit": 3, "around": 2, "ask": {}}),
        (
            ["context", "tea", "--path", "a", "--path=b", "--as-typed", "--anyway"],
            {"ask": {"path": ["a", "b"], "repair": False, "anyway": True}},
        ),
        (
            ["explain", "tea", "--no-question", "--map", "9"],
            {"ask": {"with_question": False, "map_percent": 9}},
        ),
        (["add", "--allow", "hidden", "--allow", "binary", "."], {"allow": ["hidden", "binary"], "paths": ["."]}),
        (["add"], {"allow": (), "exclude": (), "paths": [], "dry_run": False}),
        (["remove", "a", "b", "--dry-run"], {"paths": ["a", "b"], "dry_run": True}),
        (["densify"], {"file": "-", "model": "extractive:", "target": None}),
        (["eval", "set", "--limit", "2"], {"place": "set", "limit": 2}),
        (["config", "set", "budget", "900"], {"action": "set", "key": "budget", "value": "900", "project": False}),
        (["stores", "rm", "docs", "-y"], {"action": "rm", "paths": ["docs"], "yes": True}),
        (["stores"], {"action": "list", "paths": []}),
        (["mcp", "--transport", "http", "-p", "0", "--no-watch"], {"transport": "http", "port": 0, "watch": False}),
    ],
    ids=lambda each: " ".join(each) if isinstance(each, list) else "",
)
def test_a_line_is_read(line, values):
    """Arguments, options and switches; what a question chooses is gathered, and only where it was chosen."""
    command, found = read(*line)
    assert command == line[0]
    assert {name: found[name] for name in values} == values


@pytest.mark.parametrize(
    ("line", "says"),
    [
        (["contxt"], "No such command 'contxt'; did you mean 'context'?"),
        (["context", "tea", "--top-k=9"], "No such option: --top-k=9; give it as --set top_k=9"),
        (["explain", "tea", "--no-priors"], "give it as --set priors=off"),
        (["context"], "QUESTION is missing: brimful context [OPTIONS] QUESTION [PATH]..."),
        (["context", "tea", "--bugdet", "5"], "No such option: --bugdet; did you mean --budget?"),
        (["context", "tea", "-b", "many"], "--budget takes a whole number, such as --budget 4000; got 'many'"),
        (["context", "tea", "--budget", "4.5"], "got '4.5'"),
        (["context", "tea", "--json=yes"], "--json ignored explicit argument 'yes'"),
        (["context", "tea", "--as-typed=yes"], "ignored explicit argument 'yes'"),
        (["context", "tea", "-x"], "No such option: -x"),
        (["context", "tea", "--budget"], "--budget needs a value: --budget=VALUE"),
        (["verify", "a", "b"], "'b' is one argument too many: brimful verify [OPTIONS] RECEIPT"),
        (["remove"], "PATH is missing"),
        (["--json", "context"], "a command comes first"),
    ],
    ids=lambda each: " ".join(each) if isinstance(each, list) else "",
)
def test_what_is_wrong_with_a_line_is_named(line, says):
    """With the value, and what is right."""
    with pytest.raises(cli.WrongLineError) as wrong:
        read(*line)
    assert says in str(wrong.value)
    assert wrong.value.advice.endswith("--help")


def test_help_may_stand_anywhere_before_two_dashes():
    """Behind them it is a word like others."""
    with pytest.raises(cli.HelpAskedError, match="context"):
        read("context", "tea", "--json", "--help")
    assert read("context", "--", "--help")[1]["question"] == "--help"


def test_what_is_set_stands_in_for_an_option():
    """Also for a choice without an option; an option comes first."""
    settings = {"fill": "brim", "budget": 9, "order": "best", "store": "s.db"}
    values = read("context", "tea", "--fill", "relevant", configured=settings.get)[1]
    assert (values["ask"], values["store"]) == ({"budget": 9, "fill": "relevant", "order": "best"}, "s.db")


def test_the_help_of_a_question_is_short():
    """At most 18 commands, and 24 options of `context`; `search` has every choice of a search."""
    assert len(COMMANDS) <= 18
    assert len(COMMANDS["context"].options) < 24
    assert {name for name, choice in ASKED.items() if choice.searches} == {
        option.name for option in COMMANDS["search"].options if option.choice
    }


@pytest.mark.parametrize("first", [["how is tea made", "-b", "50"], ["-b", "50", "how is tea made"]])
@pytest.mark.parametrize("command", [[], ["context"]])
def test_a_question_needs_no_command(command, first):
    """A word with a space in it asks, with options before or after it."""
    command, values = read(*command, *first)
    assert (command, values["question"], values["ask"]) == ("context", "how is tea made", {"budget": 50})


def test_no_two_options_of_a_command_share_a_flag():
    """So that each line has one meaning; and all take --json."""
    for command in COMMANDS.values():
        flags = [flag for each in command.options for flag in (*each.flags, *each.off)]
        assert len(flags) == len(set(flags)), command.name
        assert "--json" in flags, command.name


@pytest.mark.parametrize("columns", [40, 80, 120])
def test_help_names_every_option_at_any_width(monkeypatch, columns):
    """Words may be longer than a narrow terminal, and so may examples."""
    monkeypatch.setenv("COLUMNS", str(columns))
    for name, command in COMMANDS.items():
        written = cli.help_of(name)
        assert all(flag in written for option in command.options for flag in (*option.flags, *option.off))
        assert all(
            len(line) <= columns or len(line.split()) <= 4
            for line in written.partition("\nExamples:")[0].splitlines()[1:]
        ), name


def test_a_question_to_a_store_loads_what_it_needs(brimful, corpus, tmp_path):
    """Nothing that serves, indexes or condenses, and one tokenizer."""
    program = (
        "import sys; from brimful.surfaces.cli import main; code = main(sys.argv[1:]); "
        "heavy = {'fastapi', 'mcp', 'pydantic', 'starlette', 'tokenizers', 'uvicorn', "
        "'brimful.documents.loaders', 'brimful.densify', 'brimful.ingest.folders', 'brimful.receipts.sources', "
        "'brimful.store.postgres'}; "
        "sys.exit(f'{code} {heavy & set(sys.modules)}')"
    )
    store = str(tmp_path / "store.db")
    brimful("add", corpus, "--store", store)
    brimful("context", "tea", "--store", store)
    done = start("context", "tea", "--store", store, "-q", program=("-c", program))
    assert done.err.strip() == "0 set()"
