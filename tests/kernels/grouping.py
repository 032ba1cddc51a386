"""Which of these byte strings are equal?

Rows are hashed eight bytes at a time and sorted once, the hash in the high bits and the row in the low ones, so
that equal strings come together in the order they were given. The hash only proposes: every row is compared
with the first of its group, all its bytes, and those that differ form groups of their own. So the result is
exact whatever the hash does, and a bad hash costs time only.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Column = NDArray[np.int64] | NDArray[np.int32] | NDArray[np.uint8]

LONGEST_BYTES = 64  # no string given here is longer

WORD_BYTES = 8
ROOM = bytes(LONGEST_BYTES + WORD_BYTES)
"""What should stand behind a text, so that words may be read across the end of its last string."""
# Which bytes of a word in memory belong to a string of so many bytes.
WORD_MASKS = np.array(
    [int.from_bytes(b"\xff" * count + bytes(WORD_BYTES - count), sys.byteorder) for count in range(9)], np.uint64
)
MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)  # 2**64 divided by the golden ratio: spreads nearby words
SPREAD = np.uint64(29)
_BLOCK_ROWS = 1 << 16  # hashed at once, so that the work stays in the processor's cache


@dataclass(frozen=True, slots=True, eq=False)
class Groups:
    """Rows arranged so that equal strings stand together, the groups in bytewise order."""

    names: list[bytes]
    offsets: NDArray[np.int64]  # one more than names
    rows: NDArray[np.int64]  # ascending within a group


def group(text: bytes, starts: Column, lengths: Column) -> Groups:
    """Group the strings `text[start : start + length]`, each of 1 to 64 bytes without NUL.

    >>> groups = group(b"to be or not to be", np.array([0, 3, 6, 9, 13, 16]), np.array([2, 2, 2, 3, 2, 2]))
    >>> groups.names, groups.offsets.tolist(), groups.rows.tolist()
    ([b'be', b'not', b'or', b'to'], [0, 2, 3, 4, 6], [1, 5, 3, 2, 0, 4])
    """
    if not len(starts):
        return Groups([], np.zeros(1, np.int64), np.zeros(0, np.int64))
    rows, firsts = side_by_side(text, starts, lengths)
    words = _words(text, starts)

    # Sorted by their first words, the names are nearly in order, which Python's sort takes as a gift.
    leading = words[starts[rows[firsts]]] & WORD_MASKS[np.minimum(lengths[rows[firsts]], WORD_BYTES)]
    nearly = np.argsort(leading.byteswap() if sys.byteorder == "little" else leading, kind="stable")
    leaders = rows[firsts[nearly]]
    names = [
        text[start:end]
        for start, end in zip(starts[leaders].tolist(), (starts[leaders] + lengths[leaders]).tolist(), strict=True)
    ]
    order = nearly[sorted(range(len(names)), key=names.__getitem__)]
    names.sort()
    counts = np.diff(np.append(firsts, len(rows)))[order]
    offsets = np.concatenate([[0], np.cumsum(counts)])
    arranged = np.arange(len(rows)) + np.repeat(firsts[order] - offsets[:-1], counts)
    return Groups(names, offsets, rows[arranged])


def _words(text: bytes, starts: Column) -> NDArray[np.uint64]:
    """The eight bytes that begin at each place of a text, with room behind the last string."""
    return words_of(text + ROOM if not len(starts) or int(starts.max()) + len(ROOM) > len(text) else text)


def words_of(text: bytes) -> NDArray[np.uint64]:
    """The eight bytes that begin at each place of a text, as the machine reads them."""
    return np.ndarray((len(text) - WORD_BYTES + 1,), np.uint64, text, strides=(1,))


def side_by_side(text: bytes, starts: Column, lengths: Column) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Rows with equal strings beside each other, in the order they were given, and where each group begins."""
    words = _words(text, starts)
    count = len(starts)
    row_bits = np.uint64(max(count - 1, 1).bit_length())
    heads, keys = np.empty(count, np.uint64), np.empty(count, np.uint64)
    for begin in range(0, count, _BLOCK_ROWS):
        here = slice(begin, begin + _BLOCK_ROWS)
        places, sizes = starts[here].astype(np.int64), lengths[here].astype(np.int64)
        heads[here] = words[places] & WORD_MASKS[np.minimum(sizes, WORD_BYTES)]
        hashes = _hashes(heads[here], words, places, sizes)
        hashes >>= row_bits + np.uint64(1)
        hashes <<= row_bits
        hashes |= (sizes > WORD_BYTES).astype(np.uint64) << np.uint64(63)  # these come last
        hashes |= np.arange(begin, begin + len(places), dtype=np.uint64)
        keys[here] = hashes
    keys.sort()
    firsts = np.flatnonzero(_begins(keys >> row_bits))
    keys &= (np.uint64(1) << row_bits) - np.uint64(1)
    rows = keys.view(np.int64)
    short = count - int(np.count_nonzero(lengths > WORD_BYTES))
    tail = int(firsts.searchsorted(short))
    # A string of one word is that word; only longer ones have to be read again, unless two words share a hash.
    if int(np.count_nonzero(_begins(heads[rows[:short]]))) != tail:
        return _separated(words, starts, lengths, rows=rows, firsts=firsts)
    rows[short:], begins = _separated(words, starts, lengths, rows=rows[short:], firsts=firsts[tail:] - short)
    return rows, np.concatenate((firsts[:tail], begins + short))


