"""Which units mean something alike? By 32 bytes a unit, or by vectors of a model, in whole numbers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from math import isqrt
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
from blake3 import blake3
from numpy.typing import ArrayLike, NDArray

from brimful.errors import InputError, ScoreError, SettingError
from brimful.index.segments import Numbers, Postings
from brimful.kernels import codes as kernels
from brimful.kernels.terms import Members

# ---- vectors: Which units mean something alike?
#
# A static embedding is a bag of words: a unit's vector is the sum of its distinct terms' vectors, so it follows
# from the postings, and nothing is tokenised again. What is kept of it is one sign bit for each of 256 dimensions.
# A question keeps whole numbers and is compared with all codes; the few best can be compared once more with their
# whole vectors. Only integers are stored or compared (DESIGN §1), so every machine gives the same bytes.

DIMENSIONS = kernels.DIMENSIONS
CODE_BYTES = DIMENSIONS // 8

NOTHING = -(1 << 15)
"""The score of a unit of which no term is known; its code is all zeros."""

_QUERY_BITS = 6  # of a dimension of the question, its sign included
_QUERY_MOST = (1 << (_QUERY_BITS - 1)) - 1
_TERM_MOST = 127
_MILLION = 1_000_000

Codes = NDArray[np.uint8]


class TermVectors(Protocol):
    """Vectors of terms as small whole numbers; those of one term never change."""

    def vectors_of(self, names: Sequence[bytes], /) -> NDArray[np.int8]:
        """One row of 256 numbers for each name, zeros where it is unknown."""


@runtime_checkable
class _TermColumns(Protocol):
    """The same for very many terms, whose rows together would take tens of megabytes."""

    def columns_of(self, names: Sequence[bytes], /) -> Iterator[NDArray[np.int8]]:
        """Some numbers of every row at a time, first to last; what was given is written over when the next is asked."""


class Nearest(NamedTuple):
    """Units by descending score, those with the same score by ascending id."""

    ids: Numbers
    scores: Numbers


def unit_codes(postings: Postings, units: Numbers, table: TermVectors, *, members: Members | None = None) -> Codes:
    """The code of every unit, 32 bytes each: bit i is set where the sum of its terms' vectors is positive.

    `units` holds where each unit begins on the axis of the postings. A unit's code depends on its own terms alone,
    on no statistic of the corpus. Whoever knows which terms each unit has may say so.
    """
    found: Codes = _summed(postings, units, table, codes=True, members=members)
    return found


def unit_vectors(postings: Postings, units: Numbers, table: TermVectors) -> NDArray[np.int32]:
    """The whole vector of every unit, a kilobyte each: for the few units of a second look."""
    found: NDArray[np.int32] = _summed(postings, units, table, codes=False)
    return found


def _summed(
    postings: Postings, units: Numbers, table: TermVectors, *, codes: bool, members: Members | None = None
) -> NDArray[Any]:
    names = postings.names
    parts = table.columns_of(names) if isinstance(table, _TermColumns) else kernels.in_parts(table.vectors_of(names))
    return kernels.sum_units(postings.positions, postings.offsets, units, parts, codes=codes, members=members)


def codes_of(vectors: ArrayLike) -> Codes:
    """Sign bits of rows of 256 numbers, dimension 0 in the highest bit of the first byte.

    >>> codes_of(np.arange(-3, 253)[None, :])[0, :2].tolist()
    [15, 255]
    """
    return np.packbits(np.asarray(vectors) > 0, axis=1)


def query_vector(names: Sequence[bytes], table: TermVectors) -> Numbers:
    """The vector of a question: the sum over its distinct terms."""
    summed: Numbers = table.vectors_of(sorted(set(names))).sum(axis=0, dtype=np.int64)
    return summed


def similarities(codes: Codes, query: Numbers) -> NDArray[np.int16]:
    """How alike each unit is to the question: its rounded numbers added up, negated where the unit's bit is unset.

    The question is scaled to six bits a dimension. Units of which nothing is known score `NOTHING`.

    >>> query = np.zeros(DIMENSIONS, np.int64)
    >>> query[:2] = 40, -20
    >>> similarities(codes_of(np.eye(2, DIMENSIONS)), query).tolist()
    [46, -46]
    """
    signs = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1).astype(np.int16) * 2 - 1
    tables = _rounded(query).astype(np.int16).reshape(CODE_BYTES, 8) @ signs.T
    return kernels.score_codes(codes, tables, nothing=NOTHING)


class HalfTables(NamedTuple):
    """A question as codes are compared with it: what each half byte of one adds, from 0 on; `base` comes to twice that.

    >>> HalfTables.of(np.ones(DIMENSIONS, np.int64)).tables[0, :4].tolist()
    [0, 31, 31, 62]
    """

    tables: NDArray[np.uint8]
    base: int

    @classmethod
    def of(cls, query: Numbers) -> HalfTables:
        """The tables of a question's vector."""
        return _half_tables(np.asarray(query, np.int64).tobytes())


