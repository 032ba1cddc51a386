import json

import pytest

from brimful.errors import FormatError, InputError
from brimful.surfaces.mcp.agents import AGENTS, configuration_file, install, remove

COMMAND = ("brimful", "mcp", "--store", "/notes/.brimful")
ENTRY = {"command": "brimful", "args": ["mcp", "--store", "/notes/.brimful"]}


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    """A home of our own."""
    for variable in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(variable, str(tmp_path))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    monkeypatch.setenv("APPDATA", str(tmp_path / "AppData"))
    return tmp_path


def never(question):
    """Nobody is asked."""
    raise AssertionError(question)


@pytest.mark.parametrize("name", AGENTS)
def test_an_agent_without_a_configuration_gets_one(name, home):
    """A file below the home, with our server under the agent's own key; once it is there nothing is written."""
    file = install(name, COMMAND, may_replace=never)
    assert home in file.parents
    entry = {"type": "stdio", **ENTRY} if name == "vscode" else ENTRY
    assert json.loads(file.read_text()) == {AGENTS[name].key: {"brimful": entry}}
    assert install(name, COMMAND, may_replace=never) is None
    assert remove(name) == file
    assert json.loads(file.read_text()) == {AGENTS[name].key: {}}
    assert remove(name) is None


@pytest.mark.parametrize("says", [True, False])
def test_another_entry_is_replaced_after_a_question(says):
    """The rest of the file stays as it was, in its order; an entry of that name only goes if the user says so."""
    file = configuration_file(AGENTS["cursor"])
    file.parent.mkdir(parents=True)
    old = {"command": "old", "args": ["a"]}
    before = {"theme": "dark", "mcpServers": {"other": {"url": "http://x"}, "brimful": old}}
    file.write_text(json.dumps(before))
    asked = []
    assert (install("cursor", COMMAND, may_replace=lambda text: asked.append(text) or says) == file) is says
    assert len(asked) == 1
    assert "'old a'" in asked[0]
    servers = {"other": {"url": "http://x"}, "brimful": ENTRY if says else old}
    assert list(json.loads(file.read_text()).items()) == [("theme", "dark"), ("mcpServers", servers)]


@pytest.mark.parametrize("text", ["{// a comment\n}", "[]", '{"mcpServers": []}'])
def test_a_file_that_is_not_understood_stays_as_it_is(text):
    """It is named, with the way to do it by hand."""
    file = configuration_file(AGENTS["cursor"])
    file.parent.mkdir(parents=True)
    file.write_text(text)
    for change in (lambda: install("cursor", COMMAND, may_replace=never), lambda: remove("cursor")):
        with pytest.raises(FormatError, match=r"mcp\.json"):
            change()
    assert file.read_text() == text


def test_an_unknown_agent_is_named():
    """With the ones that there are."""
    with pytest.raises(InputError, match="did you mean 'cursor'"):
        install("curser", COMMAND, may_replace=never)
