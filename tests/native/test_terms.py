"""The kernels that find, group and place terms, against plain Python."""

import random
import re
from bisect import bisect_left

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from brimful.native import terms as kernels
from brimful.text.terms import Names
from tests.text.test_terms import as_dict, slow_terms

SIGNS = "aB1_.,-'+# =<\u0338\u00ad\u0301é\u2019Ｃ漢字…\n한국어ﬁßİ٣"
WORDS = ["C++", "c#", "1,000", "it's", "w" * 20, "w" * 70, "HTTPServer2_old", "2026-01-02", "x" * 63 + "é"]
TEXTS = st.lists(st.text(SIGNS, max_size=6) | st.sampled_from(WORDS) | st.text(max_size=4)).map("".join)
HOSTILE = st.lists(st.binary(max_size=5) | TEXTS.map(lambda text: text.encode("utf-8", "replace"))).map(b"".join)


@given(HOSTILE)
@example(b"")
@example(b"\0a\0\0a")
@example(b"a" * 200)
@example(b"\xff\xfe\xc3" * 3)
@example("C# c++ x'c# _c# c+++ é# 5.2026-01-02 1.23-01-02 a2026-01-02b 1,000 1,0000 don't a'bc HTTPServerX2".encode())
@example("漢字 漢 한국 한국어 x한 É́Ab".encode())
@example(b"aB" * 60 + b"_" + b"a1" * 9 + b"__b" + b"X" * 90)
def test_terms_are_those_of_plain_loops(content):
    """Names and places agree on any bytes, valid UTF-8 or not."""
    assert as_dict(content) == slow_terms(content)


def test_terms_of_a_long_text_are_those_of_plain_loops():
    """Also where the table of clumps has to grow, and where a stretch ends inside the text."""
    chance = random.Random(1)
    words = ["".join(chance.choices("abcDEF019_.,'-+#é漢한", k=chance.randint(1, 12))) for _ in range(12_000)]
    content = "; ".join(words).encode()
    assert as_dict(content) == slow_terms(content)


STRINGS = st.lists(st.text("ab\u00e9", min_size=1, max_size=40).map(str.encode), max_size=40)


@given(STRINGS, st.sampled_from([None, 0, 1]))
def test_strings_are_numbered_by_first_occurrence(strings, multiplier):
    """Equal strings get one number, with a hash that says the same of all as well."""
    text = b"|".join(strings) + kernels.ROOM
    lengths = np.array([len(each) for each in strings], np.int32)
    starts = (np.cumsum(lengths + 1) - lengths - 1).astype(np.int32)
    found = kernels.number_strings(text, starts, lengths, multiplier=multiplier)
    different = list(dict.fromkeys(strings))
    assert found.numbers.tolist() == [different.index(each) for each in strings]
    order = kernels.sort_strings(text, found.firsts, found.lengths)
    joined, bounds = kernels.join_strings(text, found.firsts, found.lengths, sign=b"\n", order=order)
    assert joined == b"".join(each + b"\n" for each in sorted(different))
    assert bounds.tolist() == np.cumsum([0, *(len(each) + 1 for each in sorted(different))]).tolist()


def test_strings_outside_their_text_are_refused():
    """No kernel reads where its text does not reach."""
    for start, length in ((0, 6), (-1, 2), (5, 1), (2, 0)):
        with pytest.raises(ValueError, match="inside its text"):
            kernels.number_strings(b"tea m" + kernels.ROOM, np.array([start]), np.array([length]))


_NAMES = st.binary(min_size=1, max_size=4) | st.builds(
    lambda first, last: first * 3 + last, st.sampled_from([b"tea", b"\0\0\0", b"\xff\xff\xff"]), st.binary(max_size=3)
)


@given(st.lists(st.sets(_NAMES.filter(lambda name: b"\n" not in name)), max_size=9))
def test_sorted_names_become_one_list(found):
    """Any bytes but newlines, short and long, names that several lists have, that others begin with, empty lists."""
    lists = [sorted(names) for names in found]
    lines, rows = kernels.merge_lines([Names.of(names).lines for names in lists])
    names = list(Names.of_lines(lines))
    assert names == sorted(set().union(*found))
    assert [[names[at] for at in places.tolist()] for places in rows] == lists


