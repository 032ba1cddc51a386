"""What kind of character is this, and how is a text written so that equal words are equal bytes?"""

from __future__ import annotations

import bisect
import sys
import threading
import unicodedata
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

# ---- characters: What kind of character is this, and how is it written in a term?
#
# Every character has one class and one folded form: compatibility and case folding of each alone (`Ｆ` and
# `F` are `f`, `ß` is `ss`, `ﬁ` is `fi`, `①` and `٣` are `1` and `3`). Python's `unicodedata` is asked about each when a
# process first meets it.

_SEPARATOR: Final = 0
LOWER: Final = 1  # also every letter without case
UPPER: Final = 2
DIGIT: Final = 3
_UNSPACED: Final = 4  # scripts that write no spaces between words
_HANGUL: Final = 5
_MARK: Final = 6  # takes the class of the character it stands on; never left in a folded text
_IGNORED: Final = 7  # soft hyphen, joiners, variation selectors: as if not there
DOT: Final = 8  # from here on: separators that can hold a word together
COMMA: Final = 9
DASH: Final = 10
APOSTROPHE: Final = 11
UNDERSCORE: Final = 12
PLUS: Final = 13
HASH: Final = 14

_WORD = (LOWER, UPPER, DIGIT, _UNSPACED, _HANGUL)

_SPECIAL = {".": DOT, ",": COMMA, "-": DASH, "'": APOSTROPHE, "_": UNDERSCORE, "+": PLUS, "#": HASH}
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
_FUTURE_HAN = ((0x20000, 0x2F7FF), (0x30000, 0x3FFFF))  # Unicode fills them with Han
_HANGUL_BLOCKS = ((0x1100, 0x11FF), (0x3130, 0x318F), (0xA960, 0xA97F), (0xAC00, 0xD7FF), (0xFFA0, 0xFFDC))
_KANA_MARKS = "\uff9e\uff9f"
_BLOCKS = sorted(
    [(first, last, _UNSPACED) for first, last in _UNSPACED_BLOCKS]
    + [(first, last, _HANGUL) for first, last in _HANGUL_BLOCKS]
)


def _ascii_class(char: str) -> int:
    if char.isalpha():
        return UPPER if char.isupper() else LOWER
    return DIGIT if char.isdigit() else _SPECIAL.get(char, _SEPARATOR)


ASCII_CLASSES = bytes(_ascii_class(chr(code)) for code in range(128)) + bytes(128)
_ASCII_FOLDED = bytes(range(256)).lower()


class _Characters:
    """What is known of the characters met so far, by code point; shared by threads."""

    def __init__(self) -> None:
        size = sys.maxunicode + 1
        self.classes = np.zeros(size, np.uint8)
        self.folded = np.zeros(size, np.uint32)  # what it is folded to, or the first of several
        self.longer = np.zeros(size, np.uint16)  # row in `tails`, 0 if the folded form is one code point
        self.follows = np.zeros(size, np.bool_)  # whether it may depend on what it follows (marks, ignored)
        self.tails: list[str] = [""]  # the further characters of folded forms
        self._is_known = np.zeros(size, np.bool_)
        self._lock = threading.Lock()

    def meet(self, codes: NDArray[np.uint32]) -> None:
        """Look up those of the code points that are new."""
        fresh = codes[~self._is_known[codes]]
        if not len(fresh):
            return
        with self._lock:
            for code in np.unique(fresh).tolist():
                char = chr(code)
                kind, form = _kind_and_form(char)
                self.classes[code], self.folded[code] = kind, ord(form[0])
                self.follows[code] = kind in (_MARK, _IGNORED) or _may_join(char)
                if len(form) > 1:
                    self.longer[code] = len(self.tails)
                    self.tails.append(form[1:])
                self._is_known[code] = True


_CHARACTERS = _Characters()


def _may_join(char: str) -> bool:
    """Whether a character may become one with that before it: marks, vowels and tails of Hangul, marks of kana."""
    return unicodedata.category(char)[0] == "M" or "\u1161" <= char <= "\u11ff" or char in _KANA_MARKS


