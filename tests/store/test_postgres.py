"""A corpus on PostgreSQL is the corpus of a file, and nobody loses anything when the server goes."""

import random
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from itertools import count

import numpy as np
import psycopg
import pytest
from psycopg.types.string import TextBinaryLoader

import brimful
from brimful import Document
from brimful.errors import (
    BrimfulError,
    DocumentError,
    InputError,
    MissingPartError,
    StoreAccessError,
    StoreBusyError,
    StoreFullError,
    StoreUnreachableError,
    StoreVersionError,
)
from brimful.store.address import Address
from brimful.store.format import ChangedError
from brimful.store.postgres import PostgresStore, layout
from brimful.store.postgres import session as cursors
from brimful.store.postgres import store as postgres_store
from brimful.store.sqlite import SqliteStore
from brimful.store.upkeep import verify
from brimful.store.writing import NewDocument
from brimful.testing import FakeModel
from tests.postgres import PASSWORD

from .test_sqlite import dump

_numbers = count(1)


def entry(path, text, **more):
    """A document to store."""
    return NewDocument(Document(path, text), **more)


@pytest.fixture
def address(postgres_server):
    """A corpus that no other test has."""
    return Address.of(postgres_server.address(f"store-{next(_numbers)}"))


@pytest.fixture
def store(address):
    """It, open."""
    with PostgresStore(address) as store:
        yield store


@pytest.fixture
def file(tmp_path):
    """The same in a file."""
    with SqliteStore(tmp_path / "store.db") as store:
        yield store


def both(store, file, change):
    """Change both, and see that they hold the same."""
    assert change(store) == change(file)
    assert dump(store) == dump(file)


def test_any_history_gives_what_a_file_holds(store, file):
    """Documents, places, cuts and roots are those of SQLite after adding, replacing, removing, compacting."""
    texts = [entry(f"d{n}.md", f"# Part {n}\n\nTea number {n} is served at {n}. " * (n + 1)) for n in range(12)]
    both(store, file, lambda each: each.add(texts))
    both(store, file, lambda each: each.add([entry("d3.md", "Coffee."), entry("x.py", "def tea():\n    return 4\n")]))
    both(store, file, lambda each: each.remove(["d4.md", "nowhere.md", "d5.md"]))
    both(store, file, lambda each: each.add([entry("d4.md", "Tea again.")]))
    both(store, file, lambda each: each.compact())
    both(store, file, lambda each: each.rebuild())
    both(store, file, lambda each: each.remember_root("/tea//", "tea"))
    assert store.roots() == file.roots()
    with store.snapshot() as now, file.snapshot() as then:
        assert now.root == then.root
        assert now.prove("d4.md") == then.prove("d4.md")
    assert verify(store.path) == []


def test_any_text_can_be_a_path(store, file):
    """NUL, controls, signs of SQL and every script stay as they are and in their order."""
    names = ["a\0b", "a\1b", "a\1\1", "a\1\2", "a\0\1c", "a\2", "%s ? \\ ' \"", "茶/😀", "a", "a ", "Ä", "ß"]
    both(store, file, lambda each: each.add([entry(f"{name}.md", "tea", title=name) for name in names]))
    with store.snapshot() as now, file.snapshot() as then:
        assert list(now.rows()) == list(then.rows())
        assert now.root == then.root
        for name in names:
            assert now.prove(f"{name}.md") == then.prove(f"{name}.md")


def test_a_path_that_the_index_can_not_hold_is_refused(store):
    """The message says how long a path may be, and nothing is stored."""
    with pytest.raises(DocumentError, match="2000 at most"):
        store.add([entry("long/" * 500, "tea")])
    with store.snapshot() as now:
        assert list(now.rows()) == []


