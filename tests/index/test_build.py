"""Segments: what is laid on an axis is indexed as if it stood alone."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from brimful.index import build
from brimful.index.build import Extent, extents_of
from brimful.outline.kinds import kind_of
from tests.index.segment import build_segment
from tests.properties.strategies import PIECES

texts = st.lists(st.sampled_from([*PIECES, "\n\n\n", "x" * 900, "\r\n", " " * 50, "é" * 500]), max_size=25).map("".join)
extents = st.lists(
    st.tuples(st.sampled_from(["a.py", "b.md", "c.csv", "d.js", "e.log", "f.txt"]), texts), min_size=1, max_size=6
)


def extent(path, text):
    """A text as it is laid down."""
    return Extent(text.encode(), *kind_of(path, text.encode()))


@given(extents)
def test_neighbours_do_not_matter(found):
    """Positions of an extent are the same beside any others; test_units.py says so of units and sections."""
    laid = [extent(*each) for each in found]
    together = build_segment(laid)
    for base, one in zip(together.bases.tolist(), laid, strict=True):
        alone = build_segment([one])
        end = base + len(one.content)
        for at, name in enumerate(alone.postings.names):
            positions = together.postings.of(name)
            inside = positions[(positions >= base) & (positions < end)] - base
            assert (
                inside.tolist()
                == alone.postings.positions[alone.postings.offsets[at] : alone.postings.offsets[at + 1]].tolist()
            )


@given(extents)
def test_units_cut_safely(found):
    """Sections are units, and no unit begins inside a character."""
    laid = [extent(*each) for each in found]
    segment = build_segment(laid)
    assert set(segment.sections.tolist()) <= set(segment.units.tolist())
    begun = {base for base, one in zip(segment.bases.tolist(), laid, strict=True) if one.content}
    assert begun <= set(segment.units.tolist())
    codes = np.frombuffer(segment.padded, np.uint8)
    assert not ((codes[segment.units] & 0xC0) == 0x80).any()


@given(texts, st.integers(50, 400))
def test_extents_hold_every_byte_once(text, size):
    """A long document is cut between words where it can be, always in the same places."""
    content = text.encode()
    before, build.EXTENT_BYTES = build.EXTENT_BYTES, size
    try:
        found = list(extents_of(content))
    finally:
        build.EXTENT_BYTES = before
    assert b"".join(part for _, part in found) == content
    assert [start for start, _ in found] == np.cumsum([0, *(len(part) for _, part in found)])[:-1].tolist()
    assert all(part.decode() is not None and len(part) <= size for _, part in found)
