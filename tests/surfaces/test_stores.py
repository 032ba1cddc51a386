import json

import apsw
import pytest

from brimful import rules
from brimful.store.sqlite import checksums
from tests.surfaces.conftest import Done, start


def test_paths_have_one_store_by_their_real_places(brimful, corpus, tmp_path, monkeypatch):
    """Relative, through a link, or in another order: the same store; other paths have another."""

    def store_of(*paths):
        return json.loads(brimful("context", "tea", *paths, "--json", "-q").out)["store"]

    (tmp_path / "link").symlink_to(corpus)
    monkeypatch.chdir(corpus.parent)
    assert store_of(corpus) == store_of(corpus.name) == store_of(tmp_path / "link")
    tea, mind = corpus / "tea.md", corpus / "mind.md"
    assert store_of(tea, mind) == store_of(mind, tea) != store_of(corpus)


def test_the_nearest_store_is_found_like_git_finds_its_own(brimful, own, monkeypatch):
    """A `.brimful` above answers without paths, and keeps itself out of git and out of the corpus."""
    monkeypatch.chdir(own)
    assert brimful("add", ".", "--store", ".brimful").code == 0
    assert (own / ".brimful/.gitignore").read_text() == "*\n"
    monkeypatch.chdir(own / "src")
    assert "sold as medicine" in brimful("context", "medicine").out
    (own / "new.md").write_text("A giraffe is tall.\n", encoding="utf-8")
    done = brimful("add", "--json")
    record = json.loads(done.out)
    assert (record["added"], record["unchanged"], record["documents"]) == (1, 3, 4)
    assert "giraffe" in brimful("search", "giraffe").out


def test_a_question_alone_asks_the_current_folder(brimful, own, monkeypatch):
    """As it is now, with the command or without; what only looks finds the store of a folder above."""
    monkeypatch.chdir(own)
    assert "sold as medicine" in brimful("when was tea sold?", "-b", "60").out
    (own / "zoo.md").write_text("A giraffe is tall.\n", encoding="utf-8")
    assert "A giraffe is tall." in brimful("context", "giraffe").out
    monkeypatch.chdir(own / "src")
    assert str(own) in brimful("status").out
    assert brimful("context", "giraffe").code == 1


def test_a_home_is_not_read_unasked(brimful, own, monkeypatch):
    """Nor a folder above it: a question alone there names what to do."""
    monkeypatch.setenv("HOME", str(own))
    monkeypatch.chdir(own.parent)
    done = brimful("when was tea sold?")
    assert (done.code, done.out) == (2, "")
    assert "name it: brimful context QUESTION PATH" in done.err


def test_which_files_are_read_is_said_with_the_question(brimful, own):
    """`--include` and `--exclude` as `add` has them, `--allow` for what is skipped."""
    (own / ".hidden.md").write_text("A giraffe hides.\n", encoding="utf-8")

    def paths(question, *options):
        record = json.loads(brimful("context", question, own, "--json", "-q", *options).out)
        return {window["path"] for window in record["windows"]}

    assert paths("tea", "--include", "*.py") == {"own/src/kettle.py"}
    assert paths("tea", "--exclude", "*.py") == {"own/tea.md"}
    assert paths("giraffe") == set()
    assert paths("giraffe", "--allow", "hidden") == {"own/.hidden.md"}
    brimful("add", own, "--store", own / "s.db")
    refused = brimful("context", "tea", "--store", own / "s.db", "--include", "*.py")
    assert (refused.code, "name the path too" in refused.err) == (2, True)


def test_a_store_in_the_place_of_a_path_is_named_with_its_option(brimful, own, tmp_path):
    """`brimful context … notes.db` says how a store is asked, and does not look for text in it."""
    place = tmp_path / "notes.db"
    assert brimful("add", own, "--store", place).code == 0
    for command in (("context", "medicine", place), ("search", "medicine", place), ("add", place)):
        done = brimful(*command)
        assert done.code == 2
        assert f"is a Brimful store, not a document; it is asked with --store {place}" in done.err
    assert "sold as medicine" in brimful("context", "medicine", "--store", place).out


def test_status_tells_what_a_store_holds(brimful, own):
    """Documents, bytes, kinds, root, what was added; and what is left out, when asked."""
    (own / ".env").write_text("KEY=1\n", encoding="utf-8")
    brimful("context", "tea", own)
    record = json.loads(brimful("status", own, "--skipped", "--json").out)
    assert record["documents"] == 3
    assert record["bytes"] == sum(each.stat().st_size for each in own.rglob("*.*") if each.name != ".env")
    assert record["kinds"] == {"code": 1, "prose": 2}
    assert record["places"] == [str(own)]
    assert [each["path"] for each in record["skipped"]] == ["own/.env"]
    shown = brimful("status", own, "--skipped").out
    assert "3, " in shown
    assert record["root"] in shown
    assert ".env" in shown


