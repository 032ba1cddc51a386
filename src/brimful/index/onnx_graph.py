"""How do the weights of a BERT sentence model become something that onnxruntime runs?

By a graph of twenty kilobytes that names places in the safetensors file: the weights stay where they are, and no file
is made. An ONNX model is a protocol buffer, and the few records that it needs are written here by hand, so neither
PyTorch nor the `onnx` package has a part in it. The graph reads one text (a column of tokens, no batch and no padding),
so that a vector can depend on nothing else.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from dataclasses import field
from functools import cached_property
from math import prod, sqrt
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from brimful.classes import dataclass
from brimful.errors import MissingPartError

Arithmetic = Literal["float", "int8"]
Pooling = Literal["mean", "first"]

WEIGHTS_FILE = "weights"
"""By which name a graph speaks of the safetensors file."""

WRITER = 1
"""Counts the changes that give other vectors for the same weights."""

_OPSET, _IR = 17, 8
_FLOAT, _UINT8, _INT8, _INT64 = 1, 2, 3, 7
_TYPES = {"float32": _FLOAT, "uint8": _UINT8, "int8": _INT8, "int64": _INT64}
_EXTERNAL = 1
_MOST = 63  # 7 bits: the sum of two products with a byte fits into 16, as older processors need
_MIDDLE, _REACH = 128, 127


@dataclass(frozen=True, slots=True)
class Layers:
    """What has to be known of a model beside its weights."""

    count: int
    heads: int
    epsilon: float = 1e-12
    pooling: Pooling = "mean"


@dataclass(frozen=True)
class Weights:
    """A safetensors file: eight bytes that say how long the JSON header is, the header, the numbers.

    >>> header = b'{"two": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}}'
    >>> raw = struct.pack("<Q", len(header)) + header + np.array([1, 2], "<f4").tobytes()
    >>> weights = Weights(raw, where="memory")
    >>> weights.array("two").tolist(), weights.place("two")
    ([1.0, 2.0], (71, 8))
    """

    raw: bytes
    where: object = field(repr=False)

    @cached_property
    def entries(self) -> Mapping[str, Mapping[str, Any]]:
        """Every tensor's shape and place, checked."""
        try:
            header = json.loads(self.raw[8 : self._base])
            found = {name: entry for name, entry in header.items() if name != "__metadata__"}
            for entry in found.values():
                first, last = entry["data_offsets"]
                if not 0 <= first <= last <= len(self.raw) - self._base:
                    raise ValueError((first, last))
                if entry["dtype"] == "F32" and last - first != 4 * prod(entry["shape"]):
                    raise ValueError(entry["shape"])
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise MissingPartError(f"{self.where} is not a safetensors file; bring the model there again") from error
        return found

    @cached_property
    def prefix(self) -> str:
        """What stands before the names of the encoder's tensors."""
        last = "embeddings.word_embeddings.weight"
        return next((name.removesuffix(last) for name in sorted(self.entries) if name.endswith(last)), "")

    def place(self, name: str) -> tuple[int, int]:
        """Where in the file the numbers of a tensor begin, and how many bytes they take."""
        entry = self.entries.get(name)
        if entry is None:
            raise MissingPartError(f"{self.where} has no tensor {name!r}: not the encoder of a BERT model")
        if entry["dtype"] != "F32":
            raise MissingPartError(f"{self.where} keeps {name!r} as {entry['dtype']}; save the model in 32-bit floats")
        first, last = entry["data_offsets"]
        return self._base + first, last - first

    def shape(self, name: str) -> tuple[int, ...]:
        """How many numbers a tensor has in each direction."""
        self.place(name)
        return tuple(self.entries[name]["shape"])

    def array(self, name: str) -> NDArray[np.float32]:
        """The numbers of a tensor, without a copy."""
        first, size = self.place(name)
        return np.frombuffer(self.raw, "<f4", size // 4, first).reshape(self.shape(name))

    @cached_property
    def _base(self) -> int:
        return 8 + int.from_bytes(self.raw[:8], "little")


def write_graph(weights: Weights, layers: Layers, arithmetic: Arithmetic = "float") -> bytes:
    """The ONNX model: `input_ids` in, one vector of any length out.

    With `int8` arithmetic, the weights of the layers are rounded to seven bits and each token's numbers to eight
    before they are multiplied: whole numbers, exact on every processor, at twice the speed.
    """
    graph = _Graph(weights, layers, arithmetic)
    state = graph.embedded()
    for layer in range(layers.count):
        state = graph.layer(state, f"{weights.prefix}encoder.layer.{layer}.")
    if layers.pooling == "mean":
        graph.node("ReduceMean", state, out="vector", axes=[0], keepdims=0)
    else:
        graph.node("Gather", state, graph.constant(np.array(0)), out="vector", axis=0)
    return graph.model()


class _Graph:
    """Nodes and tensors as they are gathered; every node has one output, named by its number."""

    def __init__(self, weights: Weights, layers: Layers, arithmetic: Arithmetic) -> None:
        self._weights, self._layers, self._arithmetic = weights, layers, arithmetic
        self._nodes: list[bytes] = []
        self._tensors: dict[str, bytes] = {}

    # ---- the layers of BERT

    def embedded(self) -> str:
        """Tokens as what they are and where they stand; each is of the first of BERT's two types."""
        prefix = f"{self._weights.prefix}embeddings."
        words, places, types = (self.weight(f"{prefix}{name}_embeddings.weight") for name in _TABLES)
        zero, one = (self.constant(np.array([number])) for number in (0, 1))
        standing = self.node("Slice", places, zero, self.node("Shape", "input_ids"), zero, one)
        kind = self.node("Slice", types, zero, one, zero, one)
        found = self.node("Add", self.node("Gather", words, "input_ids"), standing)
        return self.normal(self.node("Add", found, kind), f"{prefix}LayerNorm")

    def layer(self, state: str, name: str) -> str:
        """Each token looks at all others, then at itself."""
        seen = self.linear(self.attention(state, f"{name}attention.self."), f"{name}attention.output.dense")
        state = self.normal(self.node("Add", seen, state), f"{name}attention.output.LayerNorm")
        wide = self.gelu(self.linear(state, f"{name}intermediate.dense"))
        thought = self.linear(wide, f"{name}output.dense")
        return self.normal(self.node("Add", thought, state), f"{name}output.LayerNorm")

    def attention(self, state: str, name: str) -> str:
        """Every head by itself."""
        width = self._weights.shape(f"{name}query.weight")[0]
        size = width // self._layers.heads
        shape = self.constant(np.array([-1, self._layers.heads, size]))
        parts = [self.node("Reshape", self.linear(state, f"{name}{part}"), shape) for part in _PARTS]
        query, value = (self.node("Transpose", parts[at], perm=[1, 0, 2]) for at in (0, 2))
        key = self.node("Transpose", parts[1], perm=[1, 2, 0])
        scores = self.node("Mul", self.node("MatMul", query, key), self.number(1 / sqrt(size)))
        read = self.node("MatMul", self.node("Softmax", scores, axis=-1), value)
        return self.node("Reshape", self.node("Transpose", read, perm=[1, 0, 2]), self.constant(np.array([-1, width])))

    def linear(self, state: str, name: str) -> str:
        """A layer's product with its weights."""
        bias = self.weight(f"{name}.bias")
        if self._arithmetic == "float":
            return self.node("Gemm", state, self.weight(f"{name}.weight"), bias, transB=1)
        rows = self._weights.array(f"{name}.weight")
        scales = np.maximum(np.abs(rows).max(axis=1, keepdims=True), np.float32(1e-30)) / np.float32(_MOST)
        whole = np.rint(rows / scales).astype(np.int8).T
        tokens, steps = self.rounded(state)
        middle = self.constant(np.array(_MIDDLE, np.uint8))
        sums = self.node("MatMulInteger", tokens, self.constant(whole), middle)
        scaled = self.node("Mul", self.node("DequantizeLinear", sums, steps, axis=0), self.constant(scales[:, 0]))
        return self.node("Add", scaled, bias)

    def rounded(self, state: str) -> tuple[str, str]:
        """Each token's numbers as bytes around 128, and how large a step of each is."""
        largest = self.node("ReduceMax", self.node("Abs", state), axes=[1], keepdims=0)
        steps = self.node("Max", self.node("Mul", largest, self.number(1 / _REACH)), self.number(1e-30))
        middle = self.constant(np.array([_MIDDLE], np.uint8))
        middles = self.node("Expand", middle, self.node("Shape", "input_ids"))
        return self.node("QuantizeLinear", state, steps, middles, axis=0), steps

    def normal(self, state: str, name: str) -> str:
        """A layer's norm."""
        scale, bias = self.weight(f"{name}.weight"), self.weight(f"{name}.bias")
        return self.node("LayerNormalization", state, scale, bias, epsilon=self._layers.epsilon)

    def gelu(self, state: str) -> str:
        """Half of x times one more than the error function of x over the root of two."""
        error = self.node("Erf", self.node("Div", state, self.number(sqrt(2))))
        whole = self.node("Mul", state, self.node("Add", error, self.number(1)))
        return self.node("Mul", whole, self.number(0.5))

    # ---- records

    def node(self, kind: str, *inputs: str, out: str = "", **attributes: float | list[int]) -> str:
        """Add a step; returns the name of what it gives."""
        name = out or f"step_{len(self._nodes)}"
        record = b"".join(_record(1, each) for each in inputs) + _record(2, name) + _record(4, kind)
        self._nodes.append(record + b"".join(_record(5, _attribute(*each)) for each in attributes.items()))
        return name

    def weight(self, name: str) -> str:
        """A tensor that stays in its file."""
        first, size = self._weights.place(name)
        entries = {"location": WEIGHTS_FILE, "offset": str(first), "length": str(size)}
        places = b"".join(_record(13, _record(1, key) + _record(2, value)) for key, value in entries.items())
        shape = b"".join(_record(1, each) for each in self._weights.shape(name))
        self._tensors[name] = shape + _record(2, _FLOAT) + _record(8, name) + places + _record(14, _EXTERNAL)
        return name

    def constant(self, numbers: NDArray[np.generic]) -> str:
        """A tensor of the graph itself."""
        name = f"constant_{len(self._tensors)}"
        shape = b"".join(_record(1, each) for each in numbers.shape)
        kind = _record(2, _TYPES[numbers.dtype.name]) + _record(8, name)
        self._tensors[name] = shape + kind + _record(9, np.ascontiguousarray(numbers).tobytes())
        return name

    def number(self, value: float) -> str:
        """One float."""
        return self.constant(np.array(value, np.float32))

    def model(self) -> bytes:
        """The whole file."""
        width = self._weights.shape(f"{self._weights.prefix}embeddings.LayerNorm.weight")[0]
        graph = b"".join(_record(1, each) for each in self._nodes) + _record(2, "sentence")
        graph += b"".join(_record(5, each) for each in self._tensors.values())
        graph += _record(11, _column("input_ids", _INT64, _record(2, "tokens")))
        graph += _record(12, _column("vector", _FLOAT, _record(1, width)))
        opset = _record(8, _record(1, "") + _record(2, _OPSET))
        return _record(1, _IR) + _record(2, "brimful") + _record(7, graph) + opset


_TABLES = ("word", "position", "token_type")
_PARTS = ("query", "key", "value")


def _record(number: int, value: float | str | bytes) -> bytes:
    """A field of a protocol buffer.

    >>> _record(1, 300).hex(), _record(2, "tea").hex(), _record(2, 0.5).hex()
    ('08ac02', '1203746561', '150000003f')
    """
    if isinstance(value, int):
        return _varint(number << 3) + _varint(value & (1 << 64) - 1)
    if isinstance(value, float):
        return _varint(number << 3 | 5) + struct.pack("<f", value)
    raw = value.encode() if isinstance(value, str) else value
    return _varint(number << 3 | 2) + _varint(len(raw)) + raw


def _varint(value: int) -> bytes:
    digits = []
    while value >= 1 << 7:
        digits.append(value & 127 | 128)
        value >>= 7
    return bytes([*digits, value])


def _attribute(name: str, value: float | list[int]) -> bytes:
    if isinstance(value, list):
        return _record(1, name) + b"".join(_record(8, each) for each in value) + _record(20, 7)
    place, kind = (2, 1) if isinstance(value, float) else (3, 2)
    return _record(1, name) + _record(place, value) + _record(20, kind)


def _column(name: str, kind: int, size: bytes) -> bytes:
    return _record(1, name) + _record(2, _record(1, _record(1, kind) + _record(2, _record(1, size))))
