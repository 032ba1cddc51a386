"""How is a store laid out, and is each row and blob what was written?

The schema with its checksums, the seam between the engines that run its statements, and the blobs: read once, verified,
kept up to a size in bytes.
"""

from __future__ import annotations

import json
import sys
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Literal, NamedTuple, Protocol, TypeVar

import apsw
import numpy as np
from blake3 import blake3
from numpy.typing import NDArray

from brimful.errors import CorruptError
from brimful.index.segments import Numbers, OpenPage, unpack_sorted
from brimful.store.rows import BLOCK_BYTES, Card

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

if TYPE_CHECKING:
    from brimful.documents.loaders.loaded import SourceMap


# ---- schema: How is a store laid out on disk, and is a row what was written?

Value = None | int | str | bytes

VERSION = 3
APPLICATION_ID = 0x4252_494D  # "BRIM"
_APPLICATION_ID_AT = 68  # in the header of an SQLite file

TABLES = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value BLOB NOT NULL, seal BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE roots (path TEXT PRIMARY KEY, name TEXT NOT NULL, seal BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE documents (
    number INTEGER PRIMARY KEY,
    path TEXT NOT NULL UNIQUE,
    id BLOB NOT NULL,
    content_hash BLOB NOT NULL,
    leaf BLOB NOT NULL,
    bucket INTEGER NOT NULL,
    length INTEGER NOT NULL,
    time INTEGER,
    kind TEXT NOT NULL,
    language TEXT,
    rule TEXT NOT NULL,
    title TEXT,
    origin TEXT,
    stamp TEXT,
    seal BLOB NOT NULL
);
CREATE INDEX documents_by_bucket ON documents (bucket, path);
CREATE INDEX documents_by_origin ON documents (origin);
CREATE TABLE maps (document INTEGER PRIMARY KEY, data BLOB NOT NULL, seal BLOB NOT NULL);
CREATE TABLE segments (
    number INTEGER PRIMARY KEY,
    length INTEGER NOT NULL,
    live INTEGER NOT NULL,
    dead INTEGER NOT NULL,
    lowest INTEGER NOT NULL,
    highest INTEGER NOT NULL,
    seal BLOB NOT NULL
);
CREATE TABLE blobs (key INTEGER PRIMARY KEY, data BLOB NOT NULL, seal BLOB NOT NULL);
CREATE TABLE buckets (number INTEGER PRIMARY KEY, root BLOB NOT NULL);
CREATE TABLE vector_models (
    number INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, width INTEGER NOT NULL, seal BLOB NOT NULL
);
CREATE TABLE vectors (
    model INTEGER NOT NULL, key BLOB NOT NULL, numbers BLOB NOT NULL, seal BLOB NOT NULL, PRIMARY KEY (model, key)
) WITHOUT ROWID;
"""


def is_store(file: Path) -> bool:
    """Whether a file is a store, by its header; one that can't be read is none."""
    try:
        with file.open("rb") as opened:
            header = opened.read(_APPLICATION_ID_AT + 4)
    except OSError:
        return False
    return header.startswith(b"SQLite format 3\0") and header[_APPLICATION_ID_AT:] == APPLICATION_ID.to_bytes(4, "big")


# Blobs of a segment are kept under one number: the segment, the kind of blob, the place in its sequence.
TEXT, PAGE, FIRSTS, UNITS, SECTIONS, HEADS = range(6)
EXTENTS, CARDS, LITTLE, WORDS = range(7, 11)  # 6 was that of unit codes, until "vectors 1"
_KIND_BITS, _PLACE_BITS = 4, 28
_NO_TEXT = (
    "a text in the store's tables is not what was written: it is no UTF-8 any more; "
    "bring back a copy of the store, or add the documents to a new one"
)


_DAMAGED = (
    apsw.CorruptError,
    apsw.NotADBError,
    apsw.SQLError,
    apsw.MismatchError,
    apsw.FormatError,
    apsw.TooBigError,
    apsw.ConstraintError,
)
"""The statements are ours and have run before: where one fails so, it is for what the file holds."""


def fetch(cursor: apsw.Cursor, statement: str, values: Sequence[Value] = ()) -> list[tuple[Any, ...]]:
    """All rows of a statement; what their columns hold is known to whoever wrote it."""
    with damage(cursor):
        return cursor.execute(statement, values).fetchall()


def rows_of(cursor: apsw.Cursor, statement: str) -> Iterator[tuple[Any, ...]]:
    """The same, one by one."""
    with damage(cursor):
        yield from cursor.execute(statement)


@contextmanager
def damage(place: Path | apsw.Cursor) -> Iterator[None]:
    """What SQLite says of bytes that it can't make sense of, in our words."""
    try:
        yield
    except UnicodeDecodeError as error:
        raise CorruptError(_NO_TEXT) from error
    except (*_DAMAGED, apsw.IOError) as error:
        is_checksum = getattr(error, "extendedresult", 0) == apsw.SQLITE_IOERR_DATA
        if isinstance(error, apsw.IOError) and not is_checksum:
            raise
        said = "a page fails its checksum" if is_checksum else error
        path, here = place if isinstance(place, Path) else Path(place.connection.filename), Path.cwd()
        path = path.relative_to(here) if path.is_relative_to(here) else path
        raise CorruptError(f"{path} is damaged ({said}); restore it or index the sources again") from error


_LEVEL = 1  # of compression; the third is a fifth slower, and saves a twentieth of the text's share


def compressed(content: bytes | memoryview) -> bytes:
    """One frame of Zstandard, which begins with the number of bytes that it holds."""
    return zstd.compress(content, _LEVEL)


def unpacked(packed: bytes, *, most: int) -> bytes:
    """What was compressed as one frame: not more than it can be, whatever the frame says of itself.

    >>> unpacked(compressed(b"tea"), most=3)
    b'tea'
    >>> unpacked(compressed(bytes(1_000_000)), most=1_000)
    Traceback (most recent call last):
    brimful.errors.CorruptError: a blob of ... bytes says that it holds 1000000, and can hold 1000 at most; ...
    """
    try:
        stated, frame = _stated_bytes(packed), zstd.ZstdDecompressor()
        if not 0 <= stated <= most:
            raise CorruptError(
                f"a blob of {len(packed)} bytes says that it holds {stated}, and can hold {most} at most; "
                "restore the store, or index the sources again"
            )
        content = frame.decompress(packed, stated + 1)
        if not frame.eof or len(content) != stated:
            raise zstd.ZstdError(f"the frame does not hold the {stated} bytes that it says")
    except zstd.ZstdError as error:
        raise CorruptError(f"a blob can't be unpacked ({error}); index the sources again") from error
    return content


def _stated_bytes(packed: bytes) -> int:
    """How many bytes a frame says that it holds; -1 where it does not say."""
    size = zstd.get_frame_info(packed).decompressed_size
    return -1 if size is None else size


def key_of(segment: int, kind: int, place: int = 0) -> int:
    """The key of a segment's blob.

    >>> key_of(1, TEXT) < key_of(1, TEXT, 1) < key_of(1, PAGE) < key_of(2, TEXT)
    True
    >>> [part(key_of(7, PAGE, 3)) for part in (segment_of, kind_of_key, place_of)] == [7, PAGE, 3]
    True
    """
    return ((segment << _KIND_BITS | kind) << _PLACE_BITS) | place


def segment_of(key: int) -> int:
    """The segment that a blob's key names."""
    return key >> (_KIND_BITS + _PLACE_BITS)


def kind_of_key(key: int) -> int:
    """The kind of blob that a key names."""
    return (key >> _PLACE_BITS) & ((1 << _KIND_BITS) - 1)


def place_of(key: int) -> int:
    """The place in its sequence that a blob's key names."""
    return key & ((1 << _PLACE_BITS) - 1)


def seal_of(*values: object) -> bytes:
    """A checksum over a row, so that a flipped bit anywhere in it is noticed."""
    raws = [value if isinstance(value, bytes) else repr(value).encode() for value in values]
    return blake3(b"".join([b"%d:%b" % (len(raw), raw) for raw in raws])).digest(8)


# ---- cursors: Who runs the statements of a store? A few lines of SQL that SQLite and PostgreSQL both understand.
#
# Everything above this seam (segments, tiers, views, snapshots, roots, proofs) is the same for every engine. Statements
# have `?` where a value stands, replace a row by deleting it first, and never name the corpus: a cursor sees one.

Sealed = tuple[int, bytes, bytes]
"""A key, what is kept under it, and its seal."""


class ChangedError(Exception):
    """Another writer was faster; never leaves the package."""


class Cursor(Protocol):
    """A connection inside a transaction, or outside of one."""

    is_far: bool = False
    """Whether each statement is a round trip, so that few large ones are better than many small ones."""

    def fetch(self, statement: str, values: Sequence[Value] = ()) -> list[tuple[Any, ...]]:
        """All rows of a statement."""

    def each(self, statement: str) -> Iterator[tuple[Any, ...]]:
        """Rows one by one; other statements wait until the last."""

    def execute(self, statement: str, values: Sequence[Value] = ()) -> object:
        """A statement without rows."""

    def executemany(self, statement: str, values: Iterable[Sequence[Value]]) -> object:
        """A statement for many values."""

    def sealed(self, table: Literal["blobs", "maps"], key: int) -> tuple[bytes, bytes] | None:
        """Bytes of any length with their seal, or None; what an engine gives in pieces is put together here."""

    def expect(self, keys: Sequence[int]) -> None:
        """Fetch blobs that will be asked for at once, where they are far away."""

    def write_blobs(self, blobs: Iterable[Sealed]) -> None:
        """Keep blobs, in the place of those of the same key."""

    def next_segment(self) -> int:
        """A number that no live segment has."""

    def take_turn(self, expected: Sequence[tuple[int, bytes]] = ()) -> None:
        """Keep other writers out until the end of the transaction, where they are not kept out already.

        A ChangedError where one of some blobs, by their seals, is not there any more.
        """

    def size_bytes(self) -> int:
        """How much room the store takes."""

    def close(self) -> None:
        """Let go of the connection."""


class SqliteCursor(Cursor):
    """One of a SQLite file."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection
        self._cursor = connection.cursor()
        self._in_use = threading.Lock()  # threads that ask the same state read one after the other
        self._given = 0  # the number of a segment that was given last

    def fetch(self, statement: str, values: Sequence[Value] = ()) -> list[tuple[Any, ...]]:
        """All rows of a statement."""
        with self._in_use:
            return fetch(self._cursor, statement, values)

    def each(self, statement: str) -> Iterator[tuple[Any, ...]]:
        """Rows one by one."""
        return rows_of(self._connection.cursor(), statement)

    def execute(self, statement: str, values: Sequence[Value] = ()) -> apsw.Cursor:
        """A statement without rows."""
        return self._cursor.execute(statement, values)

    def executemany(self, statement: str, values: Iterable[Sequence[Value]]) -> apsw.Cursor:
        """A statement for many values."""
        return self._cursor.executemany(statement, values)

    def sealed(self, table: Literal["blobs", "maps"], key: int) -> tuple[bytes, bytes] | None:
        """Bytes with their seal, or None."""
        found = self.fetch(_SEALED[table], (key,))
        return (found[0][0], found[0][1]) if found else None

    def expect(self, keys: Sequence[int]) -> None:
        """Each is read when it is asked for: it is near."""

    def take_turn(self, expected: Sequence[tuple[int, bytes]] = ()) -> None:
        """A file has one writer from the beginning of a transaction on."""

    def write_blobs(self, blobs: Iterable[Sealed]) -> None:
        """Keep blobs."""
        for blob in blobs:  # one by one: whoever makes them may read through this cursor meanwhile
            self._cursor.execute("INSERT OR REPLACE INTO blobs VALUES (?, ?, ?)", blob)

    def next_segment(self) -> int:
        """A number that no live segment has."""
        ((number,),) = self.fetch("SELECT coalesce(max(number), 0) + 1 FROM segments")
        self._given = max(int(number), self._given + 1)  # one that was given may not be in the table yet
        return self._given

    def size_bytes(self) -> int:
        """The size of the file."""
        ((pages,),) = self.fetch("PRAGMA page_count")
        ((size,),) = self.fetch("PRAGMA page_size")
        return int(pages) * int(size)

    def close(self) -> None:
        """Let go of the connection."""
        self._connection.close()


_SEALED = {
    "blobs": "SELECT data, seal FROM blobs WHERE key = ?",
    "maps": "SELECT data, seal FROM maps WHERE document = ?",
}


# ---- kept: What was read last, kept up to a size in bytes, so that the next question need not wait for it.

_Key = TypeVar("_Key", bound=Hashable)
_Held = TypeVar("_Held")


class ByteLru(Generic[_Key, _Held]):
    """What is kept up to so many bytes, and so many of them: what was asked for longest ago goes first.

    One alone may be larger than there is room, where there is any. Safe to share between threads.

    >>> kept = ByteLru(5)
    >>> kept.keep("tea", "TEA", size=3), kept.keep("cup", "CUP", size=3), kept.get("tea"), kept.held
    ('TEA', 'CUP', None, 3)
    """

    def __init__(self, most_bytes: int, *, most: int | None = None) -> None:
        self.most_bytes, self.most = most_bytes, most
        self.held = 0  # bytes
        self._values: OrderedDict[_Key, tuple[_Held, int]] = OrderedDict()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._values)

    def __contains__(self, key: _Key) -> bool:
        return key in self._values

    def newest(self) -> list[_Key]:
        """The keys, the one that was asked for last first."""
        with self._lock:
            return list(reversed(self._values))

    def get(self, key: _Key) -> _Held | None:
        """What is kept under a key."""
        with self._lock:
            found = self._values.get(key)
            if found is None:
                return None
            self._values.move_to_end(key)
            return found[0]

    def keep(self, key: _Key, value: _Held, *, size: int) -> _Held:
        """Keep one, and let go of the oldest that are too many; where another thread was faster, its value stays."""
        with self._lock:
            before = len(self._values)
            kept, _ = self._values.setdefault(key, (value, size))
            if len(self._values) > before:
                self.held += size
            else:
                self._values.move_to_end(key)
            while self._is_over() and len(self._values) > (self.most_bytes > 0):
                self.held -= self._values.popitem(last=False)[1][1]
            return kept

    def _is_over(self) -> bool:
        return self.held > self.most_bytes or (self.most is not None and len(self._values) > self.most)

    def clear(self) -> None:
        """Keep none."""
        with self._lock:
            self._values.clear()
            self.held = 0


class Room:
    """So many bytes for whatever is kept, of however many kinds.

    What a question reads of one kind it may not need of another: one room for all serves both.
    """

    def __init__(self, most_bytes: int) -> None:
        self._kept: ByteLru[tuple[int, Hashable], Any] = ByteLru(most_bytes)
        self._kinds = count(1)

    @property
    def held(self) -> int:
        """Bytes that are kept."""
        return self._kept.held

    def keep(self, read: Callable[[_Key], _Held], *, size: Callable[[_Held], int]) -> Callable[[_Key], _Held]:
        """A way to read what is kept here under its key.

        >>> room = Room(5)
        >>> louder, longer = room.keep(str.upper, size=len), room.keep(lambda word: word * 2, size=len)
        >>> louder("tea"), louder("tea"), longer("t"), room.held, louder("cup"), room.held
        ('TEA', 'TEA', 'tt', 5, 'CUP', 5)
        """
        kept = self.keep_all(lambda keys: ((key, read(key)) for key in keys), size=size)
        return lambda key: kept((key,))[0]

    def keep_all(
        self, read: Callable[[Sequence[_Key]], Iterable[tuple[_Key, _Held]]], *, size: Callable[[_Held], int]
    ) -> Callable[[Sequence[_Key]], list[_Held]]:
        """The same for several keys, those that are not kept read together.

        >>> kept = Room(9).keep_all(lambda words: [(word, word.upper()) for word in words], size=len)
        >>> kept(["tea", "cup"]), kept(["cup", "pot"])
        (['TEA', 'CUP'], ['CUP', 'POT'])
        """
        kind = next(self._kinds)

        def kept(keys: Sequence[_Key]) -> list[_Held]:
            found: dict[_Key, Any] = {key: self._kept.get((kind, key)) for key in keys}
            lacking = [key for key, held in found.items() if held is None]
            for key, made in read(lacking) if lacking else ():
                found[key] = self._kept.keep((kind, key), made, size=size(made))
            return [found[key] for key in keys]

        return kept


# ---- shelf: Which blobs does a segment have, and are they what was written? The ones read last are kept.

_TIMES, _FLOOR_BYTES = 64, 64 << 20
"""All columns of a store, unpacked, are smaller than so many times its file and so many bytes: a document that has an
extent and a card has a row, a heading has its words' positions. Who says more was not written by this program."""
_KEPT_BYTES, _MOST_KEPT_BYTES = 20 << 20, 64 << 20
"""Of blocks, pages and sections together, unpacked as they are read."""


def kept_bytes_of(store_bytes: int) -> int:
    """What a reader of a store of this size keeps: a large one has more that must stay, so less is kept beside it.

    >>> [kept_bytes_of(size << 20) >> 20 for size in (1, 100, 700)]
    [63, 51, 20]
    """
    return max(_KEPT_BYTES, _MOST_KEPT_BYTES - store_bytes // 8)


Cuts = NDArray[np.int64] | NDArray[np.uint32]
"""Ascending places on an axis, in four bytes each where that holds them: a gigabyte of text has millions."""


class SegmentRow(NamedTuple):
    """What is known of a segment before any of its blobs is read."""

    number: int
    length: int  # of its axis
    live: int  # bytes of live text
    dead: int  # extents that are no longer live
    lowest: int  # document
    highest: int


class BlobReader:
    """Verified blobs of one moment."""

    def __init__(self, cursor: Cursor, *, kept_bytes: int = _KEPT_BYTES) -> None:
        self._cursor = cursor
        self._columns: dict[int, int] = {}  # by key, the bytes that it says it holds
        room = Room(kept_bytes)
        self._blocks = room.keep(self._read_block, size=len)
        self._pages = room.keep_all(self._read_pages, size=lambda page: page.nbytes)
        self._cuts = room.keep(self._read_cuts, size=lambda cuts: cuts.nbytes)

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
        self._columns[key] = max(_stated_bytes(packed), 0)
        return packed, self.most_bytes - (sum(self._columns.values()) - self._columns[key])

    def words(self, segment: int) -> bytes:
        """The terms of letters, sorted, a newline behind each."""
        return unpacked(self.blob(key_of(segment, WORDS)), most=self.most_bytes)

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
        return self._pages((key_of(segment, PAGE, place),))[0]

    def pages(self, places: Sequence[tuple[int, int]]) -> list[OpenPage]:
        """Pages of postings, each of a segment and a place there; those that are not kept are read together."""
        return self._pages([key_of(segment, PAGE, place) for segment, place in places])

    def cuts(self, segment: int, kind: int) -> Cuts:
        """Where units or sections begin."""
        return self._read_cuts(key_of(segment, kind))

    def kept_cuts(self, segment: int, kind: int) -> Cuts:
        """The same, kept as long as there is room."""
        return self._cuts(key_of(segment, kind))

    def _read_cuts(self, key: int) -> Cuts:
        column = unpack_sorted(self.blob(key))
        return column.astype(np.uint32) if not len(column) or int(column[-1]) < 1 << 32 else column

    def _read_pages(self, keys: Sequence[int]) -> Iterator[tuple[int, OpenPage]]:
        self._cursor.expect(keys)
        return ((key, OpenPage(self.blob(key))) for key in sorted(keys))

    def _read_block(self, key: int) -> bytes:
        return unpacked(self.blob(key), most=BLOCK_BYTES)


def check_seal(what: str, seal: object, *values: object) -> None:
    """Raise where values are not what the seal was made of."""
    if seal_of(*values) != seal:
        raise CorruptError(f"{what} fails its checksum; verify the store, or index the sources again")


# ---- tables: How are several columns written as one blob?


def pack_table(columns: Sequence[Numbers]) -> bytes:
    """Columns of one length: the differences between neighbours, compressed.

    >>> packed = pack_table([np.array([3, 5]), np.array([9, -2])])
    >>> [column.tolist() for column in unpack_table(packed, width=2, most=32)]
    [[3, 5], [9, -2]]
    """
    steps = np.diff(np.stack([np.asarray(column, np.int64) for column in columns]), axis=1, prepend=0)
    return compressed(steps.astype("<i8").tobytes())


def unpack_table(packed: bytes, *, width: int, most: int) -> list[Numbers]:
    """The columns that `pack_table` packed, of so many bytes at most."""
    raw = unpacked(packed, most=most)
    if len(raw) % (8 * width):
        raise CorruptError(f"{len(raw)} bytes do not make {width} columns; index the sources again")
    steps = np.frombuffer(raw, "<i8")
    return list(np.cumsum(steps.reshape(width, -1), axis=1, dtype=np.int64))


def pack_cards(cards: Sequence[Card]) -> bytes:
    """Cards column by column, compressed.

    >>> unpack_cards(pack_cards([Card(7, "a.md", None, 5, 60, "prose", None)]), most=200)[1]
    ['a.md']
    """
    columns = list(zip(*sorted(cards), strict=True))
    return compressed(json.dumps(columns).encode())


def unpack_cards(packed: bytes, *, most: int) -> list[Sequence[Any]]:
    """The cards that `pack_cards` packed, of so many bytes at most: a column for each field."""
    columns: list[Sequence[Any]] = json.loads(unpacked(packed, most=most))
    return columns or [()] * len(Card._fields)


def pack_map(found: SourceMap) -> bytes:
    """The way back to a document's original, compressed.

    >>> from brimful.documents.loaders.loaded import SourceMap
    >>> unpack_map(pack_map(SourceMap((0, 9), ("page 1", "page 2"), (None, 60))), most=200).at(9).label
    'page 2'
    """
    columns = [found.starts, found.labels, found.times]
    return compressed(json.dumps(columns).encode())


def unpack_map(packed: bytes, *, most: int) -> SourceMap:
    """The map that `pack_map` packed, of so many bytes at most."""
    starts, labels, times = json.loads(unpacked(packed, most=most))
    from brimful.documents.loaders.loaded import SourceMap

    return SourceMap(tuple(starts), tuple(labels), tuple(times))
