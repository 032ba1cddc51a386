"""Where do sentences end, by their bytes alone, for many texts at once?

What `sentences` decides word by word, roughly: a full stop after a single letter, a number of up to two digits or a
usual abbreviation ends nothing, nor does a sign before a small letter. It runs fifty times as fast.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from brimful.outline.cuts import Cuts, merged
from tests.native.lines import Lines

_IS_BLANK = np.isin(np.arange(256), list(b" \t\r\v\f"))
_GOES_ON = np.isin(np.arange(256), list(b"abcdefghijklmnopqrstuvwxyz,;:"))
_IS_LETTER = np.isin(np.arange(256) | 32, list(b"abcdefghijklmnopqrstuvwxyz")) & (np.arange(256) < 128)
_IS_DIGIT = np.isin(np.arange(256), list(b"0123456789"))
_ABBREVIATIONS = (
    "mr ms dr st vs cf ca hr fr no nr pp ed vol fig mrs gen col lt rev hon sen rep inc ltd bzw vgl ggf sog abb tab prof"
)
_BY_SIZE = {
    size: np.array([int.from_bytes(word.encode(), "little") for word in _ABBREVIATIONS.split() if len(word) == size])
    for size in (2, 3, 4)
}
# These need no blank space behind them. All but the last two take three bytes.
_WIDE = np.array([int.from_bytes(sign.encode(), "big") for sign in "。！？｡।॥"])
_WIDE_SHORT = np.array([int.from_bytes(sign.encode(), "big") for sign in "؟۔"])
_CLOSERS = np.array([int.from_bytes(sign.encode(), "big") for sign in "」』）"])
_FIRST_WIDE = 0xD8  # no sign of these begins with a smaller byte
_MOST_BLANKS = 8
_FULL_STOP = 46


def sentence_places(lines: Lines) -> Cuts:
    r"""Where sentences start after others.

    >>> from tests.native.lines import lines_of
    >>> sentence_places(lines_of(b"Dr. Ada paid 3.50 for tea. It was (U.S. tea). Fine.")).tolist()
    [27, 46]
    """
    codes = lines.codes
    stops = np.concatenate((lines.stops, lines.closed))
    places = np.concatenate((lines.stops + 1, lines.closed + 2))
    places = _skipped(codes, places)
    places += codes[places] == 10
    following = codes[_skipped(codes, places)]
    good = ~_GOES_ON[following] & (following != 10) & ~_abbreviated(codes, stops)
    return merged(places[good], _wide_places(codes))


def _skipped(codes: NDArray[np.uint8], places: Cuts) -> Cuts:
    """Places after a few blanks."""
    places = places.copy()
    for _ in range(_MOST_BLANKS):
        blank = _IS_BLANK[codes[places]]
        if not blank.any():
            break
        places += blank
    return places


def _abbreviated(codes: NDArray[np.uint8], stops: Cuts) -> NDArray[np.bool_]:
    """Which full stops belong to a single letter, a number of up to two digits or an abbreviation."""
    before = [codes[np.maximum(stops - step, 0)] for step in range(1, 6)]
    letters = [_IS_LETTER[each] & (stops >= step) for step, each in enumerate(before, start=1)]
    digits = [_IS_DIGIT[each] & (stops >= step) for step, each in enumerate(before[:3], start=1)]
    found: NDArray[np.bool_] = letters[0] & ~letters[1] & ~digits[1]
    found |= digits[0] & (~digits[1] | ~digits[2]) & ~letters[1]
    opens = (stops < 2) | _IS_BLANK[before[1]] | (before[1] == 10)
    found |= (before[0] == _FULL_STOP) & (stops > 0) & opens  # of a directive, `.. note::`
    for at in np.flatnonzero((before[0] == _FULL_STOP) & (before[1] == _FULL_STOP) & (stops >= 2)).tolist():
        begin = int(stops[at]) - 2  # of a line in a session, `...     pour()`
        for _ in range(_MOST_BLANKS):
            begin -= bool(begin and _IS_BLANK[codes[begin - 1]])
        found[at] |= not begin or codes[begin - 1] == 10
    key = np.zeros(len(stops), np.int64)
    for size in range(1, 5):
        key = key << 8 | (before[size - 1] | 32)
        if size > 1:
            found |= letters[size - 1] & ~letters[size] & np.isin(key, _BY_SIZE[size])
    found &= codes[stops] == _FULL_STOP
    return found


def _triples(codes: NDArray[np.uint8], places: Cuts) -> Cuts:
    """Three bytes at each of some places as a number."""
    last = len(codes) - 1
    return (
        codes[places].astype(np.int64) << 16
        | codes[np.minimum(places + 1, last)].astype(np.int64) << 8
        | codes[np.minimum(places + 2, last)]
    )


def _wide_places(codes: NDArray[np.uint8]) -> Cuts:
    leads = np.flatnonzero(codes >= _FIRST_WIDE)
    pair = codes[leads].astype(np.int64) << 8 | codes[leads + 1]
    triple = _triples(codes, leads)
    short = np.isin(pair, _WIDE_SHORT)
    found = short | np.isin(triple, _WIDE)
    places = leads[found] + np.where(short[found], 2, 3)
    while (closing := np.isin(_triples(codes, places), _CLOSERS)).any():
        places = places + 3 * closing
    places = _skipped(codes, places)
    places += codes[places] == 10
    kept: Cuts = places[codes[np.minimum(places, len(codes) - 1)] != 10]
    return kept
