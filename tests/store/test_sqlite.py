"""The embedded store against a plain model: after any history it equals a fresh build."""

import random
import time
from collections import defaultdict
from pathlib import Path

import apsw
import apsw.sqlite_extra
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

import brimful
from brimful import BrimfulError, Document
from brimful.errors import CorruptError, MissingPartError, StoreBusyError, StoreError, StoreFullError, StoreVersionError
from brimful.store import merging
from brimful.store.merkle import leaf_hash
from brimful.store.sqlite import SqliteStore, checksums
from brimful.store.upkeep import verify
from brimful.store.writing import NewDocument
from brimful.text.terms import terms_of
from tests.store.places import places_of

PATHS = ["a.md", "b.py", "c.csv", "deep/d.txt", "é/ü.md"]
TEXTS = [
    "",
    "Tea at four. Coffee at ten.\n\nNobody minds.",
    "def pour(cup):\n    return cup_size + 1\n\n\nclass Pot:\n    pass\n",
    "time,kind\n2026-01-01,tea\n",
    "茶はいつ来たのか。今天天气很好。",
    "word " * 400,
]


def entry(path, text, when=None):
    """A document to store."""
    return NewDocument(Document(path, text, time=when))


def dump(store):
    """Everything that can be seen through a snapshot, without the numbers that history leaves."""
    with store.snapshot() as now:
        rows = {row.number: row for row in now.rows()}
        places = {}
        for term in now.terms():
            found = places_of(now, term)
            by_path = defaultdict(list)
            for number, start in found:
                by_path[rows[number].path].append(start)
            places[term] = dict(by_path)
            assert now.census(term) == len(found)
        columns = columns_of(now)
        documents = {
            row.path: (
                (row.id, row.time, row.kind, now.read(row.number, 0, row.length), now.units(row.number).tolist()),
                columns[row.number],
                now.source_map(row.number),
            )
            for row in rows.values()
        }
        listed = now.documents()
        shown = list(zip(listed.paths, listed.titles, listed.lengths.tolist(), listed.times.tolist(), strict=True))
        return now.root, documents, places, (shown, list(listed.kinds), list(listed.languages))


def columns_of(now):
    """Units, sections and headings of each document, wherever its extents lie."""
    found = defaultdict(list)
    for segment in now.segments():
        for base, end, document, start in zip(*(column.tolist() for column in segment.extents), strict=True):
            units, sections = (
                (column[slice(*column.searchsorted((base, end)).tolist())].astype(int) - base + start).tolist()
                for column in (segment.unit_starts, segment.section_starts)
            )
            here = slice(*segment.heads.starts.searchsorted((base, end)).tolist())
            heads = [(column[here] - base + start).tolist() for column in segment.heads[:2]]
            levels = segment.heads.levels[here].tolist()
            found[document].append((start, end - base, units, sections, heads, levels))
    return {document: sorted(extents) for document, extents in found.items()}


def model_places(model):
    """The postings as the term extractor gives them, document by document."""
    places = defaultdict(dict)
    for path, (text, _) in model.items():
        found = terms_of(text.encode())
        for at, name in enumerate(found.names):
            places[name][path] = found.starts[found.offsets[at] : found.offsets[at + 1]].tolist()
    return dict(places)


