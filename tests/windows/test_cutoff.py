"""The relevance cutoff: hits in the order of their score until the budget is full, touching ones in one window."""

import random

import pytest

from brimful import Document, Hit, WindowSettings, inflate
from brimful.windows import cutoff, whole
from brimful.windows.cutoff import (
    BRIDGED_BYTES,
    GAP_TOKENS,
    HEADER_TOKENS,
    NEXT_IN_LINE,
    field_cuts,
    relevance_cutoff,
)
from brimful.windows.whole import LEAST_BYTES

PAGE = Document("tea.md", "".join(f"Sentence number {n:03} of the page. " for n in range(100)))


class AsFound(WindowSettings):
    """Windows that are not completed to whole passages."""

    whole_share = 0


AS_FOUND = AsFound()
UNIT = len("Sentence number 000 of the page. ")


def hits_of(places, *, path="tea.md"):
    """A hit for each numbered sentence, the best first."""
    return [Hit(path, n * UNIT, (n + 1) * UNIT, 100.0 - at) for at, n in enumerate(places)]


def plain_cutoff(hits, text_of, tokens, cost):
    """The same in the plainest way: the price of every prefix from scratch."""
    for count in range(1, len(hits) + 1):
        price, names = 0, set()
        for at, hit in enumerate(hits[:count]):
            edges = {(other.path, edge) for other in hits[:at] for edge in (other.start, other.end)}
            touching = ((hit.path, hit.start) in edges) + ((hit.path, hit.end) in edges)
            price += cost(text_of(hit)) + GAP_TOKENS * (1 - touching)
            price += 0 if hit.path in names else cost(hit.path) + HEADER_TOKENS
            names.add(hit.path)
        if price > tokens and count > 1:
            return count - 1
    return len(hits)


@pytest.mark.parametrize("seed", range(8))
def test_as_many_as_the_budget_has_room_for(seed):
    """The cutoff is where the plain sum says, and the next sixteen are offered as well."""
    chance = random.Random(seed)
    hits = hits_of(chance.sample(range(100), 60))
    tokens = chance.randrange(20, 1_500)

    def text_of(hit):
        return PAGE.text(hit.start, hit.end)

    result = relevance_cutoff(hits, map(text_of, hits), tokens=tokens, cost=len)
    shown = plain_cutoff(hits, text_of, tokens, len)
    assert result.shown == tuple(hits[:shown])
    assert result.next_in_line == tuple(hits[shown : shown + NEXT_IN_LINE])


def test_the_best_is_always_shown():
    """One hit that is dearer than the whole budget is offered all the same: it may be trimmed."""
    result = relevance_cutoff(hits_of([5]), ["x" * 99], tokens=1, cost=len)
    assert len(result.shown) == 1


