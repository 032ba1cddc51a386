"""Two tenants on one server: whatever one of them tries, nothing of the other's corpus comes back or changes."""

import re
from contextlib import suppress
from types import SimpleNamespace

import psycopg
import pytest

import brimful
from brimful.densify.captures import Captures
from brimful.errors import BrimfulError, InputError, StoreAccessError
from brimful.store.address import Address
from brimful.store.postgres import PostgresStore
from brimful.store.postgres.layout import COLUMNS, roles
from brimful.store.upkeep import verify
from brimful.text.spans import Span

SECRET = "saffron"
TABLES = [f"all_{name}" for name in COLUMNS]


@pytest.fixture(scope="module")
def tenants(postgres_server):
    """Ada and Bob, each with a corpus and a login; Carol may only ask Bob's; Mallory has nothing."""
    with brimful.open(postgres_server.address("ada", schema="tenants")):
        pass
    with postgres_server.connect() as owner:
        owner.execute(roles("tenants", "ada", "ada_team"))
        owner.execute(roles("tenants", "bob", "bob_team", readers="bob_readers"))
        for login, role in (("ada", "ada_team"), ("bob", "bob_team"), ("carol", "bob_readers"), ("mallory", None)):
            owner.execute(f"CREATE ROLE {login} LOGIN PASSWORD '{login} pw'")
            if role:
                owner.execute(f"GRANT {role} TO {login}")

    def address(login, corpus):
        return postgres_server.address(corpus, user=login, password=f"{login} pw", schema="tenants")

    with postgres_server.connect() as owner:
        numbers = dict(owner.execute("SELECT name, number FROM tenants.corpora").fetchall())
    with pytest.raises(InputError, match="make it"):  # until its tenant has opened it
        PostgresStore(Address.of(address("carol", "bob")), make=False)
    with brimful.open(address("ada", "ada")) as ada, brimful.open(address("bob", "bob")) as bob:
        ada.add_text("tea.md", "Tea is served at four.")
        for number in range(30):
            bob.add_text(f"recipe-{number}.md", f"The recipe number {number} needs {SECRET}.")
        bob.memory.keep(b"key", SECRET, recipe=b"r", source=b"s", span=Span(0, 9))
        bob.memory.keep_limit("endpoint", "model", "named", 900)
        Captures(bob.memory).capture(f"The cook hides the {SECRET}. " * 9, name="talk")
    yield SimpleNamespace(address=address, numbers=numbers, server=postgres_server)
    assert verify(Address.of(address("bob", "bob"))) == []


@pytest.fixture
def ada(tenants):
    """A connection of Ada's own, as psql would give her."""
    with tenants.server.connect(user="ada", password="ada pw") as connection:
        connection.execute("SET search_path = tenants, pg_temp")
        yield connection


def said(connection, statement, *values):
    """What a statement brings, or what is said instead."""
    try:
        cursor = connection.execute(statement, values or None)
        return cursor.fetchall() if cursor.description else cursor.rowcount
    except psycopg.Error as error:
        return f"{error.sqlstate} {error}"


def test_each_tenant_has_an_own_corpus(tenants):
    """Roles that own nothing add, ask, compact and verify; a reader asks and nothing else."""
    with brimful.open(tenants.address("bob", "bob")) as bob, brimful.open(tenants.address("carol", "bob")) as carol:
        assert SECRET in bob.context("What does recipe 7 need?", budget=100).text
        assert carol.context("What does recipe 7 need?", budget=100).text == (
            bob.context("What does recipe 7 need?", budget=100).text
        )
        bob.add_text("more.md", "Salt.")
        bob.remove("more.md")
        bob._store.compact()
        with pytest.raises(StoreAccessError, match="brimful stores roles"):
            carol.add_text("mine.md", "Pepper.")
        with pytest.raises(StoreAccessError):
            carol.remove("recipe-1.md")
        assert carol._store.remember_vectors("m", [], carol_rows()) == "the store may not be written"
        assert len(carol.documents()) == 30


def carol_rows():
    """No vectors at all."""
    import numpy as np

    return np.zeros((0, 4), np.int8)


@pytest.mark.parametrize(("login", "corpus"), [("ada", "bob"), ("mallory", "bob"), ("mallory", "ada")])
def test_another_corpus_is_not_opened(tenants, login, corpus):
    """Whether there is one or not is not told: the words are those for a name that nobody has."""
    answers = set()
    for name in (corpus, "zzz"):
        with pytest.raises(StoreAccessError) as caught:
            brimful.open(tenants.address(login, name))
        answers.add(str(caught.value).replace(f"corpus={name}", "corpus=…"))
    assert len(answers) == 1
    if login != "mallory":
        with pytest.raises(InputError, match="or it is not yours"):
            PostgresStore(Address.of(tenants.address(login, corpus)), make=False)


