"""Where data and long stretches are cut, against patterns and NumPy."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from brimful.native import lines as kernels
from brimful.outline.cuts import UNIT_AIM, UNIT_LIMIT
from brimful.outline.records import _signs
from tests.native import records as oracle

JSON = st.sampled_from(['"', "\\", "\\\\", '\\"', ",", "[", "]", "{", "}", "\n", "a", " ", "é"]).map(str.encode)
ENDS = ["\n", "\n\n", "\r\n", ". ", ".", "! ", "?\t", "。", "！", "？ ", "।", "؟", "۔", ", ", ";\n", ")", "> ", "、"]
PARTS = st.sampled_from(
    [*ENDS, "，", "：", "；", "،", "؛", " ", "\t", "\v", "é", "€", "x", "w" * 90, "w" * 399, " " * 70, "字" * 60, "\0"]
).map(str.encode)
STRETCHES = st.lists(PARTS | st.binary(max_size=3), max_size=40).map(b"".join)


@given(st.lists(JSON | st.binary(max_size=2)).map(b"".join))
@example(b'["a\\\\", "b\n", ]')
@example(b'"' * 3 + b",\n" + b'"[,')
@example(b"[" * 200)
def test_signs_of_json_are_those_outside_of_strings(content):
    """Strings, escapes, and quotation marks that a line does not close, in any bytes."""
    assert _signs(content)[0].tolist() == oracle.json_signs(content).tolist()


@given(STRETCHES, st.booleans(), st.integers(1, 3))
@example(b"word " * 100, False, 1)
@example(b"w" * 2_000, True, 1)
@example("字".encode() * 700, False, 1)
def test_long_stretches_are_cut_as_by_patterns(content, by_line, pieces):
    """At lines, sentences, clauses, words and code points, whatever stands there."""
    content = content * (UNIT_LIMIT // max(len(content), 1) + 1)
    edges = np.linspace(0, len(content), pieces + 1).astype(np.int64)
    given_ = edges[:-1], edges[1:]
    found = kernels.cut_stretches(content, *given_, aim=UNIT_AIM, limit=UNIT_LIMIT, by_line=by_line)
    assert found.tolist() == oracle.inner_cuts(content, *given_, by_line=by_line).tolist()


def test_stretches_outside_of_their_text_are_refused():
    """So that nothing is read that is not the caller's."""
    with pytest.raises(ValueError, match="text"):
        kernels.cut_stretches(b"tea", np.array([0]), np.array([4]), aim=9, limit=9, by_line=False)
    with pytest.raises(ValueError, match="limit"):
        kernels.cut_stretches(b"tea", np.array([0]), np.array([3]), aim=9, limit=8, by_line=False)