def test_no_fetch_brings_more_than_a_piece(store, monkeypatch):
    """A blob longer than a piece is put together from several, and is what was written."""
    monkeypatch.setattr(cursors, "PIECE_BYTES", 1_000)
    noise = np.random.default_rng(5).integers(97, 123, 40_000, dtype=np.uint8).tobytes().decode()
    store.add([entry("noise.txt", noise)])
    lengths = []

    class Seen(TextBinaryLoader):
        def load(self, data):
            lengths.append(len(data))
            return bytes(data)

    with store.snapshot() as now:
        now._cursor.connection.adapters.register_loader("bytea", Seen)
        row = now.row("noise.txt")
        assert now.read(row.number, 0, row.length) == noise.encode()
    assert len(lengths) > 20
    assert max(lengths) <= 1_000


def test_a_snapshot_is_one_moment(store):
    """What is added, removed and merged later changes nothing that an earlier snapshot reads."""
    store.add([entry("a.md", "tea " * 500), entry("b.md", "pot")])
    with store.snapshot() as before:
        store.remove(["a.md"])
        store.add([entry("c.md", "tea cup")])
        store.compact()
        assert [row.path for row in before.rows()] == ["a.md", "b.md"]
        assert before.census(b"tea") == 500
        row = before.row("a.md")
        assert before.read(row.number, 0, row.length) == b"tea " * 500
    with store.snapshot() as now:
        assert [row.path for row in now.rows()] == ["b.md", "c.md"]
        assert now.census(b"tea") == 1


def test_a_commit_is_seen_by_the_next_question(address):
    """An engine that is open sees what another one committed, at the price of two round trips a question."""
    with brimful.open(address) as one, brimful.open(address) as two:
        assert one.documents() == one.documents() == ()
        two.add_text("tea.md", "Tea at four.")
        assert [shown.path for shown in one.documents()] == ["tea.md"]
        two.remove("tea.md")
        assert one.documents() == ()


def test_what_was_read_of_a_segment_is_not_fetched_again(address):
    """A second engine's first question costs round trips, the same after a small commit only those of what is new."""
    with brimful.open(address) as engine:
        engine.add_documents([Document(f"d{n}.md", f"Tea {n} has words like cup{n} and pot{n}.") for n in range(50)])
    with brimful.open(address) as engine:
        engine.context("Which cup7 has tea?", budget=300)
        with engine.corpus() as corpus:
            first = corpus.snapshot._cursor.trips
        engine.add_text("new.md", "Sugar.")
        engine.context("Which cup7 has tea?", budget=300)
        with engine.corpus() as corpus:
            assert corpus.snapshot._cursor.trips < first + 12
        assert len(engine._store.kept) > 5


def test_a_question_costs_few_round_trips(address):
    """The rows and proofs of all documents that are cited come together, not one by one."""
    with brimful.open(address) as engine:
        engine.add_documents([Document(f"d{n}.md", f"Tea number {n} is served at four. " * 3) for n in range(60)])
        engine.context("What warms the caches?", budget=400)
        with engine.corpus() as corpus:
            before = corpus.snapshot.cursor.trips
            made = engine.context("Which tea is served?", budget=2_000)
            trips = corpus.snapshot.cursor.trips - before
        cited = {window.path for window in made.windows}
        assert len(cited) > 15
        assert trips < 12
        assert list(engine.verify(made.receipt)) == []


WRITER = """
import sys
import brimful
address, folder = sys.argv[1:]
with brimful.open(address) as engine:
    print(engine.add(folder).added)
"""


def test_processes_add_at_once(postgres_server, address, tmp_path):
    """Four processes add four folders, and one of them twice: nothing is lost, doubled or half there."""
    for folder in range(4):
        (tmp_path / f"f{folder}").mkdir()
        for number in range(30):
            text = f"Tea {folder} {number}. " * 40
            (tmp_path / f"f{folder}" / f"d{folder}-{number}.md").write_text(text)
    text = postgres_server.address(address.corpus)
    started = [
        subprocess.Popen([sys.executable, "-c", WRITER, text, str(tmp_path / f"f{folder}")], stdout=subprocess.PIPE)
        for folder in (0, 1, 2, 3, 3)
    ]
    added = [int(each.communicate(timeout=120)[0]) for each in started]
    assert added[:3] == [30, 30, 30]
    assert sorted(added[3:]) == [0, 30]
    with brimful.open(address) as engine, brimful.open(tmp_path / "alone.db") as alone:
        for folder in range(4):
            alone.add(tmp_path / f"f{folder}")
        assert engine.root == alone.root
        assert len(engine.documents()) == 120
    assert verify(address) == []


