"""How alike are a question and texts, by a model's vectors in whole numbers?

A model's vector is kept as one byte a dimension: 384 bytes for granite, with the order of similarities nearly that of
its floats (Spearman .9999). Everything after the rounding is exact, so scores are
equal on every machine.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from blake3 import blake3
from numpy.typing import NDArray

from brimful.errors import InputError, ScoreError
from brimful.index.segments import Numbers

Bytes = NDArray[np.int8]

MILLION = 1_000_000
"""The score of a vector that points where the question points."""

KEY_BYTES = 32

_MOST = 127
_BLOCK = 512  # few enough to stay in the cache
_EXACT_WIDTH = (1 << 24) // (_MOST * _MOST)  # numbers of a vector whose products add up exactly in 32 bits


def text_key(text: str) -> bytes:
    """The key of a text's vector: a hash of exactly the text that was embedded.

    >>> text_key("tea") == text_key("tea"), text_key("tea") == text_key("Tea"), len(text_key(""))
    (True, False, 32)
    """
    return blake3(text.encode("utf-8", "surrogatepass")).digest(KEY_BYTES)


def quantise(vectors: NDArray[np.floating]) -> Bytes:
    """Rows of floats in whole numbers, each scaled so that its largest is 127; `row.tobytes()` is what is kept.

    The length goes, since only directions are compared.

    >>> quantise(np.array([[0.5, -0.25, 0.1], [0, 0, 0]])).tolist()
    [[127, -64, 25], [0, 0, 0]]
    """
    rows = np.asarray(vectors, np.float64)
    if rows.ndim != 2:
        raise InputError(f"vectors come in rows, not in the shape {rows.shape}")
    if not np.isfinite(rows).all():
        raise ScoreError("an embedding holds NaN or infinity; look at the model that made it")
    largest = np.abs(rows).max(axis=1, keepdims=True, initial=0.0)
    return np.rint(rows / np.where(largest > 0, largest, 1.0) * _MOST).astype(np.int8)


def cosines(rows: Bytes, query: Bytes) -> Numbers:
    """The cosine of each row with the question in whole millionths, rounded down; 0 where either is all zeros.

    >>> cosines(np.array([[3, 4], [4, 3], [-3, -4], [0, 0]], np.int8), np.array([3, 4], np.int8)).tolist()
    [1000000, 960000, -1000000, 0]
    """
    if rows.ndim != 2 or query.shape != rows.shape[1:]:
        raise InputError(f"a question of the shape {query.shape} can't be compared with rows of {rows.shape}")
    query_numbers = query.astype(np.int64)
    # A root is rounded correctly on every processor.
    roots = np.sqrt((_squares(rows) * int(query_numbers @ query_numbers)).astype(np.float64)).astype(np.int64)
    # Sums of whole numbers below 2 to the 24th (or the 53rd) are exact in floats, in whatever order they are added.
    kind: type[np.floating] = np.float32 if rows.shape[1] < _EXACT_WIDTH else np.float64
    wide, products = query.astype(kind), np.empty(len(rows), np.int64)
    for first in range(0, len(rows), _BLOCK):
        products[first : first + _BLOCK] = np.dot(rows[first : first + _BLOCK].astype(kind), wide)
    scores = np.zeros(len(rows), np.int64)
    return np.floor_divide(products * MILLION, roots, out=scores, where=roots > 0)


def unpack(raws: Sequence[bytes], *, width: int) -> Bytes:
    """Kept vectors as rows.

    >>> unpack([b"\\x7f\\xff", b"\\x00\\x01"], width=2).tolist()
    [[127, -1], [0, 1]]
    """
    return np.frombuffer(b"".join(raws), np.int8).reshape(len(raws), width)


def _squares(rows: Bytes) -> Numbers:
    """The squared length of each row.

    >>> _squares(np.array([[3, 4], [-127, 0]], np.int8)).tolist()
    [25, 16129]
    """
    squares = np.empty(len(rows), np.int64)
    for first in range(0, len(rows), _BLOCK):
        block = rows[first : first + _BLOCK].astype(np.int32)
        squares[first : first + _BLOCK] = np.einsum("ij,ij->i", block, block)
    return squares
