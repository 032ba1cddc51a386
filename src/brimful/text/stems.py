"""Which words are forms of one word?

Words that share a stem. Stems are computed for a vocabulary, not for each occurrence: Snowball's stemmer for
the language, then accents removed, so that `cafe` and `café`, `uber` and `über` meet although both are kept as
terms.
"""

from __future__ import annotations

import re
import threading
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from itertools import chain
from typing import Final, TypeVar

import Stemmer  # type: ignore[import-not-found]  # a compiled module without stubs

from brimful.errors import choose

NO_LANGUAGE: Final = "none"
SNOWBALL: Final = {
    "da": "danish",
    "de": "german",
    "en": "english",
    "es": "spanish",
    "fi": "finnish",
    "fr": "french",
    "it": "italian",
    "nl": "dutch",
    "no": "norwegian",
    "pt": "portuguese",
    "ru": "russian",
    "sv": "swedish",
}
LANGUAGES: Final = (*SNOWBALL, NO_LANGUAGE)

# The commonest little words of each language, but no single Latin letters: code is full of them. A word that
# several share counts for each, so what tells neighbours apart is there on purpose: av and af, jag and jeg.
STOP_WORDS: Final = {
    "da": "og at det er en til af på de for ikke der med den har et som jeg var vi han kan skal fra om efter også"
    " blev hun men meget været",
    "de": "der die und in den von zu das mit sich des auf für ist im dem nicht ein eine als auch es an werden aus er"
    " hat dass sie nach wird bei einer um am sind noch wie wir ich war über oder wenn kann",
    "en": "the of and to in is that for it as was with be by on not he his but at are this have from or had an they"
    " which you were her all she there would their we him been has when who will if what can no more",
    "es": "de la que el en los del se las por un para con no una su al lo como más pero sus le ya este sí porque"
    " esta entre cuando muy sin sobre también me hasta hay donde quien es son fue",
    "fi": "ja on ei se että hän oli joka mutta ovat kun niin tai myös kuin sen mitä ole jos vain minä hänen nyt siitä"
    " sitä olen jotka voi ollut tämä olla mukaan sekä jälkeen",
    "fr": "de la le et les des en un du une que est pour qui dans par plus pas au sur ne se ce il sont la avec son"
    " ou mais comme nous vous cette ses aux été être elle sa fait leur",
    "it": "di il la che in per un non sono una del si con da le della al come ma dei nel più lo gli ha anche"
    " alla delle nella questo se ci dal era essere",
    "nl": "de van het een en in is dat op te zijn voor met die niet aan er om ook als dan maar bij nog uit werd hij"
    " naar door over wordt kan was wat je deze heeft hebben",
    "no": "og det er på som en til for av at med ikke den har de et om var jeg han fra vi så kan men skal seg også"
    " eller ble etter hadde hun mye vært",
    "pt": "de que do da em um para com não uma os no se na por mais as dos como mas foi ao ele das tem seu"
    " sua ou ser quando muito há nos já está eu também só pelo pela até",
    "ru": "и в не на что с по как это он к но из у от за о так же для то а его или бы мы был она они вы все были"
    " только при есть уже если когда также",
    "sv": "och att det som en på är av för med den till inte om ett har de han jag var så från men vi kan sig när"
    " hade där eller nu ska efter också vid hon mycket varit",
}


@cache
def telling_words() -> dict[str, tuple[bytes, ...]]:
    """Up to 16 stop words of each language that no other language has, for detecting it."""
    stop_words = {language: set(STOP_WORDS[language].encode().split()) for language in SNOWBALL}
    languages_with = Counter(chain.from_iterable(stop_words.values()))
    return {
        language: tuple(sorted(word for word in words if languages_with[word] == 1)[:16])
        for language, words in stop_words.items()
    }


_Word = TypeVar("_Word", str, bytes)
_own = threading.local()  # a stemmer serves one thread at a time
_LEAST_LETTERS = 3
# Letters of Latin, Greek and Cyrillic, and apostrophes between them.
_STEMMABLE = re.compile(
    "(?:[a-z\u00df-\u00f6\u00f8-\u024f\u0370-\u0373\u0376\u0377\u037b-\u037d\u0386-\u03ff\u0400-\u0481\u048a-\u052f"
    "\u1e00-\u1fff]|(?<=[^'])'(?=[^']))+"
)


def stems_of(names: Sequence[bytes], language: str) -> list[bytes]:
    """The stem of each term; a term that is not a word of letters is its own.

    >>> stems_of([b"location", b"locations", b"located", b"atom_positions", b"don't", b"john's"], "en")
    [b'locat', b'locat', b'locat', b'atom_positions', b'dont', b'john']
    >>> [stem.decode() for stem in stems_of(["häuser".encode(), "haus".encode()], "de")]
    ['haus', 'haus']
    >>> stems_of(["café".encode(), b"cafe"], "none")
    [b'cafe', b'cafe']
    """
    return stems_by_language(names, (language,))[language]


def stems_by_language(names: Sequence[bytes], languages: Iterable[str]) -> dict[str, list[bytes]]:
    """The stems of each term in each of several languages."""
    plain, irregular = [], []  # most words are plain letters, of which a stem needs no more care
    for row, name in enumerate(names):
        if name.isalpha() and name.islower():
            plain += [row] if len(name) >= _LEAST_LETTERS else []
        elif len(word := name.decode("utf-8", "replace")) >= _LEAST_LETTERS and _STEMMABLE.fullmatch(word):
            irregular.append((row, word))
    letters = [names[row] for row in plain]
    stems_of_language: dict[str, list[bytes]] = {}
    for language in languages:
        if language not in LANGUAGES:
            choose(language, LANGUAGES, what="language")
        stems = stems_of_language[language] = list(names)
        stemmed = [word for _, word in irregular]
        if language != NO_LANGUAGE:
            stem = _stemmer(language)
            stemmed = stem(stemmed)
            for row, stemmed_name in zip(plain, stem(letters), strict=True):
                stems[row] = stemmed_name if stemmed_name.isascii() else _plain(stemmed_name.decode()).encode()
        for (row, _), word in zip(irregular, stemmed, strict=True):
            stems[row] = _plain(word).encode()
    return stems_of_language


def _plain(word: str) -> str:
    """Without accents, and don't as dont."""
    if word.isascii():
        return word[:-2] + "t" if word.endswith("n't") else word
    return "".join(char for char in unicodedata.normalize("NFD", word) if not unicodedata.combining(char))


def _stemmer(language: str) -> Callable[[list[_Word]], list[_Word]]:
    if not hasattr(_own, language):
        stemmer = Stemmer.Stemmer(SNOWBALL[language])
        stemmer.maxCacheSize = 0  # a look-up takes triple the time of stemming
        setattr(_own, language, stemmer)
    stemmer = getattr(_own, language)
    return lambda words: list(stemmer.stemWords(words))
