"""Headings, lists, tables, quotations and code blocks of prose, by the rules of each format."""

import pytest

import brimful
from brimful.outline.markup import format_of, marks_in
from brimful.outline.outlines import outline
from brimful.outline.structures import structure


def read(text: str, path: str = "a.txt", language: str = "text"):
    """A text's structure with its bytes."""
    content = text.encode()
    return structure(content, kind="prose", language=language, path=path), content


def titles(text: str, path: str = "a.txt", language: str = "text") -> list[tuple[int, str]]:
    """Levels and titles of a text's headings."""
    found, _ = read(text, path, language)
    return [(heading.level, heading.title) for heading in found.headings]


def passages(text: str, path: str = "a.txt", language: str = "text") -> list[tuple[str, str, str | None]]:
    """Kind, words and lead of a text's passages."""
    found, content = read(text, path, language)
    return [
        (each.kind, content[each.start : each.end].decode(), content[slice(*each.lead)].decode() if each.lead else None)
        for each in found.passages
    ]


@pytest.mark.parametrize(
    ("text", "language", "path", "found"),
    [
        ("# A\n\ntext\n\n### B ###\nmore\n", "markdown", "a.md", [(1, "A"), (3, "B")]),
        ("Title\n=====\n\nPart\n----\ntext\n", "markdown", "a.md", [(1, "Title"), (2, "Part")]),
        ("```\n# no\n```\n# yes\n", "markdown", "a.md", [(1, "yes")]),
        ("~~~~ sh\n# no\n~~~\n# no\n~~~~\n# yes\n", "markdown", "a.md", [(1, "yes")]),
        ("````\nnever closed\n# no\n", "markdown", "a.md", []),
        ("---\ntitle: Tea\n---\n# yes\n", "markdown", "a.md", [(1, "yes")]),
        ("<!--\n# no\n-->\n# yes\n", "markdown", "a.md", [(1, "yes")]),
        ("#hash\n####### seven\n    # code\n", "markdown", "a.md", []),
        ("- item\n---\none\ntwo\n---\n", "markdown", "a.md", []),
        ("# Tea\r\n\r\ntext\r\n", "markdown", "a.md", [(1, "Tea")]),
        ("# a comment\n\nls -l\n", "text", "notes.txt", []),
        ("=====\n Top\n=====\n\nSub\n---\n\nPot\n===\n", "rst", "a.rst", [(1, "Top"), (2, "Sub"), (3, "Pot")]),
        ("A long title\n---\n", "rst", "a.rst", []),
        (".. code-block:: text\n\n   Title\n   =====\n\nYes\n---\n", "rst", "a.rst", [(1, "Yes")]),
        (".. code-block::\n-----------------\n", "rst", "a.rst", []),
        ("Like this::\n\n    No\n    --\n\nYes\n===\n", "rst", "a.rst", [(1, "Yes")]),
        ("= Tea\n\n== Pot\n\n----\n== no\n----\n", "text", "a.adoc", [(1, "Tea"), (2, "Pot")]),
        ("* Tea :hot:\n** Pot\n#+begin_src sh\n* no\n#+end_src\n *no*\n", "text", "a.org", [(1, "Tea"), (2, "Pot")]),
        (
            "\\section{Tea \\emph{hot}}\n% \\section{no}\n\\begin{verbatim}\n\\section{no}\n\\end{verbatim}\n",
            "text",
            "a.tex",
            [(2, "Tea hot")],
        ),
        (
            '.TH TEA 1\n.SH NAME\ntea \\- hot\n.SS "Green tea"\n.nf\n.SH no\n.fi\n',
            "text",
            "tea.1",
            [(1, "NAME"), (2, "Green tea")],
        ),
        (
            "TEA(1)          User Commands          TEA(1)\n\nNAME\n       tea\n\nSEE ALSO\n   Green tea\n       POT\n",
            "text",
            "tea.txt",
            [(1, "NAME"), (1, "SEE ALSO"), (2, "Green tea")],
        ),
        (
            "<h1 id='a'>Tea <b>hot</b>¶</h1><p>x</p><!-- <h2>no</h2> --><H2>Pot</H2>",
            "html",
            "a.html",
            [(1, "Tea hot"), (2, "Pot")],
        ),
        ("==Pot==\ntext\n", "text", "a.txt", [(2, "Pot")]),
        ("Tea\n===\n\nIntro.\n\nPot\n---\n", "text", "a.txt", [(1, "Tea"), (2, "Pot")]),
        (
            "x\n\nCHAPTER IV\n\nIt was hot.\n\nWARM DAYS\n\nYes.\n",
            "text",
            "a.txt",
            [(1, "CHAPTER IV"), (1, "WARM DAYS")],
        ),
        ("x\n\n1.2 Green tea\n\nYes.\n\nI WAS THERE.\n\n3. Buy milk\n\nNo\n", "text", "a.txt", [(2, "1.2 Green tea")]),
    ],
)
def test_headings_of_every_format(text, language, path, found):
    """Each format has its own headings; what is quoted, fenced or only looks alike is none."""
    assert titles(text, path, language) == found