@given(st.sets(st.binary(max_size=4).filter(lambda name: b"\n" not in name)), st.lists(st.binary(max_size=5)))
def test_places_of_names_are_those_of_bisect(names, wanted):
    """How many sorted names stand before each wanted one, whichever bytes they have, and whether it is among them."""
    known, asked = sorted(names), [name.replace(b"\n", b"") for name in wanted]
    rows, is_here = Names.of(known).find(Names.of(asked))
    assert rows.tolist() == [bisect_left(known, name) for name in asked]
    assert is_here.tolist() == [name in names for name in asked]


@given(HOSTILE, st.integers(0, 5))
@example(b"tea\n\ntea2\npot", 3)
def test_lines_of_letters_are_those_of_a_pattern(content, least):
    """Of any lines the ones that the pattern finds, whether or not a newline stands behind the last."""
    wanted = re.findall(rb"^[A-Za-z\x80-\xff]{%d,}$" % max(least, 1), content, re.MULTILINE)
    assert kernels.letter_lines(content, least=max(least, 1)) == b"".join(line + b"\n" for line in wanted)


@given(st.lists(st.lists(st.binary(max_size=4).map(lambda name: name.replace(b"\n", b"")), max_size=5), min_size=1))
def test_names_as_one_text_are_those_of_a_list(found):
    """Of several lists put together, whole and in part: as many, the same, in the same order."""
    wanted = [name for names in found for name in names]
    names = Names.together([Names.of(each) for each in found])
    assert (list(names), len(names)) == (wanted, len(wanted))
    for first in range(len(wanted)):
        assert list(names.part(first, len(names))) == wanted[first:] == names[first:]
        assert names.part(0, first)[:] == wanted[:first] == names[:first]
        assert names[first - len(wanted)] == wanted[first]
    for outside in (len(wanted), -len(wanted) - 1):
        with pytest.raises(IndexError):
            names[outside]


def test_names_that_are_in_no_order_are_refused():
    """Lines that do not ascend, or stand there twice, and a last one without its newline."""
    for wrong in (b"b\na\n", b"a\na\n"):
        with pytest.raises(ValueError, match="name"):
            kernels.merge_lines([b"a\nc\n", wrong])
    with pytest.raises(ValueError, match="newline"):
        kernels.merge_lines([b"a\nc\n", b"b"])


def test_words_without_separators_around_are_refused():
    """No kernel looks around where nothing was put to be seen."""
    for classes in (np.zeros(8, np.uint8), np.ones(20, np.uint8)):
        with pytest.raises(ValueError, match="classes"):
            kernels.find_terms(np.zeros(4, np.uint8), classes)


def test_places_of_unknown_terms_are_refused():
    """Every clump has its bounds, and every row names a term and a clump that are there."""
    clumps = kernels.find_clumps(b"tea pot" + kernels.ROOM, bytes(code > 32 for code in range(256)))
    for bounds, terms in (([0, 4], [0, 1]), ([0, 4, 8], [0, 2]), ([0, 4, 8], [0])):
        with pytest.raises(ValueError, match=r"bounds|from 0 to below"):
            kernels.place_terms(clumps, np.array(bounds), np.array([0, 4]), np.array(terms), named=2)


@given(st.sets(st.binary(min_size=1, max_size=5).filter(lambda name: b"\n" not in name)), st.binary(max_size=5))
def test_a_name_is_found_among_sorted_ones(names, other):
    """Every name has its place, and none that is not among them."""
    ordered = sorted(names)
    known = Names.of(ordered)
    for name in (*ordered, other):
        assert known.place(name) == (ordered.index(name) if name in names else -1)


def test_names_that_do_not_fit_are_refused():
    """No kernel reads a name outside of its text."""
    for bounds in ([], [1, 4], [0, 5], [0, 2, 2, 4]):
        with pytest.raises(ValueError, match="inside its text"):
            kernels.find_names(b"tea\n", np.array(bounds), b"", np.zeros(1))
