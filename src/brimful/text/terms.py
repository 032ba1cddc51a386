"""Which words stand where?

A word is a run of letters, marks and digits; `docs/terms.md` has the rules. Three kinds of pieces nest:

    chain   HTTPServer2_old     what underscores hold together, also `don't`, `1,000`
    run     HTTPServer2 | old   no gap
    piece   HTTP|Server|2 | old no change of case or between letters and digits

A chain is always a term, a run where its chain has several, a piece where its run has several and looks like
a name. Scripts without spaces give overlapping pairs of characters instead. The work is done on whole arrays of
character classes: nothing here loops over words.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

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
from brimful.text.folding import Folded, fold
from brimful.text.grouping import LONGEST_BYTES, group

_JOINER = 15  # a comma or apostrophe that was found to hold a word together
_WORDS = (LOWER, UPPER, DIGIT, UNSPACED, HANGUL)
_IS_LETTER = np.isin(np.arange(16), (LOWER, UPPER))  # by class
_GOES_ON = np.isin(np.arange(16), (*_WORDS, UNDERSCORE))  # by class: a word goes on with such a character
_STARTS, _ENDS = 1, 2
_MOST_CHANGES = 4  # a name changes between letters and digits at most so often; hashes and base64 do oftener
_LEAST_PIECE_BYTES = 2  # and its pieces are at least so long on average
_EDGE_BYTES = 8  # separators laid around the text, so that every look-around stays inside


def _edge(before: int, here: int) -> int:
    """What happens between two neighbours: a piece ends, starts, both or neither."""
    ends, starts = before in _WORDS, here in _WORDS
    if ends and starts and (before == here or (before, here) == (UPPER, LOWER)):
        return 0
    return ends * _ENDS + starts * _STARTS


_EDGES = bytes(_edge(pair >> 4, pair & 15) for pair in range(256))


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
    folded, starts, lengths = _occurrences(content)
    groups = group(folded.text, starts, lengths)
    return Terms(groups.names, groups.offsets, folded.origin(starts[groups.rows]))


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


_Rows = tuple[NDArray[np.int64], NDArray[np.int64]]  # starts and ends


def _occurrences(content: bytes) -> tuple[Folded, NDArray[np.int64], NDArray[np.int64]]:
    """The folded text, and where in it terms start and how long they are, in order of their starts."""
    folded = fold(content)
    classes = np.zeros(len(folded.classes) + 2 * _EDGE_BYTES, np.uint8)
    classes[_EDGE_BYTES:-_EDGE_BYTES] = folded.classes
    extra = _join(classes)
    starts, ends = _pieces(classes, None if content.isascii() else folded.text)
    kinds = classes[starts]
    rows = [*_nested(classes, starts, ends, kinds), *extra]
    if not content.isascii():
        rows += _pairs(folded.text, classes)
    starts = np.concatenate([begin for begin, _ in rows]) - _EDGE_BYTES
    lengths = np.concatenate([end for _, end in rows]) - _EDGE_BYTES - starts
    if np.any(starts[1:] < starts[:-1]):
        order = np.argsort(starts, kind="stable")
        starts, lengths = starts[order], lengths[order]
    return folded, starts, _cut(folded.text, starts, lengths)


def _cut(text: NDArray[np.uint8], starts: NDArray[np.int64], lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """Lengths of at most 64 bytes, back to a whole character."""
    long = np.flatnonzero(lengths > LONGEST_BYTES)
    if len(long):
        lengths[long] = LONGEST_BYTES
        for _ in range(3):
            lengths[long] -= text[starts[long] + lengths[long]] & 0xC0 == 0x80
    return lengths


def _join(classes: NDArray[np.uint8]) -> list[_Rows]:
    """Mark what holds words together (in place), and return the terms that are more than words."""
    special = np.flatnonzero(classes >= DOT)
    kinds = classes[special]
    after, before = classes[special + 1], classes[special - 1]
    rows: list[_Rows] = []

    numeric = (after == DIGIT) & (before == DIGIT)
    dashes = special[numeric & (kinds == DASH)]
    commas = special[numeric & (kinds == COMMA)]
    dots = special[numeric & (kinds == DOT)]
    dates = dashes[_are_dates(classes, dashes)]
    if len(commas):
        grouped = (classes[commas + 2] == DIGIT) & (classes[commas + 3] == DIGIT) & (classes[commas + 4] != DIGIT)
        classes[commas[grouped]] = _JOINER
    if len(dates):
        rows += [(dates - 4, dates), (dates + 1, dates + 3), (dates + 4, dates + 6)]
        classes[dates] = classes[dates + 3] = DIGIT
    classes[dots] = DIGIT

    quotes = special[(kinds == APOSTROPHE) & _IS_LETTER[before] & _IS_LETTER[after]]
    if len(quotes):
        second = classes[quotes + 2]
        ends = ~_GOES_ON[second] | (_IS_LETTER[second] & ~_GOES_ON[classes[quotes + 3]])
        classes[quotes[ends]] = _JOINER

    signs = special[((kinds == HASH) | (kinds == PLUS)) & _IS_LETTER[before]]
    if len(signs):
        sharp = classes[signs] == HASH
        stops = signs + np.where(sharp, 1, 2)
        alone = ~_GOES_ON[classes[signs - 2]] & (classes[signs - 2] != _JOINER)
        doubled = sharp | (classes[signs + 1] == PLUS)
        done = ~_GOES_ON[classes[stops]] & (classes[stops] != classes[signs])
        found = alone & doubled & done
        rows.append((signs[found] - 1, stops[found]))
    return rows


def _are_dates(classes: NDArray[np.uint8], dashes: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Whether each is the first dash of 2026-01-02, with no digit before or behind."""
    fits: NDArray[np.bool_] = classes[dashes + 3] == DASH
    for step in (-4, -3, -2, -1, 1, 2, 4, 5):
        fits &= classes[dashes + step] == DIGIT
    for step in (-5, 6):
        fits &= classes[dashes + step] != DIGIT
    return fits


