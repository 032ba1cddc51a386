"""Blobs of a server are fetched together and kept, up to a size."""

from itertools import count

import brimful
from brimful import Document
from brimful.store.caching import BlobCache, RemoteBlobs
from brimful.store.format import EXTENTS, UNITS, key_of

_numbers = count(1)
QUESTIONS = ("Which cup7 has tea?", "Where does pot3 stand?", "Who drinks caffee?", "nothing like this")


def test_kept_blobs_are_bounded():
    """The oldest are let go of; the two kinds that are written anew are never kept."""
    kept = BlobCache(100)
    for place in range(10):
        kept.keep(place, (bytes(30), b"seal"), size=30)
    assert [place for place in range(10) if kept.get(place)] == [7, 8, 9]
    blobs = RemoteBlobs(kept, lambda keys: dict.fromkeys(keys, (b"x", b"seal")))
    assert blobs.get(key_of(1, EXTENTS)) == (b"x", b"seal")
    assert kept.get(key_of(1, EXTENTS)) is None
    assert kept.get(key_of(1, UNITS)) == (b"x", b"seal")  # it came along


def test_the_bytes_are_the_same_however_much_is_kept(postgres_server, tmp_path, monkeypatch):
    """With nothing kept, a server's contexts and receipts are still those of a file."""
    address = postgres_server.address(f"far-{next(_numbers)}")
    monkeypatch.setattr("brimful.store.postgres.store.KEPT_BYTES", 0)
    with brimful.open(tmp_path / "one.db") as file, brimful.open(address) as server:
        for engine in (file, server):
            engine.add_documents(_documents())
        assert len(server._store.kept) == 0
        for question in QUESTIONS:
            mine, theirs = (engine.context(question, budget=400) for engine in (file, server))
            assert (mine.text, mine.receipt.id) == (theirs.text, theirs.receipt.id)
        assert len(server._store.kept) == 0


def test_segments_add_no_round_trips(postgres_server):
    """What several segments have of a question comes together: seven cost what one does."""
    trips = []
    for commits in (1, 7):
        address = postgres_server.address(f"far-{next(_numbers)}")
        with brimful.open(address) as engine:
            for number in range(commits):
                engine.add_documents(_documents()[number::commits])
        with brimful.open(address) as engine, engine.corpus() as corpus:
            assert len(corpus.snapshot.segments()) == commits
            before = corpus.snapshot.cursor.trips
            for question in QUESTIONS:
                engine.context(question, budget=400)
            trips.append(corpus.snapshot.cursor.trips - before)
    one, seven = trips
    assert seven <= one + 8  # words of each segment are read by themselves


def _documents():
    return [Document(f"d{n}.md", f"Tea {n} has words like cup{n} and pot{n}. Coffee stands beside.") for n in range(70)]
