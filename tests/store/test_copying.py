"""A copy has the root, the answers and the vectors of what was copied, however often it was broken off."""

from itertools import count

import pytest

import brimful
from brimful import Document
from brimful.documents.loaders.loaded import SourceMap
from brimful.errors import StoreError
from brimful.index import build
from brimful.store import store as storing
from brimful.store import upkeep
from brimful.store.opening import opened
from brimful.store.upkeep import copy, verify
from brimful.store.writing import NewDocument

from .test_sqlite import dump

_numbers = count(1)


def entry(path, text, **more):
    """A document to store."""
    return NewDocument(Document(path, text), **more)


@pytest.fixture(params=["file to server", "server to file", "file to file", "server to server"])
def stores(request, tmp_path, postgres_server):
    """Two empty stores, of every two engines."""

    def one(kind):
        number = next(_numbers)
        return tmp_path / f"{number}.db" if kind == "file" else postgres_server.address(f"copy-{number}")

    first, second = (one(kind) for kind in request.param.split(" to "))
    with opened(first) as source, opened(second) as target:
        yield source, target


def fill(store):
    """Several segments, one with dead text, maps, titles, times and origins."""
    pages = SourceMap((0, 4), ("page 1", "page 2"), (None, 60))
    store.add([entry("a.txt", "tea pot", source_map=pages, title="Tea", origin="/notes//a.txt", stamp="1")])
    store.add([entry(f"d{n}.md", f"# Part {n}\n\nTea number {n} is served. " * 30) for n in range(9)])
    store.add([entry("x.py", "def tea():\n    return 4\n"), entry("gone.md", "secret sauce " * 50)])
    store.remove(["gone.md", "d3.md"])
    store.remember_root("/notes//", "notes")


def test_a_copy_is_the_same_corpus(stores):
    """Root, documents, places, maps, origins and roots; and nothing of what had been removed."""
    source, target = stores
    fill(source)
    done = copy(source, target)
    assert (done.copied, done.unchanged, done.deleted) == (10, 0, 0)
    assert dump(target) == dump(source)
    assert target.roots() == source.roots()
    assert target.origins("/notes//") == source.origins("/notes//")
    with source.snapshot() as now, target.snapshot() as then:
        assert done.root == now.root.hex() == then.root.hex()
        assert then.source_map(then.row("a.txt").number) == now.source_map(now.row("a.txt").number)
        assert b"sauce" not in then.terms()
        for segment in then.segments():
            assert all(b"sauce" not in segment.text(base, end) for base, end in zip(*segment.extents[:2], strict=True))
    assert verify(target.path) == []


def test_a_copy_again_brings_what_changed(stores):
    """What is the same is left alone; what only the target has is an error, or is deleted where that was asked for."""
    source, target = stores
    fill(source)
    copy(source, target)
    with target.snapshot() as then:
        before = then.generation
    assert copy(source, target).copied == 0
    with target.snapshot() as then:
        assert then.generation == before
    source.add([entry("new.md", "Sugar.")])
    source.remove(["d1.md"])
    with pytest.raises(StoreError, match=r"1 documents that.*--delete"):
        copy(source, target)
    done = copy(source, target, delete=True)
    assert done.deleted == 1
    assert dump(target) == dump(source)
    assert verify(target.path) == []


def test_a_copy_goes_on_where_it_was_broken_off(stores, monkeypatch):
    """After each commit it can end, and the next one writes only what is missing."""
    monkeypatch.setattr(storing, "SEGMENT_BYTES", 1_000)
    source, target = stores
    fill(source)
    write = type(target).write
    for _ in range(10):
        calls = []

        def once(*given, calls=calls, **choices):
            if calls:
                raise KeyboardInterrupt
            calls.append(1)
            return write(*given, **choices)

        with monkeypatch.context() as patch:
            patch.setattr(type(target), "write", once)
            try:
                done = copy(source, target)
            except KeyboardInterrupt:
                assert verify(target.path) == []
                continue
        break
    assert done.unchanged
    assert dump(target) == dump(source)


def test_a_long_document_is_copied_piece_by_piece(stores, monkeypatch):
    """One that lies in several extents comes in one commit."""
    monkeypatch.setattr(build, "EXTENT_BYTES", 4_000)
    monkeypatch.setattr(upkeep, "LONG_BYTES", 8_000)
    source, target = stores
    text = "".join(f"Line {n} of tea, cups and pots.\n" for n in range(600))
    source.add([entry("a.md", "tea"), entry("long.txt", text), entry("z.md", "pot")])
    copy(source, target)
    assert dump(target) == dump(source)
    assert verify(target.path) == []


def test_answers_are_those_of_the_source(stores):
    """A context from the copy is the context from the source, receipt and all."""
    source, target = stores
    fill(source)
    copy(source, target)
    with brimful.open(source.path) as one, brimful.open(target.path) as two:
        for question in ("tea number 4", "return 4", "teh prat 7"):
            assert one.context(question, budget=200).text == two.context(question, budget=200).text
