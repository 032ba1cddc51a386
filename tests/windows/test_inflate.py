"""Inflation: edges, merging, seams, what is reported."""

import pytest

from brimful import Document, Hit, Window, WindowSettings, inflate, pack
from brimful.text.spans import Span, back_to_code_point, merge_spans, on_to_code_point

LONG = "".join(f"Sentence number {n} stands here on its own. " for n in range(2_000))


@pytest.mark.seed("085b §5.1", "a position stands for itself", where="documents/documents.py")
def test_a_position_needs_no_end():
    """A hit without an end is an atom position (085b §5.1)."""
    assert Hit("a.txt", 7).end == 7


def test_hits_inside_a_character_are_widened_to_it():
    """Edges that cut a UTF-8 character are moved outwards."""
    page = Document("a.txt", "茶" * 50)
    (window,) = inflate([Hit("a.txt", 31, 32, 1.0)], [page], max_bytes=9)
    assert window.start <= 30
    assert window.end >= 33
    assert window.text == "茶" * len(window.text)


def test_code_point_edges():
    """Backwards and forwards to the nearest character."""
    raw = "a茶b".encode()
    assert [back_to_code_point(raw, at) for at in range(6)] == [0, 1, 1, 1, 4, 5]
    assert [on_to_code_point(raw, at) for at in range(6)] == [0, 1, 4, 4, 4, 5]


def test_merging_is_idempotent():
    """Merging what was merged changes nothing."""
    spans = [Span(5, 9), Span(0, 3), Span(9, 12), Span(20, 30), Span(22, 24)]
    merged = merge_spans(spans)
    assert merged == [Span(0, 3), Span(5, 12), Span(20, 30)]
    assert merge_spans(merged) == merged == merge_spans(reversed(spans))


@pytest.mark.seed("085a §3.1", "what is squeezed out is reported", where="windows/inflate.py")
def test_squeezed_hits_are_reported():
    """Hits that get no room are named, the worst ones."""
    page = Document("a.txt", LONG)
    hits = [Hit("a.txt", at * 4_000, at * 4_000 + 10, float(at)) for at in range(20)]
    found = inflate(hits, [page], max_bytes=750)
    assert found.size.squeezed
    assert {hit.score for hit in found.dropped} == {float(n) for n in range(15)}
    assert sum(len(w.span) for w in found) <= 750


def test_a_long_hit_is_cut_only_at_the_cap():
    """One hit of 5,000 bytes: cut at 2,500 and marked, never dropped."""
    page = Document("a.txt", LONG)
    (window,) = inflate([Hit("a.txt", 10_000, 15_000, 1.0)], [page], budget=2_000)
    assert len(window.span) <= 2_500 + 100
    assert window.cut_end
    assert window.start <= 10_000


def test_long_hits_of_other_retrievers_stay_whole():
    """Chunks of 900 bytes are not shortened to a share of 150: fewer of them get in."""
    page = Document("a.txt", LONG)
    hits = [Hit("a.txt", at, at + 900, 1.0 - at / 10**6) for at in range(0, 60_000, 3_000)]
    found = inflate(hits, [page], max_bytes=4_000, settings=WindowSettings(snap=False))
    assert len(found) == 4
    for window in found:
        assert all(window.start <= hit.start and hit.end <= window.end for hit in window.hits)


@pytest.mark.seed("085a §4", "cut edges carry a marker", where="windows/window.py")
def test_cut_edges_say_where_the_document_goes_on():
    """Start and end of a document are not cut, white space beyond them aside."""
    page = Document("a.txt", "\n\nOnly this.\n\n")
    window = Window.cut(page, 2, 12)
    assert not window.cut_start
    assert not window.cut_end
    (middle,) = inflate([Hit("a.txt", 40_000, 40_010, 1.0)], [Document("a.txt", LONG)], budget=100)
    assert middle.cut_start
    assert middle.cut_end
    text = pack([middle], budget=1_000, fill="relevant").text
    assert text.startswith("[DOC: a.txt line 1]\n[...]\nSentence")
    assert text.endswith("\n[...]\n")