def test_an_underlined_title_is_one_heading_of_two_lines():
    """Title and underline are one heading, and its section ends before the next of its rank."""
    found, content = read("Tea\n===\n\nHot.\n\nPot\n===\n", "a.rst", "rst")
    first, second = found.headings
    assert content[first.start : first.end] == b"Tea\n==="
    assert first.section_end == second.start
    assert second.section_end == len(content)


def test_a_hash_in_a_shell_script_is_no_heading():
    """Code has definitions, no headings."""
    found = structure(b"#!/bin/sh\n# Tea\npour() {\n  :\n}\n", kind="code", language="bash")
    assert found.headings == ()
    assert [each.name for each in found.definitions] == ["pour"]


def test_a_list_has_its_lead_and_its_items():
    """The paragraph before a list introduces it; items keep what is indented below them."""
    text = "Steps to take\nbefore tea:\n\n1. Boil.\n   Wait.\n\n   Longer.\n2. Pour.\n   - slowly\n\nThen drink.\n"
    found, content = read(text, "a.md", "markdown")
    (steps,) = found.passages
    assert content[slice(*steps.lead)] == b"Steps to take\nbefore tea:"
    assert content[steps.start : steps.end].endswith(b"- slowly")
    assert [content[place : place + 8].strip() for place in steps.parts] == [b"1. Boil.", b"2. Pour.", b"- slo"]


def test_a_fence_in_an_item_belongs_to_the_list():
    """Numbered steps with code between them are one list, and what follows the code is still read."""
    text = "1. Boil:\n\n   ```sh\n   # no\n   ```\n\n2. Pour.\n\n# Tea\n"
    found, content = read(text, "a.md", "markdown")
    assert [heading.title for heading in found.headings] == ["Tea"]
    assert [(each.kind, len(each.parts)) for each in found.passages] == [("list", 2), ("code", 0)]
    assert content[found.passages[0].start : found.passages[0].end].endswith(b"2. Pour.")


def test_a_paragraph_that_does_not_introduce_is_no_lead():
    """Without a colon a paragraph above a blank line stands for itself."""
    assert passages("Tea is hot.\n\n- a pot\n- water\n", "a.md", "markdown") == [("list", "- a pot\n- water", None)]


