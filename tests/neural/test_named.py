"""Names of embedders and rerankers; libraries that need a hub are stood in for by their own interface."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from brimful.errors import ChoiceError, EndpointError, MissingPartError, SettingError
from brimful.neural import bert
from brimful.neural.embedders import EndpointEmbedder, EndpointReranker, identity_of
from brimful.neural.named import chosen_embedder, embedder_named, reranker_named
from tests.neural.bert import tiny_bert
from tests.neural.conftest import Server

# ---- our own


def test_the_default_is_the_best_that_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Granite where its weights are there, else nobody; "auto" asks the environment first."""
    monkeypatch.delenv("BRIMFUL_EMBEDDER")
    names = {name: embedder_named(name).name for name in ("default", "granite")}  # type: ignore[union-attr]
    assert len(set(names.values())) == 1
    assert chosen_embedder().name == names["granite"]  # type: ignore[union-attr]
    monkeypatch.setenv("BRIMFUL_EMBEDDER", "none")
    assert chosen_embedder() is None
    monkeypatch.delenv("BRIMFUL_EMBEDDER")
    monkeypatch.setattr(bert, "PACKAGE", "no_such_weights")
    assert embedder_named("default") is chosen_embedder() is None


def test_each_plain_name_means_one_embedder(tmp_path: Path) -> None:
    """`none`, `granite` and a folder, each with the identity that a receipt names."""
    assert embedder_named("none") is None
    folder, _ = tiny_bert(tmp_path)
    found = {name: embedder_named(name) for name in ("granite", str(folder))}
    identities = [identity_of(each) for each in found.values() if each is not None]
    assert [each.model.partition(":")[0] for each in identities] == ["granite-embedding-30m-english", "tiny-bert"]
    assert all(each.runtime.startswith("brimful's kernel") for each in identities)


def test_what_is_missing_is_told_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A name, folder, library, model or server that is not there is a typed error with the remedy."""
    for name, error, words in (
        ("granit", ChoiceError, r"did you mean 'granite'. choices: default, none, granite"),
        ("minilm", ChoiceError, r"choices: default, none, granite, a folder"),
        ("", ChoiceError, "choices"),
        (str(tmp_path / "nowhere"), MissingPartError, "is not a folder"),
        (str(tmp_path), MissingPartError, r"config\.json is missing"),
        ("openai:", SettingError, "write openai:NAME"),
        ("fastembed:", SettingError, "write fastembed:NAME"),
        ("openai:m@ftp://host", SettingError, "looks like https://host/v1"),
        ("openai:m@http://127.0.0.1:1/v1", EndpointError, "did not answer"),
        ("model2vec:no/such/folder", MissingPartError, "folder of a model2vec model"),
    ):
        with pytest.raises(error, match=words):
            embedder_named(name)
    for module, name in (("sentence_transformers", "sentence-transformers:m"), ("fastembed", "fastembed:m")):
        monkeypatch.setitem(sys.modules, module, None)
        with pytest.raises(MissingPartError, match=f"{module} is not installed; .* install"):
            embedder_named(name)
    monkeypatch.setattr(bert, "PACKAGE", "no_such_weights")
    with pytest.raises(MissingPartError, match="no model is installed"):
        embedder_named("granite")


# ---- libraries


class Library:
    """What the three libraries have in common: a model that was opened, and every call of it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.opened: list[tuple[str, dict[str, object]]] = []
        self.calls: list[list[str]] = []
        self.rows: Any = None
        self.has_model = True
        library = self

        class Model:
            def __init__(self, name: str, **settings: object) -> None:
                if not library.has_model:
                    raise OSError("not in the cache")
                library.opened.append((name, settings))

            @classmethod
            def from_pretrained(cls, name: str) -> Model:
                return cls(name)

            def encode(self, texts: list[str], **_: object) -> Any:
                return library.answer(texts)

            def embed(self, texts: list[str], **_: object) -> Iterator[Any]:
                yield from library.answer(texts)

            def predict(self, pairs: list[tuple[str, str]], **_: object) -> Any:
                return library.answer([f"{question}|{text}" for question, text in pairs])

        kinds = {
            "sentence_transformers": ("SentenceTransformer", "CrossEncoder"),
            "fastembed": ("TextEmbedding",),
            "model2vec": ("StaticModel",),
        }
        for name, classes in kinds.items():
            module = ModuleType(name)
            for each in classes:
                setattr(module, each, Model)
            monkeypatch.setitem(sys.modules, name, module)

    def answer(self, texts: list[str]) -> Any:
        """Each text's length and 1, or what the test wants."""
        self.calls.append(texts)
        if isinstance(self.rows, Exception):
            raise self.rows
        return np.array([[len(text), 1] for text in texts], np.float32) if self.rows is None else self.rows


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch) -> Library:
    """All three, as fakes with the libraries' interface."""
    return Library(monkeypatch)


