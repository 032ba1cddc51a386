"""Columns of numbers: packed, united, counted in stretches and units (columns.c, skips.c)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from brimful.errors import CorruptError
from brimful.native import Column, Numbers, Places, kernels, library, numbers_of, places_of, pointer, pointers

_BITS = 7  # of a packed number in each byte

_SAYS_MORE = (
    "a page of terms says that it has more positions than it holds, or some where no segment reaches; "
    "index the sources again"
)


def pack_numbers(values: Column) -> bytes:
    """Numbers as varints: seven bits a byte, low bits first. None of them is negative."""
    return pack_columns(values, np.arange(len(values) + 1))[0]


def pack_columns(columns: Column, offsets: Column) -> tuple[bytes, Numbers]:
    """Ascending columns one after the other, each as its differences; and where each ends in bytes, after a 0.

    Column i is `columns[offsets[i]:offsets[i + 1]]`.
    """
    columns, offsets = numbers_of(columns), numbers_of(offsets)
    if len(offsets) and (offsets[0] < 0 or offsets[-1] > len(columns) or (np.diff(offsets) < 0).any()):
        raise ValueError("the offsets of columns must ascend and lie inside of them")
    ends = np.zeros(max(len(offsets), 1), np.int64)
    # No difference is larger than the largest number.
    widest = -(-max(int(columns.max(initial=0)).bit_length(), 1) // _BITS)
    packed = np.empty(widest * len(columns), np.uint8)
    arguments = (*pointers(columns, offsets), len(ends) - 1, *pointers(ends[1:], packed))
    size = library().pack_columns(*arguments)
    if size < 0:
        raise ValueError("the numbers of a column must ascend, from 0 on")
    return packed[:size].tobytes(), ends


def unpack_numbers(packed: bytes | memoryview, *, sums: bool = False) -> Numbers:
    """The numbers that were packed; with `sums` each with all before it added."""
    codes = packed if isinstance(packed, bytes) else bytes(packed)
    values = np.empty(np.count_nonzero(np.frombuffer(codes, np.uint8) < 1 << _BITS), np.int64)
    library().unpack_numbers(codes, len(codes), sums, pointer(values))
    return values


class Columns:
    """Columns of places or rows, one for each segment.

    `sizes` counts the numbers of each column, `total` the numbers of all. A place on the axis of a segment takes four
    bytes: indexing has no more for it, and merging makes no longer axis.
    """

    def __init__(self, columns: Iterable[Column]) -> None:
        self._columns = [places_of(column) for column in columns]
        self.sizes = [len(column) for column in self._columns]
        self.total = sum(self.sizes)

    def __len__(self) -> int:
        return len(self._columns)

    def __getitem__(self, number: int) -> Places:
        return self._columns[number]

    def __iter__(self) -> Iterator[Places]:
        return iter(self._columns)

    @classmethod
    def cut(cls, values: Places, sizes: Numbers) -> Columns:
        """Cut one array of numbers into columns of these sizes.

        >>> [column.tolist() for column in Columns.cut(np.array([5, 7, 9]), np.array([2, 0, 1]))]
        [[5, 7], [], [9]]
        """
        values, bounds = places_of(values), [0, *accumulate(sizes.tolist())]
        if min(sizes.tolist(), default=0) < 0 or bounds[-1] > len(values):
            raise ValueError("columns must lie inside of their numbers")
        return cls(values[first:last] for first, last in pairwise(bounds))


class OpenPages:
    """Pages of several segments, which would hold equal names; a segment may have none.

    A page has its sorted names, with a newline before the first and after each; the size of the column of each; and the
    packed columns.

    >>> content = pack_numbers(np.array([2, 1])) + pack_columns(np.array([5, 900, 7]), np.array([0, 2, 3]))[0]
    >>> pages = OpenPages([PackedPage(b"\\ncup\\ntea\\n", content, (0, 2, len(content))), None])
    >>> pages.counts(b"cup").tolist(), [column.tolist() for column in pages.of(b"tea")]
    ([2, 0], [[7], []])
    """

    def __init__(self, pages: Sequence[PackedPage | None]) -> None:
        self._kept, self._count = pages, len(pages)
        self.struct = kernels().types.new("page[]", [{} if page is None else page.fields for page in pages])

    def __len__(self) -> int:
        return self._count

    @property
    def nbytes(self) -> int:
        """The memory of all pages, in bytes."""
        return sum(page.nbytes for page in self._kept if page is not None)

    def counts(self, name: bytes) -> Numbers:
        """The size of a name's column in each page."""
        return self._find(name)[1]

    def of(self, name: bytes) -> Columns:
        """The column of a name in each page."""
        skipped, counts, total = self._find(name)
        values = np.empty(total, np.int32)
        count = library().unpack_in_pages(self.struct, self._count, *pointers(skipped, counts, values))
        if count != total:
            raise CorruptError(_SAYS_MORE)
        return Columns.cut(values, counts)

    def beginning(self, prefix: bytes) -> list[bytes]:
        """The names with a prefix, page after page."""
        names = []
        for text in [page.names for page in self._kept if page is not None]:
            last = text.rfind(b"\n" + prefix, 0, -1)
            if last >= 0:
                names += text[text.index(b"\n" + prefix) + 1 : text.index(b"\n", last + 1)].split(b"\n")
        return names

    def near(self, prefix: bytes, letters: int, *, longer: int) -> list[bytes]:
        """Names with a prefix that may have this number of letters, or up to `longer` more or fewer.

        Names with other signs than letters are left out, unless they have an apostrophe or letters beyond ASCII.
        """
        shortest, longest = letters - longer, letters + longer
        names = [name for name in self.beginning(prefix) if len(name) >= shortest]
        plain = [name for name in names if name.isalpha() and len(name) <= longest]
        mixed = [name for name in names if len(name) <= 4 * longest and (b"'" in name or not name.isascii())]
        return plain + mixed

    def _find(self, name: bytes) -> tuple[Numbers, Numbers, int]:
        """Of each page the numbers before the column of a name, and its size; and the sum of these sizes."""
        skipped, counts = np.empty((2, self._count), np.int64)
        total = library().find_in_pages(self.struct, self._count, name, len(name), pointer(skipped), pointer(counts))
        if total < 0:
            raise CorruptError(_SAYS_MORE)
        return skipped, counts, total


