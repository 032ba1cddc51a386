"""Columns of numbers: packed, united, counted in stretches and units (columns.c, skips.c, places.c, units.c)."""

from __future__ import annotations

import ctypes
from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from brimful.classes import NamedTuple
from brimful.errors import CorruptError
from brimful.kernels import Numbers, address_of, library, numbers_of, places_of

_BITS = 7  # of a packed number in each byte

_MOST_UNITED = 8  # columns at once: many short ones are sorted

_SAYS_MORE = "a page of terms says that it has more positions than it holds; index the sources again"


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
    codes = packed if isinstance(packed, bytes) else bytes(packed)
    values = np.empty(library().packed_count(codes, len(codes)), np.int64)
    library().unpack_numbers(codes, len(codes), sums, address_of(values))
    return values


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

    @cached_property
    def total(self) -> int:
        """How many numbers all of them have."""
        return int(self.sizes.sum())

    @classmethod
    def of(cls, columns: Sequence[Numbers]) -> Columns:
        """Columns that may be such already."""
        return columns if isinstance(columns, Columns) else cls(columns)

    @classmethod
    def cut(cls, values: Numbers, sizes: Numbers) -> Columns:
        """Numbers that lie one after the other as columns of so many each.

        >>> [column.tolist() for column in Columns.cut(np.array([5, 7, 9]), np.array([2, 0, 1]))]
        [[5, 7], [], [9]]
        """
        values, ends = numbers_of(values), np.cumsum(sizes)
        if len(sizes) and (int(sizes.min()) < 0 or int(ends[-1]) > len(values)):
            raise ValueError("columns must lie inside of their numbers")
        bounds = [0, *ends.tolist()]
        made = super().__new__(cls, [values[first:last] for first, last in pairwise(bounds)])
        made.__dict__["at"] = (address_of(values) + 8 * (ends - sizes)).astype(np.uint64)
        made.__dict__["sizes"] = sizes
        return made


class OpenPages:
    """Pages of several segments, of which each would have the same names; a segment may have none.

    A page is its names, sorted, a newline before the first and behind each; how many numbers the columns of the first
    names have together, up to each; and these columns, packed.

    >>> packed, ends = pack_columns(np.array([5, 900, 7]), np.array([0, 2, 3]))
    >>> pages = OpenPages([PackedPage(b"\\ncup\\ntea\\n", np.array([2, 3]), packed), None])
    >>> pages.counts(b"cup").tolist(), [column.tolist() for column in pages.of(b"tea")]
    ([2, 0], [[7], []])
    """

    def __init__(self, pages: Sequence[PackedPage | None]) -> None:
        self._kept, self._count = pages, len(pages)
        self._pages = np.array([_NOTHING if page is None else page.given for page in pages], np.uint64)
        self._at = address_of(self._pages)

    @property
    def nbytes(self) -> int:
        """What the pages take in memory."""
        return sum(page.nbytes for page in self._kept if page is not None)

    def counts(self, name: bytes) -> Numbers:
        """How many numbers each has for a name."""
        return self._find(name)[1]

    def of(self, name: bytes) -> Columns:
        """The numbers that each has for a name."""
        before, counts, total = self._find(name)
        values = np.empty(total, np.int64)
        made = library().unpack_in_pages(
            self._at, self._count, address_of(before), address_of(counts), address_of(values)
        )
        if made != total:
            raise CorruptError(_SAYS_MORE)
        return Columns.cut(values, counts)

    def beginning(self, prefix: bytes) -> list[tuple[bytes, bool]]:
        """Of each the names that begin so, a newline between them, and whether the page behind it may have more.

        A page whose names all come before such ones says so too.
        """
        bounds = np.empty((self._count, 2), np.int64)
        library().find_beginnings(self._at, self._count, prefix, len(prefix), address_of(bounds))
        found = []
        for page, (first, last) in zip(self._kept, bounds.tolist(), strict=True):
            names = b"" if page is None else page.names
            found.append((names[first + 1 : last], last == len(names) - 1))
        return found

    def _find(self, name: bytes) -> tuple[Numbers, Numbers, int]:
        """How many numbers stand before those of a name in each, how many it has, and how many that are."""
        before, counts = np.empty((2, self._count), np.int64)
        total = library().find_in_pages(self._at, self._count, name, len(name), address_of(before), address_of(counts))
        if total < 0:
            raise CorruptError(_SAYS_MORE)
        return before, counts, total


class PackedPage:
    """One of `OpenPages`: memory that a kernel reads, checked."""

    __slots__ = ("_kept", "given", "names", "nbytes")

    def __init__(self, names: bytes, ended: Numbers, packed: bytes) -> None:
        if names[:1] != b"\n" or names[-1:] != b"\n":
            raise ValueError("a newline must stand before the first name and behind each")
        ended = numbers_of(ended)
        self.names, self._kept = names, (ended, packed)
        self.nbytes = len(names) + ended.nbytes + len(packed)
        self.given = (*_place_of(names), address_of(ended), len(ended), *_place_of(packed))


