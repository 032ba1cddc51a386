"""Reciprocal ranks in whole numbers."""

import numpy as np
import pytest

from brimful.search.field import reciprocal_ranks


def naive(legs, ties):
    """The definition, one by one."""
    fused = [0] * len(ties)
    for scores, most in legs:
        order = sorted((at for at, score in enumerate(scores) if score > 0), key=lambda at: (-scores[at], ties[at]))
        for rank, at in enumerate(order[:most], start=1):
            fused[at] += 1_000_000 // (60 + rank)
    return fused


@pytest.mark.seed("CFS §2", "the combined score is RRF", where="search/field.py", ruling=11)
def test_ranks_are_fused_as_the_ruling_says():
    """Ranks count from 1, a leg sends only its best, and ties fall by the order given, not by place."""
    lexical, semantic = [5, 9, 9, 0, 1], [3, 0, 3, 8, 3]
    ties = [4, 3, 2, 1, 0]
    for most in (None, 1, 2, 3):
        legs = [(lexical, most), (semantic, most)]
        arrays = [(np.array(scores), limit) for scores, limit in legs]
        assert reciprocal_ranks(arrays, [np.array(ties)]).tolist() == naive(legs, ties)
