"""Which windows say what a better one says already? (CFS §10, after sorting: the best copy survives)."""

from __future__ import annotations

from array import array
from bisect import bisect_left, insort
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from operator import attrgetter

from brimful.classes import dataclass
from brimful.errors import SettingError
from brimful.kernels.runs import RunSets
from brimful.windows.window import Window

SHINGLE = 5
"""Words in a shingle: long enough that chance does not repeat one, short enough to survive an edit."""

_MOST_ALIKE = 64  # texts that are remembered of one
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
    if across_only and like_others == set():
        return tuple(ranked), ()
    shingles = _Shingles(twins)
    ranges = _Ranges(threshold)
    by_text: dict[str, Window] = {}
    kept: list[Window] = []
    left_out: list[Duplicate] = []
    for window in ranked:
        if across_only and like_others is not None and window.text not in like_others:
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
    """Which texts share more than a threshold of the shorter one's shingles? Each is compared with the others once.

    A text that is much like very many others, as licences are, is not: it is compared with those that are kept.

    >>> twins, text = Twins(0.8), "one two three four five six seven eight nine ten"
    >>> kept = array("q", [twins.number(each) for each in (text + " eleven", "eleven")])
    >>> twins.among(twins.number(text), kept), twins.among(1, kept)
    ({0: 1.0, 2: 1.0}, {1: 1.0})
    """

    def __init__(self, threshold: float) -> None:
        self._threshold = threshold
        self._sets = RunSets(_MARKS, run=SHINGLE, share=threshold)
        self._numbers: dict[str, int] = {}
        self._texts: list[str] = []
        self._alike: list[dict[int, float] | None] = []  # None for those that are much like very many
        self._like_others: set[str] = set()
        self._crowded: set[str] = set()  # those that are much like very many

    def number(self, text: str) -> int:
        """The number of a text, from 0 on."""
        number = self._numbers.get(text)
        if number is None:
            number, found = self._sets.compared(text.casefold().encode(), most=_MOST_ALIKE)
            self._numbers[text] = number
            self._texts.append(text)
            itself = {number: 1.0} if self._sets.sizes[number] else {}  # without words it shares nothing
            others = self._enough(found) if found else {}
            if found is None:
                self._crowded.add(text)
                self._like_others.add(text)
            self._alike.append(None if found is None else others | itself)
            for other, overlap in others.items():
                self._like_others.update((text, self._texts[other]))
                if (known := self._alike[other]) is not None:
                    known[number] = overlap
        return number

    def like_others(self, texts: Sequence[str]) -> set[str] | None:
        """Those of some texts that are there twice or much like any other that was ever compared, which are few.

        None where one is much like so many that these are not kept.
        """
        if not self._numbers.keys() >= (given := set(texts)):
            for text in texts:
                self.number(text)
        found = self._like_others & given
        if not self._crowded.isdisjoint(found):
            return None
        if len(given) < len(texts):
            found |= {text for text, count in Counter(texts).items() if count > 1}
        return found

    def is_crowded(self, number: int) -> bool:
        """Whether a text is much like so many that these are not kept."""
        return self._alike[number] is None

    def among(self, number: int, kept: array[int], crowded: array[int] | None = None) -> dict[int, float]:
        """The texts that are much alike to one, all those that are kept among them; `crowded` are such of these."""
        known = self._alike[number]
        if known is None:
            return self._enough(self._sets.alike(number, kept) or ())
        return known | self._enough(self._sets.alike(number, crowded) or ()) if crowded else known

    def _enough(self, found: Iterable[tuple[int, float]]) -> dict[int, float]:
        """Those that share enough."""
        return {other: overlap for other, overlap in found if overlap > self._threshold}


class _Shingles:
    """Kept windows by the number of their text."""

    def __init__(self, twins: Twins) -> None:
        self._twins = twins
        self._kept: dict[int, list[tuple[int, Window, str | None]]] = {}  # with their places and documents
        self._numbers, self._crowded = array("q"), array("q")
        self._count = 0

    def add(self, window: Window) -> None:
        number = self._twins.number(window.text)
        if number not in self._kept:
            self._kept[number] = []
            self._numbers.append(number)
            if self._twins.is_crowded(number):
                self._crowded.append(number)
        self._kept[number].append((self._count, window, window.document.id if window.document is not None else None))
        self._count += 1

    def covering(self, window: Window) -> tuple[Window, float] | None:
        """The kept window of another document that shares the most shingles, if it is enough; of equal ones the best.

        In one document bytes decide, not words.
        """
        best: tuple[float, int, Window] | None = None
        own = window.document.id if window.document is not None else None
        alike = self._twins.among(self._twins.number(window.text), self._numbers, self._crowded)
        for number, overlap in alike.items():
            for place, better, document in self._kept.get(number, ()):
                is_same = own is not None and own == document
                if not is_same and (best is None or (-overlap, place) < best[:2]):
                    best = (-overlap, place, better)
        return (best[2], -best[0]) if best else None
