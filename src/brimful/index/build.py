"""How do documents become a segment?

Laid on one axis, cut into units by rules on bytes, their terms grouped.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from brimful.index.segments import Numbers, Postings
from brimful.native import lines as kernels
from brimful.native.lines import NEWLINES
from brimful.outline.cuts import (
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
from brimful.outline.lines import Lines, definitions_in, headings_in, joined, lines_in
from brimful.outline.markup import titles_of
from brimful.outline.records import json_cuts, row_starts
from brimful.text.spans import back_to_code_point
from brimful.text.terms import indexed_terms

# ---- units: Where may the texts of a segment be cut? Units, sections and heads of many texts at once, by their bytes.
#
# The full outline reads a tenth as fast and is asked when a window is cut; here a few rules on lines and
# sentence ends do, applied to the whole axis. Each cut depends on its own text alone, never on a neighbour:
#
#     prose   a unit is a sentence, a list item, a table row or a chat turn; a section a paragraph, a heading with
#             the paragraph below it, or a fenced block
#     code    a unit is what stands between blank lines, gathered to about 400 bytes; a section what stands
#             between blank lines at the outermost level, gathered to about 1,800
#     rows    CSV, JSON Lines, logs: a unit is a row (a quoted field may hold line ends), a section gathered rows
#     data    other data: lines, in JSON with very long ones elements, gathered to about 400 and 1,800 bytes
#
# No unit is longer than 800 bytes, and a unit of prose not longer than 400 where it can be cut at a word; no section is
# longer than 1,800.

_PROSE, _CODE, _ROWS, _DATA = range(4)
_ROW_FORMATS = frozenset({"csv", "tsv", "jsonl", "log", None})
_WRAPPED = 200  # no text is wrapped to longer lines: after a longer one begins a paragraph
_LEAST_TURNS = 3
_SPEAKS = np.isin(np.arange(256), [*b"ABCDEFGHIJKLMNOPQRSTUVWXYZ<[0123456789", *range(0x80, 0x100)])


@dataclass(frozen=True, slots=True, eq=False)
class _Divided:
    """Where units and sections begin on an axis, and the heads between them."""

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
    languages: list[str | None]
    rst: NDArray[np.bool_]
    markdown: NDArray[np.bool_]
    lines: Lines
    bounds: NDArray[np.int64]  # first line of each text, and the line behind its last
    owner: Cuts  # the text of each line
    of_line: NDArray[np.int8]  # the kind of the text of each, -1 in the gap between two texts
    after_blank: NDArray[np.bool_]  # which lines with words stand below one without

    def text_at(self, places: Cuts) -> Cuts:
        """Which text each of some ascending places is in, or behind."""
        return kernels.count_until(self.bases, places) - 1


def divide_texts(content: bytes, bases: Cuts, texts: Sequence[tuple[int, Kind, str | None]]) -> _Divided:
    """Cut the texts that are laid on an axis with one newline between; of each its length, kind and language.

    >>> axis = b"# Tea\\n\\nHot. With milk.\\nx,1\\ny,2"
    >>> found = divide_texts(axis, np.array([0, 23]), [(22, "prose", "markdown"), (7, "data", "csv")])
    >>> found.units.tolist(), found.sections.tolist(), found.heads.ends.tolist()
    ([0, 7, 12, 23, 27], [0, 23], [5])
    """
    return _divided(content + NEWLINES, bases, texts)


def _divided(padded: bytes, bases: Cuts, texts: Sequence[tuple[int, Kind, str | None]]) -> _Divided:
    axis = _axis(padded, bases, texts)
    filled = axis.ends > bases
    walls = merged(bases[filled], axis.ends[filled])
    if not len(walls):
        nothing = np.zeros(0, np.int64)
        return _Divided(nothing, nothing, Heads(nothing, nothing, nothing))
    parts = [_divide_prose(axis, walls), _divide_lines(axis, walls)]
    units = _shortened(axis, merged(walls, *(part.units for part in parts)))
    sections = divide(units, merged(walls, *(part.sections for part in parts)), limit=SECTION_AIM)
    return _Divided(_within(axis, units), _within(axis, sections), joined([part.heads for part in parts]))


def _axis(padded: bytes, bases: Cuts, texts: Sequence[tuple[int, Kind, str | None]]) -> _Axis:
    lines = lines_in(padded)
    sizes = np.array([size for size, _, _ in texts], np.int64)
    first = np.append(lines.starts.searchsorted(bases), len(lines.starts))
    bounds = np.stack((first[:-1], first[1:]), axis=1)
    counts = bounds[:, 1] - bounds[:, 0]
    kinds = np.array([_kind(kind, language) for _, kind, language in texts], np.int8)
    inside = lines.starts < np.repeat(bases + sizes, counts)
    after_blank = ~lines.blank
    after_blank[1:] &= lines.blank[:-1]
    after_blank[:1] = False
    return _Axis(
        padded,
        bases,
        bases + sizes,
        kinds,
        [language for _, _, language in texts],
        np.array([language == "rst" for _, _, language in texts], np.bool_),
        np.array([language == "markdown" for _, _, language in texts], np.bool_),
        lines,
        bounds,
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
    outside: NDArray[np.bool_] = kernels.count_until(edges, places) & 1 == 0
    return outside


def _divide_prose(axis: _Axis, walls: Cuts) -> _Divided:
    """Sentences, list items, table rows and chat turns; paragraphs, headings and fenced blocks."""
    lines, prose = axis.lines, axis.of_line == _PROSE
    owner = np.where(prose, axis.owner, -1)
    heads, solid = headings_in(axis.content, lines, owner, bounds=axis.bounds, rst=axis.rst, markdown=axis.markdown)
    heads = _with_titles(axis, heads, solid)
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
    stops = stops[~kept_whole[kernels.count_until(hard, stops) - 1]]
    return _Divided(merged(hard, stops), sections, heads)


def _with_titles(axis: _Axis, heads: Heads, solid: Cuts) -> Heads:
    """The headings, and those that texts have which are neither Markdown nor reStructuredText."""
    others = np.flatnonzero((axis.kinds == _PROSE) & ~axis.rst & ~axis.markdown)
    starts, ends, levels = titles_of(axis.content, axis.bases[others], axis.ends[others])
    if not len(starts):
        return heads
    order = np.argsort(starts, kind="stable")
    starts, ends, levels = starts[order], ends[order], levels[order]
    others = merged(heads.starts, heads.ends)
    apart = _outside(solid, starts) & _outside(others, starts) & _outside(others, ends)
    return joined([heads, Heads(starts[apart], ends[apart], levels[apart])])


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
    found: NDArray[np.bool_] = known[np.maximum(kernels.count_until(known, values) - 1, 0)] == values
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


def _divide_lines(axis: _Axis, walls: Cuts) -> _Divided:
    """Code between blank lines, rows by themselves, other data by lines."""
    lines = axis.lines
    code, rows, data = (axis.of_line == kind for kind in (_CODE, _ROWS, _DATA))
    after_blank = axis.after_blank & code
    elements, inner = _elements(axis)
    units = gather(merged(lines.starts[after_blank | data], elements, walls), aim=UNIT_AIM, forced=walls)
    units = divide(merged(lines.starts[code | data], inner, units), units, limit=UNIT_LIMIT, aim=UNIT_AIM)
    outermost = _outermost(lines, after_blank)
    starts = _outermost(lines, rows & ~lines.blank & ~_quoted(axis))
    kept = axis.kinds == _DATA
    tops = units[kept[axis.text_at(units)]]
    sections = gather(merged(outermost[_among(outermost, units)], starts, tops, walls), forced=walls)
    return _Divided(merged(units, starts), sections, definitions_in(lines, code & ~lines.blank))


def _outermost(lines: Lines, chosen: NDArray[np.bool_]) -> Cuts:
    """Where those of some lines begin that have no blank before their first word."""
    rows = np.flatnonzero(chosen)
    starts = lines.starts[rows]
    found: Cuts = starts[lines.firsts[rows] == starts]
    return found


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
    is_prose = prose[axis.text_at(units[:-1])]
    added = []
    for by_line, long in ((False, is_prose & (sizes > UNIT_AIM)), (True, ~is_prose & (sizes > UNIT_LIMIT))):
        which = np.flatnonzero(long)
        added.append(inner_cuts(axis.content, units[which], units[which + 1], by_line=by_line))
    return settle(memoryview(axis.content)[: axis.lines.size], merged(units, *added))


# ---- build: How do documents become a segment? Laid on one axis, cut into units, their terms grouped.

EXTENT_BYTES = 4 << 20
"""A longer document is laid down in several extents, so that memory does not grow with a file."""

GAP = b"\n"
"""What stands between two extents on the axis: no word crosses it."""

_BREAK = re.compile(rb"\n\s*\n|\n|\s")
_SEARCHED = 4_096


class Extent(NamedTuple):
    """A stretch of a document as it is laid on an axis."""

    content: bytes
    kind: Kind
    language: str | None


class Outlined(NamedTuple):
    """Extents on one axis, with where they can be cut."""

    padded: bytes  # the axis, and NEWLINES behind it: lines and terms are both found there
    bases: Numbers  # where each extent begins
    units: Numbers  # cut points of all extents, on the axis
    sections: Numbers
    heads: Heads  # headings and first lines of definitions


def extents_of(content: bytes) -> Iterator[tuple[int, bytes]]:
    """A document's content in pieces of bounded size with their offsets, cut between words where it can be.

    The cuts depend on the content alone, so a document is always laid down the same way.

    >>> [(start, len(part)) for start, part in extents_of(b"short")]
    [(0, 5)]
    """
    start = 0
    while len(content) - start > EXTENT_BYTES:
        limit = start + EXTENT_BYTES
        breaks = [found.end() for found in _BREAK.finditer(content, max(start, limit - _SEARCHED), limit)]
        end = breaks[-1] if breaks else back_to_code_point(content, limit)
        yield start, content[start:end]
        start = end
    yield start, content[start:]


def extents_from(blocks: Iterable[bytes]) -> Iterator[tuple[int, bytes]]:
    """The same extents for a content that comes in blocks; memory holds one of them.

    >>> list(extents_from([b"sho", b"rt"]))
    [(0, b'short')]
    """
    start, held = 0, b""
    for block in blocks:
        held += block
        while len(held) > EXTENT_BYTES:
            _, part = next(extents_of(held))
            yield start, part
            start, held = start + len(part), held[len(part) :]
    yield start, held


def outline_extents(extents: list[Extent]) -> Outlined:
    """Lay extents on an axis, and find where they can be cut; the list is emptied, since the axis has their text."""
    texts = [(len(extent.content), extent.kind, extent.language) for extent in extents]
    sizes = np.array([size + len(GAP) for size, _, _ in texts], np.int64)
    padded = GAP.join([*(extent.content for extent in extents), NEWLINES.removesuffix(GAP)])
    extents.clear()
    bases = np.cumsum(sizes) - sizes
    divided = _divided(padded, bases, texts)
    return Outlined(padded, bases, divided.units, divided.sections, divided.heads)


def index_terms(padded: bytes, *, multiplier: int | None = None) -> Postings:
    """Find the terms of what is laid on an axis; whoever has hashed the texts may say what theirs are hashed with."""
    terms = indexed_terms(padded, multiplier=multiplier)
    return Postings(terms.names, terms.offsets, terms.starts)
