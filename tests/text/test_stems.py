"""Stems, and the little words of each language."""

import pytest
import Stemmer
from hypothesis import given
from hypothesis import strategies as st

from brimful.errors import ChoiceError
from brimful.text.stems import LANGUAGES, NO_LANGUAGE, SNOWBALL, STOP_WORDS, stems_of
from brimful.text.terms import terms_of


def test_every_language_has_little_words_that_are_terms() -> None:
    """Each stop word is found as it stands, so none is written in vain."""
    assert set(STOP_WORDS) == set(SNOWBALL)
    for words in STOP_WORDS.values():
        for word in words.encode().split():
            assert terms_of(word).names == [word]


@pytest.mark.parametrize(
    ("language", "forms"),
    [
        ("en", "connect connected connecting connection connections"),
        ("de", "haus hauses häuser häusern"),
        ("fr", "chante chanter chantait chanté"),
        ("es", "hablo hablar hablando hablado"),
        ("ru", "книга книги книгу книгой"),
        ("none", "café cafe cafè"),
        ("fr", "été ete"),
    ],
)
def test_forms_of_a_word_have_one_stem(language: str, forms: str) -> None:
    """Endings and accents make no difference."""
    assert len(set(stems_of(forms.encode().split(), language))) == 1


def test_only_words_of_letters_are_stemmed() -> None:
    """Identifiers, numbers, short words and other scripts stay as they are."""
    names = [name.encode() for name in "atom_positions v2.0 2s as c++ 食べ 한국어를 हिन्दी sensors2 it's".split()]
    assert stems_of(names, "en")[:-1] == names[:-1]


def test_a_contraction_meets_its_careless_spelling() -> None:
    """The words don't and dont have one stem; she'll is not shell."""
    assert stems_of([b"don't", b"dont", b"she'll", b"shell"], "en") == [b"dont", b"dont", b"she'll", b"shell"]


@given(st.lists(st.text("abcdeslingñéüжи'_1", min_size=1, max_size=12), max_size=20), st.sampled_from(LANGUAGES))
def test_stems_are_snowballs_without_accents(words: list[str], language: str) -> None:
    """A word's stem does not depend on its company, and ASCII words are stemmed as Snowball does."""
    names = [word.encode() for word in words]
    stems = stems_of(names, language)
    assert stems == [stems_of([name], language)[0] for name in names]
    for name, stem in zip(names, stems, strict=True):
        if language != NO_LANGUAGE and name.isalpha() and name.isascii() and len(name) >= 3:
            expected = Stemmer.Stemmer(SNOWBALL[language]).stemWord(name.decode())
            assert stem.decode() == expected


def test_an_unknown_language_is_refused() -> None:
    """The message lists the languages."""
    with pytest.raises(ChoiceError, match=r"unknown language 'english'.*choices: da, de, en"):
        stems_of([b"a"], "english")
