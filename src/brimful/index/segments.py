"""Where does each term stand?

Sorted numbers packed into few bytes, the postings of many documents in pages of them, several segments made one, and
where terms follow each other.
"""

from __future__ import annotations

import struct
import zlib
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from brimful.errors import CorruptError
from brimful.native import columns as kernels
from brimful.native.terms import letter_lines, merge_lines
from brimful.text.terms import Names

# ---- columns: How are sorted numbers packed into few bytes?

Numbers = NDArray[np.int64]
Whole = NDArray[Any]
"""Numbers of any whole type: places on an axis take four bytes each."""


def pack_numbers(values: Whole) -> bytes:
    """Whole numbers as varints: seven bits a byte, low bits first.

    >>> pack_numbers(np.array([1, 127, 128, 300]))
    b'\\x01\\x7f\\x80\\x01\\xac\\x02'
    """
    return kernels.pack_numbers(values)


def unpack_numbers(packed: bytes | memoryview) -> Numbers:
    """The numbers that `pack_numbers` packed.

    >>> unpack_numbers(b'\\x01\\x7f\\x80\\x01\\xac\\x02').tolist()
    [1, 127, 128, 300]
    """
    return kernels.unpack_numbers(packed)


def pack_sorted(values: Numbers) -> bytes:
    """An ascending column as the differences between neighbours.

    >>> unpack_sorted(pack_sorted(np.array([5, 5, 900, 901]))).tolist()
    [5, 5, 900, 901]
    """
    return kernels.pack_columns(values, np.array([0, len(values)]))[0]


def unpack_sorted(packed: bytes | memoryview) -> Numbers:
    """The column that `pack_sorted` packed."""
    return kernels.unpack_numbers(packed, sums=True)


def pack_columns(columns: Whole, offsets: Numbers) -> tuple[bytes, Numbers]:
    """Ascending columns one after the other, and where each ends in bytes, after a 0; offsets say which is whose.

    >>> packed, ends = pack_columns(np.array([5, 900, 7]), np.array([0, 2, 3]))
    >>> packed, ends.tolist()
    (b'\\x05\\xff\\x06\\x07', [0, 3, 4])
    """
    return kernels.pack_columns(columns, offsets)


# ---- segments: Where does each term stand? Postings of many documents, packed into pages.
#
# A segment covers several documents, laid one after the other on one axis of byte positions. Its
# terms are sorted, and their sorted positions (085b §5.1 atom_positions) are packed term after term into
# pages of a few kilobytes. A page is found by its first term, and read alone.

_LEAST_LETTERS = 3  # of a word, in bytes
_HEADER = struct.Struct("<3I")

_LONGEST_TERM = 1_024  # bytes; no term is nearly as long

_NO_NUMBERS = np.zeros(0, np.int64)

PAGE_BYTES = 16_384
"""Packed bytes after which a page ends; a single long column may exceed it."""


@dataclass(frozen=True, slots=True, eq=False)
class Postings:
    """Terms and their positions, in columns: term i has `positions[offsets[i]:offsets[i + 1]]`."""

    names: Sequence[bytes]
    offsets: NDArray[np.int64]
    positions: Whole

    def of(self, name: bytes) -> Numbers:
        """The positions of one term, none where it is unknown."""
        row = place_of(self.names, name)
        if row < 0:
            return _NO_NUMBERS
        return self.positions[self.offsets[row] : self.offsets[row + 1]].astype(np.int64)

    def of_all(self, names: Iterable[bytes]) -> Numbers:
        """The positions of several terms, one after the other."""
        columns = [places for name in names if len(places := self.of(name))]
        return columns[0] if len(columns) == 1 else np.concatenate([_NO_NUMBERS, *columns])


def place_of(names: Sequence[bytes], name: bytes) -> int:
    """The row of a name among sorted names; -1 if absent.

    >>> place_of([b"pot", b"tea"], b"tea"), place_of([b"pot", b"tea"], b"te")
    (1, -1)
    """
    if isinstance(names, Names):
        return names.place(name)
    row = bisect_right(names, name) - 1
    return row if row >= 0 and names[row] == name else -1


class OpenPage(kernels.PackedPage):
    """A page whose terms are searched as one text, and whose positions are unpacked one term at a time.

    A question asks for a few of a page's hundreds of terms, so neither a list of them nor their positions are made.
    """

    __slots__ = ()

    def __init__(self, data: bytes) -> None:
        size, counts, positions = _HEADER.unpack_from(data)
        begin = _HEADER.size + size
        names = b"\n%b\n" % _names(data)  # so that every term stands between two newlines
        middle = min(begin + counts, len(data))
        super().__init__(names, data, (begin, middle, min(middle + positions, len(data))))

    def count(self, name: bytes) -> int:
        """How often a term occurs."""
        return int(kernels.OpenPages((self,)).counts(name)[0])

    def of(self, name: bytes) -> Numbers:
        """The positions of one term, none where it is unknown."""
        return kernels.OpenPages((self,)).of(name)[0].astype(np.int64)

    def beginning(self, prefix: bytes) -> list[bytes]:
        """The terms that begin so."""
        return kernels.OpenPages((self,)).beginning(prefix)


