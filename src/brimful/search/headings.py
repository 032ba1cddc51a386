"""Under which headings does a unit stand, and do they have a word of the question?

What a passage is about is often said above it only: in the chapter's heading, the class of a method, the session of
a chat. A word there counts as if it stood, for a part, in every unit below.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from brimful import kernels
from brimful.index.columns import Numbers
from brimful.kernels import Columns
from brimful.search.chosen import Chosen
from brimful.search.ground import DEEPEST, Ground


class Headings:
    """The headings above some units."""

    def __init__(self, ground: Ground, chosen: Chosen) -> None:
        self._size = len(chosen)
        self._plots: list[_Above] = []
        used_starts: list[Numbers] = []
        used_ends: list[Numbers] = []
        for number, plot in enumerate(ground.plots):
            part = slice(*chosen.bounds[number : number + 2])
            starts, ends, _ = plot.view.heads
            if part.start < part.stop and len(starts):
                parents = ground.head_parents(number)
                begin = chosen.starts[part]
                bases = plot.view.extents.bases
                base = bases[bases.searchsorted(begin, side="right") - 1]
                # One row for no heading at all, at the end: every way up ends there.
                lowest = ends.searchsorted(begin, side="right") - 1
                chain = np.where((lowest >= 0) & (starts[lowest] >= base), lowest, len(starts))
                chains = [chain]
                for _ in range(DEEPEST - 1):
                    chains.append(parents[chains[-1]])
                used = np.zeros(len(starts) + 1, bool)
                used[np.array(chains)] = True
                heads = np.flatnonzero(used[:-1])
                at = np.cumsum(used) - 1
                at[-1] = len(heads)
                self._plots.append(_Above(number, part, at[np.array(chains)]))
                used_starts.append(starts[heads])
                used_ends.append(ends[heads])
        self._starts, self._ends = (
            np.concatenate([*parts, np.zeros(0, np.int64)]) for parts in (used_starts, used_ends)
        )
        self._bounds = np.cumsum([0, *map(len, used_starts)]).tolist()

    def counts(self, places: Sequence[Numbers]) -> Numbers:
        """How many headings above each unit have one of these positions."""
        counts = np.zeros(self._size, np.int64)
        if not self._plots:
            return counts
        positions = Columns([places[above.plot] for above in self._plots])
        has = kernels.count_inside(positions, self._starts, self._ends, self._bounds) > 0
        for above, (low, high) in zip(self._plots, pairwise(self._bounds), strict=True):
            counts[above.part] = np.append(has[low:high], False)[above.chains].sum(axis=0)
        return counts


class _Above(NamedTuple):
    """The headings above some units of one plot: a row for each step up, and one behind the last for none."""

    plot: int
    part: slice
    chains: NDArray[np.int64]
