"""Columns of numbers: packed, unpacked, united, and counted in stretches (columns.c, skips.c, places.c)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from brimful.kernels import Numbers, library, numbers_of, places_of

_BITS = 7  # of a packed number in each byte

_MOST_UNITED = 8  # columns at once: their heads are all looked at for every number


def pack_numbers(values: NDArray[Any]) -> bytes:
    """Numbers as varints: seven bits a byte, low bits first. None of them is negative."""
    values = numbers_of(values)
    packed = np.empty(library().packed_size(values.ctypes.data, len(values)), np.uint8)
    library().pack_numbers(values.ctypes.data, len(values), packed.ctypes.data)
    return packed.tobytes()


def pack_columns(columns: NDArray[Any], offsets: NDArray[Any]) -> tuple[bytes, Numbers]:
    """Ascending columns one after the other, each as its differences; and where each ends in bytes, after a 0.

    Column i is `columns[offsets[i]:offsets[i + 1]]`.
    """
    is_narrow, offsets = columns.dtype == np.int32, numbers_of(offsets)
    columns = places_of(columns) if is_narrow else numbers_of(columns)
    if len(offsets) and (offsets[0] < 0 or offsets[-1] > len(columns) or (np.diff(offsets) < 0).any()):
        raise ValueError("the offsets of columns must ascend and lie inside of them")
    ends = np.zeros(max(len(offsets), 1), np.int64)
    # No difference is larger than the largest number.
    widest = -(-max(int(columns.max(initial=0)).bit_length(), 1) // _BITS)
    packed = np.empty(widest * len(columns), np.uint8)
    given = (columns.ctypes.data, offsets.ctypes.data, len(ends) - 1, ends.ctypes.data + ends.itemsize)
    size = (library().pack_places if is_narrow else library().pack_columns)(*given, packed.ctypes.data)
    if size < 0:
        raise ValueError("the numbers of a column must ascend, from 0 on")
    return packed[:size].tobytes(), ends


def unpack_numbers(packed: bytes | memoryview, *, sums: bool = False) -> Numbers:
    """The numbers that were packed; with `sums` each with all before it added."""
    codes = np.frombuffer(packed, np.uint8)
    at = codes.ctypes.data
    values = np.empty(library().packed_count(at, len(codes)), np.int64)
    library().unpack_numbers(at, len(codes), sums, values.ctypes.data)
    return values


def unpack_column(packed: bytes, *, first: int, last: int, skipped: int, count: int) -> Numbers:
    """So many numbers of `packed[first:last]` behind the first ones, each with those of its column before it added.

    There are fewer where the bytes end before.

    >>> packed, _ = pack_columns(np.array([5, 900, 7, 8]), np.array([0, 2, 4]))
    >>> unpack_column(packed, first=0, last=len(packed), skipped=2, count=2).tolist()
    [7, 8]
    """
    if not 0 <= first <= last <= len(packed) or skipped < 0 or not 0 <= count <= last - first:
        raise ValueError(f"{count} numbers behind {skipped} are not in bytes {first} to {last} of {len(packed)}")
    values = np.empty(count, np.int64)
    at = np.frombuffer(packed, np.uint8).ctypes.data if packed else 0
    made = library().unpack_column(at + first, last - first, skipped, count, values.ctypes.data)
    return values[:made]


class Columns(tuple[Numbers, ...]):  # noqa: SLOT001  (what is remembered needs room)
    """Columns of numbers, one for each segment, that remember where a kernel finds them."""

    def __new__(cls, columns: Iterable[Numbers]) -> Self:
        """The same numbers, of eight bytes each, one after the other."""
        return super().__new__(cls, (numbers_of(column) for column in columns))

    @cached_property
    def at(self) -> NDArray[np.uint64]:
        """Where each begins in memory."""
        return np.array([column.ctypes.data for column in self], np.uint64)

    @cached_property
    def sizes(self) -> Numbers:
        """How many numbers each has."""
        return np.array([len(column) for column in self], np.int64)

    @cached_property
    def given(self) -> tuple[int, int, int]:
        """What every kernel over columns is given first: where they are, how long, how many."""
        return self.at.ctypes.data, self.sizes.ctypes.data, len(self)

    @classmethod
    def of(cls, columns: Sequence[Numbers]) -> Columns:
        """Columns that may be such already."""
        return columns if isinstance(columns, Columns) else cls(columns)


def unite(columns: Sequence[NDArray[Any]]) -> Numbers:
    """Columns as one, ascending, each number once."""
    if 0 < len(columns) <= _MOST_UNITED:
        given = Columns(columns)
        out, cursors = np.empty(int(given.sizes.sum()), np.int64), np.zeros(len(given), np.int64)
        count = library().unite_columns(*given.given, cursors.ctypes.data, out.ctypes.data)
        if count >= 0:
            return out[:count]
    whole = np.concatenate([np.zeros(0, np.int64), *columns])
    whole.sort(kind="stable")
    keep = np.ones(len(whole), np.bool_)
    np.not_equal(whole[1:], whole[:-1], out=keep[1:])
    return whole[keep]


def _stretches(positions: Columns, starts: Numbers, ends: Numbers, bounds: Sequence[int]) -> tuple[Numbers, ...]:
    """Stretches of segments as the kernels read them, with their sizes checked."""
    starts, ends, edges = numbers_of(starts), numbers_of(ends), np.array(bounds, np.int64)
    if len(starts) != len(ends) or len(edges) != len(positions) + 1:
        raise ValueError("every stretch needs an end, and every segment its stretches")
    if edges[0] < 0 or edges[-1] > len(starts) or (np.diff(edges) < 0).any():
        raise ValueError("the bounds of segments must ascend and lie inside of their stretches")
    return starts, ends, edges


def count_inside(columns: Sequence[Numbers], starts: Numbers, ends: Numbers, bounds: Sequence[int]) -> Numbers:
    """How many positions lie in each stretch `[start, end)`; segment s has those from `bounds[s]` on."""
    positions = Columns.of(columns)
    starts, ends, edges = _stretches(positions, starts, ends, bounds)
    counts = np.zeros(len(starts), np.int64)
    given = [each.ctypes.data for each in (starts, ends, edges, counts)]
    library().count_inside(*positions.given, *given)
    return counts


def find_inside(
    columns: Sequence[Numbers], starts: Numbers, ends: Numbers, bounds: Sequence[int]
) -> tuple[Numbers, Numbers, list[int]]:
    """The positions that lie in a stretch, the number of its stretch for each, and where each segment's end."""
    positions = Columns.of(columns)
    starts, ends, edges = _stretches(positions, starts, ends, bounds)
    total = int(positions.sizes.sum())
    found, stretches = np.empty(total, np.int64), np.empty(total, np.int64)
    behind = np.zeros(len(positions) + 1, np.int64)
    given = [each.ctypes.data for each in (starts, ends, edges, found, stretches)]
    library().find_inside(*positions.given, *given, behind.ctypes.data + 8)
    count = int(behind[-1])
    return found[:count], stretches[:count], behind.tolist()


