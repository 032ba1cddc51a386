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

from brimful.index.columns import ENDS_BELOW, Numbers, Whole, pack_numbers, unpack_numbers

_WORD = re.compile(rb"^[A-Za-z\x80-\xff]{3,}$", re.MULTILINE)
_HEADER = struct.Struct("<3I")

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


@dataclass(frozen=True, slots=True, eq=False)
class PackedPostings:
    """Terms whose positions are unpacked one term at a time: a question asks for one of a page's hundreds."""

    names: list[bytes]
    offsets: NDArray[np.int64]
    _codes: NDArray[np.uint8]
    _ends: NDArray[np.int32]  # behind each packed number

    def of(self, name: bytes) -> Numbers:
        """The positions of one term, none where it is unknown."""
        at = bisect_right(self.names, name) - 1
        if at < 0 or self.names[at] != name:
            return np.zeros(0, np.int64)
        first, last = self.offsets[at : at + 2].tolist()
        begin = int(self._ends[first - 1]) if first else 0
        return np.cumsum(unpack_numbers(self._codes[begin : self._ends[last - 1]].data))


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
    starts = postings.offsets[:-1]
    steps = postings.positions.copy()
    steps[1:] -= postings.positions[:-1]
    steps[starts] = postings.positions.take(starts)
    packed, column_ends = _packed(steps, postings.offsets)
    del steps
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


def _packed(values: Whole, bounds: Numbers) -> tuple[bytes, list[int]]:
    """Numbers packed, and how many bytes those before each bound take."""
    packed, sizes = pack_numbers(values)
    ends = np.zeros(len(sizes) + 1, np.int32)
    np.cumsum(sizes, out=ends[1:])
    return packed, ends.take(bounds).tolist()


def page_names(data: bytes) -> list[bytes]:
    """The terms of one page, without their positions."""
    size = _HEADER.unpack_from(data)[0]
    return zlib.decompress(memoryview(data)[_HEADER.size : _HEADER.size + size]).split(b"\n")


def page_words(data: bytes) -> list[bytes]:
    """The terms of one page that are made of letters, and perhaps others beyond ASCII; of three bytes or more."""
    size = _HEADER.unpack_from(data)[0]
    found: list[bytes] = _WORD.findall(zlib.decompress(memoryview(data)[_HEADER.size : _HEADER.size + size]))
    return found


def page_counts(data: bytes) -> tuple[list[bytes], Numbers]:
    """The terms of one page and how often each occurs, without any position."""
    sizes = _HEADER.unpack_from(data)
    begin = _HEADER.size + sizes[0]
    return page_names(data), unpack_numbers(memoryview(data)[begin : begin + sizes[1]])


def open_page(data: bytes) -> PackedPostings:
    """The postings of one page, still packed."""
    sizes = _HEADER.unpack_from(data)
    names, counts = page_counts(data)
    begin = _HEADER.size + sizes[0] + sizes[1]
    codes = np.frombuffer(data, np.uint8, sizes[2], begin)
    offsets = np.concatenate((np.zeros(1, np.int64), np.cumsum(counts)))
    return PackedPostings(names, offsets, codes, (np.flatnonzero(codes < ENDS_BELOW) + 1).astype(np.int32))


def read_page(data: bytes) -> Postings:
    """The postings of one page."""
    sizes = _HEADER.unpack_from(data)
    begin = _HEADER.size + sizes[0]
    counts = unpack_numbers(memoryview(data)[begin : begin + sizes[1]])
    offsets = np.concatenate((np.zeros(1, np.int64), np.cumsum(counts)))
    sums = np.cumsum(unpack_numbers(memoryview(data)[begin + sizes[1] : begin + sizes[1] + sizes[2]]))
    # Each column starts anew: take away what was summed up before it.
    before = np.concatenate((np.zeros(1, np.int64), sums))[offsets[:-1]]
    return Postings(page_names(data), offsets, sums - np.repeat(before, counts))