class PackedPage:
    """One of `OpenPages`: memory that a kernel reads, checked.

    `parts` are three offsets in `content`: packed sizes of columns lie between the first two, packed columns between
    the last two.
    """

    __slots__ = ("_content", "fields", "names", "nbytes")

    def __init__(self, names: bytes, content: bytes, parts: tuple[int, int, int]) -> None:
        first, middle, last = parts
        if names[:1] != b"\n" or names[-1:] != b"\n":
            raise ValueError("a newline must stand before the first name and after each")
        if not 0 <= first <= middle <= last <= len(content):
            raise ValueError("the parts of a page must lie inside of it")
        self.names, self.nbytes = names, len(names) + len(content)
        of_bytes = kernels().types.from_buffer
        start = of_bytes("uint8_t[]", content)
        self.fields = {"names": of_bytes("uint8_t[]", names), "size": len(names)}
        self.fields |= {"counts": start + first, "counted": middle - first}
        self.fields |= {"packed": start + middle, "bytes": last - middle}
        self._content = start


def unite(columns: Sequence[Column]) -> Column:
    """Columns as one, ascending, each number once.

    >>> unite([np.array([5, 1]), np.array([2, 5])]).tolist()
    [1, 2, 5]
    """
    values = np.concatenate(columns) if len(columns) else np.zeros(0, np.int64)
    values.sort(kind="stable")
    is_new = np.ones(len(values), np.bool_)
    np.not_equal(values[1:], values[:-1], out=is_new[1:])
    return values[is_new]


def unite_all(groups: Sequence[Columns]) -> Columns:
    """Several ascending columns of each segment as one of each, each number once.

    >>> ones, twos = Columns([np.array([1])] * 2), Columns([np.array([2]), np.array([5])])
    >>> [column.tolist() for column in unite_all([twos, ones])]
    [[1, 2], [1, 5]]
    """
    return Columns(map(unite, zip(*groups, strict=True)))


def leave_out(columns: Columns, excluded: Sequence[Columns]) -> Columns:
    """Ascending columns without the numbers that others have, which ascend too.

    >>> ones, twos = Columns([np.array([1, 2, 3])]), Columns([np.array([0, 2])])
    >>> [column.tolist() for column in leave_out(ones, [twos])]
    [[1, 3]]
    """
    if not excluded:
        return columns
    parts = zip(columns, *excluded, strict=True)
    return Columns(column[~np.isin(column, np.concatenate(subtracted))] for column, *subtracted in parts)


class PlacedUnits(NamedTuple):
    """Places of units: a number for each."""

    extents: Numbers
    starts: Numbers  # on the axis of its segment
    ends: Numbers
    rows: Numbers  # of its extent
    offsets: Numbers  # in its document
    firsts: Numbers  # the first of its run of neighbours in one extent, as a place among these units
    lasts: Numbers

    @property
    def sizes(self) -> Numbers:
        """How long each is, in bytes."""
        sizes: Numbers = self.ends - self.starts
        return sizes


