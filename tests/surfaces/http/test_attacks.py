"""A hostile corpus and a hostile client: each is refused, or stays what it is."""

import json
import socket

import pytest

import brimful
from brimful import parse
from brimful.errors import InputError
from brimful.settings import FORMATS
from brimful.surfaces.guard import PAGE_POLICY, is_served
from brimful.surfaces.http import ServeSettings, serve
from tests.surfaces.conftest import HOSTILE_NAME, HOSTILE_TEXT, PAGES
from tests.surfaces.http.conftest import FORGED, SCRIPT, listening, problem

JSON = {"content-type": "application/json"}
ASK = {"question": "tea"}


def post(client, body, **headers):
    """A body as it is, sent as JSON."""
    return client.post("/v1/search", content=body, headers=JSON | headers)


# ---- what documents say


def test_a_document_can_not_forge_a_header(client):
    """Lines that look like ours come back as the document's own, in every format."""
    for form in FORMATS:
        record = client.post("/v1/context", json={"question": "walrus", "format": form}).json()
        shown = parse(record["payload"] or record["text"], format=form)
        assert [(each.path, each.text) for each in shown] == [("forged.md", FORGED)]


def test_a_name_can_not_forge_a_line(client):
    """Newlines and escapes of a name are written out in the header; JSON has the name as it is."""
    record = client.post("/v1/context", json={"question": "zebra"}).json()
    header, _, text = record["text"].partition("\n")
    assert "\x1b" not in header
    assert HOSTILE_TEXT.strip() in text
    assert record["windows"][0]["path"] == HOSTILE_NAME


def test_a_script_in_a_document_is_text_in_json(client):
    """Never HTML: the type says JSON, nobody may guess another, and nothing of it could run or load."""
    name = "<img src=x onerror=alert(1)>.md"
    asked = client.post("/v1/context", json={"question": "otter"})
    read = client.get("/v1/documents/text", params={"path": name})
    for response in (asked, read, client.get("/v1/documents")):
        assert response.headers["content-type"] == "application/json"
        assert response.headers["x-content-type-options"] == "nosniff"
        assert response.headers["content-security-policy"].startswith("default-src 'none'")
    assert read.json()["text"] == SCRIPT


def test_a_name_can_not_forge_a_header_of_http(client):
    """Whatever a path or a capture's name holds, the response has no header of its own."""
    name = "a\r\nSet-Cookie: owned=1\r\n\r\n<html>"
    sent = client.post("/v1/documents", json={"documents": [{"path": name, "text": "The newt."}]})
    read = client.get("/v1/documents/text", params={"path": name})
    gone = client.delete("/v1/documents", params={"path": name})
    missing = client.get("/v1/documents/text", params={"path": name})
    assert read.json()["path"] == name
    assert all("set-cookie" not in response.headers for response in (sent, read, gone, missing))


# ---- files


def test_a_path_is_a_name_and_no_place(client, tmp_path, monkeypatch):
    """A path is stored as a name: no file is made or read; one that leads up is refused."""
    monkeypatch.chdir(tmp_path)
    upwards = {"documents": [{"path": "../../outside.md", "text": "Mine."}]}
    problem(client.post("/v1/documents", json=upwards), 422, "input.document")
    for path in (f"{tmp_path}/absolute.md", "/etc/passwd", "C:\\x", "file:///etc/passwd"):
        problem(client.get("/v1/documents/text", params={"path": path}), 404, "request.not_found")
        assert client.post("/v1/documents", json={"documents": [{"path": path, "text": "Mine."}]}).json()["added"] == 1
        assert client.get("/v1/documents/text", params={"path": path}).json()["text"] == "Mine."
        assert client.delete("/v1/documents", params={"path": path}).json()["removed"] == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "path",
    [
        "/assets/../app.py",
        "/assets/%2e%2e/%2e%2e/guard.py",
        "/assets/..%2f..%2fguard.py",
        "/assets//etc/passwd",
        "/assets/%00",
        "/assets/.",
        "/assets/",
        "//etc/passwd",
        "/%2e%2e/%2e%2e/etc/passwd",
    ],
)
def test_no_request_names_a_file(engine, path):
    """What the page needs was read at the start; nothing else is served, however it is written."""
    with listening(engine) as address:
        host, port = address.removeprefix("http://").split(":")
        status, body = raw(host, port, f"GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n")
    assert status == 404
    assert b"root:" not in body
    assert b"import" not in body