@pytest.mark.parametrize(
    ("text", "language", "path", "found"),
    [
        (
            "| a | b |\n|---|---|\n| 1 | 2 |\n",
            "markdown",
            "a.md",
            [("table", "| a | b |\n|---|---|\n| 1 | 2 |", "| a | b |")],
        ),
        ("a | b\n--|--\n1 | 2\n\nx\n", "markdown", "a.md", [("table", "a | b\n--|--\n1 | 2", "a | b")]),
        (
            "+---+---+\n| a | b |\n+===+===+\n| 1 | 2 |\n+---+---+\n",
            "rst",
            "a.rst",
            [("table", "+---+---+\n| a | b |\n+===+===+\n| 1 | 2 |\n+---+---+", "| a | b |")],
        ),
        (
            "== ==\na  b\n== ==\n1  2\n== ==\n\nx\n",
            "rst",
            "a.rst",
            [("table", "== ==\na  b\n== ==\n1  2\n== ==", "a  b")],
        ),
        ("> Tea\n> hot\n\nx\n", "markdown", "a.md", [("quotation", "> Tea\n> hot", None)]),
        ("---\ntitle: Tea\n---\nx\n", "markdown", "a.md", [("front matter", "---\ntitle: Tea\n---", None)]),
        ("x\n\n    code()\n\ny\n", "markdown", "a.md", [("code", "    code()", None)]),
        ("```sh\nls\n```\nx\n", "markdown", "a.md", [("code", "```sh\nls\n```", None)]),
        (".. code-block:: sh\n\n   ls\n\nx\n", "rst", "a.rst", [("code", ".. code-block:: sh\n\n   ls", None)]),
        ("Do::\n\n  ls\n\nx\n", "rst", "a.rst", [("code", "  ls", None)]),
        (
            "|===\n|a |b\n|===\n\n____\nTea\n____\n",
            "text",
            "a.adoc",
            [("table", "|===\n|a |b\n|===", None), ("quotation", "____\nTea\n____", None)],
        ),
        (
            "You need:\n\\begin{itemize}\n\\item tea\n\\end{itemize}\n",
            "text",
            "a.tex",
            [("list", "\\begin{itemize}\n\\item tea\n\\end{itemize}", "You need:")],
        ),
        (
            "<ul><li>a<ul><li>b</ul></ul><pre><ul></pre>",
            "html",
            "a.html",
            [
                ("list", "<ul><li>a<ul><li>b</ul></ul>", None),
                ("list", "<ul><li>b</ul>", None),
                ("code", "<pre><ul></pre>", None),
            ],
        ),
    ],
)
def test_passages_of_every_format(text, language, path, found):
    """Tables with their header, quotations, code and front matter are known as what they are."""
    assert passages(text, path, language) == found


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (
            b"[2024-05-01, 10:00:00] Ada: Tea?\n[2024-05-01, 10:01:00] Bob: Yes.\n[2024-05-01, 10:02:00] Ada: Now.\n",
            True,
        ),
        (b"# Tea\n\nUser (2024-05-01T10:00:00Z): Hot?\n\nAssistant: Yes.\n\nUser: Good.\n", True),
        (b"10:03 <@bob> Tea?\n10:04 <ada> Yes.\n10:05 <bob> Now.\n", True),
        (b"From ada 2024\nFrom: Ada\nTo: Bob\n\nHot.\n\nFrom bob 2024\nFrom: Bob\n\nTea.\n", True),
        (b"Subject: Tea\nFrom: Ada\nDate: Wed, 1 May 2024 10:00:00 +0000\n\nHot.\n", False),
        (b"".join(b"Key%s: value\n" % bytes([65 + at]) for at in range(20)), False),
    ],
)
def test_a_chat_and_a_mailbox_have_messages(content: bytes, expected: bool) -> None:
    """A chat is known by its speakers; a mail is one message, and where everybody speaks once nobody does."""
    assert outline(content, kind="prose", language="text").has_messages is expected


def test_records_keep_time_and_category():
    """Rows of a table and entries of a log, as the outline reads them."""
    table = structure(b"date,kind\n2024-05-01,tea\n", kind="data", language="csv")
    assert [(each.time, each.category) for each in table.records] == [(1714521600, "tea")]
    assert table.header == (0, 9)
    log = structure(b"2024-05-01 10:00:00 ERROR no\n", kind="data", language="log")
    assert [(each.time, each.category) for each in log.records] == [(1714557600, "ERROR")]


@pytest.mark.parametrize(
    ("source", "language", "found"),
    [
        (
            b"import os\nfrom a import (\n    b,\n)\nx = 'import no'\n",
            "python",
            ["import os", "from a import (\n    b,\n)"],
        ),
        (
            b"import {\n  a\n} from 'a';\nconst b = require('b');\n",
            "javascript",
            ["import {\n  a\n} from 'a';", "const b = require('b');"],
        ),
        (b"#include <a.h>\nint a;\n", "c", ["#include <a.h>"]),
        (b'package a\n\nimport (\n\t"b"\n)\n', "go", ["package a", 'import (\n\t"b"\n)']),
        (b"use a::{b, c};\n// use no;\n", "rust", ["use a::{b, c};"]),
    ],
)
def test_imports(source, language, found):
    """What brings in other sources is known, over lines where brackets go on."""
    imports = structure(source, kind="code", language=language).imports
    assert [source[start:end].decode() for start, end in imports] == found


