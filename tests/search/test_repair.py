"""Misspelt words: found against brute force, and left alone when they are none."""

import random
from functools import cache, partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from brimful.search.query import parse_query
from brimful.search.spelling import MOST_CORRECTIONS, Spellings, corrections, repair, similarity
from brimful.search.terms import CountedWords
from tests.search.test_forms import all_forms

read = partial(parse_query, operators=True)

COUNTS = dict.fromkeys(
    b"consciousness conscience machine machines limerence limerick country contrary agency agent focus government"
    b" receive locations located king planet plan plans carlsbad lymphocyte lymphocytes early earl yard".split(),
    30,
)
WORDS = CountedWords(COUNTS | {b"axin": 1, b"segement": 1, b"segment": 40, b"axis": 90})
SPELLINGS = Spellings(WORDS.names(b""))


def fixed(text: str, *, words: CountedWords = WORDS) -> dict[str, list[str]]:
    """The corrections of a question: word to terms."""
    known = Spellings(words.names(b""))
    found: dict[str, list[str]] = {}
    query = read(text)
    fixes = corrections(query, words, lambda: known, languages=("en",))
    assert fixes == corrections(query, words, lambda: known, forms=all_forms(query, words, languages=("en",)))
    for each in fixes:
        found.setdefault(each.word.decode(), []).append(each.term.decode())
    return found


@pytest.mark.parametrize(
    ("wrong", "right", "how"),
    [
        ("conciousness", "consciousness", "spelling"),
        ("limerance", "limerence", "spelling"),
        ("goverment", "government", "spelling"),
        ("contry", "country", "spelling"),
        ("agentcy", "agency", "spelling"),
        ("recieve", "receive", "swap"),
        ("foucs", "focus", "swap"),
        ("carslbad", "carlsbad", "swap"),
        ("erly", "early", "spelling"),
        ("onsciousness", "consciousness", "spelling"),
        ("lymph", "lymphocyte", "prefix"),
    ],
)
@pytest.mark.seed("105 §3.2", "typos find what was meant", where="search/spelling.py", ruling=12)
def test_attested_misspellings(wrong, right, how):
    """The right word is the first correction, and it says how far away and how alike it is (105 §3.1)."""
    first = repair(wrong.encode(), WORDS, SPELLINGS)[0]
    assert (first.term.decode(), first.how, first.word.decode()) == (right, how, wrong)
    assert first.distance == edits_between(wrong, right)
    assert first.similarity == similarity(wrong, right)
    assert 0 < first.weight < 1000


def test_a_misspelt_rare_word_is_not_given_up():
    """105 §3.1: "conciousness machine" stays a question about consciousness, at nearly its full weight."""
    words = CountedWords({b"consciousness": 2, b"machine": 500})
    (found,) = corrections(read("conciousness machine"), words, lambda: Spellings(words.names(b"")))
    assert found.term == b"consciousness"
    assert found.weight >= 900


@pytest.mark.parametrize(
    "text",
    [
        *("consciousness machine", '"conciousness"', "conciousn*", "axin", "x86 c3po 2019s", "kind", "yars", "lim"),
        *("zzzzzzzz", "-conciousness machine", "located location locates", "conciousness2"),
    ],
)
def test_what_is_left_alone(text):
    """Known words and forms of them, quoted and excluded words, beginnings, codes and short words are not repaired."""
    assert fixed(text) == {}


@pytest.mark.seed("105 §3.2", "an exact match has the highest priority", where="search/spelling.py", ruling=12)
def test_a_word_that_occurs_is_never_repaired():
    """However rare it is, and however much commoner its neighbour: it may be meant."""
    assert fixed("segement", words=CountedWords({b"segement": 1, b"segment": 900})) == {}
    assert fixed("walrus", words=CountedWords({b"walrus": 1, b"walruses": 9})) == {}


def test_a_common_word_of_a_language_is_never_repaired():
    """A correctly spelled word that no document has stays what it is; a misspelling of one does not."""
    words = CountedWords({b"vergesslich": 3, b"vergessene": 4, b"forgot": 9, b"there": 20, b"receive": 5})
    assert fixed("forget these", words=words) == {}
    assert fixed("recieve", words=words) == {"recieve": ["receive"]}


def test_torn_words_are_joined():
    """Two neighbours of which one means nothing are one word with a slip; known neighbours stay two."""
    assert fixed("the con ciousness") == {"con ciousness": ["consciousness"]}
    assert fixed("con, ciousness") == {}
    assert fixed("plan agent") == {}


def test_spellings_are_made_only_when_needed():
    """A question of known words never asks for the vocabulary."""

    def never() -> Spellings:
        raise AssertionError

    assert corrections(read("machine country"), WORDS, never) == ()


def test_other_scripts():
    """Words of other letters are repaired alike."""
    words = CountedWords({word.encode(): 9 for word in "сознание машина ungefähr".split()})
    assert fixed("созание ungefär", words=words) == {"созание": ["сознание"], "ungefär": ["ungefähr"]}


