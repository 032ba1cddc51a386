"""Which quotations, code blocks and marked lists and tables does a text have? The handlers of their marks.

Every handler gets the mark that `markup` matched and returns where to go on.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Literal

_PassageKind = Literal["list", "table", "quotation", "code", "front matter"]

LONGEST_TITLE = 300
_LEAD_BYTES = 400


@dataclass(frozen=True, slots=True)
class Heading:
    """A title: the bytes of its lines, its level from 1, its words, and the end of its section."""

    start: int
    end: int
    level: int
    title: str
    section_end: int


@dataclass(frozen=True, slots=True)
class Passage:
    """A stretch that is one thing: a list, a table, a quotation, code, or the front matter.

    `lead` is what introduces it: the paragraph before a list, the header of a table. `parts` are where its items or
    rows begin.
    """

    start: int
    end: int
    kind: _PassageKind
    lead: tuple[int, int] | None = None
    parts: tuple[int, ...] = ()


Title = tuple[int, int, int, bytes]
"""A heading before it is nested: start, end, level, words."""


@dataclass(slots=True)
class Reading:
    """The state of reading a text; `text` is the content with a newline in front."""

    content: bytes
    text: bytes
    headings: list[Title] = field(default_factory=list)
    passages: list[Passage] = field(default_factory=list)
    ranks: dict[tuple[bytes, bool], int] = field(default_factory=dict)  # of underlines in reStructuredText
    opened: list[tuple[bytes, int]] = field(default_factory=list)  # elements of HTML


def line_above(content: bytes, line: int) -> tuple[int, bytes]:
    """The start and the words of the line above the one at `line`."""
    if not line:
        return 0, b""
    begin = max(line - 1 - LONGEST_TITLE - 8, 0)
    above = content.rfind(b"\n", begin, line - 1) + 1
    if not above and begin:
        return line, b""  # too long for a title
    return above, content[above : line - 1].strip()


def _add_passage(
    reading: Reading, start: int, end: int, kind: _PassageKind, lead: tuple[int, int] | None = None,
    parts: tuple[int, ...] = (),
) -> int:  # fmt: skip
    """Note a stretch of the content; where to go on in the text that has a newline in front."""
    end = trimmed(reading.content, start, end)
    if end > start:
        reading.passages.append(Passage(start, end, kind, lead, parts))
    return end + 1


def trimmed(content: bytes, start: int, end: int) -> int:
    """The end of the last word before `end`."""
    return start + len(content[start:end].rstrip())


_FRONT = re.compile(rb"(?:---[ \t]*\r?\n(?=[\w\"'-]+[ \t]*:)|\+\+\+[ \t]*\r?\n)")
_LONGEST_FRONT = 20_000


def front_matter(content: bytes) -> int:
    """The end of a text's front matter; 0 where it has none."""
    opening = _FRONT.match(content)
    if opening is None:
        return 0
    sign = opening[0].strip()
    close = re.compile(rb"\n" + re.escape(sign) + rb"[ \t]*\r?(?=\n|\Z)").search(
        content, opening.end() - 1, _LONGEST_FRONT - 1
    )
    return trimmed(content, 0, close.end()) if close is not None else 0


def _end_of(close: re.Pattern[bytes], reading: Reading, mark: re.Match[bytes]) -> int:
    """The end of the sign that closes a block; the end of the text where none does."""
    closed = close.search(reading.text, mark.end())
    return closed.end() if closed is not None else len(reading.text)


def _on_comment(reading: Reading, mark: re.Match[bytes]) -> int:
    close = reading.text.find(b"-->", mark.end())
    return close + 3 if close >= 0 else len(reading.text)


def _on_simple(reading: Reading, mark: re.Match[bytes]) -> int:
    """A table of reStructuredText between lines of equal signs."""
    start = mark.start()
    rules = [mark]
    for rule in re.compile(rb"\n[ \t]*+={2,}+(?:[ ]++={2,}+)++[ \t]*+\r?(?=\n|\Z)").finditer(
        reading.text, mark.end(), mark.end() + 20_000
    ):
        rules.append(rule)
        if len(rules) == 3 or re.compile(rb"\r?\n[ \t]*(?:\r?\n|\Z)|\Z").match(reading.text, rule.end()):
            break
    if len(rules) < 2:
        return mark.end()
    lead = None
    if len(rules) == 3 and rules[1].start() > rules[0].end():
        lead = (rules[0].end(), trimmed(reading.content, rules[0].end(), rules[1].start()))
    return _add_passage(reading, start, rules[-1].end() - 1, "table", lead)


_CODE_DIRECTIVES = frozenset(b"code code-block sourcecode highlight literalinclude parsed-literal prompt".split())


def _on_directive(reading: Reading, mark: re.Match[bytes]) -> int:
    """`.. code-block::` and what is indented below it is code; other directives are passed, their text is not."""
    body = reading.text.find(b"\n", mark.end())
    name = mark["named"].rstrip(b":")
    if name in _CODE_DIRECTIVES and body >= 0:
        end = _deeper_end(reading.text, body + 1, _column(reading.text, mark.start("directive")))
        return _add_passage(reading, mark.start(), end - 1, "code")
    return mark.end()


def _on_literal(reading: Reading, mark: re.Match[bytes]) -> int:
    """A literal block: indented lines below a line that ends with two colons."""
    blank = reading.text.find(b"\n", mark.end() + 1)
    if blank < 0:
        return mark.end()
    end = _deeper_end(reading.text, blank + 1, _column(reading.text, mark.start("literal")))
    if not reading.text[blank:end].strip():
        return mark.end()
    return _add_passage(reading, blank, end - 1, "code")


