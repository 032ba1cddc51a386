"""How are columns packed into a blob, and can the numbers that are read back be true?

A checksum says that a blob is the one that was written, not that this program wrote it: a store may come from
anywhere. So each number is compared here with what was read before it: a segment's row with the limits of the format,
the columns of the segment with its row. Compiled loops and merges get nothing else.
"""

from __future__ import annotations

import json
import mmap
import struct
import sys
import zlib
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from brimful.documents.documents import is_time
from brimful.errors import CorruptError
from brimful.index.segments import Numbers, OpenPage, Postings, read_page, unpack_sorted
from brimful.outline.cuts import Heads
from brimful.outline.kinds import Kind
from brimful.store.rows import Card, Extents, Row

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

if TYPE_CHECKING:
    from brimful.documents.loaders.loaded import SourceMap

# ---- compression

_LEVEL = 1  # the third is a fifth slower, and saves a twentieth of the text's share


def compressed(content: bytes | memoryview) -> bytes:
    """One frame of Zstandard that states the number of bytes in it."""
    return zstd.compress(content, _LEVEL)


def unpacked(packed: bytes, *, limit_bytes: int) -> bytes:
    """The content of one frame, refused beyond a number of bytes, whatever the frame states.

    >>> unpacked(compressed(b"tea"), limit_bytes=3)
    b'tea'
    >>> unpacked(compressed(bytes(1_000_000)), limit_bytes=1_000)
    Traceback (most recent call last):
    brimful.errors.CorruptError: a blob of ... bytes says that it holds 1000000, and can hold 1000 at most; ...
    """
    try:
        size, stated = len(packed), stated_bytes(packed)
        check(
            0 <= stated <= limit_bytes,
            f"a blob of {size} bytes says that it holds {stated}, and can hold {limit_bytes} at most",
        )
        frame = zstd.ZstdDecompressor()
        content = frame.decompress(packed, stated + 1)
        check(frame.eof and len(content) == stated, f"a blob does not hold the {stated} bytes that it says")
    except zstd.ZstdError as error:
        raise CorruptError(f"a blob can't be unpacked ({error}); index the sources again") from error
    return content


def stated_bytes(packed: bytes) -> int:
    """The number of bytes that a frame states; -1 where it states none."""
    size = zstd.get_frame_info(packed).decompressed_size
    return -1 if size is None else size


# ---- bounds

_MOST_AXIS_BYTES = (1 << 31) - 1
"""The longest axis of a segment: its positions take four bytes."""
_MOST_DOCUMENT_BYTES = 1 << 40
_MOST_SEGMENTS = 1 << 31  # above it a blob's key has no room for the number
_MOST_NUMBER = (1 << 63) - 1
_DEEPEST = 127  # level of a heading
_KINDS = frozenset(get_args(Kind))


def check(is_true: object, problem: str) -> None:
    """Raise where a store says what can't be true."""
    if not is_true:
        raise CorruptError(f"{problem}; restore the store, or index the sources again")


def _is_within(column: NDArray[np.integer], low: int, high: int) -> bool:
    return not len(column) or bool(column.min() >= low and column.max() <= high)


def _are_whole(values: Sequence[Any], low: int, high: int) -> bool:
    """Whether all values are ints from `low` to `high`."""
    return set(map(type, values)) <= {int} and (not values or (min(values) >= low and max(values) <= high))


def _are_texts(values: Sequence[Any], *, or_none: bool = False) -> bool:
    return set(map(type, values)) <= ({str, type(None)} if or_none else {str})


def _is_a_kind(values: Sequence[Any]) -> bool:
    return _are_texts(values) and _KINDS.issuperset(values)


def _are_times(values: Iterable[Any]) -> bool:
    return all(time is None or (type(time) is int and is_time(time)) for time in values)


