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
    """The whole text is a document under `capture:` and its name, its digest one beside it that says what it is of."""
    text = "Tea is served at four in the garden. The weather is fine. " * 20
    done = engine.capture(text, name="visit")
    assert (done.status, done.path) == ("done", "capture:visit")
    assert done.original.content.decode() == text
    assert engine.captures() == [done]
    found = {hit.path for hit in engine.search("tea in the garden").hits}
    assert found == {"capture:visit", "capture:visit/digest"}
    assert engine.document("capture:visit").content.decode() == text
    assert done.digest_path == "capture:visit/digest"
    digest = engine.document("capture:visit/digest").content.decode()
    assert digest == f"Digest of capture:visit, by extractive:\n\n{done.digest}"


def test_nothing_of_a_captured_text_is_lost(engine):
    """Every sentence can be found, also those that a digest leaves out, and while no model answers."""
    talk = "".join(f"Point {n} was discussed at length by all who were there. " for n in range(60))
    text = f"{talk}\n\nWe decided to move the launch to 4 June because the venue is taken.\n\n{talk}"
    engine.capture(text, name="standup")
    assert "move the launch to 4 June" in engine.context("When is the launch?", budget=100).text
    failed = engine.capture("The heron stands in the pond. " * 9, name="pond", model=FakeModel(fails=lambda _: away(1)))
    assert failed.status == "failed"
    assert engine.search("heron").hits[0].path == "capture:pond"


def test_a_short_text_is_its_own_digest(engine):
    """What can't be condensed stands once, and the digest of a longer text before it is gone."""
    engine.capture("Tea is served at four in the garden. The weather is fine. " * 20, name="visit")
    assert engine.length("capture:visit/digest")
    done = engine.capture("Tea at four.", name="visit")
    assert done.digest_path is None
    assert engine.length("capture:visit/digest") is None


@pytest.mark.parametrize("text", ["", " \n\t "])
def test_an_empty_text_is_refused(engine, text):
    """Nothing is written down of nothing."""
    with pytest.raises(DocumentError, match="nothing to capture"):
        engine.capture(text, name="nothing")
    assert engine.captures() == []
    assert engine.length("capture:nothing") is None


def test_a_text_without_a_name_is_called_by_its_hash(engine):
    """The same text is captured once; another one has another name."""
    first, again = engine.capture(story(9)), engine.capture(story(9))
    assert first.name == again.name == name_of(story(9))
    engine.capture(story(8))
    assert len(engine.captures()) == 2


def test_a_failed_capture_is_kept_and_retried(engine, tmp_path):
    """A failure is a status, its text found already; another engine takes it up, and then its digest is found."""
    model = FakeModel(fails=away, reply=lambda prompt: "The visitors came by hovercraft.")
    failed = engine.capture(story(30), name="visit", model=model)
    assert failed.status == "failed"
    assert failed.message.startswith("provider.unavailable: ")
    assert not engine.search("hovercraft", repair=False).hits
    assert engine.document("capture:visit").content.decode() == story(30)
    with open_store(tmp_path / "store.db") as other:
        done = other.retry_capture("visit", model=model)
        assert done.status == "done"
        assert other.search("hovercraft").hits[0].path == "capture:visit/digest"
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
