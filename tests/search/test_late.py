"""A model reads the best places when a question needs them, and what it read is remembered."""

import numpy as np
import pytest

import brimful
from brimful.errors import ChoiceError, EndpointError, SettingError
from brimful.neural.embedders import wrap
from brimful.search.field import _spread
from brimful.search.late import unit_texts
from brimful.search.search import search
from brimful.settings import FieldSettings
from brimful.testing import FakeEmbedder, FakeReranker

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
    """The sentence about locks has hardly a word of the question, and stands above others that have more."""
    fill(tmp_path / "a.db")
    with opened(tmp_path / "a.db", counting) as engine:
        engine.add_documents(brimful.Document(f"{n}.md", f"Once {n} people were running a shop.") for n in range(20))

        def place(found):
            texts = [engine.text(hit.path, hit.start, hit.end) for hit in found.hits]
            return next(at for at, text in enumerate(texts) if "A file lock keeps" in text)

        by_words = engine.search(QUESTION, meaning="words", limit=50)
        assert by_words.read is None
        assert not counting.read
        found = engine.search(QUESTION, limit=50)
        assert place(found) < place(by_words)
        assert found.hits[place(found)].semantic > 0.9
        assert found.read.embedded == found.read.units > 1
        before, after = dict(by_words.documents), dict(found.documents)
        assert before["locks.md"] < before["jobs.md"]
        assert after["locks.md"] >= after["jobs.md"]


def test_likeness_and_words_are_fused_whatever_the_scale_of_the_model(tmp_path):
    """Each deviation less alike halves what a unit counts by words, so a model of a tenth of the range ranks alike."""
    texts = {f"{name}.md": f"{'tea ' * count}{name}.\n" for count, name in enumerate(("ash", "bay", "cob", "dew"), 1)}
    with brimful.open(tmp_path / "a.db", embedder="none") as engine:
        engine.add_documents(brimful.Document(name, text) for name, text in texts.items())
        order = [hit.path for hit in engine.search("tea").hits]

    def ranked(scale):
        likeness = dict(zip(order, (0.5, 0.5 + 3 * scale, 0.5 + scale, 0.5 + 2 * scale), strict=True))

        def rows(read):
            alike = [likeness.get(text.partition(":")[0], 1.0) for text in read]
            return np.array([[each, (1 - each * each) ** 0.5] for each in alike])

        with brimful.open(tmp_path / "a.db", embedder=wrap(f"by {scale}", rows, dimensions=2)) as engine:
            return [hit.path for hit in engine.search("tea").hits]

    assert ranked(0.1) == ranked(0.02) == [order[at] for at in (1, 3, 2, 0)]


def test_neighbours_share_in_the_worth_of_a_unit(tmp_path):
    """Each gets a fifth of it; the last of a document gives nothing to the first of the next."""
    with brimful.open(tmp_path / "a.db") as engine:
        engine.add_documents(brimful.Document(f"{n}.md", "One stands here.\n\nTwo stand there.\n") for n in range(2))
        columns = engine.columns
        assert len(columns) == 4
        assert _spread(columns, np.array([2, 1]), np.array([100, 10])).tolist() == [100, 10]
        assert _spread(columns, np.array([3, 0, 2]), np.array([100, 10, 50])).tolist() == [110, 10, 70]


def test_another_source_file_comes_before_further_units_of_one(tmp_path):
    """Of source code the second unit of a file counts less; pages of a manual may give several."""
    body = "".join(f"def open_lock_{n}(path):\n" + f"    lock(path, {n})\n" * 9 + "\n\n" for n in range(8))
    other = "def idle():\n" + "    pass\n" * 40 + "\n\ndef lock_all(path):\n" + "    lock(open(path), wait)\n" * 6
    with brimful.open(tmp_path / "a.db", embedder="none") as engine:
        engine.add_documents([brimful.Document("locks.py", body), brimful.Document("other.py", other)])

        def place(priors):
            hits = engine.search("open a lock of a path", limit=20, field=FieldSettings(priors=priors)).hits
            return [hit.path for hit in hits].index("other.py")

        assert 1 <= place(True) < place(False)


