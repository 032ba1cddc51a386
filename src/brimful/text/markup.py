"""Which headings, lists, tables, quotations and code blocks does a text of prose have?

Every format has its own marks: `#` is a heading in Markdown and nothing in plain text. One pattern a format jumps from
mark to mark; what is fenced is passed as a whole, so nothing in it counts. An underlined title is one heading.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from functools import lru_cache
from pathlib import PurePosixPath
from typing import Literal

from brimful.patterns import compiled
from brimful.text import passages, titles
from brimful.text.passages import Heading, Passage, Reading

Format = Literal["markdown", "rst", "asciidoc", "org", "latex", "roff", "man", "wiki", "html", "text"]

_BY_EXTENSION: dict[str, Format] = {
    "adoc": "asciidoc", "asciidoc": "asciidoc", "asc": "asciidoc", "org": "org", "tex": "latex", "latex": "latex",
    "wiki": "wiki", "mediawiki": "wiki", "man": "roff", "roff": "roff", "mdoc": "roff",
}  # fmt: skip
_ROFF_NAME = compiled(r".*\.(?:[1-9][a-z]*|[ln])")
_ROFF = compiled(rb"(?:[.']\\\"[^\n]*+\n|[ \t\r]*+\n)*+\.(?:TH|Dd|so|SH)\b")
_MAN = compiled(rb"\s*([\w.:+\[@-]+)\((\w{1,8})\)[ \t]{2,}[^\n]*\1\(\2\)[ \t\r]*\n", re.IGNORECASE)


def format_of(content: bytes, *, language: str | None, path: str = "") -> Format:
    """Which rules hold for a text, by its language, its name, and how it begins.

    >>> format_of(b"# no heading", language="text", path="notes.txt")
    'text'
    """
    if language in ("markdown", "rst", "html"):
        return language  # type: ignore[return-value]  # mypy can't narrow a str to these literals
    name = PurePosixPath(path.replace("\\", "/")).name.lower()
    known = _BY_EXTENSION.get(name.rpartition(".")[2])
    if known is not None:
        return known
    if _ROFF.match(content, 0, 4_000) or (_ROFF_NAME.fullmatch(name) and content[:1] in (b".", b"'")):
        return "roff"
    return "man" if _MAN.match(content, 0, 2_000) else "text"


def read_markup(content: bytes, form: Format) -> tuple[tuple[Heading, ...], tuple[Passage, ...]]:
    r"""The headings and passages of a text, each in order.

    >>> headings, passages = read_markup(b"# Tea\n\nYou need:\n\n- a pot\n- water\n", "markdown")
    >>> headings[0].title, [(each.kind, each.lead) for each in passages]
    ('Tea', [('list', (7, 16))])
    """
    reading = Reading(content, b"\n" + content)
    pattern = _pattern(form)
    position = passages.front_matter(reading) if form in ("markdown", "org", "asciidoc") else 0
    while (found := pattern.search(reading.text, position)) is not None:
        handle = _MARKS.get(found.lastgroup or "")
        position = max(handle(reading, found) if handle is not None else found.end(), found.start() + 1)
    found_passages = [
        replace(passage, parts=tuple(reading.items[at])) if at in reading.items else passage
        for at, passage in enumerate(reading.passages)
    ]
    return sections_of(reading.headings, len(content)), tuple(
        sorted(found_passages, key=lambda each: (each.start, -each.end, each.kind))
    )


def sections_of(found: Iterable[tuple[int, int, int, bytes]], length: int) -> tuple[Heading, ...]:
    """Headings by start, end, level and title: each reaches to the next of its own or a higher rank."""
    headings = sorted(set(found))
    ends = [length] * len(headings)
    opened: list[int] = []
    for number, (start, _, level, _) in enumerate(headings):
        while opened and headings[opened[-1]][2] >= level:
            ends[opened.pop()] = start
        opened.append(number)
    return tuple(
        Heading(start, end, level, title.decode(errors="replace"), max(stop, end))
        for (start, end, level, title), stop in zip(headings, ends, strict=True)
    )


_MARKS = {**titles.MARKS, **passages.MARKS}

# The marks of each format. The text has a newline in front, so that each mark begins with one.


def _run(name: bytes, line: bytes) -> bytes:
    """Lines of one form below each other, as one mark."""
    return rb"\n(?P<%b>%b(?:\n%b)*+)" % (name, line, line)


_FENCE = rb"\n[ \t>]*+(?P<fence>`{3,}+|~{3,}+)"
_ITEM = rb"\n[ \t]*+(?P<item>(?:[-*+]|\xe2\x80\xa2|\d{1,9}[.)]|[a-zA-Z][.)])[ \t]+(?=\S))"
_ROWS = _run(b"rows", rb"[ \t]*+\|[^\n]*+")
_QUOTE = _run(b"quote", rb"[ ]{0,3}>[^\n]*+")
_ATX = rb"\n[ ]{0,3}(?P<atx>\#{1,6}(?=[ \t\r\n]|\Z)[^\n]*+)"
_SETEXT = rb"\n[ ]{0,3}(?P<setext>(?:={2,}+|-{2,}+)[ \t]*+\r?(?=\n|\Z))"
_RULE = rb"\n(?P<rule>(?P<sign>[=\-~^\"'`#*+:.<>_])(?P=sign){2,}+[ \t]*+\r?(?=\n|\Z))"
_DASHED = rb"\n(?P<dashed>[ \t]*+:?-{2,}+:?[ \t]*+\|[ \t:|-]*+(?=\r?(?:\n|\Z)))"
_COMMENT = rb"\n[ ]{0,3}(?P<comment><!--)"
_INDENTED = rb"\n(?<=\n\n)(?P<indented>(?:[ ]{4}|\t)[^\n]*+(?:\n(?:[ ]{4}|\t)[^\n]*+)*+)"
_WIKI = rb"\n(?P<wiki>={2,6}+[ \t]*+[^=\n]{1,200}={2,6}+[ \t]*+\r?(?=\n|\Z))"
_ENVIRONMENTS = (
    rb"verbatim|lstlisting|minted|alltt|itemize|enumerate|description|tabular|table|longtable|quote|quotation|verse"
)
_CAPITALS = (  # with something below that is indented
    rb"\n(?P<caps>(?![ \t])(?=[^\n]{0,60}[A-Z]{2})[A-Z0-9\x80-\xff][A-Z0-9 ,/&'()\x80-\xff-]{1,60}+\r?(?=\n[ \t]+\S))"
)
_ALONE = (  # between blank lines
    rb"\n(?<=\n\n)(?P<alone>(?:(?:" + titles.CHAPTER + rb")[ \t]+(?:\d{1,3}|[IVXLC]{1,7}|[A-Z])\b[^\n]{0,80}"
    rb"|\d{1,3}(?:\.\d{1,3})+\.?[ \t]+[^\n]{1,80}|[^\na-z]{3,70})\r?(?=\n[ \t]*\r?\n|\n[ \t]+\S))"
)
_PATTERNS: dict[Format, tuple[bytes, ...]] = {
    "markdown": (_FENCE, _ATX, _SETEXT, _ITEM, _ROWS, _DASHED, _QUOTE, _COMMENT, _INDENTED),
    "rst": (
        rb"\n[ \t]*+(?P<directive>\.\.[ \t]+(?P<named>[\w:-]*+)[^\n]*+)", _RULE,
        rb"\n[ \t]*+(?P<item>(?:[-*+]|\xe2\x80\xa2|\d{1,9}[.)]|\#\.)[ \t]+(?=\S))",
        _run(b"rows", rb"[ \t]*+[|+](?=[-=| ])[^\n]*+"),
        rb"\n(?P<simple>[ \t]*+={2,}+(?:[ ]++={2,}+)++[ \t]*+\r?(?=\n|\Z))",
        rb"\n(?P<literal>[^\n]*+(?:(?<=::)|(?<=::\r))(?=\n[ \t]*+\r?\n[ \t]))",
    ),
    "asciidoc": (
        rb"\n(?P<title>(?P<signs>={1,6}|\#{1,6})[ \t]+\S[^\n]*+)",
        rb"\n(?P<block>-{4,}+|\.{4,}+|\+{4,}+|={4,}+|_{4,}+|\*{4,}+|`{3,}+|\|===)[ \t]*\r?(?=\n|\Z)",
        rb"\n[ \t]*+(?P<item>(?:[-*.]{1,5}|\d{1,9}[.])[ \t]+(?=\S))",
    ),
    "org": (
        rb"\n(?P<title>(?P<signs>\*{1,12})[ \t]+\S[^\n]*+)",
        rb"\n[ \t]*+(?P<begin>\#\+(?:begin|BEGIN)_(?P<what>\w+))", _ROWS,
        rb"\n(?P<item>[ \t]*+(?:[-+]|\d{1,9}[.)])[ \t]+(?=\S)|[ \t]++\*[ \t]+(?=\S))",
    ),
    "latex": (
        rb"(?P<command>\\(?P<word>part|chapter|(?:sub){0,2}section|(?:sub)?paragraph)\*?[ \t]*(?:\[[^\]\n]*\])?\{)",
        rb"(?P<environment>\\begin\{(?P<what>" + _ENVIRONMENTS + rb")\*?\})",
        rb"(?P<remark>(?<!\\)%[^\n]*+)",
    ),
    "roff": (
        rb"\n(?P<macro>\.[ \t]*(?P<word>SH|SS|Sh|Ss)\b[ \t]*(?:\n|(?=[^\n])))",
        rb"\n(?P<verbatim>\.[ \t]*(?P<open>nf|EX|Bd[ \t]+-literal|TS)\b)",
    ),
    "man": (_CAPITALS, rb"\n(?P<inset>[ ]{3}(?=[A-Z])\w[^\n]{0,60}\r?(?=\n[ ]{7,}\S))"),
    "wiki": (_WIKI, rb"\n(?P<item>[*#:;]{1,6}+[ \t]*(?=\S))", rb"\n(?P<braces>\{\|)"),
    "html": (),
    "text": (_WIKI, _SETEXT, _ALONE, _ITEM, _QUOTE, _ROWS, _DASHED),
}  # fmt: skip
_HTML = (
    rb"(?P<tag><h(?P<level>[1-6])\b)",
    rb"(?P<element><(?P<slash>/?)(?P<what>pre|ul|ol|table|blockquote)\b)",
    rb"(?P<comment><!--)",
)


@lru_cache(maxsize=16)
def _pattern(form: Format) -> re.Pattern[bytes]:
    if form == "html":
        return re.compile(b"|".join(_HTML), re.IGNORECASE)
    marks = _PATTERNS[form]
    if all(mark.startswith(rb"\n") for mark in marks):  # written once, so that the engine jumps from line to line
        return re.compile(rb"\n(?:" + b"|".join(mark.removeprefix(rb"\n") for mark in marks) + rb")")
    return re.compile(b"|".join(marks))
