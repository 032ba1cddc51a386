"""Which part of a hit is shown where all of it is too long? The part around the words that were asked for."""

from __future__ import annotations

from collections.abc import Sequence

from brimful.corpus.documents import Hit
from brimful.text.matches import matches_in
from brimful.text.spans import Span, back_to_code_point, on_to_code_point
from brimful.text.terms import query_terms


def focused(content: bytes, hit: Hit, *, offset: int = 0) -> list[Span]:
    """What of a hit should be shown at least: all of its words, or else fewer, the last span just the first word.

    A hit that does not say where its words stand is searched for its terms; nothing where it has none. The content
    begins so many bytes after the hit's own document does.
    """
    start = back_to_code_point(content, max(hit.start - offset, 0))
    end = on_to_code_point(content, max(hit.end - offset, 0))
    matches = [(first - offset, last - offset) for first, last in hit.matches]
    if not matches and hit.terms:
        names = [{found.term for found in query_terms(term)} for term in hit.terms]
        found = matches_in(content[start:end].decode("utf-8", "replace"), names)
        matches = [(start + first, start + last) for first, last in found]
    inside = [(max(first, start), min(last, end)) for first, last in matches if start <= first < min(last, end)]
    return list(dict.fromkeys(_cover(inside[:count]) for count in range(len(inside), 0, -1)))


def around(span: Span, limit: int, *, within: Span) -> Span:
    """A span widened to so many bytes, evenly on both sides as far as there is room; a longer one keeps its front.

    >>> around(Span(50, 60), 30, within=Span(0, 100)), around(Span(2, 4), 10, within=Span(0, 100))
    (Span(start=40, end=70), Span(start=0, end=10))
    """
    spare = limit - len(span)
    if spare <= 0:
        return Span(span.start, span.start + limit)
    before = min(spare // 2, span.start - within.start)
    after = min(spare - before, within.end - span.end)
    before = min(spare - after, span.start - within.start)
    return Span(span.start - before, span.end + after)


def _cover(places: Sequence[tuple[int, int]]) -> Span:
    return Span(min(start for start, _ in places), max(end for _, end in places))
