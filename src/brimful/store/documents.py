"""How does a stored document become one that windows are cut from, held as a whole or in parts?"""

from __future__ import annotations

import mmap
import threading
from bisect import bisect_left, bisect_right
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Self, cast

import numpy as np

from brimful.documents.documents import Document, Hit
from brimful.index.segments import Numbers
from brimful.outline.cuts import LARGEST
from brimful.outline.outlines import KnownOutline, Outline, outline
from brimful.store.rows import Row
from brimful.store.snapshot import StoredSnapshot
from brimful.text.spans import Span, merge_spans

# ---- partly: How is a document read that is too long to be held? Only around the places that are shown.
#
# Its bytes stand where they always stand, in a file-less memory map of the document's length: pages that nobody reads
# take no memory. What is sliced is read from the store first; what is looked at otherwise (patterns, edges of words)
# must have been read before, so windows grow no farther than what `near` has read around them.

LONGEST_WHOLE = 16 << 20
"""Of a longer document only the surroundings of its hits are read."""

_STEP = 1 << 20  # bytes whose lines are counted at once
_EDGE = 1 << 16  # of the beginning and the end, which say whether a window is the first or last thing said


class PartlyRead(Document):
    """A document of which some places were read. Slices, lines and cuts there are those of the whole document."""

    def __init__(self, snapshot: StoredSnapshot, row: Row, lines: LineCount) -> None:
        self._bytes = _Places(row.length, lambda start, end: snapshot.read(row.number, start, end))
        content = cast("bytes", self._bytes)  # as far as it is used
        super().__init__(row.path, content, time=row.time, kind=row.kind, language=row.language, id=row.id)
        self._snapshot, self._number, self._length, self._lines = snapshot, row.number, row.length, lines
        self._bytes.read_in([(0, _EDGE), (row.length - _EDGE, row.length)])
        first = outline(self.content[:_EDGE], kind="data", language=row.language) if row.kind == "data" else None
        self._header = first.header if first else None
        self._known_cuts: Outline | None = None

    def __len__(self) -> int:
        return self._length

    @property
    def is_whole(self) -> bool:
        """No: there are bytes that were not read."""
        return False

    @property
    def read_bytes(self) -> int:
        """How much of it was read."""
        return self._bytes.known_bytes

    def near(self, places: Iterable[tuple[int, int]], *, reach_bytes: int) -> None:
        """Read what lies around some places."""
        spans = merge_spans(Span(max(start - reach_bytes, 0), end + reach_bytes) for start, end in places)
        if self._bytes.read_in((span.start, span.end) for span in spans):
            self._known_cuts = None

    def reach(self, start: int, end: int) -> Span:
        """How far around `[start, end)` it was read, from cut to cut."""
        known = self._bytes.around(start, end)
        if known is None:
            return Span(start, end)
        low = self.outline.cut_after(known.start) if known.start else 0
        return Span(min(low, start), max(self.outline.cut_before(known.end), end))

    @property
    def outline(self) -> Outline:
        """The stored cuts of what was read; what lies between is one piece. Headings are not looked for."""
        if self._known_cuts is None:
            known = self._bytes.known
            units, sections = (
                _cuts((column(self._number, span.start, span.end) for span in known), len(self))
                for column in (self._snapshot.units, self._snapshot.sections)
            )
            self._known_cuts = Outline(self.kind, self.language, len(self), units, sections, header=self._header)
        return self._known_cuts

    def lines(self, start: int, end: int) -> tuple[int, int]:
        """First and last line (from 1) that `[start, end)` touches, counted from the beginning."""
        first = self._lines.before(start)
        return first + 1, first + self.content[start : max(start, end - 1)].count(b"\n") + 1


class LineCount:
    """How many lines end before a place of a document? Counted step by step, each step once."""

    def __init__(self, length: int, read: Callable[[int, int], bytes]) -> None:
        self._length, self._read = length, read
        self._counts = [0]  # before each step
        self._lock = threading.Lock()

    def before(self, position: int) -> int:
        """The newlines before a byte."""
        step = position // _STEP
        with self._lock:
            while len(self._counts) <= step:
                at = (len(self._counts) - 1) * _STEP
                self._counts.append(self._counts[-1] + self._read(at, min(at + _STEP, self._length)).count(b"\n"))
        return self._counts[step] + self._read(step * _STEP, position).count(b"\n")


