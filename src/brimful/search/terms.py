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

from brimful.errors import SettingError
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

    def endings(self, suffix: bytes) -> list[bytes]:
        """All words with this suffix, in a fixed order."""

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

    def endings(self, suffix: bytes) -> list[bytes]:
        """All terms that end so."""
        return [name for name in self._names if name.endswith(suffix)]

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


_MEASURES: Final = {
    b"how": frozenset(b"long many much often far big large fast old soon deep high wide tall heavy".split()),
    b"wie": frozenset("lange viel viele oft weit gro\u00df hoch alt schnell bald schwer".encode().split()),
}
_ASKS: Final = frozenset(
    """
    happen happens happened happening mean means meant explain explains describe tell works working possible way ways
    best difference differ differs differently compare compared recommended correct correctly properly actually exactly
    really anyone somebody someone help please want wants wanted need needed try tried trying know understand supposed
    able cause causes caused reason purpose
    passiert passieren bedeutet bedeuten heißt erklären erkläre zeigen funktioniert funktionieren möglich
    unterschied bitte richtig eigentlich genau grund ursache
    signifie fonctionne marche différence expliquer arrive passe raison
    significa funciona posible diferencia explicar pasa ocurre sucede razón funziona possibile differenza spiegare
    succede motivo possível diferença acontece betekent werkt mogelijk verschil gebeurt reden
    значит работает возможно разница происходит причина
    """.encode().split()
)
"""Words with which people ask, and which no text has to have in order to answer."""


def only_asks(previous: bytes, term: bytes) -> bool:
    """Whether a word only asks, alone or after the previous word; a document need not have it.

    >>> only_asks(b"how", b"long"), only_asks(b"a", b"long"), only_asks(b"what", b"happens"), only_asks(b"how", b"tea")
    (True, False, True, False)
    """
    return term in _ASKS or term in _MEASURES.get(previous, ())


# ---- forms: Which words of the corpus may answer a word of the question?
#
# Itself, words of one stem, words with the prefix if a star follows, its letters written apart or
# together (`data base`, `database`), and where the corpus has none of these the compounds that it is a part of. Nothing
# here guesses at spellings: that is `spelling`.

How = Literal["exact", "accent", "inflection", "prefix", "joined", "split", "compound", "translation"]

MOST_NAMES: Final = 200
"""How many known words are compared with one word of the question."""
_HARDLY: Final = 3
"""A word that occurs less often is hardly known: it may be written otherwise."""
_LEAST_LETTERS = 3
_LEAST_PART = 5  # bytes of a word that is looked for inside of others
_COMPOUNDING = frozenset({"de", "nl", "da", "no", "sv"})  # languages that write compounds as one word
_LINKS = (b"", b"s", b"es", b"n", b"en", b"er", b"e")
_POSSESSIVES = (b"'s", "\u2019s".encode(), b"'")
_LONGER_BY = 8  # characters; no inflection adds more
_LONGEST_SPLIT = 32
_LETTERS = re.compile(r"[^\W\d_]+")


@dataclass(frozen=True, slots=True)
class FormWeights:
    """The weights of forms, in thousandths of the word itself."""

    exact: int = 1000
    accent: int = 950
    inflection: int = 700
    prefix: int = 600
    joined: int = 900
    split: int = 900
    compound: int = 500

    def __post_init__(self) -> None:
        for name in self.__dataclass_fields__:
            if not 0 <= getattr(self, name) <= 1000:
                raise SettingError(f"the weight of {name} forms is 0 to 1000, got {getattr(self, name)!r}")


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


_DEFAULT_WEIGHTS: Final = FormWeights()
ASKED_WEIGHTS: Final = FormWeights(inflection=950)
"""The weights in search, where the choice of words decides most."""


def forms_of(
    asked: AskedTerm, words: Words, *, languages: Sequence[str] = (), weights: FormWeights = _DEFAULT_WEIGHTS
) -> tuple[Form, ...]:
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
        forms.append(Form((asked.term,), "exact", weights.exact))
    if asked.is_prefix:
        forms += _beginnings(asked.term, words, weights)
    forms += _inflections(asked.term, words, languages, weights)
    forms += _owners(asked.term, words, languages, weights)
    if occurrences < _HARDLY:
        forms += _splits(asked.term, words, weights)
    if not forms and not _COMPOUNDING.isdisjoint(languages):
        forms += _compounds(asked.term, words, weights)
    return _ranked(forms)