@pytest.mark.parametrize(
    ("path", "language", "text", "items"),
    [
        ("a.rst", "rst", "#. Boil.\n#. Pour.\n\n.. code-block:: sh\n\n   - no\n\n* Drink.\n", [2, 1]),
        ("a.adoc", "text", "** Boil.\n.. Pour.\n\n----\n- no\n----\n", [2]),
        ("a.org", "text", "* Tea\n- Boil.\n  * Hot.\n#+begin_src sh\n- no\n#+end_src\n1) Pour.\n", [2, 1]),
        ("a.wiki", "text", "*Boil.\n#Pour.\n\n  - no\n", [2]),
        ("a.tex", "text", "- no\n", []),
    ],
)
def test_each_format_has_its_signs_of_items(path: str, language: str, text: str, items: list[int]) -> None:
    """Outside of headings and blocks of code."""
    found = structure(text.encode(), kind="prose", language=language, path=path).passages
    assert [len(passage.parts) for passage in found if passage.kind == "list"] == items


@pytest.mark.parametrize(
    ("text", "titles"),
    [
        (b"# 9.8. Dates\n\n## 9.8. `Dates`\n\n### Input\n\nText.\n", ["9.8. Dates", "Input"]),
        (b"# Tea\n\n## You need all of this for one cup:\n\n- a pot\n", ["Tea"]),
        (b"# Tea\n\n## You need:\n\n- a pot\n", ["Tea", "You need:"]),
    ],
)
def test_a_repeated_heading_and_a_sentence_are_no_headings(text: bytes, titles: list[str]) -> None:
    """A heading says something new, and is no sentence that leads to a list."""
    headings = structure(text, kind="prose", language="markdown").headings
    assert [heading.title for heading in headings] == titles
    assert headings[-1].section_end == len(text)


@pytest.mark.parametrize(
    ("text", "language", "path", "found"),
    [
        ("Logs\n====\n\n------------\n$ git log\n------------\n", "text", "a.txt", ["Logs"]),
        ("Files\n\nName      Size\n--------------\n", "text", "a.txt", []),
        (
            "All of it ends here for now\n------------------------------------------------------------\n",
            "text",
            "a",
            [],
        ),
        ("[NOTE]\n====\nHot.\n", "text", "a.txt", []),
        ("--- a/pot.c\n===========\n", "text", "a.patch", []),
        ("DEPTH:\n\nfind(a);\n--------\n\nIt is the same as that:\n-----------------------\n", "text", "a.txt", []),
        ("# {{ title }}\n\n## | task | command |\n\n## Pots | cups\n", "markdown", "a.md", ["Pots | cups"]),
        ("茶壶\n====\n\n热。\n", "text", "a.txt", ["茶壶"]),
    ],
)
def test_what_only_looks_like_a_heading_is_none(text: str, language: str, path: str, found: list[str]) -> None:
    """A line that closes a block, code, a row of a table or a name in brackets heads nothing."""
    assert [title for _, title in titles(text, path, language)] == found


def test_asciidoc_is_known_by_its_signs_and_has_titles_with_a_line_below() -> None:
    """A line below is about as wide as the title; others begin and end blocks, in which nothing is a heading."""
    text = "Tea\n===\n\n[[pot]]\nThe pot\n-------\n\n[source,sh]\n----\nls\n\nHOT TEA\n----\n\nCups\n~~~~\nTwo.\n"
    assert titles(text, "a.txt") == [(1, "Tea"), (2, "The pot"), (3, "Cups")]


# ---- pages


def _paged(pages):
    return b"\f".join(b"Northwind Traders\n%b\n\n%b\n" % page for page in pages)


