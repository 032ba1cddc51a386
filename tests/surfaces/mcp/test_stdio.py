import json
import signal

import brimful
from tests.surfaces.mcp.talking import WAIT_SECONDS, program, start, talking, text_of

HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    },
}
READY = {"jsonrpc": "2.0", "method": "notifications/initialized"}
NOISE = """
import os, sys, warnings
from brimful.engine import Engine
ask = Engine.context
def noisy(self, *given, **named):
    print("stray words")
    os.write(1, b"stray bytes\\n")
    os.system("echo a stray child")
    sys.stdout.flush()
    warnings.warn("a warning", stacklevel=1)
    return ask(self, *given, **named)
Engine.context = noisy
"""


def call(number, name, given):
    """A tool call as a message."""
    return {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": {"name": name, "arguments": given}}


class Raw:
    """A client that writes and reads lines, to see every byte."""

    def __init__(self, store, before=""):
        self.process = start(program(store, before=before))
        self.lines = []

    def send(self, message):
        """One line, as it is or as JSON."""
        line = message if isinstance(message, bytes) else json.dumps(message).encode()
        self.process.stdin.write(line + b"\n")
        self.process.stdin.flush()

    def receive(self, number):
        """The answer to a request; whatever else comes before it is kept."""
        while True:
            line = self.process.stdout.readline()
            assert line, self.process.stderr.read().decode()
            self.lines.append(line)
            message = json.loads(line)
            if message.get("id") == number:
                return message

    def greet(self):
        """The handshake."""
        self.send(HELLO)
        self.receive(1)
        self.send(READY)

    def end(self):
        """Close standard input; the exit code and what is left to read."""
        out, err = self.process.communicate(timeout=WAIT_SECONDS)
        self.lines.extend(out.splitlines())
        return self.process.returncode, err.decode()


def test_nothing_but_protocol_on_standard_output(own):
    """Whatever the engine, a child or a warning prints goes to standard error."""
    client = Raw(own, before=NOISE)
    client.greet()
    client.send(call(2, "get_context", {"question": "tea"}))
    answer = client.receive(2)["result"]
    assert "Tea came to Europe" in answer["content"][0]["text"]
    code, errors = client.end()
    assert code == 0
    assert all(json.loads(line)["jsonrpc"] == "2.0" for line in client.lines)
    for stray in ("stray words", "stray bytes", "a stray child", "a warning"):
        assert stray in errors


def test_a_store_of_other_rules_is_not_served(own):
    """One that was made with another version of Unicode is refused on standard error, with the remedy."""
    client = Raw(own, before="import unicodedata; unicodedata.unidata_version = '1.0'")
    code, errors = client.end()
    assert (code != 0, client.lines, "brimful stores rebuild" in errors) == (True, [], True)


def test_the_end_of_input_ends_the_server(own):
    """A client that goes away leaves no process, no message and no locked store."""
    client = Raw(own)
    client.greet()
    client.send(call(2, "get_context", {"question": "tea"}))
    client.receive(2)
    assert client.end() == (0, "")
    with talking(own, "stdio") as next_one:
        assert not next_one.call_tool("capture", {"text": "Tea."}).is_error


def test_input_that_ends_before_it_begins(own):
    """Nobody there is no failure; a store may be named by its folder."""
    own.rename(own.with_name("brimful.db"))
    assert Raw(own.parent).end() == (0, "")


def test_ctrl_c_ends_while_it_waits_for_input(own):
    """A real SIGINT is a KeyboardInterrupt of `serve`, though standard input is still open; nothing hangs."""
    process = start(
        f"import sys\ntry:\n    exec({program(own)!r})\nexcept KeyboardInterrupt:\n    sys.exit(130)",
    )
    process.stdin.write(json.dumps(HELLO).encode() + b"\n")
    process.stdin.flush()
    assert json.loads(process.stdout.readline())["id"] == 1
    process.send_signal(signal.SIGINT)
    assert process.wait(WAIT_SECONDS) == 130
    assert process.stderr.read() == b""
    process.communicate()


def test_lines_that_are_no_messages(own):
    """Garbage, half a surrogate pair and broken UTF-8 are passed over, and the next call is answered."""
    client = Raw(own)
    client.greet()
    client.send(b"not json at all")
    client.send(b"\xff\xfe\x00")
    client.send(b"[" * 10_000)
    client.send(json.dumps(call(2, "search", {"question": "tea \ud800"})).encode())
    client.send(json.dumps(call(3, "nonsense", {})).encode())
    client.send({"jsonrpc": "2.0", "id": 4, "method": "no/such/method"})
    client.send(call(5, "search", {"question": "tea"}))
    assert "docs/tea.md" in client.receive(5)["result"]["content"][0]["text"]
    code, errors = client.end()
    assert code == 0
    assert "Traceback" not in errors


def test_a_large_answer_comes_whole(store):
    """A context of tens of thousands of tokens is one message, byte for byte."""
    with talking(store, "stdio") as client:
        result = client.call_tool("get_context", {"question": "turbines", "budget": 50_000})
    with brimful.open(store) as engine:
        context = engine.context("turbines", budget=50_000)
    assert 45_000 < context.tokens <= 50_000
    assert text_of(result) == context.text
