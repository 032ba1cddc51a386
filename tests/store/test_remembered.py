"""Vectors by content: remembered across processes, sealed, and in nobody's way."""

import subprocess
import sys
import threading

import apsw
import numpy as np
import pytest

from brimful.errors import CorruptError, InputError, StoreError
from brimful.index.vectors import text_key
from brimful.store import sqlite
from brimful.store.sqlite import SqliteStore, checksums
from brimful.store.upkeep import glance, verify

from .test_sqlite import dump, entry

KEYS = [text_key(text) for text in ("tea", "pot", "cup")]
ROWS = np.arange(-6, 6, dtype=np.int8).reshape(3, 4)


@pytest.fixture
def path(tmp_path):
    """A store with one document, closed."""
    with SqliteStore(tmp_path / "store.db") as store:
        store.add([entry("a.md", "tea pot")])
    return tmp_path / "store.db"


def test_what_was_remembered_is_known(path):
    """Rows come back in the order of the keys, as often as asked, and the places of the others are named."""
    with SqliteStore(path) as store:
        nothing = store.vectors_known("m", KEYS, width=4)
        assert (nothing.missing.tolist(), nothing.rows.any()) == ([0, 1, 2], False)
        assert store.remember_vectors("m", KEYS[:2], ROWS[:2]) is None
        found = store.vectors_known("m", [KEYS[2], KEYS[1], KEYS[0], KEYS[1]], width=4)
        assert found.missing.tolist() == [0]
        assert found.rows.tolist() == [[0] * 4, *ROWS[[1, 0, 1]].tolist()]
        assert store.vectors_known("other", KEYS, width=9).missing.tolist() == [0, 1, 2]
        assert store.vectors_known("m", [], width=4).rows.shape == (0, 4)
    assert verify(path) == []


def test_thousands_are_read_at_once(path):
    """More keys than one statement takes come back whole."""
    keys = [text_key(str(number)) for number in range(1_700)]
    rows = np.random.default_rng(1).integers(-127, 128, (1_700, 8)).astype(np.int8)
    with SqliteStore(path) as store:
        store.remember_vectors("m", keys, rows)
        found = store.vectors_known("m", keys[::-1], width=8)
        assert (found.rows == rows[::-1]).all()
        assert len(found.missing) == 0


def test_another_process_knows_them(path):
    """What one process remembered, the next and one that was open all along read alike."""
    script = """
import sys
from pathlib import Path
import numpy as np
from brimful.index.vectors import text_key
from brimful.store.sqlite import SqliteStore, checksums
with SqliteStore(Path(sys.argv[1])) as store:
    keys = [text_key(text) for text in ("tea", "pot", "cup")]
    assert store.remember_vectors("m", keys, np.arange(-6, 6, dtype=np.int8).reshape(3, 4)) is None
"""
    with SqliteStore(path) as store:
        assert len(store.vectors_known("m", KEYS, width=4).missing) == 3
        subprocess.run([sys.executable, "-c", script, str(path)], check=True)
        assert store.vectors_known("m", KEYS, width=4).rows.tolist() == ROWS.tolist()
    with SqliteStore(path) as store:
        assert store.vectors_known("m", KEYS, width=4).rows.tolist() == ROWS.tolist()


def test_remembering_changes_no_state(path):
    """Generation, state root, an open snapshot and everything that is stored of documents stay as they were."""
    with SqliteStore(path) as store, store.snapshot() as before:
        held = dump(store)
        assert store.remember_vectors("m", KEYS, ROWS) is None
        with store.snapshot() as after:
            assert (after.generation, after.root) == (before.generation, before.root)
        assert before.census(b"tea") == 1
        assert dump(store) == held


def test_the_first_vector_stays(path):
    """Whoever remembers a text first decides: asking again can't change what is ranked by."""
    with SqliteStore(path) as store:
        store.remember_vectors("m", KEYS, ROWS)
        assert store.remember_vectors("m", KEYS, -ROWS) is None
        assert store.vectors_known("m", KEYS, width=4).rows.tolist() == ROWS.tolist()


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE vectors SET numbers = zeroblob(4)",
        "UPDATE vectors SET numbers = zeroblob(3)",
        "UPDATE vectors SET key = randomblob(32) WHERE key = (SELECT max(key) FROM vectors)",
        "UPDATE vector_models SET seal = zeroblob(8)",
    ],
)
def test_damage_is_an_error(path, damage):
    """A vector or model that is not what was written is never ranked by; verify names it, and purge heals it."""
    with SqliteStore(path) as store:
        store.remember_vectors("m", KEYS, ROWS)
    connection = apsw.Connection(str(path), vfs=checksums())
    connection.execute(damage)
    moved = [key for (key,) in connection.execute("SELECT key FROM vectors")]
    connection.close()
    assert any("checksum" in problem for problem in verify(path))
    with SqliteStore(path) as store:
        with pytest.raises(CorruptError, match="remembered vector"):
            store.vectors_known("m", moved, width=4)
        store.purge()
        assert store.vectors_known("m", KEYS, width=4).missing.tolist() == [0, 1, 2]
        assert store.remember_vectors("m", KEYS, ROWS) is None
    assert verify(path) == []


