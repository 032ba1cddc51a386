"""The kernels that look for strings and long runs, against plain searches."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from brimful.kernels import runs as kernels
from tests.kernels import secrets as oracle

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


@given(TEXTS, st.lists(st.sets(st.sampled_from(ANCHORS)), max_size=8))
@example(b"", [])
@example(b"ab\n\nb", [{b"ab"}, {b"b"}])
@example(b"a\nb", [{b"ab"}, {b"a", b"b"}])
def test_lines_are_marked_as_by_plain_searches(text, groups):
    """Each line has the groups of which it holds a string, at its edges too, and one beyond ASCII has all."""
    assert kernels.mark_lines(text, groups).tolist() == oracle.mark_lines(text, groups)


def test_what_marks_lines_is_checked():
    """Nine groups do not fit into a byte; nothing is no string, and none goes over two lines."""
    for groups in ([[b"a"]] * 9, [[b""]], [[b"a\nb"]]):
        with pytest.raises(ValueError, match="up to 8 groups"):
            kernels.mark_lines(b"a", groups)


@given(TEXTS, st.integers(1, 12))
@example(b"ab", 2)
@example(b"ab\0ab", 2)
@example(b"\0ab\0", 2)
def test_long_runs_are_those_of_numpy(text, least):
    """The same runs, at the start and at the end of a text too."""
    assert kernels.long_runs(text, MARKS, least=least) == oracle.long_runs(text, MARKS, least)
