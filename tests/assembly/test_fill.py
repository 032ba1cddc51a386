"""Trimming and growing: how the rest of a budget is spent."""

from itertools import pairwise

import pytest

from brimful import Document, Hit, Window, inflate, pack, tokens_for

SENTENCES = [f"Sentence number {n} stands here on its own." for n in range(400)]
PAGE = Document("page.txt", " ".join(SENTENCES))


def test_a_trimmed_window_keeps_its_hit():
    """The best window that does not fit is cut around its hit, not from its start."""
    middle = PAGE.content.index(b"number 200 ")
    window = Window.cut(PAGE, 0, len(PAGE), score=1.0, hits=(Hit("page.txt", middle, middle + 10, 1.0),))
    context = pack([window], budget=100, fill="relevant")
    assert "number 200 " in context.text
    assert context.truncated
    assert len(context.trimmed) == 1
    assert context.omitted == ()
    assert 98 <= context.tokens <= 100


def test_a_hit_that_does_not_fit_is_not_cut_to_fit():
    """A window whose hit is larger than what is left stays out whole."""
    window = Window.cut(PAGE, 0, 4_000, score=1.0, hits=(Hit("page.txt", 0, 4_000, 1.0),))
    context = pack([window], budget=100)
    assert context.windows == ()
    assert [out.reason for out in context.omitted] == ["budget"]
    assert context.omitted[0].enters_at == tokens_for("o200k_base").count(
        pack([window], budget=10_000, fill="relevant").text
    )


def test_trimming_can_be_off():
    """The CFS profile shows whole windows or none."""
    context = pack([Window("a", " ".join(SENTENCES))], budget=100, trim=False, fill="relevant")
    assert context.windows == ()


def test_growing_stops_at_units():
    """Windows grow by whole sentences as long as they fit."""
    context = pack(inflate([Hit.of(PAGE, "Sentence number 50 ", score=1.0)], [PAGE], max_bytes=60), budget=1_000)
    (window,) = context.windows
    assert window.text.startswith("Sentence number ")
    assert context.tokens >= 980


def test_windows_that_meet_become_one():
    """Growing closes the gap between two windows; no marker is left between them."""
    hits = [Hit.of(PAGE, f"Sentence number {n} ", score=1.0) for n in (100, 116)]
    small = inflate(hits, [PAGE], max_bytes=400)
    assert len(small) == 2
    context = pack(small, budget=600)
    (window,) = context.windows
    assert len(window.hits) == 2
    assert context.text.count("...") == 2


def test_growing_never_overlaps():
    """No byte is shown twice, however far windows grow."""
    hits = [Hit.of(PAGE, f"Sentence number {n} ", score=float(n)) for n in (10, 90, 200, 210, 390)]
    for packing in ("greedy", "interleaved", "score_weighted"):
        context = pack(inflate(hits, [PAGE], max_bytes=300), budget=3_000, packing=packing)
        spans = sorted((window.start, window.end) for window in context.windows)
        assert all(one[1] <= other[0] for one, other in pairwise(spans))
        assert context.tokens >= 2_940


def test_a_corpus_with_nothing_more_to_give():
    """When everything is shown, the budget is not padded."""
    page = Document("short.txt", "All there is.")
    context = pack(inflate([Hit("short.txt", 0, 3, 1.0)], [page]), budget=5_000)
    assert context.text == "[DOC: short.txt]\nAll there is.\n"
    assert not context.truncated


@pytest.mark.parametrize("text", ["茶" * 3_000, "x" * 9_000, "https://" + "ab1/" * 2_000, "👩‍👩‍👧" * 500])
def test_text_without_words_still_fills(text):
    """Scripts without spaces, links and hashes are broken between characters to reach the brim."""
    context = pack([Window("a.txt", text)], budget=500)
    assert 490 <= context.tokens <= 500


def test_bare_windows_are_trimmed_at_sentences():
    """A window without a document is cut at its own sentence ends, and shows that it goes on."""
    context = pack([Window("a.txt", " ".join(SENTENCES))], budget=1_000)
    (window,) = context.windows
    assert window.cut_end
    assert not window.cut_start
    assert window.text.rstrip().endswith(".")
