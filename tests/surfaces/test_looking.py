"""`map`, `ls` and `get`: what only looks at a store."""

import json
import os

import pytest

from brimful.surfaces.cli.places import cached_store
from brimful.text.vocabularies import tokens_for

from .conftest import HOSTILE_NAME, HOSTILE_TEXT, PAGES, on_a_terminal


@pytest.fixture(scope="module")
def store(corpus, tmp_path_factory):
    """The store of the shared corpus."""
    from brimful.surfaces.cli import main

    place = tmp_path_factory.mktemp("store") / "notes.db"
    assert main(["add", str(corpus), "--store", str(place), "--quiet"]) == 0
    return place


def test_a_folder_is_mapped_in_one_step(brimful, own):
    """Files with headings and definitions on standard output, what they count on standard error."""
    done = brimful("map", own)
    assert done.code == 0
    assert done.out == "own/\n  mind.md\n    Mind\n  tea.md\n    Tea\nown/src/\n  kettle.py\n    def boil(water)\n"
    tokens = tokens_for("gpt-4o").count(done.out)
    assert f"{tokens} of 4,000 tokens (o200k_base): 3 of 3 files, 3 headings and definitions in them" in done.err


def test_a_map_is_as_large_as_its_budget(brimful, store):
    """What does not fit is counted, quietly if wanted, and nothing that fits nowhere is shown."""
    done = brimful("map", "--store", store, "--budget", "16", "--quiet")
    assert (done.code, done.err) == (0, "")
    assert done.out.endswith("… 2 more files\n")
    assert tokens_for("gpt-4o").count(done.out) <= 16
    assert brimful("map", "--store", store, "--budget", "1").code == 1


def test_a_map_can_be_for_a_question_and_for_some_paths(brimful, store):
    """--question ranks, --path narrows, --json tells the counts."""
    assert brimful("map", "--store", store, "--question", "when came tea to Europe?").out.startswith("corpus/tea.md\n")
    record = json.loads(brimful("map", "--store", store, "--path", "src/", "--path", "mind", "--json").out)
    assert record["text"] == "corpus/\n  mind.md\n    Mind\ncorpus/src/\n  kettle.py\n    def boil(water)\n"
    assert (record["files"], record["names"], record["files_left_out"]) == (2, 2, 0)
    assert record["tokens"] == tokens_for("gpt-4o").count(record["text"])


def test_documents_are_listed_one_path_a_line(brimful, store):
    """Through a pipe nothing but paths; a part or a pattern narrows them."""
    assert brimful("status", "--files", "--store", store).out == "corpus/mind.md\ncorpus/src/kettle.py\ncorpus/tea.md\n"
    assert brimful("status", "--path", "*.md", "--store", store).out == "corpus/mind.md\ncorpus/tea.md\n"
    assert brimful("status", "--path", "src/", "--store", store).out == "corpus/src/kettle.py\n"


def test_a_list_as_json_has_size_kind_time_and_lines(brimful, store):
    """Lines are counted only where they are asked for."""
    record = json.loads(brimful("status", "--path", "kettle", "--store", store, "--lines", "--json").out)["documents"][
        0
    ]
    assert isinstance(record.pop("time"), int)
    size = len(PAGES["src/kettle.py"].encode())
    shown = {
        "path": "corpus/src/kettle.py",
        "title": None,
        "bytes": size,
        "kind": "code",
        "language": "python",
        "lines": 3,
    }
    assert record == shown
    assert "lines" not in json.loads(brimful("status", "--files", "--store", store, "--json").out)["documents"][0]


def test_a_person_sees_size_kind_and_time(store):
    """On a terminal a line has all of them, and the path last."""
    code, shown = on_a_terminal("status", "--path", "tea", "--store", store, "--lines", NO_COLOR="1")
    size, lines, kind, _day, path = shown.split()
    assert (code, size, lines, kind, path) == (0, str(len(PAGES["tea.md"])), "5", "prose", "corpus/tea.md")


def test_a_list_of_nothing_says_why(brimful, store):
    """Exit code 1, and the pattern that nothing fits."""
    done = brimful("status", "--path", "*.docx", "--store", store)
    assert (done.code, done.out) == (1, "")
    assert "none of 3 paths has '*.docx' in it" in done.err


def test_a_folder_is_listed_by_its_own_store(brimful, own, monkeypatch):
    """A folder that was asked before, or the store that is found here."""
    assert brimful("search", "tea", own).code == 0
    assert brimful("status", "--files", own).out == "own/mind.md\nown/src/kettle.py\nown/tea.md\n"
    assert brimful("status", own, "--path", "kettle").out == "own/src/kettle.py\n"
    monkeypatch.chdir(own)
    assert brimful("status", "--path", "src").out == "own/src/kettle.py\n"


