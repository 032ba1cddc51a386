"""Where does a text have some words, near each other?"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from brimful.text.terms import query_terms

_MOST_PLACES = 64  # of one word in one hit that are compared


def matches_in(text: str, words: Sequence[Collection[bytes]]) -> tuple[tuple[int, int], ...]:
    """Where a text has each of some words, given by the terms that each may stand as, the most telling word first.

    One place for each word that the text has, in bytes: those that lie nearest to one of the first word.

    >>> matches_in("Tea, and much later tea with milk", [{b"milk"}, {b"tea"}])
    ((29, 33), (20, 23))
    """
    terms = query_terms(text)
    places = [[(each.start, each.end) for each in terms if each.term in names][:_MOST_PLACES] for names in words]
    places = [each for each in places if each]
    if not places:
        return ()

    def around(first: tuple[int, int]) -> tuple[tuple[int, int], ...]:
        return (first, *(min(each, key=lambda place: (abs(place[0] - first[0]), place)) for each in places[1:]))

    return min((around(first) for first in places[0]), key=lambda found: (_reach(found), found))


def _reach(places: Sequence[tuple[int, int]]) -> int:
    return max(end for _, end in places) - min(start for start, _ in places)
