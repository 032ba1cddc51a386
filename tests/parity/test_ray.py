"""Three shards served by Ray on two nodes: the same bytes as one store, files indexed by tasks, a node that dies."""

import io
import json
import shutil
import socket
import subprocess
import sys
import threading
import time
from itertools import count
from urllib.request import Request, urlopen

import pytest

import brimful
from brimful.corpus.reading import LongDocument, streamed_file
from brimful.corpus.skips import Refusal, SourceSettings
from brimful.corpus.sources import root_of, walk
from brimful.errors import InputError, StoreUnreachableError
from brimful.ingest.texts import ingest_stream
from brimful.store.opening import place_of
from brimful.store.writing import Entry
from brimful.surfaces import serving as shared
from brimful.surfaces.cli import main
from brimful.surfaces.http import serve
from brimful.testing import FakeModel

from .corpus import documents
from .test_stores import KINDS, compare

_numbers = count(1)
SECONDS = 60


@pytest.fixture(scope="module")
def cluster():
    """Ray with two nodes on this machine."""
    ray = pytest.importorskip("ray")
    from ray.cluster_utils import Cluster

    found = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    found.add_node(num_cpus=1)
    found.wait_for_nodes()
    try:
        yield found
    finally:
        ray.shutdown()
        found.shutdown()


@pytest.fixture
def folder(tmp_path):
    """The corpus as files."""
    for document in documents():
        place = tmp_path / "given" / document.path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(document.content)
    return tmp_path / "given"


def test_three_shards_under_ray_are_one_store(cluster, folder, tmp_path, postgres_server, monkeypatch):
    """A folder that tasks have indexed into shards that actors serve has the answers of one file, also when a node
    dies: its actors are started on the other one, and open their stores again.
    """
    monkeypatch.setattr("brimful.ingest.workers.SEGMENT_BYTES", 20_000)  # many tasks
    from ray.util import list_named_actors

    number = next(_numbers)
    places = [tmp_path / "a.db", *(postgres_server.address(f"ray-{number}-{name}") for name in "bc")]
    with brimful.open(tmp_path / "one.db") as file, _on_both_nodes(places, cluster.address) as shards:
        nodes = _nodes(shards)
        assert list_named_actors(all_namespaces=True) == []  # nobody gets one by its name, from whichever namespace
        assert file.add(folder).added == shards.add(folder).added
        assert {shard.documents > 0 for shard in shards.shards} == {True}
        assert compare([file, shards], seed=31, most=12 * KINDS) > 6 * KINDS

        gone = cluster.list_all_nodes()[1]
        cluster.remove_node(gone)
        assert _answered(shards, "Nobody paid the invoice") == file.context("Nobody paid the invoice", budget=300).text
        assert _nodes(shards) == nodes - {gone.node_id}
        for engine in (file, shards):
            (folder / "docs/query.md").write_text("# Tea\n\nAsk for tea politely.\n")
            assert engine.add(folder).changed == 1
            engine.remove("orders/copy.md")
            engine.add_text("more.md", "Coffee at ten.")
        assert compare([file, shards], seed=32, most=KINDS)


def test_ray_serves_shards_of_a_cluster_that_answers(tmp_path):
    """One store, or a cluster that does not answer, is an error with the remedy."""
    pytest.importorskip("ray")
    with pytest.raises(InputError, match="brimful shard add"):
        brimful.open(tmp_path / "one.db", ray="auto")
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]  # nobody listens there any more
    connect = f"""
import brimful
try:
    brimful.open([{str(tmp_path / "a.db")!r}, {str(tmp_path / "b.db")!r}], ray="127.0.0.1:{port}")
except brimful.BrimfulError as error:
    print(error.code, error)
"""
    done = subprocess.run([sys.executable, "-c", connect], capture_output=True, text=True, check=True)
    assert done.stdout.startswith(f"store.unreachable no Ray cluster answers at '127.0.0.1:{port}'")
    assert "start one: ray start --head" in done.stdout
    assert not list(tmp_path.glob("*.db"))


def _on_both_nodes(places, address):
    """Shards whose actors are on both nodes; a node that is slow to answer is passed over, so it is tried again."""
    for _ in range(5):
        shards = brimful.open(places, ray=address)
        if len(_nodes(shards)) == 2:
            return shards
        shards.close()
    raise AssertionError("all actors were started on one node, five times")


def _nodes(shards):
    return {_node(store) for store in shards._store._all()}


