"""How do hits become windows of a size? Sizings `density`, `radial` and `elastic`: grouped, padded, refilled, snapped.

In code white space does not count in what is chosen, so that indentation does not steer it (085b §5.3); limits are in
bytes as they are shown.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise

from brimful.documents.documents import Document, Hit
from brimful.outline.cuts import BLANKS
from brimful.outline.prose import refers_back
from brimful.outline.records import NO_RECORDS, Records
from brimful.settings import WindowSettings
from brimful.text.spans import Span, back_to_code_point, on_to_code_point, whole_characters
from brimful.text.terms import matches_in, query_terms
from brimful.windows.policies import Size, padding_for

_Joinable = Callable[[int, int], bool]
"""Whether the bytes between two places may share a window."""

_ANTECEDENT_UNITS = 2
"""How many units back a window may reach for what its first pronoun means."""
_BLOCK_STRETCH = 2
"""A function is shown whole when it is at most this many times the size that the policy gave."""
_LONGEST_WORD = 64
"""Bytes to walk in search of a word's edge; scripts without spaces are cut between characters."""
_WORD_START = re.compile(rb"(?<=\s)\S|\A\S")
_WORD_END = re.compile(rb"(?<=\S)(?=\s)")


@dataclass(slots=True)
class Cut:
    """A window in bytes, before it has text: what it shows, what must not be cut away, and its share of the budget."""

    document: Document
    span: Span
    core: Span
    hits: tuple[Hit, ...]
    score: float
    share: int = 0

    def join(self, later: Cut) -> None:
        """Take in a cut that does not begin earlier."""
        self.span = _cover(self.span, later.span)
        self.core = _cover(self.core, later.core)
        self.hits, self.score = (*self.hits, *later.hits), max(self.score, later.score)
        self.share += later.share


def _cover(first: Span, second: Span) -> Span:
    return Span(min(first.start, second.start), max(first.end, second.end))


def joined(cuts: Iterable[Cut], may_join: _Joinable, *, gap: int = 0, least: int = 0) -> list[Cut]:
    """Cuts of one document in order, those joined that overlap, touch, or lie within `gap` where they may.

    A cut shorter than `least` is a scrap: it is joined with a neighbour that lies within as many bytes.
    """
    results: list[Cut] = []
    for cut in sorted(cuts, key=lambda cut: cut.span):
        last = results[-1] if results else None
        reach = max(gap, least) if last and min(len(last.span), len(cut.span)) < least else gap
        if last is not None and (
            cut.span.start <= last.span.end
            or (cut.span.start - last.span.end <= reach and may_join(last.span.end, cut.span.start))
        ):
            last.join(cut)
        else:
            results.append(cut)
    return results


def joinable(document: Document) -> _Joinable:
    """Anything may stand between two hits, except records of another category (085b §2 Data)."""
    records = document.outline.records if document.kind == "data" else NO_RECORDS
    if not records.have_categories:
        return lambda _end, _start: True

    def same_category(end: int, start: int) -> bool:
        last = max(end - 1, 0)
        return len({record.category for record in records.between(last, max(start, last))}) <= 1

    return same_category


def records_in(document: Document, span: Span) -> Records:
    """The records that a span touches; none in prose and code."""
    return document.outline.records.touching(span.start, max(span.end, span.start + 1))


# ---- lengths: in code white space does not count.


def _content(document: Document, start: int, end: int) -> int:
    """How much stands between two bytes."""
    part = document.content[start:end]
    return len(part.translate(None, BLANKS)) if document.kind == "code" else len(part)


def _back(document: Document, position: int, size: int) -> int:
    """The byte from which `size` bytes that count stand before a position."""
    while size > 0 and position > 0:
        start = max(position - size, 0)
        size -= _content(document, start, position)
        position = start
    return position


def _on(document: Document, position: int, size: int) -> int:
    """The byte up to which `size` bytes that count stand after a position."""
    while size > 0 and position < len(document):
        end = min(position + size, len(document))
        size -= _content(document, position, end)
        position = end
    return position


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
    inside = [Span(max(first, start), min(last, end)) for first, last in matches if start <= first < min(last, end)]
    covers = accumulate(inside, _cover)
    return list(dict.fromkeys(reversed(list(covers))))


