"""Spends the rest of the budget: trims the best window that did not fit, and grows the others."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from brimful.assembly.select import Layout
from brimful.documents.documents import Document, Hit
from brimful.text.spans import Span, whole_characters
from brimful.windows.cutoff import below_heading, with_words, without_tail
from brimful.windows.drafts import focused
from brimful.windows.window import Window, is_within, touching

FULL_PERCENT = 98
"""From here on a context counts as full, and no sentence is broken to win the rest (invariant 1)."""

_PROMISED_TOKENS = 500
"""From this budget on a context is full where the corpus has more to give (invariant 1)."""

_LONGEST_WORD = 32
"""Bytes; longer runs (scripts without spaces, hashes, links) may be broken between characters."""

TRIM_TRIES = 8
"""The number of best windows that did not fit and are trimmed into the remaining room."""

_MOST_ANNOUNCED = 4
"""The number of announcements in a row that are followed: a label, a heading, a directive, a lead-in."""

_UNLIMITED = 1 << 62
_WORD_END = re.compile(rb"(?<=\S)(?=\s)")
_WORD_START = re.compile(rb"(?<=\s)(?=\S)")
_NEWLINE = re.compile(rb"\n")
_NUMBER = re.compile(rb"\d+(?:[.,]\d+)+|\d{2,}")  # dates and times may end between their parts: they are long
_SAID = re.compile(rb"\S")
_CODE_POINT = re.compile(rb"(?=[\x00-\x7f\xc0-\xff])")


@dataclass(slots=True, eq=False)
class _Stretch:
    """A window in a slot, and how far it may reach in its source."""

    window: Window
    place: tuple[int, int]
    source: Document
    offset: int  # where the source begins in the window's own coordinates
    farthest: Span  # what of the source may be shown at all
    before: _Stretch | None = None  # the neighbours in the same document, which may not be grown over
    after: _Stretch | None = None
    steps: dict[bool, int] = field(default_factory=lambda: {True: 1, False: 1})  # units at a time, after and before
    keeps_heading: bool = False  # whether it may not grow over its heading into the section before
    is_held: bool = False  # whether that has kept it from growing
    offered: Window = field(init=False)

    def __post_init__(self) -> None:
        self.offered = self.window

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
    """The blocks of a context while it is being filled."""

    def __init__(
        self,
        blocks: Iterable[Sequence[Window]],
        layout: Layout,
        *,
        available: int,
        empty: tuple[int, int] | None = None,
    ) -> None:
        """`empty` is a place to leave out for now: it is kept for a window that will be trimmed.

        A layout that is begun has these blocks already.
        """
        self._layout, self._available = layout, available
        self._cap = layout.cap_bytes
        places = [
            (windows[0].path, [None if (block, slot) == empty else window for slot, window in enumerate(windows)])
            for block, windows in enumerate(blocks)
        ]
        if not layout.is_begun:
            layout.lay_out(places)
        self._blocks = [{slot: window for slot, window in enumerate(windows) if window} for _, windows in places]
        self.dropped: list[Window] = []
        self._drop_excess()

    @property
    def tokens(self) -> int:
        """The exact cost of the page as it is."""
        return self._layout.tokens

    @property
    def blocks(self) -> list[list[Window]]:
        """The windows as they will be read."""
        return [[block[slot] for slot in sorted(block)] for block in self._blocks if block]

    def is_full(self) -> bool:
        """Is the page full enough that no sentence needs to be broken?"""
        return self.tokens * 100 >= self._available * FULL_PERCENT

    def _is_half_full(self) -> bool:
        return self.tokens * 2 >= self._available

    def _set(self, place: tuple[int, int], window: Window | None, *, available: int | None) -> bool:
        if not self._layout.put(*place, window, available=_UNLIMITED if available is None else available):
            return False
        if window is None:
            self._blocks[place[0]].pop(place[1], None)
        else:
            self._blocks[place[0]][place[1]] = window
        return True

    def _drop_excess(self) -> None:
        """Another order of blocks may cost a token or two more at their joints: the worst window pays."""
        while self.tokens > self._available:
            places = [(w.order, (b, s)) for b, block in enumerate(self._blocks) for s, w in block.items()]
            block, slot = max(places)[1]
            self.dropped.append(self._blocks[block][slot])
            self._set((block, slot), None, available=None)

    # ---- trimming

    def trim(self, place: tuple[int, int], candidate: Window) -> Window | None:
        """Put as much of a window as fits into an empty slot, hits first, whole units if possible."""
        source = candidate.document or Document(candidate.path, candidate.text)
        offset = 0 if candidate.document else candidate.start
        low, high = candidate.start - offset, candidate.end - offset
        if low == high:
            return None
        stretch = _Stretch(candidate, place, source, offset, Span(low, high))
        outline = source.outline
        spans: list[tuple[int, int]] = []
        best = sorted(candidate.hits, key=lambda hit: hit.order)[:1]
        for first, last in [(candidate.core.start, candidate.core.end), *((hit.start, hit.end) for hit in best)]:
            start, end = whole_characters(source.content, max(first - offset, low), min(last - offset, high))
            # A position is in the unit that begins there, or in the last one at the very end.
            unit_start = outline.cut_before(min(start, high - 1))
            spans += [(max(unit_start, low), min(outline.cut_after(max(end, start + 1)), high)), (start, end)]
        if not candidate.hits:
            spans = [(low, min(max(outline.cut_after(low + 1), low + 1), high))]
        fitted = any(self._fits(stretch, *span) for span in spans if span[0] < span[1])
        if not fitted and (not best or best[0].start == best[0].end or not self.tokens):
            # There is no hit to cut, or nothing else is here and the hit alone exceeds the budget: cut, and marked.
            begin, until = spans[-1]
            if begin == until:
                begin, until = (begin, spans[-2][1]) if begin < spans[-2][1] else spans[-2]
            focus = focused(source.content, best[0], offset=offset) if best else []
            fitted = any(self._farthest(stretch, _around(source.content, begin, until, part)) for part in focus)
            begin = max(focus[-1].start, begin) if focus else begin
            edges = _words(source.content, begin, until, _WORD_END)
            fitted = fitted or self._farthest(stretch, [(begin, edge) for edge in edges])
        if not fitted:
            return None
        self._grow_all([stretch], merge=False)
        self._to_the_brim([stretch])
        return stretch.window

    def _fits(self, stretch: _Stretch, start: int, end: int) -> tuple[int, int] | None:
        resized = stretch.resized(start, end)
        if not self._set(stretch.place, resized, available=self._available):
            return None
        stretch.window = resized
        return start, end

    # ---- growing

    def grow(self) -> None:
        """Grow windows into their documents, unit by unit, until the next unit would not fit anywhere.

        A window over the cap must begin and end with a section (ruling 26).
        """
        stretches = [
            _Stretch(window, (b, s), window.document, 0, window.document.reach(window.start, window.end))
            for b, block in enumerate(self._blocks)
            for s, window in block.items()
            if window.document is not None
        ]
        stretches.sort(key=lambda stretch: stretch.window.order)
        _link_neighbours(stretches)
        self._merge_touching(stretches)
        for stretch in stretches:
            stretch.keeps_heading = True
        self._grow_all(stretches, merge=True)
        for stretch in stretches:
            stretch.keeps_heading, stretch.steps = False, {True: 0, False: int(stretch.is_held)}
        self._grow_all(stretches, merge=True)
        for stretch in stretches:
            self._begin_with_words(stretch)
        self._to_the_brim(stretches)

    def _begin_with_words(self, stretch: _Stretch) -> None:
        """Leave the blank lines away that a window begins with; without any, its text and what it costs stay."""
        start = with_words(stretch.source.content, stretch.start, stretch.end)
        if start != stretch.start:
            self._fits(stretch, start, stretch.end)
        else:
            block, slot = stretch.place
            window = replace(stretch.window, hits=stretch.hits_in(start, stretch.end))
            stretch.window = self._blocks[block][slot] = window

    def _grow_all(self, stretches: list[_Stretch], *, merge: bool) -> None:
        """Every window takes a step after and a step before in turn; steps double while they succeed."""
        moving = True
        while moving and self.tokens < self._available:
            moving = False
            for stretch in list(stretches):
                for after in (True, False):
                    if stretch.steps[after] and self._step(stretch, after=after):
                        moving = True
            if merge and moving:
                self._merge_touching(stretches)

    def _step(self, stretch: _Stretch, *, after: bool) -> bool:
        """One step of growth; returns whether more may follow."""
        units, start, end = stretch.source.outline.units, stretch.start, stretch.end
        if after:
            index = int(units.searchsorted(end, side="right")) - 1 + stretch.steps[after]
            edge = _with_words_below(stretch.source, start, int(units[min(index, len(units) - 1)]))
            grown = self._under_the_cap(stretch, start, max(min(edge, stretch.high), end))
        else:
            index = int(units.searchsorted(start, side="left")) - stretch.steps[after]
            edge = min(max(int(units[max(index, 0)]), stretch.low), start)
            if stretch.keeps_heading and edge < (heading := _heading_above(stretch.source, start)):
                edge, stretch.is_held = heading, True
            edge = without_tail(stretch.source, edge, start)
            grown = self._under_the_cap(stretch, edge, end)
        moved = grown is not None and grown != (start, end) and self._fits(stretch, *grown)
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

    def _merge_touching(self, stretches: list[_Stretch]) -> None:
        """Windows of one block that have grown together become one, without markers between."""
        stretch_at = {stretch.place: stretch for stretch in stretches}
        for block, held in enumerate(self._blocks):
            if len(held) < 2:
                continue
            slots = {window.id: (block, slot) for slot, window in held.items()}
            for run in touching([held[slot] for slot in sorted(held)], cap=self._cap):
                if len(run) > 1:
                    self._merge([stretch_at[slots[window.id]] for window in run])
        stretches[:] = [stretch for stretch in stretches if stretch.place[1] in self._blocks[stretch.place[0]]]

    def _merge(self, run: Sequence[_Stretch]) -> None:
        """Put the union of a run into its first slot and clear the others, if that fits."""
        first, last = run[0], run[-1]
        union = first.window.joined([stretch.window for stretch in run[1:]])
        for stretch in run[1:]:
            self._set(stretch.place, None, available=None)
        if not self._set(first.place, union, available=self._available):
            for stretch in run[1:]:
                self._set(stretch.place, stretch.window, available=None)
            return
        first.window = first.offered = union
        first.after, first.steps = last.after, {True: 1, False: 1}
        if last.after:
            last.after.before = first

    def _to_the_brim(self, stretches: Sequence[_Stretch]) -> None:
        """If the page is not yet full, let a window break its next unit: at a line of code or data, else at a word."""
        for edges in (_lines_below, _lines_above, _ends_within, _inside_a_word, _starts_within):
            may_stop = self._available < _PROMISED_TOKENS and self._is_half_full()
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


def _with_words_below(source: Document, start: int, end: int) -> int:
    """An end that leaves no heading, and nothing that announces what follows, without a word of it: a label of
    reStructuredText stands above its heading, and that above a directive.
    """
    for _ in range(_MOST_ANNOUNCED):
        below = below_heading(source, start, end)
        if below == end:
            break
        end = below
    return end


def _heading_above(source: Document, start: int) -> int:
    """The start of the heading above a window of prose, or at its beginning; 0 without one."""
    if source.kind != "prose":
        return 0
    starts = source.outline.nested.starts  # all are headings: prose has no other blocks
    index = bisect_right(starts, start) - 1
    return starts[index] if index >= 0 else 0


def _link_neighbours(stretches: Iterable[_Stretch]) -> None:
    """Tell windows of one document about each other, so that none grows over the next."""
    ordered = sorted(stretches, key=lambda stretch: (stretch.source.id, stretch.window.start, stretch.window.end))
    for earlier, later in pairwise(ordered):
        if earlier.source.id == later.source.id:
            earlier.after, later.before = later, earlier


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
    limit = min(_with_words_below(stretch.source, start, stretch.source.outline.cut_after(end + 1)), stretch.high)
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
