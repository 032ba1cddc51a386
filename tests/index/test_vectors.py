from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from brimful.errors import ScoreError, SettingError
from brimful.index.build import Extent, build_segment
from brimful.index.segments import Postings
from brimful.index.vectors import (
    CODE_BYTES,
    DIMENSIONS,
    NOTHING,
    codes_of,
    nearest,
    project,
    query_vector,
    rerank,
    similarities,
    unit_codes,
    unit_vectors,
)
from brimful.text.terms import terms_of

TEXT = b"The cat sat on the mat. A dog came by! getAtom(atom) and atom_positions, twice: atom.\n\n" * 3


class HashTable:
    """Vectors made from a term's own bytes; terms with an x are unknown."""

    def vectors_of(self, names: Sequence[bytes], /) -> NDArray[np.int8]:
        """Eight digests a name."""
        rows = np.zeros((len(names), DIMENSIONS), np.int8)
        for row, name in zip(rows, names, strict=True):
            if b"x" not in name:
                digest = b"".join(hashlib.sha256(name + bytes([part])).digest() for part in range(8))
                row[:] = np.frombuffer(digest, np.int8)
        return rows


def by_hand(postings: Postings, units: Sequence[int], table: HashTable) -> list[list[int]]:
    """Unit vectors by sets and loops."""
    held: list[set[bytes]] = [set() for _ in units]
    for at, name in enumerate(postings.names):
        for position in postings.positions[postings.offsets[at] : postings.offsets[at + 1]].tolist():
            before = [unit for unit, start in enumerate(units) if start <= position]
            if before:
                held[before[-1]].add(name)
    sums = []
    for names in held:
        total = [0] * DIMENSIONS
        for name in names:
            total = [one + other for one, other in zip(total, table.vectors_of([name])[0].tolist(), strict=True)]
        sums.append(total)
    return sums


def postings_of(text: bytes) -> Postings:
    """The postings of one text."""
    terms = terms_of(text)
    return Postings(terms.names, terms.offsets, terms.starts)


words = st.lists(st.sampled_from(["alpha", "beta", "getName", "x", "Δέλτα", "量子", "7", ""]), max_size=40)


@given(words, st.sets(st.integers(0, 120), max_size=8))
@settings(max_examples=60, deadline=None)
def test_unit_vectors_are_sums_over_distinct_terms(chosen: list[str], starts: set[int]) -> None:
    """A unit's vector is the sum of its distinct terms' vectors, however its units are cut."""
    postings, units = postings_of(" ".join(chosen).encode()), sorted(starts)
    found = unit_vectors(postings, np.array(units, np.int64), HashTable())
    assert found.tolist() == by_hand(postings, units, HashTable())


@given(words, st.sets(st.integers(0, 120), max_size=8))
@settings(max_examples=30, deadline=None)
def test_codes_are_the_signs_of_the_vectors(chosen: list[str], starts: set[int]) -> None:
    """Bit i of a unit's code says whether number i of its vector is positive."""
    postings, units = postings_of(" ".join(chosen).encode()), np.array(sorted(starts), np.int64)
    codes = unit_codes(postings, units, HashTable())
    assert codes.shape == (len(units), CODE_BYTES)
    assert codes.dtype == np.uint8
    assert np.array_equal(np.unpackbits(codes, axis=1) == 1, unit_vectors(postings, units, HashTable()) > 0)


def test_a_unit_of_very_many_terms_is_summed_exactly() -> None:
    """Also where the sum of its terms does not fit into sixteen bits."""
    postings = postings_of(b" ".join(b"word%d" % number for number in range(900)))
    found = unit_vectors(postings, np.array([0, 4_000], np.int64), HashTable())
    assert found.tolist() == by_hand(postings, [0, 4_000], HashTable())


def test_a_unit_is_independent_of_its_segment() -> None:
    """The same text has the same codes alone and among other documents."""
    extent, other = Extent(TEXT, "prose", None), Extent(b"Something else entirely, said alpha. " * 30, "prose", None)
    alone, among = build_segment([extent]), build_segment([other, extent, other])
    first = int(among.units.searchsorted(among.bases[1]))
    codes = unit_codes(among.postings, among.units, HashTable())[first : first + len(alone.units)]
    assert np.array_equal(codes, unit_codes(alone.postings, alone.units, HashTable()))


