"""Where may texts be cut into units and sections, and where do their headings and definitions stand?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from brimful.outline.cuts import (
    LARGEST,
    SECTION_AIM,
    UNIT_AIM,
    UNIT_LIMIT,
    Cuts,
    Heads,
    divide,
    gather,
    inner_cuts,
    merged,
    settle,
)
from brimful.outline.kinds import Kind
from brimful.outline.markup import format_of, marks_in
from brimful.outline.prose import Lines, lines_in
from brimful.outline.records import json_cuts, row_starts
from brimful.outline.structures import read_definitions

# All texts of a segment are cut together, on one axis; each cut depends on its own text alone, never on a neighbour:
#
#     prose   a unit is a sentence, a list item, a table row or a chat turn; a section a paragraph, a heading with
#             the paragraph below it, or a block of code
#     code    a unit is the lines between blank lines, gathered to about 400 bytes; a section the lines between blank
#             lines at the outermost level, gathered to about 1,800
#     rows    CSV, JSON Lines, logs: a unit is a row (a quoted field may hold line ends), a section gathered rows
#     data    other data: lines, in JSON with very long ones elements, gathered to about 400 and 1,800 bytes
#
# No unit is longer than 800 bytes, and a unit of prose not longer than 400 where it can be cut at a word; no section is
# longer than 1,800.

_PROSE, _CODE, _ROWS, _DATA = range(4)
_ROW_FORMATS = frozenset({"csv", "tsv", "jsonl", "log", None})
_WRAPPED = 200  # no text is wrapped to longer lines: after a longer one begins a paragraph
_LEAST_TURNS = 3
_MOST_LEVELS = 6
_NO_ROWS, _NO_PLACES = np.zeros((0, 3), np.int64), np.zeros((0, 4), np.int64)
_LEAST_DEFINITION = 100  # bytes of a definition that begins a unit, as does the one after it: less is an accessor
_GATHERED = 300  # bytes of code and data that are gathered into a unit
_SPEAKS = np.isin(np.arange(256), [*b"ABCDEFGHIJKLMNOPQRSTUVWXYZ<[0123456789", *range(0x80, 0x100)])


class Text(NamedTuple):
    """The length in bytes of a text on an axis, its kind, language and path."""

    size: int
    kind: Kind
    language: str | None
    path: str = ""


class _Division(NamedTuple):
    """Where units and sections begin on an axis, and its headings and definitions."""

    units: Cuts
    sections: Cuts
    heads: Heads


@dataclass(frozen=True, slots=True, eq=False)
class _Axis:
    """Texts on an axis, and their lines."""

    content: bytes  # and NEWLINES behind it
    bases: Cuts
    ends: Cuts  # where each text ends
    kinds: NDArray[np.int8]
    texts: Sequence[Text]
    lines: Lines
    bounds: NDArray[np.int64]  # first line of each text, and the line behind its last
    owner: Cuts  # the text of each line
    of_line: NDArray[np.int8]  # the kind of the text of each, -1 in the gap between two texts
    after_blank: NDArray[np.bool_]  # which lines with words stand below one without

    def content_of(self, number: int) -> bytes:
        """The bytes of a text."""
        return self.content[int(self.bases[number]) : int(self.ends[number])]

    def filled_before(self, cuts: Cuts) -> Cuts:
        """How many bytes stand before each of some ascending cuts, blanks within lines not counted."""
        codes = self.lines.codes
        blanks = np.flatnonzero((codes == ord(" ")) | (codes == ord("\t")))
        return cuts - blanks.searchsorted(cuts)

    def text_at(self, places: Cuts) -> Cuts:
        """Which text each of some ascending places is in, or behind."""
        return self.bases.searchsorted(places, side="right") - 1


def divide_texts(padded: bytes, bases: Cuts, texts: Sequence[Text]) -> _Division:
    """Cut texts on an axis that have one newline between them and NEWLINES behind the last.

    >>> axis = b"# Tea\\n\\nHot. With milk.\\nx,1\\ny,2" + b"\\n" * 16
    >>> texts = [Text(22, "prose", "markdown"), Text(7, "data", "csv")]
    >>> division = divide_texts(axis, np.array([0, 23]), texts)
    >>> division.units.tolist(), division.sections.tolist(), division.heads.ends.tolist()
    ([0, 7, 12, 23, 27], [0, 23], [5])
    """
    axis = _axis(padded, bases, texts)
    filled = axis.ends > bases
    walls = merged(bases[filled], axis.ends[filled])
    parts = [_divide_prose(axis, walls), _divide_lines(axis, walls)]
    units = _shortened(axis, merged(walls, *(part.units for part in parts)))
    sections = merged(walls, *(part.sections for part in parts))
    sections = divide(units, sections[_among(sections, units)], limit=SECTION_AIM)
    return _Division(_within(axis, units), _within(axis, sections), _in_order([part.heads for part in parts]))


def _axis(padded: bytes, bases: Cuts, texts: Sequence[Text]) -> _Axis:
    lines = lines_in(padded)
    ends = bases + np.array([text.size for text in texts], np.int64)
    first = np.append(lines.starts.searchsorted(bases), len(lines.starts))
    counts = np.diff(first)
    kinds = np.array([_kind(text.kind, text.language) for text in texts], np.int8)
    inside = lines.starts < np.repeat(ends, counts)
    after_blank = ~lines.blank
    after_blank[1:] &= lines.blank[:-1]
    after_blank[:1] = False
    return _Axis(
        padded,
        bases,
        ends,
        kinds,
        texts,
        lines,
        np.stack((first[:-1], first[1:]), axis=1),
        np.repeat(np.arange(len(texts)), counts),
        np.where(inside, np.repeat(kinds, counts), np.int8(-1)),
        after_blank,
    )


def _kind(kind: Kind, language: str | None) -> int:
    if kind == "data":
        return _ROWS if language in _ROW_FORMATS else _DATA
    return _CODE if kind == "code" else _PROSE


def _within(axis: _Axis, cuts: Cuts) -> Cuts:
    """Only the cuts inside of texts, not at their ends."""
    return cuts[cuts < axis.ends[axis.text_at(cuts)]]


def _outside(edges: Cuts, places: Cuts) -> NDArray[np.bool_]:
    """Which of some ascending places lie in none of the stretches, whose starts and ends are given in turn."""
    if not len(edges):
        return np.ones(len(places), np.bool_)
    outside: NDArray[np.bool_] = edges.searchsorted(places, side="right") & 1 == 0
    return outside


def _divide_prose(axis: _Axis, walls: Cuts) -> _Division:
    """Sentences, list items, table rows and chat turns; paragraphs, headings and blocks of code."""
    lines, prose = axis.lines, axis.of_line == _PROSE
    heads, solid = _headings(axis)
    filled = prose & ~lines.blank
    head_lines = lines.starts.searchsorted(heads.starts, side="right") - 1
    is_head = np.zeros(len(prose), np.bool_)
    is_head[head_lines] = True
    loose = filled & _outside(solid, lines.starts)

    paragraph = loose & axis.after_blank
    paragraph[1:] |= loose[1:] & (lines.ends[:-1] - lines.starts[:-1] > _WRAPPED)
    whole = loose & (lines.items | _turns(axis, loose) | is_head)
    below = _below(axis, heads, filled)
    hard = merged(lines.starts[paragraph | whole | (below & loose)], solid, walls)
    sections = merged(lines.starts[(paragraph & ~below) | is_head], solid)

    stops = lines.sentences
    stops = stops[(axis.kinds == _PROSE)[axis.text_at(stops)]]
    stops = stops[_outside(solid, stops)]
    kept_whole = _among(hard, lines.starts[whole])  # a short item, row or turn is one unit
    kept_whole[:-1] &= hard[1:] - hard[:-1] <= UNIT_AIM
    stops = stops[~kept_whole[hard.searchsorted(stops, side="right") - 1]]
    return _Division(merged(hard, stops), sections, heads)


def _headings(axis: _Axis) -> tuple[Heads, Cuts]:
    """The headings of prose; and where the lines of its blocks of code and front matters start and end, in turn."""
    titles, blocks = [_NO_ROWS], [_NO_ROWS[:, :2]]
    for number in np.flatnonzero((axis.kinds == _PROSE) & (axis.ends > axis.bases)).tolist():
        content, text = axis.content_of(number), axis.texts[number]
        markup = marks_in(content, format_of(content, language=text.language, path=text.path))
        base = int(axis.bases[number])
        titles.append(markup.places + np.array((base, base, 0)))
        blocks.append(markup.blocks + base)
    starts, ends, levels = np.concatenate(titles).T
    heads = Heads(starts, ends, np.minimum(levels, _MOST_LEVELS), ends)
    begins, stops = np.concatenate(blocks).T
    lines = np.append(axis.lines.starts, axis.lines.size)
    begins = lines[lines.searchsorted(begins, side="right") - 1]
    stops = np.minimum(lines[lines.searchsorted(stops)], axis.ends[axis.text_at(begins)])
    return heads, _united(begins, stops)


def _united(begins: Cuts, ends: Cuts) -> Cuts:
    """Stretches that ascend by their start, as starts and ends in turn; those that touch or overlap are one."""
    if not len(begins):
        return begins
    reach = np.maximum.accumulate(ends)
    is_first = np.concatenate(([True], begins[1:] > reach[:-1]))
    lasts = np.append(np.flatnonzero(is_first)[1:] - 1, len(begins) - 1)
    return np.stack((begins[is_first], reach[lasts]), axis=1).ravel()


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
    """A mask of the numbers that are among some others; both ascend."""
    if not len(known):
        return np.zeros(len(values), np.bool_)
    found: NDArray[np.bool_] = known[np.maximum(known.searchsorted(values, side="right") - 1, 0)] == values
    return found


def _turns(axis: _Axis, loose: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Which lines are turns of a chat, "Speaker: words": all of a text of which at least half of the lines are."""
    lines = axis.lines
    speaks = np.flatnonzero(loose & lines.speaks)
    speaks = speaks[_SPEAKS[lines.codes[lines.starts[speaks]]]]
    texts = len(axis.bases)
    turns = np.bincount(axis.owner[speaks], minlength=texts)
    chats = turns >= _LEAST_TURNS
    if chats.any():
        chats &= turns * 2 >= np.bincount(axis.owner[loose], minlength=texts)
    return loose & chats[axis.owner] if chats.any() else np.zeros(len(loose), np.bool_)