words = st.text("abcdeé", min_size=3, max_size=9)


@cache
def edits_between(one: str, other: str) -> int:
    """How many letters are put in, left out, replaced or swapped with the next, tried from the ends of both words."""
    if not one or not other:
        return len(one) + len(other)
    ways = [
        edits_between(one[:-1], other) + 1,
        edits_between(one, other[:-1]) + 1,
        edits_between(one[:-1], other[:-1]) + (one[-1] != other[-1]),
    ]
    if min(len(one), len(other)) > 1 and one[-2:] == other[-2:][::-1]:
        ways.append(edits_between(one[:-2], other[:-2]) + 1)
    return min(ways)


def begins_alike(word: str, name: str) -> bool:
    """Whether two words have one first letter, or one of them differs in its first letter alone."""
    return word[0] == name[0] or name in (word[1:], name[0] + word[1:], name[0] + word)


@given(st.lists(words, max_size=40, unique=True), words, st.integers(0, 3))
def test_near_words_are_all_found(names, word, edits):
    """What is near is what comparing with every single word finds, in the same order."""
    expected = sorted(
        (-similarity(word, name), edits_between(word, name), name.encode())
        for name in names
        if 0 < edits_between(word, name) <= edits
        and similarity(word, name) >= float(np.float32(0.3))
        and begins_alike(word, name)
    )
    found = Spellings(sorted(name.encode() for name in names)).near(word, edits=edits)
    assert [(-each.similarity, each.distance, each.term) for each in found] == expected


def test_near_words_of_a_large_vocabulary():
    """Among 20,000 words, all that are near are found."""
    draw = random.Random(7)
    names = sorted({"".join(draw.choices("aeinorstlcmdp", k=draw.randint(3, 12))) for _ in range(20_000)})
    spellings = Spellings([name.encode() for name in names])
    for _ in range(15):
        word = draw.choice(names)
        at = draw.randrange(len(word))
        word = word[:at] + draw.choice("aeiou") + word[at + draw.randint(0, 1) :]
        expected = {
            name.encode()
            for name in names
            if similarity(word, name) >= 0.3 and 0 < edits_between(word, name) <= 2 and begins_alike(word, name)
        }
        assert {each.term for each in spellings.near(word, edits=2)} == expected


def test_only_words_of_letters_are_kept():
    """Codes, numbers, two letters and words over 24 letters are not looked through."""
    names = sorted([b"ab", b"abc", b"x86", b"a_b", b"don't", b"a" * 24, b"a" * 25, "été".encode(), b"1,000"])
    near = {each.term for word in ("abb", "a" * 23, "a" * 26, "étés") for each in Spellings(names).near(word, edits=2)}
    assert near == {b"abc", b"a" * 24, "été".encode()}
    assert Spellings([]).near("word", edits=2) == []
    assert Spellings(names).near("a" * 60, edits=2) == []


@given(st.dictionaries(words.map(str.encode), st.integers(1, 50), max_size=30), words)
def test_repair_is_bounded_and_ordered(counts, word):
    """At most three corrections, all known, none the word itself, each lighter than the one before or equal."""
    known = CountedWords(counts)
    found = repair(word.encode(), known, Spellings(known.names(b"")))
    assert len(found) <= MOST_CORRECTIONS
    assert all(counts[each.term] for each in found)
    assert word.encode() not in {each.term for each in found}
    assert [each.weight for each in found] == sorted((each.weight for each in found), reverse=True)
    assert not found or counts.get(word.encode(), 0) < 3


def ladder(word, **counts):
    """What is found for a word among some known ones, in order, with its tier."""
    words = CountedWords({name.encode(): count for name, count in counts.items()})
    known = Spellings(words.names(b""))
    return [(each.term.decode(), each.how, each.weight) for each in repair(word.encode(), words, known)]


@pytest.mark.seed("105 §3.2", "exact, then prefix, then trigram", where="search/spelling.py", ruling=21)
def test_completions_stand_before_corrections():
    """105 §3, ruling 21: what begins with a word is never pushed out by what is spelled alike, nor counts less."""
    found = ladder("orchar", orchard=2, orchards=3, archer=90, orcharm=90, orchir=90, orchas=90, orcha=90)
    assert [how for _, how, _ in found[:3]] == ["prefix"] * 3
    assert {"orchard", "orchards"} <= {term for term, how, _ in found if how == "prefix"}
    weights = {how: [weight for _, each, weight in found if each == how] for how in ("prefix", "spelling")}
    assert weights["spelling"]
    assert max(weights["spelling"]) <= min(weights["prefix"])


@pytest.mark.seed("105 §3.2", "a prefix matches, short ones too", where="search/spelling.py", ruling=21)
def test_short_beginnings_are_completed_within_bounds():
    """Three and four letters complete to words that are a little longer and stand somewhere more than once."""
    assert ladder("orch", orchard=4, orchid=2, orchestrated=9, orchis=1) == [
        ("orchard", "prefix", 500),
        ("orchid", "prefix", 500),
    ]
    assert ladder("and", andante=5) == []
