"""From drafts to cuts: windows in bytes, within the limit, at natural boundaries."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from brimful.documents.documents import Document, Hit
from brimful.outline.cuts import BLANKS
from brimful.outline.prose import refers_back
from brimful.outline.records import NO_RECORDS, Records
from brimful.settings import WindowSettings
from brimful.text.spans import Span, back_to_code_point, on_to_code_point
from brimful.windows.drafts import Draft, Joinable, Ruler, around, draft_windows, focused, places_of, widen
from brimful.windows.policies import Size

# ---- snapping: move edges to the nearest natural boundary.

_ANTECEDENT_UNITS = 2
"""How many units back a window may reach for what its first pronoun means."""

_BLOCK_STRETCH = 2
"""A function is shown whole when it is at most this many times the size that the policy gave."""

_LONGEST_WORD = 64
"""Bytes to walk in search of a word's edge; scripts without spaces are cut between characters."""

_WORD_START = re.compile(rb"(?<=\s)\S|\A\S")


def snap(document: Document, span: Span, core: Span, *, room: int | None = None) -> Span:
    """Move both edges to natural boundaries of the document's kind; the core stays inside.

    `room` is how many bytes the span may grow in all, None when nothing limits it but sense:
    one unit on each side, or the function around the core where it is not much larger.
    """
    limit = len(span) + room if room is not None else None
    if document.kind == "code":
        whole = _function_around(document, span, core)
        if whole is not None and (limit is None or len(whole) <= limit):
            return whole
    start, end = _nearest_start(document, span, core), _nearest_end(document, span, core)
    if document.kind == "prose":
        start = _with_antecedent(document, start)
    if limit is None or end - start <= limit:
        return Span(start, end)
    shorter = document.outline.cut_before(start + limit)
    if shorter >= core.end:
        return Span(start, shorter)
    return Span(_inward_start(document, span, core), _inward_end(document, span, core))


def _function_around(document: Document, span: Span, core: Span) -> Span | None:
    """The innermost function around the core, or else block, if it is not much larger than the span (085b §5.3)."""
    around = document.outline.enclosing(core.start, max(core.end, core.start))
    block = next((block for block in reversed(around) if block.kind == "function"), around[-1] if around else None)
    if block is None:
        return None
    widened = Span(document.outline.cut_before(block.start), document.outline.cut_after(block.end))
    fits = _content(document, widened.start, widened.end) <= _BLOCK_STRETCH * _content(document, span.start, span.end)
    return widened if fits else None


def _content(document: Document, start: int, end: int) -> int:
    """How much stands between two bytes; in code, white space does not count (085b §5.3)."""
    part = document.content[start:end]
    return len(part.translate(None, BLANKS)) if document.kind == "code" else len(part)


def _nearest_start(document: Document, span: Span, core: Span) -> int:
    outline = document.outline
    inner, outer = outline.cut_after(span.start), outline.cut_before(span.start)
    if inner > core.start:
        return outer
    return outer if _content(document, outer, span.start) <= _content(document, span.start, inner) else inner


def _nearest_end(document: Document, span: Span, core: Span) -> int:
    outline = document.outline
    inner, outer = outline.cut_before(span.end), outline.cut_after(span.end)
    if inner < core.end:
        return outer
    return outer if _content(document, span.end, outer) <= _content(document, inner, span.end) else inner


def _with_antecedent(document: Document, start: int) -> int:
    """Reach back while the window would open with a pronoun whose meaning stands before it (085b §2)."""
    outline, content = document.outline, document.content
    for _ in range(_ANTECEDENT_UNITS):
        if start == 0 or not refers_back(content, start):
            break
        start = outline.cut_before(start - 1)
    return start


def _inward_start(document: Document, span: Span, core: Span) -> int:
    cut = document.outline.cut_after(span.start)
    if cut <= core.start:
        return cut
    content = document.content
    farthest = min(core.start + 1, span.start + _LONGEST_WORD)
    word = _WORD_START.search(content, max(span.start - 1, 0), farthest) if span.start else None
    if word and span.start <= word.start() <= core.start:
        return word.start()
    return min(on_to_code_point(content, span.start), back_to_code_point(content, core.start))