def joined_forms(query: Query, words: Words, *, weights: FormWeights = _DEFAULT_WEIGHTS) -> tuple[WordForms, ...]:
    """The neighbours of a question that the corpus also writes as one word: `data base`, `e-mail`, `multi-agent`.

    >>> from brimful.search.query import parse_query
    >>> from brimful.search.terms import CountedWords
    >>> joined_forms(parse_query("an e-mail now"), CountedWords({b"email": 2, b"mail": 1}))
    (WordForms(words=(b'e', b'mail'), forms=(Form(terms=(b'email',), how='joined', weight=900),)),)
    """
    return tuple(
        WordForms(pair, (Form((b"".join(pair),), "joined", weights.joined),))
        for pair in query.neighbours
        if _is_word(b"".join(pair)) and words.census(b"".join(pair))
    )


def longest_run(parts: Sequence[bytes], occurs: Callable[[tuple[bytes, ...]], bool]) -> tuple[bytes, ...]:
    """The most parts of a name, in its order, that stand side by side somewhere: more than half, the first of those.

    >>> longest_run([b"celery", b"task", b"always", b"eager"], lambda run: b"celery" not in run)
    (b'task', b'always', b'eager')
    >>> longest_run([b"get", b"user", b"name", b"list"], lambda run: len(run) == 2)
    ()
    """
    for size in range(len(parts), len(parts) // 2, -1) if len(parts) > 1 else ():
        for start in range(len(parts) - size + 1):
            if occurs(run := tuple(parts[start : start + size])):
                return run
    return ()


_ENDINGS = frozenset(" s es e d ed ing y ies ied ying er ers est ly 's ’s s' s’".encode().split(b" "))


# English words whose forms share no stem; without families that share a form with another word (saw, left, felt).
_FORMS = (
    "begin began begun/bind bound/break broke broken/bring brought/build built/buy bought/catch caught"
    "/choose chose chosen/draw drew drawn/drive drove driven/eat ate eaten/fall fell fallen/feed fed/fight fought"
    "/fly flew flown/forget forgot forgotten/freeze froze frozen/give gave given/go went gone/grow grew grown"
    "/hide hid hidden/hold held/keep kept/know knew known/lose lost/make made/mean meant/meet met/override overrode"
    " overridden/overwrite overwrote overwritten/pay paid/rebuild rebuilt/rewrite rewrote rewritten/ride rode ridden"
    "/run ran/say said/see seen/seek sought/sell sold/send sent/shake shook shaken/shrink shrank shrunk/sing sang sung"
    "/sink sank sunk/sleep slept/speak spoke spoken/spend spent/spin spun/steal stole stolen/stick stuck"
    "/swim swam swum/take took taken/teach taught/tell told/think thought/throw threw thrown"
    "/understand understood/wake woke woken/wear wore worn/win won/withdraw withdrew withdrawn/write wrote written"
    "/analysis analyses/appendix appendices/axis axes/child children/crisis crises/criterion criteria/foot feet"
    "/half halves/hypothesis hypotheses/index indices/knife knives/matrix matrices/mouse mice/person people"
    "/thesis theses/tooth teeth/vertex vertices"
)
_IRREGULAR: Final = {
    one: tuple(other for other in family if other != one)
    for family in (line.encode().split() for line in _FORMS.split("/"))
    for one in family
}


def is_inflection(first: bytes, second: bytes) -> bool:
    """Whether two English words of one stem, or of one family, are forms of one word, not derived from each other.

    >>> is_inflection(b"copies", b"copy"), is_inflection(b"running", b"run"), is_inflection(b"parental", b"parents")
    (True, True, False)
    >>> is_inflection(b"broke", b"break")
    True
    """
    if second in _IRREGULAR.get(first, ()):
        return True
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


def _beginnings(term: bytes, words: Words, weights: FormWeights) -> Iterable[Form]:
    """The shortest terms with this prefix."""
    nearest = sorted(words.names(term), key=lambda name: (len(name), name))[:MOST_NAMES]
    return (Form((name,), "prefix", weights.prefix) for name in nearest if name != term)


def _inflections(term: bytes, words: Words, languages: Sequence[str], weights: FormWeights) -> list[Form]:
    """Words of one stem in any of the languages, and words that differ in accents only."""
    text = term.decode("utf-8", "replace")
    family = _IRREGULAR.get(term, ()) if not languages or "en" in languages else ()
    irregular = [Form((name,), "inflection", weights.inflection) for name in family if words.census(name)]
    if len(text) < _LEAST_LETTERS or not _is_word(term):
        return irregular
    chosen = tuple(dict.fromkeys((NO_LANGUAGE, *languages)))
    stems = {language: stem for language, (stem,) in stems_by_language([term], chosen).items()}
    candidates = _near(text, [stem.decode("utf-8", "replace") for stem in stems.values()], words)
    candidates = [name for name in candidates if name != term]
    inflected: dict[bytes, Form] = {}
    for language, stemmed in stems_by_language(candidates, chosen).items():  # accents come first
        how: How = "accent" if language == NO_LANGUAGE else "inflection"
        weight = weights.accent if language == NO_LANGUAGE else weights.inflection
        for name, stem in zip(candidates, stemmed, strict=True):
            if stem == stems[language] and (how == "accent" or len(stem) >= _LEAST_LETTERS):
                inflected.setdefault(name, Form((name,), how, weight))
    return list({form.terms[0]: form for form in (*irregular, *inflected.values())}.values())


def _owners(term: bytes, words: Words, languages: Sequence[str], weights: FormWeights) -> list[Form]:
    """The owner in a possessive, with all forms: `Caroline` for `Caroline's`."""
    owner = next((term[: -len(end)] for end in _POSSESSIVES if term.endswith(end)), b"")
    if len(owner) < _LEAST_LETTERS or not _is_word(owner):
        return []
    itself = [Form((owner,), "inflection", weights.inflection)] if words.census(owner) else []
    return [*itself, *_inflections(owner, words, languages, weights)]


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


def _splits(term: bytes, words: Words, weights: FormWeights) -> list[Form]:
    """A word as two known ones that follow each other; the rarer of the two decides which split is the best."""
    text = term.decode("utf-8", "replace")
    if not 2 * _LEAST_LETTERS <= len(text) <= _LONGEST_SPLIT or not _is_word(term):
        return []
    ranked: list[tuple[int, tuple[bytes, ...]]] = []
    for cut in range(_LEAST_LETTERS, len(text) - _LEAST_LETTERS + 1):
        first, second = text[:cut].encode(), text[cut:].encode()
        if (counted := words.census(first)) and (also := words.census(second)):
            ranked.append((-min(counted, also), (first, second)))
    return [Form(parts, "split", weights.split) for _, parts in sorted(ranked)[:1]]


def _compounds(term: bytes, words: Words, weights: FormWeights) -> list[Form]:
    """Known words that are this one and another, with a linking letter or two between: `Bahnhof` in `Hauptbahnhof`."""
    if len(term) < _LEAST_PART or not _is_word(term):
        return []
    begun = [name for name in words.names(term) if _is_compound(name[len(term) :], words, is_first=False)]
    ended = [name for name in words.endings(term) if _is_compound(name[: -len(term)], words, is_first=True)]
    nearest = sorted((name for name in {*begun, *ended} if words.census(name)), key=lambda name: (len(name), name))
    return [Form((name,), "compound", weights.compound) for name in nearest[:MOST_NAMES]]


def _is_compound(remainder: bytes, words: Words, *, is_first: bool) -> bool:
    """Whether the remainder of a compound is a word of the corpus, or the prefix of several."""
    for link in _LINKS:
        if not (remainder.endswith(link) if is_first else remainder.startswith(link)):
            continue
        part = remainder[: len(remainder) - len(link)] if is_first else remainder[len(link) :]
        is_present = words.census(part) or (is_first and len(words.names(part)) > 1)
        if len(part) >= _LEAST_LETTERS and _is_word(part) and is_present:
            return True
    return False


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