class _Places(mmap.mmap):
    """Bytes of which some are known; a slice reads what it needs."""

    known: tuple[Span, ...] = ()
    known_bytes = 0
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
        """Where known bytes have a part; a memory map's own way to look for it is slow."""
        at = super().__getitem__(slice(start, end)).find(part)
        return at if at < 0 else start + at

    def around(self, start: int, end: int) -> Span | None:
        """The known stretch that holds a range."""
        at = bisect_right(self.known, start, key=lambda span: span.start) - 1
        return self.known[at] if at >= 0 and end <= self.known[at].end else None

    def read_in(self, spans: Iterable[tuple[int, int]]) -> bool:
        """Know some ranges; returns whether any was new."""
        fresh = []
        for start, end in ((max(start, 0), min(end, self._length)) for start, end in spans):
            if start >= end or self.around(start, end) is not None:
                continue
            first = bisect_right(self.known, start, key=lambda span: span.end)
            last = bisect_left(self.known, end, key=lambda span: span.start)
            at = start
            for span in (*self.known[first:last], Span(end, end)):
                if at < span.start:
                    self[at : span.start] = self._read(at, span.start)
                at = span.end
            fresh.append(Span(start, end))
        if fresh:
            self.known = tuple(merge_spans([*self.known, *fresh]))
            self.known_bytes = sum(span.end - span.start for span in self.known)
        return bool(fresh)


def _cuts(parts: Iterable[Numbers], length: int) -> Numbers:
    joined = np.concatenate([np.zeros(1, np.int64), *parts, np.array([length], np.int64)])
    return joined[np.diff(joined, prepend=-1) > 0]


# ---- whole: How does a stored document become one that windows are cut from? Whole, or around its hits; the last are
# kept.

_LEAST_REACH = 4_096
_REACH_BUDGETS = 4  # so many budgets around all hits together
_TOGETHER = 64  # hits whose documents are looked up at once

KEPT_BYTES = 12 << 20
"""Documents that stay read, so that the next question about them need not wait."""

_DATA_TIMES = 4
"""What a document of data takes, against its text: every record of it is outlined."""


