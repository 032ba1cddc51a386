"""The legs of a search run side by side: by words here, by meaning in a thread."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

import brimful
from brimful.search import search
from brimful.search.legs import MOST_THREADS, side_by_side

WAIT_SECONDS = 60  # only where something hangs


@pytest.fixture
def engine(tmp_path):
    """Some notes that words and meaning find."""
    with brimful.open(tmp_path, late="none") as made:
        for number in range(40):
            made.add_text(f"{number}.md", f"The automobile number {number} takes petrol. Roses are pruned in March.\n")
        yield made


@pytest.mark.seed("CFS parallel", "both legs of retrieval run side by side", where="search/legs.py")
def test_both_legs_have_begun_before_either_is_awaited(engine, monkeypatch):
    """Each leg of a question waits until the other has begun: one after the other, neither would end."""
    begun = {"words": threading.Event(), "meaning": threading.Event()}
    seen = []

    def meeting(name, other, leg):
        def run(*arguments):
            begun[name].set()
            seen.append(begun[other].wait(WAIT_SECONDS))
            return leg(*arguments)

        return run

    expected = engine.context("automobile roses", budget=300).text
    monkeypatch.setattr(search, "LEAST_BESIDE", 0)
    monkeypatch.setattr(search, "_term_hits", meeting("words", "meaning", search._term_hits))
    monkeypatch.setattr(search, "_near", meeting("meaning", "words", search._near))
    engine._contexts.clear()
    assert engine.context("automobile roses", budget=300).text == expected
    assert seen == [True, True]


def test_the_same_bytes_side_by_side(engine, monkeypatch):
    """Many questions at once from many threads are answered as one by one, whether legs run side by side or not."""
    questions = [f"automobile number {number}" for number in range(16)]
    expected = [engine.context(question, budget=200).text for question in questions]
    monkeypatch.setattr(search, "LEAST_BESIDE", 0)
    engine._contexts.clear()
    with ThreadPoolExecutor(8) as pool:
        found = pool.map(lambda question: engine.context(question, budget=200).text, questions)
        assert list(found) == expected


def test_threads_are_bounded():
    """However many ask, no more legs run in threads than there are threads."""
    running, most, lock = 0, 0, threading.Lock()

    def leg():
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        threading.Event().wait(0.002)
        with lock:
            running -= 1
        return running

    with ThreadPoolExecutor(16) as pool:
        list(pool.map(lambda _: side_by_side(lambda: None, leg), range(64)))
    assert 0 < most <= MOST_THREADS


def test_without_threads_legs_run_in_turn(monkeypatch):
    """Where no thread can be started the result is the same; what one leg raises is raised."""

    def refuse(_thread):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    assert side_by_side(lambda: 1, lambda: 2) == (1, 2)
    monkeypatch.undo()
    for first, second in ((lambda: 1 // 0, lambda: 2), (lambda: 1, lambda: 1 // 0)):
        with pytest.raises(ZeroDivisionError):
            side_by_side(first, second)