PAGES = [
    (b"Consolidated Statement of Cash Flows", b"Purchases of property\n1,577\n1,373"),
    (b"Consolidated Balance Sheet", b"Total assets\n36,500\n37,987"),
    (b"7", b"which goes on from the page before and has no title of its own."),
    (b"Notes to the Statements", b"Leases are recorded when they begin."),
]


def _titles(content):
    """The lines of the headings."""
    rows = marks_in(content, format_of(content, language="text")).places.tolist()
    return [content[start:end] for start, end, _ in rows]


def _trail(content, words):
    at = content.index(words)
    found = structure(content, kind="prose", language="text").headings
    return [each.title for each in found if each.start <= at < each.section_end]


def test_what_stands_at_the_head_of_a_page_names_what_stands_on_it():
    """Lines that every page begins with name none; a page without a title of its own stands below no heading."""
    content = _paged(PAGES)
    assert _trail(content, b"Purchases") == ["Consolidated Statement of Cash Flows"]
    assert _trail(content, b"Total assets") == ["Consolidated Balance Sheet"]
    assert _trail(content, b"goes on") == []
    assert _trail(content, b"Leases") == ["Notes to the Statements"]
    assert _titles(content) == [
        b"Consolidated Statement of Cash Flows",
        b"Consolidated Balance Sheet",
        b"Notes to the Statements",
    ]


def test_a_running_head_with_the_number_of_its_page_names_no_page():
    """`Chapter 1: Tea 7` stands on many pages, each time with another number."""
    pages = [b"Chapter 1: Tea %d\n\nIt goes on.\n" % number for number in range(6)]
    heads = [b"Steam and Water\n\nHot.\n", b"Cups for Two\n\nBoth.\n"]
    assert _titles(b"\f".join([*pages, *heads])) == [b"Steam and Water", b"Cups for Two"]


def test_headings_that_reach_over_pages_are_not_cut_by_them():
    """In a text with headings of its own, as RFCs have, the head of a page ends nothing."""
    pages = [b"RFC 99  Teapots  June\n\n%d.%d Title\n\nA sentence.\n" % (n, n) for n in range(1, 6)]
    content = b"\f".join([*pages, b"RFC 99  Teapots  June\n\nIt goes on here.\n"])
    assert _trail(content, b"It goes on") == ["5.5 Title"]


def test_no_page_is_named_in_a_text_of_few_pages_or_by_a_sentence():
    """A stray form feed makes no pages, and a line of running text no title."""
    assert _titles(b"A Title\nx\n\fAnother Title\ny\n") == []
    assert _titles(b"\f".join([b"and then it went on for a while\nmore\n"] * 6)) == []


@pytest.mark.parametrize(
    ("content", "titles"),
    [
        (b'.TH GREP 1\n.SH NAME\ngrep\n.SH "EXIT STATUS"\nIt is 0.\n', [b".SH NAME", b'.SH "EXIT STATUS"']),
        (b"TAR(1)   GNU TAR   TAR(1)\n\nNAME\n       tar\n\nEXIT STATUS\n       0\n", [b"NAME", b"EXIT STATUS"]),
        (b"Intro.\n\nCHAPTER II\n\nIt was late.\n\n1.2 Tea\n\nHot.\n", [b"CHAPTER II", b"1.2 Tea"]),
    ],
)
def test_manuals_and_books_have_headings_of_their_own(content, titles):
    """Macros, capitals at the margin, and lines with numbers between blank ones are headings."""
    assert _titles(content) == titles


def test_a_unit_below_a_heading_of_a_manual_is_found_by_it(tmp_path):
    """`exit status` stands in the heading alone; what stands below it comes first."""
    page = '.TH GREP 1\n.SH NAME\ngrep \\- print lines\n.SH "EXIT STATUS"\nNormally it is 0 if a line is selected.\n'
    other = ".TH GREP 1\n.SH OPTIONS\nNormally it is 0 if a line is selected.\n.SH SEE ALSO\negrep\n"
    with brimful.open(tmp_path / "a.db") as engine:
        engine.add_text("a.1", other)
        engine.add_text("b.1", page)
        hits = engine.search("normally selected line exit status").hits
        assert hits[0].path == "b.1"
        assert "Normally" in engine.text("b.1", hits[0].start, hits[0].end)