@lru_cache(maxsize=65_536)
def _composed(first: int, second: int) -> int:
    """The one character that two neighbours are (Unicode's NFC, and halfwidth kana); 0 where they are two.

    >>> chr(_composed(ord("e"), 0x301)), chr(_composed(0x1100, 0x1161)), _composed(ord("e"), ord("f"))
    ('é', '가', 0)
    """
    pair = chr(first) + chr(second)
    if pair == "i\u0307":
        return first  # not i with a dot above, which nobody types
    is_kana = "\uff66" <= pair[0] <= "\uff9d" and pair[1] in _KANA_MARKS
    joined = unicodedata.normalize("NFKC" if is_kana else "NFC", pair)
    if len(joined) > 1:
        return 0
    parts = unicodedata.decomposition(joined).split()
    is_syllable = "\uac00" <= joined <= "\ud7a3"
    return ord(joined) if is_kana or is_syllable or [int(part, 16) for part in parts] == [first, second] else 0


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
    kinds = {_kind(letter) for letter in form} - {_MARK}
    if len(kinds) != 1 or (folded := kinds.pop()) not in _WORD:
        return kind, char
    return (UPPER if kind == UPPER else folded), form


def _kind(char: str) -> int:
    if char.isascii():
        return ASCII_CLASSES[ord(char)]
    category, code = unicodedata.category(char), ord(char)
    if category[0] not in "LMN":
        if category == "Cf":
            return _SEPARATOR if char == "\u200b" else _IGNORED  # the zero-width space is there to separate
        if category == "Cn" and any(first <= code <= last for first, last in _FUTURE_HAN):
            return _UNSPACED
        return APOSTROPHE if char in _APOSTROPHES else _SEPARATOR
    if category == "Me" or 0xFE00 <= code <= 0xFE0F or 0xE0100 <= code <= 0xE01EF:
        return _IGNORED  # keycaps and variation selectors
    if category == "Nd":
        return DIGIT
    if char in _APOSTROPHES:
        return APOSTROPHE
    return _script(code) or {"L": UPPER if category in ("Lu", "Lt") else LOWER, "M": _MARK, "N": DIGIT}[category[0]]


def _script(code: int) -> int:
    """_UNSPACED or _HANGUL for the blocks of such scripts, else 0."""
    block = bisect.bisect_right(_BLOCKS, (code, sys.maxunicode + 1, 0)) - 1
    return _BLOCKS[block][2] if block >= 0 and code <= _BLOCKS[block][1] else 0


# ---- folding: How is a text written so that equal words are equal bytes?
#
# A text is taken for ASCII with exceptions: ASCII costs two table look-ups in C, and only the exceptions are decoded.
# A letter and the marks right after it become one composed code point (NFC), then each character
# takes its folded form. Every byte of the result knows where it came from.


@dataclass(frozen=True, slots=True, eq=False)
class Folded:
    """A folded text: UTF-8 bytes, the class of the character each byte belongs to, and its offset in the content."""

    text: NDArray[np.uint8]
    classes: NDArray[np.uint8]
    origins: NDArray[np.int64] | None  # byte offsets in the content, one more than bytes; None if unchanged

    def origin(self, places: NDArray[np.int64] | NDArray[np.int32]) -> NDArray[np.int64] | NDArray[np.int32]:
        """The byte offsets in the content of these places in the folded text."""
        return places if self.origins is None else self.origins[places]


def fold(content: bytes) -> Folded:
    """Fold a text; bytes that are not UTF-8 become separators in their places.

    >>> folded = fold("Große Ａ-Ｚ e\u0301".encode())
    >>> folded.text.tobytes().decode()
    'grosse a-z é'
    >>> folded.origin(np.array([7, 9])).tolist()
    [7, 11]
    """
    if not content.isascii():
        # One byte out for one byte in: each byte that can't be decoded is escaped alone, then replaced by "?".
        content = content.decode("utf-8", "surrogateescape").encode("utf-8", "replace")
    text = np.frombuffer(bytearray(content).translate(_ASCII_FOLDED), np.uint8)
    classes = np.frombuffer(bytearray(content).translate(ASCII_CLASSES), np.uint8)
    if content.isascii():
        return Folded(text, classes, None)
    return _fold_exceptions(np.frombuffer(content, np.uint8), text, classes)


