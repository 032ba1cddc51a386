"""Which headings, lists, tables and blocks of code do Markdown, plain text and manual pages have? By patterns."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from brimful.outline import markup, passages
from brimful.outline.cuts import BLANKS
from brimful.outline.markup import _LETTER, _add_heading, _is_title
from brimful.outline.passages import Heading, Passage, Title, _add_passage, _end_of, line_above, trimmed

compiled = re.compile


@dataclass
class Reading(passages.Reading):
    """The state of reading a text, with its lists."""

    items_below: re.Pattern[bytes] | None = None  # an item with what belongs to it, right below another
    items: dict[int, list[int]] = field(default_factory=dict)  # of the lists among the passages
    ends: dict[int, int] = field(default_factory=dict)  # of the lists among the passages
    last_list: int = -1  # its place among the passages


def _goes_on(reading: Reading, start: int) -> bool:
    """Is there nothing but blanks between the last list and this byte?"""
    if reading.last_list < 0:
        return False
    end = reading.ends[reading.last_list]
    return end <= start <= end + 2_000 and not reading.content[end:start].strip()


_NEWLINE = re.compile(rb"\n")


def _on_rows(reading: Reading, mark: re.Match[bytes]) -> int:
    """Lines that begin with a bar; a line of dashes below the first makes that one the header."""
    start, end = mark.start(), mark.end() - 1
    lines = [place.start() for place in _NEWLINE.finditer(reading.text, start, mark.end())]
    if len(lines) < 2:
        return mark.end()
    rules = [number for number, line in enumerate(lines[:40]) if _TABLE_RULE.match(reading.text, line + 1)]
    lead = None
    if rules and rules[0] in (0, 1):
        first = 1 if rules[0] == 0 else 0
        stop = next((number for number in rules if number > first), None)
        if stop is not None:
            lead = (lines[first], trimmed(reading.content, lines[first], lines[stop] - 1))
    parts = tuple(line for line in lines if not _TABLE_RULE.match(reading.text, line + 1))
    parts = tuple(line for line in parts if lead is None or line >= lead[1])
    return _add_passage(reading, start, end, "table", lead, parts)


_TABLE_RULE = re.compile(rb"[ \t]*[|+][ \t:|+=-]*[-=][ \t:|+=-]*\r?(?=\n|\Z)")


REST = (
    rb"[^\n]*+(?:\n(?![ \t]*+\r?(?:\n|\Z))(?![ ]{0,3}(?:\#{1,6}[ \t]|={3,}|-{3,}|\.\.[ \t]))(?![ \t]*+(?:`{3}|~{3}))"
    rb"(?![ \t]*+(?:[-*+]|\xe2\x80\xa2|\d{1,9}[.)])[ \t])[^\n]*+"
    rb"|(?:\n[ \t]*+\r?(?=\n))++\n[ \t]{2,}+(?!(?:[-*+]|\d{1,9}[.)])[ \t]|`{3}|~{3})[^\n]*+)*+"
)


def _on_item(reading: Reading, mark: re.Match[bytes]) -> int:
    """An item with what belongs to it; items that follow each other are one list."""
    start = mark.start()
    body = re.compile(REST).match(reading.text, mark.end())
    end = body.end() if body is not None else mark.end()
    content, last = reading.content, start
    following = []
    # Where blanks end an item, their number decides whether the list goes on.
    while content[end - 2] not in BLANKS and (below := reading.items_below.match(reading.text, end)) is not None:
        following.append(end)
        last, end = end, below.end()
    stop = last + len(content[last : end - 1].rstrip())
    if _goes_on(reading, start):
        reading.ends[reading.last_list] = max(stop, reading.ends[reading.last_list])
        reading.items[reading.last_list] += [start, *following]
        return end
    if stop > start:
        reading.last_list = len(reading.passages)
        reading.items[reading.last_list], reading.ends[reading.last_list] = [start, *following], stop
        reading.passages.append(Passage(start, stop, "list", _lead(content, start)))
    return end


def _lead(content: bytes, start: int) -> tuple[int, int] | None:
    """The paragraph right above a list, or one blank line above it if it ends with a colon."""
    begin = max(start - 400 - 8, 0)
    above = content[begin:start]
    words = above.rstrip()
    if not words or above[len(words) :].count(b"\n") > 2:
        return None
    if above[len(words) :].count(b"\n") == 2 and not words.endswith((b":", b"\xef\xbc\x9a")):
        return None
    first = max(words.rfind(b"\n\n"), words.rfind(b"\n\r\n"))
    paragraph = (
        words[first + 1 :].lstrip() if first >= 0 else words.lstrip() if not begin else words.rpartition(b"\n")[2]
    )
    if (
        not _LETTER.search(paragraph)
        or paragraph[:1] in b"#|>"
        or re.match(rb"[-=~*+]{3,}\Z|`{3}|~{3}", paragraph.rpartition(b"\n")[2])
    ):
        return None
    end = begin + len(words)
    return end - len(paragraph), end


def _run(name: bytes, line: bytes) -> bytes:
    """Lines of one form below each other, as one mark."""
    return rb"\n(?P<%b>%b(?:\n%b)*+)" % (name, line, line)


_ROWS = _run(b"rows", rb"[ \t]*+\|[^\n]*+")

_CHAPTER = rb"[Cc]hapter|CHAPTER|[Pp]art|PART|[Ss]ection|SECTION|[Aa]ppendix|APPENDIX|Kapitel|KAPITEL|Teil|TEIL"


def _on_atx(reading: Reading, found: re.Match[bytes]) -> int:
    line = found["atx"].rstrip()
    start = found.start("atx") - 1
    level = len(line) - len(line.lstrip(b"#"))
    title = re.sub(rb"(?<![ \t])[ \t]++#++\Z", b"", line[level:]).strip()
    _add_heading(reading, start, start + len(line), level, title)
    return found.end()


def _on_setext(reading: Reading, found: re.Match[bytes]) -> int:
    content, rule = reading.content, found.start("setext") - 1
    above, title = line_above(content, rule)
    start = above + len(content[above:rule]) - len(content[above:rule].lstrip())
    if above < rule and _is_title(content, above, title):
        signs = found["setext"].strip()
        _add_heading(reading, start, rule + len(signs), 1 if signs[:1] == b"=" else 2, title)
    return found.end()


_ROFF_SIGNS = compiled(rb"\\f.|\\&|\"")


def _on_macro(reading: Reading, found: re.Match[bytes]) -> int:
    _add_heading(reading, *_macro(reading.text, found))
    return found.end()


def _macro(text: bytes, found: re.Match[bytes]) -> tuple[int, int, int, bytes]:
    """Where the heading of a macro starts and ends in the content, its level, and its title: the rest of the line."""
    begin = found.end()
    end = text.find(b"\n", begin)
    line = text[begin : end if end >= 0 else len(text)]
    title = (_ROFF_SIGNS.sub(b"", line) if b"\\" in line or b'"' in line else line).strip()
    return found.start(), begin - 1 + len(line.rstrip()), 1 if found["word"] in (b"SH", b"Sh") else 2, title


def _on_alone(reading: Reading, found: re.Match[bytes]) -> int:
    """A line of plain text between blank lines that is numbered as a chapter, or written in capitals."""
    level = _level_of(found["alone"])
    if not level:
        return found.start() + 1
    line = found["alone"].strip()
    start = found.start("alone") - 1
    _add_heading(reading, start, start + len(line), level, line)
    return found.end()


def _level_of(alone: bytes) -> int:
    """The level of a heading that a line by itself is; 0 where it is none."""
    line = alone.strip()
    if alone[:1] in b" \t" or line[-1:] in b".,;:!?" or not _LETTER.search(line):
        return 0
    numbered = re.match(rb"(\d{1,3}(?:\.\d{1,3})+)\.?[ \t]+(?=[A-Z\x80-\xff])", line)
    if numbered is not None:
        return min(numbered[1].count(b".") + 1, 6)
    is_chapter = re.match(rb"(?:" + _CHAPTER + rb")\b", line) or (
        len(re.findall(rb"[A-Z]", line)) >= 3 and line.upper() == line and not re.search(rb"[=|<>{}\[\]*_#$\\]", line)
    )
    return 1 if is_chapter else 0


def _on_fence(reading: Reading, found: re.Match[bytes]) -> int:
    end = _end_of(_closing_fence(found["fence"]), reading, found)
    start = found.start()
    if found.start("fence") > start + 1 and _goes_on(reading, start):  # it is indented: part of an item
        reading.ends[reading.last_list] = max(end - 1, reading.ends[reading.last_list])
    return _add_passage(reading, start, max(end - 1, 0), "code")


@lru_cache(maxsize=64)
def _closing_fence(sign: bytes) -> re.Pattern[bytes]:
    return re.compile(rb"\n[ \t>]*+" + re.escape(sign[:1]) + rb"{%d,}+[ \t]*+\r?(?=\n|\Z)" % min(len(sign), 60))


def _on_indented(reading: Reading, found: re.Match[bytes]) -> int:
    if _goes_on(reading, found.start()) or not found["indented"].strip():
        return found.end()
    return _add_passage(reading, found.start(), found.end() - 1, "code")


def _on_quote(reading: Reading, found: re.Match[bytes]) -> int:
    return _add_passage(reading, found.start(), found.end() - 1, "quotation")


_CELLS = compiled(rb"(?:\n(?=[^\n]*\|)(?![ \t]*\r?\n)[^\n]*+)*+")


def _on_dashed(reading: Reading, found: re.Match[bytes]) -> int:
    """A table without bars at its edges: the line above the dashes is the header."""
    rule = found.start()
    above, title = line_above(reading.content, rule)
    rows = _CELLS.match(reading.text, found.end())
    if b"|" not in title or rows is None:
        return found.end()
    parts = tuple(place.start() for place in _NEWLINE.finditer(reading.text, found.end(), rows.end()))
    return _add_passage(reading, above, rows.end() - 1, "table", (above, above + len(title)), parts)


def _on_verbatim(reading: Reading, found: re.Match[bytes]) -> int:
    closers = {b"nf": rb"fi", b"EX": rb"EE", b"TS": rb"TE"}
    end = _end_of(re.compile(rb"\n\.[ \t]*" + closers.get(found["open"], rb"Ed") + rb"\b"), reading, found)
    return _add_passage(reading, found.start(), end - 1, "table" if found["open"] == b"TS" else "code")


_FENCE = rb"\n[ \t>]*+(?P<fence>`{3,}+|~{3,}+)"
_ITEM = rb"\n[ \t]*+(?P<item>(?:[-*+]|\xe2\x80\xa2|\d{1,9}[.)]|[a-zA-Z][.)])[ \t]+(?=\S))"
_QUOTE = _run(b"quote", rb"[ ]{0,3}>[^\n]*+")
_ATX = rb"\n[ ]{0,3}(?P<atx>\#{1,6}(?=[ \t\r\n]|\Z)[^\n]*+)"
_SETEXT = rb"\n[ ]{0,3}(?P<setext>(?:={2,}+|-{2,}+)[ \t]*+\r?(?=\n|\Z))"
_DASHED = rb"\n(?P<dashed>[ \t]*+:?-{2,}+:?[ \t]*+\|[ \t:|-]*+(?=\r?(?:\n|\Z)))"
_COMMENT = rb"\n[ ]{0,3}(?P<comment><!--)"
_INDENTED = rb"\n(?<=\n\n)(?P<indented>(?:[ ]{4}|\t)[^\n]*+(?:\n(?:[ ]{4}|\t)[^\n]*+)*+)"
_LINE_ALONE = (
    rb"(?P<alone>(?:(?:" + _CHAPTER + rb")[ \t]+(?:\d{1,3}|[IVXLC]{1,7}|[A-Z])\b[^\n]{0,80}"
    rb"|\d{1,3}(?:\.\d{1,3})+\.?[ \t]+[^\n]{1,80}|[^\na-z]{3,70})\r?(?=\n[ \t]*\r?\n|\n[ \t]+\S))"
)
_ALONE = rb"\n(?<=\n\n)" + _LINE_ALONE  # between blank lines
_PATTERNS: dict[str, tuple[bytes, ...]] = {
    "markdown": (_FENCE, _ATX, _SETEXT, _ITEM, _ROWS, _DASHED, _QUOTE, _COMMENT, _INDENTED),
    "roff": (
        rb"\n\.[ \t]*(?P<macro>(?P<word>S[HShs])\b[ \t]*(?:\n|(?=[^\n])))",
        rb"\n\.[ \t]*(?P<verbatim>(?P<open>nf|EX|Bd[ \t]+-literal|TS)\b)",
    ),
    "text": (markup._WIKI, _SETEXT, _ALONE, _ITEM, _QUOTE, _ROWS, _DASHED),
}
_MARKS: dict[str, Callable[[Reading, re.Match[bytes]], int]] = {
    **markup._MARKS,
    "rows": _on_rows,
    "item": _on_item,
    "atx": _on_atx,
    "setext": _on_setext,
    "macro": _on_macro,
    "alone": _on_alone,
    "fence": _on_fence,
    "indented": _on_indented,
    "quote": _on_quote,
    "dashed": _on_dashed,
    "verbatim": _on_verbatim,
}


@lru_cache
def _pattern(form: str) -> re.Pattern[bytes]:
    return markup._of_lines(_PATTERNS[form])


def _read_marks(reading: Reading, pattern: re.Pattern[bytes], position: int) -> tuple[Passage, ...]:
    """Do what each mark from a place on asks for; returns the passages that were found, in order."""
    while (found := pattern.search(reading.text, position)) is not None:
        handle = _MARKS.get(found.lastgroup or "")
        position = max(handle(reading, found) if handle is not None else found.end(), found.start() + 1)
    found_passages = reading.passages
    for at, items in reading.items.items():
        begun = found_passages[at]
        found_passages[at] = Passage(begun.start, reading.ends[at], "list", begun.lead, tuple(items))
    found_passages.sort(key=lambda each: (each.start, -each.end, each.kind))
    return tuple(found_passages)


def read_titles(content: bytes, form: str) -> tuple[list[Title], tuple[Passage, ...]]:
    """The titles of a text as they are found, and its passages in order."""
    reading = Reading(content, b"\n" + content, items_below=re.compile((_ITEM if form != "roff" else rb"(?!)") + REST))
    position = 0
    if form == "markdown" and (front := passages.front_matter(content)):
        position = _add_passage(reading, 0, front, "front matter")
    found = _read_marks(reading, _pattern(form), position)
    return reading.headings, found


def read_markup(content: bytes, form: str) -> tuple[tuple[Heading, ...], tuple[Passage, ...]]:
    """The headings and passages of a text, each in order."""
    titles, found = read_titles(content, form)
    return sections_of(titles, len(content)), found


def sections_of(found: Iterable[Title], length: int) -> tuple[Heading, ...]:
    """Headings by start, end, level and title: each reaches to the next of its own or a higher rank."""
    titles = sorted(set(found))
    return tuple(
        Heading(start, end, level, title.decode(errors="replace"), stop)
        for (start, end, level, title), stop in zip(titles, section_ends(titles, length), strict=True)
    )


def section_ends(titles: Sequence[Title], length: int) -> list[int]:
    """Where the section of each title ends, in order: with the next of its own or a higher rank."""
    ends = [length] * len(titles)
    opened: list[int] = []
    for number, (start, _, level, _) in enumerate(titles):
        while opened and titles[opened[-1]][2] >= level:
            ends[opened.pop()] = start
        opened.append(number)
    return [max(stop, end) for stop, (_, end, _, _) in zip(ends, titles, strict=True)]
