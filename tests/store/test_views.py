"""What search reads: segments and documents in columns, the same after any history."""

import numpy as np
import pytest

from brimful.errors import DocumentError
from brimful.store.rows import NO_TIME
from brimful.store.sqlite import SqliteStore
from brimful.text.terms import terms_of
from tests.store.places import places_of

from .test_sqlite import TEXTS, entry


@pytest.fixture
def store(tmp_path):
    """Several segments, with a document deleted and one replaced."""
    with SqliteStore(tmp_path / "store.db") as made:
        made.add([entry(f"{n}.md", f"# Head {n}\n\nword{n:05} tea tea. Another sentence.\n", n) for n in range(3_000)])
        made.add([entry(f"{n}.txt", text) for n, text in enumerate(TEXTS)])
        made.add([entry("7.md", "replaced tea")])
        made.remove(["8.md"])
        yield made


def test_positions_are_live_places(store):
    """Positions on the axes, taken back through the extents, are the places of the term."""
    with store.snapshot() as now:
        for term in (b"tea", b"word00007", b"word00008", b"word00009", "茶".encode(), b"absent"):
            for number, start in places_of(now, term):
                assert now.read(number, start, start + len(term)).lower() == term
            assert len(places_of(now, term)) == now.census(term)
        assert now.census(b"word00007") == now.census(b"word00008") == 0
        assert now.census(b"tea") == 2 * 2_998 + 1 + sum(terms_of(text.encode()).names.count(b"tea") for text in TEXTS)


def test_extents_lie_in_order_and_apart(store):
    """Extents of a segment ascend and never overlap, and hold each byte of every live document once."""
    with store.snapshot() as now:
        held = dict.fromkeys(now.documents().numbers.tolist(), 0)
        for segment in now.segments():
            bases, ends, documents, _ = segment.extents
            assert (bases[1:] > ends[:-1]).all()
            assert not len(ends) or ends[-1] <= segment.length
            for number, size in zip(documents.tolist(), (ends - bases).tolist(), strict=True):
                held[number] += size
        assert held == {row.number: row.length for row in now.rows()}


def test_every_extent_begins_a_unit_and_a_section(store):
    """So a unit or section never reaches over two documents."""
    with store.snapshot() as now:
        for segment in now.segments():
            filled = segment.extents.bases[segment.extents.ends > segment.extents.bases]
            for cuts in (segment.unit_starts, segment.section_starts):
                assert np.isin(filled, cuts).all()
                assert (np.diff(cuts) > 0).all()


@pytest.mark.parametrize("prefix", [b"", b"w", b"word0", b"word00", b"word0299", b"word02999", b"tea", b"zz", b"\xff"])
def test_names_begin_as_asked(store, prefix):
    """All terms of a segment with that beginning, on whichever pages they stand."""
    with store.snapshot() as now:
        for segment in now.segments():
            every = segment.live_names(b"")
            assert every == sorted(set(every))
            assert segment.live_names(prefix) == [name for name in every if name.startswith(prefix)]
        names = {name for segment in now.segments() for name in segment.live_names(b"")}
        assert set(now.terms()) <= names


def test_documents_are_columns_by_path(store):
    """One row for each live document, found by its number; the order knows nothing of history."""
    with store.snapshot() as now:
        found = now.documents()
        rows = list(now.rows())
        assert found is now.documents()
        assert list(found.paths) == [row.path for row in rows] == sorted(found.paths)
        assert found.lengths.tolist() == [row.length for row in rows]
        assert found.times.tolist() == [NO_TIME if row.time is None else row.time for row in rows]
        assert list(found.kinds) == [row.kind for row in rows]
        assert list(found.languages) == [row.language for row in rows]
        assert list(found.titles) == [row.title for row in rows]
        assert found.rows_of(found.numbers).tolist() == list(range(len(found)))
        assert found.paths[found.rows_of(np.array([now.row("7.md").number]))[0]] == "7.md"
        with pytest.raises(DocumentError, match="ask the same snapshot"):
            found.rows_of(np.array([10**9]))


def test_an_empty_store_has_no_columns(tmp_path):
    """Nothing is stored, so nothing is there; asking for a number is an error."""
    with SqliteStore(tmp_path / "empty.db") as made, made.snapshot() as now:
        assert list(now.segments()) == []
        assert len(now.documents()) == 0
        with pytest.raises(DocumentError):
            now.documents().rows_of(np.array([1]))
