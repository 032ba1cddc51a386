"""A context while it is being filled: windows in their places, never over the budget."""

from __future__ import annotations

import re
from bisect import bisect_right, insort
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, groupby, pairwise
from operator import attrgetter

from brimful.assembly.costs import Costs
from brimful.assembly.select import Placed
from brimful.documents.documents import Document, Hit
from brimful.text.spans import Span, whole_characters
from brimful.text.tokens import least_tokens
from brimful.windows.cutting import focused
from brimful.windows.whole import end_of_announced, heading_above, whole_ends, with_words, without_tail
from brimful.windows.window import Window, is_within, touching

FULL_PERCENT = 98
"""From here on a context counts as full, and no sentence is broken to win the rest (invariant 1)."""

_PROMISED_TOKENS = 500
"""From this budget on a context is full where the corpus has more to give (invariant 1)."""

_LONGEST_WORD = 32
"""Bytes; longer runs (scripts without spaces, hashes, links) may be broken between characters."""

_WORD_END = re.compile(rb"(?<=\S)(?=\s)")
_WORD_START = re.compile(rb"(?<=\s)(?=\S)")
_NEWLINE = re.compile(rb"\n")
_NUMBER = re.compile(rb"\d+(?:[.,]\d+)+|\d{2,}")  # dates and times may end between their parts: they are long
_SAID = re.compile(rb"\S")
_CODE_POINT = re.compile(rb"(?=[\x00-\x7f\xc0-\xff])")
_by_place = attrgetter("place")


@dataclass(slots=True, eq=False)
class _Stretch:
    """A window that is being cut or grown, and how far it may reach in its source."""

    placed: Placed
    source: Document
    offset: int  # where the source begins in the window's own coordinates
    farthest: Span  # what of the source may be shown at all
    before: _Stretch | None = None  # the neighbours in their document, which may not be grown over
    after: _Stretch | None = None
    steps: dict[bool, int] = field(default_factory=lambda: {True: 1, False: 1})  # units at a time, after and before
    keeps_heading: bool = False  # whether it may not grow over its heading into the section before
    is_held: bool = False  # whether that has kept it from growing
    offered: Window = field(init=False)

    def __post_init__(self) -> None:
        self.offered = self.window

    @property
    def window(self) -> Window:
        """The window as it is now."""
        return self.placed.window

    @property
    def low(self) -> int:
        """How far the window may grow to the front now."""
        start = self.before.window.end if self.before else 0
        return min(max(self.farthest.start, start), self.start)

    @property
    def high(self) -> int:
        """How far it may grow to the back now."""
        end = self.after.window.start if self.after else self.farthest.end
        return max(min(self.farthest.end, end), self.end)

    @property
    def start(self) -> int:
        """The window's first byte in its source."""
        return self.window.start - self.offset

    @property
    def end(self) -> int:
        """The byte of the source after the window."""
        return self.window.end - self.offset

    def hits_in(self, start: int, end: int) -> tuple[Hit, ...]:
        """The offered hits that these bytes of the source show."""
        content, offset = self.source.content, self.offset
        return tuple(
            hit
            for hit in self.offered.hits
            if hit.end - offset <= end and start <= with_words(content, hit.start - offset, hit.end - offset)
        )

    def resized(self, start: int, end: int) -> Window:
        """The window over other bytes of its source."""
        hits = self.hits_in(start, end)
        if self.window.document is not None:
            return self.window.resized(start, end, hits=hits)
        return replace(
            self.window,
            text=self.source.text(start, end),
            start=start + self.offset,
            end=end + self.offset,
            line=self.offered.line and self.offered.line + self.source.content.count(b"\n", 0, start),
            cut_start=self.offered.cut_start or start > self.farthest.start,
            cut_end=self.offered.cut_end or end < self.farthest.end,
            hits=hits,
        )


