import json
import shlex

import pytest

import brimful as library
from brimful.documents.skips import Skipped
from brimful.engine import Engine
from tests.surfaces.conftest import HOSTILE_NAME, HOSTILE_TEXT, on_a_terminal, start


def test_one_command_reads_a_folder_and_answers(brimful, corpus):
    """The context is standard output; the bar, the citations with lines and the counts are standard error."""
    done = brimful("context", "When did tea come to Europe?", corpus, "--budget", "60")
    assert done.code == 0
    assert "Tea came to Europe in 1610." in done.out
    assert "█" in done.err
    assert "tea.md:1-5" in done.err
    assert "of 3 documents" in done.err
    assert max(map(len, done.err.splitlines())) <= 80


def test_a_secret_that_is_named_like_the_question_is_pointed_out(brimful, tmp_path):
    """A skipped file may be the one that answers, which its name shows; other secrets are only counted."""
    (tmp_path / "tea.md").write_text("Tea is hot.\n")
    for name in ("usage.md", "keys.md"):
        (tmp_path / name).write_text("AKIA" + "Q7ZK2VW9" * 2 + " opens the store.\n")
    done = brimful("context", "What is the usage of tea?", tmp_path)
    assert "skipped: 2 secret" in done.err
    assert f"1 secret matches the question: {tmp_path.name}/usage.md; --allow secret" in done.err


def test_a_pipe_gets_the_bytes_that_were_counted(corpus):
    """In a process of its own: the engine's own text to the byte, no colour, no motion."""
    done = start("context", "tea", corpus, "-b", "50")
    with library.open(corpus.parent / "same.db") as engine:
        engine.add(corpus)
        expected = engine.context("tea", budget=50)
    assert done.out == expected.text
    assert "\033" not in done.out + done.err
    assert f"{expected.tokens} of 50 tokens" in done.err


@pytest.mark.parametrize("environment", [{"NO_COLOR": "1"}, {"TERM": "dumb"}, {"NO_COLOR": ""}])
def test_colour_is_for_terminals_that_want_it(corpus, environment):
    """NO_COLOR (if it says anything) and TERM=dumb keep a terminal plain."""
    code, shown = on_a_terminal("context", "tea", corpus, "-b", "50", **environment)
    assert code == 0
    assert ("\033[" in shown) is (environment == {"NO_COLOR": ""})


def test_a_document_can_not_steer_the_terminal(tmp_path):
    """Escapes, bells and direction marks of a text and of a file's name are written out on a terminal."""
    (tmp_path / HOSTILE_NAME).write_text(HOSTILE_TEXT, encoding="utf-8")
    code, shown = on_a_terminal("context", "zebra", tmp_path, NO_COLOR="1")
    assert code == 0
    assert not set(shown) & set("\x1b\x07\x9b\u202e")
    assert "\\x1b]0;owned\\x07" in shown
    assert "evil\\n\\x1b[31mred.md:1" in shown


def test_a_name_can_not_forge_a_line(brimful, tmp_path):
    """A file's name stays on one line of a list, also through a pipe, and JSON has it exactly."""
    (tmp_path / HOSTILE_NAME).write_text(HOSTILE_TEXT, encoding="utf-8")
    assert brimful("search", "zebra", tmp_path).out.count("\n") == 1
    record = json.loads(brimful("search", "zebra", tmp_path, "--json").out)
    assert record["hits"][0]["path"] == f"{tmp_path.name}/{HOSTILE_NAME}"
    assert record["hits"][0]["text"] in HOSTILE_TEXT


def test_a_correction_is_named(brimful, corpus):
    """What was searched for instead stands on standard error and in the JSON."""
    done = brimful("context", "conciousness", corpus, "-b", "60")
    assert "searched for consciousness instead of conciousness" in done.err
    record = json.loads(brimful("context", "conciousness", corpus, "--json").out)
    assert [(each["word"], each["term"]) for each in record["corrections"]] == [("conciousness", "consciousness")]


