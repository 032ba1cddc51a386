"""More clients than a server can serve, slow ones, silent ones, and providers that never end: it goes on answering."""

import json
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import ExitStack, contextmanager

import httpx
import pytest

import brimful
from brimful import limits
from brimful.surfaces.server import most_connections
from brimful.testing import Fault, ScriptedProvider
from tests.surfaces.conftest import PAGES
from tests.surfaces.http.conftest import filled, listening, problem

HALF = b"POST /v1/context HTTP/1.1\r\nHost: localhost\r\nContent-Le"
JSON = "Content-Type: application/json\r\n"
HALF_BODY = (
    b"POST /v1/context HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n{"
)
DRIP = Fault("drip", body="data: x\n\n")
SERVER = """
import resource, sys
from pathlib import Path
from brimful.surfaces.http import serve
if int(sys.argv[2]):
    resource.setrlimit(resource.RLIMIT_NOFILE, (int(sys.argv[2]), resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
serve(Path(sys.argv[1]), port=0, densify_models=sys.argv[3:], ready=lambda address: print(address, flush=True))
print("stopped", flush=True)
"""


def opened(address, *, sent=b""):
    """A connection by hand."""
    url = httpx.URL(address)
    made = socket.create_connection((url.host, url.port), timeout=60)
    made.sendall(sent)
    return made


@contextmanager
def held(address, count, sent):
    """So many connections that say a little and then nothing."""
    with ExitStack() as stack:
        yield [stack.enter_context(opened(address, sent=sent)) for _ in range(count)]


def densify(model):
    """A request to condense, byte by byte."""
    body = json.dumps({"text": "Tea at four. " * 50, "model": model})
    return f"POST /v1/densify HTTP/1.1\r\nHost: localhost\r\n{JSON}Content-Length: {len(body)}\r\n\r\n{body}".encode()


def is_cut(connection):
    """Whether the server cuts a connection that sends a byte every moment."""
    try:
        for _ in range(1_000):
            connection.sendall(b"x")
            time.sleep(0.05)
    except OSError:
        return True
    return False


def is_let_go(connection):
    """Whether the server has closed this connection, once it says anything."""
    try:
        return connection.recv(1) == b""
    except ConnectionResetError:
        return True


def asks(address, **more):
    """A question that is answered."""
    answer = httpx.post(f"{address}/v1/context", json={"question": "tea", "budget": 50, **more}, timeout=60)
    assert answer.status_code == 200, answer.text
    return answer.json()["text"]


@contextmanager
def serving(store, *models, files=0):
    """A server in a process of its own, with so many open files at most."""
    command = [sys.executable, "-c", SERVER, str(store), str(files), *models]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            yield process, process.stdout.readline().strip()
        finally:
            process.kill()


@pytest.fixture(autouse=True)
def short_grace(monkeypatch):
    """Servers of this process stop soon."""
    monkeypatch.setattr(limits, "GRACE_SECONDS", 1)


@pytest.fixture
def store(tmp_path):
    """A small one."""
    with brimful.open(tmp_path / "store.db") as engine:
        engine.add_text("tea.md", PAGES["tea.md"])
    return tmp_path / "store.db"


@pytest.mark.parametrize("sent", [b"", HALF, HALF_BODY], ids=["nothing", "half a head", "half a body"])
def test_two_hundred_slow_clients(engine, sent):
    """Whatever they have sent, everybody else is answered, questions and health alike."""
    with listening(engine) as address, held(address, 200, sent):
        assert all(asks(address) for _ in range(5))
        assert httpx.get(f"{address}/health/ready", timeout=60).json() == {"status": "ready"}


def test_half_sent_requests_give_way(engine, monkeypatch):
    """With every place taken by one, a new connection gets the place of the one that waits longest."""
    monkeypatch.setattr(limits, "CONNECTIONS", 20)
    with listening(engine) as address, held(address, 50, HALF) as waiting:
        assert asks(address)
        assert is_let_go(waiting[0])


