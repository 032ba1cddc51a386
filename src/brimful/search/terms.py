"""Words of the corpus, forms of a question's words, and words that only ask."""

from __future__ import annotations

import bisect
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import chain, takewhile
from math import log
from typing import Final, Literal, Protocol

from brimful.search.query import AskedTerm, Query
from brimful.text.bpe import lowest_token
from brimful.text.stems import NO_LANGUAGE, STOP_WORDS, stems_by_language

# ---- words: Which words does the corpus have, and which of them say little?

_COMMON_SHARE: Final = 400
"""A common word is at least every 400th of all words: about the forty commonest of a language."""
_LEAST_TOTAL: Final = 10_000
"""In a smaller corpus no share is a habit of the language, so nothing is common."""


class Words(Protocol):
    """The terms of a corpus at one moment."""

    def names(self, prefix: bytes) -> list[bytes]:
        """All terms that begin so, in bytewise order."""

    def near_names(self, prefix: bytes, letters: int, *, longer: int) -> Collection[bytes]:
        """Terms with this prefix, in any order; at least all words of `letters` letters, give or take `longer`."""

    def census(self, term: bytes) -> int:
        """How often a term occurs."""


class CountedWords:
    """Terms with their counts, in memory.

    >>> words = CountedWords({b"tea": 3, b"team": 1, b"cup": 2})
    >>> words.names(b"te"), words.census(b"tea"), words.census(b"pot")
    ([b'tea', b'team'], 3, 0)
    """

    def __init__(self, counts: Mapping[bytes, int]) -> None:
        self._counts = dict(counts)
        self._names = sorted(self._counts)

    def names(self, prefix: bytes) -> list[bytes]:
        """All terms that begin so, in bytewise order."""
        first = bisect.bisect_left(self._names, prefix)
        return self._names[first : bisect.bisect_left(self._names, prefix + b"\xff", lo=first)]

    def near_names(self, prefix: bytes, letters: int, *, longer: int) -> Collection[bytes]:  # noqa: ARG002
        """All terms with this prefix."""
        return self.names(prefix)

    def census(self, term: bytes) -> int:
        """How often a term occurs."""
        return self._counts.get(term, 0)


def is_common(occurrences: int, total: int) -> bool:
    """Whether a term is common: at least every 400th of `total` occurrences.

    No list of words decides, so the rule holds in any language, and in code.

    >>> is_common(2_500, 1_000_000), is_common(2_499, 1_000_000), is_common(300, 900)
    (True, False, False)
    """
    return total >= _LEAST_TOTAL and occurrences * _COMMON_SHARE >= total


# ---- common: How common is a word anywhere, whatever this corpus says?
#
# A model's vocabulary is a list of the commonest words of many languages in about the order of their frequency: a word
# that is one token of it is a known one, and the earlier it stands, the less it says. So a word that is rare in a
# corpus of code because nobody writes prose there ("people", "placed") does not pass for a name, and a word that is
# spelled correctly is known as such though no document has it.

VOCABULARY: Final = "o200k_base"
_SIZE: Final = 200_000
KNOWN: Final = 120_000
"""From this place on, common misspellings (`recieve`, `lenght`) mix with rare words."""
_LEAST_KNOWN_LETTERS = 5  # shorter tokens are beginnings of longer words as often as words


@lru_cache(16_384)
def place_of(word: bytes) -> int | None:
    """The place of the word in the vocabulary, after a blank; None if it is not one token.

    >>> place_of(b"people") < place_of(b"placed") < place_of(b"receipt"), place_of(b"reciept")
    (True, None)
    """
    text = word.decode("utf-8", "replace")
    return lowest_token(VOCABULARY, (f" {text}", f" {text.capitalize()}"))


def is_known(word: bytes) -> bool:
    """Whether a word of five letters or more is a common one of some language.

    >>> is_known("vergessen".encode()), is_known(b"recieve"), is_known(b"conciousness")
    (True, False, False)
    """
    place = place_of(word)
    return len(word.decode("utf-8", "replace")) >= _LEAST_KNOWN_LETTERS and place is not None and place < KNOWN