def _inward_end(document: Document, span: Span, core: Span) -> int:
    cut = document.outline.cut_before(span.end)
    if cut >= core.end:
        return cut
    content = document.content
    last = span.end
    lowest = max(core.end, span.end - _LONGEST_WORD)
    while last > lowest and last < len(content) and not content[last : last + 1].isspace():
        last -= 1
    if last == lowest:
        last = span.end
    return max(back_to_code_point(content, last), on_to_code_point(content, core.end))


# ---- cutting: turn drafts into cuts within the byte limit.


@dataclass(slots=True)
class Cut:
    """A window in bytes, before it has text."""

    document: Document
    span: Span
    core: Span
    hits: tuple[Hit, ...]
    score: float


def cuts_for(
    shares: Sequence[tuple[Sequence[Hit], Size]], documents: Mapping[str, Document], settings: WindowSettings
) -> list[Cut]:
    """Draft windows document by document (085a §2.1), then turn marks into bytes.

    Hits of several pools, which are sized apart, also merge where they meet.
    """
    groups: dict[str, list[tuple[Hit, Size]]] = defaultdict(list)
    for hits, size in shares:
        for hit in hits:
            groups[hit.path].append((hit, size))
    size = shares[0][1]
    drafts: list[tuple[Document, Ruler, Draft]] = []
    for path in sorted(groups):
        document = documents[path]
        ruler = Ruler(document)
        path_drafts = draft_windows(
            places_of(groups[path], ruler),
            size,
            length=ruler.length,
            settings=settings,
            joinable=joinable(document),
        )
        drafts.extend((document, ruler, draft) for draft in path_drafts)
    budgets = [size_of_share.budget_bytes for _, size_of_share in shares if size_of_share.budget_bytes is not None]
    if settings.refill and budgets:
        _spread(drafts, sum(budgets), size.cap_bytes or 2 * settings.max_radius_bytes)
    cuts = (_cut(document, ruler, draft) for document, ruler, draft in drafts)
    return [part for cut in cuts for part in _in_bytes(cut, size.cap_bytes)]