class UnitGrid:
    """The units of all segments, numbered one after the other, in extents that follow each other.

    Of each extent: its first unit, the one after its last, where it ends on its axis, the shift from there into its
    document, and its row. Of each segment where its units begin, as numbers of four or eight bytes.

    >>> grid = UnitGrid([[0, 2], [2, 3], [9, 30], [100, -20], [7, 8]], [np.array([0, 5, 20], np.uint32)])
    >>> placed = grid.placed(np.array([1, 2]))
    >>> placed.starts.tolist(), placed.ends.tolist(), placed.rows.tolist(), placed.offsets.tolist()
    ([5, 20], [9, 30], [7, 8], [105, 0])
    >>> grid.between(np.array([1]), np.array([1]), reach=3).tolist()
    [0, 1]
    """

    def __init__(
        self, extents: Sequence[Column | Sequence[int]], starts: Sequence[NDArray[np.int64] | NDArray[np.uint32]]
    ) -> None:
        firsts, nexts, ends, shifts, owners = (numbers_of(np.asarray(column)) for column in extents)
        sizes = np.array([len(column) for column in starts], np.int64)
        begins, edges = np.cumsum(sizes) - sizes, np.append(firsts, sizes.sum())
        if edges[0] != 0 or (edges[1:] != nexts).any() or (nexts <= firsts).any():
            raise ValueError("extents must follow each other, each with units of one segment")
        self._edges, self._ends, self._shifts, self._starts = edges, ends, shifts, starts
        self.rows, self.begins, self.segments = owners, begins, len(starts)

    def __len__(self) -> int:
        return int(self._edges[-1])

    def placed(self, units: Numbers) -> PlacedUnits:
        """The places of units, in any order."""
        numbers, extents, starts = np.arange(len(units)), self._extents_of(units), self._starts_of(units)
        is_last = units + 1 == self._edges[extents + 1]
        ends = np.empty_like(starts)
        ends[is_last], ends[~is_last] = self._ends[extents[is_last]], self._starts_of(units[~is_last] + 1)
        is_first = np.ones(len(units), np.bool_)
        is_first[1:] = (units[1:] != units[:-1] + 1) | (extents[1:] != extents[:-1])
        firsts, runs = numbers[is_first], np.cumsum(is_first) - 1
        lasts = np.append(firsts[1:], len(units))[runs] - 1
        return PlacedUnits(
            extents, starts, ends, self.rows[extents], starts + self._shifts[extents], firsts[runs], lasts
        )

    def between(self, lows: Numbers, highs: Numbers, *, reach: int) -> Numbers:
        """Ascending units from each low to its high one, and `reach` more on both sides within their extents."""
        lows = np.maximum(lows - reach, self._edges[self._extents_of(lows)])
        highs = np.minimum(highs + reach + 1, self._edges[self._extents_of(highs) + 1])
        lows = np.maximum(lows, np.append(0, np.maximum.accumulate(highs)[:-1])[: len(lows)])
        counts = np.maximum(highs - lows, 0)
        return np.repeat(lows - (np.cumsum(counts) - counts), counts) + np.arange(counts.sum())

    def _extents_of(self, units: Numbers) -> Numbers:
        return self._edges.searchsorted(units, side="right") - 1

    def _starts_of(self, units: Numbers) -> Numbers:
        """Starts of units on the axis of their segment."""
        starts, segments = np.empty(len(units), np.int64), self.begins.searchsorted(units, side="right") - 1
        for segment in np.unique(segments).tolist():
            is_inside = segments == segment
            starts[is_inside] = self._starts[segment][units[is_inside] - self.begins[segment]]
        return starts


class HeadingTree:
    """The headings of a segment: their places, and the parent of each (the number of headings for none).

    Ends ascend, as starts do; the extents of the segment begin at `bases`.
    """

    def __init__(self, starts: Places, ends: Places, parents: Places, bases: Places) -> None:
        self.starts, self.ends, self.parents, self._bases = starts, ends, parents, bases

    def headings_at(self, places: Numbers) -> Numbers:
        """The heading around each place, -1 for none."""
        last = self.starts.searchsorted(places, side="right") - 1
        return np.where((last >= 0) & (places < self.ends[last]), last, -1)

    def above(self, begins: Places, ends: Places) -> Numbers:
        """The heading above each stretch; a heading that begins in a stretch counts with its parent."""
        count = len(self.starts)
        base = self._bases[self._bases.searchsorted(begins, side="right") - 1]
        lowest = self.ends.searchsorted(begins, side="right") - 1
        after = np.minimum(lowest + 1, count - 1)
        is_own = (self.starts[after] >= begins) & (self.starts[after] < ends)
        nearest = np.where((lowest >= 0) & (self.starts[lowest] >= base), lowest, count)
        return np.where(is_own, self.parents[after], nearest)


def add_to_rows(counts: Numbers, positions: Columns, bases: Columns, rows: Columns, *, weight: int) -> None:
    """Add a weight for every position to the count of the row of its extent.

    Extents begin at `bases`, segment by segment, and belong to `rows`.

    >>> counts = np.zeros(3, np.int64)
    >>> extents = Columns([np.array([0, 10])]), Columns([np.array([2, 0])])
    >>> add_to_rows(counts, Columns([np.array([3, 4, 17])]), *extents, weight=5)
    >>> counts.tolist()
    [5, 0, 10]
    """
    for places, begins, owners in zip(positions, bases, rows, strict=True):
        if len(places) < len(begins):
            extents = begins.searchsorted(places, side="right") - 1
            np.add.at(counts, owners[extents[extents >= 0]], weight)
        else:
            times = np.diff(places.searchsorted(begins), append=len(places))
            np.add.at(counts, owners, weight * times)
