"""Draft windows: where windows begin and end before they are moved to natural boundaries.

All arithmetic is on one document's ruler, which maps bytes to marks: bytes as they are, or in code without
white space, so that indentation does not steer the choice (085b §5.3).
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import accumulate

from brimful.documents.documents import Document, Hit
from brimful.outline.cuts import BLANKS
from brimful.settings import WindowSettings
from brimful.text.spans import Span, whole_characters
from brimful.text.terms import matches_in, query_terms
from brimful.windows.policies import Size, padding_for

Joinable = Callable[[int, int], bool]
"""Whether the bytes between two places may share a window."""

_STRIDE_BYTES = 512  # between the sums that a ruler keeps


def focused(content: bytes, hit: Hit, *, offset: int = 0) -> list[Span]:
    """Spans of a long hit worth showing, longest first: all words of the question in it, then ever fewer of them.

    A hit without `matches` is searched for its terms. The content begins `offset` bytes into the hit's document.
    """
    start, end = whole_characters(content, max(hit.start - offset, 0), max(hit.end - offset, 0))
    matches = [(first - offset, last - offset) for first, last in hit.matches]
    if not matches and hit.terms:
        names = [{query_term.term for query_term in query_terms(term)} for term in hit.terms]
        in_hit = matches_in(content[start:end].decode("utf-8", "replace"), names)
        matches = [(start + first, start + last) for first, last in in_hit]
    inside = [(max(first, start), min(last, end)) for first, last in matches if start <= first < min(last, end)]
    return list(dict.fromkeys(_cover(inside[:count]) for count in range(len(inside), 0, -1)))


def around(span: Span, limit: int, *, within: Span) -> Span:
    """A span widened to `limit` bytes, evenly on both sides where there is room; a longer one keeps its front.

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


class Ruler:
    """Marks along a document: `mark(byte)`, and back again `first_byte(mark)`.

    In code, sums are kept every 512 bytes and counted in between.
    """

    __slots__ = ("_content", "_sums", "length")

    def __init__(self, document: Document) -> None:
        self._content = document.content
        self._sums: array[int] | None = None
        self.length = len(document)
        if document.kind == "code" and document.is_whole:
            strides = (self._content[at : at + _STRIDE_BYTES] for at in range(0, len(self._content), _STRIDE_BYTES))
            sizes = (len(stride.translate(None, BLANKS)) for stride in strides)
            self._sums = array("q", accumulate(sizes, initial=0))
            self.length = self._sums[-1]

    def mark(self, byte: int) -> int:
        """The mark at a byte."""
        if self._sums is None:
            return byte
        stride = byte // _STRIDE_BYTES
        part = self._content[stride * _STRIDE_BYTES : byte]
        return self._sums[stride] + len(part.translate(None, BLANKS))

    def words_of(self, hit: Hit, longest: int) -> tuple[int, int] | None:
        """The marks of the longest focused span of a hit within `longest` bytes."""
        spans = focused(self._content, hit)
        part = next((part for part in spans if len(part) <= longest), spans[-1] if spans else None)
        return None if part is None else (self.mark(part.start), self.mark(part.end))

    def first_byte(self, mark: int) -> int:
        """The smallest byte with this mark: white space belongs to the text after it."""
        if self._sums is None or mark <= 0:
            return mark if self._sums is None else 0
        stride = bisect_left(self._sums, mark) - 1
        begin = stride * _STRIDE_BYTES
        part = self._content[begin : begin + _STRIDE_BYTES]
        behind = [at + 1 for at, byte in enumerate(part) if byte not in BLANKS]
        count = mark - self._sums[stride]
        return begin + (behind[count - 1] if count <= len(behind) else len(part))


@dataclass(slots=True)
class Place:
    """A hit in marks."""

    start: int
    end: int
    hit: Hit
    is_clipped: bool = False  # does it begin before `start`, in an earlier window?
    words: tuple[int, int] | None = None  # of a hit over the cap: the marks of its matched words
    share: int = 0  # of the budget
    radius: int = 0  # radial, elastic: bytes on each side

    def after(self, mark: int) -> Place:
        """The part of the place after a mark."""
        if self.start >= mark:
            return self
        return Place(mark, self.end, self.hit, is_clipped=True, share=self.share, radius=self.radius)


@dataclass(slots=True)
class Draft:
    """A window before it has text: `[start, end)` in marks, around its places."""

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
        """The start of the first place; places are sorted."""
        return self.places[0].start

    @property
    def score(self) -> float:
        """The best hit's score."""
        return max(place.hit.score for place in self.places)


def places_of(hits: Iterable[tuple[Hit, Size]], ruler: Ruler) -> list[Place]:
    """Hits in reading order as places on the ruler, with the matched words of hits longer than the cap.

    In `density` a hit gets its share, or its own length if longer, as `density` has counted it.
    """
    places = []
    for hit, size in sorted(hits, key=lambda pair: (pair[0].start, pair[0].end, pair[0].order)):
        longest = size.cap_bytes
        words = ruler.words_of(hit, longest) if longest is not None and hit.end - hit.start > longest else None
        start, end = ruler.mark(hit.start), ruler.mark(hit.end)
        share = max(size.share_bytes, end - start) if size.policy == "density" else size.share_bytes
        places.append(Place(start, end, hit, words=words, share=share, radius=size.radius_bytes))
    return places


