"""Is every page of the file what was last written there? No history makes a good store look damaged."""

import os
import random
import shutil
import tempfile
from pathlib import Path

import apsw
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from brimful.store import pages, sqlite
from brimful.store.pages import damaged_pages, next_version, version_of
from brimful.store.sqlite import SqliteStore
from brimful.store.upkeep import verify

from .test_sqlite import entry


def text_of(seed):
    """Some kilobytes that do not compress to nothing."""
    return " ".join(random.Random(seed).choices([f"word{n}" for n in range(3_000)], k=1_500))


def known(path):
    """What is said of the pages, with the file holding still."""
    connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    with connection:
        connection.execute("SELECT * FROM meta").fetchall()
        return damaged_pages(path)


class Wear(RuleBasedStateMachine):
    """Two writers, held snapshots, crashes, foreign tools and lost notes, in any order."""

    @initialize()
    def start(self):
        """One store, opened twice, with a log that is moved often and notes that are folded often."""
        self.before = sqlite.LOG_PAGES, pages._SPARE_BYTES
        sqlite.LOG_PAGES, pages._SPARE_BYTES = 12, 1_000
        self.folder = tempfile.TemporaryDirectory()
        self.path = Path(self.folder.name, "store.db")
        self.stores = [SqliteStore(self.path), SqliteStore(self.path)]
        self.held, self.number = [], 0

    @rule(which=st.integers(0, 1), path=st.sampled_from("abcd"), seed=st.integers(0, 5), count=st.integers(1, 3))
    def write(self, which, path, seed, count):
        """Add or change documents."""
        self.stores[which].add([entry(f"{path}{n}", text_of(seed + n)) for n in range(count)])

    @rule(which=st.integers(0, 1), path=st.sampled_from(["a0", "b1", "c0"]))
    def remove(self, which, path):
        """Forget one."""
        self.stores[which].remove([path])

    @rule(which=st.integers(0, 1))
    def purge(self, which):
        """Everything is written anew."""
        for snapshot in self.held:
            snapshot.close()
        self.held = []
        self.stores[which].purge()

    @rule(which=st.integers(0, 1))
    def remember(self, which):
        """A transaction that is no generation."""
        self.number += 1
        self.stores[which].remember_root(f"/notes{self.number}//", "notes")

    @rule()
    def hold(self):
        """A reader stays, so that the log can't be moved beyond it."""
        self.held.append(self.stores[0].snapshot())

    @precondition(lambda self: self.held)
    @rule()
    def release(self):
        """A reader goes."""
        self.held.pop().close()

    @rule(which=st.integers(0, 1))
    def reopen(self, which):
        """Close and open again."""
        self.stores[which].close()
        self.stores[which] = SqliteStore(self.path)

    @rule(keep_notes=st.booleans())
    def crash(self, keep_notes):
        """Go on with the files as they are at this moment, the notes perhaps torn."""
        copy = tempfile.TemporaryDirectory()
        for file in self.path.parent.iterdir():
            if not file.name.endswith("-shm"):
                shutil.copy(file, copy.name)
        notes = Path(copy.name, "store.db-pages")
        if not keep_notes and notes.exists():
            notes.write_bytes(notes.read_bytes()[: notes.stat().st_size // 2])
        self.close_all()
        self.folder.cleanup()
        self.folder, self.path = copy, Path(copy.name, "store.db")
        self.stores = [SqliteStore(self.path), SqliteStore(self.path)]

    @rule(statement=st.sampled_from(["VACUUM", "PRAGMA wal_checkpoint(PASSIVE)", "PRAGMA incremental_vacuum"]))
    def foreign_tool(self, statement):
        """Somebody opens the file with another program."""
        if not self.held:
            connection = apsw.Connection(str(self.path))
            connection.execute(statement)
            connection.close()

    @invariant()
    def is_good(self):
        """Nothing is ever called damaged."""
        if hasattr(self, "path"):
            assert verify(self.path) == []

    def close_all(self):
        """Let go of everything."""
        for each in (*self.held, *self.stores):
            each.close()
        self.held = []

    def teardown(self):
        """At rest the file is one that is known, unless a foreign tool touched it last; a flip in any page is seen."""
        if not hasattr(self, "path"):
            return
        self.stores[0].add([entry("last", text_of(9))])
        self.close_all()
        sqlite.LOG_PAGES, pages._SPARE_BYTES = self.before
        assert known(self.path) == []
        whole = self.path.read_bytes()
        moment = random.Random(len(whole))
        for _ in range(4):
            at = moment.randrange(100, len(whole))
            self.path.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
            assert verify(self.path) != []
        self.folder.cleanup()


TestWear = Wear.TestCase
TestWear.settings = settings(
    max_examples=int(os.environ.get("BRIMFUL_WEAR", "25")), stateful_step_count=12, deadline=None
)


@pytest.fixture
def path(tmp_path):
    """A store at rest."""
    with SqliteStore(tmp_path / "store.db") as store:
        store.add([entry(f"{n}.md", text_of(n)) for n in range(20)])
        store.remove([f"{n}.md" for n in range(0, 20, 3)])
    return tmp_path / "store.db"


def test_a_flip_names_its_page(path):
    """Wherever the bit is, in rows or in free space, the page is named; with the bit back, all is well."""
    whole = path.read_bytes()
    for at in range(4_000, len(whole), 8_192):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 128]) + whole[at + 1 :])
        assert f"page {at // 8_192 + 1} of the file" in verify(path)[0]
    path.write_bytes(whole)
    assert verify(path) == []