def _in_bytes(cut: Cut, cap: int | None) -> list[Cut]:
    """A window in parts that hold the cap in bytes: white space does not count in the choice, but it is shown."""
    if cap is None or len(cut.span) <= cap:
        return [cut]
    content = cut.document.content
    if len(cut.core) <= cap:
        chosen = around(cut.core, cap, within=cut.span)
        start = min(on_to_code_point(content, chosen.start), cut.core.start)
        cut.span = Span(start, max(back_to_code_point(content, chosen.end), cut.core.end))
        return [cut]
    hits = sorted(cut.hits, key=lambda hit: (hit.start, hit.end, hit.order))
    gaps = [(later.start - max(hit.end for hit in hits[:index]), index) for index, later in enumerate(hits) if index]
    widest, index = max(gaps, key=lambda gap: (gap[0], -abs(2 * gap[1] - len(hits))), default=(-1, 0))
    if widest < 0:  # one hit, or some that overlap, longer than the cap: cut, and marked (ruling 4)
        _to_the_best_hits(cut, cap)
        return [cut]
    edge = back_to_code_point(content, hits[index].start - widest // 2)
    sides = ((Span(cut.span.start, edge), hits[:index]), (Span(edge, cut.span.end), hits[index:]))
    return [part for span, part_hits in sides for part in _in_bytes(_part(cut, span, part_hits), cap)]


def _part(cut: Cut, span: Span, hits: Sequence[Hit]) -> Cut:
    """The part of a cut that holds some of its hits."""
    content = cut.document.content
    start = max(back_to_code_point(content, hits[0].start), span.start, cut.core.start)
    end = min(on_to_code_point(content, max(hit.end for hit in hits)), span.end, cut.core.end)
    return Cut(cut.document, span, Span(start, max(end, start)), tuple(hits), max(hit.score for hit in hits))


def joinable(document: Document) -> Joinable:
    """Anything may stand between two hits, except records of another category (085b §2 Data)."""
    records = document.outline.records if document.kind == "data" else NO_RECORDS
    if not records.have_categories:
        return lambda _end, _start: True

    def same_category(end: int, start: int) -> bool:
        last = max(end - 1, 0)
        return len({record.category for record in records.between(last, max(start, last))}) <= 1

    return same_category


def _spread(drafts: Sequence[tuple[Document, Ruler, Draft]], budget_bytes: int, largest: int) -> None:
    """Give what is still unspent to the windows that can grow, evenly, the best first."""
    spare = budget_bytes - sum(len(draft) for _, _, draft in drafts)
    order = sorted(range(len(drafts)), key=lambda index: (-drafts[index][2].score, index))
    for windows_left, index in zip(range(len(order), 0, -1), order, strict=True):
        document, ruler, draft = drafts[index]
        previous = drafts[index - 1] if index else None
        following = drafts[index + 1] if index + 1 < len(drafts) else None
        low = previous[2].end if previous and previous[0] is document else 0
        high = following[2].start if following and following[0] is document else ruler.length
        target = min(len(draft) + max(spare, 0) // windows_left, max(largest, len(draft)))
        spare -= widen(draft, target, low=low, high=high)


def _cut(document: Document, ruler: Ruler, draft: Draft) -> Cut:
    content = document.content
    hits = tuple(place.hit for place in draft.places)
    start, end = ruler.first_byte(draft.start), ruler.first_byte(draft.end)
    first = draft.places[0]
    core_start = back_to_code_point(content, ruler.first_byte(first.start) if first.is_clipped else first.hit.start)
    core_end = on_to_code_point(content, max(hit.end for hit in hits))
    if draft.end < draft.core_end:  # one hit longer than the cap: cut and marked (ruling 4)
        end = core_end = max(back_to_code_point(content, min(end, core_end)), on_to_code_point(content, start + 1))
    core_start = max(core_start, back_to_code_point(content, start)) if draft.start > draft.core_start else core_start
    span = Span(
        min(on_to_code_point(content, start), core_start),
        max(back_to_code_point(content, end), core_end),
    )
    return Cut(document, span, Span(core_start, max(core_end, core_start)), hits, draft.score)


def within(cuts: list[Cut], limit: int) -> list[Cut]:
    """Make windows fit a limit in bytes: the worst give up their padding first, then their place."""
    excess = sum(len(cut.span) for cut in cuts) - limit
    ranked = sorted(cuts, key=lambda cut: (-cut.score, cut.document.path, cut.span.start))
    for cut in reversed(ranked):
        if excess <= 0:
            break
        spare = min(len(cut.span) - len(cut.core), excess)
        front = min((cut.core.start - cut.span.start) * spare // max(len(cut.span) - len(cut.core), 1), spare)
        content = cut.document.content
        start = min(on_to_code_point(content, cut.span.start + front), cut.core.start)
        end = max(back_to_code_point(content, cut.span.end - (spare - front)), cut.core.end)
        excess -= len(cut.span) - (end - start)
        cut.span = Span(start, end)
    while excess > 0 and len(ranked) > 1:
        excess -= len(ranked.pop().span)
    if excess > 0:
        _to_the_best_hits(ranked[0], limit)
    return sorted((cut for cut in ranked if len(cut.span)), key=lambda cut: (cut.document.path, cut.span.start))


def _to_the_best_hits(cut: Cut, limit: int) -> None:
    """Shrink a window that is larger than the limit to its best hit and the next best ones that also fit.

    The others are given up; only the best one is ever cut itself, where it alone is too long.
    """
    content = cut.document.content
    best, *further_hits = sorted(cut.hits, key=lambda hit: hit.order)
    start = max(back_to_code_point(content, best.start), cut.core.start)
    end = min(on_to_code_point(content, best.end), cut.core.end)
    if end - start > limit:
        start, end = _narrowed(content, best, Span(start, end), limit)
    kept_hits = [best]
    for hit in further_hits:
        low = min(start, max(back_to_code_point(content, hit.start), cut.core.start))
        high = max(end, min(on_to_code_point(content, hit.end), cut.core.end))
        if high - low <= limit:
            start, end = low, high
            kept_hits.append(hit)
    cut.hits, cut.score = tuple(kept_hits), best.score
    cut.core = Span(start, max(end, start))
    front = min((limit - len(cut.core)) // 2, start - cut.span.start)
    back = min(limit - len(cut.core) - front, cut.span.end - cut.core.end)
    cut.span = Span(
        min(on_to_code_point(content, start - front), start),
        max(back_to_code_point(content, cut.core.end + back), cut.core.end),
    )


def _narrowed(content: bytes, hit: Hit, span: Span, limit: int) -> tuple[int, int]:
    """At most `limit` bytes of a hit: around as many of its words as fit, or its front if it has none."""
    parts = [part for part in focused(content, hit) if span.shared(part) == len(part)]
    part = next((part for part in parts if len(part) <= limit), parts[-1] if parts else Span(span.start, span.start))
    chosen = around(part, limit, within=span)
    start = min(on_to_code_point(content, chosen.start), part.start)
    return start, max(back_to_code_point(content, chosen.end), start)


def _outwards(cut: Cut, room: int | None) -> Span | None:
    """The units that a window touches, whole, if there is room for them."""
    outline = cut.document.outline
    widened = Span(outline.cut_before(cut.span.start), outline.cut_after(cut.span.end))
    return widened if room is None or len(widened) - len(cut.span) <= room else None


def snapped(cuts: Sequence[Cut], size: Size, limit: int | None, *, floor: int = 0) -> list[Cut]:
    """Move edges to natural boundaries, the best window first, and join what then meets.

    A window that has reached the floor stays above it: its edges then move outwards, if there is room.
    """
    room = None if limit is None else limit - sum(len(cut.span) for cut in cuts)
    for cut in sorted(cuts, key=lambda cut: (-cut.score, cut.document.path, cut.span.start)):
        limit_of_cut = room if size.cap_bytes is None else max(size.cap_bytes - len(cut.span), 0)
        least = limit_of_cut if room is None else room if limit_of_cut is None else min(limit_of_cut, room)
        snapped = snap(cut.document, cut.span, cut.core, room=least)
        if len(snapped) < floor <= len(cut.span):
            snapped = _outwards(cut, least) or snapped
        if cut.document.kind == "data":
            snapped = _same_category(cut.document, snapped, cut.core)
        if room is not None:
            room -= len(snapped) - len(cut.span)
        cut.span = snapped
    documents = {cut.document.id: cut.document for cut in cuts}
    may_join = {number: joinable(document) for number, document in documents.items()}
    joined: list[Cut] = []
    for cut in sorted(cuts, key=lambda cut: (cut.document.path, cut.span.start, cut.span.end)):
        last = joined[-1] if joined else None
        if (
            last is None
            or last.document is not cut.document
            or cut.span.start > last.span.end
            or not _join(last, cut, size, may_join[cut.document.id])
        ):
            joined.append(cut)
    return joined


def _join(last: Cut, cut: Cut, size: Size, may_join: Joinable) -> bool:
    """Join two windows that meet; where the cap or a category keeps them apart, only part them cleanly."""
    union = Span(last.span.start, max(last.span.end, cut.span.end))
    fits = size.cap_bytes is None or len(union) <= max(size.cap_bytes, len(last.span), len(cut.span))
    if not (fits and may_join(last.core.end, cut.core.start)):
        if cut.span.start == last.span.end:
            return False
        if last.span.end <= cut.core.start:
            cut.span = Span(last.span.end, max(cut.span.end, last.span.end))
            return False
        if last.core.end <= cut.span.start:
            last.span = Span(last.span.start, cut.span.start)
            return False
        if last.core.end <= cut.core.start:  # each reaches into the other: part them between their hits
            edge = max(cut.document.outline.cut_before(cut.core.start), last.core.end)
            last.span, cut.span = Span(last.span.start, edge), Span(edge, max(cut.span.end, edge))
            return False
    last.span = union
    last.core = Span(min(last.core.start, cut.core.start), max(last.core.end, cut.core.end))
    last.hits, last.score = (*last.hits, *cut.hits), max(last.score, cut.score)
    return True


def records_in(document: Document, span: Span) -> Records:
    """The records that a span touches; none in prose and code."""
    return document.outline.records.touching(span.start, max(span.end, span.start + 1))


def _same_category(document: Document, span: Span, core: Span) -> Span:
    """A span up to the first record on each side whose category differs from the records with hits (085b §2)."""
    records = records_in(document, span)
    core_end = max(core.end, core.start + 1)
    if len(records.touching(core.start, core_end)) and not document.outline.records.have_categories:
        return span
    touched = list(records)  # what they say is read once
    wanted = {record.category for record in touched if record.end > core.start and record.start < core_end}
    start, end = span.start, span.end
    for record in reversed(touched):
        if record.end <= core.start and record.category not in wanted:
            start = record.end
            break
    for record in touched:
        if record.start >= core_end and record.category not in wanted:
            end = record.start
            break
    return Span(start, max(end, start))
