"""A BERT encoder in float64, written from the paper, and a small one on disk."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from math import erf, sqrt
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "red", "green", "blue", "##s", "!"]

_ERF = np.vectorize(erf)


def forward(
    weights: Mapping[str, NDArray[np.float32]], tokens: Sequence[int], *, layers: int, heads: int, first: bool = False
) -> Array:
    """The mean (or the first row) of the last layer, one head and one layer after the other."""

    def tensor(name: str) -> Array:
        return np.asarray(weights[name], np.float64)

    def linear(rows: Array, name: str) -> Array:
        return np.asarray(rows @ tensor(f"{name}.weight").T + tensor(f"{name}.bias"))

    def norm(rows: Array, name: str) -> Array:
        centred = rows - rows.mean(axis=1, keepdims=True)
        scaled = centred / np.sqrt((centred**2).mean(axis=1, keepdims=True) + 1e-12)
        return np.asarray(scaled * tensor(f"{name}.weight") + tensor(f"{name}.bias"))

    def attention(rows: Array, name: str) -> Array:
        query, key, value = (linear(rows, f"{name}.{part}") for part in ("query", "key", "value"))
        size = query.shape[1] // heads
        seen = []
        for head in range(heads):
            part = slice(head * size, (head + 1) * size)
            scores = np.exp(query[:, part] @ key[:, part].T / sqrt(size))
            seen.append(scores / scores.sum(axis=1, keepdims=True) @ value[:, part])
        return np.concatenate(seen, axis=1)

    words = tensor("embeddings.word_embeddings.weight")[list(tokens)]
    places = tensor("embeddings.position_embeddings.weight")[: len(tokens)]
    rows = norm(words + places + tensor("embeddings.token_type_embeddings.weight")[0], "embeddings.LayerNorm")
    for layer in range(layers):
        name = f"encoder.layer.{layer}"
        seen = linear(attention(rows, f"{name}.attention.self"), f"{name}.attention.output.dense")
        rows = norm(rows + seen, f"{name}.attention.output.LayerNorm")
        wide = linear(rows, f"{name}.intermediate.dense")
        wide = wide / 2 * (1 + _ERF(wide / sqrt(2)))
        rows = norm(rows + linear(wide, f"{name}.output.dense"), f"{name}.output.LayerNorm")
    return np.asarray(rows[0] if first else rows.mean(axis=0))


def tiny_bert(parent: Path, *, prefix: str = "", first: bool = False) -> tuple[Path, Mapping[str, NDArray[np.float32]]]:
    """A model of two layers and eight dimensions with random weights, as sentence-transformers saves one."""
    from safetensors.numpy import save_file

    width, random = 8, np.random.default_rng(105)
    shapes: dict[str, tuple[int, ...]] = {
        "embeddings.word_embeddings.weight": (len(WORDS) + 1, width),
        "embeddings.position_embeddings.weight": (16, width),
        "embeddings.token_type_embeddings.weight": (2, width),
    }
    norms = ["embeddings.LayerNorm"]
    for layer in range(2):
        name = f"encoder.layer.{layer}"
        linears = {f"attention.self.{part}": (width, width) for part in ("query", "key", "value")}
        linears |= {"attention.output.dense": (width, width)}
        linears |= {"intermediate.dense": (2 * width, width), "output.dense": (width, 2 * width)}
        for part, shape in linears.items():
            shapes |= {f"{name}.{part}.weight": shape, f"{name}.{part}.bias": shape[:1]}
        norms += [f"{name}.attention.output.LayerNorm", f"{name}.output.LayerNorm"]
    shapes |= {f"{norm}.{part}": (width,) for norm in norms for part in ("weight", "bias")}
    weights = {prefix + name: random.normal(size=shape).astype(np.float32) for name, shape in shapes.items()}
    folder = parent / "tiny-bert"
    (folder / "1_Pooling").mkdir(parents=True)
    save_file(weights, folder / "model.safetensors")
    settings = {"model_type": "bert", "hidden_act": "gelu", "num_hidden_layers": 2, "num_attention_heads": 2}
    (folder / "config.json").write_text(json.dumps({**settings, "max_position_embeddings": 16}))
    (folder / "1_Pooling" / "config.json").write_text(json.dumps({"pooling_mode_cls_token": first}))
    write_tokenizer(folder, WORDS)
    return folder, weights


def write_tokenizer(folder: Path, words: Sequence[str]) -> None:
    """A tokenizer.json as BERT's has it, with these words."""
    numbers = {word: at for at, word in enumerate(words)}
    marks = {name: {"id": name, "ids": [numbers[name]], "tokens": [name]} for name in ("[CLS]", "[SEP]")}
    begin, text, end = (
        {"SpecialToken": {"id": "[CLS]", "type_id": 0}},
        {"Sequence": {"id": "A", "type_id": 0}},
        {"SpecialToken": {"id": "[SEP]", "type_id": 0}},
    )
    flags = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False) | {"special": True}
    settings = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [{"id": at, "content": word, **flags} for at, word in enumerate(words) if word[0] == "["],
        "normalizer": {
            "type": "BertNormalizer",
            "clean_text": True,
            "handle_chinese_chars": True,
            "strip_accents": None,
            "lowercase": True,
        },
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "post_processor": {
            "type": "TemplateProcessing",
            "single": [begin, text, end],
            "pair": [begin, text, end],
            "special_tokens": marks,
        },
        "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": True},
        "model": {
            "type": "WordPiece",
            "unk_token": "[UNK]",
            "continuing_subword_prefix": "##",
            "max_input_chars_per_word": 100,
            "vocab": numbers,
        },
    }
    (folder / "tokenizer.json").write_text(json.dumps(settings))