def test_a_head_that_does_not_come_is_not_waited_for(engine, monkeypatch):
    """Not even when it drips: a whole head has its time, from the connection or from the last answer on."""
    monkeypatch.setattr(limits, "HEAD_SECONDS", 0.5)
    with listening(engine) as address:
        with opened(address, sent=HALF) as slow:
            assert is_cut(slow)
        with opened(address, sent=b"GET /health/live HTTP/1.1\r\nHost: localhost\r\n\r\n") as kept:
            answer = b""
            while not answer.endswith(b"}"):  # head and body may come apart
                answer += kept.recv(4096)
            assert answer.startswith(b"HTTP/1.1 200")
            kept.sendall(HALF)
            assert is_let_go(kept)


def test_a_body_that_does_not_come_is_refused(engine):
    """It has the time of a request, and no worker waits for it."""
    with listening(engine, seconds=0.5) as address, opened(address, sent=HALF_BODY) as slow:
        assert slow.recv(4096).startswith(b"HTTP/1.1 504")


def test_who_does_not_read_is_let_go(tmp_path, monkeypatch):
    """An answer that nobody takes holds its connection until it is closed, and a little longer, but not for ever."""
    monkeypatch.setattr(limits, "IDLE_SECONDS", 1.0)
    request = b"GET /v1/documents/text?path=long.txt HTTP/1.1\r\nHost: localhost\r\n\r\n"
    with brimful.open(tmp_path / "store.db") as engine:
        engine.add_text("long.txt", "Tea at four, and cake at five. " * 500_000)
        with listening(engine, passage_bytes=1 << 30) as address, socket.socket() as deaf:
            deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
            deaf.settimeout(60)
            deaf.connect((httpx.URL(address).host, httpx.URL(address).port))
            deaf.sendall(request)
            until = time.monotonic() + 60
            while is_established(deaf) and time.monotonic() < until:
                time.sleep(0.05)
            assert not is_established(deaf)


def is_established(connection):
    """Whether a connection is open on both sides, without reading from it."""
    return connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1)[0] == 1


def test_with_every_connection_at_work_others_come_later(engine, monkeypatch):
    """Requests that are being answered keep their places: a new one is refused with 503 until a place is free."""
    monkeypatch.setattr(limits, "CONNECTIONS", 8)
    with listening(engine) as address:
        with held(address, 8, HALF_BODY):
            until = time.monotonic() + 60  # their heads may not have been read yet
            while (answer := httpx.get(f"{address}/health/ready", timeout=60)).status_code != 503:
                assert time.monotonic() < until
            assert answer.headers["connection"] == "close"
        until = time.monotonic() + 60
        while httpx.get(f"{address}/health/ready", timeout=60).status_code != 200:
            assert time.monotonic() < until


