"""Which whole things does a window show? Functions, paragraphs, lists with their lead-in, tables with their header."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence

from brimful.documents.documents import Document
from brimful.outline.layout import Block
from brimful.outline.outlines import Outline
from brimful.outline.prose import natural_span
from brimful.text.spans import Span

LEAST_BYTES = 200
"""A shorter piece of a paragraph is a scrap: it is shown with its neighbours."""

_EDGE_BYTES = 300  # to the natural edge of a long sentence or record that was cut inside
_NEAR_BYTES = 600  # from where filling stops to the end of a thing
_LINE_BACK = 400  # bytes before an end that say what is announced
_MOST_ANNOUNCED = 4  # in a row: a label, a heading, a directive, a lead-in
_SAID = re.compile(rb"\S")
_INDENT = re.compile(rb"[ \t]*")
_BLANK_LINE = re.compile(rb"\n(?:[ \t]*\r?\n)+")
_DIRECTIVE = re.compile(rb"(?:\A|\n)[ \t]*\.\. [\w:+-]+::[^\n]*\Z")
_ANCHOR = re.compile(rb"(?:\A|\n)[ \t]*<a (?:id|name)=[^<>]{1,200}>[ \t]*</a>\Z")


def completed(document: Document, span: Span, room: int) -> Span:
    """The span with the things that it begins or ends in, as far as `room` more bytes reach.

    The largest thing that fits is shown whole. Of things that do not fit the beginning is shown where it does, without
    which the rest is hard to understand, or else the end. A message is a unit already.
    """
    if document.kind == "data":
        return _between_natural_edges(document, span)
    if document.outline.has_messages or not span:
        return span
    things = {*_things_at(document, span.start, room), *_things_at(document, span.end, room)}
    limit = len(span) + room
    ordered = sorted(things, key=lambda thing: (-len(thing), thing.start))
    for thing in (
        *ordered,
        *(Span(thing.start, thing.start) for thing in ordered),
        *(Span(thing.end, thing.end) for thing in ordered),
    ):
        grown = Span(min(span.start, thing.start), max(span.end, thing.end))
        if len(grown) <= limit:
            span = grown
    return span if document.kind == "code" else _between_natural_edges(document, _no_scrap(document, span))


def whole_ends(document: Document, end: int) -> list[int]:
    """The end of the smallest thing that a window ends in, if that is near, and the end itself."""
    if document.kind == "data" or document.outline.has_messages:
        return [end]
    things = sorted(_things_at(document, end, _NEAR_BYTES), key=lambda thing: (len(thing), thing.start))
    return [*(thing.end for thing in things[:1] if thing.end - end <= _NEAR_BYTES), end]


def _things_at(document: Document, edge: int, room: int) -> Iterator[Span]:
    """The things that a window's edge is inside of, or that a lead-in before it introduces."""
    outline, content = document.outline, document.content
    if document.kind == "code":
        spans = [_lines_of(content, first, last) for first, last in _definitions_around(outline, edge)]
        above = content.rfind(b"\n\n", max(edge - room - 2, 0), edge)
        below = content.find(b"\n\n", max(edge - 2, 0), edge + room + 1)
        spans.append((above + 2 if above >= 0 else edge, below + 1 if below >= 0 else edge))
    else:
        passages = outline.passages_at(edge)
        spans = [(item.lead[0] if item.lead else item.start, _line_end(content, item.end)) for item in passages]
        spans += [outline.sections_around(edge, edge), _under_its_term(content, edge, room)]
        spans += [(block.start, block.end) for block in outline.enclosing(edge, edge)]
    for start, end in spans:
        if start < edge < end and _is_line_edge(content, start) and _is_line_edge(content, end):
            yield Span(start, end)


def _under_its_term(content: bytes, edge: int, room: int) -> tuple[int, int]:
    r"""The first line of indented text with the line above it that it explains: a directive, an option, a term.

    >>> page = b"Keys.\n\n.. data:: KEY\n\n    It signs.\n"
    >>> page[slice(*_under_its_term(page, page.index(b"    It"), 99))]
    b'.. data:: KEY\n\n    It signs.\n'
    """
    end = _line_end(content, edge + 1)
    column = _column(content, edge)
    above = edge
    while column and above > max(edge - room, 0):
        line = content.rfind(b"\n", 0, above - 1) + 1
        if _SAID.search(content, line, above) and _column(content, line) < column:
            return line, end
        above = line
    return edge, edge


def _column(content: bytes, start: int) -> int:
    """The blanks that a line begins with; it isn't copied, for it may be a whole file."""
    blanks = _INDENT.match(content, start)
    return len(blanks[0]) if blanks else 0


def _definitions_around(outline: Outline, edge: int) -> Iterator[tuple[int, int]]:
    """The definitions around an edge of code, and their heads: doc comment, signature and docstring."""
    definitions = outline.definitions
    index = bisect_left(definitions, edge, key=lambda definition: definition.start) - 1
    while index >= 0:
        around = definitions[index]
        if around.end > edge:
            yield around.start, around.end
            if around.doc is not None:
                yield around.start, max(around.doc[1], around.signature_end)
        index = around.parent  # what ends before has around it whatever reaches further


