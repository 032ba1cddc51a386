"""Whose vectors a store has."""

import numpy as np
import pytest

from brimful.corpus.documents import Document
from brimful.corpus.loaders.loaded import SourceMap
from brimful.errors import MissingPartError, SettingError
from brimful.index.embedders import wrap
from brimful.index.vectors import codes_of, project
from brimful.store.format import BLOB_CODES
from brimful.store.sqlite import Entry, SqliteStore
from brimful.store.upkeep import verify

from .test_sqlite import entry

LENGTHS = wrap("lengths", lambda texts: [[len(text), -1, 2] for text in texts], dimensions=3)


def test_units_have_codes_of_the_static_table(tmp_path):
    """By default each unit has the code of its own terms: units with the same words have the same."""
    with SqliteStore(tmp_path / "store.db") as store:
        store.add([entry("a.md", "Green tea.\n\nBlack coffee."), entry("b.txt", "Tea, green!")])
        with store.snapshot() as now:
            (segment,) = now.segments()
            first, second, third = segment.codes
            assert now.model.startswith("wordllama")
            assert (first == third).all()
            assert (first != second).any()


def test_a_model_reads_each_unit(tmp_path):
    """A model that is no table gets the text of the units."""
    with SqliteStore(tmp_path / "store.db", embedder=LENGTHS) as store:
        store.add([entry("a.md", "One sentence.\n\nAnother, longer sentence.")])
        with store.snapshot() as now:
            (segment,) = now.segments()
            assert now.model == "lengths"
            assert len(segment.codes) == len(segment.units) == 2
            texts = ["One sentence.\n\n", "Another, longer sentence."]
            assert (segment.codes == codes_of(project(np.array([[len(text), -1, 2] for text in texts])))).all()


def test_another_model_is_refused(tmp_path):
    """Vectors of two models can't be compared; rebuilding takes the new one."""
    path = tmp_path / "store.db"
    with SqliteStore(path, embedder=LENGTHS) as store:
        store.add([entry("a.md", "tea")])
    other = wrap("other", lambda texts: [[1, 1] for _ in texts], dimensions=2)
    with pytest.raises(SettingError, match=r"lengths.*other"):
        SqliteStore(path, embedder=other)
    with SqliteStore(path) as store, pytest.raises(SettingError, match="lengths"):
        store.add([entry("b.md", "pot")])
    with SqliteStore(path, embedder=other, outdated=True) as store:
        store.rebuild()
        store.add([entry("b.md", "pot")])
        with store.snapshot() as now:
            assert now.model == "other"
    assert verify(path) == []


def test_a_store_without_vectors_stays_without(tmp_path):
    """It can be opened with or without the extra; with vectors there, adding without an embedder is refused."""
    path = tmp_path / "plain.db"
    with SqliteStore(path, embedder=None) as store:
        store.add([entry("a.md", "tea")])
    with SqliteStore(path) as store:
        store.add([entry("b.md", "pot")])
        store.compact()
        with store.snapshot() as now:
            assert now.model is None
            assert [segment.codes for segment in now.segments()] == [None]
    with pytest.raises(SettingError, match="lengths"):
        SqliteStore(path, embedder=LENGTHS)
    coded = tmp_path / "coded.db"
    with SqliteStore(coded, embedder=LENGTHS) as store:
        store.add([entry("a.md", "tea")])
    with SqliteStore(coded, embedder=None) as store:
        with pytest.raises(MissingPartError, match="lengths"):
            store.add([entry("b.md", "pot")])
        with store.snapshot() as now:
            assert now.census(b"tea") == 1


def test_without_the_extra_there_are_no_vectors(tmp_path, monkeypatch):
    """A store made where the table is not installed says so."""
    monkeypatch.setattr("brimful.store.store.default_embedder", lambda: None)
    with SqliteStore(tmp_path / "store.db") as store:
        store.add([entry("a.md", "tea")])
        with store.snapshot() as now:
            assert now.model is None


def test_source_maps_are_kept(tmp_path):
    """The way back to pages, cells and messages survives merging and renaming, and goes with its document."""
    pages = SourceMap((0, 4), ("page 1", "page \ud83d"), (None, 60))
    with SqliteStore(tmp_path / "store.db") as store:
        store.add([Entry(Document("a.txt", "tea pot"), source_map=pages), entry("b.txt", "plain")])
        store.compact()
        assert store.rename("a.txt", "c.txt")
        with store.snapshot() as now:
            assert now.source_map(now.row("c.txt").number) == pages
            assert now.source_map(now.row("b.txt").number) is None
        store.remove(["c.txt"])
        assert store._connection.execute("SELECT count(*) FROM maps").fetchone() == (0,)
        assert verify(store.path) == []


def test_codes_are_read_by_the_blob(tmp_path):
    """Some units' codes are those of the whole column, over blobs of some hundred."""
    text = "".join(f"Line {number} speaks of tea, cups and number {number}.\n\n" for number in range(3 * BLOB_CODES))
    path = tmp_path / "store.db"
    with SqliteStore(path) as store:
        store.add([Entry(Document("tea.md", text))])
        with store.snapshot() as now:
            (segment,) = now.segments()
            whole = segment.codes
            assert len(whole) == len(segment.units) > 2 * BLOB_CODES
            some = np.array([0, 1, BLOB_CODES - 1, BLOB_CODES, 2 * BLOB_CODES + 7, len(whole) - 1])
            assert (segment.codes_of(some) == whole[some]).all()
