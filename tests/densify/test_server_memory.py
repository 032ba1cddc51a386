"""What models answered for a corpus on a server lies there too: whoever asks next, on any machine, pays nothing."""

import threading
from itertools import count
from pathlib import Path

import psycopg
import pytest

import brimful
from brimful import Document
from brimful.densify.captures import Captures
from brimful.densify.memory import Memory, copy_answers, memory_of
from brimful.errors import DocumentError, StoreAccessError, StoreUnreachableError
from brimful.store.opening import digests_of, opened
from brimful.store.postgres.layout import roles
from brimful.testing import FakeModel
from brimful.text.spans import Span
from tests.densify.test_densify import story

_numbers = count(1)
TEXT = story(40)


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    """Nothing is written into the folders of whoever runs the tests."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path / "home"))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.fixture
def address(postgres_server):
    """A corpus that no other test has."""
    return postgres_server.address(f"memory-{next(_numbers)}")


def everything(memory):
    """All rows of all tables, in order."""
    return {
        table: sorted(memory.rows(f"SELECT * FROM {table}")) for table in ("partials", "places", "limits", "captures")
    }


def fill(memory):
    """Something of each kind, with texts that are hard to keep."""
    odd = "Tea\0 at four \1\1 \1\2 茶 😀 ' \" % ? \\"
    for start in (0, 10, 20):
        key = memory.key(b"r", [f"{start}"])
        memory.keep(key, f"{odd} {start}", recipe=b"r", source=b"s", span=Span(start, start + 10))
        memory.keep(key, f"{odd} {start}", recipe=b"r", source=b"s", span=Span(start, start + 10))
    memory.keep(memory.key(b"r", ["empty"]), "")
    memory.keep_limit("e", "m", "overflowed", 900)
    memory.keep_limit("e", "m", "overflowed", 700)
    memory.keep_limit("e", "m", "overflowed", 800)
    captures = Captures(memory)
    captures.capture(TEXT, FakeModel(), name="visit")
    captures.capture(Document("notes.md", f"{TEXT} {odd}"), FakeModel(), name="notes 茶")
    captures.capture(story(20), FakeModel(fails=_away), name="later", sleep=lambda _: None)
    return [captures.get(name) for name in ("visit", "notes 茶", "later")]


def _away(number):
    from brimful.errors import UnavailableError

    raise UnavailableError(f"the server is away ({number}); look whether it is up")


def test_a_server_keeps_what_a_file_keeps(address, tmp_path):
    """Rows, seals, places, limits and captures are the same, and so is what is found again."""
    with Memory(tmp_path / "m.db") as file, opened(address) as store, memory_of(store) as server:
        assert fill(file) == fill(server)
        assert everything(file) == everything(server)
        assert [len(rows) for rows in everything(server).values()].count(0) == 0
        for memory in (file, server):
            assert memory.find(memory.key(b"r", ["empty"])) == ""
            assert memory.find(b"never asked") is None
            assert memory.limit("e", "m", "overflowed") == 700
        assert file.places(b"r", b"s") == server.places(b"r", b"s") != []
        assert Captures(file).list() == Captures(server).list()
        assert [each.status for each in Captures(server).list()] == ["failed", "done", "done"]
        with pytest.raises(DocumentError, match="no capture 'lost'"):
            Captures(server).get("lost")


def test_another_machine_pays_nothing(address, home, tmp_path, monkeypatch):
    """A context that was condensed by one engine costs another one no call, and has the same bytes."""
    first, second = FakeModel(), FakeModel()
    with brimful.open(address) as engine:
        for number in range(8):
            engine.add_text(f"d{number}.md", f"{story(30)} Tea number {number} is served. ")
        text = engine.context("Which tea is served?", budget=400, densify=first).text
        engine.capture(TEXT, name="visit", model=first)
    assert first.calls
    assert not list(home.rglob("*-digests"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "elsewhere"))
    with brimful.open(address) as engine:
        assert engine.context("Which tea is served?", budget=400, densify=second).text == text
        assert engine.densify(TEXT, model=second).text
        assert [each.name for each in engine.captures()] == ["visit"]
    assert second.calls == 0


def test_answers_do_not_wait_for_documents(address):
    """While a commit of documents is under way, an answer is kept at once; no new generation comes from it."""
    with opened(address) as writer, opened(address) as store, memory_of(store) as memory:
        generation = store.generation()
        with writer._writing() as cursor:
            cursor.fetch("SELECT 1")
            memory.keep(memory.key(b"r", ["a"]), "answer")
            assert memory.find(memory.key(b"r", ["a"])) == "answer"
        assert store.generation() == generation


def test_many_keep_at_once(address):
    """Threads and several engines that keep the same and other answers lose none and disturb nobody."""
    with opened(address) as one, opened(address) as two:
        failed = []

        def work(memory, name):
            try:
                for number in range(20):
                    memory.keep(memory.key(b"r", [f"{number}"]), f"{number}", recipe=b"r", source=b"s", span=Span(0, 1))
                    memory.keep(memory.key(b"r", [f"{name}{number}"]), name)
            except Exception as error:  # noqa: BLE001
                failed.append(error)

        kept = (memory_of(one), memory_of(two))
        threads = [threading.Thread(target=work, args=(kept[at % 2], f"{at}-")) for at in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert failed == []
        assert kept[0].rows("SELECT count(*) FROM partials") == [(100,)]


def test_purge_forgets_answers(address):
    """What models answered is gone, and captures whose text was removed; the others and limits stay."""
    with brimful.open(address) as engine:
        engine.capture(TEXT, name="gone", model=FakeModel())
        engine.capture(TEXT, name="stays", model=FakeModel())
        engine.remove("capture:gone")
        engine.purge()
        assert engine.memory.rows("SELECT count(*) FROM partials") == [(0,)]
        assert engine.memory.rows("SELECT count(*) FROM places") == [(0,)]
        assert [each.name for each in engine.captures()] == ["stays"]


def test_a_damaged_answer_was_never_given(address, postgres_server):
    """A row that somebody changed is asked for again rather than believed."""
    with opened(address) as store, memory_of(store) as memory:
        key = memory.key(b"r", ["a"])
        memory.keep(key, "answer", recipe=b"r", source=b"s", span=Span(0, 1))
        with postgres_server.connect() as owner:
            owner.execute("UPDATE brimful.all_partials SET text = '\\xff00' WHERE corpus = %s", (store.corpus,))
        assert memory.find(key) is None
        assert memory.places(b"r", b"s") == []


def test_a_connection_that_is_cut_is_an_error_and_then_made_anew(address, postgres_server):
    """What was kept is there, the call that was cut says so or is answered anew, and the next one is."""
    with opened(address) as store, memory_of(store) as memory:
        memory.keep(memory.key(b"r", ["a"]), "answer")
        with postgres_server.connect() as owner:
            owner.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'brimful'")
        try:
            memory.keep(memory.key(b"r", ["b"]), "more")
        except StoreUnreachableError:
            memory.keep(memory.key(b"r", ["b"]), "more")
        assert memory.find(memory.key(b"r", ["a"])) == "answer"
        assert memory.find(memory.key(b"r", ["b"])) == "more"


# ---- older stores, other roles


def test_what_a_machine_remembered_before_comes_to_the_server(address, tmp_path):
    """Answers and captures in the user's folder are taken over once; a capture that the server has stays."""
    with opened(address) as store:
        file = digests_of(store.path)
        file.parent.mkdir(parents=True)
        with Memory(file) as before:
            made = fill(before)
            held = everything(before)
        with memory_of(store) as memory:
            assert everything(memory) == held
            assert Captures(memory).get("visit") == made[0]
            newer = Captures(memory).capture("Tea at five. " * 30, FakeModel(), name="visit")
        assert not file.exists()
        Path(f"{file}-moved").replace(file)  # another machine had the same
        with memory_of(store) as memory:
            assert Captures(memory).get("visit") == newer