def test_another_width_under_the_same_name_is_refused(path):
    """A model does not change its width; keys and rows belong together."""
    with SqliteStore(path) as store:
        store.remember_vectors("m", KEYS, ROWS)
        with pytest.raises(InputError, match="4 numbers, and these have 5"):
            store.vectors_known("m", KEYS, width=5)
        with pytest.raises(InputError, match="4 numbers, and these have 2"):
            store.remember_vectors("m", KEYS, ROWS[:, :2])
        for keys, rows in ((KEYS[:2], ROWS), ([b"short"] * 3, ROWS), (KEYS, ROWS[0])):
            with pytest.raises(InputError, match="can't go with"):
                store.remember_vectors("m", keys, rows)
        assert store.vectors_known("m", KEYS, width=4).rows.tolist() == ROWS.tolist()


def test_a_writer_is_not_waited_for_long(path, monkeypatch):
    """While another process writes, nothing is remembered and the reason is told; reading goes on; later it works."""
    monkeypatch.setattr(sqlite, "BESIDE_MILLISECONDS", 10)
    writer = apsw.Connection(str(path), vfs=checksums())
    with SqliteStore(path) as store:
        store.remember_vectors("m", KEYS[:1], ROWS[:1])
        writer.execute("BEGIN IMMEDIATE")
        assert "another process" in store.remember_vectors("m", KEYS, ROWS)
        assert store.vectors_known("m", KEYS, width=4).missing.tolist() == [1, 2]
        writer.execute("ROLLBACK")
        writer.close()
        assert store.remember_vectors("m", KEYS, ROWS) is None


def test_a_store_that_may_not_be_written_is_still_asked(path):
    """Where the file may not be written, vectors are not remembered, and that is said, not raised."""
    with SqliteStore(path) as store:
        store.remember_vectors("m", KEYS[:1], ROWS[:1])
        with store._remembering(write=False) as cursor:
            cursor.execute("PRAGMA query_only = on")
        assert store.remember_vectors("m", KEYS, ROWS) == "the store may not be written"
        assert store.vectors_known("m", KEYS, width=4).missing.tolist() == [1, 2]


def test_a_store_on_a_read_only_file_system_is_still_asked(path, monkeypatch):
    """There the file is read as it lies: nothing is made beside it, vectors are known, and none are remembered."""
    with SqliteStore(path) as store:
        store.remember_vectors("m", KEYS[:1], ROWS[:1])
    before = sorted(each.name for each in path.parent.iterdir())
    monkeypatch.setattr(sqlite, "_opened", lambda place: (sqlite._opened_fixed(place), True))
    monkeypatch.setattr(sqlite, "opened_to_read", sqlite._opened_fixed)
    with SqliteStore(path) as store:
        with store.snapshot() as now:
            assert now.census(b"tea") == 1
        assert store.vectors_known("m", KEYS, width=4).missing.tolist() == [1, 2]
        assert store.remember_vectors("m", KEYS, ROWS) == "the store may not be written"
        assert sorted(each.name for each in path.parent.iterdir()) == before
        with pytest.raises(StoreError, match="can't be written"):
            store.add([entry("b.md", "pot")])
    assert verify(path) == []


def test_documents_and_vectors_are_written_side_by_side(path):
    """One thread adds while others remember: everything arrives, and the file is sound."""
    with SqliteStore(path) as store:
        failed = []

        def remember(first):
            for number in range(first, first + 40):
                while (why := store.remember_vectors("m", [text_key(str(number))], ROWS[:1])) is not None:
                    if "another process" not in why:
                        failed.append(why)
                        return

        threads = [threading.Thread(target=remember, args=(start,)) for start in (0, 100)]
        for thread in threads:
            thread.start()
        for number in range(20):
            store.add([entry(f"{number}.md", f"word{number} tea")])
        for thread in threads:
            thread.join()
        keys = [text_key(str(number)) for number in (*range(40), *range(100, 140))]
        assert failed == []
        assert len(store.vectors_known("m", keys, width=4).missing) == 0
    assert verify(path) == glance(path) == []


def test_the_log_does_not_grow_without_end(path, monkeypatch):
    """Remembering alone moves the log into the file."""
    monkeypatch.setattr(sqlite, "LOG_PAGES", 5)
    log = path.with_name("store.db-wal")
    with SqliteStore(path) as store:
        sizes = []
        for number in range(60):
            store.remember_vectors("m", [text_key(f"{number}.{at}") for at in range(40)], np.tile(ROWS[:1], (40, 1)))
            sizes.append(log.stat().st_size)
        assert sizes[-1] < 60 * 8_192
    assert verify(path) == []


def test_texts_that_are_gone_can_be_forgotten(path):
    """`retain_vectors` keeps those of some texts, of one model; `purge` keeps none, and none of their bytes."""
    marked = np.frombuffer(b"QzXwVuTsRqPoNmLk", np.int8)[None, :]
    with SqliteStore(path) as store:
        assert store.retain_vectors("m", []) == 0
        store.remember_vectors("m", KEYS, ROWS)
        store.remember_vectors("marked", KEYS[:1], marked)
        assert store.retain_vectors("m", [KEYS[1]]) == 2
        assert store.vectors_known("m", KEYS, width=4).missing.tolist() == [0, 2]
        assert len(store.vectors_known("marked", KEYS[:1], width=16).missing) == 0
        store.purge()
        assert len(store.vectors_known("m", KEYS, width=4).missing) == 3
    assert not [each for each in path.parent.iterdir() if marked.tobytes() in each.read_bytes()]
    assert verify(path) == []
