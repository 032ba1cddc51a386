"""A model reads the best places when a question needs them, and what it read is remembered."""

import numpy as np
import pytest
from brimful.search.meaning import CELL_BYTES, all_passages, passage_texts

import brimful
from brimful.errors import ChoiceError, EndpointError, SettingError
from brimful.neural.embedders import wrap
from brimful.search.search import search
from brimful.testing import FakeReranker

FILLER = "The harbour is quiet in winter, and the ledger lies open on the desk. "
PAGES = "".join(FILLER.replace("ledger", f"ledger {n}") for n in range(12))
TEXTS = {
    "locks.md": f"{PAGES}\n\nA file lock keeps a second job away while the first one runs.\n\n{PAGES}",
    "jobs.md": f"{PAGES}\n\nTwo jobs run at once: jobs running at once are jobs.\n\n{PAGES}",
    "other.md": FILLER * 40,
}
QUESTION = "keep two jobs from running at once"


class Counting:
    """An embedder that knows what a lock is for, and counts what it is asked to read."""

    def __init__(self):
        self.read = []
        self.fails = False

    def __call__(self, texts):
        """A vector for each text."""
        self.read += texts
        if self.fails and len(texts) > 1:
            raise EndpointError("the model went away; start it again")
        return np.array([[1.0, 0.1, 0.0] if "lock" in text or text == QUESTION else [0.1, 0.9, 0.4] for text in texts])


@pytest.fixture
def counting():
    """A fresh one."""
    return Counting()


def opened(path, counting, **more):
    """An engine whose questions are read by that model."""
    return brimful.open(path, embedder=wrap("counting", counting, dimensions=3), **more)


def fill(path):
    """A store with the texts."""
    with brimful.open(path) as engine:
        engine.add_documents(brimful.Document(name, text) for name, text in TEXTS.items())


def test_what_is_meant_moves_up(tmp_path, counting):
    """The passage about locks has hardly a word of the question, and stands above those that have more all the same."""
    fill(tmp_path / "a.db")
    with opened(tmp_path / "a.db", counting) as engine:
        engine.add_documents(brimful.Document(f"{n}.md", f"Once {n} people were running a shop.") for n in range(20))

        def place(found):
            texts = [engine.text(hit.path, hit.start, hit.end) for hit in found.hits]
            return next(at for at, text in enumerate(texts) if "A file lock keeps" in text)

        by_words = engine.search(QUESTION, meaning="words", limit=50)
        assert by_words.hits[0].path == "jobs.md"
        assert by_words.read is None
        assert not counting.read
        found = engine.search(QUESTION, limit=50)
        assert place(found) < place(by_words)
        assert found.hits[place(found)].semantic > 0
        assert found.read.embedded == found.read.passages > 1


@pytest.mark.parametrize("is_warm", [False, True])
def test_documents_move_up_by_what_is_meant_in_them(tmp_path, counting, is_warm):
    """The document about locks is the first, though others have more words of the question."""
    fill(tmp_path / "a.db")
    with opened(tmp_path / "a.db", counting) as engine:
        engine.add_documents(brimful.Document(f"{n}.md", f"Once {n} people were running a shop.") for n in range(20))
        if is_warm:
            engine.warm()
        by_words = [path for path, _ in engine.search(QUESTION, meaning="words", limit=50).documents]
        assert by_words.index("locks.md") > 0
        found = engine.search(QUESTION, limit=50)
        assert found.documents[0][0] == "locks.md"
        assert found.read.is_full == is_warm


def test_no_text_is_read_twice(tmp_path, counting):
    """Neither by the next question, nor at another budget, nor by another process that opens the store."""
    fill(tmp_path / "a.db")
    with opened(tmp_path / "a.db", counting) as engine:
        first = engine.context(QUESTION, budget=200)
        read = len(counting.read)
        engine.context(QUESTION, budget=900)
        assert len(counting.read) == read
    again = Counting()
    with opened(tmp_path / "a.db", again) as engine:
        second = engine.context(QUESTION, budget=200)
        assert again.read == [QUESTION]
        assert second.text == first.text
        assert (second.read.embedded, first.read.embedded > 0) == (0, True)
        assert second.receipt.id == first.receipt.id


def test_what_was_asked_before_changes_nothing(tmp_path, counting):
    """The same bytes in a store that has answered other questions, and in a warm one (ruling 27)."""
    texts = []
    for name, before in (("cold", ()), ("used", ("harbour ledger", "a lock")), ("warm", None)):
        fill(tmp_path / f"{name}.db")
        with opened(tmp_path / f"{name}.db", counting) as engine:
            for question in before or ():
                engine.context(question, budget=300)
            if before is None:
                assert engine.warm() == len(list(all_passages(engine.columns)))
                read = len(counting.read)
            texts.append(engine.context(QUESTION, budget=250, meaning="late").text)
            if before is None:
                assert counting.read[read:] == [QUESTION]
    assert texts[0] == texts[1] == texts[2]