def test_folders_can_not_be_added(client):
    """Only texts come in: there is no field and no address for a place on the server's disk."""
    for body in ({"place": "/etc"}, {"documents": [{"path": "/etc/passwd"}]}, {"paths": ["/etc/passwd"]}):
        problem(client.post("/v1/documents", json=body), 422, "request.invalid")
    problem(client.post("/v1/add", json={"place": "/etc"}), 404, "request.not_found")


def test_a_link_out_of_a_folder_is_not_followed(tmp_path):
    """What a served folder links to outside of itself is not in the store, and so not to be had over HTTP."""
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret" / "key.md").write_text("The secret heron.", encoding="utf-8")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "tea.md").write_text(PAGES["tea.md"], encoding="utf-8")
    (tmp_path / "folder" / "link.md").symlink_to(tmp_path / "secret" / "key.md")
    (tmp_path / "folder" / "more").symlink_to(tmp_path / "secret", target_is_directory=True)
    with brimful.open(tmp_path / "store.db") as engine:
        engine.add(tmp_path / "folder")
        assert list(engine.columns.documents.paths) == ["folder/tea.md"]
        assert engine.context("heron").text == ""


# ---- who asks


@pytest.mark.parametrize(
    "host",
    ["evil.example", "localhost.evil.example", "evil.example:8080", "127.0.0.1.nip.io", "a@localhost", "", "10.0.0.1"],
)
def test_a_name_that_was_bent_to_this_machine_is_refused(client, host):
    """DNS rebinding: the browser sends the other site's name, which is none of the server's."""
    detail = problem(client.post("/v1/search", json=ASK, headers={"host": host}), 421, "request.host")
    assert "use its own" in detail
    assert client.get("/", headers={"host": host}).status_code == 421


@pytest.mark.parametrize(
    "host", ["localhost", "LOCALHOST:80", "127.0.0.1:8080", "[::1]:8080", "127.0.0.53", "localhost."]
)
def test_the_servers_own_names_are_fine(client, host):
    """Every name of this machine's loopback, with any port."""
    assert client.get("/health/live", headers={"host": host}).status_code == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "http://evil.example"},
        {"origin": "null"},
        {"origin": "https://localhost.evil.example"},
        {"origin": "http://localhost:9999"},
        {"origin": "file://localhost"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
    ],
)
def test_a_page_of_another_site_can_not_ask(client, headers):
    """Neither to read nor to write, and no answer invites it."""
    before = client.get("/v1/status").json()["root"]
    sent = {"documents": [{"path": "evil.md", "text": "Owned."}]}
    response = client.post("/v1/documents", json=sent, headers=headers)
    problem(response, 403, "request.origin")
    assert not [name for name in response.headers if name.startswith("access-control")]
    problem(client.get("/v1/documents", headers=headers), 403, "request.origin")
    problem(client.delete("/v1/documents", params={"path": "tea.md"}, headers=headers), 403, "request.origin")
    assert client.get("/v1/status").json()["root"] == before


def test_a_preflight_is_not_granted(client):
    """OPTIONS from another site gets no leave; from the own page there is nothing to grant."""
    asked = {"origin": "http://evil.example", "access-control-request-method": "POST"}
    problem(client.options("/v1/context", headers=asked), 403, "request.origin")
    own = client.options("/v1/context", headers={"origin": "http://localhost"})
    problem(own, 405, "request.method")
    assert own.headers["allow"] == "POST"


def test_the_servers_own_page_may_ask(client):
    """The same origin, as a browser says it."""
    headers = {"origin": "http://localhost", "sec-fetch-site": "same-origin"}
    assert client.post("/v1/search", json=ASK, headers=headers).status_code == 200


def test_a_link_from_elsewhere_opens_the_page(client):
    """A person may follow a link to the page itself; its policy lets nothing in from elsewhere."""
    response = client.get("/", headers={"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"})
    assert response.status_code == 200
    assert response.headers["content-security-policy"] == PAGE_POLICY
    assert response.headers["referrer-policy"] == "no-referrer"


def test_a_question_in_the_query_goes_behind_the_hash(client):
    """A browser's search field asks `/?q=…`; nothing of it leaves the line that it is written on."""
    response = client.get("/?q=tea%0d%0aSet-Cookie:+a=b&budget=80", follow_redirects=False)
    assert response.status_code == 303
    assert response.headers["location"] == "/#q=tea%0d%0aSet-Cookie:+a=b&budget=80"
    assert "set-cookie" not in response.headers
    assert client.get("/?utm_source=mail").status_code == 200


