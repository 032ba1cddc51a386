"""Where do lines, sentences and headings begin? By bytes alone, for many texts at once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from brimful.native import lines as kernels
from brimful.native.lines import NEWLINES
from brimful.outline.cuts import BLANKS, Cuts

# ---- lines: Where does each line of a text begin, where do its words, and where do its sentences?
#
# Sentence ends are read from bytes alone, roughly what `prose` decides word by word: a full stop after a single
# letter, a number of up to two digits or a usual abbreviation ends nothing, nor does a sign before a small letter.

LONGEST_SPEAKER = 48
"""Bytes of a line within which a speaker's name must end with a colon."""

# What a byte may be a sign of (lines.c reads it).
_BLANK, _NEWLINE, _STOP, _CLOSER, _, _GOES_ON, _LETTER, _DIGIT = (1 << bit for bit in range(8))
_SMALL = b"abcdefghijklmnopqrstuvwxyz"
_SIGNS = bytes(
    (_BLANK * (code in BLANKS and code != 10))
    | (_NEWLINE * (code == 10))
    | (_STOP * (code in b".!?"))
    | (_CLOSER * (code in b"\"')]*_`"))
    | (_GOES_ON * (code in _SMALL + b",;:"))
    | (_LETTER * (code < 128 and code | 32 in _SMALL))
    | (_DIGIT * (code in b"0123456789"))
    for code in range(256)
)
_ABBREVIATIONS = (
    "mr ms dr st vs cf ca hr fr no nr pp ed vol fig mrs gen col lt rev hon sen rep inc ltd bzw vgl ggf sog abb tab prof"
)
_SHORT_FORMS = np.array([int.from_bytes(word.encode(), "little") for word in _ABBREVIATIONS.split()], np.uint32)
_WIDE = np.array(
    [int.from_bytes(sign.encode(), "big") for sign in "。！？｡।॥؟۔"], np.uint32
)  # need no blank after them


@dataclass(frozen=True, slots=True, eq=False)
class Lines:
    """The lines of a text in columns; a blank line's words begin and end at its newline."""

    padded: bytes  # the text, padded with newlines
    starts: Cuts
    firsts: Cuts  # the first byte that is not blank
    ends: Cuts  # after the last byte that is not blank
    marks: NDArray[np.uint8]  # what a line may be, as the kernel says
    sentences: Cuts  # where sentences start after others
    blank: NDArray[np.bool_]  # which lines hold nothing but white space

    @property
    def size(self) -> int:
        """The bytes of the text alone."""
        return len(self.padded) - len(NEWLINES)

    @property
    def codes(self) -> NDArray[np.uint8]:
        """The bytes of the text and its padding."""
        return np.frombuffer(self.padded, np.uint8)

    @property
    def speaks(self) -> NDArray[np.bool_]:
        """Which lines have a colon before a blank near the start."""
        speaks: NDArray[np.bool_] = self.marks & kernels.SPEAKS != 0
        return speaks

    @property
    def items(self) -> NDArray[np.bool_]:
        """Which lines begin a list item or are a row of a table."""
        items: NDArray[np.bool_] = self.marks & kernels.ITEM != 0
        return items


def sentence_starts(content: bytes) -> list[int]:
    """The starts of all sentences but the first; white space belongs to the sentence before it.

    >>> sentence_starts(b"Dr. Ada paid 3.50 e.g. for tea. It was green. Fine.")
    [32, 46]
    """
    starts: list[int] = _sentences(content + NEWLINES).tolist()
    return starts


def _sentences(padded: bytes) -> Cuts:
    return kernels.find_sentences(padded, _SIGNS, short_forms=_SHORT_FORMS, wide=_WIDE)


def lines_in(padded: bytes) -> Lines:
    """The lines of a text that has NEWLINES at its end."""
    starts, firsts, ends, marks = kernels.find_lines(padded, _SIGNS, reach=LONGEST_SPEAKER)
    return Lines(padded, starts, firsts, ends, marks, _sentences(padded), firsts == ends)
