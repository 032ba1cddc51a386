from __future__ import annotations

from itertools import pairwise

import pytest

from brimful.outline.cuts import LARGEST, UNIT_LIMIT
from brimful.outline.outlines import Outline, outline

# language -> (code, what its functions and classes are: kind, name, signature)
SAMPLES: dict[str, tuple[str, list[tuple[str, str, str]]]] = {
    "python": (
        (
            "import os\n\n# about A\n@mark\nclass A(B):\n    x = 1\n\n    @prop\n    def f(self, a,\n"
            "          b):\n        return b\n"
        ),
        [("class", "A", "class A(B):"), ("function", "f", "    def f(self, a,\n          b):")],
    ),
    "javascript": (
        (
            "import a from 'b';\n\n/** doc */\nexport class A extends B {\n  f(x) {\n    return x;\n  }\n"
            "}\n\nconst g = (x) => {\n  return x;\n};\n"
        ),
        [
            ("class", "A", "export class A extends B"),
            ("function", "f", "  f(x)"),
            ("function", "g", "const g = (x) =>"),
        ],
    ),
    "typescript": (
        (
            "export interface I {\n  a: string;\n}\n\n@D()\nexport class A {\n  f(x: number): string {\n"
            "    return x;\n  }\n}\n"
        ),
        [
            ("class", "I", "export interface I"),
            ("class", "A", "export class A"),
            ("function", "f", "  f(x: number): string"),
        ],
    ),
    "tsx": (
        "export function View(p: P) {\n  return (\n    <div>{p.x}</div>\n  );\n}\n",
        [("function", "View", "export function View(p: P)")],
    ),
    "java": (
        "package a;\n\n/** d */\n@A\npublic class X {\n  @Override\n  public void f(int a) {\n    run();\n  }\n}\n",
        [("class", "X", "public class X"), ("function", "f", "  public void f(int a)")],
    ),
    "c": (
        "#include <a.h>\n\nstruct S {\n  int a;\n};\n\nstatic int f(int a)\n{\n  return a;\n}\n",
        [("class", "S", "struct S"), ("function", "f", "static int f(int a)")],
    ),
    "cpp": (
        (
            "namespace n {\ntemplate <class T>\nclass A {\npublic:\n  void f() {\n    run();\n  }\n};\n}\n\n"
            "int A::g(int x) {\n  return 1;\n}\n"
        ),
        [
            ("class", "n", "namespace n"),
            ("class", "A", "template <class T>\nclass A"),
            ("function", "f", "  void f()"),
            ("function", "g", "int A::g(int x)"),
        ],
    ),
    "csharp": (
        "using System;\nnamespace N {\n  [A]\n  public class C {\n    void F() {\n      Run();\n    }\n  }\n}\n",
        [("class", "N", "namespace N"), ("class", "C", "  public class C"), ("function", "F", "    void F()")],
    ),
    "go": (
        (
            "package a\n\ntype T struct {\n\ta int\n}\n\n// F does.\nfunc (t *T) F(a int) (int, error) {\n"
            "\treturn a, nil\n}\n"
        ),
        [("class", "T", "type T struct"), ("function", "F", "func (t *T) F(a int) (int, error)")],
    ),
    "rust": (
        (
            "use a::b;\n\n#[derive(A)]\npub struct S {\n  a: u8,\n}\n\nimpl S {\n  /// d\n"
            "  pub fn f(&self) -> u8 {\n    1\n  }\n}\n"
        ),
        [("class", "S", "pub struct S"), ("class", "S", "impl S"), ("function", "f", "  pub fn f(&self) -> u8")],
    ),
    "ruby": (
        "require 'a'\n\nmodule M\n  class A < B\n    def f(a)\n      a\n    end\n  end\nend\n",
        [("class", "M", "module M"), ("class", "A", "  class A < B"), ("function", "f", "    def f(a)")],
    ),
    "php": (
        "<?php\nnamespace A;\n\nclass C {\n  public function f($a) {\n    return $a;\n  }\n}\n",
        [("class", "C", "class C"), ("function", "f", "  public function f($a)")],
    ),
    "kotlin": (
        "package a\n\nclass A(val x: Int) {\n  fun f(a: Int): Int {\n    return a\n  }\n}\n",
        [("class", "A", "class A(val x: Int)"), ("function", "f", "  fun f(a: Int): Int")],
    ),
    "swift": (
        "import A\n\nclass B {\n  func f(a: Int) -> Int {\n    return a\n  }\n}\n",
        [("class", "B", "class B"), ("function", "f", "  func f(a: Int) -> Int")],
    ),
    "scala": (
        "package a\n\nobject A {\n  def f(a: Int): Int = {\n    a\n  }\n}\n",
        [("class", "A", "object A"), ("function", "f", "  def f(a: Int): Int")],
    ),
    "bash": ("set -e\n\nf() {\n  echo a\n}\n\nf\n", [("function", "f", "f()")]),
    "lua": (
        "local function f(a)\n  return a\nend\n\nfunction M.g()\n  return 1\nend\n",
        [("function", "f", "local function f(a)"), ("function", "M.g", "function M.g()")],
    ),
    "sql": ("CREATE TABLE t (\n  a int,\n  b int\n);\n\nSELECT a\nFROM t;\n", [("class", "t", "CREATE TABLE t")]),
}


