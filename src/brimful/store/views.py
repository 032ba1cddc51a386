"""What stands where on the axis of one segment? Columns that are read when first asked for."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from brimful.errors import CorruptError
from brimful.index.columns import Numbers, unpack_sorted
from brimful.index.vectors import CODE_BYTES, Codes
from brimful.store.protocol import BLOCK_BYTES, Extents, Heads
from brimful.store.schema import CODES, HEADS, SECTIONS, UNITS, key_of
from brimful.store.shelf import Shelf
from brimful.store.tables import unpack_table

_NOTHING = np.zeros(0, np.int64)


class SqliteSegment:
    """A segment of the embedded store, as one snapshot sees it."""

    def __init__(self, shelf: Shelf, number: int, length: int, extents: Extents) -> None:
        self._shelf = shelf
        self.number, self.length, self.extents = number, length, extents

    @cached_property
    def units(self) -> Numbers:
        """Where units begin."""
        return unpack_sorted(self._shelf.blob(key_of(self.number, UNITS)))

    @cached_property
    def sections(self) -> Numbers:
        """Where sections begin."""
        return unpack_sorted(self._shelf.blob(key_of(self.number, SECTIONS)))

    @cached_property
    def heads(self) -> Heads:
        """Where headings stand."""
        packed = self._shelf.find(key_of(self.number, HEADS))
        return Heads(*unpack_table(packed, width=3)) if packed else Heads(_NOTHING, _NOTHING, _NOTHING)

    @cached_property
    def codes(self) -> Codes | None:
        """A row for each unit."""
        packed = self._shelf.find(key_of(self.number, CODES))
        if packed is None:
            return None
        codes = np.frombuffer(packed, np.uint8).reshape(-1, CODE_BYTES)
        if len(codes) != len(self.units):
            raise CorruptError(f"segment {self.number} has {len(self.units)} units and {len(codes)} codes")
        return codes

    @cached_property
    def firsts(self) -> list[bytes]:
        """The first term of every page."""
        return self._shelf.firsts(self.number)

    def positions(self, term: bytes) -> Numbers:
        """Where a term stands in live text, ascending."""
        return self.live(self.all_positions(term))

    def all_positions(self, term: bytes) -> Numbers:
        """Where a term stands, in dead text too."""
        place = bisect_right(self.firsts, term) - 1
        return self._shelf.page(self.number, place).of(term) if place >= 0 else _NOTHING

    def live(self, positions: Numbers) -> Numbers:
        """Those of ascending positions that lie in live text."""
        inside = self.is_live(positions)
        return positions if inside.all() else positions[inside]

    def is_live(self, positions: Numbers) -> NDArray[np.bool_]:
        """Which positions lie in live text."""
        bases, ends, *_ = self.extents
        if not len(bases):
            return np.zeros(len(positions), np.bool_)
        at = bases.searchsorted(positions, side="right") - 1
        inside: NDArray[np.bool_] = (at >= 0) & (positions < ends[at])
        return inside

    def count(self, term: bytes) -> int:
        """How often a term stands in live text."""
        positions = self.all_positions(term)
        if not len(positions):
            return 0
        bases, ends, *_ = self.extents
        if len(positions) < len(bases):
            return int(np.count_nonzero(self.is_live(positions)))
        return int((positions.searchsorted(ends) - positions.searchsorted(bases)).sum())

    def names(self, prefix: bytes) -> list[bytes]:
        """The terms that begin so, sorted."""
        found: list[bytes] = []
        for place in range(max(bisect_left(self.firsts, prefix) - 1, 0), len(self.firsts)):
            names = self._shelf.names(self.number, place)
            first = bisect_left(names, prefix)
            last = bisect_left(names, 1, first, key=lambda name: int(not name.startswith(prefix)))
            found += names[first:last]
            if last < len(names):
                break
        return found

    def live_names(self) -> list[bytes]:
        """Every term that live text has."""
        found: list[bytes] = []
        for place in range(len(self.firsts)):
            postings = self._shelf.page(self.number, place)
            counts = np.add.reduceat(self.is_live(postings.positions), postings.offsets[:-1], dtype=np.int64)
            found += [postings.names[index] for index in np.flatnonzero(counts).tolist()]
        return found

    def text(self, start: int, end: int) -> bytes:
        """Bytes of the axis inside one extent."""
        blocks = range(start // BLOCK_BYTES, (end - 1) // BLOCK_BYTES + 1)
        joined = b"".join(self._shelf.block(self.number, place) for place in blocks)
        begin = blocks.start * BLOCK_BYTES
        if end - begin > len(joined):
            raise CorruptError(f"segment {self.number} ends before byte {end}")
        return joined[start - begin : end - begin]
