"""Where may prose be cut: sentences, paragraphs, headings?"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass, field

import numpy as np

from brimful.text.cuts import UNIT_AIM, Cuts, break_long, divide, line_starts, settle
from brimful.text.outline import Block, Outline
from brimful.text.sentences import refers_back, sentence_starts

__all__ = ["outline_prose", "refers_back"]

# Lines are recognised by the newline before them (the text gets one in front), which lets the
# regular expression engine jump from line to line.
_MARK = re.compile(
    rb"\n[ \t]*+(?:(?P<fence>`{3,}+|~{3,}+)(?P<rest>[^\n]*)|(?P<atx>\#{1,6})(?=[ \t\r\n]|\Z)[^\n]*+"
    rb"|(?P<item>(?:[-*+]|\xe2\x80\xa2|\d{1,9}[.)])[ \t])|(?P<row>\|)"
    rb"|(?P<wiki>=(?:[ ]?=){0,5}+)[ ]?(?P<title>[^=\n]{1,200}?)[ ]?(?P=wiki)[ \t\r]*+(?=\n|\Z))"
)
_RST_MARK = re.compile(rb"\n[ \t]*+(?:(?P<item>(?:[-*+]|\xe2\x80\xa2|\d{1,9}[.)]|\#\.)[ \t])|(?P<row>[|+]))")
_SETEXT = re.compile(rb"\n {0,3}(=+|-{2,})[ \t]*+\r?(?=\n|\Z)")
_RST_RULE = re.compile(rb"\n([=\-~^\"'`#*+:.<>_])\1{2,}+[ \t]*+\r?(?=\n|\Z)")
_BLANK = re.compile(rb"\n(?:[ \t\r]*+\n)++")
_FRONT = re.compile(rb"---[ \t]*\r?\n(?=[\w\"'-]+[ \t]*:)(?:[^\n]*\n){0,300}?---[ \t]*(?:\r?\n|\Z)")
_CHAT = re.compile(
    rb"\n(?:\[?[\d:/., APMapm-]{4,24}\]?[ \t]*)?"
    rb"(?:<[^>\n]{1,32}>|[A-Z\x80-\xff][^\n:.!?|<>]{0,31}(?::|\xef\xbc\x9a(?=\S)))(?:[ \t]|(?<=\x9a))"
)
_HTML_BLOCK = re.compile(
    rb"(?i)<(?:(?P<level>h[1-6])\b[^>]*>(?P<title>.{0,400}?)</(?P=level)\s*>"
    rb"|(?P<para>p|div|section|article|table|ul|ol|blockquote|pre|header|footer|main|nav|aside|hr)\b"
    rb"|(?:li|tr|dt|dd|option|br)\b)",
    re.DOTALL,
)
_TAG = re.compile(rb"<[^<>]*>")
_CELLS = re.compile(rb"\n(?=[^\n|]{1,200}+(?<=[ ])\|[ ])")  # a table row without a bar in front
_CHAT_SAMPLE = 65_536
_WRAPPED = 200
"""No text is wrapped to lines of more bytes than this: a longer line is a paragraph."""


@dataclass(slots=True)
class _Shape:
    """What the lines of a text say about it, collected before any sentence is looked for."""

    hard: list[int] = field(default_factory=list)  # cuts that hold whatever the sentences say
    whole: list[int] = field(default_factory=list)  # hard cuts whose stretch is one unit when short enough
    sections: list[int] = field(default_factory=list)
    headings: list[tuple[int, int, int, bytes]] = field(default_factory=list)  # start, end, level, title
    solid: list[tuple[int, int]] = field(default_factory=list)  # fences: lines only, no paragraphs inside


def outline_prose(content: bytes, *, language: str | None = None) -> Outline:
    """Sentences as units, paragraphs and heading blocks as sections, headings as blocks."""
    shape = _Shape()
    if language == "html":
        _read_html(content, shape)
    else:
        _read_lines(content, shape, language)
    chat = _is_chat(content)
    if chat:
        lines = line_starts(content).tolist()
        shape.hard += lines
        shape.whole += lines
    _add_paragraphs(content, shape, chat=chat)
    starts = sentence_starts(content)
    if shape.solid:
        starts = _outside(np.array(starts, dtype=np.int64), shape.solid).tolist()
    if shape.whole:
        starts = _keep_whole(starts, settle(content, shape.hard).tolist(), whole=set(shape.whole))
    units = break_long(content, settle(content, shape.hard + starts))
    return Outline(
        kind="prose",
        language=language,
        length=len(content),
        units=units,
        sections=divide(units, settle(content, shape.sections)),
        blocks=heading_blocks(shape.headings, len(content)),
    )


def _is_chat(content: bytes) -> bool:
    """Most lines of the beginning are "Speaker: words", and there are at least three."""
    sample = b"\n" + content[:_CHAT_SAMPLE]
    spoken = sum(1 for _ in _CHAT.finditer(sample))
    if spoken < 3:
        return False
    lines = sum(1 for line in sample.split(b"\n") if line.strip())
    return spoken * 2 >= lines


def _read_lines(content: bytes, shape: _Shape, language: str | None) -> None:
    """Find fences, headings, list items and table rows."""
    text = b"\n" + content
    begin = 0
    if language == "rst":
        _read_rules(content, shape, rst=True)
    else:
        front = _FRONT.match(content)
        if front is not None:
            begin = front.end()
            _add_solid(content, shape, 0, begin)
    fence: tuple[int, bytes] | None = None
    for found in (_RST_MARK if language == "rst" else _MARK).finditer(text, begin):
        start, kind = found.start(), found.lastgroup
        if fence is not None:
            opened, sign = fence
            if kind == "rest" and found["fence"].startswith(sign) and not found["rest"].strip():
                _add_solid(content, shape, opened, _line_end(content, start))
                fence = None
        elif kind == "rest":
            fence = (start, found["fence"])
        elif kind == "atx":
            title = found[0].strip().strip(b"#").strip()
            end = start + len(found[0][1:].rstrip())
            shape.headings.append((start, end, len(found["atx"]), title))
        elif kind == "title":
            end = start + len(found[0][1:].rstrip())
            shape.headings.append((start, end, found["wiki"].count(b"="), found["title"].strip()))
        else:
            shape.hard.append(start)
            shape.whole.append(start)
    if fence is not None:
        _add_solid(content, shape, fence[0], len(content))
    if b" | " in content:
        rows = [found.start() for found in _CELLS.finditer(text)]
        shape.hard += rows
        shape.whole += rows
    if language != "rst":
        _read_rules(content, shape, rst=False)
    shape.headings.sort()


def _line_end(content: bytes, start: int) -> int:
    """The position after the newline that ends the line at `start`."""
    newline = content.find(b"\n", start)
    return newline + 1 if newline >= 0 else len(content)


def _add_solid(content: bytes, shape: _Shape, start: int, end: int) -> None:
    """A stretch whose lines are units and which is one section: a fence, a front matter."""
    shape.solid.append((start, end))
    shape.sections += (start, end)
    shape.hard += (start, end)
    position = content.find(b"\n", start, end)
    while position >= 0:
        shape.hard.append(position + 1)
        position = content.find(b"\n", position + 1, end)


def _read_rules(content: bytes, shape: _Shape, *, rst: bool) -> None:
    """Headings with a line of signs under them (and, in reStructuredText, perhaps above)."""
    rules = [found.start() for found in (_RST_RULE if rst else _SETEXT).finditer(b"\n" + content)]
    ranks: dict[tuple[bytes, bool], int] = {}
    for rule in _outside(np.array(rules, dtype=np.int64), shape.solid).tolist():
        above = content.rfind(b"\n", 0, max(rule - 1, 0)) + 1
        title = content[above : max(rule - 1, above)].strip()
        if not _is_title(content, above, title, rst=rst):
            continue
        signs = content[rule : _line_end(content, rule)].strip()
        start, level = above, 1 if signs[:1] == b"=" else 2
        if rst:
            if len(signs) < len(title.decode(errors="ignore")):
                continue
            previous = content.rfind(b"\n", 0, above - 1) + 1 if above else 0
            over = bool(above) and content[previous : above - 1].strip() == signs
            start = previous if over else above
            level = ranks.setdefault((signs[:1], over), len(ranks) + 1)
        shape.headings.append((start, content.find(signs, rule) + len(signs), level, title))


def _is_title(content: bytes, start: int, title: bytes, *, rst: bool) -> bool:
    """A title stands alone: a blank line, a rule or the text's start is above it, and it is no list item."""
    if not 0 < len(title) <= 300 or title[:1] in b"|>" or not re.search(rb"[A-Za-z0-9\x80-\xff]", title):
        return False
    if not rst and re.match(rb"(?:[-*+]|\d{1,9}[.)])[ \t]|#", title):
        return False
    if start == 0:
        return True
    above = content[content.rfind(b"\n", 0, start - 1) + 1 : start - 1].strip()
    return not above or len(set(above)) == 1 or above.startswith(b"#")


