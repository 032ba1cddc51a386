"""Lines and sentences of a text, and where it may be cut (lines.c, records.c)."""

from __future__ import annotations

from array import array
from typing import Any

import numpy as np
from numpy.typing import NDArray

from brimful.native import Numbers, library, numbers_of, pointer, pointers

NEWLINES = b"\n" * 16
"""Padding after a text of lines, so that every look ahead stays inside."""

SPEAKS, ITEM = 1, 2
"""What a line may be: a turn of a chat, an item of a list or a row of a table."""


def find_lines(padded: bytes, signs: bytes, *, reach: int) -> tuple[Numbers, Numbers, Numbers, NDArray[np.uint8]]:
    """Lines of a text that NEWLINES follow: start, first and last filled place, whether it SPEAKS or is an ITEM."""
    size = _size_of_lines(padded, signs)
    capacity, state = size // 24 + 64, np.zeros(1, np.int64)
    parts: list[tuple[NDArray[Any], ...]] = []
    while not parts or state[0] < size:
        columns: list[NDArray[Any]] = [np.empty(capacity, kind) for kind in (np.int64, np.int64, np.int64, np.uint8)]
        inputs = pointers(state, *columns)
        count = library().find_lines(padded, size, signs, reach, capacity, *inputs)
        parts.append(tuple(column[:count] for column in columns))
    starts, firsts, ends, marks = parts[0] if len(parts) == 1 else map(np.concatenate, zip(*parts, strict=True))
    return starts, firsts, ends, marks


def find_sentences(
    padded: bytes, signs: bytes, *, short_forms: NDArray[np.uint32], wide: NDArray[np.uint32]
) -> Numbers:
    """Starts of sentences that follow others, in a text that NEWLINES follow."""
    size = _size_of_lines(padded, signs)
    places = np.empty(size // 2 + 1, np.int64)
    forms, signs_of = (np.ascontiguousarray(table, np.uint32) for table in (short_forms, wide))
    inputs = (padded, size, signs, pointer(forms), len(forms), pointer(signs_of), len(signs_of))
    return places[: library().find_sentences(*inputs, pointer(places))].copy()


def _size_of_lines(padded: bytes, signs: bytes) -> int:
    if not padded.endswith(NEWLINES) or len(signs) != 256:
        raise ValueError("a text of lines needs newlines after it, and a table of what its bytes are")
    return len(padded) - len(NEWLINES)


def gather_cuts(cuts: Numbers, *, walls: Numbers, aim: int) -> Numbers:
    """Join neighbouring stretches while they stay within `aim`; none goes on over a wall. Both ascend."""
    cuts, walls = numbers_of(cuts), numbers_of(walls)
    chosen = np.empty(len(cuts), np.int64)
    inputs = (pointer(cuts), len(cuts), pointer(walls), len(walls), aim)
    return chosen[: library().gather_cuts(*inputs, pointer(chosen))].copy()


def divide_cuts(units: Numbers, sections: Numbers, *, limit: int) -> Numbers | None:
    """Sections and the units inside of those longer than `limit`, each once; None where no section is. Both ascend."""
    units, sections = numbers_of(units), numbers_of(sections)
    outputs = np.empty(len(units) + len(sections), np.int64)
    inputs = (pointer(units), len(units), pointer(sections), len(sections), limit)
    count = library().divide_cuts(*inputs, pointer(outputs))
    return outputs[:count] if count >= 0 else None


def cut_stretches(text: bytes, starts: Numbers, ends: Numbers, *, aim: int, limit: int, by_line: bool) -> Numbers:
    """Cuts inside of stretches longer than `aim`, so that pieces come near it; where `by_line`, at lines.

    Only lines of more than `limit` bytes are cut inside then.
    """
    starts, ends = _check_texts(text, starts, ends)
    if not 1 < aim <= limit:
        raise ValueError("pieces of a stretch have 2 bytes at least, and as many as the limit at most")
    capacity = int((ends - starts).sum()) // max(aim // 8, 1) + len(starts)
    while True:
        cuts = np.empty(capacity, np.int64)
        inputs = (text, pointer(starts), pointer(ends), len(starts), aim, limit, by_line, capacity)
        count = library().cut_stretches(*inputs, pointer(cuts))
        if count >= 0:
            return cuts[:count]
        capacity *= 8


def find_newlines(text: bytes) -> array[int]:
    r"""Places of the newlines of a text.

    >>> find_newlines(b"a\nb\n").tolist()
    [1, 3]
    """
    return array("q", np.flatnonzero(np.frombuffer(text, np.uint8) == ord("\n")).astype(np.int64).tobytes())


def _check_texts(text: bytes, begins: Numbers, ends: Numbers) -> tuple[Numbers, Numbers]:
    """Starts and ends of texts on an axis, as numbers for a kernel; an error where one lies outside of it."""
    begins, ends = numbers_of(begins), numbers_of(ends)
    if len(begins) != len(ends):
        raise ValueError(f"{len(begins)} texts need as many ends, not {len(ends)}")
    if len(begins) and not (begins.min() >= 0 and ends.max() <= len(text) and (begins <= ends).all()):
        raise ValueError("every text must lie inside of what they are laid on")
    return begins, ends


def check_words(words: bytes) -> None:
    """An error where a kernel can't look for some words."""
    if words and (not words.endswith(b"\n") or not all(0 < len(word) < 32 for word in words[:-1].split(b"\n"))):
        raise ValueError("words that are looked for have 1 to 31 bytes, and a newline after each")