def test_only_looking_makes_no_store(brimful, own):
    """`status` of a folder that was never asked is an error with the remedy."""
    done = brimful("status", own, "--files")
    assert done.code == 2
    assert "has no store yet; ask it first" in done.err
    assert not cached_store([os.fspath(own)]).exists()


@pytest.mark.parametrize(
    ("place", "shown"),
    [
        ("corpus/tea.md", PAGES["tea.md"]),
        ("corpus/tea.md:1", "# Tea\n"),
        ("corpus/tea.md:3-5", "Tea came to Europe in 1610. It was sold as medicine.\n\nCoffee came first.\n"),
        ("corpus/src/kettle.py:2-2", "    '''Boil the water for tea.'''\n"),
    ],
)
def test_lines_are_printed_exactly(brimful, store, place, shown):
    """The stored text of a document or of some lines, with the end of the last one."""
    done = brimful("cite", place, "--store", store)
    assert (done.code, done.out) == (0, shown)


def test_lines_as_json_say_where_they_stand(brimful, store):
    """Bytes, lines, text and how long the document is."""
    record = json.loads(brimful("cite", "corpus/tea.md:3", "--store", store, "--json").out)
    assert (record["path"], record["start"], record["lines"], record["document_lines"]) == (
        "corpus/tea.md",
        7,
        [3, 3],
        5,
    )
    assert record["text"] == "Tea came to Europe in 1610. It was sold as medicine.\n"


@pytest.mark.parametrize("lines", ["6", "3-6", "0", "0-2", "4-3", "999999999999"])
def test_lines_that_are_not_there_are_an_error(brimful, store, lines):
    """It says how many lines the document has, and prints none."""
    done = brimful("cite", f"corpus/tea.md:{lines}", "--store", store)
    assert (done.code, done.out) == (2, "")
    assert "'corpus/tea.md' has no lines" in done.err
    assert "it has 5 lines" in done.err


def test_an_unknown_path_is_an_error_with_close_ones(brimful, store):
    """With lines behind it or not."""
    for place in ("kettle.py", "kettle.py:2"):
        done = brimful("cite", place, "--store", store)
        assert (done.code, done.out) == (2, "")
        assert "did you mean 'corpus/src/kettle.py'?" in done.err


def test_a_path_may_itself_end_like_lines(brimful, tmp_path):
    """A stored path that is meant exactly comes before lines of another."""
    import brimful as library

    with library.open(tmp_path / "odd.db") as engine:
        engine.add_text("log", "one\ntwo\n")
        engine.add_text("log:2", "three\nfour\n")
    assert brimful("cite", "log:2", "--store", tmp_path / "odd.db").out == "three\nfour\n"
    assert brimful("cite", "log:2:2", "--store", tmp_path / "odd.db").out == "four\n"
    assert brimful("cite", "log:1", "--store", tmp_path / "odd.db").out == "one\n"


def test_names_and_texts_can_not_steer_a_terminal(tmp_path):
    """What a file is called or holds is written out where a person looks at it."""
    import brimful as library

    with library.open(tmp_path / "evil.db") as engine:
        engine.add_text(HOSTILE_NAME, "# Red \x1b[31m\n\n" + HOSTILE_TEXT)
    for words in (
        (
            "status",
            "--files",
        ),
        ("map",),
        ("cite", HOSTILE_NAME),
    ):
        code, shown = on_a_terminal(*words, "--store", tmp_path / "evil.db", NO_COLOR="1")
        assert code == 0
        assert not {"\x1b", "\x07", "\x9b", "\u202e"} & set(shown), words


def test_removing_names_what_was_not_there(brimful, store):
    """A slip in the only name or in one of several is said, not passed over; JSON lists it."""
    done = brimful("remove", "no-such.md", "--store", store)
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith("nothing removed: none of ")
    paths = brimful("status", "--files", "--store", store).out.splitlines()
    known = next(word for line in paths for word in line.split() if word.endswith(".md"))
    done = brimful("remove", known, "no-such.md", "--store", store, "--dry-run")
    assert done.code == 0
    assert known in done.out
    assert "is called 'no-such.md' (brimful status --files lists them)" in done.err
    assert "nothing removed" not in done.err
    record = json.loads(brimful("remove", known, "no-such.md", "--store", store, "--dry-run", "--json").out)
    assert (record["removed"], record["unknown"]) == ([known], ["no-such.md"])
