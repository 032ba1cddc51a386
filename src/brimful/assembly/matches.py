"""Where in the windows of a context do the words of a question stand?"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, pairwise
from typing import NamedTuple

from brimful.search.search import Sense
from brimful.text.terms import QueryTerm, query_terms
from brimful.windows.window import Window

_GAP_BYTES = 8  # between two terms that one word is written as


class Match(NamedTuple):
    """Bytes of a document that a word of the question was found as."""

    start: int
    end: int
    word: str


def matches(windows: Sequence[Window], senses: Sequence[Sense]) -> tuple[tuple[Match, ...], ...]:
    """The places of all words in each window, in order and apart; a whole word hides the parts of itself.

    >>> tea = Sense("tea", ((b"tea",), (b"teas",)))
    >>> matches([Window("a.md", "Green teas.", 100), Window("b.md", "My tea.")], [tea])
    ((Match(start=106, end=110, word='tea'),), (Match(start=3, end=6, word='tea'),))
    """
    found = query_terms("\n".join(window.text for window in windows))  # no term has a line's end in it
    single = {form[0]: sense.word for sense in reversed(senses) for form in sense.forms if len(form) == 1}
    pairs = {form: sense.word for sense in reversed(senses) for form in sense.forms if len(form) == 2}
    places = [Match(term.start, term.end, single[term.term]) for term in found if term.term in single]
    places += _following([term for term in found if not term.is_part], pairs)
    begins = list(accumulate((window.end - window.start + 1 for window in windows), initial=0))
    shown: list[list[Match]] = [[] for _ in windows]
    for start, end, word in _apart(places):
        at = bisect_right(begins, start) - 1
        shift = windows[at].start - begins[at]
        if end < begins[at + 1]:
            shown[at].append(Match(start + shift, end + shift, word))
    return tuple(map(tuple, shown))


def _following(terms: Sequence[QueryTerm], pairs: Mapping[tuple[bytes, bytes], str]) -> Iterator[Match]:
    if not pairs:
        return
    for first, second in pairwise(terms):
        word = pairs.get((first.term, second.term))
        if word is not None and second.start - first.end <= _GAP_BYTES:
            yield Match(first.start, second.end, word)


def _apart(places: Iterable[Match]) -> Iterator[Match]:
    reached = 0
    for place in sorted(places, key=lambda place: (place.start, -place.end, place.word)):
        if place.start >= reached:
            yield place
            reached = place.end
