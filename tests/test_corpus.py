"""A corpus at one moment: nothing of it changes, whatever becomes of the store."""

import threading

import pytest

import brimful
from brimful import Budget
from brimful.errors import InputError, StoreError
from brimful.settings import Ask


@pytest.fixture
def engine(tmp_path):
    """A store with three documents."""
    with brimful.open(tmp_path / "store.db") as made:
        for number in range(3):
            made.add_text(f"{number}.md", f"Tea number {number} is served at four. " * 8)
        yield made


def test_a_corpus_stays_as_it_is_while_others_add(engine):
    """Documents, searches and contexts are of the moment at which it was taken; the next one has what was added."""
    with engine.corpus() as corpus:
        before = corpus.context(Ask("When is tea served?", Budget(900)))
        adding = threading.Thread(target=engine.add_text, args=("new.md", "Tea is served at five now."))
        adding.start()
        adding.join()
        assert corpus.length("new.md") is None
        assert len(corpus.documents()) == 3
        assert corpus.context(Ask("When is tea served?", Budget(900))) is before
        assert engine.length("new.md") is None, "a thread sees one state until it is done"
    assert engine.length("new.md") is not None
    with engine.corpus() as newer:
        assert newer is not corpus
        assert newer.root != corpus.root


def test_threads_share_one_corpus(engine):
    """All that ask at one state get the very same object, and the very same context."""
    seen = []

    def ask():
        with engine.corpus() as corpus:
            seen.append((corpus, corpus.context(Ask("tea", Budget(900)))))

    threads = [threading.Thread(target=ask) for _ in range(4)]
    with engine.corpus() as corpus:
        for each in threads:
            each.start()
        for each in threads:
            each.join()
    assert {id(found) for found, _ in seen} == {id(corpus)}
    assert len({context.text for _, context in seen}) == 1


def test_an_ask_is_what_its_choices_are(engine):
    """Said one by one or as one value: the same context, from the same memory."""
    ask = Ask.of("When is tea served?", {"budget": 60, "order": "best", "format": "xml"})
    assert engine.context(ask) is engine.context("When is tea served?", budget=60, order="best", format="xml")
    assert str(engine.explain(ask)) == str(engine.explain(ask.question, budget=60, order="best", format="xml"))


def test_a_context_outlives_its_engine(tmp_path):
    """Prices that were worked out are numbers; those that were not are none, and nothing is asked."""
    with brimful.open(tmp_path / "store.db") as engine:
        for number in range(9):
            engine.add_text(f"{number}.md", f"Scones number {number} are baked with care. Nobody counts them. " * 4)
        plain = engine.context("scones", budget=120)
        priced = engine.prices(plain, most=2)
    assert plain.omitted
    assert [each.enters_at for each in plain.omitted] == [None] * len(plain.omitted)
    assert [each.enters_at is not None for each in priced.omitted[:3]] == [True, True, False]
    with pytest.raises(StoreError, match="was closed"):
        engine.prices(plain)


def test_what_has_no_receipt_has_no_price(engine):
    """A context that was packed by hand can't be asked again."""
    with pytest.raises(InputError, match="no receipt"):
        engine.prices(brimful.pack([brimful.Window("a.md", "Tea.")], budget=50))


def test_a_context_says_where_its_windows_stand(tmp_path):
    """Lengths and origins are values of the context, so nobody has to ask the engine again."""
    (tmp_path / "tea.html").write_text("<h1 id=tea>Tea</h1><p>Tea is served at four.</p>")
    with brimful.open(tmp_path / "store.db") as engine:
        engine.add(tmp_path / "tea.html")
        engine.add_text("note.md", "Tea is cold by five.\n")
        context = engine.context("When is tea served?", budget=90)
        for window, length, origins in zip(context.windows, context.lengths, context.origins, strict=True):
            assert length == engine.length(window.path)
            assert origins == engine.origins(window.path, window.start, window.end)
    assert any(context.origins)