def test_passages_cover_every_byte_once(tmp_path, counting):
    """Every unit is in one passage, passages follow each other, and none is much longer than its cell."""
    fill(tmp_path / "a.db")
    with opened(tmp_path / "a.db", counting) as engine:
        columns = engine.columns
        passages = passage_texts(columns, list(all_passages(columns)))
        for path, text in TEXTS.items():
            own = [each.removeprefix(f"{path}: ") for each in passages if each.startswith(f"{path}: ")]
            assert "".join(own) == text
            assert max(map(len, own)) <= 2 * CELL_BYTES


def test_a_model_that_fails_leaves_an_answer_by_words(tmp_path, counting):
    """It says so, and its receipt names no model; nothing half read is kept."""
    fill(tmp_path / "a.db")
    counting.fails = True
    with opened(tmp_path / "a.db", counting) as engine:
        context = engine.context(QUESTION, budget=200)
        assert context.text == engine.context(QUESTION, budget=200, meaning="words").text
        assert context.read.failed == "the model went away; start it again"
        assert context.receipt.settings["embedder"] is None


def test_the_receipt_names_the_model_and_replays(tmp_path, counting):
    """Which model read, and by which runtime; asked again with another one it is refused."""
    fill(tmp_path / "a.db")
    with opened(tmp_path / "a.db", counting) as engine:
        context = engine.context(QUESTION, budget=200)
        assert context.receipt.settings["embedder"].startswith("counting (")
        assert engine.replay(context.receipt).text == context.text
    with (
        brimful.open(tmp_path / "a.db", embedder="none") as engine,
        pytest.raises(SettingError, match="counting"),
    ):
        engine.replay(context.receipt)


def test_warming_needs_a_model(tmp_path):
    """The error says how to get one."""
    fill(tmp_path / "a.db")
    with brimful.open(tmp_path / "a.db", embedder="none") as engine, pytest.raises(SettingError, match="minilm"):
        engine.warm()


# ---- a corpus that was read ahead


def test_a_warm_corpus_is_asked_by_meaning_alone(tmp_path, counting):
    """What shares no word with the question is found, and the receipt says that every passage was compared."""
    fill(tmp_path / "a.db")
    with opened(tmp_path / "a.db", counting) as engine:
        engine.add_text("far.md", "A padlock, a key and a lock.")
        assert "far.md" not in engine.context(QUESTION, budget=2_000).text
        engine.warm()
        read = len(counting.read)
        context = engine.context(QUESTION, budget=2_000)
        assert "A padlock, a key and a lock." in context.text
        assert context.read.is_full
        assert context.read.embedded == 0
        assert context.receipt.settings["ask"]["meaning"] == "full"
        assert counting.read[read:] in ([], [QUESTION])
        assert engine.replay(context.receipt).text == context.text


def test_filters_hold_for_what_is_near(tmp_path, counting):
    """What is nearest in meaning, in a document that may not answer, is no candidate."""
    fill(tmp_path / "a.db")
    with opened(tmp_path / "a.db", counting) as engine:
        engine.warm()
        assert "lock" in engine.context(QUESTION, budget=400).text
        assert "lock" not in engine.context(QUESTION, budget=400, not_path="locks").text


def test_full_names_what_is_missing(tmp_path, counting):
    """Before it was warmed, and for a document that came later; "auto" reads the best places then."""
    fill(tmp_path / "a.db")
    with opened(tmp_path / "a.db", counting) as engine:
        with pytest.raises(SettingError, match=r"3 of 3 documents .*brimful warm"):
            engine.context(QUESTION, budget=200, meaning="full")
        engine.warm()
        assert engine.context(QUESTION, budget=200, meaning="full").text
        engine.add_text("new.md", "A new note.")
        with pytest.raises(SettingError, match="1 of 4 documents"):
            engine.search(QUESTION, meaning="full")
        assert engine.search(QUESTION).read.is_full is False
        read = len(counting.read)
        engine.warm()
        assert counting.read[read:] == ["new.md: A new note."]
        assert engine.search(QUESTION).read.is_full


def test_full_needs_a_model(tmp_path):
    """Without one the error says how to get it."""
    fill(tmp_path / "a.db")
    with brimful.open(tmp_path / "a.db", embedder="none") as engine, pytest.raises(SettingError, match="minilm"):
        engine.context(QUESTION, budget=200, meaning="full")


