"""Columns of numbers: packed, unpacked, united, and counted in stretches (columns.c, skips.c, places.c)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from brimful.kernels import Numbers, Places, address_of, library, numbers_of, places_of

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
    packed = np.empty(widest * len(columns) + 8, np.uint8)
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
    made = library().unpack_column(packed, first, last, skipped, count, address_of(values))
    return values if made == count else values[:made]


class Columns(tuple[Numbers, ...]):  # noqa: SLOT001  (what is remembered needs room)
    """Columns of numbers, one for each segment, that remember where a kernel finds them."""

    def __new__(cls, columns: Iterable[Numbers]) -> Self:
        """The same numbers, of eight bytes each, one after the other."""
        return super().__new__(cls, (numbers_of(column) for column in columns))

    @cached_property
    def at(self) -> NDArray[np.uint64]:
        """Where each begins in memory."""
        return np.array([address_of(column) for column in self], np.uint64)

    @cached_property
    def sizes(self) -> Numbers:
        """How many numbers each has."""
        return np.array([len(column) for column in self], np.int64)

    @cached_property
    def given(self) -> tuple[int, int, int]:
        """What every kernel over columns is given first: where they are, how long, how many."""
        return address_of(self.at), address_of(self.sizes), len(self)

    @classmethod
    def of(cls, columns: Sequence[Numbers]) -> Columns:
        """Columns that may be such already."""
        return columns if isinstance(columns, Columns) else cls(columns)


def unite(columns: Sequence[NDArray[Any]]) -> Numbers:
    """Columns as one, ascending, each number once."""
    if 0 < len(columns) <= _MOST_UNITED:
        given = Columns(columns)
        out, cursors = np.empty(sum(map(len, given)), np.int64), np.zeros(len(given), np.int64)
        count = library().unite_columns(*given.given, address_of(cursors), address_of(out))
        if count >= 0:
            return out[:count]
    whole = np.concatenate([np.zeros(0, np.int64), *columns])
    whole.sort(kind="stable")
    keep = np.ones(len(whole), np.bool_)
    np.not_equal(whole[1:], whole[:-1], out=keep[1:])
    return whole[keep]


class Stretches:
    """Stretches `[start, end)` of segments, whose starts ascend: segment s has those from `bounds[s]` on."""

    def __init__(self, starts: Numbers, ends: Numbers, bounds: Sequence[int]) -> None:
        starts, ends, edges = numbers_of(starts), numbers_of(ends), np.array(bounds, np.int64)
        if len(starts) != len(ends) or not len(edges):
            raise ValueError("every stretch needs an end, and every segment its stretches")
        if edges[0] < 0 or edges[-1] > len(starts) or (edges[1:] < edges[:-1]).any():
            raise ValueError("the bounds of segments must ascend and lie inside of their stretches")
        self._kept, self._size, self._segments = (starts, ends, edges), len(starts), len(edges) - 1
        self._given = (address_of(starts), address_of(ends), address_of(edges))

    def count(self, columns: Sequence[Numbers], *, weight: int = 1, counts: Numbers | None = None) -> Numbers:
        """How many positions lie in each, as so much each; added to the counts that there are."""
        positions = Columns.of(columns)
        counts = np.zeros(self._size, np.int64) if counts is None else counts
        if len(positions) != self._segments or counts.dtype != np.int64 or counts.shape != (self._size,):
            raise ValueError("every segment needs its stretches, and every stretch its count")
        if not counts.flags.c_contiguous:
            raise ValueError("the counts of stretches must lie one after the other")
        library().count_inside(*positions.given, *self._given, weight, address_of(counts))
        return counts

    def count_above(self, chains: Places, columns: Sequence[Numbers]) -> Numbers:
        """How many of the stretches that each row of a chain names hold a position."""
        return count_above(chains, self.count(columns))

    def find(self, columns: Sequence[Numbers]) -> tuple[Numbers, Numbers, list[int]]:
        """The positions that lie in one, the number of its stretch for each, and where each segment's end.

        No stretch overlaps another.
        """
        positions = Columns.of(columns)
        if len(positions) != self._segments:
            raise ValueError("every segment needs its stretches")
        total = int(positions.sizes.sum())
        found, stretches = np.empty(total, np.int64), np.empty(total, np.int64)
        behind = np.zeros(self._segments + 1, np.int64)
        library().find_inside(
            *positions.given, *self._given, address_of(found), address_of(stretches), address_of(behind) + 8
        )
        count = int(behind[-1])
        return found[:count], stretches[:count], behind.tolist()


class HeadingTree:
    """The headings of a segment, where they stand and which one each is under: their number for none."""

    def __init__(self, starts: Numbers, ends: Numbers, parents: Numbers, bases: Numbers) -> None:
        self.starts, self.ends, self.parents, self._bases = map(numbers_of, (starts, ends, parents, bases))
        if not (len(starts) == len(ends) == len(parents) > 0 and len(bases)):
            raise ValueError("every heading needs an end and a parent, and there must be extents")
        self._given = (
            address_of(self.starts),
            address_of(self.ends),
            address_of(self.parents),
            len(starts),
            address_of(self._bases),
            len(bases),
        )

    def above(self, begins: Numbers, ends: Numbers, *, first: int, chains: Places) -> Numbers:
        """The headings above some ascending units, each once; `chains` gets which of them each unit stands under.

        It has a row of -1 for every unit, which is filled from the nearest heading on, as numbers from `first` on.
        """
        begins, ends = numbers_of(begins), numbers_of(ends)
        if len(begins) != len(ends) or chains.ndim != 2 or len(chains) != len(begins):
            raise ValueError("every unit needs its end and its row")
        if chains.dtype != np.int32 or not chains.flags.c_contiguous:
            raise ValueError("the rows of units must lie one after the other")
        used, bits = (
            np.empty(min(chains.size, len(self.starts)), np.int64),
            np.zeros(len(self.starts) // 64 + 1, np.uint64),
        )
        given = (
            address_of(begins),
            address_of(ends),
            len(begins),
            chains.shape[1],
            first,
            address_of(bits),
            address_of(chains),
            address_of(used),
        )
        return used[: library().find_above(*self._given, *given)]


def count_above(chains: Places, marks: Numbers) -> Numbers:
    """How many of the headings above each unit have a mark above 0; -1 is none, and the last of its row."""
    marks, counts = numbers_of(marks), np.empty(len(chains), np.int64)
    if chains.ndim != 2 or chains.dtype != np.int32 or not chains.flags.c_contiguous:
        raise ValueError("the rows of units must lie one after the other")
    if chains.size and int(chains.max()) >= len(marks):
        raise ValueError("every heading needs a mark")
    library().count_above(address_of(chains), len(chains), chains.shape[1], address_of(marks), address_of(counts))
    return counts


def add_to_rows(columns: Sequence[Numbers], bases: Columns, rows: Columns, *, weight: int, counts: Numbers) -> None:
    """Add so much for every position to the count of the row that its extent belongs to; `rows` are rows of it."""
    positions = Columns.of(columns)
    if len(positions) != len(bases) or (bases.sizes != rows.sizes).any() or counts.dtype != np.int64:
        raise ValueError("every segment needs its extents, and every extent its row")
    given = (address_of(bases.at), address_of(rows.at), address_of(bases.sizes))
    library().add_to_rows(*positions.given, *given, weight, address_of(counts))


def find_blocks(columns: Sequence[Numbers], starts: Columns, firsts: Numbers) -> Numbers:
    """The blocks that have any position, ascending; block i of segment s has the number `firsts[s] + i`."""
    positions, firsts = Columns.of(columns), numbers_of(firsts)
    if not len(positions) == len(starts) == len(firsts):
        raise ValueError("every segment needs its blocks and the number of the first")
    found = np.empty(int(positions.sizes.sum()), np.int64)
    given = (address_of(starts.at), address_of(starts.sizes), address_of(firsts))
    count = library().find_blocks(*positions.given, *given, address_of(found))
    return found[:count].copy()
