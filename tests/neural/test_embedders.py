from __future__ import annotations

import json
import threading

import pytest

from brimful.errors import BrimfulError, EndpointError, InputError, ScoreError, SettingError
from brimful.index.vectors import cosines, quantise
from brimful.neural import embedders as endpoints
from brimful.neural.embedders import Embedder, EndpointEmbedder, wrap
from tests.neural.conftest import Server

# ---- a server

KEY = "sk-test-0123456789"


def test_an_endpoint_is_asked_in_bounded_batches(server: Server) -> None:
    """Rows come back in the order of the texts, from requests of at most so many texts."""
    endpoint = EndpointEmbedder(server.url, "lengths", dimensions=2, batch=3)
    texts = ["x" * number for number in range(8)]
    assert endpoint.embed(texts).tolist() == [[number, 1] for number in range(8)]
    assert [len(body["input"]) for _, _, body in server.asked] == [3, 3, 2]  # type: ignore[arg-type]
    assert {(path, body["model"]) for path, _, body in server.asked} == {("/v1/embeddings", "lengths")}
    assert endpoint.embed([]).shape == (0, 2)
    assert endpoint.name == f"{server.url}#lengths:2"


def test_an_endpoint_tells_its_own_width(server: Server) -> None:
    """Without dimensions the server is asked for one vector, once; a later answer of another width is an error."""
    endpoint = EndpointEmbedder(server.url, "lengths")
    assert endpoint.name == f"{server.url}#lengths:2"
    assert endpoint.embed(["ab"]).tolist() == [[2, 1]]
    assert [body["input"] for _, _, body in server.asked] == [["word"], ["ab"]]
    server.answer = lambda _: (200, b'{"data": [{"index": 0, "embedding": [1, 2, 3]}]}')
    with pytest.raises(EndpointError, match=r"shape \(1, 3\), not \(1, 2\); look at the server's model"):
        endpoint.embed(["ab"])


