"""Which vector a BERT model gives a text (bert.c, bert_layers.h)."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from math import isqrt

import numpy as np
from numpy.typing import NDArray

from brimful.native import Column, kernels, library, pointer, pointers

Floats = NDArray[np.float32]

PATHS = ("plain", "avx2", "vnni")
"""Which instructions multiply, the slowest first; all give equal bits."""

TABLES = ("position", "token_type")
_HEADS = ("attention.self.query", "attention.self.key", "attention.self.value")
_INNER, _OUTER = "intermediate.dense", "output.dense"
LINEARS = (*_HEADS, "attention.output.dense", _INNER, _OUTER)
NORMS = ("attention.output.LayerNorm", "output.LayerNorm")

_UNFIT = "a weight is not finite, or absurdly large"
_MOST_WEIGHT = 1e9
_COLUMNS, _NEIGHBOURS = 32, (1, 2, 4)
_MOST_SCORE, _MOST_REACH = 1 << 30, (1 << 15) - 1
_MOST_HEAD, _MOST_WIDTH, _MOST_TOKENS, _MOST_LAYERS = 512, 1 << 15, 1 << 14, 1 << 10


@cache
def best_path() -> int:
    """The fastest that this processor has; those before it can be chosen too."""
    return int(library().best_path())


@dataclass(frozen=True, slots=True)
class Layers:
    """The shape of a model, without its weights."""

    count: int
    heads: int
    epsilon: float = 1e-12
    is_first: bool = False


class Encoder:
    """A BERT model whose weights were rounded to bytes and arranged for this processor.

    `tensor` gives the numbers of a name: `encoder.layer.0.output.dense.bias`, …; `words` gives rows of the table of
    words, of which there are `vocabulary`.
    """

    def __init__(
        self,
        tensor: Callable[[str], Floats],
        words: Callable[[NDArray[np.int64]], Floats],
        layers: Layers,
        *,
        vocabulary: int,
        path: int | None = None,
    ) -> None:
        self._path = best_path() if path is None else path
        if not 0 <= self._path <= best_path():
            raise ValueError(f"this processor has no way {self._path}; its best is {best_path()}")
        self._layers, self._epsilon = layers, layers.epsilon
        self._kept: list[Column] = []
        self._words, self._vocabulary = words, vocabulary
        self._places, kinds = (_table(tensor, name) for name in TABLES)
        self.width = self._places.shape[1]
        self.inner = len(tensor(f"encoder.layer.0.{_INNER}.bias")) if layers.count else self.width
        self._check()
        _expect(self._places, (len(self._places), self.width), "position_embeddings")
        _expect(kinds, (len(kinds), self.width), "token_type_embeddings")
        self._keep(self._places)
        self._keep(_padded(kinds[0]))
        self._keep_norm(tensor, "embeddings.LayerNorm")
        for number in range(layers.count):
            self._keep_layer(tensor, f"encoder.layer.{number}.")
        self._parts = kernels().types.new("void *[]", pointers(*self._kept))
        self._model = kernels().types.new("bert_model *", {"parts": self._parts, **self._numbers()})
        self._rooms = threading.local()

    @property
    def most_tokens(self) -> int:
        """How many places there are for tokens."""
        return len(self._places)

    def read(self, tokens: Sequence[int]) -> Floats:
        """The sum over the vectors of all tokens, or the vector of the first; both point where a text's does."""
        numbers = np.array(tokens, np.int64)
        if not 0 < len(numbers) <= self.most_tokens:
            raise ValueError(f"{len(numbers)} tokens, where a text has 1 to {self.most_tokens}")
        if not 0 <= numbers.min() <= numbers.max() < self._vocabulary:
            raise ValueError(f"a token must be one of the {self._vocabulary} that the model has")
        words = np.ascontiguousarray(self._words(numbers), np.float32)
        _expect(words, (len(numbers), self.width), "word_embeddings")
        order, vector = np.arange(len(numbers), dtype=np.int32), np.empty(self.width, np.float32)
        room = self._room(len(numbers))
        arguments = (pointer(words), pointer(order), len(order), pointer(room), pointer(vector))
        if not library().read_tokens(self._model, *arguments):
            raise ValueError("a number of the model is not finite")
        return vector

    def _room(self, tokens: int) -> NDArray[np.uint8]:
        """Memory to work in: each thread has its own, as large as the longest text needed that it has read."""
        needed = int(library().room_for_tokens(self._model, tokens))
        room: NDArray[np.uint8] | None = getattr(self._rooms, "room", None)
        if room is None or len(room) < needed:
            room = self._rooms.room = np.empty(needed, np.uint8)
        return room

    def _numbers(self) -> dict[str, object]:
        """The numbers of the model that a kernel needs."""
        reach = min(isqrt(_MOST_SCORE // (self.width // self._layers.heads)), _MOST_REACH)
        sizes = {"layers": self._layers.count, "width": self.width, "heads": self._layers.heads, "inner": self.inner}
        options = {"is_first": self._layers.is_first, "path": self._path, "epsilon": self._epsilon}
        return {**sizes, "reach": reach, **options}

    def _check(self) -> None:
        heads, width = self._layers.heads, self.width
        if not 0 < heads <= width or width % heads or width // heads > _MOST_HEAD:
            raise ValueError(f"{width} numbers can't be shared by {heads} heads")
        if max(width, self.inner) > _MOST_WIDTH or not 0 < self._layers.count <= _MOST_LAYERS or not self.inner:
            raise ValueError(f"{self._layers.count} layers of {width} and {self.inner} numbers are none of BERT's")
        if not 0 < len(self._places) <= _MOST_TOKENS:
            raise ValueError(f"a text has 1 to {_MOST_TOKENS} places for tokens, not {len(self._places)}")

    def _keep(self, numbers: Column) -> None:
        self._kept.append(np.require(numbers, requirements=["C", "A"]))

    def _keep_layer(self, tensor: Callable[[str], Floats], name: str) -> None:
        width, inner, heads = self.width, self.inner, self._layers.heads
        shapes = {_INNER: (inner, width), _OUTER: (width, inner)}
        for linear in LINEARS:
            shape = shapes.get(linear, (width, width))
            weights, bias = tensor(f"{name}{linear}.weight"), tensor(f"{name}{linear}.bias")
            _expect(weights, shape, f"{name}{linear}.weight")
            _expect(bias, shape[:1], f"{name}{linear}.bias")
            self._keep_linear(weights, bias, parts=heads if linear in _HEADS else 1)
        for norm in NORMS:
            self._keep_norm(tensor, name + norm)

    def _keep_linear(self, weights: Floats, bias: Floats, *, parts: int) -> None:
        """Keep weights in panels, one group for each head, and their bias."""
        size, together = len(weights) // parts, _NEIGHBOURS[self._path]
        columns, rows = _in(size, _COLUMNS), _in(weights.shape[1], together)
        packed = np.zeros((parts, columns * rows), np.int8 if PATHS[self._path] == "vnni" else np.int16)
        starts, scales = np.zeros((parts, columns), np.int32), np.zeros((parts, columns), np.float32)
        weights = np.ascontiguousarray(weights)
        for part in range(parts):
            rows_of_part = weights[part * size : (part + 1) * size]
            places = (pointer(packed[part]), pointer(scales[part]), pointer(starts[part]))
            if not library().pack_weights(pointer(rows_of_part), size, weights.shape[1], self._path, *places):
                raise ValueError(_UNFIT)
        spread = np.zeros((parts, columns), np.float32)
        spread[:, :size] = bias.reshape(parts, size)
        for numbers in (packed, starts, scales, spread):
            self._keep(numbers)

    def _keep_norm(self, tensor: Callable[[str], Floats], name: str) -> None:
        for part in ("weight", "bias"):
            numbers = tensor(f"{name}.{part}")
            _expect(numbers, (self.width,), f"{name}.{part}")
            self._keep(_padded(numbers))


def _table(tensor: Callable[[str], Floats], name: str) -> Floats:
    table = np.ascontiguousarray(tensor(f"embeddings.{name}_embeddings.weight"), np.float32)
    if table.ndim != 2 or not table.size:
        raise ValueError(f"the table of {name} embeddings has the shape {table.shape}")
    return table


def _expect(numbers: Floats, shape: tuple[int, ...], name: str) -> None:
    if numbers.shape != shape:
        raise ValueError(f"{name} has the shape {numbers.shape}, not {shape}")
    if len(shape) == 1 and not (np.abs(numbers) < _MOST_WEIGHT).all():
        raise ValueError(_UNFIT)


def _padded(numbers: Floats) -> Floats:
    padded = np.zeros(_in(len(numbers), _COLUMNS), np.float32)
    padded[: len(numbers)] = numbers
    return padded


def _in(count: int, unit: int) -> int:
    return -(-count // unit) * unit