def test_writers_and_mergers_do_not_disturb_each_other(address, tmp_path):
    """Four writers add, replace and remove in small commits, and merge meanwhile: one corpus at the end."""
    failed = []

    def work(number):
        try:
            with PostgresStore(address) as own:
                for turn in range(12):
                    own.add([entry(f"{number}-{turn}.md", f"Tea {number} {turn}. " * 20)])
                    own.add([entry(f"{number}-{turn}.md", f"Cup {number} {turn}. " * 20)])
                    if turn % 3 == 2:
                        own.remove([f"{number}-{turn}.md"])
        except BaseException as error:
            failed.append(error)
            raise

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    assert verify(address) == []
    with SqliteStore(tmp_path / "alone.db") as alone, PostgresStore(address) as store:
        for number in range(4):
            for turn in range(12):
                if turn % 3 != 2:
                    alone.add([entry(f"{number}-{turn}.md", f"Cup {number} {turn}. " * 20)])
        store.tidy()
        assert dump(store) == dump(alone)
        with store.snapshot() as now:
            assert len(now.segments()) < 8


@pytest.mark.parametrize("change", ["remove", "merge"])
def test_a_merge_that_others_overtook_is_dropped(address, change):
    """What it read is not what is there any more, so nothing of it stays; others did not wait for it."""
    with PostgresStore(address) as store, PostgresStore(address) as other:
        for number in range(3):
            store.add([entry(f"{number}.md", f"Tea {number}.")])
        merging = store._merging()
        cursor, views = merging.__enter__()
        if change == "remove":
            other.remove(["1.md"])
        else:
            other.compact()
        with pytest.raises(ChangedError) as overtaken:
            store._merge(cursor, views)
        assert not merging.__exit__(ChangedError, overtaken.value, None)
        with store.snapshot() as now:
            assert len(list(now.rows())) == (2 if change == "remove" else 3)
    assert verify(address) == []


def test_one_process_at_a_time_merges(address):
    """A second one leaves it to the first, and adds meanwhile."""
    with PostgresStore(address) as store, PostgresStore(address) as other:
        for number in range(7):
            store.add([entry(f"{number}.md", f"Tea {number}.")])
        with store._merging():
            other.add([entry("8.md", "Tea 8.")])
            other.tidy()
            with other.snapshot() as now:
                assert len(now.segments()) == 8
        other.tidy()
        with other.snapshot() as now:
            assert len(now.segments()) == 1


KILLED = """
import os, sys
import brimful
from brimful.store import state
address, at = sys.argv[1], int(sys.argv[2])
write, done = state._write_state, []
def dying(cursor, new):
    write(cursor, new)
    done.append(1)
    if len(done) == at + 1:  # the first is that of a corpus without documents
        cursor.flush()
        os.kill(os.getpid(), 9)
state._write_state = dying
with brimful.open(address) as engine:
    for number in range(5):
        engine.add_text(f"d{number}.md", f"Tea {number}.")
"""


@pytest.mark.parametrize("at", [1, 3, 5])
def test_a_writer_that_is_killed_leaves_whole_commits(postgres_server, address, at):
    """Kill -9 just before a commit: the documents before it are there, nothing of its own, and writing goes on."""
    text = postgres_server.address(address.corpus)
    done = subprocess.run([sys.executable, "-c", KILLED, text, str(at)], check=False, timeout=60)
    assert done.returncode == -9
    with brimful.open(address) as engine:
        assert [each.path for each in engine.documents()] == [f"d{number}.md" for number in range(at - 1)]
        engine.add_text("d9.md", "Tea 9.")
    assert verify(address) == []