class WholeDocuments:
    """Documents of one store, read whole, or around some places where they are too long for it.

    `as_stored` ones are cut where the store has cut them: hits lie on units that were found when the document was
    stored, and to grow a window by more of the same needs no second reading of the text. What they are made of is read
    when it is first asked for. Data is outlined anew all the same, for the times and headers of its records.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._kept: OrderedDict[tuple[str, bool], tuple[Row, Document]] = OrderedDict()  # by path, and `as_stored`
        self._held = 0  # bytes
        self._parts: dict[tuple[Row, int], PartlyRead] = {}  # of a thread each: they grow while they are read
        self._lines: dict[Row, LineCount] = {}
        self._snapshot: StoredSnapshot | None = None

    def one(self, snapshot: StoredSnapshot, path: str, *, as_stored: bool) -> Document:
        """The document of a path that the snapshot has, whole."""
        row = snapshot.row(path)
        assert row is not None
        key = (path, as_stored)
        with self._lock:
            known = self._kept.get(key)
            if known is not None and known[0] == row:  # mostly the same object
                self._kept.move_to_end(key)
                return known[1]
        made = _read(snapshot, row, as_stored=as_stored)
        with self._lock:
            known = self._kept.get(key)
            if known is not None and known[0] == row:  # another thread was faster
                return known[1]
            self._held += _weight(made) - (_weight(known[1]) if known is not None else 0)
            self._kept[key] = row, made
            self._kept.move_to_end(key)
            return made

    def many(self, snapshot: StoredSnapshot, paths: Iterable[str], *, as_stored: bool) -> dict[str, Document]:
        """The documents of some paths; then the oldest that are too many are let go of."""
        found = {path: self.one(snapshot, path, as_stored=as_stored) for path in sorted(paths)}
        with self._lock:
            while self._held > KEPT_BYTES and len(self._kept) > len(found):
                self._held -= _weight(self._kept.popitem(last=False)[1][1])
        return found

    def text(self, snapshot: StoredSnapshot, path: str, start: int, end: int) -> bytes:
        """Bytes of a document, which is kept if it is read whole for them."""
        row = snapshot.row(path)
        assert row is not None
        if row.length > LONGEST_WHOLE:
            return snapshot.read(row.number, start, end)
        return self.one(snapshot, path, as_stored=True).content[start:end]

    def texts(self, snapshot: StoredSnapshot, hits: Sequence[Hit], *, known: dict[str, Document]) -> Iterator[str]:
        """The text of each hit, read when it is asked for; the documents of so many are looked up at once.

        Those that are read whole come to be `known`, as they are stored.
        """
        for number, hit in enumerate(hits):
            if not number % _TOGETHER:
                snapshot.expect({each.path for each in hits[number : number + _TOGETHER]} - known.keys())
            document = known.get(hit.path)
            if document is None:
                row = snapshot.row(hit.path)
                assert row is not None
                if row.length > LONGEST_WHOLE:
                    yield snapshot.read(row.number, hit.start, hit.end).decode("utf-8", "replace")
                    continue
                document = known[hit.path] = self.one(snapshot, hit.path, as_stored=True)
            yield document.content[hit.start : hit.end].decode("utf-8", "replace")

    def lines(self, snapshot: StoredSnapshot, path: str, start: int, end: int) -> tuple[int, int]:
        """The first and last line of a range."""
        row = snapshot.row(path)
        assert row is not None
        if row.length > LONGEST_WHOLE:
            return self._part(snapshot, row).lines(start, end)
        return self.one(snapshot, path, as_stored=True).lines(start, end)

    def around(
        self,
        snapshot: StoredSnapshot,
        hits: Sequence[Hit],
        *,
        as_stored: bool,
        budget_bytes: int,
        known: dict[str, Document] | None = None,
    ) -> dict[str, Document]:
        """The documents of some hits, long ones around them: so far that windows can grow by the budget together.

        Whole ones that are `known` to whoever asks again and again are not looked up; others come to be known.
        """
        known = {} if known is None else known
        if all(hit.path in known for hit in hits):
            return known
        places: dict[str, list[tuple[int, int]]] = {}
        for hit in hits:
            places.setdefault(hit.path, []).append((hit.start, hit.end))
        reach_bytes = max(_LEAST_REACH, _REACH_BUDGETS * budget_bytes // max(sum(map(len, places.values())), 1))
        parts: dict[str, Document] = {}
        unknown = places.keys() - known.keys()
        snapshot.expect(unknown)
        for path in sorted(unknown):
            row = snapshot.row(path)
            assert row is not None
            if row.length > LONGEST_WHOLE:
                part = parts[path] = self._part(snapshot, row)
                part.near(places[path], reach_bytes=reach_bytes)
        known.update(self.many(snapshot, unknown - parts.keys(), as_stored=as_stored))
        return {path: parts[path] if path in parts else known[path] for path in places}

    def clear(self) -> None:
        """Let go of all."""
        with self._lock:
            self._kept.clear()
            self._held = 0
            self._parts.clear()
            self._lines.clear()

    def _part(self, snapshot: StoredSnapshot, row: Row) -> PartlyRead:
        key = (row, threading.get_ident())
        with self._lock:
            if self._snapshot is not snapshot:  # what is read later is read from the newest one
                self._parts.clear()
                self._lines.clear()
                self._snapshot = snapshot
            known = self._parts.get(key)
            if known is None or known.read_bytes > LONGEST_WHOLE:
                count = LineCount(row.length, lambda start, end: snapshot.read(row.number, start, end))
                known = self._parts[key] = PartlyRead(snapshot, row, self._lines.setdefault(row, count))
            return known


def _weight(document: Document) -> int:
    """About the bytes of a document that is kept."""
    return len(document) * (_DATA_TIMES if document.kind == "data" else 1)


def _read(snapshot: StoredSnapshot, row: Row, *, as_stored: bool) -> Document:
    content = snapshot.read(row.number, 0, row.length)
    known = None
    if as_stored and row.kind != "data":
        cuts = snapshot.units(row.number), snapshot.sections(row.number)
        heads = snapshot.heads(row.number) if row.length > LARGEST else None
        known = KnownOutline(content, *cuts, kind=row.kind, language=row.language, path=row.path, heads=heads)
    return Document(row.path, content, id=row.id, time=row.time, kind=row.kind, language=row.language, outline=known)
