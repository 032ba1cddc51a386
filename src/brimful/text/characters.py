"""What kind of character is this, and how is it written in a term?

Every character has one class and one folded form: compatibility and case folding of each by itself (`Ｆ` and
`F` are `f`, `ß` is `ss`, `ﬁ` is `fi`, `①` and `٣` are `1` and `3`). The tables come from Python's `unicodedata`,
in less than 0.1 s when they are first needed.
"""

from __future__ import annotations

import bisect
import functools
import sys
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

TERM_RULES: Final = 1
"""Goes up whenever some text gets other terms than before: stores remember by which rules theirs were made."""

SEPARATOR: Final = 0
LOWER: Final = 1  # also every letter without case
UPPER: Final = 2
DIGIT: Final = 3
UNSPACED: Final = 4  # scripts that write no spaces between words
HANGUL: Final = 5
MARK: Final = 6  # takes the class of the character it stands on; never left in a folded text
IGNORED: Final = 7  # soft hyphen, joiners, variation selectors: as if not there
DOT: Final = 8  # from here on: separators that can hold a word together
COMMA: Final = 9
DASH: Final = 10
APOSTROPHE: Final = 11
UNDERSCORE: Final = 12
PLUS: Final = 13
HASH: Final = 14

_WORD = (LOWER, UPPER, DIGIT, UNSPACED, HANGUL)

_SPECIAL = {".": DOT, ",": COMMA, "-": DASH, "'": APOSTROPHE, "_": UNDERSCORE, "+": PLUS, "#": HASH}
_LAST_ASCII = 0x7F
_APOSTROPHES = "\u2019\u02bc\uff07"
_UNSPACED_BLOCKS = (
    (0x0E00, 0x0EFF),  # Thai, Lao
    (0x1000, 0x109F),  # Burmese
    (0x1780, 0x17FF),  # Khmer
    (0x2E80, 0x2FDF),  # Han radicals
    (0x3005, 0x3007),  # Han iteration mark and zero
    (0x3021, 0x3029),  # Han numerals
    (0x3031, 0x303C),  # kana and Han iteration marks
    (0x3041, 0x312F),  # kana, Bopomofo
    (0x31A0, 0x31BF),  # Bopomofo
    (0x31F0, 0x31FF),  # kana
    (0x3400, 0x9FFF),  # Han
    (0xA9E0, 0xA9FF),  # Burmese
    (0xAA60, 0xAA7F),  # Burmese
    (0xF900, 0xFAFF),  # Han
    (0xFF66, 0xFF9F),  # halfwidth kana
    (0x1AFF0, 0x1B16F),  # kana
    (0x20000, 0x3FFFF),  # Han
)
_HANGUL_BLOCKS = ((0x1100, 0x11FF), (0x3130, 0x318F), (0xA960, 0xA97F), (0xAC00, 0xD7FF), (0xFFA0, 0xFFDC))
_BLOCKS = sorted(
    [(first, last, UNSPACED) for first, last in _UNSPACED_BLOCKS]
    + [(first, last, HANGUL) for first, last in _HANGUL_BLOCKS]
)
# Whole blocks of letters that fold to themselves: no need to ask about each.
_UNIFORM = ((0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xAC00, 0xD7A3), (0x20000, 0x2F7FF), (0x30000, 0x3FFFF))
_NOTHING_HERE = ((0xD800, 0xF8FF), (0x40000, 0xDFFFF), (0xE1000, sys.maxunicode))  # surrogates, private use
_FIRST_SYLLABLE = 0xAC00
_HANGUL_LEADS, _HANGUL_VOWELS, _HANGUL_TAILS = 19, 21, 28


def _ascii_class(char: str) -> int:
    if char.isalpha():
        return UPPER if char.isupper() else LOWER
    return DIGIT if char.isdigit() else _SPECIAL.get(char, SEPARATOR)


ASCII_CLASSES = bytes(_ascii_class(chr(code)) for code in range(128)) + bytes(128)
ASCII_FOLDED = bytes(range(256)).lower()


@dataclass(frozen=True, slots=True, eq=False)
class Tables:
    """What Unicode says about every code point, as far as terms go."""

    classes: NDArray[np.uint8]  # by code point
    folds: NDArray[np.uint32]  # by code point: what it is folded to, or the first of several
    longer: NDArray[np.uint16]  # by code point: row in `tails`, 0 if the folded form is one code point
    tails: NDArray[np.uint32]  # the further code points of a folded form, filled up with 0
    followers: NDArray[np.bool_]  # by code point: depends on what it follows (marks, seconds of a pair, ignored)
    pairs: NDArray[np.uint64]  # first << 32 | second, sorted
    composed: NDArray[np.uint32]  # what each pair becomes


