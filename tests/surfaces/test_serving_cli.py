"""`brimful serve` and `brimful mcp`, with stand-ins for what they start."""

import json
import os
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path
from types import SimpleNamespace

import pytest


@pytest.fixture
def started(monkeypatch):
    """What was started, by surface."""
    calls = {}

    def stand_in(name):
        def serve(store, *, ready=None, **options):
            calls[name] = {"store": store, **options}
            if ready is not None:
                ready(f"http://{options['host']}:{options['port']}/")

        return SimpleNamespace(serve=serve)

    for name in ("http", "mcp"):
        monkeypatch.setitem(sys.modules, f"brimful.surfaces.{name}", stand_in(name))
    return calls


def test_paths_are_indexed_before_http_starts(brimful, corpus, started):
    """The store of the paths is served on loopback, without a token; the address stands on standard error."""
    done = brimful("serve", corpus, "--port", "0", "--allow-host", "notes.example", "--allow-model", "extractive:")
    assert (done.code, done.out) == (0, "")
    assert started["http"].pop("store").is_file()
    assert started["http"] == {
        "host": "127.0.0.1",
        "port": 0,
        "token": None,
        "hosts": ("notes.example",),
        "densify_models": ("extractive:",),
    }
    assert "http://127.0.0.1:0/" in done.err
    assert brimful("serve", corpus, "-q").err == ""


def test_a_token_comes_from_the_environment_alone(brimful, corpus, started, monkeypatch):
    """BRIMFUL_TOKEN, or the variable that is named; one that is not set is an input error before anything is read."""
    monkeypatch.setenv("BRIMFUL_TOKEN", "first")
    monkeypatch.setenv("OTHER", "second")
    assert brimful("serve", corpus).code == 0
    assert started["http"]["token"] == "first"
    assert brimful("mcp", corpus, "--transport", "http", "--token-env", "OTHER").code == 0
    assert started["mcp"]["token"] == "second"
    done = brimful("serve", corpus, "--token-env", "NOWHERE")
    assert done.code == 2
    assert "'NOWHERE' is not set" in done.err


def test_mcp_speaks_through_standard_output_alone(brimful, corpus, started):
    """Over stdio nothing is said on standard output, and no address is announced, though JSON be asked for."""
    for options in ([], ["--json"]):
        done = brimful("mcp", corpus, *options)
        assert (done.code, done.out, done.err) == (0, "", "")
    assert started["mcp"]["transport"] == "stdio"
    assert brimful("mcp", corpus, "--transport", "http", "--allow-host", "notes.example").code == 0
    assert started["mcp"]["hosts"] == ("notes.example",)


def begun(*arguments):
    """The program in a process of its own, and the address that it announces."""
    command = [sys.executable, "-m", "brimful", *map(str, arguments), "--json"]
    running = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ})
    return running, json.loads(running.stdout.readline())["listening"]


def test_a_real_server_gives_the_same_bytes_and_stops_at_ctrl_c(brimful, corpus):
    """Over HTTP as on the command line; one SIGINT ends it without a traceback."""
    server, address = begun("serve", corpus, "--port", "0")
    with server:
        body = json.dumps({"question": "when was tea sold?", "budget": 60}).encode()
        request = urllib.request.Request(
            f"{address.rstrip('/')}/v1/context", body, {"Content-Type": "application/json"}
        )
        with urllib.request.urlopen(request, timeout=60) as answer:
            text = json.load(answer)["text"]
        server.send_signal(signal.SIGINT)
        out, err = server.communicate(timeout=60)
    assert text == brimful("context", "when was tea sold?", corpus, "-b", "60", "-q").out
    assert server.returncode in (0, 130)
    assert out == ""
    assert "Traceback" not in err


def test_a_real_client_of_the_protocol_is_answered(corpus):
    """`brimful mcp` greets over standard input and output, and leaves when the input ends."""
    from tests.surfaces.conftest import start

    greeting = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    message = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": greeting}) + "\n"
    done = start("mcp", corpus, input=message.encode())
    assert done.code == 0
    assert json.loads(done.out.splitlines()[0])["id"] == 1


def test_a_port_that_does_not_exist_is_named(brimful, corpus, started):
    """Exit code 2, and nothing starts."""
    assert brimful("serve", corpus, "--port", "70000").code == 2
    assert not started


def test_an_agent_gets_the_server(brimful, corpus, tmp_path, monkeypatch):
    """`mcp install` writes the command into the agent's configuration, by whole paths, and --remove takes it out."""
    monkeypatch.setenv("HOME", str(tmp_path))
    file = tmp_path / ".cursor/mcp.json"
    done = brimful("mcp", "install", "cursor", corpus)
    assert (done.code, done.out) == (0, "")
    assert str(file) in done.err
    (entry,) = json.loads(file.read_text())["mcpServers"].values()
    assert entry == {"command": sys.executable, "args": ["-m", "brimful", "mcp", str(Path(corpus).absolute())]}
    assert brimful("mcp", "install", "cursor", "--remove").code == 0
    assert json.loads(file.read_text()) == {"mcpServers": {}}
    assert "did you mean 'cursor'" in brimful("mcp", "install", "curser", corpus).err
    assert "claude-code|cursor" in brimful("mcp", "install").err
