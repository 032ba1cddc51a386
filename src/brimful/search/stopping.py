"""Which words of a question only ask, and say nothing about what is asked for?

Rarity by census does most of the work; but in code, logs or tables the words of a question ("how", "does") are
rare, and would count as much as a name. So the little words of the corpus's languages count for less as well.
"""

from __future__ import annotations

from typing import Final

from brimful.text.stems import STOP_WORDS

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
LANGUAGES: Final = tuple(_STOPS)


def only_asks(term: bytes, languages: tuple[str, ...]) -> bool:
    """Whether a term is a little word in one of these languages; English where none is known.

    >>> only_asks(b"how", ("en",)), only_asks(b"tea", ("en",)), only_asks(b"how", ("de",))
    (True, False, False)
    """
    return any(term in _STOPS[language] for language in languages or ("en",))
