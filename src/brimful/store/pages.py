"""Is every page of the file what was last written there?

Every row carries a seal, but a page holds more than rows: free space, freed pages, the tails of chains. A flipped bit
there harms nobody and is seen by nobody. So before pages move from the write-ahead log into the file, their hashes are
noted in a second file, `<store>-pages`, and `damaged_pages` compares.

The notes are only ever appended to, and only ever believed where they are known to speak of the file as it is:

- A record says: with these pages changed since that earlier record, the file has this *stamp*. The stamp is read from
  the first page, which every transaction writes anew (`next_version`), so it names one state of the file.
- A page that is also in the log is not looked at: the log's copy is the one that counts, and has checksums of its own.
- Records are chained by checksum. A torn tail, a lost file, a foreign checkpoint or VACUUM leave the stamp unknown:
  nothing is then said about pages, and the next checkpoint takes all hashes anew.

So a crash at any moment costs knowledge, never a false alarm, and nothing here is needed to read a store.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import apsw
import numpy as np
from blake3 import blake3
from numpy.typing import NDArray

SUFFIX = "-pages"

_COUNT_SHIFT, _COUNTS = 8, 1 << 23
_HEADER = struct.Struct("<4s16sqII")  # magic, stamp, where the parent stands, pages in the file, pages noted
_MAGIC = b"BPG1"
_CHECKSUM_BYTES = 16
_NOBODY = -1
_WAL_HEADER, _FRAME_HEADER = 32, 24
_FRAMES_AT_ONCE = 32
_SPARE_BYTES = 1 << 20
_LOCK_BYTE = 0x4000_0000  # the page with this byte is never written

_Hashes = NDArray[np.uint64]


def version_of(user_version: int) -> int:
    """The schema version in a file's `user_version`; the rest of it counts transactions."""
    return user_version & ((1 << _COUNT_SHIFT) - 1)


def next_version(user_version: int) -> int:
    """The `user_version` for the next transaction: the same schema, another count.

    >>> next_version(7), version_of(next_version(7))
    (263, 7)
    """
    count = ((user_version >> _COUNT_SHIFT) + 1) % _COUNTS
    return count << _COUNT_SHIFT | version_of(user_version)


@dataclass(frozen=True, slots=True, eq=False)
class _Record:
    """What changed since the parent, and the stamp and size of the file with it."""

    at: int
    stamp: bytes
    parent: int
    page_count: int
    numbers: NDArray[np.uint32]
    hashes: _Hashes

    def written(self) -> bytes:
        header = _HEADER.pack(_MAGIC, self.stamp, self.parent, self.page_count, len(self.numbers))
        body = header + self.numbers.astype("<u4").tobytes() + self.hashes.astype("<u8").tobytes()
        return body + _checksum(self.at, body)