def _node(store):
    return store.ask("call", "claim", (), {}) and store._ray.get(store._actor.node.remote())


def _answered(engine, question):
    """The answer, once the actors are there again; until then, typed errors."""
    until = time.monotonic() + SECONDS
    while True:
        try:
            return engine.context(question, budget=300).text
        except StoreUnreachableError:
            assert time.monotonic() < until


def test_long_files_and_addresses_under_ray(cluster, folder, tmp_path, postgres_server, monkeypatch):
    """A folder by its path and by an address that fsspec opens, with texts too long to be held, files that no task
    reads and a stream that only this process has: the documents and answers of one file. A long one that changes while
    an actor reads it is left out.
    """
    for module in ("folders", "texts"):
        monkeypatch.setattr(f"brimful.ingest.{module}.LONG_BYTES", 30_000)
    long = "".join(f"Ledger line {number}: nobody paid for the tea.\n" for number in range(4_000))
    (folder / "ledger.txt").write_text(long)
    (folder / "käse.txt").write_bytes(long.replace("tea", "Käse").encode("utf-16"))
    (folder / "blob.bin").write_bytes(bytes(range(256)) * 400)
    settings = SourceSettings(max_whole_bytes=60_000)
    number = next(_numbers)
    places = [tmp_path / "a.db", *(postgres_server.address(f"ray-{number}-{name}") for name in "bc")]
    with brimful.open(tmp_path / "one.db") as file, brimful.open(places, ray=cluster.address) as shards:
        reports = [
            engine.add(place, settings=settings)
            for engine in (file, shards)
            for place in (folder, _elsewhere(folder, tmp_path))
        ]
        for mine, theirs in zip(reports[:2], reports[2:], strict=True):
            assert (mine.added, mine.skipped) == (theirs.added, theirs.skipped)
            assert mine.added > 2
        for engine in (file, shards):
            ingest_stream(engine._store, "stream.txt", io.BytesIO(f"Streamed. {long}".encode()))
            engine.add_text("note.txt", f"Noted. {long}")
            engine.capture(
                "Tea is served at four in the garden. The weather is fine. " * 20, name="visit", model=FakeModel()
            )
        assert [each.path for each in file.documents()] == [each.path for each in shards.documents()]
        for path in ("given/ledger.txt", "given/käse.txt", "copy/ledger.txt", "stream.txt", "note.txt"):
            assert file.document(path).content == shards.document(path).content
        assert shards.captures() == file.captures()
        assert compare([file, shards], seed=33, most=2 * KINDS)

        actor = shards._store._of("given/ledger.txt")
        gone = streamed_file(next(each for each in walk(root_of(folder)) if each.path == "ledger.txt"))
        document = LongDocument.of("given/ledger.txt", gone)
        (folder / "ledger.txt").write_text("Changed.")
        with pytest.raises(Refusal, match="changing"):
            actor.add([Entry(document)])
        assert shards.document("given/ledger.txt").content.decode() == long


def _elsewhere(folder, tmp_path):
    """A copy of a folder, as an address."""
    if not (tmp_path / "copy").exists():
        shutil.copytree(folder, tmp_path / "copy")
    return f"file://{tmp_path}/copy"


def test_the_program_indexes_and_serves_in_a_cluster(cluster, folder, tmp_path, monkeypatch, capsys):
    """`brimful add --ray` and `brimful serve --ray` name the cluster; the answer over HTTP is that of the shards."""
    monkeypatch.chdir(tmp_path)
    assert main(["shard", "add", "a.db", "b.db", "--store", "team.toml"]) == 0
    assert main(["add", str(folder), "--ray", cluster.address, "--store", "team.toml", "--json", "-q"]) == 0
    capsys.readouterr()
    answered = {}

    def ask(address):
        def run():
            body = json.dumps({"question": "Nobody paid the invoice", "budget": 300}).encode()
            asked = Request(f"{address}/v1/context", body, {"Content-Type": "application/json"})
            with urlopen(asked, timeout=SECONDS) as answer:
                answered.update(json.load(answer))
            server.should_exit = True

        threading.Thread(target=run).start()

    server, make = None, shared.make_server

    def made(*given, **named):
        nonlocal server
        server = make(*given, **named)
        return server

    monkeypatch.setattr(shared, "make_server", made)
    serve(place_of("team.toml"), port=0, ready=ask, ray=cluster.address)
    with brimful.open("team.toml") as engine:
        assert answered["text"] == engine.context("Nobody paid the invoice", budget=300).text
