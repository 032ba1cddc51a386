"""Headings and definitions, told by the bytes of their lines."""

import numpy as np
import pytest

from brimful.index.build import Extent
from tests.index.segment import build_segment


def heads_of(text, kind="prose", language="markdown"):
    """The words and levels of a text's heads."""
    path = "tea.adoc" if language == "asciidoc" else ""
    segment = build_segment([Extent(text.encode(), kind, language, path)])
    heads = segment.heads
    rows = zip(heads.starts.tolist(), heads.ends.tolist(), heads.levels.tolist(), strict=True)
    return [(segment.padded[start:end].decode(), level) for start, end, level in rows]


@pytest.mark.parametrize(
    ("text", "language", "found"),
    [
        ("# A\n\ntext\n\n### B ###\nmore\n", "markdown", [("# A", 1), ("### B ###", 3)]),
        ("Title\n=====\n\nPart\n----\ntext\n", "markdown", [("Title\n=====", 1), ("Part\n----", 2)]),
        ("= Tea\n\n== Pot\n", "asciidoc", [("= Tea", 1), ("== Pot", 2)]),
        ("==Pot==\ntext\n", "text", [("==Pot==", 2)]),
        ("#hash ####### seven\n####### seven\n", "markdown", []),
        ("```\n# no\n```\n# yes\n", "markdown", [("# yes", 1)]),
        ("~~~~ sh\n# no\n~~~\n# no\n~~~~\n# yes\n", "markdown", [("# yes", 1)]),
        ("````\nnever closed\n# no\n", "markdown", []),
        ("---\ntitle: Tea\n---\n# yes\n", "markdown", [("# yes", 1)]),
        ("- item\n---\ntext\n", "markdown", []),
        ("one\ntwo\n---\n", "markdown", []),
        (
            "=====\n Top\n=====\n\nSub\n---\n\nPot\n===\n",
            "rst",
            [("=====\n Top\n=====", 1), ("Sub\n---", 2), ("Pot\n===", 3)],
        ),
        ("A long title\n---\n", "rst", []),
        ("# a comment\n\nTitle\n~~~~~\n", "rst", [("Title\n~~~~~", 1)]),
        ("# Tea\r\n\r\ntext\r\n", "markdown", [("# Tea", 1)]),
        ("# a comment\n\n#1 of a list\n\nTitle\n=====\n", "text", [("Title\n=====", 1)]),
        ("# a comment\n", None, []),
        (".. code-block:: text\n--------------------\n", "rst", []),
        ("Top\n===\n\n.. code-block:: text\n\n   Not\n   ---\n", "rst", [("Top\n===", 1)]),
    ],
)
def test_headings_of_prose(text, language, found):
    """Marked and underlined titles are heads, what is fenced or only looks alike is not."""
    assert heads_of(text, language=language) == found


@pytest.mark.parametrize(
    ("line", "level"),
    [
        ("def pour(cup):", 1),
        ("    async def pour(self):", 1),
        ("\tfunc pour() {", 1),
        ("pub unsafe extern fn pour() {", 1),
        ("export default function pour() {", 1),
        ("public static final class Pot {", 1),
    ],
)
def test_definitions_of_code(line, level):
    """In any language a line that begins with the word of a definition is a head."""
    assert heads_of(f"x = 1\n{line}\n    y\n", "code", None) == [(line.strip(), level)]


@pytest.mark.parametrize(
    ("text", "language", "heads"),
    [
        ("static int\npour(int cups)\n{\n  return 0;\n}\nint left(void);\n", "c", [("pour(int cups)", 1)]),
        (
            "class Pot {\n  pour(cup) {\n    return 1;\n  }\n}\nconst fill = (pot) => {\n  pot();\n};\n",
            "javascript",
            [("class Pot {", 1), ("pour(cup) {", 2), ("const fill = (pot) => {", 1)],
        ),
        (
            "LIMIT = 3\n@warm\ndef pour():\n    def fill():\n        pass\n",
            "python",
            [("def pour():", 1), ("def fill():", 2)],
        ),
    ],
)
def test_definitions_are_those_of_the_outline(text, language, heads):
    """The line that names a definition is a head below those that it stands in; values and prototypes are none."""
    assert heads_of(text, "code", language) == heads


@pytest.mark.parametrize(
    "line", ["default = 1", "definition = 2", "classy()", "return function", "publish(x)", "# def x"]
)
def test_other_lines_of_code(line):
    """What only begins with the same letters is none."""
    assert heads_of(f"{line}\n", "code", "python") == []


def test_heads_do_not_depend_on_neighbours():
    """An underline at the start of a text has no title in the text before, nor does a fence reach into the next."""
    texts = [b"Title", b"=====\n```\nopen", b"# yes\n", b"---\ntitle: x\n---\n# too"]
    segment = build_segment([Extent(text, "prose", "markdown") for text in texts])
    found = [segment.padded[start:end] for start, end in zip(segment.heads.starts, segment.heads.ends, strict=True)]
    assert found == [b"# yes", b"# too"]
    assert np.all(np.diff(segment.heads.starts) > 0)