@pytest.fixture
def before(postgres_server):
    """A corpus, its role and its readers, each with a login."""
    schema = f"older{next(_numbers)}"
    owner = postgres_server.address("notes", schema=schema)
    brimful.open(owner).close()
    with postgres_server.connect() as connection:
        connection.execute(roles(schema, "notes", f"{schema}_team", readers=f"{schema}_readers"))
        for role in ("team", "readers"):
            connection.execute(f"CREATE ROLE {schema}_{role}_login LOGIN PASSWORD 'pw' IN ROLE {schema}_{role}")
    logins = [
        postgres_server.address("notes", schema=schema, user=f"{schema}_{role}_login", password="pw")
        for role in ("team", "readers")
    ]
    return owner, *logins


def test_a_reader_keeps_answers_in_a_file(before, monkeypatch, tmp_path):
    """A role that may only ask finds what others keep on the server, and keeps its answers in its data folder."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "home"))
    _, team, readers = before
    with brimful.open(team) as engine:
        done = engine.capture(TEXT, name="visit", model=FakeModel())
    with opened(team) as store, opened(readers) as reading:
        assert store.keeps_answers()
        assert not reading.keeps_answers()
        assert Captures(Memory(store=reading)).get("visit") == done
        with pytest.raises(StoreAccessError):
            Memory(store=reading).keep(b"key", "text")
        with memory_of(reading) as own:  # in a file of the reader's own
            own.keep(b"key", "text")
            assert own.find(b"key") == "text"
        assert Memory(store=store).find(b"key") is None


def test_tenants_do_not_see_each_others_answers(postgres_server, before):
    """Another corpus has none of them, whatever number its session names."""
    owner, team, _ = before
    brimful.open(owner).close()
    with opened(team) as store, memory_of(store) as memory:
        fill(memory)
        number, schema = store.corpus, store.path.schema
    with postgres_server.connect() as connection:
        connection.execute(roles(schema, "others", f"{schema}_others"))
        connection.execute(f"CREATE ROLE {schema}_mallory LOGIN PASSWORD 'pw' IN ROLE {schema}_others")
    other = postgres_server.address("others", schema=schema, user=f"{schema}_mallory", password="pw")
    with opened(other) as store, memory_of(store) as memory:
        assert not any(everything(memory).values())
        store.corpus = number
        assert not any(everything(memory).values())
        for table in ("partials", "places", "limits", "captures"):
            assert memory.rows(f"SELECT count(*) FROM all_{table}") == [(0,)]
        with pytest.raises((StoreAccessError, psycopg.Error)):
            memory.keep(memory.key(b"r", ["0"]), "forged")


# ---- moving


@pytest.mark.parametrize("way", ["file to server", "server to file", "file to file", "server to server"])
def test_a_copy_brings_answers_and_captures(way, tmp_path, postgres_server):
    """All of them, once; what DEST had of another text under a capture's name is replaced."""
    places = [
        tmp_path / f"{number}.db" if kind == "file" else postgres_server.address(f"answers-{next(_numbers)}")
        for number, kind in enumerate(way.split(" to "))
    ]
    with opened(places[0]) as source, opened(places[1]) as target:
        assert copy_answers(source, target) == 0
        with memory_of(source) as memory:
            made, held = fill(memory), everything(memory)
        with memory_of(target) as memory:
            Captures(memory).capture("Tea at five. " * 30, FakeModel(), name="visit")
            memory.purge()
        assert copy_answers(source, target) == len(held["partials"]) + len(held["captures"])
        assert copy_answers(source, target) == 0
        with memory_of(target) as memory:
            assert everything(memory) == held
            assert [Captures(memory).get(each.name) for each in made] == made