class Page:
    """Windows in blocks, each under a header, and their exact cost, which is never above what is available."""

    def __init__(self, costs: Costs, *, available: int, cap_bytes: int | None = None) -> None:
        """A window over the cap must begin and end with a section (ruling 26)."""
        self._costs, self._available, self._cap = costs, available, cap_bytes
        self._blocks: list[list[Placed]] = []
        self.tokens = 0

    @property
    def placed(self) -> list[Placed]:
        """The windows of the page, in reading order."""
        return list(chain.from_iterable(self._blocks))

    @property
    def blocks(self) -> list[list[Window]]:
        """The windows as they will be read."""
        return [[placed.window for placed in block] for block in self._blocks]

    def is_full(self) -> bool:
        """Whether it is full enough that no sentence needs to be broken."""
        return self.tokens * 100 >= self._available * FULL_PERCENT

    def lay_out(self, placed: Iterable[Placed]) -> None:
        """Put these windows here, whether they fit or not, in place of what stood here."""
        ordered = sorted(placed, key=_by_place)
        self._blocks = [list(run) for _, run in groupby(ordered, key=attrgetter("header"))]
        self.tokens = self._cost()

    def add(self, placed: Placed) -> bool:
        """Add a whole window if it fits; else nothing changes."""
        if least_tokens(self._costs.counter, placed.window.text) > self._available - self.tokens:
            return False
        self._insert(placed)
        if self._keeps():
            return True
        self._remove(placed)
        return False

    def drop_worst(self) -> Window:
        """Take the worst window away."""
        worst = max(self.placed, key=lambda placed: placed.window.order)
        self._remove(worst)
        self.tokens = self._cost()
        return worst.window

    def overlaps(self, window: Window) -> bool:
        """Whether any of its document's bytes in it are here already."""
        if window.document is None:
            return False
        return any(
            placed.window.document is not None
            and placed.window.path == window.path
            and placed.window.start < window.end
            and window.start < placed.window.end
            for block in self._blocks
            for placed in block
        )

    def _cost(self) -> int:
        return self._costs.of(self.blocks)

    def _keeps(self) -> bool:
        """Whether all of it fits as it stands now; then that is its cost."""
        tokens = self._cost()
        if tokens > self._available:
            return False
        self.tokens = tokens
        return True

    def _insert(self, placed: Placed) -> None:
        """Put a window into its place: into the block before or after it with an equal header, or a new one."""
        index = bisect_right([block[0].place for block in self._blocks], placed.place)
        for block in self._blocks[max(index - 1, 0) : index + 1]:
            if block[0].header == placed.header:
                insort(block, placed, key=_by_place)
                return
        self._blocks.insert(index, [placed])

    def _remove(self, placed: Placed) -> None:
        block = next(block for block in self._blocks if placed in block)
        block.remove(placed)
        if not block:
            self._blocks.remove(block)

    # ---- trimming

    def trim(self, placed: Placed) -> Window | None:
        """Add as much of a window as fits, hits first, whole units if possible."""
        candidate = placed.window
        source = candidate.document or Document(candidate.path, candidate.text)
        offset = 0 if candidate.document else candidate.start
        low, high = candidate.start - offset, candidate.end - offset
        if low == high:
            return None
        is_first = not self._blocks
        self._insert(placed)
        stretch = _Stretch(placed, source, offset, Span(low, high))
        if not self._trims(stretch, is_first=is_first):
            self._remove(placed)
            return None
        self._grow_all([stretch], merge=False)
        self._to_the_brim([stretch])
        return placed.window

    def _trims(self, stretch: _Stretch, *, is_first: bool) -> bool:
        """Cut a window until it fits: to whole units around its hits, its hits alone, or words of the best one."""
        candidate, source, offset = stretch.window, stretch.source, stretch.offset
        low, high = stretch.farthest.start, stretch.farthest.end
        spans: list[tuple[int, int]] = []
        best = sorted(candidate.hits, key=lambda hit: hit.order)[:1]
        for first, last in [(candidate.core.start, candidate.core.end), *((hit.start, hit.end) for hit in best)]:
            start, end = whole_characters(source.content, max(first - offset, low), min(last - offset, high))
            # A position is in the unit that begins there, or in the last one at the very end.
            unit_start = source.outline.cut_before(min(start, high - 1))
            spans += [(max(unit_start, low), min(source.outline.cut_after(max(end, start + 1)), high)), (start, end)]
        if not candidate.hits:
            spans = [(low, min(max(source.outline.cut_after(low + 1), low + 1), high))]
        if any(self._fits(stretch, *span) for span in spans if span[0] < span[1]):
            return True
        if best and best[0].start < best[0].end and not is_first:
            return False
        # There is no hit to cut, or nothing else is here and the hit alone exceeds the budget: cut, and marked.
        begin, until = spans[-1]
        if begin == until:
            begin, until = (begin, spans[-2][1]) if begin < spans[-2][1] else spans[-2]
        focus = focused(source.content, best[0], offset=offset) if best else []
        if any(self._farthest(stretch, _around(source.content, begin, until, part)) for part in focus):
            return True
        begin = max(focus[-1].start, begin) if focus else begin
        return self._farthest(stretch, [(begin, edge) for edge in _words(source.content, begin, until, _WORD_END)])

    def _fits(self, stretch: _Stretch, start: int, end: int) -> bool:
        """Resize a window if the whole then fits; else change nothing."""
        before, stretch.placed.window = stretch.window, stretch.resized(start, end)
        if self._keeps():
            return True
        stretch.placed.window = before
        return False

    # ---- growing

    def grow(self) -> None:
        """Grow windows into their documents, unit by unit, until the next unit would not fit anywhere."""
        stretches = self._joined(self._stretches())
        for stretch in stretches:
            stretch.keeps_heading = True
        stretches = self._grow_all(stretches, merge=True)
        for stretch in stretches:
            stretch.keeps_heading, stretch.steps = False, {True: 0, False: int(stretch.is_held)}
        stretches = self._grow_all(stretches, merge=True)
        for stretch in stretches:
            self._begin_with_words(stretch)
        self._to_the_brim(stretches)

    def _begin_with_words(self, stretch: _Stretch) -> None:
        """Leave the blank lines away that a window begins with; without any, its text and what it costs stay."""
        start = with_words(stretch.source.content, stretch.start, stretch.end)
        if start == stretch.start or not self._fits(stretch, start, stretch.end):
            hits = stretch.hits_in(stretch.start, stretch.end)
            stretch.placed.window = replace(stretch.window, hits=hits)

    def _stretches(self) -> list[_Stretch]:
        """The windows that may grow, best first."""
        placed = sorted(self.placed, key=lambda placed: placed.window.order)
        return [
            _Stretch(each, document, 0, document.reach(each.window.start, each.window.end))
            for each in placed
            if (document := each.window.document) is not None
        ]

    def _joined(self, stretches: Sequence[_Stretch]) -> list[_Stretch]:
        """These windows, as one where they touch, if that fits; no window grows over the next in its document."""
        ordered = sorted(stretches, key=lambda stretch: (stretch.source.id, stretch.start, stretch.end))
        by_window = {id(stretch.window): stretch for stretch in ordered}
        gone = set[int]()
        for run in touching([stretch.window for stretch in ordered if not stretch.placed.is_alone], cap=self._cap):
            if len(run) > 1:
                gone |= self._merge([by_window[id(window)] for window in run])
        for earlier, later in pairwise([stretch for stretch in ordered if id(stretch) not in gone]):
            if earlier.source.id == later.source.id:
                earlier.after, later.before = later, earlier
        return [stretch for stretch in stretches if id(stretch) not in gone]

    def _merge(self, run: Sequence[_Stretch]) -> set[int]:
        """Put the union of a run in place of the first that is read, if that fits; returns which are gone then."""
        first = min(run, key=lambda stretch: (stretch.window.filling, stretch.placed.place))
        others = [stretch for stretch in run if stretch is not first]
        union = run[0].window.joined([stretch.window for stretch in run[1:]])
        before, first.placed.window = first.window, union
        for stretch in others:
            self._remove(stretch.placed)
        if not self._keeps():
            first.placed.window = before
            for stretch in others:
                self._insert(stretch.placed)
            return set()
        first.offered, first.steps = union, {True: 1, False: 1}
        first.farthest = first.source.reach(union.start, union.end)
        first.before, first.after = run[0].before, run[-1].after
        return {id(stretch) for stretch in others}

    def _grow_all(self, stretches: list[_Stretch], *, merge: bool) -> list[_Stretch]:
        """Every window takes a step after and a step before in turn; steps double while they succeed."""
        moving = True
        while moving and self.tokens < self._available:
            moving = False
            for stretch in stretches:
                for after in (True, False):
                    if stretch.steps[after] and self._step(stretch, after=after):
                        moving = True
            if merge and moving:
                stretches = self._joined(stretches)
        return stretches

    def _step(self, stretch: _Stretch, *, after: bool) -> bool:
        """One step of growth; returns whether more may follow."""
        units, start, end = stretch.source.outline.units, stretch.start, stretch.end
        if after:
            index = int(units.searchsorted(end, side="right")) - 1 + stretch.steps[after]
            edge = end_of_announced(stretch.source, start, int(units[min(index, len(units) - 1)]))
            spans = [(start, max(min(stop, stretch.high), end)) for stop in whole_ends(stretch.source, edge)]
        else:
            index = int(units.searchsorted(start, side="left")) - stretch.steps[after]
            edge = min(max(int(units[max(index, 0)]), stretch.low), start)
            if stretch.keeps_heading and edge < (heading := heading_above(stretch.source, start)):
                edge, stretch.is_held = heading, True
            edge = without_tail(stretch.source, edge, start)
            spans = [(edge, end)]
        grown = (self._under_the_cap(stretch, *span) for span in spans)
        moved = any(span is not None and span != (start, end) and self._fits(stretch, *span) for span in grown)
        if moved:
            stretch.steps[after] *= 2
        else:
            stretch.steps[after] = 0 if stretch.steps[after] == 1 else 1
        return stretch.steps[after] > 0

    def _under_the_cap(self, stretch: _Stretch, start: int, end: int) -> tuple[int, int] | None:
        """A range to grow to, all of its first and last section where it would pass the cap; None where it may not.

        A window that would meet its neighbour must be allowed to become one with it.
        """
        if self._cap is None:
            return start, end
        if end - start > self._cap:
            outline = stretch.source.outline
            start, end = outline.sections_around(start, end)
            if not (stretch.low <= start and end <= stretch.high):
                return None
        first = stretch.before.window.start if stretch.before and stretch.before.window.end == start else start
        last = stretch.after.window.end if stretch.after and stretch.after.window.start == end else end
        both = (Span(start, end), Span(first, last))
        return (start, end) if all(is_within(stretch.source, span, self._cap) for span in both) else None

    def _to_the_brim(self, stretches: Sequence[_Stretch]) -> None:
        """If the page is not yet full, let a window break its next unit: at a line of code or data, else at a word."""
        for edges in (_lines_below, _lines_above, _ends_within, _inside_a_word, _starts_within):
            may_stop = self._available < _PROMISED_TOKENS and self.tokens * 2 >= self._available
            if may_stop and edges in (_inside_a_word, _starts_within):
                return  # half a word, or a sentence without its beginning, is hard to read
            for stretch in stretches:
                if self.is_full():
                    return
                if may_stop and edges is _ends_within and stretch.source.kind != "prose":
                    continue  # and so is half a record, or half a line of code
                spans = edges(stretch)
                if self._cap is not None:
                    spans = [(start, end) for start, end in spans if end - start <= self._cap]
                self._farthest(stretch, spans)

    def _farthest(self, stretch: _Stretch, spans: Sequence[tuple[int, int]]) -> bool:
        """Take the last of these ever longer spans that fits, by bisection."""
        low, high = 0, len(spans)
        while low < high:
            middle = (low + high) // 2
            if self._fits(stretch, *spans[middle]):
                low = middle + 1
            else:
                high = middle
        return low > 0


