"""Trimming and growing: how the rest of a budget is spent."""

from itertools import pairwise

import pytest

from brimful import Cluster, Document, Hit, Window, inflate, pack
from brimful.assembly.fill import Page
from brimful.assembly.formats import form_for
from brimful.assembly.pack import Packer
from brimful.budget import budget_of
from brimful.settings import PackSettings
from brimful.text.vocabularies import tokens_for

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
    """Beside other windows, a window whose hit is larger than what is left stays out whole."""
    long = Window.cut(PAGE, 0, 900, score=0.5, hits=(Hit("page.txt", 0, 900, 0.5),))
    other = Window("other.md", "Something else that is shown first, with a few words.", score=1.0)
    context = pack([long, other], budget=100)
    assert [window.path for window in context.windows] == ["other.md"]
    assert [out.reason for out in context.omitted] == ["budget"]


@pytest.mark.parametrize("budget", [32, 60, 200])
def test_a_hit_longer_than_the_budget_is_cut_around_its_words(budget):
    """The part of a long hit that is shown has the word for which it was found, with text on both sides."""
    where = PAGE.content.index(b"number 50 ")
    hit = Hit("page.txt", 0, 4_400, 1.0, terms=("50",))
    context = pack([Window.cut(PAGE, 0, 4_400, score=1.0, hits=(hit,))], budget=budget)
    (window,) = context.windows
    assert "number 50 " in window.text
    assert window.start < where
    assert window.end > where + len("number 50 stands")
    assert context.tokens >= budget * 0.9


def test_as_many_of_a_hits_words_as_fit():
    """Where two words of a long hit lie too far apart, the first one is shown, and both where there is room."""
    first, last = PAGE.content.index(b"90 stands"), PAGE.content.index(b"40 stands")
    hit = Hit("page.txt", 0, 4_400, 1.0, matches=((first, first + 2), (last, last + 2)))
    window = Window.cut(PAGE, 0, 4_400, score=1.0, hits=(hit,))
    assert "90 stands" in pack([window], budget=60).text
    assert "40 stands" not in pack([window], budget=60).text
    both = pack([window], budget=700).text
    assert "40 stands" in both
    assert "90 stands" in both


def test_a_window_without_a_document_is_cut_around_its_words():
    """The words of a hit are found in a window that another retriever brought, wherever it begins."""
    text = PAGE.content[:4_400].decode()
    window = Window("page.txt", text, 1_000, hits=(Hit("page.txt", 1_000, 5_400, 1.0, terms=("77",)),))
    assert "number 77 " in pack([window], budget=60).text


def test_hits_too_far_apart_for_the_budget():
    """Where first and last hit do not fit together, the best one is shown with as much around it as fits."""
    hits = (Hit("page.txt", 4_000, 4_003, 0.9), Hit("page.txt", 0, 3, 0.5))
    context = pack([Window.cut(PAGE, 0, 4_400, score=0.9, hits=hits)], budget=500)
    (window,) = context.windows
    assert window.start <= 4_000
    assert window.end >= 4_003
    assert window.hits == hits[:1]
    assert context.tokens >= 490
    assert context.trimmed == (window.id,)


@pytest.mark.parametrize("text", ["茶" * 3_000, "x" * 9_000, "word " * 2_000])
@pytest.mark.parametrize("place", [0, 1_500, 8_990])
def test_a_position_in_a_long_unit(text, place):
    """A hit without length is shown in as much of its unit as fits."""
    page = Document("a.txt", text)
    place = min(place, len(page))
    for budget in (40, 500):
        context = pack(inflate([Hit("a.txt", place, score=1.0)], [page]), budget=budget)
        assert context.tokens >= budget * 0.9
        assert context.windows[0].start <= place <= context.windows[0].end


def test_what_others_grew_over_is_not_omitted():
    """A window that is shown because a neighbour grew over it is not listed as left out, and its hit counts."""
    hit = Hit("page.txt", 90, 95, 0.5)
    windows = [Window.cut(PAGE, 0, 42, score=1.0), Window.cut(PAGE, 84, 126, score=0.5, hits=(hit,))]
    context = pack(windows, budget=200, max_per_document=1)
    assert context.omitted == ()
    assert hit in context.windows[0].hits


@pytest.mark.parametrize("packing", ["greedy", "interleaved", "score_weighted"])
def test_every_window_is_shown_trimmed_or_omitted(packing):
    """Windows of clusters too: nothing vanishes."""
    windows = tuple(Window.cut(PAGE, k * 100, k * 100 + 60, score=1 - k / 10) for k in range(5))
    cluster = Cluster(windows, "temporal", windows[0].coherence)
    for budget in (40, 60, 100):
        context = pack([cluster], budget=budget, packing=packing, trim=False, fill="relevant")
        shown = {window.id for window in context.windows}
        assert shown | {out.window.id for out in context.omitted} == {window.id for window in windows}


def test_trimming_can_be_off():
    """The CFS profile shows whole windows or none."""
    context = pack([Window("a", " ".join(SENTENCES))], budget=100, trim=False, fill="relevant")
    assert context.windows == ()


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


