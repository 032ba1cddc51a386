"""Which whole things does a window show? A definition, a paragraph, a list with its lead-in, where little is missing.

What a search finds are units: a sentence, an item, some lines of code. A reader wants the function that they stand in,
the paragraph, the list with what introduces it; where that costs little more, it is shown.
"""

from __future__ import annotations

from bisect import bisect_left

from brimful.corpus.documents import Document
from brimful.text.passages import Passage
from brimful.text.spans import Span

LEAST_ROOM_BYTES = 200
"""So much may be added to any window, however short: the rest of a sentence's paragraph, the head of a function."""
MOST_ROOM_BYTES = 1_200
"""And no more than so much to a long one."""

CODE_TIMES = 5
"""Of code so many times as much: a function says little in part."""


def made_whole(document: Document, span: Span, share: int) -> Span:
    """The span, with what is missing of the things that it begins and ends in if that is at most so many percent of it.

    What is missing at the beginning comes first: without it the rest is harder to understand.
    """
    if document.kind == "data" or not len(span):
        return span
    share *= CODE_TIMES if document.kind == "code" else 1
    room = min(max(len(span) * share // 100, LEAST_ROOM_BYTES), MOST_ROOM_BYTES)
    starts, ends = _edges(document, span, room)
    start = min((edge for edge in starts if span.start - room <= edge < span.start), default=span.start)
    room -= span.start - start
    end = max((edge for edge in ends if span.end < edge <= span.end + room), default=span.end)
    return Span(start, end)


def _edges(document: Document, span: Span, room: int) -> tuple[list[int], list[int]]:
    """Where the things begin that the span begins in, and where those end that it ends in."""
    outline = document.outline
    if document.kind == "code":
        starts = [block.start for block in outline.enclosing(span.start, span.start + 1)]
        ends = [_line_end(document, block.end) for block in outline.enclosing(span.end - 1, span.end)]
        above, below = _between_blank_lines(document.content, span, room)
        return [*starts, *above], [*ends, *below]
    if len(outline.structure.messages) > 1:  # a message is a unit already, and what others said is another thing
        return [], []
    start, end = outline.section_before(span.start), outline.section_after(span.end)
    starts = [start] if start >= span.start - room and _is_line_edge(document, start) else []
    ends = [end] if end <= span.end + room and _is_line_edge(document, end) else []
    for passage in _around(outline.structure.passages, span.start):
        starts += [passage.start, *(passage.lead[:1] if passage.lead else ())]
    for passage in _around(outline.structure.passages, span.end):
        ends.append(_line_end(document, passage.end))
    return starts, ends


def _between_blank_lines(content: bytes, span: Span, room: int) -> tuple[list[int], list[int]]:
    """Where the lines without a blank one between them begin and end that a span of code begins and ends in."""
    start = content.rfind(b"\n\n", max(span.start - room - 2, 0), span.start) + 2
    end = content.find(b"\n\n", max(span.end - 2, 0), span.end + room + 1) + 1
    return [start] if start > 1 else [], [end] if end > 0 else []


def _is_line_edge(document: Document, edge: int) -> bool:
    """A section of a long paragraph may end in its middle, which is no edge."""
    return edge in (0, len(document)) or document.content[edge - 1 : edge] == b"\n"


def _around(passages: tuple[Passage, ...], position: int) -> list[Passage]:
    """The passages that hold a position, or that a lead-in before it introduces."""
    at = bisect_left(passages, position + 1, key=lambda passage: passage.start)
    near = passages[max(at - 2, 0) : at + 1]
    return [each for each in near if (each.lead[0] if each.lead else each.start) <= position < each.end]


def _line_end(document: Document, position: int) -> int:
    newline = document.content.find(b"\n", position, position + MOST_ROOM_BYTES)
    return newline + 1 if newline >= 0 else position
