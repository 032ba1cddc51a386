import pytest

from brimful import Document
from brimful.densify.captures import Captures
from brimful.densify.memory import Memory
from brimful.errors import ChoiceError, CorruptError, DocumentError
from brimful.testing import Fault, ScriptedProvider
from tests.densify.test_densify import story


@pytest.fixture
def captures(tmp_path):
    """Captures in a file of their own."""
    with Memory(tmp_path / "m.db") as memory:
        yield Captures(memory)


def test_a_capture_ends_done(captures):
    """Status, original and digest are written down, with the place of each sentence."""
    with ScriptedProvider(limit=1_000) as provider:
        done = captures.capture(story(60), provider.model(limit=1_000), name="visit")
    assert done == captures.get("visit")
    assert done.status == "done"
    assert done.original.content.decode() == story(60)
    assert done.digest
    assert all(cited.sources for cited in done.sentences)


@pytest.mark.seed("DENS capture", "two attempts, then failed with its message", where="densify/captures.py", ruling=15)
def test_a_capture_that_fails_twice_is_failed_with_the_message(captures):
    """DENS: two attempts in total, then `failed`, with the provider's words kept."""
    with ScriptedProvider(every=Fault.status(500, {"error": {"message": "The disk is on fire"}})) as provider:
        failed = captures.capture(story(4), provider.model(), name="visit", sleep=lambda seconds: None)
    assert len(provider.calls) == 2
    assert failed == captures.get("visit")
    assert failed.status == "failed"
    assert failed.message.startswith("provider.unavailable: ")
    assert "The disk is on fire" in failed.message
    assert failed.original.content.decode() == story(4)
    assert failed.document().content.decode() == story(4)
    assert failed.digest_document() is None


def test_an_early_refusal_is_written_down_too(captures):
    """What is refused before any call is a failed capture as well."""
    from brimful.densify.plan import SEED

    with ScriptedProvider() as provider:
        failed = captures.capture("word " * 64_001, provider.model(), name="long", settings=SEED)
    assert failed.message.startswith("input.too_long: ")
    assert provider.calls == []


def test_a_retry_pays_only_for_what_is_missing(captures):
    """A failed capture is taken up where it ended, and becomes done."""
    with ScriptedProvider(limit=1_000, faults={4: Fault.status(401)}) as provider:
        model = provider.model(limit=1_000)
        assert captures.capture(story(200), model, name="visit").status == "failed"
        done = captures.retry("visit", model)
        texts = [call.text for call in provider.answered]
    assert done.status == "done"
    assert len(texts) == len(set(texts))
    assert captures.retry("visit", model) == done


def test_a_pending_capture_is_written_before_the_first_call(captures):
    """Whoever kills the process finds the original and can retry."""
    seen = []

    def reply(prompt: str) -> str:
        seen.append(captures.get("visit").status)
        return "Done."

    with ScriptedProvider(reply=reply) as provider:
        captures.capture(story(3), provider.model(), name="visit")
    assert seen == ["pending"]


def test_captures_are_listed_by_name_and_status(captures):
    """The list is in the order of names, and can be narrowed to a status."""
    captures.capture("Tea at four, then cake.", name="b")
    captures.capture(Document("x.txt", "Cake at five, then tea."), name="a")
    assert [capture.name for capture in captures.list()] == ["a", "b"]
    assert captures.list("failed") == []
    with pytest.raises(ChoiceError, match="done"):
        captures.list("don")
    with pytest.raises(DocumentError, match="no capture 'c'"):
        captures.get("c")


def test_a_damaged_capture_is_noticed(captures):
    """A changed row is not served as what was captured."""
    captures.capture("Tea at four, then cake.", name="a")
    captures.memory.write("UPDATE captures SET digest = ?", ("Coffee.",))
    with pytest.raises(CorruptError, match="'a'"):
        captures.get("a")