@pytest.mark.parametrize(
    "kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "", "text/json"]
)
def test_only_json_is_accepted(client, kind):
    """What a form of another site could send without asking is no body here."""
    response = client.post("/v1/search", content=b'{"question":"tea"}', headers={"content-type": kind})
    assert "application/json" in problem(response, 415, "request.media_type")


def test_other_encodings_are_refused(client):
    """A compressed body could be larger than it looks; another charset could say something else."""
    problem(post(client, b"{}", **{"content-encoding": "gzip"}), 415, "request.media_type")
    problem(post(client, b"{}", **{"content-type": "application/json; charset=utf-7"}), 415, "request.media_type")


def test_beyond_loopback_a_token_is_needed(tmp_path):
    """The server does not start without one, nor with one that could be guessed."""
    for host in ("0.0.0.0", "::", "192.168.0.1", "example.org", ""):
        with pytest.raises(InputError, match="needs a token"):
            serve(tmp_path / "store.db", host=host)
    for token in ("short", "", "with blanks in between", "ünïcödé-tokens-are-not"):
        with pytest.raises(InputError, match="16 or more"):
            ServeSettings(token=token)
    assert list(tmp_path.iterdir()) == []


def test_the_token_is_asked_of_everything_but_the_page_and_health(limited):
    """Without it, with a part of it, or with another: 401 and how to send it; nothing is told."""
    token = "correct-horse-battery"
    with limited(token=token) as client:
        for given in ({}, {"authorization": f"Bearer {token[:-1]}"}, {"authorization": f"Basic {token}"}):
            for address in ("/v1/status", "/v1/documents", "/metrics", "/openapi.json", "/v1/nothing"):
                response = client.get(address, headers=given)
                problem(response, 401, "request.token")
                assert response.headers["www-authenticate"].startswith("Bearer")
            problem(client.post("/v1/search", json=ASK, headers=given), 401, "request.token")
        assert client.get("/health/live").status_code == client.get("/").status_code == 200
        good = {"authorization": f"Bearer {token}"}
        assert client.post("/v1/search", json=ASK, headers=good).status_code == 200
        problem(client.get("/v1/status", headers={**good, "host": "evil.example"}), 421, "request.host")


def test_beyond_loopback_names_must_be_known():
    """An address can't be bent, a name can: only those that were given."""
    settings = ServeSettings(host="0.0.0.0", token="correct-horse-battery", hosts=("Brim.example",))
    assert [is_served(name, settings) for name in ("192.168.0.9", "brim.example", "evil.example")] == [
        True,
        True,
        False,
    ]


# ---- what is sent


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b'{"question": NaN}', "NaN is not a number in JSON"),
        (b'{"question": "tea", "limit": Infinity}', "Infinity is not a number"),
        (b'{"question": "tea", "limit": -Infinity}', "-Infinity is not a number"),
        (b'{"question": "tea", "limit": 1e999}', "beyond what a number can hold"),
        (b'{"question": "tea", "limit": ' + b"9" * 5_000 + b"}", "5000 digits"),
        (b'{"question": "tea", "question": "coffee"}', "'question' stands there twice"),
        (b'{"question": "tea", "limit": {"a": 1, "a": 2}}', "'a' stands there twice"),
        (b"[" * 100_000, "nested 100000 deep"),
        (b'{"a":' * 65 + b"1" + b"}" * 65, "nested 65 deep"),
        (b'{"question": "\\ud800"}', "half of a surrogate pair"),
        (b'{"question": "tea", "\\udfff": 1}', "half of a surrogate pair"),
        (b'{"question": "\xff"}', "not UTF-8"),
        ('{"question": "tea"}'.encode("utf-16"), "not UTF-8"),
        (b'{"question": "tea"} {}', "Extra data"),
        (b'{"question": "tea",}', "send one JSON object"),
        (b"{'question': 'tea'}", "send one JSON object"),
        (b'{"question": "te\x00a"}', "send one JSON object"),
        (b"tea", "send one JSON object"),
    ],
)
def test_json_that_readers_disagree_about_is_refused(client, body, said):
    """Clearly, and before anything of it is understood."""
    assert said in problem(post(client, body), 400, "request.json")


