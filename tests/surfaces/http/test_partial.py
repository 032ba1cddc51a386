"""A shard that is down: no answer without it, unless that is asked for; then every answer says so."""

import pytest
from starlette.testclient import TestClient

import brimful
from brimful.store.address import write_list
from brimful.surfaces.http import create_app
from tests.surfaces.http.conftest import problem


@pytest.fixture
def broken(tmp_path):
    """A client of three shards of which one is gone, the name of that one, and all paths."""
    write_list(tmp_path / "team.toml", ["a.db", "b.db", "c.db"])
    with brimful.open(tmp_path / "team.toml") as engine:
        for number in range(30):
            engine.add_text(f"note-{number:02}.md", f"# Note {number}\n\nTea number {number} is served at four.\n")
        every = [each.path for each in engine.documents()]
    (tmp_path / "b.db").rename(tmp_path / "away")
    with (
        brimful.open(tmp_path / "team.toml") as engine,
        TestClient(create_app(engine), base_url="http://localhost") as client,
    ):
        yield client, str(tmp_path / "b.db"), every


def test_nothing_is_answered_in_silence(broken):
    """Questions, lists, maps and citations are refused with 503 and the shard's name; status and metrics say it."""
    client, gone, every = broken
    refused = [
        client.post("/v1/context", json={"question": "tea"}),
        client.post("/v1/search", json={"question": "tea"}),
        client.post("/v1/map", json={}),
        client.post("/v1/cite", json={"place": every[0]}),
        client.get("/v1/documents"),
        client.get("/v1/documents/text", params={"path": every[0]}),
        client.get("/health/ready"),
    ]
    for response in refused:
        assert gone in problem(response, 503, "store.shard_down")
    status = client.get("/v1/status").json()
    assert status["missing_shards"] == [gone]
    assert [each["place"] for each in status["shards"] if each["problem"]] == [gone]
    assert "brimful_store_missing_shards 1\n" in client.get("/metrics").text


def test_partial_answers_say_so(broken):
    """Each names the shards that it goes without; a document that may lie there is not said to be unknown."""
    client, gone, every = broken
    listed = client.get("/v1/documents", params={"partial": True, "limit": 5}).json()
    there = []
    while True:
        assert listed["missing_shards"] == [gone]
        there += [each["path"] for each in listed["documents"]]
        if listed["next"] is None:
            break
        listed = client.get("/v1/documents", params={"partial": True, "limit": 5, "cursor": listed["next"]}).json()
    assert 0 < len(there) < len(every)
    assert client.post("/v1/context", json={"question": "tea", "partial": True}).json()["missing"] == [gone]
    found = client.post("/v1/search", json={"question": "tea", "partial": True}).json()
    assert (found["missing_shards"], found["missing"]) == ([gone], [])
    assert {each["path"] for each in found["hits"]} <= set(there)
    drawn = client.post("/v1/map", json={"partial": True, "question": "tea"}).json()
    assert drawn["missing_shards"] == [gone]
    assert drawn["text"].startswith(f"[PARTIAL: without {gone}]\n")
    lost = next(path for path in every if path not in there)
    for path in (there[0], lost):
        text = client.get("/v1/documents/text", params={"path": path, "partial": True})
        cited = client.post("/v1/cite", json={"place": f"{path}:3", "partial": True})
        if path == lost:
            assert gone in problem(text, 503, "store.shard_down")
            assert gone in problem(cited, 503, "store.shard_down")
        else:
            assert text.json()["text"].startswith("# Note")
            assert cited.json()["text"].startswith("Tea number")


def test_a_whole_corpus_is_never_marked(client):
    """Asked for partial answers, a store that is whole gives whole ones."""
    assert client.get("/v1/documents", params={"partial": True}).json()["missing_shards"] == []
    assert client.get("/v1/status").json()["missing_shards"] == []
    drawn = client.post("/v1/map", json={"partial": True}).json()
    assert drawn["missing_shards"] == []
    assert "PARTIAL" not in drawn["text"]
