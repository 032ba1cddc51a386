"""How much surrounds each hit, and where do windows begin and end before natural boundaries are looked at?"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import accumulate

from brimful.documents.documents import Document, Hit
from brimful.native.lines import count_filled, place_filled
from brimful.outline.cuts import BLANKS
from brimful.settings import Sizing, WindowSettings
from brimful.text.spans import Span, whole_characters
from brimful.text.terms import matches_in, query_terms

# ---- sizing: How many bytes should surround each hit? The seeds' three policies, as arithmetic only (`field` is in
# `waterline`).


@dataclass(frozen=True, slots=True)
class Size:
    """What a policy decided, and from what: the census comes first (105 §2.3)."""

    policy: Sizing
    census: int  # hits that asked for room
    kept: int  # hits that get some, the best first
    share_bytes: int  # each kept hit's share of the budget
    radius_bytes: int  # radial, elastic: on each side of a position
    cap_bytes: int | None  # the largest single window, if there is one
    budget_bytes: int | None  # what was shared out

    @property
    def squeezed(self) -> bool:
        """Were there more hits than the budget can show (085a §3.1 SQUEEZE)?"""
        return self.kept < self.census


def size_for(
    policy: Sizing,
    hit_bytes: Sequence[int],
    *,
    budget_bytes: int | None,
    budget_tokens: int | None,
    settings: WindowSettings,
) -> Size:
    """Apply one policy to hits of these lengths, the best first."""
    if policy == "field":
        return Size("field", len(hit_bytes), len(hit_bytes), 0, 0, None, budget_bytes)
    if policy == "density":
        return density(budget_bytes, hit_bytes, settings=settings)
    if policy == "elastic":
        return elastic(budget_bytes, len(hit_bytes), settings=settings)
    return radial(budget_tokens, len(hit_bytes), settings=settings)


def cap_for(policy: Sizing, settings: WindowSettings | None = None) -> int | None:
    """The largest window that a policy makes; `radial` and `field` have none."""
    settings = settings or WindowSettings()
    return {"density": settings.max_window_bytes, "elastic": 2 * settings.max_radius_bytes}.get(policy)


def density(budget_bytes: int | None, hit_bytes: Sequence[int], *, settings: WindowSettings) -> Size:
    """Quantity first: every hit gets an equal share, down to a minimum viable size (085a §3.1).

    A hit longer than its share takes its own length, and the others share what is left: for the
    seed's short hits this is the seed's arithmetic, and no hit is ever shortened to fit a share.
    Without a budget a window may grow to the static maximum of 2,500 bytes.

    >>> density(1_000, [20] * 10, settings=WindowSettings()).kept       # SQUEEZE: 10 x 150 > 1,000
    6
    >>> density(4_000, [20] * 10, settings=WindowSettings()).share_bytes  # EXPAND
    400
    >>> density(4_000, [1_300, 1_300, 20, 20], settings=WindowSettings()).share_bytes
    700
    """
    census, largest = len(hit_bytes), settings.max_window_bytes
    if budget_bytes is None:
        return Size("density", census, census, largest, 0, largest, None)
    least = [max(settings.min_viable_bytes, min(size, largest)) for size in hit_bytes]
    kept = sum(1 for total in accumulate(least) if total <= budget_bytes)
    if kept < census:
        # A budget below one viable window still shows the best hit, in what room there is.
        share = min(settings.min_viable_bytes, budget_bytes)
        return Size("density", census, max(kept, 1), share, 0, largest, budget_bytes)
    return Size("density", census, census, min(_level(budget_bytes, least), largest), 0, largest, budget_bytes)


def _level(budget_bytes: int, least: Sequence[int]) -> int:
    """The water line L with `sum(max(size, L)) <= budget`: an even share where no size exceeds it."""
    room, sizes = budget_bytes, sorted(least, reverse=True)
    for done, size in enumerate(sizes):
        share = room // (len(sizes) - done)
        if size <= share:
            return share
        room -= size
    return 0


def padding_for(share_bytes: int, hit_bytes: int, *, settings: WindowSettings) -> int:
    """Half of what the share leaves beside the hit, between 50 and 500 bytes (085a §3.2).

    The seed halves the whole share, which leaves no room for the hit; ruling 3 subtracts it first.

    >>> padding_for(400, 100, settings=WindowSettings()), padding_for(150, 100, settings=WindowSettings())
    (150, 50)
    """
    return min(max((share_bytes - hit_bytes) // 2, settings.min_padding_bytes), settings.max_padding_bytes)


def radial(budget_tokens: int | None, census: int, *, settings: WindowSettings) -> Size:
    """`floor(tokenBudget x charsPerToken / expectedResults / 2)` bytes on each side (085b §5.2).

    >>> [radial(tokens, 10, settings=WindowSettings()).radius_bytes for tokens in (2_000, 10_000, 20_000)]
    [400, 2000, 4000]
    """
    if budget_tokens is None:
        radius = settings.max_window_bytes // 2
    else:
        radius = budget_tokens * settings.chars_per_token // settings.expected_results // 2
    return Size("radial", census, census, 2 * radius, radius, None, None)


def elastic(budget_bytes: int | None, census: int, *, settings: WindowSettings) -> Size:
    """Rare hits get chapters, common ones snippets: `clamp(budget / hits / 2, 200, 32,000)` (105 §2.2).

    The squeeze runs before the floor, so that the floor can't overshoot the budget (ruling 3).

    >>> [elastic(100_000, hits, settings=WindowSettings()).radius_bytes for hits in (1, 10, 100, 10_000)]
    [32000, 5000, 500, 200]
    >>> elastic(100_000, 10_000, settings=WindowSettings()).kept
    250
    """
    if budget_bytes is None:
        radius = settings.max_window_bytes // 2
        return Size("elastic", census, census, 2 * radius, radius, None, None)
    smallest = 2 * settings.min_radius_bytes
    if census * smallest > budget_bytes:
        # A budget below one smallest window still shows the best hit, in what room there is.
        kept, radius = max(budget_bytes // smallest, 1), min(settings.min_radius_bytes, budget_bytes // 2)
    else:
        kept = census
        radius = min(max(budget_bytes // max(census, 1) // 2, settings.min_radius_bytes), settings.max_radius_bytes)
    return Size("elastic", census, kept, 2 * radius, radius, 2 * settings.max_radius_bytes, budget_bytes)


# ---- focus: Which part of a hit is shown where all of it is too long? The part around the words that were asked for.


def focused(content: bytes, hit: Hit, *, offset: int = 0) -> list[Span]:
    """What of a hit should be shown at least: all of its words, or else fewer, the last span just the first word.

    A hit that does not say where its words stand is searched for its terms; nothing where it has none. The content
    begins so many bytes after the hit's own document does.
    """
    start, end = whole_characters(content, max(hit.start - offset, 0), max(hit.end - offset, 0))
    matches = [(first - offset, last - offset) for first, last in hit.matches]
    if not matches and hit.terms:
        names = [{found.term for found in query_terms(term)} for term in hit.terms]
        found = matches_in(content[start:end].decode("utf-8", "replace"), names)
        matches = [(start + first, start + last) for first, last in found]
    inside = [(max(first, start), min(last, end)) for first, last in matches if start <= first < min(last, end)]
    return list(dict.fromkeys(_cover(inside[:count]) for count in range(len(inside), 0, -1)))


def around(span: Span, limit: int, *, within: Span) -> Span:
    """A span widened to so many bytes, evenly on both sides as far as there is room; a longer one keeps its front.

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


