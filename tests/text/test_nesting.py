"""In which definitions does a stretch of code stand?"""

import pytest

from brimful.corpus.documents import Document
from brimful.text.nesting import Nesting

PYTHON = b"""import os


class Tea:
    kind = "green"

    def pour(
        self,
        cups: int,
    ) -> None:
        for cup in range(cups):
            if cup:
                fill(cup)

    def drink(self):
        return None


def other():
    pass


done = True
"""
C = b"""#include <stdio.h>

static int
pour(int cups)
{
    int left = cups;
#ifdef HOT
    left--;
#endif
    while (left)
    {
        fill(left--);
    }
    return 0;
}
"""
CPP = b"""class Pot
{
public:
    int cups() const
    {
        return held;
    }
private:
    int held;
};
"""


def names(content: bytes, at: bytes) -> list[str]:
    """The definitions around the line that holds these bytes."""
    start = content.index(at)
    end = content.index(b"\n", start) + 1
    return [block.name for block in Nesting(content).around(content.rindex(b"\n", 0, start) + 1, end)]


def test_python() -> None:
    """A statement stands in its method and its class; what follows a function at the margin stands in nothing."""
    assert names(PYTHON, b"fill(cup)") == ["Tea", "pour"]
    assert names(PYTHON, b"kind =") == ["Tea"]
    assert names(PYTHON, b"return None") == ["Tea", "drink"]
    assert names(PYTHON, b"done =") == []


def test_a_definition_is_not_in_itself() -> None:
    """The line of a method stands in its class, not in the method."""
    assert names(PYTHON, b"def drink") == ["Tea"]


def test_signature_of_several_lines() -> None:
    """A signature reaches to the line on which its brackets close."""
    start = PYTHON.index(b"fill(cup)")
    method = Nesting(PYTHON).around(start, start + 9)[-1]
    shown = PYTHON[method.signature_start : method.signature_end]
    assert shown == b"    def pour(\n        self,\n        cups: int,\n    ) -> None:"


def test_braces_below_the_signature() -> None:
    """A brace on a line of its own belongs to the line above it; directives at the margin end nothing."""
    assert names(C, b"fill(left") == ["pour"]
    assert names(C, b"left--") == ["pour"]


def test_access_labels() -> None:
    """A label at the margin of a class does not end it."""
    assert names(CPP, b"return held") == ["Pot", "cups"]
    assert names(CPP, b"int held") == ["Pot"]


@pytest.mark.parametrize("content", [b"", b"\n", b"\t", b"x", b"#\n#", b"}\n}\n  }", b" (((\n  (", b"\xff\n \xff"])
def test_any_bytes(content: bytes) -> None:
    """No bytes are an error, wherever the stretch lies."""
    nesting = Nesting(content)
    for start in range(len(content) + 1):
        for end in range(start, len(content) + 1):
            for block in nesting.around(start, end):
                assert block.start <= block.signature_end <= len(content)


def test_as_a_grammar_says() -> None:
    """Indented code gives the definitions that its grammar gives."""
    outline = Document("tea.py", PYTHON).outline
    for at in (b"fill(cup)", b"kind =", b"return None", b"done ="):
        start = PYTHON.index(at)
        line = PYTHON.rindex(b"\n", 0, start) + 1
        told = [block.name for block in outline.enclosing(line, start) if block.kind in ("function", "class")]
        assert names(PYTHON, at) == told