def draft_windows(
    places: Sequence[Place], size: Size, *, length: int, settings: WindowSettings, joinable: Joinable
) -> list[Draft]:
    """The draft windows of one document by the rules of its policy (ruling 4)."""
    if size.policy == "density":
        drafts = _dense(places, size, length=length, settings=settings, joinable=joinable)
    else:
        drafts = [_radiating(place, length) for place in places]
        drafts = [part for draft in _merge_drafts(drafts, joinable) for part in _under(draft, size.cap_bytes)]
    return refill(drafts, length=length, cap=size.cap_bytes, joinable=joinable) if settings.refill else drafts


def _radiating(place: Place, length: int) -> Draft:
    """A window of one radius on both sides of the place's middle, and at least the place itself."""
    middle = (place.start + place.end) // 2
    start, end = min(middle - place.radius, place.start), max(middle + place.radius, place.end)
    return Draft(max(start, 0), min(end, length), [place], place.share)


def _dense(
    places: Sequence[Place], size: Size, *, length: int, settings: WindowSettings, joinable: Joinable
) -> list[Draft]:
    """Merge over small gaps, pad, clamp, merge overlaps, cap (085a §2.1)."""
    drafts = [Draft(place.start, place.end, [place], place.share) for place in places]
    drafts = _merge_drafts(drafts, joinable, gap=settings.merge_gap_bytes - 1)
    capped: list[Draft] = []
    for draft in drafts:
        _pad(draft, size, length=length, settings=settings)
    for draft in _merge_drafts(drafts, joinable):
        capped.extend(_cap(draft, size, length=length, settings=settings))
    return capped


def _pad(draft: Draft, size: Size, *, length: int, settings: WindowSettings) -> None:
    core = draft.core_end - draft.core_start
    padding = padding_for(min(draft.share, size.cap_bytes or draft.share), core, settings=settings)
    draft.start = max(draft.core_start - padding, 0)
    draft.end = min(draft.core_end + padding, length)


def _cap(draft: Draft, size: Size, *, length: int, settings: WindowSettings) -> list[Draft]:
    """Parts of a window under the cap: less padding first, then a split at the widest gap between hits.

    A window is also split where gaps between its hits would take the room of other hits (085a §3.1).
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
    """Two windows, split in the middle of the widest gap between hits."""
    cut = _widest_gap(draft.places)
    left, reach = draft.places[:cut], max(place.end for place in draft.places[:cut])
    # A hit that reaches over the cut is shown from there on.
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
    """A window of `radial` or `elastic` in parts under the cap, split in the middle of gaps (ruling 4)."""
    parts: list[Draft] = []
    waiting = [draft]
    while waiting:
        draft = waiting.pop()
        cut = _widest_gap(draft.places) if cap is not None and len(draft) > cap and len(draft.places) > 1 else 0
        left, right = draft.places[:cut], draft.places[cut:]
        reach, begin = max((place.end for place in left), default=0), min(place.start for place in right)
        if not cut or begin < reach:  # short enough, or without a gap to split at
            parts.append(draft)
            continue
        middle = (reach + begin) // 2
        waiting.append(Draft(middle, draft.end, right, sum(place.share for place in right)))
        waiting.append(Draft(draft.start, middle, left, sum(place.share for place in left)))
    return parts


def _widest_gap(places: Sequence[Place]) -> int:
    """The index of the place after the widest gap; of equal gaps, the one nearest to the middle."""
    reach, best, widest = places[0].end, 1, (places[1].start - places[0].end, -len(places))
    for index in range(1, len(places)):
        gap = (places[index].start - reach, -abs(2 * index - len(places)))
        if gap > widest:
            best, widest = index, gap
        reach = max(reach, places[index].end)
    return best


def shrink(draft: Draft, limit: int) -> None:
    """Cut padding from both sides in proportion until the draft is `limit` long."""
    before, after = draft.core_start - draft.start, draft.end - draft.core_end
    spare = limit - (draft.core_end - draft.core_start)
    keep_before = spare * before // max(before + after, 1)
    draft.start = draft.core_start - keep_before
    draft.end = draft.core_end + min(spare - keep_before, after)


def _merge_drafts(drafts: Iterable[Draft], joinable: Joinable, *, gap: int = 0) -> list[Draft]:
    """Join drafts that overlap, touch, or lie within `gap`, where they are joinable."""
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
    """Widen each window to its share with what merges and the document's edges saved (085b §5.4)."""
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
    """Grow to `target`, evenly on both sides, within `[low, high)`; returns the marks added."""
    room = target - len(draft)
    if room <= 0:
        return 0
    before = min(room // 2, draft.start - low)
    after = min(room - before, high - draft.end)
    before = min(room - after, draft.start - low)
    draft.start, draft.end = draft.start - before, draft.end + after
    return before + after


def _merge_touching(drafts: Sequence[Draft], joinable: Joinable, *, cap: int | None) -> list[Draft]:
    """Join neighbours that touch where the union stays under the cap."""
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
