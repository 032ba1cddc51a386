from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from brimful.errors import MissingPartError
from brimful.text.code import outline_code
from brimful.text.cuts import UNIT_LIMIT
from brimful.text.definitions import used_definitions
from brimful.text.grammars import LARGEST_PARSE
from brimful.text.outline import Outline

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
            ("class", "A", "class A"),
            ("function", "f", "  void f()"),
            ("function", "A::g", "int A::g(int x)"),
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
        [("class", "T", "type T struct {"), ("function", "F", "func (t *T) F(a int) (int, error)")],
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
        [("class", "A", "object A"), ("function", "f", "  def f(a: Int): Int =")],
    ),
    "bash": ("set -e\n\nf() {\n  echo a\n}\n\nf\n", [("function", "f", "f()")]),
    "lua": (
        "local function f(a)\n  return a\nend\n\nfunction M.g()\n  return 1\nend\n",
        [("function", "f", "local function f(a)"), ("function", "M.g", "function M.g()")],
    ),
    "sql": (
        "CREATE TABLE t (\n  a int,\n  b int\n);\n\nSELECT a\nFROM t;\n",
        [("class", "t", "CREATE TABLE t (")],
    ),
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
    found = outline_code(content, language=language)
    blocks = [
        (block.kind, block.name, content[block.signature_start : block.signature_end].decode())
        for block in found.blocks
        if block.kind != "block"
    ]
    assert blocks == expected


@pytest.mark.parametrize("language", SAMPLES)
def test_cuts_are_line_starts(language: str) -> None:
    """Code is cut at line starts only, with LF or CRLF."""
    for text in (SAMPLES[language][0], SAMPLES[language][0].replace("\n", "\r\n")):
        content = (text * 40).encode()
        found = outline_code(content, language=language)
        assert all(content[cut - 1 : cut] == b"\n" for cut in found.units[1:-1].tolist())
        assert len(found.units) > 10


def test_sections_are_functions_and_methods() -> None:
    """A section is a top-level function, or a method, with its decorators and the comments above it."""
    text = (
        '"""Doc."""\nimport os\n\n\n# about f\n# more\n@mark\ndef f():\n    return 1\n\n\nclass A:\n    """Doc."""\n\n'
        "    x = 1\n\n    # about g\n    def g(self):\n        return 2\n\n"
        "    def h(self):\n        return 3\n\n\nf()\n"
    )
    content = text.encode()
    found = outline_code(content, language="python")
    assert texts(content, found, sections=True) == [
        '"""Doc."""\nimport os\n\n\n',
        "# about f\n# more\n@mark\ndef f():\n    return 1\n\n\n",
        'class A:\n    """Doc."""\n\n    x = 1\n\n',
        "    # about g\n    def g(self):\n        return 2\n\n",
        "    def h(self):\n        return 3\n\n\n",
        "f()\n",
    ]
    block = found.enclosing(content.find(b"about f"), content.find(b"about f") + 1)[0]
    assert (block.name, block.start) == ("f", content.find(b"# about f"))


def test_compound_statements_are_blocks() -> None:
    """An if, a loop and their branches are blocks, nested in their function."""
    content = b"def f(x):\n    for y in x:\n        if y:\n            go(y)\n        else:\n            stop()\n"
    found = outline_code(content, language="python")
    inside = found.enclosing(content.find(b"stop"), content.find(b"stop") + 4)
    assert [(block.kind, block.level) for block in inside] == [
        ("function", 1),
        ("block", 2),
        ("block", 3),
        ("block", 4),
    ]
    assert content[inside[1].signature_start : inside[1].signature_end] == b"    for y in x:"


def test_long_functions_are_cut_between_statements() -> None:
    """A long function is cut at the outermost statements that will do, not in the middle of a call."""
    body = "".join(
        f"    value_{at} = compute(\n        argument_{at},\n        other={at},\n    )\n" for at in range(40)
    )
    content = f"def f():\n{body}".encode()
    found = outline_code(content, language="python")
    assert len(found.units) > 5
    assert all(content[cut:].startswith(b"    value_") for cut in found.units[1:-1].tolist())


