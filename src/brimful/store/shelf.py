"""Which blobs does a segment have, and are they what was written? The ones read last are kept."""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np
import zstandard

from brimful.errors import CorruptError
from brimful.index.segments import OpenPage
from brimful.index.vectors import CODE_BYTES, Codes
from brimful.store.cursors import Cursor
from brimful.store.kept import Kept
from brimful.store.protocol import BLOCK_BYTES
from brimful.store.schema import BLOB_CODES, CODES, FIRSTS, PAGE, TEXT, key_of, kind_of_key, place_of, seal_of, unpacked

_TIMES, _FLOOR_BYTES = 64, 64 << 20
"""All columns of a store, unpacked, are smaller than so many times its file and so many bytes: a document that has an
extent and a card has a row, a heading has its words' positions. Who says more was not written by this program."""
_MOST_CODES = 1 << 26  # of a blob that earlier programs wrote for a whole segment
_KEPT_BLOCK_BYTES, _KEPT_PAGE_BYTES, _KEPT_CODE_BYTES = 8 << 20, 16 << 20, 34 << 20


class SegmentRow(NamedTuple):
    """What is known of a segment before any of its blobs is read."""

    number: int
    length: int  # of its axis
    live: int  # bytes of live text
    dead: int  # extents that are no longer live
    lowest: int  # document
    highest: int


class Shelf:
    """Verified blobs of one moment."""

    def __init__(self, cursor: Cursor) -> None:
        self._cursor = cursor
        self._columns: dict[int, int] = {}  # by key, the bytes that it says it holds
        self._blocks: Kept[int, bytes] = Kept(self._read_block, size=len, most_bytes=_KEPT_BLOCK_BYTES)
        self._pages: Kept[int, OpenPage] = Kept(
            lambda key: OpenPage(self.blob(key)), size=lambda page: page.nbytes, most_bytes=_KEPT_PAGE_BYTES
        )

        self._codes: Kept[int, Codes] = Kept(
            self._read_codes, size=lambda codes: codes.nbytes, most_bytes=_KEPT_CODE_BYTES
        )

    def blob(self, key: int) -> bytes:
        """What is stored under a key."""
        data = self.find(key)
        if data is None:
            raise CorruptError(f"blob {key} is missing; verify the store, or index the sources again")
        return data

    def find(self, key: int) -> bytes | None:
        """What is stored under a key, None where nothing is."""
        found = self._cursor.sealed("blobs", key)
        if found is None:
            return None
        data, seal = found
        check_seal(f"blob {key}", seal, key, data)
        return bytes(data)

    def column(self, key: int) -> tuple[bytes, int]:
        """What is stored of a column, and how many bytes it may hold beside all that were asked for before."""
        packed = self.blob(key)
        size = zstandard.frame_content_size(packed)
        self._columns[key] = max(size, 0)
        return packed, self.most_bytes - (sum(self._columns.values()) - self._columns[key])

    @cached_property
    def most_bytes(self) -> int:
        """How much the columns of a file of this size hold at most."""
        return _TIMES * self._cursor.size_bytes() + _FLOOR_BYTES

    def segments(self) -> list[SegmentRow]:
        """All segments by number."""
        rows = []
        columns = ", ".join(SegmentRow._fields)
        for *values, seal in self._cursor.fetch(f"SELECT {columns}, seal FROM segments ORDER BY number"):  # noqa: S608
            check_seal("a segment", seal, *values)
            rows.append(SegmentRow(*values))
        return rows

    def places(self, segment: int) -> list[tuple[int, int]]:
        """The kind and place of each blob of a segment."""
        bounds = (key_of(segment, 0), key_of(segment + 1, 0))
        found = self._cursor.fetch("SELECT key FROM blobs WHERE key >= ? AND key < ? ORDER BY key", bounds)
        return [(kind_of_key(key), place_of(key)) for (key,) in found]

    def firsts(self, segment: int) -> list[bytes]:
        """The first term of every page."""
        packed, most = self.column(key_of(segment, FIRSTS))
        raw = unpacked(packed, most=most)
        return raw.split(b"\n") if raw else []  # no term holds white space

    def block(self, segment: int, place: int) -> bytes:
        """A block of text."""
        return self._blocks(key_of(segment, TEXT, place))

    def page(self, segment: int, place: int) -> OpenPage:
        """A page of postings."""
        return self._pages(key_of(segment, PAGE, place))

    def codes(self, segment: int, place: int) -> Codes:
        """A blob of unit codes."""
        return self._codes(key_of(segment, CODES, place))

    def _read_codes(self, key: int) -> Codes:
        packed = self.blob(key)
        raw = unpacked(packed, most=BLOB_CODES * CODE_BYTES if place_of(key) else _MOST_CODES)
        if len(raw) % CODE_BYTES:
            raise CorruptError(f"blob {key} holds no whole codes; index the sources again")
        return np.frombuffer(raw, np.uint8).reshape(-1, CODE_BYTES)

    def _read_block(self, key: int) -> bytes:
        return unpacked(self.blob(key), most=BLOCK_BYTES)


def check_seal(what: str, seal: object, *values: object) -> None:
    """Raise where values are not what the seal was made of."""
    if seal_of(*values) != seal:
        raise CorruptError(f"{what} fails its checksum; verify the store, or index the sources again")
