"""Which tokens does a BERT model read a text as?

Uncased WordPiece in our own words: control characters go, letters become small and lose their accents, punctuation and
CJK characters stand alone, and each word is cut into the longest pieces that the vocabulary has.
"""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache

from brimful.errors import MissingPartError

_WORD_CHARACTERS = 100  # a longer word is unknown as a whole
_KEPT_CHARACTERS, _KEPT_WORDS = 1 << 12, 1 << 16
_BLANKS = frozenset("\t\n\r")  # the control characters that count
_UNSEEN = frozenset({"Cc", "Cf", "Cs", "Co"})
_KINDS = ("WordPiece", "BertNormalizer")  # of a model, and of what stands before it
_ASCII_MARKS = frozenset("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")
_CJK = (
    (0x3400, 0x4DBF),
    (0x4E00, 0x9FFF),
    (0xF900, 0xFAFF),
    (0x20000, 0x2A6DF),
    (0x2A700, 0x2B73F),
    (0x2B740, 0x2B81F),
    (0x2B920, 0x2CEAF),
    (0x2F800, 0x2FA1F),
)


class WordPiece:
    """The tokens of texts, by one vocabulary.

    >>> pieces = WordPiece(["[UNK]", "[CLS]", "[SEP]", "tea", "##pot", "!"])
    >>> pieces.tokens("Téapot!", limit=9)
    [1, 3, 4, 5, 2]
    """

    def __init__(self, vocabulary: Sequence[str] | Mapping[str, int], *, lower: bool = True) -> None:
        numbered = vocabulary if isinstance(vocabulary, Mapping) else {word: at for at, word in enumerate(vocabulary)}
        self._numbers = dict(numbered)
        try:
            self._unknown, self._first, self._last = (self._numbers[name] for name in ("[UNK]", "[CLS]", "[SEP]"))
        except KeyError as error:
            raise MissingPartError(f"the vocabulary has no {error.args[0]}: it is not one of BERT's") from error
        self._longest = max(map(len, self._numbers))
        self._lower = lower
        self._spelled = lru_cache(_KEPT_CHARACTERS)(self._spelling)
        self._cut = lru_cache(_KEPT_WORDS)(self._pieces)

    def tokens(self, text: str, *, limit: int) -> list[int]:
        """The tokens of a text between [CLS] and [SEP], at most `limit` in all; names of such marks are plain text."""
        room = limit - 2
        found: list[int] = []
        for word in self._words(text):
            found += self._cut(word) if len(word) <= _WORD_CHARACTERS else (self._unknown,)
            if len(found) >= room:
                break
        return [self._first, *found[:room], self._last]

    def _words(self, text: str) -> Iterator[str]:
        """What stands between blanks, one after the other: nobody pays for the rest of a text that is too long."""
        letters: list[str] = []
        for character in text:
            spelled = self._spelled(character)
            if not spelled.isspace():
                letters.append(spelled)
            if spelled[-1:] == " " and letters:
                yield from "".join(letters).split(" ")
                letters = []
        yield from "".join(letters).split(" ")

    def _spelling(self, character: str) -> str:
        """What becomes of one character: a blank, nothing, itself in plain small letters, or that between blanks."""
        if character not in _BLANKS and (character == "\ufffd" or unicodedata.category(character) in _UNSEEN):
            return ""
        if character.isspace():
            return " "
        plain = character
        if self._lower:
            parts = unicodedata.normalize("NFD", character)
            plain = "".join(part.lower() for part in parts if unicodedata.category(part) != "Mn")
        spaced = "".join(f" {part} " if _is_mark(part) else part for part in plain)
        number = ord(character)
        return f" {spaced} " if any(first <= number <= last for first, last in _CJK) else spaced

    def _pieces(self, word: str) -> tuple[int, ...]:
        """The longest known beginning of a word, then of its rest, and so on; unknown as a whole where one is not."""
        found: list[int] = []
        start = 0
        while start < len(word):
            prefix = "##" if start else ""
            for end in range(min(len(word), start + self._longest), start, -1):
                number = self._numbers.get(prefix + word[start:end])
                if number is not None:
                    break
            else:
                return (self._unknown,)
            found.append(number)
            start = end
        return tuple(found)


def read_wordpiece(raw: bytes, *, where: object) -> WordPiece | None:
    """The WordPiece tokenizer of a `tokenizer.json`; None where it is of another kind."""
    try:
        whole = json.loads(raw)
        model, normalizer = whole["model"], whole["normalizer"] or {}
        kinds = (model.get("type", "WordPiece"), normalizer.get("type"))
        return WordPiece(model["vocab"], lower=normalizer["lowercase"]) if kinds == _KINDS else None
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise MissingPartError(f"{where} is not a tokenizer; bring the model there again") from error


def _is_mark(character: str) -> bool:
    return character in _ASCII_MARKS or unicodedata.category(character)[0] == "P"
