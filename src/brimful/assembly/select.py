"""The order of windows, their exact costs, and the packings that choose among them."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from operator import add, attrgetter
from sys import maxsize
from typing import Generic, NamedTuple, TypeVar

from brimful.assembly.context import Reason
from brimful.assembly.dedupe import by_order
from brimful.assembly.formats import Form, Fragment, Showing
from brimful.settings import PackSettings
from brimful.text.tokens import Measure, TokenCounter, in_row
from brimful.windows.window import Cluster, Window, touching

# ---- order: how windows compete, and how they are read.

_DAY = 86_400
_STEPS = 1_000_000
_RECENT_BOOST = 500_000
"""What the newest document's windows gain, in millionths of their score."""

_FIRST = 3
"""The number of best windows that come first with `order="best"`."""

Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class Group:
    """Windows that are shown together, of one document or one cluster."""

    windows: tuple[Window, ...]  # as they compete: best first
    shown: tuple[Window, ...]  # as they are read: by sequence, or by time in a cluster
    is_cluster: bool = False

    @property
    def path(self) -> str:
        """The document's, or the best window's in a cluster."""
        return self.windows[0].path

    @property
    def is_filling(self) -> bool:
        """Whether all of it only fills."""
        return all(window.filling for window in self.windows)

    def place(self, window: Window) -> tuple[int, int, int, str]:
        """The sort key of a window in reading order inside its group."""
        if self.is_cluster:
            return (self.shown.index(window), 0, 0, "")
        return _reading_order(window)


_reading_order: Callable[[Window], tuple[int, int, int, str]] = attrgetter("sequence", "start", "end", "id")
"""By sequence, then by place in the document."""


def groups_of(windows: Iterable[Window], clusters: Iterable[Cluster] = ()) -> list[Group]:
    """Windows by document (CFS §6), clusters as they are; best group first, then by path (ruling 8).

    What a document has that only fills is a group of its own, after all that answers (ruling 24).
    """
    by_path: dict[tuple[str, bool], list[Window]] = {}
    for window in sorted(windows, key=by_order):
        by_path.setdefault((window.path, window.filling), []).append(window)
    groups = [_group(tuple(members)) for members in by_path.values()]  # in the order of the best of each
    linked = (
        Group(tuple(sorted(cluster.windows, key=by_order)), cluster.windows, is_cluster=True) for cluster in clusters
    )
    return sorted((*groups, *linked), key=lambda group: (group.is_filling, group.windows[0].order))


def _group(windows: tuple[Window, ...]) -> Group:
    return Group(windows, tuple(sorted(windows, key=_reading_order)) if len(windows) > 1 else windows)


def with_recency(windows: Iterable[Window], *, half_life_days: int) -> list[Window]:
    """Raise scores by up to half, less with every half-life of age against the newest window (ruling 10).

    Age is measured against the newest document, not the clock, so the same corpus gives the same order.
    """
    listed = list(windows)
    times = [window.time for window in listed if window.time is not None]
    newest = max(times, default=0)
    boosted = []
    for window in listed:
        if window.time is None:
            boosted.append(window)
            continue
        half_lives = (newest - window.time) / (half_life_days * _DAY)
        gain = round(_RECENT_BOOST * 2.0 ** -min(half_lives, 64.0)) / _STEPS
        boosted.append(replace(window, score=window.score + abs(window.score) * gain))
    return boosted


def at_both_ends(items: Sequence[Item]) -> list[Item]:
    """Best first, second best last, and so on inwards: models read the middle least ("lost in the middle").

    >>> at_both_ends([1, 2, 3, 4, 5])
    [1, 3, 5, 4, 2]
    """
    return [*items[::2], *reversed(items[1::2])]


def _best_first(units: Sequence[Sequence[Window]]) -> list[list[Window]]:
    """The best windows of all before the units that they came from: CFS asks for the top 3 among the first 5."""
    best = sorted((window for unit in units for window in unit), key=by_order)[:_FIRST]
    ids = {window.id for window in best}
    remaining = [[window for window in unit if window.id not in ids] for unit in units]
    return [*([window] for window in best), *(unit for unit in remaining if unit)]