def test_many_terms_do_not_overflow() -> None:
    """A unit of 1,000 terms that all say 127 sums up to 127,000."""

    class Largest:
        def vectors_of(self, names: Sequence[bytes], /) -> NDArray[np.int8]:
            return np.full((len(names), DIMENSIONS), 127, np.int8)

    text = " ".join(f"w{number}q" for number in range(1_000)).encode()
    units = np.array([0], np.int64)
    assert set(unit_vectors(postings_of(text), units, Largest()).ravel().tolist()) <= {127_000, 127 * 3_000}


def test_nothing_gives_nothing() -> None:
    """No units, no terms or no codes are no error."""
    empty = postings_of(b"")
    assert unit_codes(empty, np.zeros(0, np.int64), HashTable()).shape == (0, CODE_BYTES)
    assert not unit_codes(empty, np.array([0, 5]), HashTable()).any()
    assert query_vector([], HashTable()).tolist() == [0] * DIMENSIONS
    found = nearest(np.zeros((0, CODE_BYTES), np.uint8), np.ones(DIMENSIONS, np.int64), limit=5)
    assert (len(found.ids), len(found.scores)) == (0, 0)


def test_a_question_counts_a_term_once() -> None:
    """Repeating a word does not change a question's vector."""
    once, twice = (query_vector(names, HashTable()) for names in ([b"a", b"b"], [b"b", b"a", b"b"]))
    assert np.array_equal(once, twice)


def codes_from(seed: int, count: int, *, kinds: int) -> NDArray[np.uint8]:
    """Codes with many repetitions, so that scores tie; the first kind is unknown."""
    rng = np.random.default_rng(seed)
    pool = rng.integers(0, 256, (kinds, CODE_BYTES), dtype=np.uint8)
    pool[0] = 0
    return pool[rng.integers(0, kinds, count)]


