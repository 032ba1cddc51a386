"""The kernels that look for strings, long runs and words spelled alike, against plain searches."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from brimful.native import runs as kernels
from brimful.native.runs import SpelledWords
from tests.native import secrets as oracle
from tests.native import spelling

ANCHORS = [b"ab", b"aba", b"b", b"ca", b"a", b"abc", b"\xff", b"\0a"]
MARKS = bytes(code in b"ab\xff" for code in range(256))
TEXTS = st.lists(st.sampled_from([b"a", b"b", b"c", b"\xff", b"\0", b"\n", b"ab" * 5]) | st.binary(max_size=3)).map(
    b"".join
)


@given(TEXTS, st.sets(st.sampled_from(ANCHORS)).map(sorted))
@example(b"", [])
@example(b"ab", [b"abc"])
def test_anchors_are_those_of_plain_searches(text, anchors):
    """The same strings are found, at the edges of a text and inside of each other too."""
    assert kernels.Anchors(anchors).within(text) == oracle.anchors_in(text, anchors)


@given(TEXTS, st.lists(st.sets(st.sampled_from(ANCHORS)), max_size=8))
@example(b"", [])
@example(b"ab\n\nb", [{b"ab"}, {b"b"}])
@example(b"a\nb", [{b"ab"}, {b"a", b"b"}])
def test_lines_are_marked_as_by_plain_searches(text, groups):
    """Each line has the groups of which it holds a string, at its edges too, and one beyond ASCII has all."""
    assert kernels.mark_lines(text, groups).tolist() == oracle.mark_lines(text, groups)


def test_what_marks_lines_is_checked():
    """Nine groups do not fit into a byte; nothing is no string, and none goes over two lines."""
    for groups in ([[b"a"]] * 9, [[b""]], [[b"a\nb"]]):
        with pytest.raises(ValueError, match="up to 8 groups"):
            kernels.mark_lines(b"a", groups)


@given(TEXTS, st.integers(1, 12))
@example(b"ab", 2)
@example(b"ab\0ab", 2)
@example(b"\0ab\0", 2)
def test_long_runs_are_those_of_numpy(text, least):
    """The same runs, at the start and at the end of a text too."""
    assert kernels.long_runs(text, MARKS, least=least) == oracle.long_runs(text, MARKS, least)


@given(
    st.lists(st.tuples(st.booleans(), st.integers(1, 140)), max_size=12),
    st.sampled_from([1, 19, 20, 63, 64, 65, 128, 129]),
)
@example([(True, 64), (False, 1), (True, 63)], 64)
@example([(True, 128)], 128)
def test_runs_over_several_blocks_are_those_of_numpy(stretches, least):
    """A run may begin and end anywhere in the blocks of 64 bytes, and be longer than one."""
    text = b"".join((b"a" if marked else b"-") * size for marked, size in stretches)
    assert kernels.long_runs(text, MARKS, least=least) == oracle.long_runs(text, MARKS, least)


WORDS = st.lists(st.text("abc\u00e9\u4e2d\U0001f600", min_size=1, max_size=9), unique=True, max_size=30)
SHARE = (3, 10)


def spelled(words, signatures):
    """Words as the kernel reads them, and in its order."""
    rows = sorted(range(len(words)), key=lambda at: (len(words[at]), not words[at].isascii(), words[at]))
    ordered = [words[at] for at in rows]
    sizes = [sum(len(word) < size for word in words) for size in range(SpelledWords.LONGEST + 2)]
    plain = [sum(len(word) == size and word.isascii() for word in words) for size in range(SpelledWords.LONGEST + 1)]
    offsets = np.cumsum([0, *(len(word.encode()) for word in ordered)])
    marks = np.array(signatures, np.uint64)[rows]
    made = SpelledWords("".join(ordered).encode(), offsets, marks, firsts=sizes, plain=plain)
    return made, ordered, marks


@given(
    WORDS,
    st.text("abc\u00e9\u4e2d\U0001f600", max_size=10),
    st.lists(st.integers(0, 63), max_size=8),
    st.integers(0, 3),
    st.data(),
)
def test_words_that_may_be_alike_are_those_of_signatures_and_edits(words, word, bits, edits, data):
    """Any signatures: what shares too little or is too far away is left out, the others come with their edits."""
    signatures = data.draw(st.lists(st.integers(0, 2**64 - 1), min_size=len(words), max_size=len(words)))
    made, ordered, marks = spelled(words, signatures)
    times = range(1, max(map(bits.count, bits), default=0) + 1)
    masks = [sum(1 << bit for bit in set(bits) if bits.count(bit) >= time) for time in times]
    found = made.alike(word, masks, trigrams=len(bits), share=SHARE, edits=edits)
    letters = "".join(ordered).encode()
    wanted = spelling.alike(word, ordered, marks, bits, share=SHARE, edits=edits)
    assert [(letters[start:end].decode(), distance) for start, end, distance in found] == wanted
    for other in {*words, word}:
        if other.isascii():
            assert made.contains(other.encode()) == (other in words)


def test_words_without_their_letters_are_refused():
    """No kernel is called with offsets or numbers that its words do not have."""
    mark, firsts, plain = np.zeros(1, np.uint64), [0, 0, 0, 0, 1], [0, 0, 0, 1]
    SpelledWords(b"tea", np.array([0, 3]), mark, firsts=firsts, plain=plain)
    for offsets in ([0, 4], [1, 3], [0], [0, 5, 3]):
        with pytest.raises(ValueError, match="word"):
            SpelledWords(b"tea", np.array(offsets), mark, firsts=firsts, plain=plain)
    for wrong in ([0, 0, 0, 0, 2], [1, 1, 1, 1, 1], [0, 0, 0, 2, 1], [0, 1]):
        with pytest.raises(ValueError, match="words"):
            SpelledWords(b"tea", np.array([0, 3]), mark, firsts=wrong, plain=plain)
    with pytest.raises(ValueError, match="letter"):
        SpelledWords(b"teas", np.array([0, 4]), mark, firsts=firsts, plain=plain)


@given(st.lists(st.text("abcdefgZ", max_size=30)), st.lists(st.integers(0, 2**32 - 1), min_size=3, max_size=3))
def test_signatures_of_words_are_those_of_numpy(words, factors):
    """The letters one after the other, and the same bit for every trigram, blanks at the edges included."""
    text, mixing = "\n".join(words).encode(), np.array(factors, np.uint32)
    lengths = np.array([*map(len, words)], np.int64)
    starts = np.cumsum(lengths + 1) - lengths - 1
    letters, signatures = kernels.sign_words(text, starts, lengths, factors=mixing)
    assert letters == "".join(words).encode()
    points = [np.frombuffer(word.encode(), np.uint8)[None] for word in words]
    assert signatures.tolist() == [int(spelling.signatures(each, mixing)[0]) for each in points]


def test_words_that_are_signed_lie_inside_their_text():
    """Nothing is read behind it, or before."""
    three = np.ones(3, np.uint32)
    for starts, lengths, factors in (([1], [3], three), ([-1], [1], three), ([0], [-1], three), ([0], [1], three[:2])):
        with pytest.raises(ValueError, match=r"inside its text|three factors"):
            kernels.sign_words(b"tea", np.array(starts), np.array(lengths), factors=factors)
