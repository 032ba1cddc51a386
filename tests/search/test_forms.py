"""Forms of a word, against a corpus that is a small table."""

from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brimful.errors import ChoiceError
from brimful.search.query import AskedTerm, parse_query
from brimful.search.terms import MOST_NAMES, CountedWords, WordForms, forms_of, is_common, joined_forms
from brimful.text.stems import stems_of

read = partial(parse_query, operators=True)

ENGLISH = CountedWords(
    dict.fromkeys(
        b"locate located locating location locations local locale run running runs runner study studies studied"
        b" database data base machine learning email mail cafe consciousness conscious don't dont x86 get_atom"
        b" getatom getatoms atom".split(),
        5,
    )
    | {"café".encode(): 2, b"shareholder": 1, b"share": 9, b"holder": 9, b"ship": 3, b"wreck": 3, b"therapist": 1}
    | {b"the": 900, b"rapist": 1}
)


def found(word: str, *, words: CountedWords = ENGLISH, languages: tuple[str, ...] = ("en",)) -> dict[str, str]:
    """The forms of a word with how they were found."""
    (asked, *_) = read(word).terms
    return {b" ".join(form.terms).decode(): form.how for form in forms_of(asked, words, languages=languages)}


def test_inflections():
    """Words with the same stem are found, words that only begin alike are not."""
    assert found("locates") == dict.fromkeys("locate located locating location locations".split(), "inflection")
    assert found("studying") == dict.fromkeys("study studies studied".split(), "inflection")
    assert "runner" not in found("runs")


def test_without_a_language_only_accents_go():
    """Languages are the corpus's; without any, only accents and apostrophes are looked past."""
    assert found("locations", languages=()) == {"locations": "exact"}
    assert found("café", languages=()) == {"café": "exact", "cafe": "accent"}
    assert found("cafe", languages=()) == {"cafe": "exact", "café": "accent"}


def test_umlauts_of_the_word_itself():
    """A German plural finds its singular and its other forms, with and without the umlaut."""
    words = CountedWords(dict.fromkeys("häuser häusern haus hauses hausmeister hause".encode().split(), 4))
    assert found("Häuser", words=words, languages=("de",)) == {
        "häuser": "exact",
        "häusern": "inflection",
        "haus": "inflection",
        "hause": "inflection",
        "hauses": "inflection",
    }


def test_an_unknown_language_is_refused():
    """A language without a stemmer is an error that names the choices."""
    with pytest.raises(ChoiceError, match="klingon"):
        found("locates", languages=("klingon",))


def test_codes_have_no_inflections():
    """Numbers and identifiers are looked up as they are."""
    assert found("x86") == {"x86": "exact"}
    assert found("get_atom") == {"get_atom": "exact"}


def test_prefixes():
    """A star adds what begins so, at the lowest weight, the exact word first."""
    assert found("getatom*") == {"getatom": "exact", "getatoms": "inflection"}
    assert found("loca*", languages=()) == dict.fromkeys(
        "local locale locate located locating location locations".split(), "prefix"
    )


def test_joined_and_split():
    """Two neighbours find the one word, and an unknown word finds the two that follow each other."""
    (pair,) = joined_forms(read("a data base"), ENGLISH.census)
    assert (pair.words, pair.forms[0].terms) == ((b"data", b"base"), (b"database",))
    assert found("machinelearning") == {"machine learning": "split"}
    assert found("shareholder") == {"shareholder": "exact", "share holder": "split"}
    assert found("database") == {"database": "exact"}, "a word that the corpus has is not taken apart"
    assert joined_forms(read("data, base"), ENGLISH.census) == ()


def all_forms(query, words, *, languages=()):
    """For each term of a question what it stands for, in their order, then neighbours that are one word elsewhere."""
    singles = (WordForms((asked.term,), forms_of(asked, words, languages=languages)) for asked in query.terms)
    return (*singles, *joined_forms(query, words.census))


def test_all_forms_follow_the_question():
    """Every term of the question has its entry, also one that is not known, then come the joined neighbours."""
    entries = all_forms(read("e-mail zzzz"), ENGLISH, languages=("en",))
    assert [entry.words for entry in entries] == [(b"e",), (b"mail",), (b"zzzz",), (b"e", b"mail")]
    assert entries[2].forms == ()


def test_few_names_are_compared():
    """However many words begin alike, at most 200 are compared or returned."""
    many = CountedWords({f"loc{number:05}".encode(): 1 for number in range(5_000)} | {b"locs": 1, b"loc": 1})
    (asked,) = read("loc*").terms
    forms = forms_of(asked, many, languages=("en",))
    assert len(forms) <= MOST_NAMES + 2
    assert forms[1].terms == (b"locs",), "codes do not crowd words out"


def test_common_words():
    """Every 400th word is common, one less is not, and in a small corpus none is."""
    assert is_common(25, 10_000)
    assert not is_common(24, 10_000)
    assert not is_common(9_999, 9_999)
    assert not is_common(0, 0)


@given(
    st.dictionaries(st.text("abcdeis", min_size=1, max_size=7).map(str.encode), st.integers(1, 9), max_size=30),
    st.text("abcdeis", min_size=1, max_size=8).map(str.encode),
    st.booleans(),
)
def test_forms_hold_what_they_say(counts, term, is_prefix):
    """Every form is known, ordered by weight and name, once each, and has the stem or the beginning it claims."""
    words = CountedWords(counts)
    forms = forms_of(AskedTerm(term, 0, len(term), is_prefix=is_prefix), words, languages=("en",))
    assert [form.order for form in forms] == sorted({form.order for form in forms})
    assert len({form.terms for form in forms}) == len(forms)
    assert (term in counts) == any(form.how == "exact" for form in forms)
    stem = stems_of([term], "en")
    for form in forms:
        assert all(part in counts for part in form.terms)
        if form.how == "inflection":
            assert stems_of(form.terms, "en") == stem
        if form.how == "split":
            assert b"".join(form.terms) == term
        if form.how == "prefix":
            assert is_prefix
            assert form.terms[0].startswith(term)
