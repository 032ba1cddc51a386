"""Where do words stand side by side?"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from brimful.index.columns import Numbers
from brimful.index.places import Places, sequence
from brimful.search.ground import Ground
from brimful.text.terms import query_terms

_GAP = 8  # bytes between two words that follow each other
_NO_WORD = 2  # in so few no other word has room
_MOST_LOOKED_AT = 1_000  # places of a phrase in one segment whose text is read
_RUNS_ON = "\u0e00"  # scripts from here on are written without blanks; their terms overlap


def following(ground: Ground, terms: Sequence[bytes], *, gap: int = _GAP) -> tuple[Numbers, ...]:
    """Where terms follow each other, plot by plot."""
    columns = [ground.places(term) for term in terms]
    lengths = [len(term) - _shared(term, after) for term, after in zip(terms, [*terms[1:], b""], strict=True)]
    found = []
    for number in range(len(ground.plots)):
        here = [Places(np.zeros(len(column[number]), np.int64), column[number]) for column in columns]
        found.append(sequence(here, lengths=lengths, gap_bytes=gap).starts)
    return tuple(found)


def literal(ground: Ground, terms: Sequence[bytes]) -> tuple[Numbers, ...]:
    """Where terms stand side by side, with no word between them: a wider gap is looked at in the text, if not often."""
    if len(terms) == 1:
        return ground.places(terms[0])
    found = []
    size = sum(map(len, terms)) + _GAP * len(terms)
    for plot, near, loose in zip(
        ground.plots, following(ground, terms, gap=_NO_WORD), following(ground, terms), strict=True
    ):
        bases, ends, *_ = plot.view.extents
        wide = np.setdiff1d(loose, near, assume_unique=True)
        limits = np.minimum(wide + size, ends[bases.searchsorted(wide, side="right") - 1]).tolist()
        unlike = [
            start
            for start, end in list(zip(wide.tolist(), limits, strict=True))[:_MOST_LOOKED_AT]
            if not _begins(plot.view.text(start, end), terms)
        ]
        found.append(np.setdiff1d(loose, np.array(unlike, np.int64), assume_unique=True))
    return tuple(found)


def _begins(content: bytes, terms: Sequence[bytes]) -> bool:
    """Whether a text begins with these terms and no other between them."""
    starts: dict[int, set[bytes]] = {}
    for each in query_terms(content.decode("utf-8", "replace")):
        if not each.is_part:
            starts.setdefault(each.start, set()).add(each.term)
    ordered = [starts[start] for start in sorted(starts)][: len(terms)]
    return len(ordered) == len(terms) and all(term in here for term, here in zip(terms, ordered, strict=True))


def _shared(term: bytes, after: bytes) -> int:
    """Bytes that two terms have in common where the text runs on: of 亚马逊 the terms are 亚马 and 马逊."""
    one, other = term.decode("utf-8", "replace"), after.decode("utf-8", "replace")
    runs_on = len(one) == len(other) == 2 and one[1] == other[0] >= _RUNS_ON
    return len(one[1].encode()) if runs_on else 0
