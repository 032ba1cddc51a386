import json
import signal
import socket

import httpx2
import pytest

from brimful.errors import SettingError
from brimful.surfaces.access import ServeSettings
from tests.surfaces.mcp.talking import WAIT_SECONDS, Talker, authorised, http_server, program, start

LIST = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
PLAIN = {
    "Accept": "application/json, text/event-stream",
    "Content-Type": "application/json",
    "MCP-Protocol-Version": "2025-06-18",
}
TOKEN = "a-token-of-printable-characters"


@pytest.fixture(scope="module")
def address(store):
    """A server on loopback, without a token."""
    with http_server(store) as found:
        yield found


@pytest.fixture(scope="module")
def guarded(store):
    """A server on all addresses, with a token."""
    with http_server(store, host="0.0.0.0", token=TOKEN) as found:
        yield found.replace("0.0.0.0", "127.0.0.1")


def post(address, body=LIST, **headers):
    """A request by hand."""
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    given = {**PLAIN, **{name.replace("_", "-"): value for name, value in headers.items()}}
    return httpx2.post(address, content=content, headers=given, timeout=WAIT_SECONDS)


def test_a_request_by_hand_is_answered(address):
    """Plain JSON, no session to keep: one request is enough."""
    answer = post(address)
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("application/json")
    assert len(answer.json()["result"]["tools"]) == 5
    assert "mcp-session-id" not in answer.headers
    assert "server" not in answer.headers


@pytest.mark.parametrize("host", ["evil.example", "evil.example:{port}", "localhost:{port}.evil.example", ""])
def test_another_host_is_refused(address, host):
    """DNS rebinding: a name that is not this server's gets nothing."""
    port = address.rpartition(":")[2].partition("/")[0]
    assert post(address, Host=host.format(port=port)).status_code in (400, 421)


def test_this_machines_names_are_let_in(address):
    """The loopback address has three names."""
    port = address.rpartition(":")[2].partition("/")[0]
    for name in ("127.0.0.1", "localhost", "[::1]"):
        assert post(address, Host=f"{name}:{port}", Origin=f"http://{name}:{port}").status_code == 200


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "http://127.0.0.1:1", "http://localhost", "https://x"]
)
def test_another_origin_is_refused(address, guarded, origin):
    """Cross-site requests: a page of another origin gets nothing, with a token or without."""
    assert post(address, Origin=origin).status_code == 403
    assert post(guarded, Origin=origin, Authorization=f"Bearer {TOKEN}").status_code == 403


def test_only_json_is_taken(address):
    """What a form of a page can send is no request."""
    assert post(address, Content_Type="text/plain").status_code in (400, 415)
    assert post(address, b'{"half').status_code == 400
    half_a_pair = {**LIST, "method": "tools/call", "params": {"name": "search", "arguments": {"question": "\ud800"}}}
    assert post(address, half_a_pair).status_code == 400
    assert post(address, b"x" * (9 << 20)).status_code == 413
    assert httpx2.get(address.replace("/mcp", "/"), timeout=WAIT_SECONDS).status_code == 404
    assert post(address).status_code == 200


@pytest.mark.parametrize(
    "given", [None, "", "Bearer", "Bearer wrong", f"Basic {TOKEN}", f"Bearer {TOKEN}x", "Bearer é"]
)
def test_the_token_is_needed(guarded, given):
    """Without it, or with another, nothing is said but that it is needed."""
    refused = post(guarded, **({} if given is None else {"Authorization": given.encode()}))
    assert refused.status_code == 401
    assert refused.headers["www-authenticate"].startswith("Bearer ")
    assert "tools" not in refused.text


def test_the_token_opens(guarded):
    """A client of the SDK that sends it gets everything."""
    with Talker(authorised(guarded, TOKEN)) as client:
        assert not client.call_tool("search", {"question": "tea"}).is_error


@pytest.mark.parametrize(
    ("host", "token", "message"),
    [
        ("0.0.0.0", None, "needs a token"),
        ("::", None, "needs a token"),
        ("192.0.2.7", None, "needs a token"),
        ("example.org", None, "needs a token"),
        ("127.0.0.1", "", "16 or more"),
        ("127.0.0.1", "two\nlines", "16 or more"),
        ("0.0.0.0", "x", "BRIMFUL_TOKEN"),
        ("0.0.0.0", "short-by-one-ab", "15 characters"),
    ],
)
def test_an_address_that_is_not_safe_is_refused(host, token, message):
    """Beyond loopback strangers could ask: not without a token."""
    with pytest.raises(SettingError, match=message):
        ServeSettings(host=host, token=token)


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.8.8", "::1", "localhost"])
def test_loopback_needs_no_token(host):
    """Only this machine's own programs reach it."""
    ServeSettings(host=host)


def test_a_port_that_is_taken(store):
    """The error names the address and the remedy; nothing is served elsewhere instead."""
    with socket.create_server(("127.0.0.1", 0)) as other:
        process = start(program(store, transport="http", port=other.getsockname()[1]))
        out, err = process.communicate(timeout=WAIT_SECONDS)
    assert (process.returncode, out) == (1, b"")
    assert b"can't be listened on" in err


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_server(store, number):
    """It stops listening and ends by that signal, without a traceback of the server's own."""
    process = start(program(store, transport="http"))
    address = process.stdout.readline().decode().strip()
    assert post(address).status_code == 200
    process.send_signal(number)
    _, err = process.communicate(timeout=WAIT_SECONDS)
    assert process.returncode == -number
    assert b"ERROR" not in err
    with pytest.raises(httpx2.ConnectError):
        post(address)


def test_a_restart_is_not_noticed(own):
    """There are no sessions: what a client began with one server it goes on with at the next."""
    with http_server(own) as address:
        client = Talker(address, mode="legacy").__enter__()
        before = client.call_tool("search", {"question": "tea"})
    port = int(address.rpartition(":")[2].partition("/")[0])
    with http_server(own, port=port), client:
        assert client.call_tool("search", {"question": "tea"}) == before