def test_no_more_than_the_best_are_read(tmp_path, counting, monkeypatch):
    """The model reads so many units by words; those behind keep the order of words."""
    monkeypatch.setattr("brimful.search.search.READ_UNITS", 3)
    fill(tmp_path / "a.db")
    with opened(tmp_path / "a.db", counting) as engine:
        found = engine.search(QUESTION, limit=50)
        assert found.read.units == 3 == len(set(counting.read) - {QUESTION})
        assert len(found.hits) > 3


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
                assert engine.warm() == len(engine.columns)
                read = len(counting.read)
            texts.append(engine.context(QUESTION, budget=250).text)
            if before is None:
                assert counting.read[read:] == [QUESTION]
    assert texts[0] == texts[1] == texts[2]


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
    with brimful.open(tmp_path / "a.db", embedder="none") as engine, pytest.raises(SettingError, match="neural"):
        engine.warm()


def test_a_warm_corpus_is_read_once(tmp_path, counting):
    """Every unit is read ahead with its progress told; after a change only what is new."""
    fill(tmp_path / "a.db")
    steps = []
    with opened(tmp_path / "a.db", counting) as engine:
        assert engine.warm(progress=lambda *step: steps.append(step)) == len(engine.columns)
        assert steps[-1] == (len(engine.columns), len(engine.columns))
        read = len(counting.read)
        engine.warm()
        assert len(counting.read) == read
        assert engine.context(QUESTION, budget=2_000).read.embedded == 0
        read = len(counting.read)
        engine.add_text("new.md", "A new note.")
        engine.warm()
        assert counting.read[read:] == ["new.md: A new note."]


def test_a_warm_that_was_broken_off_goes_on(tmp_path, counting, monkeypatch):
    """What was read before the model failed is not read again."""
    monkeypatch.setattr("brimful.search.late._BATCH", 8)
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
        assert all(text.startswith("locks.md") for text in counting.read)
        assert counting.read


def test_a_question_for_what_stands_nowhere_has_no_answer(tmp_path):
    """No word of it is in the corpus, so that nothing is read, and the missing word is named."""
    meant = FakeEmbedder(same={"vehicle": "car"})
    with brimful.open(tmp_path / "a.db", embedder=meant) as engine:
        engine.add_text("car.md", "The car stands outside.")
        context = engine.context("zeppelin", budget=100)
        assert context.text == ""
        assert context.relevance.missing == ("zeppelin",)
        assert meant.texts == ["word"] or not meant.texts


def test_other_words_are_an_answer_where_a_model_says_so(tmp_path):
    """Most of a question stands nowhere: a passage that a model finds alike answers it, unless a name is missing."""
    alike = wrap("all alike", lambda texts: np.array([[1.0, 0.0, 0.0] for _ in texts]), dimensions=3)
    unlike = wrap(
        "unlike", lambda texts: np.array([["." in t, "." not in t, 0] for t in texts], np.float32), dimensions=3
    )
    for model, is_answered in ((alike, True), (unlike, False)):
        with brimful.open(tmp_path / f"{is_answered}.db", embedder=model) as engine:
            engine.add_documents(brimful.Document(name, text) for name, text in TEXTS.items())
            found = engine.search("zeppelin airship harbour")
            assert found.lacking >= 0.6
            assert bool(engine.context("zeppelin airship harbour", budget=100).text) == is_answered
            assert engine.search("the harbour of Zeppelin").lacks_name
            assert not engine.search("Zeppelin in the harbour").lacks_name  # any first word has a capital
            assert not engine.search("The Zeppelin In The Harbour").lacks_name  # and any of a title
            assert engine.context("airship harbour of Zeppelin", budget=100).text == ""


def test_a_unit_is_read_with_the_headings_above_it(tmp_path):
    """Path, chapter and section stand before its text; a heading itself is read under those above it."""
    pages = f"# Deployment\n\n{FILLER * 9}\n\n## Proxies\n\n{FILLER * 9}\n\n## Caches\n\n{FILLER * 9}"
    with brimful.open(tmp_path / "a.db") as engine:
        engine.add_documents([brimful.Document("guide.md", pages), brimful.Document("a.py", CODE)])
        columns = engine.columns
        texts = unit_texts(columns, np.arange(len(columns)))
        units = b"".join(columns.texts(np.arange(len(columns)))).decode()
    heads = {text.partition(": ")[0] for text in texts}
    assert heads >= {"guide.md > Deployment", "guide.md > Deployment > Proxies", "guide.md > Deployment > Caches"}
    assert "a.py > class Kettle" in heads
    assert not any("Proxies: ## Caches" in text for text in texts)
    assert "".join(text.partition(": ")[2] for text in texts) == units


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
        assert len(set(texts)) == len(texts) <= found.read.reranked
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