def _fold_exceptions(raw: NDArray[np.uint8], text: NDArray[np.uint8], classes: NDArray[np.uint8]) -> Folded:
    """Replace every character beyond ASCII, and the ASCII letters that a mark stands on, by their folded forms."""
    edited = raw >= 0x80
    places = np.flatnonzero(raw >= 0xC0)
    codes = _decode(raw, places)
    _CHARACTERS.meet(codes)
    widths, staying = _utf8_widths(codes), np.ones(len(codes), np.bool_)
    if _CHARACTERS.follows[codes].any():
        places, codes = _with_bases(raw, places, codes)
        edited[places] = True
        widths = _utf8_widths(codes)
        staying = _compose(places, widths, codes)
        _CHARACTERS.meet(codes)
    kinds = _settle_marks(places, widths, _CHARACTERS.classes[codes], staying)
    staying &= kinds != _IGNORED
    forms, form_kinds, form_of = _expand(codes, kinds, staying)

    form_widths = _utf8_widths(forms)
    new_widths = np.bincount(form_of, weights=form_widths, minlength=len(codes)).astype(np.int64)
    origins: NDArray[np.int64] | None = None
    if not np.array_equal(new_widths, widths):
        sources = _taken(len(raw), places, widths, new_widths)
        text, classes, edited = text[sources], classes[sources], edited[sources]
        sources[edited] = np.repeat(places, new_widths)
        origins = np.append(sources, len(raw))
    text[edited] = np.frombuffer(forms.astype("<u4").tobytes().decode("utf-32-le").encode(), np.uint8)
    classes[edited] = np.repeat(form_kinds, form_widths)
    return Folded(text, classes, origins)


