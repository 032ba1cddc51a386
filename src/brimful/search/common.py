"""How common is a word anywhere, whatever this corpus says?

A model's vocabulary is a list of the commonest words of many languages in about the order of their frequency: a word
that is one token of it is a known one, and the earlier it stands, the less it says. So a word that is rare in a
corpus of code because nobody writes prose there ("people", "placed") does not pass for a name, and a word that is
spelled correctly is known as such though no document has it.
"""

from __future__ import annotations

from functools import lru_cache
from math import log
from typing import Final

from brimful.text.bpe import tokenizer_of

VOCABULARY: Final = "o200k_base"
SIZE: Final = 200_000
KNOWN: Final = 120_000
"""Behind this place common misspellings (`recieve`, `lenght`) stand beside rare words."""
_LEAST_LETTERS = 5  # shorter tokens are beginnings of longer words as often as words


@lru_cache(16_384)
def place_of(word: bytes) -> int | None:
    """The word's place in the vocabulary, as it stands behind a blank; None if it is not one token.

    >>> place_of(b"people") < place_of(b"placed") < place_of(b"receipt"), place_of(b"reciept")
    (True, None)
    """
    text = word.decode("utf-8", "replace")
    places = [
        tokens[0]
        for form in (text, text.capitalize())
        if len(tokens := tokenizer_of(VOCABULARY).encode_ordinary(f" {form}")) == 1
    ]
    return min(places, default=None)


def is_known(word: bytes) -> bool:
    """Whether a word of five letters or more is a common one of some language.

    >>> is_known("vergessen".encode()), is_known(b"recieve"), is_known(b"conciousness")
    (True, False, False)
    """
    place = place_of(word)
    return len(word.decode("utf-8", "replace")) >= _LEAST_LETTERS and place is not None and place < KNOWN


def tells(word: bytes) -> float:
    """How much a word says by itself: near nothing for the commonest, one for a word that is in no vocabulary.

    >>> round(tells(b"the"), 2), round(tells(b"people"), 2), tells(b"manpath")
    (0.46, 0.61, 1.0)
    """
    place = place_of(word)
    return 1.0 if place is None else round(log(max(place, 2)) / log(SIZE), 6)