def test_touching_hits_become_one_window():
    """Neighbours are shown as one; so are those with so little between them that a gap would only be in the way."""
    cuts = field_cuts(PAGE, hits_of([4, 3, 11, 5]))
    assert [(cut.span.start // UNIT, cut.span.end // UNIT) for cut in cuts] == [(3, 6), (11, 12)]
    assert [cut.score for cut in cuts] == [100.0, 98.0]
    near = [Hit("tea.md", 0, 10, 2.0), Hit("tea.md", 10 + BRIDGED_BYTES, 50 + BRIDGED_BYTES, 1.0)]
    assert len(field_cuts(PAGE, near)) == 1
    apart = [Hit("tea.md", 0, 10, 2.0), Hit("tea.md", 11 + BRIDGED_BYTES, 50 + BRIDGED_BYTES, 1.0)]
    assert len(field_cuts(PAGE, apart)) == 2


def test_a_scrap_is_shown_with_what_is_near():
    """A scrap and its neighbour are one window, which costs little more than two; long windows stay apart."""
    paragraphs = [f"Sentence {n} of the page.\n\n" for n in range(10, 50)]
    page, size = Document("notes.md", "".join(paragraphs)), len(paragraphs[0])
    gap = BRIDGED_BYTES // size + 1
    for length, windows in ((1, 1), (LEAST_BYTES // size + 1, 2)):
        ends = [length, gap + 2 * length]
        hits = [Hit("notes.md", (end - length) * size, end * size, 1.0) for end in ends]
        assert len(field_cuts(page, hits, rooms=(1, 1))) == windows
        assert len(field_cuts(page, hits)) == 2


def test_what_is_next_in_line_stands_alone():
    """A hit after the cutoff is a window of its own, unless its bytes are shown already."""
    cuts = field_cuts(PAGE, hits_of([3, 9]), hits_of([4, 20, 21]))
    spans = [(cut.span.start // UNIT, cut.span.end // UNIT) for cut in cuts]
    assert spans == [(3, 4), (4, 5), (9, 10), (20, 21), (21, 22)]


def test_a_position_stands_for_its_unit():
    """A hit without length shows the unit that it is in; an empty document shows nothing."""
    (cut,) = field_cuts(PAGE, [Hit("tea.md", 2 * UNIT + 3, score=1.0)])
    assert (cut.span.start, cut.span.end) == (2 * UNIT, 3 * UNIT)
    empty = Document("e.md", "")
    assert inflate([Hit("e.md", 0, score=1.0)], [empty], sizing="field", budget=50)[0].text == ""


def test_positions_in_one_unit_are_one_window():
    """However far apart they are in it: no byte is shown twice."""
    positions = (Hit("tea.md", 1, score=2.0), Hit("tea.md", UNIT - 2, score=1.0))
    (cut,) = field_cuts(PAGE, positions)
    assert (cut.span.start, cut.span.end) == (0, UNIT)


def test_edges_fall_between_characters():
    """A hit that begins inside a character shows it whole."""
    document = Document("a.md", "茶はいつ来たのか")
    (cut,) = field_cuts(document, [Hit("a.md", 1, 4, 1.0)])
    assert document.text(cut.span.start, cut.span.end) == "茶は"


def test_a_rare_word_gets_its_chapter_and_a_common_one_many_short_windows():
    """Many hits side by side become one long window; the same number far apart stay short."""
    together = inflate(hits_of(range(40, 60)), [PAGE], sizing="field", budget=500)
    assert [len(window.hits) for window in together] == [20]
    apart = inflate(hits_of(range(0, 100, 5)), [PAGE], sizing="field", budget=500, settings=AS_FOUND)
    assert [len(window.hits) for window in apart] == [1] * 20


def test_blank_lines_alone_are_no_window():
    """A blank unit between two that matter is shown with them, and never by itself."""
    page = Document("tea.md", "Tea.\n\n\nCoffee.\n")
    blank = Hit("tea.md", 5, 7, 1.0)
    assert field_cuts(page, [blank], [blank]) == []
    (cut,) = field_cuts(page, [blank, Hit("tea.md", 0, 5, 2.0)])
    assert (cut.span.start, cut.span.end) == (0, 7)


def test_a_heading_is_shown_with_what_it_stands_above():
    """A hit on a heading alone would say nothing: the next unit that is no heading comes with it."""
    text = "# Tea\n\n## Brewing\n\nFour minutes. Then wait.\n\n## End\n"
    page = Document("tea.md", text)
    [cut] = field_cuts(page, [Hit("tea.md", 0, 7, 1.0)])
    assert page.text(cut.span.start, cut.span.end).rstrip() == "# Tea\n\n## Brewing\n\nFour minutes."
    [last] = field_cuts(page, [Hit("tea.md", text.index("## End"), len(text), 1.0)])
    assert page.text(last.span.start, last.span.end) == "## End\n"


def test_headings_in_a_row_are_walked_once(monkeypatch):
    """Each of many headings leads to the text below the last; the steps there are not taken by each hit."""
    steps = []
    plain = whole.end_of_announced
    monkeypatch.setattr(cutoff, "end_of_announced", lambda *edges: steps.append(edges) or plain(*edges))
    for count in (50, 500):
        page = Document("needles.md", "# needle\n" * count + "\nThe text below.\n")
        hits = [Hit(page.path, 9 * n, 9 * n + 9, 1_000.0 - n) for n in range(count)]
        steps.clear()
        (cut,) = field_cuts(page, hits, rooms=[100] * count)
        assert (cut.span.start, len(cut.hits)) == (0, count)
        assert page.text(0, cut.span.end).endswith("The text below.\n")
        assert len(steps) <= 2