def _read_html(content: bytes, shape: _Shape) -> None:
    for found in _HTML_BLOCK.finditer(content):
        start = found.start()
        if found["level"] is not None:
            title = _TAG.sub(b"", found["title"]).strip()
            shape.headings.append((start, found.end(), int(found["level"][1:]), title))
            continue
        shape.hard.append(start)
        if found["para"] is not None:
            shape.sections.append(start)


def _add_paragraphs(content: bytes, shape: _Shape, *, chat: bool) -> None:
    """Paragraph starts are hard cuts and sections, save the one that follows its heading."""
    after_heading: set[int] = set()
    for start, end, _, _ in shape.headings:
        body = _line_end(content, end)
        blank = _BLANK.match(content, body - 1) if body else None
        if blank is not None:
            body = blank.end()
        shape.hard += (start, body)
        shape.whole.append(start)
        shape.sections.append(start)
        after_heading.add(body)
    starts = np.array([found.end() for found in _BLANK.finditer(content)], dtype=np.int64)
    if not chat:
        starts = np.concatenate((starts, _after_long_lines(content)))
    paragraphs = _outside(starts, shape.solid).tolist()
    shape.hard += paragraphs
    headings = {start for start, *_ in shape.headings}
    kept = [start for start in paragraphs + shape.sections if start in headings or start not in after_heading]
    shape.sections = kept


