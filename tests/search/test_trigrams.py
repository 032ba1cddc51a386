"""similarity() is pg_trgm's, compared with a real PostgreSQL."""

import itertools
import random
import string
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brimful.search.spelling import similarity, trigrams_of

ALPHABETS = {
    "ascii": string.ascii_letters + string.digits + " ",
    "few letters": "ab A",
    "punctuation": "ab1" + string.punctuation + " \t\n",
    "accents": "aàáâäåãeéèêëiíîïoóöuüñçßœæÀÉÖÜÑ ",
    "combining": "aeiou" + "\u0301\u0308\u0327\u0345 \u0947\u093f",
    "turkish": "iıİIgğĞsşŞ istanbul",
    "greek": "αβγδεζηθικλμνξοπρσςτυφχψω ΑΒΓΔΣ ΌΏἈᾳᾼ",
    "cyrillic": "абвгдежзийклмнопрстуфхцчшщъыьэюяёЁЙ ",
    "cjk": "意识流是一种文学手法あいうえおカタカナ한국어조선말 、。",
    "thai and hindi": "สวัสดีครับภาษาไทยहिन्दीक्षत्रज्ञ ",
    "emoji": "a👍🏽😀❤️\u200d👩‍💻 bⒶⓑ🅰 ①½²Ⅳⅳ",
    "astral": "𝐀𝒷𠮷野𐐀𐐨𞤀𞤢 a",
}


@pytest.fixture(scope="session")
def postgres(postgres_server):
    """A connection to a UTF-8 database with Unicode's letters (LC_CTYPE C.UTF-8), and with pg_trgm."""
    with postgres_server.connect() as connection:
        connection.execute("CREATE EXTENSION IF NOT EXISTS pg_trgm")
        yield connection


def words_of(alphabet: str, seed: int) -> list[str]:
    """Random strings, some empty."""
    rnd = random.Random(seed)
    return ["".join(rnd.choices(alphabet, k=rnd.randint(0, 14))) for _ in range(200)]


def compare(postgres: object, pairs: list[tuple[str, str]]) -> list[tuple[str, str, float, float]]:
    """The pairs on which we and PostgreSQL differ."""
    ones, others = [one for one, _ in pairs], [other for _, other in pairs]
    rows = postgres.execute(
        "SELECT similarity(a, b)::float8 FROM unnest(%s::text[], %s::text[]) WITH ORDINALITY t(a, b, n) ORDER BY n",
        (ones, others),
    ).fetchall()
    ours = [similarity(one, other) for one, other in pairs]
    return [(*pair, mine, row[0]) for pair, mine, row in zip(pairs, ours, rows, strict=True) if mine != row[0]]


@pytest.mark.parametrize("name", ALPHABETS)
@pytest.mark.seed("105 §3.3", "similarity as pg_trgm defines it", where="search/spelling.py", ruling=12)
def test_similarity_is_that_of_postgres(postgres: object, name: str) -> None:
    """On random pairs of every kind the two numbers are the same, bit for bit."""
    words = words_of(ALPHABETS[name], 105)
    rnd = random.Random(3)
    # Relatives are more telling than strangers: some have letters dropped or swapped.
    pairs = list(itertools.pairwise(words))
    for word in words:
        letters = list(word)
        if len(letters) > 2:
            place = rnd.randrange(len(letters) - 1)
            letters[place : place + 2] = rnd.choice([[letters[place]], letters[place : place + 2][::-1]])
        pairs.append((word, "".join(letters)))
    pairs += [(word, word.upper()) for word in words] + [(word, word.lower()) for word in words]
    assert compare(postgres, pairs) == []


def test_similarity_of_mixed_scripts_is_that_of_postgres(postgres: object) -> None:
    """Strings with letters of several scripts and no letters at all agree too."""
    rnd = random.Random(12)
    everything = "".join(ALPHABETS.values())
    words = ["".join(rnd.choices(everything, k=rnd.randint(0, 20))) for _ in range(3000)] + ["", " ", "%", "_", "\\"]
    assert compare(postgres, [(rnd.choice(words), rnd.choice(words)) for _ in range(3000)]) == []


def test_every_character_belongs_to_a_word_as_postgres_says(postgres: object) -> None:
    """Each character gives the trigrams that show_trgm gives, but for those that one side's Unicode lacks."""
    codes = [code for code in range(0x20, 0x32000) if unicodedata.category(chr(code)) not in ("Cn", "Co", "Cs")]
    alike = {"CJK UNIFIED IDEOGRAPH": 16, "HANGUL SYLLABLE": 16, "TANGUT IDEOGRAPH": 16}  # a sample of these will do
    names = [" ".join(unicodedata.name(chr(code), "").split("-")[0].split()[:3]) for code in codes]
    codes = [
        code
        for code, name in zip(codes, names, strict=True)
        if code % max((step for kind, step in alike.items() if name.startswith(kind)), default=1) == 0
    ]
    rows = postgres.execute(
        "SELECT show_trgm(chr(n)) FROM unnest(%s::int[]) WITH ORDINALITY t(n, place)"
        " WHERE unicode_assigned(chr(n)) ORDER BY place",
        (codes,),
    ).fetchall()
    assert len(rows) == len(codes)
    ours = [trigrams_of(chr(code)) for code in codes]
    wrong = [
        (hex(code), shown, ours[row])
        for row, (code, (shown,)) in enumerate(zip(codes, rows, strict=True))
        if {as_bytes(each) for each in shown} != ours[row]
    ]
    # Where Python's Unicode is not the C library's, letters are new to one of the two and nothing to the other.
    assert [each for each in wrong if each[1] and each[2]] == []
    assert len(wrong) <= (0 if unicodedata.unidata_version == "14.0.0" else 2_000)


def as_bytes(shown: str) -> bytes:
    """A trigram as show_trgm writes it: three characters, or 0x and six hexadecimal digits."""
    return bytes.fromhex(shown[2:]) if len(shown) == 8 else shown.encode()


@pytest.mark.seed("105 §3.1", "conciousness finds consciousness", where="search/spelling.py", ruling=12)
def test_the_examples_of_the_standard() -> None:
    """Standard 105's typos are above its threshold."""
    assert similarity("conciousness", "consciousness") > 0.3
    assert similarity("limerance", "limerence") > 0.3


@given(st.text(max_size=30), st.text(max_size=30))
def test_similarity_is_symmetric_and_bounded(one: str, other: str) -> None:
    """The order of the two does not matter, and a string with trigrams equals itself."""
    assert similarity(one, other) == similarity(other, one)
    assert 0.0 <= similarity(one, other) <= 1.0
    assert similarity(one, one) == (1.0 if len(trigrams_of(one)) else 0.0)
