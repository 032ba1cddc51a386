"""What does not fit is condensed: within the same budget, cited, recorded, and paid once."""

import json
import threading
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from brimful import Document
from brimful.engine import open as open_store
from brimful.errors import SettingError, UnavailableError
from brimful.receipts.offline import check
from brimful.receipts.receipt import Receipt
from brimful.settings import FORMATS
from brimful.testing import FakeModel
from tests.densify.test_densify import story

QUESTION = "What did the keeper of the lighthouse write down?"


def notebook(number):
    """A document of its own about the lighthouse."""
    lines = [
        f"On day {day} of journey {number} the keeper of the lighthouse wrote {day * 7 + number} lines on tide {day}."
        for day in range(40)
    ]
    return Document(f"note{number}.md", "\n\n".join(lines))


@pytest.fixture
def engine(tmp_path):
    """Twelve notebooks, far more than the budgets below."""
    with open_store(tmp_path / "store.db") as made:
        made.add_documents(notebook(number) for number in range(12))
        yield made


def failing(*numbers):
    """A model that fails at these calls."""

    def fails(number):
        if number in numbers:
            raise UnavailableError("the server is away; look whether it is up")

    return FakeModel(fails=fails)


@pytest.mark.parametrize("model", ["extractive:", FakeModel()], ids=["extractive", "model"])
@pytest.mark.parametrize("name", FORMATS)
def test_the_budget_holds_to_the_token_in_every_format(engine, model, name):
    """The promise is about the final text, condensed or not; every byte of it is accounted for."""
    for budget in (1, 30, 90, 400, 1_500):
        context = engine.context(QUESTION, budget=budget, densify=model, format=name, with_question=False)
        assert context.tokens <= budget
        assert "".join(piece.text for piece in context.pieces) == context.text
        assert context.drift() == []
        assert engine.verify(context.receipt, text=context.text) == []


def test_more_of_the_corpus_is_told(engine):
    """The same budget reaches more documents, and is as full."""
    plain = engine.context(QUESTION, budget=600)
    condensed = engine.context(QUESTION, budget=600, densify="extractive:", densify_percent=40)
    assert len({window.path for window in condensed.windows}) > len({window.path for window in plain.windows})
    assert condensed.tokens >= 600 * 98 // 100
    assert any(each.reason == "condensed" for each in condensed.omitted)


def test_what_fits_is_not_condensed(engine):
    """With room for everything the context is the same, and no model is asked."""
    model = FakeModel()
    engine.add_text("tea.md", "Tea is served at four.")
    plain = engine.context("tea", budget=60_000)
    assert engine.context("tea", budget=60_000, densify=model).text == plain.text
    assert model.calls == 0


def test_sentences_without_a_model_are_windows(engine):
    """`extractive:` shows source bytes alone, the same ones each time, and a receipt that asks again gets them."""
    context = engine.context(QUESTION, budget=600, densify="extractive:")
    assert {piece.kind for piece in context.pieces} <= {"source", "literal"}
    assert context.digests == ()
    assert engine.verify_determinism(QUESTION, budget=600, densify="extractive:")
    assert engine.replay(context.receipt.to_json()).text == context.text


def test_a_digest_is_a_document_of_its_own(engine):
    """It is marked by its path, and its sentences cite ranges of the document that it condenses."""
    context = engine.context(QUESTION, budget=900, densify=FakeModel())
    assert context.digests
    for digest in context.digests:
        assert digest.path == f"digest:{digest.source}"
        assert f"[DOC: {digest.path}]\n{digest.document.content.decode()}" in context.text
        source = engine.document(digest.source)
        assert digest.sentences
        for span, sources in digest.sentences:
            assert digest.document.text(span.start, span.end).strip()
            assert all(source.text(each.start, each.end).strip() for each in sources)
    told = {piece.path for piece in context.pieces if piece.kind == "digest"}
    assert told == {digest.path for digest in context.digests}
    record = json.loads(context.to_json())
    assert [each["path"] for each in record["digests"]] == [digest.path for digest in context.digests]


