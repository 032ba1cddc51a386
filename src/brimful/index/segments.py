"""Where does each term stand? Postings of many documents, packed into pages.

A segment covers several documents, laid one after the other on one axis of byte positions. Its
terms are sorted, and their sorted positions (085b §5.1 atom_positions) are packed term after term into
pages of a few kilobytes. A page is found by its first term, and read alone.
"""

from __future__ import annotations

import struct
import zlib
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from brimful.index.columns import Numbers, pack_numbers, unpack_numbers

_HEADER = struct.Struct("<4I")

PAGE_BYTES = 16_384
"""Packed bytes after which a page ends; a single long column may exceed it."""


@dataclass(frozen=True, slots=True, eq=False)
class Postings:
    """Terms and their positions, in columns: those of term i are `positions[offsets[i]:offsets[i + 1]]`."""

    names: list[bytes]
    offsets: NDArray[np.int64]
    positions: NDArray[np.int64]

    def of(self, name: bytes) -> Numbers:
        """The positions of one term, none where it is unknown."""
        at = bisect_right(self.names, name) - 1
        if at < 0 or self.names[at] != name:
            return np.zeros(0, np.int64)
        return self.positions[self.offsets[at] : self.offsets[at + 1]]


@dataclass(frozen=True, slots=True)
class Page:
    """Consecutive terms with their positions, as they are stored."""

    first: bytes  # the first term
    terms: int
    data: bytes


def pages_of(postings: Postings) -> Iterator[Page]:
    """Pack postings into pages.

    A page holds how many bytes each part takes, then the terms, their lengths, their counts, and the
    differences between neighbouring positions.
    """
    if not postings.names:
        return
    starts = postings.offsets[:-1]
    counts = np.diff(postings.offsets)
    steps = np.diff(postings.positions, prepend=0)
    steps[starts] = postings.positions[starts]
    packed, sizes = pack_numbers(steps)
    ends = np.concatenate((np.zeros(1, np.int64), np.cumsum(sizes)))
    column_ends = ends[postings.offsets]
    first = 0
    while first < len(postings.names):
        full = int(column_ends.searchsorted(column_ends[first] + PAGE_BYTES, side="right")) - 1
        last = min(max(full, first + 1), len(postings.names))
        names = postings.names[first:last]
        data = packed[int(column_ends[first]) : int(column_ends[last])]
        yield Page(names[0], last - first, _written(names, counts[first:last], data))
        first = last


def _written(names: Sequence[bytes], counts: Numbers, steps: bytes) -> bytes:
    lengths = np.array([len(name) for name in names], np.int64)
    parts = [zlib.compress(b"".join(names), 1), pack_numbers(lengths)[0], pack_numbers(counts)[0], steps]
    return _HEADER.pack(*(len(part) for part in parts)) + b"".join(parts)


def page_names(data: bytes) -> list[bytes]:
    """The terms of one page, without their positions."""
    return _names(_parts(data))


def _parts(data: bytes) -> list[memoryview]:
    parts, at = [], _HEADER.size
    for size in _HEADER.unpack_from(data):
        parts.append(memoryview(data)[at : at + size])
        at += size
    return parts


def _names(parts: Sequence[memoryview]) -> list[bytes]:
    joined, ends = zlib.decompress(parts[0]), np.cumsum(unpack_numbers(parts[1])).tolist()
    return [joined[start:end] for start, end in zip([0, *ends], ends, strict=False)]


def read_page(data: bytes) -> Postings:
    """The postings of one page."""
    parts = _parts(data)
    names = _names(parts)
    counts = unpack_numbers(parts[2])
    offsets = np.concatenate((np.zeros(1, np.int64), np.cumsum(counts)))
    sums = np.cumsum(unpack_numbers(parts[3]))
    # Each column starts anew: take away what was summed up before it.
    before = np.concatenate((np.zeros(1, np.int64), sums))[offsets[:-1]]
    return Postings(names, offsets, sums - np.repeat(before, counts))