def _divide_lines(axis: _Axis, walls: Cuts) -> _Division:
    """Code between blank lines, rows by themselves, other data by lines."""
    lines = axis.lines
    code, rows, data = (axis.of_line == kind for kind in (_CODE, _ROWS, _DATA))
    after_blank = axis.after_blank & code
    elements, inner = _elements(axis)
    heads, definitions = _definitions(axis)
    forced = merged(definitions, walls)
    smallest = merged(lines.starts[code | data], inner, elements, forced)
    filled = axis.filled_before(smallest)
    groups = merged(lines.starts[after_blank | data], elements, forced)
    groups, walled = (filled[smallest.searchsorted(cuts)] for cuts in (groups, forced))
    gathered = gather(groups, aim=_GATHERED, forced=walled)
    units = smallest[filled.searchsorted(divide(filled, gathered, limit=UNIT_LIMIT, aim=_GATHERED))]
    outermost = _outermost(lines, after_blank)
    starts = _outermost(lines, rows & ~lines.blank & ~_quoted(axis))
    kept = axis.kinds == _DATA
    tops = units[kept[axis.text_at(units)]]
    sections = gather(merged(outermost[_among(outermost, units)], starts, tops, walls), forced=walls)
    return _Division(merged(units, starts), sections, heads)


def _definitions(axis: _Axis) -> tuple[Heads, Cuts]:
    """The lines of code that name a definition of more than a value, and where those of several lines begin."""
    numbers = np.flatnonzero((axis.kinds == _CODE) & (axis.ends - axis.bases <= LARGEST))
    rows = [
        read_definitions(axis.content_of(number), axis.texts[number].language, several_lines=True).heads()
        for number in numbers.tolist()
    ]
    bases = np.repeat(axis.bases[numbers], np.array([len(row) for row in rows], np.int64))
    starts, names, ends, levels = np.concatenate([_NO_PLACES, *rows]).T + np.array([[1], [1], [1], [0]]) * bases
    is_cut = ends - starts >= _LEAST_DEFINITION
    following = starts.searchsorted(ends[is_cut])
    in_text = following < bases.searchsorted(bases[is_cut], side="right")
    is_cut[following[in_text]] = True
    begins, named, finish = (
        axis.lines.starts.searchsorted(column, side="right") - 1 for column in (starts, names, ends)
    )
    lines, first = np.unique(named, return_index=True)
    heads = Heads(
        axis.lines.firsts[lines], axis.lines.ends[lines], np.minimum(levels, _MOST_LEVELS)[first], names[first]
    )
    return heads, np.unique(axis.lines.starts[begins[(finish > begins) & is_cut]])


