"""The kernel that compares texts by runs of words, against sets of tuples."""

from array import array

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brimful.native import runs as kernels

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


@given(TEXTS, st.integers(1, 8), st.sampled_from((0.0, 0.3, 0.5, 0.8, 1.0)), st.lists(st.integers(-1, 2), min_size=9))
def test_texts_are_as_alike_as_their_sets_of_runs(texts, run, share, documents):
    """Whether a text is like any other, and which of those that are kept is most like it."""
    sets, known = kernels.RunSets(MARKS, run=run, share=share), []
    for number, text in enumerate(texts):
        assert sets.add(text) == number
        known.append(runs_of(text, run))
        shared = [
            [len(own & other) / min(len(own), len(other)) if own and other else 0.0 for other in known] for own in known
        ]
        wanted = [any(row[at] > share for at in range(len(known)) if at != own) for own, row in enumerate(shared)]
        assert sets.are_alike(range(len(known))) == wanted
        some = [*range(number, -1, -2), number]
        kept = array("q", some), array("q", [documents[each] for each in some])
        own = documents[number]
        likely = [
            (-shared[number][each], place)
            for place, each in enumerate(some)
            if shared[number][each] > share and (own < 0 or documents[each] != own)
        ]
        best = min(likely, default=None)
        assert sets.most_alike(number, own, *kept) == (None if best is None else (best[1], -best[0]))


def test_many_and_long_texts_are_held():
    """What is kept grows: hundreds of texts, and one of a hundred thousand words."""
    sets = kernels.RunSets(MARKS, run=5, share=0.8)
    for number in range(301):
        assert sets.add(b"%d a b c d" % (number // 2)) == number
    kept = array("q", range(301)), array("q", [-1] * 301)
    assert sets.are_alike(range(301)) == [True] * 300 + [False]
    text = b" ".join(b"%d" % number for number in range(100_000))
    assert sets.add(text) == 301
    assert sets.most_alike(301, -1, *kept) is None
    kept[0].append(301)
    kept[1].append(7)
    assert sets.add(text + b" more") == len(sets) - 1 == 302
    assert sets.most_alike(302, -1, *kept) == sets.most_alike(302, 8, *kept) == (301, 1.0)
    assert sets.most_alike(302, 7, *kept) is None


def test_texts_that_are_not_there_are_refused():
    """The numbers of texts are checked before anything is read."""
    sets = kernels.RunSets(MARKS, run=5, share=0.8)
    sets.add(b"tea")
    for number, others in ((1, []), (-1, []), (0, [1]), (0, [-1])):
        with pytest.raises(ValueError, match="from 0 to below 1"):
            sets.most_alike(number, -1, array("q", others), array("q", [-1] * len(others)))


@pytest.mark.parametrize("wrong", [{"marks": bytes(255)}, {"marks": b"\3" * 256}, {"run": 0}, {"run": 9}, {"share": 2}])
def test_other_tables_and_runs_are_refused(wrong):
    """What the kernel relies on is checked before it is called."""
    given_all = {"marks": MARKS, "run": 5, "share": 0.8, **wrong}
    with pytest.raises(ValueError, match="table of all bytes"):
        kernels.RunSets(given_all.pop("marks"), **given_all)