class _Notes:
    """The records of a file, as far as they are whole."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            raw = path.read_bytes()
        except FileNotFoundError:
            raw = b""
        self.records: dict[int, _Record] = {}
        self.end = 0
        while (record := _parsed(raw, self.end)) is not None:
            self.records[self.end] = record
            self.end += _HEADER.size + 12 * len(record.numbers) + _CHECKSUM_BYTES

    def find(self, stamp: bytes) -> list[_Record]:
        """The records with that stamp: one, or several where a backup was restored and history went another way."""
        return [each for each in self.records.values() if each.stamp == stamp]

    def state(self, record: _Record) -> _Hashes:
        """The hash of each page as of a record, by page number; 0 where none is known."""
        chain = [record]
        while chain[-1].parent != _NOBODY:
            chain.append(self.records[chain[-1].parent])
        hashes = np.zeros(max(each.page_count for each in chain) + 1, np.uint64)
        for each in reversed(chain):
            inside = each.numbers < len(hashes)
            hashes[each.numbers[inside]] = each.hashes[inside]
            hashes[each.page_count + 1 :] = 0  # should the file grow again, its new pages are not these
        return hashes[: record.page_count + 1]

    def append(self, stamp: bytes, parent: _Record | None, page_count: int, found: dict[int, int]) -> None:
        """Note the hashes of some pages; long notes are first folded into one record."""
        if parent is not None and self.end > 24 * parent.page_count + _SPARE_BYTES:
            parent = self._folded(parent)
        at = _NOBODY if parent is None else parent.at
        record = _record(self.end, stamp, at, page_count, found)
        if any(np.array_equal(self.state(each), self.state(record)) for each in self.find(stamp)):
            return  # a reader was in the way the last time
        with self.path.open("r+b" if self.path.exists() else "x+b") as file:
            file.truncate(self.end)
            file.seek(self.end)
            file.write(record.written())

    def _folded(self, record: _Record) -> _Record:
        hashes = self.state(record)
        known = {number: int(hashes[number]) for number in np.flatnonzero(hashes).tolist()}
        folded = _record(0, record.stamp, _NOBODY, record.page_count, known)
        fresh = self.path.with_name(self.path.name + "-new")
        fresh.write_bytes(folded.written())
        fresh.replace(self.path)
        self.records, self.end = {0: folded}, len(folded.written())
        return folded


def checkpoint(connection: apsw.Connection, path: Path) -> None:
    """Note what the log holds, then move it into the file.

    Left undone while another process writes, and where the disk is full: the log stays, and the next one does it.
    """
    if not _size(_beside(path, "-wal")):
        return
    before = int(connection.pragma("busy_timeout"))
    connection.set_busy_timeout(0)
    try:
        with suppress(apsw.Error), _held(connection):
            _move(path)
    finally:
        connection.set_busy_timeout(before)


@contextmanager
def _held(connection: apsw.Connection) -> Iterator[None]:
    """The writer's place, without writing: the log stays as it is."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
    finally:
        connection.execute("ROLLBACK")


def _move(path: Path) -> None:
    mover = apsw.Connection(str(path))  # the one that holds the writer's place can't do it
    try:
        mover.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
        mover.pragma("synchronous", "full")
        mover.pragma("user_version")  # only a connection that has read knows of the log
        frames, moved = mover.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_NOOP)
        if frames > moved:
            with suppress(OSError):  # no room for notes: the stamp stays unknown, the store is as good as before
                _note(path, frames)
            mover.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)
    finally:
        mover.close()


def damaged_pages(path: Path) -> list[int] | None:
    """The pages that are not what was written, or None where nothing is known of the file as it is.

    Somebody must be inside a read transaction: the file's own pages then hold still.
    """
    with _File(path) as file:
        first = file.read(0, 100)
        if len(first) < 100:
            return None
        notes = _Notes(_beside(path, SUFFIX))
        records = notes.find(_stamp(first))
        if not records:
            return None
        page_size = _page_size(first)
        found = np.zeros(records[0].page_count + 1, np.uint64)
        for number, page in file.pages(page_size, records[0].page_count):
            found[number] = _hash(page)
        for number in {number for number, _ in _frames(path, page_size, None)}:
            found[number : number + 1] = 0
    damages = []
    for record in records:
        hashes = notes.state(record)
        differs = (hashes != found) & (hashes != 0) & (found != 0)
        damages.append(np.flatnonzero(differs).tolist())
    return min(damages, key=len)