class History(RuleBasedStateMachine):
    """Adds, edits, deletes, compacts and reopens in any order."""

    @initialize(moved=st.sampled_from([0, merging._MOVED_BYTES]), fanout=st.sampled_from([2, 3, merging.FANOUT]))
    def start(self, moved, fanout):
        """A new store and an empty model; segments are merged often, with and without moving their blocks."""
        import tempfile

        self.patch = pytest.MonkeyPatch()
        self.patch.setattr(merging, "_MOVED_BYTES", moved)
        self.patch.setattr(merging, "FANOUT", fanout)
        self.folder = tempfile.TemporaryDirectory()
        self.store = SqliteStore(Path(self.folder.name, "store.db"))
        self.model = {}
        self.generation = 0

    @rule(
        changes=st.dictionaries(
            st.sampled_from(PATHS),
            st.tuples(st.sampled_from(TEXTS), st.none() | st.integers(0, 9)),
            min_size=1,
            max_size=3,
        )
    )
    def add(self, changes):
        """Add or edit several documents at once."""
        self.store.add([entry(path, text, when) for path, (text, when) in changes.items()])
        self.model.update(changes)

    @rule(path=st.sampled_from(PATHS))
    def remove(self, path):
        """Delete one, there or not."""
        assert self.store.remove([path]) == (path in self.model)
        self.model.pop(path, None)

    @rule()
    def rebuild(self):
        """Index the stored text again."""
        self.store.rebuild()

    @rule()
    def compact(self):
        """Fold away what was deleted."""
        self.store.compact()

    @rule()
    def reopen(self):
        """Close and open again."""
        path = self.store.path
        self.store.close()
        self.store = SqliteStore(path)

    @invariant()
    def equals_a_fresh_build(self):
        """Logical dump and state root equal those of a store built from scratch, and the plain model's."""
        if not hasattr(self, "store"):
            return
        root, documents, places, shown = dump(self.store)
        assert {path: found[0][3].decode() for path, found in documents.items()} == {
            path: text for path, (text, _) in self.model.items()
        }
        assert places == model_places(self.model)
        with SqliteStore(Path(self.folder.name, f"fresh{time.monotonic_ns()}.db")) as fresh:
            fresh.add([entry(path, text, when) for path, (text, when) in self.model.items()])
            assert dump(fresh) == (root, documents, places, shown)
        assert verify(self.store.path) == []

    def teardown(self):
        """Leave nothing behind."""
        if hasattr(self, "store"):
            self.store.close()
            self.folder.cleanup()
            self.patch.undo()


TestHistory = History.TestCase
TestHistory.settings = settings(max_examples=25, stateful_step_count=10, deadline=None)


def test_every_document_is_proven(store):
    """A proof leads from path, time and content of each document to the root."""
    store.add([entry(f"{n}.md", f"text {n}", n) for n in range(50)])
    with store.snapshot() as now:
        for row in now.rows():
            assert now.prove(row.path).root(leaf_hash(row.path, row.time, row.content_hash)) == now.root
        with pytest.raises(BrimfulError, match="not in this snapshot"):
            now.prove("missing.md")


def test_a_snapshot_never_changes(store):
    """Later commits are seen only by later snapshots."""
    store.add([entry("a.md", "first")])
    with store.snapshot() as before:
        store.add([entry("a.md", "second words")])
        store.remove(["a.md"])
        assert before.read(before.row("a.md").number, 0, 5) == b"first"
        assert before.census(b"first") == 1
    with store.snapshot() as after:
        assert after.row("a.md") is None
        assert after.generation == before.generation + 2


def test_statistics_are_exact_at_once(store):
    """Deleted documents are masked, without compaction."""
    store.add([entry("a.md", "tea tea"), entry("b.md", "tea")])
    store.remove(["a.md"])
    with store.snapshot() as now:
        assert now.census(b"tea") == 1
        assert now.terms() == [b"tea"]


def test_reads_span_blocks_and_extents(store):
    """A document larger than an extent reads back whole and in any part."""
    text = "".join(f"line {n} of a long document\n" for n in range(330_000))
    store.add([entry("long.txt", text)])
    with store.snapshot() as now:
        row = now.row("long.txt")
        assert len(now.extents(row.number)) > 1
        assert now.read(row.number, 0, row.length) == text.encode()
        for start in (0, 65_530, 4_194_000, row.length - 10):
            assert now.read(row.number, start, start + 10) == text.encode()[start : start + 10]
        assert now.census(b"document") == 330_000
        assert [start for _, start in places_of(now, b"329999")] == [text.index("329999")]