def test_long_line() -> None:
    """A line of more than the limit is cut inside, a shorter one never."""
    content = b"x = [" + b"1234, " * 500 + b"]\ny = '" + b"z" * 600 + b"'\n"
    found = outline_code(content, language="python")
    assert max(found.units[1:] - found.units[:-1]) <= UNIT_LIMIT
    line = content.find(b"y = ")
    assert not [cut for cut in found.units.tolist() if line < cut < len(content)]


@pytest.mark.parametrize("language", [None, "no such language"])
def test_layout(language: str | None) -> None:
    """Without a grammar, indentation shows the functions, classes and blocks."""
    content = (
        b"# about f\nfunction f(a)\n{\n  if (a) {\n    go();\n  }\n}\n\nclass B {\n  int g() {\n    return 1;\n  }\n}\n"
    )
    found = outline_code(content, language=language)
    blocks = [(block.kind, block.name) for block in found.blocks]
    assert blocks == [("function", "f"), ("block", ""), ("class", "B"), ("function", "g")]
    assert texts(content, found, sections=True)[0] == content[: content.find(b"class B")].decode()


def test_layout_by_braces() -> None:
    """Code without indentation is read by its braces."""
    found = outline_code(b"function f() {\nif (x) {\ngo();\n}\n}\nfunction g() {\nstop();\n}\n")
    assert [(block.kind, block.name) for block in found.blocks] == [("function", "f"), ("block", ""), ("function", "g")]