@lru_cache(4)
def _half_tables(query: bytes) -> HalfTables:
    """The same of its bytes: a question is compared with all units, and then with those that it has chosen."""
    rounded = _rounded(np.frombuffer(query, np.int64))
    sums = rounded.reshape(-1, 4) @ _HALF_BITS
    least = sums.min(axis=1, keepdims=True)
    return HalfTables((sums - least).astype(np.uint8), 2 * int(least.sum()) - int(rounded.sum()))


_HALF_BITS = (np.arange(16)[:, None] >> np.arange(3, -1, -1) & 1).T


class ComparedCodes:
    """So many codes, in parts, that are compared with many questions: `near` and `scores` say what `similarities` says.

    >>> query = np.zeros(DIMENSIONS, np.int64)
    >>> query[:2] = 40, -20
    >>> asked, compared = HalfTables.of(query), ComparedCodes([codes_of(np.eye(2, DIMENSIONS))], count=2)
    >>> [column.tolist() for column in compared.near(asked, least=0)], compared.scores(np.arange(2), asked).tolist()
    ([[0], [46]], [46, -46])
    """

    def __init__(self, parts: Iterable[Codes], *, count: int) -> None:
        self._planes = kernels.Planes(parts, count=count)

    @classmethod
    def of(cls, laid: NDArray[np.uint8], *, count: int) -> ComparedCodes:
        """Of codes that another process has laid out; a ValueError where they are not so many."""
        compared = cls((), count=0)
        compared._planes = kernels.Planes.of(laid, count=count)
        return compared

    @property
    def laid(self) -> NDArray[np.uint8]:
        """The codes as they are laid out."""
        return self._planes.laid

    def __len__(self) -> int:
        return len(self._planes)

    def near(self, asked: HalfTables, *, least: int) -> tuple[Numbers, Numbers]:
        """The codes that are so much alike to a question at least, ascending, and their scores."""
        found, scores = self._planes.near(asked.tables, base=asked.base, least=max(least, NOTHING + 1))
        return found, scores.astype(np.int64)

    def scores(self, ids: Numbers, asked: HalfTables) -> Numbers:
        """The scores of some ascending codes; `NOTHING` for those of which no term is known."""
        return self._planes.scores(ids, asked.tables, base=asked.base, nothing=NOTHING)


def best_of_all(scores: Numbers, limit: int) -> NDArray[np.bool_]:
    """Which are among the best, and which are as good as the last of those.

    >>> best_of_all(np.array([3, 9, 3, 1]), 2).tolist()
    [True, True, True, False]
    """
    if len(scores) <= limit:
        return np.ones(len(scores), bool)
    found: NDArray[np.bool_] = scores >= np.partition(scores, len(scores) - limit)[len(scores) - limit]
    return found


def chance_score(query: Numbers) -> int:
    """What a unit that has nothing to do with a question scores by chance: one standard deviation of random codes."""
    rounded = _rounded(query)
    return isqrt(int((rounded * rounded).sum()))


