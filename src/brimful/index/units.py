"""Where may the texts of a segment be cut? Units, sections and heads of many texts at once, by their bytes.

The full outline reads a tenth as fast and is asked when a window is cut; here a few rules on lines and
sentence ends do, applied to the whole axis. Each cut depends on its own text alone, never on a neighbour:

    prose   a unit is a sentence, a list item, a table row or a chat turn; a section a paragraph, a heading with
            the paragraph below it, or a fenced block
    code    a unit is what stands between blank lines, gathered to about 400 bytes; a section what stands
            between blank lines at the outermost level, gathered to about 1,800
    rows    CSV, JSON Lines, logs: a unit is a row (a quoted field may hold line ends), a section gathered rows
    data    other data: lines, in JSON with very long ones elements, gathered to about 400 and 1,800 bytes

No unit is longer than 800 bytes, and a unit of prose not longer than 400 where it can be cut at a word; no section is
longer than 1,800.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from brimful.text.cuts import SECTION_AIM, UNIT_AIM, UNIT_LIMIT, Cuts, divide, gather, inner_cuts, merged, settle
from brimful.text.elements import json_cuts
from brimful.text.heads import Heads, definitions_in, headings_in, joined
from brimful.text.kinds import Kind
from brimful.text.lines import Lines, lines_of
from brimful.text.rows import row_starts

_PROSE, _CODE, _ROWS, _DATA = range(4)
_ROW_FORMATS = frozenset({"csv", "tsv", "jsonl", "log", None})
_WRAPPED = 200  # no text is wrapped to longer lines: after a longer one begins a paragraph
_LEAST_TURNS = 3
_ITEM_SIGNS = np.isin(np.arange(256), list(b"-*+"))
_SPEAKS = np.isin(np.arange(256), [*b"ABCDEFGHIJKLMNOPQRSTUVWXYZ<[0123456789", *range(0x80, 0x100)])
_BULLET = int.from_bytes("• ".encode(), "little")
_DOT, _BRACKET, _BAR = 46, 41, 124


@dataclass(frozen=True, slots=True, eq=False)
class Divided:
    """Where units and sections begin on an axis, and the heads between them."""

    units: Cuts
    sections: Cuts
    heads: Heads


@dataclass(frozen=True, slots=True, eq=False)
class _Axis:
    """Texts on an axis, and their lines."""

    content: bytes
    bases: Cuts
    ends: Cuts  # where each text ends
    kinds: Cuts
    languages: list[str | None]
    rst: NDArray[np.bool_]
    markdown: NDArray[np.bool_]
    lines: Lines
    bounds: NDArray[np.int64]  # first line of each text, and the line behind its last
    owner: Cuts  # the text of each line
    inside: NDArray[np.bool_]  # by line: not the gap between two texts

    def of(self, *kinds: int) -> NDArray[np.bool_]:
        """Which lines are those of texts of some kinds."""
        return np.isin(self.kinds, kinds)[self.owner] & self.inside

    def after_blank(self) -> NDArray[np.bool_]:
        """Which lines with words stand below one without."""
        blank = self.lines.blank
        found: NDArray[np.bool_] = ~blank
        found[1:] &= blank[:-1]
        found[0] = False
        return found


def divide_texts(content: bytes, bases: Cuts, texts: Sequence[tuple[int, Kind, str | None]]) -> Divided:
    """Cut the texts that are laid on an axis with one newline between; of each its length, kind and language.

    >>> axis = b"# Tea\\n\\nHot. With milk.\\nx,1\\ny,2"
    >>> found = divide_texts(axis, np.array([0, 23]), [(22, "prose", "markdown"), (7, "data", "csv")])
    >>> found.units.tolist(), found.sections.tolist(), found.heads.ends.tolist()
    ([0, 7, 12, 23, 27], [0, 23], [5])
    """
    axis = _axis(content, bases, texts)
    filled = axis.ends > bases
    walls = merged(bases[filled], axis.ends[filled])
    if not len(walls):
        nothing = np.zeros(0, np.int64)
        return Divided(nothing, nothing, Heads(nothing, nothing, nothing))
    parts = [_divide_prose(axis, walls), _divide_lines(axis, walls)]
    units = _shortened(axis, merged(walls, *(part.units for part in parts)))
    sections = divide(units, merged(walls, *(part.sections for part in parts)), limit=SECTION_AIM)
    return Divided(_within(axis, units), _within(axis, sections), joined([part.heads for part in parts]))


def _axis(content: bytes, bases: Cuts, texts: Sequence[tuple[int, Kind, str | None]]) -> _Axis:
    lines = lines_of(content)
    sizes = np.array([size for size, _, _ in texts], np.int64)
    first = np.append(lines.starts.searchsorted(bases), len(lines.starts))
    bounds = np.stack((first[:-1], first[1:]), axis=1)
    owner = np.repeat(np.arange(len(texts)), bounds[:, 1] - bounds[:, 0])
    return _Axis(
        content,
        bases,
        bases + sizes,
        np.array([_kind(kind, language) for _, kind, language in texts], np.int64),
        [language for _, _, language in texts],
        np.array([language == "rst" for _, _, language in texts], np.bool_),
        np.array([language == "markdown" for _, _, language in texts], np.bool_),
        lines,
        bounds,
        owner,
        lines.starts < (bases + sizes)[owner],
    )


def _kind(kind: Kind, language: str | None) -> int:
    if kind == "data":
        return _ROWS if language in _ROW_FORMATS else _DATA
    return _CODE if kind == "code" else _PROSE


def _within(axis: _Axis, cuts: Cuts) -> Cuts:
    """Only the cuts inside of texts, not at their ends."""
    return cuts[cuts < axis.ends[axis.bases.searchsorted(cuts, side="right") - 1]]


def _divide_prose(axis: _Axis, walls: Cuts) -> Divided:
    """Sentences, list items, table rows and chat turns; paragraphs, headings and fenced blocks."""
    lines, prose = axis.lines, axis.of(_PROSE)
    owner = np.where(prose, axis.owner, -1)
    heads, solid = headings_in(axis.content, lines, owner, bounds=axis.bounds, rst=axis.rst, markdown=axis.markdown)
    filled = prose & ~lines.blank
    head_lines = lines.starts.searchsorted(heads.starts, side="right") - 1
    is_head = np.zeros(len(prose), np.bool_)
    is_head[head_lines] = True
    loose = filled & (solid.searchsorted(lines.starts, side="right") % 2 == 0)

    paragraph = loose & axis.after_blank()
    paragraph[1:] |= loose[1:] & (lines.ends[:-1] - lines.starts[:-1] > _WRAPPED)
    whole = loose & (_items(lines) | _turns(axis, loose) | is_head)
    below = _below(axis, heads, filled)
    hard = merged(lines.starts[paragraph | whole | (below & loose)], solid, walls)
    sections = merged(lines.starts[(paragraph & ~below) | is_head], solid)

    stops = lines.sentences
    stops = stops[(axis.kinds == _PROSE)[axis.bases.searchsorted(stops, side="right") - 1]]
    stops = stops[solid.searchsorted(stops, side="right") % 2 == 0]
    kept_whole = _among(hard, lines.starts[whole])  # a short item, row or turn is one unit
    kept_whole[:-1] &= hard[1:] - hard[:-1] <= UNIT_AIM
    stops = stops[~kept_whole[hard.searchsorted(stops, side="right") - 1]]
    return Divided(merged(hard, stops), sections, heads)


def _below(axis: _Axis, heads: Heads, filled: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Which lines are the first with words below a heading of their text."""
    found = np.zeros(len(filled), np.bool_)
    last = axis.lines.starts.searchsorted(heads.ends) - 1  # an underline, perhaps
    rows = np.flatnonzero(filled)
    place = rows.searchsorted(last, side="right")
    last, place = last[place < len(rows)], place[place < len(rows)]
    following = rows[place]
    found[following[axis.owner[following] == axis.owner[last]]] = True
    return found


