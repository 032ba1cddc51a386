"""The kernel that compares texts by runs of words, against sets of tuples."""

from array import array

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brimful.kernels import runs as kernels

MARKS = bytes(2 if byte >= 0xE3 else byte not in b" .\n" for byte in range(256))
TEXTS = st.lists(
    st.one_of(
        st.binary(max_size=40),
        st.lists(st.sampled_from((b"tea", b"cup", b"of", b".", "茶".encode(), b"\xff")), max_size=150).map(b" ".join),
    ),
    max_size=9,
)


def runs_of(text, run):
    """Every run of so many words, or all words of a text that has fewer."""
    words, inside = [], False
    for byte in text:
        if not MARKS[byte]:
            inside = False
        elif inside and MARKS[byte] == 1:
            words[-1].append(byte)
        else:
            words.append(bytearray([byte]))
            inside = True
    words = [bytes(word) for word in words]
    return {tuple(words[at : at + run]) for at in range(max(len(words) - run, 0) + 1)} if words else set()


@given(TEXTS, st.integers(1, 8), st.sampled_from((0.0, 0.3, 0.5, 0.8, 1.0)))
def test_texts_are_as_alike_as_their_sets_of_runs(texts, run, share):
    """Every earlier text that shares enough is found, and what is found shares exactly so much."""
    sets, known = kernels.RunSets(MARKS, run=run, share=share), []
    for text in texts:
        own = runs_of(text, run)
        wanted = {
            number: len(own & other) / min(len(own), len(other)) for number, other in enumerate(known) if own & other
        }
        found = dict(sets.alike(sets.add(text)))
        assert found == {number: wanted[number] for number in found}
        assert {number for number, shared in wanted.items() if shared >= share} <= set(found)
        known.append(own)
        some = array("q", range(len(known) - 1, -1, -2))
        assert dict(sets.alike(len(known) - 1, some)) == {
            number: shared
            for number, shared in {**found, **({len(known) - 1: 1.0} if own else {})}.items()
            if number in some
        }


def test_many_and_long_texts_are_held():
    """What is kept grows: hundreds of texts, and one of a hundred thousand words."""
    sets = kernels.RunSets(MARKS, run=5, share=0.8)
    for number in range(300):
        assert sets.add(b"%d a b c d" % (number // 2)) == number
        assert sets.alike(number) == ([(number - 1, 1.0)] if number % 2 else [])
    text = b" ".join(b"%d" % number for number in range(100_000))
    assert sets.alike(sets.add(text)) == []
    assert sets.alike(sets.add(text + b" more")) == [(300, 1.0)]
    assert sets.alike(301, most=0) is None


def test_texts_that_are_not_there_are_refused():
    """The numbers of texts are checked before anything is read."""
    sets = kernels.RunSets(MARKS, run=5, share=0.8)
    sets.add(b"tea")
    for number, others in ((1, None), (-1, None), (0, array("q", [1])), (0, array("q", [-1])), (0, array("q", [0, 0]))):
        with pytest.raises(ValueError, match="texts"):
            sets.alike(number, others)


@pytest.mark.parametrize("wrong", [{"marks": bytes(255)}, {"marks": b"\3" * 256}, {"run": 0}, {"run": 9}, {"share": 2}])
def test_other_tables_and_runs_are_refused(wrong):
    """What the kernel relies on is checked before it is called."""
    given_all = {"marks": MARKS, "run": 5, "share": 0.8, **wrong}
    with pytest.raises(ValueError, match="table of all bytes"):
        kernels.RunSets(given_all.pop("marks"), **given_all)