@pytest.mark.parametrize(
    "body",
    [
        b'{"question": "' + b'\\"' * 500_000,
        b'"' * 1_000_000,
        b'{"a":"' * 200_000,
        b"{" + b",".join(b'"k%d":1' % number for number in range(100_000)) + b',"k99999":2}',
    ],
)
def test_a_body_is_read_once(client, body):
    """Quotes that never close, or many keys, are refused in time that grows with the body and no faster."""
    problem(post(client, body), 400, "request.json")


def test_brackets_in_a_text_are_no_nesting(client):
    """A question full of brackets, quotes and backslashes is a question."""
    question = '[{"\\' * 500 + "tea 😀"
    assert post(client, json.dumps({"question": question}).encode()).status_code == 200


def test_an_empty_body_is_named(client):
    """Nothing sent is a missing body, not a failure."""
    assert "body: Field required" in problem(post(client, b""), 422, "request.invalid")


def test_a_huge_body_is_refused_before_it_is_read(engine):
    """By its announced length, and without one as soon as it is too long."""
    with listening(engine, body_bytes=10_000) as address:
        host, port = address.removeprefix("http://").split(":")
        start = f"POST /v1/search HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\nConnection: close\r\n"
        status, body = raw(host, port, f"{start}Content-Length: 999999999999\r\n\r\n")
        assert (status, json.loads(body)["code"]) == (413, "request.too_large")
        parts = f"{start}Transfer-Encoding: chunked\r\n\r\n" + f"1000\r\n{'x' * 4096}\r\n" * 3
        status, body = raw(host, port, parts)
        assert status == 413
        status, _ = raw(host, port, f"{start}Content-Length: -5\r\n\r\n{{}}")
        assert status == 400


def test_two_hosts_are_no_host(engine):
    """A second Host header could be read by another program than the first."""
    with listening(engine) as address:
        host, port = address.removeprefix("http://").split(":")
        sent = f"GET /v1/status HTTP/1.1\r\nHost: {host}\r\nHost: evil.example\r\nConnection: close\r\n\r\n"
        assert raw(host, port, sent)[0] in (400, 421)


@pytest.mark.parametrize(
    "question",
    [
        "' OR 1=1; DROP TABLE documents; --",
        'tea" AND "x',
        'path:* kind:prose after:0000 before:9999-99-99 -path:"',
        "secret:1 store:/etc/passwd root:x rowid:1 tea",
        "tea NEAR/3 coffee ^tea tea~9 te?a te[a-z]a (((((",
        "path:[[[[ path:*{a,b} path:\\ tea",
        "*" * 9_000,
        '"' * 9_000,
        "-" * 9_000 + "tea",
        "path:" + "[" * 900 + " tea",
        "path:" + "*a" * 400 + "b tea",
        "\x00\x01\x7f tea \u202e",
        "((a+)+)+$ tea",
    ],
)
def test_no_question_is_code(client, engine, question):
    """Query signs, SQL, globs and expressions are words or filters; the documents stay what they are."""
    before = engine.root
    response = client.post("/v1/context", json={"question": question, "budget": 100})
    assert response.status_code == 200
    assert response.json()["tokens"] <= 100
    assert client.post("/v1/search", json={"question": question}).status_code == 200
    assert engine.root == before


@pytest.mark.parametrize(
    "key", ["paths", "kind[]", "__proto__", "constructor", "filter[path]", "$where", "limit ", "LIMIT"]
)
def test_a_filter_key_of_ones_own_is_refused(client, key):
    """Fields and parameters come from a list; what is not on it is refused, not passed over."""
    assert "unknown field" in problem(client.post("/v1/search", json={**ASK, key: "x"}), 422, "request.invalid")
    assert "unknown parameter" in problem(client.get("/v1/documents", params={key: "x"}), 422, "request.invalid")


@pytest.mark.parametrize("key", ["path", "kind"])
def test_a_filter_of_a_search_is_none_of_a_listing(client, key):
    """What one route takes, another refuses all the same."""
    assert "unknown parameter" in problem(client.get("/v1/documents", params={key: "x"}), 422, "request.invalid")
    assert client.get("/v1/status", params={key: "x"}).status_code == 422


def raw(host, port, text):
    """What a server answers to exactly these bytes: status and body."""
    with socket.create_connection((host, int(port)), timeout=60) as connection:
        connection.sendall(text.encode())
        answer = b""
        while block := connection.recv(65_536):
            answer += block
    head, _, body = answer.partition(b"\r\n\r\n")
    return int(head.split()[1]), body