# ---- sizes: from hits to cuts of the size that a policy gives.


def cuts_for(
    shares: Sequence[tuple[Sequence[Hit], Size]], documents: Mapping[str, Document], settings: WindowSettings
) -> list[Cut]:
    """Size windows document by document (085a §2.1). Hits of several pools, which are sized apart, also merge."""
    singles: dict[str, list[Cut]] = defaultdict(list)
    for hits, size in shares:
        for hit in hits:
            singles[hit.path].append(_single(documents[hit.path], hit, size))
    size = shares[0][1]
    cuts = [cut for path in sorted(singles) for cut in _sized(documents[path], singles[path], size, settings)]
    budgets = [size_of_share.budget_bytes for _, size_of_share in shares if size_of_share.budget_bytes is not None]
    if settings.refill and budgets:
        _spread(cuts, sum(budgets), size.cap_bytes or 2 * settings.max_radius_bytes)
    return cuts


def _single(document: Document, hit: Hit, size: Size) -> Cut:
    """A hit alone: in `density` as it is, else with the radius on both sides of its middle.

    One over the cap is cut around its words, and marked (ruling 4).
    """
    start, end = whole_characters(document.content, hit.start, hit.end)
    if size.cap_bytes is not None and end - start > size.cap_bytes:
        start, end = _narrowed(document.content, hit, Span(start, end), size.cap_bytes)
    span = core = Span(start, end)
    share = size.share_bytes
    if size.policy == "density":
        share = max(share, _content(document, start, end))
    else:
        middle = _on(document, start, _content(document, start, end) // 2)
        span = _cover(span, Span(_back(document, middle, size.radius_bytes), _on(document, middle, size.radius_bytes)))
    return Cut(document, span, core, (hit,), hit.score, share)


def _sized(document: Document, singles: list[Cut], size: Size, settings: WindowSettings) -> list[Cut]:
    """The windows of one document: near hits share one, and what merging saves widens it (085b §5.4)."""
    may_join, cap = joinable(document), size.cap_bytes
    gap = settings.merge_gap_bytes - 1 if size.policy == "density" else 0

    def limit(share: int) -> int | None:
        """The longest window; gaps between hits take no room of other hits (085a §3.1)."""
        is_shared = size.policy == "density" and size.budget_bytes is not None
        return min(share, cap or share) if is_shared else cap

    cuts = _grouped(sorted(singles, key=_place), limit, lambda last, cut: _is_near(last, cut, gap, may_join))
    if size.policy == "density":
        for cut in cuts:
            length = _content(document, cut.core.start, cut.core.end)
            padding = padding_for(min(cut.share, cap or cut.share), length, settings=settings)
            cut.span = Span(_back(document, cut.core.start, padding), _on(document, cut.core.end, padding))
    for cut in cuts:
        longest = limit(cut.share)
        if longest is not None and len(cut.span) > longest:
            cut.span = around(cut.core, max(longest, len(cut.core)), within=cut.span)
    count = 0
    cuts = _met(cuts, may_join, cap)
    while settings.refill and len(cuts) != count:
        count = len(cuts)
        for cut, low, high in _with_bounds(cuts):
            _widen(cut, cut.share, low=low, high=high, cap=cap)
        cuts = _met(cuts, may_join, cap)
    return cuts


def _place(cut: Cut) -> tuple[Span, tuple[object, ...]]:
    return cut.core, cut.hits[0].order


def _is_near(last: Cut, cut: Cut, gap: int, may_join: _Joinable) -> bool:
    if cut.core.start < last.core.end:
        return True
    return cut.span.start - last.span.end <= gap and may_join(last.core.end, cut.core.start)


def _grouped(cuts: Sequence[Cut], limit: Callable[[int], int | None], near: Callable[[Cut, Cut], bool]) -> list[Cut]:
    """Sorted cuts, joined where they are near; a group over its limit is split at its widest gaps (ruling 4)."""
    groups: list[list[Cut]] = []
    reach: Cut | None = None
    for cut in cuts:
        if reach is not None and near(reach, cut):
            groups[-1].append(cut)
            reach = replace(reach, span=_cover(reach.span, cut.span), core=_cover(reach.core, cut.core))
        else:
            groups.append([cut])
            reach = cut
    results: list[Cut] = []
    waiting = groups[::-1]
    while waiting:
        group = waiting.pop()
        union = replace(group[0])
        for cut in group[1:]:
            union.join(cut)
        longest = limit(union.share)
        at = _widest_gap(group) if longest is not None and len(union.span) > longest else 0
        if at:
            waiting += [group[at:], group[:at]]
            continue
        if longest is not None and len(union.core) > longest:  # its hits overlap
            _to_the_best_hits(union, longest)
        results.append(union)
    return results


def _widest_gap(group: Sequence[Cut]) -> int:
    """The index of the cut after the widest gap; of equal gaps, the one nearest to the middle. 0 where all overlap."""
    reach, best, widest = group[0].core.end, 0, (0, 0)
    for index, cut in enumerate(group[1:], 1):
        gap = (cut.core.start - reach, -abs(2 * index - len(group)))
        if gap[0] >= 0 and (not best or gap > widest):
            best, widest = index, gap
        reach = max(reach, cut.core.end)
    return best


def _met(cuts: Sequence[Cut], may_join: _Joinable, cap: int | None) -> list[Cut]:
    """Windows of one document that meet, as one; where the cap or a category keeps them apart, parted cleanly."""
    results: list[Cut] = []
    for cut in sorted(cuts, key=lambda cut: (cut.core, cut.span)):
        last = results[-1] if results else None
        if last is None or cut.span.start > last.span.end:
            results.append(cut)
            continue
        union = _cover(last.span, cut.span)
        fits = cap is None or len(union) <= max(cap, len(last.span), len(cut.span))
        if (fits and may_join(last.core.end, cut.core.start)) or last.core.end > cut.core.start:
            last.join(cut)
            continue
        low, high = max(cut.span.start, last.core.end), min(last.span.end, cut.core.start)
        edge = max(cut.document.outline.cut_before((low + high) // 2), low)
        last.span, cut.span = Span(last.span.start, edge), Span(edge, max(cut.span.end, edge))
        results.append(cut)
    return results


def _with_bounds(cuts: Sequence[Cut]) -> Iterable[tuple[Cut, int, int]]:
    """Cuts in order, each with how far it may grow: up to its neighbours in the document."""
    padded = [None, *cuts, None]
    for (before, cut), (_, after) in zip(pairwise(padded[:-1]), pairwise(padded[1:]), strict=True):
        assert cut is not None
        low = before.span.end if before is not None and before.document is cut.document else 0
        high = after.span.start if after is not None and after.document is cut.document else len(cut.document)
        yield cut, low, high


def _widen(cut: Cut, target: int, *, low: int, high: int, cap: int | None) -> int:
    """Grow to `target`, evenly on both sides, within `[low, high)` and the cap; how much was added."""
    document, span = cut.document, cut.span
    size = _content(document, span.start, span.end)
    room = target - size
    if room <= 0:
        return 0
    start = max(_back(document, span.start, room // 2), low)
    end = min(_on(document, span.end, room - _content(document, start, span.start)), high)
    start = max(_back(document, span.start, room - _content(document, span.end, end)), low)
    if cap is not None and end - start > cap:
        wider = around(span, max(cap, len(span)), within=Span(start, end))
        start, end = wider.start, wider.end
    cut.span = Span(start, end)
    return _content(document, start, end) - size


def _spread(cuts: Sequence[Cut], budget_bytes: int, largest: int) -> None:
    """Give what is still unspent to the windows that can grow, evenly, the best first."""
    sizes = [_content(cut.document, cut.span.start, cut.span.end) for cut in cuts]
    spare = budget_bytes - sum(sizes)
    order = sorted(range(len(cuts)), key=lambda at: (-cuts[at].score, at))
    for windows_left, index in zip(range(len(order), 0, -1), order, strict=True):
        cut, low, high = list(_with_bounds(cuts[max(index - 1, 0) : index + 2]))[min(index, 1)]
        target = min(sizes[index] + max(spare, 0) // windows_left, max(largest, sizes[index]))
        spare -= _widen(cut, target, low=low, high=high, cap=largest)


# ---- limits: the worst windows give up their padding first, then their place.


def within(cuts: list[Cut], limit: int) -> list[Cut]:
    """Make windows fit a limit in bytes."""
    excess = sum(len(cut.span) for cut in cuts) - limit
    ranked = sorted(cuts, key=lambda cut: (-cut.score, cut.document.path, cut.span.start))
    for cut in reversed(ranked):
        if excess <= 0:
            break
        size = len(cut.span)
        cut.span = _narrower(cut, max(size - excess, len(cut.core)))
        excess -= size - len(cut.span)
    while excess > 0 and len(ranked) > 1:
        excess -= len(ranked.pop().span)
    if excess > 0:
        _to_the_best_hits(ranked[0], limit)
    return sorted((cut for cut in ranked if len(cut.span)), key=lambda cut: (cut.document.path, cut.span.start))


def _narrower(cut: Cut, size: int) -> Span:
    """At most `size` bytes of a cut, and at least its core, cut between characters."""
    content, core = cut.document.content, cut.core
    chosen = around(core, max(size, len(core)), within=cut.span)
    start = min(on_to_code_point(content, chosen.start), core.start)
    return Span(start, max(back_to_code_point(content, chosen.end), core.end))


def _to_the_best_hits(cut: Cut, limit: int) -> None:
    """Shrink a window that is larger than the limit to its best hit and the next best ones that also fit.

    The others are given up; only the best one is ever cut itself, where it alone is too long.
    """
    content = cut.document.content
    best, *further_hits = sorted(cut.hits, key=lambda hit: hit.order)
    start, end = whole_characters(content, best.start, best.end)
    start, end = max(start, cut.core.start), min(end, cut.core.end)
    if end - start > limit:
        start, end = _narrowed(content, best, Span(start, end), limit)
    kept_hits = [best]
    for hit in further_hits:
        first, last = whole_characters(content, hit.start, hit.end)
        low, high = min(start, max(first, cut.core.start)), max(end, min(last, cut.core.end))
        if high - low <= limit:
            start, end = low, high
            kept_hits.append(hit)
    cut.hits, cut.score = tuple(kept_hits), best.score
    cut.core = Span(start, max(end, start))
    cut.span = _narrower(cut, limit)


def _narrowed(content: bytes, hit: Hit, span: Span, limit: int) -> tuple[int, int]:
    """At most `limit` bytes of a hit: around as many of its words as fit, or its front if it has none."""
    parts = [part for part in focused(content, hit) if span.shared(part) == len(part)]
    part = next((part for part in parts if len(part) <= limit), parts[-1] if parts else Span(span.start, span.start))
    chosen = around(part, limit, within=span)
    start = min(on_to_code_point(content, chosen.start), part.start)
    return start, max(back_to_code_point(content, chosen.end), start)


# ---- snapping: edges move to the nearest natural boundary.


def snapped(cuts: Sequence[Cut], size: Size, limit: int | None, *, floor: int = 0) -> list[Cut]:
    """Move edges to natural boundaries, the best window first, and join what then meets.

    A window that has reached the floor stays above it: its edges then move outwards, if there is room.
    """
    room = None if limit is None else limit - sum(len(cut.span) for cut in cuts)
    by_document: dict[str, list[Cut]] = defaultdict(list)
    for cut in sorted(cuts, key=lambda cut: (-cut.score, cut.document.path, cut.span.start)):
        rooms = [room, None if size.cap_bytes is None else max(size.cap_bytes - len(cut.span), 0)]
        least = min((each for each in rooms if each is not None), default=None)
        span = snap(cut.document, cut.span, cut.core, room=least)
        if len(span) < floor <= len(cut.span):
            outline = cut.document.outline
            wider = Span(outline.cut_before(cut.span.start), outline.cut_after(cut.span.end))
            span = wider if least is None or len(wider) - len(cut.span) <= least else span
        if cut.document.kind == "data":
            span = _same_category(cut.document, span, cut.core)
        if room is not None:
            room -= len(span) - len(cut.span)
        cut.span = span
        by_document[cut.document.path].append(cut)
    return [
        cut
        for _, group in sorted(by_document.items())
        for cut in _met(group, joinable(group[0].document), size.cap_bytes)
    ]


def snap(document: Document, span: Span, core: Span, *, room: int | None = None) -> Span:
    """Move both edges to natural boundaries of the document's kind; the core stays inside.

    `room` is how many bytes the span may grow in all, None when nothing limits it but sense:
    one unit on each side, or the function around the core where it is not much larger.
    """
    limit = len(span) + room if room is not None else None
    outline = document.outline
    if document.kind == "code":
        whole = _function_around(document, span, core)
        if whole is not None and (limit is None or len(whole) <= limit):
            return whole
    inner, outer = outline.cut_after(span.start), outline.cut_before(span.start)
    is_nearer = _content(document, outer, span.start) <= _content(document, span.start, inner)
    start = outer if inner > core.start or is_nearer else inner
    inner, outer = outline.cut_before(span.end), outline.cut_after(span.end)
    is_nearer = _content(document, span.end, outer) <= _content(document, inner, span.end)
    end = outer if inner < core.end or is_nearer else inner
    if document.kind == "prose":
        start = _with_antecedent(document, start)
    if limit is None or end - start <= limit:
        return Span(start, end)
    shorter = outline.cut_before(start + limit)
    return Span(start, shorter) if shorter >= core.end else _inwards(document, span, core)


def _function_around(document: Document, span: Span, core: Span) -> Span | None:
    """The innermost function around the core, or else block, if it is not much larger than the span (085b §5.3)."""
    around_core = document.outline.enclosing(core.start, max(core.end, core.start))
    if not around_core:
        return None
    block = next((block for block in reversed(around_core) if block.kind == "function"), around_core[-1])
    widened = Span(document.outline.cut_before(block.start), document.outline.cut_after(block.end))
    fits = _content(document, widened.start, widened.end) <= _BLOCK_STRETCH * _content(document, span.start, span.end)
    return widened if fits else None


def _with_antecedent(document: Document, start: int) -> int:
    """Reach back while the window would open with a pronoun whose meaning stands before it (085b §2)."""
    for _ in range(_ANTECEDENT_UNITS):
        if start == 0 or not refers_back(document.content, start):
            break
        start = document.outline.cut_before(start - 1)
    return start


def _inwards(document: Document, span: Span, core: Span) -> Span:
    """The edges of units inside a span, else of words, else of characters."""
    outline, content = document.outline, document.content
    start, end = outline.cut_after(span.start), outline.cut_before(span.end)
    if start > core.start:
        word = _WORD_START.search(content, max(span.start - 1, 0), min(core.start + 1, span.start + _LONGEST_WORD))
        start = word.start() if word and span.start else on_to_code_point(content, span.start)
        start = min(max(start, span.start), back_to_code_point(content, core.start))
    if end < core.end:
        words = [
            match.end() for match in _WORD_END.finditer(content, max(core.end, span.end - _LONGEST_WORD), span.end + 1)
        ]
        end = words[-1] if words and span.end < len(content) else back_to_code_point(content, span.end)
        end = max(min(end, span.end), on_to_code_point(content, core.end))
    return Span(start, end)


def _same_category(document: Document, span: Span, core: Span) -> Span:
    """A span up to the first record on each side whose category differs from the records with hits (085b §2)."""
    records = records_in(document, span)
    core_end = max(core.end, core.start + 1)
    if len(records.touching(core.start, core_end)) and not document.outline.records.have_categories:
        return span
    touched = list(records)  # what they say is read once
    wanted = {record.category for record in touched if record.end > core.start and record.start < core_end}
    foreign = [record for record in touched if record.category not in wanted]
    start = max((record.end for record in foreign if record.end <= core.start), default=span.start)
    end = min((record.start for record in foreign if record.start >= core_end), default=span.end)
    return Span(start, max(end, start))
