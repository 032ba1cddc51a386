"""Which windows say what a better one says already? (CFS §10, after sorting: the best copy survives)."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import compress
from operator import attrgetter

from brimful.errors import SettingError
from brimful.native.runs import KeptTexts, RunSets
from brimful.windows.window import Window

SHINGLE = 5
"""Words in a shingle: long enough that chance does not repeat one, short enough to survive an edit."""

_UNSPACED_LEAD = 0xE3
"""From here on lead bytes belong to scripts without spaces, mostly: each of their characters is a word."""

by_order = attrgetter("order")
"""What windows are sorted by, best first."""

_MARKS = bytes(
    2 if byte >= _UNSPACED_LEAD else byte >= 0x80 or byte == ord("_") or chr(byte).isalnum() for byte in range(256)
)


@dataclass(frozen=True, slots=True)
class Duplicate:
    """A window that was left out, and the better one that holds its content."""

    window: Window
    of: Window
    overlap: float


def dedupe(windows: Iterable[Window], *, threshold: float = 0.8) -> tuple[Window, ...]:
    """Sort windows best first and leave out those that a better one covers.

    A window is left out when its text is the same as a better one's, or when their overlap is
    strictly above `threshold`: shared / shorter, in bytes inside one document, in five-word
    shingles across documents.

    >>> [w.path for w in dedupe([Window("b", "same words"), Window("a", "same words", score=1.0)])]
    ['a']
    """
    return split_duplicates(windows, threshold=threshold)[0]


def split_duplicates(
    windows: Iterable[Window], *, threshold: float = 0.8, across_only: bool = False, twins: Twins | None = None
) -> tuple[tuple[Window, ...], tuple[Duplicate, ...]]:
    """What `dedupe` keeps, and what it leaves out with the reason; `across_only` compares documents alone.

    `twins` of the same threshold remember texts that were compared before.
    """
    if not 0.0 <= threshold <= 1.0:
        raise SettingError(f"dedup threshold is {threshold!r}; it must lie between 0 and 1")
    ranked = sorted(windows, key=by_order)
    if len(ranked) < 2:
        return tuple(ranked), ()
    twins = twins or Twins(threshold)
    like_others = twins.like_others([window.text for window in ranked])
    if across_only and not like_others:
        return tuple(ranked), ()
    shingles = _Shingles(twins)
    ranges = _Ranges(threshold)
    by_text: dict[str, Window] = {}
    kept: list[Window] = []
    left_out: list[Duplicate] = []
    for window in ranked:
        if across_only and window.text not in like_others:
            kept.append(window)
            continue
        better = by_text.get(window.text)
        if across_only and better is not None and better.path == window.path:
            better = None
        inside = None if across_only else ranges.covering(window)
        found = (better, 1.0) if better else inside or shingles.covering(window)
        if found:
            left_out.append(Duplicate(window, *found))
            continue
        by_text.setdefault(window.text, window)
        if not across_only:
            ranges.add(window)
        shingles.add(window)
        kept.append(window)
    return tuple(kept), tuple(left_out)


class _Ranges:
    """Kept byte ranges, by document. No kept range lies inside another, so starts and ends sort alike."""

    def __init__(self, threshold: float) -> None:
        self._threshold = threshold
        self._kept: dict[str, list[tuple[int, int, int]]] = defaultdict(list)
        self._windows: list[Window] = []

    def add(self, window: Window) -> None:
        if window.document is not None:
            insort(self._kept[window.document.id], (window.start, window.end, len(self._windows)))
            self._windows.append(window)

    def covering(self, window: Window) -> tuple[Window, float] | None:
        """The kept window of the same document that shares the most with this one, if it is enough."""
        kept = self._kept.get(window.document.id) if window.document is not None else None
        if not kept:
            return None
        best: tuple[float, int] | None = None
        at = bisect_left(kept, (window.start, 0, 0))
        neighbours = [
            *_outwards(kept, range(at - 1, -1, -1), window),
            *_outwards(kept, range(at, len(kept)), window),
        ]
        for start, end, number in neighbours:
            shared = min(end, window.end) - max(start, window.start)
            overlap = shared / max(min(end - start, window.end - window.start), 1)
            if overlap > self._threshold and (best is None or (-overlap, number) < (-best[0], best[1])):
                best = (overlap, number)
        return (self._windows[best[1]], best[0]) if best else None


def _outwards(
    kept: Sequence[tuple[int, int, int]], numbers: Iterable[int], window: Window
) -> Iterable[tuple[int, int, int]]:
    """Ranges that meet the window, nearest first, until one does not."""
    for number in numbers:
        start, end, _ = kept[number]
        if min(end, window.end) <= max(start, window.start):
            break
        yield kept[number]


class Twins:
    """Which texts share more than a threshold of the shorter one's shingles? Each is read once.

    >>> texts = ["one two three four five", "Four five, one two three four five", "six", "seven", "seven"]
    >>> [text in Twins(0.8).like_others(texts) for text in texts]
    [True, True, False, True, True]
    """

    def __init__(self, threshold: float) -> None:
        self.sets = RunSets(_MARKS, run=SHINGLE, share=threshold)
        self._numbers: dict[str, int] = {}

    def number(self, text: str) -> int:
        """The number of a text, from 0 on."""
        number = self._numbers.get(text)
        if number is None:
            number = self._numbers[text] = self.sets.add(text.casefold().encode())
        return number

    def like_others(self, texts: Sequence[str]) -> set[str]:
        """Those of some texts that are there twice or much like any other that was ever compared, which are few."""
        known = list(map(self._numbers.get, texts))
        numbers = [self.number(text) if at is None else at for text, at in zip(texts, known, strict=True)]
        found = set(compress(texts, self.sets.are_alike(numbers)))
        if len(set(numbers)) < len(numbers):
            found.update(text for text, count in Counter(texts).items() if count > 1)
        return found


class _Shingles:
    """Kept windows by the number of their text."""

    def __init__(self, twins: Twins) -> None:
        self._twins = twins
        self._texts = KeptTexts()
        self._windows: list[Window] = []
        self._documents: dict[str, int] = {}

    def add(self, window: Window) -> None:
        self._texts.add(self._twins.number(window.text), self._document(window))
        self._windows.append(window)

    def covering(self, window: Window) -> tuple[Window, float] | None:
        """The kept window of another document that shares the most shingles, if it is enough; of equal ones the best.

        In one document bytes decide, not words.
        """
        number = self._twins.number(window.text)
        found = self._twins.sets.most_alike(number, self._document(window), self._texts)
        return (self._windows[found[0]], found[1]) if found else None

    def _document(self, window: Window) -> int:
        return -1 if window.document is None else self._documents.setdefault(window.document.id, len(self._documents))
