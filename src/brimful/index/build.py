"""How do documents become a segment? Laid on one axis, cut into units, their terms grouped."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from brimful.index.accents import with_plain_forms
from brimful.index.columns import Numbers
from brimful.index.segments import Postings
from brimful.index.units import divide_texts
from brimful.patterns import compiled
from brimful.text.heads import Heads
from brimful.text.kinds import Kind
from brimful.text.spans import back_to_code_point
from brimful.text.terms import terms_of

EXTENT_BYTES = 4 << 20
"""A longer document is laid down in several extents, so that memory does not grow with a file."""

GAP = b"\n"
"""What stands between two extents on the axis: no word crosses it."""

_BREAK = compiled(rb"\n\s*\n|\n|\s")
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
    heads: Heads  # headings and first lines of definitions
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


def build_segment(extents: Sequence[Extent]) -> Segment:
    """Lay extents on an axis and index them."""
    axis, bases = _laid(extents)
    texts = [(len(extent.content), extent.kind, extent.language) for extent in extents]
    divided = divide_texts(axis, bases, texts)
    terms = terms_of(axis)
    postings = with_plain_forms(Postings(terms.names, terms.offsets, terms.starts))
    return Segment(axis, bases, divided.units, divided.sections, divided.heads, postings)
