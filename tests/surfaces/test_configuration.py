"""Which value counts, and where does it come from?"""

import json

import pytest

from brimful.surfaces.cli import configuration


@pytest.fixture
def project(own, monkeypatch):
    """A folder of a project, with the working directory below it."""
    monkeypatch.chdir(own / "src")
    return own


def budget_of(brimful, *options):
    """The budget that a context is filled to."""
    return json.loads(brimful("context", "tea", "..", "--json", "-q", *options).out)["budget"]


def test_each_place_comes_before_the_next(brimful, project, monkeypatch, tmp_path):
    """Option, environment, project's file, user's file, default; `config` names which it was."""
    user = tmp_path / "user.toml"
    monkeypatch.setenv("BRIMFUL_CONFIG", str(user))

    def origin():
        (found,) = [each for each in json.loads(brimful("config", "--json").out)["settings"] if each["key"] == "budget"]
        return found["value"], found["origin"]

    assert (budget_of(brimful), origin()) == (4_000, (4_000, "default"))
    user.write_text("budget = 60\n", encoding="utf-8")
    assert (budget_of(brimful), origin()) == (60, (60, str(user)))
    (project / "pyproject.toml").write_text("[tool.brimful]\nbudget = 70\n", encoding="utf-8")
    assert (budget_of(brimful), origin()) == (70, (70, str(project / "pyproject.toml")))
    (project / ".brimful.toml").write_text("budget = 80\n", encoding="utf-8")
    assert (budget_of(brimful), origin()) == (80, (80, str(project / ".brimful.toml")))
    monkeypatch.setenv("BRIMFUL_BUDGET", "90")
    assert (budget_of(brimful), origin()) == (90, (90, "BRIMFUL_BUDGET"))
    assert budget_of(brimful, "--budget", "50") == 50
    assert budget_of(brimful, "-qb", "50") == 50  # two options in one word
    assert budget_of(brimful, "-qm", "gpt-4o") == 90


def test_a_table_of_another_tool_is_no_configuration(brimful, project):
    """A `pyproject.toml` without the table is passed over, for one above."""
    (project / ".brimful.toml").write_text("budget = 80\n", encoding="utf-8")
    (project / "src" / "pyproject.toml").write_text("[tool.other]\nbudget = 1\n", encoding="utf-8")
    assert budget_of(brimful) == 80


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("budgte = 5", "unknown setting 'budgte' (= 5); did you mean 'budget'?"),
        ("budget = 'many'", "budget is 'many'; it must be a whole number"),
        ("budget = 0", "budget"),
        ("budget = true", "budget is True"),
        ("format = 'markdwn'", "unknown format 'markdwn'; did you mean 'markdown'?"),
        ("model = 'gpt-4p'", "'gpt-4p'; did you mean 'gpt-4'"),
        ("model = 4", "model is 4; it must be a text in quotes"),
        ("budget", "is not TOML"),
        ("densify = 'openai:gpt-4o'", "a project may not choose who is sent"),
        ("store = '../elsewhere.db'", "stays within its folder"),
        ("store = '/etc/store.db'", "stays within its folder"),
    ],
)
def test_a_mistake_in_a_file_is_named_with_the_file(brimful, project, text, message):
    """Exit code 2: file, key, value and remedy; `config` and `doctor` show it too."""
    file = project / ".brimful.toml"
    file.write_text(text + "\n", encoding="utf-8")
    for command in (["context", "tea", ".."], ["config"]):
        done = brimful(*command)
        assert done.code == 2
        assert str(file) in done.err
        assert message in done.err
    assert brimful("doctor").code == 2


def test_a_mistake_in_the_environment_is_named_with_its_variable(brimful, corpus, monkeypatch):
    """An option comes before it, so then it does not matter."""
    monkeypatch.setenv("BRIMFUL_FORMAT", "xlm")
    done = brimful("context", "tea", corpus)
    assert done.code == 2
    assert "BRIMFUL_FORMAT" in done.err
    assert "did you mean 'xml'" in done.err
    assert brimful("context", "tea", corpus, "--format", "xml").code == 0
    assert brimful("search", "tea", corpus).code == 0


def test_a_setting_is_written_beside_what_stands_there(brimful, own, monkeypatch, tmp_path):
    """In the user's file, or the project's; a dry run writes nothing, and a wrong value is refused."""
    user = tmp_path / "new" / "user.toml"
    monkeypatch.setenv("BRIMFUL_CONFIG", str(user))
    monkeypatch.chdir(own)
    assert brimful("config", "set", "budget", "700", "--dry-run").code == 0
    assert not user.exists()
    assert brimful("config", "set", "budget", "700").code == 0
    assert brimful("config", "set", "model", "gpt-4o").code == 0
    assert brimful("config", "set", "budget", "800").code == 0
    assert user.read_text(encoding="utf-8") == 'model = "gpt-4o"\nbudget = 800\n'
    assert brimful("config", "get", "budget").out == "800\n"
    assert brimful("config", "set", "budget", "900", "--project").code == 0
    assert brimful("config", "get", "budget").out == "900\n"
    assert str(own / ".brimful.toml") in brimful("config", "path").out
    assert brimful("config", "set", "budget", "none").code == 2
    assert brimful("config", "set", "densify", "extractive:", "--project").code == 2
    assert "did you mean 'budget'" in brimful("config", "get", "bugdet").err


def test_a_store_in_a_project_is_found_from_below(brimful, project):
    """It is relative to the file that names it."""
    (project / ".brimful.toml").write_text("store = 'kept/notes.db'\n", encoding="utf-8")
    assert brimful("add", "..").code == 0
    assert (project / "kept/notes.db").is_file()
    assert "sold as medicine" in brimful("context", "medicine").out


def test_a_variable_that_is_no_setting_is_pointed_out(brimful, monkeypatch):
    """A misspelt one would be passed over in silence."""
    monkeypatch.setenv("BRIMFUL_BUGDET", "9")
    assert "BRIMFUL_BUGDET is set" in brimful("config").err
    assert "BRIMFUL_BUGDET is set" in brimful("doctor").out


def test_an_option_has_the_default_of_its_setting():
    """And every option that a setting may replace names one."""
    from brimful.surfaces.cli.table import COMMANDS

    options = [option for command in COMMANDS.values() for option in command.options if option.key]
    assert all(option.default == configuration.DEFAULTS[option.key] for option in options)


def test_settings_stand_below_each_other(brimful, tmp_path, monkeypatch):
    """However long the longest name is: values begin in one column, and so do the places they came from."""
    monkeypatch.chdir(tmp_path)
    lines = brimful("config").out.splitlines()
    names = [line.split()[0] for line in lines]
    assert len({len(name) for name in names}) > 5
    assert {line.index(line.split(maxsplit=1)[1]) for line in lines} == {max(map(len, names)) + 1}