def _column(text: bytes, position: int) -> int:
    """How far the line is indented that holds a byte."""
    line = text.rfind(b"\n", max(position - 2_000, 0), position) + 1
    words = text[line : line + 200]
    return len(words) - len(words.lstrip(b" \t"))


def _deeper_end(text: bytes, position: int, column: int) -> int:
    """The end of the lines that are blank or indented more than `column`."""
    block = _deeper(min(column, _DEEPEST)).match(text, position)
    return block.end() if block is not None else position


@lru_cache(maxsize=128)
def _deeper(column: int) -> re.Pattern[bytes]:
    return re.compile(rb"(?:[ \t]*+\r?\n|[ \t]{%d}[ \t]*+[^\s][^\n]*+(?:\n|\Z))*+" % (column + 1))


_ASCIIDOC: dict[bytes, _PassageKind] = {b"-": "code", b".": "code", b"`": "code", b"_": "quotation", b"|": "table"}


def on_block(reading: Reading, mark: re.Match[bytes]) -> int:
    """A block of AsciiDoc, to the next line of its sign."""
    sign = mark["block"]
    kind = _ASCIIDOC.get(sign[:1])
    if kind is None:
        return mark.end()
    end = _end_of(re.compile(rb"\n" + re.escape(sign) + rb"[ \t]*\r?(?=\n|\Z)"), reading, mark)
    return _add_passage(reading, mark.start(), max(end - 1, 0), kind)


_ENVIRONMENTS: dict[bytes, _PassageKind] = {
    **dict.fromkeys((b"verbatim", b"lstlisting", b"minted", b"alltt", b"src", b"example", b"export"), "code"),
    **dict.fromkeys((b"itemize", b"enumerate", b"description"), "list"),
    **dict.fromkeys((b"tabular", b"table", b"longtable"), "table"),
    **dict.fromkeys((b"quote", b"quotation", b"verse"), "quotation"),
}


def _on_begin(reading: Reading, mark: re.Match[bytes]) -> int:
    """A block of Org."""
    what = mark["what"].lower()
    end = _end_of(re.compile(rb"\n[ \t]*\#\+end_" + re.escape(what) + rb"[^\n]*", re.IGNORECASE), reading, mark)
    return _add_passage(reading, mark.start(), end - 1, _ENVIRONMENTS.get(what, "code"))


def _on_environment(reading: Reading, mark: re.Match[bytes]) -> int:
    what = mark["what"]
    kind = _ENVIRONMENTS[what]
    end = _end_of(re.compile(rb"\\end\{" + re.escape(what) + rb"\*?\}"), reading, mark)
    start = mark.start() - 1
    if kind == "list":
        parts = tuple(item.start() - 1 for item in re.compile(rb"\\item\b").finditer(reading.text, mark.end(), end))
        return _add_passage(reading, start, end - 1, kind, _lead(reading.content, start), parts)
    return _add_passage(reading, start, end - 1, kind)


_LEAD = re.compile(rb"(?:\A|(?<=\n))[ \t]*+(\S[^\n]*:)[ \t\r]*\n(?:[ \t\r]*\n)?\Z")


def _lead(content: bytes, start: int) -> tuple[int, int] | None:
    """The line above a list that ends with a colon."""
    begin = max(start - _LEAD_BYTES, 0)
    above = _LEAD.search(content[begin:start])
    return (begin + above.start(1), begin + above.end(1)) if above is not None else None


def _on_braces(reading: Reading, mark: re.Match[bytes]) -> int:
    close = reading.text.find(b"\n|}", mark.end())
    return _add_passage(reading, mark.start(), (close + 3 if close >= 0 else len(reading.text)) - 1, "table")


_ELEMENTS: dict[bytes, _PassageKind] = {
    b"pre": "code", b"ul": "list", b"ol": "list", b"table": "table", b"blockquote": "quotation",
}  # fmt: skip


def _on_element(reading: Reading, mark: re.Match[bytes]) -> int:
    """Elements nest: a closing tag also closes open elements inside it."""
    what = mark["what"].lower()
    if mark["slash"]:
        for depth in range(len(reading.opened) - 1, max(len(reading.opened) - 1 - _DEEPEST, -1), -1):
            if reading.opened[depth][0] == what:
                close = reading.text.find(b">", mark.end(), mark.end() + 200)
                end = close + 1 if close >= 0 else mark.end()
                _add_passage(reading, reading.opened[depth][1], end - 1, _ELEMENTS[what])
                del reading.opened[depth:]
                return end
        return mark.end()
    if what == b"pre":
        last = _end_of(re.compile(rb"</pre\b[^>]{0,200}>?", re.IGNORECASE), reading, mark)
        return _add_passage(reading, mark.start() - 1, last - 1, "code")
    reading.opened.append((what, mark.start() - 1))
    return mark.end()


_DEEPEST = 64  # elements that are looked through for the one that is closed


MARKS: dict[str, Callable[[Reading, re.Match[bytes]], int]] = {
    "comment": _on_comment, "simple": _on_simple, "directive": _on_directive,
    "literal": _on_literal, "begin": _on_begin, "environment": _on_environment,
    "braces": _on_braces, "element": _on_element,
}  # fmt: skip
"""The handler of each mark, by the name of its group."""
