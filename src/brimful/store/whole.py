"""How does a stored document become one that windows are cut from? Whole, or around its hits; the last are kept."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterable
from functools import cache

from brimful.corpus.documents import Document, Hit
from brimful.store.partly import LONGEST_WHOLE, LineCount, PartlyRead
from brimful.store.protocol import Row, Snapshot
from brimful.text.layout import LARGEST, definition_blocks
from brimful.text.markup import sections_of
from brimful.text.outline import Block, Outline
from brimful.text.prose import heading_blocks
from brimful.text.structure import Structure, structure

_LEAST_REACH = 4_096
_REACH_BUDGETS = 4  # so many budgets around all hits together

KEPT_BYTES = 24 << 20
"""Documents that stay read, so that the next question about them need not wait."""


class WholeDocuments:
    """Documents of one store, read whole, or around some places where they are too long for it.

    `as_stored` ones are cut where the store has cut them: hits lie on units that were found when the document was
    stored, and to grow a window by more of the same needs no second reading of the text. What they are made of is read
    when it is first asked for. Data is outlined anew all the same, for the times and headers of its records.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._kept: OrderedDict[tuple[Row, bool], Document] = OrderedDict()
        self._held = 0  # bytes
        self._parts: dict[tuple[Row, int], PartlyRead] = {}  # of a thread each: they grow while they are read
        self._lines: dict[Row, LineCount] = {}
        self._snapshot: Snapshot | None = None

    def one(self, snapshot: Snapshot, path: str, *, as_stored: bool) -> Document:
        """The document of a path that the snapshot has, whole."""
        row = snapshot.row(path)
        assert row is not None
        key = (row, as_stored)
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key]
        made = _read(snapshot, row, as_stored=as_stored)
        with self._lock:
            if (known := self._kept.setdefault(key, made)) is made:
                self._held += row.length
            return known

    def many(self, snapshot: Snapshot, paths: Iterable[str], *, as_stored: bool) -> dict[str, Document]:
        """The documents of some paths; then the oldest that are too many are let go of."""
        found = {path: self.one(snapshot, path, as_stored=as_stored) for path in sorted(paths)}
        with self._lock:
            while self._held > KEPT_BYTES and len(self._kept) > len(found):
                self._held -= len(self._kept.popitem(last=False)[1])
        return found

    def text(self, snapshot: Snapshot, path: str, start: int, end: int) -> bytes:
        """Bytes of a document, which is kept if it is read whole for them."""
        row = snapshot.row(path)
        assert row is not None
        if row.length > LONGEST_WHOLE:
            return snapshot.read(row.number, start, end)
        return self.one(snapshot, path, as_stored=True).content[start:end]

    def lines(self, snapshot: Snapshot, path: str, start: int, end: int) -> tuple[int, int]:
        """The first and last line of a range."""
        row = snapshot.row(path)
        assert row is not None
        if row.length > LONGEST_WHOLE:
            return self._part(snapshot, row).lines(start, end)
        return self.one(snapshot, path, as_stored=True).lines(start, end)

    def around(
        self, snapshot: Snapshot, hits: Iterable[Hit], *, as_stored: bool, budget_bytes: int
    ) -> dict[str, Document]:
        """The documents of some hits, long ones around them: so far that windows can grow by the budget together."""
        places: dict[str, list[tuple[int, int]]] = {}
        for hit in hits:
            places.setdefault(hit.path, []).append((hit.start, hit.end))
        reach_bytes = max(_LEAST_REACH, _REACH_BUDGETS * budget_bytes // max(sum(map(len, places.values())), 1))
        parts: dict[str, Document] = {}
        for path, here in places.items():
            row = snapshot.row(path)
            assert row is not None
            if row.length > LONGEST_WHOLE:
                part = parts[path] = self._part(snapshot, row)
                part.near(here, reach_bytes=reach_bytes)
        return {**self.many(snapshot, places.keys() - parts.keys(), as_stored=as_stored), **parts}

    def clear(self) -> None:
        """Let go of all."""
        with self._lock:
            self._kept.clear()
            self._held = 0
            self._parts.clear()
            self._lines.clear()

    def _part(self, snapshot: Snapshot, row: Row) -> PartlyRead:
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


def _read(snapshot: Snapshot, row: Row, *, as_stored: bool) -> Document:
    content = snapshot.read(row.number, 0, row.length)
    known: Outline | None = None
    if as_stored and row.kind != "data":
        made = cache(lambda: _structure(row, content))
        known = Outline(
            row.kind,
            row.language,
            row.length,
            snapshot.units(row.number),
            snapshot.sections(row.number),
            blocks=lambda: (
                _headings(snapshot, row, content) if row.kind == "prose" else definition_blocks(content, made())
            ),
            structure=made,
        )
    return Document.known(
        row.path, content, id=row.id, time=row.time, kind=row.kind, language=row.language, outline=known
    )


def _structure(row: Row, content: bytes) -> Structure:
    """What a document is made of; of one that is very long that would take too long to find out."""
    if row.length > LARGEST:
        return Structure(row.kind, row.language, row.length)
    return structure(content, kind=row.kind, language=row.language, path=row.path)


def _headings(snapshot: Snapshot, row: Row, content: bytes) -> tuple[Block, ...]:
    columns = (column.tolist() for column in snapshot.heads(row.number))
    heads = [(start, end, level, content[start:end]) for start, end, level in zip(*columns, strict=True)]
    return heading_blocks(sections_of(heads, row.length))
