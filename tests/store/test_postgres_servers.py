"""Servers as teams run them: the oldest version that works, standbys, silence, poolers, an administrator's limits."""

import re
import socket
import threading
import time
from itertools import count

import pytest
from starlette.testclient import TestClient

import brimful
from brimful import Document
from brimful.errors import StoreBusyError, StoreError, StoreUnreachableError
from brimful.store.address import Address
from brimful.store.postgres import PostgresStore, layout, session
from brimful.store.postgres import store as postgres_store
from brimful.store.upkeep import verify
from brimful.surfaces.cli import main
from brimful.surfaces.http import ServeSettings, create_app
from tests import postgres

LONG = 60  # seconds after which a wait is a failure
TEA = [Document(f"d{number}.md", f"# Tea {number}\n\nTea {number} is served at {number}. " * 9) for number in range(20)]
QUESTION = "When is tea 7 served?"
_numbers = count(1)


@pytest.fixture(scope="module", params=["15", "18"])
def each_server(request, postgres_server):
    """A server of the oldest version that is supported, and one of the newest."""
    if request.param == "18":
        yield "18", postgres_server
        return
    if not postgres.DEBIAN.exists():
        pytest.skip("postgresql-15 is not installed; see scripts/make_postgres.py")
    with postgres.running(programs=postgres.DEBIAN) as server:
        yield "15", server


@pytest.fixture
def text(postgres_server):
    """The address of a corpus that no other test has."""
    return postgres_server.address(f"servers-{next(_numbers)}")


def test_every_supported_version_gives_what_a_file_gives(each_server, tmp_path, capsys):
    """The first `add` makes all tables; root, context and terms are a file's, and `doctor` names the version."""
    version, server = each_server
    address = server.address("versions", schema=f"versions{version}")
    with brimful.open(address) as engine, brimful.open(tmp_path / "one.db") as file:
        for both in (engine, file):
            both.add_documents(TEA)
            both.remove("d3.md")
        assert engine.root == file.root
        assert engine.context(QUESTION, budget=300).text == file.context(QUESTION, budget=300).text
        assert list(engine.verify(engine.context(QUESTION, budget=300).receipt)) == []
    assert verify(Address.of(address)) == []
    with server.connect() as owner:
        stored = "SELECT attstorage FROM pg_attribute WHERE attrelid = %s::regclass AND attname = 'data'"
        for table in ("all_blobs", "all_maps"):
            assert owner.execute(stored, (f"versions{version}.{table}",)).fetchone() == ("e",)
    main(["doctor", "--store", address])
    assert f"PostgreSQL {version}." in capsys.readouterr().out


def test_every_supported_version_keeps_tenants_apart(each_server):
    """A role that was given one corpus lists that one alone, and opens no other."""
    version, server = each_server
    schema = f"apart{version}"
    brimful.open(server.address("first", schema=schema)).close()
    with server.connect() as owner:
        for name in ("ada", "bob"):
            owner.execute(layout.roles(schema, name, f"{schema}_{name}"))
            owner.execute(f"CREATE ROLE {schema}_{name}_login LOGIN PASSWORD 'x' IN ROLE {schema}_{name}")
    with brimful.open(server.address("ada", schema=schema, user=f"{schema}_ada_login", password="x")) as engine:
        engine.add_documents(TEA)
    with server.connect(user=f"{schema}_bob_login", password="x") as bob:
        assert bob.execute(f"SELECT name FROM {schema}.own_corpora()").fetchall() == [("bob",)]
        assert bob.execute(f"SELECT count(*) FROM {schema}.all_documents").fetchone() == (0,)


