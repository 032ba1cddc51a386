"""How do documents become a segment? Laid on one axis, cut into units, their terms grouped."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np

from brimful.index.segments import Numbers, Postings
from brimful.native.lines import NEWLINES
from brimful.outline.cuts import Heads
from brimful.outline.kinds import Kind
from brimful.outline.units import Text, divide_texts
from brimful.text.spans import back_to_code_point
from brimful.text.terms import indexed_terms

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
    path: str = ""


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
    texts = [Text(len(extent.content), extent.kind, extent.language, extent.path) for extent in extents]
    sizes = np.array([size + len(GAP) for size, *_ in texts], np.int64)
    padded = GAP.join([*(extent.content for extent in extents), NEWLINES.removesuffix(GAP)])
    extents.clear()
    bases = np.cumsum(sizes) - sizes
    return Outlined(padded, bases, *divide_texts(padded, bases, texts))


def index_terms(padded: bytes, *, multiplier: int | None = None) -> Postings:
    """Find the terms of what is laid on an axis; whoever has hashed the texts may say what theirs are hashed with."""
    terms = indexed_terms(padded, multiplier=multiplier)
    return Postings(terms.names, terms.offsets, terms.starts)