SENT = """
import os, random, sys
import brimful
from brimful.store.postgres.session import PostgresCursor
def dying(self, expected=()):
    self.flush()
    print(self.fetch("SELECT count(*) FROM blobs")[0][0], flush=True)
    os.kill(os.getpid(), 9)
with brimful.open(sys.argv[1]) as engine:
    PostgresCursor.take_turn = dying
    engine.add_text("gone.md", random.Random(7).randbytes(600_000).hex())
"""


def test_segments_of_a_writer_that_died_before_it_published_are_gone(postgres_server, address):
    """Kill -9 between sending segments and publishing them: no blob without a segment stays, and the room they took
    is free for others after a vacuum.
    """
    with brimful.open(address) as engine:
        engine.add_text("tea.md", "Tea at four.")
    command = [sys.executable, "-c", SENT, postgres_server.address(address.corpus)]
    done = subprocess.run(command, capture_output=True, check=False, timeout=60)
    assert done.returncode == -9
    assert int(done.stdout) > _orphans(postgres_server, address)[1]  # they had been sent
    with brimful.open(address) as engine:
        assert [each.path for each in engine.documents()] == ["tea.md"]
    orphans, _ = _orphans(postgres_server, address)
    assert orphans == 0
    with postgres_server.connect() as owner:
        size = "SELECT pg_total_relation_size('brimful.all_blobs')"
        before = owner.execute(size).fetchone()[0]
        owner.execute("VACUUM brimful.all_blobs")
        with brimful.open(address) as engine:
            engine.add_text("again.md", random.Random(8).randbytes(600_000).hex())
        assert owner.execute(size).fetchone()[0] < before + 300_000  # and not by all that it holds
    assert verify(address) == []


def _orphans(postgres_server, address):
    """How many blobs belong to no segment, and how many there are."""
    with postgres_server.connect() as owner:
        return owner.execute(
            "SELECT count(*) FILTER (WHERE key >> 32 NOT IN (SELECT number FROM brimful.all_segments AS known "
            "WHERE known.corpus = each.corpus)), count(*) FROM brimful.all_blobs AS each "
            "WHERE corpus = (SELECT number FROM brimful.corpora WHERE name = %s)",
            (address.corpus,),
        ).fetchone()


def test_a_server_without_connections_left_is_named(postgres_server):
    """A role that has no connection left is busy, not refused, and the remedy is said."""
    with postgres_server.connect() as owner:
        owner.execute("CREATE ROLE one LOGIN PASSWORD 'x' CONNECTION LIMIT 1")
    text = postgres_server.address("narrow", user="one", password="x")
    with postgres_server.connect(user="one", password="x"):
        said = refusal(text, StoreBusyError, "raise max_connections")
    assert "too many connections" in said


def test_a_statement_that_took_too_long_is_named(store):
    """What the server ended after its time is busy, with the limit; the next one runs."""
    store.add([entry("tea.md", "Tea at four.")])
    expected = r"ended after 10 minutes.*statement timeout.*try again"
    with pytest.raises(StoreBusyError, match=expected), store._reading() as cursor:
        cursor.execute("SET LOCAL statement_timeout = '20ms'; SELECT pg_sleep(30)")
    with store.snapshot() as now:
        assert now.census(b"tea") == 1


OLDER = """
ALTER TABLE corpora ADD COLUMN channel text NOT NULL DEFAULT 'brimful_' || gen_random_uuid(), ADD COLUMN turn int;
GRANT SELECT ON corpora TO old_team;
GRANT UPDATE (turn) ON corpora TO old_team;
CREATE POLICY own ON corpora USING (pg_has_role(role, 'MEMBER'));
DROP FUNCTION own_corpora;
DROP FUNCTION chosen_corpus CASCADE;
DROP VIEW partials, places, limits, captures;
DROP TABLE all_partials, all_places, all_limits, all_captures;
DELETE FROM all_counters WHERE number > 0;
UPDATE versions SET version = 1;
"""


