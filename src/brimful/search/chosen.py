"""Where do the units lie that a question is asked of, and how often does each have a word?"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from brimful.index.columns import Numbers

if TYPE_CHECKING:
    from brimful.search.ground import Ground, Ids

_RARE = 4  # a word with fewer positions than one for so many units is counted from its positions


class Chosen:
    """Some ascending units of a ground, with everything that is asked of them more than once."""

    def __init__(self, ground: Ground, units: Ids) -> None:
        self.units = units
        self.extents: Numbers = ground.extents[units]
        self.starts: Numbers = ground.starts[units]
        self.ends: Numbers = ground.ends_of(units, self.extents)
        self.sizes: Numbers = self.ends - self.starts
        # The first of each plot, and one behind the last.
        self.bounds: list[int] = np.append(units.searchsorted(ground.firsts), len(units)).tolist()
        self._ground = ground

    def __len__(self) -> int:
        return len(self.units)

    @cached_property
    def rows(self) -> Numbers:
        """The document of each."""
        return self._ground.owners[self.extents]

    @cached_property
    def offsets(self) -> Numbers:
        """Where in its document each begins."""
        return self._ground.offsets_of(self.units, self.extents)

    def counts(self, places: Sequence[Numbers]) -> Numbers:
        """How many of the positions lie in each."""
        counts = np.zeros(len(self), np.int64)
        for positions, (low, high) in zip(places, pairwise(self.bounds), strict=True):
            if low == high or not len(positions):
                continue
            starts, ends = self.starts[low:high], self.ends[low:high]
            if len(positions) * _RARE < high - low:
                at = starts.searchsorted(positions, side="right") - 1
                counts[low:high] = np.bincount(at[(at >= 0) & (positions < ends[at])], minlength=high - low)
            else:
                before = positions.searchsorted(starts)
                after = np.append(before[1:], 0)
                apart = np.flatnonzero(np.append(starts[1:], -1) != ends)  # elsewhere the next one begins there
                after[apart] = positions.searchsorted(ends[apart])
                counts[low:high] = after - before
        return counts
