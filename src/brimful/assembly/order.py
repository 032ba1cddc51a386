"""In which order do windows compete, and in which are they read?"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from brimful.windows.window import Cluster, Window

_DAY = 86_400
_STEPS = 1_000_000
RECENT_BOOST = 500_000
"""What the newest document's windows gain, in millionths of their score."""

FIRST = 3
"""So many of the best windows stand first with `order="best"`."""

Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class Group:
    """Windows that are shown together: those of one document, or of one cluster."""

    windows: tuple[Window, ...]  # as they compete: best first
    shown: tuple[Window, ...]  # as they are read: by sequence, or by time in a cluster
    is_cluster: bool = False

    @property
    def path(self) -> str:
        """The document's, or the best window's in a cluster."""
        return self.windows[0].path

    def place(self, window: Window) -> tuple[int, int, int, str]:
        """Where a window is read inside its group."""
        if self.is_cluster:
            return (self.shown.index(window), 0, 0, "")
        return reading_order(window)


def reading_order(window: Window) -> tuple[int, int, int, str]:
    """By sequence, then by place in the document."""
    return (window.sequence, window.start, window.end, window.id)


def groups_of(windows: Iterable[Window], clusters: Iterable[Cluster] = ()) -> list[Group]:
    """Windows by document (CFS §6), clusters as they are; best group first, then by path (ruling 8)."""
    by_path: dict[str, list[Window]] = {}
    groups = []
    for window in sorted(windows, key=lambda window: window.order):
        by_path.setdefault(window.path, []).append(window)
    for members in by_path.values():
        shown = sorted(members, key=reading_order)
        groups.append(Group(tuple(members), tuple(shown)))
    for cluster in clusters:
        members = sorted(cluster.windows, key=lambda window: window.order)
        groups.append(Group(tuple(members), cluster.windows, is_cluster=True))
    return sorted(groups, key=lambda group: group.windows[0].order)


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
        gain = round(RECENT_BOOST * 2.0 ** -min(half_lives, 64.0)) / _STEPS
        boosted.append(replace(window, score=window.score + abs(window.score) * gain))
    return boosted


def at_both_ends(items: Sequence[Item]) -> list[Item]:
    """Best first, second best last, and so on inwards: models read the middle least ("lost in the middle").

    >>> at_both_ends([1, 2, 3, 4, 5])
    [1, 3, 5, 4, 2]
    """
    return [*items[::2], *reversed(items[1::2])]


def best_first(units: Sequence[Sequence[Window]]) -> list[list[Window]]:
    """The best windows of all before the units that they came from: CFS asks for the top 3 among the first 5."""
    best = sorted((window for unit in units for window in unit), key=lambda window: window.order)[:FIRST]
    ids = {window.id for window in best}
    rest = [[window for window in unit if window.id not in ids] for unit in units]
    return [*([window] for window in best), *(unit for unit in rest if unit)]
