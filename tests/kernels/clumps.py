"""Which stretches of a text need to be looked at only once, however often they occur?

A clump is a run of letters, digits, underscores and everything beyond ASCII, with the signs inside that may hold a
word together (`don't`, `1,000`, `c++`). Its terms depend on its own bytes alone, so the rules of `pieces` and
`folding`, which take many steps, are asked about each different clump, and the answer holds for all its copies.
A sign too many in a clump does no harm, one too few would: where a sign may count, it is taken in.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from brimful.text.characters import (
    APOSTROPHE,
    ASCII_CLASSES,
    COMMA,
    DASH,
    DIGIT,
    DOT,
    HASH,
    LOWER,
    PLUS,
    UNDERSCORE,
    UPPER,
)
from tests.kernels.grouping import LONGEST_BYTES, MULTIPLIER, ROOM, SPREAD, WORD_BYTES, WORD_MASKS, words_of

BLOCK_BYTES = 1 << 18
"""Text that is looked at in one go, so that the work stays in the processor's cache."""

# What a byte is: part of a clump, of a number or of a word perhaps, plain ASCII; or a sign between numbers (the bit of
# a number, shifted), a sign inside a word (the bit of a word, shifted), or one behind a word.
_CLUMP, _NUMBER, _WORD, _HASH, _ASCII, _BEHIND = 1, 2, 4, 32, 64, 128
_SHIFT = 2
_BETWEEN = (_NUMBER | _WORD) << _SHIFT
_BY_CLASS = {
    LOWER: _CLUMP | _WORD | _ASCII,
    UPPER: _CLUMP | _WORD | _ASCII,
    DIGIT: _CLUMP | _NUMBER | _ASCII,
    UNDERSCORE: _CLUMP | _ASCII,
    DOT: _NUMBER << _SHIFT,
    COMMA: _NUMBER << _SHIFT,
    DASH: _NUMBER << _SHIFT,
    APOSTROPHE: _WORD << _SHIFT,
    HASH: _BEHIND | _HASH,
    PLUS: _BEHIND,
}
_FLAGS = bytes(
    _BY_CLASS.get(kind, 0) if code < 0x80 else _CLUMP | _NUMBER | _WORD for code, kind in enumerate(ASCII_CLASSES)
)
_MOST_SIGNS = 3  # behind a word: `c++` is a term, `c+++` is not
_EDGE = b"\n" * (_MOST_SIGNS + 1)  # on both sides of a block, so that every look-around stays inside


Places = NDArray[np.int32]
Numbers = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Clumps:
    """The clumps of a text, hardly any of them twice, and which of them stands where."""

    text: bytes  # the clumps, a blank behind each
    bounds: Places  # one more than clumps: where each begins in `text`
    starts: Places  # where a clump starts in the content, ascending
    numbers: Places  # which one that is


def clumps_of(content: bytes) -> Clumps:
    """Find the clumps of a text.

    >>> clumps = clumps_of(b"She didn't like 'C++', v1.5 (or c), she didn't.")
    >>> different = clumps.text.decode().split()
    >>> [different[number] for number in clumps.numbers], len(different)
    (['She', "didn't", 'like', 'C++', 'v1.5', 'or', 'c', 'she', "didn't"], 8)
    """
    padded = content + ROOM
    words = words_of(padded)
    starts: list[Places] = []
    numbers: list[Places] = []
    new: list[tuple[Numbers, Numbers]] = []  # starts and lengths of those that their block had not had before
    count = 0
    for begin, end in _blocks(content):
        here, lengths = _in_block(padded[begin:end])
        here += begin
        firsts, number = _numbered(_leaders(words, here, lengths))
        starts.append(here.astype(np.int32))
        numbers.append(number + np.int32(count))
        new.append((here.take(firsts), lengths.take(firsts)))
        count += len(firsts)
    begins, lengths = (np.concatenate(column) for column in zip(*new, strict=True))
    firsts, number = _numbered(_leaders(words, begins, lengths))
    text, bounds = _joined(padded, begins.take(firsts), lengths.take(firsts))
    return Clumps(text, bounds, np.concatenate(starts), number.take(np.concatenate(numbers)))


def _blocks(content: bytes) -> Iterator[tuple[int, int]]:
    """Where the parts of a text begin and end, cut at blanks."""
    start = 0
    while len(content) - start > BLOCK_BYTES:
        limit = start + BLOCK_BYTES
        end = max(content.rfind(blank, start, limit) for blank in (b"\n", b" ")) + 1
        if not end:
            end = min((at for blank in (b"\n", b" ") if (at := content.find(blank, limit)) >= 0), default=-1) + 1
        if not end:
            break
        yield start, end
        start = end
    yield start, len(content)


def _in_block(block: bytes) -> tuple[Numbers, Numbers]:
    """Where clumps start, and how long they are."""
    flags = np.frombuffer(b"".join((_EDGE, block, _EDGE)).translate(_FLAGS), np.uint8)
    inside = flags & _CLUMP
    edges = np.flatnonzero((inside[1:] ^ inside[:-1]).view(np.bool_))
    edges += 1
    starts, ends = edges[0::2], edges[1::2]
    signs = flags.take(ends)
    asked = np.flatnonzero(signs & (_BETWEEN | _BEHIND) != 0)
    if len(asked):
        starts, ends = _with_signs(flags, starts, ends, asked=asked, signs=signs.take(asked))
    return starts - len(_EDGE), ends - starts


