"""Which words stand where?

A word is a run of letters, marks and digits; `docs/terms.md` has the rules, `pieces` finds their edges. The work is
done on whole arrays of character classes, a stretch of text that fits into the processor's cache at a time: nothing
here loops over words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from brimful.text.folding import Folded, fold
from brimful.text.grouping import ROOM, group, side_by_side
from brimful.text.pieces import EDGE, rows_of

STRETCH_BYTES = 1 << 17
"""Text that is looked at in one go; nothing on one side of white space depends on the other."""

_BLANK = re.compile(rb"[ \t\n\v\f\r]")
_SEPARATORS = np.frombuffer(EDGE, np.uint8)
_MOST_NARROW = 1 << 30  # bytes of a text whose places fit into 32 bits, folded too
_NO_CLASSES = np.zeros(len(EDGE), np.uint8)


@dataclass(frozen=True, slots=True, eq=False)
class Terms:
    """Every occurrence of every term, in columns, grouped by term (085b §5.1 atom positions)."""

    names: list[bytes]  # distinct terms as UTF-8, sorted bytewise
    offsets: NDArray[np.int64]  # one more than names: the rows of term i are [offsets[i], offsets[i + 1])
    starts: NDArray[np.int64]  # where each occurrence starts in the content, ascending within a term


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
    texts: list[bytes] = []
    runs: list[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]] = []  # equal terms of a stretch
    positions: list[NDArray[np.int32 | np.int64]] = []
    kind = np.int32 if len(content) < _MOST_NARROW else np.int64
    size = 0
    for begin, part in _stretches(content):
        folded, starts, lengths = _occurrences(part)
        texts.append(folded.text.tobytes())
        rows, firsts = side_by_side(texts[-1] + ROOM, starts, lengths)
        positions.append((folded.origin(starts) + begin)[rows].astype(kind))
        leaders = rows[firsts]
        runs.append((starts[leaders] + size, lengths[leaders], np.diff(np.append(firsts, len(rows)))))
        size += len(texts[-1])
    texts.append(ROOM)
    starts, lengths, counts = (np.concatenate(column) for column in zip(*runs, strict=True))
    groups = group(b"".join(texts), starts, lengths)
    del texts, runs
    begins = (np.cumsum(counts) - counts)[groups.rows]
    counts = counts[groups.rows]
    ends = np.concatenate((np.zeros(1, np.int64), np.cumsum(counts)))
    order = np.arange(int(ends[-1])) + np.repeat(begins - ends[:-1], counts)
    return Terms(groups.names, ends[groups.offsets], np.concatenate(positions)[order].astype(np.int64))


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