def test_small_segments_are_folded(store):
    """Many small commits do not leave many segments, and the result equals a fresh build."""
    for n in range(40):
        store.add([entry(f"{n}.md", f"document {n} about tea", n)])
    with store.snapshot() as now:
        assert len(now.segments()) <= 15
        assert now.census(b"tea") == 40
    with SqliteStore(store.path.with_name("fresh.db")) as fresh:
        fresh.add([entry(f"{n}.md", f"document {n} about tea", n) for n in range(40)])
        assert dump(fresh) == dump(store)


def test_spans_outside_are_refused(store):
    """A read past the end names both numbers."""
    store.add([entry("a.md", "short")])
    with store.snapshot() as now, pytest.raises(BrimfulError, match="5 bytes"):
        now.read(now.row("a.md").number, 0, 6)


def test_purge_leaves_no_trace(store):
    """After a purge no byte of deleted text is in the file or its journal."""
    secret = "xyzzy-the-secret-word"
    store.add([entry("secret.md", f"{secret} " * 3), entry("kept.md", "kept words")])
    store.remove(["secret.md"])
    store.purge()
    raw = b"".join(file.read_bytes() for file in store.path.parent.iterdir())
    assert secret.encode() not in raw
    assert b"xyzzy" not in raw
    assert b"secret.md" not in raw
    with store.snapshot() as now:
        assert [row.path for row in now.rows()] == ["kept.md"]


def test_not_a_store(tmp_path):
    """Other files, and stores of newer versions, are refused and left alone."""
    text = tmp_path / "notes.db"
    text.write_text("these are notes, not a database, and they are quite long" * 20)
    with pytest.raises(CorruptError, match="damaged"):
        SqliteStore(text)
    other = tmp_path / "other.db"
    apsw.Connection(str(other)).execute("CREATE TABLE t (x)")
    with pytest.raises(StoreVersionError, match="not a Brimful store"):
        SqliteStore(other)
    newer = tmp_path / "newer.db"
    SqliteStore(newer).close()
    connection = apsw.Connection(str(newer), vfs=checksums())
    connection.pragma("user_version", 99)
    connection.close()
    with pytest.raises(StoreVersionError, match="99"):
        SqliteStore(newer)
    with pytest.raises(StoreError, match="folder"):
        SqliteStore(tmp_path / "missing" / "store.db")


def test_one_writer_at_a_time(store, monkeypatch):
    """A second writer waits, then says who is in the way."""
    with store._writing(), SqliteStore(store.path) as second:
        second._connection.set_busy_timeout(50)
        with pytest.raises(StoreBusyError, match="another process"):
            second.add([entry("a.md", "text")])


def test_a_full_disk_is_a_typed_error(store):
    """The old state stays intact, and the store is usable afterwards."""
    store.add([entry("a.md", "kept")])
    pages = store._connection.pragma("page_count")
    store._connection.pragma("max_page_count", pages + 2)
    with pytest.raises(StoreFullError, match="room"):
        store.add([entry("b.md", "".join(random.Random(1).choices("abcdefgh ", k=900_000)))])
    store._connection.pragma("max_page_count", 1_000_000)
    with store.snapshot() as now:
        assert [row.path for row in now.rows()] == ["a.md"]
    store.add([entry("b.md", "more")])
    with store.snapshot() as now:
        assert [row.path for row in now.rows()] == ["a.md", "b.md"]


def test_the_size_of_a_store_counts_what_was_just_written(tmp_path):
    """Also what stands in the log alone: a report right after adding names the size that the closed store has."""
    path = tmp_path / "store.db"
    with brimful.open(path) as engine:
        engine.add_text("tea.md", "Tea is served at four.\n" * 5_000)
        told = engine.size_bytes
    assert told == path.stat().st_size


def test_an_apsw_without_checksums_of_pages_is_named(monkeypatch):
    """Built without SQLite's cksumvfs it opens no store: the error says which package brings it."""

    def load(_connection, name):
        raise apsw.sqlite_extra.NotAvailable(name)

    monkeypatch.setattr(apsw.sqlite_extra, "load", load)
    with pytest.raises(MissingPartError, match=r"cksumvfs.*install its wheel"):
        checksums.__wrapped__()