def _after_long_lines(content: bytes) -> Cuts:
    lines = line_starts(content)
    starts = lines[1:][lines[1:] - lines[:-1] > _WRAPPED]
    first = np.frombuffer(content, dtype=np.uint8)[starts]
    words: Cuts = starts[(first != 10) & (first != 13)]
    return words


def _outside(starts: Cuts, solid: list[tuple[int, int]]) -> Cuts:
    """Only the cuts that are not inside a solid stretch."""
    if not solid or not len(starts):
        return starts
    begins = np.array([begin for begin, _ in sorted(solid)], dtype=np.int64)
    ends = np.array([end for _, end in sorted(solid)], dtype=np.int64)
    place = np.searchsorted(begins, starts, side="left") - 1
    return starts[(place < 0) | (starts >= ends[np.maximum(place, 0)])]


def _keep_whole(starts: list[int], hard: list[int], *, whole: set[int]) -> list[int]:
    """Drop sentence starts inside a list item, table row or chat line that is short enough as one unit."""
    kept = []
    for start in starts:
        after = bisect_right(hard, start)
        begin = hard[after - 1]
        if begin not in whole or hard[min(after, len(hard) - 1)] - begin > UNIT_AIM:
            kept.append(start)
    return kept


def heading_blocks(headings: list[tuple[int, int, int, bytes]], length: int) -> tuple[Block, ...]:
    """Start, end, level and title of headings as blocks: each reaches to the next of its own or a higher rank."""
    ends = [length] * len(headings)
    opened: list[int] = []
    for index, (start, _, level, _) in enumerate(headings):
        while opened and headings[opened[-1]][2] >= level:
            ends[opened.pop()] = start
        opened.append(index)
    return tuple(
        Block(
            start=start,
            end=stop,
            kind="heading",
            signature_start=start,
            signature_end=min(end, stop),
            name=title.decode(errors="replace"),
            level=level,
        )
        for (start, end, level, title), stop in zip(headings, ends, strict=True)
        if stop > start
    )
