"""Deduplication against the specification's plain double loop."""

import random
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brimful import Document, Window, dedupe
from brimful.assembly import dedupe as module
from brimful.assembly.dedupe import SHINGLE, split_duplicates

WORDS = ["tea", "coffee", "cup", "pot", "the", "of", "and", "茶", "warm", "cold"]


def shingles(text):
    """The reference's shingles: sets of word tuples."""
    words = re.findall(r"[\u3000-\U0010ffff]|[^\W\u3000-\U0010ffff]+", text.casefold())
    if len(words) < SHINGLE:
        return {tuple(words)} if words else set()
    return {tuple(words[at : at + SHINGLE]) for at in range(len(words) - SHINGLE + 1)}


def plain_dedupe(windows, threshold):
    """CFS §10 as it is written: every window against every kept one."""
    kept = []
    for window in sorted(windows, key=lambda window: window.order):
        for better in kept:
            if window.text == better.text:
                break
            if window.document and better.document and window.document.id == better.document.id:
                shared = window.span.shared(better.span)
                if shared / max(min(len(window.span), len(better.span)), 1) > threshold:
                    break
                continue
            one, other = shingles(window.text), shingles(better.text)
            if one and other and len(one & other) / min(len(one), len(other)) > threshold:
                break
        else:
            kept.append(window)
    return kept


@st.composite
def candidates(draw):
    """Windows that share much: slices of two documents and bare texts from few words."""
    seed = random.Random(draw(st.integers(0, 10**6)))
    pages = [Document(f"{n}.md", " ".join(seed.choices(WORDS, k=60))) for n in range(2)]
    windows = []
    for _ in range(draw(st.integers(0, 25))):
        page = seed.choice(pages)
        if seed.random() < 0.5:
            start = seed.randrange(0, 150)
            text = page.content.decode()
            start, end = len(text[:start].encode()), len(text[: start + seed.randrange(5, 100)].encode())
            start = min(start, end)
            windows.append(Window.cut(page, start, end, score=seed.randrange(5)))
        else:
            words = page.content.decode().split()
            at = seed.randrange(0, 40)
            chosen = words[at : at + seed.randrange(3, 20)]
            if seed.random() < 0.3:
                chosen[seed.randrange(len(chosen))] = "changed"
            windows.append(Window(f"bare{seed.randrange(9)}", " ".join(chosen), score=seed.randrange(5)))
    return windows


@given(candidates(), st.sampled_from([0.0, 0.3, 0.5, 0.8, 0.9, 1.0]))
def test_equals_the_double_loop(windows, threshold):
    """The indexed search keeps exactly what comparing all pairs keeps."""
    assert list(dedupe(windows, threshold=threshold)) == plain_dedupe(windows, threshold)


@given(candidates(), candidates(), st.sampled_from([0.0, 0.3, 0.8, 1.0]))
def test_texts_that_were_compared_before_change_nothing(windows, before, threshold):
    """What is remembered of other texts, and of the same, keeps what is kept without it."""
    twins = module.Twins(threshold)
    for given_windows in (before, windows, windows):
        kept = split_duplicates(given_windows, threshold=threshold, twins=twins)[0]
        assert list(kept) == plain_dedupe(given_windows, threshold)


@given(candidates(), st.randoms(use_true_random=False))
def test_order_does_not_matter(windows, shuffled):
    """The best copy survives, whichever came first."""
    first = dedupe(windows)
    shuffled.shuffle(windows)
    assert dedupe(windows) == first


@given(candidates())
def test_twice_is_once(windows):
    """What was kept is kept again."""
    kept = dedupe(windows)
    assert dedupe(kept) == kept


def test_the_reason_names_the_better_window():
    """A duplicate says of what, and how much is shared."""
    text = "one two three four five six seven eight nine ten"
    best, copy = Window("a", text, score=2.0), Window("b", text + " eleven", score=1.0)
    kept, left_out = split_duplicates([copy, best])
    assert kept == (best,)
    assert [(found.window.path, found.of.path, found.overlap) for found in left_out] == [("b", "a", 1.0)]


def test_windows_without_words():
    """Texts of punctuation or nothing are compared as they are."""
    windows = [Window("a", ""), Window("b", ""), Window("c", "..."), Window("d", "...")]
    assert [window.path for window in dedupe(windows)] == ["a", "c"]


@pytest.mark.seed("CFS §10", "one document says nothing twice", where="assembly/dedupe.py", ruling=25)
def test_exact_copies_go_wherever_they_stand():
    """Near twins go between documents only; equal texts go inside one too."""
    page = Document("a.md", "Tea at four is served by Ines. " * 2 + "Tea at four is served by Ines now. ")
    spans = ((0, 31), (31, 62), (62, len(page)))
    windows = [Window.cut(page, *span, score=2.0 - n) for n, span in enumerate(spans)]
    other = Window("b.md", windows[2].text, score=-1.0)
    kept, left_out = split_duplicates([*windows, other], across_only=True, threshold=0.6)
    assert kept == (windows[0], windows[2])
    assert [(found.window, found.of) for found in left_out] == [(windows[1], windows[0]), (other, windows[2])]
    assert len(split_duplicates([*windows, other])[0]) == 2
