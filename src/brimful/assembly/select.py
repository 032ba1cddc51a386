"""In which order do windows compete for the budget, and in which order are they shown?"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import count
from operator import attrgetter
from typing import Any

from brimful.assembly.dedupe import by_order
from brimful.settings import Order, Packing
from brimful.windows.window import Cluster, Window

_DAY = 86_400
_STEPS = 1_000_000
_RECENT_BOOST = 500_000
"""What the newest document's windows gain, in millionths of their score."""

_FIRST = 3
"""The number of best windows that come first with `order="best"`."""

_reading_order = attrgetter("sequence", "start", "end", "id")


@dataclass(frozen=True, slots=True)
class Group:
    """Windows that are shown together, of one document or one cluster."""

    windows: tuple[Window, ...]  # as they compete: best first
    shown: tuple[Window, ...]  # as they are read
    is_cluster: bool = False

    @property
    def is_filling(self) -> bool:
        """Whether all of it only fills."""
        return all(window.filling for window in self.windows)


@dataclass(slots=True, eq=False)
class Placed:
    """A window that competes, and its place in the text."""

    window: Window
    place: tuple[Any, ...]
    is_alone: bool = False  # a piece of a cluster has a header to itself (ruling 14)

    @property
    def header(self) -> tuple[object, ...]:
        """Neighbours with equal headers share one."""
        return (self.window.path, self.window.filling, id(self) if self.is_alone else None)


def groups_of(windows: Iterable[Window], clusters: Iterable[Cluster] = ()) -> list[Group]:
    """Windows by document (CFS §6), clusters as they are; best group first, then by path (ruling 8).

    What a document has that only fills is a separate group, after all that answers (ruling 24).
    """
    by_path: dict[tuple[str, bool], list[Window]] = {}
    for window in sorted(windows, key=by_order):
        by_path.setdefault((window.path, window.filling), []).append(window)
    groups = [Group(tuple(members), tuple(sorted(members, key=_reading_order))) for members in by_path.values()]
    linked = (
        Group(tuple(sorted(cluster.windows, key=by_order)), cluster.windows, is_cluster=True) for cluster in clusters
    )
    return sorted((*groups, *linked), key=lambda group: (group.is_filling, group.windows[0].order))


def rounds_of(groups: Sequence[Group], packing: Packing) -> list[list[Placed]]:
    """Windows in the order in which they compete; the first round of which none fits is the last one.

    `greedy` is one round, group by group, and its text is in that order (CFS §7). For `interleaved` a round is
    everyone's next best window (CFS §8.1); for `score_weighted` it is one window, so packing stops at the first that
    does not fit (CFS §8.2). Their texts have the order of the rounds.
    """
    if packing == "greedy":
        competing = []
        for number, group in enumerate(groups):
            places = {window.id: (number, at) for at, window in enumerate(group.shown)}
            competing += [Placed(window, places[window.id], group.is_cluster) for window in group.windows]
        return [competing]
    alone = {window.id for group in groups if group.is_cluster for window in group.windows}
    if packing == "interleaved":
        rounds = [
            [group.windows[at] for group in side if at < len(group.windows)]
            for side in ([group for group in groups if group.is_filling == fills] for fills in (False, True))
            for at in range(max((len(group.windows) for group in side), default=0))
        ]
    else:
        everything = (window for group in groups for window in group.windows)
        rounds = [[window] for window in sorted(everything, key=lambda window: (window.filling, window.order))]
    numbers = count()
    return [[Placed(window, (next(numbers), 0), window.id in alone) for window in windows] for windows in rounds]


def with_order(shown: Sequence[Placed], others: Sequence[Placed], order: Order) -> None:
    """Move windows to the places that an order of the text gives them; the shown ones decide.

    `relevance`: each document begins with its best window and goes on from there; what precedes that follows. Records
    of data stay in their order. `best`:
    the best of all before the groups that they came from, as CFS asks for the top 3 among the first 5. `ends`: the
    best group first, the second best last, and so on inwards, as models read the middle least.
    """
    ranked = sorted(shown, key=lambda placed: placed.window.order)
    best = {placed.place[0]: placed.place[1] for placed in reversed(ranked)}  # of each group
    has_hits = any(placed.window.hits for placed in shown)
    for placed in sorted(shown, key=lambda placed: placed.place, reverse=True):
        if has_hits and not placed.window.hits and best[placed.place[0]] == placed.place[1] + 1:
            best[placed.place[0]] -= 1  # the head of a function stands above what was found in it
    third = ranked[:_FIRST][-1].window.order if ranked else ()
    ends = dict(zip(sorted(best), _places_at_both_ends(len(best)), strict=True))
    for placed in (*shown, *others):
        number, at = placed.place
        if order == "best":
            placed.place = (0, *placed.window.order) if placed.window.order <= third else (1, number, at)
        elif order == "ends":
            placed.place = (ends.get(number, len(best)), number, at)
        elif placed.window.document is not None and placed.window.document.kind != "data" and not placed.is_alone:
            placed.place = (number, at < best.get(number, at), at)


def _places_at_both_ends(size: int) -> list[int]:
    """Where the best, the second best, … stand with the weakest in the middle ("lost in the middle").

    >>> _places_at_both_ends(5)
    [0, 4, 1, 3, 2]
    """
    return [size - 1 - number // 2 if number % 2 else number // 2 for number in range(size)]


def with_recency(windows: Iterable[Window], *, half_life_days: int) -> list[Window]:
    """Raise scores by up to half, less with every half-life of age against the newest window (ruling 10).

    Age is measured against the newest document, not the clock, so the same corpus gives the same order.
    """
    listed = list(windows)
    newest = max((window.time for window in listed if window.time is not None), default=0)
    boosted = []
    for window in listed:
        if window.time is None:
            boosted.append(window)
            continue
        half_lives = (newest - window.time) / (half_life_days * _DAY)
        gain = round(_RECENT_BOOST * 2.0 ** -min(half_lives, 64.0)) / _STEPS
        boosted.append(replace(window, score=window.score + abs(window.score) * gain))
    return boosted
