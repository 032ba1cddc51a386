import json


def test_a_set_is_made_from_paths_and_asked_again(brimful, corpus, tmp_path):
    """The table and the JSON; a set that was kept gives the same means."""
    folder = tmp_path / "mine"
    made = brimful("eval", "--make", folder, "--path", corpus, "--questions", "4", "--budgets", "40,80")
    assert made.code == 0
    assert "recall" in made.out
    assert max(map(len, made.out.splitlines())) <= 80
    record = json.loads(brimful("eval", folder, "--budgets", "40,80", "--json").out)
    assert record["budgets"] == [40, 80]
    assert f"{record['means']['40']['recall']:.4f}" in made.out
    assert "top 3 in first 5" in made.out
    assert record["properties"]["40"]["within_budget"] == 1.0
    assert set(record["properties"]) == {"40", "80"}


def test_a_choice_can_be_measured(brimful, corpus, tmp_path):
    """`--set` asks with it: what a choice costs can be seen."""
    folder = tmp_path / "mine"
    brimful("eval", "--make", folder, "--path", corpus, "--questions", "4", "--budgets", "80")
    usual = json.loads(brimful("eval", folder, "--budgets", "80", "--json").out)
    tight = json.loads(brimful("eval", folder, "--budgets", "80", "--json", "--set", "path=nowhere/").out)
    assert tight["properties"]["80"]["coverage"] == 0 < usual["properties"]["80"]["coverage"]


def test_a_folder_that_holds_something_is_not_overwritten(brimful, corpus):
    """A set goes into a folder of its own."""
    done = brimful("eval", "--make", corpus, "--path", corpus)
    assert done.code == 2
    assert "new folder" in done.err
