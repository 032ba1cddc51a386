"""Where may prose be cut: sentences, paragraphs, headings?"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from brimful.native import lines as kernels
from brimful.native.lines import NEWLINES
from brimful.outline.cuts import BLANKS, Cuts
from brimful.text.spans import Span

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


# ---- sentences: Does a sentence lean on the one before?


def _words(text: str) -> frozenset[bytes]:
    return frozenset(word.encode() for word in text.split())


_BACKWARD = _words(
    "he she it they him them this these that those such his her hers their theirs its both neither "
    "er sie es ihm ihn ihnen ihr ihre ihrer ihren sein seine seiner seinem seinen "
    "dies diese dieser dieses diesem diesen jene jener jenes solche solcher solches dessen deren dabei dadurch "
    "dafür damit danach daraus darin darauf darüber davon dazu "
    "il elle ils elles ce cet cette ces cela ceci ça celui celle ceux celles leur leurs lui sa ses "
    "él ella ello ellos ellas este esta esto estos estas ese esa eso esos esas aquel aquella aquello "
    "su sus esto dicho dicha dichos dichas "
    "egli ella essi esse questo questa questi queste quello quella "
    "ele eles elas isso isto aquilo esse essa"
)
_BACKWARD_CJK = tuple("他 她 它 牠 这 這 那 此 其 彼 それ これ その この そこ あれ 그 이것".split())
_ELISIONS = tuple("c' c’ it's it’s he's he’s she's she’s that's that’s they're they’re".split())
# Openings whose pronoun refers to nothing, and fixed phrases.
_EMPTY = re.compile(
    r"(?:es gibt|es gab|il y a|il faut|such as|that said|that is to say|her majesty|his majesty"
    r"|this (?:paper|article|document|chapter|section|book|page|file|guide|report|study)\b|both .{1,40} and\b)"
)
_LATTER = re.compile(r"the (?:latter|former)\b")
_FIRST = re.compile(r"[\W\d_]*([^\W\d_]+(?:['’][^\W\d_]+|['’])?)")


def refers_back(content: bytes, start: int) -> bool:
    """Does the sentence at `start` open with a word that refers to an earlier sentence?

    >>> refers_back(b"Ada wrote notes. They became famous.", 17)
    True
    >>> refers_back(b"Ada wrote notes. They became famous.", 0)
    False
    """
    opening = content[max(start, 0) : max(start, 0) + 96].decode(errors="ignore").casefold()
    word = _FIRST.match(opening)
    if word is None:
        return False
    phrase = opening[word.start(1) :]
    if _EMPTY.match(phrase):
        return False
    first = word[1]
    if first.startswith(_BACKWARD_CJK) or first in _ELISIONS or first.startswith(("c'", "c’")):
        return True
    return first.rstrip("'’").encode() in _BACKWARD or _LATTER.match(phrase) is not None


# ---- edges: Where may a text be shown from, or to, without parting a sentence? The bytes around decide: any
# kind of text, in any language, with marks that close after a stop.

_EDGE_BACK = 400  # bytes before and after an edge that decide whether it is natural
# No stop: the dots that begin a directive, `.. note::`.
_STOPS = rb"(?<!\s\.)(?:[.!?:;]|\xe2\x80\xa6)(?:[\"')\]}*_`]|\xe2\x80[\x99\x9d]){0,4}"
_WIDE_STOPS = rb"\xe3\x80[\x82\x8d\x8f]|\xef\xbc[\x81\x89\x9f]"
# The last bytes of what stands before an edge, without the white space in front of it: four closing signs at most.
_ENDS = re.compile(rb"(?:" + _STOPS + rb"|[\"')\]}>`*|]|\xe2\x80[\x99\x9d]|[}\]],)\Z")
_ENDS_BYTES = 17
_ENDS_WIDE = (b"\xe3\x80\x82", b"\xe3\x80\x8d", b"\xe3\x80\x8f", b"\xef\xbc\x81", b"\xef\xbc\x89", b"\xef\xbc\x9f")
_BLANK_LINE = re.compile(rb"\n[ \t\r]*\n")
_ATX_HEADING = re.compile(rb"[ \t]*#{1,6} [^\n]*\n")
_BEGINS_BLOCK = re.compile(rb"[ \t]*(?:(?:[-*+]|\xe2\x80\xa2|\d{1,3}[.)]) |\|)|[#>=~`\t]|\.\. |---|    |\r?\n")
_SENTENCE_END = re.compile(rb"(?:(?![:;])" + _STOPS + rb"(?=\s)|[}\]],(?=\s)|" + _WIDE_STOPS + rb")\s*")
_PARAGRAPH_END = re.compile(rb"\n[ \t\r]*\n\s*")
_LINE_END = re.compile(rb"\n")


def natural_span(content: bytes, start: int, end: int, *, reach: int, is_prose: bool) -> Span:
    """From where a sentence, a line or an element begins to where one ends, as far as those are near."""
    if not _is_natural_edge(content, start, is_prose=is_prose):
        start = max(_natural_edges(content, max(start - reach, 0), start, is_prose=is_prose), default=start)
    if not _is_natural_edge(content, end, is_prose=is_prose):
        end = min(_natural_edges(content, end, min(end + reach, len(content)), is_prose=is_prose), default=end)
    return Span(start, end)


def _is_natural_edge(content: bytes, edge: int, *, is_prose: bool) -> bool:
    """Whether a text may be parted at a byte without parting a sentence; lines of prose are wrapped, others are not."""
    left_text, after = content[max(edge - _EDGE_BACK, 0) : edge], content[edge : edge + _EDGE_BACK]
    if not after.strip() or ends_naturally(left_text, is_apart=after[:1].isspace()):
        return True
    at_line = left_text.rstrip(b" \t").endswith(b"\n") or after.startswith((b"\n", b"\r"))
    return at_line and (not is_prose or _BEGINS_BLOCK.match(after) is not None)


def ends_naturally(text: bytes, *, is_apart: bool) -> bool:
    r"""Whether a text ends with a sentence, a paragraph or a heading; `is_apart` where a blank follows it.

    >>> [ends_naturally(text, is_apart=False) for text in (b"Tea. ", b"Tea.", b"Tea\n \n", b"# Tea\n", b"Tea\n")]
    [True, False, True, True, False]
    """
    words = text.rstrip()
    if not words or words.endswith(_ENDS_WIDE):
        return True
    size = len(words)
    if (is_apart or size < len(text)) and not words[-1:].isalnum() and _ENDS.search(words, max(size - _ENDS_BYTES, 0)):
        return True
    if b"\n" not in text[size:]:
        return False
    line = words.rfind(b"\n") + 1
    return _BLANK_LINE.search(text, size) is not None or _ATX_HEADING.match(text, line) is not None


def _natural_edges(content: bytes, low: int, high: int, *, is_prose: bool) -> list[int]:
    """The natural edges strictly between two bytes."""
    edges = [match.end() for match in _SENTENCE_END.finditer(content, low, high)]
    edges += [match.end() for match in (_PARAGRAPH_END if is_prose else _LINE_END).finditer(content, low, high)]
    return [edge for edge in edges if low < edge < high or (edge == high == len(content))]
