"""Stored documents as windows are cut from them: whole, or in parts where they are too long to hold."""

from __future__ import annotations

import mmap
import threading
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Self, cast

import numpy as np
from blake3 import blake3

from brimful.budget import scaled
from brimful.documents.documents import Document, Hit
from brimful.index.segments import Numbers
from brimful.outline.cuts import LARGEST
from brimful.outline.outlines import Outline, outline
from brimful.store.caching import ByteCache
from brimful.store.columns import check, check_cuts
from brimful.store.rows import Row
from brimful.store.snapshot import StoredSnapshot
from brimful.text.spans import Span, merge_spans

# ---- in parts
#
# The bytes of a long document lie at their own offsets, in a file-less memory map of its length: pages that nobody
# reads take no memory. A slice is read from the store first; for all else (patterns, edges of words) the bytes must
# have been read before, so windows grow no farther than `near` has read around them.

LONGEST_WHOLE = 16 << 20
"""Of a longer document only the surroundings of its hits are read."""

_STEP = 1 << 20  # bytes whose lines are counted at once
_EDGE = 1 << 16  # of the beginning and the end, which say whether a window is the first or last thing said


class PartlyRead(Document):
    """A document of which some places were read; slices, lines and cuts there equal the whole document's."""

    def __init__(self, snapshot: StoredSnapshot, row: Row, lines: LineCount) -> None:
        self._bytes = _Places(row.length, lambda start, end: snapshot.read(row.number, start, end))
        content = cast("bytes", self._bytes)  # as far as it is used
        super().__init__(row.path, content, time=row.time, kind=row.kind, language=row.language, id=row.id)
        self._snapshot, self._number, self._length, self._lines = snapshot, row.number, row.length, lines
        self._bytes.read_in([(0, _EDGE), (row.length - _EDGE, row.length)])
        first = outline(self.content[:_EDGE], kind="data", language=row.language) if row.kind == "data" else None
        self._header = first.header if first else None
        self._cuts_read: Outline | None = None

    def __len__(self) -> int:
        return self._length

    @property
    def is_whole(self) -> bool:
        """No: there are bytes that were not read."""
        return False

    @property
    def read_bytes(self) -> int:
        """The number of bytes that were read."""
        return sum(span.end - span.start for span in self._bytes.spans)

    def near(self, places: Iterable[tuple[int, int]], *, reach_bytes: int) -> None:
        """Read the surroundings of some places."""
        spans = merge_spans(Span(max(start - reach_bytes, 0), end + reach_bytes) for start, end in places)
        if self._bytes.read_in((span.start, span.end) for span in spans):
            self._cuts_read = None

    def reach(self, start: int, end: int) -> Span:
        """The cuts between which the surroundings of `[start, end)` were read."""
        span = self._bytes.around(start, end)
        if span is None:
            return Span(start, end)
        low = self.outline.cut_after(span.start) if span.start else 0
        return Span(min(low, start), max(self.outline.cut_before(span.end), end))

    @property
    def outline(self) -> Outline:
        """The stored cuts of the parts that were read; a gap between them is one piece. It has no headings."""
        if self._cuts_read is None:
            units, sections = (
                _cuts((column(self._number, span.start, span.end) for span in self._bytes.spans), len(self))
                for column in (self._snapshot.units, self._snapshot.sections)
            )
            check_cuts(self._bytes, units, sections)
            self._cuts_read = Outline(self.kind, self.language, len(self), units, sections, header=self._header)
        return self._cuts_read

    def lines(self, start: int, end: int) -> tuple[int, int]:
        """First and last line (from 1) that `[start, end)` touches, counted from the beginning."""
        first = self._lines.count_before(start)
        return first + 1, first + self.content[start : max(start, end - 1)].count(b"\n") + 1


class LineCount:
    """The newlines before a place of a document, counted step by step, each step once."""

    def __init__(self, length: int, read: Callable[[int, int], bytes]) -> None:
        self._length, self._read = length, read
        self._counts = [0]  # before each step
        self._lock = threading.Lock()

    def count_before(self, position: int) -> int:
        """The newlines before a byte."""
        step = position // _STEP
        with self._lock:
            while len(self._counts) <= step:
                start = (len(self._counts) - 1) * _STEP
                self._counts.append(self._counts[-1] + self._read(start, min(start + _STEP, self._length)).count(b"\n"))
        return self._counts[step] + self._read(step * _STEP, position).count(b"\n")