def tells(word: bytes) -> float:
    """The weight of a word in any corpus: near 0 for the commonest, 1 for a word outside the vocabulary.

    >>> round(tells(b"the"), 2), round(tells(b"people"), 2), tells(b"manpath")
    (0.46, 0.61, 1.0)
    """
    place = place_of(word)
    return 1.0 if place is None else round(log(max(place, 2)) / log(_SIZE), 6)


# ---- stop words: Which words of a question say nothing about its answer?
#
# Rarity does most of the work; but in code, logs or tables the words of a question ("how", "does") are
# rare, and would count as much as a name. So the little words of the corpus's languages count for less as well.

_ASKING: Final = {
    "da": "hvad hvem hvor hvordan hvornår hvorfor hvilken hvilket hvilke gør min din mit sin",
    "de": "was wer wem wen wessen wie wo wann warum wieso weshalb woher wohin welche welcher welches welchen welchem"
    " wurde wurden hatte hatten waren hast habe haben kannst könnte mein dein unser ihr bitte gibt zum zur vom beim",
    "en": "a i how why where whose whom do does did done am being my your our its me us them these those into than then"
    " so about could should may might must shall one any some such only own also just please tell explain describe"
    " show give list find",
    "es": "qué cuál cuáles quién quiénes cómo cuándo dónde cuánto cuántos por qué mi tu nuestro era eran fueron ha han"
    " a y",
    "fi": "mikä mitkä kuka kenen miten milloin missä mistä miksi minun sinun onko ovatko",
    "fr": "que quoi quel quelle quels quelles qui où quand comment pourquoi combien à a ont était étaient mon ton"
    " notre y",
    "it": "cosa quale quali chi come quando dove perché quanto quanti è a e o mio tuo nostro erano fu furono",
    "nl": "wat wie waar wanneer waarom hoe welke welk mijn jouw ons waren had hadden",
    "no": "hva hvem hvor hvordan når hvorfor hvilken hvilket hvilke gjør min din mitt sin",
    "pt": "qual quais quem como onde quando quanto quantos porquê é a e o meu teu nosso eram foram",
    "ru": "кто кого чей где когда почему зачем сколько какой какая какие каков мой твой наш ли",
    "sv": "vad vem vilken vilket vilka hur var när varför gör min din mitt sin",
}
_STOPS: Final = {
    language: frozenset(f"{words} {_ASKING[language]}".encode().split()) for language, words in STOP_WORDS.items()
}


def is_stop_word(term: bytes, languages: tuple[str, ...]) -> bool:
    """Whether a term is a little word in one of these languages; English where none is known.

    >>> is_stop_word(b"how", ("en",)), is_stop_word(b"tea", ("en",)), is_stop_word(b"how", ("de",))
    (True, False, False)
    """
    return term in _stops_of(languages or ("en",))


@lru_cache(64)
def _stops_of(languages: tuple[str, ...]) -> frozenset[bytes]:
    return frozenset().union(*(_STOPS[language] for language in languages))


def most_little_words(terms: Sequence[bytes]) -> str | None:
    """The language that most of some terms are little words of; None where two are as likely.

    >>> most_little_words([b"what", b"is", b"apt"]), most_little_words([b"was", b"ist", b"apt"]), most_little_words([])
    ('en', 'de', None)
    """
    (first, count), (_, next_one) = [*little_words(terms).most_common(2), ("", 0), ("", 0)][:2]
    return first if count > next_one else None


def little_words(terms: Sequence[bytes]) -> Counter[str]:
    """How many of the terms are little words of each language; languages without any are left out.

    >>> little_words([b"what", b"is", b"apt"])["en"]
    2
    """
    languages = _languages_of_stops()
    return Counter(chain.from_iterable(languages[term] for term in terms if term in languages))


@cache
def _languages_of_stops() -> dict[bytes, list[str]]:
    languages: dict[bytes, list[str]] = {}
    for language, words in _STOPS.items():
        for word in words:
            languages.setdefault(word, []).append(language)
    return languages


# ---- forms: Which words of the corpus may answer a word of the question?
#
# Itself, words of one stem, words with the prefix if a star follows, its letters written apart or together
# (`data base`, `database`). Nothing here guesses at spellings: that is `spelling`.

How = Literal["exact", "accent", "inflection", "prefix", "joined", "split", "translation"]