def nearest(codes: Codes, query: Numbers, *, limit: int) -> Nearest:
    """The units most alike to the question, every unit compared.

    Units of which no term is known are left out; a question of which none is known finds nothing.

    >>> query = np.ones(DIMENSIONS, np.int64)
    >>> codes = codes_of([[1] * 256, [1] * 255 + [-1], [0] * 256, [1] * 256])
    >>> [column.tolist() for column in nearest(codes, query, limit=2)]
    [[0, 3], [7936, 7936]]
    """
    _check_limit(limit)
    scores = similarities(codes, query)
    if not np.any(query) or not limit or not len(scores):
        return Nearest(np.zeros(0, np.int64), np.zeros(0, np.int64))
    # Scores are few different numbers: counting them finds the last one that is still among the best.
    counts = np.bincount(scores.astype(np.int32) - NOTHING)
    counts[0] = 0
    reached = np.cumsum(counts[::-1])
    last = len(counts) - 1 - int(reached.searchsorted(min(limit, int(reached[-1])))) + NOTHING
    ids = np.flatnonzero(scores >= max(last, NOTHING + 1))
    order = np.lexsort((ids, -scores[ids].astype(np.int64)))[:limit]
    return Nearest(ids[order], scores[ids[order]].astype(np.int64))


def rerank(vectors: NDArray[np.int32], query: Numbers, *, limit: int) -> Nearest:
    """Rows by their cosine with the question in whole millionths, rounded down; rows of zeros are left out.

    >>> query = np.zeros(DIMENSIONS, np.int64)
    >>> query[0] = 5
    >>> rows = np.zeros((3, DIMENSIONS), np.int32)
    >>> rows[1, :2], rows[2, 0] = (3, 4), 1
    >>> [column.tolist() for column in rerank(rows, query, limit=9)]
    [[2, 1], [1000000, 600000]]
    """
    _check_limit(limit)
    wide = np.asarray(vectors, np.int64)
    asked = sum(number * number for number in query.tolist())
    squares = (wide * wide).sum(axis=1)
    ids = np.flatnonzero(squares) if asked else np.zeros(0, np.int64)
    dots = wide[ids] @ query
    scores = np.array(
        # Python's integers: the product of two squared lengths does not fit into 64 bits.
        [
            dot * _MILLION // isqrt(square * asked)
            for dot, square in zip(dots.tolist(), squares[ids].tolist(), strict=True)
        ],
        np.int64,
    )
    order = np.lexsort((ids, -scores))[:limit]
    return Nearest(ids[order], scores[order])


