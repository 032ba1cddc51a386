"""The way back to a document's original, as a store keeps it."""

from brimful.documents.documents import Document
from brimful.documents.loaders.loaded import SourceMap
from brimful.store.sqlite import SqliteStore
from brimful.store.upkeep import verify
from brimful.store.writing import NewDocument

from .test_sqlite import entry


def test_source_maps_are_kept(tmp_path):
    """The way back to pages, cells and messages survives merging, and goes with its document."""
    pages = SourceMap((0, 4), ("page 1", "page \ud83d"), (None, 60))
    with SqliteStore(tmp_path / "store.db") as store:
        store.add([NewDocument(Document("a.txt", "tea pot"), source_map=pages), entry("b.txt", "plain")])
        store.compact()
        with store.snapshot() as now:
            assert now.source_map(now.row("a.txt").number) == pages
            assert now.source_map(now.row("b.txt").number) is None
        store.remove(["a.txt"])
        assert store._connection.execute("SELECT count(*) FROM maps").fetchone() == (0,)
        assert verify(store.path) == []
