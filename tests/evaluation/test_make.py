"""Sets made from one's own documents: honest, deterministic, and readable as any other set."""

import random

import pytest

from brimful import Document
from brimful.errors import InputError, SettingError
from brimful.evaluation.run import evaluate
from brimful.evaluation.sets import RULES, make_set, misspell, read_set, write_set
from brimful.text.terms import query_terms
from tests.evaluation.answerers import overlap_answerer

NOUNS = "ferry pilot harbour lantern anchor barrel compass rudder signal cargo tide mooring chart beacon gull".split()


def harbour_book(number):
    """A document of two headings and twenty sentences, each its own."""
    chance = random.Random(number)
    seen = [" and the ".join(chance.sample(NOUNS, 3)) for _ in range(20)]
    sentences = [f"On day {10 * number + day} the {what} were seen near a pier." for day, what in enumerate(seen)]
    north, south = " ".join(sentences[:10]), " ".join(sentences[10:])
    return Document(f"book{number}.md", f"# North shore {number}\n\n{north}\n\n## South shore {number}\n\n{south}\n")


BOOKS = [harbour_book(number) for number in range(6)]


def test_a_made_set_can_be_read_back(tmp_path):
    """It is written in the qa layout, with characters and bytes that agree."""
    made = make_set(BOOKS, questions=24)
    write_set(made, tmp_path / "own")
    assert read_set(tmp_path / "own") == made


def test_every_rule_has_its_turn_and_every_document_its_share():
    """Twenty-four questions of six books: six by each rule, four of each book."""
    made = make_set(BOOKS, questions=24)
    assert len(made.questions) == 24
    rules = [question.id.split("-")[0] for question in made.questions]
    assert {rule: rules.count(rule) for rule in RULES} == dict.fromkeys(RULES, 6)
    paths = [question.evidence[0].path for question in made.questions]
    assert {path: paths.count(path) for path in sorted(set(paths))} == {f"book{n}.md": 4 for n in range(6)}


def test_questions_are_what_their_rules_say():
    """Words and gaps come from the passage, headings from above it, misspelt words from nowhere."""
    made = make_set(BOOKS, questions=24)
    books = {book.path: book for book in BOOKS}
    everything = {term for book in BOOKS for term, *_ in query_terms(book.content.decode())}
    for question in made.questions:
        (at,) = question.evidence
        passage = books[at.path].text(at.start, at.end)
        rule = question.id.split("-")[0]
        asked = question.text.split()
        if rule == "words":
            places = [passage.index(word) for word in asked]
            assert places == sorted(places)
            assert len(asked) == 5
        elif rule == "heading":
            assert " ".join(asked[:-2]) in {f"{side} shore {at.path[4]}" for side in ("North", "South")}
            assert all(word in passage for word in asked[-2:])
        elif rule == "gap":
            (missing,) = set(passage.split()) - set(asked)
            assert "".join(passage.split()).replace(missing, "", 1) == "".join(asked)
        else:
            unknown = [word for word in asked if word.lower().encode() not in everything]
            assert len(unknown) == 1


def test_a_made_set_depends_on_the_documents_alone():
    """Neither their order nor the process changes a question."""
    assert make_set(reversed(BOOKS), questions=24) == make_set(BOOKS, questions=24)


def test_fewer_questions_are_the_first_of_more():
    """A smaller set is a part of a larger one."""
    assert make_set(BOOKS, questions=40).questions[:9] == make_set(BOOKS, questions=9).questions


def test_a_passage_that_stands_twice_is_not_asked_for():
    """A copied document would make right answers count as wrong."""
    copied = [*BOOKS, Document("copy.md", BOOKS[0].content)]
    paths = {question.evidence[0].path for question in make_set(copied, questions=500).questions}
    assert paths == {f"book{number}.md" for number in range(1, 6)}


def test_a_small_corpus_gives_what_it_has():
    """Fewer questions than asked for where passages run out; none at all is an error."""
    assert 1 <= len(make_set(BOOKS[:1], questions=500).questions) <= 20
    with pytest.raises(InputError, match="hold no passage"):
        make_set([Document("a.txt", "Too short.")])
    with pytest.raises(SettingError, match="at least 1"):
        make_set(BOOKS, questions=0)


def test_other_scripts_and_code_are_asked_for_too():
    """Chinese has no spaces, code no sentences; both have passages and byte ranges on characters."""
    chinese = Document(
        "cha.txt",
        "茶要在早上喝。"
        + "船在九点离开北边的港口，领航员的名字叫伊尔莎。" * 1
        + "雨季里渡船常常停在南岸的码头旁边等待。",
    )
    code = Document(
        "ferry.py",
        "def leave(harbour, minutes):\n    departure = harbour.schedule.first_departure() + minutes\n",
    )
    made = make_set([chinese, code], questions=8)
    assert {question.evidence[0].path for question in made.questions} == {"cha.txt", "ferry.py"}
    texts = {each.path: each for each in made.documents}
    for question in made.questions:
        (at,) = question.evidence
        assert texts[at.path].text(at.start, at.end)


@pytest.mark.parametrize("word", ["harbour", "überfahrt", "lanterns", "abcde"])
def test_a_misspelling_is_one_slip(word):
    """First letter kept, one letter swapped, gone or doubled, and never a word that is known."""
    wrong = misspell(word)
    assert wrong != word
    assert wrong[0] == word[0]
    assert abs(len(wrong) - len(word)) <= 1
    other = misspell(word, known=[wrong.encode()])
    assert other not in (wrong, word)


def test_word_overlap_does_well_on_made_sets():
    """The limit that is documented: questions of a passage's own words favour words; misspelt ones less."""
    made = make_set(BOOKS, questions=40)
    result = evaluate(overlap_answerer(made.documents), made, (2000,))
    assert result.mean("recall", 2000) > 0.8
