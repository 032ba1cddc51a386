"""Where a text has some words, near each other."""

from brimful.text.terms import matches_in


def test_the_places_nearest_to_each_other():
    """Of all places of two words those are taken that lie nearest to each other, the first word's first."""
    text = "tea here. " + "filler " * 9 + "milk with tea"
    (milk, tea) = matches_in(text, [{b"milk"}, {b"tea"}])
    assert text[slice(*milk)] == "milk"
    assert tea[0] > milk[0]


def test_places_are_bytes_of_the_text_itself():
    """A term is folded, its place is not: capitals, accents and sharp s are found where they stand."""
    text = "ÄÖÜ: die Straße, CAFÉ"
    found = matches_in(text, [{b"strasse"}, {"café".encode()}])
    assert [text.encode()[start:end].decode() for start, end in found] == ["Straße", "CAFÉ"]


def test_words_that_are_missing():
    """A word that the text lacks has no place, and the others keep theirs."""
    assert matches_in("tea", [{b"coffee"}, {b"tea"}]) == ((0, 3),)
    assert matches_in("", [{b"coffee"}]) == ()