def test_a_standby_is_asked(tmp_path, monkeypatch, capsys):
    """It answers as its primary does, in Python and by commands, sees each commit once it has it, and takes none."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    with postgres.running() as primary:
        with brimful.open(primary.address()) as engine:
            engine.add_documents(TEA)
            expected, receipt = engine.context(QUESTION, budget=300).text, tmp_path / "receipt.json"
        with postgres.running(primary=primary) as standby, brimful.open(standby.address()) as replica:
            address = standby.address()
            assert replica.context(QUESTION, budget=300).text == expected
            commands = (
                ["context", QUESTION, "--budget", "300", "--receipt", str(receipt)],
                ["search", QUESTION],
                ["status"],
                ["verify", str(receipt)],
                ["doctor"],
            )
            for command in commands:
                assert main([*command, "--store", address]) == 0
            shown = capsys.readouterr().out
            assert expected in shown
            assert "is a standby" in shown
            with pytest.raises(StoreError, match=r"is a standby or read-only.*write to its primary"):
                replica.add_text("more.md", "Sugar.")
            with brimful.open(primary.address()) as engine:
                engine.add_text("new.md", "Sugar.")
            with primary.connect() as one, standby.connect() as other:
                (written,) = one.execute("SELECT pg_current_wal_lsn()::text").fetchone()
                until = time.monotonic() + LONG
                while other.execute("SELECT pg_last_wal_replay_lsn() < %s::pg_lsn", (written,)).fetchone() == (True,):
                    assert time.monotonic() < until
                    time.sleep(0.02)
            assert "new.md" in {document.path for document in replica.documents()}


class Proxy:
    """A proxy of a server on this machine that can get stuck: it accepts and forwards nothing."""

    def __init__(self, server):
        self.target = str(server.folder / ".s.PGSQL.5432")
        self.moving = threading.Event()
        self.moving.set()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.sockets = [self.listener]
        threading.Thread(target=self.accept, daemon=True).start()
        port = self.listener.getsockname()[1]
        self.address = re.sub(r"@/postgres\?host=[^&]*&", f"@127.0.0.1:{port}/postgres?", server.address("proxied"))

    def accept(self):
        """Take connections until the listener is closed."""
        while True:
            try:
                near = self.listener.accept()[0]
            except OSError:
                return
            far = socket.socket(socket.AF_UNIX)
            far.connect(self.target)
            self.sockets += [near, far]
            for source, target in ((near, far), (far, near)):
                threading.Thread(target=self.forward, args=(source, target), daemon=True).start()

    def forward(self, source, target):
        """Bytes one way, while it is not stuck."""
        while True:
            try:
                received = source.recv(65_536)
                self.moving.wait()
                target.sendall(received)
            except OSError:
                return
            if not received:
                target.close()
                return

    def close(self):
        """End it."""
        self.moving.set()
        for each in self.sockets:
            each.close()


@pytest.fixture
def proxy(postgres_server, monkeypatch):
    """One before the server, with short limits."""
    monkeypatch.setattr(postgres_store, "SILENT_SECONDS", 0.5)
    monkeypatch.setattr(session, "CONNECT_SECONDS", 2)
    proxy = Proxy(postgres_server)
    yield proxy
    proxy.close()


def test_a_server_that_says_nothing_is_given_up(proxy):
    """Questions end with an error that says so, those that waited for them as well, and the next one is answered."""
    with brimful.open(proxy.address) as engine:
        engine.add_documents(TEA)
        expected = engine.context(QUESTION, budget=300).text
        proxy.moving.clear()
        refused = []

        def ask():
            with pytest.raises(StoreUnreachableError, match=r"can't be reached .*no answer") as error:
                engine.context(QUESTION, budget=300)
            refused.append(error.value)

        threads = [threading.Thread(target=ask) for _ in range(12)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(LONG)
        assert len(refused) == 12
        proxy.moving.set()
        until = time.monotonic() + LONG
        while True:
            try:
                assert engine.context(QUESTION, budget=300).text == expected
                break
            except StoreUnreachableError:  # for a second
                assert time.monotonic() < until


def test_a_silent_server_in_the_middle_of_a_question_is_given_up(proxy):
    """No statement is waited for without an end, on a connection that was alive when the question began."""
    with brimful.open(proxy.address) as engine:
        engine.add_documents(TEA)
        with engine.corpus() as corpus:
            proxy.moving.clear()
            with pytest.raises(StoreUnreachableError, match="no answer for"):
                corpus.snapshot.row("d1.md")
        proxy.moving.set()


def test_the_network_itself_has_a_limit(text):
    """A host that vanished is noticed by the system as well: what was sent and not acknowledged ends the connection."""
    with PostgresStore(Address.of(text)) as store, store._transaction() as cursor:
        assert cursor.connection.info.get_parameters()["tcp_user_timeout"] == str(session.SILENT_SECONDS * 1_000)


def test_http_says_that_it_is_not_ready_and_still_measures(proxy):
    """While the server says nothing `/health/ready` is refused, `/health/live` and `/metrics` answer."""
    with brimful.open(proxy.address) as engine:
        engine.add_documents(TEA)
        app = create_app(engine, ServeSettings(ready_seconds=0.2))
        with TestClient(app, base_url="http://localhost") as client:
            assert client.get("/health/ready").status_code == 200
            assert "brimful_store_ready 1" in client.get("/metrics").text
            proxy.moving.clear()
            assert client.get("/health/ready").status_code == 503
            assert client.get("/health/live").status_code == 200
            measured = client.get("/metrics")
            assert measured.status_code == 200
            assert "brimful_store_ready 0" in measured.text
            assert "brimful_requests_total" in measured.text
            proxy.moving.set()


@pytest.fixture
def owner(postgres_server):
    """A connection of the server's owner, without the sessions that a silent proxy of an earlier test left open."""
    left = "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE application_name = 'brimful'"
    with postgres_server.connect() as owner:
        owner.execute(left)
        yield owner


def test_nothing_is_held_between_questions(owner, text):
    """After an answer no connection has a transaction, and another application's VACUUM gives its room back."""
    with brimful.open(text) as engine:
        engine.add_documents(TEA)
        owner.execute("CREATE TABLE others AS SELECT generate_series(1, 9000) AS number")
        try:
            expected = engine.context(QUESTION, budget=300).text
            owner.execute("DELETE FROM others")
            states = "SELECT DISTINCT state FROM pg_stat_activity WHERE application_name = 'brimful'"
            assert owner.execute(states).fetchall() == [("idle",)]
            owner.execute("VACUUM others")
            assert owner.execute("SELECT pg_relation_size('others')").fetchone() == (0,)
            assert engine.context(QUESTION, budget=300).text == expected
        finally:
            owner.execute("DROP TABLE others")


