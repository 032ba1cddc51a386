"""Messages that mean no good: each is answered, within its bounds, and the server goes on."""

import json
import signal
import socket
import time
from urllib.parse import urlsplit

import httpx2
import pytest

from brimful import limits
from brimful.testing import Fault, ScriptedProvider
from tests.surfaces.mcp.talking import WAIT_SECONDS, http_server, program, start
from tests.surfaces.mcp.test_http import PLAIN, post

NESTED = '{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"search","arguments":{"question":%s}}}'
CALL = {"jsonrpc": "2.0", "id": 8, "method": "tools/call", "params": {"name": "search", "arguments": {}}}
REFUSED = {
    "200 deep": NESTED % ("[" * 200 + "]" * 200),
    "100,000 deep": NESTED % ("[" * 100_000 + "]" * 100_000),
    "never closed": NESTED % ("[" * 5_000),
    "a key twice": '{"jsonrpc":"2.0","id":7,"id":9,"method":"ping"}',
    "NaN": NESTED % "NaN",
    "half a character": NESTED % '"\\ud800"',
    "a number of 5,000 digits": NESTED % ("9" * 5_000),
    "no method": '{"jsonrpc":"2.0","id":"seven"}',
    "a list": "[1,2,3]",
    "a word": "tea",
    "half a message": '{"jsonrpc":"2.0","id":7,"met',
}


@pytest.mark.parametrize("message", REFUSED.values(), ids=REFUSED)
def test_every_line_is_answered(store, message):
    """Over stdio: an error without an id, since what can't be read has none; the next request is answered."""
    process = start(program(store))
    ping = b'{"jsonrpc":"2.0","id":99,"method":"ping"}\n'
    process.stdin.write(message.encode() + b"\n" + ping)
    process.stdin.flush()
    found = [json.loads(process.stdout.readline()) for _ in range(2)]
    _, err = process.communicate(timeout=WAIT_SECONDS)
    refused = next(each for each in found if each.get("id") is None)
    assert refused["error"]["code"] == -32700
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


@pytest.mark.parametrize("message", REFUSED.values(), ids=REFUSED)
def test_every_body_is_answered(address, message):
    """Over HTTP status 400 says so."""
    assert post(address, message.encode()).status_code == 400
    assert post(address, CALL).status_code == 200


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
