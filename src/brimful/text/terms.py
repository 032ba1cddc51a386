"""Which words stand where?

A text is split into runs that need to be looked at only once, the runs into words, the words into terms with their
positions; and where a text has some words near each other.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from brimful import kernels
from brimful.classes import dataclass
from brimful.kernels import ROOM, Clumps, Places
from brimful.patterns import compiled
from brimful.text.characters import (
    APOSTROPHE,
    ASCII_CLASSES,
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
    Folded,
    fold,
)

# ---- clumps: Which stretches of a text need to be looked at only once, however often they occur?
#
# A clump is a run of letters, digits, underscores and everything beyond ASCII, with the signs inside that may hold a
# word together (`don't`, `1,000`, `c++`). Its terms depend on its own bytes alone, so the rules of `pieces` and
# `characters`, which take many steps, are asked about each different clump, and the answer holds for all its copies.
# A sign too many in a clump does no harm, one too few would: where a sign may count, it is taken in.

# What a byte is (terms.c reads it): part of a clump, of a number or of a word perhaps, plain ASCII; or a sign between
# numbers (the bit of a number, shifted), a sign inside a word (the bit of a word, shifted), or one behind a word.
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


def clumps_of(padded: bytes) -> Clumps:
    """Find the clumps of a text that has room behind it.

    >>> text = b"She didn't like 'C++', v1.5 (or c), she didn't." + kernels.ROOM
    >>> clumps = clumps_of(text)
    >>> firsts, lengths = clumps.strings.firsts, clumps.strings.lengths
    >>> different = [text[first : first + length].decode() for first, length in zip(firsts, lengths)]
    >>> [different[number] for number in clumps.strings.numbers], len(different)
    (['She', "didn't", 'like', 'C++', 'v1.5', 'or', 'c', 'she', "didn't"], 8)
    """
    return kernels.find_clumps(padded, _FLAGS)


# ---- pieces: Where do words begin and end?
#
# Three kinds of pieces nest:
#
#     chain   HTTPServer2_old     what underscores hold together, also `don't`, `1,000`
#     run     HTTPServer2 | old   no gap
#     piece   HTTP|Server|2 | old no change of case or between letters and digits
#
# A chain is always a term, a run where its chain has several, a piece where its run has several and looks like
# a name. What happens between two neighbouring characters is looked up once, for all of them, by the pair of their
# classes; the few places where a chain goes on after a change are then looked at by themselves.

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


# ---- terms: Which words stand where?
#
# A word is a run of letters, marks and digits; `docs/terms.md` has the rules, `pieces` finds their edges. The rules are
# applied to each different clump of a text, and what they say is carried to its copies: kernels find the clumps, group
# their terms and put every place where it belongs; the rules themselves work on whole arrays, a stretch of text that
# fits into the processor's cache at a time.

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


# ---- matches: Where does a text have some words, near each other?

_MOST_PLACES = 64  # of one word in one hit that are compared


def matches_in(text: str, words: Sequence[Collection[bytes]]) -> tuple[tuple[int, int], ...]:
    """Where a text has each of some words, given by the terms that each may stand as, the most telling word first.

    One place for each word that the text has, in bytes: those that lie nearest to one of the first word.

    >>> matches_in("Tea, and much later tea with milk", [{b"milk"}, {b"tea"}])
    ((29, 33), (20, 23))
    """
    terms = query_terms(text)
    places = [[(each.start, each.end) for each in terms if each.term in names][:_MOST_PLACES] for names in words]
    places = [each for each in places if each]
    if not places:
        return ()

    def around(first: tuple[int, int]) -> tuple[tuple[int, int], ...]:
        return (first, *(min(each, key=lambda place: (abs(place[0] - first[0]), place)) for each in places[1:]))

    return min((around(first) for first in places[0]), key=lambda found: (_reach(found), found))


def _reach(places: Sequence[tuple[int, int]]) -> int:
    return max(end for _, end in places) - min(start for start, _ in places)
