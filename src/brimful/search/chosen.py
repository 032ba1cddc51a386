"""Where do the units lie that a question is asked of, and how often does each have a word?"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from brimful import kernels
from brimful.index.columns import Numbers
from brimful.kernels import Columns

if TYPE_CHECKING:
    from brimful.search.ground import Ground, Ids


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
        return kernels.count_inside(Columns.of(places), self.starts, self.ends, self.bounds)

    def inside(self, places: Sequence[Numbers]) -> list[tuple[Numbers, Numbers]]:
        """Of each plot the positions that lie in one of the units, and which of its units that is."""
        found, units, behind = kernels.find_inside(Columns.of(places), self.starts, self.ends, self.bounds)
        return [
            (found[first:last], units[first:last] - low)
            for low, (first, last) in zip(self.bounds, pairwise(behind), strict=False)
        ]
