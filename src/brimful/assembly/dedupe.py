"""Windows that a better one covers (CFS §10); they are compared after sorting, so the best copy stays."""

from __future__ import annotations

from array import array
from bisect import bisect_left, insort
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import compress
from operator import attrgetter

from brimful.errors import SettingError
from brimful.native.runs import RunSets
from brimful.windows.window import Window

SHINGLE = 5
"""Words in a shingle: long enough that chance does not repeat one, short enough to survive an edit."""

_UNSPACED_LEAD = 0xE3
"""The first lead byte of scripts mostly without spaces, where each character is a word."""

by_order = attrgetter("order")
"""The sort key of windows, best first."""

_MARKS = bytes(
    2 if byte >= _UNSPACED_LEAD else byte >= 0x80 or byte == ord("_") or chr(byte).isalnum() for byte in range(256)
)


@dataclass(frozen=True, slots=True)
class Duplicate:
    """An omitted window, and the better one that has its content."""

    window: Window
    of: Window
    overlap: float


def dedupe(windows: Iterable[Window], *, threshold: float = 0.8) -> tuple[Window, ...]:
    """Windows sorted best first, without duplicates of better ones.

    A window is left out if its text equals a better one's, or if their overlap is above `threshold`: shared / shorter,
    in bytes inside one document, in five-word shingles across documents.

    >>> [w.path for w in dedupe([Window("b", "same words"), Window("a", "same words", score=1.0)])]
    ['a']
    """
    return split_duplicates(windows, threshold=threshold)[0]


def split_duplicates(
    windows: Iterable[Window], *, threshold: float = 0.8, across_only: bool = False, twins: Twins | None = None
) -> tuple[tuple[Window, ...], tuple[Duplicate, ...]]:
    """The windows that stay and the duplicates; `across_only` compares different documents only, but for equal texts.

    `twins` of an equal threshold remember texts that were compared before.
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
        inside = None if across_only else ranges.covering(window)
        covering = (better, 1.0) if better else inside or shingles.covering(window)
        if covering:
            left_out.append(Duplicate(window, *covering))
            continue
        by_text.setdefault(window.text, window)
        if not across_only:
            ranges.add(window)
        shingles.add(window)
        kept.append(window)
    return tuple(kept), tuple(left_out)


class _Ranges:
    """Kept byte ranges by document; none lies inside another, so starts and ends sort alike."""

    def __init__(self, threshold: float) -> None:
        self._threshold = threshold
        self._kept: dict[str, list[tuple[int, int, int]]] = defaultdict(list)
        self._windows: list[Window] = []

    def add(self, window: Window) -> None:
        if window.document is not None:
            insort(self._kept[window.document.id], (window.start, window.end, len(self._windows)))
            self._windows.append(window)

    def covering(self, window: Window) -> tuple[Window, float] | None:
        """The kept window of its document that overlaps most, if above the threshold."""
        kept = self._kept.get(window.document.id) if window.document is not None else None
        if not kept:
            return None
        best: tuple[float, int] | None = None
        index = bisect_left(kept, (window.start, 0, 0))
        neighbours = [
            *_outwards(kept, range(index - 1, -1, -1), window),
            *_outwards(kept, range(index, len(kept)), window),
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
    """Ranges that overlap the window, nearest first."""
    for number in numbers:
        start, end, _ = kept[number]
        if min(end, window.end) <= max(start, window.start):
            break
        yield kept[number]


class Twins:
    """Texts that share more than a threshold of the shorter one's shingles; each text is read once.

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
        """The texts that occur twice, or resemble any text compared before."""
        numbers = list(map(self.number, texts))
        repeated = {text for text, count in Counter(texts).items() if count > 1}
        return repeated | set(compress(texts, self.sets.are_alike(numbers)))


class _Shingles:
    """Kept windows by the number of their text."""

    def __init__(self, twins: Twins) -> None:
        self._twins = twins
        self._numbers, self._document_numbers = array("q"), array("q")
        self._windows: list[Window] = []
        self._documents: dict[str, int] = {}

    def add(self, window: Window) -> None:
        self._numbers.append(self._twins.number(window.text))
        self._document_numbers.append(self._document(window))
        self._windows.append(window)

    def covering(self, window: Window) -> tuple[Window, float] | None:
        """The best kept window of another document that shares most shingles, if above the threshold."""
        number = self._twins.number(window.text)
        alike = self._twins.sets.most_alike(number, self._document(window), self._numbers, self._document_numbers)
        return (self._windows[alike[0]], alike[1]) if alike else None

    def _document(self, window: Window) -> int:
        return -1 if window.document is None else self._documents.setdefault(window.document.id, len(self._documents))