# ---- layout: the exact cost of a context with a window in it, without rendering it again.
#
# A layout has blocks, and a block has slots, in the order in which they will be read. What is written between two
# windows depends on both (the marker of the gap, a trail that they share), and on no others. Costs are measures
# (`TokenCounter.measure`), which add up exactly, held in a tree over the slots of a block and one over the blocks:
# changing one slot costs a handful of additions.

Piece = Measure | str
"""A text that was measured, or a short one as it is."""


@dataclass(frozen=True, slots=True)
class Costs:
    """Measures for any layout, each with its windows, so that no identity is reused."""

    texts: dict[tuple[str, int, int], tuple[Window, Measure]] = field(default_factory=dict)  # of windows alone
    # Windows as they are written.
    windows: dict[tuple[str, int, int, float], tuple[Window, tuple[Piece, ...]]] = field(default_factory=dict)
    around: dict[tuple[object, ...], tuple[Sequence[Window], str]] = field(
        default_factory=dict
    )  # what is written there
    blocks: dict[tuple[int, ...], tuple[Sequence[Window], Measure]] = field(
        default_factory=dict
    )  # with their separator


_Node = TypeVar("_Node")


class _Tree(Generic[_Node]):
    """The sum of the filled slots in order, as `join` adds neighbours; slots appear as they are used."""

    __slots__ = ("_join", "_nodes", "_size")

    def __init__(self, join: Callable[[_Node, _Node], _Node]) -> None:
        self._size = 1
        self._nodes: list[_Node | None] = [None, None]
        self._join = join

    def put(self, slot: int, value: _Node | None) -> list[_Node | None]:
        """Fill or clear a slot; returns what `undo` needs to take it back."""
        while slot >= self._size:
            self._double()
        nodes, node = self._nodes, self._size + slot
        held = [nodes[node]]
        nodes[node] = value
        while node > 1:
            node >>= 1
            held.append(nodes[node])
            nodes[node] = self._joined(nodes[2 * node], nodes[2 * node + 1])
        return held

    def fill(self, values: Sequence[_Node | None]) -> None:
        """Fill the first slots of an empty tree at once: one addition a slot, where `put` needs one a level."""
        while self._size < len(values):
            self._size *= 2
        self._nodes = nodes = [None] * self._size + [*values] + [None] * (self._size - len(values))
        for node in range(self._size - 1, 0, -1):
            nodes[node] = self._joined(nodes[2 * node], nodes[2 * node + 1])

    def undo(self, slot: int, held: list[_Node | None]) -> None:
        """Put back what the last `put` into this slot replaced."""
        node = self._size + slot
        for value in held:
            self._nodes[node] = value
            node >>= 1

    @property
    def total(self) -> _Node | None:
        """The sum, or None while every slot is empty."""
        return self._nodes[1]

    def _joined(self, left: _Node | None, right: _Node | None) -> _Node | None:
        if left is None or right is None:
            return right if left is None else left
        return self._join(left, right)

    def _double(self) -> None:
        """Put the tree under a new root, as its left half."""
        nodes: list[_Node | None] = [None] * (4 * self._size)
        nodes[1] = self._nodes[1]
        width = 1
        while width <= self._size:
            nodes[2 * width : 3 * width] = self._nodes[width : 2 * width]
            width *= 2
        self._nodes, self._size = nodes, 2 * self._size


class _Run(NamedTuple):
    """Neighbouring windows of a block, and what they cost from the first one's text to the last one's.

    What stands before a window depends on its neighbour, so it is added where two runs meet.
    """

    first: Window
    last: Window
    cost: Measure