def texts(content: bytes, found: Outline, *, sections: bool = False) -> list[str]:
    """The units, or sections, as text."""
    cuts = found.sections if sections else found.units
    return [content[start:end].decode() for start, end in pairwise(cuts.tolist())]


@pytest.mark.parametrize("language", SAMPLES)
def test_definitions_are_blocks(language: str) -> None:
    """Functions and classes of every language are blocks with their name and signature."""
    text, expected = SAMPLES[language]
    content = text.encode()
    found = outline(content, kind="code", language=language)
    blocks = [
        (block.kind, block.name, content[block.signature_start : block.signature_end].decode())
        for block in found.blocks
    ]
    assert blocks == expected


@pytest.mark.parametrize("language", SAMPLES)
def test_cuts_are_line_starts(language: str) -> None:
    """Code is cut at line starts only, with LF or CRLF."""
    for text in (SAMPLES[language][0], SAMPLES[language][0].replace("\n", "\r\n")):
        content = (text * 40).encode()
        found = outline(content, kind="code", language=language)
        assert all(content[cut - 1 : cut] == b"\n" for cut in found.units[1:-1].tolist())
        assert len(found.units) > 4


def test_only_definitions_are_blocks() -> None:
    """Loops and branches explain nothing that stands in them: the function around them does."""
    content = b"def f(x):\n    for y in x:\n        if y:\n            go(y)\n        else:\n            stop()\n"
    found = outline(content, kind="code", language="python")
    inside = found.enclosing(content.find(b"stop"), content.find(b"stop") + 4)
    assert [(block.kind, block.name, block.level) for block in inside] == [("function", "f", 1)]


def test_long_line() -> None:
    """A line of more than the limit is cut inside, a shorter one never."""
    content = b"x = [" + b"1234, " * 500 + b"]\ny = '" + b"z" * 600 + b"'\n"
    found = outline(content, kind="code", language="python")
    assert max(found.units[1:] - found.units[:-1]) <= UNIT_LIMIT
    line = content.find(b"y = ")
    assert not [cut for cut in found.units.tolist() if line < cut < len(content)]


def test_languages_without_rules_of_their_own() -> None:
    """Any language has the usual words for functions and classes."""
    found = outline(b"function f() {\nif (x) {\ngo();\n}\n}\nfunction g() {\nstop();\n}\n", kind="code")
    assert [(block.kind, block.name) for block in found.blocks] == [("function", "f"), ("function", "g")]


def test_wrong_language_and_large_files() -> None:
    """Text that is not in its language is cut all the same; very long code too, of which no definitions are read."""
    prose = b"Nothing of this is code? No; it's (only) words! And more: words...\n" * 50
    assert outline(prose, kind="code", language="cpp").units.tolist()[-1] == len(prose)
    line = b"def f():\n    return 1\n\n"
    large = outline(line * (LARGEST // len(line) + 1), kind="code", language="python")
    assert large.blocks == ()
    assert len(large.units) > LARGEST // UNIT_LIMIT


NESTED = b"""import os


class Tea:
    kind = "green"

    @warm(
        cups=2,
    )
    def pour(
        self,
        cups: int,
    ) -> None:
        text = '''
margin
'''
        for cup in range(cups):
            if cup:
                fill(cup)

    def drink(self):
        return None


done = True
"""
BRACES = b"""static int
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


@pytest.mark.parametrize(
    ("content", "language", "at", "names"),
    [
        (NESTED, "python", b"fill(cup)", ["Tea", "pour"]),
        (NESTED, "python", b"margin", ["Tea", "pour"]),
        (NESTED, "python", b"kind =", ["Tea"]),
        (NESTED, "python", b"return None", ["Tea", "drink"]),
        (NESTED, "python", b"done =", []),
        (BRACES, "c", b"fill(left", ["pour"]),
        (BRACES, "c", b"left--;\n#endif", ["pour"]),
    ],
)
def test_what_stands_around_a_line(content: bytes, language: str, at: bytes, names: list[str]) -> None:
    """A statement stands in its function and its class, also behind a text at the margin and a directive."""
    start = content.index(at)
    found = outline(content, kind="code", language=language)
    assert [block.name for block in found.enclosing(start, start + 1)] == names


def test_signatures_without_decorators() -> None:
    """A signature begins at the line of its own words and reaches to where its brackets close."""
    start = NESTED.index(b"fill(cup)")
    method = outline(NESTED, kind="code", language="python").enclosing(start, start + 9)[-1]
    shown = NESTED[method.signature_start : method.signature_end]
    assert shown == b"    def pour(\n        self,\n        cups: int,\n    ) -> None:"
    assert NESTED[method.start :].startswith(b"    @warm(")