def _with_signs(
    flags: NDArray[np.uint8], starts: Numbers, ends: Numbers, *, asked: Numbers, signs: NDArray[np.uint8]
) -> tuple[Numbers, Numbers]:
    """Join clumps over the signs between them, and lengthen them by those behind."""
    places = ends.take(asked)
    before, after = flags.take(places - 1), flags.take(places + 1)
    joined = asked.compress((signs >> _SHIFT) & before & after & (_NUMBER | _WORD) != 0)
    # A sign behind a word counts after a single letter; beyond ASCII it can't be told here what is one.
    counts = (signs >= _BEHIND) & (before & _WORD != 0) & (flags.take(places - 2) & _ASCII == 0)
    if counts.any():
        behind, sign, places = asked.compress(counts), signs.compress(counts), places.compress(counts)
        going_on = np.ones(len(behind), np.bool_)
        for _ in range(_MOST_SIGNS):
            going_on &= flags.take(places) == sign
            places += going_on
        ends = ends.copy()
        ends[behind] = places
        joined = np.concatenate((joined, behind.compress(flags.take(places) & _CLUMP != 0)))
    kept = np.ones(len(starts) + 1, np.bool_)
    kept[joined + 1] = False
    return starts.compress(kept[:-1]), ends.compress(kept[1:])


def _leaders(words: NDArray[np.uint64], starts: Numbers, lengths: Numbers) -> Places:
    """For each clump one with the same bytes, of most copies the same one; itself where none was found.

    All are put into a table by their hash, each over the one before. Whoever finds another clump in its place tries
    again with another part of the hash.
    """
    heads, seconds, hashes, long = _read(words, starts, lengths)
    bits = max(len(starts).bit_length() + 1, 4)
    own = np.arange(len(starts), dtype=np.int32)
    table = np.empty(1 << bits, np.int32)
    slots = (hashes >> np.uint64(64 - bits)).view(np.int64)
    table[slots] = own
    leaders = table.take(slots)
    same = heads.take(leaders) == heads
    same &= seconds.take(leaders) == seconds
    same[long] &= _same_rest(words, starts, lengths, long, leaders.take(long))
    left = np.flatnonzero(~same)
    if len(left):
        slots = (hashes.take(left) << np.uint64(bits) >> np.uint64(64 - bits)).view(np.int64)
        table[slots] = left
        found = table.take(slots)
        same = (heads.take(found) == heads.take(left)) & (seconds.take(found) == seconds.take(left))
        same &= _same_rest(words, starts, lengths, left, found)
        leaders[left] = np.where(same, found, left)
    return leaders


def _read(
    words: NDArray[np.uint64], starts: Numbers, lengths: Numbers
) -> tuple[NDArray[np.uint64], NDArray[np.uint64], NDArray[np.uint64], Numbers]:
    """The first and the second eight bytes of each clump, zeros behind its end; a hash; and which have more bytes."""
    heads = words[starts]
    heads &= WORD_MASKS.take(lengths, mode="clip")
    seconds = np.zeros(len(heads), np.uint64)
    hashes = heads * MULTIPLIER
    hashes ^= hashes >> SPREAD
    longer = long = np.flatnonzero(lengths > WORD_BYTES)
    for step in range(WORD_BYTES, LONGEST_BYTES, WORD_BYTES):
        left = lengths.take(longer) - step
        more = words[starts.take(longer) + step]
        more &= WORD_MASKS.take(left, mode="clip")
        if step == WORD_BYTES:
            seconds[longer] = more
            long = longer.compress(left > WORD_BYTES)
        more += hashes.take(longer)
        more *= MULTIPLIER
        more ^= more >> SPREAD
        hashes[longer] = more
        longer = longer.compress(left > WORD_BYTES)
        if not len(longer):
            break
    hashes *= MULTIPLIER
    return heads, seconds, hashes, long


def _same_rest(
    words: NDArray[np.uint64], starts: Numbers, lengths: Numbers, rows: Numbers, others: Places
) -> NDArray[np.bool_]:
    """Whether clumps with the same sixteen bytes are the same; of the longest none is."""
    sizes = lengths.take(rows)
    same: NDArray[np.bool_] = (lengths.take(others) == sizes) & (sizes <= LONGEST_BYTES)
    at = np.flatnonzero(same & (rows != others) & (sizes > 2 * WORD_BYTES))
    ours, theirs, left = starts.take(rows.take(at)), starts.take(others.take(at)), sizes.take(at)
    for step in range(2 * WORD_BYTES, LONGEST_BYTES, WORD_BYTES):
        differing = (words[ours + step] ^ words[theirs + step]) & WORD_MASKS.take(left - step, mode="clip")
        same[at.compress(differing != 0)] = False
        on = np.flatnonzero(left > step + WORD_BYTES)
        if not len(on):
            break
        at, ours, theirs, left = at.take(on), ours.take(on), theirs.take(on), left.take(on)
    same |= rows == others
    return same


def _numbered(leaders: Places) -> tuple[Numbers, Places]:
    """Which rows lead themselves, and for each row the number of its leader among these."""
    leads = leaders == np.arange(len(leaders), dtype=np.int32)
    number = np.cumsum(leads, dtype=np.int32)
    number -= 1
    return np.flatnonzero(leads), number.take(leaders)


def _joined(padded: bytes, starts: Numbers, lengths: Numbers) -> tuple[bytes, Places]:
    """Clumps as one text, a blank behind each, and where each begins in it."""
    bounds = np.concatenate((np.zeros(1, np.int32), np.cumsum(lengths + 1, dtype=np.int32)))
    places = np.repeat(starts.astype(np.int32) - bounds[:-1], lengths + 1)
    places += np.arange(len(places), dtype=np.int32)
    codes = np.frombuffer(padded, np.uint8).take(places)
    codes[bounds[1:] - 1] = 32
    return codes.tobytes(), bounds