class Layout:
    """Windows in their places, and the exact number of tokens of the text they would render to."""

    def __init__(
        self,
        *,
        form: Form,
        counter: TokenCounter,
        showing: Showing | None = None,
        costs: Costs | None = None,
        cap_bytes: int | None = None,
    ) -> None:
        """Several layouts of equal windows may share their costs.

        Windows that would be over the cap together do not become one, unless that holds whole sections (ruling 26).
        """
        self.cap_bytes = cap_bytes
        self._counter, self._form, self._showing = counter, form, showing or Showing()
        self._costs = costs or Costs()
        self._paths: list[str] = []
        self._slots: list[_Tree[_Run]] = []
        self._blocks: _Tree[Measure] = _Tree(add)
        self._first = maxsize  # the first block with a window: all later ones follow a separator
        self.tokens = 0
        self.wanted = 0  # what the last `put` would have come to

    @property
    def is_begun(self) -> bool:
        """Whether it has any blocks."""
        return bool(self._slots)

    def add_block(self, path: str) -> int:
        """A new, empty block at the end; it costs nothing until a window is put into it."""
        self._paths.append(path)
        self._slots.append(_Tree(self._meet))
        return len(self._slots) - 1

    def lay_out(self, blocks: Sequence[tuple[str, Sequence[Window | None]]]) -> None:
        """Add blocks with all their windows at once, whether they fit or not; None leaves a slot empty."""
        for path, windows in blocks:
            self._slots[self.add_block(path)].fill([self._run(window) if window else None for window in windows])
        self._blocks = self._tree()
        self.tokens = self.wanted = self._sum()

    def cost_of(self, blocks: Sequence[Sequence[Window]]) -> int:
        """The tokens of a context of exactly these blocks."""
        remembered = self._costs.blocks
        keys = [(not number, *map(id, block)) for number, block in enumerate(blocks)]
        fresh = [(key, block) for key, block in zip(keys, blocks, strict=True) if key not in remembered]
        for key, block in fresh:
            pieces: list[Piece] = ["" if key[0] else self._form.block_separator, self._above(block[0].path, block[0])]
            for previous, window in pairwise(block):
                pieces += [*self._pieces(previous), self._between(previous, window)]
            remembered[key] = block, self._row(*pieces, *self._pieces(block[-1]), self._below(block[-1]))
        return self._total([remembered[key][1] for key in keys])

    def put(self, block: int, slot: int, window: Window | None, *, available: int) -> bool:
        """Put a window into a slot (None clears it) if the whole then fits; else change nothing."""
        slot_before = self._slots[block].put(slot, self._run(window) if window else None)
        block_before: list[Measure | None] | None = None
        if self._begins_elsewhere(block):
            self._blocks = self._tree()
        else:
            block_before = self._blocks.put(block, self._leaf(block))
        self.wanted = tokens = self._sum()
        if tokens > available:
            self._slots[block].undo(slot, slot_before)
            if block_before is not None:
                self._blocks.undo(block, block_before)
            else:
                self._blocks = self._tree()
            return False
        self.tokens = tokens
        return True

    def _begins_elsewhere(self, block: int) -> bool:
        """Whether the first window is in another block, now that this one has changed."""
        is_empty = self._slots[block].total is None
        return is_empty if block == self._first else block < self._first and not is_empty

    def _tree(self) -> _Tree[Measure]:
        """The sum of all blocks, for one after the other to change."""
        filled = (number for number, slots in enumerate(self._slots) if slots.total is not None)
        self._first = next(filled, maxsize)
        tree: _Tree[Measure] = _Tree(add)
        tree.fill([self._leaf(number) for number in range(len(self._slots))])
        return tree

    def _leaf(self, block: int) -> Measure | None:
        """A block with the separator before it."""
        parts = self._parts(block)
        if not parts:
            return None
        return self._row(self._form.block_separator if block > self._first else "", *parts)

    def _run(self, window: Window) -> _Run:
        return _Run(window, window, self._row(*self._pieces(window)))

    def _meet(self, left: _Run, right: _Run) -> _Run:
        """Two runs side by side, with what is written between them."""
        between = self._between(left.last, right.first)
        return _Run(left.first, right.last, self._row(left.cost, between, right.cost))

    def _pieces(self, window: Window) -> tuple[Piece, ...]:
        """One window as it will be written."""
        text = window.text
        key = (window.path, window.start, id(text), window.score)
        remembered = self._costs.windows.get(key)
        if remembered is None or not _is_written_alike(remembered[0], window):
            written = _text_of(self._form.body(window, self._showing))
            if written.startswith(text):
                pieces: tuple[Piece, ...] = (self.cost_of_text(window), written[len(text) :])
            else:
                pieces = (self._counter.measure(written),)
            remembered = self._costs.windows[key] = window, pieces
        return remembered[1]

    def cost_of_text(self, window: Window) -> Measure:
        """The measure of a window's own text."""
        key = (window.path, window.start, window.end)
        remembered = self._costs.texts.get(key)
        if remembered is None or remembered[0].text != window.text:
            remembered = self._costs.texts[key] = window, self._counter.measure(window.text)
        return remembered[1]

    def _sum(self) -> int:
        """The tokens of all blocks."""
        return self._total([] if self._blocks.total is None else [self._blocks.total])

    def _parts(self, block: int) -> list[Piece]:
        """The pieces of a block; empty where it has no window."""
        run = self._slots[block].total
        if run is None:
            return []
        above = self._above(self._paths[block], run.first)
        return [above, run.cost, self._below(run.last)]

    def _above(self, path: str, first: Window) -> str:
        """The header above the first window of a block."""
        key = (path, id(first))
        remembered = self._costs.around.get(key)
        if remembered is None:
            head, lead = self._form.head(path, first, self._showing), self._form.lead(None, first, self._showing)
            remembered = self._costs.around[key] = (first,), head + _text_of(lead)
        return remembered[1]

    def _between(self, previous: Window, window: Window) -> str:
        """The text between two windows of a block."""
        key = (id(previous), id(window))
        remembered = self._costs.around.get(key)
        if remembered is None:
            lead = self._form.lead(previous, window, self._showing)
            remembered = self._costs.around[key] = (previous, window), _text_of(lead)
        return remembered[1]

    def _below(self, last: Window) -> str:
        """The text below the last window of a block."""
        return _text_of(self._form.tail(last, self._showing))

    def _row(self, *pieces: Piece) -> Measure:
        return in_row(self._counter, pieces)

    def _total(self, pieces: Sequence[Piece]) -> int:
        """The tokens of the pieces with opening and closing; 0 without pieces."""
        return self._row(self._form.opening, *pieces, self._form.closing).tokens if pieces else 0


