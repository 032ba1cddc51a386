"""The kernels for headings, passages and messages, against patterns."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from brimful.native import marks as kernels
from brimful.outline import markup
from brimful.outline.markup import Markup
from tests.native import marks as oracle

LINES = st.sampled_from(
    [
        *(b"", b"  ", b"\r", b"- item", b"- item  ", b"  * item", b"1. one", b"12) two", b"a. letter", b"10.5 x", b"-"),
        *(b"Chapter 1 Tea", b"Chapters", b"PART IV of it", b"1.2 Tea and cups", b"1.2.3.  Tea", b"TITLE HERE", b"1."),
        *(b"===", b"---", b"--", b"=", b" ---", b"===\r", b"== Wiki ==", b"==Wiki===", b"======= No =======", b"* * *"),
        *(b"> quote", b"   > quote", b"| a | b |", b"|---|---|", b"|===|", b"a | b", b"--|--", b":--: | -", b"--|--\r"),
        *(b"plain words", b"You need:", "You need\uff1a".encode(), b"\tindented", b"   three", b"    four", b"ab"),
        *(b"x",),
        *("\u2022 dot".encode(), b"```", b"```` x", b"   ```", b"~~~", b"> ```", b"#. item", b"+ x", b".. note::"),
        *(b"# title", b"## Title ##", b"###### Six # #", b"####### x", b"#", b"  # in", b"<!-- x", b"-->"),
        *(b"<!-- a -->",),
        *(b".SH TEA", b".SH", b".SHx", b". SS a \\fBb", b'.Ss "x"', b".nf", b".fi", b".TS", b".TE", b".Bd -literal"),
        *(b".Ed",),
        *(b".EX", b".EE", b"\fCash Flows", b"\0", b"#\0", b"|\0", b"\v", b"---\na: b\n---", b"+++\nx\n+++", b"A" * 70),
        *(b"a" * 301,),
    ]
)
TEXTS = st.lists(LINES, max_size=40).map(b"\n".join)


def read_markup(content, form):
    """What the kernel finds, false headings included."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(markup, "_without_false", lambda titles, *_: titles)
        patched.setattr(markup, "_page_heads", lambda _: [])
        return markup.read_markup(content, form)


@given(TEXTS | st.binary(max_size=80))
@example(b"---\na: b\n---")
@example(b"- a\n- b\n\n\n  - c\n\nx\n- d\n```\n- e")
@example(b"\n\nTEA\n==\n\n1. ONE\n\n- TWO\n\n- THREE\n")
@example(b"a | b\n--|--\nc | d\n| e\n|--\n| f")
def test_marks_are_those_of_patterns(content):
    """Headings with their sections, lists, tables, quotations and blocks of code, with leads and items."""
    for form in kernels.WHOLE:
        assert read_markup(content, form) == oracle.read_markup(content, form)


@given(TEXTS, st.data())
def test_what_is_near_a_place_is_all_that_stands_around_it(content, data):
    """Of two that begin last before it, and the next one with what leads to it."""
    position = data.draw(st.integers(0, len(content)))
    for form in kernels.WHOLE:
        titles, passages = oracle.read_titles(content, form)
        known = Markup.of(titles, passages, length=len(content))
        at = sum(each.start <= position for each in passages)
        assert known.passages_near(position) == passages[max(at - 2, 0) : at + 1]


def test_many_marks_find_room():
    """Also where there are more headings, passages and items than room was made for at first."""
    for content, form in (
        (b"# T\n" * 700, "markdown"),
        (b"- a\n\n```\n```\n" * 700, "markdown"),
        (b"- a\n" * 9_000, "text"),
    ):
        assert read_markup(content, form) == oracle.read_markup(content, form)


def test_texts_that_lie_outside_of_their_axis_are_refused():
    """No kernel looks where there is no text."""
    with pytest.raises(ValueError, match="front matter"):
        kernels.read_marks(b"tea", "markdown", front=4, words=b"")
    with pytest.raises(ValueError, match="passed over"):
        kernels.read_marks(b"tea", "rst", passed=np.array([[0, 4]]))