MOST_NAMES: Final = 200
"""How many known words are compared with one word of the question."""
_HARDLY: Final = 3
"""A word that occurs less often is hardly known: it may be written otherwise."""
_LEAST_LETTERS = 3
_POSSESSIVES = (b"'s", "\u2019s".encode(), b"'")
_LONGER_BY = 8  # characters; no inflection adds more
_LONGEST_SPLIT = 32
_LETTERS = re.compile(r"[^\W\d_]+")


_WEIGHTS: Final[Mapping[How, int]] = {
    "exact": 1000,
    "accent": 950,
    "inflection": 950,
    "prefix": 600,
    "joined": 900,
    "split": 900,
}
"""Thousandths of what the word itself counts."""


@dataclass(frozen=True, slots=True)
class Form:
    """A term of the corpus that answers a word; of two terms one follows the other."""

    terms: tuple[bytes, ...]
    how: How
    weight: int  # thousandths

    @property
    def order(self) -> tuple[int, tuple[bytes, ...]]:
        """The heaviest first, then by name."""
        return (-self.weight, self.terms)


@dataclass(frozen=True, slots=True)
class WordForms:
    """A word of the question, or two neighbours, with all forms."""

    words: tuple[bytes, ...]
    forms: tuple[Form, ...]


def forms_of(asked: AskedTerm, words: Words, *, languages: Sequence[str] = ()) -> tuple[Form, ...]:
    """The forms of a question's word that the corpus has, the heaviest first.

    >>> from brimful.search.terms import CountedWords
    >>> words = CountedWords({b"location": 4, b"locations": 2, b"locate": 1, b"local": 9})
    >>> asked = AskedTerm(b"locations", 0, 9)
    >>> [(form.terms[0].decode(), form.how) for form in forms_of(asked, words, languages=["en"])]
    [('locations', 'exact'), ('locate', 'inflection'), ('location', 'inflection')]
    """
    forms: list[Form] = []
    occurrences = words.census(asked.term)
    if occurrences:
        forms.append(Form((asked.term,), "exact", _WEIGHTS["exact"]))
    if asked.is_prefix:
        forms += _beginnings(asked.term, words)
    forms += _inflections(asked.term, words, languages)
    forms += _owners(asked.term, words, languages)
    if occurrences < _HARDLY:
        forms += _splits(asked.term, words)
    return _ranked(forms)


def joined_forms(query: Query, occurs: Callable[[bytes], object]) -> tuple[WordForms, ...]:
    """The neighbours of a question that the corpus also writes as one word: `data base`, `e-mail`, `multi-agent`.

    >>> from brimful.search.query import parse_query
    >>> joined_forms(parse_query("an e-mail now"), lambda word: word == b"email")
    (WordForms(words=(b'e', b'mail'), forms=(Form(terms=(b'email',), how='joined', weight=900),)),)
    """
    return tuple(
        WordForms(pair, (Form((b"".join(pair),), "joined", _WEIGHTS["joined"]),))
        for pair in query.neighbours
        if _is_word(b"".join(pair)) and occurs(b"".join(pair))
    )


_ENDINGS = frozenset(" s es e d ed ing y ies ied ying er ers est ly 's ’s s' s’".encode().split(b" "))


def is_inflection(first: bytes, second: bytes) -> bool:
    """Whether two English words of one stem are forms of one word, not derived from each other.

    >>> is_inflection(b"copies", b"copy"), is_inflection(b"running", b"run"), is_inflection(b"parental", b"parents")
    (True, True, False)
    """
    shared = takewhile(lambda pair: pair[0] == pair[1], zip(first, second, strict=False))
    size = sum(1 for _ in shared)
    last = first[size - 1 : size]
    return all(word[size:].removeprefix(last) in _ENDINGS or word[size:] in _ENDINGS for word in (first, second))


def plain(text: str) -> str:
    """Without accents.

    >>> plain("über"), plain("naïve")
    ('uber', 'naive')
    """
    if text.isascii():
        return text
    bare = "".join(char for char in unicodedata.normalize("NFD", text) if not unicodedata.combining(char))
    return unicodedata.normalize("NFC", bare)


def _beginnings(term: bytes, words: Words) -> Iterable[Form]:
    """The shortest terms with this prefix."""
    nearest = sorted(words.names(term), key=lambda name: (len(name), name))[:MOST_NAMES]
    return (Form((name,), "prefix", _WEIGHTS["prefix"]) for name in nearest if name != term)


