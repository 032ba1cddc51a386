"""Segments are merged without reading text again, and what they hold stays the same."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from brimful import Document
from brimful.errors import StoreBusyError, StoreFullError
from brimful.index.build import Extent
from brimful.index.segments import Postings, merge_postings, without_empty
from brimful.store import merging, writing
from brimful.store.merging import FANOUT
from brimful.store.sqlite import SqliteStore
from brimful.store.upkeep import verify
from brimful.store.writing import NewDocument

from .test_sqlite import dump, entry

tables = st.lists(
    st.dictionaries(
        st.binary(min_size=1, max_size=3).filter(lambda name: b"\n" not in name),
        st.lists(st.integers(0, 99), min_size=1, max_size=4),
    ),
    max_size=4,
)


def postings(table):
    """A dictionary of terms as columns."""
    names = sorted(table)
    counts = [len(table[name]) for name in names]
    positions = [position for name in names for position in sorted(table[name])]
    return Postings(names, np.cumsum([0, *counts]), np.array(positions, np.int64))


def pages(table, size):
    """The same in pages of a few terms."""
    names = sorted(table)
    for first in range(0, len(names), size):
        yield postings({name: table[name] for name in names[first : first + size]})


@given(tables, st.integers(1, 3), st.integers(1, 3))
def test_merged_postings_are_those_of_all(found, size, at_once):
    """Whatever the pages, every term has the positions of all runs, in order, and comes up once."""
    shifted = [{name: [100 * at + p for p in ps] for name, ps in table.items()} for at, table in enumerate(found)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("brimful.index.segments._PAGES_AT_ONCE", at_once)
        merged = list(merge_postings([pages(table, size) for table in shifted]))
    names = [name for part in merged for name in part.names]
    assert names == sorted({name for table in found for name in table})
    for part in merged:
        for name in part.names:
            assert part.of(name).tolist() == [p for table in shifted for p in sorted(table.get(name, []))]


def test_terms_without_positions_go():
    """What only deleted text said is not a term any longer."""
    found = without_empty(postings({b"a": [1], b"b": [2, 3]}), np.array([False, True, False]), np.array([0, 10, 0]))
    assert list(found.names) == [b"b"]
    assert found.of(b"b").tolist() == [12]


@pytest.mark.parametrize("moved", [0, merging._MOVED_BYTES])
def test_merged_text_reads_back(store, monkeypatch, moved):
    """Documents over several blocks, of whole and of thinned segments, with blocks moved or written anew."""
    monkeypatch.setattr(merging, "_MOVED_BYTES", moved)
    texts = {f"{n:02}.txt": f"document {n} line\n" * (n * 1_500) for n in range(7)}
    texts["block.txt"] = "x" * 65_536
    for path, text in texts.items():
        store.add([entry(path, text), entry(f"{path}.empty.txt", "")])
        texts = {**texts, f"{path}.empty.txt": ""}
    store.remove(["03.txt", "04.txt.empty.txt"])
    store.compact()
    del texts["03.txt"], texts["04.txt.empty.txt"]
    with store.snapshot() as now:
        assert len(now.segments()) == 1
        assert {row.path: now.read(row.number, 0, row.length).decode() for row in now.rows()} == texts
        bases, ends, *_ = now.segments()[0].extents
        assert (bases[1:] > ends[:-1]).all()
    assert verify(store.path) == []
    with SqliteStore(store.path.with_name("fresh.db")) as fresh:
        fresh.add([entry(path, text) for path, text in texts.items()])
        assert dump(fresh) == dump(store)


def test_tiers_keep_segments_few(store):
    """Hundreds of small commits leave fewer than the fanout in each tier."""
    for n in range(200):
        store.add([entry(f"{n}.md", f"document {n}")])
    with store.snapshot() as now:
        assert len(now.segments()) < merging.FANOUT
        assert now.census(b"document") == 200


def test_a_mostly_dead_segment_is_laid_anew(store):
    """What was deleted takes no more room than what is live."""
    store.add([entry(f"{n}.md", f"document {n} " * 50) for n in range(20)])
    store.remove([f"{n}.md" for n in range(15)])
    store.add([])
    with store.snapshot() as now:
        (segment,) = now.segments()
        assert segment.dead == 0
        assert segment.length < 2 * segment.live


def test_a_gigabyte_is_a_few_segments():
    """Commits of 8 MB, one by one merged as the store does it, leave segments up to 128 MB and few small ones."""
    sizes = []
    for _ in range(128):
        sizes.append(8 << 20)
        while chosen := merging.crowded([SimpleNamespace(live=size, length=size, dead=0) for size in sizes]):
            merged = [segment.live for segment in chosen]
            for size in merged:
                sizes.remove(size)
            sizes.append(sum(merged))
    assert sum(sizes) == 1 << 30
    assert len(sizes) <= 16
    assert max(sizes) <= merging.LARGEST_BYTES


@pytest.mark.parametrize("error", [StoreFullError, StoreBusyError])
def test_merging_may_wait(store, monkeypatch, error):
    """What was added is in, although there was no room or no time to merge; the next commit merges."""

    def refuse(*_):
        raise error("not now")

    for n in range(merging.FANOUT - 1):
        store.add([entry(f"{n}.md", f"document {n}")])
    with monkeypatch.context() as patch:
        patch.setattr("brimful.store.store.merge", refuse)
        store.add([entry("last.md", "document")])
    with store.snapshot() as now:
        assert len(now.segments()) == merging.FANOUT
        assert now.census(b"document") == merging.FANOUT
    store.add([])
    with store.snapshot() as now:
        assert len(now.segments()) == 1
        assert now.census(b"document") == merging.FANOUT


def test_segments_of_one_commit_have_numbers_of_their_own(store, monkeypatch):
    """A batch of several segments keeps the blobs of each."""
    from brimful.index import build
    from brimful.store import writing

    monkeypatch.setattr(build, "EXTENT_BYTES", 4_000)
    monkeypatch.setattr(writing, "SEGMENT_BYTES", 8_000)
    texts = {f"{n}.txt": "".join(f"Line {line} of text {n}, with tea.\n" for line in range(400)) for n in range(3)}
    store.add([entry(path, text) for path, text in texts.items()])
    with store.snapshot() as now:
        assert len(now.segments()) == 3
        for path, text in texts.items():
            row = now.row(path)
            assert now.read(row.number, 0, row.length) == text.encode()
    assert verify(store.path) == []


def test_words_are_noted_and_merged(tmp_path):
    """Each segment notes its terms of letters, and a merged one those of all."""
    texts = {f"{at}.md": f"Tea no. {at}: naïve café, 茶, pot{'s' * at} and r2d2 to x_y." for at in range(FANOUT)}
    with SqliteStore(tmp_path / "store.db") as store:
        for path, text in texts.items():
            store.add([NewDocument(Document(path, text))])
            with store.snapshot() as now:
                noted = [segment.words() for segment in now.segments()]
                named = [[name for name in segment.live_names(b"") if _is_word(name)] for segment in now.segments()]
            assert noted == [b"".join(name + b"\n" for name in names) for names in named]
        assert len(noted) == 1
        assert b"caf\xc3\xa9\n" in noted[0]
        assert b"pot\n" in noted[0]


def _is_word(name):
    return len(name) >= 3 and all(code >= 0x80 or chr(code).isalpha() for code in name)


def test_a_segment_of_chinese_is_smaller(monkeypatch):
    """Bytes beyond ASCII count fourfold, since they make more terms: memory is for the terms, not for the text."""
    monkeypatch.setattr(writing, "SEGMENT_BYTES", 1_000)
    plain = [writing.DocumentExtent(at, 0, Extent(b"tea " * 25, "prose", None)) for at in range(20)]
    wide = [writing.DocumentExtent(at, 0, Extent("茶".encode() * 33 + b".", "prose", None)) for at in range(20)]
    assert [len(group) for group in writing.grouped(plain)] == [10, 10]
    assert [len(group) for group in writing.grouped(wide)] == [3, 3, 3, 3, 3, 3, 2]


def test_what_is_left_behind_a_full_segment_goes_with_it(monkeypatch):
    """Less than an eighth of a segment makes none of its own, since every question looks into each; more does."""
    monkeypatch.setattr(writing, "SEGMENT_BYTES", 1_000)
    laid = [writing.DocumentExtent(at, 0, Extent(b"tea " * 25, "prose", None)) for at in range(22)]
    assert [len(group) for group in writing.grouped(laid[:21])] == [10, 11]
    assert [len(group) for group in writing.grouped(laid)] == [10, 10, 2]
