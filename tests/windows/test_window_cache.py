"""Windows that are made once while the cutoff moves."""

from brimful import Document, Hit, inflate
from brimful.windows.inflate import WindowCache

PAGE = Document("tea.md", "\n\n".join(f"Paragraph {number} speaks of tea number {number}." for number in range(40)))
OTHER = Document("cup.md", "A cup holds tea. " * 30)


def hits():
    """Units of two documents in the order of their scores."""
    units = [(PAGE, at) for at in (30, 2, 12, 3, 20)] + [(OTHER, at) for at in (1, 9)]
    found = []
    for rank, (document, at) in enumerate(units):
        cuts = document.outline.units
        found.append(Hit(document.path, int(cuts[at]), int(cuts[at + 1]), 1.0 - rank / 10))
    return found


def test_the_same_windows_as_inflate_makes():
    """Wherever the cutoff is, and whichever way it moved there, the windows are those of `inflate`."""
    cache, ranked, known = WindowCache(), hits(), {PAGE.path: PAGE, OTHER.path: OTHER}
    for cutoff in (3, 7, 1, 5, 4, 6, 2):
        shown, next_hits = ranked[:cutoff], ranked[cutoff : cutoff + 2]
        expected = inflate(shown, known, sizing="field", next_in_line=next_hits)
        found = cache.windows(ranked, cutoff, known, tokens=4_000, next_in_line=2)
        assert found == expected.windows
        assert [window.sequence for window in found] == [window.sequence for window in expected.windows]


def test_a_window_is_made_once():
    """What the cutoff's move leaves as it was is the same object."""
    cache, ranked, known = WindowCache(), hits(), {PAGE.path: PAGE, OTHER.path: OTHER}
    first = {window.id: window for window in cache.windows(ranked, 3, known, tokens=4_000)}
    again = {window.id: window for window in cache.windows(ranked, 6, known, tokens=4_000)}
    shared = first.keys() & again.keys()
    assert shared
    assert all(first[each].text is again[each].text for each in shared)
