from __future__ import annotations

import importlib.util
import json
import struct
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer

from brimful.errors import BrimfulError, EndpointError, InputError, MissingPartError, ScoreError, SettingError
from brimful.index import embedders as endpoints
from brimful.index.build import Extent, build_segment
from brimful.index.embedders import Embedder, EndpointEmbedder, StaticEmbedder, wrap
from brimful.index.vectors import codes_of, nearest, project, query_vector, rerank, unit_codes, unit_vectors
from brimful.text import token_tables
from brimful.text.terms import query_terms
from tests.index.conftest import Server

ATOM = [8, -2, 6, 7, 4, -7, -6, 6]  # its first eighths

# ---- the static table


@pytest.fixture(scope="module")
def static() -> StaticEmbedder:
    """The real table, loaded once."""
    return StaticEmbedder()


def wordllama_folder() -> Path:
    """Where the package is installed."""
    spec = importlib.util.find_spec("wordllama")
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    """The package's tokenizer as the library of that name reads it."""
    tokenizer = Tokenizer.from_file(str(wordllama_folder() / "tokenizers" / "l2_supercat_tokenizer_config.json"))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer


@pytest.fixture(scope="module")
def reference() -> Callable[[str], list[float]]:
    """The sum of a text's token vectors, read by the safetensors and tokenizers packages alone."""
    from safetensors.numpy import load_file

    folder = wordllama_folder()
    table = load_file(folder / "weights" / "l2_supercat_256.safetensors")["embedding.weight"]
    tokenizer = Tokenizer.from_file(str(folder / "tokenizers" / "l2_supercat_tokenizer_config.json"))

    def summed(text: str) -> list[float]:
        ids = tokenizer.encode(text, add_special_tokens=False).ids
        return [sum(float(table[token, at]) for token in ids) for at in range(256)]

    return summed


@pytest.mark.parametrize(
    ("term", "spelling"),
    [("atom", "atom"), ("paris", "Paris"), ("getatom", "getatom"), ("myocardial", "myocardial"), ("量子", "量子")],
)
def test_a_term_is_the_sum_of_its_tokens(
    static: StaticEmbedder, reference: Callable[[str], list[float]], term: str, spelling: str
) -> None:
    """A term's vector is its tokens' sum in eighths; a term that is a token only with a capital takes that token."""
    found = static.vectors_of([term.encode()])[0] / 8
    assert np.abs(found - np.clip(reference(spelling), -127 / 8, 127 / 8)).max() <= 1 / 16 + 0.02


def test_the_table_has_a_fixed_name_and_fixed_vectors(static: StaticEmbedder) -> None:
    """The shipped table is known by its bytes, so a store made elsewhere can be read here."""
    assert static.name == "wordllama-l2-supercat-256:b339f971"
    assert (static.dimensions, static.kind) == (256, "static")
    assert static.vectors_of([b"atom"])[0, :8].tolist() == ATOM


@given(st.lists(st.text("aeinrst Paris0é量子_", min_size=1, max_size=12), max_size=12))
@settings(max_examples=40)
def test_memory_does_not_show(static: StaticEmbedder, texts: list[str]) -> None:
    """A term has the same vector at its first and later look-ups, alone and among others."""
    names = sorted({text.encode() for text in texts})
    fresh = StaticEmbedder()
    fresh._loaded = static._loaded  # type: ignore[misc]
    together = fresh.vectors_of(names)
    assert together.shape == (len(names), 256)
    assert np.array_equal(together, fresh.vectors_of(names))
    for name, row in zip(names, together, strict=True):
        assert np.array_equal(static.vectors_of([name])[0], row)


def test_many_terms_have_the_vectors_of_few(static: StaticEmbedder) -> None:
    """A segment's terms, looked up in blocks by the whole table, have the vectors that a question's have."""
    names = [b"word%d" % number for number in range(2_100)] + ["überall".encode(), "量子".encode(), b"paris"]
    many = static.vectors_of(names)
    for first in range(0, len(names), 500):
        assert np.array_equal(static.vectors_of(names[first : first + 500]), many[first : first + 500])


@given(st.lists(st.text("aeinrstPr 0é量子_\U0001f600ß", min_size=1, max_size=30), min_size=1, max_size=12))
@settings(max_examples=60)
def test_tokens_are_those_of_the_library(static: StaticEmbedder, tokenizer: Tokenizer, words: list[str]) -> None:
    """A word that is no token by itself has the tokens that `tokenizers` cuts it into."""
    lengths = np.array([len(word.encode()) for word in words], np.int32)
    starts = np.cumsum(lengths) - lengths
    tokens, ends = static._pairs.of("".join(words).encode(), starts, lengths, whole=np.full(len(words), -1))
    found = np.split(tokens, ends[:-1])
    wanted = [tokenizer.encode(word, add_special_tokens=False).ids for word in words]
    assert [each.tolist() for each in found] == wanted


def test_a_text_is_the_sum_of_its_terms(static: StaticEmbedder) -> None:
    """Embedding a text gives the vector that its terms give as a question."""
    text = "Where is HTTPServer2, and where is PARIS?"
    found = query_vector([term.term for term in query_terms(text)], static)
    assert static.embed([text, ""]).tolist() == [found.tolist(), [0] * 256]


