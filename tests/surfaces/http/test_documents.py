"""Documents over HTTP: pages of them, their bytes, texts in and out; captures and digests; status."""

import json

import pytest
from starlette.testclient import TestClient

import brimful
from brimful.densify.models import model_for
from brimful.documents.documents import Document
from brimful.errors import DocumentError
from brimful.settings import DensifySettings
from brimful.surfaces import records
from brimful.surfaces.http import create_app
from tests.surfaces.http.conftest import problem


def pages(client, address, limit):
    """All items of a list, page by page."""
    found, cursor = [], None
    while True:
        parameters = {"limit": limit} | ({"cursor": cursor} if cursor else {})
        page = client.get(address, params=parameters).json()
        found += page[address.rpartition("/")[2]]
        assert len(page[address.rpartition("/")[2]]) <= limit
        if page["next"] is None:
            return found, page["total"]
        cursor = page["next"]


@pytest.mark.parametrize("limit", [1, 2, 1_000])
def test_pages_list_every_document_once(client, engine, limit):
    """By path, whatever the size of a page."""
    found, total = pages(client, "/v1/documents", limit)
    assert [each["path"] for each in found] == list(engine.columns.documents.paths)
    assert total == len(found)


def test_a_page_goes_on_where_the_last_one_ended(client):
    """What was added or removed meanwhile does not make others appear twice or vanish."""
    first = client.get("/v1/documents", params={"limit": 2}).json()
    paths = [each["path"] for each in first["documents"]]
    texts = [{"path": name, "text": "Later."} for name in ("!before.md", "~after.md")]
    client.post("/v1/documents", json={"documents": texts})
    second = client.get("/v1/documents", params={"limit": 1_000, "cursor": first["next"]}).json()
    rest = [each["path"] for each in second["documents"]]
    assert not set(paths) & set(rest)
    assert "~after.md" in rest
    assert "!before.md" not in rest
    assert client.delete("/v1/documents", params={"path": ["!before.md", "~after.md"]}).json()["removed"] == 2


def test_a_text_goes_in_and_out(client, engine):
    """Stored, found and read as it was sent, byte by byte; then forgotten."""
    text = "The gnu is naïve.\r\nTabs\tand \u2028 stay. 😀\n"
    added = client.post("/v1/documents", json={"documents": [{"path": "a/gnu.md", "text": text, "time": 60}]}).json()
    assert added == {"added": 1, "root": engine.root}
    assert client.post("/v1/search", json={"question": "gnu"}).json()["hits"][0]["path"] == "a/gnu.md"
    whole = client.get("/v1/documents/text", params={"path": "a/gnu.md"}).json()
    assert whole["text"] == text
    assert (whole["start"], whole["end"], whole["next_start"]) == (0, len(text.encode()), None)
    part = client.get("/v1/documents/text", params={"path": "a/gnu.md", "start": 4, "end": 7}).json()
    assert part["text"] == "gnu"
    wider = client.get("/v1/documents/text", params={"path": "a/gnu.md", "start": 4, "end": 7, "around": 7}).json()
    assert wider["text"] == "The gnu is na"
    assert client.delete("/v1/documents", params={"path": "a/gnu.md"}).json()["removed"] == 1
    problem(client.get("/v1/documents/text", params={"path": "a/gnu.md"}), 404, "request.not_found")
    assert client.delete("/v1/documents", params={"path": "a/gnu.md"}).json()["removed"] == 0


def test_a_long_document_is_read_in_pieces(limited, engine):
    """At most so many bytes at once, whole characters, until nothing is left."""
    engine.add_text("long.md", "Größe " * 500)
    with limited(passage_bytes=1_000) as client:
        text, start = "", 0
        while start is not None:
            part = client.get("/v1/documents/text", params={"path": "long.md", "start": start}).json()
            assert 0 < len(part["text"].encode()) <= 1_000
            text, start = text + part["text"], part["next_start"]
    assert text == "Größe " * 500
    engine.remove("long.md")


@pytest.mark.parametrize(
    ("parameters", "status", "code", "said"),
    [
        ({"path": "tea.md", "start": 9_999}, 422, "input.span", "tea.md"),
        ({"path": "tea.md", "start": 5, "end": 4}, 422, "input.span", "tea.md"),
        ({"path": "tea.md", "start": -1}, 422, "request.invalid", "greater than or equal to 0"),
        ({"path": "tea.mb"}, 404, "request.not_found", "tea.md"),
        ({"path": ""}, 422, "request.invalid", "at least 1 character"),
        ({}, 422, "request.invalid", "query.path"),
        ({"path": "tea.md", "strat": 1}, 422, "request.invalid", "did you mean 'start'"),
    ],
)
def test_a_wrong_place_is_named(client, parameters, status, code, said):
    """Ranges that are not there, paths that are not there, with close ones, parameters that are none."""
    assert said in problem(client.get("/v1/documents/text", params=parameters), status, code)


def test_what_the_client_has_is_not_sent_again(client, engine):
    """ETags are the state root and a hash of the answer; 304 until the store changes."""
    for address in ("/v1/status", "/v1/documents", "/v1/documents/text?path=tea.md", "/v1/captures", "/"):
        first = client.get(address)
        again = client.get(address, headers={"if-none-match": f'"x", {first.headers["etag"]}'})
        assert (again.status_code, again.content) == (304, b"")
        assert again.headers["etag"] == first.headers["etag"]
    tag = client.get("/v1/documents").headers["etag"]
    assert engine.root[:32] in tag
    engine.add_text("new.md", "New.")
    assert client.get("/v1/documents", headers={"if-none-match": tag}).status_code == 200
    engine.remove("new.md")


