"""Where does each term stand? Postings of many documents, packed into pages.

A segment covers several documents, laid one after the other on one axis of byte positions. Its
terms are sorted, and their sorted positions (085b §5.1 atom_positions) are packed term after term into
pages of a few kilobytes. A page is found by its first term, and read alone.
"""

from __future__ import annotations

import re
import struct
import zlib
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from brimful.errors import CorruptError
from brimful.index.columns import ENDS_BELOW, Numbers, Whole, pack_columns, unpack_numbers, unpack_sorted
from brimful.patterns import compiled

_WORD = compiled(rb"^[A-Za-z\x80-\xff]{3,}$", re.MULTILINE)
_HEADER = struct.Struct("<3I")

_LONGEST_TERM = 1_024  # bytes; no term is nearly as long

PAGE_BYTES = 16_384
"""Packed bytes after which a page ends; a single long column may exceed it."""


@dataclass(frozen=True, slots=True, eq=False)
class Postings:
    """Terms and their positions, in columns: those of term i are `positions[offsets[i]:offsets[i + 1]]`."""

    names: list[bytes]
    offsets: NDArray[np.int64]
    positions: Whole

    def of(self, name: bytes) -> Numbers:
        """The positions of one term, none where it is unknown."""
        at = bisect_right(self.names, name) - 1
        if at < 0 or self.names[at] != name:
            return np.zeros(0, np.int64)
        return self.positions[self.offsets[at] : self.offsets[at + 1]].astype(np.int64)


class OpenPage:
    """A page whose terms are searched as one text, and whose positions are unpacked one term at a time.

    A question asks for a few of a page's hundreds of terms, so neither a list of them nor their positions are made.
    """

    __slots__ = ("_counted", "_data", "_ends", "_names", "_sizes")

    def __init__(self, data: bytes) -> None:
        self._data, self._sizes = data, _HEADER.unpack_from(data)
        names = _names(data)
        self._names = b"\n%b\n" % names  # so that every term stands between two newlines
        self._counted: Numbers | None = None
        self._ends: NDArray[np.int32] | None = None

    @property
    def nbytes(self) -> int:
        """About what it takes in memory, once it was asked for positions."""
        return 2 * len(self._data) + len(self._names)

    def count(self, name: bytes) -> int:
        """How often a term occurs."""
        at = self._place(name)
        return int(self._counts[at]) if at >= 0 else 0

    def of(self, name: bytes) -> Numbers:
        """The positions of one term, none where it is unknown."""
        at = self._place(name)
        if at < 0:
            return np.zeros(0, np.int64)
        if self._ends is None:
            self._ends = self._column_ends()
        first, last = int(self._ends[at - 1]) if at else 0, int(self._ends[at])
        begin = _HEADER.size + self._sizes[0] + self._sizes[1]
        return unpack_sorted(memoryview(self._data)[begin + first : begin + last])

    def beginning(self, prefix: bytes) -> tuple[list[bytes], bool]:
        """The terms that begin so, and whether the next page may have more of them."""
        first = self._names.find(b"\n" + prefix)
        if first < 0:
            last_name = self._names[self._names.rfind(b"\n", 0, -1) + 1 : -1]
            return [], last_name < prefix
        last = self._names.find(b"\n", self._names.rfind(b"\n" + prefix, 0, -1) + 1)
        return self._names[first + 1 : last].split(b"\n"), last == len(self._names) - 1

    def _place(self, name: bytes) -> int:
        at = self._names.find(b"\n%b\n" % name)
        return self._names.count(b"\n", 0, at) if at >= 0 else -1

    @property
    def _counts(self) -> Numbers:
        if self._counted is None:
            begin = _HEADER.size + self._sizes[0]
            self._counted = unpack_numbers(memoryview(self._data)[begin : begin + self._sizes[1]])
        return self._counted

    def _column_ends(self) -> NDArray[np.int32]:
        """Behind each term's packed positions, in bytes."""
        if len(self._counts) == 1:
            return np.array([self._sizes[2]], np.int32)
        codes = np.frombuffer(self._data, np.uint8, self._sizes[2], _HEADER.size + self._sizes[0] + self._sizes[1])
        ends = np.flatnonzero(codes < ENDS_BELOW)
        return (ends[np.cumsum(self._counts) - 1] + 1).astype(np.int32)


@dataclass(frozen=True, slots=True)
class Page:
    """Consecutive terms with their positions, as they are stored."""

    first: bytes  # the first term
    terms: int
    data: bytes


def pages_of(postings: Postings) -> Iterator[Page]:
    """Pack postings into pages.

    A page holds how many bytes each part takes, then the terms (a newline between: no term holds white space),
    their counts, and the differences between neighbouring positions.
    """
    if not postings.names:
        return
    packed, column_ends = _packed(postings.positions, postings.offsets)
    counts, count_ends = _packed(np.diff(postings.offsets), np.arange(len(postings.names) + 1))
    first = 0
    while first < len(postings.names):
        full = bisect_right(column_ends, column_ends[first] + PAGE_BYTES) - 1
        last = min(max(full, first + 1), len(postings.names))
        names = postings.names[first:last]
        parts = (
            zlib.compress(b"\n".join(names), 1),
            counts[count_ends[first] : count_ends[last]],
            packed[column_ends[first] : column_ends[last]],
        )
        yield Page(names[0], last - first, _HEADER.pack(*map(len, parts)) + b"".join(parts))
        first = last


def _packed(columns: Whole, offsets: Numbers) -> tuple[bytes, list[int]]:
    """Columns packed, and how many bytes those before each take."""
    packed, ends = pack_columns(columns, offsets)
    return packed, ends.tolist()


def page_names(data: bytes) -> list[bytes]:
    """The terms of one page, without their positions."""
    return _names(data).split(b"\n")


def page_words(data: bytes) -> list[bytes]:
    """The terms of one page that are made of letters, and perhaps others beyond ASCII; of three bytes or more."""
    found: list[bytes] = _WORD.findall(_names(data))
    return found


def _names(data: bytes) -> bytes:
    """The terms of a page as one text: each has a count of a byte at least, so no page can hold more than that."""
    size, counts, _ = _HEADER.unpack_from(data)
    most = (_LONGEST_TERM + 1) * max(counts, 1)
    unpacking = zlib.decompressobj()
    names = unpacking.decompress(memoryview(data)[_HEADER.size : _HEADER.size + size], most)
    if not unpacking.eof:
        raise CorruptError(f"a page of {counts} terms says more than {most} bytes of them; index the sources again")
    return names


def read_page(data: bytes) -> Postings:
    """The postings of one page."""
    sizes = _HEADER.unpack_from(data)
    begin = _HEADER.size + sizes[0]
    counts = unpack_numbers(memoryview(data)[begin : begin + sizes[1]])
    offsets = np.concatenate((np.zeros(1, np.int64), np.cumsum(counts)))
    sums = unpack_sorted(memoryview(data)[begin + sizes[1] : begin + sizes[1] + sizes[2]])
    # Each column starts anew: take away what was summed up before it.
    before = np.concatenate((np.zeros(1, np.int64), sums))[offsets[:-1]]
    return Postings(page_names(data), offsets, sums - np.repeat(before, counts))
