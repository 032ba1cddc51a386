import json
import signal
import socket

import httpx2
import pytest

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


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Host": "evil.example"}, 421),
        ({"Origin": "http://evil.example"}, 403),
        ({"Content_Type": "text/plain"}, 415),
        ({"Authorization": "Bearer wrong"}, 401),
        ({"Authorization": ""}, 401),
    ],
)
def test_the_guard_of_the_http_server_stands_before_it(guarded, headers, status):
    """Other hosts, other sites, forms and strangers get nothing (tests/surfaces/http/test_attacks has the rest)."""
    refused = post(guarded, **{"Authorization": f"Bearer {TOKEN}", **headers})
    assert (refused.status_code, "tools" in refused.text) == (status, False)


def test_the_token_opens(guarded):
    """A client of the SDK that sends it gets everything."""
    with Talker(authorised(guarded, TOKEN)) as client:
        assert not client.call_tool("search", {"question": "tea"}).is_error


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
