"""Where do words begin and end? The whole way in NumPy, to compare the kernel with.

Three kinds of pieces nest:

    chain   HTTPServer2_old     what underscores hold together, also `don't`, `1,000`
    run     HTTPServer2 | old   no gap
    piece   HTTP|Server|2 | old no change of case or between letters and digits

A chain is always a term, a run where its chain has several, a piece where its run has several and looks like
a name. What happens between two neighbouring characters is looked up once, for all of them, by the pair of their
classes; the few places where a chain goes on after a change are then looked at by themselves.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from brimful.text.characters import (
    APOSTROPHE,
    COMMA,
    DASH,
    DIGIT,
    DOT,
    HANGUL,
    HASH,
    LOWER,
    PLUS,
    UNDERSCORE,
    UNSPACED,
    UPPER,
)

EDGE = b" " * 8
"""Separators to lay around a text, so that every look-around stays inside."""

LONGEST_BYTES = 64
"""A longer word is cut to so many bytes; no term is longer."""

_JOINER = 15  # a comma or apostrophe that was found to hold a word together
_SPACED = (LOWER, UPPER, DIGIT)
_WORDS = (*_SPACED, UNSPACED, HANGUL)
_IS_LETTER = np.isin(np.arange(16), (LOWER, UPPER))  # by class
_IS_SPACED = np.isin(np.arange(16), _SPACED)
_GOES_ON = np.isin(np.arange(16), (*_WORDS, UNDERSCORE))  # by class: a word goes on with such a character
_MOST_CHANGES = 4  # a name changes between letters and digits at most so often; hashes and base64 do oftener
_LEAST_PIECE_BYTES = 2  # and its pieces are at least so long on average
_LENGTH_BITS = 7  # of a length of at most LONGEST_BYTES
_MOST_NARROW = 1 << 32 - _LENGTH_BITS

# What happens between two neighbours: a chain starts or ends, a piece ends inside a chain, a row of underscores
# begins or ends, a sign stands where it may hold a word together.
_STARTS, _ENDS, _TURNS, _RISES, _JOINS, _OPENS, _CLOSES, _ASKS = (1 << bit for bit in range(8))
_INNER = _TURNS | _RISES | _JOINS | _OPENS | _CLOSES

Positions = NDArray[np.int64]
Rows = tuple[Positions, Positions]  # starts and ends


def _event(before: int, here: int) -> int:
    chained = (*_SPACED, HANGUL)
    found = 0
    linked = (before in (*_SPACED, _JOINER) and here in (*_SPACED, _JOINER)) or before == here
    if here in chained and not linked:
        found |= _STARTS
    if before in chained and not linked:
        found |= _ENDS
    if before in _SPACED and here in _SPACED and before != here:
        found |= _RISES if (before, here) == (UPPER, LOWER) else _TURNS
    if here == _JOINER:
        found |= _JOINS
    if (before == UNDERSCORE) != (here == UNDERSCORE):
        found |= _OPENS if here == UNDERSCORE else _CLOSES
    if (before == DIGIT and here in (DASH, COMMA, DOT)) or (
        before in (LOWER, UPPER) and here in (APOSTROPHE, HASH, PLUS)
    ):
        found |= _ASKS
    return found


_EVENTS = bytes(_event(pair >> 4, pair & 15) for pair in range(256))
_EVENT_OF = np.frombuffer(_EVENTS, np.uint8)


def rows_of(classes: NDArray[np.uint8], text: NDArray[np.uint8] | None) -> tuple[Positions, Positions]:
    """Where terms start and how many bytes they have, in order of their starts.

    `classes` has EDGE on both sides and is changed; `text`, with EDGE too, is None where it is ASCII.
    """
    pairs = classes[:-1] << 4
    pairs |= classes[1:]
    events = np.frombuffer(bytearray(pairs.data).translate(_EVENTS), np.uint8)  # at i: between i and i + 1
    extra = _join(classes, events)
    ends, starts = _breaks(classes, events, text)
    chain_starts = np.flatnonzero((events & _STARTS).view(np.bool_)) + 1
    chain_ends = np.flatnonzero(events & _ENDS != 0) + 1
    rows = [(chain_starts, _cut(text, chain_starts, chain_ends)), *extra]
    if len(ends):
        rows += _parts(classes, (chain_starts, chain_ends), breaks=(ends, starts))
    if text is not None:
        rows += _pairs(text, classes)
    firsts = np.concatenate([begin for begin, _ in rows]) - len(EDGE)
    keys = firsts << _LENGTH_BITS
    keys += np.concatenate([end for _, end in rows]) - len(EDGE)
    keys -= firsts
    if len(rows) > 1:
        if len(classes) < _MOST_NARROW:
            keys = keys.astype(np.uint32)  # sorted in a third of the time
        keys.sort()
        keys = keys.astype(np.int64)
    return keys >> _LENGTH_BITS, keys & ((1 << _LENGTH_BITS) - 1)


def _cut(text: NDArray[np.uint8] | None, starts: Positions, ends: Positions) -> Positions:
    """Ends at most 64 bytes after their starts, back to a whole character."""
    long = np.flatnonzero(ends - starts > LONGEST_BYTES)
    if len(long):
        stops = starts[long] + LONGEST_BYTES
        for _ in range(3 if text is not None else 0):
            assert text is not None
            stops -= text[stops] & 0xC0 == 0x80
        ends = ends.copy()
        ends[long] = stops
    return ends


def _join(classes: NDArray[np.uint8], events: NDArray[np.uint8]) -> list[Rows]:
    """Mark what holds words together (in place), and return the terms that are more than words."""
    special = np.flatnonzero(events & _ASKS != 0) + 1
    if not len(special):
        return []
    kinds, after = classes[special], classes[special + 1]
    rows: list[Rows] = []

    numeric = after == DIGIT
    dashes = special[numeric & (kinds == DASH)]
    commas = special[numeric & (kinds == COMMA)]
    dots = special[numeric & (kinds == DOT)]
    dates = dashes[_are_dates(classes, dashes)]
    commas = commas[(classes[commas + 2] == DIGIT) & (classes[commas + 3] == DIGIT) & (classes[commas + 4] != DIGIT)]
    classes[commas] = _JOINER
    if len(dates):
        rows += [(dates - 4, dates), (dates + 1, dates + 3), (dates + 4, dates + 6)]
        classes[dates] = classes[dates + 3] = DIGIT
    classes[dots] = DIGIT

    quotes = special[(kinds == APOSTROPHE) & _IS_LETTER[after]]
    second = classes[quotes + 2]
    quotes = quotes[~_GOES_ON[second] | (_IS_LETTER[second] & ~_GOES_ON[classes[quotes + 3]])]
    classes[quotes] = _JOINER

    signs = special[(kinds == HASH) | (kinds == PLUS)]
    if len(signs):
        sharp = classes[signs] == HASH
        stops = signs + np.where(sharp, 1, 2)
        alone = ~_GOES_ON[classes[signs - 2]] & (classes[signs - 2] != _JOINER)
        doubled = sharp | (classes[signs + 1] == PLUS)
        done = ~_GOES_ON[classes[stops]] & (classes[stops] != classes[signs])
        found = alone & doubled & done
        rows.append((signs[found] - 1, stops[found]))

    changed = np.concatenate([commas, dates, dates + 3, dots, quotes])
    for here in (changed, changed + 1):
        events[here - 1] = _EVENT_OF[classes[here - 1] << 4 | classes[here]]
    return rows


def _are_dates(classes: NDArray[np.uint8], dashes: Positions) -> NDArray[np.bool_]:
    """Whether each is the first dash of 2026-01-02, with no digit before or behind."""
    fits: NDArray[np.bool_] = classes[dashes + 3] == DASH
    for step in (-4, -3, -2, -1, 1, 2, 4, 5):
        fits &= classes[dashes + step] == DIGIT
    for step in (-5, 6):
        fits &= classes[dashes + step] != DIGIT
    return fits


def _breaks(classes: NDArray[np.uint8], events: NDArray[np.uint8], text: NDArray[np.uint8] | None) -> Rows:
    """Where a piece ends inside a chain and where the next one starts; underscores there no longer end the chain."""
    places = np.flatnonzero(events & _INNER != 0)
    kinds = events[places]
    is_break = kinds & (_TURNS | _JOINS) != 0
    ends = places + 1
    starts = ends + (kinds & _JOINS != 0)  # behind the joiner

    opens = np.flatnonzero(kinds & _OPENS != 0)
    if len(opens):
        closes = places[kinds & _CLOSES != 0]
        held = _IS_SPACED[classes[places[opens]]] & _IS_SPACED[classes[closes + 1]]
        opens, closes = opens[held], closes[held]
        is_break[opens] = True
        starts[opens] = closes + 1
        events[places[opens]] &= ~np.uint8(_ENDS)
        events[closes] &= ~np.uint8(_STARTS)

    rises = np.flatnonzero(kinds & _RISES != 0)
    if len(rises):
        capitals = places[rises]
        for _ in range(3 if text is not None else 0):  # back to the first byte of the capital
            assert text is not None
            capitals -= text[capitals] & 0xC0 == 0x80
        several = classes[capitals - 1] == UPPER
        rises, capitals = rises[several], capitals[several]
        is_break[rises] = True  # the last capital belongs to what follows: HTTP|Server
        ends[rises] = starts[rises] = capitals
    return ends[is_break], starts[is_break]


def _parts(classes: NDArray[np.uint8], chains: Rows, *, breaks: Rows) -> list[Rows]:
    """The runs and pieces that are terms beside their chains, of chains that have breaks."""
    ends, starts = breaks
    chain = chains[0].searchsorted(ends)
    is_first = _changes(chain)
    is_first[0] = True
    first_break = np.flatnonzero(is_first)
    last_break = np.append(first_break[1:], len(ends)) - 1
    chain = chain[first_break] - 1
    number = np.arange(len(chain))
    first_piece, last_piece = first_break + number, last_break + number + 1
    before = np.arange(len(ends)) + np.repeat(number, last_break - first_break + 1)  # the piece before each break

    count = len(ends) + len(chain)
    piece_starts, piece_ends = np.empty(count, np.int64), np.empty(count, np.int64)
    piece_ends[before] = ends
    piece_ends[last_piece] = chains[1][chain]
    begins_run = np.empty(count, np.bool_)
    begins_run[first_piece] = True
    piece_starts[first_piece] = chains[0][chain]
    before += 1
    piece_starts[before] = starts
    begins_run[before] = ends != starts

    first = np.flatnonzero(begins_run)
    last = np.append(first[1:], count) - 1
    run_starts, run_ends = piece_starts[first], piece_ends[last]
    run_lengths, pieces = run_ends - run_starts, last - first + 1
    # Only a whole is cut to its first bytes: a part that long would be the same term in the same place.
    has_company = run_lengths <= LONGEST_BYTES
    is_whole = np.zeros(count, np.bool_)
    is_whole[first_piece[~np.logical_or.reduceat(ends != starts, first_break)]] = True
    has_company &= ~is_whole[first]
    rows = [(run_starts[has_company], run_ends[has_company])]

    several = np.flatnonzero(pieces > 1)
    if len(several):
        first, last, pieces = first[several], last[several], pieces[several]
        changes = np.cumsum(_changes(classes[piece_starts] == DIGIT))
        is_name = run_lengths[several] >= _LEAST_PIECE_BYTES * pieces
        is_name &= changes[last] - changes[first] <= _MOST_CHANGES
        first, pieces = first[is_name], pieces[is_name]
        shown = np.arange(int(pieces.sum())) + np.repeat(first - (np.cumsum(pieces) - pieces), pieces)
        piece_starts, piece_ends = piece_starts[shown], piece_ends[shown]
        short = piece_ends - piece_starts <= LONGEST_BYTES
        rows.append((piece_starts[short], piece_ends[short]))
    return rows


def _changes(values: NDArray[np.bool_] | Positions) -> NDArray[np.bool_]:
    """Where a value differs from the one before it."""
    changes = np.zeros(len(values), np.bool_)
    np.not_equal(values[1:], values[:-1], out=changes[1:])
    return changes


def _pairs(text: NDArray[np.uint8], classes: NDArray[np.uint8]) -> list[Rows]:
    """Neighbouring characters of unspaced scripts, lone ones by themselves, and pairs within long Hangul words."""
    starts = np.flatnonzero(((classes == UNSPACED) | (classes == HANGUL)) & (text & 0xC0 != 0x80))
    if not len(starts):
        return []
    unspaced, lead = classes[starts] == UNSPACED, text[starts]
    ends = starts + 1 + (lead >= 0xC0) + (lead >= 0xE0) + (lead >= 0xF0)
    # `goes[i]`: character i and the next are neighbours in one run.
    goes = np.append((ends[:-1] == starts[1:]) & (unspaced[:-1] == unspaced[1:]), values=False)
    came = np.roll(goes, 1)
    firsts = np.flatnonzero(goes & (unspaced | came | np.roll(goes, -1)))
    lone = ~came & ~goes & unspaced
    return [(starts[firsts], ends[firsts + 1]), (starts[lone], ends[lone])]
