"""Vectors of whole numbers: what rounding keeps, and that everything after it is exact."""

from __future__ import annotations

from math import isqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from brimful.errors import InputError, ScoreError
from brimful.index import vectors
from brimful.index.vectors import MILLION, cosines, quantise, text_key, unpack


def exact(row: list[int], query: list[int]) -> int:
    """The cosine in millionths, in Python's integers alone."""
    lengths = isqrt(sum(each * each for each in row) * sum(each * each for each in query))
    return sum(a * b for a, b in zip(row, query, strict=True)) * MILLION // lengths if lengths else 0


@given(st.integers(1, 1_600), st.integers(0, 2**32), st.booleans())
@settings(max_examples=60)
def test_scores_are_exact(width: int, seed: int, extreme: bool) -> None:
    """Whatever the width, scores are those of Python's own integers, also where every number is as large as can be."""
    random = np.random.default_rng(seed)
    rows = random.integers(-127, 128, (9, width)).astype(np.int8)
    if extreme:
        rows = np.where(rows < 0, -127, 127).astype(np.int8)
        rows[:2] = 127
    rows[3] = 0
    expected = [exact(row, rows[0].tolist()) for row in rows.tolist()]
    assert cosines(rows, rows[0]).tolist() == expected
    assert cosines(rows, rows[3]).tolist() == [0] * 9


def test_blocks_do_not_show(monkeypatch: pytest.MonkeyPatch) -> None:
    """Scores are the same in blocks of any size."""
    rows = np.random.default_rng(105).integers(-3, 4, (50, 4)).astype(np.int8)
    query = np.array([1, 2, -3, 0], np.int8)
    whole = cosines(rows, query).tolist()
    monkeypatch.setattr(vectors, "_BLOCK", 7)
    assert cosines(rows, query).tolist() == whole == [exact(row, query.tolist()) for row in rows.tolist()]


def test_rounding_keeps_the_order_of_similarities() -> None:
    """Of random directions the similarities in whole numbers rank as those of floats do (Spearman above .999)."""
    rows = np.random.default_rng(27).normal(size=(60, 384))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    above = np.triu_indices(60, 1)
    floats = (rows @ rows.T)[above]
    whole = np.array([cosines(quantise(rows), row) for row in quantise(rows)])[above]
    ranks = [np.argsort(np.argsort(scores)) for scores in (floats, whole)]
    assert np.corrcoef(*ranks)[0, 1] > 0.999
    assert np.abs(floats * MILLION - whole).max() < MILLION / 100


def test_length_and_batch_do_not_show() -> None:
    """A vector's bytes follow from its direction, and are the same alone and among others; bytes come back as rows."""
    rows = np.random.default_rng(1).normal(size=(5, 32)).astype(np.float32)
    together = quantise(rows)
    assert (quantise(rows * np.float32(4)) == together).all()
    assert [quantise(row[None])[0].tobytes() for row in rows] == [row.tobytes() for row in together]
    assert (unpack([row.tobytes() for row in together], width=32) == together).all()
    assert np.abs(together).max(axis=1).tolist() == [127] * 5


def test_what_is_no_vector_is_refused() -> None:
    """NaN, another shape, another width: each an error."""
    with pytest.raises(ScoreError, match="NaN"):
        quantise(np.array([[np.nan, 1]]))
    with pytest.raises(InputError, match="shape"):
        quantise(np.zeros(3))
    with pytest.raises(InputError, match="compared"):
        cosines(np.zeros((2, 3), np.int8), np.zeros(4, np.int8))
    assert quantise(np.zeros((0, 4))).shape == (0, 4)


def test_keys_tell_all_texts_apart() -> None:
    """A key is the hash of exactly one text, lone surrogates included."""
    texts = ["", " ", "a", "a ", "\0", "\ud83d", "\ufffd", "é", "e\u0301"]
    assert len({text_key(text) for text in texts}) == len(texts)
