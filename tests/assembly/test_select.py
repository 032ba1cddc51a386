"""Packing against references that render and count everything at every step."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brimful import Document, Window, pack, render, tokens_for
from brimful.assembly.costs import Costs
from brimful.assembly.fill import Page
from brimful.assembly.formats import Showing, form_for
from brimful.assembly.select import Placed, groups_of
from brimful.settings import FORMATS
from brimful.text.tokens import counting
from tests.properties.strategies import own_windows, scores

WORDS = counting("words", lambda text: len(text.split()))


def unique(windows):
    """Each window once, as pack takes them."""
    found = {window.id: window for window in sorted(windows, key=lambda w: w.order, reverse=True) if window.text}
    return list(found.values())


def plain_greedy(windows, budget, count, form):
    """CFS §7 with ruling 6: group by group, skip what does not fit, count the rendered whole each time."""
    chosen = []
    for group in groups_of(unique(windows)):
        if count(render([w for g in chosen for w in g], format=form)) >= budget:
            break
        chosen.append([])
        for window in group.windows:
            trial = [w for w in group.shown if w in chosen[-1] or w is window]
            if count(render([*(w for g in chosen[:-1] for w in g), *trial], format=form)) <= budget:
                chosen[-1] = trial
    return [w for g in chosen for w in g]


def plain_appended(rounds, budget, count, form):
    """CFS §8: append in turn while a round makes progress."""
    chosen = []
    for windows in rounds:
        progress = False
        for window in windows:
            if count(render([*chosen, window], format=form)) <= budget:
                chosen.append(window)
                progress = True
        if not progress:
            break
    return chosen


@given(own_windows(), st.integers(1, 200), st.sampled_from(FORMATS), st.sampled_from(["o200k_base", "llama3"]))
@pytest.mark.seed("CFS §7", "greedy packing, group by group", where="assembly/select.py", ruling=6)
def test_greedy_equals_the_plain_loop(windows, budget, form, model):
    """Adding up measures chooses exactly what counting every rendered trial chooses."""
    count = tokens_for(model).count
    context = pack(windows, budget=budget, format=form, model=model, trim=False, fill="relevant")
    assert list(context.windows) == plain_greedy(windows, budget, count, form)


@given(own_windows(), st.integers(1, 200), st.sampled_from(FORMATS))
def test_interleaved_equals_the_plain_loop(windows, budget, form):
    """CFS §8.1, counted on the rendered whole."""
    groups = groups_of(unique(windows))
    longest = max((len(group.windows) for group in groups), default=0)
    rounds = [[g.windows[at] for g in groups if at < len(g.windows)] for at in range(longest)]
    context = pack(windows, budget=budget, format=form, packing="interleaved", trim=False, fill="relevant")
    assert list(context.windows) == plain_appended(rounds, budget, tokens_for("o200k_base").count, form)


@given(own_windows(), st.integers(1, 200), st.sampled_from(FORMATS))
def test_score_weighted_equals_the_plain_loop(windows, budget, form):
    """CFS §8.2, counted on the rendered whole."""
    rounds = [[window] for window in sorted(unique(windows), key=lambda w: w.order)]
    context = pack(windows, budget=budget, format=form, packing="score_weighted", trim=False, fill="relevant")
    assert list(context.windows) == plain_appended(rounds, budget, tokens_for("o200k_base").count, form)


@pytest.mark.parametrize("packing", ["greedy", "interleaved", "score_weighted"])
@pytest.mark.seed("CFS configuration", "max_chunks_per_doc", where="assembly/select.py")
def test_max_per_document(packing):
    """No document gets more than its limit; the rest say why they are out."""
    windows = [Window("a.md", f"text {n}", score=n, sequence=n) for n in range(5)]
    windows += [Window("b.md", f"words {n}", score=n / 2, sequence=n) for n in range(5)]
    context = pack(windows, budget=500, packing=packing, max_per_document=2)
    assert sorted(window.path for window in context.windows) == ["a.md", "a.md", "b.md", "b.md"]
    assert {out.reason for out in context.omitted} == {"per_document"}


def test_prefer_recent_is_measured_against_the_newest():
    """Equal scores: the newer window first. Shifting all times changes nothing."""
    for shift in (0, 10**9):
        windows = [
            Window("old.md", "the old text", score=1.0, time=shift),
            Window("new.md", "the new text", score=1.0, time=shift + 90 * 86_400),
            Window("undated.md", "no date", score=1.2),
        ]
        shown = pack(windows, budget=100, prefer_recent=True).windows
        assert [window.path for window in shown] == ["new.md", "undated.md", "old.md"]


def test_prefer_recent_lifts_negative_scores_too():
    """A boost never lowers a score."""
    windows = [Window("a.md", "older", score=-1.0, time=0), Window("b.md", "newer", score=-1.0, time=10**7)]
    assert [window.path for window in pack(windows, budget=100, prefer_recent=True).windows] == ["b.md", "a.md"]


def test_duplicates_are_omitted_with_their_reason():
    """A window that a better one covers names it, and the better one names its document (ruling 25)."""
    best, copy = Window("a.md", "one and the same text", score=2.0), Window("b.md", "one and the same text")
    context = pack([best, copy], budget=100, dedup_threshold=0.8)
    assert [(window.id, window.also_in) for window in context.windows] == [(best.id, ("b.md",))]
    assert [(out.reason, out.duplicate_of) for out in context.omitted] == [("duplicate", best.id)]


@given(st.lists(st.tuples(st.integers(1, 60), scores), min_size=1, max_size=12), st.integers(10, 120))
def test_the_best_that_fits_is_never_skipped(sizes, budget):
    """Greedy: a window is out only if it did not fit when its turn came."""
    windows = [Window(f"{n}", " ".join(["w"] * size), score=score) for n, (size, score) in enumerate(sizes)]
    context = pack(windows, budget=budget, model=WORDS, trim=False, fill="relevant")
    chosen = {window.id for window in context.windows}
    used = 0
    for window in sorted(windows, key=lambda w: w.order):
        price = len(window.text.split()) + 2
        if window.id in chosen:
            used += price
        else:
            assert used + price > budget


@given(
    windows=st.lists(st.tuples(st.integers(0, 3), st.text("a b.\n", min_size=1, max_size=12)), max_size=12),
    available=st.integers(0, 60),
    form=st.sampled_from(FORMATS),
)
def test_a_page_costs_what_its_text_counts(windows, available, form):
    """Whatever is added to whichever block, or taken away: the sum is the count of what would be written."""
    counter = tokens_for("gpt-4o")
    page = Page(Costs(form_for(form), counter, Showing()), available=available)
    for number, (block, text) in enumerate(windows):
        before = page.tokens
        added = page.add(Placed(Window(f"{block}.md", text), (block, -number)))
        written = render([placed.window for placed in page.placed], format=form)
        assert page.tokens == counter.count(written) <= available
        assert added or page.tokens == before
    while page.placed:
        page.drop_worst()
        assert page.tokens == counter.count(render([placed.window for placed in page.placed], format=form))


def test_a_document_begins_with_its_best_window():
    """What follows it comes next, and what precedes it last; all in reading order, and windows that meet are one."""
    page = Document("a.md", "".join(f"Sentence {n} is here.\n\n" for n in range(40)))
    spans = [page.content.index(f"Sentence {n} ".encode()) for n in (3, 10, 20, 30, 31)]
    scores = (0.3, 0.2, 0.9, 0.4, 0.5)
    windows = [Window.cut(page, at, at + 20, score=score) for at, score in zip(spans, scores, strict=True)]
    shown = [window.start for window in pack(windows, budget=400, fill="relevant").windows]
    assert shown == [*spans[2:], *spans[:2]]
    by_score = pack(windows, budget=400, fill="relevant", order="best").windows
    assert [window.start for window in by_score] == [spans[2], spans[4], spans[3], spans[0], spans[1]]