@pytest.mark.seed("085a §2.1", "growing passes the cap by whole sections", where="assembly/fill.py", ruling=26)
@pytest.mark.parametrize("budget", range(150, 400, 25))
def test_over_the_cap_windows_grow_by_whole_sections(monkeypatch, budget):
    """Ruling 26: until a word is broken to win the last tokens, both edges of a window over the cap end a paragraph."""
    monkeypatch.setattr(Page, "_to_the_brim", lambda _page, _stretches: None)
    sentences = (f"Sentence {n} of the page is here. {'' if n % 4 else chr(10) * 2}" for n in range(120))
    page = Document("page.md", "".join(sentences))
    start = page.content.index(b"Sentence 57")
    window = Window.cut(page, start, start + 20, score=1.0, hits=(Hit("page.md", start, start + 20, 1.0),))
    counter = tokens_for("o200k_base")

    def grown(cap):
        packer = Packer(counter, form_for("plain"), PackSettings(), cap_bytes=cap)
        return packer.pack([window], budget_of(budget)).windows[0]

    found = grown(300)
    assert len(found.span) > 300
    assert {found.start, found.end} <= set(page.outline.sections.tolist())
    free = [grown(None).start, grown(None).end]
    assert len(grown(None).span) >= len(found.span)
    assert free != [found.start, found.end] or set(free) <= set(page.outline.sections.tolist())


BODY = "Some words about tea that fill a line or two of the page. "
HEADED = f"# Tea\n\n{BODY}\n\n" + "".join(f"## Part {n}\n\n{BODY * 12}\n\n" for n in range(4))
LABELLED = f"Tea\n===\n\n{BODY}\n\n" + "".join(
    f".. _part-{n}:\n\nPart {n}\n------\n\n.. setting:: TEA_{n}\n\n{BODY * 3}\n\n" for n in range(9)
)


@pytest.mark.parametrize(
    ("page", "announcing"),
    [(Document("tea.md", HEADED), ("## ",)), (Document("tea.rst", LABELLED), (".. ", "---"))],
    ids=["heading", "label and directive"],
)
def test_growing_takes_what_announces_together_with_what_follows(page, announcing):
    """A window that grows by whole units takes a heading, a label or a directive with words below it, or not at all."""
    hit = Hit.of(page, "Some words about tea", score=1.0)
    ends = set()
    for budget in range(60, 600, 6):
        (window,) = pack(inflate([hit], [page], sizing="field"), budget=budget).windows
        if window.end in page.outline.units:
            ends.add(window.end)
            last = window.text.rstrip().rpartition("\n")[2]
            assert not last.startswith(announcing), last
    assert len(ends) > 3


def test_a_window_grows_on_before_it_grows_over_its_heading():
    """The end of the section before has the least to do with what was found: it is shown where nothing else is left."""
    body = "Some words about tea that fill a line or two of the page. "
    page = Document(
        "tea.md", f"# Coffee\n\nThe last word on coffee. {body * 4}\n\n# Milk\n\nCold milk is best. {body * 30}\n"
    )
    hit = Hit.of(page, "Cold milk is best.", score=1.0)
    for budget in range(60, 300, 20):
        (window,) = pack(inflate([hit], [page], sizing="field"), budget=budget).windows
        assert window.text.startswith("# Milk\n\nCold milk")
    (window,) = pack(inflate([hit], [page], sizing="field"), budget=2_000).windows
    assert window.text == page.text(0, len(page))


@pytest.mark.parametrize("budget", range(600, 700, 13))
def test_code_is_broken_between_lines(budget):
    """Where lines fill a budget, the last unit that is shown in part ends with one, however far it is indented."""
    lines = [f"                    self.pots.add(cup_{n})" for n in range(200)]
    page = Document("deep.py", "def run(gamma):\n" + "\n".join(lines) + "\n")
    start = page.content.index(b"                    self.pots.add(cup_100)")
    hit = Hit("deep.py", start, start + len(lines[100]) + 1, 1.0)
    (window,) = pack(inflate([hit], [page], sizing="field"), budget=budget).windows
    before, after = page.content[: window.start], page.content[window.end :]
    assert not before or before.endswith(b"\n")
    assert not after or window.text.endswith("\n") or after.startswith(b"\n")


@pytest.mark.parametrize("budget", range(32, 48))
def test_a_small_budget_shows_no_sentence_without_its_beginning(budget):
    """What is left of it stays free where only the end of a sentence before would fit."""
    page = Document(
        "k.md", "The kettle boils two litres in four minutes, every month. It was bought in 2019, for ten euros."
    )
    start = page.content.index(b"It was")
    (window,) = pack(inflate([Hit("k.md", start, len(page), 1.0)], [page], sizing="field"), budget=budget).windows
    assert window.start in (0, start)


@pytest.mark.parametrize("budget", range(500, 516))
def test_dates_are_cut_between_their_parts(budget):
    """A time takes a dozen tokens: to end above each would leave more than two percent of a small budget."""
    document = Document("a.md", '{"time": "2026-01-02T03:04:05.123456Z"}\n' * 200)
    window = Window.cut(document, 0, len(document), score=1.0)
    context = pack([window], budget=budget, packing="greedy", model="claude", fill="relevant")
    assert budget * 0.98 <= context.tokens <= budget
