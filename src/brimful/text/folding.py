"""How is a text written so that equal words are equal bytes?

A text is taken for ASCII with exceptions: ASCII costs two table look-ups in C, and only the exceptions are decoded.
A letter and the marks right behind it become the one code point that stands for them (NFC), then each character
takes its folded form. Every byte of the result knows where it came from.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from brimful.text.characters import (
    ASCII_CLASSES,
    ASCII_FOLDED,
    HANGUL,
    IGNORED,
    LOWER,
    MARK,
    SEPARATOR,
    UPPER,
    tables_of_unicode,
)


@dataclass(frozen=True, slots=True, eq=False)
class Folded:
    """A text as it stands in terms: UTF-8 bytes, the class of the character each belongs to, and where it was."""

    text: NDArray[np.uint8]
    classes: NDArray[np.uint8]
    origins: NDArray[np.int64] | None  # byte offsets in the content, one more than bytes; None if unchanged

    def origin(self, places: NDArray[np.int64]) -> NDArray[np.int64]:
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
    text = np.frombuffer(bytearray(content).translate(ASCII_FOLDED), np.uint8)
    classes = np.frombuffer(bytearray(content).translate(ASCII_CLASSES), np.uint8)
    if content.isascii():
        return Folded(text, classes, None)
    return _fold_exceptions(np.frombuffer(content, np.uint8), text, classes)


def _fold_exceptions(raw: NDArray[np.uint8], text: NDArray[np.uint8], classes: NDArray[np.uint8]) -> Folded:
    """Replace every character beyond ASCII, and the ASCII letters that a mark stands on, by their folded forms."""
    tables = tables_of_unicode()
    edited = raw >= 0x80
    places = np.flatnonzero(raw >= 0xC0)
    codes = _decode(raw, places)
    if tables.followers[codes].any():
        places, codes = _with_bases(raw, places, codes)
        edited[places] = True
    widths = _utf8_widths(codes)
    kept = _compose(places, widths, codes) if tables.followers[codes].any() else np.ones(len(codes), np.bool_)
    kinds = _settle_marks(places, widths, tables.classes[codes], kept)
    kept &= kinds != IGNORED
    forms, form_kinds, form_of = _expand(codes, kinds, kept)

    form_widths = _utf8_widths(forms)
    new_widths = np.bincount(form_of, weights=form_widths, minlength=len(codes)).astype(np.int64)
    origins: NDArray[np.int64] | None = None
    if not np.array_equal(new_widths, widths):
        taken = _taken(len(raw), places, widths, new_widths)
        text, classes, edited = text[taken], classes[taken], edited[taken]
        taken[edited] = np.repeat(places, new_widths)
        origins = np.append(taken, len(raw))
    text[edited] = np.frombuffer(forms.astype("<u4").tobytes().decode("utf-32-le").encode(), np.uint8)
    classes[edited] = np.repeat(form_kinds, form_widths)
    return Folded(text, classes, origins)


def _taken(
    size: int, places: NDArray[np.int64], widths: NDArray[np.int64], new_widths: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Which byte each byte of the new text takes the place of: bytes too many go, bytes too few stand twice."""
    kept = np.ones(size, np.bool_)
    for step in range(4):
        kept[places[(new_widths <= step) & (step < widths)] + step] = False
    taken = np.flatnonzero(kept)
    grown = np.flatnonzero(new_widths > widths)
    doubles = np.repeat((places + widths - 1)[grown], (new_widths - widths)[grown])
    return np.insert(taken, np.searchsorted(taken, doubles), doubles) if len(doubles) else taken


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
    before = places[tables_of_unicode().followers[codes]] - 1
    before = before[before >= 0]
    bases = before[raw[before] < 0x80]
    joined = np.concatenate([places, bases])
    order = np.argsort(joined, kind="stable")
    return joined[order], np.concatenate([codes, raw[bases].astype(np.uint32)])[order]


def _compose(places: NDArray[np.int64], widths: NDArray[np.int64], codes: NDArray[np.uint32]) -> NDArray[np.bool_]:
    """Join letters and the marks right behind them where one code point stands for both; say which stay.

    Each round joins one mark to a letter, so a letter with three marks takes three rounds.
    """
    tables = tables_of_unicode()
    kept = np.ones(len(codes), np.bool_)
    touching = np.zeros(len(codes), np.bool_)
    touching[1:] = places[:-1] + widths[:-1] == places[1:]
    before = np.arange(len(codes)) - 1
    candidates = np.flatnonzero(tables.followers[codes] & touching)
    while len(candidates):
        wanted = codes[before[candidates]].astype(np.uint64) << np.uint64(32) | codes[candidates]
        found = np.minimum(np.searchsorted(tables.pairs, wanted), len(tables.pairs) - 1)
        joins = tables.pairs[found] == wanted
        joins[1:] &= ~(joins[:-1] & (before[candidates[1:]] == candidates[:-1]))
        joined = candidates[joins]
        if not len(joined):
            break
        codes[before[joined]] = tables.composed[found[joins]]
        kept[joined] = False
        # Whatever stood behind a mark that is gone now stands behind its letter.
        following = joined[joined + 1 < len(codes)] + 1
        before[following] = before[following - 1]
        candidates = candidates[kept[candidates]]
    return kept


def _settle_marks(
    places: NDArray[np.int64], widths: NDArray[np.int64], kinds: NDArray[np.uint8], kept: NDArray[np.bool_]
) -> NDArray[np.uint8]:
    """Give each mark the class of the character it stands on; a mark that stands on nothing separates.

    On a capital it counts as a small letter, since the capital ends before it.
    """
    # A mark composed away or an ignored character between the two changes nothing.
    passed = (kinds == MARK) | (kinds == IGNORED) | ~kept
    if not (passed & (kinds == MARK) & kept).any():
        return kinds
    here = np.arange(len(kinds))
    base = np.maximum.accumulate(np.where(passed, -1, here))
    broken = np.ones(len(kinds), np.bool_)
    broken[1:] = places[:-1] + widths[:-1] != places[1:]
    last_break = np.maximum.accumulate(np.where(broken, here, 0))
    stands = (base >= last_break) & (base >= 0)
    inherited = np.where(stands, kinds[base], SEPARATOR).astype(np.uint8)
    inherited[inherited > HANGUL] = SEPARATOR
    inherited[inherited == UPPER] = LOWER
    return np.where((kinds == MARK) & kept, inherited, kinds)


def _expand(
    codes: NDArray[np.uint32], kinds: NDArray[np.uint8], kept: NDArray[np.bool_]
) -> tuple[NDArray[np.uint32], NDArray[np.uint8], NDArray[np.int64]]:
    """The folded code points, their classes, and which character each is from."""
    tables = tables_of_unicode()
    rows = np.where(kept, tables.longer[codes], 0)
    if not rows.any() and kept.all():
        return tables.folds[codes], kinds, np.arange(len(codes))
    counts = kept + np.count_nonzero(tables.tails, axis=1)[rows]
    form_of = np.repeat(np.arange(len(codes)), counts)
    nth = np.arange(len(form_of)) - (np.cumsum(counts) - counts)[form_of]
    forms = np.where(nth == 0, tables.folds[codes][form_of], tables.tails[rows[form_of], np.maximum(nth - 1, 0)])
    return forms, kinds[form_of], form_of