def _lines_below(stretch: _Stretch) -> list[tuple[int, int]]:
    """The window with an end at each line of the unit after it; prose is not made of lines."""
    start, end = stretch.start, stretch.end
    limit = min(stretch.source.outline.cut_after(end + 1), stretch.high)
    return [(start, edge) for edge in _line_ends(stretch.source, end, limit)]


def _lines_above(stretch: _Stretch) -> list[tuple[int, int]]:
    """The window with a start at each line of the unit before it, from the nearest on."""
    start, end = stretch.start, stretch.end
    limit = max(stretch.source.outline.cut_before(start - 1), stretch.low)
    content = stretch.source.content
    edges = reversed(_line_ends(stretch.source, limit, start))
    line_starts = (edge for edge in edges if without_tail(stretch.source, edge, start) == edge)
    return [(edge, end) for edge in line_starts if with_words(content, edge, end) == edge]


def _line_ends(source: Document, start: int, end: int) -> list[int]:
    if source.kind == "prose":
        return []
    return [newline.end() for newline in _NEWLINE.finditer(source.content, start, end) if start < newline.end() < end]


def _ends_within(stretch: _Stretch) -> list[tuple[int, int]]:
    """The window with an end at each word of the unit after it, and of what that unit announces."""
    start, end = stretch.start, stretch.end
    limit = min(end_of_announced(stretch.source, start, stretch.source.outline.cut_after(end + 1)), stretch.high)
    return [(start, edge) for edge in _words(stretch.source.content, end, limit, _WORD_END)]


