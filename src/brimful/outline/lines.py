"""Where do lines, sentences and headings begin? By bytes alone, for many texts at once."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from brimful.native import lines as kernels
from brimful.native.lines import NEWLINES
from brimful.outline.cuts import BLANKS, Cuts, Heads

# ---- lines: Where does each line of a text begin, where do its words, and where do its sentences?
#
# Sentence ends are told by their bytes alone, roughly what `prose` decides word by word: a full stop after a single
# letter, a number of up to two digits or a usual abbreviation ends nothing, nor does a sign before a small letter.

LONGEST_SPEAKER = 48
"""In so many bytes the name of whoever speaks ends with a colon."""

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
_WIDE = np.array([int.from_bytes(sign.encode(), "big") for sign in "。！？｡।॥؟۔"], np.uint32)  # need no blank behind


@dataclass(frozen=True, slots=True, eq=False)
class Lines:
    """The lines of a text in columns; a blank line's words begin and end at its newline."""

    padded: bytes  # the text with some newlines behind
    starts: Cuts
    firsts: Cuts  # the first byte that is not blank
    ends: Cuts  # behind the last byte that is not blank
    marks: NDArray[np.uint8]  # what a line may be, as the kernel says
    sentences: Cuts  # where sentences start after others
    blank: NDArray[np.bool_]  # which lines hold nothing but white space

    @property
    def size(self) -> int:
        """The bytes of the text alone."""
        return len(self.padded) - len(NEWLINES)

    @property
    def codes(self) -> NDArray[np.uint8]:
        """The bytes of the text, and of the newlines behind."""
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


def lines_in(padded: bytes) -> Lines:
    """The same of a text that has NEWLINES behind it already: of a long one a copy takes as long as finding them."""
    starts, firsts, ends, marks = kernels.find_lines(padded, _SIGNS, reach=LONGEST_SPEAKER)
    sentences = kernels.find_sentences(padded, _SIGNS, short_forms=_SHORT_FORMS, wide=_WIDE)
    return Lines(padded, starts, firsts, ends, marks, sentences, firsts == ends)


# ---- heads: Which lines are headings or begin a definition? Told by their bytes alone, for many texts at once.

_MOST_LEVELS = 6

_INDENT = 4  # columns of a tab, and of a level at most
_HASH, _DASH, _EQUALS, _FENCES = 35, 45, 61, (96, 126)
_IS_UNDERLINE = np.isin(np.arange(256), list(b"=-~^\"'`#*+:.<>_"))
_LONGEST_TITLE = 300
_LETTER_OR_DIGIT = re.compile(rb"[A-Za-z0-9\x80-\xff]")
_ITEM = re.compile(rb"(?:[-*+]|\d{1,9}[.)])[ \t]|[#|>]")
_FRONT = re.compile(rb"---[ \t]*\r?\n(?=[\w\"'-]+[ \t]*:)(?:[^\n]*\n){0,300}?---[ \t]*(?:\r?\n|\Z)")
# What may stand before the word that begins a definition, and such words; of longer ones the first eight bytes.
_BEFORE = (
    b"pub", b"export", b"default", b"async", b"public", b"private", b"protected", b"internal", b"static", b"final",
    b"abstract", b"inline", b"virtual", b"const", b"unsafe", b"extern", b"override", b"sealed", b"partial", b"open",
    b"data", b"local", b"declare", b"template", b"typedef",
)  # fmt: skip
_DEFINES = (
    b"def", b"class", b"function", b"fn", b"func", b"fun", b"struct", b"interface", b"impl", b"trait", b"enum",
    b"module", b"namespace", b"sub", b"proc", b"procedure", b"macro", b"union", b"protocol", b"extension", b"object",
    b"record", b"defmodule", b"defp", b"defmacro", b"contract", b"type", b"macro_rules!",
)  # fmt: skip
_MOST_BEFORE = 4


