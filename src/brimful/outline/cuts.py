"""Which byte positions are safe to cut at, and where is a stretch cut that has no boundary inside?"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from brimful.native import lines as kernels
from brimful.native.columns import unite

Cuts = NDArray[np.int64]

UNIT_AIM = 400
"""A unit longer than this many bytes is cut at a clause or a word, when there is one."""
UNIT_LIMIT = 800
"""No unit of valid UTF-8 is longer than this many bytes."""
SECTION_AIM = 1_800
"""Small neighbours (records, chat lines, loose statements) are gathered into sections up to this size."""
LARGEST = 2_000_000
"""Of a text with more bytes than this no structure is read, of code only the lines: it is generated."""

BLANKS = b" \t\r\n\v\f"
FILLED = ~np.isin(np.arange(256), list(BLANKS))
"""By byte: is it something else than white space?"""

_FEW = 200  # up to here a plain loop is faster than NumPy


class Heads(NamedTuple):
    """Headings and lines that name a definition, in order.

    Of each where it starts and ends, its level from 1 to 6, and where the name of a definition starts; a heading has
    its end there.
    """

    starts: NDArray[Any]
    ends: NDArray[Any]
    levels: NDArray[Any]
    names: NDArray[Any]


def settle(content: bytes | memoryview, candidates: Cuts | Iterable[int]) -> Cuts:
    r"""Sort the candidates, drop the unsafe ones, and frame them with 0 and the length.

    Unsafe: inside a code point (before a continuation byte) and between CR and LF.

    >>> settle("aé\r\nb".encode(), [1, 2, 4, 5, 99]).tolist()
    [0, 1, 5, 6]
    """
    length = len(content)
    if not length:
        return np.zeros(1, dtype=np.int64)
    if isinstance(candidates, list) and len(candidates) <= _FEW:
        few = sorted({0, length, *(cut for cut in candidates if 0 < cut < length and _is_safe(content, cut))})
        return np.array(few, dtype=np.int64)
    unsorted = candidates if isinstance(candidates, np.ndarray) else np.fromiter(candidates, dtype=np.int64)
    cuts = np.empty(len(unsorted) + 2, dtype=np.int64)
    cuts[0], cuts[1:-1], cuts[-1] = 0, unsorted, length
    np.maximum(cuts, 0, out=cuts)
    np.minimum(cuts, length, out=cuts)
    if (cuts[1:] < cuts[:-1]).any():
        cuts.sort()
    keep = np.empty(len(cuts), dtype=np.bool_)
    keep[0] = True
    np.not_equal(cuts[1:], cuts[:-1], out=keep[1:])
    octets = np.frombuffer(content, dtype=np.uint8)
    inner = cuts[1:-1] % length  # the ends are always safe; what clipping moved there reads byte 0
    here = octets[inner]
    unsafe = ((here & 0xC0) == 0x80) | ((here == 10) & (octets[inner - 1] == 13))
    keep[1:-1] &= ~unsafe | (inner == 0)
    return cuts[keep]


def _is_safe(content: bytes | memoryview, cut: int) -> bool:
    here = content[cut]
    return (here & 0xC0) != 0x80 and not (here == 10 and content[cut - 1] == 13)


def line_starts(content: bytes) -> Cuts:
    r"""The first byte of every line; the end of the text is no line.

    >>> line_starts(b"a\nb\n").tolist()
    [0, 2]
    """
    starts = np.flatnonzero(np.frombuffer(content, dtype=np.uint8) == 10) + 1
    if len(starts) and starts[-1] == len(content):
        starts = starts[:-1]
    return np.concatenate(([0], starts)).astype(np.int64, copy=False)


def break_long(content: bytes, cuts: Cuts, *, over: int = UNIT_AIM, by_line: bool = False) -> Cuts:
    """Add cuts inside every stretch longer than `over`, so that the pieces come near UNIT_AIM bytes.

    `by_line` accepts only line starts, except inside a stretch of more than UNIT_LIMIT bytes that
    has none (a minified file).

    >>> break_long(b"word " * 100, settle(b"word " * 100, [])).tolist()
    [0, 375, 500]
    """
    long = np.flatnonzero(cuts[1:] - cuts[:-1] > over)
    added = inner_cuts(content, cuts[long], cuts[long + 1], by_line=by_line)
    return settle(content, merged(cuts, added)) if len(added) else cuts


def inner_cuts(content: bytes, starts: Cuts, ends: Cuts, *, by_line: bool) -> Cuts:
    """Cuts inside every stretch, so that the pieces come near UNIT_AIM bytes."""
    return kernels.cut_stretches(content, starts, ends, aim=UNIT_AIM, limit=UNIT_LIMIT, by_line=by_line)


def gather(cuts: Cuts, *, aim: int = SECTION_AIM, forced: Cuts | None = None) -> Cuts:
    """Join neighbouring stretches while they stay within `aim`; cuts in `forced`, which ascend, always remain.

    >>> gather(np.array([0, 10, 20, 30, 95]), aim=25).tolist()
    [0, 20, 30, 95]
    """
    return kernels.gather_cuts(cuts, walls=forced if forced is not None else cuts[:0], aim=aim)


def divide(units: Cuts, sections: Cuts, *, limit: int, aim: int = SECTION_AIM) -> Cuts:
    """Cut every section longer than `limit` at its units, into groups of about `aim` bytes."""
    divided = kernels.divide_cuts(units, sections, limit=limit)
    return sections if divided is None else gather(divided, aim=aim, forced=sections)


def merged(*columns: Cuts) -> Cuts:
    """Columns as one, sorted, each number once."""
    return unite(columns)