@functools.cache
def tables_of_unicode() -> Tables:
    """The tables, made once."""
    size = sys.maxunicode + 1
    classes = np.zeros(size, np.uint8)
    folds = np.arange(size, dtype=np.uint32)
    longer = np.zeros(size, np.uint16)
    tails: list[str] = [""]
    for first, last in _UNIFORM:
        classes[first : last + 1] = _script(first)
    script = np.zeros(size, np.uint8)
    for first, last, kind in _BLOCKS:
        script[first : last + 1] = kind
    letters: list[int] = []  # without case, folded to themselves: most there are
    category, is_normalized = unicodedata.category, unicodedata.is_normalized
    for code in _codes_to_ask():
        char = chr(code)
        what = category(char)
        if what[0] not in "LMN" and what != "Cf" and code > _LAST_ASCII and char not in _APOSTROPHES:
            continue
        if what == "Lo" and is_normalized("NFKC", char) and char.casefold() == char:
            letters.append(code)
            continue
        kind, form = _kind_and_form(char)
        if kind:
            classes[code] = kind
            folds[code] = ord(form[0])
        if len(form) > 1:
            longer[code] = len(tails)
            tails.append(form[1:])
    classes[letters] = np.where(script[letters], script[letters], LOWER)
    pairs = dict(sorted(_compositions()))
    followers = (classes == MARK) | (classes == IGNORED)
    followers[[pair & 0xFFFFFFFF for pair in pairs]] = True
    width = max(len(tail) for tail in tails)
    return Tables(
        classes=classes,
        folds=folds,
        longer=longer,
        tails=np.array([[*map(ord, tail), *[0] * (width - len(tail))] for tail in tails], np.uint32),
        followers=followers,
        pairs=np.fromiter(pairs.keys(), np.uint64, len(pairs)),
        composed=np.fromiter(pairs.values(), np.uint32, len(pairs)),
    )


def _codes_to_ask() -> Iterator[int]:
    code = 0
    for first, last in sorted(_UNIFORM + _NOTHING_HERE):
        yield from range(code, first)
        code = last + 1


def _kind_and_form(char: str) -> tuple[int, str]:
    """The class of a character and its folded form.

    >>> _kind_and_form("Ａ"), _kind_and_form("ß"), _kind_and_form("™")
    ((2, 'a'), (1, 'ss'), (0, '™'))
    """
    kind = _kind(char)
    if kind not in _WORD:
        return kind, "'" if kind == APOSTROPHE else char
    if char == "\u0130":
        return UPPER, "i"  # not i with a dot above, which nobody types
    if kind == DIGIT and (value := unicodedata.decimal(char, None)) is not None:
        return DIGIT, str(value)
    form = char.casefold()
    if not unicodedata.is_normalized("NFKC", form):
        form = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", char).casefold())
    if form == char:
        return kind, char
    kinds = {_kind(each) for each in form} - {MARK}
    if len(kinds) != 1 or (folded := kinds.pop()) not in _WORD:
        return kind, char
    return (UPPER if kind == UPPER else folded), form


def _kind(char: str) -> int:
    if char.isascii():
        return ASCII_CLASSES[ord(char)]
    category = unicodedata.category(char)
    if category[0] not in "LMN":
        if category == "Cf":
            return SEPARATOR if char == "\u200b" else IGNORED  # the zero-width space is there to separate
        return APOSTROPHE if char in _APOSTROPHES else SEPARATOR
    code = ord(char)
    if category == "Me" or 0xFE00 <= code <= 0xFE0F or 0xE0100 <= code <= 0xE01EF:
        return IGNORED  # keycaps and variation selectors
    if category == "Nd":
        return DIGIT
    if char in _APOSTROPHES:
        return APOSTROPHE
    return _script(code) or {"L": UPPER if category in ("Lu", "Lt") else LOWER, "M": MARK, "N": DIGIT}[category[0]]


def _script(code: int) -> int:
    """UNSPACED or HANGUL for the blocks of such scripts, else 0."""
    block = bisect.bisect_right(_BLOCKS, (code, sys.maxunicode + 1, 0)) - 1
    return _BLOCKS[block][2] if block >= 0 and code <= _BLOCKS[block][1] else 0


def _compositions() -> Iterator[tuple[int, int]]:
    """Every pair of code points that one stands for, and that one (Unicode's NFC, and halfwidth kana)."""
    for code in _codes_to_ask():
        char = chr(code)
        parts = unicodedata.decomposition(char).split()
        if len(parts) == 2 and parts[0][0] != "<" and unicodedata.normalize("NFC", char) == char:
            yield int(parts[0], 16) << 32 | int(parts[1], 16), code
    for code in range(0xFF66, 0xFF9E):
        for mark in (0xFF9E, 0xFF9F):
            joined = unicodedata.normalize("NFKC", chr(code) + chr(mark))
            if len(joined) == 1:
                yield code << 32 | mark, ord(joined)
    yield ord("i") << 32 | 0x0307, ord("i")
    for syllable in range(_FIRST_SYLLABLE, _FIRST_SYLLABLE + _HANGUL_LEADS * _HANGUL_VOWELS * _HANGUL_TAILS):
        rest, tail = divmod(syllable - _FIRST_SYLLABLE, _HANGUL_TAILS)
        if tail:
            yield syllable - tail << 32 | (0x11A7 + tail), syllable
        else:
            lead, vowel = divmod(rest, _HANGUL_VOWELS)
            yield (0x1100 + lead) << 32 | (0x1161 + vowel), syllable
