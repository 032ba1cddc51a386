"""The command line on a server's store: every command takes an address, and none shows a password."""

from itertools import count

import pytest

from brimful.surfaces.cli import run
from tests.postgres import PASSWORD

_numbers = count(1)


@pytest.fixture
def address(postgres_server):
    """A corpus that no other test has."""
    return postgres_server.address(f"cli-{next(_numbers)}")


@pytest.fixture
def brimful(capsys, monkeypatch):
    """Run a command line; its exit code and all that it wrote."""

    def call(*words):
        monkeypatch.setattr("sys.argv", ["brimful", *words])
        try:
            code = run()
        except SystemExit as ended:
            code = ended.code
        out, err = capsys.readouterr()
        for secret in (PASSWORD, "owner%27s"):
            assert secret not in out + err
        return code or 0, out, err

    return call


@pytest.fixture
def folder(tmp_path):
    """Two documents."""
    (tmp_path / "tea").mkdir()
    (tmp_path / "tea/tea.md").write_text("Tea is served at four.\n")
    (tmp_path / "tea/pot.md").write_text("The pot holds two litres.\n")
    return tmp_path / "tea"


def test_every_command_takes_an_address(brimful, address, folder, monkeypatch):
    """Adding, asking, listing, status, removing, purging and looking with the doctor."""
    monkeypatch.setenv("BRIMFUL_STORE", address)
    code, out, _ = brimful("status", "--files")
    assert code == 2  # nothing is made by asking
    assert brimful("add", str(folder))[0] == 0
    assert "Tea is served at four." in brimful("context", "When is tea?")[1]
    assert "tea.md" in brimful("search", "tea")[1]
    assert "pot.md" in brimful("status", "--files")[1]
    assert "two litres" in brimful("cite", "tea/pot.md")[1]
    code, out, _ = brimful("status", "--json")
    assert (code, '"documents": 2' in out) == (0, True)
    assert brimful("remove", "tea/pot.md")[0] == 0
    assert brimful("stores", "purge", "--yes")[0] == 0
    assert brimful("stores", "rm", "--yes")[0] == 2
    code, out, _ = brimful("doctor")
    assert "1 documents" in out
    assert "PostgreSQL 18" in out
    assert "sees every corpus" in " ".join(out.split())
    assert PASSWORD not in brimful("config")[1]


def test_a_store_is_copied_to_a_server_and_back(brimful, address, folder, tmp_path):
    """The same root at each end."""
    assert brimful("add", str(folder), "--store", str(tmp_path / "a.db"))[0] == 0
    code, out, _ = brimful("stores", "copy", str(tmp_path / "a.db"), address)
    assert code == 0
    root = out.split()[-1]
    code, again, _ = brimful("stores", "copy", address, str(tmp_path / "b.db"))
    assert (code, again.split()[-1]) == (0, root)
    code, out, _ = brimful("stores", "copy", address, str(tmp_path / "b.db"), "--json")
    assert (code, '"unchanged": 2' in out) == (0, True)
    assert brimful("stores", "copy", address, address)[0] == 2


def test_captures_go_along(brimful, address, folder, tmp_path, postgres_server, monkeypatch):
    """With a copy."""
    monkeypatch.chdir(tmp_path)
    assert brimful("add", str(folder), "--store", "a.db")[0] == 0
    assert brimful("capture", str(folder / "pot.md"), "--name", "visit", "--store", "a.db")[0] == 0
    assert "1 answers of models and captures copied" in brimful("stores", "copy", "a.db", address)[1]
    captured = brimful("capture", "--list", "--store", address)
    assert captured[:2] == brimful("capture", "--list", "--store", "a.db")[:2]
    assert captured[0] == 0


def test_a_project_may_not_choose_a_server(brimful, address, folder, monkeypatch):
    """Whoever wrote a checkout does not decide where its readers' texts go."""
    (folder / ".brimful.toml").write_text(f'store = "{address}"\n')
    monkeypatch.chdir(folder)
    code, _, err = brimful("status", "--files")
    assert code == 2
    assert "may not choose a server" in err


def test_a_server_that_is_not_there_has_an_exit_code(brimful):
    """That of storage, and doctor says what is missing."""
    code, _, err = brimful("status", "--files", "--store", "postgresql://ada:hunter2@127.0.0.1:9/team")
    assert (code, "hunter2" in err) == (5, False)
    code, out, _ = brimful("doctor", "--store", "postgresql://ada:hunter2@127.0.0.1:9/team")
    assert (code, "hunter2" in out, "can't be reached" in " ".join(out.split())) == (5, False, True)