def test_a_guessed_number_shows_nothing(tenants):
    """A store that is told another corpus's number reads no row of it, and can't write."""
    with PostgresStore(Address.of(tenants.address("ada", "ada"))) as store:
        mine = store.corpus
        for number in (tenants.numbers["bob"], 9_999):
            store.corpus = number
            with store._reading() as cursor:
                for table in COLUMNS:
                    assert cursor.fetch(f"SELECT count(*) FROM {table}") == [(0,)]
                assert cursor.sealed("blobs", 1 << 32) is None
            with pytest.raises(StoreAccessError, match="gone"), store._writing():
                pass
            with pytest.raises(BrimfulError):
                store.snapshot()
        store.corpus = mine


@pytest.mark.parametrize("table", TABLES)
def test_tables_show_and_take_own_rows_only(tenants, ada, table):
    """Read, counted, changed, deleted or inserted below the views, whatever corpus the session names."""
    bob, mine = tenants.numbers["bob"], tenants.numbers["ada"]
    for number in (bob, mine, 9_999, ""):
        ada.execute("SELECT set_config('brimful.corpus', %s, false)", (str(number),))
        assert said(ada, f"SELECT count(*) FROM {table} WHERE corpus <> %s", mine) == [(0,)]
        assert said(ada, f"DELETE FROM {table} WHERE corpus = %s", bob) == 0
        assert said(ada, f"UPDATE {table} SET corpus = corpus WHERE corpus <> %s", mine) == 0
    ada.execute("SELECT set_config('brimful.corpus', %s, false)", (str(mine),))
    moved = said(ada, f"UPDATE {table} SET corpus = %s", bob)
    assert moved == 0 or "violates row-level security" in moved
    taken = said(ada, f"UPDATE {table} SET corpus = %s WHERE corpus = %s", mine, bob)
    assert taken == 0


def test_refusals_do_not_tell_what_is_there(tenants, ada):
    """Inserting a path that another has and one that nobody has is refused in the same words."""
    columns = "corpus, number, path, id, content_hash, leaf, bucket, length, kind, rule, seal"
    values = "%s, 900, %s, '', '', '', 0, 0, 'prose', '', ''"
    answers = {
        said(ada, f"INSERT INTO all_documents ({columns}) VALUES ({values})", tenants.numbers["bob"], path)
        for path in ("recipe-1.md", "nobody-has-this.md")
    }
    assert len(answers) == 1
    assert "violates row-level security" in answers.pop()


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT number FROM own_corpora() WHERE name = 'bob'",
        "SELECT most_common_vals FROM pg_stats WHERE schemaname = 'tenants'",
        "SELECT query FROM pg_stat_activity WHERE usename = 'bob' AND query <> '<insufficient privilege>'",
    ],
)
def test_nothing_is_shown_of_others(tenants, ada, statement):
    """Neither numbers of corpora, nor statistics of columns, nor statements that others run."""
    with tenants.server.connect() as owner:
        for table in TABLES:
            owner.execute(f"ANALYZE tenants.{table}")
    with brimful.open(tenants.address("bob", "bob")) as bob:
        bob.documents()
        assert said(ada, statement) == []


@pytest.mark.parametrize(
    "statement",
    [
        "INSERT INTO corpora (name) VALUES ('mine')",
        "SELECT name FROM corpora",
        "SELECT number FROM corpora FOR UPDATE",
        "UPDATE corpora SET role = 'ada_team'",
        "ALTER FUNCTION own_corpora() SECURITY INVOKER",
        "DELETE FROM corpora",
        "TRUNCATE all_documents",
        "DROP TABLE all_blobs",
        "ALTER TABLE all_documents DISABLE ROW LEVEL SECURITY",
        "ALTER POLICY own ON all_documents USING (true)",
        "CREATE POLICY mine ON all_documents USING (true)",
        "CREATE TABLE tenants.mine (x int)",
        "CREATE VIEW tenants.mine AS SELECT * FROM tenants.all_documents",
        "CREATE TRIGGER t AFTER INSERT ON all_documents EXECUTE FUNCTION suppress_redundant_updates_trigger()",
        "SET ROLE bob_team",
        "SET SESSION AUTHORIZATION bob",
        "GRANT bob_team TO ada",
        "ALTER ROLE ada BYPASSRLS",
        "SET row_security = off; SELECT * FROM all_documents",
        "COPY all_documents TO PROGRAM 'cat'",
        "SELECT pg_read_file('postgresql.conf')",
        "UPDATE versions SET version = 99",
    ],
)
def test_rights_are_not_to_be_had(ada, statement):
    """What would widen them is refused."""
    assert isinstance(said(ada, statement), str)


