"""Where do windows begin and end, before natural boundaries are looked at?

Everything here is arithmetic on one document's ruler. A ruler maps bytes to the lengths that the
budget is shared in: bytes as they are, or for code only those that are not white space, so that
indentation does not steer the choice (085b §5.3).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from brimful.corpus.documents import Document, Hit
from brimful.settings import WindowSettings
from brimful.text.cuts import BLANKS, FILLED
from brimful.windows.focus import focused
from brimful.windows.sizing import Size, padding_for

Joinable = Callable[[int, int], bool]
"""May the bytes between these two places stand in one window?"""

_STRIDE = 512


class Ruler:
    """Lengths along a document: `at(byte)` is a mark, `first_byte(mark)` the byte where it begins.

    For code, what is not white space is summed up once every 512 bytes, and counted in between.
    """

    __slots__ = ("_content", "_sums", "length")

    def __init__(self, document: Document) -> None:
        self._content = document.content
        self._sums: NDArray[np.int64] | None = None
        self.length = len(document)
        if document.kind == "code" and len(document) and document.is_whole:
            padding = b" " * (-len(document.content) % _STRIDE)
            filled = FILLED[np.frombuffer(document.content + padding, np.uint8)]
            counts = np.count_nonzero(filled.reshape(-1, _STRIDE), axis=1)
            self._sums = np.concatenate((np.zeros(1, np.int64), np.cumsum(counts)))
            self.length = int(self._sums[-1])

    def at(self, byte: int) -> int:
        """The mark at a byte."""
        if self._sums is None:
            return byte
        stride = byte // _STRIDE
        part = self._content[stride * _STRIDE : byte]
        return int(self._sums[stride]) + len(part.translate(None, BLANKS))

    def words_of(self, hit: Hit, longest: int) -> tuple[int, int] | None:
        """Where a hit has as many of its words as fit into so many bytes."""
        seen = focused(self._content, hit)
        part = next((part for part in seen if len(part) <= longest), seen[-1] if seen else None)
        return None if part is None else (self.at(part.start), self.at(part.end))

    def first_byte(self, mark: int) -> int:
        """The smallest byte with this mark: leading white space belongs to what follows it."""
        if self._sums is None or mark <= 0:
            return mark if self._sums is None else 0
        stride = int(self._sums.searchsorted(mark)) - 1
        begin = stride * _STRIDE
        part = np.frombuffer(self._content[begin : begin + _STRIDE], np.uint8)
        return begin + int(np.flatnonzero(FILLED[part])[mark - int(self._sums[stride]) - 1]) + 1


@dataclass(slots=True)
class Place:
    """A hit in marks."""

    start: int
    end: int
    hit: Hit
    is_clipped: bool = False  # does it begin before `start`, in an earlier window?
    words: tuple[int, int] | None = None  # where the words stand for which it was found, if it is a long one
    share: int = 0  # of the budget
    radius: int = 0  # radial, elastic: bytes on each side

    def after(self, mark: int) -> Place:
        """What of the place lies behind a mark."""
        if self.start >= mark:
            return self
        return Place(mark, self.end, self.hit, is_clipped=True, share=self.share, radius=self.radius)


@dataclass(slots=True)
class Draft:
    """A window in the making: `[start, end)` in marks around its places."""

    start: int
    end: int
    places: list[Place]
    share: int
    core_end: int = field(init=False)

    def __post_init__(self) -> None:
        self.core_end = max(place.end for place in self.places)

    def __len__(self) -> int:
        return self.end - self.start

    @property
    def core_start(self) -> int:
        """Where the first hit begins; places are sorted."""
        return self.places[0].start

    @property
    def score(self) -> float:
        """The best hit's."""
        return max(place.hit.score for place in self.places)


def places_of(hits: Iterable[tuple[Hit, Size]], ruler: Ruler) -> list[Place]:
    """Hits in reading order, as places on the ruler; of those that are longer than the cap also where their words are.

    A hit gets its share, or its own length where that is more: the sizes have counted it so.
    """
    places = []
    for hit, size in sorted(hits, key=lambda each: (each[0].start, each[0].end, each[0].order)):
        longest = size.cap_bytes
        words = ruler.words_of(hit, longest) if longest is not None and hit.end - hit.start > longest else None
        start, end = ruler.at(hit.start), ruler.at(hit.end)
        share = max(size.share_bytes, end - start) if size.policy == "density" else size.share_bytes
        places.append(Place(start, end, hit, words=words, share=share, radius=size.radius_bytes))
    return places


