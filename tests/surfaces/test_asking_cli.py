"""A question on the command line: what narrows it, what is said about it, and what undoes that."""

import json

import pytest

from tests.surfaces.conftest import on_a_terminal

PAPERS = {
    "docs/tea.md": "Tea is served at four. It is too hot for some.\n",
    "notes/cold.md": "Tea is cold in the morning.\n",
    "docs/tea.py": "tea = 1  # is served\n",
    "tests/test_tea.py": "tea = 2  # is checked\n",
}
LONELY = {
    "limerence.md": "Limerence is a state of mind that tea can't cure.\n",
    **{
        f"{n}.md": "I like mind games. The harbour is quiet in winter, and the ledger lies open on the desk. " * 3
        + "\n"
        for n in range(9)
    },
}
POLICIES = {
    f"{name}.md": f"# {name.title()} policy\n\nThe harbour is quiet in winter, and the ledger lies open on the desk "
    f"beside the brass lamp. The {name} policy holds for all.\n"
    for name in ("travel", "gift")
}


def written(folder, pages):
    """These pages in a folder."""
    for name, text in pages.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def papers(tmp_path_factory):
    """A folder with tea in all of its files."""
    return written(tmp_path_factory.mktemp("shared") / "papers", PAPERS)


@pytest.fixture(scope="module")
def policies(tmp_path_factory):
    """Policies, none of them about leave."""
    return written(tmp_path_factory.mktemp("policies"), POLICIES)


@pytest.mark.parametrize("command", ["context", "search", "explain"])
@pytest.mark.parametrize(
    ("options", "left"),
    [
        (["--path", "docs/"], {"docs/tea.md", "docs/tea.py"}),
        (["--path", "notes/", "--path", "*.py"], {"notes/cold.md", "docs/tea.py", "tests/test_tea.py"}),
        (["--not-path", "docs/", "--not-path", "tests/"], {"notes/cold.md"}),
        (["--kind", "code"], {"docs/tea.py", "tests/test_tea.py"}),
        ({"phrase": ["is served"]}, {"docs/tea.md", "docs/tea.py"}),
        ({"without": ["is served", "cold"]}, {"tests/test_tea.py"}),
        (["--after", "2000", "--before", "2001"], set()),
    ],
)
def test_every_filter_can_be_given(brimful, papers, command, options, left):
    """As an option or by --set: only documents that pass are shown, by every command that takes a question."""
    if isinstance(options, dict):
        ((name, words),) = options.items()
        options = [
            part
            for word in words
            for part in ((f"--{name}", word) if command == "search" else ("--set", f"{name}={word}"))
        ]
    done = brimful(command, "tea", papers, *options, "--json", "-q")
    record = json.loads(done.out)
    shown = {each["path"] for each in record["hits" if command == "search" else "windows"]}
    assert shown == {f"papers/{path}" for path in left}
    assert done.code == (0 if left else 1)


def test_signs_in_a_question_are_text_unless_they_are_asked_for(brimful, papers):
    """`context` reads them with operators=on only, `search` unless --no-operators is given."""

    def shown(command, *options):
        record = json.loads(brimful(command, "tea path:docs/ -served", papers, *options, "--json", "-q").out)
        return {each["path"] for each in record["hits" if command == "search" else "windows"]}

    assert shown("context") == shown("search", "--no-operators") == {f"papers/{path}" for path in PAPERS}
    on = ("--set", "operators=on")
    assert shown("context", *on) == shown("explain", *on) == shown("search") == set()


@pytest.mark.parametrize("command", ["context", "search", "explain"])
def test_a_correction_is_said_with_its_undoing(brimful, papers, command):
    """What was searched for instead, and the option that takes the word as it is."""
    done = brimful(command, "when is tea srved", papers)
    assert "searched for served instead of srved; --as-typed takes it as typed" in done.err
    typed = brimful(command, "when is tea srved", papers, "--as-typed")
    assert "instead of" not in typed.err
    assert "no document has: srved" in typed.err


def test_words_that_decide_make_an_empty_answer(brimful, policies):
    """They are named, the exit code is 1, and the option that shows what is nearest is named too."""
    done = brimful("context", "what is our parental leave policy?", policies)
    assert (done.code, done.out) == (1, "")
    assert done.err.splitlines() == [
        "nothing found in 2 documents; no document has: parental, leave",
        "--anyway shows what is nearest",
    ]
    near = brimful("context", "what is our parental leave policy?", policies, "--anyway")
    assert near.code == 0
    assert "policy holds for all" in near.out
    assert "no document has: parental, leave" in near.err
    assert json.loads(brimful("context", "parental leave policy", policies, "--json").out)["relevance"]["nearest"]