def test_functions_of_ones_own_see_no_other_rows(tenants, ada):
    """A cheap function that tells what it is given is called with own rows only, through table and view."""
    heard = []
    ada.add_notice_handler(lambda notice: heard.append(notice.message_primary))
    ada.execute(
        "CREATE FUNCTION pg_temp.tell(text) RETURNS boolean LANGUAGE plpgsql COST 0.0000001 AS "
        "$$ BEGIN RAISE NOTICE 'heard %', $1; RETURN true; END $$"
    )
    for number in (tenants.numbers["bob"], tenants.numbers["ada"]):
        ada.execute("SELECT set_config('brimful.corpus', %s, false)", (str(number),))
        for table in ("all_documents", "documents"):
            ada.execute(f"SELECT count(*) FROM {table} WHERE pg_temp.tell(path)")
    assert set(heard) == {"heard tea.md"}


def test_the_vocabulary_is_not_reached(tenants):
    """A typo of another's word is not repaired by it, nor completed, nor related."""
    with brimful.open(tenants.address("ada", "ada")) as ada:
        for question in ("saffrn", "saff", SECRET, "recipe number"):
            found = ada.search(question)
            assert SECRET not in f"{found.corrections} {found.hits}"
            assert SECRET not in ada.context(question, budget=200, anyway=True).text


INJECTED = (
    "recipe-1.md",
    "' OR '1'='1",
    "x'); SELECT path FROM all_documents; --",
    "%",
    "_",
    "\\",
    "*",
    "?",
    "$1",
    "%s",
)


@pytest.mark.parametrize("key", ["path", "not_path", "kind", "phrase", "without", "after", "before"])
def test_filters_reach_no_statement(tenants, key):
    """Whatever stands in a filter, only own documents are found, or the value is refused."""
    with brimful.open(tenants.address("ada", "ada")) as ada:
        for value in INJECTED:
            found = set()
            with suppress(InputError):
                found = {hit.path for hit in ada.search("tea recipe", **{key: value}).hits}
            assert found <= {"tea.md"}


@pytest.mark.parametrize("key", ["corpus", "corpus = 2 OR path", "schema", "1=1; --", "number"])
def test_filter_keys_are_a_list(tenants, key):
    """A key that is no filter is refused before anything is asked of the server."""
    with brimful.open(tenants.address("ada", "ada")) as ada:
        with pytest.raises((TypeError, BrimfulError), match=re.escape(key.split()[0])):
            ada.search("tea", **{key: "x"})
        with pytest.raises((TypeError, BrimfulError), match=re.escape(key.split()[0])):
            ada.context("tea", budget=100, **{key: "x"})


def test_documents_are_named_by_their_own_paths_only(tenants):
    """A guessed path, id or range of another's document is unknown, in the words for one that nobody has."""
    with brimful.open(tenants.address("bob", "bob")) as bob:
        identity = bob.document("recipe-1.md").id
    with brimful.open(tenants.address("ada", "ada")) as ada:
        answers = set()
        for path in ("recipe-1.md", "nobody-1.md", identity):
            with pytest.raises(BrimfulError) as caught:
                ada.document(path)
            answers.add(str(caught.value).replace(path, "…"))
        assert len(answers) == 1
        assert SECRET not in answers.pop()


COUNTERS = "SELECT seq_scan, seq_tup_read, idx_scan, idx_tup_fetch FROM pg_stat_user_tables WHERE relname = 'corpora'"


def test_names_of_corpora_can_not_be_guessed(tenants, ada):
    """A name that is taken and one that is free look alike to who may not see it: no answer, plan, count of rows that
    a filter removed, error or counter of the server differs; and a role that was set counts, not the login.
    """
    assert "permission denied" in said(ada, "EXPLAIN ANALYZE SELECT 1 FROM corpora WHERE name = 'bob'")
    answers = set()
    for name in ("bob", "zzz"):
        plan = said(
            ada,
            "EXPLAIN (ANALYZE, VERBOSE, TIMING off, SUMMARY off, BUFFERS off) "
            f"SELECT number FROM own_corpora() WHERE name = '{name}'",
        )
        tried = (
            f"SELECT * FROM own_corpora() WHERE name = '{name}'",
            f"INSERT INTO corpora (name) VALUES ('{name}')",
            f"INSERT INTO corpora (name) VALUES ('{name}') ON CONFLICT DO NOTHING",
        )
        shown = [str(plan).replace(name, "…"), *(str(said(ada, statement)) for statement in tried)]
        ada.execute("SELECT pg_stat_force_next_flush()")
        before = said(ada, COUNTERS)[0]
        said(ada, f"SELECT * FROM own_corpora() WHERE name = '{name}'")
        ada.execute("SELECT pg_stat_force_next_flush()")
        shown.append(str([now - then for now, then in zip(said(ada, COUNTERS)[0], before, strict=True)]))
        answers.add(tuple(shown))
    assert len(answers) == 1
    assert "Rows Removed by Filter: 1" in str(answers)  # her own corpus
    assert said(ada, "SELECT name FROM own_corpora()") == [("ada",)]
    with tenants.server.connect() as owner:
        owner.execute("SET search_path = tenants, pg_temp; SET ROLE bob")
        assert owner.execute("SELECT name FROM own_corpora()").fetchall() == [("bob",)]


