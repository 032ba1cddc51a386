"""Messages that mean no good: each is answered, within its bounds, and the server goes on."""

import json
import signal
import socket
import time
from contextlib import ExitStack
from urllib.parse import urlsplit

import httpx2
import pytest
from mcp import MCPError

from brimful import limits
from brimful.surfaces.mcp.transports import id_of, refusal_of
from brimful.testing import Fault, ScriptedProvider
from tests.surfaces.mcp.talking import WAIT_SECONDS, http_server, program, start
from tests.surfaces.mcp.test_http import PLAIN, post

NESTED = '{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"search","arguments":{"question":%s}}}'
CALL = {"jsonrpc": "2.0", "id": 8, "method": "tools/call", "params": {"name": "search", "arguments": {}}}
REFUSED = {
    "200 deep": (NESTED % ("[" * 200 + "]" * 200), 7),
    "100,000 deep": (NESTED % ("[" * 100_000 + "]" * 100_000), 7),
    "never closed": (NESTED % ("[" * 5_000), 7),
    "a key twice": ('{"jsonrpc":"2.0","id":7,"id":9,"method":"ping"}', 7),
    "NaN": (NESTED % "NaN", 7),
    "half a character": (NESTED % '"\\ud800"', 7),
    "a number of 5,000 digits": (NESTED % ("9" * 5_000), 7),
    "no method": ('{"jsonrpc":"2.0","id":"seven"}', "seven"),
    "a list": ("[1,2,3]", None),
    "a word": ("tea", None),
    "half a message": ('{"jsonrpc":"2.0","id":7,"met', 7),
}


@pytest.mark.parametrize(("message", "identity"), REFUSED.values(), ids=REFUSED)
def test_every_line_is_answered(store, message, identity):
    """Over stdio: an error under the id that was asked under, and the next request is answered."""
    process = start(program(store))
    ping = b'{"jsonrpc":"2.0","id":99,"method":"ping"}\n'
    process.stdin.write(message.encode() + b"\n" + ping)
    process.stdin.flush()
    found = [json.loads(process.stdout.readline()) for _ in range(2)]
    _, err = process.communicate(timeout=WAIT_SECONDS)
    refused = next(each for each in found if each.get("id") == identity)
    assert refused["error"]["code"] in (-32700, -32600)
    assert "the message is refused" in refused["error"]["message"]
    assert any(each.get("id") == 99 for each in found)
    assert (process.returncode, err) == (0, b"")


def test_a_line_without_an_end_is_not_kept(store):
    """Of a line that is too long no more is read into memory than a message may have; then all goes on."""
    process = start(program(store))
    block = b"x" * (1 << 20)
    for _ in range(limits.MESSAGE_BYTES // len(block) + 2):
        process.stdin.write(block)
    process.stdin.write(b'\n\n{"jsonrpc":"2.0","id":99,"method":"ping"}\n')
    process.stdin.flush()
    found = [json.loads(process.stdout.readline()) for _ in range(2)]
    process.communicate(timeout=WAIT_SECONDS)
    assert found[0]["id"] is None
    assert str(limits.MESSAGE_BYTES) in found[0]["error"]["message"]
    assert found[1]["id"] == 99


@pytest.fixture(scope="module")
def address(store):
    """A server on loopback, without a token."""
    with http_server(store) as found:
        yield found


@pytest.mark.parametrize(("message", "identity"), REFUSED.values(), ids=REFUSED)
def test_every_body_is_answered(address, message, identity):
    """Over HTTP the same, with status 400."""
    answer = post(address, message.encode())
    assert (answer.status_code, answer.json()["id"]) == (400, identity)
    assert post(address, CALL).status_code == 200


@pytest.mark.parametrize("origin", ["http://[::1", "http://[", "null", "http://\x80", "a" * 9_000])
def test_an_origin_that_is_none_is_refused(address, origin):
    """No answer of 500."""
    assert post(address, Origin=origin.encode("latin-1")).status_code == 403


@pytest.mark.parametrize(
    "budget", ["0000000001000000000", "1000000000000000000", "٤٠٠٠", "", "-1", "0", "200001", "1e3", " " * 20 + "5"]
)
def test_a_prompts_budget_is_the_one_that_is_checked(client, budget):
    """A number that is written as text is read once; what is checked is what is used."""
    with pytest.raises(MCPError, match=r"input\.budget: budget is"):
        client.get_prompt("cited_answer", {"question": "tea", "budget": budget})


@pytest.mark.parametrize("budget", ["60", " 60 ", "0060"])
def test_a_budget_with_blanks_and_zeros_is_a_number(client, budget):
    """As people write it."""
    assert client.get_prompt("cited_answer", {"question": "tea", "budget": budget}).messages


def test_slow_clients_keep_nobody_waiting(store):
    """200 half-sent requests, and one that sends half a body: the others are answered."""
    with http_server(store) as address, ExitStack() as stack:
        host, port = urlsplit(address).hostname, urlsplit(address).port
        for _ in range(200):
            made = stack.enter_context(socket.create_connection((host, port), timeout=60))
            made.sendall(b"POST /mcp HTTP/1.1\r\nHost: x\r\nContent-Le")
        assert all(post(address).status_code == 200 for _ in range(5))


def test_a_signal_ends_a_server_whatever_a_provider_does(own, monkeypatch):
    """A capture on an answer that drips has the grace time, and is tried again later."""
    with ScriptedProvider(every=Fault("drip", body="data: x\n\n")) as provider:
        monkeypatch.setenv("OLLAMA_BASE_URL", provider.url)
        process = start(program(own, transport="http"))
        address = process.stdout.readline().decode().strip()
        captured = {"name": "capture", "arguments": {"text": "Tea at four. " * 50, "model": "ollama:scripted"}}
        body = json.dumps({**CALL, "params": captured}).encode()
        head = "\r\n".join(f"{name}: {value}" for name, value in PLAIN.items())
        host, port = urlsplit(address).hostname, urlsplit(address).port
        with socket.create_connection((host, port), timeout=60) as asking:
            request = f"POST /mcp HTTP/1.1\r\nHost: {host}:{port}\r\n{head}\r\nContent-Length: {len(body)}\r\n\r\n"
            asking.sendall(request.encode() + body)
            while not provider.calls:
                time.sleep(0.01)
            process.send_signal(signal.SIGTERM)
            _, err = process.communicate(timeout=60)
    assert process.returncode == -signal.SIGTERM
    assert b"Traceback" not in err
    with pytest.raises(httpx2.ConnectError):
        post(address)


def test_an_id_is_found_without_reading_the_rest():
    """At the top, whatever stands around it; a number or a text that can be written back."""
    assert id_of(b'{"a": {"id": 1}, "b": [{"id": 2}], "c": "\\"id\\": 3", "id" : -4}') == -4
    assert id_of(b'{"id": null}') is None
    assert id_of(b'{"id": "' + b"x" * 500 + b'"}') is None
    assert id_of(b'{"id": ' + b"9" * 500 + b"}") is None
    assert id_of(b'["id", ":", 5]') is None
    assert refusal_of(b'{"jsonrpc": "2.0", "method": "notifications/initialized"}') is None
