"""What docs/postgres.md tells people to run is what a server takes: its compose file, its SQL, its addresses."""

import re
import shlex
from itertools import count
from pathlib import Path

import psycopg
import pytest
import yaml

import brimful
from brimful.store.address import Address
from brimful.store.postgres import layout, session, store
from brimful.surfaces.cli import main
from tests.postgres import PASSWORD

DOCS = Path(__file__).parents[2] / "docs"
TEXT = (DOCS / "postgres.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL)
_numbers = count(1)


def blocks(language):
    """The blocks of a language, in their order."""
    return [text for name, text in BLOCKS if name == language]


def test_the_compose_file_is_the_server_that_the_text_speaks_of():
    """It parses, is reached from this machine only, keeps its data where this image has them, and its password, port,
    user and database are those of the commands beside it.
    """
    (text,) = blocks("yaml")
    given = yaml.safe_load(text)
    assert set(given) == {"services", "volumes"}
    (service,) = given["services"].values()
    assert set(service) == {"image", "environment", "ports", "volumes", "healthcheck"}
    name, _, tag = service["image"].partition(":")
    assert name == "postgres"
    assert int(tag) * 10_000 >= layout.LEAST_SERVER
    (mount,) = service["volumes"]
    volume, _, place = mount.partition(":")
    assert volume in given["volumes"]
    # From 18 on the image keeps its data in a folder of the version below this one, and refuses the one before.
    assert place == ("/var/lib/postgresql" if int(tag) >= 18 else "/var/lib/postgresql/data")
    (port,) = service["ports"]
    assert port == "127.0.0.1:5432:5432"
    after = TEXT.partition(text)[2]
    password = service["environment"]["POSTGRES_PASSWORD"]
    assert f"`export PGPASSWORD={password}`" in after
    assert "`docker compose up -d --wait`" in after
    address = Address.of(re.search(r"the address is `(postgresql://\S+)`", after)[1])
    settings = dict(address.settings)
    user = service["environment"].get("POSTGRES_USER", "postgres")
    assert settings == {
        "user": user,
        "host": "localhost",
        "dbname": service["environment"].get("POSTGRES_DB", user),
    }
    assert service["healthcheck"]["test"] == ["CMD", "pg_isready", "-U", user]


def test_every_address_of_the_docs_is_one():
    """Whatever address a page names can be read, and shows no password."""
    named = re.findall(r"postgresql://[^\s'\"`)]+", (DOCS / "postgres.md").read_text(encoding="utf-8"))
    for each in named:
        if "USER@" not in each and "…" not in each:
            assert str(Address.of(each)) == each


@pytest.fixture
def corpus(postgres_server):
    """The corpus `notes` in the schema `brimful` of a database of its own, as the page has it."""
    name = f"docs{next(_numbers)}"
    with postgres_server.connect() as owner:
        owner.execute(f"CREATE DATABASE {name}")
    with psycopg.connect(
        host=str(postgres_server.folder), user="postgres", password=PASSWORD, dbname=name, autocommit=True
    ) as connection:
        address = postgres_server.address("notes").replace("/postgres?", f"/{name}?")
        yield address, connection


def test_the_statements_for_an_existing_server_make_a_role_that_can_begin(postgres_server):
    """A database, a role and its grants as they stand on the page: that role's first `add` makes everything."""
    (script,) = re.findall(r"\(`(CREATE DATABASE team; .*?)`\)", TEXT)
    with postgres_server.connect() as owner:
        for statement in filter(None, script.split(";")):
            owner.execute(statement)
        owner.execute("ALTER ROLE ada PASSWORD 'x'")
    try:
        address = postgres_server.address("handbook", user="ada", password="x").replace("/postgres?", "/team?")
        with brimful.open(address) as engine:
            engine.add_text("night.md", "Ada is on call at night.")
            assert "Ada" in engine.context("Who is on call at night?", budget=100).text
    finally:
        with postgres_server.connect() as owner:
            owner.execute("DROP DATABASE team WITH (FORCE)")
            owner.execute("DROP ROLE ada")


def test_the_sql_of_the_page_runs(corpus):
    """A corpus is deleted by the block of SQL as it stands; nothing of it is left in any table."""
    address, connection = corpus
    (delete,) = blocks("sql")
    with brimful.open(address) as notes, brimful.open(address.replace("corpus=notes", "corpus=other")) as other:
        for engine in (notes, other):
            engine.add_text("mind.md", "Consciousness is hard to explain.")
    connection.execute(delete)
    tables = [f"brimful.all_{name}" for name in layout.COLUMNS]
    number = connection.execute("SELECT number FROM brimful.corpora").fetchall()
    assert len(number) == 1
    for table in tables:
        assert connection.execute(f"SELECT count(*) FROM {table} WHERE corpus <> %s", number[0]).fetchone() == (0,)
    with brimful.open(address.replace("corpus=notes", "corpus=other")) as other:
        assert len(other.documents()) == 1


def test_the_roles_that_the_page_prints_are_made_by_its_script(corpus, capsys):
    """`brimful stores roles` with the options of the page prints a script that a server takes."""
    address, connection = corpus
    with brimful.open(address):
        pass
    (command,) = [line for text in blocks("bash") for line in text.splitlines() if "stores roles" in line]
    words = shlex.split(command.partition(" > ")[0])[1:]
    words[words.index("--store") + 1] = address
    assert main(words) == 0
    connection.execute(capsys.readouterr().out)
    try:
        row = connection.execute("SELECT role, readers FROM brimful.corpora WHERE name = 'notes'").fetchone()
        assert row == ("notes_team", "notes_readers")
    finally:
        connection.execute("DROP OWNED BY notes_team, notes_readers; DROP ROLE notes_team, notes_readers")


def test_the_limits_of_the_page_are_those_of_the_program():
    """Seconds, minutes and connections in its tables are the numbers in the source."""
    assert f"| connect | {session.CONNECT_SECONDS} s " in TEXT
    assert f"| a statement | {session.STATEMENT_SECONDS // 60} minutes" in TEXT
    assert session.WAIT_SECONDS == 120
    assert "| waiting for another writer | 2 minutes" in TEXT
    assert f"| a question, until the server's next byte | {session.SILENT_SECONDS} s" in TEXT
    assert f"idle_in_transaction_session_timeout`; {session.IDLE_SECONDS // 60} minutes where it has none" in TEXT
    assert f"| a folder whose adding process died | {store._LEASE_SECONDS} s" in TEXT
    assert f"PostgreSQL {layout.LEAST_SERVER // 10_000} or later" in TEXT