def _text_of(fragments: Iterable[Fragment]) -> str:
    return "".join([fragment.text for fragment in fragments])


def _is_written_alike(remembered: Window, window: Window) -> bool:
    """Whether a remembered window is written like this one: identities are reused once their object is gone."""
    return remembered.text is window.text and remembered.time == window.time and remembered.line == window.line


# ---- select: the three packings (CFS §7, §8), which never cut a window.

_NewLayout = Callable[[], Layout]

_PRICE_STEPS = 12


class Rejected(NamedTuple):
    """A window that did not get in."""

    window: Window
    reason: Reason
    wanted: int = 0  # the tokens that the whole would have come to; 0 where it was not tried


@dataclass(slots=True)
class Selection:
    """The chosen windows of a packing, unit by unit, and the rejected ones with their reasons.

    A unit is placed together: a document's windows, a cluster, or a single window where a packing shows windows one
    by one.
    """

    units: list[list[Window]] = field(default_factory=list)  # best first; inside a unit as it is read
    numbers: list[int] = field(default_factory=list)  # greedy: which group each unit came from
    rejected: list[Rejected] = field(default_factory=list)
    ran_out: bool = False  # the ranking was cut off: the budget was spent with candidates left, none skipped before
    layout: Layout | None = None  # where every window stands, each in a block of its unit, if none was left out

    def blocks(self, settings: PackSettings, clusters: frozenset[str]) -> list[list[Window]]:
        """The windows under each header, in reading order."""
        return in_blocks(self.units, settings, clusters)

    def including(self, window: Window, groups: Sequence[Group], settings: PackSettings) -> Selection:
        """This selection with one more window, where its packing would have put it."""
        if settings.packing != "greedy":
            return Selection([*self.units, [window]])
        number, group = next((index, group) for index, group in enumerate(groups) if window in group.windows)
        index = bisect_left(self.numbers, number)
        unit = self.units[index] if index < len(self.numbers) and self.numbers[index] == number else []
        widened = sorted([*unit, window], key=group.place)
        return Selection([*self.units[:index], widened, *self.units[index + bool(unit) :]])