def add_to_rows(columns: Sequence[Numbers], bases: Columns, rows: Columns, *, weight: int, counts: Numbers) -> None:
    """Add so much for every position to the count of the row that its extent belongs to; `rows` are rows of it."""
    positions = Columns.of(columns)
    if len(positions) != len(bases) or (bases.sizes != rows.sizes).any() or counts.dtype != np.int64:
        raise ValueError("every segment needs its extents, and every extent its row")
    given = (bases.at.ctypes.data, rows.at.ctypes.data, bases.sizes.ctypes.data)
    library().add_to_rows(*positions.given, *given, weight, counts.ctypes.data)


def find_blocks(columns: Sequence[Numbers], starts: Columns, firsts: Numbers) -> Numbers:
    """The blocks that have any position, ascending; block i of segment s has the number `firsts[s] + i`."""
    positions, firsts = Columns.of(columns), numbers_of(firsts)
    if not len(positions) == len(starts) == len(firsts):
        raise ValueError("every segment needs its blocks and the number of the first")
    found = np.empty(int(positions.sizes.sum()), np.int64)
    given = (starts.at.ctypes.data, starts.sizes.ctypes.data, firsts.ctypes.data)
    count = library().find_blocks(*positions.given, *given, found.ctypes.data)
    return found[:count].copy()
