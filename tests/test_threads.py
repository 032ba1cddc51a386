"""One engine, many threads: they ask side by side, while another one adds, and nobody sees a mixed state."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

import brimful
from brimful.errors import StoreError

QUESTIONS = ("When is tea?", "who brought the ledger", "harbour in winter", "captain 3", "letter", "coffe at ten")


def notes(count):
    """Documents that answer all of the questions."""
    filler = "The harbour is quiet in winter, and the ledger lies open on the desk. " * 20
    return [
        brimful.Document(f"note{number}.md", f"{filler}\n\nA letter came to captain {number}. Tea is at four. {filler}")
        for number in range(count)
    ]


@pytest.fixture
def engine(tmp_path):
    """A few notes."""
    with brimful.open(tmp_path / "a.db") as made:
        made.add_documents(notes(12))
        yield made


def asked(engine, question):
    """What an answer is: its bytes, and the state that it is of."""
    context = engine.context(question, budget=300)
    return question, context.receipt.state_root, context.text


def test_threads_ask_side_by_side(engine, tmp_path):
    """Eight threads and every question many times: the bytes are those of one thread alone."""
    alone = {question: asked(engine, question) for question in QUESTIONS}
    with brimful.open(tmp_path / "a.db") as fresh, ThreadPoolExecutor(8) as threads:
        for question, *answer in threads.map(lambda question: asked(fresh, question), QUESTIONS * 8):
            assert (question, *answer) == alone[question]


def test_two_threads_are_at_work_at_once(engine, monkeypatch):
    """A question does not wait for another one: both are inside of the search at the same time."""
    both = threading.Barrier(2, timeout=60)
    parse_question = brimful.building.parse_question

    def met(*arguments, **choices):
        both.wait()
        return parse_question(*arguments, **choices)

    monkeypatch.setattr("brimful.building.parse_question", met)
    with ThreadPoolExecutor(2) as threads:
        found = list(threads.map(lambda question: engine.context(question, budget=60, top_k=5), QUESTIONS[:2]))
    assert all(context.text for context in found)


def test_a_long_add_blocks_no_question(engine):
    """While documents are being added, the corpus answers as it was; afterwards as it is."""
    before = engine.root
    asking, answered = threading.Event(), threading.Event()

    def slowly():
        yield brimful.Document("new.md", "Zeppelins came at noon.")
        asking.set()
        assert answered.wait(60)
        yield brimful.Document("newer.md", "Zeppelins left at one.")

    with ThreadPoolExecutor(1) as threads:
        adding = threads.submit(engine.add_documents, slowly())
        assert asking.wait(60)
        assert asked(engine, "When is tea?")[1] == before
        answered.set()
        assert adding.result(60) == 2
    assert "Zeppelins" in engine.context("zeppelins", budget=100).text


def test_each_answer_is_of_one_state(engine):
    """Whoever asks while another thread adds and removes gets the corpus before or after, never half of it."""
    done = threading.Event()
    known = {engine.root}

    def change():
        for number in range(12):
            engine.add_text("moving.md", f"Tea is at four, said number {number}. " * 9)
            known.add(engine.root)
            engine.remove("moving.md")
        done.set()

    def ask(number):
        roots = set()
        while not done.is_set():
            with engine.corpus():
                root = engine.root
                context = engine.context(QUESTIONS[number % len(QUESTIONS)], budget=120)
                assert context.receipt.state_root == root == engine.root
                roots.add(root)
        return roots

    with ThreadPoolExecutor(5) as threads:
        changing = threads.submit(change)
        seen = set().union(*threads.map(ask, range(4)))
        changing.result(60)
    assert seen <= known


def test_a_purge_waits_for_those_who_ask(engine):
    """And those who come meanwhile wait for it: nobody reads what is being overwritten."""
    with ThreadPoolExecutor(4) as threads:
        asking = [threads.submit(asked, engine, question) for question in QUESTIONS * 3]
        engine.remove("note3.md")
        engine.purge()
        assert all(each.result(60)[2] for each in asking)
    assert "captain 3." not in engine.context("captain 3", budget=500).text


def test_closing_waits_for_those_who_ask(tmp_path):
    """Who asks already gets the answer; who asks later is told that it was closed."""
    engine = brimful.open(tmp_path / "b.db")
    engine.add_documents(notes(3))
    inside, answer = threading.Event(), threading.Event()

    def hold():
        with engine.corpus():
            inside.set()
            assert answer.wait(60)
            return engine.context("When is tea?", budget=100).text

    with ThreadPoolExecutor(2) as threads:
        holding = threads.submit(hold)
        assert inside.wait(60)
        closing = threads.submit(engine.close)
        answer.set()
        assert "Tea" in holding.result(60)
        closing.result(60)
    with pytest.raises(StoreError, match="closed"):
        engine.context("When is tea?", budget=100)
    engine.close()
