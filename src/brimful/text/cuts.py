"""Which byte positions are safe to cut at, and where is a stretch cut that offers none of its own?"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from brimful import kernels
from brimful.patterns import compiled

Cuts = NDArray[np.int64]

UNIT_AIM = 400
"""A unit longer than this many bytes is cut at a clause or a word, when there is one."""
UNIT_LIMIT = 800
"""No unit of valid UTF-8 is longer than this many bytes."""
SECTION_AIM = 1_800
"""Small neighbours (records, chat lines, loose statements) are gathered into sections up to this size."""
SECTION_LIMIT = 3_600
"""A paragraph longer than this many bytes is divided at its units."""

BLANKS = b" \t\r\n\v\f"
FILLED = ~np.isin(np.arange(256), list(BLANKS))
"""By byte: is it something else than white space?"""

_FEW = 200  # up to here a plain loop is faster than NumPy
_CLAUSE = compiled(rb"(?:[,;:)\]}>](?=\s)|\xe3\x80\x81|\xef\xbc[\x8c\x9a\x9b]|\xd8[\x8c\x9b])\s*")
_SENTENCE = compiled(rb"(?:[.!?](?=\s)|\xe3\x80\x82|\xef\xbc[\x81\x9f]|\xe0\xa5\xa4|\xd8\x9f|\xdb\x94)\s*")
_WORD = compiled(rb"\s(?=\S)")


def settle(content: bytes, candidates: Cuts | Iterable[int]) -> Cuts:
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
    given = candidates if isinstance(candidates, np.ndarray) else np.fromiter(candidates, dtype=np.int64)
    cuts = np.empty(len(given) + 2, dtype=np.int64)
    cuts[0], cuts[1:-1], cuts[-1] = 0, given, length
    np.maximum(cuts, 0, out=cuts)
    np.minimum(cuts, length, out=cuts)
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


def _is_safe(content: bytes, cut: int) -> bool:
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
    return settle(content, np.concatenate((cuts, added))) if len(added) else cuts


def inner_cuts(content: bytes, starts: Cuts, ends: Cuts, *, by_line: bool) -> Cuts:
    """Cuts inside every stretch, so that the pieces come near UNIT_AIM bytes."""
    added: list[int] = []
    for begin, end in zip(starts.tolist(), ends.tolist(), strict=True):
        start = begin
        while end - start > UNIT_AIM:
            cut = _line_cut(content, start, end) if by_line else _best_cut(content, start, end)
            if not start < cut < end:
                break
            added.append(cut)
            start = cut
    return np.array(added, dtype=np.int64)


def _best_cut(content: bytes, start: int, end: int) -> int:
    """The best place to end a piece of [start, end): line, sentence, clause, word, code point."""
    rest = end - start
    want = rest // -(-rest // UNIT_AIM)
    low, high = start + want // 2, start + min(UNIT_AIM, rest - want // 2)
    newline = content.rfind(b"\n", low, high)
    if newline >= 0:
        return newline + 1
    for pattern in (_SENTENCE, _CLAUSE):
        cut = max((found.end() for found in pattern.finditer(content, low, high)), default=0)
        if low < cut < end:
            return cut
    space = max(content.rfind(b" ", low, high), content.rfind(b"\t", low, high))
    if space >= 0:
        return space + 1
    limit = min(start + UNIT_LIMIT, end)
    if content[high] < 0x80 and (found := _WORD.search(content, high, limit)):
        return found.end()
    return _code_point(content, start, high)


def _line_cut(content: bytes, start: int, end: int) -> int:
    """A line start that ends a piece of [start, end); inside one long line, the best place there."""
    rest = end - start
    want = rest // -(-rest // UNIT_AIM)
    blank = content.rfind(b"\n\n", start + want // 2, min(start + UNIT_AIM, end - 1))
    if blank >= 0:
        return blank + 2
    newline = content.rfind(b"\n", start, min(start + UNIT_AIM, end - 1))
    if newline >= start + want // 2:
        return newline + 1
    following = content.find(b"\n", start + UNIT_AIM, min(start + UNIT_LIMIT, end))
    if following >= 0:
        return following + 1
    if newline >= start:
        return newline + 1
    return _best_cut(content, start, end) if rest > UNIT_LIMIT else end


def _code_point(content: bytes, start: int, position: int) -> int:
    """The nearest safe cut at or before `position`, or `position` itself in a run of stray bytes."""
    for cut in range(position, max(position - 4, start), -1):
        if _is_safe(content, cut):
            return cut
    return position


def gather(cuts: Cuts, *, aim: int = SECTION_AIM, forced: Cuts | None = None) -> Cuts:
    """Join neighbouring stretches while they stay within `aim`; cuts in `forced` always remain.

    >>> gather(np.array([0, 10, 20, 30, 95]), aim=25).tolist()
    [0, 20, 30, 95]
    """
    return kernels.gather_cuts(cuts, walls=np.sort(forced) if forced is not None else cuts[:0], aim=aim)


def divide(units: Cuts, sections: Cuts, *, limit: int = SECTION_LIMIT, aim: int = SECTION_AIM) -> Cuts:
    """Cut every section longer than `limit` at its units, into groups of about `aim` bytes."""
    long = np.append(sections[1:] - sections[:-1] > limit, False)
    if not long.any():
        return sections
    inside = units[long[np.maximum(sections.searchsorted(units, side="right") - 1, 0)]]
    return gather(merged(sections, inside), aim=aim, forced=sections)


def merged(*columns: Cuts) -> Cuts:
    """Columns as one, sorted, each number once: `np.unique` without the masked arrays that it loads."""
    whole = np.concatenate(columns)
    whole.sort()
    keep = np.ones(len(whole), dtype=np.bool_)
    np.not_equal(whole[1:], whole[:-1], out=keep[1:])
    return whole[keep]