def test_a_warm_that_was_broken_off_goes_on(tmp_path, counting):
    """What was read before the model failed is not read again."""
    fill(tmp_path / "a.db")
    with opened(tmp_path / "a.db", counting) as engine:
        before = set()

        def stop(done, of):
            if done < of:
                before.update(counting.read)
                counting.fails = True

        with pytest.raises(EndpointError):
            engine.warm(progress=stop)
        counting.fails, counting.read = False, []
        engine.warm()
        assert before
        assert before.isdisjoint(counting.read)


def test_what_was_read_ahead_serves_the_late_leg(tmp_path, counting):
    """A warm corpus embeds nothing for "late" either, and gives the same as a cold one."""
    texts = []
    for name in ("cold", "warm"):
        fill(tmp_path / f"{name}.db")
        with opened(tmp_path / f"{name}.db", counting) as engine:
            if name == "warm":
                engine.warm()
            found = engine.search(QUESTION, meaning="late", limit=40)
            assert (found.read.embedded == 0) == (name == "warm")
            texts.append([(hit.path, hit.start, hit.score) for hit in found.hits])
    assert texts[0] == texts[1]


def test_vectors_of_what_is_gone_are_forgotten(tmp_path, counting):
    """After a document was removed and the corpus warmed again, nothing of it is kept."""
    fill(tmp_path / "a.db")
    with opened(tmp_path / "a.db", counting) as engine:
        engine.warm()
        engine.remove("locks.md")
        engine.warm()
        counting.read.clear()
        engine.add_text("locks.md", TEXTS["locks.md"])
        engine.warm()
        assert all(text.startswith("locks.md: ") for text in counting.read)
        assert counting.read


def test_other_words_are_an_answer_where_a_model_says_so(tmp_path, counting):
    """No word of the question is anywhere: by words there is no answer, by meaning there is one."""
    with opened(tmp_path / "a.db", counting) as engine:
        engine.add_text("far.md", "A padlock, a key and a lock.")
        engine.add_text("other.md", FILLER)
        question = "zeppelin"
        assert engine.context(question, budget=100).text == ""
    meant = wrap("all alike", lambda texts: np.array([[1.0, 0.0, 0.0] for _ in texts]), dimensions=3)
    with brimful.open(tmp_path / "b.db", embedder=meant) as engine:
        engine.add_text("far.md", "A padlock, a key and a lock.")
        engine.warm()
        context = engine.context("zeppelin", budget=100)
        assert "padlock" in context.text
        assert context.relevance.missing == ("zeppelin",)


def test_a_name_is_not_said_in_other_words(tmp_path):
    """A model finds everything alike: that answers a question for a thing, not one for a name that stands nowhere."""
    meant = wrap("all alike", lambda texts: np.array([[1.0, 0.0, 0.0] for _ in texts]), dimensions=3)
    with brimful.open(tmp_path / "a.db", embedder=meant) as engine:
        engine.add_documents(brimful.Document(name, text) for name, text in TEXTS.items())
        assert engine.context("how do I read a zeppelin?", budget=100).text
        assert engine.context("how do I read Zeppelin?", budget=100).text == ""
        assert engine.context("how do I read zeppelinDB?", budget=100).text == ""
        assert engine.search("the harbour of Zeppelin").lacks_name
        assert not engine.search("Zeppelin in the harbour").lacks_name  # any first word has a capital
        assert not engine.search("The Zeppelin In The Harbour").lacks_name  # and any of a title


@pytest.mark.parametrize(("is_warm", "is_answered"), [(False, True), (True, False)])
def test_less_has_to_be_missing_where_every_passage_was_read(tmp_path, is_warm, is_answered):
    """Half of a question stands nowhere: that nothing else says it either is known once a model has read all of it."""
    asked = "zeppelin walrus"
    unlike = wrap("unlike", lambda texts: np.array([[t == asked, t != asked] for t in texts], float), dimensions=2)
    with brimful.open(tmp_path / "a.db", embedder=unlike) as engine:
        engine.add_documents(brimful.Document(f"{n}.md", f"{FILLER * 3} Kettle {n}.") for n in range(12))
        engine.add_text("a.md", f"{FILLER * 9} A walrus came.")
        if is_warm:
            engine.warm()
        found = engine.search(asked, limit=5)
        assert 0.4 <= found.lacking < 0.6
        assert found.read.is_full == is_warm
        assert bool(engine.context(asked, budget=100).text) == is_answered