@pytest.mark.parametrize("kind", ["sentence-transformers", "fastembed", "model2vec"])
def test_a_library_reads_each_text_by_itself(library: Library, tmp_path: Path, kind: str) -> None:
    """A model is opened from this machine alone, once, and given one text at a time: no batch, no padding."""
    model = str(tmp_path)
    found = embedder_named(f"{kind}:{model}")
    assert found is not None
    assert found.embed(["abc", "", "abcdef"]).tolist() == [[3, 1], [0, 1], [6, 1]]
    assert found.embed([]).shape == (0, 2)
    assert identity_of(found)[:1] == (f"{kind}:{model}",)
    assert identity_of(found).runtime.startswith(f"{kind} ")
    assert library.calls == [["word"], ["abc"], [""], ["abcdef"]]
    ((name, settings),) = library.opened
    assert name == model
    assert kind == "model2vec" or settings["local_files_only"] is True


def test_a_library_that_fails_is_a_typed_error(library: Library) -> None:
    """A model that is not on this machine, one that breaks midway, and one that changes its width."""
    found = embedder_named("sentence-transformers:m")
    assert found is not None
    library.rows = RuntimeError("out of memory")
    with pytest.raises(EndpointError, match="could not read a text: RuntimeError: out of memory"):
        found.embed(["a"])
    library.rows = np.ones((1, 3))
    with pytest.raises(EndpointError, match=r"shape \(1, 3\), not \(1, 2\)"):
        found.embed(["a"])
    library.rows = np.full((1, 2), np.nan)
    with pytest.raises(EndpointError, match="NaN"):
        found.embed(["a"])
    library.rows = np.ones((1, 2, 2))
    with pytest.raises(EndpointError, match="not a vector"):
        found.embed(["a"])
    library.has_model = False
    for name in ("sentence-transformers:m", "fastembed:m"):
        with pytest.raises(MissingPartError, match=r"can't open 'm' from this machine \(OSError\)"):
            embedder_named(name)


# ---- servers


@pytest.fixture
def keyed(server: Server, monkeypatch: pytest.MonkeyPatch) -> Server:
    """The server, with a key of each kind in the environment."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-openai-0123456789")
    monkeypatch.setenv("BRIMFUL_API_KEY", "own-key")
    return server


def test_a_server_is_named_with_its_model(keyed: Server) -> None:
    """`openai:MODEL@URL` asks that server, with our key and never with OpenAI's; a model's own @ and : stay its own."""
    found = embedder_named(f"openai:me@team:latest@{keyed.url}")
    assert isinstance(found, EndpointEmbedder)
    assert found.name == f"{keyed.url}#me@team:latest:2"
    assert found.embed(["abc"]).tolist() == [[3, 1]]
    assert {(path, key, body["model"]) for path, key, body in keyed.asked} == {
        ("/v1/embeddings", "Bearer own-key", "me@team:latest")
    }


# ---- rerankers


def test_a_reranking_server_scores_texts(keyed: Server) -> None:
    """Scores come back in the order of the texts, in whole thousandths, whatever order the server answers in."""

    def answer(body: dict[str, Any]) -> tuple[int, Any]:
        rows = [{"index": at, "relevance_score": len(text) / 7} for at, text in enumerate(body["documents"])]
        return 200, {"results": rows[::-1]}

    keyed.answer = answer
    found = EndpointReranker(keyed.url, "m")
    assert found.scores("how long?", ["a", "abc", ""]) == [143, 429, 0]
    assert found.scores("how long?", []) == []
    ((path, key, body),) = keyed.asked
    assert (path, key, body["query"], body["model"]) == ("/v1/rerank", "Bearer own-key", "how long?", "m")
    assert reranker_named(f"rerank:m@{keyed.url}").name == found.name == f"{keyed.url}#m"  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ({}, "something else than scores"),
        ([1], "something else than scores"),
        ({"results": [{"index": 0}]}, "something else than scores"),
        ({"results": [{"index": 0, "relevance_score": 1}]}, "1 scores to 2 texts"),
        ({"results": [{"index": 1, "relevance_score": 1}] * 2}, "2 scores to 2 texts"),
        ({"results": [{"index": at, "relevance_score": 1e300} for at in (0, 1)]}, "not a number"),
    ],
)
def test_a_wrong_answer_is_no_score(keyed: Server, answer: object, words: str) -> None:
    """Whatever a server answers instead of one number for each text is an EndpointError."""
    keyed.answer = lambda _: (200, answer)
    with pytest.raises(EndpointError, match=words):
        EndpointReranker(keyed.url, "m").scores("q", ["a", "b"])


def test_a_cross_encoder_reads_pairs(library: Library) -> None:
    """The library's scores in whole thousandths; its failures are typed."""
    found = reranker_named("cross-encoder:m")
    assert found is not None
    library.rows = np.array([0.12345, -3.9], np.float32)
    assert found.scores("q", ["a", "b"]) == [123, -3900]
    assert library.calls == [["q|a", "q|b"]]
    assert library.opened == [("m", {"device": "cpu", "local_files_only": True})]
    assert found.scores("q", []) == []
    for rows in (np.ones(3), np.array([1, np.nan]), ValueError("no")):
        library.rows = rows
        with pytest.raises(EndpointError, match="cross-encoder:m"):
            found.scores("q", ["a", "b"])


def test_unknown_rerankers_are_refused() -> None:
    """A name that means no reranker lists the forms; none is the default of whoever asks."""
    assert reranker_named("none") is None
    for name in ("cross-encoder", "cross-encoder:", "rerank:m", "jina", ""):
        with pytest.raises(ChoiceError, match="choices: none, cross-encoder:NAME, rerank:MODEL@BASE_URL"):
            reranker_named(name)