def _in_order(parts: Sequence[Heads]) -> Heads:
    """The heads of several kinds of text."""
    starts, ends, levels, names = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    order = np.argsort(starts, kind="stable")
    return Heads(starts[order], ends[order], levels[order], names[order])


def _outermost(lines: Lines, chosen: NDArray[np.bool_]) -> Cuts:
    """Where those of some lines begin that have no blank before their first word."""
    rows = np.flatnonzero(chosen)
    starts = lines.starts[rows]
    found: Cuts = starts[lines.firsts[rows] == starts]
    return found


def _elements(axis: _Axis) -> tuple[Cuts, Cuts]:
    """Of JSON with very long lines, where the elements begin, and everything else that follows a comma."""
    elements, inner = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    for number, text in enumerate(axis.texts):
        first, last = axis.bounds[number].tolist()
        if text.language == "json" and _longest(axis.lines, first, last) > UNIT_LIMIT:
            base = int(axis.bases[number])
            tops, commas = json_cuts(axis.content_of(number))
            elements.append(tops + base)
            inner.append(commas + base)
    return np.concatenate(elements), np.concatenate(inner)


def _longest(lines: Lines, first: int, last: int) -> int:
    return int((lines.ends[first:last] - lines.starts[first:last]).max(initial=0))


def _quoted(axis: _Axis) -> NDArray[np.bool_]:
    """Which lines begin inside a quoted field of a table."""
    found = np.zeros(len(axis.owner), np.bool_)
    for number, (_, _, language, _) in enumerate(axis.texts):
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
    is_prose = prose[axis.text_at(units[:-1])]
    added = []
    for by_line, long in ((False, is_prose & (sizes > UNIT_AIM)), (True, ~is_prose & (sizes > UNIT_LIMIT))):
        which = np.flatnonzero(long)
        added.append(inner_cuts(axis.content, units[which], units[which + 1], by_line=by_line))
    return settle(memoryview(axis.content)[: axis.lines.size], merged(units, *added))
