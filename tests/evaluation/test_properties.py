"""The specifications' own measures, by hand and on packed contexts."""

import pytest

from brimful import Document, Hit, Window, inflate, pack, tokens_for
from brimful.evaluation import adjacency, best_come_first, coverage, properties
from brimful.text.tokens import counting

BOATS = Document(
    "boats.md",
    "# Boats\n\nThe ferry leaves at nine. The pilot is named Ilse. Tickets are sold on board.\n\n"
    "It rains often. Bring a coat.\n",
)
WORDS = counting("words", lambda text: len(text.split()))


FERRY, PILOT = "The ferry leaves at nine.", "The pilot is named Ilse."


def cut(*texts):
    """A window from the first text to the last."""
    start, last = (BOATS.content.index(text.encode()) for text in (texts[0], texts[-1]))
    return Window.cut(BOATS, start, last + len(texts[-1]))


@pytest.mark.seed("CFS property 5", "coverage > 0.9 is measured", where="evaluation.py")
def test_coverage_counts_a_source_token_once():
    """Windows that overlap are paid for twice but cover once."""
    once = pack([cut(FERRY, PILOT)], budget=40, trim=False, fill="relevant")
    twice = pack([cut(FERRY, PILOT), cut(PILOT)], budget=40, trim=False, fill="relevant")
    assert len(twice.windows) == 2
    assert coverage(twice) == coverage(once) == tokens_for("o200k_base").count(f"{FERRY} {PILOT}") / 40


def test_coverage_of_texts_without_a_document():
    """Windows that another retriever brought are counted by their text, the same text once."""
    windows = [Window("a.md", "one two"), Window("a.md", "one two", sequence=1), Window("b.md", "three")]
    context = pack(windows, budget=100, model=WORDS, trim=False, fill="relevant")
    assert len(context.windows) == 3
    assert coverage(context, counter=WORDS) == 3 / 100


@pytest.mark.seed("CFS property 4", "adjacency > 0.7 is measured", where="evaluation.py")
def test_adjacency_is_what_of_the_possible_stands_together():
    """Two of three possible neighbours are neighbours."""
    paths = ["a", "a", "b", "a", "c", "c"]
    assert adjacency([Window(path, "x") for path in paths]) == 2 / 3
    assert adjacency([]) == 1.0


def test_best_windows_may_tie():
    """Any window of an equal score will do; fewer than three windows are all there is."""
    assert best_come_first([Window("a", "x", score=1.0) for _ in range(9)])
    assert best_come_first([Window("a", "x", score=score) for score in (0.1, 0.9)])
    late = [Window("a", "x", score=score) for score in (0.9, 0.8, 0.1, 0.1, 0.1, 0.85)]
    assert not best_come_first(late)


def test_inflated_and_packed_contexts_have_the_properties():
    """From hits in two documents through inflate and pack: every property holds, and is said to."""
    lines = [f"Boat {number} left at {number} past nine. Its pilot was number {number}." for number in range(90)]
    documents = [Document("north.txt", "\n\n".join(lines)), Document("south.txt", "\n\n".join(reversed(lines)))]
    hits = []
    for weight, document in enumerate(documents, start=1):
        for number in range(10, 70, 20):
            for sentence in lines[number].split(". "):
                start = document.content.index(sentence.encode())
                hits.append(Hit(document.path, start, start + len(sentence), 1 / weight))

    found = properties(pack(inflate(hits, documents, budget=600), budget=600))
    assert found.within_budget
    assert found.best_come_first
    assert found.coverage > 0.9
    assert found.adjacency > 0.7
