"""Which bytes, exactly? Half-open ranges and the few operations they need."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from brimful.errors import SpanError

_CONTINUATION = 0b1000_0000
_CONTINUATION_MASK = 0b1100_0000


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """The bytes `[start, end)` of a document (the seeds' start_byte, end_byte; ruling 2).

    >>> Span(1000, 1200).gap_to(Span(1250, 1400))
    Span(start=1200, end=1250)
    """

    start: int
    end: int

    def __post_init__(self) -> None:
        if not (type(self.start) is type(self.end) is int and 0 <= self.start <= self.end):
            check_span(self.start, self.end)

    def __len__(self) -> int:
        return self.end - self.start

    def gap_to(self, later: Span) -> Span:
        """The bytes between this span and a later one; empty when they touch or overlap (085b §3)."""
        return Span(self.end, max(self.end, later.start))

    def shared(self, second: Span) -> int:
        """How many bytes both spans hold."""
        return max(0, min(self.end, second.end) - max(self.start, second.start))


def check_span(start: object, end: object, *, length: int | None = None, where: str = "") -> None:
    """Raise a SpanError unless `0 <= start <= end <= length`, all whole numbers."""
    for name, value in (("start", start), ("end", end)):
        if isinstance(value, bool) or not isinstance(value, int):
            raise SpanError(f"{name} must be a whole number of bytes, got {value!r}{where}")
    assert isinstance(start, int)
    assert isinstance(end, int)
    if not 0 <= start <= end:
        raise SpanError(f"[{start}, {end}){where} is not a byte range: it needs 0 <= start <= end")
    if length is not None and end > length:
        raise SpanError(f"[{start}, {end}) ends outside{where or ' the document'}, which has {length} bytes")


def merge_spans(spans: Iterable[Span], *, gap: int = 0) -> list[Span]:
    """Join spans that overlap, touch, or lie at most `gap` bytes apart; sorted, order-free, idempotent.

    A contained span never shortens its container (ruling 4).

    >>> merge_spans([Span(900, 1900), Span(500, 1500)])        # 085b §5.4
    [Span(start=500, end=1900)]
    >>> merge_spans([Span(0, 100), Span(10, 20), Span(599, 600)], gap=499)
    [Span(start=0, end=600)]
    """
    merged: list[Span] = []
    for span in sorted(spans):
        if merged and span.start - merged[-1].end <= gap:
            merged[-1] = Span(merged[-1].start, max(merged[-1].end, span.end))
        else:
            merged.append(span)
    return merged


def back_to_code_point(content: bytes, position: int) -> int:
    """The largest code point boundary at or before `position`.

    >>> back_to_code_point("a\u00e9".encode(), 2)
    1
    """
    position = min(max(position, 0), len(content))
    while 0 < position < len(content) and content[position] & _CONTINUATION_MASK == _CONTINUATION:
        position -= 1
    return position


def whole_characters(content: bytes, start: int, end: int) -> tuple[int, int]:
    """The characters that `[start, end)` touches."""
    return back_to_code_point(content, start), on_to_code_point(content, end)


def on_to_code_point(content: bytes, position: int) -> int:
    """The smallest code point boundary at or after `position`.

    >>> on_to_code_point("a\u00e9".encode(), 2)
    3
    """
    position = min(max(position, 0), len(content))
    while position < len(content) and content[position] & _CONTINUATION_MASK == _CONTINUATION:
        position += 1
    return position