def in_blocks(
    units: Sequence[Sequence[Window]], settings: PackSettings, clusters: frozenset[str]
) -> list[list[Window]]:
    """The windows of some units under each header, in reading order; a cluster's pieces each get their own header."""
    if settings.order != "relevance":
        units = at_both_ends(units) if settings.order == "ends" else _best_first(units)
    blocks: list[list[Window]] = []
    last: Window | None = None  # of the last block, where it may go on
    for unit in units:
        for window in unit:
            if clusters and window.id in clusters:
                blocks.append([window])
                last = None
            elif last and _is_beside(last, window):
                blocks[-1].append(window)
            else:
                blocks.append([window])
                last = window
    return blocks


def _is_beside(last: Window, window: Window) -> bool:
    """Whether two windows that follow each other share a header."""
    return (window.path, window.filling) == (last.path, last.filling)


def select(groups: Sequence[Group], settings: PackSettings, *, available: int, new_layout: _NewLayout) -> Selection:
    """Choose whole windows for a budget."""
    if settings.packing == "greedy":
        return _greedy(groups, settings, available=available, layout=new_layout())
    if settings.packing == "interleaved":
        rounds = [
            [group.windows[at] for group in side if at < len(group.windows)]
            for side in ([group for group in groups if group.is_filling == fills] for fills in (False, True))
            for at in range(max((len(group.windows) for group in side), default=0))
        ]
    else:
        everything = (window for group in groups for window in group.windows)
        rounds = [[window] for window in sorted(everything, key=lambda window: (window.filling, window.order))]
    return _appended(rounds, settings, available=available, layout=new_layout(), clusters=clustered(groups))


def _greedy(groups: Sequence[Group], settings: PackSettings, *, available: int, layout: Layout) -> Selection:
    """Group by group, best first; what does not fit is skipped and the next one tried (ruling 6)."""
    selection, is_laid_out = Selection(), True
    per_path: dict[str, int] = {}
    for number, group in enumerate(groups):
        if layout.tokens >= available:
            selection.ran_out = not selection.rejected
            remaining = (window for later in groups[number:] for window in later.windows)
            selection.rejected.extend(Rejected(window, "budget") for window in remaining)
            break
        places = _places(group, layout)
        chosen = set()
        for window in group.windows:
            if per_path.get(window.path, 0) == settings.max_per_document:
                selection.rejected.append(Rejected(window, "per_document"))
            elif layout.put(*places[window.id], window, available=available):
                per_path[window.path] = per_path.get(window.path, 0) + 1
                chosen.add(window.id)
            else:
                selection.rejected.append(Rejected(window, "budget", layout.wanted))
        if chosen:
            unit = [window for window in group.shown if window.id in chosen]
            if settings.fill == "brim" and not group.is_cluster:
                unit = _joined(unit, places, layout, available=available)
            selection.units.append(unit)
            selection.numbers.append(number)
            is_laid_out = is_laid_out and not group.is_cluster and len(unit) == len(group.windows)
    selection.layout = layout if is_laid_out and not selection.rejected else None
    return selection


