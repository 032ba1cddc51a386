"""How do documents become a segment? Laid on one axis, cut into units, their terms grouped."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from brimful.index.columns import Numbers
from brimful.index.segments import Postings
from brimful.text.cuts import FILLED, UNIT_AIM, UNIT_LIMIT, break_long, divide, gather, line_starts, settle
from brimful.text.kinds import Kind
from brimful.text.outline import outline
from brimful.text.spans import back_to_code_point
from brimful.text.terms import terms_of

EXTENT_BYTES = 4 << 20
"""A longer document is laid down in several extents, so that memory does not grow with a file."""

GAP = b"\n"
"""What stands between two extents on the axis: no word crosses it."""

_BREAK = re.compile(rb"\n\s*\n|\n|\s")
_SEARCHED = 4_096


@dataclass(frozen=True, slots=True)
class Extent:
    """A stretch of a document as it is laid on an axis."""

    content: bytes
    kind: Kind
    language: str | None


@dataclass(frozen=True, slots=True, eq=False)
class Segment:
    """Extents on one axis, with everything that is looked up by position."""

    axis: bytes
    bases: Numbers  # where each extent begins
    units: Numbers  # cut points of all extents, on the axis
    sections: Numbers
    postings: Postings


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


def _laid(extents: Sequence[Extent]) -> tuple[bytes, Numbers]:
    """Extents on an axis, and where each begins."""
    sizes = np.array([len(extent.content) + len(GAP) for extent in extents], np.int64)
    return GAP.join(extent.content for extent in extents), np.cumsum(sizes) - sizes


def _code_cuts(axis: bytes, bases: Numbers) -> tuple[Numbers, Numbers]:
    """Units and sections of many pieces of code at once: at blank lines, and at lines where those are too far apart.

    A grammar reads a tenth as fast, and is asked when a window is cut.
    """
    lines = np.union1d(line_starts(axis), bases)
    filled = np.flatnonzero(FILLED[np.frombuffer(axis, np.uint8)])
    first = np.append(filled, len(axis))[filled.searchsorted(lines)]
    blank = first >= np.append(lines[1:], len(axis))
    after_blank = ~blank & np.concatenate(([False], blank[:-1]))
    walls = np.append(bases, len(axis))
    units = gather(np.union1d(lines[after_blank], walls), aim=UNIT_AIM, forced=walls)
    units = divide(np.union1d(lines, walls), units, limit=UNIT_LIMIT, aim=UNIT_AIM)
    units = np.union1d(break_long(axis, settle(axis, units), over=UNIT_LIMIT, by_line=True), walls)
    outermost = np.intersect1d(units, lines[after_blank & (first == lines)])
    sections = divide(units, gather(np.union1d(outermost, walls), forced=walls))
    return units, sections


def _cuts(extents: Sequence[Extent], bases: Numbers) -> tuple[Numbers, Numbers]:
    """The units and sections of all extents, on the segment's axis."""
    units: list[Numbers] = []
    sections: list[Numbers] = []
    code = [at for at, extent in enumerate(extents) if extent.kind == "code" and extent.content]
    if code:
        axis, starts = _laid([extents[at] for at in code])
        for found, cuts in zip(_code_cuts(axis, starts), (units, sections), strict=True):
            inside = found[found < len(axis)]
            owner = starts.searchsorted(inside, side="right") - 1
            cuts.append(inside + (bases[code] - starts)[owner])
    for base, extent in zip(bases.tolist(), extents, strict=True):
        if extent.kind != "code" or not extent.content:
            cut = outline(extent.content, kind=extent.kind, language=extent.language)
            units.append(cut.units[:-1] + base)
            sections.append(cut.sections[:-1] + base)
    nothing = np.zeros(0, np.int64)
    return np.sort(np.concatenate([*units, nothing])), np.sort(np.concatenate([*sections, nothing]))


def build_segment(extents: Sequence[Extent]) -> Segment:
    """Lay extents on an axis and index them."""
    axis, bases = _laid(extents)
    units, sections = _cuts(extents, bases)
    terms = terms_of(axis)
    return Segment(axis, bases, units, sections, Postings(terms.names, terms.offsets, terms.starts))