# ---- drafts: Where do windows begin and end, before natural boundaries are looked at?
#
# Everything here is arithmetic on one document's ruler. A ruler maps bytes to the lengths that the
# budget is shared in: bytes as they are, or for code only those that are not white space, so that
# indentation does not steer the choice (085b §5.3).

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
        self._sums: array[int] | None = None
        self.length = len(document)
        if document.kind == "code" and document.is_whole:
            self._sums = count_filled(document.content, _STRIDE)
            self.length = self._sums[-1]

    def at(self, byte: int) -> int:
        """The mark at a byte."""
        if self._sums is None:
            return byte
        stride = byte // _STRIDE
        part = self._content[stride * _STRIDE : byte]
        return self._sums[stride] + len(part.translate(None, BLANKS))

    def words_of(self, hit: Hit, longest: int) -> tuple[int, int] | None:
        """Where a hit has as many of its words as fit into so many bytes."""
        seen = focused(self._content, hit)
        part = next((part for part in seen if len(part) <= longest), seen[-1] if seen else None)
        return None if part is None else (self.at(part.start), self.at(part.end))

    def first_byte(self, mark: int) -> int:
        """The smallest byte with this mark: leading white space belongs to what follows it."""
        if self._sums is None or mark <= 0:
            return mark if self._sums is None else 0
        stride = bisect_left(self._sums, mark) - 1
        begin = stride * _STRIDE
        return begin + place_filled(self._content[begin : begin + _STRIDE], mark - self._sums[stride])


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
        drafts = [_radiating(place, length) for place in places]
        drafts = [part for draft in _merge_drafts(drafts, joinable) for part in _under(draft, size.cap_bytes)]
    return refill(drafts, length=length, cap=size.cap_bytes, joinable=joinable) if settings.refill else drafts


def _radiating(place: Place, length: int) -> Draft:
    """A place with its radius on both sides: of a position from there, of a passage from its middle, which it holds."""
    middle = (place.start + place.end) // 2
    start, end = min(middle - place.radius, place.start), max(middle + place.radius, place.end)
    return Draft(max(start, 0), min(end, length), [place], place.share)


def _dense(
    places: Sequence[Place], size: Size, *, length: int, settings: WindowSettings, joinable: Joinable
) -> list[Draft]:
    """Merge raw gaps under the threshold, pad, clamp, merge what overlaps, cap (085a §2.1)."""
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


def _merge_drafts(drafts: Iterable[Draft], joinable: Joinable, *, gap: int = 0) -> list[Draft]:
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
