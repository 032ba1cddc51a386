"""Three shards served by Ray on two nodes: the same bytes as one store, files indexed by tasks, a node that dies."""

import json
import threading
import time
from itertools import count
from urllib.request import Request, urlopen

import pytest

import brimful
from brimful.errors import InputError, StoreUnreachableError
from brimful.store.opening import place_of
from brimful.surfaces import serving as shared
from brimful.surfaces.cli import main
from brimful.surfaces.http import serve

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
    number = next(_numbers)
    places = [tmp_path / "a.db", *(postgres_server.address(f"ray-{number}-{name}") for name in "bc")]
    with brimful.open(tmp_path / "one.db") as file, brimful.open(places, ray=cluster.address) as shards:
        assert file.add(folder).added == shards.add(folder).added
        assert {shard.documents > 0 for shard in shards.shards} == {True}
        nodes = {_node(store) for store in shards._store._all()}
        assert len(nodes) == 2
        assert compare([file, shards], seed=31, most=12 * KINDS) > 6 * KINDS

        gone = cluster.list_all_nodes()[1]
        cluster.remove_node(gone)
        assert _answered(shards, "Nobody paid the invoice") == file.context("Nobody paid the invoice", budget=300).text
        assert {_node(store) for store in shards._store._all()} == nodes - {gone.node_id}
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