def test_window_knows_its_lines():
    """Lines count from one and include both ends."""
    page = Document("a.txt", "one\ntwo\nthree\nfour\n")
    assert Window.cut(page, 4, 13).lines == (2, 3)
    assert Window.cut(page, 4, 14).lines == (2, 3)
    assert Window.cut(page, 0, 19).lines == (1, 4)
    assert Window("a.txt", "bare").lines is None


@pytest.mark.parametrize("sizing", ["density", "radial", "elastic"])
def test_more_budget_never_shows_less(sizing):
    """A larger budget shows at least as many bytes."""
    page = Document("a.txt", LONG)
    hits = [Hit("a.txt", at, at + 10, 1.0) for at in range(1_000, 80_000, 7_000)]
    shown = [
        sum(len(window.span) for window in inflate(hits, [page], budget=budget, sizing=sizing))
        for budget in (200, 1_000, 5_000, 20_000)
    ]
    assert shown == sorted(shown)


@pytest.mark.seed("105 §2.2", "what a policy leaves is refilled", where="windows/cutting.py", ruling=3)
def test_unspent_budget_is_refilled():
    """A hit at the document's edge spends on the other side what it can't spend on this one."""
    page = Document("a.txt", LONG)
    settings = WindowSettings(snap=False)
    (window,) = inflate([Hit("a.txt", 0, 0, 1.0)], [page], budget=2_000, sizing="radial", settings=settings)
    assert (window.start, window.end) == (0, 800)


def test_hit_of_finds_text_with_other_white_space():
    """Splitters strip and join white space; the bytes are found all the same."""
    page = Document("a.txt", "First line\n   second   line\nthird")
    hit = Hit.of(page, "line second line")
    assert page.content[hit.start : hit.end] == b"line\n   second   line"


@pytest.mark.parametrize("sizing", ["density", "radial", "elastic"])
def test_dense_hits_across_categories(sizing):
    """Hits that overlap belong together even where records of different categories would part them."""
    levels = ("INFO", "ERROR", "DEBUG")
    log = "".join(f"2025-01-01T00:00:{n:02}Z {levels[n % 3]} job[{n}]: ask basket cart\n" for n in range(40))
    page = Document("a.log", log)
    spans = [(480, 532, 0.87), (200, 286, 0.4), (57, 111, 0.44), (462, 466, 0.9), (333, 358, 0.24), (490, 500, 0.1)]
    found = inflate([Hit("a.log", *span) for span in spans], [page], max_bytes=3_000, sizing=sizing)
    for start, end, _ in spans:
        assert any(window.start <= start and end <= window.end for window in found)


def test_the_best_hit_survives_a_small_byte_limit():
    """Two hits too far apart for the limit: the better one is shown, the other is reported as dropped."""
    page = Document("a.md", "Some words here and there again. " * 60)
    hits = [Hit("a.md", 0, 5, 0.1), Hit("a.md", 400, 480, 9.0)]
    found = inflate(hits, [page], max_bytes=300)
    assert any(window.start <= 400 and window.end >= 480 for window in found)
    assert found.dropped == (hits[0],) or any(window.end >= 5 and window.start == 0 for window in found)


def test_thousands_of_hits_in_one_document():
    """Windows are split without recursion, and none exceeds the largest size."""
    page = Document("a.md", "Tea came to Europe in 1610 and it was sold. " * 20_000)
    found = inflate([Hit("a.md", at * 400, at * 400 + 3, 1.0) for at in range(2_000)], [page])
    assert len(found) > 300
    assert max(len(window.span) for window in found) <= 2_500


@pytest.mark.parametrize("sizing", ["density", "radial", "elastic", "field"])
def test_a_hit_longer_than_the_limit_is_cut_around_its_words(sizing):
    """Under a limit in bytes, what is left of a long hit has the word for which it was found, in any sizing."""
    page = Document("a.txt", "some words " * 300 + "limerence " + "more words " * 300)
    hit = Hit("a.txt", 0, len(page), 1.0, terms=("limerence",))
    (window,) = inflate([hit], [page], max_bytes=200, sizing=sizing)
    assert "limerence" in window.text
    assert window.end - window.start <= 200
