from hypothesis import given
from hypothesis import strategies as st

from brimful.densify.plan import squeeze

LINES = st.lists(st.sampled_from(["", "    a  b", "        c", "\td", " e \t", "f   ", "é  ü", "\r"]), max_size=12)


@given(LINES, st.booleans())
def test_only_white_space_is_left_out(lines: list[str], is_prose: bool) -> None:
    """Every visible character is sent, in its order."""
    text = "\n".join(lines)
    assert squeeze(text, is_prose=is_prose).split() == text.split()


@given(LINES, st.booleans())
def test_lines_stay_lines(lines: list[str], is_prose: bool) -> None:
    """What stood on a line of its own still does, and two lines with text are never joined."""
    text = "\n".join(lines)
    found = [line.split() for line in squeeze(text, is_prose=is_prose).splitlines() if line.strip()]
    assert found == [line.split() for line in text.splitlines() if line.strip()]


def test_steps_of_indentation_keep_their_order() -> None:
    """Deeper lines stay deeper, and lines of one depth stay at one depth."""
    assert squeeze("a:\n  b:\n    c\n      d\n  e", is_prose=False) == "a:\n b:\n  c\n   d\n e"


def test_tabs_are_left_alone() -> None:
    """Where tabs indent, a space may mean something else: nothing is changed at the beginnings of lines."""
    assert squeeze("all:\n\tmake\n    x", is_prose=False) == "all:\n\tmake\n    x"


def test_code_keeps_blanks_within_a_line() -> None:
    """A literal with several blanks is sent as it is; in prose they are one."""
    assert squeeze("pad = 'a   b'", is_prose=False) == "pad = 'a   b'"
    assert squeeze("tea   time", is_prose=True) == "tea time"
