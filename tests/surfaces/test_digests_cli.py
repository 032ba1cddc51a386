"""`brimful densify`, `capture`, `captures` and `context --densify`."""

import json

import pytest

from brimful import tokens_for
from brimful.testing import Fault, ScriptedProvider
from tests.densify.test_densify import story
from tests.surfaces.conftest import start


@pytest.fixture
def text(tmp_path):
    """A file that is longer than the budgets below."""
    file = tmp_path / "tales" / "story.txt"
    file.parent.mkdir()
    file.write_text(story(60), encoding="utf-8")
    return file


def named(provider):
    """The name by which a scripted provider is addressed."""
    return f"{provider.url}#tiny"


def test_a_text_is_condensed_without_a_model(brimful, text):
    """The digest alone is standard output, within the budget; its cost and citations are standard error."""
    done = brimful("densify", text, "--budget", "60")
    assert done.code == 0
    assert 0 < tokens_for("o200k_base").count(done.out.strip()) <= 60
    assert all(line.strip() in story(60) for line in done.out.splitlines() if line != "[...]")
    assert "story.txt:" in done.err
    assert "0 calls" in done.err


def test_standard_input_is_condensed_too():
    """In a process of its own, `-` is the default, and --quiet leaves standard error empty."""
    done = start("densify", "--quiet", "-b", "30", input=story(20).encode())
    assert (done.code, done.err) == (0, "")
    assert done.out.strip()


def test_a_model_is_asked_once(brimful, text, tmp_path):
    """The answers are kept, in the file that is named or in the cache: the same again costs no call."""
    with ScriptedProvider(limit=1_000) as provider:
        for memory in ([], ["--memory", tmp_path / "m.db"]):
            arguments = ["densify", text, "-m", named(provider), "--limit", "1000", *memory]
            first = json.loads(brimful(*arguments, "--json").out)
            calls = len(provider.calls)
            again = json.loads(brimful(*arguments, "--json").out)
            assert first["calls"] > 1
            assert first["complete"]
            assert len(provider.calls) == calls
            assert (again["text"], again["calls"]) == (first["text"], 0)
            assert all(sentence["sources"] for sentence in first["sentences"])


def test_a_provider_that_fails_is_exit_code_4(brimful, text):
    """From every command that asks a model, with its own words on standard error and nothing as data."""
    with ScriptedProvider(every=Fault.status(401, {"error": {"message": "No such key"}})) as provider:
        for arguments in (["densify", text, "-m"], ["context", "keeper", text.parent, "-b", "400", "--densify"]):
            done = brimful(*arguments, named(provider))
            assert (done.code, done.out) == (4, "")
            assert "No such key" in done.err


def test_what_does_not_fit_is_condensed(brimful, text, tmp_path):
    """`context --densify` stays within the budget and marks what a model wrote, which no file can verify."""
    receipt = tmp_path / "receipt.json"
    with ScriptedProvider(reply=lambda prompt: "The days were long.") as provider:
        arguments = ["context", "keeper", text, "-b", "400", "--densify", named(provider)]
        record = json.loads(brimful(*arguments, "--json", "--receipt", receipt).out)
        shown = brimful(*arguments)
    assert record["tokens"] <= 400
    assert [digest["source"] for digest in record["digests"]] == ["story.txt"]
    assert "[DOC: digest:story.txt]\nThe days were long." in shown.out == record["text"]
    assert "digest:story.txt is story.txt, condensed by" in shown.err
    done = brimful("verify", receipt, "--files", text.parent)
    assert done.code == 3
    assert done.out.startswith("all but the words of 1 digest (a model's) verified: ")
    text.write_text(story(60).upper(), encoding="utf-8")
    assert "that digest:story.txt condenses" in brimful("verify", receipt, "--files", text.parent).out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["densify", "missing.txt"], "can't be read"),
        (["densify", "--budget", "0"], "budget of 0"),
        (["densify", "--target", "0"], "target_tokens"),
        (["densify", "-m", "opnai:x"], "did you mean 'openai'"),
        (["context", "tea", "--densify", "opnai:x"], "did you mean 'openai'"),
        (["capture", "missing.txt", "--store", "s.db"], "can't be read"),
    ],
)
def test_a_mistake_is_named(brimful, arguments, message, tmp_path, monkeypatch):
    """Exit code 2 and the value, before anything is read or asked."""
    monkeypatch.chdir(tmp_path)
    done = brimful(*arguments)
    assert (done.code, done.out) == (2, "")
    assert message in done.err
    assert not (tmp_path / "s.db").exists()


def test_a_binary_is_no_text(brimful, tmp_path):
    """What `add` would leave out is named, not condensed."""
    (tmp_path / "a.bin").write_bytes(bytes(range(256)) * 9)
    done = brimful("densify", tmp_path / "a.bin")
    assert done.code == 2
    assert "no text to condense" in done.err


def test_a_capture_is_listed_and_found(brimful, text, tmp_path):
    """A file is captured by its name; `search` finds its digest."""
    store = ["--store", tmp_path / "s.db"]
    assert brimful("capture", text, *store).out == "done       extractive: story.txt\n"
    assert brimful("capture", "--list", *store).out == "done       extractive: story.txt\n"
    record = json.loads(brimful("capture", "--list", "--json", *store).out)["captures"][0]
    assert record["path"] == "capture:story.txt"
    assert "capture:story.txt" in brimful("search", record["digest"][:40], *store).out


def test_a_failed_capture_is_kept_and_retried(brimful, text, tmp_path):
    """Exit code 4, the message in the list, and a retry that pays for what is missing."""
    store = ["--store", tmp_path / "s.db"]
    with ScriptedProvider(faults={1: Fault.status(401, {"error": {"message": "No such key"}})}) as provider:
        failed = brimful("capture", text, "--name", "visit", "-m", named(provider), *store)
        assert failed.code == 4
        assert failed.out.startswith("failed")
        assert "--retry visit" in failed.err
        assert "No such key" in brimful("capture", "--list", *store).out
        done = brimful("capture", "--retry", "visit", *store, "--json")
    assert done.code == 0
    assert json.loads(done.out)["captures"][0]["status"] == "done"


def test_no_captures_is_exit_code_1(brimful, corpus):
    """A store without captures lists nothing."""
    brimful("context", "tea", corpus)
    with_none = brimful("capture", "--list", "--store", json.loads(brimful("status", corpus, "--json").out)["store"])
    assert (with_none.code, with_none.out) == (1, "")