def test_a_folder_that_is_added_holds_no_transaction(owner, text, monkeypatch):
    """The turn of a place is a lease: renewed while it lasts, over soon where its holder died, and another
    place is free.
    """
    monkeypatch.setattr(postgres_store, "_LEASE_SECONDS", 3)
    monkeypatch.setattr(postgres_store, "_BEAT_SECONDS", 0.1)
    with PostgresStore(Address.of(text)) as one, PostgresStore(Address.of(text)) as other:
        with one.turn("/tea//", wait_seconds=0):
            (begun,) = owner.execute("SELECT now()").fetchone()
            time.sleep(3.5)
            held = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'brimful' AND xact_start <= %s"
            assert owner.execute(held, (begun,)).fetchone() == (0,)
            with pytest.raises(StoreBusyError, match="adding this place"), other.turn("/tea//", wait_seconds=0):
                pass
            with other.turn("/coffee//", wait_seconds=0):
                pass
        with other.turn("/tea//", wait_seconds=0):
            pass
        assert one._leased(postgres_store._turn_of("/tea//")) is not None  # and nobody renews it
        with other.turn("/tea//", wait_seconds=LONG):
            pass


def fall_asleep(store):
    """Begin a commit, and come back to it too late."""
    with store._writing() as cursor:
        assert cursor.fetch("SELECT current_setting('idle_in_transaction_session_timeout')") == [("300ms",)]
        time.sleep(0.5)
        cursor.fetch("SELECT 1")


def test_the_administrators_limit_for_idle_transactions_holds(postgres_server):
    """It is not overridden: questions between which it passes are answered, a writer that sleeps is ended and hears
    why; where there is none, a sleeping writer has ten minutes.
    """
    with postgres_server.connect() as owner:
        owner.execute("CREATE ROLE hasty LOGIN SUPERUSER PASSWORD 'x'")
        owner.execute("ALTER ROLE hasty SET idle_in_transaction_session_timeout = '300ms'")
    try:
        with brimful.open(postgres_server.address("hasty", user="hasty", password="x")) as engine:
            engine.add_documents(TEA)
            expected = engine.context(QUESTION, budget=300).text
            time.sleep(0.5)
            assert engine.context(QUESTION, budget=300).text == expected
            with pytest.raises(StoreBusyError, match="idle_in_transaction_session_timeout"):
                fall_asleep(engine._store)
        with PostgresStore(Address.of(postgres_server.address("hasty"))) as store, store._writing() as cursor:
            assert cursor.fetch("SELECT current_setting('idle_in_transaction_session_timeout')") == [("10min",)]
    finally:
        with postgres_server.connect() as owner:
            owner.execute("DROP ROLE hasty")


def test_sessions_may_be_shared_by_transactions(text, tmp_path, monkeypatch):
    """Behind a pooler of transactions each begins in a session that knows nothing of the one before: all works."""
    give_back = PostgresStore.give_back

    def pooled(self, connection):
        give_back(self, connection)
        if not connection.closed:
            connection.execute("DISCARD ALL")

    monkeypatch.setattr(PostgresStore, "give_back", pooled)
    (tmp_path / "tea").mkdir()
    for document in TEA:
        (tmp_path / "tea" / document.path).write_bytes(document.content)
    with brimful.open(text) as engine, brimful.open(tmp_path / "one.db") as file:
        for both in (engine, file):
            for _ in range(2):
                both.add(tmp_path / "tea")
            for number in range(9):  # more than a segment is left apart, so that some are merged
                both.add_text(f"more{number}.md", f"Sugar {number}.")
            both.remove("more3.md")
        for _ in range(9):
            assert engine.context(QUESTION, budget=300).text == file.context(QUESTION, budget=300).text
        assert engine.root == file.root
    assert verify(Address.of(text)) == []


def test_a_lost_connection_costs_a_question_nothing(postgres_server, text):
    """Cut before each of its statements, a question gives the bytes that it would have given."""
    with brimful.open(text) as engine, postgres_server.connect() as owner:
        engine.add_documents(TEA)
        expected = engine.context(QUESTION, budget=300).text
    with brimful.open(text) as engine, postgres_server.connect() as owner:
        read, cuts = session.PostgresCursor._read, []

        def cut(self, statement, values):
            if isinstance(self, postgres_store._Held) and self.connection not in cuts:
                cuts.append(self.connection)
                if len(cuts) % 2:
                    owner.execute("SELECT pg_terminate_backend(%s)", (self.connection.info.backend_pid,))
            return read(self, statement, values)

        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(session.PostgresCursor, "_read", cut)
            assert engine.context(QUESTION, budget=300).text == expected
        assert len(cuts) >= 2
