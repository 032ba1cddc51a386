"""Stems, and the language that a text is guessed to be in."""

import sys

import numpy as np
import pytest
import Stemmer
from hypothesis import given
from hypothesis import strategies as st

from brimful.errors import ChoiceError, MissingPartError
from brimful.text.stems import LANGUAGES, NO_LANGUAGE, SNOWBALL, STOP_WORDS, language_of, languages_of, stems_of
from brimful.text.terms import terms_of

# One plain sentence or two of each language, written for this test.
SAMPLES = {
    "da": "Vi var på stranden i går, og det blev meget koldt. Jeg har aldrig været der før, men hun kan godt lide det.",
    "de": "Der Hund läuft durch den Wald und die Kinder sind noch nicht zu Hause, weil es heute sehr warm ist.",
    "en": "The dog runs through the woods and the children are not at home yet, because it is very warm today.",
    "es": "El perro corre por el bosque y los niños no están en casa todavía, porque hoy hace mucho calor.",
    "fi": "Koira juoksee metsässä ja lapset eivät ole vielä kotona, koska tänään on niin lämmin että se väsyy.",
    "fr": "Le chien court dans la forêt et les enfants ne sont pas encore à la maison, car il fait très chaud.",
    "it": "Il cane corre nel bosco e i bambini non sono ancora a casa, perché oggi è una giornata molto calda.",
    "nl": "De hond loopt door het bos en de kinderen zijn nog niet thuis, omdat het vandaag erg warm is.",
    "no": "Vi var på stranda i går, og det ble mye kaldere. Jeg har aldri vært der før, men hun liker seg av og til.",
    "pt": "O cão corre pela floresta e as crianças ainda não estão em casa, porque hoje está muito calor.",
    "ru": "Собака бежит по лесу, и дети ещё не дома, так как сегодня очень тепло и они хотят гулять у реки.",
    "sv": "Hunden springer i skogen och barnen är inte hemma än, för att det är så varmt i dag och jag vet det.",
}


@pytest.mark.parametrize("language", SAMPLES)
def test_a_sentence_tells_its_language(language: str) -> None:
    """Two lines of prose are enough."""
    assert language_of(terms_of(SAMPLES[language].encode())) == language


@pytest.mark.parametrize(
    "text", ["", "x = f(y) + 1", "意识是什么", "3.14 2.71", "Lorem ipsum dolor sit amet", "the end"]
)
def test_no_language_is_better_than_a_wrong_one(text: str) -> None:
    """Too little, or nothing known, gives none."""
    assert language_of(terms_of(text.encode())) == NO_LANGUAGE


def test_each_text_of_a_batch_has_its_language() -> None:
    """A batch of texts gives what each gives alone, empty ones included."""
    texts = [text.encode() for text in ["", *SAMPLES.values(), "", "x1", ""]]
    bounds = np.cumsum([0, *(len(text) + 1 for text in texts)])
    alone = [language_of(terms_of(text)) for text in texts]
    assert languages_of(terms_of(b"\n".join(texts) + b"\n"), bounds) == alone
    assert alone[1 : 1 + len(SAMPLES)] == list(SAMPLES)


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


def test_a_missing_stemmer_is_an_error_with_a_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without PyStemmer nothing is stemmed silently by halves."""
    monkeypatch.setitem(sys.modules, "Stemmer", None)
    with pytest.raises(MissingPartError, match="install 'PyStemmer'"):
        stems_of([b"words"], "en")
    assert stems_of([b"words"], "none") == [b"words"]