def test_older_tables_are_brought_up_to_date_by_their_owner(postgres_server, tmp_path):
    """Tables of the first version: a tenant is told whose turn it is, their owner's opening brings them to this one,
    and then the tenant has what is new, with all documents of before, and no right to the list of corpora.
    """
    documents = [Document(f"d{number}.md", f"Tea {number} is served.") for number in range(9)]
    with brimful.open(postgres_server.address("old", schema="older")):
        pass
    ada = postgres_server.address("old", user="old_ada", password="x", schema="older")
    with postgres_server.connect() as owner:
        owner.execute(layout.roles("older", "old", "old_team"))
        owner.execute("CREATE ROLE old_ada LOGIN PASSWORD 'x'; GRANT old_team TO old_ada")
        with brimful.open(ada) as engine:
            engine.add_documents(documents)
        owner.execute(f"SET search_path = older; {OLDER}")
        for name in layout.COLUMNS:
            if owner.execute("SELECT to_regclass(%s)", (f"all_{name}",)).fetchone() != (None,):
                owner.execute(
                    f"CREATE POLICY own ON all_{name} USING (corpus = (SELECT number FROM corpora WHERE number = "
                    "nullif(current_setting('brimful.corpus', true), '')::int))"
                )
                owner.execute(f"ALTER TABLE all_{name} ALTER corpus SET STATISTICS 100")
    refusal(ada, StoreAccessError, f"version 1, this program needs {layout.VERSION}; their owner brings")
    with brimful.open(postgres_server.address("old", schema="older")) as owner:
        assert len(owner.documents()) == 9
    with postgres_server.connect() as owner:
        assert owner.execute("SELECT version FROM older.versions").fetchall() == [(layout.VERSION,)]
        targets = owner.execute(
            "SELECT DISTINCT attstattarget FROM pg_attribute "
            "WHERE attrelid = 'older.all_documents'::regclass AND attnum > 0"
        ).fetchall()
        assert targets == [(0,)]
        rights = "SELECT has_any_column_privilege('old_team', 'older.corpora', 'SELECT, UPDATE')"
        assert owner.execute(rights).fetchone() == (False,)
    with brimful.open(ada) as engine, brimful.open(tmp_path / "one.db") as file:
        file.add_documents(documents)
        assert engine.context("Which tea is served?", budget=200).text == (
            file.context("Which tea is served?", budget=200).text
        )
        engine.add_text("more.md", "Sugar.")
        engine.capture("The kettle is descaled weekly. " * 20, name="talk", model=FakeModel())
        assert [each.name for each in engine.captures()] == ["talk"]
        with engine._store.turn("place//", wait_seconds=0), engine._store._merging():
            pass
    assert verify(Address.of(ada)) == []


def test_writers_wait_for_each_other_and_no_longer_than_asked(store, address, monkeypatch):
    """While one holds the corpus another one's commit is busy; a reader is not."""
    monkeypatch.setattr(postgres_store, "WAIT_SECONDS", 0.05)
    with PostgresStore(address) as second:
        with store._writing(), pytest.raises(StoreBusyError, match="try again"):
            second.add([entry("a.md", "tea")])
        with store._writing(), second.snapshot() as now:
            assert list(now.rows()) == []
        second.add([entry("a.md", "tea")])


def test_vectors_are_remembered_beside(store):
    """What a model made of texts is kept by content, without a new generation."""
    keys, rows = [bytes([n]) * 32 for n in range(3)], np.arange(12, dtype=np.int8).reshape(3, 4)
    before = store.generation()
    assert store.remember_vectors("m", keys[:2], rows[:2]) is None
    assert store.remember_vectors("m", keys, rows) is None
    known = store.vectors_known("m", keys, width=4)
    assert (known.rows == rows).all()
    assert store.generation() == before
    assert store.retain_vectors("m", keys[:1]) == 2
    with store._writing():
        assert store.remember_vectors("m", keys, rows) == "another process is writing to the store"
    assert verify(store.path) == []


def test_damage_is_noticed(store, postgres_server):
    """A byte that somebody changed in a table is an error, and verify names it."""
    store.add([entry("a.md", "tea " * 100)])
    with postgres_server.connect() as connection:
        connection.execute(
            "UPDATE brimful.all_blobs SET data = set_byte(data, 0, 255 - get_byte(data, 0)) WHERE corpus = %s",
            (store.corpus,),
        )
    assert any("checksum" in problem for problem in verify(store.path))


