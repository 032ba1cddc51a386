"""What is shown of documents that were only filtered, not asked anything? Their beginnings, the newest first."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from brimful.corpus.documents import Hit
from brimful.search.ground import Ground
from brimful.store.protocol import NO_TIME


def listed(ground: Ground, allowed: NDArray[np.bool_], limit: int) -> tuple[Hit, ...]:
    """The first unit of every document, then the second of every one, and so on; newest first, then by path.

    Documents without a time come last. Scores only say the place in this order.
    """
    times, paths = ground.documents.times, ground.documents.paths
    ranks = np.empty(len(times), np.int64)
    ranks[np.lexsort((np.arange(len(times)), -times, times == NO_TIME))] = np.arange(len(times))
    blocks = np.flatnonzero(allowed[ground.block_rows]) if len(ground) else np.zeros(0, np.int64)
    blocks = _in_turn(blocks, ground.block_rows[blocks], ground.block_offsets[blocks], ranks, limit)
    blocks.sort()
    lasts = np.append(ground.block_firsts, len(ground))[blocks + 1] - 1
    units = ground.between(ground.block_firsts[blocks], lasts, reach=0)
    units = _in_turn(units, ground.rows[units], ground.offsets[units], ranks, limit)
    rows, starts, sizes = ground.rows[units].tolist(), ground.offsets[units].tolist(), ground.sizes[units].tolist()
    return tuple(
        Hit.known(
            paths[row],
            start,
            start + size,
            1 / (place + 1),
            time=None if times[row] == NO_TIME else int(times[row]),
        )
        for place, (row, start, size) in enumerate(zip(rows, starts, sizes, strict=True))
    )


def _in_turn(
    items: NDArray[np.int64],
    rows: NDArray[np.int64],
    offsets: NDArray[np.int64],
    ranks: NDArray[np.int64],
    limit: int,
) -> NDArray[np.int64]:
    """The first item of each document, then the second of each, at most so many."""
    order = np.lexsort((offsets, rows))
    sorted_rows = rows[order]
    begins = np.flatnonzero(np.diff(sorted_rows, prepend=-1))
    turn = np.arange(len(order)) - np.repeat(begins, np.diff(begins, append=len(order)))
    return items[order[np.lexsort((ranks[sorted_rows], turn))[:limit]]]
