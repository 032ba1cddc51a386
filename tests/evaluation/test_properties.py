"""The specifications' own measures, by hand and on packed contexts."""

import pytest

from brimful import Document, DocumentError, Hit, Window, inflate, pack, tokens_for
from brimful.evaluation.measures import (
    Properties,
    Relations,
    adjacency,
    best_come_first,
    coverage,
    properties,
    relations,
)
from brimful.evaluation.sets import Evidence
from brimful.text.tokens import counting

BOATS = Document(
    "boats.md",
    "# Boats\n\nThe ferry leaves at nine. The pilot is named Ilse. Tickets are sold on board.\n\n"
    "It rains often. Bring a coat.\n",
)
WORDS = counting("words", lambda text: len(text.split()))


def place(text):
    """Where a text stands in the document."""
    start = BOATS.content.index(text.encode())
    return Evidence(BOATS.path, start, start + len(text.encode()))


def cut(*texts):
    """A window from the first text to the last."""
    return Window.cut(BOATS, place(texts[0]).start, place(texts[-1]).end)


FERRY, PILOT, TICKETS, RAIN, COAT = (
    *("The ferry leaves at nine.", "The pilot is named Ilse.", "Tickets are sold on board."),
    *("It rains often.", "Bring a coat."),
)


@pytest.mark.seed("CFS property 5", "coverage > 0.9 is measured", where="evaluation/measures.py")
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


@pytest.mark.seed("CFS property 4", "adjacency > 0.7 is measured", where="evaluation/measures.py")
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
    assert best_come_first(late, top=1)


@pytest.mark.parametrize(
    ("windows", "expected"),
    [
        ([cut(FERRY, TICKETS)], Relations(3, 3, 3)),  # one window
        ([cut(FERRY), cut(PILOT), cut(TICKETS)], Relations(3, 3, 2)),  # first and last are not neighbours
        ([cut(FERRY), cut(RAIN), cut(TICKETS)], Relations(3, 1, 0)),  # torn apart, the pilot not shown
        ([cut(TICKETS), cut(FERRY, PILOT)], Relations(3, 3, 1)),  # against reading order
        ([cut(FERRY)], Relations(3, 0, 0)),  # nothing shown in pairs
        ([cut(FERRY), cut(RAIN), cut(FERRY, TICKETS)], Relations(3, 3, 3)),  # told twice, the second time whole
    ],
)
@pytest.mark.seed("085b targets", "above 90 % of relations kept is measured", where="evaluation/measures.py")
def test_relations_by_hand(windows, expected):
    """Three sentences of one section have three relations; one of another section has none with them."""
    evidence = [place(text) for text in (TICKETS, FERRY, PILOT, RAIN)]
    assert relations(windows, evidence) == expected


def test_evidence_across_sections_has_no_relation():
    """What does not stand within one section can't be torn from it."""
    across = Evidence(BOATS.path, place(TICKETS).start, place(RAIN).end)
    assert relations([cut(FERRY, COAT)], [across, place(RAIN)]) == Relations(0, 0, 0)
    assert Relations(0, 0, 0).share == 1.0
    assert Relations(3, 2, 1) + Relations(1, 1, 1) == Relations(4, 3, 2)


def test_unseen_documents_count_where_they_are_given():
    """Pairs of a document of which nothing is shown are pairs all the same."""
    places = [place(FERRY), place(PILOT)]
    elsewhere = [Window("other.md", "x")]
    assert relations(elsewhere, places) == Relations(0, 0, 0)
    assert relations(elsewhere, places, documents={"boats.md": BOATS}) == Relations(1, 0, 0)
    with pytest.raises(DocumentError, match=r"'boats.md', which is not among"):
        relations(elsewhere, places, documents={})


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

    def assemble():
        return pack(inflate(hits, documents, budget=600), budget=600)

    found = properties(assemble(), again=assemble, evidence=hits)
    assert found.shortfalls == ()
    assert found.within_budget
    assert found.deterministic
    assert found.coverage > 0.9
    assert found.relations.pairs == 6
    assert found.relations.kept == found.relations.shown > 3


def test_shortfalls_are_named():
    """A context that lacks everything says so, property by property."""
    bad = Properties(False, 0.5, 0.7, False, False, Relations(10, 10, 9))
    assert [line.split()[0] for line in bad.shortfalls] == ["the", "coverage", "adjacency", "the", "assembled", "0.900"]
    assert Properties(True, 0.91, 0.71, True).shortfalls == ()


def test_other_bytes_are_not_deterministic():
    """Assembling something else the second time is noticed."""
    first = pack([cut(FERRY)], budget=100)
    others = iter([pack([cut(PILOT)], budget=20), pack([cut(FERRY)], budget=20)])
    assert properties(first, again=lambda: next(others)).deterministic is False
