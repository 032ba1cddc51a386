"""Exact, prefix and trigram look-up against brute force and against PostgreSQL's own operators."""

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rapidfuzz.distance import OSA

from brimful.errors import SettingError
from brimful.index.trigrams import Vocabulary, similarity

TERM = st.text("abcé%_\\. 漢字x", min_size=1, max_size=7) | st.text(min_size=1, max_size=5)
TERMS = st.lists(TERM.filter(lambda text: text.isprintable()), max_size=30, unique=True)
SYLLABLES = "con sci ous ness lim er ence tion al ity pre fix tri gram ing ed über é ß 漢 字 o'r ' _ % 1 20".split()


def vocabulary(texts: list[str]) -> Vocabulary:
    """A vocabulary of these words."""
    return Vocabulary(sorted({text.encode() for text in texts}))


@pytest.fixture(scope="module")
def words() -> list[str]:
    """A few thousand words that look alike, and the ones of the standard."""
    rnd = random.Random(105)
    made = {"".join(rnd.choices(SYLLABLES, k=rnd.randint(1, 4))) for _ in range(3000)}
    return sorted(made | {"consciousness", "conscience", "limerence", "limerick", "limerences", "machine"})


def test_standard_105_finds_its_own_examples(words: list[str]) -> None:
    """The typos of Standard 105 §3.1 lead to the words that were meant, first of all."""
    known = vocabulary(words)
    for typo, meant in ((b"conciousness", b"consciousness"), (b"limerance", b"limerence")):
        assert known.exact(typo) is None
        first = known.expand(typo)[0]
        assert (known.names[first.id], first.how) == (meant, "trigram")


@given(TERMS, TERM)
def test_exact_and_prefix_are_those_of_a_scan(texts: list[str], term: str) -> None:
    """Look-up by name and beginning finds what a scan finds; wildcards are characters."""
    known, wanted = vocabulary(texts), term.encode("utf-8", "replace")
    assert known.exact(wanted) == (known.names.index(wanted) if wanted in known.names else None)
    begins = [row for row, name in enumerate(known.names) if name.startswith(wanted)]
    begins.sort(key=lambda row: (len(known.names[row]), known.names[row]))
    assert known.prefix(wanted, limit=100) == begins
    assert known.prefix(wanted, limit=2) == begins[:2]


@given(TERMS, TERM, st.sampled_from([0.1, 0.3, 0.5, 0.7, 1.0]), st.integers(0, 12))
def test_similar_is_that_of_a_scan(texts: list[str], term: str, threshold: float, limit: int) -> None:
    """All words that reach the threshold, by similarity, then edits, then name, cut at the limit."""
    known, wanted = vocabulary(texts), term.encode("utf-8", "replace").decode()
    scanned = []
    for row, name in enumerate(known.names):
        alike = similarity(wanted, name.decode())
        if alike >= np.float32(threshold):
            scanned.append((row, alike, OSA.distance(wanted, name.decode())))
    scanned.sort(key=lambda each: (-each[1], each[2], known.names[each[0]]))
    assert known.similar(wanted.encode(), threshold=threshold, limit=limit) == scanned[:limit]


@given(TERMS, TERM)
def test_expand_goes_from_exact_to_prefix_to_trigram(texts: list[str], term: str) -> None:
    """Each word comes once, by the best way it is found."""
    known, wanted = vocabulary(texts), term.encode("utf-8", "replace")
    matches = known.expand(wanted, limit=50)
    few = known.expand(wanted, limit=2)
    assert few == [each for how in ("exact", "prefix", "trigram") for each in [m for m in matches if m.how == how][:2]]
    hows = [match.how for match in matches]
    assert hows == sorted(hows, key=("exact", "prefix", "trigram").index)
    assert len({match.id for match in matches}) == len(matches)
    exact = known.exact(wanted)
    begins = set(known.prefix(wanted, limit=50))
    alike = {each.id for each in known.similar(wanted, limit=50)}
    assert {match.id for match in matches if match.how == "exact"} == ({exact} - {None})
    assert {match.id for match in matches if match.how == "prefix"} == begins - {exact}
    assert {match.id for match in matches if match.how == "trigram"} == alike - begins
    for match in matches:
        expected = similarity(wanted.decode(), known.names[match.id].decode())
        assert match.similarity == (1.0 if match.how == "exact" else expected)


def test_similar_is_the_result_of_postgres(postgres: object, words: list[str]) -> None:
    """The words that `%` finds, with the similarities it gives, in its order; so for the beginnings by LIKE."""
    known = vocabulary(words)
    postgres.execute('CREATE TABLE words (word text COLLATE "C" PRIMARY KEY)')
    with postgres.cursor().copy("COPY words FROM STDIN") as copy:
        for word in words:
            copy.write_row((word,))
    rnd = random.Random(7)
    asked = ["conciousness", "limerance", "con", "%", "_", "o'rence", "50%", "漢字ous", "ÜBERtion"]
    asked += ["".join(rnd.choices(SYLLABLES, k=rnd.randint(1, 4)))[:-1] or "x" for _ in range(60)]
    for term in asked:
        theirs = postgres.execute(
            "SELECT word, similarity(word, %(term)s)::float8 AS alike FROM words WHERE word %% %(term)s"
            " ORDER BY alike DESC, word",
            {"term": term},
        ).fetchall()
        ours = [(known.names[each.id].decode(), each.similarity) for each in known.similar(term.encode(), limit=9999)]
        assert [alike for _, alike in ours] == [alike for _, alike in theirs], term
        assert sorted(ours, key=lambda each: (-each[1], each[0].encode())) == theirs, term
        begins = postgres.execute(
            r"SELECT word FROM words WHERE word LIKE regexp_replace(%s, '([%%_\\])', '\\\1', 'g') || '%%' ORDER BY 1",
            (term,),
        ).fetchall()
        mine = sorted(known.names[row] for row in known.prefix(term.encode(), limit=9999))
        assert [(name.decode(),) for name in mine] == begins, term


def test_wildcards_are_characters() -> None:
    """`%` and `_` find themselves, not everything."""
    known = vocabulary(["100%", "100x", "a_b", "axb", "\\d"])
    assert [known.names[row] for row in known.prefix(b"100%", limit=9)] == [b"100%"]
    assert [known.names[row] for row in known.prefix(b"a_", limit=9)] == [b"a_b"]
    assert [known.names[row] for row in known.prefix(b"\\", limit=9)] == [b"\\d"]
    assert known.prefix(b"%", limit=9) == []
    assert known.similar(b"%") == []


def test_an_empty_vocabulary_knows_nothing() -> None:
    """No look-up fails for want of words, and the empty term expands to nothing."""
    known = Vocabulary([])
    assert (known.exact(b"a"), known.prefix(b"a", limit=3), known.similar(b"a"), known.expand(b"a")) == (
        None,
        [],
        [],
        [],
    )
    assert vocabulary(["a"]).expand(b"") == []


def test_terms_out_of_order_are_refused() -> None:
    """Look-up by halves needs an order, so a wrong one is an error that names the two terms."""
    for names in ([b"b", b"a"], [b"a", b"a"]):
        with pytest.raises(SettingError, match=r"ascend bytewise, but b'.' stands before b'a'"):
            Vocabulary(names)


@pytest.mark.parametrize("threshold", [0.0, -1.0, 1.5, float("nan")])
def test_a_threshold_outside_its_range_is_refused(threshold: float) -> None:
    """With no threshold everything would be alike."""
    with pytest.raises(SettingError, match="similarity threshold"):
        Vocabulary([b"a"]).similar(b"a", threshold=threshold)