# ---- what can go wrong


def refusal(text, kind, match):
    """All that is said when an address can't be opened, causes included."""
    with pytest.raises(kind, match=match) as caught:
        brimful.open(text)
    shown, error = [], caught.value
    while error is not None:
        shown.append(f"{error!s} {error!r}")
        error = error.__cause__ or error.__context__
    return " ".join(shown)


def test_a_wrong_password_is_never_shown(postgres_server):
    """The error says what to look at, and neither it nor what caused it shows the password."""
    said = refusal(postgres_server.address(password="hunter2"), StoreAccessError, "refuses this role")
    assert "hunter2" not in said
    said = refusal(postgres_server.address(user="nobody", password="hunter2"), StoreAccessError, "pgpass")
    assert "hunter2" not in said


def test_a_database_that_is_not_there_is_named(postgres_server):
    """The remedy is to make it."""
    text = postgres_server.address().replace("@/postgres?", "@/elsewhere?")
    said = refusal(text, StoreAccessError, "no such database.*createdb")
    assert PASSWORD not in said


@pytest.fixture
def no_room(postgres_server):
    """Have the server refuse every blob of a corpus as a full disk does; until the test ends."""
    with postgres_server.connect() as owner:

        def full(corpus):
            owner.execute(
                "CREATE FUNCTION brimful.full() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
                "RAISE EXCEPTION 'could not extend file: No space left on device' USING ERRCODE = 'disk_full'; END $$"
            )
            owner.execute(
                "CREATE TRIGGER no_room BEFORE INSERT ON brimful.all_blobs FOR EACH ROW "
                f"WHEN (NEW.corpus = {corpus}) EXECUTE FUNCTION brimful.full()"
            )

        yield full, lambda: owner.execute("DROP FUNCTION IF EXISTS brimful.full CASCADE")
        owner.execute("DROP FUNCTION IF EXISTS brimful.full CASCADE")


def test_a_server_without_room_is_named(no_room, address):
    """Where it can't keep another byte the commit is refused, nothing of it is seen, and the next one is made."""
    full, make_room = no_room
    with brimful.open(address) as engine:
        engine.add_text("a.md", "Tea is served at four.")
        root = engine.root
        full(engine._store.corpus)
        for path in ("b.md", "a.md"):
            with pytest.raises(StoreFullError, match="free some disk space, the last commit stands"):
                engine.add_text(path, "Coffee.")
        assert engine.root == root
        assert "at four" in engine.context("When is tea?", budget=100).text
    make_room()
    with brimful.open(address) as engine:
        engine.add_text("b.md", "Coffee.")
        assert len(engine.documents()) == 2
    assert verify(address) == []


def test_a_server_that_is_not_there_is_named(tmp_path):
    """Whether by name, port or socket."""
    refusal("postgresql://ada:hunter2@127.0.0.1:9/team", StoreUnreachableError, "is the server running")
    refusal(f"postgresql:///team?host={tmp_path}", StoreUnreachableError, "can't be reached")


@pytest.mark.parametrize(
    "text",
    [
        "postgresql://ada:hunter2@db:port/team",
        "postgresql://ada:hunter2@db/team?corpus=",
        "postgresql://ada:hunter2@db/team?schema=Robert'); DROP TABLE x",
        "postgresql://ada:hunter2@db/team?corpus=a&corpus=b",
        "postgresql://ada:hunter2@db/team?nonsense=1&password=hunter2",
        "postgresql://ada:hunter2@db/team#hunter2",
    ],
)
def test_an_address_that_makes_no_sense_is_refused(text):
    """Without showing the password that stands in it."""
    said = refusal(text, InputError, "can't be used|is not an address")
    assert "hunter2" not in said.replace("#hunter2", "")