def test_estimates_do_not_tell_what_others_have(tenants, ada):
    """The planner guesses the same for a path, a title or a name that another has, and for one that nobody has:
    its histograms and commonest values would be read by bisection.
    """
    with tenants.server.connect() as owner:
        bob = tenants.numbers["bob"]
        try:
            owner.execute(
                "INSERT INTO tenants.all_documents (corpus, number, path, id, content_hash, leaf, bucket, length, "
                "kind, rule, title, seal) SELECT %s, 9000 + n, 'mmm' || n, '', '', '', 1, 0, 'data', '', 'Payroll', '' "
                "FROM generate_series(1, 20000) AS n",
                (bob,),
            )
            owner.execute("ANALYZE tenants.all_documents; ANALYZE tenants.corpora")
            for one, other in (
                ("all_documents WHERE path < 'mmm5'", "all_documents WHERE path < 'zzz5'"),
                ("all_documents WHERE title = 'Payroll'", "all_documents WHERE title = 'Nothing'"),
                (f"all_documents WHERE corpus = {bob}", "all_documents WHERE corpus = 9999"),
                ("all_documents WHERE bucket = 1", "all_documents WHERE bucket = 2"),
                ("all_documents WHERE number > 20000", "all_documents WHERE number > 90000"),
                ("own_corpora() WHERE name < 'b'", "own_corpora() WHERE name < 'z'"),
            ):
                guesses = [_guessed(ada, each) for each in (one, other)]
                assert guesses[0] == guesses[1], one
        finally:
            owner.execute("DELETE FROM tenants.all_documents WHERE corpus = %s AND seal = ''", (bob,))


def _guessed(connection, what):
    """The rows that the planner expects, at each step."""
    return [
        line.partition("rows=")[2].split()[0]
        for (line,) in said(connection, f"EXPLAIN SELECT * FROM {what}")
        if "rows=" in line
    ]


def test_locks_can_neither_be_seen_nor_taken(tenants):
    """Who may only connect learns no lock of another's from pg_locks, and holding every advisory lock that could be
    meant keeps nobody from adding a folder, merging, keeping answers or beginning a corpus.
    """
    bob = Address.of(tenants.address("bob", "bob"))
    with tenants.server.connect(user="mallory", password="mallory pw") as mallory, PostgresStore(bob) as store:
        mallory.execute("SELECT pg_advisory_lock(1112689997)")  # what earlier versions locked to begin a corpus
        with store.turn("folder/", wait_seconds=0), store._merging():
            held = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND pid <> pg_backend_pid()"
            assert said(mallory, held) == [(0,)]
        store.keep_answers([])
        with brimful.open(tenants.server.address("new", schema="tenants")) as new:
            assert new.documents() == ()
        with tenants.server.connect() as owner:
            owner.execute("DELETE FROM tenants.corpora WHERE name = 'new'")


def test_numbers_do_not_count_others(tenants, ada):
    """The sequence that numbers corpora is not read, by whichever of its ways."""
    assert said(ada, "SELECT last_value FROM pg_sequences WHERE schemaname = 'tenants'") == [(None,)]
    assert "permission denied" in said(ada, "SELECT last_value FROM corpora_number_seq")
    assert "permission denied" in said(ada, "SELECT nextval('corpora_number_seq')")


def test_what_others_send_is_not_seen(tenants, ada):
    """Blobs of a transaction that is open are in no table that another session may look into."""
    with brimful.open(tenants.address("bob", "bob")) as bob, bob._store._writing() as cursor:
        cursor.write_blobs([(1, b"saffron", b"seal")])
        cursor.flush()
        assert said(ada, "SELECT relname FROM pg_class WHERE relpersistence = 't' AND relkind = 'r'") == []
        assert said(ada, "SELECT relid, bytes_processed FROM pg_stat_progress_copy WHERE relid IS NOT NULL") == []
        cursor.execute("DELETE FROM blobs WHERE key = 1")


def test_one_tenant_does_not_keep_another_waiting(tenants):
    """While one writes, the other commits."""
    with (
        PostgresStore(Address.of(tenants.address("ada", "ada"))) as ada,
        brimful.open(tenants.address("bob", "bob")) as bob,
        ada._writing(),
    ):
        bob.add_text("now.md", "Salt.")
        bob.remove("now.md")