def _pieces(classes: NDArray[np.uint8], text: NDArray[np.uint8] | None) -> _Rows:
    """Where pieces start and end: at separators, changes of script, of case, and between letters and digits."""
    pairs = classes[:-1] << 4
    pairs |= classes[1:]
    edges = np.frombuffer(bytearray(pairs.data).translate(_EDGES), np.uint8)  # at i: between i and i + 1
    capitals = np.flatnonzero(pairs == UPPER << 4 | LOWER)
    if text is not None:  # back to the first byte of the capital
        for _ in range(3):
            capitals -= text[capitals - _EDGE_BYTES] & 0xC0 == 0x80
    capitals = capitals[classes[capitals - 1] == UPPER]
    edges[capitals - 1] = _STARTS | _ENDS  # the last capital belongs to what follows: HTTP|Server
    places = np.flatnonzero(edges)
    found = edges[places]
    places += 1
    return places[found & _STARTS > 0], places[found & _ENDS > 0]


def _nested(
    classes: NDArray[np.uint8], starts: NDArray[np.int64], ends: NDArray[np.int64], kinds: NDArray[np.uint8]
) -> list[_Rows]:
    """The chains, and the runs and pieces that are terms too."""
    if not len(starts):
        return [(starts, ends)]
    spaced = kinds <= DIGIT
    gaps = starts[1:] - ends[:-1]
    between = classes[ends[:-1]]
    both = spaced[1:] & spaced[:-1]
    touching = (gaps == 0) & both
    held = ((between == _JOINER) & (gaps == 1) | _underscored(classes, ends[:-1], gaps, between)) & both
    linked = touching | held
    # `goes[i]`: piece i goes on in piece i + 1; `came[i]`: it comes from piece i - 1.
    came = np.concatenate([[False], linked])
    goes = np.concatenate([linked, [False]])
    chain_ends = ends[~goes & (kinds != UNSPACED)]
    chains = (starts[~came & (kinds != UNSPACED)], chain_ends)

    inner = np.flatnonzero(came | goes)
    if not len(inner):
        return [chains]
    starts, ends, digits = starts[inner], ends[inner], kinds[inner] == DIGIT
    run_begins = np.concatenate([[True], ~touching])[inner]
    first = np.flatnonzero(run_begins)
    last = np.append(first[1:], len(inner)) - 1
    run_starts, run_ends = starts[first], ends[last]
    pieces = last - first + 1
    changes = np.concatenate([[0], np.cumsum(digits[1:] != digits[:-1])])
    is_name = (changes[last] - changes[first] <= _MOST_CHANGES) & (run_ends - run_starts >= _LEAST_PIECE_BYTES * pieces)
    # Only a whole is cut to its first bytes: a part that long would be the same term in the same place.
    has_company = (came[inner][first] | goes[inner][last]) & (run_ends - run_starts <= LONGEST_BYTES)
    shown = np.repeat(is_name & (pieces > 1), pieces) & (ends - starts <= LONGEST_BYTES)
    return [chains, (run_starts[has_company], run_ends[has_company]), (starts[shown], ends[shown])]


def _underscored(
    classes: NDArray[np.uint8], ends: NDArray[np.int64], gaps: NDArray[np.int64], between: NDArray[np.uint8]
) -> NDArray[np.bool_]:
    """Which gaps hold nothing but underscores."""
    held: NDArray[np.bool_] = between == UNDERSCORE
    wide = np.flatnonzero(held & (gaps > 1))
    if len(wide):
        under = np.flatnonzero(classes == UNDERSCORE)
        inside = np.searchsorted(under, ends[wide] + gaps[wide]) - np.searchsorted(under, ends[wide])
        held[wide] = inside == gaps[wide]
    return held


def _pairs(text: NDArray[np.uint8], classes: NDArray[np.uint8]) -> list[_Rows]:
    """Neighbouring characters of unspaced scripts, lone ones by themselves, and pairs within long Hangul words."""
    inner = classes[_EDGE_BYTES:-_EDGE_BYTES]
    chars = np.flatnonzero(((inner == UNSPACED) | (inner == HANGUL)) & (text & 0xC0 != 0x80))
    if not len(chars):
        return []
    unspaced, lead = inner[chars] == UNSPACED, text[chars]
    starts = chars + _EDGE_BYTES
    ends = starts + 1 + (lead >= 0xC0) + (lead >= 0xE0) + (lead >= 0xF0)
    # `goes[i]`: character i and the next are neighbours in one run.
    goes = np.append((ends[:-1] == starts[1:]) & (unspaced[:-1] == unspaced[1:]), values=False)
    came = np.roll(goes, 1)
    firsts = np.flatnonzero(goes & (unspaced | came | np.roll(goes, -1)))
    lone = ~came & ~goes & unspaced
    return [(starts[firsts], ends[firsts + 1]), (starts[lone], ends[lone])]
