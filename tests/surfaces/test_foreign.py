"""A checkout that somebody else wrote decides neither what is read nor where anything is written."""

import json

import pytest


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    """A folder as it comes from somewhere, which is where we are."""
    folder = tmp_path / "checkout"
    folder.mkdir()
    (folder / "tea.md").write_text("Tea at four.\n", encoding="utf-8")
    monkeypatch.chdir(folder)
    return folder


@pytest.mark.parametrize("linked", ["brimful.db", "brimful.db-wal", "brimful.db-digests", ""])
@pytest.mark.parametrize("how", ["found", "configured"])
def test_a_store_that_is_a_link_is_not_written_through(brimful, checkout, tmp_path, linked, how):
    """Be it the store, a file beside it or its folder, found as `.brimful` or named by a project's file."""
    target = tmp_path / "elsewhere"
    folder = checkout / (".brimful" if how == "found" else "s")
    if linked:
        folder.mkdir()
        if linked != "brimful.db":
            assert brimful("add", "tea.md", "--store", folder / "brimful.db").code == 0
        (folder / linked).unlink(missing_ok=True)
        (folder / linked).symlink_to(target)
    else:
        target.mkdir()
        assert brimful("add", "tea.md", "--store", target / "brimful.db").code == 0
        folder.symlink_to(target)
    before = sorted(each.name for each in target.rglob("*")) if target.is_dir() else target.exists()
    if how == "configured":
        (checkout / ".brimful.toml").write_text('store = "s"\n', encoding="utf-8")
    for words in (("add", "tea.md"), ("add",), ("search", "tea"), ("status",)):
        done = brimful(*words)
        assert done.code == 2, done.err
        assert "link" in done.err or "stays within its folder" in done.err
    assert (sorted(each.name for each in target.rglob("*")) if target.is_dir() else target.exists()) == before


def test_a_store_that_came_along_does_not_say_what_is_read(brimful, checkout, tmp_path):
    """Folders outside of the checkout are read again only when the user names them; the answer says how."""
    private = tmp_path / "private"
    private.mkdir()
    (private / "diary.md").write_text("A giraffe came to tea.\n", encoding="utf-8")
    store = checkout / ".brimful" / "brimful.db"
    assert brimful("add", checkout, private, "--store", store).code == 0
    (private / "later.md").write_text("An elephant came, too.\n", encoding="utf-8")
    for words in (("add",), ("add", "--dry-run"), ("status", "--skipped")):
        done = brimful(*words)
        assert done.code == 2, done.out
        assert str(private) in done.err
        assert "brimful add" in done.err
    assert brimful("search", "elephant").code == 1
    assert brimful("add", private).code == 0
    assert brimful("search", "elephant").code == 0
    named = json.loads(brimful("add", "--store", store, "--json").out)
    assert named["documents"] == 3


def test_what_lies_in_the_checkout_is_read_again_as_ever(brimful, checkout):
    """A store of the checkout's own folders needs no names."""
    assert brimful("add", ".", "--store", ".brimful").code == 0
    (checkout / "new.md").write_text("A giraffe.\n", encoding="utf-8")
    assert brimful("add").code == 0
    assert brimful("search", "giraffe").code == 0