@dataclass(frozen=True, slots=True)
class Page:
    """Consecutive terms with their positions, as they are stored."""

    first: bytes  # the first term
    words: bytes  # the terms that `_words_among` selects, newline-terminated
    data: bytes


def pages_of(postings: Postings) -> Iterator[Page]:
    """Pack postings into pages.

    A page holds how many bytes each part takes, then the terms (a newline between: no term holds white space),
    their counts, and the differences between neighbouring positions.
    """
    if not postings.names:
        return
    spelled = Names.of(postings.names)
    packed, column_ends = pack_columns(postings.positions, postings.offsets)
    counts, count_ends = pack_columns(np.diff(postings.offsets), np.arange(len(postings.names) + 1))
    first = 0
    while first < len(postings.names):
        full = int(column_ends.searchsorted(column_ends[first] + PAGE_BYTES, side="right")) - 1
        last = min(max(full, first + 1), len(postings.names))
        names = spelled.joined(first, last)
        parts = (
            zlib.compress(names, 1),
            counts[count_ends[first] : count_ends[last]],
            packed[column_ends[first] : column_ends[last]],
        )
        data = _HEADER.pack(*map(len, parts)) + b"".join(parts)
        yield Page(spelled[first], _words_among(names), data)
        first = last


def pages_beginning(firsts: Sequence[bytes], prefix: bytes) -> range:
    """Which pages may have terms that begin so, by the first term of each.

    >>> pages_beginning([b"cup", b"tea", b"teapot", b"tin"], b"te")
    range(0, 3)
    """
    limit = prefix + b"\xff"  # no term has this byte
    return range(max(bisect_right(firsts, prefix) - 1, 0), bisect_left(firsts, limit))


def _words_among(names: bytes) -> bytes:
    """The lines of at least three bytes that have only ASCII letters and characters beyond ASCII.

    >>> _words_among(b"r2d2\\ntea\\nto\\ntofu")
    b'tea\\ntofu\\n'
    """
    return letter_lines(names, least=_LEAST_LETTERS)


def _names(data: bytes) -> bytes:
    """The terms of a page as one text: each has a count of a byte at least, so no page can hold more than that."""
    size, counts, _ = _HEADER.unpack_from(data)
    limit = (_LONGEST_TERM + 1) * max(counts, 1)
    unpacking = zlib.decompressobj()
    names = unpacking.decompress(memoryview(data)[_HEADER.size : _HEADER.size + size], limit)
    if not unpacking.eof:
        raise CorruptError(f"a page of {counts} terms says more than {limit} bytes of them; index the sources again")
    return names


def read_page(data: bytes) -> Postings:
    """The postings of one page."""
    sizes = _HEADER.unpack_from(data)
    begin = _HEADER.size + sizes[0]
    counts = unpack_numbers(memoryview(data)[begin : begin + sizes[1]])
    offsets = np.concatenate((np.zeros(1, np.int64), np.cumsum(counts)))
    sums = unpack_sorted(memoryview(data)[begin + sizes[1] : begin + sizes[1] + sizes[2]])
    names = Names.of_lines(_names(data) + b"\n")
    is_counted = (counts >= 0).all() and (counts <= len(sums)).all() and int(counts.sum()) == len(sums)
    if len(names) != len(counts) or not is_counted:
        raise CorruptError("a page of terms counts other terms or positions than it holds; index the sources again")
    # Each column starts anew: take away what was summed up before it.
    base_sums = np.concatenate((np.zeros(1, np.int64), sums))[offsets[:-1]]
    return Postings(names, offsets, sums - np.repeat(base_sums, counts))


# ---- merging: How do the postings of several segments become one, a few pages at a time?

_PAGES_AT_ONCE = 16
_POSITIONS_AT_ONCE = 50_000

_NO_POSTINGS = Postings([], np.zeros(1, np.int64), np.zeros(0, np.int64))


def merge_postings(runs: Sequence[Iterator[Postings]]) -> Iterator[Postings]:
    """Merge runs of pages, each sorted by name throughout, into one such run.

    Positions of a run must lie before all of the next run; no term of a run is on two of its pages.

    >>> pages = [Postings([b"pot", b"tea"], np.array([0, 1, 2]), np.array([3, 1])),
    ...          Postings([b"cup", b"tea"], np.array([0, 1, 3]), np.array([9, 7, 8]))]
    >>> (merged,) = merge_postings([iter([page]) for page in pages])
    >>> list(merged.names), merged.of(b"tea").tolist()
    ([b'cup', b'pot', b'tea'], [1, 7, 8])
    """
    held = [_next(run) for run in runs]
    while any(postings.names for postings in held):
        # Every run has yielded all its terms up to this name.
        limit = min(postings.names[-1] for postings in held if postings.names)
        parts = [_split(postings, limit) for postings in held]
        yield _merged([part for part, _ in parts])
        held = [remainder if remainder.names else _next(run) for run, (_, remainder) in zip(runs, parts, strict=True)]


