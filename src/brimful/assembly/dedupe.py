"""Which windows say what a better one says already? (CFS §10, after sorting: the best copy survives)."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import defaultdict
from collections.abc import Iterable, Sequence

import numpy as np
from blake3 import blake3
from numpy.typing import NDArray

from brimful.classes import dataclass
from brimful.errors import SettingError
from brimful.windows.window import Window

SHINGLE = 5
"""Words in a shingle: long enough that chance does not repeat one, short enough to survive an edit."""

_MULTIPLIER = np.uint64(0x9E37_79B9_7F4A_7C15)
_UNSPACED_LEAD = 0xE3
"""From here on lead bytes belong to scripts without spaces, mostly: each of their characters is a word."""

_SEPARATES = np.ones(256, bool)
_SEPARATES[[*range(ord("0"), ord("9") + 1), *range(ord("A"), ord("Z") + 1), *range(ord("a"), ord("z") + 1)]] = False
_SEPARATES[ord("_")] = False
_SEPARATES[0x80:] = False


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
    windows: Iterable[Window], *, threshold: float = 0.8, across_only: bool = False
) -> tuple[tuple[Window, ...], tuple[Duplicate, ...]]:
    """What `dedupe` keeps, and what it leaves out with the reason; `across_only` compares documents alone."""
    if not 0.0 <= threshold <= 1.0:
        raise SettingError(f"dedup threshold is {threshold!r}; it must lie between 0 and 1")
    ranked = sorted(windows, key=lambda window: window.order)
    shingles = _Shingles(ranked, threshold)
    ranges = _Ranges(threshold)
    by_text: dict[bytes, Window] = {}
    kept: list[Window] = []
    left_out: list[Duplicate] = []
    for number, window in enumerate(ranked):
        digest = blake3(window.text.encode()).digest()
        better = by_text.get(digest)
        if across_only and better is not None and better.path == window.path:
            better = None
        inside = None if across_only else ranges.covering(window)
        found = (better, 1.0) if better else inside or shingles.covering(number)
        if found:
            left_out.append(Duplicate(window, *found))
            continue
        by_text.setdefault(digest, window)
        ranges.add(window)
        shingles.add(number)
        kept.append(window)
    return tuple(kept), tuple(left_out)


class _Ranges:
    """Kept byte ranges, by document. No kept range lies inside another, so starts and ends sort alike."""

    def __init__(self, threshold: float) -> None:
        self._threshold = threshold
        self._kept: dict[str, list[tuple[int, int, int]]] = defaultdict(list)
        self._windows: list[Window] = []

    def add(self, window: Window) -> None:
        if window.document:
            insort(self._kept[window.document.id], (window.start, window.end, len(self._windows)))
            self._windows.append(window)

    def covering(self, window: Window) -> tuple[Window, float] | None:
        """The kept window of the same document that shares the most with this one, if it is enough."""
        kept = self._kept.get(window.document.id) if window.document else None
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


class _Shingles:
    """Kept windows by shingle, so that only windows which share a rare one are ever compared.

    Two windows that overlap above t share one of the rarest `n - floor(t * n)` shingles of the shorter
    (else too few would be left), so it is enough to look up the rare ones of the new window among
    all shingles kept, and all of its own among the rare ones kept. Shingles that only one window
    has are counted, but never looked up.
    """

    def __init__(self, windows: Sequence[Window], threshold: float) -> None:
        self._windows, self._threshold = windows, threshold
        self._sizes, self._sets, rare = _shingle_sets([window.text for window in windows], threshold)
        self._rare = [found[:count] for found, count in zip(self._sets, rare, strict=True)]
        self._having: dict[int, list[int]] = {}
        self._having_rare: dict[int, list[int]] = {}

    def add(self, number: int) -> None:
        for index, shingles in ((self._having, self._sets[number]), (self._having_rare, self._rare[number])):
            for shingle in shingles:
                if shingle in index:
                    index[shingle].append(number)
                else:
                    index[shingle] = [number]

    def covering(self, number: int) -> tuple[Window, float] | None:
        """The kept window of another document that shares the most shingles, if it is enough."""
        mine = self._sets[number]
        candidates: set[int] = set()
        for index, shingles in ((self._having, self._rare[number]), (self._having_rare, mine)):
            for shingle in shingles:
                if shingle in index:
                    candidates.update(index[shingle])
        if not candidates:
            return None
        window, own = self._windows[number], set(mine)
        best: tuple[float, int] | None = None
        for other in sorted(candidates):
            better = self._windows[other]
            if window.document and better.document and window.document.id == better.document.id:
                continue  # one document: bytes decide, not words
            shared = len(own.intersection(self._sets[other]))
            overlap = shared / min(self._sizes[number], self._sizes[other])
            if overlap > self._threshold and (best is None or overlap > best[0]):
                best = (overlap, other)
        return (self._windows[best[1]], best[0]) if best else None


def _shingle_sets(texts: Sequence[str], threshold: float) -> tuple[list[int], list[list[int]], list[int]]:
    """How many distinct shingles each text has; those that others have too, the rarest first; how many are rare."""
    hashes, owners = _shingle_hashes(texts)
    order = np.argsort(hashes, kind="stable")  # `np.unique` would load the masked arrays, which takes a while
    is_first = np.ones(len(order), np.bool_)
    np.not_equal(hashes[order[1:]], hashes[order[:-1]], out=is_first[1:])
    ids = np.empty(len(order), np.int64)
    ids[order] = np.cumsum(is_first) - 1
    counts = np.bincount(ids)
    # Rank shingles by rarity, so that sorting (text, rank) in one number groups and orders at once.
    ranks = np.empty(len(counts), np.int64)
    ranks[np.argsort(counts, kind="stable")] = np.arange(len(counts))
    keys = np.sort((owners << 32) | ranks[ids])
    keys = keys[np.diff(keys, prepend=-1) != 0]
    owners, found = keys >> 32, keys & 0xFFFF_FFFF
    sizes = np.bincount(owners, minlength=len(texts))
    alone = np.count_nonzero(counts == 1)
    first = np.searchsorted(keys, (np.arange(len(texts)) << 32) | alone)
    last = np.cumsum(sizes)
    single = first - (last - sizes)
    rare = np.maximum(sizes - (threshold * sizes).astype(np.int64) - single, 0)
    flat = found.tolist()
    sets = [flat[start:end] for start, end in zip(first.tolist(), last.tolist(), strict=True)]
    return sizes.tolist(), sets, rare.tolist()


def _shingle_hashes(texts: Sequence[str]) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    """Hash every run of five words; a text with fewer words is one shingle. Without a loop per word."""
    raw = [text.casefold().encode() + b" " for text in texts]
    codes = np.frombuffer(b"".join(raw), np.uint8)
    text_ends = np.cumsum([len(part) for part in raw]) if raw else np.zeros(0, np.int64)
    inside = ~_SEPARATES[codes]
    after = np.concatenate(([False], inside[:-1]))
    begins = inside & (~after | (codes >= _UNSPACED_LEAD))
    starts = np.flatnonzero(begins)
    ends = np.flatnonzero(np.concatenate(((begins | ~inside) & after, [False]))) if len(codes) else starts
    words = _word_hashes(codes, starts, ends)
    owners = np.searchsorted(text_ends, starts, side="right").astype(np.int64)
    first_word = np.searchsorted(owners, np.arange(len(texts)))
    last_word = np.searchsorted(owners, np.arange(len(texts)), side="right")
    position = np.arange(len(words))
    full = position + SHINGLE <= last_word[owners] if len(words) else np.zeros(0, bool)
    short = (
        (position == first_word[owners]) & (last_word[owners] - first_word[owners] < SHINGLE) if len(words) else full
    )
    hashes = np.zeros(len(words), np.uint64)
    for step in range(SHINGLE):
        index = np.minimum(position + step, len(words) - 1)
        live = position + step < last_word[owners] if len(words) else full
        hashes = np.where(live, (hashes ^ words[index]) * _MULTIPLIER + np.uint64(step + 1), hashes)
    chosen = full | short
    return hashes[chosen], owners[chosen]


def _word_hashes(codes: NDArray[np.uint8], starts: NDArray[np.int64], ends: NDArray[np.int64]) -> NDArray[np.uint64]:
    """A 64-bit hash of each word: a polynomial over its bytes by prefix sums, mixed."""
    powers = np.ones(len(codes) + 1, np.uint64)
    np.multiply.accumulate(np.full(len(codes), _MULTIPLIER | np.uint64(1)), out=powers[1:])
    sums = np.zeros(len(codes) + 1, np.uint64)
    np.cumsum((codes.astype(np.uint64) + np.uint64(1)) * powers[:-1], out=sums[1:])
    # sum(byte * p^i) for a word differs by p^start between places: multiply up to a common power.
    value = (sums[ends] - sums[starts]) * powers[len(codes) - starts]
    value ^= value >> np.uint64(29)
    return value * _MULTIPLIER
