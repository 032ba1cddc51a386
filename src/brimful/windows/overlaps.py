"""Which windows show the same bytes? Those of several pools may, and a byte is shown once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from brimful.windows.window import Window


def apart(windows: Sequence[Window]) -> list[Window]:
    """Windows of which those that overlap have become one, numbered as they are read.

    >>> [(window.start, window.text) for window in apart([Window("a.md", "tea at"), Window("a.md", "at four", 4)])]
    [(0, 'tea at'), (6, ' four')]
    """
    run: list[Window] = []
    for window in sorted(windows, key=lambda window: (window.path, window.start, -window.end, window.order)):
        last = run[-1] if run else None
        if last is None or last.path != window.path or window.start >= last.end:
            run.append(window)
        elif last.document and window.document:
            hits = sorted({*last.hits, *window.hits}, key=lambda hit: hit.order)
            widened = last.resized(last.start, max(last.end, window.end))
            run[-1] = replace(widened, hits=tuple(hits), score=max(last.score, window.score))
        elif window.end > last.end:  # of a long document: what is left of it behind the other
            run.append(_behind(window, last.end))
    numbers: dict[str, int] = {}
    for at, window in enumerate(run):
        numbers[window.path] = numbers.get(window.path, -1) + 1
        run[at] = replace(window, sequence=numbers[window.path])
    return run


def _behind(window: Window, start: int) -> Window:
    """What of a window without a document lies behind a place; both are edges of units."""
    return replace(
        window,
        text=window.text.encode()[start - window.start :].decode(),
        start=start,
        cut_start=True,
        hits=tuple(hit for hit in window.hits if hit.start >= start),
    )