def _lines_of(content: bytes, start: int, end: int) -> tuple[int, int]:
    return content.rfind(b"\n", 0, start) + 1, _line_end(content, end)


def _is_line_edge(content: bytes, edge: int) -> bool:
    """A section of a long paragraph may end in its middle, which is no edge."""
    return edge in (0, len(content)) or content[edge - 1 : edge] == b"\n"


def _line_end(content: bytes, position: int) -> int:
    if _is_line_edge(content, position):
        return position
    newline = content.find(b"\n", position)
    return newline + 1 if newline >= 0 else len(content)


def _no_scrap(document: Document, span: Span) -> Span:
    """A short piece of a paragraph, with the sentences after it or, at the paragraph's end, before it."""
    outline, start, end = document.outline, span.start, span.end
    low, high = outline.sections_around(start, end)
    while end - start < LEAST_BYTES:
        if end < high:
            end = outline.cut_after(end + 1)
        elif low < start:
            start = outline.cut_before(start - 1)
        else:
            break
    return Span(start, end)


def _between_natural_edges(document: Document, span: Span) -> Span:
    """Move both edges to the beginning and end of a sentence, line or element that is near."""
    is_prose = document.kind == "prose"
    return natural_span(document.content, span.start, span.end, reach=_EDGE_BYTES, is_prose=is_prose)


# ---- ends: a heading, a lead-in or a table's header is shown with what it stands above.


def end_of_announced(document: Document, start: int, end: int) -> int:
    """The end with what the last line announces, and what that announces in turn."""
    for _ in range(_MOST_ANNOUNCED):
        below = _below_heading(document, start, end)
        if below == end:
            break
        end = below
    return end


def _below_heading(document: Document, start: int, end: int) -> int:
    """The end of the next unit, if these bytes end with a heading or announce what follows; else `end`."""
    if document.kind != "prose":
        return end
    last_line = document.content[max(end - _LINE_BACK, 0) : end].rstrip()
    if not (
        _announces(last_line, document.language)
        or _ends_with_heading(document, start, end)
        or _ends_with_header(document, end)
    ):
        return end
    return document.outline.cut_after(min(end + 1, len(document)))


def _announces(last_line: bytes, language: str | None) -> bool:
    """Whether a line announces what follows: "for example:", a directive of reStructuredText, a heading's anchor."""
    if last_line.endswith((b":", b"\xef\xbc\x9a")) or (
        last_line.endswith(b">") and _ANCHOR.search(last_line) is not None
    ):
        return True
    return language == "rst" and _DIRECTIVE.search(last_line) is not None


def _ends_with_heading(document: Document, start: int, end: int) -> bool:
    nested = document.outline.nested
    index = bisect_left(nested.starts, end) - 1
    if index < 0 or nested[index].signature_start < start:
        return False
    return nested[index].signature_end >= end or document.content[nested[index].signature_end : end].isspace()


def _ends_with_header(document: Document, end: int) -> bool:
    """Whether a table goes on after these bytes, and no row of it stands in them."""
    return any(
        passage.kind == "table" and passage.parts and passage.start < end <= passage.parts[0]
        for passage in document.outline.passages_at(end)
    )


# ---- beginnings: no end of another section or function stands above what is shown.


def next_beginning(document: Document, start: int, end: int) -> int:
    """The start of the first heading, or in code of the function or class below a blank line; `start` without one."""
    if document.kind == "prose":
        heading = document.outline.first_heading(start, end)
        return start if heading is None else heading
    if document.kind == "data" or not _begins_inside_function(document, start):
        return start
    for blank in _BLANK_LINE.finditer(document.content, start, max(end - 1, start)):
        if any(block.start >= blank.end() for block in _around_words(document, blank.end())):
            return blank.end()
    return start


def _begins_inside_function(document: Document, start: int) -> bool:
    inside = _around_words(document, start)[-1:]
    return bool(inside) and inside[0].kind == "function" and inside[0].start < start


def _around_words(document: Document, start: int) -> Sequence[Block]:
    """The functions and classes around the first word from `start` on."""
    first_word = _SAID.search(document.content, start)
    return document.outline.enclosing(first_word.start(), first_word.start() + 1) if first_word else ()


def without_tail(document: Document, start: int, end: int) -> int:
    """The start of the next function, if a range of code begins with the end of another; else `start`."""
    return next_beginning(document, start, end + 1) if document.kind == "code" and start < end else start


def heading_above(document: Document, start: int) -> int:
    """The start of the heading above a window of prose, or at its beginning; 0 without one."""
    if document.kind != "prose":
        return 0
    starts = document.outline.nested.starts  # all are headings: prose has no other blocks
    index = bisect_right(starts, start) - 1
    return starts[index] if index >= 0 else 0


def with_words(content: bytes, start: int, end: int) -> int:
    """The start of the first line with words in a range.

    >>> with_words(b"```\\n\\n  Then stop.\\n", 4, 17), with_words(b"Tea\\n", 1, 4)
    (5, 1)
    """
    first_word = _SAID.search(content, start, end)
    return max(start, content.rfind(b"\n", start, first_word.start()) + 1) if first_word else start
