"""The kernels for definitions, against a walk over each of them."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from brimful.native import definitions as kernels
from brimful.outline import structures as structure
from brimful.outline.layout import nested_blocks
from brimful.outline.masking import Brackets, mask
from brimful.outline.statements import declared_in_statements
from tests.native import definitions as oracle

PARTS = st.sampled_from(
    [
        *(b"def f(a):\n", b"async  def g (a,\n b) -> {}:\n", b"class A:\n", b"    def m(self): pass\n"),
        *(b"\tdef t():\n", b"def 1():\n"),
        *(b"@a\n", b"@a.b(c,\n d)\n", b"    @a\n", b"#[a]\n", b"#[a(b)]\n", b"#![a]\n", b"[a]\n", b"@doc x\n"),
        *(b"@impl true\n", b"@spec\n"),
        *(b"ABC = 1\n", b"ABC: int = (1,\n2)\n", b"AB == 1\n", b"A = 1\n", b"ABC:\n", b'"""doc"""\n', b'    "doc"\n'),
        *(b"# remark\n", b"// remark\n"),
        *(b"/* a\n b */", b"fn f() {\n", b"impl A {\n", b"struct S {\n", b"function f() {\n", b"class B { m() {} }\n"),
        *(b"module A do\n", b"def f do\n"),
        *(b"{", b"}", b"(", b")", b"[", b"]", b"}\n", b"end\n", b";", b":", b",", b"\n", b"\n\n", b" ", b"    ", b"\t"),
        *(b"\r\n", b"\v", b"\0", b"\\", b"x", b"x\n", b"\xc3\xa4"),
        *(b" " * 410, b"#define M(x) \\\n x\n", b"int f(void)\n{\n", b"int A::f() {\n", b"  return 1;\n"),
        *(b"enum E { A, B };\n", b"defmodule A do\n"),
    ]
)
SOURCES = st.lists(PARTS, max_size=40).map(b"".join)
LANGUAGES = ("python", "rust", "javascript", "typescript", "elixir", "c", "cpp", "clojure", "make")


def _remarks(source, masked):
    places = masked.comments, masked.strings if source.language in structure._DOCSTRINGS else structure._NOWHERE
    return tuple(tuple(column.tolist() for column in both) for both in places)


@given(SOURCES)
@example(b"def f(" + b"x" * 5_000 + b"):\n  pass\nABC = 1")
@example(b"AB" + b" " * 9 + b"=\n@a\n@b\ndef f\n@c")
def test_what_python_defines_is_found_as_by_patterns(content):
    """Functions, classes and constants with their decorators, in brackets that match and others."""
    code = mask(content, "python").code
    pairs = Brackets(code)
    wanted = oracle.declared_in_python(code, pairs, code, 0)
    rows = kernels.define_python(code, pairs.turns).tolist()
    found = [(start, code[name:behind], kind, head, end) for start, name, behind, kind, head, end in rows]
    kinds = {"function": 0, "class": 1, "constant": 2}
    known = {each.name.encode(): each for each in wanted}
    assert [(start, kind, head, end) for start, _, kind, head, end in found] == [
        (each.start, kinds[each.kind], each.signature_end, each.end) for each in wanted
    ]
    assert {name.decode(errors="replace").encode() for _, name, *_ in found} == known.keys()


@given(SOURCES)
@example(b'# remark\n\n# remark\n  # another\ndef f():\n    "doc"\n')
@example(b"struct S {\n  #[a(b)]\n  @c\n  fn f() {\n}\n}\n")
def test_definitions_stand_in_each_other_as_one_by_one(content):
    """With comments and attributes in front of them, and docstrings; so do the blocks that they are."""
    for language in LANGUAGES:
        _stand_as_one_by_one(content, language)


def _stand_as_one_by_one(content, language):
    source, masked = structure._masked(content, language)
    found = structure._read(source, masked)
    if language == "python":
        declared = oracle.declared_in_python(source.code, source.pairs, source.code, 0)
    elif language in structure._STATEMENTS:
        declared = declared_in_statements(source, masked.directives, several_lines=False)
    else:
        declared = structure._found(source)
    wanted = oracle.nested(source, _remarks(source, masked), declared)
    assert tuple(found) == wanted
    nested = nested_blocks(content, found)
    blocks = [nested[at] for at in range(len(nested.starts))]
    assert blocks == sorted(blocks, key=lambda block: (block.start, -block.end))
    for at, around in enumerate(nested.parents):
        near = [one for one in range(at) if blocks[one].end >= blocks[at].end]
        assert around == max(near, default=-1)


def test_what_lies_outside_of_a_source_is_refused():
    """No kernel looks where there is no code."""
    nowhere = np.empty(0, np.int64), np.empty(0, np.int64)
    given = {"comments": nowhere, "strings": nowhere}
    with pytest.raises(ValueError, match="inside its source"):
        kernels.nest_definitions(b"tea", b"tea", np.array([[0, 4, 0, 0]]), **given)
    with pytest.raises(ValueError, match="as long as its text"):
        kernels.nest_definitions(b"tea", b"te", np.array([[0, 1, 0, 0]]), **given)
    with pytest.raises(ValueError, match="from its start to its end"):
        kernels.nest_definitions(
            b"tea", b"tea", np.array([[0, 1, 0, 0]]), comments=(np.array([0]), np.array([9])), strings=nowhere
        )
    with pytest.raises(ValueError, match="every bracket"):
        kernels.define_python(b"()", (np.array([0]), np.zeros(1, np.int32), np.array([1])))