def _taken(
    size: int, places: NDArray[np.int64], widths: NDArray[np.int64], new_widths: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Which byte each byte of the new text takes the place of: bytes too many go, bytes too few stand twice."""
    staying = np.ones(size, np.bool_)
    for step in range(4):
        staying[places[(new_widths <= step) & (step < widths)] + step] = False
    sources = np.flatnonzero(staying)
    grown = np.flatnonzero(new_widths > widths)
    doubles = np.repeat((places + widths - 1)[grown], (new_widths - widths)[grown])
    return np.insert(sources, np.searchsorted(sources, doubles), doubles) if len(doubles) else sources


def _utf8_widths(codes: NDArray[np.uint32]) -> NDArray[np.int64]:
    """How many bytes each code point takes in UTF-8."""
    return 1 + (codes > 0x7F).astype(np.int64) + (codes > 0x7FF) + (codes > 0xFFFF)


def _decode(raw: NDArray[np.uint8], places: NDArray[np.int64]) -> NDArray[np.uint32]:
    """The code points that start at these lead bytes of a valid text."""
    lead = raw[places].astype(np.uint32)
    codes = np.where(lead < 0xE0, lead & 0x1F, np.where(lead < 0xF0, lead & 0x0F, lead & 0x07))
    last = len(raw) - 1
    for step, longer in ((1, 0xC0), (2, 0xE0), (3, 0xF0)):
        following = raw[np.minimum(places + step, last)] & 0x3F
        codes = np.where(lead >= longer, codes << 6 | following, codes)
    return codes.astype(np.uint32)


def _with_bases(
    raw: NDArray[np.uint8], places: NDArray[np.int64], codes: NDArray[np.uint32]
) -> tuple[NDArray[np.int64], NDArray[np.uint32]]:
    """Add the ASCII characters that a mark follows to the characters that are treated one by one."""
    neighbours = places[_CHARACTERS.follows[codes]] - 1
    neighbours = neighbours[neighbours >= 0]
    bases = neighbours[raw[neighbours] < 0x80]
    joined = np.concatenate([places, bases])
    order = np.argsort(joined, kind="stable")
    return joined[order], np.concatenate([codes, raw[bases].astype(np.uint32)])[order]


def _compose(places: NDArray[np.int64], widths: NDArray[np.int64], codes: NDArray[np.uint32]) -> NDArray[np.bool_]:
    """Compose letters with the marks right after them where Unicode has one code point; return which stay.

    Each round joins one mark to a letter, so a letter with three marks takes three rounds.
    """
    staying = np.ones(len(codes), np.bool_)
    touching = np.zeros(len(codes), np.bool_)
    touching[1:] = places[:-1] + widths[:-1] == places[1:]
    predecessor = np.arange(len(codes)) - 1
    candidates = np.flatnonzero(_CHARACTERS.follows[codes] & touching)
    while len(candidates):
        pairs = zip(codes[predecessor[candidates]].tolist(), codes[candidates].tolist(), strict=True)
        composed = np.array([_composed(first, second) for first, second in pairs], np.uint32)
        joins = composed > 0
        joins[1:] &= ~(joins[:-1] & (predecessor[candidates[1:]] == candidates[:-1]))
        joined = candidates[joins]
        if not len(joined):
            break
        codes[predecessor[joined]] = composed[joins]
        staying[joined] = False
        # What followed a composed mark now follows its letter.
        following = joined[joined + 1 < len(codes)] + 1
        predecessor[following] = predecessor[following - 1]
        candidates = candidates[staying[candidates]]
    return staying


def _settle_marks(
    places: NDArray[np.int64], widths: NDArray[np.int64], kinds: NDArray[np.uint8], staying: NDArray[np.bool_]
) -> NDArray[np.uint8]:
    """Give each mark the class of the character it stands on; a mark that stands on nothing separates.

    On a capital it counts as a small letter, since the capital ends before it.
    """
    # A mark composed away or an ignored character between the two changes nothing.
    passed = (kinds == _MARK) | (kinds == _IGNORED) | ~staying
    if not (passed & (kinds == _MARK) & staying).any():
        return kinds
    here = np.arange(len(kinds))
    base = np.maximum.accumulate(np.where(passed, -1, here))
    broken = np.ones(len(kinds), np.bool_)
    broken[1:] = places[:-1] + widths[:-1] != places[1:]
    last_break = np.maximum.accumulate(np.where(broken, here, 0))
    has_base = (base >= last_break) & (base >= 0)
    inherited = np.where(has_base, kinds[base], _SEPARATOR).astype(np.uint8)
    inherited[inherited > _HANGUL] = _SEPARATOR
    inherited[inherited == UPPER] = LOWER
    return np.where((kinds == _MARK) & staying, inherited, kinds)


def _expand(
    codes: NDArray[np.uint32], kinds: NDArray[np.uint8], staying: NDArray[np.bool_]
) -> tuple[NDArray[np.uint32], NDArray[np.uint8], NDArray[np.int64]]:
    """The folded code points, their classes, and which character each is from."""
    folded, rows = _CHARACTERS.folded[codes], np.where(staying, _CHARACTERS.longer[codes], 0)
    if not rows.any() and staying.all():
        return folded, kinds, np.arange(len(codes))
    tails = [[*map(ord, tail)] for tail in _CHARACTERS.tails]
    width = max(map(len, tails), default=0)
    table = np.array([[*tail, *[0] * (width - len(tail))] for tail in tails], np.uint32)
    counts = staying + np.count_nonzero(table, axis=1)[rows]
    form_of = np.repeat(np.arange(len(codes)), counts)
    nth = np.arange(len(form_of)) - (np.cumsum(counts) - counts)[form_of]
    forms, is_more = folded[form_of], nth > 0
    forms[is_more] = table[rows[form_of[is_more]], nth[is_more] - 1]
    return forms, kinds[form_of], form_of