def test_a_key_is_sent_and_never_shown(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """The key of the environment goes into its header, and into no name, repr or error."""
    endpoint = EndpointEmbedder(server.url, "lengths", dimensions=2, key_variable="BRIMFUL_TEST_KEY")
    endpoint.embed(["a"])
    monkeypatch.setenv("BRIMFUL_TEST_KEY", KEY)
    endpoint.embed(["a"])
    assert [key for _, key, _ in server.asked] == [None, f"Bearer {KEY}"]
    server.answer = lambda _: (401, json.dumps({"error": {"code": "bad_key", "message": f"wrong: {KEY}"}}).encode())
    with pytest.raises(EndpointError, match=r"401 \(bad_key\)") as caught:
        endpoint.embed(["a"])
    server.answer = lambda _: (401, json.dumps({"error": {"code": KEY}}).encode())
    with pytest.raises(EndpointError) as again:
        endpoint.embed(["a"])
    monkeypatch.setenv("BRIMFUL_TEST_KEY", KEY + "\r\nHost: evil")
    with pytest.raises(SettingError, match="BRIMFUL_TEST_KEY") as unsendable:
        endpoint.embed(["a"])
    assert unsendable.value.__suppress_context__
    shown = [repr(endpoint), endpoint.name, str(caught.value), str(again.value), str(unsendable.value)]
    assert not [text for text in shown if KEY in text]


def test_a_key_is_not_sent_in_the_open(monkeypatch: pytest.MonkeyPatch) -> None:
    """A key goes to another machine over https only."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with pytest.raises(SettingError, match="not encrypted"):
        EndpointEmbedder("http://192.0.2.1/v1", "m", dimensions=2).embed(["a"])


@pytest.mark.parametrize(
    ("status", "answer", "error", "words"),
    [
        (500, b"oops", EndpointError, "answered 500"),
        (302, b"", EndpointError, "answered 302"),
        (200, b"not json", EndpointError, "something else than JSON"),
        (200, b"[" * 100_000, EndpointError, "something else than JSON"),
        (
            200,
            b'{"data": [{"index": 0, "embedding": 1}, {"index": 1, "embedding": 2}]}',
            EndpointError,
            "else than emb",
        ),
        (200, b"\xff\xfe", EndpointError, "something else"),
        (200, b"{}", EndpointError, "something else"),
        (200, b"[1]", EndpointError, "something else"),
        (200, b'{"data": []}', EndpointError, "0 embeddings to 2 texts"),
        (200, b'{"data": [{"index": 0, "embedding": [1, 2]}]}', EndpointError, "1 embeddings to 2"),
        (200, b'{"data": [{"index": 0, "embedding": [1]}, {"index": 0, "embedding": [1]}]}', EndpointError, "2 texts"),
        (200, b'{"data": [{"index": 0, "embedding": [1]}, {"index": 1, "embedding": [1, 2]}]}', EndpointError, "else"),
        (200, b'{"data": [{"index": 0, "embedding": [1]}, {"index": 1, "embedding": [1]}]}', EndpointError, "shape"),
        (
            200,
            b'{"data": [{"index": 0, "embedding": [1, NaN]}, {"index": 1, "embedding": [1, 1]}]}',
            EndpointError,
            "NaN",
        ),
    ],
)
def test_a_wrong_answer_is_an_error_at_once(
    server: Server, status: int, answer: bytes, error: type[BrimfulError], words: str
) -> None:
    """Whatever a server answers instead of embeddings is an error, after one request."""
    server.answer = lambda _: (status, answer)
    with pytest.raises(error, match=words):
        EndpointEmbedder(server.url, "m", dimensions=2).embed(["a", "b"])
    assert len(server.asked) == 1


def test_a_silent_server_is_not_waited_for(server: Server) -> None:
    """A server that does not answer in time is an error, after one request."""
    waiting = threading.Event()

    def never(_: dict[str, object]) -> tuple[int, bytes]:
        waiting.wait(5)
        return 500, b""

    server.answer = never
    with pytest.raises(EndpointError, match=r"0\.1 s: TimeoutError"):
        EndpointEmbedder(server.url, "m", dimensions=2, timeout_seconds=0.1).embed(["a"])
    waiting.set()
    assert len(server.asked) == 1


def test_endless_answers_are_cut(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """An answer beyond the bound is refused, not read to its end."""
    monkeypatch.setattr(endpoints, "_ANSWER_BYTES", 100)
    server.answer = lambda _: (200, b" " * 5_000)
    with pytest.raises(EndpointError, match="more than 100 bytes"):
        EndpointEmbedder(server.url, "m", dimensions=2).embed(["a"])


@pytest.mark.parametrize(
    "url", ["ftp://host/v1", "host/v1", "", "https://", "https://host/v1?key=1", "https://u:p@host/v1", "http://h:x"]
)
def test_odd_urls_are_refused(url: str) -> None:
    """A base URL has a scheme and a host, and no password or query; the error does not repeat it."""
    with pytest.raises(SettingError) as caught:
        EndpointEmbedder(url, "m", dimensions=2)
    assert "u:p" not in str(caught.value)


# ---- one's own


def test_a_function_becomes_an_embedder() -> None:
    """A wrapped function is an Embedder, and its rows can be compared."""
    letters: Embedder = wrap("letters", lambda texts: [[text.count(c) for c in "abc"] for text in texts], dimensions=3)
    rows = quantise(letters.embed(["aaa", "bbb", "ccc"]))
    assert cosines(rows, quantise(letters.embed(["bbbb"]))[0]).tolist() == [0, 1_000_000, 0]
    assert letters.embed([]).shape == (0, 3)
    assert repr(letters) == "wrap('letters', dimensions=3)"


def test_a_function_that_breaks_its_promise_is_refused() -> None:
    """Too few rows, other dimensions, NaN, a missing name: each an error."""
    with pytest.raises(InputError, match="shape"):
        wrap("short", lambda texts: [[1.0, 2.0]], dimensions=2).embed(["a", "b"])
    with pytest.raises(InputError, match="shape"):
        wrap("wide", lambda texts: [[1.0, 2.0]], dimensions=3).embed(["a"])
    with pytest.raises(ScoreError, match="NaN"):
        wrap("nan", lambda texts: [[float("nan")]], dimensions=1).embed(["a"])
    with pytest.raises(InputError, match="name"):
        wrap("", lambda texts: [[1.0]], dimensions=1)
    with pytest.raises(SettingError, match="dimensions"):
        wrap("none", lambda texts: [[1.0]], dimensions=0)
