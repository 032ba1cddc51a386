"""How do the postings of several segments become one, a few pages at a time?"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence

import numpy as np

from brimful.index.columns import Numbers
from brimful.index.segments import Postings

_PAGES_AT_ONCE = 16
_POSITIONS_AT_ONCE = 50_000

NO_POSTINGS = Postings([], np.zeros(1, np.int64), np.zeros(0, np.int64))


def merge_postings(runs: Sequence[Iterator[Postings]]) -> Iterator[Postings]:
    """Merge runs of pages, each sorted by name throughout, into one such run.

    Positions of a run must stand before those of the next; no term of a run is on two of its pages.

    >>> pages = [Postings([b"pot", b"tea"], np.array([0, 1, 2]), np.array([3, 1])),
    ...          Postings([b"cup", b"tea"], np.array([0, 1, 3]), np.array([9, 7, 8]))]
    >>> (merged,) = merge_postings([iter([page]) for page in pages])
    >>> merged.names, merged.of(b"tea").tolist()
    ([b'cup', b'pot', b'tea'], [1, 7, 8])
    """
    held = [_next(run) for run in runs]
    while any(each.names for each in held):
        # Up to here every run has shown all that it has.
        limit = min(each.names[-1] for each in held if each.names)
        parts = [_split(each, limit) for each in held]
        yield _merged([part for part, _ in parts])
        held = [rest if rest.names else _next(run) for run, (_, rest) in zip(runs, parts, strict=True)]


def without_empty(postings: Postings, kept: np.typing.NDArray[np.bool_], shifts: Numbers) -> Postings:
    """Only the chosen positions, each with its shift added; terms that are left without any are gone."""
    counts = np.add.reduceat(kept, postings.offsets[:-1], dtype=np.int64) if postings.names else np.zeros(0, np.int64)
    some = np.flatnonzero(counts)
    names = postings.names if len(some) == len(counts) else [postings.names[at] for at in some.tolist()]
    offsets = np.concatenate((np.zeros(1, np.int64), np.cumsum(counts[some])))
    return Postings(names, offsets, (postings.positions + shifts)[kept])


def _next(run: Iterator[Postings]) -> Postings:
    """The next few pages as one; nothing at the end."""
    for page in run:
        if page.names:
            break
    else:
        return NO_POSTINGS
    pages, held = [page], len(page.positions)
    # Pages of common terms are long: memory must not grow with what is merged.
    while len(pages) < _PAGES_AT_ONCE and held < _POSITIONS_AT_ONCE and (following := next(run, None)) is not None:
        pages.append(following)
        held += len(following.positions)
    counts = np.concatenate([np.diff(page.offsets) for page in pages])
    return Postings(
        [name for page in pages for name in page.names],
        np.concatenate((np.zeros(1, np.int64), np.cumsum(counts))),
        np.concatenate([page.positions for page in pages]),
    )


def _split(postings: Postings, limit: bytes) -> tuple[Postings, Postings]:
    """The terms up to a name, and those after it."""
    at = bisect_right(postings.names, limit)
    if at == len(postings.names):
        return postings, NO_POSTINGS
    middle = postings.offsets[at]
    return (
        Postings(postings.names[:at], postings.offsets[: at + 1], postings.positions[:middle]),
        Postings(postings.names[at:], postings.offsets[at:] - middle, postings.positions[middle:]),
    )


def _merged(parts: Sequence[Postings]) -> Postings:
    names = sorted({name for part in parts for name in part.names})
    place_of = {name: at for at, name in enumerate(names)}
    places = [np.fromiter(map(place_of.__getitem__, part.names), np.int64, len(part.names)) for part in parts]
    counts = np.zeros((len(names), len(parts)), np.int64)
    for column, (part, rows) in enumerate(zip(parts, places, strict=True)):
        counts[rows, column] = np.diff(part.offsets)
    ends = np.cumsum(counts)
    starts = (ends - counts.ravel()).reshape(counts.shape)
    positions = np.empty(int(ends[-1]), np.int64)
    for column, (part, rows) in enumerate(zip(parts, places, strict=True)):
        shifts = np.repeat(starts[rows, column] - part.offsets[:-1], np.diff(part.offsets))
        positions[np.arange(len(part.positions)) + shifts] = part.positions
    offsets = np.concatenate((np.zeros(1, np.int64), np.cumsum(counts.sum(axis=1))))
    return Postings(names, offsets, positions)
