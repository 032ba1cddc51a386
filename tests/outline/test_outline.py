from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from brimful.outline.cuts import UNIT_LIMIT
from brimful.outline.kinds import Kind
from brimful.outline.outlines import Outline, outline

LANGUAGES: dict[Kind, list[str | None]] = {
    "prose": ["markdown", "rst", "html", "text", None],
    "code": ["python", "javascript", "tsx", "java", "cpp", "rust", "ruby", "sql", "no such language", None],
    "data": ["csv", "tsv", "json", "jsonl", "log", "yaml", "toml", "xml", "ini", None],
}
CHOICES = [(kind, language) for kind, languages in LANGUAGES.items() for language in languages]
PIECES = [
    *(b"\n \r\n \r \t # ## === --- ``` { } ( ) [ ] \" ' , ; : . ! ? | - 1. \\ \x00 \xff \x80 \xe3\x80\x82".split(b" ")),
    *(b"word", b"Dr. ", b"def f():", b"class A {", b"function f() {", b"if (x) {", b"@mark", b"// c", b"/*", b"*/"),
    *(b"2024-01-02T03:04:05Z ", b"ERROR ", b"<a>", b"</a>", b"<b/>", b"Bob: hi", b"key: v", b"[s]", b"end", b"\n    "),
    *(b"\n\n", b" ", "字".encode(), "é".encode(), b"x" * 150, b'{"a": "b"},'),
]
TEXTS = st.one_of(
    st.binary(max_size=200),
    st.text(max_size=200).map(str.encode),
    st.lists(st.sampled_from(PIECES), max_size=60).map(b"".join),
    st.lists(st.sampled_from(PIECES), max_size=12).map(lambda pieces: b"".join(pieces) * 30),
)


def check(content: bytes, found: Outline) -> None:
    """Assert everything that an Outline promises."""
    units, sections = found.units.tolist(), found.sections.tolist()
    length = len(content)
    assert found.length == length
    assert found.units.dtype == found.sections.dtype == np.int64
    for cuts in (units, sections):
        assert (cuts[0], cuts[-1]) == (0, length)
        assert all(left < right for left, right in pairwise(cuts))
    assert set(sections) <= set(units)
    assert all((content[cut] & 0xC0) != 0x80 and content[cut - 1 : cut + 1] != b"\r\n" for cut in units[1:-1])
    if content.decode(errors="replace").encode() == content and length:
        assert max(np.diff(units)) <= UNIT_LIMIT
    check_blocks(found)
    before = 0
    for record in found.records:
        assert before <= record.start < record.end <= length
        assert {record.start, record.end} <= set(units)
        before = record.end


def check_blocks(found: Outline) -> None:
    """Assert that blocks are sorted and nest, and that signatures stand inside them."""
    assert list(found.blocks) == sorted(found.blocks, key=lambda block: (block.start, -block.end))
    around: list[int] = []
    for block in found.blocks:
        assert 0 <= block.start <= block.signature_start <= block.signature_end <= block.end <= found.length
        while around and around[-1] <= block.start:
            around.pop()
        assert not around or block.end <= around[-1]
        around.append(block.end)


@settings(max_examples=700, deadline=None)
@given(st.sampled_from(CHOICES), TEXTS)
def test_invariants(choice: tuple[Kind, str | None], content: bytes) -> None:
    """Units hold every byte once; cuts are safe; sections are units; blocks nest; records are in order."""
    kind, language = choice
    found = outline(content, kind=kind, language=language)
    check(content, found)
    again = outline(content, kind=kind, language=language)
    assert (found.units.tolist(), found.sections.tolist()) == (again.units.tolist(), again.sections.tolist())
    assert (found.blocks, found.records, found.header) == (again.blocks, again.records, again.header)


@pytest.mark.parametrize(("kind", "language"), CHOICES)
@pytest.mark.parametrize(
    "content", [b"", b"x", b"\n", b"\r\n", b"\x00", b"\xff", "字".encode(), b"\r\n" * 900, b"\x80" * 900]
)
def test_smallest_texts(kind: Kind, language: str | None, content: bytes) -> None:
    """Empty, one-byte and blank texts have an outline of every kind."""
    check(content, outline(content, kind=kind, language=language))


def test_empty_text() -> None:
    """An empty text has the one cut 0."""
    found = outline(b"", kind="prose")
    assert found.units.tolist() == found.sections.tolist() == [0]
    assert (found.unit_at(0), found.cut_before(0), found.cut_after(0)) == (0, 0, 0)


@settings(max_examples=100, deadline=None)
@given(TEXTS, st.integers(-3, 300))
def test_look_ups(content: bytes, position: int) -> None:
    """Look-ups agree with a plain search of the cuts, also outside the text."""
    found = outline(content, kind="prose", language="text")
    for cuts, before, after in (
        (found.units.tolist(), found.cut_before, found.cut_after),
        (found.sections.tolist(), found.section_before, found.section_after),
    ):
        assert before(position) == max((cut for cut in cuts if cut <= position), default=0)
        assert after(position) == min((cut for cut in cuts if cut >= position), default=len(content))
    if 0 <= position < len(content):
        index = found.unit_at(position)
        assert found.units[index] <= position < found.units[index + 1]


def test_enclosing_is_outermost_first() -> None:
    """The blocks around a span come from the outside in, and only those that hold all of it."""
    code = b"class A:\n    def f(self):\n        return 1\n\n    def g(self):\n        return 2\n"
    found = outline(code, kind="code", language="python")
    one, two = code.find(b"return 1"), code.find(b"return 2")
    assert [block.name for block in found.enclosing(one, one + 8)] == ["A", "f"]
    assert [block.name for block in found.enclosing(one, two + 8)] == ["A"]
