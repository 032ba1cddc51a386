"""The kernels for words of documents' names, against plain loops, to the last bit."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from brimful.kernels.names import NamePart, WordsOfPaths, add_names, share_names
from brimful.kernels.terms import smallest_words

WORDS = [b"acme", b"csv", b"docs", b"md", b"tea"]
PATHS = st.lists(
    st.lists(
        st.sampled_from(["acme", "csv", "docs", "md", "tea", "/", "/", ".", ".", "_", "é", "-longer-part"]), max_size=9
    ).map("".join),
    max_size=5,
)
FOLDER = 0.5


def split(path):
    """Where the file's name begins, and what stands behind its last dot."""
    base, dot = path.rfind(b"/") + 1, path.rfind(b".")
    is_end = dot > base and path[dot + 1 :].isalnum() and len(path) - dot <= 7
    return base, dot if is_end else len(path)


def made_of(paths):
    """The paths as lines of one text, and the words in them."""
    lines = [path.encode() for path in paths]
    text = b"\n".join(lines)
    starts = np.cumsum([0, *(len(line) + 1 for line in lines)])[: len(lines)].astype(np.int64)
    ends = starts + np.array([len(line) for line in lines], np.int64)
    found = [
        [start + at for start, line in zip(starts.tolist(), lines, strict=True) for at in _places(line, word)]
        for word in WORDS
    ]
    offsets = np.cumsum([0, *map(len, found)]).astype(np.int64)
    places = np.array([at for own in found for at in own], np.int32)
    rows = starts.searchsorted(places, side="right").astype(np.int32) - 1
    *pairs, bounds = smallest_words(WORDS, offsets, places, rows=rows, ends=ends)
    return (
        lines,
        starts,
        bounds.tolist(),
        pairs,
        WordsOfPaths(text, starts, ends, tuple(pairs), words=len(WORDS), folder=FOLDER),
    )


def _places(line, word):
    return [at for at in range(len(line)) if line.startswith(word, at)]


@given(PATHS, st.lists(st.floats(0, 9), min_size=len(WORDS), max_size=len(WORDS)))
def test_words_of_paths_are_worth_what_plain_loops_say(paths, rarities):
    """A word counts where it stands best: in the file's name, half in a folder's, not at all behind the last dot."""
    lines, starts, bounds, (places, firsts, words, rows), made = made_of(paths)
    assert [*zip(made.bases.tolist(), made.dots.tolist(), strict=True)] == [split(line) for line in lines]
    weights = []
    for pair, (word, row) in enumerate(zip(words.tolist(), rows.tolist(), strict=True)):
        base, dot = split(lines[row])
        inside = [int(at) - int(starts[row]) for at in places[firsts[pair] : firsts[pair + 1]]]
        weights.append(max((1.0 if at >= base else FOLDER) * (at < dot) for at in inside) * rarities[word])
    for word, rarity in enumerate(rarities):
        first, last = bounds[word : word + 2]
        part = made.weighed(first, last, rarity)
        assert part.rows.tolist() == rows[first:last].tolist()
        assert part.weights.tolist() == weights[first:last]
    asked = np.arange(len(paths))
    unknown = made.unknown(asked)
    assert sorted(unknown) == sorted(set(words.tolist()))
    made.know(unknown, [rarities[word] for word in unknown])
    assert made.unknown(asked) == []
    totals = [0.0] * len(paths)
    for row, weight in zip(rows.tolist(), weights, strict=True):
        totals[row] += weight
    assert made.totals.tolist() == totals


PARTS = st.lists(
    st.dictionaries(st.integers(0, 7), st.one_of(st.just(0.0), st.floats(0, 9)), max_size=6).map(
        lambda found: NamePart(
            np.array(sorted(found), np.int64), np.array([found[row] for row in sorted(found)], np.float64)
        )
    ),
    max_size=3,
)


@given(st.lists(st.tuples(PARTS, st.floats(0, 1), st.integers(0, 2)), max_size=5), st.floats(0, 30))
def test_documents_are_called_as_plain_loops_say(words, total):
    """The best part of each word counts, its share of the best and of the whole name; twice with word and number."""
    worth, kinds = np.zeros(8), [set() for _ in range(8)]
    for parts, weight, kind in words:
        has = np.zeros(8)
        for rows, weights in parts:
            has[rows] = np.maximum(has[rows], weights)
        for row in np.flatnonzero(has).tolist():
            worth[row] += weight * has[row]
            kinds[row].add(kind)
    rows, found, marks = (
        add_names(*zip(*words, strict=True), documents=8) if words else add_names([], [], [], documents=8)
    )
    assert sorted(rows.tolist()) == np.flatnonzero(worth).tolist()
    assert found.tolist() == worth.tolist()
    most, totals = float(worth.max()), np.full(8, total)
    wanted = worth.copy()
    for row in np.flatnonzero(worth).tolist():
        wanted[row] = worth[row] / most * (worth[row] / max(total, worth[row]))
        wanted[row] *= 2 if {1, 2} <= kinds[row] else 1
    share_names(rows, totals, marks, found)
    assert found.tolist() == wanted.tolist()


def test_names_that_do_not_fit_are_refused():
    """Pairs, lines and rows are checked before a kernel is called."""
    one = np.zeros(1, np.int32)
    right = (one, np.array([0, 1]), one, one)
    for starts, ends, pairs in (
        ([0], [9], right),
        ([2], [1], right),
        ([-1], [2], right),
        ([0], [3], (one, np.array([0, 2]), one, one)),
        ([0], [3], (one, np.array([0, 1]), one + 1, one)),
        ([0], [3], (one, np.array([0, 1]), one, one + 1)),
        ([0], [3], (one, np.array([0, 1]), one, one[:0])),
    ):
        with pytest.raises(ValueError, match=r"path|pair"):
            WordsOfPaths(b"tea", np.array(starts), np.array(ends), pairs, words=1, folder=FOLDER)
    made = WordsOfPaths(b"tea", np.array([0]), np.array([3]), right, words=1, folder=FOLDER)
    with pytest.raises(ValueError, match="1 pairs"):
        made.weighed(0, 2, 1.0)
    with pytest.raises(ValueError, match="1 rows"):
        made.unknown(np.array([1]))
    part = NamePart(np.array([3]), np.ones(1))
    for words, weights, kinds in (([[part]], [1.0], [0]), ([[]], [], [0]), ([[]], [1.0], [3])):
        with pytest.raises(ValueError, match=r"documents|word"):
            add_names(words, weights, kinds, documents=3)
    with pytest.raises(ValueError, match="document"):
        share_names(np.zeros(0, np.int64), np.zeros(2), np.zeros(3, np.uint8), np.zeros(3))