class SegmentRow(NamedTuple):
    """The facts of a segment that are read before any of its blobs."""

    number: int
    length: int  # of its axis
    live: int  # bytes of live text
    dead: int  # extents that are no longer live
    lowest: int  # document
    highest: int

    def checked(self) -> SegmentRow:
        """This row, where a segment can have it."""
        number, length, live, dead, lowest, highest = self
        check(
            _are_whole(self, 0, _MOST_NUMBER)
            and number < _MOST_SEGMENTS
            and live <= length <= _MOST_AXIS_BYTES
            and dead <= _MOST_AXIS_BYTES
            and lowest <= highest,
            f"segment {number} has a length or documents that no segment has",
        )
        return self


def checked_row(values: Sequence[Any]) -> Row:
    """A document's row from the columns of its table, but for the seal."""
    row = Row(*values)
    check(
        _are_whole((row.number, row.length), 0, _MOST_DOCUMENT_BYTES)
        and _are_texts((row.path, row.rule))
        and _are_texts((row.language, row.title), or_none=True)
        and _is_a_kind((row.kind,))
        and _are_times((row.time,))
        and type(row.raw_id) is type(row.content_hash) is bytes
        and len(row.raw_id) == len(row.content_hash) == 32,
        f"the row of document {row.number!r:.40} says what no document has",
    )
    return row


# ---- tables: several columns of one length as one blob


def pack_table(columns: Sequence[Numbers]) -> bytes:
    """Columns of one length: the differences between neighbours, compressed.

    >>> packed = pack_table([np.array([3, 5]), np.array([9, -2])])
    >>> [column.tolist() for column in _read_table(unpacked(packed, limit_bytes=32), width=2)]
    [[3, 5], [9, -2]]
    """
    steps = np.diff(np.stack([np.asarray(column, np.int64) for column in columns]), axis=1, prepend=0)
    return compressed(steps.astype("<i8").tobytes())


def _read_table(raw: bytes, *, width: int) -> list[Numbers]:
    """The columns that `pack_table` packed."""
    check(len(raw) % (8 * width) == 0, f"{len(raw)} bytes do not make {width} columns")
    return list(np.cumsum(np.frombuffer(raw, "<i8").reshape(width, -1), axis=1, dtype=np.int64))


def read_extents(raw: bytes, row: SegmentRow) -> Extents:
    """Live stretches of documents, apart and in order on the segment's axis."""
    bases, ends, documents, starts = extents = Extents(*_read_table(raw, width=4))
    check(
        len(bases)
        and _is_within(bases, 0, row.length)
        and _is_within(ends, 0, row.length)
        and (bases <= ends).all()
        and (ends[:-1] <= bases[1:]).all()
        and int((ends - bases).sum()) == row.live,
        f"the extents of segment {row.number} do not fit on its axis",
    )
    check(
        _is_within(documents, row.lowest, row.highest) and _is_within(starts, 0, _MOST_DOCUMENT_BYTES),
        f"segment {row.number} holds documents that it does not name",
    )
    return extents


Cuts = NDArray[np.int64] | NDArray[np.uint32]
"""Ascending places on an axis, in four bytes each where that holds them: a gigabyte of text has millions."""


def read_cuts(packed: bytes, row: SegmentRow) -> Cuts:
    """The places where units or sections begin."""
    cuts = unpack_sorted(packed)
    check(
        packed[-1:] < b"\x80"  # the last number ends
        and _is_within(cuts, 0, row.length)
        and (cuts[:-1] <= cuts[1:]).all(),
        f"a unit or section of segment {row.number} begins outside of it",
    )
    return cuts.astype(np.uint32)


def check_cuts(content: bytes | mmap.mmap, *columns: Numbers) -> None:
    """Raise where a document is cut inside a character."""
    codes = np.frombuffer(content, np.uint8)
    is_inside = any(((codes[cuts[:-1]] & 0xC0) == 0x80).any() for cuts in columns)
    check(not is_inside, "a unit or section begins inside a character")


def read_heads(raw: bytes, row: SegmentRow) -> Heads:
    """Headings in order, in four bytes a place."""
    starts, ends, levels, names = _read_table(raw, width=4)
    check(
        _is_within(starts, 0, row.length)
        and _is_within(ends, 0, row.length)
        and _is_within(levels, 0, _DEEPEST)
        and _is_within(names, 0, row.length)
        and (starts[:-1] <= starts[1:]).all()
        and (starts <= ends).all(),
        f"a heading of segment {row.number} lies outside of it",
    )
    return Heads(starts.astype(np.int32), ends.astype(np.int32), levels.astype(np.int8), names.astype(np.int32))