def test_wrong_language_and_large_files() -> None:
    """Text that is not in its language, and code beyond the largest parse, are read by layout."""
    prose = b"Nothing of this is code? No; it's (only) words! And more: words...\n" * 50
    assert outline_code(prose, language="cpp").units.tolist()[-1] == len(prose)
    line = b"def f():\n    return 1\n\n"
    large = line * (LARGEST_PARSE // len(line) + 1)
    assert outline_code(large, language="python").blocks[0].name == "f"


def names(content: str, piece: str, language: str) -> list[tuple[str, str, str]]:
    """What the names used in `piece` lead to: name, kind, the text shown."""
    text = content.encode()
    start = text.find(piece.encode())
    found = used_definitions(text, start, start + len(piece.encode()), language=language)
    assert list(found) == sorted(found)
    return [(name.name, name.kind, text[name.start : name.end].decode()) for name in found]


USES: dict[str, tuple[str, str, list[tuple[str, str, str]]]] = {
    "python": (
        (
            "import os.path\nimport numpy as np\nfrom a.b import c as d, e\nimport unused\n\nLIMIT = 3\n\n\n"
            "def helper(x):\n    return x\n\n\nclass K(Base):\n    pass\n\n\ndef main():\n    # unused\n"
            "    return np.x(d, helper(LIMIT), K)\n"
        ),
        "return np.x(d, helper(LIMIT), K)",
        [
            ("np", "import", "import numpy as np"),
            ("d", "import", "from a.b import c as d, e"),
            ("LIMIT", "variable", "LIMIT = 3"),
            ("helper", "function", "def helper(x):"),
            ("K", "class", "class K(Base):"),
        ],
    ),
    "javascript": (
        (
            "import x, { a as b } from 'm';\nconst LIMIT = 3;\nexport function f(q) {\n  return q;\n}\n"
            "const g = (y) => {\n  return y;\n};\nfunction main() {\n  return f(b, g(LIMIT));\n}\n"
        ),
        "return f(b, g(LIMIT));",
        [
            ("b", "import", "import x, { a as b } from 'm';"),
            ("LIMIT", "variable", "const LIMIT = 3;"),
            ("f", "function", "export function f(q)"),
            ("g", "function", "const g = (y) =>"),
        ],
    ),
    "typescript": (
        "import { A } from 'm';\ninterface I {\n  a: A;\n}\nfunction main(i: I): A {\n  return i.a as A;\n}\n",
        "function main(i: I): A {",
        [("A", "import", "import { A } from 'm';"), ("I", "class", "interface I")],
    ),
    "java": (
        (
            "import java.util.List;\nimport java.util.Map;\nclass X {\n  private int size = 1;\n"
            "  int help(int a) {\n    return a;\n  }\n"
            "  void f(List<String> l) {\n    help(size);\n  }\n}\n"
        ),
        "void f(List<String> l) {\n    help(size);",
        [
            ("List", "import", "import java.util.List;"),
            ("size", "variable", "  private int size = 1;"),
            ("help", "function", "  int help(int a)"),
        ],
    ),
    "go": (
        (
            'package a\n\nimport (\n\t"fmt"\n\tx "net/http"\n)\n\nconst limit = 3\n\n'
            "func help(a int) int {\n\treturn a\n}\n\n"
            "func main() {\n\tfmt.Println(help(limit))\n}\n"
        ),
        "fmt.Println(help(limit))",
        [
            ("fmt", "import", 'import (\n\t"fmt"\n\tx "net/http"\n)'),
            ("limit", "variable", "const limit = 3"),
            ("help", "function", "func help(a int) int"),
        ],
    ),
    "rust": (
        (
            "use std::fmt;\nuse a::{b, c as d};\nconst LIMIT: u8 = 3;\nstruct S {\n  x: u8,\n}\n"
            "fn help(s: S) -> u8 {\n  1\n}\n"
            "fn main() {\n  help(S { x: LIMIT + d(b) });\n}\n"
        ),
        "help(S { x: LIMIT + d(b) });",
        [
            ("b", "import", "use a::{b, c as d};"),
            ("d", "import", "use a::{b, c as d};"),
            ("LIMIT", "variable", "const LIMIT: u8 = 3;"),
            ("S", "class", "struct S"),
            ("help", "function", "fn help(s: S) -> u8"),
        ],
    ),
    "c": (
        (
            "#include <a.h>\n#define LIMIT 3\nstatic int count = 0;\nstruct S {\n  int a;\n};\n"
            "int help(int a) {\n  return a;\n}\n"
            "int main(void) {\n  struct S s;\n  return help(LIMIT + count);\n}\n"
        ),
        "struct S s;\n  return help(LIMIT + count);",
        [
            ("LIMIT", "variable", "#define LIMIT 3"),
            ("count", "variable", "static int count = 0;"),
            ("S", "class", "struct S"),
            ("help", "function", "int help(int a)"),
        ],
    ),
}


@pytest.mark.parametrize("language", USES)
def test_used_definitions(language: str) -> None:
    """The names that a span uses lead to what shows them: import, signature or line, in reading order."""
    content, piece, expected = USES[language]
    assert names(content, piece, language) == expected


def test_only_definitions_outside_the_span() -> None:
    """What a span defines itself is not brought again, and strings and comments use nothing."""
    content = 'import a\nimport b\n\ndef f():\n    return "a"  # b\n'
    assert names(content, 'def f():\n    return "a"  # b\n', "python") == []


def test_unknown_grammar() -> None:
    """A language asked for by name that nothing carries is an error with a hint; without rules there is none."""
    with pytest.raises(MissingPartError, match="did you mean 'python'"):
        used_definitions(b"x", 0, 1, language="pyhton")
    assert used_definitions(b"x: 1", 0, 4, language="yaml") == ()


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(sorted(SAMPLES)), st.data())
def test_any_span(language: str, draw: st.DataObject) -> None:
    """Definitions never overlap the span, wherever it starts and ends, and broken code never raises."""
    content = SAMPLES[language][0].encode()
    drop = draw.draw(st.integers(0, len(content)))
    content = content[:drop] + content[drop + 3 :]
    start = draw.draw(st.integers(0, len(content)))
    end = draw.draw(st.integers(start, len(content)))
    for found in used_definitions(content, start, end, language=language):
        assert 0 <= found.start < found.end <= len(content)
        assert found.end <= start or found.start >= end
