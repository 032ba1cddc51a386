"""The kernels for lines, sentences and gathering, against NumPy."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from brimful import kernels
from brimful.text.lines import LONGEST_SPEAKER, lines_of
from brimful.text.outline import gather
from tests.kernels import lines as oracle
from tests.kernels import stops

PARTS = st.sampled_from(
    [
        *("Dr. ", "vs. ", "prof. ", "U.S. ", "3. ", "33. ", "333. ", "x1. ", "tea. ", "Tea! ", "tea?) ", '"Yes." '),
        *("*bold.* ", "Ada: ", ": ", "\n", "\r\n", "\t", "  \n", "\v\f", " ", "    ", "。", "！ ", "؟ ", "۔\n", "॥"),
        *("。\n\n", "a", "B", ". . .", ".\n.", "…", "Mr", ".", "?", "'", "w" * 60, " " * 9, " " * 70, "\t" * 70),
    ]
).map(str.encode)
TEXTS = st.lists(PARTS | st.binary(max_size=3)).map(b"".join)


@given(TEXTS)
@example(b"")
@example(b"\n")
@example(b"a.")
@example(b"a.)")
@example(b"\xe3\x80\x82")
@example(b"\xe3\x80")
def test_lines_and_sentences_are_those_of_numpy(content):
    """Starts, first and last words, speakers and sentences agree on any bytes."""
    found, wanted = lines_of(content), oracle.lines_of(content)
    for name in ("starts", "firsts", "ends", "blank"):
        assert getattr(found, name).tolist() == getattr(wanted, name).tolist(), name
    assert found.sentences.tolist() == stops.sentence_places(wanted).tolist()
    colons = np.append(wanted.colons, len(content) + LONGEST_SPEAKER)
    nearest = colons[wanted.colons.searchsorted(wanted.starts)]
    speaks = nearest < np.minimum(wanted.ends, wanted.starts + LONGEST_SPEAKER)
    assert found.speaks.tolist() == speaks.tolist()


def gathered(cuts, aim, forced):
    """What `gather` did before: a look-up for each cut, then steps from one kept cut to the next."""
    reach = cuts + aim
    if len(forced):
        walls = np.append(np.sort(forced), np.iinfo(np.int64).max)
        reach = np.minimum(reach, walls[walls.searchsorted(cuts, side="right")])
    following = cuts.searchsorted(reach, side="right") - 1
    steps = np.maximum(following, np.arange(1, len(cuts) + 1)).tolist()
    kept = [0]
    at, last = 0, len(cuts) - 1
    while at < last:
        at = steps[at]
        kept.append(at)
    return cuts[kept]


@given(st.lists(st.integers(0, 60), min_size=1), st.integers(1, 30), st.lists(st.integers(0, 70)))
def test_gathered_cuts_are_those_of_numpy(cuts, aim, forced):
    """The same neighbours are joined, doubled cuts and walls outside of all included."""
    column = np.sort(np.array(cuts, np.int64))
    walls = np.array(forced, np.int64)
    assert gather(column, aim=aim, forced=walls).tolist() == gathered(column, aim, walls).tolist()
    assert gather(column, aim=aim).tolist() == gathered(column, aim, walls[:0]).tolist()


def test_a_text_without_newlines_behind_it_is_refused():
    """No kernel looks ahead of its text."""
    with pytest.raises(ValueError, match="newlines behind it"):
        kernels.find_lines(b"tea", bytes(256), reach=9)