def test_no_hint_where_nothing_is_near(brimful, policies):
    """--anyway is named only where it has something to show."""
    done = brimful("context", "zeppelin", policies)
    assert done.err == "nothing found in 2 documents; no document has: zeppelin\n"


def test_windows_that_only_fill_are_marked(brimful, tmp_path):
    """In the list of citations, plain through a pipe and dim on a terminal; and in the record."""
    folder = written(tmp_path / "lonely", LONELY)
    line = ["context", "what is limerence, that state of mind?", folder, "--budget", "300"]
    listed = [each for each in brimful(*line).err.splitlines() if each.startswith("  ")]
    assert listed[0] == "  lonely/limerence.md:1"
    assert all(each.endswith("  fills") for each in listed[1:])
    record = json.loads(brimful(*line, "--json", "-q").out)
    assert [each["filling"] for each in record["windows"]] == [False, *(True for _ in listed[1:])]
    assert "\x1b[2m  fills\x1b[0m" in on_a_terminal(*line)[1]


def test_kinds_of_files_that_count_less_are_explained(brimful, papers):
    """A test counts six tenths, unless priors are switched off."""
    asked = ["explain", "tea is checked or served", papers]
    assert "test: counts 0.6" in brimful(*asked).out
    assert "counts 0.6" not in brimful(*asked, "--set", "priors=off").out
    ranked = [
        [each["score"] for each in json.loads(brimful("search", "tea", papers, "--json", "-q", *more).out)["hits"]]
        for more in ([], ["--no-priors"])
    ]
    assert ranked[0] != ranked[1]


def test_switches_may_be_set(brimful, papers, monkeypatch, tmp_path):
    """In the environment or a file; an option says otherwise, and a word that is neither on nor off is an error."""
    asked = ["explain", "tea is checked or served", papers, "-q"]
    monkeypatch.setenv("BRIMFUL_PRIORS", "no")
    assert "counts 0.6" not in brimful(*asked).out
    assert "counts 0.6" in brimful(*asked, "--set", "priors=on").out
    monkeypatch.setenv("BRIMFUL_PRIORS", "perhaps")
    assert "it is on or off" in brimful(*asked).err
    monkeypatch.delenv("BRIMFUL_PRIORS")
    monkeypatch.setenv("BRIMFUL_CONFIG", str(tmp_path / "own.toml"))
    assert brimful("config", "set", "repair", "off").code == 0
    assert (tmp_path / "own.toml").read_text(encoding="utf-8") == "repair = false\n"
    assert "instead of" not in brimful("context", "when is tea srved", papers).err
    assert "instead of" in brimful("context", "when is tea srved", papers, "--repair").err


@pytest.mark.parametrize("command", ["context", "explain"])
def test_any_choice_by_name(brimful, papers, command, monkeypatch):
    """`--set` takes what has no option of its own, and so does the environment; an unknown name is a usage error."""
    options = ("tea", papers, "--json", "-q", "--set", "max_per_document=1; path=docs/; field.priors=off")
    assert {each["path"] for each in json.loads(brimful(command, *options).out)["windows"]} == {
        "papers/docs/tea.md",
        "papers/docs/tea.py",
    }
    monkeypatch.setenv("BRIMFUL_SET", "path=notes/")
    shown = json.loads(brimful(command, "tea", papers, "--json", "-q").out)["windows"]
    assert {each["path"] for each in shown} == {"papers/notes/cold.md"}
    wrong = brimful(command, "tea", papers, "--set", "ordr=best")
    assert wrong.code == 2
    assert "did you mean 'order'" in wrong.err


def test_a_synonyms_file_fills_the_related_share(brimful, tmp_path, monkeypatch):
    """Its words are looked for beside the question's own, with `related=on`."""
    pages = {"tea.md": "Tea is served at four.\n", "mate.md": "An infusion of leaves, drunk in the south.\n"}
    folder = written(tmp_path / "pages", pages)
    file = tmp_path / "synonyms.txt"
    file.write_text("tea: infusion\n")
    options = ("tea", folder, "--json", "-q", "--fill", "relevant", "--set", "sizing=density; related=on")

    def shown():
        return {each["path"] for each in json.loads(brimful("context", *options).out)["windows"]}

    assert shown() == {"pages/tea.md"}
    monkeypatch.setenv("BRIMFUL_SYNONYMS", str(file))
    assert shown() == {"pages/tea.md", "pages/mate.md"}
