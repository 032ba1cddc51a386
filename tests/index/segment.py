"""Texts on one axis with all that a segment keeps of them, as one value."""

from typing import NamedTuple

from brimful.index.build import Extent, index_terms, outline_extents
from brimful.index.segments import Numbers, Postings
from brimful.native.lines import NEWLINES
from brimful.outline.cuts import Heads


class Segment(NamedTuple):
    """Where texts lie and are cut, and where their terms stand."""

    padded: bytes
    bases: Numbers
    units: Numbers
    sections: Numbers
    heads: Heads
    postings: Postings

    @property
    def length(self) -> int:
        """Bytes of the axis."""
        return len(self.padded) - len(NEWLINES)


def build_segment(extents: list[Extent]) -> Segment:
    """Lay extents on an axis and index them."""
    outlined = outline_extents(list(extents))
    return Segment(*outlined, index_terms(outlined.padded))