class _Places(mmap.mmap):
    """Bytes that are read when a slice needs them."""

    spans: tuple[Span, ...] = ()  # that were read
    _length: int
    _read: Callable[[int, int], bytes]

    def __new__(cls, length: int, read: Callable[[int, int], bytes]) -> Self:
        places = super().__new__(cls, -1, length)
        places._length, places._read = length, read
        return places

    def __getitem__(self, key: int | slice) -> int | bytes:  # type: ignore[override]
        if isinstance(key, slice):
            start, end, _ = key.indices(self._length)
            self.read_in([(start, end)])
        return super().__getitem__(key)

    def find(self, part: bytes, start: int = 0, end: int | None = None) -> int:  # type: ignore[override]
        """The first place of a part in what was read: looking at other pages would fill memory with them."""
        for low, high in self._read_between(start, end):
            place = super().__getitem__(slice(low, high)).find(part)
            if place >= 0:
                return low + place
        return -1

    def rfind(self, part: bytes, start: int = 0, end: int | None = None) -> int:  # type: ignore[override]
        """The last place of a part in what was read."""
        for low, high in reversed(self._read_between(start, end)):
            place = super().__getitem__(slice(low, high)).rfind(part)
            if place >= 0:
                return low + place
        return -1

    def _read_between(self, start: int, end: int | None) -> list[tuple[int, int]]:
        """What was read of a range."""
        last = self._length if end is None else end
        parts = [(max(start, span.start), min(last, span.end)) for span in self.spans]
        return [(low, high) for low, high in parts if low < high]

    def around(self, start: int, end: int) -> Span | None:
        """The span that was read and holds a range."""
        index = bisect_right(self.spans, start, key=lambda span: span.start) - 1
        return self.spans[index] if index >= 0 and end <= self.spans[index].end else None

    def read_in(self, ranges: Iterable[tuple[int, int]]) -> bool:
        """Read some ranges; returns whether any was new."""
        fresh = []
        for start, end in ((max(start, 0), min(end, self._length)) for start, end in ranges):
            if start < end and self.around(start, end) is None:
                self[start:end] = self._read(start, end)
                fresh.append(Span(start, end))
        self.spans = tuple(merge_spans([*self.spans, *fresh]))
        return bool(fresh)


def _cuts(parts: Iterable[Numbers], length: int) -> Numbers:
    joined = np.concatenate([np.zeros(1, np.int64), *parts, np.array([length], np.int64)])
    return joined[np.diff(joined, prepend=-1) > 0]


# ---- whole documents, and the cache of both

_LEAST_REACH = 4_096
_REACH_BUDGETS = 4  # around all hits together
_TOGETHER = 64  # hits whose documents are looked up at once

KEPT_BYTES = 12 << 20
"""Documents that stay read for the next question."""

_DATA_TIMES = 4
"""The memory of a document of data, as a multiple of its text: every record of it is outlined."""