def without_empty(postings: Postings, is_kept: np.typing.NDArray[np.bool_], shifts: Numbers) -> Postings:
    """Only the chosen positions, each with its shift added; terms that are left without any are gone."""
    counts = (
        np.add.reduceat(is_kept, postings.offsets[:-1], dtype=np.int64) if postings.names else np.zeros(0, np.int64)
    )
    filled = np.flatnonzero(counts)
    names = postings.names if len(filled) == len(counts) else [postings.names[row] for row in filled.tolist()]
    offsets = np.concatenate((np.zeros(1, np.int64), np.cumsum(counts[filled])))
    return Postings(names, offsets, (postings.positions + shifts)[is_kept])


def _next(run: Iterator[Postings]) -> Postings:
    """The next few pages as one; nothing at the end."""
    for page in run:
        if page.names:
            break
    else:
        return _NO_POSTINGS
    pages, held = [page], len(page.positions)
    # Pages of common terms are long: memory must not grow with what is merged.
    while len(pages) < _PAGES_AT_ONCE and held < _POSITIONS_AT_ONCE and (following := next(run, None)) is not None:
        pages.append(following)
        held += len(following.positions)
    counts = np.concatenate([np.diff(page.offsets) for page in pages])
    return Postings(
        Names.together([Names.of(page.names) for page in pages]),
        np.concatenate((np.zeros(1, np.int64), np.cumsum(counts))),
        np.concatenate([page.positions for page in pages]),
    )


def _split(postings: Postings, limit: bytes) -> tuple[Postings, Postings]:
    """The terms up to a name, and those after it."""
    names = Names.of(postings.names)
    row = bisect_right(names, limit)
    if row == len(names):
        return postings, _NO_POSTINGS
    middle = postings.offsets[row]
    return (
        Postings(names.part(0, row), postings.offsets[: row + 1], postings.positions[:middle]),
        Postings(names.part(row, len(names)), postings.offsets[row:] - middle, postings.positions[middle:]),
    )


def _merged(parts: Sequence[Postings]) -> Postings:
    lines, places = merge_lines([Names.of(part.names).lines for part in parts])
    names = Names.of_lines(lines)
    counts = np.zeros((len(names), len(parts)), np.int64)
    for column, (part, rows) in enumerate(zip(parts, places, strict=True)):
        counts[rows, column] = np.diff(part.offsets)
    ends = np.cumsum(counts)
    starts = (ends - counts.ravel()).reshape(counts.shape)
    positions = np.empty(int(ends[-1]), np.int64)
    for column, (part, rows) in enumerate(zip(parts, places, strict=True)):
        shifts = np.repeat(starts[rows, column] - part.offsets[:-1], np.diff(part.offsets))
        positions[np.arange(len(part.positions)) + shifts] = part.positions
    offsets = np.concatenate((np.zeros(1, np.int64), np.cumsum(counts.sum(axis=1))))
    return Postings(names, offsets, positions)


# ---- places: Where do terms stand one after the other?

_OFFSET_BITS = 40
"""A document holds less than a terabyte, a store fewer than eight million documents."""


@dataclass(frozen=True, slots=True, eq=False)
class Places:
    """Occurrences of a term: document numbers and byte offsets, sorted by both."""

    documents: NDArray[np.int64]
    starts: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.starts)

    @property
    def keys(self) -> NDArray[np.int64]:
        """Document and offset as one ascending number."""
        return (self.documents << _OFFSET_BITS) | self.starts

    def only(self, chosen: NDArray[np.bool_]) -> Places:
        """The places for which `chosen` is true."""
        return Places(self.documents[chosen], self.starts[chosen])


NOWHERE = Places(np.zeros(0, np.int64), np.zeros(0, np.int64))


def sequence(terms: Sequence[Places], *, lengths: Sequence[int], gap_bytes: int = 8) -> Places:
    """The places of a sequence of terms: each begins at most `gap_bytes` after the end of the previous one.

    Ends are taken from the terms' own lengths; the text has the last word on whether it is the phrase.

    >>> green = Places(np.array([1, 1]), np.array([0, 90]))
    >>> tea = Places(np.array([1]), np.array([6]))
    >>> sequence([green, tea], lengths=[5, 3]).starts.tolist()
    [0]
    """
    if not terms:
        return NOWHERE
    matches = terms[0]
    ends = matches.keys + lengths[0]
    for places, length in zip(terms[1:], lengths[1:], strict=True):
        keys = places.keys
        rows = keys.searchsorted(ends)
        in_range = rows < len(keys)
        rows = np.minimum(rows, max(len(keys) - 1, 0))
        follows = in_range & (keys[rows] - ends <= gap_bytes) if len(keys) else in_range
        matches, ends = matches.only(follows), keys[rows[follows]] + length if len(keys) else ends[:0]
    return matches