def draft_windows(
    places: Sequence[Place], size: Size, *, length: int, settings: WindowSettings, joinable: Joinable
) -> list[Draft]:
    """Windows around the places of one document, by the rules of the size's policy (ruling 4)."""
    if size.policy == "density":
        drafts = _dense(places, size, length=length, settings=settings, joinable=joinable)
    else:
        drafts = [
            Draft(
                max(place.start - place.radius, 0),
                min(max(place.start + place.radius, place.end), length),
                [place],
                place.share,
            )
            for place in places
        ]
        drafts = [part for draft in merge_drafts(drafts, joinable) for part in _under(draft, size.cap_bytes)]
    return refill(drafts, length=length, cap=size.cap_bytes, joinable=joinable) if settings.refill else drafts


def _dense(
    places: Sequence[Place], size: Size, *, length: int, settings: WindowSettings, joinable: Joinable
) -> list[Draft]:
    """Merge raw gaps under the threshold, pad, clamp, merge what overlaps, cap (085a §2.1)."""
    drafts = [Draft(place.start, place.end, [place], place.share) for place in places]
    drafts = merge_drafts(drafts, joinable, gap=settings.merge_gap_bytes - 1)
    capped: list[Draft] = []
    for draft in drafts:
        _pad(draft, size, length=length, settings=settings)
    for draft in merge_drafts(drafts, joinable):
        capped.extend(_cap(draft, size, length=length, settings=settings))
    return capped


def _pad(draft: Draft, size: Size, *, length: int, settings: WindowSettings) -> None:
    core = draft.core_end - draft.core_start
    padding = padding_for(min(draft.share, size.cap_bytes or draft.share), core, settings=settings)
    draft.start = max(draft.core_start - padding, 0)
    draft.end = min(draft.core_end + padding, length)