class WholeDocuments:
    """Documents of one store, read whole, or around some places where they are too long.

    Documents `as_stored` have the cuts that the store has: hits lie on its units, and a window that grows by more of
    them needs no second reading of the text. Data is outlined anew, for the times and headers of its records.
    """

    def __init__(self) -> None:
        self._kept: ByteCache[tuple[Row, bool], Document] = ByteCache(scaled(KEPT_BYTES))
        self._lock = threading.Lock()
        self._parts: dict[tuple[Row, int], PartlyRead] = {}  # one for each thread: they grow while they are read
        self._lines: dict[Row, LineCount] = {}
        self._snapshot: StoredSnapshot | None = None

    def document(self, snapshot: StoredSnapshot, path: str, *, as_stored: bool) -> Document:
        """The document of a path that the snapshot has, whole."""
        row = _row(snapshot, path)
        document = self._kept.get((row, as_stored))
        if document is None:
            document = _read(snapshot, row, as_stored=as_stored)
            size = len(document) * (_DATA_TIMES if document.kind == "data" else 1)
            document = self._kept.keep((row, as_stored), document, size=size)
        return document

    def text(self, snapshot: StoredSnapshot, path: str, start: int, end: int) -> bytes:
        """Bytes of a document, which is kept if it is read whole for them."""
        row = _row(snapshot, path)
        if row.length > LONGEST_WHOLE:
            return snapshot.read(row.number, start, end)
        return self.document(snapshot, path, as_stored=True).content[start:end]

    def texts(self, snapshot: StoredSnapshot, hits: Sequence[Hit], *, loaded: dict[str, Document]) -> Iterator[str]:
        """The text of each hit, read one by one; documents that are read whole are added to `loaded`."""
        for number, hit in enumerate(hits):
            if not number % _TOGETHER:
                snapshot.expect({hit.path for hit in hits[number : number + _TOGETHER]} - loaded.keys())
            document = loaded.get(hit.path)
            if document is None:
                row = _row(snapshot, hit.path)
                if row.length > LONGEST_WHOLE:
                    yield snapshot.read(row.number, hit.start, hit.end).decode("utf-8", "replace")
                    continue
                document = loaded[hit.path] = self.document(snapshot, hit.path, as_stored=True)
            yield document.content[hit.start : hit.end].decode("utf-8", "replace")

    def lines(self, snapshot: StoredSnapshot, path: str, start: int, end: int) -> tuple[int, int]:
        """The first and last line of a range."""
        row = _row(snapshot, path)
        if row.length > LONGEST_WHOLE:
            return self._part(snapshot, row).lines(start, end)
        return self.document(snapshot, path, as_stored=True).lines(start, end)

    def around(
        self, snapshot: StoredSnapshot, hits: Sequence[Hit], *, budget_bytes: int, loaded: dict[str, Document]
    ) -> dict[str, Document]:
        """The documents of some hits, long ones so far around them that windows can grow by the budget together.

        Whole documents in `loaded` are not looked up again; others are added to it.
        """
        if all(hit.path in loaded for hit in hits):
            return loaded
        places: dict[str, list[tuple[int, int]]] = {}
        for hit in hits:
            places.setdefault(hit.path, []).append((hit.start, hit.end))
        reach_bytes = max(_LEAST_REACH, _REACH_BUDGETS * budget_bytes // max(sum(map(len, places.values())), 1))
        parts: dict[str, Document] = {}
        missing = places.keys() - loaded.keys()
        snapshot.expect(missing)
        for path in sorted(missing):
            row = _row(snapshot, path)
            if row.length > LONGEST_WHOLE:
                part = parts[path] = self._part(snapshot, row)
                part.near(places[path], reach_bytes=reach_bytes)
            else:
                loaded[path] = self.document(snapshot, path, as_stored=True)
        return {path: parts[path] if path in parts else loaded[path] for path in places}

    def clear(self) -> None:
        """Drop all documents."""
        self._kept.clear()
        with self._lock:
            self._parts.clear()
            self._lines.clear()

    def _part(self, snapshot: StoredSnapshot, row: Row) -> PartlyRead:
        key = (row, threading.get_ident())
        with self._lock:
            if self._snapshot is not snapshot:  # parts are read from the newest one
                self._parts.clear()
                self._lines.clear()
                self._snapshot = snapshot
            part = self._parts.get(key)
            if part is None or part.read_bytes > LONGEST_WHOLE:
                count = LineCount(row.length, lambda start, end: snapshot.read(row.number, start, end))
                part = self._parts[key] = PartlyRead(snapshot, row, self._lines.setdefault(row, count))
            return part


def _row(snapshot: StoredSnapshot, path: str) -> Row:
    row = snapshot.row(path)
    assert row is not None, path
    return row


def _read(snapshot: StoredSnapshot, row: Row, *, as_stored: bool) -> Document:
    content = snapshot.read(row.number, 0, row.length)
    check(blake3(content).digest() == row.content_hash, f"the text of {row.path!r:.200} is not what was added")
    stored = None
    if as_stored and row.kind != "data":
        cuts = snapshot.units(row.number), snapshot.sections(row.number)
        check_cuts(content, *cuts)
        heads = snapshot.heads(row.number) if row.length > LARGEST else None
        stored = Outline(row.kind, row.language, len(content), *cuts, content=content, path=row.path, heads=heads)
    return Document(row.path, content, id=row.id, time=row.time, kind=row.kind, language=row.language, outline=stored)
