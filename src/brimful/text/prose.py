"""Where may prose be cut: sentences, paragraphs, headings?"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from brimful.patterns import compiled
from brimful.text.cuts import UNIT_AIM, Cuts, break_long, divide, line_starts, settle
from brimful.text.outline import Block, Outline
from brimful.text.passages import Heading, Passage
from brimful.text.sentences import refers_back, sentence_starts
from brimful.text.structure import structure

__all__ = ["outline_prose", "refers_back"]

_BLANK = compiled(rb"\n(?:[ \t\r]*+\n)++")
_HTML_BLOCK = compiled(
    rb"(?i)<(?:(?P<para>p|div|section|article|table|ul|ol|blockquote|pre|header|footer|main|nav|aside|hr)\b"
    rb"|(?:li|tr|dt|dd|option|br)\b)"
)
_CELLS = compiled(rb"\n(?=[^\n|]{1,200}+(?<=[ ])\|[ ])")  # a table row without a bar in front
_FAR = 4_000  # bytes
_WRAPPED = 200
"""No text is wrapped to lines of more bytes than this: a longer line is a paragraph."""


@dataclass(slots=True)
class _Shape:
    """What the outline says about a text, collected before any sentence is looked for."""

    hard: list[int] = field(default_factory=list)  # cuts that hold whatever the sentences say
    whole: list[int] = field(default_factory=list)  # hard cuts whose stretch is one unit when short enough
    sections: list[int] = field(default_factory=list)
    solid: list[tuple[int, int]] = field(default_factory=list)  # fences: lines only, no paragraphs inside


def outline_prose(content: bytes, *, language: str | None = None, path: str = "") -> Outline:
    """Sentences as units, paragraphs and heading blocks as sections, headings as blocks."""
    found = structure(content, kind="prose", language=language, path=path)
    shape = _Shape()
    if language == "html":
        _read_html(content, shape)
    else:
        _read_passages(content, shape, found.passages)
    is_chat = len(found.messages) > 1
    if is_chat:
        lines = line_starts(content).tolist()
        shape.hard += lines
        shape.whole += lines
    _add_paragraphs(content, shape, found.headings, chat=is_chat)
    starts = sentence_starts(content)
    if shape.solid:
        starts = _outside(np.array(starts, dtype=np.int64), shape.solid).tolist()
    if shape.whole:
        starts = _keep_whole(starts, settle(content, shape.hard).tolist(), whole=set(shape.whole))
    units = break_long(content, settle(content, shape.hard + starts))
    return Outline(
        "prose",
        language,
        len(content),
        units,
        divide(units, settle(content, shape.sections)),
        blocks=lambda: heading_blocks(found.headings),
        structure=lambda: found,
    )


def _read_passages(content: bytes, shape: _Shape, passages: Iterable[Passage]) -> None:
    """Code and front matter are solid; list items and table rows are cuts."""
    for passage in passages:
        if passage.kind in ("code", "front matter"):
            _add_solid(content, shape, _line_start(content, passage.start), _line_end(content, passage.end))
        elif passage.kind in ("list", "table"):
            lead = passage.lead[0] if passage.lead and passage.kind == "table" else passage.start
            starts = [_line_start(content, each) for each in (lead, passage.start, *passage.parts)]
            shape.hard += [*starts, _behind(content, passage.end)]
            shape.whole += starts
    if b" | " in content:
        rows = [found.start() for found in _CELLS.finditer(b"\n" + content)]
        shape.hard += rows
        shape.whole += rows


def _line_start(content: bytes, position: int) -> int:
    """The start of the line that holds a byte, or the byte itself if that is far."""
    low = max(position - _FAR, 0)
    newline = content.rfind(b"\n", low, position)
    return newline + 1 if newline >= 0 or not low else position


def _line_end(content: bytes, position: int) -> int:
    """The position after the newline that ends a line, or the byte itself if that is far."""
    newline = content.find(b"\n", position, position + _FAR)
    if newline >= 0:
        return newline + 1
    return len(content) if len(content) <= position + _FAR else position


def _behind(content: bytes, position: int) -> int:
    """The next line with words."""
    end = _line_end(content, position)
    blank = _BLANK.match(content, end - 1) if end else None
    return blank.end() if blank is not None else end


def _add_solid(content: bytes, shape: _Shape, start: int, end: int) -> None:
    """A stretch whose lines are units and which is one section: a fence, a front matter."""
    shape.solid.append((start, end))
    shape.sections += (start, end)
    shape.hard += (start, end)
    position = content.find(b"\n", start, end)
    while position >= 0:
        shape.hard.append(position + 1)
        position = content.find(b"\n", position + 1, end)


def _read_html(content: bytes, shape: _Shape) -> None:
    for found in _HTML_BLOCK.finditer(content):
        shape.hard.append(found.start())
        if found["para"] is not None:
            shape.sections.append(found.start())


def _add_paragraphs(content: bytes, shape: _Shape, titles: Sequence[Heading], *, chat: bool) -> None:
    """Paragraph starts are hard cuts and sections, save the one that follows its heading."""
    after_heading: set[int] = set()
    for title in titles:
        start, body = title.start, _behind(content, title.end)
        shape.hard += (start, body)
        shape.whole.append(start)
        shape.sections.append(start)
        after_heading.add(body)
    starts = np.array([found.end() for found in _BLANK.finditer(content)], dtype=np.int64)
    if not chat:
        starts = np.concatenate((starts, _after_long_lines(content)))
    paragraphs = _outside(starts, shape.solid).tolist()
    shape.hard += paragraphs
    headings = {title.start for title in titles}
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


def heading_blocks(headings: Iterable[Heading]) -> tuple[Block, ...]:
    """Headings as blocks, each as long as its section."""
    return tuple(
        Block(each.start, each.section_end, "heading", each.start, each.end, each.title, each.level)
        for each in headings
        if each.section_end > each.start
    )
