"""How is a document shown that is too long to be read whole? As windows without it, one for each stretch of hits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate

from brimful.corpus.documents import Hit
from brimful.windows.window import Window

Read = Callable[[str, int, int], tuple[bytes, int]]
"""The bytes of a document in a range, and how long it is."""


def loose_windows(hits: Sequence[Hit], read: Read, *, most_bytes: int) -> list[Window]:
    """The best hits, about so many bytes of them, as windows that can be packed and cited but do not grow.

    >>> text = b"Tea at four. Coffee at ten. Supper at six."
    >>> hits = [Hit("a.md", 13, 27, 2.0), Hit("a.md", 0, 13, 1.0)]
    >>> [window.text for window in loose_windows(hits, lambda _, start, end: (text[start:end], 42), most_bytes=99)]
    ['Tea at four. Coffee at ten.']
    """
    sizes = accumulate(hit.end - hit.start for hit in hits)
    chosen = [hit for at, (hit, size) in enumerate(zip(hits, sizes, strict=True)) if size <= most_bytes or not at]
    runs: list[list[Hit]] = []
    for hit in sorted(chosen, key=lambda hit: (hit.path, hit.start)):
        if runs and (runs[-1][-1].path, runs[-1][-1].end) == (hit.path, hit.start):
            runs[-1].append(hit)
        else:
            runs.append([hit])
    return [_window(run, read) for run in runs]


def _window(run: Sequence[Hit], read: Read) -> Window:
    path, start, end = run[0].path, run[0].start, run[-1].end
    content, length = read(path, start, end)
    return Window(
        path,
        content.decode(),
        start,
        end,
        score=max(hit.score for hit in run),
        hits=tuple(sorted(run, key=lambda hit: hit.order)),
        time=run[0].time,
        cut_start=start > 0,
        cut_end=end < length,
    )