def _joined(
    unit: Sequence[Window], places: dict[str, tuple[int, int]], layout: Layout, *, available: int
) -> list[Window]:
    """Windows that follow each other without a gap become one: the markers between them go, and free some room."""
    result = []
    for first, *later in touching(unit, cap=layout.cap_bytes):
        union = first.joined(later) if later else first
        for window in later:
            layout.put(*places[window.id], None, available=available)
        if later and not layout.put(*places[first.id], union, available=available):
            for window in later:
                layout.put(*places[window.id], window, available=available)
            result.extend([first, *later])
        else:
            result.append(union)
    return result


def _places(group: Group, layout: Layout) -> dict[str, tuple[int, int]]:
    """Block and slot of each window of a group: one block a document, one a piece in a cluster."""
    if group.is_cluster:
        return {window.id: (layout.add_block(window.path), 0) for window in group.shown}
    block = layout.add_block(group.path)
    return {window.id: (block, slot) for slot, window in enumerate(group.shown)}


def clustered(groups: Sequence[Group]) -> frozenset[str]:
    """The ids of windows that belong to clusters: each is shown under a separate header (ruling 14)."""
    return frozenset(window.id for group in groups if group.is_cluster for window in group.windows)


def _appended(
    rounds: Sequence[Sequence[Window]],
    settings: PackSettings,
    *,
    available: int,
    layout: Layout,
    clusters: frozenset[str],
) -> Selection:
    """Append windows in turn; the first round that adds nothing is the last.

    For interleaved a round is everyone's next best window (CFS §8.1); for score_weighted it is one
    window, so packing stops at the first that does not fit (CFS §8.2).
    """
    selection = Selection()
    per_path: dict[str, int] = {}
    last: Window | None = None  # what another window of its document can follow
    block, slot = -1, -1
    stopped = False
    for windows in rounds:
        progress = False
        for window in windows:
            if stopped:
                selection.rejected.append(Rejected(window, "stopped"))
                selection.ran_out = True
                continue
            if per_path.get(window.path, 0) == settings.max_per_document:
                selection.rejected.append(Rejected(window, "per_document"))
                progress = True
                continue
            goes_on = window.id not in clusters and last is not None and _is_beside(last, window)
            place = (block, slot + 1) if goes_on else (layout.add_block(window.path), 0)
            if layout.put(*place, window, available=available):
                (block, slot), last = place, None if window.id in clusters else window
                per_path[window.path] = per_path.get(window.path, 0) + 1
                selection.units.append([window])
                progress = True
            else:
                selection.rejected.append(Rejected(window, "budget", layout.wanted))
        stopped = stopped or not progress
    return selection


def enters_at(
    window: Window, groups: Sequence[Group], settings: PackSettings, *, available: int, new_layout: _NewLayout
) -> int | None:
    """The smallest budget at which a window that is out would be in, found by packing at growing budgets.

    Each step goes to what the window itself would have needed, or, while it is not even tried, to what
    would let the next other window in: nothing changes for it in between. After a few such steps the rest of
    the way is bisected, which finds a budget at which the window enters and one token below which it does not.
    """
    budget = available
    for _ in range(_PRICE_STEPS):
        selection = select(groups, settings, available=budget, new_layout=new_layout)
        mine = next((out for out in selection.rejected if out.window.id == window.id), None)
        if mine is None:
            return budget
        if mine.reason == "per_document":
            return None
        next_costs = [out.wanted for out in selection.rejected if out.wanted > budget]
        budget = mine.wanted or min(next_costs, default=budget + 1)
    low, high = budget - 1, 2 * budget
    while not _enters(window, groups, settings, available=high, new_layout=new_layout):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        if _enters(window, groups, settings, available=middle, new_layout=new_layout):
            high = middle
        else:
            low = middle
    return high


def _enters(
    window: Window, groups: Sequence[Group], settings: PackSettings, *, available: int, new_layout: _NewLayout
) -> bool:
    selection = select(groups, settings, available=available, new_layout=new_layout)
    return all(out.window.id != window.id for out in selection.rejected)