def test_meaning_is_found_without_a_common_word(static: StaticEmbedder) -> None:
    """A question finds the unit about the same thing in other words, by codes and by whole vectors."""
    lines = [
        b"The surgeon operated on the patient in the clinic.",
        b"Stock prices fell sharply after the bank's report.",
        b"Our dog chased a rabbit across the meadow.",
        b"He repaired the engine of his old car in the garage.",
    ]
    segment = build_segment([Extent(line, "prose", None) for line in lines])
    codes = unit_codes(segment.postings, segment.units, static)
    whole = unit_vectors(segment.postings, segment.units, static)
    for question, answer in (
        ("physicians and hospitals", 0),
        ("finance market", 1),
        ("pets, animals", 2),
        ("vehicles", 3),
    ):
        query = query_vector([term.term for term in query_terms(question)], static)
        assert nearest(codes, query, limit=1).ids.tolist() == [answer], question
        assert rerank(whole, query, limit=1).ids.tolist() == [answer], question


def test_the_table_needs_no_network(static: StaticEmbedder) -> None:
    """Loading and using the table opens no socket and does not import wordllama's code."""
    script = """
import sys
def refuse(event, _):
    if event.startswith(("socket.", "subprocess.")):
        raise AssertionError(event)
sys.addaudithook(refuse)
from brimful.index.embedders import StaticEmbedder
print(StaticEmbedder().vectors_of([b"atom"])[0, :8].tolist())
assert not {"wordllama", "requests", "urllib3"} & set(sys.modules)
"""
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert json.loads(run.stdout) == ATOM


@pytest.mark.parametrize("damage", ["none", "cut", "flipped", "empty"])
def test_words_and_pairs_are_written_down_once(
    static: StaticEmbedder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, damage: str
) -> None:
    """The next process does not parse the tokenizer's file; what is damaged is written anew. Vectors stay the same."""
    names = [b"tea", b"brimfulness", b"paris", "überall".encode(), "\u00c9t\u00e9".lower().encode()]
    monkeypatch.setenv(token_tables.VARIABLE, str(tmp_path / "tables"))
    assert np.array_equal(StaticEmbedder().vectors_of(names), static.vectors_of(names))
    (path,) = (tmp_path / "tables").glob("*.table")
    whole = path.read_bytes()
    flipped = whole[:-9] + bytes([whole[-9] ^ 1]) + whole[-8:]
    path.write_bytes({"none": whole, "cut": whole[:-1], "flipped": flipped, "empty": b""}[damage])
    if damage == "none":
        monkeypatch.setattr(endpoints.json, "loads", None)
    again = StaticEmbedder()
    again._loaded = static._loaded  # type: ignore[misc]
    assert np.array_equal(again.vectors_of(names), static.vectors_of(names))
    assert path.read_bytes() == whole


def test_where_no_table_may_be_written_the_tokenizer_is_read(
    static: StaticEmbedder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file in the place of the folder, or none wanted: the vectors are the same, and nothing is written."""
    (tmp_path / "file").write_bytes(b"")
    for place in (str(tmp_path / "file"), ""):
        monkeypatch.setenv(token_tables.VARIABLE, place)
        assert np.array_equal(StaticEmbedder().vectors_of([b"brimfulness"]), static.vectors_of([b"brimfulness"]))
    assert [each.name for each in tmp_path.iterdir()] == ["file"]


def test_a_missing_table_names_the_remedy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the package, its files or its tokenizer there is an error that says what to install."""
    with pytest.raises(MissingPartError, match=r"install.* 'brimful\[semantic\]'"):
        StaticEmbedder(tmp_path).vectors_of([b"atom"])
    (tmp_path / "weights").mkdir()
    for broken in (b"", b"\xff" * 40, struct.pack("<Q", 2) + b"{}"):
        (tmp_path / "weights" / "l2_supercat_256.safetensors").write_bytes(broken)
        with pytest.raises(MissingPartError, match=r"install.* 'brimful\[semantic\]'"):
            StaticEmbedder(tmp_path).vectors_of([b"atom"])
    weights = (wordllama_folder() / "weights" / "l2_supercat_256.safetensors").read_bytes()
    (tmp_path / "weights" / "l2_supercat_256.safetensors").write_bytes(weights)
    (tmp_path / "tokenizers").mkdir()
    numbered = {"model": {"vocab": {"a": 0, "b": 7}, "merges": []}, "added_tokens": []}
    for wrong in ("", "[]", "{}", json.dumps(numbered)):
        (tmp_path / "tokenizers" / "l2_supercat_tokenizer_config.json").write_text(wrong)
        with pytest.raises(MissingPartError, match="is not a tokenizer"):
            StaticEmbedder(tmp_path).vectors_of([b"atom"])
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(MissingPartError, match="wordllama is not installed"):
        _ = StaticEmbedder().name


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
    assert endpoint.kind == "model"


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


def test_no_server_is_an_error() -> None:
    """A port where nobody listens is an EndpointError that names the server."""
    with pytest.raises(EndpointError, match=r"http://127\.0\.0\.1:1/v1"):
        EndpointEmbedder("http://127.0.0.1:1/v1", "m", dimensions=2).embed(["a"])


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
    """A wrapped function is an Embedder, and its rows can be coded and compared."""
    letters: Embedder = wrap("letters", lambda texts: [[text.count(c) for c in "abc"] for text in texts], dimensions=3)
    codes = codes_of(project(letters.embed(["aaa", "bbb", "ccc"])))
    found = nearest(codes, project(letters.embed(["bbbb"]))[0], limit=1)
    assert found.ids.tolist() == [1]
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