def test_json_has_the_whole_result(brimful, corpus):
    """Windows with bytes and lines, tokens, state root, store, skips; bytes and lines are the file's own."""
    (corpus / "picture.png").write_bytes(b"\x89PNG\0\0")
    record = json.loads(brimful("context", "boil", corpus, "-b", "40", "--json", "-q").out)
    (window,) = [each for each in record["windows"] if each["path"] == "corpus/src/kettle.py"]
    content = (corpus / "src/kettle.py").read_bytes()
    assert content[window["start"] : window["end"]].decode() == window["text"]
    assert window["lines"] == [1, 3]
    assert record["tokens"] <= record["budget"] == 40
    assert len(record["root"]) == 64
    assert [(each["path"], each["reason"]) for each in record["skipped"]] == [("corpus/picture.png", "binary")]


@pytest.mark.parametrize("form", ["plain", "markdown", "xml", "json", "messages", "anthropic"])
def test_every_format_is_written(brimful, corpus, form):
    """Formats that are JSON can be read as JSON; the others hold the text as it is."""
    done = brimful("context", "medicine", corpus, "--format", form)
    assert done.code == 0
    shown = done.out if form in ("plain", "markdown", "xml") else json.dumps(json.loads(done.out))
    assert "It was sold as medicine." in shown


def test_the_question_may_come_from_standard_input(corpus):
    """`-` reads it, and other commands see the same store."""
    done = start("context", "-", corpus, "-q", input=b"medicine?")
    assert "It was sold as medicine." in done.out
    assert done.err == ""


def test_nothing_is_written_beside_the_documents(brimful, own, cache):
    """A read-only folder can be asked; its store lies in the cache, readable by its user alone."""
    before = sorted(own.rglob("*"))
    own.chmod(0o555)
    try:
        assert brimful("context", "tea", own).code == 0
    finally:
        own.chmod(0o755)
    assert sorted(own.rglob("*")) == before
    (store,) = cache.glob("own-*")
    assert store.stat().st_mode & 0o077 == 0


def test_a_changed_file_is_read_again(brimful, own):
    """The second question sees what the folder holds now."""
    assert brimful("context", "giraffe", own).code == 1
    (own / "zoo.md").write_text("A giraffe is tall.\n", encoding="utf-8")
    assert "A giraffe is tall." in brimful("context", "giraffe", own).out
    (own / "zoo.md").unlink()
    assert brimful("context", "giraffe", own).code == 1


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["context", "zzqqxx", "{corpus}"], 1, "nothing found in 3 documents"),
        (["context", "tea", "{corpus}", "--budget", "2"], 1, "does not fit into 2 tokens"),
        (["context", "tea", "{corpus}", "--path", "nowhere"], 1, "the filters leave nothing"),
        (["context", "tea", "{corpus}", "--kind", "cod"], 2, "did you mean 'code'"),
        (["context", "tea", "{corpus}", "--after", "tomorrow"], 2, "after is 'tomorrow'"),
        (["search", "tea", "{corpus}", "--without", "?"], 2, "has no word"),
        (["search", "?", "{corpus}"], 1, "no word to look for"),
        (["context", "tea", "{empty}"], 1, "nothing to search"),
        (["context", "tea", "{corpus}/nowhere"], 2, "can't be found"),
        (["status"], 2, "no store is known"),
        (["context", "tea", "{corpus}", "--budget", "0"], 2, "holds nothing"),
        (["context", "tea", "{corpus}", "--budget", "many"], 2, "--budget"),
        (["context", "tea", "{corpus}", "--buget", "5"], 2, "did you mean --budget"),
        (["context", "tea", "{corpus}", "--set", "packing=gredy"], 2, "did you mean 'greedy'"),
        (["context", "tea", "{corpus}", "--model", "gpt-4p"], 2, "did you mean 'gpt-4'"),
        (["contxt", "tea"], 2, "did you mean 'context'"),
        (["search", "tea", "{corpus}", "--limit", "0"], 2, "at least 1"),
        (["add", "{corpus}", "--allow", "hiden"], 2, "did you mean 'hidden'"),
        (["context", "tea", "--store", "{corpus}/tea.db"], 2, "there is no store"),
        (["context", "tea", "{corpus}", "--store", "{corpus}/tea.md"], 5, "tea.md"),
        (["context", "tea", "{corpus}", "--store", "{corpus}/tea.md/x.db"], 5, "can't be made"),
        (["context", "tea", "{corpus}", "--receipt", "{corpus}/no/r.json"], 2, "can't be written"),
        (["verify", "{corpus}/tea.md"], 2, "JSON"),
        (["verify", "{corpus}/nothing.json"], 2, "can't be read"),
        ([], 2, "usage: brimful"),
        (["eval"], 2, "SET"),
        (["eval", "{corpus}"], 2, "is not an evaluation set"),
    ],
)
def test_exit_codes_and_remedies(brimful, corpus, tmp_path, monkeypatch, arguments, code, said):
    """Every outcome has its code, and every error says what to do about it, without a traceback."""
    monkeypatch.chdir(tmp_path)
    done = brimful(*(each.format(corpus=corpus, empty=tmp_path) for each in arguments))
    assert (done.code, done.out) == (code, "")
    assert said in done.err
    assert "Traceback" not in done.err


