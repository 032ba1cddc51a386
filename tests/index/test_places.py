"""Places of terms that follow each other, against a plain loop."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from brimful.index.segments import Places, sequence

spots = st.lists(st.tuples(st.integers(1, 3), st.integers(0, 60)), max_size=15, unique=True).map(sorted)


def places(found):
    """Pairs as columns."""
    return Places(np.array([d for d, _ in found], np.int64), np.array([s for _, s in found], np.int64))


def pairs(found):
    """Columns as pairs."""
    return list(zip(found.documents.tolist(), found.starts.tolist(), strict=True))


@given(spots, spots, spots, st.integers(0, 9))
def test_sequence_equals_the_plain_loop(one, two, three, gap):
    """Each term begins behind the one before, the nearest one that does, within the gap."""
    lengths = [3, 4, 2]
    expected = []
    for document, start in one:
        end = start + lengths[0]
        for terms, length in ((two, 4), (three, 2)):
            after = min((t for d, t in terms if d == document and t >= end), default=None)
            if after is None or after - end > gap:
                break
            end = after + length
        else:
            expected.append((document, start))
    found = sequence([places(one), places(two), places(three)], lengths=lengths, gap_bytes=gap)
    assert pairs(found) == expected


def test_an_empty_sequence_is_nowhere():
    """Empty columns give empty columns."""
    assert len(sequence([], lengths=[])) == 0
    assert len(sequence([places([(1, 1)]), places([])], lengths=[1, 1])) == 0
