"""Related terms: company that is no chance, vectors, the user's synonyms."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from brimful.errors import InputError
from brimful.search.pools import MOST_UNITS, likelihood_ratio, load_synonyms, parse_synonyms, related_terms, sample
from brimful.search.terms import CountedWords
from brimful.text.terms import terms_of


class Corpus:
    """Units in a list, and what is true of them."""

    def __init__(self, texts: list[str]) -> None:
        self.texts = [text.encode() for text in texts]
        self.read: list[int] = []
        terms = terms_of(b"\n".join(self.texts))
        counts = np.diff(terms.offsets).tolist()
        self.total = sum(counts)
        self.words = CountedWords(dict(zip(terms.names, counts, strict=True)))

    def units_with(self, term: bytes) -> list[int]:
        """All units whose terms include it."""
        return [at for at, text in enumerate(self.texts) if term in text and term in terms_of(text).names]

    def text(self, unit: int) -> bytes:
        """The unit, remembered as read."""
        self.read.append(unit)
        return self.texts[unit]

    def related(self, term: str, **settings: object) -> list[str]:
        """The related terms as text."""
        found = related_terms(term.encode(), self, self.words, total=self.total, **settings)
        return [b" ".join(each.terms).decode() for each in found]


FILLER = [f"the quick fox number{n} jumps over the lazy dog and the cat sleeps" for n in range(2_500)]
TEA = [f"the tea and the kettle boil, teas in a pot{n % 7}, kettle and leaves" for n in range(30)]


def test_company():
    """Words that keep a term's company are found; common words, forms of the term and chance are not."""
    corpus = Corpus(FILLER + TEA)
    found = corpus.related("tea", languages=("en",))
    assert set(found) == {"kettle", "boil", "leaves", "pot"}
    assert found[0] == "kettle", "the one that occurs most"
    assert "teas" in corpus.related("tea"), "without a language it is a word of its own"


def test_nothing_known_nothing_related():
    """A term that the corpus lacks, or that stands in one unit, has no company."""
    corpus = Corpus([*FILLER, "one lonely okapi"])
    assert corpus.related("zebra") == []
    assert corpus.related("okapi") == []


def test_the_sample_is_even_and_bounded():
    """At most 200 units are read, from the first to the last, and the same ones again."""
    corpus = Corpus([f"tea and kettle {n}" for n in range(1_000)] + FILLER)
    corpus.related("tea")
    first = list(corpus.read)
    corpus.read.clear()
    corpus.related("tea")
    assert first == corpus.read == list(range(0, 1_000, 5))
    assert len(first) == MOST_UNITS


def test_synonyms_come_first_and_may_be_several_words():
    """The user's synonyms stand before company, in the file's order, and no term stands twice."""
    corpus = Corpus(FILLER + TEA)
    synonyms = parse_synonyms(b"tea: hot drink, kettle\nTea: infusion")
    assert corpus.related("tea", synonyms=synonyms, languages=("en",)) == [
        "hot drink",
        "kettle",
        "infusion",
        "boil",
        "leaves",
    ]
    assert corpus.related("tea", synonyms=synonyms, limit=1) == ["hot drink"]


def test_likelihood_ratio_of_a_table():
    """The ratio is that of the table written out, in thousandths, and nothing for what is not over-represented."""
    here, read, elsewhere, rest = 30, 2_000, 40, 98_000
    share = (here + elsewhere) / (read + rest)
    expected = 2 * (here * np.log(here / (read * share)) + elsewhere * np.log(elsewhere / (rest * share)))
    assert likelihood_ratio(here, read, elsewhere, rest) == round(1000 * float(expected))
    assert likelihood_ratio(1, 100, 1_000, 100_000) == 0
    assert likelihood_ratio(5, 100, 0, 1_000) > 0


@given(st.integers(0, 500), st.integers(1, 60))
def test_samples(size, most):
    """A sample is ascending, without doubles, of the size asked for, and starts with the first."""
    taken = sample(range(size), most)
    assert len(taken) == min(size, most)
    assert taken == sorted(set(taken))
    assert not taken or taken[0] == 0


def test_synonyms_file(tmp_path):
    """Comments, blank lines, a byte order mark and Windows line ends are read past."""
    path = tmp_path / "synonyms.txt"
    path.write_bytes("\ufeff# mine\r\n\r\nCar: automobile, motor-vehicle, car,  # last\r\nÜber: over\r\n".encode())
    assert load_synonyms(path) == {b"car": ((b"automobile",), (b"motor", b"vehicle")), "über".encode(): ((b"over",),)}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"tea: pot\ncoffee", "line 2: no colon in 'coffee'"),
        (b"hot tea: pot", "line 1: 'hot tea' is not one word"),
        (b": pot", "line 1: '' is not one word"),
        (b"\n\ntea: , !", "line 3: no synonym for 'tea'"),
        (b"tea: tea", "line 1: no synonym for 'tea'"),
        (b"t\xffa: pot", "line 1: not UTF-8"),
    ],
)
def test_a_wrong_line_is_named(content, message):
    """An error names the line, the value and what to write instead."""
    with pytest.raises(InputError, match=message):
        parse_synonyms(content)


def test_a_missing_file_is_named(tmp_path):
    """A synonyms file that can't be read is an error with its path."""
    with pytest.raises(InputError, match=r"nowhere.txt.*name one"):
        load_synonyms(tmp_path / "nowhere.txt")