def test_what_a_model_finds_in_tests_counts_as_little_as_their_words(tmp_path):
    """A test that a model finds as near as the manual stands behind it."""
    meant = wrap("all alike", lambda texts: np.array([[1.0, 0.0, 0.0] for _ in texts]), dimensions=3)
    text = "def locks_are_kept():\n    return 'a lock keeps a second job away'\n"
    with brimful.open(tmp_path / "a.db", embedder=meant) as engine:
        engine.add_text("tests/test_locks.py", text)
        engine.add_text("locks.py", text)
        worths = {hit.path: hit.semantic for hit in engine.search("what keeps a second job away?").hits}
    assert 0 < worths["tests/test_locks.py"] < worths["locks.py"]


def test_a_passage_is_read_with_the_headings_above_it(tmp_path):
    """Path, chapter and section stand before its text; a heading that it begins with itself stands there once."""
    pages = f"# Deployment\n\n{FILLER * 9}\n\n## Proxies\n\n{FILLER * 9}\n\n## Caches\n\n{FILLER * 9}"
    with brimful.open(tmp_path / "a.db") as engine:
        engine.add_documents([brimful.Document("guide.md", pages), brimful.Document("a.py", CODE)])
        texts = passage_texts(engine.columns, list(all_passages(engine.columns)))
    heads = {text.partition(": ")[0] for text in texts}
    assert heads >= {"guide.md", "guide.md > Deployment", "guide.md > Deployment > Proxies", "a.py > class Kettle"}
    assert "guide.md > Deployment > Caches" in heads
    assert not any("Proxies: ## Caches" in text for text in texts)


CODE = "class Kettle:\n" + "".join(f"    def pour_{n}(self):\n        return {n} * self.cups\n\n" for n in range(40))


def test_a_reranker_puts_the_best_passages_in_order(tmp_path):
    """It reads the question with each of the best passages, once each; they change places among themselves."""
    fill(tmp_path / "a.db")
    with brimful.open(tmp_path / "a.db") as engine:
        plain = search(engine.columns, QUESTION)
        reranker = Preferring("lock")
        found = search(engine.columns, QUESTION, reranker=reranker)
        assert "lock" in engine.text(found.hits[0].path, found.hits[0].start - 600, found.hits[0].end + 600)
        assert plain.hits[0].path == "jobs.md" != found.hits[0].path
        assert sorted((hit.path, hit.start) for hit in found.hits) == sorted(
            (hit.path, hit.start) for hit in plain.hits
        )
        ((question, texts),) = reranker.asked
        assert question == QUESTION
        assert len(set(texts)) == len(texts) == found.read.reranked
        assert found.read.reranker == reranker.name


class Preferring(FakeReranker):
    """A reranker that likes one word."""

    def __init__(self, word):
        super().__init__()
        self._word = word

    def scores(self, question, texts):
        """A thousand for each text that has it."""
        super().scores(question, texts)
        return [1_000 * (self._word in text) for text in texts]


def test_a_reranker_that_fails_leaves_the_order_and_says_so(tmp_path):
    """The answer is the one without it."""

    def fail(_):
        raise EndpointError("the reranker went away; start it again")

    fill(tmp_path / "a.db")
    with brimful.open(tmp_path / "a.db") as engine:
        plain = search(engine.columns, QUESTION)
        found = search(engine.columns, QUESTION, reranker=FakeReranker(fails=fail))
    assert found.hits == plain.hits
    assert found.read.not_reranked == "the reranker went away; start it again"
    assert found.read.reranked == 0


def test_a_context_names_who_put_its_passages_in_order(tmp_path):
    """The receipt says so, and is asked again with the same reranker only."""
    fill(tmp_path / "a.db")
    with brimful.open(tmp_path / "a.db", reranker=Preferring("lock")) as engine:
        context = engine.context(QUESTION, budget=120)
        assert "A file lock keeps" in context.text
        assert context.read.reranker == context.receipt.settings["reranker"] == "fake:shared-words"
        assert engine.verify(context.receipt, text=context.text, replay=True) == []
    with brimful.open(tmp_path / "a.db") as engine:
        assert "reranker" not in engine.context(QUESTION, budget=120).receipt.settings
        with pytest.raises(SettingError, match="fake:shared-words"):
            engine.replay(context.receipt)


def test_an_unknown_reranker_is_named_with_the_choices(tmp_path, monkeypatch):
    """Where the environment names one too, with the first question."""
    fill(tmp_path / "a.db")
    monkeypatch.setenv("BRIMFUL_RERANKER", "cross-encodr:small")
    with (
        brimful.open(tmp_path / "a.db") as engine,
        pytest.raises(ChoiceError, match="unknown reranker 'cross-encodr:small'; did you mean 'cross-encoder'"),
    ):
        engine.search(QUESTION)