@pytest.mark.parametrize("is_split", [False, True], ids=["at once", "in two parts"])
def test_a_head_is_bounded(engine, is_split):
    """Also where all of it comes at once; its sender reads the whole answer. A little less than the bound is read."""
    for size, status in ((limits.HEAD_BYTES - 8_192, 200), (limits.HEAD_BYTES + 100, 400), (2_000_000, 400)):
        head = b"GET /health/live HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nX: " + b"x" * size + b"\r\n\r\n"
        with listening(engine) as address, opened(address, sent=head[: size // 2 if is_split else None]) as asking:
            if is_split:
                time.sleep(0.1)
                asking.sendall(head[size // 2 :])
            assert asking.makefile("rb").read().startswith(b"HTTP/1.1 %d" % status)


def test_runs_that_never_end_leave_questions_alone(tmp_path):
    """A provider that keeps every run keeps no question, no readiness and no metrics; one run too many is refused."""
    with (
        ScriptedProvider(every=DRIP) as provider,
        filled(tmp_path / "store.db") as engine,
        listening(engine, densify_models=(f"{provider.url}#scripted",), runs=2, waiting_runs=1) as address,
        ExitStack() as stack,
    ):
        begun = [stack.enter_context(opened(address, sent=densify(f"{provider.url}#scripted"))) for _ in range(3)]
        while len(provider.calls) < 2:
            time.sleep(0.01)
        assert asks(address)
        assert httpx.get(f"{address}/health/ready", timeout=60).status_code == 200
        assert httpx.get(f"{address}/metrics", timeout=60).status_code == 200
        more = {"text": "Tea.", "model": f"{provider.url}#scripted"}
        until = time.monotonic() + 60  # the third, which waits, may not have been read yet
        while (answer := httpx.post(f"{address}/v1/densify", json=more, timeout=60)).status_code != 503:
            assert time.monotonic() < until
        problem(answer, 503, "request.busy")
        for each in begun:
            each.close()  # abandoned: their threads are free again
        until = time.monotonic() + 60
        while workers("brimful-densify") and time.monotonic() < until:
            time.sleep(0.05)
        assert workers("brimful-densify") == 0


def workers(name):
    """How many threads of that name there are."""
    return sum(each.name.startswith(name) for each in threading.enumerate())


def test_abandoned_runs_end(tmp_path):
    """Who closes the connection, or waits no longer, frees the thread, whatever the provider sends."""
    with (
        ScriptedProvider(every=DRIP) as provider,
        filled(tmp_path / "store.db") as engine,
        listening(engine, densify_models=(f"{provider.url}#scripted",), densify_seconds=1.0) as address,
    ):
        answer = httpx.post(
            f"{address}/v1/densify", json={"text": "Tea. " * 99, "model": f"{provider.url}#scripted"}, timeout=60
        )
        assert "deadline" in problem(answer, 504, "cancelled")
        assert workers("brimful-densify") == 0


@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_a_server_whatever_a_provider_does(store, end):
    """Four runs on an answer that drips: the process ends by itself, within its grace time, without a traceback."""
    with ScriptedProvider(every=DRIP) as provider:
        model = f"{provider.url}#scripted"
        with serving(store, model) as (process, address), ExitStack() as stack:
            for _ in range(4):
                stack.enter_context(opened(address, sent=densify(model)))
            while len(provider.calls) < 4:
                time.sleep(0.01)
            process.send_signal(end)
            out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (0, "stopped\n")
    assert "Traceback" not in err


def test_more_half_sent_requests_than_open_files(store):
    """1,100 of them on a server that may open 512 files: it goes on answering, and writes next to nothing."""
    with serving(store, files=512) as (process, address):
        with held(address, 1_100, HALF):
            assert all(asks(address) for _ in range(10))
            assert httpx.get(f"{address}/health/ready", timeout=60).status_code == 200
        process.send_signal(signal.SIGTERM)
        _, err = process.communicate(timeout=60)
    assert process.returncode == 0
    assert len(err) < 10_000


def test_malformed_requests_fill_no_log(store):
    """Each is answered, and nothing is written."""
    with serving(store) as (process, address):
        for _ in range(300):
            with opened(address, sent=b"\x00\x01\x02 HTTP\r\n\r\n") as odd:
                assert odd.recv(4096).startswith(b"HTTP/1.1 400")
        process.send_signal(signal.SIGTERM)
        _, err = process.communicate(timeout=60)
    assert err == ""


def test_places_are_fewer_than_open_files(monkeypatch):
    """However few the system allows, some are left for the store."""
    resource = pytest.importorskip("resource")
    for files, wanted in ((20_000, limits.CONNECTIONS), (1_024, limits.CONNECTIONS), (400, 72), (64, 8), (-1, 512)):
        monkeypatch.setattr(resource, "getrlimit", lambda _, files=files: (files, files))
        assert most_connections() == wanted


@pytest.mark.parametrize(
    "origin", ["http://[::1", "http://[", "http://]", "null", "", "http://\x80", "//x", "a" * 9_000]
)
def test_an_origin_that_is_none_is_refused(client, origin):
    """Whatever stands there, it is not this server's page; no answer of 500."""
    sent = {"origin": origin.encode("latin-1")}
    problem(client.get("/v1/status", headers=sent), 403, "request.origin")


def test_a_wait_beyond_all_measure_is_told(tmp_path):
    """A provider's Retry-After of 400 digits is passed on as the longest wait that there is."""
    fault = Fault.status(429, None, headers={"Retry-After": "9" * 400})
    with (
        ScriptedProvider(every=fault) as provider,
        filled(tmp_path / "store.db") as engine,
        listening(engine, densify_models=(f"{provider.url}#scripted",)) as address,
    ):
        answer = httpx.post(
            f"{address}/v1/densify", json={"text": "Tea.", "model": f"{provider.url}#scripted"}, timeout=60
        )
    problem(answer, 503, "provider.wait")
    assert answer.headers["retry-after"] == str(int(limits.PATIENCE_SECONDS))