def _starts_within(stretch: _Stretch) -> list[tuple[int, int]]:
    """The window with a start at each word of the unit before it, from the nearest on."""
    start, end = stretch.start, stretch.end
    limit = max(stretch.source.outline.cut_before(start - 1), stretch.low)
    return [(edge, end) for edge in reversed(_words(stretch.source.content, limit, start, _WORD_START))]


def _around(content: bytes, start: int, end: int, part: Span) -> list[tuple[int, int]]:
    """A part of `[start, end)` and ever more words around it, the nearest first."""
    low, high = max(part.start, start), min(part.end, end)
    if low >= high:
        return []
    edges = [(low - edge, edge) for edge in [start, *_words(content, start, low, _WORD_START)] if edge < low]
    edges += [(edge - high, edge) for edge in [*_words(content, high, end, _WORD_END), end] if edge > high]
    spans = [(low, high)]
    for _, edge in sorted(edges):
        spans.append((min(spans[-1][0], edge), max(spans[-1][1], edge)))
    return spans


def _inside_a_word(stretch: _Stretch) -> list[tuple[int, int]]:
    """The window with an end at each character of the next word: for words of more tokens than the slack."""
    start, end = stretch.start, stretch.end
    word = _SAID.search(stretch.source.content, end, stretch.high)  # after all blanks
    limit = min((word.start() if word else end) + _LONGEST_WORD, stretch.high)
    edges = _characters(stretch.source.content, end + 1, limit)
    return [(start, edge) for edge in edges if edge < stretch.high]


def _characters(content: bytes, start: int, end: int) -> list[int]:
    """The starts of characters, except inside a number: 3. is not 3.75."""
    numbers = [
        number.span() for number in _NUMBER.finditer(content, max(start - _LONGEST_WORD, 0), end + _LONGEST_WORD)
    ]
    inside = {position for first, last in numbers for position in range(first + 1, last)}
    return [match.start() for match in _CODE_POINT.finditer(content, start, end) if match.start() not in inside]


def _words(content: bytes, start: int, end: int, edge: re.Pattern[bytes]) -> list[int]:
    """Edges of words strictly inside `[start, end)`; between characters in runs too long to be words."""
    edges = [match.start() for match in edge.finditer(content, start, end) if start < match.start() < end]
    for left, right in pairwise([start, *edges, end]):
        if right - left > _LONGEST_WORD and len(content[left:right].strip()) > _LONGEST_WORD:  # blanks are in no word
            edges.extend(edge for edge in _characters(content, left + 1, right) if left < edge < right)
    return sorted(edges)
