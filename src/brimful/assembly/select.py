"""Which windows get in? The three packings (CFS §7, §8), each over whole windows only."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from heapq import merge
from typing import NamedTuple

from brimful.assembly.context import Reason
from brimful.assembly.layout import Layout
from brimful.assembly.order import Group, at_both_ends, best_first
from brimful.settings import PackSettings
from brimful.windows.window import Window, touching

NewLayout = Callable[[], Layout]

_PRICE_STEPS = 12


class Rejected(NamedTuple):
    """A window that did not get in."""

    window: Window
    reason: Reason
    wanted: int = 0  # the tokens that the whole would have come to; 0 where it was not tried


@dataclass(slots=True)
class Selection:
    """What a packing chose, unit by unit, and everything else with its reason.

    A unit is what keeps its place together: a document's windows, a cluster, or a single window where
    a packing shows windows one by one.
    """

    units: list[list[Window]] = field(default_factory=list)  # best first; inside a unit as it is read
    numbers: list[int] = field(default_factory=list)  # greedy: which group each unit came from
    rejected: list[Rejected] = field(default_factory=list)
    ran_out: bool = False  # the ranking was cut off: the budget was spent with candidates left, none skipped before

    def blocks(self, settings: PackSettings, clusters: frozenset[str]) -> list[list[Window]]:
        """The windows under each header, in reading order; a cluster's pieces each get their own header."""
        units = at_both_ends(self.units) if settings.order == "ends" else self.units
        if settings.order == "best":
            units = best_first(units)
        blocks: list[list[Window]] = []
        for window in (window for unit in units for window in unit):
            own = window.id in clusters
            if blocks and not own and blocks[-1][0].path == window.path and blocks[-1][0].id not in clusters:
                blocks[-1].append(window)
            else:
                blocks.append([window])
        return blocks

    def including(self, window: Window, groups: Sequence[Group], settings: PackSettings) -> Selection:
        """The same choice with one more window, where this packing would have put it."""
        if settings.packing != "greedy":
            return Selection([*self.units, [window]])
        number, group = next((at, group) for at, group in enumerate(groups) if window in group.windows)
        at = bisect_left(self.numbers, number)
        unit = self.units[at] if at < len(self.numbers) and self.numbers[at] == number else []
        widened = sorted([*unit, window], key=group.place)
        return Selection([*self.units[:at], widened, *self.units[at + bool(unit) :]])


def select(groups: Sequence[Group], settings: PackSettings, *, available: int, new_layout: NewLayout) -> Selection:
    """Choose whole windows for a budget."""
    if settings.packing == "greedy":
        return _greedy(groups, settings, available=available, layout=new_layout())
    if settings.packing == "interleaved":
        longest = max((len(group.windows) for group in groups), default=0)
        rounds = [[group.windows[at] for group in groups if at < len(group.windows)] for at in range(longest)]
    else:
        ranked = merge(*(group.windows for group in groups), key=lambda window: window.order)
        rounds = [[window] for window in ranked]
    return _appended(rounds, settings, available=available, layout=new_layout(), clusters=clustered(groups))


def _greedy(groups: Sequence[Group], settings: PackSettings, *, available: int, layout: Layout) -> Selection:
    """Group by group, best first; what does not fit is skipped and the next one tried (ruling 6)."""
    selection = Selection()
    per_path: dict[str, int] = {}
    for number, group in enumerate(groups):
        if layout.tokens >= available:
            selection.ran_out = not selection.rejected
            left = (window for later in groups[number:] for window in later.windows)
            selection.rejected.extend(Rejected(window, "budget") for window in left)
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
    return selection


def _joined(
    unit: Sequence[Window], places: dict[str, tuple[int, int]], layout: Layout, *, available: int
) -> list[Window]:
    """Windows that follow each other without a gap become one: the markers between them go, and free some room."""
    result = []
    for first, *later in touching(unit):
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
    """The ids of windows that belong to clusters: each is shown under a header of its own (ruling 14)."""
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
    last_path, block, slot = "", -1, -1
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
            goes_on = window.path == last_path and window.id not in clusters
            at = (block, slot + 1) if goes_on else (layout.add_block(window.path), 0)
            if layout.put(*at, window, available=available):
                (block, slot), last_path = at, "" if window.id in clusters else window.path
                per_path[window.path] = per_path.get(window.path, 0) + 1
                selection.units.append([window])
                progress = True
            else:
                selection.rejected.append(Rejected(window, "budget", layout.wanted))
        stopped = stopped or not progress
    return selection


def enters_at(
    window: Window, groups: Sequence[Group], settings: PackSettings, *, available: int, new_layout: NewLayout
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
        others = [out.wanted for out in selection.rejected if out.wanted > budget]
        budget = mine.wanted or min(others, default=budget + 1)
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
    window: Window, groups: Sequence[Group], settings: PackSettings, *, available: int, new_layout: NewLayout
) -> bool:
    selection = select(groups, settings, available=available, new_layout=new_layout)
    return all(out.window.id != window.id for out in selection.rejected)