def score_by_hand(code: NDArray[np.uint8], query: NDArray[np.int64]) -> int:
    """One score, bit by bit."""
    most = max(abs(number) for number in query.tolist())
    rounded = [(2 * 31 * number + most) // (2 * most) for number in query.tolist()]
    bits = np.unpackbits(code).tolist()
    return sum(number if bit else -number for number, bit in zip(rounded, bits, strict=True))


queries = st.lists(st.integers(-9_999, 9_999), min_size=DIMENSIONS, max_size=DIMENSIONS).filter(any)


@given(st.integers(0, 9), st.integers(0, 60), st.integers(0, 70), queries)
@settings(max_examples=40, deadline=None)
def test_nearest_is_a_full_sort(seed: int, count: int, limit: int, numbers: list[int]) -> None:
    """The nearest are those that comparing and sorting every unit gives, ties by id."""
    codes, query = codes_from(seed, count, kinds=12), np.array(numbers, np.int64)
    found = nearest(codes, query, limit=limit)
    every = sorted((-score_by_hand(code, query), at) for at, code in enumerate(codes) if code.any())[:limit]
    assert list(zip((-found.scores).tolist(), found.ids.tolist(), strict=True)) == every


def test_a_score_depends_on_its_code_alone() -> None:
    """Alone or among others, and in any order."""
    codes, query = codes_from(1, 200, kinds=50), np.arange(DIMENSIONS) - 100
    scores = similarities(codes, query)
    assert [int(similarities(code[None], query)[0]) for code in codes] == scores.tolist()
    assert np.array_equal(similarities(codes[::-1], query), scores[::-1])
    assert scores[~codes.any(axis=1)].tolist() == [NOTHING] * int((~codes.any(axis=1)).sum())


def test_codes_may_come_from_a_file() -> None:
    """Read-only bytes at any offset are compared like others."""
    codes, query = codes_from(2, 20, kinds=20), np.arange(DIMENSIONS) - 7
    view = np.frombuffer(b"?" + codes.tobytes(), np.uint8)[1:].reshape(-1, CODE_BYTES)
    assert np.array_equal(similarities(view, query), similarities(codes, query))


def test_unknown_units_and_questions_find_nothing() -> None:
    """A unit of which no term is known is never near, and a question of which none is finds nothing."""
    codes = codes_from(3, 50, kinds=5)
    assert not set(nearest(codes, -np.ones(DIMENSIONS, np.int64), limit=50).ids) & set(
        np.flatnonzero(~codes.any(axis=1))
    )
    assert len(nearest(codes, np.zeros(DIMENSIONS, np.int64), limit=50).ids) == 0
    assert len(rerank(np.ones((3, DIMENSIONS), np.int32), np.zeros(DIMENSIONS, np.int64), limit=3).ids) == 0


def test_a_negative_limit_is_refused() -> None:
    """A limit below zero is an error that names it."""
    for function, rows in ((nearest, codes_from(0, 3, kinds=3)), (rerank, np.ones((3, DIMENSIONS), np.int32))):
        with pytest.raises(SettingError, match="-1"):
            function(rows, np.ones(DIMENSIONS, np.int64), limit=-1)  # type: ignore[operator]


@given(st.integers(0, 99))
@settings(max_examples=30, deadline=None)
def test_rerank_is_the_cosine(seed: int) -> None:
    """A second look orders by the cosine, within a millionth of what floats say."""
    rng = np.random.default_rng(seed)
    rows = rng.integers(-9_000, 9_000, (30, DIMENSIONS)).astype(np.int32)
    rows[3] = 0
    rows[5] = rows[4]
    query = rng.integers(-4_000, 4_000, DIMENSIONS)
    found = rerank(rows, query, limit=30)
    wide = rows[found.ids].astype(np.float64)
    cosines = wide @ query / np.linalg.norm(wide, axis=1) / np.linalg.norm(query)
    assert np.abs(found.scores / 1e6 - cosines).max() < 2e-6
    assert sorted(zip((-found.scores).tolist(), found.ids.tolist(), strict=True)) == list(
        zip((-found.scores).tolist(), found.ids.tolist(), strict=True)
    )
    assert 3 not in found.ids
    assert len(found.ids) == 29


def test_other_dimensions_are_projected() -> None:
    """Directions of a model with any number of dimensions stay alike or apart in 256."""
    rng = np.random.default_rng(5)
    for width in (3, 64, 384, 1_536):
        rows = rng.standard_normal((20, width))
        close = project(rows + 0.05 * rng.standard_normal((20, width))).astype(np.float64)
        whole = project(rows).astype(np.float64)
        assert whole.shape == (20, DIMENSIONS)
        lengths = np.linalg.norm(whole, axis=1)
        cosines = whole @ close.T / lengths[:, None] / np.linalg.norm(close, axis=1)
        if width > 3:
            assert (cosines.argmax(axis=1) == np.arange(20)).all()
        assert cosines.diagonal().min() > 0.95


def test_256_dimensions_stay() -> None:
    """A model of 256 dimensions is only scaled and rounded, and a row of zeros stays so."""
    rows = np.zeros((2, DIMENSIONS))
    rows[0, :3] = 0.5, -0.25, 0.1
    assert project(rows)[:, :4].tolist() == [[127, -64, 25, 0], [0, 0, 0, 0]]


def test_a_projection_is_fixed() -> None:
    """Codes of a projected row are these bytes, on every machine."""
    code = codes_of(project(np.linspace(-1, 1, 384)[None, :])).tobytes()
    assert hashlib.sha256(code).hexdigest()[:16] == "c966ec7b611f594c"


def test_broken_embeddings_are_refused() -> None:
    """NaN has no place in a code."""
    with pytest.raises(ScoreError, match="NaN"):
        project(np.array([[1.0, float("nan")]]))


_SCRIPT = """
import hashlib, sys
import numpy as np
from tests.index.test_vectors import TEXT, HashTable, project
from brimful.index.build import Extent, build_segment
from brimful.index.vectors import nearest, query_vector, unit_codes
segment = build_segment([Extent(TEXT * 20, "prose", None)])
codes = unit_codes(segment.postings, segment.units, HashTable())
found = nearest(codes, query_vector([b"atom", b"cat"], HashTable()), limit=20)
digest = hashlib.sha256(codes.tobytes() + found.ids.tobytes() + found.scores.tobytes())
digest.update(project(np.sin(np.arange(7680.0)).round(6).reshape(20, 384)).tobytes())
print(digest.hexdigest())
"""


def test_threads_and_hash_seeds_do_not_show() -> None:
    """Processes with other thread settings and hash seeds give the same codes and the same nearest."""
    root = Path(__file__).parents[2]
    answers = set()
    for threads, seed in (("1", "0"), ("2", "7"), ("4", "random")):
        environment = {
            **os.environ,
            **dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), threads),
            "PYTHONHASHSEED": seed,
            "PYTHONPATH": os.pathsep.join((str(root), str(root / "src"))),
        }
        run = subprocess.run(
            [sys.executable, "-c", _SCRIPT], env=environment, capture_output=True, text=True, check=True
        )
        answers.add(run.stdout)
    assert len(answers) == 1
