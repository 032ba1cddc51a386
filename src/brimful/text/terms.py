"""Which words stand where?

A word is a run of letters, marks and digits; `docs/terms.md` has the rules, `pieces` finds their edges. The rules are
applied to each different clump of a text, and what they say is carried to its copies: kernels find the clumps, group
their terms and put every place where it belongs; the rules themselves work on whole arrays, a stretch of text that
fits into the processor's cache at a time.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from brimful import kernels
from brimful.kernels import ROOM, Places
from brimful.patterns import compiled
from brimful.text.clumps import clumps_of
from brimful.text.folding import Folded, fold
from brimful.text.pieces import EDGE, rows_of

STRETCH_BYTES = 1 << 17
"""Text that is looked at in one go; nothing on one side of white space depends on the other."""

_BLANK = compiled(rb"[ \t\n\v\f\r]")
_SEPARATORS = np.frombuffer(EDGE, np.uint8)
_NO_CLASSES = np.zeros(len(EDGE), np.uint8)


@dataclass(frozen=True, slots=True, eq=False)
class Terms:
    """Every occurrence of every term, in columns, grouped by term (085b §5.1 atom positions)."""

    names: list[bytes]  # distinct terms as UTF-8, sorted bytewise
    offsets: NDArray[np.int64]  # one more than names: the rows of term i are [offsets[i], offsets[i + 1])
    starts: NDArray[np.int32]  # where each occurrence starts in the content, ascending within a term


class QueryTerm(NamedTuple):
    """A term of a question, with its byte range there."""

    term: bytes
    start: int
    end: int
    is_part: bool  # a longer term of the question holds it


def terms_of(content: bytes) -> Terms:
    """Every term of a text with the byte offsets of its occurrences.

    >>> terms = terms_of(b"getAtom: the atom")
    >>> terms.names, terms.offsets.tolist(), terms.starts.tolist()
    ([b'atom', b'get', b'getatom', b'the'], [0, 2, 3, 4, 5], [3, 13, 0, 0, 9])
    """
    padded = content + ROOM
    clumps = clumps_of(padded)
    different = clumps.strings
    text, bounds = kernels.join_strings(padded, different.firsts, different.lengths, sign=b" ")
    folded, starts, lengths, origins = _terms_in(text)
    terms = kernels.number_strings(folded, starts, lengths)
    order = kernels.sort_strings(folded, terms.firsts, terms.lengths)
    names, _ = kernels.join_strings(folded, terms.firsts, terms.lengths, sign=b"\n", order=order)
    rank = np.empty(len(order), np.int32)
    rank[order] = np.arange(len(order), dtype=np.int32)
    numbers = rank.take(terms.numbers)
    rows = origins.searchsorted(bounds)
    copies = np.bincount(different.numbers, minlength=len(bounds) - 1)
    counts = np.repeat(copies, np.diff(rows))
    offsets = np.zeros(len(order) + 1, np.int64)
    np.cumsum(np.bincount(numbers, counts, len(order)), out=offsets[1:], dtype=np.int64)
    inside = origins - np.repeat(bounds[:-1], np.diff(rows))
    places = kernels.place_terms(clumps, rows, numbers, inside, offsets=offsets)
    return Terms(names.split(b"\n")[:-1], offsets, places)


def _terms_in(text: bytes) -> tuple[bytes, Places, Places, Places]:
    """The folded text with room behind it; where in it terms start, how long they are, where they come from."""
    texts: list[bytes] = []
    columns: list[tuple[Places, ...]] = []
    size = 0
    for begin, part in _stretches(text):
        folded, starts, lengths = _occurrences(part)
        found = (starts + size, lengths, folded.origin(starts) + begin)
        columns.append(tuple(column.astype(np.int32) for column in found))
        texts.append(folded.text.tobytes())
        size += len(texts[-1])
    texts.append(ROOM)
    places, sizes, origins = (np.concatenate(column) for column in zip(*columns, strict=True))
    return b"".join(texts), places, sizes, origins


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


def query_terms(text: str) -> list[QueryTerm]:
    """The terms of a question in order of occurrence, a whole before its parts.

    >>> [(term.decode(), part) for term, _, _, part in query_terms("Where is HTTPServer2?")]
    [('where', False), ('is', False), ('httpserver2', False), ('http', True), ('server', True), ('2', True)]
    """
    content = text.encode("utf-8", "replace")
    folded, starts, lengths = _occurrences(content)
    order = np.lexsort((-lengths, starts))
    starts, ends = starts[order], (starts + lengths)[order]
    reach = np.concatenate([[0], np.maximum.accumulate(ends)[:-1]]) if len(ends) else ends
    buffer = folded.text.tobytes()
    return [
        QueryTerm(buffer[start:end], begin, stop, is_part)
        for start, end, begin, stop, is_part in zip(
            starts.tolist(),
            ends.tolist(),
            folded.origin(starts).tolist(),
            folded.origin(ends).tolist(),
            (ends <= reach).tolist(),
            strict=True,
        )
    ]


def _occurrences(content: bytes) -> tuple[Folded, NDArray[np.int64], NDArray[np.int64]]:
    """The folded text, and where in it terms start and how long they are, in order of their starts."""
    folded = fold(content)
    classes = np.concatenate((_NO_CLASSES, folded.classes, _NO_CLASSES))
    text = None if content.isascii() else np.concatenate((_SEPARATORS, folded.text, _SEPARATORS))
    return folded, *rows_of(classes, text)