def unite(columns: Sequence[NDArray[Any]]) -> Numbers:
    """Columns as one, ascending, each number once."""
    if 0 < len(columns) <= _MOST_UNITED:
        (united,) = unite_all([Columns((column,)) for column in columns])
        return united
    return _sorted_once(columns)


def unite_all(groups: Sequence[Columns]) -> Columns:
    """Several columns of each segment as one of each, ascending, each number once.

    >>> ones, twos = Columns([np.array([1])] * 2), Columns([np.array([2]), np.array([5])])
    >>> [column.tolist() for column in unite_all([twos, ones])]
    [[1, 2], [1, 5]]
    """
    count, segments = len(groups), len(groups[0])
    if count > _MOST_UNITED or any(len(group) != segments for group in groups):
        return Columns([_sorted_once(columns) for columns in zip(*groups, strict=True)])
    columns, sizes = np.array([group.at for group in groups]), np.array([group.sizes for group in groups])
    own, made = np.empty(2 * count, np.int64), np.empty(segments, np.int64)
    of_each = sizes.sum(axis=0)
    out, room = np.empty(int(of_each.sum()), np.int64), np.empty(int(of_each.max(initial=0)), np.int64)
    given = (address_of(columns), address_of(sizes), count, segments)
    rooms = (address_of(own), address_of(own) + 8 * count, address_of(room))
    if library().unite_columns(*given, *rooms, address_of(out), address_of(made)) < 0:
        return Columns([_sorted_once(columns) for columns in zip(*groups, strict=True)])
    return Columns.cut(out, made)


def _sorted_once(columns: Sequence[NDArray[Any]]) -> Numbers:
    whole = np.concatenate([np.zeros(0, np.int64), *columns])
    whole.sort(kind="stable")
    keep = np.ones(len(whole), np.bool_)
    np.not_equal(whole[1:], whole[:-1], out=keep[1:])
    return whole[keep]


_NOTHING = (0,) * 6


def _place_of(content: bytes) -> tuple[int, int]:
    """Where bytes lie in memory, and how many they are."""
    return ctypes.cast(ctypes.c_char_p(content), ctypes.c_void_p).value or 0, len(content)


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


class _PlacedUnits(NamedTuple):
    """Where some units lie: a number for each."""

    extents: Numbers
    starts: Numbers  # on the axis of its segment
    ends: Numbers
    rows: Numbers  # of its extent
    offsets: Numbers  # in its document
    firsts: Numbers  # the first of its run of neighbours in one extent, as a place among these units
    lasts: Numbers


class UnitGrid:
    """The units of all segments, numbered one after the other, in extents that follow each other.

    Of each extent: its first unit, the one behind its last, where it ends on its axis, what leads from there into its
    document, and its row. Of each segment where its units begin, as numbers of four or eight bytes.

    >>> grid = UnitGrid([[0, 2], [2, 3], [9, 30], [100, -20], [7, 8]], [np.array([0, 5, 20], np.uint32)])
    >>> placed = grid.placed(np.array([1, 2]))
    >>> placed.starts.tolist(), placed.ends.tolist(), placed.rows.tolist(), placed.offsets.tolist()
    ([5, 20], [9, 30], [7, 8], [105, 0])
    >>> grid.between(np.array([1]), np.array([1]), reach=3).tolist()
    [0, 1]
    """

    def __init__(
        self, extents: Sequence[NDArray[Any] | Sequence[int]], starts: Sequence[NDArray[np.int64] | NDArray[np.uint32]]
    ) -> None:
        firsts, behind, ends, shifts, owners = (numbers_of(np.asarray(column)) for column in extents)
        kept = [np.ascontiguousarray(column, np.uint32 if column.dtype == np.uint32 else np.int64) for column in starts]
        sizes = np.array([len(column) for column in kept], np.int64)
        begins = np.cumsum(sizes) - sizes
        edges = np.append(firsts, sizes.sum())
        if len({len(firsts), len(behind), len(ends), len(shifts), len(owners)}) > 1:
            raise ValueError("every extent needs its units, its end, its shift and its row")
        if (
            edges[0] != 0
            or (edges[1:] != behind).any()
            or (behind <= firsts).any()
            or (np.append(firsts, -1)[firsts.searchsorted(begins)] != begins).any()
        ):
            raise ValueError("extents must follow each other, each with units of one segment")
        columns = np.array([address_of(column) for column in kept], np.uint64)
        widths = np.array([column.itemsize for column in kept], np.int64)
        self._kept = (firsts, behind, ends, shifts, owners, kept, columns, widths, begins)
        given = [*map(address_of, (firsts, behind, ends, shifts, owners)), len(firsts)]
        self._grid = np.array([*given, *map(address_of, (columns, widths, begins)), len(kept)], np.uint64)
        self._at = address_of(self._grid)

    def placed(self, units: Numbers) -> _PlacedUnits:
        """Where some units lie, in any order."""
        units = numbers_of(units)
        made = np.empty((7, len(units)), np.int64)
        if library().place_units(self._at, address_of(units), len(units), address_of(made)) < 0:
            raise ValueError("there are no such units")
        return _PlacedUnits(*made)

    def between(self, lows: Numbers, highs: Numbers, *, reach: int) -> Numbers:
        """The units from each low to its high one, ascending, and so many more on both sides, within their extents."""
        lows, highs = numbers_of(lows), numbers_of(highs)
        if len(lows) != len(highs) or reach < 0:
            raise ValueError("every first unit needs a last one, and a reach from 0 on")
        most = max(int((highs - lows).sum()), 0) + (2 * reach + 1) * len(lows)
        made = np.empty(most, np.int64)
        given = (address_of(lows), address_of(highs), len(lows), reach, address_of(made), most)
        count = library().units_between(self._at, *given)
        if count < 0:
            raise ValueError("there are no such units, or they do not ascend")
        return made[:count]


