"""Where does each line of a text begin, where do its words, and where do its sentences?

Sentence ends are told by their bytes alone, roughly what `sentences` decides word by word: a full stop after a single
letter, a number of up to two digits or a usual abbreviation ends nothing, nor does a sign before a small letter.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from brimful import kernels
from brimful.kernels import NEWLINES
from brimful.text.cuts import BLANKS, Cuts

LONGEST_SPEAKER = 48
"""In so many bytes the name of whoever speaks ends with a colon."""

# What a byte may be a sign of (lines.c reads it).
_BLANK, _NEWLINE, _STOP, _CLOSER, _COLON, _GOES_ON, _LETTER, _DIGIT = (1 << bit for bit in range(8))
_SMALL = b"abcdefghijklmnopqrstuvwxyz"
_SIGNS = bytes(
    (_BLANK * (code in BLANKS and code != 10))
    | (_NEWLINE * (code == 10))
    | (_STOP * (code in b".!?"))
    | (_CLOSER * (code in b"\"')]*_`"))
    | (_COLON * (code == 58))
    | (_GOES_ON * (code in _SMALL + b",;:"))
    | (_LETTER * (code < 128 and code | 32 in _SMALL))
    | (_DIGIT * (code in b"0123456789"))
    for code in range(256)
)
_ABBREVIATIONS = (
    "mr ms dr st vs cf ca hr fr no nr pp ed vol fig mrs gen col lt rev hon sen rep inc ltd bzw vgl ggf sog abb tab prof"
)
_SHORT_FORMS = np.array([int.from_bytes(word.encode(), "little") for word in _ABBREVIATIONS.split()], np.uint32)
_WIDE = np.array([int.from_bytes(sign.encode(), "big") for sign in "。！？｡।॥؟۔"], np.uint32)  # need no blank behind


@dataclass(frozen=True, slots=True, eq=False)
class Lines:
    """The lines of a text in columns; a blank line's words begin and end at its newline.

    `codes` are the bytes of the text with some newlines behind, `words` the eight bytes that begin at each place.
    """

    codes: NDArray[np.uint8]
    words: NDArray[np.uint64]  # little-endian, whatever the machine
    starts: Cuts
    firsts: Cuts  # the first byte that is not blank
    ends: Cuts  # behind the last byte that is not blank
    speaks: NDArray[np.bool_]  # a colon before a blank stands near the start
    sentences: Cuts  # where sentences start after others

    @property
    def blank(self) -> NDArray[np.bool_]:
        """Which lines hold nothing but white space."""
        blank: NDArray[np.bool_] = self.firsts == self.ends
        return blank


def lines_of(content: bytes) -> Lines:
    r"""Find the lines and sentences of a text; its end begins no line.

    >>> lines = lines_of(b"a b \n\n  c")
    >>> lines.starts.tolist(), lines.firsts.tolist(), lines.ends.tolist()
    ([0, 5, 6], [0, 5, 8], [3, 5, 9])
    >>> lines_of(b"Dr. Ada paid 3.50 for tea. It was (U.S. tea). Fine.").sentences.tolist()
    [27, 46]
    """
    padded = content + NEWLINES
    words = np.ndarray((len(padded) - 7,), np.dtype(np.uint64).newbyteorder("<"), padded, strides=(1,))
    columns = kernels.find_lines(padded, _SIGNS, reach=LONGEST_SPEAKER)
    sentences = kernels.find_sentences(padded, _SIGNS, short_forms=_SHORT_FORMS, wide=_WIDE)
    return Lines(np.frombuffer(padded, np.uint8), words, *columns, sentences)