def test_a_receipt_records_model_hash_and_sources(engine):
    """A changed word of a digest is found in the text, a changed byte of its source in the store."""
    context = engine.context(QUESTION, budget=900, densify=FakeModel())
    receipt = Receipt.from_json(context.receipt.to_json())
    assert receipt == context.receipt
    cited, digest = receipt.digests[0], context.digests[0]
    assert (cited.path, cited.model, cited.source) == (digest.path, "fake:model", digest.source)
    assert receipt.settings["ask"]["densify"] == "fake:model"
    said = digest.document.content.decode()
    (found,) = engine.verify(receipt, text=context.text.replace(said, said.swapcase()))
    assert (found.kind, found.path) == ("window", digest.path)
    source = engine.document(digest.source)
    first = digest.sentences[0].sources[0]
    engine.add_text(source.path, source.content[: first.start] + b"X" + source.content[first.start + 1 :])
    changed = [each for each in engine.verify(receipt) if each.kind == "changed"]
    assert any(digest.path in each.message and each.start == first.start for each in changed)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda digest: replace(digest, path=digest.source), "path of another"),
        (lambda digest: replace(digest, source="none.md"), "does not have"),
        (lambda digest: replace(digest, sources=digest.sources[:0]), "names no source"),
    ],
)
def test_a_receipt_whose_digest_contradicts_itself_is_found(engine, change, message):
    """Sources outside of the document, sentences without sources and doubled paths are named."""
    receipt = engine.context(QUESTION, budget=900, densify=FakeModel()).receipt
    forged = replace(receipt, digests=(change(receipt.digests[0]), *receipt.digests[1:]))
    assert any(message in each.message for each in check(forged))


def test_a_receipt_without_digests_does_not_mention_them(engine):
    """So receipts of before are read, and have the id that they had."""
    receipt = engine.context(QUESTION, budget=300).receipt
    assert "digests" not in json.loads(receipt.to_json())
    assert Receipt.from_json(receipt.to_json()).digests == ()


def test_no_answer_is_paid_twice(engine, tmp_path):
    """The file beside the store remembers: another engine, and a run after a failure, ask only for what is missing."""
    model = failing(3, 4)
    with pytest.raises(UnavailableError):
        engine.context(QUESTION, budget=2_000, densify=model)
    assert len(model.answered) == 2
    context = engine.context(QUESTION, budget=2_000, densify=model)
    assert len(model.answered) == len(set(model.answered)) == len(context.digests)
    again = FakeModel()
    with open_store(tmp_path / "store.db") as other:
        assert other.context(QUESTION, budget=2_000, densify=again).text == context.text
    assert again.calls == 0


def test_others_are_served_while_a_model_works(engine):
    """A slow model holds up nobody but who asked; what was added meanwhile is in the answer's state."""
    begun, go = threading.Event(), threading.Event()

    def slow(prompt):
        begun.set()
        assert go.wait(30)
        return "The keeper wrote about the tides."

    made = []
    asking = threading.Thread(
        target=lambda: made.append(engine.context(QUESTION, budget=900, densify=FakeModel(reply=slow)))
    )
    asking.start()
    assert begun.wait(30)
    assert engine.search("lighthouse").hits
    engine.add_text("new.md", story(3))
    go.set()
    asking.join(60)
    assert made[0].receipt.state_root == engine.root


def test_a_document_named_like_a_digest_stays_itself(engine):
    """No digest takes the path of a stored document."""
    first = engine.context(QUESTION, budget=900, densify=FakeModel()).digests[0].path
    engine.add_text(first, "Something else.")
    context = engine.context(QUESTION, budget=900, densify=FakeModel())
    assert f"digest:{first}" in {digest.path for digest in context.digests}
    assert engine.verify(context.receipt, text=context.text) == []


@pytest.mark.parametrize("strategy", ["temporal", "semantic", "narrative"])
@pytest.mark.parametrize("sizing", ["field", "elastic", "density", "radial"])
def test_condensing_goes_with_every_sizing_and_strategy(engine, sizing, strategy):
    """Linked windows and windows of other sizes keep the promises."""
    for model in ("extractive:", FakeModel()):
        context = engine.context(QUESTION, budget=500, densify=model, sizing=sizing, strategy=strategy)
        assert 0 < context.tokens <= 500
        assert engine.verify(context.receipt, text=context.text) == []


@pytest.mark.parametrize("percent", [0, 91, "half", True])
def test_a_share_that_leaves_nothing_is_refused(engine, percent):
    """The share for digests is a whole number of percent."""
    with pytest.raises(SettingError, match="densify_percent"):
        engine.context(QUESTION, densify="extractive:", densify_percent=percent)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    texts=st.lists(st.text(st.sampled_from("tea at four. Käse \n日本\U0001f375.`|#"), min_size=1), max_size=6),
    budget=st.integers(1, 200),
    percent=st.integers(1, 90),
)
def test_any_text_is_condensed_within_any_budget(tmp_path_factory, texts, budget, percent):
    """Whatever the documents hold: never over the budget, every byte cited, the receipt holds."""
    with open_store(tmp_path_factory.mktemp("any") / "s.db") as engine:
        engine.add_documents(Document(f"{number}.md", "tea " + text * 9) for number, text in enumerate(texts))
        for model in ("extractive:", FakeModel()):
            context = engine.context("tea four", budget=budget, densify=model, densify_percent=percent)
            assert context.tokens <= budget
            assert context.drift() == []
            assert engine.verify(context.receipt, text=context.text) == []