def test_without_notes_nothing_is_said_of_pages(path):
    """Lost, torn or foreign notes mean that nothing is known; the next commit brings them back."""
    notes = path.with_name("store.db-pages")
    assert known(path) == []
    for raw in (None, b"", notes.read_bytes()[:-1], b"x" * 1_000):
        notes.unlink(missing_ok=True)
        if raw is not None:
            notes.write_bytes(raw)
        assert known(path) is None
        assert verify(path) == []
    with SqliteStore(path) as store:
        store.add([entry("new.md", "new")])
    assert known(path) == []


def test_an_older_copy_of_the_file_is_good(path):
    """A restored backup beside newer notes is not called damaged, before and after it is written to."""
    backup = path.read_bytes()
    with SqliteStore(path) as store:
        store.add([entry(f"{n}.md", text_of(n + 50)) for n in range(5)])
    path.write_bytes(backup)
    assert verify(path) == []
    with SqliteStore(path) as store:
        store.add([entry("other.md", text_of(99))])
    assert known(path) == []
    assert verify(path) == []


def test_a_page_that_was_never_written_is_not_expected(tmp_path):
    """A page that a transaction takes and gives back lies in the file unwritten, with and without earlier notes."""
    path = tmp_path / "store.db"
    for lose in (False, True, False, True):
        with SqliteStore(path) as store:
            with store._writing() as cursor:
                cursor.execute("CREATE TABLE gone (data)")
                cursor.execute("INSERT INTO gone VALUES (randomblob(400000))")
                cursor.execute("DROP TABLE gone")
            if lose:
                path.with_name("store.db-pages").unlink(missing_ok=True)
        assert known(path) == []
        with SqliteStore(path) as store:
            store.add([entry("a.md", text_of(lose))])
            store.purge()
        assert known(path) == []


def test_two_histories_from_one_backup_are_both_good(path):
    """Restored twice and written to in two ways, each file is good beside the same notes, and stays so."""
    backup, ways = path.read_bytes(), []
    for text in ("tea at one", "tea at two", "tea at six"):
        path.write_bytes(backup)
        with SqliteStore(path) as store:
            store.add([entry("other.md", text)])
        ways.append(path.read_bytes())
    assert len({pages._stamp(way) for way in ways}) == 1, "the stamp alone does not tell them apart"
    for way in ways:
        path.write_bytes(way)
        assert known(path) == []
        with SqliteStore(path) as store:
            store.add([entry("more.md", "more")])
        assert known(path) == []


def test_a_held_reader_does_not_make_the_notes_grow(tmp_path, monkeypatch):
    """While the log can't be moved, trying again notes nothing new."""
    with SqliteStore(tmp_path / "store.db") as store:
        store.add([entry("a.md", "tea")])
        with store.snapshot():
            store.add([entry("b.md", text_of(1))])
            sizes = set()
            for _ in range(4):
                pages.checkpoint(store._connection, store.path)
                sizes.add((tmp_path / "store.db-pages").stat().st_size)
            assert len(sizes) == 1
            assert verify(store.path) == []


def test_the_version_is_kept_beside_the_count():
    """Counting transactions never touches the schema version, and never leaves 31 bits."""
    version = 7
    for _ in range(1_000):
        version = next_version(version)
        assert version_of(version) == 7
    assert version_of(next_version((1 << 31) - 1)) == 255
    assert 0 <= next_version((1 << 31) - 1) < 1 << 31


def test_reading_the_file_keeps_its_locks(path):
    """Verifying inside a process that writes does not let another process in."""
    import subprocess
    import sys

    program = (
        "import apsw, sys; c = apsw.Connection(sys.argv[1]); c.set_busy_timeout(0)\n"
        "try: c.pragma('locking_mode', 'exclusive'); c.execute('BEGIN EXCLUSIVE'); print('in')\n"
        "except apsw.BusyError: print('busy')"
    )
    with SqliteStore(path) as store, store._writing():
        assert verify(path) == []
        ran = subprocess.run([sys.executable, "-c", program, path], capture_output=True, text=True, check=True)
        assert ran.stdout == "busy\n"
