"""Which natural boundary is nearest to a window's edge?"""

from __future__ import annotations

from brimful.corpus.documents import Document
from brimful.patterns import compiled
from brimful.text.cuts import BLANKS
from brimful.text.prose import refers_back
from brimful.text.spans import Span, back_to_code_point, on_to_code_point

ANTECEDENT_UNITS = 2
"""How many units back a window may reach for what its first pronoun means."""

BLOCK_STRETCH = 2
"""A function is shown whole when it is at most this many times the size that the policy gave."""

LONGEST_WORD = 64
"""Bytes to walk in search of a word's edge; scripts without spaces are cut between characters."""

_WORD_START = compiled(rb"(?<=\s)\S|\A\S")


def snap(document: Document, span: Span, core: Span, *, room: int | None = None) -> Span:
    """Move both edges to natural boundaries of the document's kind; the core stays inside.

    `room` is how many bytes the span may grow in all, None when nothing limits it but sense:
    one unit on each side, or the function around the core where it is not much larger.
    """
    limit = len(span) + room if room is not None else None
    if document.kind == "code":
        whole = _function_around(document, span, core)
        if whole is not None and (limit is None or len(whole) <= limit):
            return whole
    start, end = _nearest_start(document, span, core), _nearest_end(document, span, core)
    if document.kind == "prose":
        start = _with_antecedent(document, start)
    if limit is None or end - start <= limit:
        return Span(start, end)
    shorter = document.outline.cut_before(start + limit)
    if shorter >= core.end:
        return Span(start, shorter)
    return Span(_inward_start(document, span, core), _inward_end(document, span, core))


def _function_around(document: Document, span: Span, core: Span) -> Span | None:
    """The innermost function around the core, or else block, if it is not much larger than the span (085b §5.3)."""
    around = document.outline.enclosing(core.start, max(core.end, core.start))
    block = next((block for block in reversed(around) if block.kind == "function"), around[-1] if around else None)
    if block is None:
        return None
    whole = Span(document.outline.cut_before(block.start), document.outline.cut_after(block.end))
    fits = _content(document, whole.start, whole.end) <= BLOCK_STRETCH * _content(document, span.start, span.end)
    return whole if fits else None


def _content(document: Document, start: int, end: int) -> int:
    """How much stands between two bytes; in code, white space does not count (085b §5.3)."""
    part = document.content[start:end]
    return len(part.translate(None, BLANKS)) if document.kind == "code" else len(part)


def _nearest_start(document: Document, span: Span, core: Span) -> int:
    outline = document.outline
    inner, outer = outline.cut_after(span.start), outline.cut_before(span.start)
    if inner > core.start:
        return outer
    return outer if _content(document, outer, span.start) <= _content(document, span.start, inner) else inner


def _nearest_end(document: Document, span: Span, core: Span) -> int:
    outline = document.outline
    inner, outer = outline.cut_before(span.end), outline.cut_after(span.end)
    if inner < core.end:
        return outer
    return outer if _content(document, span.end, outer) <= _content(document, inner, span.end) else inner


def _with_antecedent(document: Document, start: int) -> int:
    """Reach back while the window would open with a pronoun whose meaning stands before it (085b §2)."""
    outline, content = document.outline, document.content
    for _ in range(ANTECEDENT_UNITS):
        if start == 0 or not refers_back(content, start):
            break
        start = outline.cut_before(start - 1)
    return start


def _inward_start(document: Document, span: Span, core: Span) -> int:
    cut = document.outline.cut_after(span.start)
    if cut <= core.start:
        return cut
    content = document.content
    farthest = min(core.start + 1, span.start + LONGEST_WORD)
    found = _WORD_START.search(content, max(span.start - 1, 0), farthest) if span.start else None
    if found and span.start <= found.start() <= core.start:
        return found.start()
    return min(on_to_code_point(content, span.start), back_to_code_point(content, core.start))


def _inward_end(document: Document, span: Span, core: Span) -> int:
    cut = document.outline.cut_before(span.end)
    if cut >= core.end:
        return cut
    content = document.content
    last = span.end
    lowest = max(core.end, span.end - LONGEST_WORD)
    while last > lowest and last < len(content) and not content[last : last + 1].isspace():
        last -= 1
    if last == lowest:
        last = span.end
    return max(back_to_code_point(content, last), on_to_code_point(content, core.end))
