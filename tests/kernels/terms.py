"""Which words stand where? The whole way in NumPy, to compare the kernels with.

A word is a run of letters, marks and digits; `docs/terms.md` has the rules, `pieces` finds their edges. The rules are
applied to each different clump of a text, and what they say is carried to its copies. The work is done on whole
arrays, a stretch of text that fits into the processor's cache at a time: nothing here loops over words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from brimful.text.characters import Folded, fold
from tests.kernels.clumps import Clumps, clumps_of
from tests.kernels.grouping import ROOM, Groups, group
from tests.kernels.pieces import EDGE, rows_of

STRETCH_BYTES = 1 << 17
"""Text that is looked at in one go; nothing on one side of white space depends on the other."""

_BLANK = re.compile(rb"[ \t\n\v\f\r]")
_SEPARATORS = np.frombuffer(EDGE, np.uint8)
_PLACE_BITS = 32
_NO_CLASSES = np.zeros(len(EDGE), np.uint8)


@dataclass(frozen=True, slots=True, eq=False)
class Terms:
    """Every occurrence of every term, in columns, grouped by term (085b §5.1 atom positions)."""

    names: list[bytes]  # distinct terms as UTF-8, sorted bytewise
    offsets: NDArray[np.int64]  # one more than names: the rows of term i are [offsets[i], offsets[i + 1])
    starts: NDArray[np.int32]  # where each occurrence starts in the content, ascending within a term


def terms_of(content: bytes) -> Terms:
    """Every term of a text with the byte offsets of its occurrences.

    >>> terms = terms_of(b"getAtom: the atom")
    >>> terms.names, terms.offsets.tolist(), terms.starts.tolist()
    ([b'atom', b'get', b'getatom', b'the'], [0, 2, 3, 4, 5], [3, 13, 0, 0, 9])
    """
    clumps = clumps_of(content)
    groups, clump, inside = _terms_in(clumps.text, clumps.bounds)
    copies = np.bincount(clumps.numbers, minlength=len(clumps.bounds) - 1)
    ends = np.concatenate((np.zeros(1, np.int64), np.cumsum(copies.take(clump.take(groups.rows)))))
    names = np.empty(len(groups.rows), np.int64)
    names[groups.rows] = np.repeat(np.arange(len(groups.names)) << _PLACE_BITS, np.diff(groups.offsets))
    names += inside
    return Terms(groups.names, ends.take(groups.offsets), _places(clumps, names, clump))


def _places(clumps: Clumps, keys: NDArray[np.int64], clump: NDArray[np.int32]) -> NDArray[np.int32]:
    """Where each term stands, given a key for each term of each clump: its number and where in the clump it starts."""
    counts = np.bincount(clump, minlength=len(clumps.bounds) - 1)
    firsts = np.cumsum(counts) - counts
    # Most clumps have one term. To the keys of their copies come those of the others.
    single = (counts == 1).take(clumps.numbers)
    numbers = clumps.numbers.compress(single)
    whole = keys.take(firsts.take(numbers))
    whole += clumps.starts.compress(single)
    others = ~single
    numbers = clumps.numbers.compress(others)
    repeats = counts.take(numbers)
    rows = np.repeat(firsts.take(numbers) - (np.cumsum(repeats) - repeats), repeats)
    rows += np.arange(len(rows))
    parts = keys.take(rows)
    parts += np.repeat(clumps.starts.compress(others), repeats)
    found = np.concatenate((whole, parts))
    del whole, parts, rows
    found.sort()
    return found.astype(np.int32)


def _terms_in(text: bytes, bounds: NDArray[np.int32]) -> tuple[Groups, NDArray[np.int32], NDArray[np.int32]]:
    """The terms of all clumps in groups; of each row its clump, and where in it the term starts."""
    texts: list[bytes] = []
    columns: list[tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]]] = []
    size = 0
    for begin, part in _stretches(text):
        folded, starts, lengths = _occurrences(part)
        origins = (folded.origin(starts) + begin).astype(np.int32)
        columns.append(((starts + size).astype(np.int32), lengths.astype(np.int32), origins))
        texts.append(folded.text.tobytes())
        size += len(texts[-1])
    texts.append(ROOM)
    starts, lengths, origins = (np.concatenate(column) for column in zip(*columns, strict=True))
    clump = (bounds.searchsorted(origins, side="right") - 1).astype(np.int32)
    return group(b"".join(texts), starts, lengths), clump, origins - bounds[clump]


def _stretches(content: bytes) -> Iterator[tuple[int, bytes]]:
    """A text cut at white space, with where each part begins."""
    start = 0
    while len(content) - start > STRETCH_BYTES:
        found = _BLANK.search(content, start + STRETCH_BYTES)
        if found is None:
            break
        yield start, content[start : found.end()]
        start = found.end()
    yield start, content[start:]


def _occurrences(content: bytes) -> tuple[Folded, NDArray[np.int64], NDArray[np.int64]]:
    """The folded text, and where in it terms start and how long they are, in order of their starts."""
    folded = fold(content)
    classes = np.concatenate((_NO_CLASSES, folded.classes, _NO_CLASSES))
    text = None if content.isascii() else np.concatenate((_SEPARATORS, folded.text, _SEPARATORS))
    return folded, *rows_of(classes, text)
