from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from brimful.outline.layout import imported_names, used_definitions
from brimful.outline.structures import structure
from tests.outline.test_layout import SAMPLES


def names(content: str, piece: str, language: str) -> list[tuple[str, str, str]]:
    """What the names used in `piece` lead to: name, kind, the text shown."""
    text = content.encode()
    start = text.find(piece.encode())
    found = used_definitions(text, start, start + len(piece.encode()), structure(text, kind="code", language=language))
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
    "csharp": (
        (
            "using System.Text;\nclass C {\n  private int limit = 3;\n  int Help(int a) {\n    return a;\n  }\n"
            "  int F(Text t) {\n    return Help(limit);\n  }\n}\n"
        ),
        "int F(Text t) {\n    return Help(limit);",
        [
            ("Text", "import", "using System.Text;"),
            ("limit", "variable", "  private int limit = 3;"),
            ("Help", "function", "  int Help(int a)"),
        ],
    ),
    "ruby": (
        "class A\n  LIMIT = 3\n\n  def help(a)\n    a\n  end\n\n  def f\n    help(LIMIT)\n  end\nend\n",
        "help(LIMIT)",
        [("LIMIT", "variable", "  LIMIT = 3"), ("help", "function", "  def help(a)")],
    ),
    "kotlin": (
        "import a.b.C\n\nval limit = 3\n\nfun help(c: C): Int {\n  return 1\n}\n\nfun f() {\n  help(C(limit))\n}\n",
        "help(C(limit))",
        [
            ("C", "import", "import a.b.C"),
            ("limit", "variable", "val limit = 3"),
            ("help", "function", "fun help(c: C): Int"),
        ],
    ),
    "php": (
        "<?php\nuse A\\B;\n\nfunction help(B $b) {\n  return 1;\n}\n\nfunction f() {\n  return help(new B());\n}\n",
        "return help(new B());",
        [("B", "import", "use A\\B;"), ("help", "function", "function help(B $b)")],
    ),
}


USES |= {
    "cpp": (
        "#include <vector>\n\nint helper(int x) {\n  return x;\n}\n\nint main() {\n  return helper(3);\n}\n",
        "return helper(3);",
        [("helper", "function", "int helper(int x)")],
    ),
    "swift": (
        "let limit = 3\n\nfunc helper(_ x: Int) -> Int {\n    return x\n}\n\nfunc r() {\n  return helper(limit)\n}\n",
        "return helper(limit)",
        [("limit", "variable", "let limit = 3"), ("helper", "function", "func helper(_ x: Int) -> Int")],
    ),
    "scala": (
        "import a.b.C\n\ndef helper(x: Int): Int = {\n  x\n}\n\nobject O {\n  def run() = {\n    helper(C.x)\n  }\n}\n",
        "helper(C.x)",
        [("C", "import", "import a.b.C"), ("helper", "function", "def helper(x: Int): Int")],
    ),
    "tsx": (
        'import { state } from "ui";\nfunction Item(p: P) {\n  return 0;\n}\n\nfunction L() {\n  state(Item);\n}\n',
        "state(Item);",
        [("state", "import", 'import { state } from "ui";'), ("Item", "function", "function Item(p: P)")],
    ),
    "lua": (
        'local json = require("j")\n\nlocal function helper(x)\n  return x\nend\n\nfunction r()\n  helper(json)\nend\n',
        "helper(json)",
        [("json", "import", 'local json = require("j")'), ("helper", "function", "local function helper(x)")],
    ),
    "bash": (
        'helper() {\n  echo "$1"\n}\n\nmain() {\n  helper 3\n}\n',
        "helper 3",
        [("helper", "function", "helper() {")],
    ),
    "sql": (
        "CREATE TABLE users (\n  id INT\n);\n\nCREATE VIEW old AS\n  SELECT id FROM users;\n",
        "SELECT id FROM users;",
        [("users", "class", "CREATE TABLE users ")],
    ),
}


@pytest.mark.parametrize("language", USES)
@pytest.mark.seed(
    "085b §2", "code: definitions and imports of the names used, in every language", where="outline/layout.py"
)
def test_used_definitions(language: str) -> None:
    """The names that a span uses lead to what shows them: import, signature or line, in reading order."""
    content, piece, expected = USES[language]
    assert names(content, piece, language) == expected


def test_only_definitions_outside_the_span() -> None:
    """What a span defines itself is not brought again, and strings and comments use nothing."""
    content = 'import a\nimport b\n\ndef f():\n    return "a"  # b\n'
    assert names(content, 'def f():\n    return "a"  # b\n', "python") == []


@pytest.mark.parametrize("language", ["pyhton", None])
def test_unknown_language(language: str | None) -> None:
    """A language without rules uses nothing that is known."""
    assert used_definitions(b"x = y", 0, 5, structure(b"x = y", kind="code", language=language)) == ()


@pytest.mark.parametrize(
    ("language", "statement", "names"),
    [
        ("python", "import os.path", ["os"]),
        ("python", "from a import (\n    b,\n    c as d,\n)", ["b", "d"]),
        ("javascript", "import x, { a as b, c } from 'm/n';", ["b", "c", "x"]),
        ("javascript", "import * as all from 'm';", ["all"]),
        ("javascript", "const { a, b } = require('m');", ["a", "b"]),
        ("go", 'import (\n\t"fmt"\n\tx "net/http"\n)', ["fmt", "x"]),
        ("rust", "pub use crate::a::{b::c, d as e};", ["c", "e"]),
        ("java", "import static java.util.Map.entry;", ["entry"]),
        ("kotlin", "import a.b.C as D", ["D"]),
        ("scala", "import a.b.{C, D => E}", ["C", "E"]),
        ("csharp", "using System.Text;", ["Text"]),
        ("php", "use A\\B\\C as D;", ["D"]),
        ("haskell", "import qualified Data.Map as M", ["M"]),
        ("lua", 'local json = require("json")', ["json"]),
        ("c", "#include <stdio.h>", []),
    ],
)
def test_imported_names(language: str, statement: str, names: list[str]) -> None:
    """An import binds its aliases, and the last part of a path that has none."""
    assert imported_names(statement.encode(), language) == names


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(sorted(SAMPLES)), st.data())
def test_any_span(language: str, draw: st.DataObject) -> None:
    """Definitions never overlap the span, wherever it starts and ends, and broken code never raises."""
    content = SAMPLES[language][0].encode()
    drop = draw.draw(st.integers(0, len(content)))
    content = content[:drop] + content[drop + 3 :]
    start = draw.draw(st.integers(0, len(content)))
    end = draw.draw(st.integers(start, len(content)))
    for found in used_definitions(content, start, end, structure(content, kind="code", language=language)):
        assert 0 <= found.start < found.end <= len(content)
        assert found.end <= start or found.start >= end
