"""`brimful shard`: a list of stores that is one corpus, made, moved and looked at from the command line."""

import json
from pathlib import Path

import pytest


@pytest.fixture
def team(tmp_path, brimful, monkeypatch):
    """A list of two shards with a folder of notes, in the folder where the program runs."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "notes").mkdir()
    for number in range(40):
        (tmp_path / "notes" / f"{number}.md").write_text(f"# Note {number}\n\nTea number {number} is served.\n")
    assert brimful("shard", "add", "a.db", "b.db", "--store", "team.toml")[0] == 0
    assert brimful("add", "notes", "--store", "team.toml", "-q")[0] == 0
    return tmp_path / "team.toml"


def listed(brimful):
    """What each shard holds, by its name."""
    code, out, _ = brimful("shard", "list", "--store", "team.toml", "--json")
    return code, {Path(each["place"]).name: each for each in json.loads(out)["shards"]}


def test_shards_are_added_moved_and_removed(brimful, team):
    """The list says where the corpus is; every change leaves the same state root, and the answers stay."""
    root = json.loads(brimful("status", "--store", "team.toml", "--json")[1])["root"]
    text = brimful("context", "Note 17", "--store", "team.toml", "-q")[1]
    assert "Tea number 17" in text
    steps = (
        (("add", "c.db"), {"a.db", "b.db", "c.db"}),
        (("rebalance",), {"a.db", "b.db", "c.db"}),
        (("move", "a.db", "d.db"), {"b.db", "c.db", "d.db"}),
        (("remove", "b.db"), {"c.db", "d.db"}),
    )
    for step, names in steps:
        code, _, said = brimful("shard", *step, "--store", "team.toml")
        assert code == 0, said
        code, states = listed(brimful)
        assert (code, set(states)) == (0, names)
        assert sum(each["documents"] for each in states.values()) == 40
        assert sum(each["parts"] for each in states.values()) == 4096
        assert json.loads(brimful("status", "--store", "team.toml", "--json")[1])["root"] == root
        assert brimful("context", "Note 17", "--store", "team.toml", "-q")[1] == text
    assert min(each["documents"] for each in listed(brimful)[1].values()) > 10
    assert 'shards = [\n  "c.db",\n  "d.db",\n]' in team.read_text()


def test_a_shard_that_is_down_is_named_everywhere(brimful, team):
    """No answer and exit code 5; with --partial an answer that says so and exit code 3; status and doctor name it."""
    (team.parent / "b.db").rename(team.parent / "away")
    code, out, said = brimful("context", "Which tea is served?", "--store", "team.toml")
    assert (code, out) == (5, "")
    assert "1 of 2 shards can't be reached: b.db" in said
    code, out, said = brimful("context", "Which tea is served?", "--store", "team.toml", "--partial")
    assert code == 3
    assert out.startswith("[PARTIAL: without b.db]\n[DOC:")
    assert "partial: without b.db" in said
    code, out, _ = brimful("context", "Which tea is served?", "--store", "team.toml", "--partial", "--json")
    assert (code, json.loads(out)["missing"]) == (3, ["b.db"])
    for command in (("search", "tea"), ("map",), ("ls",), ("get", "notes/1.md")):
        code, out, said = brimful(*command, "--store", "team.toml")
        assert (code, out) == (5, ""), command
        assert "b.db" in said
    assert "b.db  down: b.db is not there" in brimful("status", "--store", "team.toml")[1]
    assert listed(brimful)[0] == 3
    code, out, _ = brimful("doctor", "--store", "team.toml")
    assert code == 5
    assert "b.db is down" in " ".join(out.split())


def test_lists_without_a_shard_say_so(brimful, team):
    """`search`, `map`, `ls` and `get` with --partial: exit code 3, the shard on standard error and in the record."""
    every = brimful("ls", "--store", "team.toml")[1].split()
    (team.parent / "b.db").rename(team.parent / "away")
    for command in (("search", "tea"), ("map",), ("ls",)):
        code, out, said = brimful(*command, "--store", "team.toml", "--partial")
        assert (code, bool(out)) == (3, True), command
        assert "partial: without b.db" in said
        code, out, _ = brimful(*command, "--store", "team.toml", "--partial", "--json")
        assert (code, json.loads(out)["missing_shards"]) == (3, ["b.db"])
    assert brimful("map", "--store", "team.toml", "--partial")[1].startswith("[PARTIAL: without b.db]\n")
    there = brimful("ls", "--store", "team.toml", "--partial")[1].split()
    assert 0 < len(there) < len(every)
    assert brimful("get", there[0], "--store", "team.toml", "--partial")[0] == 0
    code, _, said = brimful(
        "get", next(each for each in every if each not in there), "--store", "team.toml", "--partial"
    )
    assert code == 5
    assert "may lie in b.db, which can't be reached" in said


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("add", "c.db"), "ends in .toml"),
        (("add", "--store", "team.toml"), "name the stores"),
        (("move", "a.db", "--store", "team.toml"), "takes OLD NEW"),
        (("remove", "x.db", "--store", "team.toml"), "is not in team.toml; it lists: a.db, b.db"),
        (("rebalance", "a.db", "--store", "team.toml"), "takes no stores"),
        (("lst", "--store", "team.toml"), "did you mean 'list'"),
        (("list", "--store", "none.toml"), "brimful shard add STORE --store none.toml"),
    ],
)
def test_what_is_wrong_is_said_with_the_remedy(brimful, team, words, said):
    """A wrong line costs nothing and names the right one."""
    code, _, told = brimful("shard", *words)
    assert code == 2
    assert said in told


def test_asking_makes_no_shards(brimful, team):
    """Where none of the listed files is there, nothing is made in their place."""
    for name in ("a.db", "b.db"):
        (team.parent / name).rename(team.parent / f"away-{name}")
    code, _, said = brimful("context", "tea", "--store", "team.toml")
    assert (code, list(team.parent.glob("?.db"))) == (2, [])
    assert "are their disks mounted" in said


def test_a_project_may_not_name_a_list(brimful, team):
    """A list may name servers, so a project's own file can't choose one for its readers."""
    (team.parent / ".brimful.toml").write_text('store = "team.toml"\n')
    code, _, said = brimful("status")
    assert code == 2
    assert "list of shards may name servers" in said