def _hashes(
    heads: NDArray[np.uint64], words: NDArray[np.uint64], starts: NDArray[np.int64], lengths: NDArray[np.int64]
) -> NDArray[np.uint64]:
    """A hash of each string; zeros fill the last word, which can't be mistaken since no string has a NUL."""
    hashes = heads * MULTIPLIER
    hashes ^= hashes >> SPREAD
    longer, places, left = _longer(np.arange(len(starts)), starts, lengths)
    while len(longer):
        mixed = hashes[longer] + (words[places] & WORD_MASKS[np.minimum(left, WORD_BYTES)])
        mixed *= MULTIPLIER
        mixed ^= mixed >> SPREAD
        hashes[longer] = mixed
        longer, places, left = _longer(longer, places, left)
    hashes *= MULTIPLIER
    return hashes


def _longer(
    rows: NDArray[np.int64], places: NDArray[np.int64], left: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """The rows that go on after this word, where they do, and how many bytes they have left."""
    going_on = np.flatnonzero(left > WORD_BYTES)
    return rows[going_on], places[going_on] + WORD_BYTES, left[going_on] - WORD_BYTES


def _separated(
    words: NDArray[np.uint64], starts: Column, lengths: Column, *, rows: NDArray[np.int64], firsts: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Take different strings of one hash apart: each round, all that differ from their group's first."""
    starts, lengths = starts[rows].astype(np.int64), lengths[rows].astype(np.int64)
    groups = np.repeat(np.arange(len(firsts)), np.diff(np.append(firsts, len(rows))))
    different = _differing(words, starts, lengths, leaders=firsts[groups])
    if not len(different):
        return rows, firsts
    made = len(firsts)
    while len(different):
        # What is left over keeps its order, so a new group begins where the old group changes.
        begins = _begins(groups[different])
        fresh = np.cumsum(begins) - 1
        groups[different] = made + fresh
        made += int(fresh[-1]) + 1
        leaders = different[begins][fresh]
        different = different[_differing(words, starts, lengths, leaders=leaders, rows=different)]
    order = np.argsort(groups, kind="stable")
    return rows[order], np.flatnonzero(_begins(groups[order]))


def _begins(values: NDArray[np.int64] | NDArray[np.uint64]) -> NDArray[np.bool_]:
    """Where a value differs from the one before it."""
    begins = np.ones(len(values), np.bool_)
    np.not_equal(values[1:], values[:-1], out=begins[1:])
    return begins


def _differing(
    words: NDArray[np.uint64],
    starts: NDArray[np.int64],
    lengths: NDArray[np.int64],
    *,
    leaders: NDArray[np.int64],
    rows: NDArray[np.int64] | None = None,
) -> NDArray[np.int64]:
    """Which rows (all, unless given) are not the string that their leader is, byte for byte."""
    places, left = (starts, lengths) if rows is None else (starts[rows], lengths[rows])
    differ = left != lengths[leaders]
    # Of two strings of one length, the words past the end are masked alike.
    longer = np.arange(len(leaders))
    theirs = starts[leaders]
    while len(longer):
        unequal = (words[places] ^ words[theirs]) & WORD_MASKS[np.minimum(left, WORD_BYTES)]
        differ[longer] |= unequal != 0
        going_on = np.flatnonzero(left > WORD_BYTES)
        longer = longer[going_on]
        places, theirs = places[going_on] + WORD_BYTES, theirs[going_on] + WORD_BYTES
        left = left[going_on] - WORD_BYTES
    return np.flatnonzero(differ)


def smallest_words(
    names: list[bytes], offsets: Column, places: Column, rows: Column, ends: Column
) -> tuple[list[int], list[int], list[int], list[int], list[int]]:
    """The words of a text in which no other begins, of those that begin together the shortest."""
    lengths = np.repeat(np.array([len(name) for name in names], np.int64), np.diff(offsets))
    numbers = np.repeat(np.arange(len(names)), np.diff(offsets))
    shortest = {int(place): int(lengths[places == place].min()) for place in set(places.tolist())}
    begins = sorted(shortest)
    kept, firsts, words, lines, bounds = [], [], [], [], []
    for place, length, number, row in zip(
        places.tolist(), lengths.tolist(), numbers.tolist(), rows.tolist(), strict=True
    ):
        holds = any(place < other < place + length for other in begins)
        if holds or length > shortest[place] or place >= ends[row]:
            continue
        if (number, row) != ((words or [-1])[-1], (lines or [-1])[-1]):
            firsts.append(len(kept))
            words.append(number)
            lines.append(row)
        kept.append(place)
    bounds = [sum(word < number for word in words) for number in range(len(names) + 1)]
    return kept, [*firsts, len(kept)], words, lines, bounds