def _among(values: Cuts, known: Cuts) -> NDArray[np.bool_]:
    """Which of these are among some others; both ascend."""
    if not len(known):
        return np.zeros(len(values), np.bool_)
    found: NDArray[np.bool_] = known[np.minimum(known.searchsorted(values), len(known) - 1)] == values
    return found


def _items(lines: Lines) -> NDArray[np.bool_]:
    """Which lines begin a list item or are a row of a table."""
    codes, places = lines.codes, lines.firsts
    first, second = codes[places], codes[places + 1]
    found: NDArray[np.bool_] = _ITEM_SIGNS[first] & ((second == 32) | (second == 9))
    found |= first == _BAR
    found |= lines.words[places] & np.uint64(0xFFFFFFFF) == _BULLET
    numbered = np.flatnonzero((first >= 48) & (first <= 57))
    at = places[numbered] + 1
    for _ in range(3):
        at += (codes[at] >= 48) & (codes[at] <= 57)
    found[numbered[((codes[at] == _DOT) | (codes[at] == _BRACKET)) & (codes[at + 1] == 32)]] = True
    return found


def _turns(axis: _Axis, loose: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Which lines are turns of a chat, "Speaker: words": all of a text of which at least half of the lines are."""
    lines = axis.lines
    speaks = loose & lines.speaks & _SPEAKS[lines.codes[lines.starts]]
    texts = len(axis.bases)
    turns = np.bincount(axis.owner[speaks], minlength=texts)
    chats = (turns >= _LEAST_TURNS) & (turns * 2 >= np.bincount(axis.owner[loose], minlength=texts))
    return loose & chats[axis.owner]


def _divide_lines(axis: _Axis, walls: Cuts) -> Divided:
    """Code between blank lines, rows by themselves, other data by lines."""
    lines = axis.lines
    code, rows, data = axis.of(_CODE), axis.of(_ROWS), axis.of(_DATA)
    after_blank = axis.after_blank() & code
    elements, inner = _elements(axis)
    units = gather(merged(lines.starts[after_blank | data], elements, walls), aim=UNIT_AIM, forced=walls)
    units = divide(merged(lines.starts[code | data], inner, units), units, limit=UNIT_LIMIT, aim=UNIT_AIM)
    outermost = after_blank & (lines.firsts == lines.starts)
    outermost[outermost] = _among(lines.starts[outermost], units)
    starts = lines.starts[rows & ~lines.blank & (lines.firsts == lines.starts) & ~_quoted(axis)]
    kept = axis.kinds == _DATA
    tops = units[kept[np.minimum(axis.bases.searchsorted(units, side="right") - 1, len(kept) - 1)]]
    sections = gather(merged(lines.starts[outermost], starts, tops, walls), forced=walls)
    return Divided(merged(units, starts), sections, definitions_in(lines, code & ~lines.blank))


def _elements(axis: _Axis) -> tuple[Cuts, Cuts]:
    """Of JSON with very long lines, where the elements begin, and everything else that follows a comma."""
    elements, inner = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    for number, language in enumerate(axis.languages):
        first, last = axis.bounds[number].tolist()
        if language == "json" and _longest(axis.lines, first, last) > UNIT_LIMIT:
            base = int(axis.bases[number])
            tops, commas = json_cuts(axis.content[base : int(axis.ends[number])])
            elements.append(tops + base)
            inner.append(commas + base)
    return np.concatenate(elements), np.concatenate(inner)


def _longest(lines: Lines, first: int, last: int) -> int:
    return int((lines.ends[first:last] - lines.starts[first:last]).max(initial=0))


def _quoted(axis: _Axis) -> NDArray[np.bool_]:
    """Which lines begin inside a quoted field of a table."""
    found = np.zeros(len(axis.owner), np.bool_)
    for number, language in enumerate(axis.languages):
        base, end = int(axis.bases[number]), int(axis.ends[number])
        if language in ("csv", "tsv") and axis.content.find(b'"', base, end) >= 0:
            first, last = axis.bounds[number].tolist()
            starts = row_starts(axis.content[base:end], b"\t" if language == "tsv" else None) + base
            found[first:last] = ~_among(axis.lines.starts[first:last], starts)
    return found


def _shortened(axis: _Axis, units: Cuts) -> Cuts:
    """Cut what is too long: prose at lines, sentences and words, everything else at lines if it has any."""
    prose = axis.kinds == _PROSE
    sizes = units[1:] - units[:-1]
    is_prose = prose[axis.bases.searchsorted(units[:-1], side="right") - 1]
    added = []
    for by_line, long in ((False, is_prose & (sizes > UNIT_AIM)), (True, ~is_prose & (sizes > UNIT_LIMIT))):
        which = np.flatnonzero(long)
        added.append(inner_cuts(axis.content, units[which], units[which + 1], by_line=by_line))
    return settle(axis.content, np.concatenate((units, *added)))