class HeadingTree:
    """The headings of a segment, where they stand and which one each is under: their number for none."""

    def __init__(self, starts: Numbers, ends: Numbers, parents: Numbers, bases: Numbers) -> None:
        self.starts, self.ends, self.parents, self._bases = map(numbers_of, (starts, ends, parents, bases))
        if not (len(starts) == len(ends) == len(parents) > 0 and len(bases)):
            raise ValueError("every heading needs an end and a parent, and there must be extents")
        if int(self.parents.min()) < 0:
            raise ValueError("a heading must stand under another, or under none: their number")
        self.given = (
            address_of(self.starts),
            address_of(self.ends),
            address_of(self.parents),
            len(starts),
            address_of(self._bases),
            len(bases),
        )


class HeadingsAbove:
    """The headings above some units, of which segment s has those from `bounds[s]` on; they ascend there.

    A segment without headings, or without such units, has no tree.
    """

    def __init__(
        self,
        trees: Sequence[HeadingTree | None],
        begins: Numbers,
        ends: Numbers,
        bounds: Sequence[int],
        *,
        deepest: int,
    ) -> None:
        begins, ends, edges = numbers_of(begins), numbers_of(ends), np.array(bounds, np.int64)
        if len(begins) != len(ends) or len(edges) != len(trees) + 1 or deepest < 1:
            raise ValueError("every unit needs an end, and every segment its units")
        if edges[0] != 0 or edges[-1] != len(begins) or (edges[1:] < edges[:-1]).any():
            raise ValueError("the bounds of segments must ascend from the first unit to the last")
        self._trees, given = trees, np.array([_NOTHING if tree is None else tree.given for tree in trees], np.uint64)
        self._given = given.reshape(-1, 6)
        heads = self._given[:, 3].astype(np.int64)
        most, words = int(np.minimum(heads, np.diff(edges) * deepest).sum()), int(heads.max(initial=0)) // 64 + 1
        bits, ranks = np.zeros(words, np.uint64), np.empty(words, np.int64)
        self.chains = np.empty((len(begins), deepest), np.int32)
        starts, behind, used = np.empty(most, np.int64), np.empty(most, np.int64), np.empty(len(edges), np.int64)
        units = (address_of(begins), address_of(ends), address_of(edges), deepest, address_of(bits), address_of(ranks))
        made = (address_of(self.chains), address_of(starts), address_of(behind), address_of(used))
        library().find_above(address_of(self._given), len(trees), *units, *made)
        count = int(used[-1])
        self.starts, self.ends, self.bounds = starts[:count], behind[:count], used.tolist()
        self._heads = Stretches(self.starts, self.ends, self.bounds)

    def holding(self, positions: Numbers, behind: Sequence[int]) -> Numbers:
        """The heading of its segment in which each position stands, -1 for none.

        Segment s has those from `behind[s]` on; they ascend there.
        """
        positions, edges = numbers_of(positions), np.array(behind, np.int64)
        if len(edges) != len(self._trees) + 1 or edges[0] != 0 or edges[-1] != len(positions):
            raise ValueError("every segment needs its positions")
        if (edges[1:] < edges[:-1]).any():
            raise ValueError("the positions of segments must follow each other")
        heads = np.empty(len(positions), np.int64)
        given = (address_of(self._given), len(self._trees), address_of(positions), address_of(edges))
        library().find_heads(*given, address_of(heads))
        return heads

    def tell(self, columns: Sequence[Numbers], share: int, *, told: Numbers) -> None:
        """Add a share to what is told of the units that stand under a heading with one of some positions."""
        if told.dtype != np.int64 or told.shape != (len(self.chains),) or not told.flags.c_contiguous:
            raise ValueError("every unit needs its number, one after the other")
        marks = self._heads.count(columns)
        units, deepest = self.chains.shape
        library().tell_above(address_of(self.chains), units, deepest, address_of(marks), share, address_of(told))


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