def pack_cards(cards: Sequence[Card]) -> bytes:
    """Cards column by column, compressed."""
    columns = list(zip(*sorted(cards), strict=True))
    return compressed(json.dumps(columns).encode())


def read_cards(raw: bytes, row: SegmentRow) -> list[Sequence[Any]]:
    """The cards that `pack_cards` packed: a column for each field."""
    columns = _json_columns(raw, len(Card._fields), f"the cards of segment {row.number}")
    numbers, paths, titles, lengths, times, kinds, languages = columns
    check(
        _are_whole(numbers, 0, _MOST_NUMBER)
        and _are_whole(lengths, 0, _MOST_DOCUMENT_BYTES)
        and _are_texts(paths)
        and _are_texts([*titles, *languages], or_none=True)
        and _is_a_kind(kinds)
        and _are_times(times),
        f"a card of segment {row.number} says what no document has",
    )
    return columns


def _json_columns(raw: bytes, width: int, subject: str) -> list[Sequence[Any]]:
    """Columns of one length from JSON; none at all are empty ones."""
    try:
        columns = json.loads(raw)
    except (ValueError, RecursionError) as error:
        raise CorruptError(f"{subject} are no JSON ({error}); index the sources again") from error
    if columns == []:
        return [[]] * width
    is_table = isinstance(columns, list) and len(columns) == width and set(map(type, columns)) == {list}
    check(is_table and len(set(map(len, columns))) == 1, f"{subject} are not in columns of one length")
    return list(columns)


def pack_map(source_map: SourceMap) -> bytes:
    """The way back to a document's original, compressed."""
    return compressed(json.dumps([source_map.starts, source_map.labels, source_map.times]).encode())


def read_map(raw: bytes) -> SourceMap:
    """The map that `pack_map` packed.

    >>> from brimful.documents.loaders.loaded import SourceMap
    >>> packed = pack_map(SourceMap((0, 9), ("page 1", "page 2"), (None, 60)))
    >>> read_map(unpacked(packed, limit_bytes=200)).between(9, 10)
    ('page 2',)
    """
    from brimful.documents.loaders.loaded import SourceMap

    starts, labels, times = _json_columns(raw, 3, "the places of a source map")
    check(
        _are_whole(starts, 0, _MOST_DOCUMENT_BYTES) and starts == sorted(starts) and _are_texts(labels),
        "a source map names places that no document has",
    )
    check(_are_times(times), "a source map names times that no calendar has")
    return SourceMap(tuple(starts), tuple(labels), tuple(times))


# ---- postings

_MALFORMED = (struct.error, zlib.error, ValueError, IndexError)


def open_page(data: bytes) -> OpenPage:
    """A page of terms, of which a question unpacks few."""
    try:
        return OpenPage(data)
    except _MALFORMED as error:
        raise CorruptError(f"a page of terms can't be read ({error}); index the sources again") from error


def read_postings(data: bytes, row: SegmentRow) -> Postings:
    """All terms of a page with their positions."""
    try:
        postings = read_page(data)
    except _MALFORMED as error:
        raise CorruptError(f"a page of terms can't be read ({error}); index the sources again") from error
    positions, offsets = postings.positions, postings.offsets
    is_first = np.zeros(len(positions) + 1, bool)
    is_first[offsets] = True
    ascend = (positions[1:] >= positions[:-1]) | is_first[1:-1]
    check(_is_within(positions, 0, row.length) and ascend.all(), _POSITIONS.format(row.number))
    return postings


_POSITIONS = "a term stands outside of segment {}"


def check_positions(positions: NDArray[np.integer], row: SegmentRow) -> None:
    """Raise where ascending positions of a term leave the segment's axis."""
    check(not len(positions) or int(positions[-1]) <= row.length, _POSITIONS.format(row.number))
