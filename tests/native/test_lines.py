"""The kernels for lines, sentences and gathering, against NumPy."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from brimful.native import lines as kernels
from brimful.native.terms import ROOM, find_clumps
from brimful.outline.cuts import gather
from brimful.outline.prose import LONGEST_SPEAKER, NEWLINES, lines_in
from tests.native import lines as oracle
from tests.native import stops

PARTS = st.sampled_from(
    [
        *("Dr. ", "vs. ", "prof. ", "U.S. ", "3. ", "33. ", "333. ", "x1. ", "tea. ", "Tea! ", "tea?) ", '"Yes." '),
        *("*bold.* ", "Ada: ", ": ", "\n", "\r\n", "\t", "  \n", "\v\f", " ", "    ", "。", "！ ", "؟ ", "۔\n", "॥"),
        *("\n- x", "\n*\t", "+ ", "\n• ", "\n12. ", "\n1234) ", "\n12345. ", "\n|", "-", "•", "9", ">\t", "："),
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
    found, wanted = lines_in(content + NEWLINES), oracle.lines_of(content)
    for name in ("starts", "firsts", "ends", "blank"):
        assert getattr(found, name).tolist() == getattr(wanted, name).tolist(), name
    assert found.sentences.tolist() == stops.sentence_places(wanted).tolist()
    colons = np.append(wanted.colons, len(content) + LONGEST_SPEAKER)
    nearest = colons[wanted.colons.searchsorted(wanted.starts)]
    speaks = nearest < np.minimum(wanted.ends, wanted.starts + LONGEST_SPEAKER)
    assert found.speaks.tolist() == speaks.tolist()
    assert found.items.tolist() == oracle.items(wanted).tolist()


def test_a_text_of_very_many_lines_is_read_in_parts():
    """Also where there are more lines than room was made for at first."""
    content = b"a\n\n" * 900 + b"- long enough a line to be counted as several of them\n" * 5
    found, wanted = lines_in(content + NEWLINES), oracle.lines_of(content)
    for name in ("starts", "firsts", "ends"):
        assert getattr(found, name).tolist() == getattr(wanted, name).tolist(), name
    assert found.items.tolist() == oracle.items(wanted).tolist()


def divided(units, sections, limit):
    """What `divide` looked up before: all sections, and the units inside of the long ones."""
    long = np.append(sections[1:] - sections[:-1] > limit, False)
    if not long.any():
        return None
    inside = units[long[np.maximum(sections.searchsorted(units, side="right") - 1, 0)]]
    return np.unique(np.concatenate((sections, inside))).tolist()


@given(st.lists(st.integers(0, 90)), st.lists(st.integers(0, 90)), st.integers(0, 30))
def test_long_sections_are_divided_at_their_units(units, sections, limit):
    """Units before, between and behind sections, doubled ones, none at all."""
    columns = [np.sort(np.array(each, np.int64)) for each in (units, sections)]
    found = kernels.divide_cuts(*columns, limit=limit)
    assert (None if found is None else found.tolist()) == divided(*columns, limit)


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
    walls = np.sort(np.array(forced, np.int64))
    assert gather(column, aim=aim, forced=walls).tolist() == gathered(column, aim, walls).tolist()
    assert gather(column, aim=aim).tolist() == gathered(column, aim, walls[:0]).tolist()


def test_a_text_without_newlines_behind_it_is_refused():
    """No kernel looks ahead of its text."""
    with pytest.raises(ValueError, match="newlines after it"):
        kernels.find_lines(b"tea", bytes(256), reach=9)


@given(st.binary(max_size=200), st.sets(st.integers(0, 255), max_size=256))
@example(bytes(range(256)), set(range(0, 256, 2)))
@example(bytes(range(256)), set(range(10, 90)))
@example(bytes(range(256)), set(range(256)))
def test_clumps_are_found_by_ranges_as_by_a_table(content, marked):
    """Whichever bytes are marked, in few ranges or many: clumps are the runs of marked bytes."""
    flags = bytes(code in marked for code in range(256))
    clumps = find_clumps(content + ROOM, flags)
    runs = "".join("x" if code in marked else " " for code in content)
    assert clumps.starts.tolist() == [at for at in range(len(runs)) if runs[at] == "x" and not runs[:at].endswith("x")]
    lengths = clumps.strings.lengths[clumps.strings.numbers].tolist()
    assert lengths == [len(run) for run in runs.split()]
