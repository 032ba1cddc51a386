"""The kernels that look for strings and long runs, against plain searches."""

from hypothesis import example, given
from hypothesis import strategies as st

from brimful.native import runs as kernels
from tests.native import secrets as oracle

ANCHORS = [b"ab", b"aba", b"b", b"ca", b"a", b"abc", b"\xff", b"\0a"]
MARKS = bytes(code in b"ab\xff" for code in range(256))
TEXTS = st.lists(st.sampled_from([b"a", b"b", b"c", b"\xff", b"\0", b"\n", b"ab" * 5]) | st.binary(max_size=3)).map(
    b"".join
)


@given(TEXTS, st.sets(st.sampled_from(ANCHORS)).map(sorted))
@example(b"", [])
@example(b"ab", [b"abc"])
def test_anchors_are_those_of_plain_searches(text, anchors):
    """The same strings are found, at the edges of a text and inside of each other too."""
    assert kernels.Anchors(anchors).within(text) == oracle.anchors_in(text, anchors)


@given(TEXTS, st.integers(1, 12))
@example(b"ab", 2)
@example(b"ab\0ab", 2)
@example(b"\0ab\0", 2)
def test_long_runs_are_those_of_numpy(text, least):
    """The same runs, at the start and at the end of a text too."""
    assert kernels.long_runs(text, MARKS, least=least) == oracle.long_runs(text, MARKS, least)


@given(
    st.lists(st.tuples(st.booleans(), st.integers(1, 140)), max_size=12),
    st.sampled_from([1, 19, 20, 63, 64, 65, 128, 129]),
)
@example([(True, 64), (False, 1), (True, 63)], 64)
@example([(True, 128)], 128)
def test_runs_over_several_blocks_are_those_of_numpy(stretches, least):
    """A run may begin and end anywhere in the blocks of 64 bytes, and be longer than one."""
    text = b"".join((b"a" if marked else b"-") * size for marked, size in stretches)
    assert kernels.long_runs(text, MARKS, least=least) == oracle.long_runs(text, MARKS, least)
