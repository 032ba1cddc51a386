"""How do documents become a segment? Laid on one axis, cut into units, their terms grouped."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from brimful.index.columns import Numbers
from brimful.index.segments import Postings
from brimful.text.cuts import UNIT_AIM, UNIT_LIMIT, break_long, divide, gather, line_starts, settle
from brimful.text.kinds import Kind
from brimful.text.outline import outline
from brimful.text.spans import back_to_code_point
from brimful.text.terms import terms_of

EXTENT_BYTES = 4 << 20
"""A longer document is laid down in several extents, so that memory does not grow with a file."""

GAP = b"\n"
"""What stands between two extents on the axis: no word crosses it."""

_FILLED = ~np.isin(np.arange(256), list(b" \t\r\n\v\f"))
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
        breaks = [found.end() for found in _BREAK.finditer(content, limit - _SEARCHED, limit)]
        end = breaks[-1] if breaks else back_to_code_point(content, limit)
        yield start, content[start:end]
        start = end
    yield start, content[start:]


def _cuts(extent: Extent) -> tuple[Numbers, Numbers]:
    """Units and sections of an extent.

    Code is cut at its blank lines here: its grammar reads a tenth as fast, and is asked when a window is cut.
    """
    if extent.kind != "code" or not extent.content:
        found = outline(extent.content, kind=extent.kind, language=extent.language)
        return found.units, found.sections
    content = extent.content
    lines = line_starts(content)
    filled = np.flatnonzero(_FILLED[np.frombuffer(content, np.uint8)])
    first = np.append(filled, len(content))[filled.searchsorted(lines)]
    blank = first >= np.append(lines[1:], len(content))
    after_blank = ~blank & np.concatenate(([False], blank[:-1]))
    ends = np.array([0, len(content)], np.int64)
    units = gather(np.union1d(lines[after_blank], ends), aim=UNIT_AIM)
    units = divide(np.union1d(lines, ends), units, limit=UNIT_LIMIT, aim=UNIT_AIM)
    units = break_long(content, settle(content, units), over=UNIT_LIMIT, by_line=True)
    outermost = np.intersect1d(units, lines[after_blank & (first == lines)])
    return units, divide(units, gather(np.union1d(outermost, ends)))


def build_segment(extents: Sequence[Extent]) -> Segment:
    """Lay extents on an axis and index them."""
    axis = GAP.join(extent.content for extent in extents)
    sizes = np.array([len(extent.content) + len(GAP) for extent in extents], np.int64)
    bases = np.cumsum(sizes) - sizes
    units, sections = [], []
    for base, extent in zip(bases.tolist(), extents, strict=True):
        unit_cuts, section_cuts = _cuts(extent)
        units.append(unit_cuts[:-1] + base)
        sections.append(section_cuts[:-1] + base)
    terms = terms_of(axis)
    return Segment(
        axis=axis,
        bases=bases,
        units=np.concatenate(units) if units else np.zeros(0, np.int64),
        sections=np.concatenate(sections) if sections else np.zeros(0, np.int64),
        postings=Postings(terms.names, terms.offsets, terms.starts),
    )