def definitions_in(lines: Lines, chosen: NDArray[np.bool_]) -> Heads:
    """The lines of code among the chosen that begin a definition; the level grows with the indentation."""
    rows = np.flatnonzero(chosen)
    places = lines.firsts[rows]
    rows = rows[kernels.find_definitions(lines.padded, places, defining=_DEFINES, before=_BEFORE, most=_MOST_BEFORE)]
    tabs = lines.codes[lines.starts[rows]] == 9
    columns = (lines.firsts[rows] - lines.starts[rows]) * np.where(tabs, _INDENT, 1)
    return Heads(lines.firsts[rows], lines.ends[rows], np.minimum(1 - (-columns // _INDENT), _MOST_LEVELS))


def headings_in(
    content: bytes,
    lines: Lines,
    owner: Cuts,
    *,
    bounds: NDArray[np.int64],
    rst: NDArray[np.bool_],
    markdown: NDArray[np.bool_],
) -> tuple[Heads, Cuts]:
    """The headings of prose texts, and the fenced stretches that hold none, as starts and ends in turn.

    Line i is one of text `owner[i]`, of none that is prose if that is -1. Text i has the lines from `bounds[i, 0]` to
    `bounds[i, 1]`, is reStructuredText where `rst[i]` is true and Markdown where `markdown[i]` is: elsewhere `#` may be
    a comment, a tag, a number.
    """
    rows = np.flatnonzero((owner >= 0) & ~lines.blank)
    first = lines.codes[lines.firsts[rows]]
    signed = np.flatnonzero(_IS_UNDERLINE[first])  # a heading or a fence has a line that begins with one of these
    rows, first = rows[signed], first[signed]
    own = owner[rows]
    plain = ~rst[own]
    fences = plain & ((first == _FENCES[0]) | (first == _FENCES[1]))
    solid = _fenced(content, lines, rows[fences], bounds, owner)
    marked = plain & (((first == _HASH) & markdown[own]) | (first == _EQUALS))
    starts, ends, levels = _marked(lines, rows[marked], first[marked])
    under = _underlined(content, lines, rows, owner=owner, bounds=bounds, rst=rst)
    starts, ends, levels = (np.concatenate(pair) for pair in zip((starts, ends, levels), under, strict=True))
    order = np.argsort(starts, kind="stable")
    outside = solid.searchsorted(starts[order], side="right") % 2 == 0
    order = order[outside]
    return Heads(starts[order], ends[order], levels[order]), solid


def _marked(lines: Lines, rows: Cuts, signs: NDArray[np.uint8]) -> tuple[Cuts, Cuts, Cuts]:
    """`## Title` (Markdown), `== Title` (AsciiDoc) and `==Title==` (wiki)."""
    places = lines.firsts[rows]
    levels = np.ones(len(rows), np.int64)
    for step in range(1, _MOST_LEVELS + 1):
        levels += (levels == step) & (lines.codes[places + step] == signs)
    behind = lines.codes[places + levels]
    blank = (behind == 32) | (behind == 9)
    closed = (lines.codes[lines.ends[rows] - 1] == _EQUALS) & (lines.ends[rows] > places + 2 * levels)
    empty = (behind == 10) | (behind == 13)
    named = lines.ends[rows] > places + levels
    good = np.where(signs == _HASH, blank | empty, (blank | closed) & named & ~empty) & (levels <= _MOST_LEVELS)
    return places[good], lines.ends[rows][good], levels[good]


def _fenced(content: bytes, lines: Lines, rows: Cuts, bounds: NDArray[np.int64], owner: Cuts) -> Cuts:
    """Starts and ends of fenced blocks and front matters in turn; an open fence reaches to the end of its text."""
    edges: list[int] = []
    sign, of = b"", -1
    after = np.append(lines.starts[1:], lines.size)
    stops = after[bounds[:, 1] - 1].tolist()
    for line, text in zip(rows.tolist(), owner[rows].tolist(), strict=True):
        if sign and text != of:
            edges.append(stops[of])
            sign = b""
        words = content[lines.firsts[line] : lines.ends[line]]
        signs = words[: len(words) - len(words.lstrip(words[:1]))]
        if not sign and len(signs) >= 3:
            sign, of = signs, text
            edges.append(int(lines.starts[line]))
        elif sign and words.startswith(sign) and words == signs:
            edges.append(int(after[line]))
            sign = b""
    if sign:
        edges.append(stops[of])
    fronts: list[int] = []
    firsts = bounds[bounds[:, 0] < bounds[:, 1], 0]
    for line in firsts[(lines.codes[lines.starts[firsts]] == _DASH) & (owner[firsts] >= 0)].tolist():
        found = _FRONT.match(content, int(lines.starts[line]), stops[int(owner[line])])
        fronts += found.span() if found is not None else ()
    if not fronts:
        return np.array(edges, np.int64)
    both = np.concatenate((np.array(edges, np.int64).reshape(-1, 2), np.array(fronts, np.int64).reshape(-1, 2)))
    both = both[np.lexsort((both[:, 1], both[:, 0]))]
    # A fence that begins inside a front matter ends with it or later: both are one stretch.
    reach = np.maximum.accumulate(both[:, 1])
    begins = np.concatenate(([True], both[1:, 0] >= reach[:-1]))
    lasts = np.append(np.flatnonzero(begins)[1:] - 1, len(both) - 1)
    return np.stack((both[begins, 0], reach[lasts]), axis=1).ravel()


def _underlined(
    content: bytes, lines: Lines, rows: Cuts, *, owner: Cuts, bounds: NDArray[np.int64], rst: NDArray[np.bool_]
) -> tuple[Cuts, Cuts, Cuts]:
    """Titles with a line of one sign under them, in reStructuredText perhaps above them too."""
    signs = lines.codes[lines.firsts[rows]]
    sizes = lines.ends[rows] - lines.firsts[rows]
    is_rst = rst[owner[rows]]
    likely = (
        (rows > bounds[owner[rows], 0])
        & (lines.codes[lines.ends[rows] - 1] == signs)
        & (lines.codes[lines.firsts[rows] + sizes // 2] == signs)
        & (is_rst & (sizes > 2) | ~is_rst & ((signs == _EQUALS) | (signs == _DASH) & (sizes > 1)))
        & ~lines.blank[rows - 1]
    )
    found: list[tuple[int, int, int]] = []
    ranks: dict[int, dict[tuple[bytes, bool], int]] = {}
    for line in rows[likely].tolist():
        start, end = int(lines.firsts[line - 1]), int(lines.ends[line])
        rule = content[lines.firsts[line] : end]
        title = content[lines.firsts[line - 1] : lines.ends[line - 1]]
        text = int(owner[line])
        above = b""
        if line - 2 >= bounds[text, 0]:
            above = content[lines.firsts[line - 2] : lines.ends[line - 2]]
        if rule.strip(rule[:1]) or not _is_title(title, above, rst=bool(rst[text])):
            continue
        level = 1 if rule[:1] == b"=" else 2
        if rst[text]:
            if len(rule) < len(title.decode(errors="ignore")):
                continue
            over = above == rule
            if title.startswith(b"..") or (not over and lines.firsts[line - 1] > lines.starts[line - 1]):
                continue  # a directive, or in a block that is indented
            start = int(lines.firsts[line - 2]) if over else start
            known = ranks.setdefault(text, {})
            level = min(known.setdefault((rule[:1], over), len(known) + 1), _MOST_LEVELS)
        found.append((start, end, level))
    columns = np.array(found, np.int64).reshape(-1, 3)
    return columns[:, 0], columns[:, 1], columns[:, 2]


def _is_title(title: bytes, above: bytes, *, rst: bool) -> bool:
    """A title stands alone: a blank line, a rule or the text's start is above it, and it is no list item."""
    if len(title) > _LONGEST_TITLE or not _LETTER_OR_DIGIT.search(title) or (not rst and _ITEM.match(title)):
        return False
    return not above or not above.strip(above[:1]) or above.startswith(b"#")


def joined(parts: list[Heads]) -> Heads:
    """Heads of several kinds of text in one order."""
    starts = np.concatenate([part.starts for part in parts])
    order = np.argsort(starts, kind="stable")
    ends, levels = (np.concatenate([getattr(part, name) for part in parts])[order] for name in ("ends", "levels"))
    return Heads(starts[order], ends, levels)