def project(embeddings: NDArray[np.floating]) -> NDArray[np.int64]:
    """Rows of a model with any number of dimensions as 256 whole numbers, ready for `codes_of` and `nearest`.

    Each row is scaled so that its largest number is 127 and rounded. 256 dimensions stay as they are. Others are
    padded to a power of two, flipped by fixed signs and mixed by a Walsh-Hadamard transform, of which the
    first 256 sums are kept: an orthogonal projection in whole numbers, the same for every corpus.
    """
    rows = np.asarray(embeddings, np.float64)
    if not np.isfinite(rows).all():
        raise ScoreError("an embedding holds NaN or infinity; look at the model that made it")
    largest = np.abs(rows).max(axis=1, keepdims=True, initial=0.0)
    whole = np.rint(rows / np.where(largest > 0, largest, 1.0) * _TERM_MOST).astype(np.int64)
    width = whole.shape[1]
    if width == DIMENSIONS:
        return whole
    padded = max(DIMENSIONS, 1 << (width - 1).bit_length())
    signs = np.unpackbits(np.frombuffer(blake3(b"brimful signs").digest(padded // 8), np.uint8))
    mixed = np.zeros((len(whole), padded), np.int64)
    mixed[:, :width] = np.where(signs[:width] > 0, whole, -whole)
    half = 1
    while half < padded:
        pairs = mixed.reshape(len(mixed), -1, 2, half)
        mixed = np.stack((pairs[:, :, 0] + pairs[:, :, 1], pairs[:, :, 0] - pairs[:, :, 1]), axis=2)
        mixed = mixed.reshape(len(whole), padded)
        half *= 2
    return mixed[:, :DIMENSIONS]


def _rounded(query: Numbers) -> Numbers:
    """The question scaled to six bits, rounded half up."""
    most = int(np.abs(query).max(initial=0))
    return (2 * _QUERY_MOST * query + most) // (2 * most) if most else np.zeros(DIMENSIONS, np.int64)


def _check_limit(limit: int) -> None:
    if limit < 0:
        raise SettingError(f"a limit of {limit} units is less than none")


# ---- quantised: How alike are a question and texts, by vectors of whole numbers?
#
# A model's vector is kept as one byte a dimension: 384 bytes for MiniLM, with the order of similarities nearly that of
# its floats (Spearman .9999). Everything after the rounding is exact, so kept vectors give the same scores everywhere.

Bytes = NDArray[np.int8]

MILLION = 1_000_000
"""The score of a vector that points where the question points."""

KEY_BYTES = 32

_MOST = 127
_BLOCK = 512  # few enough to stay in the cache
_EXACT_WIDTH = (1 << 24) // (_MOST * _MOST)  # numbers of a vector whose products add up exactly in 32 bits


def text_key(text: str) -> bytes:
    """What the vector of a text is kept under: a hash of exactly the text that was embedded.

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


def squares(rows: Bytes) -> Numbers:
    """The squared length of each row; whoever compares the same rows often keeps them.

    >>> squares(np.array([[3, 4], [-127, 0]], np.int8)).tolist()
    [25, 16129]
    """
    whole = np.empty(len(rows), np.int64)
    for first in range(0, len(rows), _BLOCK):
        block = rows[first : first + _BLOCK].astype(np.int32)
        whole[first : first + _BLOCK] = np.einsum("ij,ij->i", block, block)
    return whole


def cosines(rows: Bytes, query: Bytes, *, lengths: Numbers | None = None) -> Numbers:
    """The cosine of each row with the question in whole millionths, rounded down; 0 where either is all zeros.

    `lengths` are the rows' `squares`, where they are known already.

    >>> cosines(np.array([[3, 4], [4, 3], [-3, -4], [0, 0]], np.int8), np.array([3, 4], np.int8)).tolist()
    [1000000, 960000, -1000000, 0]
    """
    if rows.ndim != 2 or query.shape != rows.shape[1:]:
        raise InputError(f"a question of the shape {query.shape} can't be compared with rows of {rows.shape}")
    asked = query.astype(np.int64)
    known = squares(rows) if lengths is None else lengths
    # A root is rounded correctly on every processor.
    roots = np.sqrt((known * int(asked @ asked)).astype(np.float64)).astype(np.int64)
    # Sums of whole numbers below 2 to the 24th (or the 53rd) are exact in floats, in whatever order they are added.
    kind: type[np.floating] = np.float32 if rows.shape[1] < _EXACT_WIDTH else np.float64
    wide, products = query.astype(kind), np.empty(len(rows), np.int64)
    for first in range(0, len(rows), _BLOCK):
        products[first : first + _BLOCK] = np.dot(rows[first : first + _BLOCK].astype(kind), wide)
    scores = np.zeros(len(rows), np.int64)
    return np.floor_divide(products * MILLION, roots, out=scores, where=roots > 0)


def nearest_rows(rows: Bytes, query: Bytes, *, limit: int) -> Nearest:
    """The rows most alike to the question by descending score, then by id; every row compared, rows of zeros left out.

    >>> rows = np.array([[3, 4], [0, 0], [4, 3], [3, 4]], np.int8)
    >>> [column.tolist() for column in nearest_rows(rows, np.array([3, 4], np.int8), limit=3)]
    [[0, 3, 2], [1000000, 1000000, 960000]]
    """
    if limit < 0:
        raise SettingError(f"a limit of {limit} rows is less than none")
    scores = cosines(rows, query)
    ids = np.flatnonzero(rows.any(axis=1)) if query.any() else np.zeros(0, np.int64)
    order = ids[np.lexsort((ids, -scores[ids]))[:limit]]
    return Nearest(order, scores[order])


def unpack(raws: Sequence[bytes], *, width: int) -> Bytes:
    """Kept vectors as rows.

    >>> unpack([b"\\x7f\\xff", b"\\x00\\x01"], width=2).tolist()
    [[127, -1], [0, 1]]
    """
    return np.frombuffer(b"".join(raws), np.int8).reshape(len(raws), width)
