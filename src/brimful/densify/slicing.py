"""Where is a text cut into parts that a model accepts, and which partials are merged together?

At the best boundary that leaves the fewest parts: section, unit (sentence, statement, record), line, word, code point.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence

from brimful.documents.documents import Document
from brimful.text.spans import Span, merge_spans, on_to_code_point
from brimful.text.tokens import PreparedText, TokenCounter

_SLACK = 99
"""Percent to which later parts are planned to be filled; where that is too little room, a part ends within a sentence
rather than that the text takes one part more."""


class Slicer:
    """A source, prepared once and cut as often as allowances change."""

    def __init__(self, document: Document, counter: TokenCounter) -> None:
        self._raw = document.content
        self._prepared: PreparedText = counter.prepare(document.content.decode())
        self._levels: tuple[Sequence[int], ...] = (document.outline.sections.tolist(), document.outline.units.tolist())

    @property
    def tokens(self) -> int:
        """The tokens of the whole source."""
        return self._prepared.count(0, len(self._raw))

    def text(self, part: Span) -> str:
        """A slice as text."""
        return self._raw[part.start : part.end].decode()

    def count(self, part: Span) -> int:
        """The tokens of a slice."""
        return self._prepared.count(part.start, part.end)

    def cut(self, spans: Iterable[Span], allowance: int) -> list[Span]:
        r"""Parts of at most `allowance` tokens that hold every byte of the spans, save blank ones.

        >>> from brimful.text.vocabularies import tokens_for
        >>> slicer = Slicer(Document("a.txt", "One two.\n\nThree four.\n\nFive six."), tokens_for("approximate"))
        >>> [slicer.text(part) for part in slicer.cut([Span(0, 32)], 6)]
        ['One two.\n\nThree four.\n\n', 'Five six.']
        """
        parts = [part for span in spans for part in self._cut(span.start, span.end, max(allowance, 1))]
        return [part for part in parts if self._raw[part.start : part.end].strip()]

    def _cut(self, start: int, end: int, allowance: int) -> Iterator[Span]:
        while start < end:
            tokens = self._prepared.count(start, end)
            stop = end if tokens <= allowance else self._stop(start, end, tokens, allowance)
            yield Span(start, stop)
            start = stop

    def _stop(self, start: int, end: int, tokens: int, allowance: int) -> int:
        """The end of the part at `start`: the last boundary of the best level that costs no part more."""
        furthest = min(max(self._prepared.fit(start, allowance), start), end)
        if furthest <= start:  # a single character over the allowance
            return on_to_code_point(self._raw, start + 1)
        parts_left = max(-(-tokens // allowance) - 1, 1)
        must_take = max(tokens - parts_left * allowance * _SLACK // 100, 1)
        nearest = start + max((furthest - start) * min(must_take, allowance) // allowance, 1)
        for level in self._levels:
            if (cut := _last_between(level, nearest, furthest)) > start:
                return cut
        for gap in (b"\n", b" ", b"\t"):
            if (cut := self._raw.rfind(gap, nearest, furthest) + 1) > start:
                return cut
        return furthest


def _last_between(cuts: Sequence[int], low: int, high: int) -> int:
    last = bisect_right(cuts, high) - 1
    return cuts[last] if last >= bisect_left(cuts, low) and last >= 0 else -1


def missing(spans: Iterable[Span], length: int) -> list[Span]:
    """The ranges of `[0, length)` that the spans leave out.

    >>> [(gap.start, gap.end) for gap in missing([Span(2, 4), Span(4, 6)], 9)]
    [(0, 2), (6, 9)]
    """
    gaps, reached = [], 0
    for span in merge_spans(spans):
        if span.start > reached:
            gaps.append(Span(reached, span.start))
        reached = max(reached, span.end)
    return gaps + ([Span(reached, length)] if reached < length else [])


def groups_of(sizes: Sequence[int], allowance: int, *, between: int) -> list[range]:
    """The fewest groups of neighbours that fit; a group has at least one item.

    >>> groups_of([3, 3, 3, 9, 2], 8, between=1)
    [range(0, 2), range(2, 3), range(3, 4), range(4, 5)]
    """
    groups: list[range] = []
    first, used = 0, 0
    for number, size in enumerate(sizes):
        if number > first and used + between + size > allowance:
            groups.append(range(first, number))
            first, used = number, 0
        used += size + (between if number > first else 0)
    return [*groups, range(first, len(sizes))] if sizes else groups