def test_a_converted_file_is_cited_by_its_own_places(brimful, own):
    """Lines of the converted text are not in the file: headings, cells and messages are."""
    page = "<h1 id=bees>Bees</h1><p>A queen lays 2,000 eggs.</p><h2>Wax</h2><p>Wax melts at 62 degrees.</p>"
    (own / "bees.html").write_text(page, encoding="utf-8")
    done = brimful("context", "queen eggs wax", own, "-b", "60")
    assert "  own/bees.html, #bees to Wax\n" in done.err
    assert "tea.md:1-5" in brimful("context", "tea in Europe", own, "-b", "60").err
    assert brimful("search", "wax melts", own, "-n", "1").out.startswith("own/bees.html, Wax: ")
    (window,) = json.loads(brimful("context", "queen eggs wax", own, "-b", "60", "--json").out)["windows"]
    assert (window["origins"], window["lines"]) == (["#bees", "Wax"], [1, 7])


def test_the_program_alone_shows_its_help(brimful):
    """No command is answered with the list of them, as `--help` writes it and nothing else."""
    assert brimful().err.strip() == brimful("--help").out.strip()


def test_a_file_that_could_be_read_makes_an_answer_partial(brimful, own, monkeypatch):
    """Exit code 3, with the file and its reason; the answer is there all the same."""
    add = Engine.add

    def failing(self, place, **options):
        report = add(self, place, **options)
        report.skipped.append(Skipped("locked.md", "unreadable", "permission denied"))
        return report

    monkeypatch.setattr(Engine, "add", failing)
    done = brimful("context", "tea", own)
    assert done.code == 3
    assert "Tea came to Europe" in done.out
    assert "locked.md: unreadable; permission denied" in done.err


def test_a_long_path_is_cut_at_its_front_and_on_a_terminal_only(brimful, tmp_path):
    """The end of a path tells files apart; a pipe gets all of it, since nobody counts its columns."""
    folder = tmp_path / ("handbook-" * 6 + "of-the-house")
    for language in ("en-US", "de-DE"):
        (folder / language).mkdir(parents=True)
        text = (
            f"<h2>12.1.1.3. How the tea of the house is kept and served</h2><p>Tea is served at four, {language}.</p>"
        )
        (folder / language / "administration.html").write_text(text, encoding="utf-8")
    piped = brimful("context", "When is tea served?", folder, "-b", "200").err
    shown = on_a_terminal("context", "When is tea served?", folder, "-b", "200", NO_COLOR="1")[1]
    cited = [line.strip() for line in shown.splitlines() if line.startswith("  ") and "administration.html" in line]
    for language in ("en-US", "de-DE"):
        assert f"{folder.name}/{language}/administration.html, 12.1.1.3. How the tea of the house is kept" in piped
        assert any(f"/{language}/administration.html, 12.1.1.3." in line for line in cited)
    assert all(line.startswith("…") and len(line) <= 78 for line in cited)


def test_a_written_receipt_names_the_command_that_checks_it(brimful, own, tmp_path, monkeypatch):
    """As it stands it verifies: for the folder that was read, and for a store."""
    monkeypatch.chdir(tmp_path)
    for places in (["own"], ["--store", "a store.db"]):
        brimful("add", own, "--store", "a store.db")
        told = brimful("context", "tea", *places, "-b", "66", "--receipt", "the receipt.json").err
        (command,) = [line.partition("check it: brimful ")[2] for line in told.splitlines() if "check it: " in line]
        done = brimful(*shlex.split(command))
        assert done.code == 0
        assert done.out.startswith("verified: ")


def test_a_path_that_is_not_there_is_named_once(brimful):
    """With what to do, and without the system's number for it."""
    assert (
        brimful("context", "tea", "no-such-folder").err == "brimful: 'no-such-folder' can't be found; check the path\n"
    )