def test_the_package_that_is_missing_is_named(monkeypatch):
    """The remedy is the extra."""
    monkeypatch.setitem(sys.modules, "psycopg", None)
    monkeypatch.delitem(sys.modules, "brimful.store.postgres")
    refusal("postgresql://127.0.0.1:9/team", MissingPartError, r"\[postgres\]")


def test_a_connection_that_is_cut_is_an_error_and_then_made_anew(store, postgres_server):
    """In the middle of a commit nothing of it stays. A snapshot reads on, unless the corpus was changed meanwhile."""

    def cut():
        with postgres_server.connect() as connection:
            connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'brimful'"
            )

    store.add([entry("a.md", "tea")])
    writing = store._writing()
    cursor = writing.__enter__()
    cursor.execute("DELETE FROM documents")
    cut()
    with pytest.raises(psycopg.OperationalError) as gone:
        cursor.fetch("SELECT 1")
    with pytest.raises(StoreUnreachableError, match="try the same again"):
        writing.__exit__(type(gone.value), gone.value, None)
    store.add([entry("b.md", "tea")])
    with store.snapshot() as now:
        cut()
        assert now.row("a.md").length == 3
        cut()
        store.add([entry("c.md", "tea")])
        with pytest.raises(StoreUnreachableError, match="was changed while the connection was lost"):
            now.row("b.md")
        store.remove(["c.md"])
    with store.snapshot() as now:
        assert [row.path for row in now.rows()] == ["a.md", "b.md"]


def test_an_engine_outlives_its_server():
    """Killed and started again, the server is asked again by an engine that was open; what was committed is there."""
    from tests.postgres import running

    with running() as server, brimful.open(server.address()) as engine:
        engine.add_text("tea.md", "Tea at four.")
        text = engine.context("When is tea?", budget=100).text
        server.stop()
        with pytest.raises(StoreUnreachableError):
            engine.add_text("pot.md", "A pot.")
        with pytest.raises(StoreUnreachableError):
            engine.documents()
        server.start()
        engine.add_text("cup.md", "Sugar.")
        assert text in engine.context("When is tea?", budget=100).text
        assert verify(engine.path) == []


def test_tables_of_a_later_version_are_refused(postgres_server):
    """They are left as they are."""
    text = postgres_server.address(schema="later")
    brimful.open(text).close()
    with postgres_server.connect() as connection:
        connection.execute("UPDATE later.versions SET version = 99")
    refusal(text, StoreVersionError, "version 99.*update")


def test_many_open_a_new_database_at_once(postgres_server):
    """One makes the tables and the corpus, the others find them."""
    text = postgres_server.address(schema="fresh")
    failed = []

    def one():
        try:
            brimful.open(text).close()
        except BrimfulError as error:
            failed.append(error)

    threads = [threading.Thread(target=one) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    with postgres_server.connect() as connection:
        assert connection.execute("SELECT count(*) FROM fresh.corpora").fetchone() == (1,)


def test_an_address_is_shown_without_its_password(address):
    """As text, in repr, and wherever the engine names its store."""
    with brimful.open(address) as engine:
        assert PASSWORD not in f"{engine.path} {engine.path!r}"
        engine.close()
        with pytest.raises(BrimfulError) as caught:
            engine.documents()
        assert PASSWORD not in str(caught.value)


def test_threads_expect_and_prove_beside_each_other(address):
    """What one thread has fetched ahead is whole for another one, or not there: every proof leads to the root."""
    paths = [f"{number}.md" for number in range(6_000)]  # several in each bucket
    with PostgresStore(address) as store:
        store.add([entry(path, "Tea.") for path in paths])
        with store.snapshot() as now, ThreadPoolExecutor(6) as threads:

            def prove(first):
                for turn in range(12):
                    some = paths[first + 40 * turn :][:40]
                    now.expect(some, proofs=True)
                    for path in some:
                        assert now.prove(path).siblings
                return True

            interval = sys.getswitchinterval()
            sys.setswitchinterval(1e-6)
            try:
                assert all(threads.map(prove, range(0, 60, 10)))
            finally:
                sys.setswitchinterval(interval)