def test_a_digest_is_the_engines(client, engine):
    """The engine's own digest as JSON, however its length is asked for."""
    body = {"path": "tea.md", "target_tokens": 20}
    plain = client.post("/v1/densify", json=body)
    made = engine.densify(engine.document("tea.md"), settings=DensifySettings(target_tokens=20))
    assert plain.json() == json.loads(records.as_json(records.digest_record(made)))
    named = {"path": "tea.md", "set": {"densify.target_tokens": 20}}
    assert client.post("/v1/densify", json=named).json() == plain.json()


def test_only_models_that_the_server_allows_condense(client):
    """A name may hold an address of the inner network, or cost money: it is refused before anything is sent."""
    for name in ("http://169.254.169.254/latest#x", "openai:gpt-4o", "http://localhost:1/v1#x"):
        assert model_for(name)  # a name that the library knows
        body = {"text": "Tea.", "model": name}
        assert "choices: extractive:" in problem(client.post("/v1/densify", json=body), 422, "input.choice")
        problem(client.post("/v1/captures", json=body), 422, "input.choice")
        problem(client.post("/v1/context", json={"question": "tea", "densify": name}), 422, "input.choice")


def test_a_capture_is_kept_listed_and_searched(client):
    """Captured under any name, found as a document, listed in pages, tried again without harm."""
    name = "notes/März #1?&.."
    made = client.post("/v1/captures", json={"text": "The quokka smiles. It rains.", "name": name}).json()
    assert (made["status"], made["path"]) == ("done", f"capture:{name}")
    assert client.get("/v1/captures/one", params={"name": name}).json() == made
    assert client.post("/v1/captures/retry", json={"name": name}).json() == made
    assert client.post("/v1/search", json={"question": "quokka"}).json()["hits"][0]["path"] == f"capture:{name}"
    client.post("/v1/captures", json={"text": "Another."})
    found, total = pages(client, "/v1/captures", 1)
    assert len(found) == total == 2
    problem(client.get("/v1/captures/one", params={"name": "none"}), 404, "request.not_found")
    problem(client.post("/v1/captures/retry", json={"name": "none"}), 404, "request.not_found")


def test_status_has_what_a_page_needs(client, engine):
    """Counts, state, choices, limits and defaults."""
    record = client.get("/v1/status").json()
    assert record["documents"] == len(engine.columns.documents)
    assert record["root"] == engine.root
    for name, choice in {
        "formats": "plain",
        "sizings": "field",
        "strategies": "adjacent",
        "packings": "greedy",
    }.items():
        assert choice in record["choices"][name]
    assert {"gpt-4o", "o200k_base", "claude"} <= set(record["choices"]["models"])
    assert record["defaults"]["budget"] == 4_000


def test_health_and_metrics(client, engine):
    """Alive, ready, and counted: routes are templates, so that no request makes a line of its own."""
    assert client.get("/health/live").json() == {"status": "live"}
    assert client.get("/health/ready").json() == {"status": "ready"}
    made = client.post("/v1/context", json={"question": "tea", "budget": 50}).json()
    client.get(f"/v1/receipts/{made['receipt']}")
    client.get("/no/such/%00thing")
    text = client.get("/metrics").text
    assert 'brimful_requests_total{route="/v1/receipts/{id}",method="GET",status="200"} ' in text
    assert made["receipt"] not in text
    assert f"brimful_store_documents {len(engine.columns.documents)}\n" in text
    assert 'brimful_request_seconds_bucket{route="/v1/context",le="+Inf"}' in text
    counted = dict(line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#"))
    assert int(counted["brimful_context_tokens_total"]) >= made["tokens"]


def test_a_file_of_a_folder_keeps_its_path(tmp_path):
    """A text can't take it, over HTTP or in Python; nothing of such a request is stored, and no place is told."""
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "tea.md").write_text("Tea is at four.\n", encoding="utf-8")
    with brimful.open(tmp_path / "store.db") as engine:
        engine.add(tmp_path / "docs")
        path = engine.columns.documents.paths[0]
        with TestClient(create_app(engine), base_url="http://localhost") as client:
            texts = [{"path": "own.md", "text": "Mine."}, {"path": path, "text": "Tea is never."}]
            detail = problem(client.post("/v1/documents", json={"documents": texts}), 422, "input.document")
            assert "give the text another path" in detail
            assert str(tmp_path) not in detail
            assert client.get("/v1/documents/text", params={"path": path}).json()["text"] == "Tea is at four.\n"
            assert client.post("/v1/documents", json={"documents": texts[:1]}).json()["added"] == 1
            assert client.post("/v1/documents", json={"documents": texts[:1]}).status_code == 200  # one's own, again
        for add in (
            lambda: engine.add_text(path, "Tea is never."),
            lambda: engine.add_documents(iter([Document(path, "Tea is never.")])),
        ):
            with pytest.raises(DocumentError, match="file in an added folder"):
                add()
        assert engine.document(path).content == b"Tea is at four.\n"