def _cap(draft: Draft, size: Size, *, length: int, settings: WindowSettings) -> list[Draft]:
    """Keep windows under the cap: less padding first, then split at the widest gap between hits.

    Where the gaps between hits would eat what other hits need, they are split too: quantity first (085a §3.1).
    """
    assert size.cap_bytes is not None
    capped: list[Draft] = []
    waiting = [draft]
    while waiting:
        draft = waiting.pop()
        core = draft.core_end - draft.core_start
        is_tight = size.budget_bytes is not None and core > draft.share and len(draft.places) > 1
        limit = min(draft.share if is_tight else max(draft.share, core), size.cap_bytes)
        if core <= limit:
            if len(draft) > limit:
                shrink(draft, limit)
            capped.append(draft)
        elif len(draft.places) == 1:
            first, last = draft.places[0].words or (draft.core_start, draft.core_start)
            latest = draft.core_end - limit
            draft.start = min(max(first - max(limit - (last - first), 0) // 2, draft.core_start), latest)
            draft.end = draft.start + limit
            capped.append(draft)
        else:
            waiting.extend(reversed(_split(draft, size, length=length, settings=settings)))
    return capped


def _split(draft: Draft, size: Size, *, length: int, settings: WindowSettings) -> list[Draft]:
    """Two windows, parted in the middle of the widest gap between hits."""
    cut = _widest_gap(draft.places)
    left, reach = draft.places[:cut], max(place.end for place in draft.places[:cut])
    # Hits that reach over the cut are shown from there on; those that end before it are shown already.
    right = [place.after(reach) for place in draft.places[cut:] if place.end > reach]
    left += [place for place in draft.places[cut:] if place.end <= reach]
    if not right:
        return [Draft(draft.start, draft.end, left[:1], draft.share)]
    middle = (reach + min(place.start for place in right)) // 2
    parts = []
    for places, low, high in ((left, draft.start, middle), (right, middle, draft.end)):
        part = Draft(low, high, places, sum(place.share for place in places))
        _pad(part, size, length=length, settings=settings)
        part.start, part.end = max(part.start, low), min(part.end, high)
        parts.append(part)
    return parts


def _under(draft: Draft, cap: int | None) -> list[Draft]:
    """A window that radiates, in parts where it is over the cap: each ends in the middle of a gap (ruling 4)."""
    done: list[Draft] = []
    waiting = [draft]
    while waiting:
        draft = waiting.pop()
        cut = _widest_gap(draft.places) if cap is not None and len(draft) > cap and len(draft.places) > 1 else 0
        left, right = draft.places[:cut], draft.places[cut:]
        reach, begin = max((place.end for place in left), default=0), min(place.start for place in right)
        if not cut or begin < reach:  # short enough, or nowhere to be parted
            done.append(draft)
            continue
        middle = (reach + begin) // 2
        waiting.append(Draft(middle, draft.end, right, sum(place.share for place in right)))
        waiting.append(Draft(draft.start, middle, left, sum(place.share for place in left)))
    return done


def _widest_gap(places: Sequence[Place]) -> int:
    """The index of the place after the widest gap; of equals the one nearest to the middle, so that halves are even."""
    reach, best, widest = places[0].end, 1, (places[1].start - places[0].end, -len(places))
    for index in range(1, len(places)):
        gap = (places[index].start - reach, -abs(2 * index - len(places)))
        if gap > widest:
            best, widest = index, gap
        reach = max(reach, places[index].end)
    return best


def shrink(draft: Draft, limit: int) -> None:
    """Take padding away from both sides in proportion until the draft is `limit` long."""
    before, after = draft.core_start - draft.start, draft.end - draft.core_end
    spare = limit - (draft.core_end - draft.core_start)
    keep_before = spare * before // max(before + after, 1)
    draft.start = draft.core_start - keep_before
    draft.end = draft.core_end + min(spare - keep_before, after)


def merge_drafts(drafts: Iterable[Draft], joinable: Joinable, *, gap: int = 0) -> list[Draft]:
    """Join drafts that overlap, touch, or lie within `gap`, unless something between them forbids it."""
    merged: list[Draft] = []
    for draft in sorted(drafts, key=lambda draft: (draft.core_start, draft.core_end)):
        last = merged[-1] if merged else None
        if last is not None and draft.start - last.end <= gap:
            if draft.core_start < last.core_end or joinable(last.core_end, draft.core_start):
                _absorb(last, draft)
                last.start = max(last.start, merged[-2].end if len(merged) > 1 else 0)
                continue
            middle = (last.core_end + draft.core_start) // 2
            last.end, draft.start = min(last.end, middle), max(draft.start, middle)
        merged.append(draft)
    return merged


def _place_order(place: Place) -> tuple[int, int, tuple[float, str, int, int, int, tuple[str, ...]]]:
    return (place.start, place.end, place.hit.order)


def _absorb(draft: Draft, later: Draft) -> None:
    draft.start, draft.end = min(draft.start, later.start), max(draft.end, later.end)
    in_order = _place_order(draft.places[-1]) <= _place_order(later.places[0])
    draft.places.extend(later.places)
    if not in_order:
        draft.places.sort(key=_place_order)
    draft.core_end = max(draft.core_end, later.core_end)
    draft.share += later.share


def refill(drafts: list[Draft], *, length: int, cap: int | None, joinable: Joinable) -> list[Draft]:
    """Widen each window to its share: what a merge or a document's edge saved is spent (085b §5.4)."""
    while True:
        for index, draft in enumerate(drafts):
            low = drafts[index - 1].end if index else 0
            high = drafts[index + 1].start if index + 1 < len(drafts) else length
            widen(draft, min(draft.share, cap or draft.share), low=low, high=high)
        merged = _merge_touching(drafts, joinable, cap=cap)
        if len(merged) == len(drafts):
            return merged
        drafts = merged


def widen(draft: Draft, target: int, *, low: int, high: int) -> int:
    """Grow to `target`, evenly on both sides, within `[low, high)`; returns how much was added."""
    room = target - len(draft)
    if room <= 0:
        return 0
    before = min(room // 2, draft.start - low)
    after = min(room - before, high - draft.end)
    before = min(room - after, draft.start - low)
    draft.start, draft.end = draft.start - before, draft.end + after
    return before + after


def _merge_touching(drafts: Sequence[Draft], joinable: Joinable, *, cap: int | None) -> list[Draft]:
    """Join neighbours that touch, as long as the union stays under the cap."""
    merged: list[Draft] = []
    for draft in drafts:
        last = merged[-1] if merged else None
        if (
            last is not None
            and draft.start <= last.end
            and joinable(last.core_end, draft.core_start)
            and (cap is None or max(draft.end, last.end) - last.start <= cap)
        ):
            _absorb(last, draft)
        else:
            merged.append(draft)
    return merged