def _note(path: Path, frames: int) -> None:
    """Append the hashes of all pages in the log; of all pages in the file where it is not known yet."""
    with _File(path) as file:
        before = file.read(0, 100)
        page_size = _page_size(before)
        found: dict[int, int] = {}
        first = before
        for number, page in _frames(path, page_size, frames):
            found[number] = _hash(page)
            first = page[:100].tobytes() if number == 1 else first
        notes = _Notes(_beside(path, SUFFIX))
        known = notes.find(_stamp(before))
        parent = known[0] if len(known) == 1 else None
        page_count = _page_count(first)
        if parent is None:
            # A page that was freed as soon as it was made is in neither the file nor the log: nothing is known of it.
            pages = file.pages(page_size, min(page_count, file.size() // page_size))
            whole = {number: _hash(page) for number, page in pages}
            whole.pop(_LOCK_BYTE // page_size + 1, None)
            found = whole | found
    notes.append(_stamp(first), parent, page_count, found)


class _File:
    """The store's file as it lies on the disk, read through SQLite.

    POSIX drops all of a process's locks on a file when it closes any descriptor of it; SQLite knows to wait with that.
    """

    def __init__(self, path: Path) -> None:
        flags = apsw.SQLITE_OPEN_MAIN_DB | apsw.SQLITE_OPEN_READONLY
        self._file = apsw.VFSFile("", str(path.resolve()), [flags, 0])

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.xClose()

    def read(self, start: int, size: int) -> bytes:
        return self._file.xRead(size, start)

    def size(self) -> int:
        return self._file.xFileSize()

    def pages(self, page_size: int, page_count: int) -> Iterator[tuple[int, bytes]]:
        """Pages with their numbers, from 1; those that a cut file has lost are short or empty."""
        for first in range(0, page_count, _FRAMES_AT_ONCE):
            count = min(_FRAMES_AT_ONCE, page_count - first)
            block = self.read(first * page_size, count * page_size)
            for at in range(count):
                yield first + at + 1, block[at * page_size : (at + 1) * page_size]


def _frames(path: Path, page_size: int, frames: int | None) -> Iterator[tuple[int, memoryview]]:
    """The pages in the log, oldest first; without a number of frames, all that could belong to it.

    A page is there until the next one is asked for: all are read into the same memory, which stays near.
    """
    size = _FRAME_HEADER + page_size
    view = memoryview(bytearray(_FRAMES_AT_ONCE * size))
    try:
        with _beside(path, "-wal").open("rb") as log:
            header = log.read(_WAL_HEADER)
            left = frames if frames is not None else 1 << 62
            while left and (count := log.readinto(view[: min(left, _FRAMES_AT_ONCE) * size])):
                for at in range(0, count - size + 1, size):
                    if view[at + 8 : at + 16] != header[16:24]:
                        return  # left over from an earlier round
                    yield int.from_bytes(view[at : at + 4], "big"), view[at + _FRAME_HEADER : at + size]
                left -= min(left, _FRAMES_AT_ONCE)
    except FileNotFoundError:
        return


def _beside(path: Path, suffix: str) -> Path:
    path = path.resolve()
    return path.with_name(path.name + suffix)


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _parsed(raw: bytes, at: int) -> _Record | None:
    if len(raw) - at < _HEADER.size:
        return None
    magic, stamp, parent, page_count, count = _HEADER.unpack_from(raw, at)
    end = at + _HEADER.size + 12 * count
    if magic != _MAGIC or raw[end : end + _CHECKSUM_BYTES] != _checksum(at, raw[at:end]):
        return None
    numbers = np.frombuffer(raw, "<u4", count, at + _HEADER.size)
    hashes = np.frombuffer(raw, "<u8", count, at + _HEADER.size + 4 * count)
    return _Record(at, stamp, parent, page_count, numbers, hashes)


def _record(at: int, stamp: bytes, parent: int, page_count: int, found: dict[int, int]) -> _Record:
    numbers = sorted(found)
    hashes = np.array([found[number] for number in numbers], np.uint64)
    return _Record(at, stamp, parent, page_count, np.array(numbers, np.uint32), hashes)


def _checksum(at: int, body: bytes) -> bytes:
    return blake3(at.to_bytes(8, "little") + body).digest(_CHECKSUM_BYTES)


def _hash(page: bytes | memoryview) -> int:
    """Eight bytes of BLAKE3, never 0."""
    return int.from_bytes(blake3(page).digest(8), "little") or 1


def _stamp(first: bytes) -> bytes:
    """Change counter, size, schema cookie and user version: what sets one state of the file apart."""
    return first[24:32] + first[40:44] + first[60:64]


def _page_count(first: bytes) -> int:
    return int.from_bytes(first[28:32], "big")


def _page_size(first: bytes) -> int:
    size = int.from_bytes(first[16:18], "big")
    return 65_536 if size == 1 else size