@pytest.mark.parametrize(
    ("wanted", "gone"),
    [
        ("own/tea.md", ["own/tea.md"]),
        ("own/src", ["own/src/kettle.py"]),
        ("own/*.md", ["own/mind.md", "own/tea.md"]),
        ("tea.md", []),
        ("x", []),
    ],
)
def test_documents_are_forgotten_by_path_folder_or_glob(brimful, own, tmp_path, wanted, gone):
    """`--dry-run` only lists them; their files stay."""
    store = tmp_path / "notes.db"
    brimful("add", own, "--store", store)
    dry = brimful("remove", wanted, "--store", store, "--dry-run")
    assert json.loads(brimful("status", "--store", store, "--json").out)["documents"] == 3
    done = brimful("remove", wanted, "--store", store)
    assert done.out.splitlines() == dry.out.splitlines() == gone
    assert done.code == (0 if gone else 1)
    assert json.loads(brimful("status", "--store", store, "--json").out)["documents"] == 3 - len(gone)
    assert (own / "tea.md").exists()


def test_purge_asks_first_and_leaves_no_byte(brimful, own, tmp_path):
    """Without --yes and without a terminal nothing happens; with it, removed text is gone from the file."""
    store = tmp_path / "notes.db"
    (own / "secret.md").write_text("The password is zanzibar-4711, written in plain text.\n" * 50, encoding="utf-8")
    brimful("add", own, "--store", store)
    brimful("remove", "secret.md", "--store", store)
    refused = brimful("stores", "purge", "--store", store)
    assert (refused.code, refused.out) == (2, "")
    assert "--yes" in refused.err
    assert brimful("stores", "purge", "--store", store, "--yes").code == 0
    assert not any(b"zanzibar" in each.read_bytes() for each in tmp_path.glob("notes.db*"))
    assert brimful("search", "medicine", "--store", store).code == 0
    assert brimful("stores", "rm", "--store", store, "--yes").code == 0
    assert not list(tmp_path.glob("notes.db*"))


def test_only_a_store_is_ever_deleted(brimful, own):
    """`stores rm` of another file refuses and leaves it."""
    before = (own / "tea.md").read_bytes()
    assert brimful("stores", "rm", own / "tea.md", "--yes").code == 5
    assert (own / "tea.md").read_bytes() == before


def test_the_store_of_a_folder_is_deleted_by_its_name(brimful, own, cache):
    """`stores rm FOLDER`: its place in the cache is gone, the folder stays; a dry run only says so."""
    brimful("context", "tea", own)
    assert "would erase the whole store with 3 documents" in brimful("stores", "rm", own, "--dry-run").out
    before = set(cache.iterdir())
    assert brimful("stores", "rm", own, "--yes").code == 0
    assert len(before - set(cache.iterdir())) == 1
    assert (own / "tea.md").exists()
    assert "has no store yet" in brimful("stores", "rm", own, "--yes").err


def test_a_missing_path_leaves_no_store(brimful, tmp_path):
    """The mistake is named before anything is made."""
    assert isinstance(done := brimful("add", tmp_path / "nowhere", "--store", tmp_path / "new.db"), Done)
    assert done.code == 2
    assert list(tmp_path.iterdir()) == []


def test_an_outdated_store_is_rebuilt(brimful, own, tmp_path, monkeypatch):
    """A store of the cache by itself, a named one by a command that the message names; both answer as before."""
    before = brimful("context", "tea", own)
    named = tmp_path / "named.db"
    brimful("add", own, "--store", named)
    monkeypatch.setattr(rules, "RULES", f"{rules.RULES} 2")
    after = brimful("context", "tea", own)
    assert after.out == before.out
    assert "indexed again" in after.err
    assert "indexed again" not in brimful("context", "tea", own).err
    refused = brimful("context", "tea", "--store", named)
    assert refused.code == 5
    assert f"brimful stores rebuild --store {named}" in refused.err
    done = brimful("stores", "rebuild", "--store", named, "--json")
    assert (done.code, json.loads(done.out)["documents"]) == (0, 3)
    assert brimful("context", "tea", "--store", named).code == 0


def test_a_cached_store_of_another_layout_is_made_anew(brimful, own, cache):
    """One whose tables this version does not read is deleted, and the folder read again."""
    before = brimful("context", "tea", own)
    for store in cache.rglob("*.db"):
        connection = apsw.Connection(str(store), vfs=checksums())
        connection.pragma("user_version", 1)
        connection.close()
    after = brimful("context", "tea", own)
    assert (after.code, after.out) == (0, before.out)
    assert "indexed again" in after.err


def test_a_newer_python_has_other_rules():
    """Its version of Unicode is one of the rules by which a store is made."""
    program = "import unicodedata; unicodedata.unidata_version = '99'; from brimful import rules; print(rules.RULES)"
    assert start(program=("-c", program)).out.strip().endswith("Unicode 99")
