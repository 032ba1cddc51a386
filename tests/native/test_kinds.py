"""The kernel that counts lines of code, against patterns."""

from hypothesis import example, given
from hypothesis import strategies as st

from brimful.outline.kinds import code_lines
from tests.native.kinds import is_code

PARTS = st.sampled_from(
    [
        *("if", "import", "#include", "#define", "#", "else", "ends", "end", "then", "do", "begin", "redo", "_do"),
        *("):", ") :", ")->a:", ") -> b->c:", "->", ":", "::", ")", ";", "{", "}", " ", "\t", "\r", "\v", "x", "é"),
        *("w" * 295, " " * 295),
    ]
).map(str.encode)
LINES = st.lists(PARTS | st.binary(max_size=2).filter(lambda part: b"\n" not in part), max_size=6).map(b"".join)


@given(st.lists(LINES, max_size=6))
@example([b"x(a) ->:"])
@example([b"x(a) -> b"])
@example([b"->a:"])
@example([b")->:->a:"])
def test_as_many_lines_look_like_code(lines):
    """Ends, opening words and the look at the first 300 bytes agree on any bytes."""
    filled = [line for line in lines if line and not line.isspace()]
    assert code_lines(b"\n".join(lines)) == (sum(map(is_code, filled)), len(filled))
