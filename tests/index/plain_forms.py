"""Postings with plain forms, added to postings that are made: what `indexed_terms` does before they are."""

from bisect import bisect_left

import numpy as np

from brimful.index.segments import Numbers, Postings, Whole
from brimful.outline.cuts import merged
from brimful.text.terms import plain_forms

_PLACE_BITS = 40  # of a position on an axis


def with_plain_forms(postings: Postings) -> Postings:
    """Postings in which a plain term also stands wherever one with accents does."""
    accented: dict[bytes, list[int]] = {}
    for place, name in enumerate(postings.names):
        if (plain := plain_forms([name])[0]) != name:
            accented.setdefault(plain, []).append(place)
    if not accented:
        return postings
    plains = sorted(accented)
    places = [bisect_left(postings.names, plain) for plain in plains]
    known = [at < len(postings.names) and postings.names[at] == plain for at, plain in zip(places, plains, strict=True)]
    members = [
        [*([at] if is_known else []), *accented[plain]]
        for plain, at, is_known in zip(plains, places, known, strict=True)
    ]
    together, behind = _merged(postings, members)
    names: list[bytes] = []
    columns: list[Whole] = []
    counts: list[Numbers] = []
    own = np.diff(postings.offsets)
    done = 0
    for group, (plain, here) in enumerate(zip(plains, places, strict=True)):
        names += postings.names[done:here]
        columns.append(postings.positions[postings.offsets[done] : postings.offsets[here]])
        counts.append(own[done:here])
        names.append(plain)
        columns.append(together[behind[group] : behind[group + 1]])
        counts.append(behind[group + 1 : group + 2] - behind[group])
        done = here + known[group]
    names += postings.names[done:]
    columns.append(postings.positions[postings.offsets[done] :])
    counts.append(own[done:])
    offsets = np.concatenate((np.zeros(1, np.int64), np.cumsum(np.concatenate(counts))))
    return Postings(names, offsets, np.concatenate(columns))


def _merged(postings: Postings, groups: list[list[int]]) -> tuple[Whole, Numbers]:
    """The positions of some terms together, group by group, each once; and where each group ends, after a 0."""
    terms = np.array([term for group in groups for term in group], np.int64)
    sizes = np.diff(postings.offsets)[terms]
    owners = np.repeat(np.arange(len(groups)), list(map(len, groups)))
    rows = np.repeat(postings.offsets[terms] - (np.cumsum(sizes) - sizes), sizes) + np.arange(int(sizes.sum()))
    keys = np.repeat(owners, sizes) << _PLACE_BITS | postings.positions[rows].astype(np.int64)
    keys = merged(keys)
    behind = keys.searchsorted(np.arange(len(groups) + 1) << _PLACE_BITS)
    return (keys & ((1 << _PLACE_BITS) - 1)).astype(postings.positions.dtype), behind
