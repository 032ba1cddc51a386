"""A real server: it says where it listens, answers while others write, gives up in time, and stops cleanly."""

import json
import signal
import socket
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor, as_completed

import httpx
import pytest

import brimful
from brimful.corpus import Corpus
from brimful.errors import InputError
from brimful.surfaces.http import serve
from tests.surfaces.conftest import PAGES
from tests.surfaces.http.conftest import filled, listening, problem

PROGRAM = """
import sys
from pathlib import Path
from brimful.surfaces.http import serve
serve(Path(sys.argv[1]), port=0, ready=lambda address: print(address, flush=True))
print("stopped", flush=True)
"""


@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGINT])
def test_a_server_starts_answers_and_stops(tmp_path, end):
    """Port 0 is a free one, `ready` gets its address, and a signal lets `serve` return with the store closed."""
    with brimful.open(tmp_path / "store.db") as engine:
        engine.add_text("tea.md", PAGES["tea.md"])
        expected = engine.context("tea", budget=50)
    command = [sys.executable, "-c", PROGRAM, str(tmp_path / "store.db")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        address = process.stdout.readline().strip()
        assert address.startswith("http://127.0.0.1:")
        made = httpx.post(f"{address}/v1/context", json={"question": "tea", "budget": 50}, timeout=60).json()
        assert made["text"] == expected.text
        with httpx.stream("POST", f"{address}/v1/densify", json={"text": "Tea."}, timeout=60) as stream:
            assert json.loads(stream.read())["text"] == "Tea."
        process.send_signal(end)
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (0, "stopped\n", "")


def test_a_port_in_use_is_named(tmp_path):
    """With what to do about it, before a store is made."""
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        with pytest.raises(InputError, match="name another port"):
            serve(tmp_path / "store.db", port=port)
    assert list(tmp_path.iterdir()) == []


def test_many_ask_while_others_write(tmp_path):
    """Every answer is of one state: its windows are bytes of documents as they were, and nothing fails."""
    with (
        filled(tmp_path / "store.db") as engine,
        listening(engine) as address,
        httpx.Client(base_url=address) as client,
    ):
        texts = [[f"Tea number {number}, version {version}. " * 20 for number in range(4)] for version in range(6)]

        def write(version):
            documents = [{"path": f"n{at}.md", "text": text} for at, text in enumerate(texts[version])]
            added = client.post("/v1/documents", json={"documents": documents}, timeout=60)
            removed = client.delete("/v1/documents", params={"path": f"n{version % 4}.md"}, timeout=60)
            return [added, removed]

        def ask(number):
            question = {"question": f"tea number {number}", "budget": 300 + number}
            asked = [client.post(path, json=question, timeout=60) for path in ("/v1/context", "/v1/explain")]
            found = client.post("/v1/search", json={"question": "tea version", "limit": 50}, timeout=60)
            listed = client.get("/v1/documents", timeout=60)
            return [*asked, found, listed]

        with ThreadPoolExecutor(6) as pool:
            jobs = [pool.submit(write if number % 4 == 0 else ask, number // 4) for number in range(24)]
            responses = [response for job in jobs for response in job.result()]
    assert {response.status_code for response in responses} == {200}
    known = {*PAGES.values(), *(text for version in texts for text in version)}
    shown = [each for response in responses for each in response.json().get("windows", [])]
    assert [each for each in shown if each["path"].startswith("n")]
    for each in shown:
        if each["path"].startswith("n"):
            assert any(text.encode()[each["start"] : each["end"]].decode() == each["text"] for text in known)


@pytest.fixture
def blocked(monkeypatch):
    """A search that does not end before it is let go."""
    may_end = threading.Event()
    search = Corpus.search

    def slow(self, *arguments, **options):
        may_end.wait(60)
        return search(self, *arguments, **options)

    monkeypatch.setattr(Corpus, "search", slow)
    yield may_end
    may_end.set()


def test_what_takes_too_long_is_given_up(limited, blocked):
    """504 at the deadline, while the server goes on answering others."""
    with limited(seconds=2) as client:
        detail = problem(client.post("/v1/search", json={"question": "tea"}), 504, "request.deadline")
        assert client.get("/health/live").status_code == 200
        blocked.set()
    assert "2 s" in detail


def test_too_many_at_once_are_sent_away(engine, blocked):
    """503 with a time to try again, at once, while those before are still being answered."""
    with listening(engine, workers=1, waiting=1) as address, ThreadPoolExecutor(3) as pool:
        ask = {"json": {"question": "tea"}, "timeout": 60}
        jobs = [pool.submit(httpx.post, f"{address}/v1/search", **ask) for _ in range(3)]
        refused = next(as_completed(jobs)).result()
        blocked.set()
        assert sorted(job.result().status_code for job in jobs) == [200, 200, 503]
    assert problem(refused, 503, "request.busy")
    assert refused.headers["retry-after"] == "1"


def test_a_client_that_hangs_up_does_no_harm(engine):
    """Half a body, then nothing: the server goes on."""
    with listening(engine) as address:
        host, port = address.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port))) as connection:
            head = (
                f"POST /v1/search HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\nContent-Length: 99\r\n"
            )
            connection.sendall(f'{head}\r\n{{"question"'.encode())
        assert httpx.post(f"{address}/v1/search", json={"question": "tea"}, timeout=60).status_code == 200


def test_a_failure_is_a_problem_without_its_reason(client, engine, monkeypatch, caplog):
    """What nobody foresaw is a 500 that tells a client nothing; the log has all of it."""
    monkeypatch.setattr(Corpus, "search", lambda *_arguments, **_options: 1 / 0)
    detail = problem(client.post("/v1/search", json={"question": "tea"}), 500, "error")
    assert "division" not in detail
    assert "ZeroDivisionError" in caplog.text