def _inflections(term: bytes, words: Words, languages: Sequence[str]) -> list[Form]:
    """Words of one stem in any of the languages, and words that differ in accents only."""
    text = term.decode("utf-8", "replace")
    if len(text) < _LEAST_LETTERS or not _is_word(term):
        return []
    chosen = tuple(dict.fromkeys((NO_LANGUAGE, *languages)))
    stems = {language: stem for language, (stem,) in stems_by_language([term], chosen).items()}
    candidates = _near(text, [stem.decode("utf-8", "replace") for stem in stems.values()], words)
    candidates = [name for name in candidates if name != term]
    inflected: dict[bytes, Form] = {}
    for language, stemmed in stems_by_language(candidates, chosen).items():  # accents come first
        how: How = "accent" if language == NO_LANGUAGE else "inflection"
        for name, stem in zip(candidates, stemmed, strict=True):
            if stem == stems[language] and (how == "accent" or len(stem) >= _LEAST_LETTERS):
                inflected.setdefault(name, Form((name,), how, _WEIGHTS[how]))
    return list(inflected.values())


def _owners(term: bytes, words: Words, languages: Sequence[str]) -> list[Form]:
    """The owner in a possessive, with all forms: `Caroline` for `Caroline's`."""
    owner = next((term[: -len(end)] for end in _POSSESSIVES if term.endswith(end)), b"")
    if len(owner) < _LEAST_LETTERS or not _is_word(owner):
        return []
    itself = [Form((owner,), "inflection", _WEIGHTS["inflection"])] if words.census(owner) else []
    return [*itself, *_inflections(owner, words, languages)]


def _near(text: str, stems: Sequence[str], words: Words) -> list[bytes]:
    """Known words that could have one of these stems: they begin as it does, but for its last letter.

    The word's own beginning counts too: a stem has lost the accents that known words may have.
    """
    prefixes: list[str] = []
    for stem in stems:
        size = max(_LEAST_LETTERS, len(stem) - 1)
        prefixes += [stem[:size], text[:size]]
    shortest = [
        prefix
        for prefix in sorted(set(prefixes))
        if not any(prefix != shorter and prefix.startswith(shorter) for shorter in prefixes)
    ]
    near = [words.near_names(prefix.encode(), len(text), longer=_LONGER_BY) for prefix in shortest]
    names = set[bytes]().union(*near)
    plain = [name for name in names if name.isalpha()]
    mixed = [name for name in names if not name.isalpha() and (b"'" in name or _is_word(name))]
    sizes = [(abs(len(name) - len(text)), name) for name in plain]
    sizes += [(abs(len(name.decode("utf-8", "replace")) - len(text)), name) for name in mixed]
    if len(sizes) > MOST_NAMES:
        sizes = sorted(sizes)[:MOST_NAMES]
    return [name for distance, name in sizes if distance <= _LONGER_BY]


def _splits(term: bytes, words: Words) -> list[Form]:
    """A word as two known ones that follow each other; the rarer of the two decides which split is the best."""
    text = term.decode("utf-8", "replace")
    if not 2 * _LEAST_LETTERS <= len(text) <= _LONGEST_SPLIT or not _is_word(term):
        return []
    ranked: list[tuple[int, tuple[bytes, ...]]] = []
    for cut in range(_LEAST_LETTERS, len(text) - _LEAST_LETTERS + 1):
        first, second = text[:cut].encode(), text[cut:].encode()
        if (counted := words.census(first)) and (also := words.census(second)):
            ranked.append((-min(counted, also), (first, second)))
    return [Form(parts, "split", _WEIGHTS["split"]) for _, parts in sorted(ranked)[:1]]


def _is_word(term: bytes) -> bool:
    """Whether it is made of letters only."""
    if term.isascii():
        return term.isalpha()
    return _LETTERS.fullmatch(term.decode("utf-8", "replace")) is not None


def _ranked(forms: Iterable[Form]) -> tuple[Form, ...]:
    """Each once, as the heaviest of its kind."""
    best: dict[tuple[bytes, ...], Form] = {}
    for form in sorted(forms, key=lambda form: form.order):
        best.setdefault(form.terms, form)
    return tuple(best.values())
