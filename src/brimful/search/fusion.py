"""How do two orders become one? Reciprocal ranks in whole numbers (ruling 11)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from brimful.index.columns import Numbers

WHOLE, BEHIND = 1_000_000, 60


def reciprocal_ranks(legs: Sequence[tuple[Numbers, int | None]], ties: Sequence[Numbers]) -> Numbers:
    """The sum over all legs of a million by sixty and the rank, from 1; what scores nothing in a leg has no rank there.

    A leg is its scores and how many of the best it may send (None: all). `ties` decide among equals, the first
    first: without them an order would depend on where things happen to stand.

    >>> lexical, semantic = np.array([9, 5, 0]), np.array([0, 7, 8])
    >>> reciprocal_ranks([(lexical, None), (semantic, None)], [np.arange(3)]).tolist()
    [16393, 32258, 16393]
    """
    fused = np.zeros(len(ties[0]), np.int64)
    for scores, most in legs:
        order = np.lexsort((*reversed(ties), -scores))
        order = order[scores[order] > 0][:most]
        fused[order] += WHOLE // (BEHIND + np.arange(1, len(order) + 1))
    return fused
