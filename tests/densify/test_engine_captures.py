"""Captures through the engine: written down beside the store, condensed, found; retried; erased."""

import pytest

from brimful.densify.captures import name_of
from brimful.engine import open as open_store
from brimful.errors import DocumentError, StoreError, UnavailableError
from brimful.testing import FakeModel
from tests.densify.test_densify import story

SECRET = "The zeppelin is hidden under the bridge of Arnstadt. "


@pytest.fixture
def engine(tmp_path):
    """An empty store."""
    with open_store(tmp_path / "store.db") as made:
        yield made


def away(number):
    """What a server that is not there raises, twice."""
    if number <= 2:
        raise UnavailableError("the server is away; look whether it is up")


def test_a_done_capture_is_found_by_search(engine):
    """Status, original and digest are kept; the digest is a document under `capture:` and its name."""
    text = "Tea is served at four in the garden. The weather is fine. " * 20
    done = engine.capture(text, name="visit")
    assert (done.status, done.path) == ("done", "capture:visit")
    assert done.original.content.decode() == text
    assert engine.captures() == [done]
    assert engine.search("tea in the garden").hits[0].path == "capture:visit"
    assert engine.document("capture:visit").content.decode() == done.digest


def test_a_text_without_a_name_is_called_by_its_hash(engine):
    """The same text is captured once; another one has another name."""
    first, again = engine.capture(story(9)), engine.capture(story(9))
    assert first.name == again.name == name_of(story(9))
    engine.capture(story(8))
    assert len(engine.captures()) == 2


def test_a_failed_capture_is_kept_and_retried(engine, tmp_path):
    """A failure is a status, in no search; another engine of the same store takes it up, and then it is found."""
    model = FakeModel(fails=away, reply=lambda prompt: "The visitors came by boat.")
    failed = engine.capture(story(30), name="visit", model=model)
    assert failed.status == "failed"
    assert failed.message.startswith("provider.unavailable: ")
    assert not engine.search("boat").hits
    with open_store(tmp_path / "store.db") as other:
        done = other.retry_capture("visit", model=model)
        assert done.status == "done"
        assert other.search("boat").hits[0].path == "capture:visit"
    assert [capture.status for capture in engine.captures()] == ["done"]
    with pytest.raises(DocumentError, match="'nobody'"):
        engine.retry_capture("nobody")


def test_retrying_a_done_capture_stores_it_again(engine):
    """So one whose document was never stored, because the process ended in between, is found after all."""
    engine.capture(story(9), name="visit")
    engine.remove("capture:visit")
    engine.retry_capture("visit")
    assert engine.document("capture:visit")


def test_purging_leaves_no_byte_beside_the_store_either(engine, tmp_path):
    """Answers of models and captures whose document was removed are erased; other captures stay."""
    model = FakeModel(reply=lambda prompt: SECRET)
    engine.capture(SECRET * 40, name="secret", model=model)
    engine.capture(story(9), name="visit")
    engine.remove("capture:secret")
    engine.purge()
    assert [capture.name for capture in engine.captures()] == ["visit"]
    held = b"".join(file.read_bytes() for file in tmp_path.iterdir())
    assert b"zeppelin" not in held


def test_nothing_is_made_beside_a_store_that_captures_nothing(engine, tmp_path):
    """The file of answers and captures is made when one is needed, and a closed engine has none."""
    engine.add_text("tea.md", "Tea is at four.")
    engine.context("tea", densify="extractive:")
    engine.purge()
    assert not [file for file in tmp_path.iterdir() if "digests" in file.name]
    engine.close()
    with pytest.raises(StoreError, match="closed"):
        engine.captures()
